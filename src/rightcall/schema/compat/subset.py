"""Whether one schema takes every value that another takes: a proof, or none.

The decision is `jsonschema_rs.canonical`'s: both schemas are brought to one canonical form and intersected; where the
intersection is the inner schema itself, containment is proven. It was compared with brute force before it was taken
(`tests/schema/test_compat_laws.py`); whatever it cannot model counts as not proven. It knows the standard's formats,
while this project's validators are laxer on two of them (see `schema.compiled`), so those are handed over as formats
that it knows nothing of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs
from jsonschema_rs import canonical

from rightcall.domain import Tool
from rightcall.schema.compat.edits import same
from rightcall.schema.compiled import LAX_FORMATS, MAX_DEPTH, PATTERN_OPTIONS, compile_tool
from rightcall.schema.fingerprint import canonical_json
from rightcall.schema.keywords import LISTS, MAPS, Node, walk
from rightcall.schema.rewrite.walk import mapped

_OPTIONS: dict[str, Any] = {"validate_formats": True, "offline": True, "pattern_options": PATTERN_OPTIONS}
_NOT_MONOTONE = frozenset(("contains", "if", "not", "oneOf", "unevaluatedItems", "unevaluatedProperties"))
"""Where a wider schema inside may make the whole one narrower, so that a format of unknown extent proves nothing."""
MAX_PARTS = 150
MAX_CHOICES = 64
_BEYOND_PARTS = frozenset(("$dynamicRef", "$recursiveRef", "unevaluatedItems", "unevaluatedProperties"))
_NAMING = frozenset(("$anchor", "$dynamicAnchor", "$id", "$schema", "id"))


def covers(outer: Any, inner: Any) -> bool:
    """Whether it is proven that `outer` takes every value that `inner` takes. False says nothing.

    Both are JSON Schemas; an unusable one covers nothing and is covered by nothing. Properties that both declare
    alike are left out of the question: what is demanded on both sides decides nothing.
    """
    if not _refers_within(outer) and not _refers_within(inner):
        outer, inner = _apart(outer, inner)
    form, inner_form = _canonical(outer), _canonical(inner)
    if form is None or inner_form is None:
        return False
    try:
        return form.covers(inner_form) is canonical.Containment.YES
    except (ValueError, TypeError):
        return False


def covers_in_parts(outer: Any, inner: Any, paths: Sequence[tuple[str | int, ...]]) -> bool:
    """Whether containment is proven place by place, where `paths` lead to all that differs in more than wording.

    This decides what `covers` cannot: schemas that refer to themselves, and large ones. Where every reference
    stands in a place that only gets wider when what it holds gets wider, widening each part widens the whole.
    """
    return has_parts(outer) and has_parts(inner) and all(part_covers(outer, inner, path) for path in paths)


def has_parts(schema: Any) -> bool:
    """Whether a schema may be compared place by place."""
    return not any(
        node.schema.keys() & _BEYOND_PARTS or ("$ref" in node.schema and _is_inverted(node)) for node in walk(schema)
    )


def part_covers(outer: Any, inner: Any, path: tuple[str | int, ...]) -> bool:
    """`covers_in_parts` for one place of two schemas that both `has_parts`."""
    if any(step in _NOT_MONOTONE | _NAMING for step in path):
        return False
    entry = len(path) > 1 and path[-2] in MAPS | LISTS
    ours, theirs = outer, inner
    for step in path[: -2 if entry else -1]:
        ours, theirs = _step(ours, step), _step(theirs, step)
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return False
    if path[-1] == "enum" and not entry and _has_more_members(ours.get("enum"), theirs.get("enum")):
        return True
    ours, theirs = _apart(ours, theirs, refer=True)  # what they refer to is wider on the outer side, too
    if _refers(ours) or _refers(theirs):
        return False
    draft = {"$schema": inner["$schema"]} if "$schema" in inner else {}
    return covers({**ours, **draft}, {**theirs, **draft})


def _has_more_members(ours: Any, theirs: Any) -> bool:
    """Members need no canonical form, which large sets of them make slow."""
    if not isinstance(ours, list) or not isinstance(theirs, list):
        return False
    return {canonical_json(member) for member in theirs} <= {canonical_json(member) for member in ours}


def _step(schema: Any, step: str | int) -> Any:
    try:
        return schema[step]
    except (KeyError, IndexError, TypeError):
        return None


def difference(old: Any, new: Any) -> Any:
    """A schema of the values that `old` takes and `new` does not, as far as it can be spelled; None otherwise.

    It is where to look for examples; each must be checked, because formats are out of it.
    """
    old_form, new_form = _canonical(old), _canonical(new)
    if old_form is None or new_form is None:
        return None
    try:
        return old_form.subtract(new_form).to_json_schema()
    except (ValueError, TypeError):
        return None


def _apart(outer: Any, inner: Any, depth: int = 0, *, refer: bool = False) -> tuple[Any, Any]:
    """Both schemas with `true` for every property that they declare alike.

    A property's schema is a demand of its own, so the same one on both sides can be dropped; its name stays,
    because `additionalProperties` counts it. What refers elsewhere may mean different things on both sides, and is
    dropped only where the caller knows that it does not matter (`refer`).
    """
    if not isinstance(outer, Mapping) or not isinstance(inner, Mapping) or depth > MAX_DEPTH:
        return outer, inner
    ours, theirs = outer.get("properties"), inner.get("properties")
    if not isinstance(ours, Mapping) or not isinstance(theirs, Mapping):
        return outer, inner
    if "unevaluatedProperties" in outer or "unevaluatedProperties" in inner:
        return outer, inner
    left, right = dict(ours), dict(theirs)
    for name in ours.keys() & theirs.keys():
        if same(ours[name], theirs[name]) and (refer or not _refers(ours[name])):
            left[name] = right[name] = True
        else:
            left[name], right[name] = _apart(ours[name], theirs[name], depth + 1, refer=refer)
    return {**outer, "properties": left}, {**inner, "properties": right}


def _refers_within(schema: Any) -> bool:
    """Whether something refers to other places than definitions: taking a property out would change its meaning."""
    references = (node.schema.get("$ref") for node in walk(schema))
    return any(isinstance(r, str) and not r.startswith(("#/$defs/", "#/definitions/")) for r in references)


def _refers(schema: Any) -> bool:
    return any(node.schema.keys() & {"$ref", "$dynamicRef", "$recursiveRef"} for node in walk(schema))


def unsatisfiable(schema: Any) -> list[str]:
    """Pointers of the subschemas that are proven to take no value at all."""
    handed = _uninterpreted(schema)
    if handed is None:
        return []
    try:
        found = canonical.find_unsatisfiable(handed, **_OPTIONS)
    except (ValueError, TypeError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError):
        return []
    return list(found)


def _canonical(schema: Any) -> jsonschema_rs.CanonicalSchema | None:
    handed = _uninterpreted(schema)
    if handed is None or _is_too_much(handed):
        return None
    try:
        return jsonschema_rs.canonicalize(handed, **_OPTIONS)
    except (ValueError, TypeError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError):
        return None


def _is_too_much(schema: Any) -> bool:
    """Whether canonical forms may take seconds: their cost grows with the cube of the parts and with every choice."""
    nodes = list(walk(schema))
    members = sum(len(node.schema["enum"]) for node in nodes if isinstance(node.schema.get("enum"), list))
    return len(nodes) + members // 4 > MAX_PARTS or any(_choices(node.schema, 0) > MAX_CHOICES for node in nodes)


def _choices(schema: Any, depth: int) -> int:
    """Into how many alternatives a schema may unfold at its own level."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return 1
    count = 1
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            count *= max(sum(_choices(branch, depth + 1) for branch in schema[word]), 1)
    for part in schema["allOf"] if isinstance(schema.get("allOf"), list) else ():
        count *= _choices(part, depth + 1)
    if "if" in schema:
        count *= 2
    if isinstance(schema.get("not"), Mapping):
        count *= sum(1 for _ in walk(schema["not"]))
    return count


def _uninterpreted(schema: Any) -> Any:
    """The schema with lax formats under names of their own; None where those names would prove too much."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping) or compile_tool(Tool("", parameters=schema)).broken:
        return None
    nodes = list(walk(schema))
    if not any(_is_lax(node.schema.get("format")) for node in nodes):
        return schema
    if any((_is_lax(node.schema.get("format")) or "$ref" in node.schema) and _is_inverted(node) for node in nodes):
        return None
    return _renamed(schema)


def _is_lax(name: Any) -> bool:
    return isinstance(name, str) and name in LAX_FORMATS


def _is_inverted(node: Node) -> bool:
    step: Node | None = node
    while step is not None:
        if step.keyword in _NOT_MONOTONE:
            return True
        step = step.parent
    return False


def _renamed(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    made = mapped(schema, _renamed)
    return {**made, "format": f"rightcall-{made['format']}"} if _is_lax(made.get("format")) else made
