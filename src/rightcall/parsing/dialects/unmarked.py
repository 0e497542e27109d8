"""Calls without any marker: a message, or a fence in it, that is JSON envelopes or Python calls.

The hardest part is to leave alone what only looks like a call. An object counts when the name is a declared
tool and the rest has the shape of an envelope; words around it must not present it as an example. What stands
in the middle of an explanation is no call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rightcall.domain import ProblemKind
from rightcall.parsing.dialects.base import Block, Context, RawCall
from rightcall.parsing.dialects.envelope import LOOKS_LIKE_CALL, calls_in, read_values
from rightcall.parsing.dialects.pythonic import read_calls
from rightcall.parsing.json_reader import Unreadable, read_json

_FENCE = re.compile(
    r"^[ \t]*```[ \t]*(?P<info>[\w\-]*)[ \t]*\n(?P<body>.*?)(?:\n[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
CALL_FENCES = frozenset(
    ("", "json", "json5", "jsonc", "tool_call", "tool_calls", "tool_code", "function_call", "tool", "xml")
)
_END_TOKENS = re.compile(r"(?:\s|</s>|<\|[\w]{1,30}\|>|<｜[^<>｜]{1,40}｜>|<eos>|<end_of_turn>|```)*\Z")
_EXAMPLE = re.compile(
    r"\b(?:examples?|e\.g\.|for instance|such as|would (?:look|be|call|use)|could (?:be|call|use|write|type)"
    r"|you (?:can|could|would|should|might|may)|if you|format|syntax|template|schema|instead of|don't|do not"
    r"|alternatively|looks? like|something like|hypothetical)\b",
    re.IGNORECASE,
)
_DOUBLED_BRACES = re.compile(r"\A\s*\{\{.*\}\}\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch that is certainly shaped like calls, and where it stands."""

    start: int
    end: int
    calls: tuple[RawCall, ...]
    fault: Unreadable | None = None


def read_unmarked(context: Context) -> Block | None:
    """Reads a whole message. The block's text is what stands around the calls; None where there is no call."""
    text = context.text
    pieces = _pieces(context)
    if not pieces:
        return None
    around = _around(text, pieces)
    words = " ".join(around).strip()
    if _END_TOKENS.fullmatch(words):
        return _joined(text, pieces, "")
    if any(piece.fault for piece in pieces):
        # Broken JSON beside words is more likely an illustration than a call.
        return None if not all(piece.fault for piece in pieces) else _joined(text, pieces, words)
    if _EXAMPLE.search(words):
        reason = "a call stands inside an explanation; if it is meant, it must be the whole reply"
        return Block(len(text), text=text, fault=Unreadable(ProblemKind.AMBIGUOUS, reason))
    opens, ends = not around[0].strip(), _END_TOKENS.fullmatch(around[-1]) is not None
    if opens or ends:
        return _joined(text, pieces, "".join(around))
    return None


def may_be_call(piece: str) -> bool:
    """Whether a closed fence or object could be a call at all, so that a stream has to hold it back."""
    return LOOKS_LIKE_CALL.search(piece) is not None or "(" in piece[:200]


def _pieces(context: Context) -> list[_Piece]:
    text = context.text
    fences = [fence for fence in _FENCE.finditer(text) if fence["info"].lower() in CALL_FENCES]
    pieces = [piece for fence in fences if (piece := _fenced(context, fence))]
    if pieces or fences:
        return pieces
    first = re.search(r"^[ \t]*(?=[{\[])", text, re.MULTILINE)
    if first and (piece := _bare(context, first.end())):
        return [piece]
    start = len(text) - len(text.lstrip())
    found = read_calls(context, start)
    if found and _END_TOKENS.fullmatch(text, found[1]):
        return [_Piece(start, len(text), tuple(found[0]))]
    return []


def _fenced(context: Context, fence: re.Match[str]) -> _Piece | None:
    body = fence["body"]
    inner = Context(body, context.names, context.parameters, context.keys, context.cut, context.ended)
    closed = fence[0].rstrip().endswith("```") and fence.end() - fence.start("body") > len(body)
    if found := read_calls(inner, 0):
        calls, end = found
        return _Piece(fence.start(), fence.end(), tuple(calls)) if not body[end:].strip() else None
    piece = _bare(inner, len(body) - len(body.lstrip())) if body.strip()[:1] in {"{", "["} else None
    if piece is None or (body[piece.end :].strip() and not piece.fault):
        return None
    fault = piece.fault
    if fault and closed and fault.kind is ProblemKind.TRUNCATED:
        fault = Unreadable(ProblemKind.UNPARSEABLE, "a bracket or a string is not closed", fault.position)
    return _Piece(fence.start(), fence.end(), piece.calls, fault)


def _bare(context: Context, start: int) -> _Piece | None:
    text = context.text
    try:
        values, end, repairs = read_values(context, start)
    except Unreadable as fault:
        return _broken(context, start, fault)
    calls = calls_in(values if len(values) > 1 else values[0], context, marked=False) if values else None
    if calls is None:
        return None
    rest = text[end:]
    if re.match(r"[}\]]+\s*\Z", rest.lstrip()):
        end = len(text)
    return _Piece(start, end, tuple(RawCall(c.name, c.arguments, c.id, repairs + c.repairs) for c in calls))


def _broken(context: Context, start: int, fault: Unreadable) -> _Piece | None:
    """An object that cannot be read: a call only if it names a declared tool where a name belongs."""
    text = context.text[start:]
    if _DOUBLED_BRACES.match(text):
        # A template's doubled braces, copied by the model.
        single = text.strip()[1:-1]
        try:
            value: Any = read_json(single, context.keys).value
        except Unreadable:
            value = None
        calls = calls_in(value, context, marked=False)
        if calls:
            return _Piece(
                start,
                len(context.text),
                tuple(RawCall(c.name, c.arguments, c.id, ("doubled_braces",)) for c in calls),
            )
    if not LOOKS_LIKE_CALL.search(text[:400]) or not re.search(
        r"""["'](?:arguments|parameters|args|input)["']""", text
    ):
        return None
    return _Piece(start, len(context.text), (), fault)


def _around(text: str, pieces: list[_Piece]) -> list[str]:
    edges = [0, *(edge for piece in pieces for edge in (piece.start, piece.end)), len(text)]
    return [text[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2)]


def _joined(text: str, pieces: list[_Piece], words: str) -> Block:
    calls = tuple(call for piece in pieces for call in piece.calls)
    fault = next((piece.fault for piece in pieces if piece.fault), None)
    return Block(len(text), calls, words, fault=fault)
