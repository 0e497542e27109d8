"""The words of evaluation: a case, what came of it, and how right that was.

A suite yields cases and judges answers by its benchmark's own rules; beside that verdict stand the three
questions that mean the same in every suite: was the right tool chosen, are the arguments right, was it right as
a whole. Source of the case and its normaliser: "Measure the thing that actually matters" in "Making Small Models
Reliable at Tool-Calling".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from rightcall.domain import Family, Message, ProblemKind, Tool, ToolCall


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """One call that is wanted.

    `arguments` maps each argument to the values that are right for it; None says that the arguments do not
    matter. `optional` are those that may also be left out.
    """

    name: str
    arguments: Mapping[str, Sequence[Any]] | None = None
    optional: frozenset[str] = frozenset()


Accepted: TypeAlias = tuple[ExpectedCall, ...]
"""The calls of one right answer, in any order; empty where no call is right."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question with its right answers.

    `accepted` are the alternatives, any of which is right; `((),)` for a negative case, where no call is.
    `family` is the cluster it belongs to: cases of one family share tools, so they are not independent.
    `normaliser` maps an argument (or `*`, all of them) to the names of the rules applied before comparing.
    `gold` is the benchmark's own answer, for its own scoring.
    """

    id: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    accepted: tuple[Accepted, ...]
    family: str
    tags: tuple[str, ...] = ()
    held_out: bool = False
    normaliser: Mapping[str, Sequence[str]] = field(default_factory=dict)
    gold: Any = None

    @property
    def negative(self) -> bool:
        """Whether no call is right: no tool fits, or only an explanation is wanted."""
        return not any(self.accepted)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client got: calls it would run, or text, or a refusal.

    `status` is `calls`, `text` or `unresolved`. `valid` says whether the offered tools' schemas accept every
    call that was meant; None where none was meant. `problems` and `notes` are in the event log's form
    (`record.problem_to_json`, `record.note_to_json`).
    """

    status: str
    calls: tuple[ToolCall, ...] = ()
    text: str = ""
    valid: bool | None = None
    problems: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[Mapping[str, Any], ...] = ()

    @property
    def chosen(self) -> tuple[str, ...]:
        """The tools that were chosen: one of each call, and each other one whose call was read and refused.

        Refused by its schema, a rule or a policy, that is: a tool that was refused as such was not chosen.
        """
        called = [call.name for call in self.calls]
        refused = (
            problem["tool"]
            for problem in self.problems
            if problem.get("family") in _PAST_SELECTION and problem["kind"] not in _UNREAD
        )
        return (*called, *dict.fromkeys(name for name in refused if name and name not in called))


_PAST_SELECTION = (Family.ARGUMENTS, Family.POLICY)
_UNREAD = (ProblemKind.UNPARSEABLE, ProblemKind.TRUNCATED, ProblemKind.AMBIGUOUS)
SELECTION_ERRORS = ("schema_misalignment", "functional_confusion", "context_misunderstanding")
"""PA-Tool's three kinds of selection error (Appendix E): a tool that does not exist, one that is offered and
similar to the right one, one that is offered and unrelated."""


@dataclass(frozen=True, slots=True)
class Score:
    """How right an answer is.

    `success` is the benchmark's own verdict on the whole. `selection`: the right tools were chosen, as often as
    wanted, whatever their arguments, refused ones included. `arguments`: besides, every call can be run and every
    argument is an accepted value after the case's normalisation. `original` are the benchmark's own scores by name,
    0 to 1; a score that is not defined for the case is left out. `selection_error` is one of `SELECTION_ERRORS`, or
    empty where the selection is right, no tool was named, or only right ones were, in the wrong number.
    """

    success: bool
    selection: bool
    arguments: bool
    original: Mapping[str, float] = field(default_factory=dict)
    selection_error: str = ""


class Suite(Protocol):
    """Cases and the rules that judge them. `version` names data and scorer; it is kept with every run."""

    @property
    def name(self) -> str:
        """As it is asked for: `bfcl:simple_python`."""
        ...

    @property
    def version(self) -> str:
        """Which data, which rules."""
        ...

    def cases(self) -> Iterator[Case]:
        """Every case, in the data's order. Raises `UsageError` with file, line and fault where data are broken."""
        ...

    def score(self, case: Case, answer: Answer) -> Score:
        """How right an answer to the case is. Pure."""
        ...
