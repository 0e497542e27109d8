"""Numbers and escapes as models write them, for the repairing reader."""

from __future__ import annotations

import json
import math
import re
from enum import Enum, auto

from rightcall.parsing.unreadable import cut_at, unparseable_at

MAX_DIGITS = 400
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_CUT_NUMBER = re.compile(r"(?:[eE]?[+-]?|\.)\Z")
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_LOW_SURROGATE = re.compile(r"\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
_CUT_ESCAPE = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Escape(Enum):
    """What an escape is: JSON's own (of a control character or another), needless, or unknown to JSON."""

    PLAIN = auto()
    CONTROL = auto()
    NEEDLESS = auto()
    UNKNOWN = auto()


def read_number(text: str, at: int, *, in_call: bool) -> tuple[int | float, int, bool]:
    """A number, where it ends, and whether its form is another than JSON's. `in_call`: a parenthesis may follow.

    Raises:
        Unreadable: it is cut off, or no number.
    """
    match = _NUMBER.match(text, at)
    if _CUT_NUMBER.match(text, match.end() if match else at):
        raise cut_at(at, "the text ends in a number that may go on")
    if not match:
        raise unparseable_at(at, f"{json.dumps(text[at : at + 12])} is no JSON value")
    written, end = match[0], match.end()
    digits = written.lstrip("+-")
    if (
        text[end] not in (",}]) \t\r\n/#" if in_call else ",}] \t\r\n/#")
        or len(written) > MAX_DIGITS
        or re.match(r"0\d", digits)
    ):
        raise unparseable_at(at, f"{json.dumps(text[at : end + 8])} is neither a number nor a quoted string")
    whole = written.removesuffix(".")
    odd = written[0] == "+" or digits[0] == "." or whole != written
    if re.fullmatch(r"[+-]?\d+", whole):
        return int(whole), end, odd
    value = float(whole)
    if math.isinf(value):
        raise unparseable_at(at, f"{written} is beyond the range of a number")
    return value, end, odd


def read_escape(text: str, at: int) -> tuple[str, int, Escape]:
    """What the escape at a backslash stands for, where it ends, and what kind it is.

    One that JSON does not know stands for itself, as written.

    Raises:
        Unreadable: it is cut off, or half of a character.
    """
    char = text[at + 1 : at + 2]
    if not char:
        raise cut_at(at, "the text ends inside a string")
    if char == "u":
        return _unicode_escape(text, at)
    if char in _ESCAPES:
        return _ESCAPES[char], at + 2, Escape.CONTROL if char in "bfnrt" else Escape.PLAIN
    if char == "'":
        return char, at + 2, Escape.NEEDLESS
    return "\\" + char, at + 2, Escape.UNKNOWN


def _unicode_escape(text: str, at: int) -> tuple[str, int, Escape]:
    match = _UNICODE.match(text, at)
    if not match:
        return "\\u", at + 2, Escape.UNKNOWN
    code, end = int(match[1], 16), match.end()
    if 0xD800 <= code < 0xDC00:  # noqa: PLR2004 - the ranges of UTF-16
        low = _LOW_SURROGATE.match(text, end)
        if low:
            return chr(0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00), low.end(), Escape.PLAIN
    if _CUT_ESCAPE.match(text, end):
        raise cut_at(end, "the text ends inside a character")
    if 0xD800 <= code < 0xE000:  # noqa: PLR2004
        raise unparseable_at(at, f"{match[0]} is half of a character")
    return chr(code), end, Escape.PLAIN
