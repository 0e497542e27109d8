"""DeepSeek V3, R1 and V3.1: fullwidth-bar markers around a name and JSON; V3.2 and later are in `invoke_xml`.

V3 writes `function<｜tool▁sep｜>name` and a json fence, V3.1 `name<｜tool▁sep｜>{json}` (official chat templates).
"""

from __future__ import annotations

import re

from rightcall.domain import ProblemKind
from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, truncated, unparseable
from rightcall.parsing.json_reader import read_json_at
from rightcall.parsing.unreadable import Unreadable

_OPENER = re.compile(r"<[｜|]tool▁calls▁begin[｜|]>|<[｜|]tool▁call▁begin[｜|]>")
_CALL = re.compile(
    r"\s*<[｜|]tool▁call▁begin[｜|]>\s*(?:(?:function)?<[｜|]tool▁sep[｜|]>(?P<after>[^\s<>{}`]+)"
    r"|(?P<before>[^\s<>{}`]+)<[｜|]tool▁sep[｜|]>)\s*(?:(?:`{1,2}|```js?o?)\Z|```(?:json)?\s*)?"
)
_END_CALL = re.compile(r"\s*(?:```)?\s*<[｜|]tool▁call▁end[｜|]>")
_END = re.compile(r"\s*<[｜|]tool▁calls▁end[｜|]>")


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    at = opener.end() if "calls" in opener[0] else opener.start()
    calls: list[RawCall] = []
    while match := _CALL.match(text, at):
        name = match["after"] or match["before"]
        if name == "function" and match.end() == len(text):
            return Block(len(text), tuple(calls), fault=truncated(context, "the text ends before a name").fault)
        try:
            read = read_json_at(text, match.end(), context.keys)
        except Unreadable as fault:
            end = _END_CALL.search(text, match.end())
            kind = ProblemKind.UNPARSEABLE if end else fault.kind
            calls.append(RawCall(name, {}, fault=Unreadable(kind, fault.reason, fault.position)))
            at = end.end() if end and fault.kind is not ProblemKind.TRUNCATED else len(text)
            continue
        calls.append(RawCall(name, read.value, repairs=read.repairs))
        close = _END_CALL.match(text, read.end)
        at = close.end() if close else read.end
    end = _END.match(text, at)
    if end is None and text[at:].strip() and "calls" in opener[0]:
        closed = re.compile(r"<[｜|]tool▁calls▁end[｜|]>").search(text, at)
        if not closed:
            return Block(len(text), tuple(calls), fault=truncated(context, "the text ends inside a call").fault)
        return Block(closed.end(), tuple(calls), fault=unparseable(at, "the section of calls holds no call").fault)
    if not calls:
        return Block(end.end()) if end else truncated(context, "the text ends inside a call")
    return Block(end.end() if end else at, tuple(calls))


DIALECT = Dialect("deepseek", _OPENER, ("<｜tool▁call", "<|tool▁call"), _read)
