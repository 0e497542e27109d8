"""JSON as models write it: strict first, repaired only where strict reading fails.

Source of the rules: the failure reports of small models' users (malformed JSON, family b of the corpus) and
the repair layer of "Making Small Models Reliable at Tool-Calling". A repair is made only where one reading is
possible; where two are, or where the text stops early, reading fails and says which.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import jiter

from rightcall.domain import ProblemKind

MAX_DEPTH = 128
MAX_DIGITS = 400


class Unreadable(Exception):
    """A text that is no JSON and has no certain repair."""

    def __init__(self, kind: ProblemKind, reason: str, position: int = 0) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.position = position


@dataclass(frozen=True, slots=True)
class Read:
    """A value, where it ends in the text, and the kinds of repair it took (empty: it was valid JSON)."""

    value: Any
    end: int
    repairs: tuple[str, ...] = ()


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
    read = _Reader(body, keys).read(0)
    return _with_rest(body, read, repairs, keys)


def read_json_at(text: str, position: int, keys: Collection[str] = ()) -> Read:
    """Reads the JSON value that begins at `position` of a longer text; what follows it is not looked at.

    Raises:
        Unreadable: unparseable, truncated or ambiguous.
    """
    try:
        value, end = _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        return _Reader(text, keys).read(position)
    return Read(value, end)


def read_arguments_list(
    text: str, position: int, keys: Collection[str] = ()
) -> tuple[dict[str, Any], int, tuple[str, ...]]:
    """Reads Python-style arguments behind an opening parenthesis: `city="Oslo", days=3)`.

    Returns the keyword arguments (positional ones as a list under the empty key), the position behind the
    closing parenthesis, and the repairs.

    Raises:
        Unreadable: unparseable, truncated or ambiguous.
    """
    reader = _Reader(text, keys, in_call=True)
    found: dict[str, Any] = {}
    at = reader.blank(position)
    while reader.char(at) != ")":
        word = _KEYWORD.match(text, at)
        value, at = reader.value(reader.blank(word.end() if word else at), 0)
        if word and word[1] in found:
            raise Unreadable(ProblemKind.AMBIGUOUS, f"the argument {json.dumps(word[1])} stands twice", at)
        if word:
            found[word[1]] = value
        else:
            found.setdefault("", []).append(value)
        at = reader.blank(at)
        if reader.char(at) == ",":
            at = reader.blank(at + 1)
        elif reader.char(at) != ")":
            raise reader.fault(at, f"',' or ')' is expected, not {json.dumps(text[at])}")
    return found, at + 1, tuple(kind for kind in reader.repairs if kind not in _PYTHON_STYLE)


def strict_json(text: str) -> Any:
    """Valid JSON and nothing else: no duplicate keys, no NaN, no number beyond a double's range.

    Raises:
        ValueError: with the position of the fault.
    """
    value = jiter.from_json(text.encode("utf-8", "surrogatepass"), catch_duplicate_keys=True, allow_inf_nan=False)
    if not _finite(value):
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
_BLANK = re.compile(r"(?:[\s﻿]|\\[nrt]|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_COLON = re.compile(r"\s*:")
_SPACE = re.compile(r"[\s﻿]*")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_CUT_NUMBER = re.compile(r"(?:[eE]?[+-]?|\.)\Z")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_PYTHON_STYLE = frozenset(("quotes", "python_literal"))
_KEY_AFTER = re.compile(r"""\s*,\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*:""")
_LITERALS = {
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
    "null": None, "None": None, "NULL": None,
}  # fmt: skip
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "„": "”"}
_STOPS = {closing: re.compile(rf"[\\{closing}]") for closing in _QUOTES.values()}
_UNICODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_LOW_SURROGATE = re.compile(r"\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
_CUT_ESCAPE = re.compile(r"(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z")
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CLOSERS = re.compile(r"(?:[\s﻿}\])]|</s>|<\|[^<>|]{1,40}\|>|<｜[^<>｜]{1,40}｜>|```|;)*\Z")
_FENCE = re.compile(r"\s*```[ \t]*\w*[ \t]*\r?\n(.*?)\n?[ \t]*(?:```)?\s*\Z", re.DOTALL)
_PATH = re.compile(r".*\b[A-Za-z]:\\.*|[\w.\-\\/:\n\r\t\f\b]+", re.DOTALL)
_ESCAPED = re.compile(r"\s*\{\s*\\\"")
_OBJECT_IN = re.compile(r"\{\s*[\"'}]")


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, list):
        return all(map(_finite, value))
    return True


def _decoded_once(text: str) -> Read | None:
    """An object written as the inside of a JSON string, its quotes escaped, if it is valid once decoded."""
    try:
        return Read(strict_json(strict_json(f'"{text}"')), len(text), ("escaped_object",))
    except ValueError:
        return None


def _unwrapped(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without a fence around it, which is decoration."""
    fenced = _FENCE.match(text)
    return (fenced[1], ("fence",)) if fenced else (text, ())


