"""`<invoke name="...">` with `<parameter name="...">`: DeepSeek's DSML, MiniMax M2, and Claude-like calls.

DSML says of each value whether it is text (`string="true"`) or JSON; elsewhere only the schema does.
Source: the encoders of DeepSeek V3.2 and V4, the MiniMax M2 chat template.
"""

from __future__ import annotations

import re
from typing import Any

from rightcall.domain import ProblemKind
from rightcall.parsing.conversions import RawText
from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, one_newline_off, repeated, skip_space
from rightcall.parsing.json_reader import read_json
from rightcall.parsing.unreadable import Unreadable

_DSML = r"[｜|‖]{1,2}DSML[｜|‖]{1,2}\s?"
_PREFIX = rf"(?:{_DSML}|\w+:)?"
_SECTION = re.compile(rf"<{_PREFIX}(?:function_calls|tool_calls?|calls)>")
_OPENER = re.compile(
    rf"{_SECTION.pattern}\s*(?=<{_PREFIX}invoke\s)|<{_PREFIX}invoke\s+name="
    rf"|<{_DSML}(?:function_calls|tool_calls|calls)>"
)
_INVOKE = re.compile(rf"""\s*<{_PREFIX}invoke\s+name=["'](?P<name>[^"'<>]+)["']\s*(?P<empty>/)?>""")
_END_INVOKE = re.compile(rf"\s*</{_PREFIX}invoke>")
_END_SECTION = re.compile(rf"\s*</{_PREFIX}(?:function_calls|tool_calls?|calls)>")
_PARAMETER = re.compile(
    rf"""\s*<{_PREFIX}parameter\s+name=["'](?P<key>[^"'<>]+)["'](?:\s+string=["'](?P<string>true|false)["'])?[^<>]*>"""
)
_END_PARAMETER = re.compile(rf"</{_PREFIX}parameter>(?=\s*(?:<{_PREFIX}parameter\s|</{_PREFIX}invoke>|\Z))")
_ELEMENT = re.compile(r"\s*<(?P<key>[\w\-][\w.\-]*)>")


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    section = _SECTION.match(text, opener.start())
    at = section.end() if section else opener.start()
    calls: list[RawCall] = []
    while invoke := _INVOKE.match(text, at):
        call, at = _invoke(text, invoke)
        calls.append(call)
        if call.fault:
            return Block(len(text), tuple(calls))
    if end := _END_SECTION.match(text, at):
        return Block(end.end(), tuple(calls))
    rest = skip_space(text, at)
    if section and (rest == len(text) or text[rest] == "<"):
        # Complete calls stand; what the section goes on with is lost.
        lost = rest < len(text) or not calls
        return Block(len(text), tuple(calls), fault=_cut("the section of calls") if lost else None)
    return Block(at, tuple(calls)) if calls else None


def _invoke(text: str, invoke: re.Match[str]) -> tuple[RawCall, int]:
    name, at = invoke["name"], invoke.end()
    if invoke["empty"]:
        return RawCall(name, {}), at
    arguments: dict[str, Any] = {}
    while child := _PARAMETER.match(text, at) or _ELEMENT.match(text, at):
        close = _end_of_value(text, child)
        if close is None:
            return RawCall(name, {}, fault=_cut(f"the call of {name}")), len(text)
        key, value = child["key"], _value(text[child.end() : close[0]], child.groupdict().get("string"))
        if key in arguments and arguments[key] != value:
            return RawCall(name, {}, fault=repeated(name, key)), len(text)
        arguments[key] = value
        at = close[1]
    end = _END_INVOKE.match(text, at)
    if end is None:
        return RawCall(name, {}, fault=_cut(f"the call of {name}")), len(text)
    return RawCall(name, arguments), end.end()


def _end_of_value(text: str, child: re.Match[str]) -> tuple[int, int] | None:
    """Where a value's closing tag begins and ends."""
    if child.re is _PARAMETER:
        close = _END_PARAMETER.search(text, child.end())
        return close.span() if close else None
    tag = f"</{child['key']}>"
    start = text.find(tag, child.end())
    return (start, start + len(tag)) if start >= 0 else None


def _cut(what: str) -> Unreadable:
    return Unreadable(ProblemKind.TRUNCATED, f"the text ends inside {what}")


def _value(text: str, is_string: str | None) -> Any:
    if is_string == "true":
        return text
    if is_string == "false":
        try:
            return read_json(text).value
        except Unreadable:
            return text
    return RawText(one_newline_off(text))


_STARTS = (
    "<｜DSML｜",
    "<｜｜DSML",
    "<|DSML",
    "<||DSML",
    "<‖DSML",
    "<invoke ",
    "<minimax:",
    "<",
    "<function_calls>",
    "<tool_calls>",
    "<tool_call>",
)
DIALECT = Dialect("invoke_xml", _OPENER, _STARTS, _read, ("invoke", "DSML"))
