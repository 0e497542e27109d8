"""Values left open that are not: finite sets in prose, bounds, units, dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rightcall.schema.keywords import Node
from rightcall.schema.lint.findings import (
    ARTICLE,
    ESSAY,
    Evidence,
    Hit,
    LintedTool,
    Rule,
    Severity,
    Strength,
    description_of,
    is_free_text,
    is_number,
    is_text,
)
from rightcall.schema.lint.words import listed_choices, name_words, stated_bounds
from rightcall.schema.references import own_types
from rightcall.schema.rewrite.units import UNITS, unit_of

_COUNTED = frozenset(("count", "limit", "offset", "page", "quantity", "skip", "top"))
"""Last words of names that count something, so that a negative or a huge value is never meant."""
_PAGED = frozenset((("max", "results"), ("num", "results"), ("page", "size"), ("per", "page"), ("top", "k")))
_BOUNDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const"))
_MEASURED = frozenset(
    (
        "altitude",
        "amount",
        "angle",
        "balance",
        "bandwidth",
        "budget",
        "cost",
        "delay",
        "distance",
        "duration",
        "elevation",
        "energy",
        "fee",
        "force",
        "height",
        "income",
        "interval",
        "length",
        "loan",
        "mass",
        "payment",
        "power",
        "pressure",
        "price",
        "revenue",
        "salary",
        "speed",
        "temperature",
        "timeout",
        "velocity",
        "volume",
        "wage",
        "weight",
        "width",
    )
)
"""Quantities that mean nothing without a unit."""
_CURRENCIES = frozenset(
    (
        "aud",
        "cad",
        "chf",
        "cny",
        "dollar",
        "dollars",
        "eur",
        "euro",
        "euros",
        "gbp",
        "inr",
        "jpy",
        "pence",
        "rupees",
        "usd",
        "yen",
        "$",
        "€",
        "£",
        "¥",
    )
)
_OTHER_UNITS = frozenset(
    (
        "amp",
        "bit",
        "bits",
        "byte",
        "cm",
        "day",
        "degree",
        "ft",
        "gb",
        "hour",
        "hz",
        "inch",
        "kb",
        "kelvin",
        "kg",
        "km",
        "lb",
        "lbs",
        "liter",
        "litre",
        "mb",
        "meter",
        "metre",
        "mile",
        "minor",
        "minute",
        "mm",
        "month",
        "mph",
        "ms",
        "newton",
        "newtons",
        "ohm",
        "pascal",
        "pascals",
        "percentage",
        "pixel",
        "second",
        "sq",
        "square",
        "tesla",
        "ton",
        "tons",
        "unit",
        "units",
        "volt",
        "watt",
        "week",
        "yd",
        "yards",
        "year",
        "%",
    )
)
_UNIT_WORDS = (
    frozenset(word for unit in UNITS for word in unit.casefold().split())
    | frozenset(word for unit in UNITS.values() for word in unit.split("_"))
    | _CURRENCIES
    | _OTHER_UNITS
)
_UNIT_NAMES = frozenset(("currency", "unit", "units", "scale", "metric"))
_RANGED = re.compile(r"\b(?:scale|level|ratio|factor|fraction|multiplier|characters|1\.0|tokens)\b", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z]+|[$€£¥%°]")
_DATED = frozenset(("date", "datetime", "dob", "birthdate", "birthday", "timestamp"))
_FORMAT_TOLD = re.compile(
    r"\b(?:Y{2,4}|y{4}|D{2}|d{2})\b|YYYY|yyyy|dd[-/.]mm|mm[-/.]dd|DD[-/.]MM|MM[-/.]DD|%[YmdHM]|ISO[ -]?8601|RFC ?3339"
    r"|\b\d{4}-\d{2}-\d{2}|\b\d{1,2}/\d{1,2}/\d{2,4}|\bepoch\b|\bunix\b|HH:MM|hh:mm|\bformat\b"
    r"|\b(?:month|day|year)[-/ ](?:month|day|year)\b",
)


def _closed_in_prose(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        choices = listed_choices(description_of(node)) if is_free_text(node) else []
        if choices:
            shown = ", ".join(repr(choice) for choice in choices[:6])
            yield Hit(
                node.pointer,
                f"the description lists the values ({shown}), the schema takes any text",
                f"Write them as an enum of {len(choices)}.",
            )


def _unbounded_counts(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        words = name_words(node.name)
        counts = bool(words) and (words[-1] in _COUNTED or words[-2:] in _PAGED)
        if counts and own_types(node.schema) - {"null"} == {"integer"} and not node.schema.keys() & _BOUNDS:
            yield Hit(node.pointer, f"{node.name!r} counts something and has no bounds: -1 and 10**9 are valid")


def _bounds_in_prose(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        if not is_number(node) or node.schema.keys() & {"enum", "const"}:
            continue
        least, most = stated_bounds(description_of(node))
        missing = [
            f"{word} {bound:g}"
            for word, bound, present in (
                ("minimum", least, node.schema.keys() & {"minimum", "exclusiveMinimum"}),
                ("maximum", most, node.schema.keys() & {"maximum", "exclusiveMaximum"}),
            )
            if bound is not None and not present
        ]
        if missing:
            stated = " and ".join(missing)
            yield Hit(node.pointer, f"the description states {stated}, the schema does not", f"Declare {stated}.")


def _unitless(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        ranged = _RANGED.search(description_of(node)) or any(stated_bounds(description_of(node)))
        if _is_measure(node) and not ranged and not _is_unit_known(node, tool):
            yield Hit(
                node.pointer,
                f"{node.name!r} is a quantity whose unit stands nowhere: a value in another one is valid",
            )


def _units_in_prose(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        unit = unit_of(node.schema) if _is_measure(node) else None
        if unit and not set(name_words(node.name)) & _UNIT_WORDS:
            yield Hit(
                node.pointer,
                f"the unit ({unit.replace('_', ' ')}) stands in the description only",
                f"Name it {node.name}_{unit}; `rightcall serve --rewrite units` shows it so.",
            )


def _is_measure(node: Node) -> bool:
    words = name_words(node.name)
    return bool(words) and words[-1] in _MEASURED and is_number(node)


def _is_unit_known(node: Node, tool: LintedTool) -> bool:
    siblings = node.parent.schema.get("properties", {}) if node.parent else {}
    named = any(set(name_words(name)) & _UNIT_NAMES for name in siblings if name != node.name)
    around = description_of(node.parent) if node.parent else ""
    told = _WORDS.findall(f"{description_of(node)} {around}")
    said = {word.casefold() for word in (*name_words(node.name), *told)}
    said |= {word.removesuffix("s") for word in said}
    whole = {word.casefold() for word in _WORDS.findall(tool.tool.description)} & _CURRENCIES
    return named or bool(said & _UNIT_WORDS) or bool(whole)


def _formless_dates(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        words = name_words(node.name)
        dated = bool(words) and (words[-1] in _DATED or words[0] in _DATED)
        if (
            dated
            and is_free_text(node)
            and not _FORMAT_TOLD.search(f"{description_of(node)} {tool.tool.description}")
        ):
            yield Hit(node.pointer, f"{node.name!r} is any text: 11/08/2026, 2026-08-11 and 'tomorrow' are all valid")


def _dates_in_prose(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        words = name_words(node.name)
        dated = bool(words) and (words[-1] in _DATED or words[0] in _DATED)
        if dated and is_free_text(node) and _FORMAT_TOLD.search(description_of(node)):
            yield Hit(node.pointer, "the form of the date stands in the description only, so no wrong one is found")


def _alike_members(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.nodes:
        members = node.schema.get("enum")
        seen: dict[str, str] = {}
        for member in members if isinstance(members, list) else ():
            if not isinstance(member, str):
                continue
            folded = "".join(name_words(member)) or member
            other = seen.setdefault(folded, member)
            if other != member and is_text(node):
                yield Hit(f"{node.pointer}/enum", f"{other!r} and {member!r} differ in case or separators only")
                break


RULES: Iterable[Rule] = (
    Rule(
        "RC201",
        "finite set left as free text",
        Severity.WARNING,
        "An enum turns generating into selecting, and lets near misses be repaired; prose does neither.",
        "Write the values as an enum.",
        Evidence(Strength.OPINION, ARTICLE),
        _closed_in_prose,
    ),
    Rule(
        "RC202",
        "count without bounds",
        Severity.INFO,
        "A limit or a page of -1 or a billion is valid, and reaches the tool.",
        "Declare minimum and maximum.",
        Evidence(Strength.OPINION, ESSAY),
        _unbounded_counts,
    ),
    Rule(
        "RC203",
        "bound stated in prose only",
        Severity.WARNING,
        "What is only said cannot be checked: a value beyond it is valid.",
        "Declare the bound.",
        Evidence(Strength.OPINION, ESSAY),
        _bounds_in_prose,
    ),
    Rule(
        "RC204",
        "quantity without a unit",
        Severity.WARNING,
        "A number in the wrong unit is valid and wrong.",
        "Put the unit in the name (amount_minor_units, timeout_seconds).",
        Evidence(Strength.REPORTED, f"Qwen2.5-Coder 0.5B wrote 12 for 12 pounds 50 (rightcall demo); {ARTICLE}"),
        _unitless,
    ),
    Rule(
        "RC205",
        "unit not in the name",
        Severity.INFO,
        "A name is in front of the model while it writes the value, a description is not.",
        "Put the unit in the name; `rightcall serve --rewrite units` does.",
        Evidence(Strength.OPINION, ARTICLE),
        _units_in_prose,
    ),
    Rule(
        "RC206",
        "date of any form",
        Severity.WARNING,
        "A date in another form than the tool expects is a commonly reported failure, and valid here.",
        "Declare a format (date, date-time) or a pattern.",
        Evidence(Strength.REPORTED, "Making Small Models Reliable at Tool-Calling, What actually breaks"),
        _formless_dates,
    ),
    Rule(
        "RC207",
        "form of a date in prose only",
        Severity.INFO,
        "The validator cannot refuse what only a description forbids.",
        "Declare a format (date, date-time) or a pattern.",
        Evidence(Strength.OPINION, ARTICLE),
        _dates_in_prose,
    ),
    Rule(
        "RC208",
        "members that differ by spelling only",
        Severity.WARNING,
        "No repair can tell them apart, so a near miss becomes a refusal.",
        "Keep one of them.",
        Evidence(
            Strength.OPINION, "design/03-repair-and-coercion.md: members are matched without case and separators"
        ),
        _alike_members,
    ),
)
