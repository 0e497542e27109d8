"""What can be named in a list of tools: the tools, and those parameters that can be shown under other names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rightcall.domain import Tool
from rightcall.schema.pointers import pointer_of, steps
from rightcall.schema.references import resolve
from rightcall.schema.rewrite.rename import renamed


@dataclass(frozen=True, slots=True)
class Component:
    """A tool (`place` is empty) or a parameter, at its pointer (`/order/id`, `/items/-/id` in a list)."""

    tool: str
    place: str
    name: str
    description: str

    @property
    def scope(self) -> tuple[str, str]:
        """What its name must be unique in: all tools, or one object of one tool."""
        if not self.place:
            return ("", "")
        return (self.tool, pointer_of(steps(self.place)[:-1]))


def components(tool: Tool) -> Iterator[Component]:
    """The tool, then its parameters in the order written."""
    yield Component(tool.name, "", tool.name, tool.description)
    found: list[Component] = []

    def note(pointer: str, schema: Any) -> str:
        name = steps(pointer)[-1]
        found.append(Component(tool.name, pointer, name, _description(schema, tool.parameters)))
        return name

    # What the lens will rename is what it is asked names for here.
    renamed(tool.parameters, note)
    yield from found


def _description(schema: Any, root: Mapping[str, Any]) -> str:
    said = resolve(schema, root)
    text = said.get("description") if isinstance(said, Mapping) else None
    return text if isinstance(text, str) else ""
