"""Values of a schema, to find one that an old schema takes and a new one refuses.

This is a search over what is likely to matter (members of enums, values around bounds, each property alone and
left out), not a sampler of everything: what it finds is checked by the validators, and what it does not find
proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from rightcall.domain import Tool
from rightcall.schema.compat.pattern_example import pattern_example
from rightcall.schema.compiled import compile_tool
from rightcall.schema.keywords import walk
from rightcall.schema.references import resolve
from rightcall.schema.shape import enum_members

_MAX_DEPTH = 6
_MAX_VALUES = 60
_MAX_TRIED = 12_000  # values for all places together, so that large schemas get fewer each
_MAX_LENGTH = 10_000
_MAX_ROOT_VALUES = 600
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LENGTHS = ("minLength", "maxLength")
_TEXTS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T10:00:00Z",
    "time": "10:00:00",
    "email": "ada@example.org",
    "uri": "https://example.org/a",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.org",
    "duration": "P1D",
}


class Examples:
    """Values of `schema`, drawn with an eye on what `others` say: their bounds, members and names."""

    def __init__(self, schema: Mapping[str, Any], *others: Any) -> None:
        self._root = schema
        every = [schema, *(other for other in others if isinstance(other, Mapping))]
        nodes = [node for one in every for node in walk(one)]
        self._breadth = min(max(_MAX_TRIED // len(nodes), 3), _MAX_VALUES)
        self._kept = {
            json.dumps(m) for one in every[1:] for node in walk(one) for m in enum_members(node.schema) or ()
        }
        self._names = list(dict.fromkeys(node.name for node in nodes if node.keyword == "properties"))[:40]
        self._numbers = _around(node.schema.get(word) for node in nodes for word in _BOUNDS)
        self._members = [member for node in nodes for member in enum_members(node.schema) or ()][:200]
        self._texts = [member for member in self._members if isinstance(member, str)]
        self._texts += _lengthened(node.schema.get(word) for node in nodes for word in _LENGTHS)
        patterns = {p for node in nodes if isinstance(p := node.schema.get("pattern"), str)}
        self._texts += [text for p in sorted(patterns) if (text := pattern_example(p)) is not None]

    def values(self) -> Iterator[Any]:
        """Values that the schema takes; bounded."""
        accepts = compile_tool(Tool("", parameters=self._root)).accepts
        return (value for value in islice(self._of(self._root, 0), _MAX_ROOT_VALUES) if accepts(value))

    def _of(self, schema: Any, depth: int) -> Iterator[Any]:
        schema = _merged(resolve(schema, self._root), self._root)
        if schema is False:
            return
        if not isinstance(schema, Mapping) or not schema:
            yield from self._anything(depth)
            return
        if isinstance(schema.get("examples"), list):
            yield from schema["examples"][:3]
        if (members := enum_members(schema)) is not None:
            # What only this schema allows is what another may refuse.
            yield from islice((m for m in members if json.dumps(m) not in self._kept), _MAX_VALUES)
            yield from members[:_MAX_VALUES]
            return
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and depth < _MAX_DEPTH:
                beside = {key: value for key, value in schema.items() if key != word}
                for branch in schema[word]:
                    branch = resolve(branch, self._root)  # noqa: PLW2901 - the same branch, followed
                    if isinstance(branch, Mapping):
                        yield from self._of({**beside, **branch}, depth + 1)
                return
        declared = schema.get("type")
        kinds = (
            [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else _implied(schema)
        )
        for kind in kinds:
            yield from self._of_type(kind, schema, depth)

    def _anything(self, depth: int) -> Iterator[Any]:
        yield from ("a", 1, None, True, 1.5, [], {}, "")
        if depth < _MAX_DEPTH:
            yield from islice(self._members, 20)

    def _of_type(self, kind: Any, schema: Mapping[str, Any], depth: int) -> Iterator[Any]:
        match kind:
            case "string":
                yield from self._strings(schema)
            case "integer":
                yield from (n for n in self._near(schema) if isinstance(n, int) or n.is_integer())
            case "number":
                yield from self._near(schema)
            case "boolean":
                yield from (True, False)
            case "null":
                yield None
            case "array":
                yield from self._arrays(schema, depth)
            case "object":
                yield from self._objects(schema, depth)

    def _strings(self, schema: Mapping[str, Any]) -> Iterator[str]:
        if isinstance(pattern := schema.get("pattern"), str) and (text := pattern_example(pattern)) is not None:
            yield text
        if (text := _TEXTS.get(str(schema.get("format")))) is not None:
            yield text
        least, most = (_length(schema.get(word)) for word in _LENGTHS)
        yield "a" * max(least or 0, 1)
        yield "a" * (least or 0)
        if most is not None:
            yield "a" * most
        yield from self._texts
        yield from _TEXTS.values()

    def _near(self, schema: Mapping[str, Any]) -> Iterator[int | float]:
        yield from _around([schema.get(word) for word in _BOUNDS])
        yield from (1, 0, -1, 2, 1.5, 10, 0.5, 1_000_000_000)
        yield from self._numbers

    def _arrays(self, schema: Mapping[str, Any], depth: int) -> Iterator[list[Any]]:
        least, most = (_length(schema.get(word)) for word in ("minItems", "maxItems"))
        first = [self._some(item, depth) for item in schema.get("prefixItems", ()) if not isinstance(item, int)]
        items = self._some(schema.get("items", True), depth)
        head = [values[0] for values in first if values]
        for size in sorted({least or 0, 1, 2, (least or 0) + 1, *([most] if most is not None else [])}):
            if size > _MAX_VALUES or (most is not None and size > most):
                continue
            tail = [items[index % len(items)] for index in range(size - len(head))] if items else []
            yield [*head[:size], *tail]
        base = head + items[:1] * max((least or 1) - len(head), 0)
        for index, values in enumerate(chain(first, [items])):
            for value in values:
                changed = list(base)
                changed[index : index + 1] = [value]
                yield changed
        if items:
            yield [items[0]] * max(least or 2, 2)

    def _objects(self, schema: Mapping[str, Any], depth: int) -> Iterator[dict[str, Any]]:
        listed = schema.get("properties")
        declared = listed if isinstance(listed, Mapping) else {}
        choices = {name: self._some(item, depth) for name, item in declared.items()}
        needed = [name for name in schema.get("required", ()) if isinstance(name, str)]
        minimal = {name: (choices.get(name) or ["a"])[0] for name in needed}
        full = {name: values[0] for name, values in choices.items() if values} | minimal
        yield minimal
        yield full
        for name, values in choices.items():
            for value in values:
                yield {**minimal, name: value}
                if len(full) > len(minimal) + 1:
                    yield {**full, name: value}
            if name in full and name not in minimal:
                yield {key: value for key, value in full.items() if key != name}
        others = self._some(schema.get("additionalProperties", True), depth)
        for name in (*(name for name in self._names if name not in declared), "undeclared"):
            for value in others[:8]:
                yield {**minimal, name: value}

    def _some(self, schema: Any, depth: int) -> list[Any]:
        """A handful of values that an inner schema takes."""
        if depth >= _MAX_DEPTH or schema is False:
            return []
        found: dict[str, Any] = {}
        accepts = self._check(schema)
        for value in islice(self._of(schema, depth + 1), self._breadth * 4):
            if len(found) >= self._breadth:
                break
            if accepts(value):
                found.setdefault(json.dumps(value, sort_keys=True), value)
        return list(found.values())

    def _check(self, schema: Any) -> Any:
        if not isinstance(schema, Mapping):
            return lambda _: True
        definitions = {word: self._root[word] for word in ("$defs", "definitions", "$schema") if word in self._root}
        compiled = compile_tool(Tool("", parameters={**definitions, **schema}))
        return compiled.accepts if compiled.broken is None else lambda _: True


def breaking_examples(values: Iterable[Any], old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Any]:
    """The values that `old` takes and `new` refuses; none where either cannot be used."""
    before, after = (compile_tool(Tool("", parameters=schema)) for schema in (old, new))
    if after.broken is not None:
        return []
    return [value for value in values if before.accepts(value) and not after.accepts(value)]


def _merged(schema: Any, root: Mapping[str, Any]) -> Any:
    """A schema with the parts of `allOf` laid together as far as that is simple."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("allOf"), list):
        return schema
    made: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema["allOf"][:_MAX_VALUES]:
        resolved = resolve(part, root)
        if not isinstance(resolved, Mapping):
            continue
        for key, value in resolved.items():
            if key == "properties" and isinstance(made.get(key), Mapping) and isinstance(value, Mapping):
                made[key] = {**value, **made[key]}
            elif key == "required" and isinstance(made.get(key), list) and isinstance(value, list):
                made[key] = [*made[key], *value]
            else:
                made.setdefault(key, value)
    return made


def _implied(schema: Mapping[str, Any]) -> list[str]:
    if schema.keys() & {"properties", "required", "additionalProperties", "minProperties", "patternProperties"}:
        return ["object", "string"]
    if schema.keys() & {"items", "prefixItems", "minItems", "maxItems", "contains"}:
        return ["array", "string"]
    if schema.keys() & {"pattern", "format", *_LENGTHS}:
        return ["string", "integer"]
    if schema.keys() & set(_BOUNDS):
        return ["number", "string"]
    return ["string", "number", "boolean", "null", "array", "object"]


def _around(bounds: Iterable[Any]) -> list[int | float]:
    found: dict[float, int | float] = {}
    for bound in bounds:
        if isinstance(bound, int | float) and not isinstance(bound, bool) and abs(bound) < 2**53:
            for value in (bound, bound + 1, bound - 1, bound * 2, bound + 0.5, bound - 0.5):
                found.setdefault(float(value), value)
    return list(found.values())[:100]


def _lengthened(lengths: Iterable[Any]) -> list[str]:
    sizes = {n for raw in lengths if (size := _length(raw)) is not None for n in (size - 1, size, size + 1)}
    return ["a" * size for size in sorted(sizes) if size >= 0][:40]


def _length(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_LENGTH else None
