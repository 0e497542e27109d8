"""The words of an experiment: what is compared, on which tasks, and what was decided before the first request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rightcall.domain import Message, Tool
from rightcall.evaluation.arms import PARSE, Arm
from rightcall.evaluation.cases import Accepted

LEVELS = ("L1", "L2", "L3", "L4")
"""Nested: a capable tool was chosen; the arguments are structurally valid; they name the right resource and
intent; execution returned the evidence that the task needs."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of offering the tools; no tools at all is the baseline.

    `operations` maps each tool to the fixture's functions that it may stand for. Where that is more than one, or
    the tool's arguments are not the function's, `adapter` names the function of the fixture that says which call
    of which function is meant.
    """

    name: str
    tools: tuple[Tool, ...] = ()
    operations: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    adapter: str = ""

    @property
    def baseline(self) -> bool:
        """Whether no tool is offered."""
        return not self.tools


@dataclass(frozen=True, slots=True)
class Evidence:
    """What shows that a task's information was really acquired: all of it must be in the results.

    `texts` occur literally, `patterns` are regular expressions, `check` names a function of the fixture that takes
    the results (a list of texts) and returns true or false.
    """

    texts: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    check: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One question with what counts as right, in terms of the fixture's functions.

    `expected` are the accepted alternatives by variant, under "" for every other; `((),)` says that no call is
    right. `right` names a function of the fixture that judges the calls instead; then `capable` are the functions
    that can do the task. `refusal` says that a call which the boundary turns away is right too. `claims` are
    patterns of an answer that claims evidence; without any, an answer that holds the evidence claims it.
    """

    id: str
    family: str
    messages: tuple[Message, ...]
    expected: Mapping[str, tuple[Accepted, ...]] = field(default_factory=dict)
    right: str = ""
    capable: frozenset[str] = frozenset()
    evidence: Evidence = Evidence()
    claims: tuple[str, ...] = ()
    refusal: bool = False
    normaliser: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def accepted(self, variant: Variant) -> tuple[Accepted, ...]:
        """The right answers under a variant; empty where the fixture judges."""
        return self.expected.get(variant.name, self.expected.get("", ()))

    @property
    def negative(self) -> bool:
        """Whether no call is right."""
        return not self.right and not any(any(alternatives) for alternatives in self.expected.values())


@dataclass(frozen=True, slots=True)
class FixtureSpec:
    """Where calls are carried out: a folder, a Python file with functions, and seconds for one call."""

    folder: Path
    module: Path
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Decisions:
    """What the analysis will be, decided beforehand.

    `stop` is `fixed` (every block is run) or `e-process` (stop once every comparison is decided). A `pilot`
    estimates variances and claims nothing, so it has no p-values and may have few families.
    """

    endpoint: str = "L4"
    alpha: float = 0.05
    delta: float = 0.1
    stop: str = "fixed"
    pilot: bool = False


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the power calculation assumes.

    `task_variance` is that of the true difference between tasks, `control_variance` and `variant_variance` are
    those of one answer within a task (p(1-p) for a rate; 0.25 is the largest).
    """

    power: float = 0.8
    task_variance: float | None = None
    control_variance: float = 0.25
    variant_variance: float = 0.25


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole experiment. `repeats` are asked of each task and are averaged: repeats are not samples."""

    name: str
    models: tuple[str, ...]
    control: str
    variants: tuple[Variant, ...]
    tasks: tuple[Task, ...]
    fixture: FixtureSpec
    decisions: Decisions = Decisions()
    assumptions: Assumptions = Assumptions()
    arm: Arm = PARSE
    repeats: int = 1
    turns: int = 1
    seed: int = 0
    sampling: Mapping[str, Any] = field(default_factory=dict)

    @property
    def families(self) -> tuple[str, ...]:
        """The clusters, in the order of the tasks."""
        return tuple(dict.fromkeys(task.family for task in self.tasks))

    @property
    def compared(self) -> tuple[Variant, ...]:
        """Every variant but the control."""
        return tuple(variant for variant in self.variants if variant.name != self.control)

    def smallest_p(self) -> float:
        """The smallest two-sided p-value that sign flips of so few families can give."""
        return float(2.0 ** (1 - len(self.families)))
