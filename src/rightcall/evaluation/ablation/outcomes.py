"""Blocks as numbers: one value a task and variant, repeats averaged, only from blocks that are whole. Pure.

Works on what was frozen and what was written, so that a file alone is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rightcall.evaluation.ablation.block_file import Settled
from rightcall.evaluation.ablation.plan import LEVELS
from rightcall.evaluation.ablation.trial import Trial

Value = Callable[[Trial], float]
"""What is counted of a trial."""


@dataclass(frozen=True, slots=True)
class Column:
    """One value a task, in the plan's order, with each task's family. Tasks without a whole block are left out."""

    tasks: tuple[str, ...]
    values: tuple[float, ...]
    families: tuple[str, ...]


class Outcomes:
    """The whole blocks of an experiment."""

    def __init__(self, plan: Mapping[str, Any], blocks: Iterable[Settled]) -> None:
        self.plan = plan
        self.settled = tuple(blocks)
        self.whole = tuple(block for block in self.settled if not block.dropped)
        self._trials: dict[tuple[str, str], list[Trial]] = {}
        for block in sorted(self.whole, key=lambda block: block.repeat):
            for trial in block.trials:
                self._trials.setdefault((trial.variant, block.task), []).append(trial)

    def column(self, variant: str, value: Value, tasks: Sequence[str] | None = None) -> Column:
        """The mean of a value over the repeats of each task (of those given)."""
        means = {
            task: sum(map(value, trials)) / len(trials)
            for task in (self.plan["families"] if tasks is None else tasks)
            if (trials := self._trials.get((variant, task)))
        }
        families = tuple(self.plan["families"][task] for task in means)
        return Column(tuple(means), tuple(means.values()), families)

    def table(self, variant: str, value: Value) -> list[list[float]]:
        """The same with every repeat by itself: a row a task, cut to the repeats that all tasks have."""
        rows = [
            [value(trial) for trial in trials]
            for task in self.plan["families"]
            if (trials := self._trials.get((variant, task)))
        ]
        width = min(map(len, rows), default=0)
        return [row[:width] for row in rows]

    def negative_tasks(self) -> list[str]:
        """The tasks that want no call."""
        return [task for task, entry in self.plan["tasks"].items() if is_negative(entry)]

    def positive_tasks(self) -> list[str]:
        """The tasks that want one."""
        return [task for task, entry in self.plan["tasks"].items() if not is_negative(entry)]


def reached(level: str) -> Value:
    """Whether a trial reached a level: 1.0 or 0.0."""
    least = LEVELS.index(level) + 1
    return lambda trial: float(trial.level >= least)


def is_negative(entry: Mapping[str, Any]) -> bool:
    """Whether a frozen task wants no call."""
    return not entry["right"] and not any(any(alternatives) for alternatives in entry["expected"].values())
