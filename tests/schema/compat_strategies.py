"""Pairs of schemas and values to compare schemas by brute force: small, dense in keywords, near to each other."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import strategies as st

NAMES = ["a", "b", "c"]
KINDS = ["string", "integer", "number", "object", "array", "boolean", "null"]
NUMBERS = [0, 1, 2, 3, -1, 0.5, 1.5, 5, 10]
# Texts around the formats that are checked less strictly than the standard has them stand among them.
SCALARS = [
    None, True, False, 0, 1, 2, 3, -1, 0.5, 1.0, 5, 10, 2**60, "", "a", "b", "ab", "abc", "2026-01-31", "x@y.example",
    "2026-01-31T10:00", "2026-01-31T10:00:00Z", "10:00", "10:00:00Z",
]  # fmt: skip
DEEPEST = 3


def value(random: Random, depth: int = 0) -> Any:
    roll = random.random()
    if depth > 2 or roll < 0.55:
        return random.choice(SCALARS)
    if roll < 0.75:
        return [value(random, depth + 1) for _ in range(random.randint(0, 3))]
    return {random.choice(NAMES): value(random, depth + 1) for _ in range(random.randint(0, 3))}


def schema(random: Random, depth: int = 0) -> Any:
    if random.random() < 0.03 and depth:
        return random.choice([True, False])
    if random.random() < 0.15 and depth:
        return {"$ref": random.choice(["#/$defs/x", "#/$defs/y", "#/$defs/x", "#"])}
    made: dict[str, Any] = {}
    if random.random() < 0.8:
        made["type"] = (
            random.choice([*KINDS, "object", "array"]) if random.random() < 0.8 else random.sample(KINDS, 2)
        )
    declared = made.get("type", KINDS)
    kinds = [declared] if isinstance(declared, str) else declared
    if "string" in kinds:
        _strings(random, made)
    if "integer" in kinds or "number" in kinds:
        _numbers(random, made)
    if "array" in kinds and depth < DEEPEST:
        _arrays(random, made, depth)
    if "object" in kinds and depth < DEEPEST:
        _objects(random, made, depth)
    if random.random() < 0.12:
        made["enum"] = [value(random, 2) for _ in range(random.randint(1, 4))]
    if random.random() < 0.05:
        made["const"] = value(random, 1)
    if depth < 2:
        _combined(random, made, depth)
    return made


def _strings(random: Random, made: dict[str, Any]) -> None:
    for word, chance, choices in (
        ("minLength", 0.25, [0, 1, 2, 3]),
        ("maxLength", 0.25, [0, 1, 2, 4]),
        ("pattern", 0.15, ["^a", "b$", "^a.*b$", "^[ab]+$", "a"]),
        ("format", 0.2, ["date", "email", "date-time", "time", "of-ones-own"]),
    ):
        if random.random() < chance:
            made[word] = random.choice(choices)


def _numbers(random: Random, made: dict[str, Any]) -> None:
    for word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if random.random() < 0.15:
            made[word] = random.choice(NUMBERS)
    if random.random() < 0.15:
        made["multipleOf"] = random.choice([1, 2, 0.5, 3, 1.5, 4])


def _arrays(random: Random, made: dict[str, Any], depth: int) -> None:
    if random.random() < 0.5:
        made["items"] = schema(random, depth + 1)
    if random.random() < 0.2:
        made["prefixItems"] = [schema(random, depth + 1) for _ in range(random.randint(1, 2))]
    if random.random() < 0.2:
        made["minItems"] = random.randint(0, 2)
    if random.random() < 0.2:
        made["maxItems"] = random.randint(0, 3)
    if random.random() < 0.15:
        made["uniqueItems"] = random.choice([True, False])
    if random.random() < 0.15:
        made["contains"] = schema(random, depth + 1)
        if random.random() < 0.4:
            made["minContains"] = random.randint(0, 2)
        if random.random() < 0.4:
            made["maxContains"] = random.randint(1, 2)


def _objects(random: Random, made: dict[str, Any], depth: int) -> None:
    if random.random() < 0.7:
        made["properties"] = {name: schema(random, depth + 1) for name in random.sample(NAMES, random.randint(0, 3))}
    if random.random() < 0.4:
        made["required"] = random.sample(NAMES, random.randint(0, 2))
    if random.random() < 0.4:
        made["additionalProperties"] = (
            random.choice([False, False, True]) if random.random() < 0.6 else schema(random, depth + 1)
        )
    if random.random() < 0.1:
        made["patternProperties"] = {random.choice(["^a", "b"]): schema(random, depth + 1)}
    if random.random() < 0.1:
        made["propertyNames"] = random.choice(
            [{"pattern": "^[ab]$"}, {"enum": ["a", "b"]}, {"maxLength": 1}, {"minLength": 2}]
        )
    if random.random() < 0.1:
        made["dependentRequired"] = {random.choice(NAMES): random.sample(NAMES, 1)}
    if random.random() < 0.1:
        made["minProperties"] = random.randint(0, 2)
    if random.random() < 0.1:
        made["maxProperties"] = random.randint(0, 3)
    if random.random() < 0.05:
        made["dependentSchemas"] = {random.choice(NAMES): schema(random, depth + 1)}
    if random.random() < 0.05:
        made["unevaluatedProperties"] = random.choice([False, True])


def _combined(random: Random, made: dict[str, Any], depth: int) -> None:
    for word, chance, most in (("anyOf", 0.12, 3), ("oneOf", 0.08, 3), ("allOf", 0.08, 2)):
        if random.random() < chance:
            made[word] = [schema(random, depth + 1) for _ in range(random.randint(1, most))]
    if random.random() < 0.06:
        made["not"] = schema(random, depth + 1)
    if random.random() < 0.05:
        made |= {word: schema(random, depth + 1) for word in ("if", "then", "else")}


def changed(random: Random, old: Any) -> Any:
    """A copy with a few keywords set, taken away or moved by one."""
    copied = json.loads(json.dumps(old))
    places: list[dict[str, Any]] = []
    waiting = [copied]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            places.append(item)
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    for _ in range(random.randint(1, 3)):
        place = random.choice(places)
        if place and random.random() < 0.5:
            place.pop(random.choice(list(place)))
        elif isinstance(other := schema(random, 2), dict) and other:
            word = random.choice(list(other))
            place[word] = other[word]
        for word, bound in place.items():
            if isinstance(bound, int | float) and not isinstance(bound, bool) and random.random() < 0.5:
                place[word] = bound + random.choice([-1, 1])
    return copied


def _pair(seed: int, *, references: bool) -> tuple[dict[str, Any], dict[str, Any], Random]:
    random = Random(seed)  # noqa: S311 - test data
    definitions = {"x": schema(random, 2), "y": schema(random, 1)}
    drawn = schema(random)
    old, new = drawn, changed(random, drawn)
    later = changed(random, definitions) if random.random() < 0.5 else definitions
    if not references:
        return _inlined(old, definitions), _inlined(new, later), random
    return {**old, "$defs": definitions}, {**new, "$defs": later}, random


def _inlined(item: Any, definitions: dict[str, Any], depth: int = 0) -> Any:
    """References replaced by what they lead to, and by anything where that has no end."""
    if isinstance(item, dict) and "$ref" in item:
        name = item["$ref"].rsplit("/", 1)[-1]  # the whole schema ("#") is no definition: anything
        return _inlined(definitions.get(name, True), definitions, depth + 1) if depth < DEEPEST else True
    if isinstance(item, dict):
        return {key: _inlined(inner, definitions, depth) for key, inner in item.items()}
    return [_inlined(inner, definitions, depth) for inner in item] if isinstance(item, list) else item


def pairs(*, references: bool = True) -> st.SearchStrategy[tuple[dict[str, Any], dict[str, Any], Random]]:
    """An old schema, a new one near to it, and the randomness to draw values with.

    One seed makes them: drawing every choice by itself takes a hundred times as long, and shrinks no better.
    """
    return st.integers(0, 2**48).map(lambda seed: _pair(seed, references=references))
