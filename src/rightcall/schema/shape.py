"""Whether a value is of a schema's shape: a light check through references and unions, for choosing between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.schema.references import branches, has_type, own_types, properties, required, resolve

MAX_DEPTH = 64


def fits(value: Any, schema: Any, root: Mapping[str, Any], depth: int = 0) -> bool:
    """Whether a value is of a schema's shape: types, enums, required and declared keys. Not full validation."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping):
        return schema is not False
    if depth > MAX_DEPTH:
        return True
    alternatives = branches(schema, root)
    if len(alternatives) > 1:
        return any(fits(value, branch, root, depth + 1) for branch in alternatives)
    schema = alternatives[0]
    if not isinstance(schema, Mapping):
        return schema is not False
    own = own_types(schema)
    if own and not has_type(value, own):
        return False
    members = enum_members(schema)
    if members is not None and not any(same_json(value, member) for member in members):
        return False
    if isinstance(value, Mapping):
        declared = properties(schema, root)
        if any(name not in value for name in required(schema, root)):
            return False
        if schema.get("additionalProperties") is False and any(key not in declared for key in value):
            return False
        return all(fits(item, declared.get(key, True), root, depth + 1) for key, item in value.items())
    if isinstance(value, list):
        return all(fits(item, schema.get("items", True), root, depth + 1) for item in value)
    return True


def enum_members(schema: Mapping[str, Any]) -> list[Any] | None:
    """The values an `enum` or a `const` allows; None where there is neither."""
    declared = schema.get("enum")
    if isinstance(declared, list):
        return declared
    return [schema["const"]] if "const" in schema else None


def same_json(left: Any, right: Any) -> bool:
    """Equality by value and JSON type: true is not 1, while 2 and 2.0 are the same number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return type(left) is type(right) and left == right if isinstance(left, dict | list) else bool(left == right)
