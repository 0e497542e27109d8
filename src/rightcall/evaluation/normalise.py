"""Named rules that make two ways of writing one value equal, applied to both sides before they are compared.

| rule | makes equal | leaves alone |
|---|---|---|
| `case` | `Berlin`, `BERLIN` | |
| `whitespace` | `New  York`, ` New York ` | |
| `date` | `2024-05-01`, `1 May 2024`, `May 1st, 2024`, `2024-05-01T00:00` | `01/05/2024`: day or month first? |
| `number` | `12`, `"12"`, `12.0`, `"1,200"` and `1200` | `1,2`; `12%`; `twelve`; true |
| `units` | `5 km`, `5000 m`; `2 h`, `120 minutes`; `1 lb`, `453.59237 g` | money, months, `oz`, `ton`: ambiguous |

A rule changes what it is about and leaves everything else as it is, so rules can be given together; each is
idempotent. Inside lists and objects they apply to every value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

from rightcall.errors import UsageError

Rule = Callable[[Any], Any]


def normalised(value: Any, rules: Sequence[str]) -> Any:
    """The value with each rule applied in turn. Raises `UsageError` for a rule that does not exist."""
    for name in rules:
        if name not in RULES:
            raise UsageError(unknown_rule(name))
    return _applied(value, [RULES[name] for name in rules])


def same_value(got: Any, wanted: Any, rules: Sequence[str] = ()) -> bool:
    """Whether two JSON values are equal after the rules: 5 equals 5.0, true does not equal 1."""
    return _equal(normalised(got, rules), normalised(wanted, rules))


def unknown_rule(name: Any) -> str:
    """What to tell somebody who asked for a rule that does not exist."""
    close = get_close_matches(str(name), RULES, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"there is no normaliser {name!r}{hint} (there are {', '.join(RULES)})"


def _applied(value: Any, rules: Sequence[Rule]) -> Any:
    if isinstance(value, Mapping):
        return {key: _applied(item, rules) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_applied(item, rules) for item in value]
    for rule in rules:
        value = rule(value)
    return value


def _equal(got: Any, wanted: Any) -> bool:
    if isinstance(got, bool) or isinstance(wanted, bool):
        return got is wanted
    if isinstance(got, Mapping) and isinstance(wanted, Mapping):
        return got.keys() == wanted.keys() and all(_equal(got[key], wanted[key]) for key in got)
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(_equal, got, wanted))
    return bool(got == wanted)


def _case(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _whitespace(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


# -- numbers ------------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d{1,3})?", re.IGNORECASE)
_MAX_DIGITS = 100


def _number(value: Any) -> Any:
    if isinstance(value, str) and len(value) <= _MAX_DIGITS and _NUMBER.fullmatch(value.strip()):
        value = float(value.strip().replace(",", ""))
        if value in {float("inf"), float("-inf")}:
            return value
    return int(value) if isinstance(value, float) and value.is_integer() else value


# -- dates --------------------------------------------------------------------------------------------------

_ORDINAL = re.compile(r"(?<=\d)(st|nd|rd|th)\b", re.IGNORECASE)
_DATE_FORMS = ("%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y", "%Y %B %d", "%Y %b %d")
_ISO = re.compile(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]+(\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?)(Z|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)


def _date(value: Any) -> Any:
    if not isinstance(value, str) or not value.isascii():
        return value
    text = " ".join(value.split())
    if found := _ISO.fullmatch(text):
        return _iso(found) or value
    words = " ".join(_ORDINAL.sub("", text).replace(",", " ").replace(".", " ").split())
    for form in _DATE_FORMS:
        try:
            return datetime.strptime(words, form).replace(tzinfo=UTC).date().isoformat()
        except ValueError:
            continue
    return value


def _iso(found: re.Match[str]) -> str | None:
    """The moment in one form: a date where the time is midnight of no zone, UTC where there is an offset."""
    year, month, day, clock, zone = found.groups()
    text = f"{year}-{month:0>2}-{day:0>2}"
    if clock:
        hours, rest = clock.split(":", 1)
        text += f"T{hours:0>2}:{rest}{(zone or '').upper()}"
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo:
        try:
            return moment.astimezone(UTC).isoformat()
        except OverflowError:
            return None
    return (
        moment.date().isoformat()
        if not (moment.hour or moment.minute or moment.second or moment.microsecond)
        else moment.isoformat()
    )


# -- units --------------------------------------------------------------------------------------------------

_UNITS: dict[str, tuple[str, str]] = {}
for _base, _table in {
    "m": {
        "mm millimetre millimeter": "0.001",
        "cm centimetre centimeter": "0.01",
        "m metre meter": "1",
        "km kilometre kilometer": "1000",
        "in inch": "0.0254",
        "ft foot": "0.3048",
        "yd yard": "0.9144",
        "mi mile": "1609.344",
    },
    "g": {
        "mg milligram milligramme": "0.001",
        "g gram gramme": "1",
        "kg kilogram kilogramme kilo": "1000",
        "t tonne": "1000000",
        "lb lbs": "453.59237",
    },
    "s": {
        "ms millisecond": "0.001",
        "s sec second": "1",
        "min minute": "60",
        "h hr hour": "3600",
        "d day": "86400",
        "week": "604800",
    },
}.items():
    for _names, _factor in _table.items():
        for _name in _names.split():
            _UNITS[_name] = _UNITS[_name if len(_name) == 1 else f"{_name}s"] = (_base, _factor)
_UNITS |= {"feet": ("m", "0.3048"), "inches": ("m", "0.0254")}
_QUANTITY = re.compile(rf"({_NUMBER.pattern}) ?([a-z]+)\.?", re.IGNORECASE)


def _units(value: Any) -> Any:
    found = (
        _QUANTITY.fullmatch(" ".join(value.split())) if isinstance(value, str) and len(value) <= _MAX_DIGITS else None
    )
    if not found:
        return value
    amount, name = found.groups()
    # One letter means a unit in lower case only: 5 M is no length, 5 G no mass.
    known = _UNITS.get(name if len(name) == 1 else name.lower())
    if not known:
        return value
    base, factor = known
    total = Decimal(amount.replace(",", "")) * Decimal(factor)
    return f"{total.normalize():f} {base}"


RULES: Mapping[str, Rule] = {
    "case": _case,
    "whitespace": _whitespace,
    "date": _date,
    "number": _number,
    "units": _units,
}
