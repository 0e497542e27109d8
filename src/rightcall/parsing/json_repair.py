"""The repairing reader: a recursive descent that reads JSON as models write it and names each departure.

A repair is made only where one reading is possible. Where two are, or where the text stops early, reading fails
and says which. Source of the rules: the failure reports of small models' users (malformed JSON) and the repair
layer of "Making Small Models Reliable at Tool-Calling".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rightcall.domain import ProblemKind
from rightcall.parsing.json_scalars import Escape, read_escape, read_number
from rightcall.parsing.unreadable import Unreadable, cut_at, unparseable_at

MAX_DEPTH = 128

_BLANK = re.compile(r"(?:[\s﻿]|\\[nrt]|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
# Most of what stands in a text that needs repair is plain JSON; one match reads each of these.
_SOLID = frozenset(map(chr, range(33, 127))) - frozenset("\\/#")
_PLAIN_KEY = re.compile(r'"([^"\\\x00-\x1f]*+)"[ \t\r\n]*+:')
_PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*+)"(?=[ \t\r\n]*+[,}\]])')
_PLAIN_COMMA = re.compile(r'[ \t\r\n]*+,[ \t\r\n]*+(?=[\w"{\[-])')
_COLON = re.compile(r"\s*:")
_SPACE = re.compile(r"[\s﻿]*")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_KEY_AFTER = re.compile(r"""\s*,\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*:""")
_LITERALS = {
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
    "null": None, "None": None, "NULL": None,
}  # fmt: skip
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "„": "”"}
_STOPS = {closing: re.compile(rf"[\\{closing}]") for closing in _QUOTES.values()}
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_CUT_KEYWORD = re.compile(r"[A-Za-z_]\w*\s*\Z")
_PYTHON_STYLE = frozenset(("quotes", "python_literal"))
_UNSURE_END = "a string holds quotes that are not escaped, and where it ends is not certain"
_PATH = re.compile(r".*\b[A-Za-z]:\\.*|[\w.\-\\/:\n\r\t\f\b]+", re.DOTALL)


class Read(NamedTuple):
    """A value, where it ends in the text, and the kinds of repair it took (empty: it was valid JSON)."""

    value: Any
    end: int
    repairs: tuple[str, ...] = ()


def repair_json(text: str, position: int, keys: Collection[str] = ()) -> Read:
    """Reads the value that begins at `position`. `keys` are the names that may follow a doubtful string.

    Raises:
        Unreadable: unparseable, truncated or ambiguous.
    """
    reader = _Reader(text, keys)
    value, end = reader.value(reader.blank(position), 0)
    return Read(value, end, tuple(reader.repairs))


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
        if word is None and _CUT_KEYWORD.match(text, at):
            raise cut_at(at, "the text ends in the name of an argument")
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
            raise unparseable_at(at, f"',' or ')' is expected, not {json.dumps(text[at])}")
    return found, at + 1, tuple(kind for kind in reader.repairs if kind not in _PYTHON_STYLE)


def blank_end(text: str, at: int) -> int:
    """Where blanks end; comments, and escapes that stand outside of strings, are blanks too."""
    return _end(_BLANK, text, at)


@dataclass(slots=True)
class _Reader:
    """A recursive descent over one text. Each departure from JSON is named in `repairs`."""

    text: str
    keys: Collection[str]
    in_call: bool = False
    repairs: dict[str, None] = field(default_factory=dict)

    # -- the grammar -------------------------------------------------------------------------------------

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        char = self.text[at : at + 1]
        if depth > MAX_DEPTH:
            raise unparseable_at(at, f"nested deeper than {MAX_DEPTH} levels")
        if char == "{":
            return self.object(at, depth)
        if char == "[":
            return self.array(at, depth)
        if char == "(" and self.in_call:
            return self.parenthesised(at, depth)
        if char == '"' and (plain := _PLAIN_STRING.match(self.text, at)):
            return plain[1], plain.end()
        if char in _QUOTES:
            return self.string(at, self.closes_value)
        if char in "+-.0123456789" and char:
            number, end, odd = read_number(self.text, at, in_call=self.in_call)
            if odd:
                self.note("number_form")
            return number, end
        return self.literal(at)

    def object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        if self.text.startswith("{{", at):
            return self.doubled(at, depth)
        at = self.blank(at + 1)
        while True:
            if plain := _PLAIN_KEY.match(self.text, at):
                key, at = plain[1], plain.end()
            elif self.char(at) == "}":
                return found, at + 1
            else:
                key, at = self.key(at)
            value, at = self.value(self.blank(at), depth + 1)
            if key in found and not same_value(found[key], value):
                raise Unreadable(
                    ProblemKind.AMBIGUOUS, f"the key {json.dumps(key)} stands twice, with two values", at
                )
            if key in found:
                self.note("repeated_key")
            found[key] = value
            at = self.separator(at, "}", self.begins_pair)

    def doubled(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        """An object between a template's doubled braces, copied by the model."""
        if depth >= MAX_DEPTH:
            raise unparseable_at(at, f"nested deeper than {MAX_DEPTH} levels")
        found, end = self.object(at + 1, depth + 1)
        if self.char(end) != "}":
            raise unparseable_at(end, "'}}' is expected where '{{' opened")
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
                raise unparseable_at(at, "'}' closes what '[' opened")
            value, at = self.value(at, depth + 1)
            found.append(value)
            at = self.separator(at, closer, self.begins_object)

    def parenthesised(self, at: int, depth: int) -> tuple[Any, int]:
        """Python's parentheses: a tuple, which is a list in JSON, or just a value."""
        values, end = self.array(at, depth, ")")
        is_tuple = len(values) != 1 or self.text[at:end].rstrip(") \t\r\n").endswith(",")
        return (values if is_tuple else values[0]), end

    def separator(self, at: int, closer: str, may_follow: Callable[[int], bool]) -> int:
        """Moves over the comma behind an element. A missing one is put in where the next element is certain."""
        if plain := _PLAIN_COMMA.match(self.text, at):
            return plain.end()
        at = self.blank(at)
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
        raise unparseable_at(at, f"',' or '{closer}' is expected, not {json.dumps(char)}")

    def begins_pair(self, at: int) -> bool:
        return _KEY_AFTER.match("," + self.text[at : at + 200]) is not None

    def begins_object(self, at: int) -> bool:
        return self.text[at] == "{"

    def key(self, at: int) -> tuple[str, int]:
        """A key, and the position behind its colon."""
        char = self.char(at)
        if char == "]":
            raise unparseable_at(at, "']' closes what '{' opened")
        if char in _QUOTES:
            key, at = self.string(at, self.closes_key)
        elif word := _WORD.match(self.text, at):
            self.note("unquoted_key")
            key, at = word[0], word.end()
        else:
            raise unparseable_at(at, f"a key is expected, not {json.dumps(char)}")
        at = self.blank(at)
        if self.char(at) != ":":
            raise unparseable_at(at, f"':' is expected after the key {json.dumps(key)}")
        return key, at + 1

    def literal(self, at: int) -> tuple[bool | None, int]:
        char = self.char(at)
        word = _WORD.match(self.text, at)
        if word and word[0] in _LITERALS:
            if word[0] not in {"true", "false", "null"}:
                self.note("python_literal")
            return _LITERALS[word[0]], word.end()
        if word and word.end() == len(self.text) and any(name.startswith(word[0]) for name in _LITERALS):
            raise cut_at(word.end(), "the text ends in the middle of a word")
        if word and word[0] in {"NaN", "Infinity", "undefined"}:
            raise unparseable_at(at, f"{word[0]} is no JSON value")
        shown = word[0] if word else char
        raise unparseable_at(at, f"a value is expected; {json.dumps(shown)} is not quoted")

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
        escapes: set[Escape] = set()
        doubtful = False
        start = at + 1
        while True:
            match = stop.search(self.text, start)
            if not match:
                raise cut_at(len(self.text), "the text ends inside a string")
            here = match.start()
            parts.append(self.text[start:here])
            if match[0] == "\\":
                piece, start, kind = read_escape(self.text, here)
                parts.append(piece)
                escapes.add(kind)
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
            raise unparseable_at(after, _UNSURE_END)
        self.note("inner_quote")

    def triple(self, at: int, quote: str) -> tuple[str, int]:
        end = self.text.find(quote * 3, at + 3)
        if end < 0:
            raise cut_at(len(self.text), "the text ends inside a triple-quoted string")
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
            raise unparseable_at(after, _UNSURE_END)
        return not doubtful and self.begins_pair(at)

    def closes_key(self, after: int, doubtful: bool) -> bool:  # noqa: ARG002, FBT001 - the same shape as closes_value
        return True

    def finished(self, value: str, escapes: set[Escape]) -> str:
        if escapes >= {Escape.UNKNOWN, Escape.CONTROL} and _PATH.fullmatch(value):
            reason = "a Windows path whose backslashes are partly escapes; write each backslash twice"
            raise Unreadable(ProblemKind.AMBIGUOUS, reason)
        if escapes and not escapes.isdisjoint((Escape.UNKNOWN, Escape.NEEDLESS)):
            self.note("invalid_escape")
        if not value.isprintable() and any(char in value for char in "\n\r\t\f\b\x00"):
            self.note("control_character")
        return value

    # -- small steps -------------------------------------------------------------------------------------

    def blank(self, at: int) -> int:
        if self.text.startswith(" ", at):
            at += 1
        if self.text[at : at + 1] in _SOLID:
            return at
        end = blank_end(self.text, at)
        if end != at and _end(_SPACE, self.text, at) != end:
            self.note("comment_or_escape_between")
        return end

    def char(self, at: int) -> str:
        if at >= len(self.text):
            raise cut_at(at, "the text ends before the value does")
        return self.text[at]

    def note(self, kind: str) -> None:
        self.repairs[kind] = None


def same_value(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON: true is not 1, nor is 1 the same as 1.0."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
