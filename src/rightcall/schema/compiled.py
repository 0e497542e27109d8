"""Tools made ready for use: each schema compiled once, bounded, and quarantined where it is broken.

Nothing is fetched: a `$ref` to another document makes the schema broken. Other drafts than 2020-12 are
honoured through `$schema` (MCP 2026-07-28, Tools).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, time
from functools import lru_cache
from typing import Any

import jsonschema_rs

from rightcall.domain import KEPT_TOOLS, Problem, ProblemKind, Tool
from rightcall.schema.content_key import content_key, from_key
from rightcall.schema.references import properties, required

MAX_DEPTH = 64
MAX_NODES = 20_000
MAX_CHARS = 1_000_000
PATTERN_OPTIONS = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)
_OFFSET_TIME = re.compile(r"\d\d:\d\d(:\d\d(\.\d+)?)?([zZ]|[+-]\d\d:\d\d)?\Z")


@dataclass(frozen=True, slots=True, eq=False)
class CompiledTool:
    """A tool with its compiled schema. `broken` says why it is quarantined; then `validator` is None.

    `key` is the content key of its parameters, empty where they are no JSON.
    """

    tool: Tool
    validator: jsonschema_rs.Validator | None
    declared: frozenset[str]
    required: frozenset[str]
    broken: str | None = None
    key: bytes = b""

    @property
    def name(self) -> str:
        """The declared name."""
        return self.tool.name

    def accepts(self, arguments: Any) -> bool:
        """Whether the arguments are valid as they are. A quarantined tool accepts nothing."""
        return self.validator is not None and self.validator.is_valid(arguments)


@dataclass(frozen=True, slots=True, eq=False)
class Toolset:
    """The tools of one request, by name, with the Problems of those that cannot be used."""

    tools: tuple[CompiledTool, ...] = ()
    problems: tuple[Problem, ...] = ()
    by_name: dict[str, CompiledTool] = field(default_factory=dict)

    def __iter__(self) -> Iterator[CompiledTool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    @property
    def names(self) -> list[str]:
        """Declared names, in the order offered."""
        return [tool.name for tool in self.tools]


def compile_tools(tools: Iterable[Tool]) -> Toolset:
    """Compiles each tool. A broken or repeated one becomes a Problem; the others go on working."""
    by_name: dict[str, CompiledTool] = {}
    problems: list[Problem] = []
    for tool in tools:
        if tool.name in by_name:
            problems.append(_quarantined(tool.name, "the name is offered twice; the first tool of that name is used"))
            continue
        compiled = compile_tool(tool)
        if compiled.broken:
            problems.append(_quarantined(tool.name, compiled.broken))
        by_name[tool.name] = compiled
    return Toolset(tuple(by_name.values()), tuple(problems), by_name)


def compile_tool(tool: Tool) -> CompiledTool:
    """Compiles one tool; equal schemas are compiled once (a proxy sees the same tools in every request)."""
    try:
        key = content_key(tool.parameters)
        broken, validator, declared, needed = _compile(key)
    except (TypeError, ValueError, RecursionError) as error:
        return CompiledTool(tool, None, frozenset(), frozenset(), f"its parameters are not JSON: {error}")
    return CompiledTool(tool, validator, declared, needed, broken, key)


@lru_cache(maxsize=KEPT_TOOLS)
def _compile(key: bytes) -> tuple[str | None, jsonschema_rs.Validator | None, frozenset[str], frozenset[str]]:
    text = json.dumps(from_key(key), ensure_ascii=False, separators=(",", ":"))
    schema: Any = json.loads(text) if len(text) <= MAX_CHARS else None
    broken = _out_of_bounds(schema, len(text))
    if broken:
        return broken, None, frozenset(), frozenset()
    try:
        validator = jsonschema_rs.validator_for(
            schema,
            formats=_FORMATS,
            validate_formats=True,
            offline=True,
            pattern_options=PATTERN_OPTIONS,
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        return f"its parameters are no valid JSON Schema: {reason}", None, frozenset(), frozenset()
    return None, validator, frozenset(properties(schema, schema)), frozenset(required(schema, schema))


def _out_of_bounds(schema: Any, chars: int) -> str | None:
    if chars > MAX_CHARS:
        return f"its schema has {chars} characters; at most {MAX_CHARS} are read"
    if not isinstance(schema, Mapping):
        return f"its parameters are {type(schema).__name__}; a JSON Schema object is needed"
    nodes = 0
    level: list[Any] = [schema]
    for _depth in range(MAX_DEPTH + 1):
        children: list[Any] = []
        for node in level:
            children += node.values() if isinstance(node, Mapping) else node
        nodes += len(children)
        if nodes > MAX_NODES:
            return f"its schema has more than {MAX_NODES} parts"
        level = [child for child in children if isinstance(child, Mapping | list)]
        if not level:
            return None
    return f"its schema is nested deeper than {MAX_DEPTH} levels"


def _quarantined(name: str, reason: str) -> Problem:
    return Problem(ProblemKind.PROTOCOL, f"tool {json.dumps(name)} cannot be used: {reason}", tool=name)


def _is_date_time(text: str) -> bool:
    # RFC 3339 demands an offset, yet tools and models alike leave it out; refusing would make a model invent one.
    date, separator, clock = text[:10], text[10:11], text[11:]
    if separator not in {"T", "t", " "} or not _OFFSET_TIME.match(clock):
        return False
    try:
        datetime.fromisoformat(f"{date}T{clock.upper()}")
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    if not _OFFSET_TIME.match(text):
        return False
    try:
        time.fromisoformat(text.upper())
    except ValueError:
        return False
    return True


_FORMATS = {"date-time": _is_date_time, "time": _is_time}
LAX_FORMATS = frozenset(_FORMATS)
"""Formats that are checked less strictly here than the standard has them."""
