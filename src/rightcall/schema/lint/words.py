"""What names and descriptions say, read mechanically: words of a name, quoted choices, bounds, units, defaults."""

from __future__ import annotations

import json
import re
from typing import Any

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ITEM = r"['\"`][^'\"`\n]{1,40}['\"`](?:\s*\([^)]*\))?"
_QUOTED = re.compile(r"""(?<!\w)(?:'([^'\n]{1,40})'|"([^"\n]{1,40})"|`([^`\n]{1,40})`)(?!\w)""")
_CHOICE = re.compile(
    r"\b(?:either|one of|must be|(?:can|may|should) (?:only )?be|(?:valid|possible|allowed|accepted|supported"
    r"|available) (?:values|options|choices|types|units|formats)(?: are| include)?|options(?: are)?|choices(?: are)?"
    r"|choose (?:from|between)|enum)\b[:\s]*",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"^\W{{0,3}}(?:{_ITEM}(?:\s*(?:,\s*or|,\s*and|[,;|/]|or|and)\s*)?)+")
_EXAMPLE = re.compile(r"\b(?:e\.g\.?|i\.e\.?|for example|for instance|such as|like|example)\W*$", re.IGNORECASE)
_NUMBER = r"(-?\d{1,15}(?:\.\d+)?)"
_BETWEEN = re.compile(
    rf"\b(?:between|from|range(?: of| is| from)?|ranges from|ranging from)\s+{_NUMBER}\s*(?:and|to|-|–|through)"
    rf"\s*{_NUMBER}"
    rf"|\[\s*{_NUMBER}\s*(?:,|-|\.\.)\s*{_NUMBER}\s*\]"
    rf"|\(\s*{_NUMBER}\s*(?:-|–|to)\s*{_NUMBER}\s*\)",
    re.IGNORECASE,
)
_AT_MOST = re.compile(
    rf"\b(?:at most|no more than|not more than|up to|maximum(?: of| is|:)?|max(?:\.| of|:)?|(?:can|must )not exceed"
    rf"|less than or equal to)\s+{_NUMBER}\b(?!\s*(?:char|letter|word|digit|item|element|decimal))",
    re.IGNORECASE,
)
_AT_LEAST = re.compile(
    rf"\b(?:at least|no less than|not less than|minimum(?: of| is|:)?|greater than or equal to)\s+{_NUMBER}\b"
    rf"(?!\s*(?:char|letter|word|digit|item|element|decimal))",
    re.IGNORECASE,
)
_DEFAULT = re.compile(
    r"\b(?:default(?:s|ed)?(?: value)?(?: is| to| of|:|=)+|by default,?)\s*(?:set to |the )?"
    r"(?:'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"|`([^`\n]{1,60})`|(-?\d+(?:\.\d+)?)(?![\w.]*\d)(?!\s*(?:%|percent))|(true|false|none|null)\b)"
    r"(?!\s*(?:[-+]|minus|plus)\s)",
    re.IGNORECASE,
)


def name_words(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters: `getUserID` and `get_user_id` have the same."""
    return tuple(part.casefold() for part in _PARTS.findall(name))


def listed_choices(text: str) -> list[str]:
    """The quoted values of a closed list ("must be 'a' or 'b'"); empty where the text gives mere examples."""
    for choice in _CHOICE.finditer(text):
        rest = text[choice.end() :]
        if _EXAMPLE.search(text[: choice.end()]):
            continue
        listed = _LISTED.match(rest)
        if listed and "etc" not in rest[listed.end() : listed.end() + 6]:
            found = [next(filter(None, groups)) for groups in _QUOTED.findall(listed[0])]
            if len(found) > 1:
                return list(dict.fromkeys(found))
    return []


def stated_bounds(text: str) -> tuple[float | None, float | None]:
    """The bounds that a text states for a number ("between 1 and 100"): least and most, None where it states none."""
    between = _BETWEEN.search(text)
    if between:
        low, high = (float(number) for number in between.groups() if number is not None)
        return (low, high) if low < high else (None, None)
    most = _AT_MOST.search(text)
    least = _AT_LEAST.search(text)
    return (float(least[1]) if least else None, float(most[1]) if most else None)


def stated_default(text: str) -> tuple[Any, ...]:
    """The default that a text states, at most one value: a quoted text, a number, a truth value or null."""
    found = _DEFAULT.findall(text)
    if len(found) != 1:
        return ()
    *quoted, number, literal = found[0]
    if any(quoted):
        return (next(filter(None, quoted)),)
    if number:
        return (json.loads(number) if not re.match(r"-?0\d", number) else number,)
    return ({"true": True, "false": False}.get(literal.casefold()),)
