"""What a docstring says of a function and of its parameters: Google, NumPy and reST style."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

_GOOGLE = re.compile(r"^(?:Args|Arguments|Parameters):\s*$")
_SECTION = re.compile(r"^[A-Z][A-Za-z ]+:\s*$")
_GOOGLE_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_NUMPY = re.compile(r"^Parameters\s*$")
_RULE = re.compile(r"^-{3,}\s*$")
_NUMPY_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?::.*)?$")
_REST_ENTRY = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+):\s*(.*)$")
_REST_OTHER = re.compile(r"^:(?:type|returns?|rtype|raises?)\b")


def described(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    """A function's own description, and the texts of its parameters by name."""
    lines = (inspect.getdoc(function) or "").splitlines()
    told: list[str] = []
    parameters: dict[str, str] = {}
    index = 0
    while index < len(lines):
        line = lines[index]
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if _GOOGLE.match(line):
            index = _entries(lines, index + 1, _GOOGLE_ENTRY, parameters)
        elif _NUMPY.match(line) and _RULE.match(following):
            index = _entries(lines, index + 2, _NUMPY_ENTRY, parameters)
        elif entry := _REST_ENTRY.match(line):
            parameters[entry[1]] = entry[2].strip()
            index = _continued(lines, index + 1, entry[1], parameters)
        elif (
            _REST_OTHER.match(line) or (_SECTION.match(line) and following.startswith(" ")) or _RULE.match(following)
        ):
            index = _skipped(lines, index + 1)
        else:
            told.append(line)
            index += 1
    return "\n".join(told).strip(), parameters


def _is_other_section(line: str, following: str) -> bool:
    google = _SECTION.match(line) and following.startswith(" ")
    return bool(google or _REST_OTHER.match(line) or _RULE.match(following))


def _entries(lines: list[str], index: int, entry: re.Pattern[str], parameters: dict[str, str]) -> int:
    """Reads the entries of a section: each begins at the section's indentation, and goes on deeper."""
    indentation: int | None = None
    name = ""
    while index < len(lines):
        line = lines[index]
        depth = len(line) - len(line.lstrip())
        if line.strip():
            if indentation is None:
                indentation = depth
            ended = depth < indentation or (depth == 0 and (_SECTION.match(line) or _is_numpy_title(lines, index)))
            if ended:
                return index
            found = entry.match(line.strip()) if depth == indentation else None
            if found:
                name = found[1]
                parameters[name] = found[2].strip() if found.re.groups > 1 else ""
            elif name:
                parameters[name] = f"{parameters[name]} {line.strip()}".strip()
        index += 1
    return index


def _continued(lines: list[str], index: int, name: str, parameters: dict[str, str]) -> int:
    while index < len(lines) and lines[index].startswith(" ") and lines[index].strip():
        parameters[name] = f"{parameters[name]} {lines[index].strip()}".strip()
        index += 1
    return index


def _skipped(lines: list[str], index: int) -> int:
    """Leaves out a section of another kind: returns, raises, examples."""
    if index < len(lines) and _RULE.match(lines[index]):
        index += 1
        while index < len(lines) and lines[index].strip() and not _is_numpy_title(lines, index):
            index += 1
        return index
    while index < len(lines) and (not lines[index].strip() or lines[index].startswith(" ")):
        index += 1
    return index


def _is_numpy_title(lines: list[str], index: int) -> bool:
    return index + 1 < len(lines) and bool(_RULE.match(lines[index + 1]))
