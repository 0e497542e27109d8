"""Keywords that an engine refuses or drops, said in words instead: `"pattern": "^ORD"` becomes "Must match ^ORD.".

Which keywords those are stands in `engines.toml`, where the linter reads it too. Only what is sent changes; calls are
checked against every keyword as before.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from rightcall.domain import KEPT_TOOLS, Tool
from rightcall.lens import Context
from rightcall.schema.engines import EngineIssue, engine_issues
from rightcall.schema.pointers import steps

_IN_WORDS = {
    "pattern": "Must match {}.",
    "format": "Format: {}.",
    "minLength": "At least {} characters.",
    "maxLength": "At most {} characters.",
    "minimum": "At least {}.",
    "maximum": "At most {}.",
    "exclusiveMinimum": "More than {}.",
    "exclusiveMaximum": "Less than {}.",
    "multipleOf": "A multiple of {}.",
    "minItems": "At least {} items.",
    "maxItems": "At most {} items.",
    "uniqueItems": "No item twice.",
    "minProperties": "At least {} entries.",
    "maxProperties": "At most {} entries.",
    "const": "Always {}.",
}
_SILENT = frozenset(
    (
        *("if", "then", "else", "not", "contains", "minContains", "maxContains"),
        *("dependentRequired", "dependentSchemas", "dependencies"),
        *("additionalProperties", "patternProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems"),
    )
)
"""Keywords without a short form in words; what they forbid is told as a problem when it happens."""
_MAX_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Downlevelled:
    """The trim for one engine, by its name in `engines.toml`."""

    engine: str

    def trim(self, tools: tuple[Tool, ...], context: Context) -> tuple[Tool, ...]:
        """Each tool without what the engine refuses or drops; see `rightcall.lens.Trim`."""
        del context
        return _all_for(self.engine, tools)


@lru_cache(maxsize=64)
def _all_for(engine: str, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    return tuple(_for(engine, tool) for tool in tools)


@lru_cache(maxsize=KEPT_TOOLS)
def _for(engine: str, tool: Tool) -> Tool:
    issues = [issue for issue in engine_issues(engine, tool.name, tool.parameters) if issue.effect != "ignores"]
    made = copy.deepcopy(dict(tool.parameters))
    changed = [_changed(made, issue) for issue in issues]
    return replace(tool, parameters=made) if any(changed) else tool


def _changed(made: dict[str, Any], issue: EngineIssue) -> bool:
    """Takes one keyword out of a schema, in place; whether it could."""
    where = steps(issue.pointer)
    node = _at(made, where[:-1])
    if node is None or not where or where[-1] != issue.keyword or issue.keyword not in node:
        return False
    value = node[issue.keyword]
    if issue.keyword == "oneOf" and "anyOf" not in node:
        node["anyOf"] = node.pop("oneOf")
    elif issue.keyword == "const" and isinstance(value, str) and "enum" not in node:
        node["enum"] = [node.pop("const")]
    elif issue.keyword in _IN_WORDS:
        del node[issue.keyword]
        if value is not False:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            said = _IN_WORDS[issue.keyword].format(shown) if len(shown) <= _MAX_SHOWN else ""
            node["description"] = f"{_sentence(node.get('description'))}{said}".strip()
    elif issue.keyword in _SILENT:
        del node[issue.keyword]
    else:
        return False
    return True


def _sentence(text: Any) -> str:
    """A description as something that a sentence can follow."""
    if not isinstance(text, str) or not text.strip():
        return ""
    ended = text.rstrip()
    return f"{ended} " if ended.endswith((".", "!", "?")) else f"{ended}. "


def _at(root: Any, where: list[str]) -> dict[str, Any] | None:
    node = root
    for step in where:
        if isinstance(node, Mapping):
            node = node.get(step)
        elif isinstance(node, list) and step.isdecimal() and int(step) < len(node):
            node = node[int(step)]
        else:
            return None
    return node if isinstance(node, dict) else None
