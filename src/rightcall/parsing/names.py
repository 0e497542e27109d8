"""Which declared tool a model's word for one means: exact, then known leaks of templates, then spelling.

Anything looser than a unique match without case and separators is only suggested, never taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from rightcall.domain import Grade, Note

_SEPARATORS = re.compile(r"[\s_\-./:]+")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\s_\-./:]+(?=\d)")
_SIGN = re.compile(r"^\s*-(?=\d)")
_NAMESPACE = re.compile(r"^(?:functions?|tools?|default_api|api)[.:/]", re.IGNORECASE)
_CALL_INDEX = re.compile(r":\d{1,4}$")
_SPECIAL_TOKEN_TAIL = re.compile(r"<[|｜].*$", re.DOTALL)
_SUGGEST_CUTOFF = 60
_MAX_SUGGESTIONS = 5
MAX_NAME = 256


@dataclass(frozen=True, slots=True)
class Match:
    """The declared name meant, or None; `note` where it was spelled otherwise, `candidates` where several fit."""

    name: str | None
    note: Note | None = None
    candidates: tuple[str, ...] = ()


def fold(name: str) -> str:
    """A name without case and separators: `listOpenItems`, `list-open-items` and `LIST_OPEN_ITEMS` fold alike.

    Numbers keep what makes them: `1.0` is not `10`, and `-1` is not `1`.
    """
    signed = _SIGN.sub("~", name)
    return _SEPARATORS.sub("", _BETWEEN_DIGITS.sub("~", signed)).casefold()


def match_name(written: str, declared: Sequence[str]) -> Match:
    """Finds the declared name that `written` certainly means."""
    if written in declared:
        return Match(written)
    if not written.strip() or len(written) > MAX_NAME:
        return Match(None)
    for cleaned in _without_leaks(written):
        if cleaned in declared:
            return Match(cleaned, Note("name_leak", Grade.LOSSLESS, before=written, after=cleaned))
    for cleaned in (written, *_without_leaks(written)):
        folded = fold(cleaned)
        alike = [name for name in declared if fold(name) == folded] if folded else []
        if len(alike) == 1:
            return Match(alike[0], Note("name_spelling", Grade.INFERRED, before=written, after=alike[0]))
        if alike:
            return Match(None, candidates=tuple(alike))
    return Match(None, candidates=_same_last_part(written, declared))


def suggest(written: str, declared: Iterable[str]) -> list[str]:
    """Declared names that look like `written`, best first. For messages only: a suggestion is never taken."""
    found = process.extract(
        written[:MAX_NAME], list(declared), scorer=fuzz.WRatio, limit=_MAX_SUGGESTIONS, score_cutoff=_SUGGEST_CUTOFF
    )
    return [name for name, _score, _index in found]


def _without_leaks(written: str) -> list[str]:
    """`written` with what templates and parsers are known to leave on names taken off, step by step."""
    steps: list[str] = []
    name = written
    for cleaned in (
        lambda text: text.strip().strip("\"'`").strip(),
        lambda text: _SPECIAL_TOKEN_TAIL.sub("", text),
        lambda text: text.removesuffix("()"),
        lambda text: _CALL_INDEX.sub("", text),
        lambda text: _NAMESPACE.sub("", text),
    ):
        name = cleaned(name)
        if name and name != written and name not in steps:
            steps.append(name)
    half = len(name) // 2
    if half and name[:half] == name[half:]:
        steps.append(name[:half])
    return steps


def _same_last_part(written: str, declared: Sequence[str]) -> tuple[str, ...]:
    """Declared names that end in the written one behind a separator: two of them make it ambiguous."""
    tail = re.compile(rf"(?:__|[.:/]){re.escape(written)}$", re.IGNORECASE)
    found = tuple(name for name in declared if tail.search(name))
    return found if len(found) > 1 else ()
