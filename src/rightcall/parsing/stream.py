"""Streaming: which part of a text may be shown at once, and which may still become a call.

Text streams as it comes; from the first character that may begin a call everything is held until the reply is
whole. What was let through is always a beginning of the text that reading the whole reply gives, with one
exception: reasoning that ends without having begun (`...</think>`) cannot be told from text in time.
"""

from __future__ import annotations

import re

from rightcall.domain import Reading
from rightcall.parsing import reasoning
from rightcall.parsing.dialects import DIALECTS
from rightcall.parsing.dialects.envelope import ARGUMENT_KEYS, NAME_KEYS
from rightcall.parsing.illustration import CALL_FENCES
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
_LINE_STARTS = ("Action:", "**Action", "```", "{", "[{")
_DECIDED_AFTER = 240
_CANDIDATE = re.compile(r"[<\[{`\]◁*A-Za-z ]")
_KEYS = re.compile(rf"""["'“](?:{"|".join((*NAME_KEYS, *ARGUMENT_KEYS, "tool_calls", "tool_uses"))})["'”]\s*:""")
_ORPHANS = ("</parameter>", "</function>", "</tool_call>", "</invoke>", "</arg_value>", "<parameter=")


class TextGate:
    """Takes a reply's text piece by piece and lets through what is certainly text or reasoning."""

    def __init__(self, tools: Toolset, *, reasoning_open: bool = False) -> None:
        names = tools.names
        starts = {
            start
            for dialect in DIALECTS
            for start in dialect.starts
            if len(start) > 1 and not start.startswith("Action")
        }
        at_front = {start for start in starts if start[0] not in "<[]◁f"}
        self._anywhere = tuple((starts - at_front) | set(_NOISE) | set(_ORPHANS))
        self._at_line = (*_LINE_STARTS, *(f"<{name}>" for name in names))
        self._at_front = (*at_front, "[", *(f"{name}{mark}" for name in names for mark in ("(", "[ARGS]")))
        self._words = re.compile("|".join(map(re.escape, names))) if names else None
        self._pending = ""
        self._shown: list[str] = []
        self._thought: list[str] = []
        self._held = False
        self._in_block: tuple[str, ...] = tuple(reasoning.BLOCKS.values()) if reasoning_open else ()
        self._front, self._line, self._trim = True, True, False

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

    @property
    def has_shown_text(self) -> bool:
        """Whether any text went out, so that it cannot be taken back."""
        return any(self._shown)

    # -- one step after the other --------------------------------------------------------------------------

    def _advance(self) -> tuple[str, str]:
        shown: list[str] = []
        thought: list[str] = []
        while self._pending and not self._held:
            if self._in_block:
                piece, more = self._reasoning(self._in_block)
                thought.append(piece)
            else:
                piece, more = self._text()
                shown.append(piece)
            if not more:
                break
        return "".join(shown), "".join(thought)

    def _reasoning(self, closers: tuple[str, ...]) -> tuple[str, bool]:
        """Lets reasoning through up to its end; blanks at its edges wait, because they are not part of it."""
        if self._front_of_thought():
            self._pending = self._pending.lstrip()
            if opener := reasoning.OPEN.match(self._pending):
                self._pending = self._pending[opener.end() :]
                return "", True
            if reasoning.skipped(self._pending):
                self._in_block = ()
                return "", True
        end, closer = min(
            ((self._pending.find(mark), mark) for mark in closers if mark in self._pending), default=(-1, "")
        )
        if end >= 0:
            piece, self._pending = self._pending[:end].rstrip(), self._pending[end + len(closer) :]
            self._in_block, self._trim = (), True
            return piece, True
        keep = _partial(self._pending, (*closers, "<|open|>response<|sep|>"))
        piece = self._pending[: len(self._pending) - keep]
        bare = piece.rstrip()
        self._pending = self._pending[len(bare) :]
        return bare, False

    def _front_of_thought(self) -> bool:
        return not any(self._thought)

    def _text(self) -> tuple[str, bool]:
        """Lets text through up to the next place where something else may begin."""
        if self._trim:
            self._pending = self._pending.lstrip()
            self._trim = not self._pending
        at = 0
        while at < len(self._pending):
            match = _CANDIDATE.search(self._pending, at)
            if match is None:
                at = len(self._pending)
                break
            at = match.start()
            verdict = self._verdict(at)
            if verdict == "block":
                return self._release(at, opens_block=True), True
            if verdict != "text":
                self._held = verdict == "hold"
                break
            at = self._next(at)
        piece = self._release(at, opens_block=False)
        return piece, False

    def _verdict(self, at: int) -> str:
        """What may begin at a place: `text`, a reasoning `block`, a call (`hold`), or not clear yet (`wait`)."""
        rest = self._pending[at:]
        before = self._pending[:at]
        line = self._line if "\n" not in before else not before.rsplit("\n", 1)[1].strip()
        line = line and not (("\n" not in before) and before.strip())
        front = self._front and not before.strip()
        starts = self._anywhere + (self._at_line if line else ()) + (self._at_front if front else ())
        if opener := reasoning.OPEN.match(rest):
            return "block" if front and not opener.end() > len(rest) else "hold"
        if before.endswith("`") and not rest.startswith("`") and rest[0] in "<[":
            return "text"
        if any(rest.startswith(start) for start in starts):
            return self._weighed(rest)
        if any(start.startswith(rest) for start in (*starts, *reasoning.BLOCKS)):
            return "wait"
        return "text"

    def _weighed(self, rest: str) -> str:
        """A fence or an object is held only as long as it may be a call."""
        if rest.startswith("```"):
            info, newline, body = rest[3:].partition("\n")
            if newline and info.strip().lower() not in CALL_FENCES:
                return "text"
            closed = "\n```" in body or body.startswith("```")
            return "hold" if newline and self._names_call(body) else "text" if closed else "wait"
        if rest[0] in "{[" and not any(rest.startswith(start) for start in self._anywhere):
            if self._names_call(rest):
                return "hold"
            return "text" if len(rest) > _DECIDED_AFTER else "wait"
        return "hold"

    def _names_call(self, text: str) -> bool:
        return _KEYS.search(text) is not None or (self._words is not None and self._words.search(text) is not None)

    def _next(self, at: int) -> int:
        """The next place to look at: behind a fence that is no call, else the next character."""
        rest = self._pending[at:]
        if rest.startswith("```"):
            close = rest.find("\n```", 3)
            return at + close + 4 if close >= 0 else at + 3
        word = re.compile(r"[A-Za-z]+|.", re.DOTALL).match(rest)
        return at + (word.end() if word else 1)

    def _release(self, at: int, *, opens_block: bool) -> str:
        piece, self._pending = self._pending[:at], self._pending[at:]
        if opens_block:
            opener = reasoning.OPEN.match(self._pending)
            if opener:
                self._in_block = (reasoning.BLOCKS[opener[0]],)
                self._pending = self._pending[opener.end() :]
                return ""
        bare = piece.rstrip()
        if self._front and not bare:
            self._pending = piece + self._pending
            return ""
        self._pending = piece[len(bare) :] + self._pending
        if bare:
            self._front = False
            self._line = False
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
