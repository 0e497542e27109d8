"""Tools shown under the names of a name map. The way back is the contract's: calls, problems, history, choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from rightcall.domain import KEPT_TOOLS, Tool
from rightcall.lens import Context, PresentedTool, as_it_is
from rightcall.naming.name_map import NameMap, ToolNaming
from rightcall.naming.names import folded
from rightcall.schema.fingerprint import tool_fingerprint
from rightcall.schema.pointers import steps
from rightcall.schema.rewrite.places import MovedArguments
from rightcall.schema.rewrite.rename import renamed

Say = Callable[[str], object]


def _unsaid(message: str) -> None:
    """Takes a remark that nobody wants to hear."""


@dataclass(frozen=True, slots=True, eq=False)
class NamesLens:
    """A lens that has to stand first, because a map knows tools by the fingerprint of how they were offered.

    `say` is told, in a sentence, which tools have changed since the map was made, and if the map was made for
    another model; it may be told the same more than once.
    """

    names: NameMap
    say: Say = _unsaid

    def present(self, tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
        """Each tool that is in the map, and is as it was then, under its accepted names."""
        self._compare(context.request.model)
        return _all_renamed(self, tools)

    def _compare(self, model: str) -> None:
        made_for = self.names.model
        # Servers tag and shorten names of models, so a part of the other is near enough.
        one, other = folded(model), folded(made_for)
        if one and other and one not in other and other not in one:
            self.say(
                f"the name map was made for {made_for!r} and is used for {model!r}. Names from another model help,"
                " as a rule, and its own help more: rightcall align"
            )


@lru_cache(maxsize=64)
def _all_renamed(lens: NamesLens, tools: tuple[Tool, ...]) -> tuple[PresentedTool, ...]:
    known = {tool.name: entry for tool in tools if (entry := _entry(lens, tool)) is not None}
    shown = _free({tool.name: known[tool.name].tool.shown if tool.name in known else tool.name for tool in tools})
    return tuple(_renamed(lens, tool, shown[tool.name]) if tool.name in known else as_it_is(tool) for tool in tools)


def _entry(lens: NamesLens, tool: Tool) -> ToolNaming | None:
    """What the map says of a tool, if it is still the tool that the map speaks of."""
    entry = lens.names.by_name.get(tool.name)
    if entry is None or entry.fingerprint == tool_fingerprint(tool):
        return entry
    lens.say(
        f"the tool {tool.name!r} has changed since the name map was made and is shown as it is."
        " rightcall align names it anew"
    )
    return None


def _free(shown: dict[str, str]) -> dict[str, str]:
    """Shown names by original; one that another tool of the request has, by any name, gives way to the original."""
    while True:
        taken: dict[str, set[str]] = {}
        for original, name in shown.items():
            for each in (original, name):
                taken.setdefault(each, set()).add(original)
        clashing = _clashing(shown.items(), taken)
        if not clashing:
            return shown
        shown |= {original: original for original in clashing}


def _clashing(shown: Iterable[tuple[str, str]], taken: dict[str, set[str]]) -> list[str]:
    return [original for original, name in shown if name != original and taken[name] != {original}]


@lru_cache(maxsize=KEPT_TOOLS)
def _renamed(lens: NamesLens, tool: Tool, name: str) -> PresentedTool:
    entry = lens.names.by_name[tool.name]
    new = {each.place: each.shown for each in entry.parameters}

    def name_of(pointer: str, schema: Any) -> str:
        del schema
        return new.get(pointer) or steps(pointer)[-1]

    parameters, place = renamed(tool.parameters, name_of)
    description = entry.description or tool.description
    if name == tool.name and description == tool.description and parameters is tool.parameters:
        return as_it_is(tool)
    shown = replace(tool, name=name, description=description, parameters=parameters)
    return PresentedTool(shown, tool, MovedArguments(place)) if place.changes else PresentedTool(shown, tool)
