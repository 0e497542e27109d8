"""The randomised schema experiment: variants of a toolset, the same tasks, the same model, four levels of right.

Source: "How Tool Schemas Change Agent Behavior" (randomised ablation, four grading levels, no-tool baseline, what a
trace records) and the project's research on evaluation statistics (design, estimand, tests).

    plan -> freeze -> blocks in random order -> a trial for each variant -> level -> paired differences

`plan` and `plan_file` say what is compared, `fixture` and `worker` carry calls out, `trial` and `grade` judge one
answer, `experiment` runs the blocks, `block_file` keeps them, `analysis` and `planning` do the numbers.
"""
