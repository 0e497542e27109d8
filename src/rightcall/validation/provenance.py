"""Where do a call's values come from? A value that stands nowhere in the conversation was made up.

Small models call a tool where none fits, and fill its arguments with values that nobody gave. Both rules here are
verifiers (`turn.Verifier`): None, or a `Problem` that says which value has no source. They judge numbers and short
texts, by words and not by meaning: what a schema closes (enum, const, boolean), its defaults, what its
description names, and long texts, which a model is asked to write, are let be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from rightcall.domain import JsonObject, ModelRequest, Problem, ProblemKind, Tool, ToolCall
from rightcall.errors import UsageError
from rightcall.openai_chat import text_of
from rightcall.schema.references import properties, required, resolve

MAX_CHARS = 200_000
"""Longer conversations are not judged: too much stands in them."""
MAX_WORDS = 8
"""Texts of more words are written by the model, not taken from the conversation."""

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "first": 1, "second": 2, "third": 3, "half": 0.5,
    "dozen": 12, "hundred": 100, "thousand": 1000, "million": 1e6, "couple": 2, "pair": 2, "both": 2, "twice": 2,
    "double": 2, "week": 7, "weekly": 52, "fortnight": 14, "monthly": 12, "quarterly": 4, "semiannually": 2,
    "decade": 10, "century": 100,
}  # fmt: skip
_TRIVIAL = frozenset((0.0, 1.0))
"""Nothing and one are meant without a number: from rest, a pizza."""
_AFTERNOON = re.compile(r"\d\s?p\.?m\b|\b(?:afternoon|evening|tonight|night)\b", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SCALES = (1.0, 0.01, 100.0, 1e-3, 1e-6, 1e-9, 1e3, 1e6, 1e9)
"""A value may be what was said in percent, in pence, in thousands, in milli: 5% is 0.05, £12 is 1200."""
_OTHER_SCRIPT = re.compile(r"[\u0370-\u1dff\u2c00-\ua95f\uac00-\ud7ff\uf900-\ufdff\U00020000-\U0003ffff]")
_MOST_DERIVED = 20
_STEM = 4
_ENDING = 3
_CODE = re.compile(r"[A-Z]{2,5}\Z")
"""Currencies, countries, airports, shares: a code stands for what was said, and is never in it."""


LEVELS = ("off", "required", "all")
"""Which arguments must have a source: none, the required ones, the optional ones too."""


def provenance_rules(level: str) -> tuple[Callable[[ToolCall, ModelRequest], Problem | None], ...]:
    """The verifiers of a level of `LEVELS`. Raises `UsageError` for another one."""
    if level not in LEVELS:
        raise UsageError(f"provenance is {level!r}; allowed: {', '.join(LEVELS)}")
    rules = (unsourced_value, unmentioned_optional)
    return rules[: LEVELS.index(level)]


def unsourced_value(call: ToolCall, request: ModelRequest) -> Problem | None:
    """A required argument whose value stands nowhere in the conversation."""
    return _verify(call, request, optional=False)


def unmentioned_optional(call: ToolCall, request: ModelRequest) -> Problem | None:
    """An optional argument that nobody mentioned: neither its value nor its name stands in the conversation."""
    return _verify(call, request, optional=True)


def _verify(call: ToolCall, request: ModelRequest, *, optional: bool) -> Problem | None:
    tool = request.tool(call.name)
    root: Any = tool.parameters if tool else None
    text = "\n".join(_texts(request.messages))
    if tool is None or not isinstance(root, Mapping) or len(text) > MAX_CHARS:
        return None
    said = _said(text)
    needed = required(root, root)
    for name, value in call.arguments.items():
        if (name in needed) is optional or (optional and said.has_words(_words(name))):
            continue
        schema = properties(root, root).get(name, {})
        for pointer, leaf, declared in _leaves(value, schema, root, f"/{_escaped(name)}"):
            if not _has_source(leaf, declared, schema, said):
                return _problem(call, tool, pointer, leaf, optional=optional)
    return None


def _problem(call: ToolCall, tool: Tool, pointer: str, value: Any, *, optional: bool) -> Problem:
    where = pointer.removeprefix("/").replace("/", ".")
    if optional:
        advice = f"nobody mentioned {where}: leave it out"
    else:
        advice = f"take {where} from what was said; if it was not said, ask for it; if no tool fits, answer in words"
    return Problem(
        ProblemKind.UNVERIFIED,
        f"the value {value!r} of {where} stands nowhere in the conversation: {advice}",
        path=pointer,
        got=value,
        allowed="a value from the conversation",
        tool=tool.name,
        call_id=call.id,
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """A text, folded; its words, as a set and by their beginnings; its numbers, and what follows from them."""

    text: str
    words: frozenset[str]
    stems: Mapping[str, tuple[str, ...]]
    numbers: frozenset[float]
    derived: frozenset[float]

    def has_words(self, wanted: list[str]) -> bool:
        """Whether at least half of the words were said, in some inflection."""
        return sum(self._has_word(word) for word in wanted) * 2 >= len(wanted) > 0

    def _has_word(self, word: str) -> bool:
        if word in self.words:
            return True
        if word.isdecimal():
            return float(word) in self.numbers
        return any(_same_stem(word, other) for other in self.stems.get(word[:_STEM], ()))


@lru_cache(maxsize=64)
def _said(text: str) -> _Said:
    words = frozenset(_words(text))
    stems: dict[str, list[str]] = {}
    for word in words:
        if len(word) >= _STEM:
            stems.setdefault(word[:_STEM], []).append(word)
    numbers = {value * scale for value in _numbers(text) for scale in _SCALES}
    numbers |= {float(_NUMBER_WORDS[word]) for word in words & _NUMBER_WORDS.keys()}
    numbers |= {float(number) for number, month in enumerate(_MONTHS, start=1) if _names_month(month, words)}
    if _AFTERNOON.search(text):
        numbers |= {number + 12 for number in numbers if number < 12}  # noqa: PLR2004 - hours
    by_stem = {stem: tuple(found) for stem, found in stems.items()}
    return _Said(text.casefold(), words, by_stem, frozenset(numbers), frozenset(_derived(text)))


def _derived(text: str) -> Iterator[float]:
    """Sums and differences of two numbers that were said, and one more or less: from 3 to 10, a year over 42."""
    said = list(dict.fromkeys(islice(_numbers(text), _MOST_DERIVED)))
    for number in said:
        for other in (*said, 1.0):
            yield number + other
            yield abs(number - other)


def _names_month(month: str, words: frozenset[str]) -> bool:
    return any(word.startswith(month) and word.isalpha() for word in words)


def _has_source(value: Any, declared: JsonObject, argument: Any, said: _Said) -> bool:
    if isinstance(value, bool) or value is None or "enum" in declared or "const" in declared:
        return True
    if "default" in declared and value == declared["default"]:
        return True
    described = f"{declared.get('description', '')} {_description(argument)}"
    if isinstance(value, int | float):
        return (
            abs(value) in _TRIVIAL
            or _is_near(abs(float(value)), said.numbers)
            or _is_near(abs(float(value)), said.derived)
            or _is_near(abs(float(value)), frozenset(_numbers(described)))
        )
    if not isinstance(value, str):
        return True
    words = _words(value)
    if not words or len(words) > MAX_WORDS or said.has_words(words):
        return True
    if "," in value and said.has_words(_words(value.partition(",")[0])):  # a place made precise: Manhattan, New York
        return True
    folded = value.casefold()
    if folded in described.casefold() or (not value.isascii() and folded in said.text):  # scripts without blanks
        return True
    if value.isascii() and _OTHER_SCRIPT.search(said.text):  # a translation, a transcription: not to be judged
        return True
    return _CODE.match(value) is not None


def _is_near(value: float, numbers: frozenset[float]) -> bool:
    return value in numbers or any(abs(value - number) <= 1e-9 * max(abs(value), 1.0) for number in numbers)


def _same_stem(word: str, other: str) -> bool:
    shared = len(_common_prefix(word, other))
    return shared >= _STEM and max(len(word), len(other)) - shared <= _ENDING


def _common_prefix(one: str, other: str) -> str:
    end = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    return min(one, other, key=len) if end is None else one[:end]


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(_split_camel(text))]


def _split_camel(text: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\d)(?=T\d)|(?<=\dT)(?=\d)", " ", text)


def _numbers(text: str) -> Iterator[float]:
    for match in _NUMBER.findall(text):
        yield float(match.replace(",", ""))


def _texts(messages: Any) -> Iterator[str]:
    """Everything that was said, by whomever, with results of tools and the calls that led to them.

    The history is the client's: what the model said in it was accepted. The attempts of this turn are not in it.
    """
    for message in messages:
        yield text_of(message.get("content"), "\n")
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, Mapping) else None
            if isinstance(function, Mapping) and isinstance(function.get("arguments"), str):
                yield function["arguments"]


def _leaves(value: Any, schema: Any, root: JsonObject, pointer: str) -> Iterator[tuple[str, Any, JsonObject]]:
    """The scalars of a value, each with its place and the schema declared for it."""
    declared = resolve(schema, root)
    declared = declared if isinstance(declared, Mapping) else {}
    if isinstance(value, Mapping):
        inside = properties(declared, root)
        for name, item in value.items():
            yield from _leaves(item, inside.get(name, {}), root, f"{pointer}/{_escaped(name)}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, declared.get("items", {}), root, f"{pointer}/{index}")
    else:
        yield pointer, value, declared


def _description(schema: Any) -> str:
    return str(schema.get("description", "")) if isinstance(schema, Mapping) else ""


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
