"""Reading schemas through `$ref`: local references only, bounded, never fetched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

MAX_HOPS = 32
_UNION = ("anyOf", "oneOf")


def resolve(schema: Any, root: Mapping[str, Any]) -> Any:
    """The schema behind `$ref`s, with keywords that stand beside a `$ref` laid over it.

    A reference that leads nowhere, in a circle or outside gives `{}`: it decides nothing here, and
    compiling the schema reports it.
    """
    hops = 0
    while isinstance(schema, Mapping) and isinstance(reference := schema.get("$ref"), str):
        hops += 1
        target = _pointer(root, reference)
        if hops > MAX_HOPS or not isinstance(target, Mapping):
            return {}
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **beside} if beside else target
    return schema


def branches(schema: Mapping[str, Any], root: Mapping[str, Any]) -> list[Any]:
    """The alternatives of a union, resolved and flattened; a schema without a union is its only alternative."""
    found: list[Any] = []
    _collect(schema, root, found, 0)
    return found


def types(schema: Any, root: Mapping[str, Any]) -> frozenset[str]:
    """The JSON types a schema allows, through unions and references; empty where it does not say."""
    allowed: set[str] = set()
    for branch in branches(resolve(schema, root), root):
        own = own_types(branch)
        if not own:
            return frozenset()
        allowed |= own
    return frozenset(allowed)


def own_types(schema: Any) -> frozenset[str]:
    """The types a schema names itself, or that its keywords imply."""
    if not isinstance(schema, Mapping):
        return frozenset()
    declared = schema.get("type")
    if isinstance(declared, str):
        return frozenset((declared,))
    if isinstance(declared, list):
        return frozenset(item for item in declared if isinstance(item, str))
    members = schema.get("enum") if isinstance(schema.get("enum"), list) else None
    if members is None and "const" in schema:
        members = [schema["const"]]
    if members:
        return frozenset(json_type(member) for member in members)
    if "properties" in schema or "required" in schema:
        return frozenset(("object",))
    if "items" in schema or "prefixItems" in schema:
        return frozenset(("array",))
    return frozenset()


def json_type(value: Any) -> str:
    """The JSON Schema name of a value's type. `true` is a boolean, never an integer."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case Mapping():
            return "object"
        case _:
            return "array"


def has_type(value: Any, allowed: frozenset[str]) -> bool:
    """Whether a value is of one of the types; integers are numbers, and so is 2.0 an integer (2020-12, 6.1.1)."""
    kind = json_type(value)
    if kind in allowed:
        return True
    if kind == "integer":
        return "number" in allowed
    return kind == "number" and "integer" in allowed and float(value).is_integer()


def properties(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """Every declared property of an object schema, those of `allOf` parts included."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping):
        return {}
    own = schema.get("properties")
    found = dict(own) if isinstance(own, Mapping) else {}
    for part in _listed(schema.get("allOf")):
        found = properties(part, root) | found
    return found


def required(schema: Any, root: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of required properties, those of `allOf` parts included."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping):
        return ()
    names = [name for name in _listed(schema.get("required")) if isinstance(name, str)]
    for part in _listed(schema.get("allOf")):
        names += required(part, root)
    return tuple(dict.fromkeys(names))


def _collect(schema: Any, root: Mapping[str, Any], found: list[Any], depth: int) -> None:
    schema = resolve(schema, root)
    alternatives = next(
        (schema[word] for word in _UNION if isinstance(schema, Mapping) and isinstance(schema.get(word), list)), None
    )
    if alternatives is None or depth > MAX_HOPS:
        found.append(schema)
        return
    beside = {key: value for key, value in schema.items() if key not in _UNION}
    beside.pop("description", None)
    for alternative in alternatives:
        resolved = resolve(alternative, root)
        merged = {**beside, **resolved} if isinstance(resolved, Mapping) and beside.keys() & _SHAPE else resolved
        _collect(merged, root, found, depth + 1)


_SHAPE = frozenset(("type", "properties", "required", "items", "enum", "additionalProperties"))


def _pointer(root: Any, reference: str) -> Any:
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return None
    node = root
    for raw in reference[2:].split("/"):
        step = unquote(raw).replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and step in node:
            node = node[step]
        elif isinstance(node, list) and step.isdigit() and int(step) < len(node):
            node = node[int(step)]
        else:
            return None
    return node


def _listed(value: Any) -> Iterator[Any]:
    return iter(value) if isinstance(value, list) else iter(())
