"""A reply's text taken apart: reasoning, calls in any dialect, and what is left to show.

One pass from left to right. Blocks are read by their own grammar, so a marker inside an argument or inside
reasoning is never seen as one. What stands between blocks stays, in order, as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rightcall.domain import ProblemKind
from rightcall.parsing import reasoning
from rightcall.parsing.dialects import DIALECTS
from rightcall.parsing.dialects.base import Block, Context, RawCall, skip_space
from rightcall.parsing.dialects.pythonic import cut_off, read_calls
from rightcall.parsing.dialects.unmarked import read_unmarked
from rightcall.parsing.illustration import (
    in_listing,
    in_sentence,
    in_transcript,
    is_presented,
    is_quoted,
    json_values,
    only_shown,
)
from rightcall.parsing.unreadable import Unreadable

_NOISE = re.compile(
    r"<\|(?:open|close)\|>(?:response|message)<\|sep\|>|<\|(?:START|END)_(?:RESPONSE|TEXT)\|>"
    r"|(?:\s*(?:</s>|<\|im_end\|>|<\|eot_id\|>|<\|eom_id\|>|<\|end_of_text\|>|<\|endoftext\|>|<\|end\|>|<\|return\|>"
    r"|<end_of_turn>|<eos>|<｜end▁of▁sentence｜>|<\|END_OF_TURN_TOKEN\|>))+\s*\Z"
)
MAX_MARKERS = 512
"""Bound on the places that are weighed one by one; no honest reply comes near it."""
_TRIGGERS = ("<", "[", "◁", "✿", ">>>", "\n{", "Action", "to=")
_ORPHAN = re.compile(
    r"^\s*</(?:parameter|function|tool_call|invoke|arg_value)>\s*$|^<parameter=[^<>\n]+>\s*$", re.MULTILINE
)
_EMPTY_FENCE = re.compile(r"\s*```[ \t]*\w*\s*```\s*")
_OTHER_TURN = re.compile(
    r"<\|im_start\|>\s*(?:user|system|tool)\b|<\|start_header_id\|>\s*(?:user|system|ipython|tool)\b"
    r"|<start_of_turn>user\b|<\|turn>user\b|<\|(?:user|observation|USER_TOKEN)\|>|<｜User｜>|<｜tool▁outputs?▁begin｜>"
    r"|(?:^|(?<=>))[ \t]*(?:<\|?tool_(?:response|result)s?\|?>|<function_results?>|\[TOOL_RESULTS?\]|\[INST\])",
    re.MULTILINE,
)
"""Where someone else speaks: a user's turn or a tool's result that the model made up."""

_ASIDE = re.compile(r"<(?P<tag>thought|reasoning|reflection|scratchpad)>.*?</(?P=tag)>", re.DOTALL | re.IGNORECASE)
"""Thinking aloud in tags that no model declares as reasoning: it stays text, and what stands in it is no call."""


@dataclass(slots=True)
class TextParts:
    """What a text holds. `faults` are attempts at a call that could not even be named.

    `invented` is the text from the first turn on that the model made up for someone else.
    """

    calls: list[RawCall] = field(default_factory=list)
    faults: list[Unreadable] = field(default_factory=list)
    visible: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    invented: str = ""

    @property
    def said(self) -> str:
        """The visible text up to where the model speaks for someone else; blanks alone are no text."""
        joined = "".join(self.visible)
        return joined if joined.strip() else ""

    @property
    def text(self) -> str:
        """All visible text."""
        return self.said + self.invented

    @property
    def reasoning(self) -> str:
        """The reasoning, blocks joined by a line break, without the blanks that frame it."""
        return "\n".join(stripped for thought in self.thoughts if (stripped := thought.strip()))


def split_reasoning(text: str, *, reasoning_open: bool = False) -> TextParts:
    """Takes the reasoning off the front of a text in which no call is looked for; all the rest is text."""
    parts = TextParts()
    parts.visible.append(_leading_reasoning(text, parts, reasoning_open=reasoning_open))
    return parts


def read_text(context: Context, *, reasoning_open: bool = False) -> TextParts:
    """Takes a text apart. `reasoning_open`: the prompt already opened a reasoning block."""
    parts = TextParts()
    rest = _leading_reasoning(context.text, parts, reasoning_open=reasoning_open)
    context = _at(context, rest)
    if not rest.strip():
        return parts
    structured = _scan(context, parts) if _holds(rest, _TRIGGERS) else _keep_all(rest, parts)
    if parts.calls or parts.faults or structured:
        if parts.calls and "```" in parts.said:
            parts.visible = [_EMPTY_FENCE.sub("", parts.said)]
        return parts
    block = read_unmarked(_at(context, parts.said))
    if block:
        _add(parts, block)
        parts.visible = [block.text]
    elif _ORPHAN.search(parts.said):
        parts.faults.append(
            Unreadable(ProblemKind.UNPARSEABLE, "the end of a call stands there, but not its beginning")
        )
    return parts


def _leading_reasoning(text: str, parts: TextParts, *, reasoning_open: bool) -> str:
    """Moves reasoning at the front of a text into `parts` and returns the rest."""
    if reasoning_open and not reasoning.skipped(text):
        close = reasoning.CLOSE.search(text)
        parts.thoughts.append(text[: close.start()] if close else text)
        text = text[close.end() :].lstrip() if close else ""
    while opener := reasoning.OPEN.match(text.lstrip()):
        text = text.lstrip()
        end, behind = reasoning.block_end(text, opener)
        parts.thoughts.append(text[opener.end() : end])
        text = text[behind:].lstrip()
    return text


def _scan(context: Context, parts: TextParts) -> bool:
    """Reads block after block. True where a format that separates text from calls by itself was met."""
    text, at, shown, structured = context.text, 0, 0, False
    values = _values(context)
    taken: dict[int, str] = {}
    weighed = 0
    for start, kind, match in _openers(text):
        if start < at or _is_data(values, start):
            continue
        weighed += 1
        if weighed > MAX_MARKERS:
            reason = f"it holds more than {MAX_MARKERS} marks of calls"
            parts.faults.append(Unreadable(ProblemKind.UNPARSEABLE, reason, start))
            break
        if in_listing(text, at, start):
            continue
        if kind != "noise" and is_quoted(text, start, match.end()):
            continue
        if kind == "turn":
            parts.visible.append(text[shown:start])
            parts.invented = text[start:]
            parts.faults += _call_behind(context, match.end())
            shown = len(text)
            break
        if kind == "close":
            # What stood before a closing tag without an opening one was reasoning, mock calls and all.
            parts.thoughts.append(text[:start])
            parts.calls.clear()
            parts.faults.clear()
            parts.visible.clear()
            taken.clear()
            at = shown = skip_space(text, match.end())
            continue
        block = _read_block(context, kind, match)
        if block is None:
            continue
        at = max(block.end, start + 1)
        if kind in _READERS and is_quoted(text, start, at):
            continue
        if (kind in _IN_SENTENCE and in_sentence(text, shown, start, at)) or (
            block.calls and in_transcript(text, start)
        ):
            block = Block(at, text=text[start:at], fault=only_shown() if block.calls else None)
        parts.visible.append(text[shown:start])
        _add(parts, block)
        if block.calls:
            taken[len(parts.visible)] = text[start:at]
        parts.visible.append(block.text)
        structured = structured or kind == "harmony"
        shown = at = skip_space(text, at) if kind == "think" else at
    parts.visible.append(text[shown:])
    if taken and not structured:
        _give_back_examples(parts, taken, cut=context.cut)
    return structured


def _values(context: Context) -> list[tuple[int, int]]:
    """Where values stand whose strings may hold any marker: JSON at the beginning of a line, and calls in front."""
    found = read_calls(context, 0)
    end = found[1] if found else len(context.text) if cut_off(context, 0) else 0
    return [*json_values(context.text), (0, end)]


def _is_data(values: list[tuple[int, int]], position: int) -> bool:
    return any(begin < position < end for begin, end in values)


def _call_behind(context: Context, position: int) -> list[Unreadable]:
    """A call that the model makes after a turn it made up rests on something that never happened."""
    for start, kind, match in _openers(context.text):
        if start >= position and kind in _READERS and (block := _read_block(context, kind, match)) and block.calls:
            reason = "a call follows a result or a question that the model made up"
            return [Unreadable(ProblemKind.AMBIGUOUS, reason, start)]
    return []


def _give_back_examples(parts: TextParts, taken: dict[int, str], *, cut: bool) -> None:
    """Where words present the calls as examples and go on behind them, the calls are refused and stay text.

    At a length limit they may have been about to go on.
    """
    behind = "".join(parts.visible[max(taken) + 1 :])
    if not (cut or re.search(r"\w", behind)) or not is_presented(parts.said):
        return
    parts.calls.clear()
    parts.faults.append(only_shown())
    for index, written in taken.items():
        parts.visible[index] = written


class _Opener(NamedTuple):
    """What may begin: its kind, its pattern, the words one of which a text must hold for it, and where."""

    kind: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...]
    at_front: bool = False

    def found_in(self, text: str) -> Iterator[re.Match[str]]:
        if not _holds(text, self.needs):
            return iter(())
        return filter(None, (self.pattern.match(text),)) if self.at_front else self.pattern.finditer(text)


def _openers(text: str) -> Iterator[tuple[int, str, re.Match[str]]]:
    """Every place where something other than text may begin, in order; dialects of one place in theirs."""
    found: list[tuple[int, int, str, re.Match[str]]] = []
    for order, opener in enumerate(_OPENERS):
        found += ((match.start(), order, opener.kind, match) for match in opener.found_in(text))
    found.sort(key=lambda item: item[:2])
    for start, _order, kind, match in found:
        yield start, kind, match


def _holds(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)


def _read_block(context: Context, kind: str, match: re.Match[str]) -> Block | None:
    if kind == "noise":
        return Block(match.end())
    if kind == "aside":
        return Block(match.end(), text=match[0])
    if kind == "think":
        end, behind = reasoning.block_end(context.text, match)
        return Block(behind, reasoning=context.text[match.end() : end])
    return _READERS[kind](context, match)


def _add(parts: TextParts, block: Block) -> None:
    parts.calls += block.calls
    if block.fault:
        parts.faults.append(block.fault)
    if block.reasoning:
        parts.thoughts.append(block.reasoning)


def _keep_all(text: str, parts: TextParts) -> bool:
    parts.visible.append(text)
    return False


def _at(context: Context, text: str) -> Context:
    if text == context.text:
        return context
    return Context(text, context.names, context.parameters, context.keys, context.cut, context.ended)


_READERS = {dialect.name: dialect.read for dialect in DIALECTS}
_IN_SENTENCE = _READERS.keys() - {"harmony", "react"}
_OPENERS = [
    _Opener("think", reasoning.OPEN, tuple(reasoning.BLOCKS)),
    _Opener("close", reasoning.CLOSE, tuple(reasoning.BLOCKS.values())),
    _Opener("noise", _NOISE, ("<|", "<｜", "</s>", "<end_of_turn>", "<eos>")),
    _Opener("aside", _ASIDE, ("<",)),
    _Opener(
        "turn",
        _OTHER_TURN,
        ("<|", "<｜", "<start_of_turn>", "tool_re", "function_result", "[TOOL_RESULT", "[INST]"),
    ),
    *(_Opener(dialect.name, dialect.opener, dialect.needs, dialect.at_front) for dialect in DIALECTS),
]
