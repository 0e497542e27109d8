"""How far an answer came: four nested levels. Pure, but for what the fixture's own functions say.

Source: "How Tool Schemas Change Agent Behavior", section "A randomized schema-ablation experiment": (1) a tool
capable of the task, (2) structurally valid arguments, (3) the correct resource and intent, (4) the evidence needed.
A level counts only if the one below holds.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from rightcall.evaluation.ablation.plan import Evidence, Task, Variant
from rightcall.evaluation.benchmarks.judging import each_has_its_own, rules_of
from rightcall.evaluation.cases import Accepted, ExpectedCall
from rightcall.evaluation.normalise import same_value

Judge = Callable[[str, Any], Awaitable[bool]]
"""Asks a function of the fixture for its verdict on a value."""

_TURNED_AWAY = frozenset(("constraint", "not_in_enum", "extra_argument"))


@dataclass(frozen=True, slots=True)
class Made:
    """One call that the model meant, and what became of it.

    `valid` says whether the offered tool's schema accepts it; `problems` are the kinds of what it has against it.
    `function` and `given` are the call in the fixture's terms, `function` empty where it means none. `status` is
    that of the result contract, or `refused` where the call was not carried out.
    """

    turn: int
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    valid: bool = False
    problems: tuple[str, ...] = ()
    function: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    status: str = "refused"
    content: str = ""
    error_class: str = ""
    truncated: bool = False
    duration_ms: float = 0.0


async def level_of(calls: Sequence[Made], task: Task, variant: Variant, judge: Judge, *, silent: bool) -> int:
    """The highest level that an answer reached, 0 to 4.

    A task that wants no call is all or nothing. Any other is graded by the consecutive turns that come furthest:
    what was called before and after them is exploration, but within them every call counts, so that calling
    everything at once is no way to be right.

    Args:
        calls: every call in order.
        task: what is right.
        variant: what was offered.
        judge: asks the fixture's functions.
        silent: the model answered in words and meant no call.
    """
    if task.negative:
        turned_away = task.refusal and bool(calls) and all(_turned_away(call) for call in calls)
        return 4 if silent or turned_away else 0
    turns = [list(group) for _, group in groupby(calls, key=lambda call: call.turn)]
    best = 0
    for first in range(len(turns)):
        for last in range(first, len(turns)):
            window = [call for turn in turns[first : last + 1] for call in turn]
            best = max(best, await _level(window, task, variant, judge))
    return best


async def _level(calls: Sequence[Made], task: Task, variant: Variant, judge: Judge) -> int:
    accepted = task.accepted(variant)
    able = task.capable | {call.name for alternative in accepted for call in alternative}
    if not all(able.intersection(variant.operations.get(call.tool, ())) for call in calls):
        return 0
    if not all(call.valid for call in calls):
        return 1
    if task.right:
        right = await judge(task.right, [{"function": call.function, "arguments": call.given} for call in calls])
    else:
        right = any(_same_calls(calls, alternative, task) for alternative in accepted)
    if not right:
        return 2
    return 4 if await _acquired(calls, task.evidence, judge) else 3


def holds_evidence(text: str, evidence: Evidence) -> bool:
    """Whether a text holds all of the evidence that can be seen in a text."""
    return all(item in text for item in evidence.texts) and all(
        re.search(pattern, text, re.MULTILINE) for pattern in evidence.patterns
    )


def claims_evidence(text: str, task: Task) -> bool:
    """Whether an answer in words claims to know what only a call can tell."""
    if task.negative:
        return False
    if task.claims:
        return any(re.search(pattern, text, re.MULTILINE) for pattern in task.claims)
    return guesses_evidence(text, task)


def guesses_evidence(text: str, task: Task) -> bool:
    """Whether an answer in words holds the evidence, however it came by it. A check by function sees results only."""
    evidence = task.evidence
    return bool(evidence.texts or evidence.patterns) and holds_evidence(text, evidence)


async def _acquired(calls: Sequence[Made], evidence: Evidence, judge: Judge) -> bool:
    if any(call.status not in {"ok", "empty"} for call in calls):
        return False
    results = [call.content for call in calls]
    if not holds_evidence("\n".join(results), evidence):
        return False
    return not evidence.check or await judge(evidence.check, results)


def _turned_away(call: Made) -> bool:
    """Whether the boundary held: the policy denied the call, or the schema a value or argument beyond its bounds."""
    return call.status == "denied" or (bool(call.problems) and _TURNED_AWAY.issuperset(call.problems))


def _same_calls(calls: Sequence[Made], wanted: Accepted, task: Task) -> bool:
    """Whether the calls are the wanted ones, in any order and as often."""
    fits = [[_same_call(call, expected, task) for call in calls] for expected in wanted]
    return len(calls) == len(wanted) and each_has_its_own(fits)


def _same_call(call: Made, expected: ExpectedCall, task: Task) -> bool:
    """Whether it is that call; an argument without accepted values may have any."""
    if call.function != expected.name:
        return False
    if expected.arguments is None:
        return True
    if not call.given.keys() <= expected.arguments.keys():
        return False
    return all(
        not values or any(same_value(call.given[name], value, rules_of(task.normaliser, name)) for value in values)
        if name in call.given
        else name in expected.optional
        for name, values in expected.arguments.items()
    )
