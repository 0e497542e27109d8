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
    r"(?:<\|from\|>\s*assistant\s*)?<\|recipient\|>\s*(?P<to>[\w.\-]*)\s*(?:<\|content\|>|\Z)|>>>(?P<name>[\w.\-]+)\n"
)
_FIRST = re.compile(r"\s*(?:(?P<to>[\w.\-]+)\s*<\|content\|>|(?P<bare>[A-Za-z_][\w.\-]*)\n(?=\{))")
_NEXT = re.compile(r"<\|from\|>|<\|recipient\|>|<\|stop\|>|>>>(?=[\w.\-]+\n)")
_STOP = re.compile(r"\s*<\|stop\|>")
_ENDS = re.compile(r"\s*(?:>>>|<\||</s>|\Z)")
_EVERYONE = "all"


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    parts = opener.groupdict()
    marked, bare = parts["to"], parts.get("bare")
    name = marked if marked is not None else bare or parts["name"]
    if name == _EVERYONE and not bare:
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
        return None if bare else Block(len(text), (RawCall(name, {}, fault=fault),))
    if bare and not (_fits(context, name, read.value) and _ENDS.match(text, read.end)):
        return None
    return Block(_behind(text, read.end), (RawCall(name, read.value, repairs=read.repairs),))


def _fits(context: Context, name: str, value: object) -> bool:
    return isinstance(value, dict) and value.keys() <= context.parameters[name]


def _behind(text: str, end: int) -> int:
    stop = _STOP.match(text, end)
    return stop.end() if stop else end


MARKED = Dialect("functionary", _OPENER, ("<|from|>", "<|recipient|>"), _read, ("<|recipient|>", ">>>"))
FIRST = Dialect("functionary", _FIRST, ("all\n<|content|>",), _read, ("\n{", "<|content|>"), at_front=True)
