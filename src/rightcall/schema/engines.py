"""What servers refuse, drop or leave unenforced of tools and schemas: `engines.toml`, read once.

For the linter, and for whoever rewrites a schema for one of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from rightcall.errors import UsageError
from rightcall.schema.keywords import ANNOTATIONS, ASSERTIONS, LISTS, MAPS, ONE, Node, walk
from rightcall.schema.references import own_types

_KNOWN = ASSERTIONS | LISTS | MAPS | ONE


@dataclass(frozen=True, slots=True)
class EngineIssue:
    """What an engine does at one place. `effect` is `rejects`, `drops` or `ignores`; `source` says who says so."""

    engine: str
    pointer: str
    keyword: str
    effect: str
    why: str
    source: str


def engine_names() -> tuple[str, ...]:
    """The engines that there is a table of."""
    return tuple(_tables())


def engine_title(engine: str) -> str:
    """An engine's name for people."""
    return str(_table(engine)["title"])


def engine_issues(engine: str, name: str, parameters: Mapping[str, Any]) -> Iterator[EngineIssue]:
    """What an engine does with a tool of this name and these parameters; pointers lead from the parameters' root.

    Raises:
        UsageError: there is no table of the engine.
    """
    table = _table(engine)
    source = str(table["source"])
    pattern = table.get("name_pattern")
    if pattern and not re.match(pattern, name):
        yield EngineIssue(engine, "", "name", "rejects", f"tool names must match {pattern}", source)
    nodes = list(walk(parameters))
    for node in nodes:
        for rule in table.get("rules", ()):
            if rule["keyword"] in node.schema and _applies(rule, node):
                at = f"{node.pointer}/{rule['keyword'].replace('~', '~0').replace('/', '~1')}"
                yield EngineIssue(engine, at, rule["keyword"], rule["effect"], rule["why"], rule["source"])
        kept: list[str] = table.get("keeps", [])
        for keyword in node.schema if kept else ():
            if keyword in _KNOWN - ANNOTATIONS and keyword not in kept:
                yield EngineIssue(
                    engine, f"{node.pointer}/{keyword}", keyword, table["keeps_effect"], table["keeps_why"], source
                )
        if node.keyword == "properties" and node.name in table.get("property_names", ()):
            yield EngineIssue(engine, node.pointer, node.name, "drops", table["property_names_why"], source)
        yield from _strict(engine, table, node, source)


def _strict(engine: str, table: Mapping[str, Any], node: Node, source: str) -> Iterator[EngineIssue]:
    """What strict modes demand of every object."""
    if "object" not in own_types(node.schema):
        return
    if table.get("closed_objects") and node.schema.get("additionalProperties") is not False:
        why = "every object must have additionalProperties: false"
        yield EngineIssue(engine, node.pointer, "additionalProperties", "rejects", why, source)
    declared, listed = node.schema.get("properties"), node.schema.get("required")
    if table.get("all_required") and isinstance(declared, Mapping):
        needed = listed if isinstance(listed, list) else []
        optional = [name for name in declared if name not in needed]
        if optional:
            why = f"every property must be required (optional ones nullable): {', '.join(optional[:5])}"
            yield EngineIssue(engine, node.pointer, "required", "rejects", why, source)


def _applies(rule: Mapping[str, Any], node: Node) -> bool:
    value = node.schema[rule["keyword"]]
    kinds = own_types(node.schema)
    checks = (
        "type" not in rule or rule["type"] in kinds or (rule["type"] == "number" and _is_multiple(rule, kinds)),
        "values" not in rule or value in rule["values"],
        "except" not in rule or value not in rule["except"],
        "beside" not in rule or any(word in node.schema for word in rule["beside"]),
        "above" not in rule or (isinstance(value, int) and value > rule["above"]),
        "unless_matches" not in rule or not (isinstance(value, str) and re.match(rule["unless_matches"], value)),
        not rule.get("nested") or _is_inside_definition(node),
        not rule.get("only_text") or not (isinstance(value, list) and all(isinstance(item, str) for item in value)),
    )
    return all(checks)


def _is_multiple(rule: Mapping[str, Any], kinds: frozenset[str]) -> bool:
    return rule["keyword"] == "multipleOf" and "integer" in kinds


def _is_inside_definition(node: Node) -> bool:
    step: Node | None = node
    while step is not None:
        if step.keyword in {"$defs", "definitions"}:
            return True
        step = step.parent
    return False


def _table(engine: str) -> Mapping[str, Any]:
    try:
        return _tables()[engine]
    except KeyError:
        raise UsageError(f"no engine {engine!r}; known: {', '.join(_tables())}") from None


@cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(files("rightcall.schema").joinpath("engines.toml").read_text(encoding="utf-8"))
