"""How alike two tools are to a reader who has names and descriptions only.

The measure is mechanical: the share of words that two names have in common, and the share that two descriptions
have in common (Jaccard, words without endings, function words left out; in descriptions a word counts by how rare
it is in the toolset). Both must be high, because tools of one family share words and differ in the one that counts.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from rapidfuzz.distance import Indel

from rightcall.schema.lint.findings import Evidence, Hit, LintedTool, Rule, Severity, Strength
from rightcall.schema.lint.words import name_words

NAMES_ALIKE = 0.5
DESCRIPTIONS_ALIKE = 0.5
SAME_DESCRIPTION = 0.95
TELLING = 3  # words that a description must have to be compared by itself
_MAX_PAIRS = 200_000
_WORD = re.compile(r"[A-Za-z][A-Za-z]+")
_FUNCTION_WORDS = frozenset(
    ("about", "all", "also", "an", "and", "are", "as", "at", "be", "been", "by", "can", "for", "from", "has", "have",
     "if", "in", "into", "is", "it", "its", "may", "of", "on", "or", "such", "that", "the", "their", "this", "to",
     "use", "used", "user", "using", "was", "when", "which", "will", "with", "you", "your")
)  # fmt: skip


def near_pairs(tools: tuple[LintedTool, ...]) -> list[tuple[LintedTool, LintedTool, tuple[float, float]]]:
    """Pairs of tools that are easily taken for each other, with how alike names and descriptions are (0 to 1)."""
    marks = tuple((tool.index, tool.tool.name, tool.tool.description) for tool in tools)
    by_index = {tool.index: tool for tool in tools}
    return [(by_index[left], by_index[right], alike) for left, right, alike in _near_pairs(marks)]


@lru_cache(maxsize=8)
def _near_pairs(marks: tuple[tuple[int, str, str], ...]) -> list[tuple[int, int, tuple[float, float]]]:
    names = {index: frozenset(_stem(word) for word in name_words(name)) for index, name, _ in marks}
    said = {index: _words(text) for index, _, text in marks}
    holders: Counter[str] = Counter(word for words in said.values() for word in words)
    weight = {word: math.log(1 + len(marks) / count) for word, count in holders.items()}
    spelled = {index: name for index, name, _ in marks}
    found = []
    for left, right in _candidates(names, said):
        if spelled[left] == spelled[right]:
            continue  # the same name twice is another rule's
        names_alike = max(_shared(names[left], names[right]), _spelled_alike(spelled[left], spelled[right]))
        told_alike = _shared(said[left], said[right], weight)
        both = names_alike >= NAMES_ALIKE and told_alike >= DESCRIPTIONS_ALIKE
        telling = min(len(said[left]), len(said[right])) >= TELLING
        if both or (told_alike >= SAME_DESCRIPTION and telling):
            found.append((left, right, (names_alike, told_alike)))
    return found


def _candidates(names: Mapping[int, frozenset[str]], said: Mapping[int, frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Pairs that share a word, rare words first; bounded, so that many tools do not make millions of pairs."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index in names:
        for word in names[index] | said[index]:
            places[word].append(index)
    seen: set[tuple[int, int]] = set()
    for indexes in sorted(places.values(), key=len):
        if len(seen) > _MAX_PAIRS:
            return
        for position, left in enumerate(indexes):
            for right in indexes[position + 1 :]:
                if (left, right) not in seen:
                    seen.add((left, right))
                    yield left, right


def _shared(left: frozenset[str], right: frozenset[str], weight: Mapping[str, float] | None = None) -> float:
    if not left or not right:
        return 0.0
    if weight is None:
        return len(left & right) / len(left | right)
    return sum(weight[word] for word in left & right) / sum(weight[word] for word in left | right)


def _spelled_alike(left: str, right: str) -> float:
    """Names that differ by a letter or two; a longer difference is another word."""
    alike = Indel.normalized_similarity(left.casefold(), right.casefold())
    return float(alike) if alike >= 0.9 else 0.0  # noqa: PLR2004 - one letter in ten


def _words(text: str) -> frozenset[str]:
    return frozenset(_stem(word.casefold()) for word in _WORD.findall(text)) - _FUNCTION_WORDS


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word  # noqa: PLR2004 - "is", "gas" are no plurals


def _confusable(tools: tuple[LintedTool, ...]) -> Iterator[tuple[LintedTool, Hit]]:
    for left, right, (names, told) in near_pairs(tools):
        why = f"easily taken for {right.tool.name!r}: names {names:.2f}, descriptions {told:.2f} alike"
        yield left, Hit("/name", why)


def _repeated(tools: tuple[LintedTool, ...]) -> Iterator[tuple[LintedTool, Hit]]:
    first: dict[str, LintedTool] = {}
    folded: dict[str, LintedTool] = {}
    for tool in tools:
        name = tool.tool.name
        if name in first:
            yield tool, Hit("/name", f"{name!r} is offered twice; only the first is used")
            continue
        first[name] = tool
        other = folded.setdefault("".join(name_words(name)) or name, tool)
        if other is not tool:
            yield tool, Hit("/name", f"{name!r} and {other.tool.name!r} differ in case or separators only")


RULES: Iterable[Rule] = (
    Rule("RC501", "the same name twice", Severity.ERROR,
         "A call cannot say which one is meant.",
         "Rename one of them.",
         Evidence(Strength.OPINION, "design/03-repair-and-coercion.md: names match without case and separators"),
         check_all=_repeated),
    Rule("RC502", "tools that are easily confused", Severity.WARNING,
         f"Name and description are all that a model chooses by. Threshold: names share {NAMES_ALIKE:.0%} of their"
         f" words and descriptions {DESCRIPTIONS_ALIKE:.0%} of theirs by weight, or the descriptions are the same.",
         "Name and describe them by what tells them apart, or merge them; `rightcall align` proposes names.",
         Evidence(Strength.MEASURED, "MetaTool's similar-choice task, PA-Tool (arXiv 2510.07248)"),
         check_all=_confusable),
)  # fmt: skip
