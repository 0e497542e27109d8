"""Units in names: an `amount` that is described as "in pence" is shown as `amount_pence`.

Source: "Put units in the field name" in "Making Small Models Reliable at Tool-Calling". Only where the schema itself
says the unit, and only one. The value is what the original takes: nothing is ever converted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rightcall.domain import JsonObject
from rightcall.schema.pointers import steps
from rightcall.schema.rewrite.places import Place
from rightcall.schema.rewrite.rename import renamed

UNITS: Mapping[str, str] = {
    "ns": "nanoseconds",
    "nanoseconds": "nanoseconds",
    "microseconds": "microseconds",
    "ms": "milliseconds",
    "msec": "milliseconds",
    "millis": "milliseconds",
    "milliseconds": "milliseconds",
    "s": "seconds",
    "secs": "seconds",
    "seconds": "seconds",
    "minutes": "minutes",
    "hours": "hours",
    "days": "days",
    "weeks": "weeks",
    "months": "months",
    "years": "years",
    "pence": "pence",
    "cents": "cents",
    "pennies": "pennies",
    "minor units": "minor_units",
    "mm": "millimetres",
    "millimeters": "millimeters",
    "millimetres": "millimetres",
    "cm": "centimetres",
    "centimeters": "centimeters",
    "centimetres": "centimetres",
    "meters": "meters",
    "metres": "metres",
    "km": "kilometres",
    "kilometers": "kilometers",
    "kilometres": "kilometres",
    "miles": "miles",
    "feet": "feet",
    "inches": "inches",
    "grams": "grams",
    "kg": "kilograms",
    "kilograms": "kilograms",
    "pounds": "pounds",
    "litres": "litres",
    "liters": "liters",
    "bytes": "bytes",
    "kilobytes": "kilobytes",
    "megabytes": "megabytes",
    "celsius": "celsius",
    "degrees celsius": "celsius",
    "fahrenheit": "fahrenheit",
    "degrees fahrenheit": "fahrenheit",
    "kelvin": "kelvin",
    "radians": "radians",
    "percent": "percent",
    "watts": "watts",
    "volts": "volts",
    "hertz": "hertz",
    "pixels": "pixels",
    "km/h": "km_per_hour",
    "m/s": "metres_per_second",
}
"""What schemas call units, and how a name says it. Words that are units only at times are not here."""
_WORDS = "|".join(re.escape(word) for word in sorted(UNITS, key=len, reverse=True))
_SAID = re.compile(rf"(?:\b(?:in|units?:)\s+|[(\[](?:in\s+)?)({_WORDS})(?![\w/])", re.IGNORECASE)
_ANY = re.compile(rf"(?<![\w/])({_WORDS})(?![\w/])", re.IGNORECASE)
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SHORT = 2


def with_units(schema: JsonObject) -> tuple[JsonObject, Place]:
    """The schema with units in the names of its numbers, and the way back."""
    return renamed(schema, _name)


def _name(pointer: str, schema: Any) -> str:
    name = steps(pointer)[-1]
    unit = unit_of(schema)
    if unit is None or _mentions(name, unit):
        return name
    return f"{name}{unit.title().replace('_', '')}" if _is_camel(name) else f"{name}_{unit}"


def unit_of(schema: Any) -> str | None:
    """The unit that a number's description says it is in; None where it says none, or more than one."""
    if not isinstance(schema, Mapping) or schema.get("type") not in ("integer", "number"):
        return None
    text = str(schema.get("description", ""))
    said = _SAID.findall(text)
    named = {UNITS[word.casefold()] for word in _ANY.findall(text) if len(word) > _SHORT} if said else set()
    found = {UNITS[word.casefold()] for word in said} | named
    return found.pop() if len(found) == 1 else None


def _mentions(name: str, unit: str) -> bool:
    """Whether a name says its unit already, in any of the words for it."""
    words = {part.casefold() for part in _PARTS.findall(name)}
    spelled = {word for word, meant in UNITS.items() if meant == unit} | set(unit.split("_"))
    return bool(words & (spelled | {word.removesuffix("s") for word in spelled if len(word) > _SHORT}))


def _is_camel(name: str) -> bool:
    return "_" not in name and name != name.lower() and name[:1].islower()
