"""Calls as XML elements named after the tool: `<read_file><path>a.py</path></read_file>` (Cline, Roo).

Only where the tag equals a declared tool and every child equals one of its parameters.
"""

from __future__ import annotations

import re

from rightcall.parsing.conversions import RawText
from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, one_newline_off, skip_space, truncated
from rightcall.parsing.json_reader import read_json_at
from rightcall.parsing.unreadable import Unreadable

_OPENER = re.compile(r"^[ \t]*<(?P<name>[A-Za-z_][\w.\-]*)>", re.MULTILINE)
_OBJECT = re.compile(r"\s*\{")
_CHILD = re.compile(r"\s*<(?P<key>[A-Za-z_][\w.\-]*)>")


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text, name = context.text, opener["name"]
    parameters = context.parameters.get(name)
    if parameters is None:
        return None
    arguments: dict[str, RawText] = {}
    at, closing = opener.end(), f"</{name}>"
    if _OBJECT.match(text, at):
        return _with_json(context, opener, closing)
    while child := _CHILD.match(text, at):
        key = child["key"]
        close = text.find(f"</{key}>", child.end())
        if key not in parameters or key in arguments:
            return None
        if close < 0:
            return truncated(context, f"the text ends inside <{key}> of {name}", name)
        arguments[key] = RawText(one_newline_off(text[child.end() : close]))
        at = close + len(key) + 3
    end = re.compile(rf"\s*{re.escape(closing)}").match(text, at)
    if end is None:
        return (
            truncated(context, f"the text ends before {closing}", name)
            if not text[at:].strip() and arguments
            else None
        )
    return Block(end.end(), (RawCall(name, arguments),))


def _with_json(context: Context, opener: re.Match[str], closing: str) -> Block | None:
    """An element that holds the arguments as JSON; anything else in it is no call."""
    text, name = context.text, opener["name"]
    try:
        read = read_json_at(text, skip_space(text, opener.end()), context.keys)
    except Unreadable:
        return None
    end = skip_space(text, read.end)
    if not text.startswith(closing, end) or not read.value or not read.value.keys() <= context.parameters[name]:
        return None
    return Block(end + len(closing), (RawCall(name, read.value, repairs=read.repairs),))


DIALECT = Dialect("element", _OPENER, (), _read)
