"""Nested objects made flat: `order: {id}` is shown as `order_id`. Every level less is one brace less to keep in mind.

Source: "Prefer flat objects to nested ones" in "Making Small Models Reliable at Tool-Calling". Only objects that
declare all that they hold are spread, into objects of the same kind; maps, unions and recursive ones stay nested. An
undeclared argument is then refused where the original would have let it through.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rightcall.domain import JsonObject
from rightcall.schema.rewrite.objects import OBJECT, ROOT, declares_all, free_name
from rightcall.schema.rewrite.places import Place, Spread
from rightcall.schema.rewrite.walk import READ_ONLY, self_contained

MAX_NAME = 64
"""Characters of an argument's name that backends accept (OpenAI's limit)."""
MAX_ARGUMENTS = 40
"""Arguments beside each other; what would become more stays nested."""
_OLD_DRAFTS = ("draft-03", "draft-04", "draft-06", "draft-07")


def flattened(schema: JsonObject) -> tuple[JsonObject, Place]:
    """The schema with nested objects spread where that is possible, and the way back."""
    if not self_contained(schema):
        return schema, Place()
    old = any(draft in str(schema.get("$schema", "")) for draft in _OLD_DRAFTS)
    return _Flattening("dependencies" if old else "dependentRequired").value(schema, ROOT)


@dataclass(slots=True)
class _Parts:
    """What the parts of a spread object become: their schemas by shown key, and which of them it needs."""

    properties: dict[str, Any] = field(default_factory=dict)
    needed: list[str] = field(default_factory=list)
    together: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Flattening:
    dependent: str
    """The keyword that makes one property need others."""

    def value(self, schema: Any, allowed: frozenset[str] = OBJECT) -> tuple[Any, Place]:
        """A schema whose objects are flat, as far as they can be, and where its values stand."""
        if not isinstance(schema, Mapping):
            return schema, Place()
        items = schema.get("items")
        if isinstance(items, Mapping) and schema.get("type") == "array" and "prefixItems" not in schema:
            made, place = self.value(items)
            return ({**schema, "items": made}, Place(items=place)) if place.changes else (schema, Place())
        return self.object(schema) if declares_all(schema, allowed) else (schema, Place())

    def object(self, schema: Mapping[str, Any]) -> tuple[Any, Place]:
        """One object with everything in it spread that can be."""
        declared = schema["properties"]
        taken = set(declared)
        parts = _Parts()
        place = self.parts(schema, "", taken, parts, room=MAX_ARGUMENTS)
        if not place.changes:
            return schema, Place()
        left = {word: value for word, value in schema.items() if word not in {"required", "default", "examples"}}
        made = {**left, "properties": parts.properties}
        if parts.needed:
            made["required"] = parts.needed
        if place.spread:
            made["additionalProperties"] = False
        if parts.together:
            made[self.dependent] = parts.together
        return made, place

    def parts(self, schema: Mapping[str, Any], prefix: str, taken: set[str], into: _Parts, *, room: int) -> Place:
        """Adds the properties of an object to `into`, spread ones in their place, under names that are free."""
        names: dict[str, str] = {}
        spread: dict[str, Spread] = {}
        below: dict[str, Place] = {}
        required = schema.get("required", ())
        for name, own in schema["properties"].items():
            inner = _spreadable(own, optional=name not in required)
            if inner is not None and _size(inner) + len(schema["properties"]) - 1 <= room:
                part = _Parts()
                tried = set(taken)
                found = self.parts(inner, f"{prefix}{name}_", tried, part, room=room - len(schema["properties"]) + 1)
                if all(len(shown) <= MAX_NAME for shown in part.properties):
                    taken |= tried
                    spread[name] = Spread(found, name in required)
                    _add(into, part, name, inner, always=name in required)
                    continue
            made, place = self.value(own)
            names[name] = shown = free_name(f"{prefix}{name}", taken) if prefix else name
            into.properties[shown] = made
            if place.changes:
                below[name] = place
            if name in required:
                into.needed.append(shown)
        return Place(names, spread, below)


def _add(into: _Parts, part: _Parts, name: str, schema: Mapping[str, Any], *, always: bool) -> None:
    """Adds the parts of a spread object to those around it. One of an optional object needs its required ones."""
    about = schema.get("description")
    for index, (shown, own) in enumerate(part.properties.items()):
        told = isinstance(about, str) and about and not index and isinstance(own, Mapping)
        into.properties[shown] = _described(own, f"{name}: {about}") if told else own
    if always:
        into.needed += part.needed
        into.together |= part.together
        return
    for shown in part.properties:
        needs = [other for other in part.needed if other != shown]
        needs += [other for other in part.together.get(shown, ()) if other not in needs]
        if needs:
            into.together[shown] = needs


def _described(schema: Mapping[str, Any], around: str) -> dict[str, Any]:
    own = schema.get("description")
    text = f"{around.rstrip('.')}. {own}" if isinstance(own, str) and own else around
    return {**schema, "description": text}


def _spreadable(schema: Any, *, optional: bool) -> Mapping[str, Any] | None:
    """The object to spread: one that declares all that it holds; behind `null` too, where null says it is absent."""
    if not isinstance(schema, Mapping):
        return None
    if declares_all(schema, OBJECT):
        return schema if schema.get("type") == "object" else None
    branches = schema.get("anyOf")
    rest = {word: value for word, value in schema.items() if word != "anyOf"}
    absent = optional and "default" in schema and schema["default"] is None
    if absent and isinstance(branches, list) and rest.keys() <= READ_ONLY and len(branches) == 2:  # noqa: PLR2004
        objects = [branch for branch in branches if branch != {"type": "null"}]
        if len(objects) == 1 and declares_all(objects[0], OBJECT) and objects[0].get("type") == "object":
            return {**objects[0], **{word: value for word, value in rest.items() if word == "description"}}
    return None


def _size(schema: Mapping[str, Any]) -> int:
    """How many arguments an object becomes when everything in it is spread."""
    return sum(_size(inner) if (inner := _inside(own)) else 1 for own in schema["properties"].values())


def _inside(schema: Any) -> Mapping[str, Any] | None:
    return _spreadable(schema, optional=True)
