"""MiniMax M3: every tag has a namespace token before it, objects and arrays are elements in elements.

Values are plain text and may hold any other markup, because only tags behind the token are structure (MiniMax M3
chat template). A list is made of `<item>` elements.
"""

from __future__ import annotations

import re
from typing import Any

from rightcall.parsing.conversions import RawText
from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, one_newline_off, repeated, skip_space
from rightcall.parsing.json_repair import MAX_DEPTH
from rightcall.parsing.unreadable import Unreadable, cut_at, unparseable_at

_TOKEN = "]<]minimax[>["  # noqa: S105 - the name of the mark, no secret
_MARK = re.escape(_TOKEN)
_OPENER = re.compile(rf"(?:{_MARK})?<tool_call>\s*(?={_MARK})|{_MARK}<tool_call>\s*\Z|{_MARK}(?=<invoke\s)")
_INVOKE = re.compile(rf"""\s*{_MARK}<invoke\s+name=["'](?P<name>[^"'<>]+)["']\s*>""")
_END_INVOKE = re.compile(rf"\s*{_MARK}</invoke>")
_END_SECTION = re.compile(rf"\s*(?:{_MARK})?</tool_call>")
_ELEMENT = re.compile(rf"\s*{_MARK}<(?P<key>[^<>/\s]+)>")


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    at = opener.start() if opener[0] == _TOKEN else opener.end()
    calls: list[RawCall] = []
    while invoke := _INVOKE.match(text, at):
        try:
            arguments, at = _members(text, invoke["name"], invoke.end(), 0)
            end = _END_INVOKE.match(text, at)
            if end is None:
                raise _misplaced(text, at)
        except Unreadable as fault:
            return Block(len(text), (*calls, RawCall(invoke["name"], {}, fault=fault)))
        calls.append(RawCall(invoke["name"], arguments))
        at = end.end()
    if end := _END_SECTION.match(text, at):
        return Block(end.end(), tuple(calls)) if calls else None
    rest = skip_space(text, at)
    if rest == len(text) and calls:
        return Block(rest, tuple(calls))
    if rest < len(text) and text[rest] != "]":
        return Block(at, tuple(calls)) if calls else None
    return Block(len(text), tuple(calls), fault=_misplaced(text, at))


def _members(text: str, name: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    """Elements that stand one after the other, as an object; a list under the key `item` if that is the only one."""
    found: dict[str, Any] = {}
    items: list[Any] = []
    while element := _ELEMENT.match(text, at):
        key = element["key"]
        value, at = _value(text, name, element, depth)
        if key == "item" and depth:
            items.append(value)
        elif found.setdefault(key, value) != value:
            raise repeated(name, key)
    if items and found:
        raise unparseable_at(at, "list items and members stand side by side")
    return ({"item": items} if items else found), at


def _value(text: str, name: str, element: re.Match[str], depth: int) -> tuple[Any, int]:
    start, close = element.end(), f"{_TOKEN}</{element['key']}>"
    if depth >= MAX_DEPTH:
        raise unparseable_at(start, f"nested deeper than {MAX_DEPTH} levels")
    if _ELEMENT.match(text, start):
        inner, at = _members(text, name, start, depth + 1)
        value: Any = inner["item"] if isinstance(inner.get("item"), list) else inner
        end = skip_space(text, at)
    else:
        end = text.find(_TOKEN, start)
        end = len(text) if end < 0 else end
        value = RawText(one_newline_off(text[start:end]))
    if not text.startswith(close, end):
        raise _misplaced(text, end)
    return value, end + len(close)


def _misplaced(text: str, at: int) -> Unreadable:
    """The fault of a place where a tag is missing: the text may just end there, or inside the tag."""
    if re.compile(r"[^>]*(?:>\[?<?[^<>]*)?\Z").match(text, at):
        return cut_at(at, "the text ends inside a call")
    return unparseable_at(at, "an element is not closed")


DIALECT = Dialect("minimax_m3", _OPENER, (_TOKEN,), _read, (_TOKEN,))
