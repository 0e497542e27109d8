"""Functionary: v3 writes `>>>name` and JSON on the next line, v2 `<|recipient|>name`, `<|content|>` and JSON.

The recipient `all` is the user. The mark before the first recipient stands in the prompt, so that a reply may begin
with the name (Functionary's prompt templates).
"""

from __future__ import annotations

import re

from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, skip_space, truncated
from rightcall.parsing.json_reader import read_json_at
from rightcall.parsing.unreadable import Unreadable

_OPENER = re.compile(
    r"(?:<\|from\|>\s*assistant\s*)?<\|recipient\|>\s*(?P<to>[\w.\-]*)\s*(?:<\|content\|>|\Z)"
    r"|\A\s*(?P<first_to>[\w.\-]+)\s*<\|content\|>"
    r"|>>>(?P<name>[\w.\-]+)\n"
    r"|\A\s*(?P<first>[A-Za-z_][\w.\-]*)\n(?=\{)"
)
_NEXT = re.compile(r"<\|from\|>|<\|recipient\|>|<\|stop\|>|>>>(?=[\w.\-]+\n)")
_STOP = re.compile(r"\s*<\|stop\|>")
_ENDS = re.compile(r"\s*(?:>>>|<\||</s>|\Z)")
_EVERYONE = "all"


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    marked = opener["to"] if opener["to"] is not None else opener["first_to"]
    name = marked if marked is not None else opener["name"] or opener["first"]
    if name == _EVERYONE and not opener["first"]:
        following = _NEXT.search(text, opener.end())
        end = following.start() if following else len(text)
        return Block(_behind(text, end), text=text[opener.end() : end])
    if marked is None and name not in context.names:
        return None
    start = skip_space(text, opener.end())
    if start >= len(text):
        return truncated(context, "the text ends before the arguments", name)
    try:
        read = read_json_at(text, start, context.keys)
    except Unreadable as fault:
        return None if opener["first"] else Block(len(text), (RawCall(name, {}, fault=fault),))
    if opener["first"] and not (_fits(context, name, read.value) and _ENDS.match(text, read.end)):
        return None
    return Block(_behind(text, read.end), (RawCall(name, read.value, repairs=read.repairs),))


def _fits(context: Context, name: str, value: object) -> bool:
    return isinstance(value, dict) and value.keys() <= context.parameters[name]


def _behind(text: str, end: int) -> int:
    stop = _STOP.match(text, end)
    return stop.end() if stop else end


_STARTS = ("<|from|>", "<|recipient|>", "all\n<|content|>")
_NEEDS = ("<|recipient|>", "<|content|>", ">>>", "\n{")
DIALECT = Dialect("functionary", _OPENER, _STARTS, _read, _NEEDS)
