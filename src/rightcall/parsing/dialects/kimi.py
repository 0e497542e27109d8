"""Kimi K2 (`<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{json}`) and K3 (XTML elements).

K2's id carries the name and a counter; K3 gives each argument a type and writes strings raw
(Moonshot's chat templates and encoders).
"""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import Any

from rightcall.domain import ProblemKind
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
from rightcall.parsing.dialects.envelope import calls_in, read_values
from rightcall.parsing.json_reader import read_json, read_json_at
from rightcall.parsing.unreadable import Unreadable

_K2_OPENER = re.compile(r"<\|tool_calls?_section_begin\|>|<\|tool_call_begin\|>")
_K2_CALL = re.compile(r"(?:<\|tool_call_begin\|>)?\s*(?P<id>[^<>{}\s]+)\s*<\|tool_call_argument_begin\|>\s*")
_K2_END_CALL = re.compile(r"\s*<\|tool_call_end\|>")
_K2_END = re.compile(r"<\|tool_calls?_section_end\|>")
_K2_MARKS = re.compile(r"<\|tool_call_(?:begin|end)\|>")

_K3_OPENER = re.compile(r"<\|open\|>(?:tools|call\b[^<>]*)<\|sep\|>|<\|open\|>(?:tools|call\b[^<>]*)\Z")
_K3_CALL = re.compile(r"""\s*<\|open\|>call\s+tool="(?P<name>[^"]*)"[^<>]*<\|sep\|>""")
_K3_ARGUMENT = re.compile(
    r"""\s*<\|open\|>argument\s+key="(?P<key>[^"]*)"(?:\s+type="(?P<type>\w+)")?[^<>]*<\|sep\|>"""
)
_K3_END_ARGUMENT = re.compile(r"<\|close\|>argument<\|sep\|>(?=\s*<\|(?:open\|>argument|close\|>call))")
_K3_END_CALL = re.compile(r"\s*<\|close\|>call<\|sep\|>")
_K3_END = re.compile(r"\s*<\|close\|>tools<\|sep\|>")


def _read_k2(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    at = opener.end() if "section" in opener[0] else opener.start()
    calls: list[RawCall] = []
    while match := _K2_CALL.search(text, at):
        closed = _K2_END.search(text, at)
        if closed and closed.start() < match.start():
            break
        try:
            read = read_json_at(text, match.end(), context.keys)
        except Unreadable as fault:
            calls.append(RawCall(match["id"], {}, fault=fault))
            return Block(len(text), tuple(calls))
        calls.append(RawCall(match["id"], read.value, match["id"], read.repairs))
        end = _K2_END_CALL.match(text, read.end)
        at = end.end() if end else read.end
    closed = _K2_END.search(text, at)
    if closed:
        return Block(closed.end(), tuple(calls)) if calls else _without_names(context, at, closed)
    if "<|tool_call_begin|>" in text[at:] or not calls:
        return Block(len(text), tuple(calls), fault=truncated(context, "the text ends inside a call").fault)
    return Block(at, tuple(calls))


def _without_names(context: Context, start: int, closed: re.Match[str]) -> Block:
    """A section without any call in its form: empty, JSON envelopes, or nothing that can be read."""
    body = replace(context, text=_K2_MARKS.sub(" ", context.text[start : closed.start()]).strip())
    if not body.text:
        return Block(closed.end())
    try:
        values, _end, repairs = read_values(body, 0)
    except Unreadable as fault:
        return unparseable(closed.end(), fault.reason)
    calls = calls_in(values, context, marked=True)
    if calls is None:
        return unparseable(closed.end(), "the section of calls holds no call")
    return Block(closed.end(), tuple(RawCall(c.name, c.arguments, c.id, repairs + c.repairs) for c in calls))


def _read_k3(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    at = opener.end() if "tools" in opener[0] else opener.start()
    calls: list[RawCall] = []
    while match := _K3_CALL.match(text, at):
        try:
            arguments, at = _k3_arguments(text, match["name"], match.end())
        except Unreadable as twice:
            return Block(len(text), (*calls, RawCall(match["name"], {}, fault=twice)))
        end = _K3_END_CALL.match(text, at)
        if arguments is None or end is None:
            fault = Unreadable(ProblemKind.TRUNCATED, f"the text ends inside the call of {match['name']}")
            calls.append(RawCall(match["name"], {}, fault=fault))
            return Block(len(text), tuple(calls))
        calls.append(RawCall(html.unescape(match["name"]), arguments))
        at = end.end()
    end = _K3_END.match(text, at)
    if end:
        return Block(end.end(), tuple(calls))
    if not calls or skip_space(text, at) < len(text):
        return Block(len(text), tuple(calls), fault=truncated(context, "the text ends inside a call").fault)
    return Block(at, tuple(calls))


def _k3_arguments(text: str, name: str, at: int) -> tuple[dict[str, Any] | None, int]:
    arguments: dict[str, Any] = {}
    while match := _K3_ARGUMENT.match(text, at):
        end = _K3_END_ARGUMENT.search(text, match.end())
        if end is None:
            return None, len(text)
        raw = text[match.end() : end.start()]
        value: Any = raw
        if match["type"] not in {None, "string"}:
            try:
                value = read_json(raw).value
            except Unreadable:
                value = raw
        key = html.unescape(match["key"])
        if key in arguments and arguments[key] != value:
            raise repeated(name, key)
        arguments[key] = value
        at = end.end()
    return arguments, at


K2 = Dialect(
    "kimi_k2",
    _K2_OPENER,
    ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_call_begin|>"),
    _read_k2,
)
K3 = Dialect("kimi_k3", _K3_OPENER, ("<|open|>tools", "<|open|>call"), _read_k3)
