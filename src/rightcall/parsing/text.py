"""A reply's text taken apart: reasoning, calls in any dialect, and what is left to show.

One pass from left to right. Blocks are read by their own grammar, so a marker inside an argument or inside
reasoning is never seen as one. What stands between blocks stays, in order, as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rightcall.domain import ProblemKind
from rightcall.parsing import reasoning
from rightcall.parsing.dialects import DIALECTS
from rightcall.parsing.dialects.base import Block, Context, RawCall
from rightcall.parsing.dialects.unmarked import read_unmarked
from rightcall.parsing.json_reader import Unreadable

_NOISE = re.compile(
    r"<\|(?:open|close)\|>(?:response|message)<\|sep\|>|<\|(?:START|END)_(?:RESPONSE|TEXT)\|>"
    r"|(?:\s*(?:</s>|<\|im_end\|>|<\|eot_id\|>|<\|eom_id\|>|<\|end_of_text\|>|<\|endoftext\|>|<\|end\|>|<\|return\|>"
    r"|<end_of_turn>|<eos>|<｜end▁of▁sentence｜>|<\|END_OF_TURN_TOKEN\|>))+\s*\Z"
)
_TRIGGER = re.compile(r"[<\[◁]|Action|to=")
_ORPHAN = re.compile(
    r"^\s*</(?:parameter|function|tool_call|invoke|arg_value)>\s*$|^<parameter=[^<>\n]+>\s*$", re.MULTILINE
)
_EMPTY_FENCE = re.compile(r"\s*```[ \t]*\w*\s*```\s*")
_FENCED = re.compile(r"^[ \t]*```.*?^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(slots=True)
class TextParts:
    """What a text holds. `faults` are attempts at a call that could not even be named."""

    calls: list[RawCall] = field(default_factory=list)
    faults: list[Unreadable] = field(default_factory=list)
    visible: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The visible text; blanks alone are no text."""
        joined = "".join(self.visible)
        return joined if joined.strip() else ""

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
    structured = _scan(context, parts) if _TRIGGER.search(rest) else _keep_all(rest, parts)
    if parts.calls or parts.faults or structured:
        parts.visible = [_EMPTY_FENCE.sub("", parts.text)] if parts.calls else parts.visible
        return parts
    block = read_unmarked(_at(context, parts.text))
    if block:
        _add(parts, block)
        parts.visible = [block.text]
    elif _ORPHAN.search(parts.text):
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
    for start, kind, match in _openers(text):
        if start < at:
            continue
        if kind == "close":
            # What stood before a closing tag without an opening one was reasoning, mock calls and all.
            parts.thoughts.append(text[:start])
            parts.calls.clear()
            parts.faults.clear()
            parts.visible.clear()
            at = shown = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
            continue
        if text[start - 1 : start] == "`" and text[start - 3 : start] != "```":
            continue
        block = _read_block(context, start, kind, match)
        if block is None:
            continue
        parts.visible.append(text[shown:start])
        _add(parts, block)
        parts.visible.append(block.text)
        structured = structured or kind == "harmony"
        at = shown = max(block.end, start + 1)
        if kind == "think":
            at = shown = at + len(text[at:]) - len(text[at:].lstrip())
    parts.visible.append(text[shown:])
    return structured


def _openers(text: str) -> Iterator[tuple[int, str, re.Match[str]]]:
    """Every place where something other than text may begin, in order; dialects of one place in theirs."""
    found: list[tuple[int, int, str, re.Match[str]]] = []
    for order, (kind, pattern) in enumerate(_PATTERNS):
        found += ((match.start(), order, kind, match) for match in pattern.finditer(text))
    found.sort(key=lambda item: item[:2])
    for start, _order, kind, match in found:
        yield start, kind, match


def _read_block(context: Context, start: int, kind: str, match: re.Match[str]) -> Block | None:
    if kind == "noise":
        return Block(match.end())
    if kind == "think":
        end, behind = reasoning.block_end(context.text, match)
        return Block(behind, reasoning=context.text[match.end() : end])
    if _illustrated(context.text, start):
        return None
    return _READERS[kind](context, match)


def _illustrated(text: str, start: int) -> bool:
    """Whether a marker stands in a fence that words surround: an illustration of the format, not a call."""
    if "```" not in text:
        return False
    for fence in _FENCED.finditer(text):
        if fence.start() <= start < fence.end():
            return bool(text[: fence.start()].strip() and text[fence.end() :].strip())
    return False


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
_PATTERNS = [
    ("think", reasoning.OPEN),
    ("close", reasoning.CLOSE),
    ("noise", _NOISE),
    *((dialect.name, dialect.opener) for dialect in DIALECTS),
]
