"""Streaming: which part of a text may be shown at once, and which may still become a call.

Text streams as it comes; from the first character that may begin a call everything is held until the reply is
whole. What was let through is always a beginning of the text that reading the whole reply gives, with one
exception: reasoning that ends without having begun (`...</think>`) cannot be told from text in time.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from rightcall.domain import Reading
from rightcall.parsing import reasoning
from rightcall.parsing.dialects import DIALECTS
from rightcall.parsing.dialects.envelope import ARGUMENT_KEYS, NAME_KEYS
from rightcall.parsing.illustration import CALL_FENCES, FENCE_LINE
from rightcall.schema.compiled import Toolset

_END_TOKENS = (
    "</s>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end",
    "<end_of_turn>",
    "<eos>",
    "<｜end",
    "<|return|>",
)
_NOISE = ("<|open|>", "<|close|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>", *_END_TOKENS, *reasoning.BLOCKS.values())
_ORPHANS = ("</parameter>", "</function>", "</tool_call>", "</invoke>", "</arg_value>", "<parameter=")
_STRIPPED = ("assistantcommentary", "assistantanalysis", "assistant to=functions", "assistantto=functions")
_STARTS = tuple(start for dialect in DIALECTS for start in dialect.starts if len(start) > 1 and start[:6] != "Action")
_FRONT_STARTS = tuple(start for start in _STARTS if start[0] not in "<[]◁✿f")
_ANYWHERE = (*set(_STARTS).difference(_FRONT_STARTS), *_NOISE, *_ORPHANS, *_STRIPPED)
_LINE_STARTS = ("Action:", "**Action", "{", "[{")
_WEIGHED_FENCES = frozenset(("", "json", "json5", "jsonc", "xml"))
"""Languages of fences that hold data as often as calls; what the other fences of calls hold can only be a call."""

_DECIDED_AFTER = 240
_CANDIDATE = re.compile(r"[<\[{`\]◁✿>*A-Za-z ]")
_WORD = re.compile(r"[A-Za-z]+|.", re.DOTALL)
_END_OF_FENCE = re.compile(r"^[ \t]*```+[ \t]*(?=\n)", re.MULTILINE)
_KEYS = re.compile(rf"""["'“](?:{"|".join((*NAME_KEYS, *ARGUMENT_KEYS, "tool_calls", "tool_uses"))})["'”]\s*:""")


class _Verdict(Enum):
    """What begins at a place: text, reasoning, a call, or it is not clear yet."""

    TEXT = auto()
    REASONING = auto()
    CALL = auto()
    UNCLEAR = auto()


class _Fence(Enum):
    """What kind of fence the text is in, that is no call itself.

    Code at the front may hold any call, data only a marked one, and code with words before it none.
    """

    NONE = auto()
    CODE = auto()
    DATA = auto()
    INERT = auto()


class _Beginnings(NamedTuple):
    """How a call or a block may begin at a place: the whole marks, every part of one, and the longest's length."""

    whole: tuple[str, ...]
    parts: frozenset[str]
    longest: int


@lru_cache(maxsize=32)
def _beginnings(names: tuple[str, ...], line: bool, front: bool) -> _Beginnings:  # noqa: FBT001 - a cache's key
    """What may begin where a line does, or the reply; the same for every reply to the same tools."""
    whole = [*_ANYWHERE, *(f">>>{name}\n" for name in (*names, "all"))]
    if line:
        whole += (*_LINE_STARTS, *(f"<{name}>" for name in names))
    if front:
        whole += (
            *_FRONT_STARTS,
            "[",
            *(f"{name}{mark}" for name in names for mark in ("(", "[ARGS]", "\n{", "<|content|>", "\n<|content|>")),
        )
    parts = frozenset(mark[:size] for mark in (*whole, *reasoning.BLOCKS) for size in range(1, len(mark)))
    return _Beginnings(tuple(whole), parts, max(map(len, (*whole, *reasoning.BLOCKS))))


class TextGate:
    """Takes a reply's text piece by piece and lets through what is certainly text or reasoning."""

    def __init__(self, tools: Toolset, *, reasoning_open: bool = False) -> None:
        self._names = tuple(tools.names)
        self._words = re.compile("|".join(map(re.escape, self._names))) if self._names else None
        self._pending = ""
        self._shown: list[str] = []
        self._thought: list[str] = []
        self._held = False
        self._front, self._line, self._trim = True, True, False
        self._fence = _Fence.NONE
        # Reasoning: what may end the block that is open, whether the prompt opened it, and whether it said anything.
        self._closers: tuple[str, ...] = tuple(reasoning.BLOCKS.values()) if reasoning_open else ()
        self._prompted, self._block_begun, self._thought_before = reasoning_open, False, False

    def feed(self, text: str) -> tuple[str, str]:
        """Takes the next piece. Returns the text and the reasoning that may be shown now."""
        if self._held:
            return "", ""
        self._pending += text
        shown, thought = self._advance()
        self._shown.append(shown)
        self._thought.append(thought)
        return shown, thought

    def rest(self, reading: Reading) -> tuple[str, str]:
        """What of the whole reading's text and reasoning has not been shown yet."""
        return _remainder(reading.text, "".join(self._shown)), _remainder(reading.reasoning, "".join(self._thought))

    # -- one step after the other --------------------------------------------------------------------------

    def _advance(self) -> tuple[str, str]:
        shown: list[str] = []
        thought: list[str] = []
        more = True
        while more and self._pending and not self._held:
            if self._closers:
                piece, more = self._reasoning()
                thought.append(piece)
            else:
                piece, more = self._text()
                shown.append(piece)
        return "".join(shown), "".join(thought)

    def _reasoning(self) -> tuple[str, bool]:
        """Lets reasoning through up to its end; blanks at its edges wait, because they are not part of it."""
        if self._prompted and not self._settled():
            return "", False
        if not self._closers:
            return "", True
        end, closer = min(
            ((self._pending.find(mark), mark) for mark in self._closers if mark in self._pending), default=(-1, "")
        )
        if end >= 0:
            piece, self._pending = self._pending[:end].rstrip(), self._pending[end + len(closer) :]
            self._closers, self._trim = (), True
            return self._as_thought(piece), True
        keep = _partial(self._pending, self._closers)
        piece = self._pending[: len(self._pending) - keep].rstrip()
        self._pending = self._pending[len(piece) :]
        return self._as_thought(piece), False

    def _settled(self) -> bool:
        """Whether it is clear how a block that the prompt opened goes on: the model may open it again, or skip it."""
        bare = self._pending.lstrip()
        if opener := reasoning.OPEN.match(bare):
            self._open(bare, opener)
        elif reasoning.skipped(self._pending):
            self._closers = ()
        elif any(mark.startswith(bare) for mark in (*reasoning.BLOCKS, reasoning.ANSWER)):
            return False
        self._prompted = False
        return True

    def _open(self, text: str, opener: re.Match[str]) -> None:
        self._closers, self._block_begun = (reasoning.BLOCKS[opener[0]],), False
        self._pending = text[opener.end() :]

    def _as_thought(self, piece: str) -> str:
        """A piece of reasoning; blocks are joined by a line break, as in a whole reading."""
        if self._block_begun:
            return piece
        piece = piece.lstrip()
        joint = "\n" if piece and self._thought_before else ""
        if piece:
            self._block_begun = self._thought_before = True
        return joint + piece

    def _text(self) -> tuple[str, bool]:
        """Lets text through up to the next place where something else may begin."""
        if self._trim:
            self._pending = self._pending.lstrip()
            self._trim = not self._pending
        at = 0
        while match := _CANDIDATE.search(self._pending, at):
            at = match.start()
            verdict, behind = self._verdict(at)
            if verdict is _Verdict.TEXT:
                at = behind
                continue
            self._held = verdict is _Verdict.CALL
            piece = self._release(at)
            opener = reasoning.OPEN.match(self._pending.lstrip()) if verdict is _Verdict.REASONING else None
            if opener:
                self._open(self._pending.lstrip(), opener)
            return piece, opener is not None
        return self._release(len(self._pending)), False

    def _verdict(self, at: int) -> tuple[_Verdict, int]:
        """What begins at a place, and where to look next if it is text."""
        text = self._pending
        line_start = text.rfind("\n", 0, at) + 1
        line = (line_start > 0 or self._line) and not text[line_start:at].strip()
        front = self._front and not text[:at].strip()
        begins = _beginnings(self._names, line and self._fence is not _Fence.DATA, front)
        rest = text[at : at + begins.longest]
        if line and rest[0] == "`" and "```".startswith(rest[:3]):
            return self._fence_line(at, front=front)
        behind = _WORD.match(text, at).end()  # type: ignore[union-attr]  # matches any character
        if self._fence is _Fence.INERT:
            return _Verdict.TEXT, behind
        if reasoning.OPEN.match(rest):
            return _Verdict.REASONING if front else _Verdict.CALL, behind
        if text[at - 1 : at] == "`" and rest[0] in "<[":
            return _Verdict.TEXT, behind
        if rest.startswith(begins.whole):
            return self._weighed(at), behind
        unclear = at + len(rest) == len(text) and rest in begins.parts
        return _Verdict.UNCLEAR if unclear else _Verdict.TEXT, behind

    def _fence_line(self, at: int, *, front: bool) -> tuple[_Verdict, int]:
        """A fence is held only as long as it may be a call; that of another language is none."""
        line, newline, body = self._pending[at:].partition("\n")
        if not newline:
            return _Verdict.UNCLEAR, at
        fence, behind = FENCE_LINE.fullmatch(line), at + len(line)
        if fence is None:
            return _Verdict.TEXT, behind
        info = fence["info"].lower()
        if self._fence is not _Fence.NONE:
            self._fence = self._fence if info else _Fence.NONE
            return _Verdict.TEXT, behind
        if info not in CALL_FENCES:
            content = body.lstrip()
            if front and content.startswith(_ANYWHERE):
                return _Verdict.CALL, at
            if front and any(start.startswith(content) for start in _ANYWHERE):
                return _Verdict.UNCLEAR, at
            self._fence = _Fence.CODE if front else _Fence.INERT
            return _Verdict.TEXT, behind
        if info not in _WEIGHED_FENCES or self._names_call(body) or any(start in body for start in _ANYWHERE):
            return _Verdict.CALL, at
        if closed := _END_OF_FENCE.search(body):
            return _Verdict.TEXT, behind + 1 + closed.end()
        if len(body) <= _DECIDED_AFTER:
            return _Verdict.UNCLEAR, at
        self._fence = _Fence.DATA
        return _Verdict.TEXT, behind

    def _weighed(self, at: int) -> _Verdict:
        """An object is held only as long as it may be a call."""
        rest = self._pending[at:]
        if rest[0] not in "{[" or rest.startswith(_ANYWHERE) or self._names_call(rest):
            return _Verdict.CALL
        return _Verdict.TEXT if len(rest) > _DECIDED_AFTER else _Verdict.UNCLEAR

    def _names_call(self, text: str) -> bool:
        return _KEYS.search(text) is not None or (self._words is not None and self._words.search(text) is not None)

    def _release(self, at: int) -> str:
        """Takes the text up to a place; blanks at its end wait, because what follows decides about them."""
        bare = self._pending[:at].rstrip()
        if bare:
            self._pending = self._pending[len(bare) :]
            self._front = self._line = False
        return bare


def _partial(text: str, markers: tuple[str, ...]) -> int:
    """How many characters at the end may be the beginning of a marker."""
    longest = max(map(len, markers))
    for size in range(min(longest - 1, len(text)), 0, -1):
        if any(marker.startswith(text[-size:]) for marker in markers):
            return size
    return 0


def _remainder(whole: str, shown: str) -> str:
    return whole[len(shown) :] if whole.startswith(shown) else ""
