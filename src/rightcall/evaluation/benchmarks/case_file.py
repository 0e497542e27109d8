"""A user's case file as data with line numbers: YAML, a JSON list, or JSONL.

Scalars in YAML are what they would be in JSON: `no`, `on`, `2024-05-01`, `12:30` and `02134` are strings, as YAML
1.2 has most of them; PyYAML's default would make a boolean, a date or a number of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rightcall.errors import MissingExtra, UsageError
from rightcall.text_files import read_text

Place = tuple[str | int, ...]
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """One case as it was read: its value, and the lines of its parts by their path from the case."""

    value: Any
    lines: Mapping[Place, int]

    def line(self, *place: str | int) -> int:
        """The line of a part, or of the nearest thing around it whose line is known."""
        while place not in self.lines:
            place = place[:-1]
        return self.lines[place]


@dataclass(slots=True)
class Faults:
    """What is wrong with a file. Everything is said at once, up to 20 faults."""

    path: Path
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, text: str) -> None:
        """Notes a fault."""
        self.found.append((line, text))

    def end(self) -> None:
        """Raises `UsageError` with every fault, where there is one."""
        if not self.found:
            return
        shown = [f"\n  line {line}: {text}" for line, text in sorted(self.found)[:_SHOWN]]
        more = f"\n  and {len(self.found) - _SHOWN} more" if len(self.found) > _SHOWN else ""
        count = "a fault" if len(self.found) == 1 else f"{len(self.found)} faults"
        raise UsageError(f"{self.path} has {count}:{''.join(shown)}{more}")


def read_entries(path: Path, faults: Faults) -> list[Entry]:
    """The cases of a file as they stand there; what cannot be read is noted.

    Raises:
        UsageError: the file cannot be read at all.
        MissingExtra: it is YAML, and PyYAML is not installed.
    """
    text = read_text(path)
    if path.suffix == ".jsonl":
        return _from_lines(text, faults)
    if path.suffix == ".json":
        return _from_list(text, faults)
    return _from_yaml(text, faults)


def read_value(path: Path) -> Any:
    """The value of a JSON or YAML file. Raises `UsageError` with the line of a fault, and `MissingExtra`."""
    faults = Faults(path)
    text = read_text(path)
    yaml = path.suffix in {".yaml", ".yml"}
    entry = _yaml_entry(text, faults) if yaml else _json_entry(text, 0, faults)[0]
    faults.end()
    return entry.value if entry else None


def _from_lines(text: str, faults: Faults) -> list[Entry]:
    entries = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entries.append(Entry(_strict_json(line), {(): number}))
        except ValueError as error:
            faults.add(number, f"no JSON: {error}")
    return entries


def _from_list(text: str, faults: Faults) -> list[Entry]:
    """The entries of a JSON list, one by one, so that each has its line."""
    position = _skip(text, 0)
    if text[position : position + 1] != "[":
        faults.add(1, "a JSON list of cases is needed")
        return []
    entries: list[Entry] = []
    position = _skip(text, position + 1)
    while text[position : position + 1] != "]":
        entry, position = _json_entry(text, position, faults)
        if not entry:
            return entries
        entries.append(entry)
        position = _skip(text, position)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
        elif text[position : position + 1] != "]":
            faults.add(_line(text, position), "a comma or the end of the list is needed")
            return entries
    return entries


def _json_entry(text: str, position: int, faults: Faults) -> tuple[Entry | None, int]:
    start = _skip(text, position)
    try:
        value, end = json.JSONDecoder(object_pairs_hook=_unique).raw_decode(text, start)
    except json.JSONDecodeError as error:
        faults.add(error.lineno, f"no JSON: {error.msg}")
    except (ValueError, RecursionError) as error:
        faults.add(_line(text, start), f"no JSON: {error}")
    else:
        return Entry(value, {(): _line(text, start)}), end
    return None, start


def _strict_json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(key for index, (key, _) in enumerate(pairs) if key in dict(pairs[:index]))
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return value


def _skip(text: str, position: int) -> int:
    while text[position : position + 1].isspace():
        position += 1
    return position


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


# -- YAML ---------------------------------------------------------------------------------------------------

_SCALARS = (
    ("null", re.compile(r"(?:~|null|)\Z"), ["~", "n", ""]),
    ("bool", re.compile(r"(?:true|false)\Z"), list("tf")),
    ("int", re.compile(r"-?(?:0|[1-9][0-9]*)\Z"), list("-0123456789")),
    ("float", re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z"), list("-0123456789")),
    ("merge", re.compile(r"<<\Z"), ["<"]),
)


def _from_yaml(text: str, faults: Faults) -> list[Entry]:
    whole = _yaml_entry(text, faults)
    if not whole:
        return []
    if not isinstance(whole.value, list):
        faults.add(whole.line(), "a list of cases is needed; each begins with `- id:`")
        return []
    entries = []
    for index, value in enumerate(whole.value):
        lines = {place[1:]: line for place, line in whole.lines.items() if place[:1] == (index,)}
        entries.append(Entry(value, lines))
    return entries


def _yaml_entry(text: str, faults: Faults) -> Entry | None:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("a YAML case file", "eval") from error

    Loader: Any = type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": {}})  # noqa: N806 - a class
    for name, pattern, first in _SCALARS:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", pattern, first)
    loader = Loader(text)
    lines: dict[Place, int] = {}

    def plain(node: Any, place: Place) -> Any:
        lines.setdefault(place, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            return [plain(item, (*place, index)) for index, item in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            value = loader.construct_object(node)
            if not isinstance(value, str | int | float | None):
                raise yaml.MarkedYAMLError(problem=f"{node.tag} is nothing JSON has", problem_mark=node.start_mark)
            return value
        own: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in own:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            own.add(str(key.value))
        loader.flatten_mapping(node)
        members = {}
        for key, item in node.value:
            name = str(key.value)
            lines[*place, name] = key.start_mark.line + 1
            members[name] = plain(item, (*place, name))
        return members

    try:
        node = loader.get_single_node()
        return Entry(plain(node, ()) if node else None, lines or {(): 1})
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        faults.add(mark.line + 1 if mark else 1, f"no YAML: {getattr(error, 'problem', None) or error}")
    except RecursionError:
        faults.add(1, "no YAML that can be used: it is nested too deeply, or in itself")
    finally:
        loader.dispose()
    return None
