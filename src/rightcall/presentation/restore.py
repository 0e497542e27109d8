"""A reading in shown terms brought back to the original ones, and checked there independently of how it was shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rightcall.domain import Problem, ProblemKind, Reading, ToolCall, ToolChoice
from rightcall.lens import Answer, Declined, Told
from rightcall.presentation.view import View
from rightcall.schema.compiled import Toolset
from rightcall.validation.protocol import check_protocol
from rightcall.validation.structure import check_structure


@dataclass(frozen=True, slots=True)
class Restored:
    """What a reply says: `said` as the model may be told of it, `reading` in original terms.

    `told` are the answers to calls of rightcall's own tools, one for each call of `said`; then `reading` holds
    neither calls nor problems, and the model is asked again.
    """

    said: Reading
    reading: Reading
    told: tuple[Told, ...] = ()

    def refused(self, problems: Sequence[Problem], view: View) -> Restored:
        """The same without calls, for problems found in original terms."""
        if not problems:
            return self
        shown = tuple(view.shown_problem(problem) for problem in problems)
        return Restored(
            replace(self.said, calls=(), problems=(*self.said.problems, *shown)),
            replace(self.reading, calls=(), problems=(*self.reading.problems, *problems)),
        )


def restored(said: Reading, view: View, tools: Toolset, choice: ToolChoice) -> Restored:
    """Brings a reading back.

    Args:
        said: what the reply says, in shown terms.
        view: how the request was shown.
        tools: the original tools, compiled.
        choice: the request's own tool choice.

    Returns:
        The reading in both terms. A call that the original tool does not take is a Problem, whatever the shown
        one took.
    """
    if view.unchanged:
        return Restored(said, said)
    answers = [view.answer(call) for call in said.calls]
    reading = replace(
        said,
        calls=tuple(view.original_call(c) for c, answer in zip(said.calls, answers, strict=True) if answer is None),
        problems=tuple(view.original_problem(problem) for problem in said.problems),
    )
    if any(answers):
        return _answered(said, reading, [answer for answer in answers if answer], view, choice)
    bad: list[Problem] = []
    good: list[ToolCall] = []
    kept: list[ToolCall] = []
    for shown, call in zip(said.calls, reading.calls, strict=True):
        found = check_structure(call, tools.by_name[call.name])
        bad += found
        if not found:
            good.append(call)
            kept.append(shown)
    if not bad:
        return Restored(said, reading)
    translated = (view.shown_problem(problem) for problem in bad)
    return Restored(
        replace(said, calls=tuple(kept), problems=(*said.problems, *translated)),
        replace(reading, calls=tuple(good), problems=(*reading.problems, *bad)),
    )


def _answered(said: Reading, reading: Reading, answers: list[Answer], view: View, choice: ToolChoice) -> Restored:
    """A reply that calls tools of rightcall's own. Beside another call or a fault it says two things at once."""
    told = tuple(answer for answer in answers if isinstance(answer, Told))
    declined = [answer for answer in answers if isinstance(answer, Declined)]
    if reading.calls or reading.problems or (told and declined):
        both = Restored(said, reading)
        return both.refused([_TWO_THINGS], view)
    if told:
        return Restored(said, replace(reading, calls=()), told)
    text = reading.text if reading.text.strip() else declined[0].text
    words = replace(reading, text=text)
    restored = Restored(replace(said, calls=(), text=text), words)
    return restored.refused(check_protocol(words, choice, parallel=None), view)


_TWO_THINGS = Problem(
    ProblemKind.PROTOCOL,
    "the reply says two things at once: a call, and that none fits or that tools are to be looked up first."
    " Write only the one that is meant.",
    about_selection=True,
)
