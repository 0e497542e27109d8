"""Whether calls are the ones that were wanted.

The rules are those of BFCL's checker for single-turn calls (`bfcl-eval`, `ast_checker`): the same number of
calls in any order, the same names, no argument beyond the expected ones, each value among the allowed ones;
strings without case, blanks and `,./-_*^'`; an empty string among the allowed values lets the argument be left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.domain import ToolCall

Answer = Mapping[str, Mapping[str, Sequence[Any]]]
"""One expected call: `{tool: {argument: [allowed values]}}`."""

_LOOSE = re.compile(r"[ ,./\-_*^']")


def same_calls(calls: Sequence[ToolCall], answers: Sequence[Answer]) -> bool:
    """Whether the calls are the expected ones, in any order."""
    if len(calls) != len(answers):
        return False
    open_answers = list(answers)
    for call in calls:
        found = next((answer for answer in open_answers if same_call(call, answer)), None)
        if found is None:
            return False
        open_answers.remove(found)
    return True


def same_call(call: ToolCall, answer: Answer) -> bool:
    """Whether one call is the expected one."""
    ((name, allowed),) = answer.items()
    if _loose(name) != _loose(call.name) or not call.arguments.keys() <= allowed.keys():
        return False
    return all(
        any(_same(call.arguments[key], value) for value in values) if key in call.arguments else "" in values
        for key, values in allowed.items()
    )


def _same(got: Any, wanted: Any) -> bool:
    if isinstance(got, bool) or isinstance(wanted, bool):
        return got is wanted
    if isinstance(got, str) and isinstance(wanted, str):
        return _loose(got) == _loose(wanted)
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(_same, got, wanted))
    if isinstance(got, Mapping) and isinstance(wanted, Mapping):
        if not got.keys() <= wanted.keys():
            return False
        return all(
            any(_same(got[key], value) for value in _listed(values)) if key in got else "" in _listed(values)
            for key, values in wanted.items()
        )
    return bool(got == wanted)


def _listed(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list) else [values]


def _loose(text: str) -> str:
    return _LOOSE.sub("", text).casefold()
