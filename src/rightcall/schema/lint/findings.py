"""The words of the linter, as data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Any

from rightcall.domain import Tool
from rightcall.schema.keywords import Node, walk
from rightcall.schema.references import own_types


class Severity(IntEnum):
    """How bad a finding is; a larger one is worse."""

    INFO = 0
    """Worth knowing; often right to leave."""
    WARNING = 1
    """Likely to cost right calls."""
    ERROR = 2
    """A contradiction: some or all right calls are impossible, or the tool cannot be used."""

    @property
    def word(self) -> str:
        """The name as it is shown and written."""
        return self.name.lower()


class Strength(StrEnum):
    """What stands behind a rule."""

    MEASURED = "measured"
    """Someone counted what it costs."""
    REPORTED = "reported"
    """Users or documentation say that it happens."""
    OPINION = "opinion"
    """Sound reasoning, and no numbers."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """How strong, and where it can be looked up."""

    strength: Strength
    where: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a rule applies: a JSON pointer into the tool, and what is wrong there.

    `fix`, `severity` and `evidence` take the place of the rule's own where they are set.
    """

    pointer: str
    why: str
    fix: str = ""
    severity: Severity | None = None
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: `rule` at `pointer` in `tool` (its name; `index` its place in the list)."""

    rule: str
    severity: Severity
    tool: str
    index: int
    pointer: str
    why: str
    fix: str
    evidence: Evidence


class LintedTool:
    """A tool as rules look at it; every schema in it with a pointer from the tool's root."""

    def __init__(self, tool: Tool, index: int = 0) -> None:
        self.tool, self.index = tool, index
        self.schema: Mapping[str, Any] = json.loads(json.dumps(tool.parameters))

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every schema, parents first."""
        return tuple(walk(self.schema, "/parameters"))

    @cached_property
    def parameters(self) -> tuple[Node, ...]:
        """The schemas of named properties, at any depth."""
        return tuple(node for node in self.nodes if node.is_parameter)


CheckTool = Callable[[LintedTool], Iterable[Hit]]
CheckToolset = Callable[[tuple[LintedTool, ...]], Iterable[tuple[LintedTool, Hit]]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `check` looks at one tool, `check_all` at all of them together; one of the two is there."""

    id: str
    title: str
    severity: Severity
    why: str
    fix: str
    evidence: Evidence
    check: CheckTool | None = None
    check_all: CheckToolset | None = None

    def findings(self, tools: tuple[LintedTool, ...]) -> Iterator[Finding]:
        """What the rule finds in the tools."""
        if self.check_all is not None:
            found = self.check_all(tools)
        elif self.check is not None:
            check = self.check
            found = ((tool, hit) for tool in tools for hit in check(tool))
        else:
            found = ()
        for tool, hit in found:
            yield Finding(
                self.id,
                self.severity if hit.severity is None else hit.severity,
                tool.tool.name,
                tool.index,
                hit.pointer,
                hit.why,
                hit.fix or self.fix,
                hit.evidence or self.evidence,
            )


ARTICLE = "Making Small Models Reliable at Tool-Calling, Design the schema for the model you have"
ESSAY = "How Tool Schemas Change Agent Behavior"


def description_of(node: Node) -> str:
    """What a schema says of itself; empty where it says nothing."""
    text = node.schema.get("description")
    return text if isinstance(text, str) else ""


def is_number(node: Node) -> bool:
    """Whether a schema is of numbers only, null aside."""
    kinds = own_types(node.schema) - {"null"}
    return bool(kinds) and kinds <= {"integer", "number"}


def is_text(node: Node) -> bool:
    """Whether a schema is of strings only, null aside."""
    return own_types(node.schema) - {"null"} == {"string"}


def is_free_text(node: Node) -> bool:
    """Whether it takes any text: no members, pattern or format."""
    return is_text(node) and not node.schema.keys() & {"enum", "const", "pattern", "format"}
