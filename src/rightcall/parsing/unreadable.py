"""Why a text cannot be read: the one exception of the parsing stage, caught where a Problem is made of it."""

from __future__ import annotations

from rightcall.domain import ProblemKind


class Unreadable(Exception):
    """A text that is no JSON and has no certain repair."""

    def __init__(self, kind: ProblemKind, reason: str, position: int = 0) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.position = position


def unparseable_at(position: int, reason: str) -> Unreadable:
    """The fault of a text in which something else stands than can be read."""
    return Unreadable(ProblemKind.UNPARSEABLE, f"{reason} (character {position})", position)


def cut_at(position: int, reason: str) -> Unreadable:
    """The fault of a text that ends too early."""
    return Unreadable(ProblemKind.TRUNCATED, reason, position)
