"""Where JSON Schema keeps schemas inside schemas, and a bounded walk over all of them.

Source of the tables: JSON Schema 2020-12, core, sections 10 and 11, with the names of older drafts beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rightcall.schema.pointers import pointer_of

ONE = frozenset(
    (
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)
"""Keywords whose value is a schema."""
LISTS = frozenset(("allOf", "anyOf", "items", "oneOf", "prefixItems"))
"""Keywords whose value is a list of schemas (`items` in older drafts)."""
MAPS = frozenset(("$defs", "definitions", "dependentSchemas", "patternProperties", "properties"))
"""Keywords whose value maps names to schemas."""
ANNOTATIONS = frozenset(
    (
        "$anchor",
        "$comment",
        "$id",
        "$schema",
        "$vocabulary",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "default",
        "deprecated",
        "description",
        "example",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
    )
)
"""Keywords that say something to readers and decide nothing about values (`$id` and `$anchor` only name)."""
ASSERTIONS = frozenset(
    (
        "$dynamicRef",
        "$ref",
        "const",
        "dependencies",
        "dependentRequired",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxContains",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "required",
        "type",
        "uniqueItems",
    )
)
"""Keywords that decide about values without holding schemas."""
MAX_VISITED = 50_000


@dataclass(frozen=True, slots=True)
class Node:
    """One schema inside another: `pointer` leads to it from the root, `keyword` is what holds it."""

    pointer: str
    schema: Mapping[str, Any]
    keyword: str = ""
    name: str = ""
    parent: Node | None = None

    @property
    def is_parameter(self) -> bool:
        """Whether it describes a named property."""
        return self.keyword == "properties"


def children(node: Node) -> Iterator[Node]:
    """The schemas that stand directly in a node; booleans and what is no schema are left out."""
    for keyword, value in node.schema.items():
        at = node.pointer + pointer_of([keyword])
        if keyword in MAPS and isinstance(value, Mapping):
            for name, item in value.items():
                if isinstance(item, Mapping):
                    yield Node(at + pointer_of([name]), item, keyword, str(name), node)
        elif keyword in LISTS and isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, Mapping):
                    yield Node(f"{at}/{index}", item, keyword, str(index), node)
        elif keyword in ONE and isinstance(value, Mapping):
            yield Node(at, value, keyword, "", node)


def walk(schema: Any, pointer: str = "") -> Iterator[Node]:
    """Every schema in a schema, parents first, in the order written. References are not followed."""
    if not isinstance(schema, Mapping):
        return
    waiting = [Node(pointer, schema)]
    visited = 0
    while waiting and visited < MAX_VISITED:
        node = waiting.pop()
        visited += 1
        yield node
        waiting += reversed(list(children(node)))
