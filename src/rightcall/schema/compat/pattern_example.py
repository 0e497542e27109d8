"""A text that a regular expression matches: for the common part of the language, to show examples with.

Literals, classes, groups, alternatives, quantifiers and anchors; anything else gives no text. What it gives is a
proposal: the validator has the last word.
"""

from __future__ import annotations

MAX_CHARS = 2000
_MAX_REPEAT = 200
_CLASSES = {"d": "0", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "n": "\n", "t": "\t", "r": "\r"}
_ANCHORS = frozenset("AZzbB")
_CANDIDATES = "a0A_- .@~é"


class _Unknown(Exception):
    """A construct that is not known here."""


def pattern_example(pattern: str) -> str | None:
    """A text that the pattern probably matches, None where the pattern is beyond this reader."""
    if len(pattern) > MAX_CHARS:
        return None
    try:
        text, index = _alternatives(pattern, 0)
    except (_Unknown, IndexError, ValueError, RecursionError):
        return None
    return text if index == len(pattern) else None


def _alternatives(pattern: str, index: int) -> tuple[str, int]:
    """The first alternative; the others are only read over."""
    text, index = _sequence(pattern, index)
    while index < len(pattern) and pattern[index] == "|":
        _, index = _sequence(pattern, index + 1)
    return text, index


def _sequence(pattern: str, index: int) -> tuple[str, int]:
    parts: list[str] = []
    while index < len(pattern) and pattern[index] not in "|)":
        atom, index = _atom(pattern, index)
        count, index = _least(pattern, index)
        parts.append(atom * count)
    return "".join(parts), index


def _atom(pattern: str, index: int) -> tuple[str, int]:
    match pattern[index]:
        case "^" | "$":
            return "", index + 1
        case ".":
            return "a", index + 1
        case "\\":
            escaped = pattern[index + 1]
            if escaped in _ANCHORS:
                return "", index + 2
            if escaped in _CLASSES:
                return _CLASSES[escaped], index + 2
            if escaped.isalnum():
                raise _Unknown
            return escaped, index + 2
        case "[":
            return _class(pattern, index + 1)
        case "(":
            index += 1
            if pattern.startswith("?", index):
                if not pattern.startswith("?:", index):
                    raise _Unknown
                index += 2
            text, index = _alternatives(pattern, index)
            if pattern[index] != ")":
                raise _Unknown
            return text, index + 1
        case character if character in "*+?{":
            raise _Unknown
        case character:
            return character, index + 1


def _class(pattern: str, index: int) -> tuple[str, int]:
    negated = pattern[index] == "^"
    index += negated
    ranges: list[tuple[str, str]] = []
    first = True
    while first or pattern[index] != "]":
        first = False
        low, index = _member(pattern, index)
        if pattern[index] == "-" and pattern[index + 1] != "]":
            high, index = _member(pattern, index + 1)
            ranges.append((low, high))
        else:
            ranges.append((low, low))
    if not negated:
        return ranges[0][0], index + 1
    for candidate in _CANDIDATES:
        if not any(low <= candidate <= high for low, high in ranges):
            return candidate, index + 1
    raise _Unknown


def _member(pattern: str, index: int) -> tuple[str, int]:
    if pattern[index] != "\\":
        return pattern[index], index + 1
    escaped = pattern[index + 1]
    if escaped in _CLASSES:
        return _CLASSES[escaped], index + 2
    if escaped.isalnum():
        raise _Unknown
    return escaped, index + 2


def _least(pattern: str, index: int) -> tuple[int, int]:
    """How often a quantifier at least repeats, and where it ends. One repetition of what may be left out is shown."""
    if index >= len(pattern) or pattern[index] not in "*+?{":
        return 1, index
    if pattern[index] == "{":
        end = pattern.index("}", index)
        least = int(pattern[index + 1 : end].partition(",")[0] or 0)
        if least > _MAX_REPEAT:
            raise _Unknown
        count, index = least, end + 1
    else:
        count, index = 1, index + 1
    return count, index + 1 if index < len(pattern) and pattern[index] in "?+" else index
