"""Objects whose arguments can be moved and renamed: those that declare all that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.schema.rewrite.walk import DEFINITIONS, READ_ONLY

OBJECT = frozenset(("type", "properties", "required", "additionalProperties")) | READ_ONLY
"""What may be said of such an object; any other keyword may speak of its properties by name."""
ROOT = OBJECT | DEFINITIONS | {"$schema", "$id"}
"""The same for the whole parameters."""


def declares_all(schema: Any, allowed: frozenset[str] = OBJECT) -> bool:
    """Whether an object's properties are all that it speaks of: no maps, no conditions, not open by declaration."""
    return (
        isinstance(schema, Mapping)
        and schema.keys() <= allowed
        and schema.get("type", "object") == "object"
        and isinstance(schema.get("properties"), Mapping)
        and bool(schema["properties"])
        and schema.get("additionalProperties", False) is False
        and isinstance(schema.get("required", []), list)
        and all(name in schema["properties"] for name in schema.get("required", ()))
    )


def free_name(name: str, taken: set[str]) -> str:
    """The name, or one with a number behind it where that is taken (`a.b` beside `a_b` is `a_b_2`); takes it."""
    numbered = (name if number == 1 else f"{name}_{number}" for number in range(1, len(taken) + 2))
    chosen = next(candidate for candidate in numbered if candidate not in taken)
    taken.add(chosen)
    return chosen
