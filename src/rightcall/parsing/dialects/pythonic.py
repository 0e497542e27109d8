"""Calls written as Python: `[get_weather(city="Oslo"), get_time()]`.

Llama 3.2 and 4, Gemma 3, LFM2, Olmo 3, and Llama's `<|python_tag|>name.call(...)`. Only literals are read, by
the JSON reader; nothing is ever evaluated.
"""

from __future__ import annotations

import re
from typing import Any

from rightcall.domain import ProblemKind
from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, skip_space, truncated, unparseable
from rightcall.parsing.dialects.envelope import calls_in, read_values, unread
from rightcall.parsing.json_repair import read_arguments_list
from rightcall.parsing.names import match_name
from rightcall.parsing.unreadable import Unreadable

_NAME = re.compile(r"\s*([A-Za-z_][\w.\-]*)\s*\(")
_PRINT = re.compile(r"\s*print\(\s*(?=[A-Za-z_][\w.\-]*\()")
_NAME_CUT = re.compile(r"[\w.\-\[]*\s*")
_TAG = re.compile(r"<\|python_tag\|>|<\|python_start\|>")
_END_TAG = re.compile(r"\s*(?:<\|python_end\|>|<\|eom_id\|>|<\|eot_id\|>)")


def read_calls(context: Context, position: int) -> tuple[list[RawCall], int] | None:
    """Call expressions from `position` on, in a list or one after the other, and where they end.

    None where the first is no call of a declared tool that can be read to its end.
    """
    try:
        return read_marked_calls(context, position, marked=False)
    except Unreadable:
        return None


def cut_off(context: Context, position: int) -> Unreadable | None:
    """What is wrong with call expressions of declared tools that the end of the text cuts off."""
    try:
        read_marked_calls(context, position, marked=False)
    except Unreadable as fault:
        return fault if fault.kind is ProblemKind.TRUNCATED else None
    return None


def read_marked_calls(context: Context, position: int, *, marked: bool = True) -> tuple[list[RawCall], int] | None:
    """Call expressions as `read_calls` reads them, of any name where a marker says that they are calls.

    Raises:
        Unreadable: the text ends too early, or the arguments are no literals.
    """
    text = context.text
    at = skip_space(text, position)
    listed = text[at : at + 1] == "["
    at = skip_space(text, at + 1) if listed else at
    calls: list[RawCall] = []
    while True:
        printed = _PRINT.match(text, at) if marked and "print" not in context.names else None
        match = _NAME.match(text, printed.end() if printed else at)
        if match is None:
            break
        name = match[1].removesuffix(".call")
        declared = match_name(name, context.names).name
        if declared is None and not marked:
            return None
        arguments, at, repairs = read_arguments_list(text, match.end(), context.keys)
        if not _named(arguments, context.parameters.get(declared or name, frozenset())):
            return None
        calls.append(RawCall(name, arguments, repairs=repairs))
        at = skip_space(text, at)
        if printed and text[at : at + 1] != ")":
            return None
        at = skip_space(text, at + 1) if printed else at
        if text[at : at + 1] in {",", ";"} and text[at : at + 1]:
            at = skip_space(text, at + 1)
    if calls and listed:
        at = _end_of_list(context, at)
    return (calls, at) if calls else None


def _named(arguments: dict[str, Any], parameters: frozenset[str]) -> bool:
    """Gives the only positional argument the name of the only parameter. False where that is not certain."""
    positional = arguments.pop("", None)
    if positional is None:
        return True
    if len(positional) != 1 or arguments or len(parameters) != 1:
        return False
    arguments[next(iter(parameters))] = positional[0]
    return True


def _end_of_list(context: Context, at: int) -> int:
    if context.text[at : at + 1] == "]":
        return at + 1
    if at >= len(context.text) and context.ended:
        return at
    kind = ProblemKind.TRUNCATED if at >= len(context.text) else ProblemKind.UNPARSEABLE
    raise Unreadable(kind, "the list of calls is not closed", at)


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    start = skip_space(text, opener.end())
    if start >= len(text):
        return truncated(context, f"the text ends after {opener[0]}")
    if _NAME_CUT.fullmatch(text, start):
        return truncated(context, f"the text ends in the name behind {opener[0]}")
    if text[start] in "{[" and not (text[start] == "[" and _NAME.match(text, start + 1)):
        try:
            values, end, repairs = read_values(context, start)
        except Unreadable as fault:
            return Block(len(text), fault=fault)
        calls = calls_in(values if len(values) > 1 else values[0], context, marked=True)
        if calls is None:
            return None
        lost = unread(context, end)
        made = tuple(RawCall(c.name, c.arguments, c.id, repairs + c.repairs) for c in calls)
        return Block(len(text) if lost else _behind(text, end), made, fault=lost)
    try:
        found = read_marked_calls(context, start)
    except Unreadable as fault:
        return Block(len(text), fault=fault)
    if found:
        return Block(_behind(text, found[1]), tuple(found[0]))
    # At the front of a reply the marker can only announce a call; further on, the text may be about the marker.
    alone = not text[: opener.start()].strip()
    return unparseable(len(text), f"what follows {opener[0]} is neither JSON nor a call") if alone else None


def _behind(text: str, end: int) -> int:
    closing = _END_TAG.match(text, end)
    return closing.end() if closing else end


DIALECT = Dialect("python_tag", _TAG, ("<|python_tag|>", "<|python_start|>"), _read)
