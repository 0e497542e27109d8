"""What descriptions say, and what they are silent on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rightcall.schema.keywords import Node
from rightcall.schema.lint.alike import near_pairs
from rightcall.schema.lint.findings import ESSAY, Evidence, Hit, LintedTool, Rule, Severity, Strength, description_of
from rightcall.schema.lint.words import name_words

_BOUNDARY = re.compile(
    r"\b(?:not|n't|never|only|unless|except|instead|rather than|without|cannot|avoid|prefer|when|if|before|after)\b",
    re.IGNORECASE,
)
_FILLER = frozenset(
    ("a", "an", "the", "of", "for", "to", "and", "in", "on", "by", "with", "this", "that", "it", "api", "tool", "is",
     "function", "which", "from", "value")
)  # fmt: skip
_RUNS = re.compile(r"[ \t]{3,}|\n[ \t]{2,}|\n{3,}")


def _silent_tools(tool: LintedTool) -> Iterator[Hit]:
    if not tool.tool.description.strip():
        yield Hit("/description", "no description: only the name says what it does")


def _silent_parameters(tool: LintedTool) -> Iterator[Hit]:
    silent = [node for node in tool.parameters if not _is_told(node)]
    if silent:
        names = ", ".join(node.name for node in silent[:6]) + (", …" if len(silent) > 6 else "")  # noqa: PLR2004
        yield Hit(silent[0].pointer, f"{len(silent)} parameters without a description: {names}")


def _is_told(node: Node) -> bool:
    """Whether a parameter, or what it lists, is described; what refers elsewhere is described there."""
    items = node.schema.get("items")
    inner = items.get("description") if isinstance(items, dict) else None
    return bool(description_of(node).strip() or inner) or "$ref" in node.schema


def _empty_words(tool: LintedTool) -> Iterator[Hit]:
    own = set(name_words(tool.tool.name)) | _FILLER
    said = name_words(tool.tool.description)
    if said and {_stem(word) for word in said} <= {_stem(word) for word in own}:
        yield Hit("/description", "the description only repeats the name")
    for node in tool.parameters:
        said = name_words(description_of(node))
        if said and {_stem(word) for word in said} <= {_stem(word) for word in (*name_words(node.name), *_FILLER)}:
            yield Hit(f"{node.pointer}/description", "the description only repeats the name")


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word  # noqa: PLR2004 - "is", "gas" are no plurals


def _silent_on_limits(tools: tuple[LintedTool, ...]) -> Iterator[tuple[LintedTool, Hit]]:
    neighbours: dict[int, str] = {}
    for left, right, _ in near_pairs(tools):
        neighbours.setdefault(left.index, right.tool.name)
        neighbours.setdefault(right.index, left.tool.name)
    for tool in tools:
        if tool.index in neighbours and tool.tool.description and not _BOUNDARY.search(tool.tool.description):
            told = f"it does not say when {neighbours[tool.index]!r}, which is much like it, is the one to use"
            yield tool, Hit("/description", told)


def _padding(tool: LintedTool) -> Iterator[Hit]:
    places = [("/description", tool.tool.description)]
    places += [(f"{node.pointer}/description", description_of(node)) for node in tool.nodes]
    for pointer, text in places:
        wasted = sum(len(run) - 1 for run in _RUNS.findall(text))
        if wasted >= 12:  # noqa: PLR2004 - about three tokens: not worth a line below that
            yield Hit(pointer, f"{wasted} characters of indentation are sent with every request")


RULES: Iterable[Rule] = (
    Rule("RC301", "tool without a description", Severity.WARNING,
         "The name alone has to say what it does and when.",
         "Say what it does, when it applies and when it must not be used.",
         Evidence(Strength.OPINION, ESSAY), _silent_tools),
    Rule("RC302", "parameters without a description", Severity.INFO,
         "Their names alone have to say what is meant.",
         "Describe each in a few words, with an example of the form.",
         Evidence(Strength.OPINION, ESSAY), _silent_parameters),
    Rule("RC303", "description that only repeats the name", Severity.INFO,
         "It costs tokens and says nothing.",
         "Say what the name cannot: the form, the unit, where the value comes from.",
         Evidence(Strength.OPINION, ESSAY), _empty_words),
    Rule("RC304", "silent on when not to use it", Severity.INFO,
         "Between tools that are alike, only a stated limit tells which one is meant.",
         "Say when this one must not be used, and name the other.",
         Evidence(Strength.OPINION, ESSAY), check_all=_silent_on_limits),
    Rule("RC305", "indentation in descriptions", Severity.INFO,
         "A docstring's indentation is sent, and paid for, with every request.",
         "Collapse it (--fix does).",
         Evidence(Strength.OPINION, "counted in the text itself"), _padding),
)  # fmt: skip
