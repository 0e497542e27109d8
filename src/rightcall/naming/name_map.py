"""The name map: what a model was found to call each tool and parameter, and what a person made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from rightcall.errors import UsageError
from rightcall.naming.names import MAX_LENGTH, folded, is_acceptable
from rightcall.naming.peakedness import ALPHA, Candidate, Method
from rightcall.schema.pointers import pointer_of, steps

Part = Literal["both", "tools", "parameters"]


@dataclass(frozen=True, slots=True)
class AlignSettings:
    """How names are found. The defaults are PA-Tool's (section 4.3; their effect: appendix A.4).

    `only` names one kind of component where not both are to be renamed, `describe` asks for plainer descriptions,
    `accept_flagged` takes names that are flagged for a person too.
    """

    method: Method = Method.PEAKEDNESS
    candidates: int = 32
    temperature: float = 0.4
    alpha: float = ALPHA
    seed: int = 0
    only: Part = "both"
    describe: bool = False
    accept_flagged: bool = False

    @property
    def samples(self) -> int:
        """How many candidates are drawn for each component."""
        return 0 if self.method is Method.GREEDY else self.candidates


@dataclass(frozen=True, slots=True)
class Naming:
    """One component: what it is called, what is proposed and why, and what was accepted.

    `place` is a parameter's pointer, empty for a tool. `accepted` is the name to show, empty while undecided.
    `margin` is how far the proposal is ahead of the best name unlike it; `flags` say why a person should look.
    """

    original: str
    proposed: str
    accepted: str = ""
    place: str = ""
    peakedness: int = 0
    count: int = 0
    margin: int = 0
    greedy: str = ""
    flags: tuple[str, ...] = ()
    alternatives: tuple[Candidate, ...] = ()
    about: str = ""

    @property
    def shown(self) -> str:
        """What the model is shown."""
        return self.accepted or self.original

    @property
    def scope(self) -> str:
        """The pointer of the object whose parameters must differ; empty for the tool's own."""
        return pointer_of(steps(self.place)[:-1])


@dataclass(frozen=True, slots=True)
class ToolNaming:
    """A tool with its parameters. `fingerprint` is of the tool as it was; `description` replaces its own if set."""

    tool: Naming
    fingerprint: str
    parameters: tuple[Naming, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class NameMap:
    """All of it. `model` and `build` say which model the names are from."""

    model: str
    build: str = ""
    settings: AlignSettings = AlignSettings()
    tools: tuple[ToolNaming, ...] = ()
    by_name: Mapping[str, ToolNaming] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {each.tool.original: each for each in self.tools})

    def namings(self) -> Iterator[tuple[str, Naming]]:
        """Every component with the original name of its tool, in order."""
        for each in self.tools:
            for naming in (each.tool, *each.parameters):
                yield each.tool.original, naming

    def scopes(self) -> Iterator[list[tuple[str, Naming]]]:
        """The same, put together as their names must differ: all tools, and the parameters of each object."""
        together: defaultdict[tuple[str, str], list[tuple[str, Naming]]] = defaultdict(list)
        for tool, naming in self.namings():
            together[(tool, naming.scope) if naming.place else ("", "")].append((tool, naming))
        yield from together.values()

    def beside(self, tool: str, naming: Naming) -> list[Naming]:
        """The components whose names a component's must differ from, itself among them."""
        if not naming.place:
            return [each.tool for each in self.tools]
        return [each for each in self.by_name[tool].parameters if each.scope == naming.scope]

    def changed(self, change: Callable[[str, Naming], Naming]) -> NameMap:
        """The same with each component as `change` makes it of its tool's original name and of itself."""
        return replace(
            self,
            tools=tuple(
                replace(
                    each,
                    tool=change(each.tool.original, each.tool),
                    parameters=tuple(change(each.tool.original, parameter) for parameter in each.parameters),
                )
                for each in self.tools
            ),
        )

    def check(self) -> None:
        """Raises `UsageError` where a component would be shown under a name that it must not have."""
        for scope in self.scopes():
            taken = Taken(naming for _, naming in scope)
            for tool, naming in scope:
                if naming.accepted and (objection := taken.objection_to(naming.accepted, naming)):
                    what = f"the parameter {naming.place} of {tool!r}" if naming.place else f"the tool {tool!r}"
                    raise UsageError(f"{what} cannot be shown as {naming.accepted!r}: {objection}")


class Taken:
    """The names of components that stand side by side: their originals, and what they are shown as."""

    def __init__(self, beside: Iterable[Naming]) -> None:
        self._by_folded: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for naming in beside:
            self._by_folded[folded(naming.shown)][naming.original] = f"is shown as {naming.shown!r}"
            self._by_folded[folded(naming.original)][naming.original] = "has that name originally"

    def objection_to(self, name: str, naming: Naming) -> str | None:
        """Why one of them cannot be shown under a name; None where it can. Its original name is always free."""
        if name == naming.original:
            return None
        if not is_acceptable(name):
            return (
                "a name begins with a letter or _ and goes on with letters, digits, _ and -,"
                f" {MAX_LENGTH} characters at most"
            )
        others = self._by_folded.get(folded(name), {})
        return next((f"{other!r} {why}" for other, why in others.items() if other != naming.original), None)
