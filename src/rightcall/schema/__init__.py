"""JSON Schemas of tools: identity, references, compilation. Pure; nothing is ever fetched."""
