"""Gemma 4 (`<|tool_call>call:name{key:<|"|>text<|"|>}<tool_call|>`) and FunctionGemma (`<escape>` delimiters).

Keys are bare and run to the colon; strings stand between their delimiters without any escaping.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rightcall.domain import ProblemKind
from rightcall.parsing.conversions import RawText
from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, skip_space, unparseable
from rightcall.parsing.dialects.envelope import calls_in, read_values
from rightcall.parsing.json_repair import MAX_DEPTH
from rightcall.parsing.names import match_name
from rightcall.parsing.unreadable import Unreadable

_OPENER = re.compile(
    r"<\|tool_call>\s*(?=call:|\Z)|<start_function_call>\s*(?=call:|\Z)|<\|tool_call>(?=c?a?l?l?:?\Z)"
)
_NAME = re.compile(r"call:\s*(?P<name>[^\s{}<>]+)\s*(?=\{)")
_ENVELOPE = re.compile(r"call:\s*(?=\{)")
_EXPRESSION = re.compile(r"call:\s*(?P<name>[^\s{}<>()]+)\(")
_WORD = re.compile(r"call:\s*(?P<name>[^\s{}<>():]+)")
_CLOSE = re.compile(r"\s*(?:<tool_call\|>|<end_function_call>|<tool_call>|</tool_call>)")
_KEY = re.compile(r"\s*(?P<q>[\"']?)(?P<key>[^:={}\[\],\"'<>]+?)(?P=q)\s*[:=]\s*")
_DELIMITERS = ('<|"|>', "<escape>", '"', "'")
_BARE = re.compile(r"[^,\]}<>\[{)]+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\Z")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text = context.text
    name = _NAME.match(text, opener.end())
    if name is None:
        return _without_braces(context, opener)
    reader = _Values(text)
    try:
        arguments, end = reader.object(name.end(), 0)
    except Unreadable as fault:
        close = _CLOSE.search(text, name.end())
        at = close.end() if close and fault.kind is not ProblemKind.TRUNCATED else len(text)
        return Block(at, (RawCall(name["name"], {}, fault=fault),))
    close = _CLOSE.match(text, end)
    return Block(close.end() if close else end, (RawCall(name["name"], arguments),))


def _without_braces(context: Context, opener: re.Match[str]) -> Block | None:
    """What follows the marker is no `name{`: a JSON envelope, `name(`, a cut call, or text about the marker."""
    text, start = context.text, opener.end()
    if envelope := _ENVELOPE.match(text, start):
        return _with_envelope(context, envelope.end())
    closed = _CLOSE.search(text, start)
    if expression := _EXPRESSION.match(text, start):
        try:
            arguments, end = _Values(text).object(expression.end() - 1, 0, ")")
        except Unreadable as fault:
            return Block(closed.end() if closed else len(text), (RawCall(expression["name"], {}, fault=fault),))
        close = _CLOSE.match(text, end)
        return Block(close.end() if close else end, (RawCall(expression["name"], arguments),))
    word = _WORD.match(text, start)
    if word and match_name(word["name"], context.names).name and closed:
        return unparseable(closed.end(), f"the arguments of {word['name']} are not written as {{key:value}}")
    if closed or re.search(r"\s", text[start:].strip()):
        return None
    return Block(len(text), fault=Unreadable(ProblemKind.TRUNCATED, "the text ends inside a call"))


def _with_envelope(context: Context, start: int) -> Block | None:
    try:
        values, end, repairs = read_values(context, start)
    except Unreadable as fault:
        return Block(len(context.text), fault=fault)
    calls = calls_in(values, context, marked=True)
    close = _CLOSE.match(context.text, end)
    made = tuple(RawCall(call.name, call.arguments, call.id, repairs + call.repairs) for call in calls or ())
    return Block(close.end() if close else end, made) if made else None


@dataclass(slots=True)
class _Values:
    text: str

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        if depth > MAX_DEPTH:
            raise Unreadable(ProblemKind.UNPARSEABLE, f"nested deeper than {MAX_DEPTH} levels", at)
        if self.text.startswith("{", at):
            return self.object(at, depth + 1)
        if self.text.startswith("[", at):
            return self.array(at, depth + 1)
        for delimiter in _DELIMITERS:
            if self.text.startswith(delimiter, at):
                return self.string(at + len(delimiter), delimiter)
        bare = _BARE.match(self.text, at)
        if bare is None or bare.end() >= len(self.text):
            raise self.fault(at)
        word = bare[0].strip()
        if word in _WORDS:
            return _WORDS[word], bare.end()
        if _NUMBER.match(word):
            return (int(word) if word.lstrip("-").isdigit() else float(word)), bare.end()
        return RawText(word), bare.end()

    def string(self, start: int, delimiter: str) -> tuple[str, int]:
        end = self.text.find(delimiter, start)
        if end < 0:
            raise Unreadable(ProblemKind.TRUNCATED, "the text ends inside a string", start)
        return self.text[start:end], end + len(delimiter)

    def object(self, at: int, depth: int, closer: str = "}") -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = skip_space(self.text, at + 1)
        while not self.text.startswith(closer, at):
            key = _KEY.match(self.text, at)
            if key is None:
                raise self.fault(at)
            if key["key"] in found:
                raise Unreadable(ProblemKind.AMBIGUOUS, f"the key {key['key']!r} stands twice", at)
            found[key["key"]], at = self.value(key.end(), depth)
            at = self.separator(at, closer)
        return found, at + 1

    def array(self, at: int, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = skip_space(self.text, at + 1)
        while not self.text.startswith("]", at):
            item, at = self.value(at, depth)
            found.append(item)
            at = self.separator(at, "]")
        return found, at + 1

    def separator(self, at: int, closer: str) -> int:
        at = skip_space(self.text, at)
        if self.text.startswith(",", at):
            return skip_space(self.text, at + 1)
        if self.text.startswith(closer, at):
            return at
        raise self.fault(at)

    def fault(self, at: int) -> Unreadable:
        if at >= len(self.text) or not re.search(r"[}\]]|<tool_call\|>", self.text[at:]):
            return Unreadable(ProblemKind.TRUNCATED, "the text ends inside the arguments", at)
        return Unreadable(
            ProblemKind.UNPARSEABLE, f"{self.text[at : at + 12]!r} is not expected in the arguments", at
        )


DIALECT = Dialect("gemma", _OPENER, ("<|tool_call>", "<start_function_call>"), _read)
