"""The single edits that turn one schema into another, each of which can be made alone.

An edit is a keyword that was set, changed or taken away at a place that both schemas have. Making it alone in the
old schema shows what it does by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rightcall.schema.keywords import ANNOTATIONS, ASSERTIONS, LISTS, MAPS, ONE
from rightcall.schema.pointers import pointer_of

_MAX_DEPTH = 64
ABSENT: Any = object()
"""Stands for a keyword that is not there, which None could not: it is a JSON value."""
_RESOLVING = frozenset(("$anchor", "$dynamicAnchor", "$id", "$schema", "id"))
"""Annotations that decide what references and keywords mean."""


@dataclass(frozen=True, slots=True)
class Edit:
    """`path` leads to the place in both schemas; the last step is the keyword, the property or the index.

    `member` is set where one name was put into, or taken out of, a `required` list.
    """

    path: tuple[str | int, ...]
    before: Any
    after: Any
    member: str | None = None

    @property
    def pointer(self) -> str:
        """A JSON pointer to the place."""
        return pointer_of(self.path)

    @property
    def keyword(self) -> str:
        """The keyword that was edited, or that holds what was."""
        holders = [step for step in self.path if isinstance(step, str)]
        if len(self.path) > 1 and self.path[-2] in MAPS | LISTS:
            return str(self.path[-2])
        return holders[-1] if holders else ""

    @property
    def is_definition(self) -> bool:
        """Whether it only adds or takes away a named schema, which decides nothing until something refers to it."""
        return self.keyword in {"$defs", "definitions"} and (self.before is ABSENT or self.after is ABSENT)

    @property
    def is_wording(self) -> bool:
        """Whether it decides nothing about values: an annotation, or a keyword that JSON Schema does not have."""
        keyword = self.keyword
        if keyword in _RESOLVING:
            return False
        return keyword in ANNOTATIONS or (
            keyword not in ASSERTIONS | MAPS | LISTS | ONE and not keyword.startswith("$")
        )


def edits(old: Any, new: Any) -> list[Edit]:
    """The edits between two schemas, in the order of the old one, then what the new one adds."""
    return list(_edits(old, new, (), 0))


def made(schema: Any, edit: Edit) -> Any:
    """A copy of the old schema with one edit made."""
    if not edit.path:
        return edit.after
    copied = json.loads(json.dumps(schema))
    place = copied
    for step in edit.path[:-1]:
        place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
    last: Any = edit.path[-1]
    if edit.member is not None:
        names = [name for name in place.get(last, []) if name != edit.member]
        place[last] = names if edit.after is ABSENT else [*names, edit.member]
    elif edit.after is ABSENT:
        del place[last]
    else:
        place[last] = edit.after
    return copied


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values in depth: 1 and 1.0 are the same number, true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    return (numbers or type(left) is type(right)) and bool(left == right)


def _edits(old: Any, new: Any, path: tuple[str | int, ...], depth: int) -> Iterator[Edit]:
    if same(old, new):
        return
    if not isinstance(old, Mapping) or not isinstance(new, Mapping) or depth > _MAX_DEPTH:
        yield Edit(path, old, new)
        return
    for keyword in dict.fromkeys((*old, *new)):
        before, after = old.get(keyword, ABSENT), new.get(keyword, ABSENT)
        at = (*path, keyword)
        if before is not ABSENT and after is not ABSENT and same(before, after):
            continue
        if keyword in MAPS and _is_map(before) and _is_map(after):
            yield from _mapped({} if before is ABSENT else before, {} if after is ABSENT else after, at, depth)
        elif keyword in LISTS and isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
            for index, (a, b) in enumerate(zip(before, after, strict=True)):
                yield from _edits(a, b, (*at, index), depth + 1)
        elif keyword in ONE and isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _edits(before, after, at, depth + 1)
        elif keyword == "required" and _names(before) is not None and _names(after) is not None:
            yield from _required(before, after, at)
        else:
            yield Edit(at, before, after)


def _is_map(value: Any) -> bool:
    return value is ABSENT or isinstance(value, Mapping)


def _mapped(
    before: Mapping[str, Any], after: Mapping[str, Any], at: tuple[str | int, ...], depth: int
) -> Iterator[Edit]:
    for name in dict.fromkeys((*before, *after)):
        if name not in before:
            yield Edit((*at, name), ABSENT, after[name])
        elif name not in after:
            yield Edit((*at, name), before[name], ABSENT)
        else:
            yield from _edits(before[name], after[name], (*at, name), depth + 1)


def _required(before: Any, after: Any, at: tuple[str | int, ...]) -> Iterator[Edit]:
    old, new = _names(before) or [], _names(after) or []
    for name in dict.fromkeys((*old, *new)):
        if name not in new:
            yield Edit(at, name, ABSENT, name)
        elif name not in old:
            yield Edit(at, ABSENT, name, name)


def _names(value: Any) -> list[str] | None:
    if value is ABSENT:
        return []
    return value if isinstance(value, list) and all(isinstance(name, str) for name in value) else None
