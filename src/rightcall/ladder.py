"""Which attempt comes next, if any: a pure decision over the attempts so far.

Rungs are data. A ladder that would repeat itself is refused when it is built; every ladder ends, by its rungs,
by its deadline or by its tokens. Source: "Retry ladders that terminate" in "Making Small Models Reliable at
Tool-Calling". The defaults are that article's: plain, feedback, example and narrowed and warmer, larger model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from rightcall.domain import ProblemKind, Reading
from rightcall.errors import UsageError


@dataclass(frozen=True, slots=True)
class Rung:
    """One kind of attempt: what the model sees differently.

    `feedback` shows the problems of the attempt before; `example` the form of a right call; `narrow` only the
    tools in question; `warmer` is added to the temperature; `model` asks another model; `in_prompt` describes
    the tools in the prompt, for models whose template drops them; `constrain` makes the server decode within
    the schema of a call.
    """

    name: str
    feedback: bool = False
    example: bool = False
    narrow: bool = False
    warmer: float = 0.0
    model: str | None = None
    in_prompt: bool = False
    constrain: bool = False

    def shows(self) -> tuple[object, ...]:
        """Everything of it that the model can notice: all but the name."""
        return tuple(getattr(self, item.name) for item in fields(self) if item.name != "name")


PLAIN = Rung("plain")
FEEDBACK = Rung("feedback", feedback=True)
EXAMPLE = Rung("example", feedback=True, example=True, narrow=True, warmer=0.2)
NEXT_CALL = Rung("next_call", feedback=True)
"""Not climbed to but taken beside the others: asks for a call that the request seems to hold and no one made."""
LOOK_UP = Rung("look_up", feedback=True)
"""Not climbed to either: the model asked a tool of rightcall's own, and is asked again with the answer."""
BESIDE = (NEXT_CALL, LOOK_UP)
"""Rungs that are no step of a ladder."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """The rungs in order, and the bounds of a whole turn.

    `seconds` is the deadline of all attempts together, `output_tokens` what they may generate together (0: no
    bound), `next_calls` how often at most a missing call is asked for, `look_ups` how often at most a model may ask
    tools of rightcall's own before it calls. `verified` says that an independent check stands behind the ladder,
    which a constrained rung needs: without one, constraining only turns loud mistakes into silent ones.
    """

    rungs: tuple[Rung, ...] = (PLAIN, FEEDBACK, EXAMPLE)
    next_calls: int = 8
    seconds: float = 300.0
    output_tokens: int = 0
    verified: bool = False
    look_ups: int = 4

    def __post_init__(self) -> None:
        if not self.rungs:
            raise UsageError("a ladder needs at least one rung")
        if self.rungs[0].feedback:
            raise UsageError(f"the first rung {self.rungs[0].name!r} has no attempt before it to give feedback on")
        for before, after in zip(self.rungs, self.rungs[1:], strict=False):
            if before.shows() == after.shows():
                raise UsageError(
                    f"the rungs {before.name!r} and {after.name!r} look the same to the model, so the second would"
                    " repeat the first; change feedback, example, narrow, warmer, model, in_prompt or constrain"
                )
        for rung in self.rungs:
            if rung.constrain and not self.verified:
                raise UsageError(
                    f"the rung {rung.name!r} constrains decoding, which makes every reply valid and hides the wrong"
                    " ones; give the turn a verifier, or take the rung out"
                )
        if self.seconds <= 0 or min(self.next_calls, self.output_tokens, self.look_ups) < 0:
            raise UsageError("a ladder's bounds are not negative, and its deadline is more than 0 seconds")

    def with_larger(self, model: str) -> Ladder:
        """The same ladder with a larger model as its last rung."""
        last = Rung("larger", feedback=True, example=True, narrow=True, model=model)
        return replace(self, rungs=(*self.rungs, last))


ONE_ATTEMPT = Ladder((PLAIN,), next_calls=0)
DEFAULT_LADDER = Ladder()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the decision needs to know of an attempt.

    `unused` is what the request mentions and no call uses; `extends` says that this attempt answered the
    question for a next call and brought one, `told` that it asked tools of rightcall's own, which answered.
    """

    rung: Rung
    reading: Reading
    unused: tuple[str, ...] = ()
    extends: bool = False
    output_tokens: int = 0
    told: bool = False


def next_rung(outcomes: Sequence[Outcome], ladder: Ladder, *, seconds: float) -> Rung | None:
    """The rung to take now, or None to stop. `seconds` have passed since the turn began."""
    if not outcomes:
        return ladder.rungs[0]
    if seconds >= ladder.seconds:
        return None
    if ladder.output_tokens and sum(outcome.output_tokens for outcome in outcomes) >= ladder.output_tokens:
        return None
    last = outcomes[-1]
    asked = sum(outcome.rung is NEXT_CALL for outcome in outcomes)
    if last.rung is NEXT_CALL and not last.extends:
        return None
    if last.told:
        return LOOK_UP
    if not last.reading.problems:
        wanted = bool(last.reading.calls) and bool(last.unused) and asked < ladder.next_calls
        return NEXT_CALL if wanted else None
    climbed = sum(outcome.rung not in BESIDE for outcome in outcomes)
    if only_doubtful_text(last.reading) and climbed > 1:
        return None
    return ladder.rungs[climbed] if climbed < len(ladder.rungs) else None


def only_doubtful_text(reading: Reading) -> bool:
    """Whether all that is wrong is that an explanation holds what could be a call: then the text is an answer too."""
    return bool(reading.text) and all(
        problem.kind is ProblemKind.AMBIGUOUS and not problem.tool and problem.call_id is None
        for problem in reading.problems
    )
