"""Lenses: what a model is shown instead of the tools that were offered, and the way back. The contract.

A lens changes the form of tools (names, the places of arguments, descriptions) and knows both ways. A trim
changes only what is written to the model; its calls are still checked against the untrimmed form, so a trim may
leave out what an engine cannot read and need not be undone. `presentation` puts lenses and trims together.

Laws, tested with generated schemas and values (`tests/schema/test_rewrite_laws.py`; `check_laws` of
`tests/lens_laws.py` takes any lens):

- arguments that the shown schema accepts restore to arguments that the original schema accepts;
- showing original arguments and restoring them gives them back, as far as their names are declared;
- a pointer to a value that is shown comes back as it was.

Nothing here raises on what a model or a client wrote: what does not fit is passed on for validation to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from rightcall.domain import KEPT_TOOLS, JsonObject, ModelRequest, Tool, ToolCall


class ArgumentLens(Protocol):
    """The arguments of one tool, in the form that the model is shown and in the original one. Pure."""

    def shown(self, arguments: JsonObject) -> dict[str, Any]:
        """Original arguments as the model would write them."""
        ...

    def original(self, arguments: JsonObject) -> dict[str, Any]:
        """What the model wrote, as the original tool takes it. A value that is not there is never filled in."""
        ...

    def shown_path(self, pointer: str) -> str:
        """Where the model sees what stands at an original JSON pointer; the nearest place around it, if nowhere."""
        ...

    def original_path(self, pointer: str) -> str:
        """Where in the original arguments stands what the model sees at a JSON pointer."""
        ...


class _Unchanged:
    """Arguments that are shown as they are."""

    def shown(self, arguments: JsonObject) -> dict[str, Any]:
        return dict(arguments)

    def original(self, arguments: JsonObject) -> dict[str, Any]:
        return dict(arguments)

    def shown_path(self, pointer: str) -> str:
        return pointer

    def original_path(self, pointer: str) -> str:
        return pointer


UNCHANGED: ArgumentLens = _Unchanged()


@dataclass(frozen=True, slots=True)
class _Composed:
    """`second` looks at what `first` shows."""

    first: ArgumentLens
    second: ArgumentLens

    def shown(self, arguments: JsonObject) -> dict[str, Any]:
        return self.second.shown(self.first.shown(arguments))

    def original(self, arguments: JsonObject) -> dict[str, Any]:
        return self.first.original(self.second.original(arguments))

    def shown_path(self, pointer: str) -> str:
        return self.second.shown_path(self.first.shown_path(pointer))

    def original_path(self, pointer: str) -> str:
        return self.first.original_path(self.second.original_path(pointer))


def composed(first: ArgumentLens, second: ArgumentLens) -> ArgumentLens:
    """Both, `first` nearest to the original."""
    if first is UNCHANGED:
        return second
    return first if second is UNCHANGED else _Composed(first, second)


@dataclass(frozen=True, slots=True)
class Found:
    """A search of a catalogue: its version (a toolset fingerprint), and the tools that fit with their scores."""

    query: str
    version: str
    matches: tuple[tuple[Tool, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """A call that means: no tool fits. The turn ends in words: the model's own, else `text`."""

    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """A call that asks rightcall itself: `text` is its result for the model, which is then asked again.

    `load` names original tools that are to be shown from then on (`Context.loaded`). Where that shows new ones, they
    stand for the result, and the model is asked as if it had seen them from the start. `found` is what was searched.
    """

    text: str
    load: tuple[str, ...] = ()
    found: Found | None = None


Answer: TypeAlias = Declined | Told


@dataclass(frozen=True, slots=True, eq=False)
class PresentedTool:
    """A tool as the model is shown it.

    `tool` is its shown form, against which calls are read and checked. `original` is the tool that it stands
    for; None where it is the lens's own, and then `answer` says what a call of it means. Compared by identity.
    """

    tool: Tool
    original: Tool | None
    arguments: ArgumentLens = UNCHANGED
    answer: Callable[[ToolCall], Answer] | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What a lens may know of the turn: the request in its original terms, and the tools asked for since.

    A lens that searches puts what it found into `found`, for the log.
    """

    request: ModelRequest
    loaded: tuple[str, ...] = ()
    found: list[Found] = field(default_factory=list)

    @property
    def needed(self) -> frozenset[str]:
        """Original names that have to be shown: the demanded tool, and what was asked for."""
        named = self.request.choice.name
        return frozenset((*self.loaded, named)) if named else frozenset(self.loaded)


class Lens(Protocol):
    """One way of showing tools otherwise."""

    def present(self, tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
        """The tools to show, in order: each of those given (or some of them), and tools of the lens's own.

        Shown names are unique. An `original` here is one of `tools`, by identity. Equal tools of different
        requests are the same objects, so a lens keeps what it has made with `lru_cache` (best of all for the whole
        list, which then costs a lookup a turn), and returns `as_it_is(tool)` for what it does not change.
        """
        ...


class Trim(Protocol):
    """One way of writing less of tools, or writing them plainer, without changing what a call is checked by."""

    def trim(self, tools: tuple[Tool, ...], context: Context) -> tuple[Tool, ...]:
        """The tools to send: as many, of the same names, in the same order. May be kept with `lru_cache`."""
        ...


@dataclass(frozen=True, slots=True)
class Presentation:
    """Lenses in order, the first nearest to the original, then trims in order."""

    lenses: tuple[Lens, ...] = field(default=())
    trims: tuple[Trim, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.lenses or self.trims)


AS_OFFERED = Presentation()
"""The neutral value: the model is shown what the client offered."""


@lru_cache(maxsize=KEPT_TOOLS)
def as_it_is(tool: Tool) -> PresentedTool:
    """A tool shown unchanged; the same object for the same tool."""
    return PresentedTool(tool, tool)


def through(lenses: Iterable[Lens], tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
    """Tools seen through lenses, one after another."""
    presented = _all_as_they_are(tools)
    for lens in lenses:
        presented = _seen(presented, lens.present(tuple(entry.tool for entry in presented), context))
    return presented


@lru_cache(maxsize=64)
def _all_as_they_are(tools: tuple[Tool, ...]) -> tuple[PresentedTool, ...]:
    return tuple(map(as_it_is, tools))


@lru_cache(maxsize=256)
def _seen(before: tuple[PresentedTool, ...], after: tuple[PresentedTool, ...]) -> tuple[PresentedTool, ...]:
    behind = {id(entry.tool): entry for entry in before}
    return tuple(entry if entry.original is None else _joined(behind[id(entry.original)], entry) for entry in after)


@lru_cache(maxsize=KEPT_TOOLS)
def _joined(first: PresentedTool, second: PresentedTool) -> PresentedTool:
    if second.tool is first.tool:
        return first
    if first.original is first.tool:
        return second
    arguments = composed(first.arguments, second.arguments)
    return PresentedTool(second.tool, first.original, arguments, first.answer)
