"""Parameters of tools and arguments for them, generated.

Tools' schemas are nested objects with odd names, optional objects, unions and references, which are what rewrites are
about; scalars are left to `hypothesis-jsonschema`.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st
from hypothesis_jsonschema import from_schema

from rightcall.schema.references import resolve

NAMES = st.sampled_from(
    (
        *("a", "b", "a_b", "b_a", "a_b_2", "a_a", "id", "a b", "é"),
        *("a.b", "a/b", "a~b", "~1", "0"),
        *("$ref", "properties", "type", "enum", "items"),
    )
)
SCALARS: Any = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "boolean"},
        {"type": "number", "description": "in pence"},
        {"type": "integer", "description": "How long, in seconds", "minimum": 0},
        {"type": ["string", "null"]},
        {"enum": ["x", "y"]},
        {"type": "string", "default": "x"},
        {"const": 3},
        {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        {"$ref": "#/$defs/leaf"},
        {"$ref": "#/$defs/pair", "description": "two of them"},
        {"$ref": "#/$defs/tree"},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "patternProperties": {"^z": {"type": "null"}}},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": True},
        {"type": "object", "properties": {"a": {"type": "integer"}}, "minProperties": 1},
        True,
    ]
)
DEFINITIONS: Any = {
    "leaf": {"type": "string", "enum": ["p", "q"]},
    "pair": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/leaf"}, "b": {"type": "integer"}},
        "required": ["a"],
    },
    "tree": {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "a": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "additionalProperties": False,
    },
}


@st.composite
def objects(draw: Any, inner: Any) -> dict[str, Any]:
    """An object over other schemas, with some of its properties required, closed or not."""
    properties = draw(st.dictionaries(NAMES, inner, max_size=4))
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if properties and draw(st.booleans()):
        made["required"] = draw(st.lists(st.sampled_from(sorted(properties)), unique=True))
    if draw(st.booleans()):
        made["additionalProperties"] = False
    if draw(st.booleans()):
        made["description"] = "What it is."
    return made


@st.composite
def _around(draw: Any, inner: Any) -> Any:
    """An object or something that holds one."""
    schema = draw(objects(inner))
    tagged = [
        {**schema, "properties": {**schema["properties"], "kind": {"const": kind}}, "required": ["kind"]}
        for kind in ("p", "q")
    ]
    return draw(
        st.sampled_from(
            [
                schema,
                schema,
                schema,
                {"type": "array", "items": schema, "maxItems": 3},
                {"anyOf": [schema, {"type": "null"}], "default": None},
                {"anyOf": tagged},
            ]
        )
    )


@st.composite
def parameters(draw: Any) -> dict[str, Any]:
    """The parameters of a tool."""
    made = draw(objects(st.recursive(SCALARS, _around, max_leaves=6)))
    return {**made, "$defs": DEFINITIONS} if draw(st.booleans()) or "$ref" in str(made) else made


EXTRA = st.sampled_from(["zz", "z/z", "z~z"])
"""Names that no schema above declares or is shown."""
_DEEP = 4


def values(schema: Any, root: Any = None) -> Any:
    """Values that a schema takes, nearly always: objects, unions and references here, the rest by the library."""
    return _values(schema, schema if root is None else root, 0)


@st.composite
def _values(draw: Any, schema: Any, root: Any, depth: int) -> Any:
    schema = resolve(schema, root)
    if not isinstance(schema, dict) or not schema:
        return draw(st.sampled_from([None, 1, "x", [], {}]))
    if "anyOf" in schema:
        return draw(_values(draw(st.sampled_from(schema["anyOf"])), root, depth + 1))
    if schema.get("type") == "array":
        most = 0 if depth > _DEEP else 2
        return draw(st.lists(_values(schema.get("items", {}), root, depth + 1), max_size=most))
    if schema.get("type") != "object":
        return draw(_leaf(json.dumps(schema)))
    declared = schema.get("properties", {})
    wanted = list(schema.get("required", ()))
    wanted += [name for name in declared if name not in wanted and depth <= _DEEP and draw(st.booleans())]
    value: dict[str, Any] = {}
    needs = schema.get("dependentRequired", {})
    while wanted:
        name = wanted.pop()
        value[name] = draw(_values(declared[name], root, depth + 1))
        wanted += [other for other in needs.get(name, ()) if other not in value]
    others = schema.get("additionalProperties", {})
    if others is not False and draw(st.integers(0, 3)) == 0:
        value[draw(EXTRA)] = draw(_values(others, root, depth + 1))
    return value


@lru_cache
def _leaf(schema: str) -> Any:
    return from_schema(json.loads(schema))
