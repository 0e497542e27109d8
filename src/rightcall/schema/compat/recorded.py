"""Recorded calls against new tools: how many that were valid would now be refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rightcall.domain import Tool
from rightcall.schema.compiled import compile_tools


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call as it was recorded; `arguments` may be anything, also None where they were not kept."""

    tool: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Replayed:
    """One tool's recorded calls. `failing` of `valid` are refused now; `example` is the first, `reason` says why.

    `invalid` were refused by the old schema already, and `unknown` is the count of calls of tools that OLD lacks.
    """

    tool: str
    valid: int = 0
    failing: int = 0
    invalid: int = 0
    unknown: int = 0
    example: Any = None
    reason: str = ""


def replay_calls(calls: Iterable[RecordedCall], old: Sequence[Tool], new: Sequence[Tool]) -> list[Replayed]:
    """Counts for each tool that was called, in the order of first calls."""
    before, after = compile_tools(old).by_name, compile_tools(new).by_name
    counts: dict[str, Counter[str]] = {}
    examples: dict[str, tuple[Any, str]] = {}
    for call in calls:
        count = counts.setdefault(call.tool, Counter())
        known = before.get(call.tool)
        if known is None:
            count["unknown"] += 1
        elif not isinstance(call.arguments, Mapping) or not known.accepts(call.arguments):
            count["invalid"] += 1
        else:
            count["valid"] += 1
            reason = _refusal(after.get(call.tool), call.arguments)
            if reason:
                count["failing"] += 1
                examples.setdefault(call.tool, (dict(call.arguments), reason))
    return [
        Replayed(name, count["valid"], count["failing"], count["invalid"], count["unknown"], *examples.get(name, ()))
        for name, count in counts.items()
    ]


def _refusal(tool: Any, arguments: Mapping[str, Any]) -> str:
    if tool is None:
        return "NEW has no such tool"
    if tool.validator is None:
        return str(tool.broken)
    error = next(tool.validator.iter_errors(arguments), None)
    return "" if error is None else str(error.message)
