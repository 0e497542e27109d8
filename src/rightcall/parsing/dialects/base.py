"""What a dialect is: where a block of calls may begin, and how to read it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rightcall.domain import ProblemKind
from rightcall.parsing.unreadable import Unreadable


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as the model wrote it. `arguments` is JSON text, or a value (with `RawText` for untyped leaves).

    `repairs` names what it took to read it; `fault` says why it could not be read.
    """

    name: str
    arguments: Any
    id: str | None = None
    repairs: tuple[str, ...] = ()
    fault: Unreadable | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a reply that a dialect claims: its end, and what it holds."""

    end: int
    calls: tuple[RawCall, ...] = ()
    text: str = ""
    reasoning: str = ""
    fault: Unreadable | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """The reply's text and what is known around it.

    `names` are the declared tools, `keys` every declared parameter, `parameters` those of each tool, and
    `cut` says that the server stopped at a length limit.
    """

    text: str
    names: tuple[str, ...] = ()
    parameters: dict[str, frozenset[str]] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    cut: bool = False
    ended: bool = False

    def declares(self, tool: str, parameter: str) -> bool:
        """Whether the tool has that parameter; true where the tool is not known."""
        declared = self.parameters.get(tool)
        return declared is None or parameter in declared


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way of writing calls.

    `opener` matches where a block may begin; `read` returns None where it is none of its own after all.
    `starts` are the literal beginnings of the opener, so that a stream knows what to hold back. A text that
    holds none of `needs` has no such block: the opener, which may be slow, is not searched for in it.
    `at_front`: such a block can only begin the reply.
    """

    name: str
    opener: re.Pattern[str]
    starts: tuple[str, ...]
    read: Callable[[Context, re.Match[str]], Block | None]
    needs: tuple[str, ...] = ("",)
    at_front: bool = False


def truncated(context: Context, reason: str, name: str = "") -> Block:
    """A block that the end of the text cut off."""
    fault = Unreadable(ProblemKind.TRUNCATED, reason, len(context.text))
    return Block(len(context.text), (RawCall(name, {}, fault=fault),) if name else (), fault=None if name else fault)


def unparseable(end: int, reason: str) -> Block:
    """A block that is meant as a call and cannot be read as one."""
    return Block(end, fault=Unreadable(ProblemKind.UNPARSEABLE, reason, end))


def repeated(name: str, key: str) -> Unreadable:
    """The fault of a parameter that a call gives twice, with two values."""
    return Unreadable(ProblemKind.AMBIGUOUS, f"the parameter {key!r} of {name} stands twice, with two values")


def skip_space(text: str, position: int) -> int:
    """The next position that is no white space."""
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def one_newline_off(value: str) -> str:
    """A value without the one newline that frames it at each end; everything else is data."""
    return value.removeprefix("\r").removeprefix("\n").removesuffix("\n").removesuffix("\r")
