"""The laws of `rightcall.lens`, for any lens: used by the tests of every lens that there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rightcall.domain import ModelRequest, Tool
from rightcall.lens import Context, Lens, PresentedTool, through
from rightcall.schema.compiled import compile_tool
from rightcall.schema.pointers import pointer_of


def presented(lenses: Sequence[Lens], *tools: Tool, messages: Any = ()) -> tuple[PresentedTool, ...]:
    """What lenses make of tools, seen to be well formed: unique names, compiling schemas."""
    entries = through(lenses, tools, Context(ModelRequest(messages, tools=tools)))
    names = [entry.tool.name for entry in entries]
    assert len(set(names)) == len(names)
    for entry in entries:
        assert (
            compile_tool(entry.tool).broken is None or compile_tool(entry.original or entry.tool).broken is not None
        )
    return entries


def check_restores(entry: PresentedTool, arguments: dict[str, Any]) -> None:
    """What the shown schema accepts restores to what the original accepts."""
    assert entry.original is not None
    assert compile_tool(entry.tool).accepts(arguments), "the test made arguments that the shown schema refuses"
    restored = entry.arguments.original(arguments)
    assert compile_tool(entry.original).accepts(restored), (arguments, restored)


def check_round_trip(entry: PresentedTool, arguments: dict[str, Any]) -> None:
    """Original arguments come back as they were, and so does the pointer to each value that is shown."""
    shown = entry.arguments.shown(arguments)
    assert entry.arguments.original(shown) == arguments, (arguments, shown)
    for pointer, value in leaves(shown):
        back = entry.arguments.original_path(pointer)
        if not pointer:  # nothing is shown at all: the parts of an empty object stood where it had no place
            assert back == ""
            continue
        assert (back, value) in list(leaves(arguments)), (pointer, back)
        there = entry.arguments.shown_path(back)
        # An object whose parts stand beside the others has no place of its own, only one around it.
        assert there == pointer or (value in (None, {}) and pointer.startswith(there)), (pointer, back, there)


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that holds no other, with its pointer."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, pointer + pointer_of([key]))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, f"{pointer}/{index}")
    else:
        yield pointer, value
