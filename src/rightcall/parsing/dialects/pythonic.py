"""Calls written as Python: `[get_weather(city="Oslo"), get_time()]`.

Llama 3.2 and 4, Gemma 3, LFM2, Olmo 3, and Llama's `<|python_tag|>name.call(...)`. Only literals are read, by
the JSON reader; nothing is ever evaluated.
"""

from __future__ import annotations

import re

from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, skip_space, truncated
from rightcall.parsing.dialects.envelope import calls_in, read_values
from rightcall.parsing.json_reader import Unreadable, read_arguments_list
from rightcall.parsing.names import match_name

_NAME = re.compile(r"\s*([A-Za-z_][\w.\-]*)\s*\(")
_TAG = re.compile(r"<\|python_tag\|>|<\|python_start\|>")
_END_TAG = re.compile(r"\s*(?:<\|python_end\|>|<\|eom_id\|>|<\|eot_id\|>)")


def read_calls(context: Context, position: int) -> tuple[list[RawCall], int] | None:
    """Call expressions from `position` on, in a list or one after the other, and where they end.

    None where the first is no call of a declared tool that can be read to its end.
    """
    text = context.text
    at = skip_space(text, position)
    listed = text[at : at + 1] == "["
    at = skip_space(text, at + 1) if listed else at
    calls: list[RawCall] = []
    while match := _NAME.match(text, at):
        name = match[1].removesuffix(".call")
        declared = match_name(name, context.names).name
        if declared is None:
            return None
        try:
            arguments, at, repairs = read_arguments_list(text, match.end(), context.keys)
        except Unreadable:
            return None
        positional = arguments.pop("", None)
        if positional is not None:
            only = context.parameters.get(declared, frozenset())
            if len(positional) != 1 or arguments or len(only) != 1:
                return None
            arguments = {next(iter(only)): positional[0]}
        calls.append(RawCall(name, arguments, repairs=repairs))
        at = skip_space(text, at)
        if text[at : at + 1] in {",", ";"} and text[at : at + 1]:
            at = skip_space(text, at + 1)
    if not calls:
        return None
    if listed:
        if text[at : at + 1] != "]":
            return None
        at += 1
    return calls, at


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    start = skip_space(text, opener.end())
    if start >= len(text):
        return truncated(context, f"the text ends after {opener[0]}")
    if text[start] in "{[" and not (text[start] == "[" and _NAME.match(text, start + 1)):
        try:
            values, end, repairs = read_values(context, start)
        except Unreadable as fault:
            return Block(len(text), fault=fault)
        calls = calls_in(values if len(values) > 1 else values[0], context, marked=True)
        if calls is None:
            return None
        return Block(
            _behind(text, end), tuple(RawCall(c.name, c.arguments, c.id, repairs + c.repairs) for c in calls)
        )
    found = read_calls(context, start)
    return Block(_behind(text, found[1]), tuple(found[0])) if found else None


def _behind(text: str, end: int) -> int:
    closing = _END_TAG.match(text, end)
    return closing.end() if closing else end


DIALECT = Dialect("python_tag", _TAG, ("<|python_tag|>", "<|python_start|>"), _read)
