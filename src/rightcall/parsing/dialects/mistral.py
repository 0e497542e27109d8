"""Mistral: `[TOOL_CALLS]` before a JSON list (tokenizer v3) or before `name[ARGS]{json}` (v11 and later)."""

from __future__ import annotations

import re

from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, skip_space, truncated, unparseable
from rightcall.parsing.dialects.envelope import calls_in, read_values, unread
from rightcall.parsing.json_reader import read_json_at
from rightcall.parsing.names import match_name
from rightcall.parsing.unreadable import Unreadable

_MARKER = "[TOOL_CALLS]"
_OPENER = re.compile(r"\[TOOL_CALLS\]|\A\s*(?P<bare>[A-Za-z_][\w.\-]*)(?=\[ARGS\]\s*\{)")
_CALL = re.compile(
    r"\s*(?:\[TOOL_CALLS\])?\s*(?P<name>[A-Za-z_][\w.\-:]*)(?:\[CALL_ID\](?P<id>\w+))?(?P<args>\[ARGS\])?\s*(?=\{)"
)
_CUT_CALL = re.compile(r"(?P<name>[\w.\-]+)(?:\[\w*\]?\w*)*\s*\Z")


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    if opener["bare"] and match_name(opener["bare"], context.names).name is None:
        return None
    start = skip_space(text, opener.end()) if not opener["bare"] else opener.start("bare")
    if start >= len(text):
        return truncated(context, f"the text ends after {_MARKER}")
    if text[start] in "[{":
        return _json_list(context, start)
    calls: list[RawCall] = []
    at = start
    while match := _CALL.match(text, at):
        if calls and not text[at : match.start("name")].strip():
            break  # a name without the marker behind a complete call is text
        try:
            read = read_json_at(text, match.end(), context.keys)
        except Unreadable as fault:
            return Block(len(text), (*calls, RawCall(match["name"], {}, fault=fault)))
        calls.append(RawCall(match["name"], read.value, match["id"], read.repairs))
        at = read.end
    if calls:
        rest = skip_space(text, at)
        if text.startswith(_MARKER, rest):
            return Block(len(text), tuple(calls), fault=truncated(context, "the text ends inside a call").fault)
        return Block(at, tuple(calls))
    if cut := _CUT_CALL.match(text, start):
        return truncated(context, "the text ends before the arguments", cut["name"])
    return unparseable(start, f"{_MARKER} is followed by neither a JSON list nor name[ARGS]{{...}}")


def _json_list(context: Context, start: int) -> Block:
    try:
        values, end, repairs = read_values(context, start)
    except Unreadable as fault:
        return Block(len(context.text), fault=fault)
    calls = calls_in(values if len(values) > 1 else values[0], context, marked=True)
    if calls is None:
        if values == [[]]:
            return Block(end)
        return unparseable(end, f"what follows {_MARKER} is no list of calls")
    lost = unread(context, end)
    made = tuple(RawCall(c.name, c.arguments, c.id, repairs + c.repairs) for c in calls)
    return Block(len(context.text) if lost else end, made, fault=lost)


DIALECT = Dialect("mistral", _OPENER, (_MARKER,), _read, ("[TOOL_CALLS]", "[ARGS]"))
