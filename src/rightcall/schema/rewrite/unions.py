"""Unions written plainly, because a union asks the model to commit to a branch before it has written the reason.

Source: "Avoid oneOf, anyOf and discriminated unions" in "Making Small Models Reliable at Tool-Calling". This changes
only what is sent: calls are checked against the union as it was, so a form that lets more through does no harm.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.domain import JsonObject
from rightcall.schema.rewrite.walk import READ_ONLY, mapped, needed
from rightcall.schema.shape import enum_members

_UNIONS = ("anyOf", "oneOf")
_NULL = {"type": "null"}
_VALUES = frozenset(("enum", "const"))
_MAX_MEMBERS = 50


def plain_unions(schema: JsonObject) -> JsonObject:
    """The schema with unions as one type, one list of values or one object where that says the same or more."""
    made: JsonObject = _plain(schema)
    return schema if made == schema else made


def _plain(schema: Any) -> Any:
    """A schema without unions, as far as possible, innermost first."""
    if not isinstance(schema, Mapping):
        return schema
    own, required = schema.get("properties"), needed(schema)
    if isinstance(own, Mapping):
        schema = {**schema, "properties": {n: p if n in required else _without_null(p) for n, p in own.items()}}
    schema = mapped(schema, _plain)
    word = next((word for word in _UNIONS if isinstance(schema.get(word), list)), None)
    rest = {key: value for key, value in schema.items() if key != word}
    if word is None or not rest.keys() <= READ_ONLY or not all(isinstance(b, Mapping) for b in schema[word]):
        return schema
    one = _as_one(schema[word])
    return schema if one is None else _beside(one, rest)


def _as_one(branches: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The branches of a union as one schema; None where they are too different."""
    if len(branches) == 1:
        return dict(branches[0])
    return _as_types(branches) or _as_values(branches) or _as_object(branches)


def _without_null(schema: Any) -> Any:
    """An optional argument without null, where null is its default: leaving it out says the same."""
    if not isinstance(schema, Mapping) or schema.get("default", 0) is not None:
        return schema
    rest = {word: value for word, value in schema.items() if word != "default"}
    kinds, branches = schema.get("type"), schema.get("anyOf")
    if isinstance(branches, list) and _NULL in branches and len(branches) > 1:
        return {**rest, "anyOf": [branch for branch in branches if branch != _NULL]}
    if isinstance(kinds, list) and "null" in kinds and len(kinds) > 1 and "enum" not in schema:
        left = [kind for kind in kinds if kind != "null"]
        return {**rest, "type": left[0] if len(left) == 1 else left}
    return schema


def _as_types(branches: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """`[{"type": "string"}, {"type": "integer"}]` as one list of types; one branch beside null may say more."""
    if not all(isinstance(branch.get("type"), str) for branch in branches):
        return None
    kinds = list(dict.fromkeys(branch["type"] for branch in branches))
    fuller = [branch for branch in branches if not branch.keys() <= {"type"} | READ_ONLY]
    if fuller and (len(fuller) > 1 or set(kinds) != {fuller[0]["type"], "null"} or fuller[0].keys() & _VALUES):
        return None
    if {"integer", "number"} <= set(kinds):
        kinds.remove("integer")
    told = " or ".join(dict.fromkeys(b["description"] for b in branches if isinstance(b.get("description"), str)))
    base = dict(fuller[0]) if fuller else {}
    base["type"] = kinds[0] if len(kinds) == 1 else kinds
    return {**base, "description": told} if told else base


def _as_values(branches: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Branches that each allow a few values, as one `enum`; what they say of a value goes into the description."""
    members: list[Any] = []
    told: list[str] = []
    for branch in branches:
        own = enum_members(branch) if branch.keys() <= {"enum", "const", "type"} | READ_ONLY else None
        if branch.get("type") == "null":
            own = [None]
        if own is None:
            return None
        members += own
        about = branch.get("description") or (branch.get("title") if len(own) == 1 else None)
        if isinstance(about, str) and about:
            told.append(f"{', '.join(json.dumps(member, ensure_ascii=False) for member in own)}: {about}")
    if len(members) > _MAX_MEMBERS:
        return None
    made: dict[str, Any] = {"enum": members}
    if all(isinstance(member, str) for member in members):
        made = {"type": "string", **made}
    return {**made, "description": "; ".join(told)} if told else made


def _as_object(branches: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Objects told apart by one property with one value each, as one object; descriptions say what goes with what."""
    tag = _tag(branches)
    if tag is None:
        return None
    properties: dict[str, Any] = {}
    used: dict[str, list[str]] = {}
    for branch in branches:
        for name, own in branch["properties"].items():
            if name == tag:
                continue
            if name in properties and properties[name] != own:
                return None
            properties[name] = own
            used.setdefault(name, []).append(_only(branch["properties"][tag]))
    values = [_only_value(branch["properties"][tag]) for branch in branches]
    made = {tag: {"enum": values, **({"type": "string"} if all(isinstance(v, str) for v in values) else {})}}
    for name, own in properties.items():
        alone = len(used[name]) < len(branches) and isinstance(own, Mapping)
        made[name] = _told(own, f"Only with {tag} {' or '.join(used[name])}.") if alone else own
    always = [name for name in made if name == tag or all(name in needed(branch) for branch in branches)]
    return {"type": "object", "properties": made, "required": always}


def _tag(branches: Sequence[Mapping[str, Any]]) -> str | None:
    """The property that tells the branches apart: required in each, with another single value in each."""
    for branch in branches:
        if branch.get("type") != "object" or not isinstance(branch.get("properties"), Mapping):
            return None
        if not branch.keys() <= {"type", "properties", "required", "additionalProperties"} | READ_ONLY:
            return None
    for name in branches[0]["properties"]:
        if not all(name in b["properties"] and name in needed(b) for b in branches):
            continue
        members = [enum_members(own) for b in branches if isinstance(own := b["properties"][name], Mapping)]
        single = [json.dumps(found[0]) for found in members if found is not None and len(found) == 1]
        if len(single) == len(branches) == len(set(single)):
            return str(name)
    return None


def _only_value(schema: Mapping[str, Any]) -> Any:
    return (enum_members(schema) or [None])[0]


def _only(schema: Mapping[str, Any]) -> str:
    return json.dumps(_only_value(schema), ensure_ascii=False)


def _beside(schema: Mapping[str, Any], rest: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with what stood beside the union; both descriptions are kept."""
    texts = [t for t in (rest.get("description"), schema.get("description")) if isinstance(t, str) and t]
    made = {**schema, **rest}
    return {**made, "description": " ".join(dict.fromkeys(texts))} if texts else made


def _told(schema: Mapping[str, Any], sentence: str) -> dict[str, Any]:
    own = schema.get("description")
    return {**schema, "description": f"{own} {sentence}" if isinstance(own, str) and own else sentence}
