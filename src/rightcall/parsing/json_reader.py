"""JSON as models write it: strict first, repaired only where strict reading fails.

Here is what surrounds a value: fences, stray closers, a second value, words. The value itself is read by
`json_repair`, which also says where the rules come from.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from typing import Any

import jiter

from rightcall.domain import ProblemKind
from rightcall.parsing.json_repair import Read, blank_end, repair_json, same_value
from rightcall.parsing.unreadable import Unreadable


def read_json(text: str, keys: Collection[str] = ()) -> Read:
    """Reads a text that should be one JSON value. `keys` are the names that may follow a doubtful string.

    Raises:
        Unreadable: unparseable, truncated or ambiguous.
    """
    try:
        return Read(strict_json(text), len(text))
    except ValueError:
        pass
    if _ESCAPED.match(text) and (decoded := _decoded_once(text.strip())):
        return decoded
    body, repairs = _unwrapped(text)
    if repairs:
        try:
            return Read(strict_json(body), len(body), repairs)
        except ValueError:
            pass
    read = repair_json(body, 0, keys)
    return _with_rest(body, read, repairs, keys)


def read_json_at(text: str, position: int, keys: Collection[str] = ()) -> Read:
    """Reads the JSON value that begins at `position` of a longer text; what follows it is not looked at.

    Raises:
        Unreadable: unparseable, truncated or ambiguous.
    """
    try:
        value, end = _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return repair_json(text, position, keys)
    return Read(value, end)


def strict_json(text: str) -> Any:
    """Valid JSON and nothing else: no duplicate keys, no NaN, no number beyond a double's range.

    Raises:
        ValueError: with the position of the fault.
    """
    value = jiter.from_json(text.encode("utf-8", "surrogatepass"), catch_duplicate_keys=True, allow_inf_nan=False)
    if _holds_infinity([value]):
        raise ValueError("a number is beyond the range of a double")
    return value


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _finite_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number is beyond the range of a double")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_duplicates, parse_constant=_no_constant, parse_float=_finite_float
)
_CLOSERS = re.compile(r"(?:[\s﻿}\])]|</s>|<\|[^<>|]{1,40}\|>|<｜[^<>｜]{1,40}｜>|```|;)*\Z")
_FENCE = re.compile(r"\s*```[ \t]*\w*[ \t]*\r?\n")
_ESCAPED = re.compile(r"\s*\{\s*\\\"")
_OBJECT_IN = re.compile(r"\{\s*[\"'}]")


def _holds_infinity(value: Any) -> bool:
    for item in value.values() if type(value) is dict else value:
        kind = type(item)
        if kind is float:
            if math.isinf(item):
                return True
        elif (kind is dict or kind is list) and _holds_infinity(item):
            return True
    return False


def _decoded_once(text: str) -> Read | None:
    """An object written as the inside of a JSON string, its quotes escaped, if it is valid once decoded."""
    try:
        return Read(strict_json(strict_json(f'"{text}"')), len(text), ("escaped_object",))
    except ValueError:
        return None


def _unwrapped(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without a fence around it, which is decoration."""
    opened = _FENCE.match(text)
    if opened is None:
        return text, ()
    return text[opened.end() :].rstrip().removesuffix("```").rstrip(), ("fence",)


def _with_rest(text: str, read: Read, repairs: tuple[str, ...], keys: Collection[str]) -> Read:
    """Judges what stands behind a complete value: stray closers, a second value, or words."""
    repairs += read.repairs
    start = blank_end(text, read.end)
    while text[start : start + 1] in {"{", "["} and "inner_quote" not in read.repairs:
        second = repair_json(text, start, keys)
        if read.value != {} and not same_value(read.value, second.value):
            raise Unreadable(ProblemKind.AMBIGUOUS, "two different JSON values stand one after the other", start)
        # An empty object in front is the start value that some servers send before the real arguments.
        read, repairs = second, (*repairs, *second.repairs, "repeated_value")
        start = blank_end(text, read.end)
    rest = text[start:]
    if not rest:
        return Read(read.value, read.end, repairs)
    if "inner_quote" in read.repairs:
        raise Unreadable(ProblemKind.UNPARSEABLE, "a string holds quotes that are not escaped", read.end)
    if _CLOSERS.match(rest):
        return Read(read.value, read.end, (*repairs, "trailing_closer"))
    if _OBJECT_IN.search(rest):
        raise Unreadable(ProblemKind.AMBIGUOUS, "a second JSON value follows the first", start)
    if isinstance(read.value, dict | list) and rest[0] != ",":
        return Read(read.value, read.end, (*repairs, "trailing_text"))
    raise Unreadable(ProblemKind.UNPARSEABLE, f"{json.dumps(rest[:20])} follows a complete value", start)
