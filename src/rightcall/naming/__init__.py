"""PA-Tool: names that a model already knows, for tools and parameters. Pure; the model is asked by `alignment`.

components -> prompts -> (candidate texts) -> names -> peakedness -> collisions -> clarity -> name map -> lens

Source: "Don't Adapt Small Language Models for Tools; Adapt Tool Schemas to the Models" (arXiv 2510.07248).
"""
