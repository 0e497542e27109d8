"""A model's answer made into a name that backends accept, by fixed rules, or into none.

The rules, in order: reasoning is left out; fences are left out; the first line counts; a list mark, a label
("Name:"), `def` and what follows an opening parenthesis are taken off, and so are quotes and emphasis. Several words
are prose and no name, unless they are written as a title ("Weather Tracker"). Accents fall away. A name with other
letters, other marks, no letter, or more than 64 characters is no candidate.
"""

from __future__ import annotations

import json
import re
import unicodedata

MAX_LENGTH = 64
_ACCEPTABLE = re.compile(rf"[A-Za-z_][A-Za-z0-9_-]{{0,{MAX_LENGTH - 1}}}\Z")
_MAX_TEXT = 4000
_TITLE_WORDS = 5
_REASONING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_CLOSED = "</think>"
_FENCE = re.compile(r"^[ \t]*```\w*[ \t]*$", re.MULTILINE)
_LIST_MARK = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_LABEL = re.compile(r"^[\"'*`_]*(?:[a-z]+ ){0,2}names?[\"'*`_]*\s*(?:[:=]|\bis\b)[\"'*`_]*\s*", re.IGNORECASE)
_DEFINITION = re.compile(r"^(?:async\s+)?(?:def|function|func|fn)\s+")
_MARKS = "\"'`*“”‘’«». ,;:"
_SEPARATORS = re.compile(r"[\s./:\\-]+")
_BETWEEN_WORDS = re.compile(r"[\s_\-./:]+")


def is_acceptable(name: str) -> bool:
    """Whether every backend takes the name: a letter or `_`, then letters, digits, `_` and `-`, 64 at most."""
    return _ACCEPTABLE.match(name) is not None


def folded(name: str) -> str:
    """A name without case and separators. Names that fold alike are one to a reader, and to a model."""
    return _BETWEEN_WORDS.sub("", name).casefold()


def candidate_name(text: str, *, cut: bool = False) -> str | None:
    """The name that a model's answer holds; None where it holds none.

    Args:
        text: what it wrote.
        cut: that it hit its length limit; then a name that ends the text may be half of one.
    """
    written = _REASONING.sub("", text[:_MAX_TEXT])
    written = written.rpartition(_CLOSED)[2].strip()
    in_json = _in_json(_FENCE.sub("", written).strip())
    if in_json is not None:
        return sanitised(in_json)
    lines = [stripped for line in written.splitlines() if (stripped := line.strip()) and not _FENCE.match(stripped)]
    for number, line in enumerate(lines, start=1):
        word = _bare(line)
        if word:
            return None if cut and number == len(lines) else sanitised(word)
    return None


def sanitised(word: str) -> str | None:
    """A word as an acceptable name; None where that would take more than accents, separators or a `_` before it."""
    parts = word.split()
    if len(parts) > 1 and not (len(parts) <= _TITLE_WORDS and all(part[0].isupper() for part in parts)):
        return None
    plain = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    name = _SEPARATORS.sub(lambda match: "-" if match[0] == "-" else "_", plain).strip("_-")
    if not any(c.isascii() and c.isalpha() for c in name):
        return None
    if name[0].isdigit():
        name = f"_{name}"
    return name if is_acceptable(name) else None


def _bare(line: str) -> str:
    """The line without what stands around a name."""
    line = _LABEL.sub("", _LIST_MARK.sub("", line)).strip(_MARKS)
    return _DEFINITION.sub("", line).partition("(")[0].strip(_MARKS)


def _in_json(text: str) -> str | None:
    """The only text in a JSON object, or a JSON string."""
    if not text.startswith(("{", '"')):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    return value if isinstance(value, str) else None
