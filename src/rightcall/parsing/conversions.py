"""Values as another JSON type: only exact, whole readings count.

Formats that write everything as plain text give `RawText`; what it is only the declared type says.
"""

from __future__ import annotations

import re
from typing import Any

from rightcall.parsing.json_reader import read_json
from rightcall.parsing.json_scalars import MAX_DIGITS
from rightcall.parsing.unreadable import Unreadable
from rightcall.schema.references import has_type

_INTEGER = re.compile(r"-?\d+")
_WHOLE_DECIMAL = re.compile(r"(-?\d+)\.0+")
_GROUPED_INTEGER = re.compile(r"-?\d{1,3}(?:,\d{3})+")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")

NOTHING = object()
"""Where no conversion is certain; None is a value."""


class RawText(str):
    """A value from a format that writes everything as plain text: only the declared type says what it is."""

    __slots__ = ()


def converted(value: Any, allowed: frozenset[str]) -> Any:
    """The value as one of the allowed types, or nothing. Only exact, whole readings count."""
    if isinstance(value, str):
        return _from_text(value, allowed)
    if isinstance(value, bool) or value is None:
        return NOTHING
    if isinstance(value, int):
        both = {"boolean", "string"} <= allowed
        if "boolean" in allowed and value in {0, 1} and not both:
            return bool(value)
        if "string" in allowed and not both:
            return str(value)
    return NOTHING


def _from_text(text: str, allowed: frozenset[str]) -> Any:
    bare = text.strip()
    if len(bare) <= MAX_DIGITS:
        if allowed & {"integer", "number"} and (number := _number(bare, allowed)) is not NOTHING:
            return number
        if "boolean" in allowed and bare.lower() in {"true", "false"}:
            return bare.lower() == "true"
        if "null" in allowed and bare in {"null", "None"}:
            return None
    if bare[:1] in {"{", "["} and allowed & {"object", "array"}:
        try:
            decoded = read_json(bare).value
        except Unreadable:
            return NOTHING
        return decoded if has_type(decoded, allowed) else NOTHING
    return NOTHING


def _number(text: str, allowed: frozenset[str]) -> Any:
    if _INTEGER.fullmatch(text):
        return int(text)
    if whole := _WHOLE_DECIMAL.fullmatch(text):
        return int(whole[1])
    if "number" in allowed:
        return float(text) if _NUMBER.fullmatch(text) and abs(float(text)) != float("inf") else NOTHING
    # For an integer a grouping comma has one reading; for a number it may be a decimal comma.
    return int(text.replace(",", "")) if _GROUPED_INTEGER.fullmatch(text) else NOTHING


def decode_raw(raw: RawText, allowed: frozenset[str]) -> Any:
    """A plain-text value as its declared type. Without one, or where it does not fit, it stays text."""
    text = str(raw)
    if not allowed:
        return text
    if "null" in allowed and text.strip() in {"null", "None"}:
        return None
    others = allowed - {"string", "null"}
    if not others:
        return text
    decoded = _from_text(text, others)
    return text if decoded is NOTHING else decoded


def plain(value: Any) -> Any:
    """A value without the marks of its format."""
    if isinstance(value, RawText):
        return str(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def has_raw(value: Any) -> bool:
    """Whether any part of a value is still plain text of an untyped format."""
    if isinstance(value, dict):
        return any(map(has_raw, value.values()))
    if isinstance(value, list):
        return any(map(has_raw, value))
    return type(value) is RawText
