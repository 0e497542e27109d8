"""Where the values of arguments stand: the one way in which rewrites move them, both ways.

A `Place` describes one object: `names` gives each declared key its shown key, `spread` the objects whose parts
are shown beside the others, `below` what goes on inside a value. Flattening and renaming are places; what a
place does not know stays as it is, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rightcall.domain import JsonObject
from rightcall.schema.pointers import pointer_of, steps


@dataclass(frozen=True, eq=False)
class Place:
    """One object, or with `items` one list, and how it is shown. Shown keys are unique over it and its spreads."""

    names: Mapping[str, str] = field(default_factory=dict)
    spread: Mapping[str, Spread] = field(default_factory=dict)
    below: Mapping[str, Place] = field(default_factory=dict)
    items: Place | None = None

    @cached_property
    def back(self) -> dict[str, tuple[tuple[str, ...], Place | None]]:
        """For each shown key the steps to where its value stands, and the place inside that value."""
        found: dict[str, tuple[tuple[str, ...], Place | None]] = {}
        for name, shown in self.names.items():
            found[shown] = ((name,), self.below.get(name))
        for name, part in self.spread.items():
            found |= {shown: ((name, *path), place) for shown, (path, place) in part.place.back.items()}
        return found

    @property
    def changes(self) -> bool:
        """Whether anything is shown otherwise."""
        return (
            bool(self.spread)
            or any(name != shown for name, shown in self.names.items())
            or any(place.changes for place in self.below.values())
            or (self.items is not None and self.items.changes)
        )


@dataclass(frozen=True, eq=False)
class Spread:
    """An object whose parts are shown where it stands itself. `always`: it is required wherever its parent is."""

    place: Place
    always: bool


@dataclass(frozen=True, slots=True, eq=False)
class MovedArguments:
    """The `ArgumentLens` of a place."""

    place: Place

    def shown(self, arguments: JsonObject) -> dict[str, Any]:
        """Original arguments as the model would write them; what has no place of its own stays in its old form."""
        return _shown_object(self.place, arguments)

    def original(self, arguments: JsonObject) -> dict[str, Any]:
        """What the model wrote, in the original form. An object none of whose parts is there stays absent."""
        return _original_object(self.place, arguments)

    def shown_path(self, pointer: str) -> str:
        """Where the model sees it; for an object whose parts are spread, the object around it."""
        place: Place | None = self.place
        out: list[str] = []
        within: list[str] = []
        left = steps(pointer)
        while left and place is not None:
            step = left.pop(0)
            if step in place.names:
                out.append(place.names[step])
                place, within = place.below.get(step), []
            elif step in place.spread:
                within.append(step)
                place = place.spread[step].place
            elif place.items is not None and step.isdecimal():
                out.append(step)
                place = place.items
            else:
                out += [*within, step]
                place = None
        return pointer_of([*out, *left])

    def original_path(self, pointer: str) -> str:
        """Where in the original arguments that stands."""
        place: Place | None = self.place
        out: list[str] = []
        left = steps(pointer)
        while left and place is not None:
            step = left.pop(0)
            if step in place.back:
                path, place = place.back[step]
                out += path
            else:
                out.append(step)
                place = place.items if step.isdecimal() else None
        return pointer_of([*out, *left])


def _each_object(place: Place | None, value: Any, change: Callable[[Place, JsonObject], Any]) -> Any:
    """The value with `change` made of the object that stands at a place, or of each one in a list there."""
    if place is None:
        return value
    if isinstance(value, Mapping):
        return change(place, value)
    if isinstance(value, list) and place.items is not None:
        return [_each_object(place.items, item, change) for item in value]
    return value


# -- from original to shown ------------------------------------------------------------------------------------


def _shown_value(place: Place | None, value: Any) -> Any:
    return _each_object(place, value, _shown_object)


def _shown_object(place: Place, value: JsonObject) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    rest, _ = _scatter(place, value, shown)
    return shown | {key: item for key, item in rest.items() if key not in place.back}


def _scatter(place: Place, value: JsonObject, shown: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Puts each declared value under its shown key; returns what is left, and whether anything was moved."""
    rest: dict[str, Any] = {}
    moved = False
    for key, item in value.items():
        part = place.spread.get(key)
        if key in place.names:
            shown[place.names[key]] = _shown_value(place.below.get(key), item)
            moved = True
        elif part is not None and isinstance(item, Mapping):
            left, any_moved = _scatter(part.place, item, shown)
            if left or not (any_moved or part.always):
                # Without a part to show it by, it could not be told from one that is absent.
                rest[key] = left if any_moved else dict(item)
            moved = moved or any_moved
        else:
            rest[key] = item
    return rest, moved


# -- from shown to original ------------------------------------------------------------------------------------


def _original_value(place: Place | None, value: Any) -> Any:
    return _each_object(place, value, _original_object)


def _original_object(place: Place, shown: JsonObject) -> dict[str, Any]:
    value, _ = _gather(place, shown)
    return _merged(value, {key: item for key, item in shown.items() if key not in place.back})


def _gather(place: Place, shown: JsonObject) -> tuple[dict[str, Any], bool]:
    """The declared values of one object out of what is shown, and whether there are any."""
    value: dict[str, Any] = {}
    found = False
    for name, key in place.names.items():
        if key in shown:
            value[name] = _original_value(place.below.get(name), shown[key])
            found = True
    for name, part in place.spread.items():
        inner, any_found = _gather(part.place, shown)
        if any_found or part.always:
            value[name] = inner
        found = found or any_found
    return value, found


def _merged(value: dict[str, Any], rest: JsonObject) -> dict[str, Any]:
    """`value` with what stayed in its old form; where both say something, `value` holds."""
    for key, item in rest.items():
        here = value.get(key)
        if key not in value:
            value[key] = item
        elif isinstance(here, dict) and isinstance(item, Mapping):
            value[key] = _merged(here, item)
    return value