def _with_rest(text: str, read: Read, repairs: tuple[str, ...], keys: Collection[str]) -> Read:
    """Judges what stands behind a complete value: stray closers, a second value, or words."""
    repairs += read.repairs
    start = _skip(_BLANK, text, read.end)
    while text[start : start + 1] in {"{", "["} and "inner_quote" not in read.repairs:
        second = _Reader(text, keys).read(start)
        if read.value not in ({}, second.value):
            raise Unreadable(ProblemKind.AMBIGUOUS, "two different JSON values stand one after the other", start)
        # An empty object in front is the start value that some servers send before the real arguments.
        read, repairs = second, (*repairs, *second.repairs, "repeated_value")
        start = _skip(_BLANK, text, read.end)
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


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


@dataclass(slots=True)
class _Reader:
    """A recursive descent over one text. Each departure from JSON is named in `repairs`."""

    text: str
    keys: Collection[str]
    in_call: bool = False
    repairs: dict[str, None] = field(default_factory=dict)

    def read(self, position: int) -> Read:
        value, end = self.value(self.blank(position), 0)
        return Read(value, end, tuple(self.repairs))

    # -- the grammar -------------------------------------------------------------------------------------

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        char = self.text[at : at + 1]
        if depth > MAX_DEPTH:
            raise self.fault(at, f"nested deeper than {MAX_DEPTH} levels")
        if char == "{":
            return self.object(at, depth)
        if char == "[":
            return self.array(at, depth)
        if char == "(" and self.in_call:
            return self.parenthesised(at, depth)
        if char in _QUOTES:
            return self.string(at, self.closes_value)
        if char in "+-.0123456789" and char:
            return self.number(at)
        return self.literal(at)

    def object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        if self.text.startswith("{{", at):
            return self.doubled(at, depth)
        at = self.blank(at + 1)
        while True:
            char = self.char(at)
            if char == "}":
                return found, at + 1
            if char == "]":
                raise self.fault(at, "']' closes what '{' opened")
            key, at = self.key(at)
            at = self.blank(at)
            if self.char(at) != ":":
                raise self.fault(at, f"':' is expected after the key {json.dumps(key)}")
            value, at = self.value(self.blank(at + 1), depth + 1)
            if key in found and not _same(found[key], value):
                raise Unreadable(
                    ProblemKind.AMBIGUOUS, f"the key {json.dumps(key)} stands twice, with two values", at
                )
            if key in found:
                self.note("repeated_key")
            found[key] = value
            at = self.separator(self.blank(at), "}", self.begins_pair)

    def doubled(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        """An object between a template's doubled braces, copied by the model."""
        if depth >= MAX_DEPTH:
            raise self.fault(at, f"nested deeper than {MAX_DEPTH} levels")
        found, end = self.object(at + 1, depth + 1)
        if self.char(end) != "}":
            raise self.fault(end, "'}}' is expected where '{{' opened")
        self.note("doubled_braces")
        return found, end + 1

    def array(self, at: int, depth: int, closer: str = "]") -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self.blank(at + 1)
        while True:
            char = self.char(at)
            if char == closer:
                return found, at + 1
            if char == "}":
                raise self.fault(at, "'}' closes what '[' opened")
            value, at = self.value(at, depth + 1)
            found.append(value)
            at = self.separator(self.blank(at), closer, self.begins_object)

    def parenthesised(self, at: int, depth: int) -> tuple[Any, int]:
        """Python's parentheses: a tuple, which is a list in JSON, or just a value."""
        values, end = self.array(at, depth, ")")
        is_tuple = len(values) != 1 or self.text[at:end].rstrip(") \t\r\n").endswith(",")
        return (values if is_tuple else values[0]), end

    def separator(self, at: int, closer: str, may_follow: Callable[[int], bool]) -> int:
        """Moves over the comma behind an element. A missing one is put in where the next element is certain."""
        char = self.char(at)
        if char == ",":
            after = self.blank(at + 1)
            if self.text[after : after + 1] == closer:
                self.note("trailing_comma")
            return after
        if char == closer:
            return at
        if may_follow(at):
            self.note("missing_comma")
            return at
        raise self.fault(at, f"',' or '{closer}' is expected, not {json.dumps(char)}")

    def begins_pair(self, at: int) -> bool:
        match = _KEY_AFTER.match("," + self.text[at : at + 200])
        return match is not None

    def begins_object(self, at: int) -> bool:
        return self.text[at] == "{"

    def key(self, at: int) -> tuple[str, int]:
        if self.char(at) in _QUOTES:
            return self.string(at, self.closes_key)
        word = _WORD.match(self.text, at)
        if not word:
            raise self.fault(at, f"a key is expected, not {json.dumps(self.text[at])}")
        self.note("unquoted_key")
        return word[0], word.end()

    def number(self, at: int) -> tuple[int | float, int]:
        match = _NUMBER.match(self.text, at)
        if _CUT_NUMBER.match(self.text, match.end() if match else at):
            raise Unreadable(ProblemKind.TRUNCATED, "the text ends in a number that may go on", at)
        if not match:
            raise self.fault(at, f"{json.dumps(self.text[at : at + 12])} is no JSON value")
        text, end = match[0], match.end()
        digits = text.lstrip("+-")
        if (
            self.text[end] not in (",}]) \t\r\n/#" if self.in_call else ",}] \t\r\n/#")
            or len(text) > MAX_DIGITS
            or re.match(r"0\d", digits)
        ):
            raise self.fault(at, f"{json.dumps(self.text[at : end + 8])} is neither a number nor a quoted string")
        whole = text.removesuffix(".")
        if text[0] == "+" or digits[0] == "." or whole != text:
            self.note("number_form")
        if re.fullmatch(r"[+-]?\d+", whole):
            return int(whole), end
        value = float(whole)
        if math.isinf(value):
            raise self.fault(at, f"{text} is beyond the range of a number")
        return value, end

    def literal(self, at: int) -> tuple[bool | None, int]:
        char = self.char(at)
        word = _WORD.match(self.text, at)
        if word and word[0] in _LITERALS:
            if word[0] not in {"true", "false", "null"}:
                self.note("python_literal")
            return _LITERALS[word[0]], word.end()
        if word and word.end() == len(self.text) and any(name.startswith(word[0]) for name in _LITERALS):
            raise Unreadable(ProblemKind.TRUNCATED, "the text ends in the middle of a word", word.end())
        if word and word[0] in {"NaN", "Infinity", "undefined"}:
            raise self.fault(at, f"{word[0]} is no JSON value")
        shown = word[0] if word else char
        raise self.fault(at, f"a value is expected; {json.dumps(shown)} is not quoted")

    # -- strings -----------------------------------------------------------------------------------------

    def string(self, at: int, closes: Callable[[int, bool], bool]) -> tuple[str, int]:
        quote = self.text[at]
        if self.text.startswith(quote * 3, at) and not self.text.startswith(quote * 4, at):
            return self.triple(at, quote)
        closing = _QUOTES[quote]
        if quote != '"':
            self.note("quotes")
        stop = _STOPS[closing]
        parts: list[str] = []
        escapes = {"literal": False, "decoded": False}
        doubtful = False
        start = at + 1
        while True:
            match = stop.search(self.text, start)
            if not match:
                raise Unreadable(ProblemKind.TRUNCATED, "the text ends inside a string", len(self.text))
            here = match.start()
            parts.append(self.text[start:here])
            if match[0] == "\\":
                piece, start = self.escape(here, escapes)
                parts.append(piece)
            elif closes(here + 1, doubtful):
                return self.finished("".join(parts), escapes), here + 1
            else:
                self.inner_quote(here + 1, doubtful)
                doubtful = True
                parts.append(match[0])
                start = here + 1

    def inner_quote(self, after: int, doubtful: bool) -> None:  # noqa: FBT001 - as in closes_value
        """Takes a quote as a part of the string, unless it looks as if it ended one: then nothing is certain."""
        follows = self.text[after : after + 1]
        if (not doubtful and (follows.isspace() or follows in _QUOTES)) or _COLON.match(self.text, after):
            raise self.fault(after, "a string holds quotes that are not escaped, and where it ends is not certain")
        self.note("inner_quote")

    def triple(self, at: int, quote: str) -> tuple[str, int]:
        end = self.text.find(quote * 3, at + 3)
        if end < 0:
            raise Unreadable(ProblemKind.TRUNCATED, "the text ends inside a triple-quoted string", len(self.text))
        self.note("triple_quotes")
        return self.text[at + 3 : end], end + 3

    def closes_value(self, after: int, doubtful: bool) -> bool:  # noqa: FBT001 - the two facts of one decision
        """Whether a quote ends a string value: by what follows, and strictly once an inner quote was seen."""
        at = self.blank(after)
        follows = self.text[at : at + 1]
        if follows in {"", "}", "]"} or (self.in_call and follows == ")"):
            return True
        if follows == ",":
            if not doubtful:
                return True
            key = _KEY_AFTER.match(self.text, at)
            if key and (key[1] or key[2]) in self.keys:
                return True
            raise self.fault(after, "a string holds quotes that are not escaped, and where it ends is not certain")
        return not doubtful and self.begins_pair(at)

    def closes_key(self, after: int, doubtful: bool) -> bool:  # noqa: ARG002, FBT001 - the same shape as closes_value
        return True

    def escape(self, at: int, escapes: dict[str, bool]) -> tuple[str, int]:
        char = self.text[at + 1 : at + 2]
        if not char:
            raise Unreadable(ProblemKind.TRUNCATED, "the text ends inside a string", at)
        if char == "u":
            return self.unicode_escape(at, escapes)
        if char in _ESCAPES:
            if char in "bfnrt":
                escapes["decoded"] = True
            if char == "'":
                self.note("invalid_escape")
            return _ESCAPES[char], at + 2
        escapes["literal"] = True
        self.note("invalid_escape")
        return "\\" + char, at + 2

    def unicode_escape(self, at: int, escapes: dict[str, bool]) -> tuple[str, int]:
        match = _UNICODE.match(self.text, at)
        if not match:
            escapes["literal"] = True
            self.note("invalid_escape")
            return "\\u", at + 2
        code, end = int(match[1], 16), match.end()
        if 0xD800 <= code < 0xDC00:  # noqa: PLR2004 - the ranges of UTF-16
            low = _LOW_SURROGATE.match(self.text, end)
            if low:
                return chr(0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00), low.end()
        if _CUT_ESCAPE.match(self.text, end):
            raise Unreadable(ProblemKind.TRUNCATED, "the text ends inside a character", end)
        if 0xD800 <= code < 0xE000:  # noqa: PLR2004
            raise self.fault(at, f"{match[0]} is half of a character")
        return chr(code), end

    def finished(self, value: str, escapes: dict[str, bool]) -> str:
        if escapes["literal"] and escapes["decoded"] and _PATH.fullmatch(value):
            reason = "a Windows path whose backslashes are partly escapes; write each backslash twice"
            raise Unreadable(ProblemKind.AMBIGUOUS, reason)
        if not value.isprintable() and any(char in value for char in "\n\r\t\f\b\x00"):
            self.note("control_character")
        return value

    # -- small steps -------------------------------------------------------------------------------------

    def blank(self, at: int) -> int:
        end = _skip(_BLANK, self.text, at)
        if end != at and _skip(_SPACE, self.text, at) != end:
            self.note("comment_or_escape_between")
        return end

    def char(self, at: int) -> str:
        if at >= len(self.text):
            raise Unreadable(ProblemKind.TRUNCATED, "the text ends before the value does", at)
        return self.text[at]

    def note(self, kind: str) -> None:
        self.repairs[kind] = None

    def fault(self, at: int, reason: str) -> Unreadable:
        return Unreadable(ProblemKind.UNPARSEABLE, f"{reason} (character {at})", at)


def _same(left: Any, right: Any) -> bool:
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
