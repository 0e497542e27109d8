"""GLM-4.5 to 5.3: `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`, and LongCat's twin.

Values are plain text without framing newlines (GLM chat templates): every blank is data. Also
`<tool_call>name` followed by a JSON object, which several models write.
"""

from __future__ import annotations

import re

from rightcall.domain import ProblemKind
from rightcall.parsing.conversions import RawText
from rightcall.parsing.dialects.base import (
    Block,
    Context,
    Dialect,
    RawCall,
    repeated,
    skip_space,
    truncated,
    unparseable,
)
from rightcall.parsing.json_reader import read_json_at
from rightcall.parsing.names import match_name
from rightcall.parsing.unreadable import Unreadable

_OPENER = re.compile(
    r"<(?P<p>longcat_)?tool_call>\s*(?P<name>[^\s<>{}\[\]()\"'`]*[^\s<>{}\[\]()\"'`:])\s*(?=<(?:longcat_)?arg_key>|</(?:longcat_)?tool_call>|\{|</?\w*\Z|\Z)"
)
_KEY = re.compile(r"\s*<(?:longcat_)?arg_key>(?P<key>.*?)</(?:longcat_)?arg_key>(?:\s*</arg_key>)*\s*", re.DOTALL)
_VALUE = re.compile(r"<(?:longcat_)?arg_value>|(?=[^<]*</(?:longcat_)?arg_value>)")
"""The opening of a value, which GLM leaves out at times: a closing tag behind plain text shows where it began."""
_END_VALUE = re.compile(
    r"</(?:longcat_)?arg_value>(?=\s*(?:<(?:longcat_)?arg_key>|</(?:longcat_)?tool_call>|<tool_call>|\Z))"
    r"|(?=</(?:longcat_)?tool_call>\s*(?:<tool_call>|\Z))"
)
_CUT_TAG = re.compile(r"[^<]*(?:</?\w*)?\Z")
_CUT_KEY = re.compile(rf"\s*(?:<(?:longcat_)?arg_key>{_CUT_TAG.pattern}|</?\w*\Z)")
_CLOSE = re.compile(r"\s*</(?:longcat_)?tool_call>")


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text, name, at = context.text, opener["name"], opener.end()
    if text[at : at + 1] == "{":
        return _with_json(context, name, at)
    arguments: dict[str, RawText] = {}
    while key := _KEY.match(text, at):
        value = _VALUE.match(text, key.end())
        end = _END_VALUE.search(text, value.end()) if value else None
        if value is None and not _CUT_TAG.match(text, key.end()):
            return unparseable(key.end(), f"the key {key['key']!r} of {name} has no <arg_value>")
        if value is None or end is None:
            return truncated(context, f"the text ends inside the call of {name}", name)
        word, written = key["key"].strip(), text[value.end() : end.start()]
        if arguments.get(word, written) != written:
            return Block(len(text), (RawCall(name, {}, fault=repeated(name, word)),))
        arguments[word] = RawText(written)
        at = end.end()
    close = _CLOSE.match(text, at)
    if close:
        if not arguments and match_name(name, context.names).name is None:
            return None
        return Block(close.end(), (RawCall(name, arguments),))
    if skip_space(text, at) < len(text) and not _CUT_KEY.match(text, at):
        return None if not arguments else unparseable(at, f"the call of {name} holds something else than arguments")
    return truncated(context, f"the text ends before </tool_call> closes the call of {name}", name)


def _with_json(context: Context, name: str, at: int) -> Block:
    try:
        read = read_json_at(context.text, at, context.keys)
    except Unreadable as fault:
        kind = fault.kind if context.text.find("</tool_call>", at) < 0 else ProblemKind.UNPARSEABLE
        close = context.text.find("</tool_call>", at)
        cut = close < 0 or fault.kind is ProblemKind.TRUNCATED
        end = len(context.text) if cut else close + len("</tool_call>")
        return Block(end, (RawCall(name, {}, fault=Unreadable(kind, fault.reason, fault.position)),))
    close_tag = _CLOSE.match(context.text, read.end)
    return Block(close_tag.end() if close_tag else read.end, (RawCall(name, read.value, repairs=read.repairs),))


DIALECT = Dialect("glm", _OPENER, ("<tool_call>", "<longcat_tool_call>"), _read)
