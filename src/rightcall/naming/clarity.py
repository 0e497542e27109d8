"""Names that a person should look at: what renaming lost, and what it made hard to tell apart.

Source: PA-Tool, section 6.7 (`ProductComparison` became `compare_options` and lost what it compares) and appendix K
(about one name in ten is less clear than the original). These are flags for people, never decisions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rapidfuzz.distance.Levenshtein import normalized_similarity

from rightcall.naming.names import folded

NEAR = 0.85
"""From this similarity on (1 is equal) two names side by side are easily mistaken for each other."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
_GENERIC = frozenset(("api", "app", "function", "get", "name", "plugin", "service", "the", "tool", "tools", "with"))
_ECHOES = frozenset(("function", "functionname", "parameter", "parametername", "paramname", "toolname"))
_SHORTEST = 3
_STEM = 4
_STEM_SHARE = 0.6


def words(text: str) -> list[str]:
    """The words of a name or a sentence, in small letters: `ProductComparison` has two."""
    return [word.casefold() for word in _WORD.findall(text)]


def lost_words(original: str, name: str, description: str, siblings: list[str]) -> list[str]:
    """Words of the original that carry meaning and that the new name does not have.

    A word carries meaning if the description uses it too (a brand's name is not missed), and if most names beside
    it do not have it.
    """
    said, kept = words(description), words(name)
    beside = [words(each) for each in siblings]
    return [
        word
        for word in dict.fromkeys(words(original))
        if len(word) >= _SHORTEST
        and word not in _GENERIC
        and _among(word, said)
        and not _among(word, kept)
        and sum(_among(word, other) for other in beside) <= len(beside) / 2
    ]


def is_unlike(original: str, name: str, description: str) -> bool:
    """Whether a name has no word in common with what it stands for, in its description or its original name."""
    source = [*words(description), *words(original)]
    return not any(_among(word, source) for word in words(name) if word not in _GENERIC)


def is_echo(name: str) -> bool:
    """Whether a name only repeats the question, as `parameter_name` does."""
    return folded(name) in _ECHOES


def near_names(names: Mapping[str, str]) -> dict[str, str]:
    """For each original whose new name is near another's, that other name; originals as near as that are left out."""
    found: dict[str, str] = {}
    pairs = list(names.items())
    for index, (original, name) in enumerate(pairs, start=1):
        for other_original, other in pairs[index:]:
            if _near(name, other) and not _near(original, other_original):
                found.setdefault(original, other)
                found.setdefault(other_original, name)
    return found


def _near(one: str, other: str) -> bool:
    return normalized_similarity(one, other, score_cutoff=NEAR) >= NEAR


def _among(word: str, others: list[str]) -> bool:
    return any(_same_stem(word, other) for other in others)


def _same_stem(one: str, other: str) -> bool:
    """Whether two words share their beginning, as `comparison` and `compare` do."""
    if one == other:
        return True
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return same >= max(_STEM, _STEM_SHARE * max(len(one), len(other)))
