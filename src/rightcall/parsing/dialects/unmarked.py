"""Calls without any marker: a message, or a fence in it, that is JSON envelopes or Python calls.

The hardest part is to leave alone what only looks like a call. An object counts when the name is a declared
tool and the rest has the shape of an envelope; words around it must not present it as an example. What stands
in the middle of an explanation is no call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rightcall.domain import ProblemKind
from rightcall.parsing.dialects.base import Block, Context, RawCall
from rightcall.parsing.dialects.envelope import (
    KEYED_BY_NAME,
    LOOKS_LIKE_CALL,
    NO_ARGUMENTS,
    calls_in,
    read_values,
    unread,
)
from rightcall.parsing.dialects.pythonic import cut_off, read_calls, read_marked_calls
from rightcall.parsing.illustration import CALL_FENCES, EXAMPLE, in_listing, in_transcript, only_shown
from rightcall.parsing.unreadable import Unreadable

_FENCE = re.compile(
    r"^[ \t]*```[ \t]*(?P<info>[\w\-]*)[ \t]*\n(?P<body>.*?)(?:\n[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_END_TOKENS = re.compile(r"(?:\s|</s>|<\|[\w]{1,30}\|>|<｜[^<>｜]{1,40}｜>|<eos>|<end_of_turn>|```)*\Z")
_WEAK = frozenset((NO_ARGUMENTS, KEYED_BY_NAME))
"""Forms of a call that data has as well, so that words beside it leave it open what is meant."""

_STRAY_CLOSERS = re.compile(r"\s*[}\]]+\s*\Z")
_OR = re.compile(r"\W*or\W*", re.IGNORECASE)
_VALUE_LINE = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)


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
    weak = any(_WEAK.intersection(call.repairs) for piece in pieces for call in piece.calls)
    spoken = in_transcript(text, pieces[0].start)
    if weak or spoken or EXAMPLE.search(words) or any(_OR.fullmatch(between) for between in around[1:-1]):
        return Block(len(text), text=text, fault=only_shown())
    opens, ends = not around[0].strip(), _END_TOKENS.fullmatch(around[-1]) is not None
    if opens or ends:
        return _joined(text, pieces, "".join(around))
    return None


def _pieces(context: Context) -> list[_Piece]:
    text = context.text
    fences = list(_FENCE.finditer(text))
    wrapping = [fence for fence in fences if fence["info"].lower() in CALL_FENCES]
    pieces = [piece for fence in wrapping if (piece := _fenced(context, fence))]
    if pieces or wrapping:
        return pieces
    start = len(text) - len(text.lstrip())
    if piece := _expressions(context, start):
        return [piece]
    first = next((line for line in _VALUE_LINE.finditer(text) if not in_listing(text, 0, line.end())), None)
    piece = (_bare(context, first.end()) or _expressions(context, first.end())) if first else None
    return [piece] if piece else []


def _expressions(context: Context, start: int) -> _Piece | None:
    """Call expressions from `start` to the end of the message."""
    text = context.text
    found = read_calls(context, start)
    if found and _END_TOKENS.fullmatch(text, found[1]):
        return _Piece(start, len(text), tuple(found[0]))
    fault = cut_off(context, start) if text.startswith("[", start) else None
    return _Piece(start, len(text), (), fault) if fault else None


def _fenced(context: Context, fence: re.Match[str]) -> _Piece | None:
    body = fence["body"]
    inner = Context(body, context.names, context.parameters, context.keys, context.cut, context.ended)
    closed = fence[0].rstrip().endswith("```") and fence.end() - fence.start("body") > len(body)
    found = _code(inner) if fence["info"] == "tool_code" else read_calls(inner, 0)
    if found:
        calls, end = found
        return _Piece(fence.start(), fence.end(), tuple(calls)) if not body[end:].strip() else None
    piece = _bare(inner, len(body) - len(body.lstrip())) if body.strip()[:1] in {"{", "["} else None
    if piece is None or (body[piece.end :].strip() and not piece.fault):
        return None
    fault = piece.fault
    if fault and closed and fault.kind is ProblemKind.TRUNCATED:
        fault = Unreadable(ProblemKind.UNPARSEABLE, "a bracket or a string is not closed", fault.position)
    return _Piece(fence.start(), fence.end(), piece.calls, fault)


def _code(inner: Context) -> tuple[list[RawCall], int] | None:
    """Calls in a `tool_code` fence, which is Gemma's marker, so that they may be of any name and printed."""
    try:
        return read_marked_calls(inner, 0)
    except Unreadable:
        return None


def _bare(context: Context, start: int) -> _Piece | None:
    text = context.text
    try:
        values, end, repairs = read_values(context, start)
    except Unreadable as fault:
        return _broken(context, start, fault)
    calls = calls_in(values if len(values) > 1 else values[0], context, marked=False) if values else None
    if calls is None:
        return None
    lost = unread(context, end)
    if _STRAY_CLOSERS.match(text, end):
        repairs, end = (*repairs, "trailing_closer"), len(text)
    elif lost:
        end = len(text)
    made = tuple(RawCall(c.name, c.arguments, c.id, repairs + c.repairs) for c in calls)
    return _Piece(start, end, made, lost)


def _broken(context: Context, start: int, fault: Unreadable) -> _Piece | None:
    """An object that cannot be read: a call only if it names a declared tool where a name belongs."""
    text = context.text[start:]
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
