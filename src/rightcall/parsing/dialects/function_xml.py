"""`<function=name>` with `<parameter=key>` elements, as Qwen3-Coder and Seed-OSS write.

Also Llama's `<function=name>{json}`.

Values are plain text: one framing newline at each end is markup, everything else is data (Qwen3-Coder chat
template). A closing tag counts only where structure follows it, because values may quote the format itself.
"""

from __future__ import annotations

import re

from rightcall.parsing.conversions import RawText
from rightcall.parsing.dialects.base import (
    Block,
    Context,
    Dialect,
    RawCall,
    one_newline_off,
    repeated,
    skip_space,
    truncated,
    unparseable,
)
from rightcall.parsing.json_reader import read_json_at
from rightcall.parsing.json_repair import read_arguments_list
from rightcall.parsing.unreadable import Unreadable

_OPENER = re.compile(
    r"""(?:<(?:\w+:)?tool_call>\s*)?<function(?:=|\s+name=)["']?(?P<name>[^\s<>{}()"'=]+)["']?\s*(?P<gt>>|(?=[{(]))"""
)
_PARAMETER = re.compile(r"""\s*<param(?:eter)?(?:=|\s+name=)["']?(?P<key>[^<>"'\n]+?)["']?\s*>""")
_CLOSE_VALUE = re.compile(
    r"</param(?:eter)?>"
    r"(?=\s*(?:<param(?:eter)?[= ]|</function>|</(?:\w+:)?tool_call>|<(?:\w+:)?tool_call>|<function=|\Z))"
)
_LINE_START = re.compile(
    r"\n[ \t]*(?:<param(?:eter)?(?:=|\s+name=)[\"']?(?P<key>[^<>\"'\n]+?)[\"']?\s*>"
    r"|(?P<end></function>)(?=\s*(?:</?(?:\w+:)?tool_call>|<function=|\Z)))"
)
_CLOSE_FUNCTION = re.compile(r"\s*</function>")
_CLOSE_CALL = re.compile(r"\s*</(?:\w+:)?tool_call>")
_CUT_TAG = re.compile(r"\s*(?:</?[\w:]*(?:[= ][^<>]*)?)?\Z")
_STRAY_CLOSE_VALUE = re.compile(r"\s*</param(?:eter)?>")


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text, name = context.text, opener["name"]
    start = skip_space(text, opener.end())
    if text[start : start + 1] in {"{", "["}:
        return _with_json(context, name, start)
    if text[start : start + 1] == "(" and not opener["gt"]:
        return _with_expression(context, name, start)
    return _with_parameters(context, name, opener.end())


def _with_json(context: Context, name: str, start: int) -> Block:
    try:
        read = read_json_at(context.text, start, context.keys)
    except Unreadable as fault:
        return Block(len(context.text), (RawCall(name, {}, fault=fault),))
    end = _CLOSE_FUNCTION.match(context.text, read.end)
    return Block(
        _behind(context.text, end.end() if end else read.end), (RawCall(name, read.value, repairs=read.repairs),)
    )


def _with_expression(context: Context, name: str, start: int) -> Block:
    try:
        arguments, end, repairs = read_arguments_list(context.text, start + 1, context.keys)
    except Unreadable as fault:
        return Block(len(context.text), (RawCall(name, {}, fault=fault),))
    close = _CLOSE_FUNCTION.match(context.text, end)
    if close is None or "" in arguments:
        return unparseable(end, f"the arguments of {name} are not key=value pairs in <function=...>")
    return Block(_behind(context.text, close.end()), (RawCall(name, arguments, repairs=repairs),))


def _with_parameters(context: Context, name: str, position: int) -> Block:
    text, at = context.text, position
    arguments: dict[str, RawText] = {}
    while match := _PARAMETER.match(text, at):
        value, at = _value(context, name, match.end())
        if value is None:
            return truncated(context, f"the text ends inside the parameter {match['key']!r}", name)
        key, value = match["key"].strip(), one_newline_off(value)
        if arguments.get(key, value) != value:
            return Block(len(text), (RawCall(name, {}, fault=repeated(name, key)),))
        arguments[key] = RawText(value)
    stray = _STRAY_CLOSE_VALUE.match(text, at)
    at = stray.end() if stray else at
    close = _CLOSE_FUNCTION.match(text, at)
    call = RawCall(name, arguments)
    if close:
        return Block(_behind(text, close.end()), (call,))
    outer = _CLOSE_CALL.match(text, at)
    if outer:
        return Block(outer.end(), (call,))
    if _CUT_TAG.match(text, at):
        return truncated(context, f"the text ends before </function> closes the call of {name}", name)
    return unparseable(at, f"the call of {name} holds something else than parameters")


def _value(context: Context, name: str, start: int) -> tuple[str | None, int]:
    """A parameter's text and the position behind it.

    It goes up to a close that structure follows, or, where the close was left out, up to a line that begins
    the next declared parameter or ends the function.
    """
    text = context.text
    close = _CLOSE_VALUE.search(text, start)
    for line in _LINE_START.finditer(text, start - 1):
        if close and close.start() <= line.start():
            break
        if line["end"] or context.declares(name, line["key"].strip()):
            return text[start : line.start() + 1], line.start() + 1
    if close is None:
        return None, len(text)
    return text[start : close.start()], close.end()


def _behind(text: str, end: int) -> int:
    close = _CLOSE_CALL.match(text, end)
    return close.end() if close else end


DIALECT = Dialect(
    "function_xml",
    _OPENER,
    ("<function=", "<function name=", "<tool_call>", "<seed:tool_call>"),
    _read,
    ("<function",),
)
