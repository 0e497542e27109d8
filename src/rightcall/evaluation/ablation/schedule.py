"""The order of an experiment: blocks of (task, repeat), in each every variant in random order. Pure.

Source: "How Tool Schemas Change Agent Behavior" (randomised order, else a change of the provider, a cache or a rate
limit coincides with the schema's) and the research's design point 2 (blocks, shuffled and interleaved).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from rightcall.evaluation.ablation.plan import Plan


@dataclass(frozen=True, slots=True)
class Block:
    """One task, once, under every variant. `number` is its place in the run, `order` that of the variants in it."""

    number: int
    task: str
    repeat: int
    order: tuple[str, ...]

    @property
    def key(self) -> tuple[str, int]:
        """What it is, wherever it stands."""
        return self.task, self.repeat


def schedule(plan: Plan) -> tuple[Block, ...]:
    """Every block in the order of the run, which the seed alone decides.

    Under the e-process families come one after another, themselves in random order: a family is its unit, so it
    has to be whole before it counts.
    """
    draw = random.Random(f"rightcall ablation {plan.name} {plan.seed}")  # noqa: S311 - a design, not a secret
    names = [variant.name for variant in plan.variants]
    pairs = [(task, repeat) for task in plan.tasks for repeat in range(plan.repeats)]
    draw.shuffle(pairs)
    if plan.decisions.stop == "e-process":
        families = list(plan.families)
        draw.shuffle(families)
        pairs.sort(key=lambda pair: families.index(pair[0].family))
    blocks = []
    for number, (task, repeat) in enumerate(pairs):
        order = names.copy()
        draw.shuffle(order)
        blocks.append(Block(number, task.id, repeat, tuple(order)))
    return tuple(blocks)
