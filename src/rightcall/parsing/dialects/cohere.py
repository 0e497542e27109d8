"""Cohere Command R, R+ and A: a JSON list between action markers, or behind `Action:` in a fence."""

from __future__ import annotations

import re

from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, skip_space, truncated
from rightcall.parsing.dialects.envelope import calls_in, read_values
from rightcall.parsing.unreadable import Unreadable

_OPENER = re.compile(r"<\|START_ACTION\|>|^Action:\s*```(?:json)?(?=\s*\[)", re.MULTILINE)
_CLOSE = re.compile(r"\s*(?:<\|END_ACTION\|>|```)")
_NOT_A_CALL = frozenset(("directly_answer", "directly-answer"))


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    start = skip_space(context.text, opener.end())
    if start >= len(context.text):
        return truncated(context, f"the text ends after {opener[0]}")
    try:
        values, end, repairs = read_values(context, start)
    except Unreadable as fault:
        return Block(len(context.text), fault=fault)
    calls = calls_in(values if len(values) > 1 else values[0], context, marked=True) if values else None
    if calls is None:
        return None
    close = _CLOSE.match(context.text, end)
    kept = tuple(
        RawCall(call.name, call.arguments, call.id, repairs + call.repairs)
        for call in calls
        if call.name not in _NOT_A_CALL or call.name in context.names
    )
    return Block(close.end() if close else end, kept)


DIALECT = Dialect("cohere", _OPENER, ("<|START_ACTION|>", "Action:"), _read, ("<|START_ACTION|>", "Action:"))
