"""Rewrites of schemas as lenses and trims over whole lists of tools, each tool done once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from rightcall.domain import KEPT_TOOLS, JsonObject, Tool
from rightcall.lens import Context, PresentedTool, as_it_is
from rightcall.schema.rewrite.places import MovedArguments, Place

_STILL = Place()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A lens that makes of each tool's parameters other ones, and a place that leads back."""

    rewrite: Callable[[JsonObject], tuple[JsonObject, Place]]

    def present(self, tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
        """Each tool rewritten; see `rightcall.lens.Lens`."""
        del context
        return _all_rewritten(self.rewrite, tools)


@dataclass(frozen=True, slots=True)
class Plainer:
    """A trim that writes each tool's parameters in a plainer way."""

    write: Callable[[JsonObject], JsonObject]

    def trim(self, tools: tuple[Tool, ...], context: Context) -> tuple[Tool, ...]:
        """Each tool as it is sent; see `rightcall.lens.Trim`."""
        del context
        return _all_written(self.write, tools)


def same_meaning(write: Callable[[JsonObject], JsonObject]) -> Callable[[JsonObject], tuple[JsonObject, Place]]:
    """A rewrite that changes how a schema says it and not what it takes, so that arguments stay where they are."""

    def rewrite(schema: JsonObject) -> tuple[JsonObject, Place]:
        return write(schema), _STILL

    return rewrite


@lru_cache(maxsize=64)
def _all_rewritten(
    rewrite: Callable[[JsonObject], tuple[JsonObject, Place]], tools: tuple[Tool, ...]
) -> tuple[PresentedTool, ...]:
    return tuple(_rewritten(rewrite, tool) for tool in tools)


@lru_cache(maxsize=KEPT_TOOLS)
def _rewritten(rewrite: Callable[[JsonObject], tuple[JsonObject, Place]], tool: Tool) -> PresentedTool:
    parameters, place = rewrite(tool.parameters)
    if parameters is tool.parameters:
        return as_it_is(tool)
    shown = replace(tool, parameters=parameters)
    return PresentedTool(shown, tool, MovedArguments(place)) if place.changes else PresentedTool(shown, tool)


@lru_cache(maxsize=64)
def _all_written(write: Callable[[JsonObject], JsonObject], tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    return tuple(_written(write, tool) for tool in tools)


@lru_cache(maxsize=KEPT_TOOLS)
def _written(write: Callable[[JsonObject], JsonObject], tool: Tool) -> Tool:
    parameters = write(tool.parameters)
    return tool if parameters is tool.parameters else replace(tool, parameters=parameters)
