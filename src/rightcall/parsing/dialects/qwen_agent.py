"""Qwen-Agent, for Qwen 1.5 and 2: `✿FUNCTION✿: name` and `✿ARGS✿: {json}`, maybe several.

What stands behind `✿RESULT✿` or `✿RETURN✿` the model made up: those are the stop words of the format
(Qwen-Agent's prompt for function calls).
"""

from __future__ import annotations

import re

from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, skip_space, truncated, unparseable
from rightcall.parsing.json_reader import read_json_at
from rightcall.parsing.names import match_name
from rightcall.parsing.unreadable import Unreadable

_MARK = "✿FUNCTION✿"
_OPENER = re.compile(rf"{_MARK}[ \t]*[:：][ \t]*(?P<name>[^\s✿{{]*)")
_ARGUMENTS = re.compile(r"\s*✿ARGS✿[ \t]*[:：]\s*")
_CUT = re.compile(r"\s*(?:✿[A-Z]*✿?[ \t]*)?\Z")
_STOP = re.compile(r"\s*✿(?:RESULT|RETURN)✿")
_NEXT = re.compile(r"\s*(?:✿(?:FUNCTION|RESULT|RETURN)✿|<\||</s>)")


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text, name = context.text, opener["name"]
    known = match_name(name, context.names).name
    arguments = _ARGUMENTS.match(text, opener.end())
    if arguments is None:
        if _CUT.match(text, opener.end()):
            return truncated(context, "the text ends before the arguments", name)
        if known is None:
            return None
        if context.parameters.get(known) or not _NEXT.match(text, opener.end()):
            return unparseable(opener.end(), f"the call of {name} has no arguments")
        return Block(_behind(text, opener.end()), (RawCall(name, {}),))
    try:
        read = read_json_at(text, skip_space(text, arguments.end()), context.keys)
    except Unreadable as fault:
        return Block(len(text), (RawCall(name, {}, fault=fault),))
    return Block(_behind(text, read.end), (RawCall(name, read.value, repairs=read.repairs),))


def _behind(text: str, end: int) -> int:
    return len(text) if _STOP.match(text, end) else end


DIALECT = Dialect("qwen_agent", _OPENER, (_MARK,), _read, (_MARK,))
