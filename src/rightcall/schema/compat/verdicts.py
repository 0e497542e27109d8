"""The words of a comparison, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class Verdict(IntEnum):
    """What a change does to calls that were valid before; a larger one is worse."""

    COMPATIBLE = 0
    """Proven: every call that the old schema takes, the new one takes too."""
    SEMANTIC = 1
    """The same contract in other words: descriptions, titles, defaults, examples."""
    UNDECIDED = 2
    """Neither a proof nor an example."""
    POLICY = 3
    """A range or a permission was tightened: bounds, lengths, members, patterns, formats, effects."""
    STRUCTURAL = 4
    """An old valid call now fails for its form: types, required and declared properties, unions; or has no tool."""

    @property
    def word(self) -> str:
        """The name as it is shown and written."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `pointer` leads to it in the tool, `example` holds at most one call that shows it.

    `before` and `after` are the keyword's values, None where there was none.
    """

    pointer: str
    what: str
    verdict: Verdict
    before: Any = None
    after: Any = None
    example: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolDiff:
    """What happened to one tool. `before` and `after` are its fingerprints, None where it is not there.

    `renamed_to` names the new tool that this old one seems to have become.
    """

    name: str
    verdict: Verdict
    changes: tuple[Change, ...] = ()
    before: str | None = None
    after: str | None = None
    renamed_to: str | None = None
    example: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolsetDiff:
    """Two toolsets compared, tool by tool, in the old order; new tools stand behind."""

    tools: tuple[ToolDiff, ...] = ()
    before: str = ""
    after: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> Verdict:
        """The worst of the tools' verdicts."""
        return max((tool.verdict for tool in self.tools), default=Verdict.COMPATIBLE)
