"""ReAct: `Action: name` and `Action Input: {json}`. One step a turn, so only the first is read.

What a model writes behind it (an invented `Observation:`, further steps) is neither text nor a call.
"""

from __future__ import annotations

import re

from rightcall.domain import ProblemKind
from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, skip_space, truncated, unparseable
from rightcall.parsing.illustration import is_presented
from rightcall.parsing.json_reader import read_json_at
from rightcall.parsing.names import match_name
from rightcall.parsing.unreadable import Unreadable

_OPENER = re.compile(
    r"^[ \t]*\**Action:?\**:?[ \t]*`?(?P<name>[^\n`(]+?)`?[ \t]*\n"
    r"[ \t]*\**Action Input:?\**:?[ \t]*(?:\n[ \t]*)?(?:```(?:json)?\s*)?",
    re.MULTILINE,
)
_GOES_ON = re.compile(r"[\s`*]*(?:(?:Observation|Thought|Action|Final Answer|Question|PAUSE)\b|<|\Z)")
"""What may follow a step that is meant: the next label, an end token, or nothing."""


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text, name = context.text, opener["name"].strip()
    at = skip_space(text, opener.end())
    if text[at : at + 1] != "{":
        known = match_name(name, context.names).name
        line = text[at:].split("\n", 1)[0].strip()
        if known and line in {"", "None", "none", "N/A"} and not context.parameters.get(known):
            return Block(len(text), (RawCall(name, {}),))
        if known and at >= len(text):
            return truncated(context, "the text ends before the input of the action", name)
        return unparseable(len(text), f"the input of {name} is no JSON object") if known else None
    try:
        read = read_json_at(text, at, context.keys)
    except Unreadable as fault:
        return Block(len(text), (RawCall(name, {}, fault=fault),))
    if is_presented(text[: opener.start()]) and not _GOES_ON.match(text, read.end):
        reason = "the step stands inside an explanation; if it is meant, it must be the whole reply"
        return Block(len(text), text=text[opener.start() :], fault=Unreadable(ProblemKind.AMBIGUOUS, reason))
    return Block(len(text), (RawCall(name, read.value, repairs=read.repairs),))


DIALECT = Dialect("react", _OPENER, ("Action:", "**Action"), _read, ("Action",))
