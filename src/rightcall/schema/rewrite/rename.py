"""Arguments under other names, nested ones too; the base of every lens that renames them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rightcall.domain import JsonObject
from rightcall.schema.pointers import pointer_of
from rightcall.schema.rewrite.objects import OBJECT, ROOT, declares_all
from rightcall.schema.rewrite.places import Place
from rightcall.schema.rewrite.walk import self_contained

NameOf: TypeAlias = Callable[[str, Any], str]
"""The new name of an argument: given its pointer (`/order/id`, `/items/-/id` in a list) and its schema."""


def renamed(schema: JsonObject, name_of: NameOf) -> tuple[JsonObject, Place]:
    """The schema with its arguments renamed, and the way back.

    Objects that speak of their properties in other ways (conditions, patterns, maps) keep their names; so does an
    argument whose new name another one has. An object with a renamed argument takes no undeclared ones.
    """
    if not self_contained(schema):
        return schema, Place()
    return _value(schema, (), name_of, ROOT)


def _value(
    schema: Any, where: tuple[str, ...], name_of: NameOf, allowed: frozenset[str] = OBJECT
) -> tuple[Any, Place]:
    if not isinstance(schema, Mapping):
        return schema, Place()
    items = schema.get("items")
    if isinstance(items, Mapping) and schema.get("type") == "array" and "prefixItems" not in schema:
        made, place = _value(items, (*where, "-"), name_of)
        return ({**schema, "items": made}, Place(items=place)) if place.changes else (schema, Place())
    return _object(schema, where, name_of) if declares_all(schema, allowed) else (schema, Place())


def _object(schema: Mapping[str, Any], where: tuple[str, ...], name_of: NameOf) -> tuple[Any, Place]:
    declared = schema["properties"]
    names = _unique({name: name_of(pointer_of((*where, name)), own) for name, own in declared.items()})
    inner = {name: _value(own, (*where, name), name_of) for name, own in declared.items()}
    place = Place(names, below={name: below for name, (_, below) in inner.items() if below.changes})
    if not place.changes:
        return schema, Place()
    made = {word: value for word, value in schema.items() if word not in {"default", "examples"}}
    made["properties"] = {names[name]: own for name, (own, _) in inner.items()}
    if "required" in schema:
        made["required"] = [names[name] for name in schema["required"]]
    if any(name != shown for name, shown in names.items()):
        made["additionalProperties"] = False
    return made, place


def _unique(names: dict[str, str]) -> dict[str, str]:
    """New names without those that two arguments would share: these keep their own."""
    while True:
        count = Counter(names.values())
        shared = [name for name, new in names.items() if count[new] > 1 and new != name]
        if not shared:
            return names
        names = names | {name: name for name in shared}
