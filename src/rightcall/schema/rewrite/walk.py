"""Walking a schema: only where a schema stands, never into values (`enum`, `default`) or names of properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rightcall.schema.keywords import ANNOTATIONS, LISTS, MAPS, ONE

DEFINITIONS = frozenset(("$defs", "definitions"))
READ_ONLY = ANNOTATIONS - {"$anchor", "$id", "$schema", "$vocabulary"}
"""Keywords that say something to readers, decide nothing and name nothing."""


def mapped(schema: Mapping[str, Any], change: Callable[[Any], Any], *, but: frozenset[str] = frozenset()) -> Any:
    """A schema with `change` made of each schema right below it, but for those under the keywords `but`."""
    made: dict[str, Any] = {}
    for word, value in schema.items():
        if word in but:
            made[word] = value
        elif word in MAPS and isinstance(value, Mapping):
            made[word] = {name: change(part) for name, part in value.items()}
        elif word in LISTS and isinstance(value, list):
            made[word] = [change(part) for part in value]
        elif word in ONE:
            made[word] = change(value)
        else:
            made[word] = value
    return made


def needed(schema: Mapping[str, Any]) -> list[Any]:
    """The names that an object requires; none where `required` is no list."""
    names = schema.get("required")
    return names if isinstance(names, list) else []


def subschemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and every schema below it."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            yield node
            mapped(node, waiting.append)


def self_contained(schema: Mapping[str, Any]) -> bool:
    """Whether parts may be moved: no part has an address of its own, or is referred to by where it stands.

    References into `$defs` and `definitions` of the whole are safe, because those stay where they are.
    """
    for node in subschemas(schema):
        if any(word in node for word in ("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef")):
            return False
        if "$id" in node and node is not schema:
            return False
        reference = node.get("$ref")
        if reference is not None and not (
            isinstance(reference, str) and reference.startswith(("#/$defs/", "#/definitions/"))
        ):
            return False
    return True
