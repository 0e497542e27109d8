"""JSON pointers (RFC 6901) as steps and back."""

from __future__ import annotations

from collections.abc import Iterable


def steps(pointer: str) -> list[str]:
    """The unescaped steps of a pointer; none for the whole document."""
    return [raw.replace("~1", "/").replace("~0", "~") for raw in pointer.split("/")[1:]]


def pointer_of(steps: Iterable[str | int]) -> str:
    """The pointer of steps."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)
