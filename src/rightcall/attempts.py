"""What a turn has tried and what stands of it: attempts, and the proposal they end in. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rightcall.domain import ModelReply, ModelRequest, Note, Problem, Reading, ToolCall, Usage
from rightcall.ladder import NEXT_CALL, Outcome, Rung, only_doubtful_text
from rightcall.prompting import Exchange


@dataclass(frozen=True, slots=True)
class Attempt:
    """One question to a model and what came of it.

    `request` and `reply` are what the model was shown and wrote, `said` is the reading of it in the same terms,
    `reading` in those of the client's own tools. `unused` is what the request mentions and no call uses yet;
    `extends` says that it was asked for another call and brought one. `told` are the answers to calls of
    rightcall's own tools; `silent` that they only brought tools, which are shown from then on in their place.
    """

    number: int
    rung: Rung
    request: ModelRequest
    reply: ModelReply
    reading: Reading
    seconds: float
    unused: tuple[str, ...] = ()
    extends: bool = False
    said: Reading = field(default_factory=Reading)
    told: tuple[str, ...] = ()
    silent: bool = False

    @property
    def outcome(self) -> Outcome:
        """What the ladder sees of it."""
        tokens = self.reply.usage.output_tokens if self.reply.usage else 0
        return Outcome(self.rung, self.reading, self.unused, self.extends, tokens, bool(self.told))

    @property
    def exchange(self) -> Exchange:
        """What the model is shown of it."""
        return Exchange(self.reply, self.said, self.unused, self.told)

    @property
    def model(self) -> str:
        """The model that answered, by its own name where the server gives one."""
        return self.reply.model or self.request.model


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a turn ends in.

    `status` is `calls` (all of them right), `text` (the model answered in words) or `unresolved` (what was
    meant as a call could not be made right: `problems` says why, `attempts` holds everything that was tried).
    `quarantined` are the problems of tools that could not be offered.
    """

    turn: str
    status: str
    calls: tuple[ToolCall, ...]
    problems: tuple[Problem, ...]
    text: str
    reasoning: str
    attempts: tuple[Attempt, ...]
    quarantined: tuple[Problem, ...] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """Every repair that the proposed calls took."""
        return tuple(note for call in self.calls for note in call.notes)

    @property
    def last(self) -> Attempt:
        """The last attempt."""
        return self.attempts[-1]

    @property
    def usage(self) -> Usage:
        """Tokens of all attempts together."""
        total = Usage()
        for attempt in self.attempts:
            total += attempt.reply.usage or Usage()
        return total


def standing_calls(attempts: Sequence[Attempt]) -> tuple[ToolCall, ...]:
    """The calls that stand: those of the last attempt without problems, and of the next calls after it."""
    standing: tuple[ToolCall, ...] = ()
    for attempt in attempts:
        if attempt.reading.problems or (attempt.rung is NEXT_CALL and not attempt.extends):
            continue
        standing = (*standing, *attempt.reading.calls) if attempt.rung is NEXT_CALL else attempt.reading.calls
    return standing


def extends_calls(reading: Reading, unused: Sequence[str], attempts: Sequence[Attempt]) -> bool:
    """Whether an answer to "is there another call?" brought one: right, new, and using what no call used."""
    made = [(call.name, call.arguments) for call in standing_calls(attempts)]
    new = [call for call in reading.calls if (call.name, call.arguments) not in made]
    before = attempts[-1].unused
    return bool(new) and len(new) == len(reading.calls) and not reading.problems and set(unused) < set(before)


def shown_again(attempts: Sequence[Attempt], rung: Rung) -> list[Exchange]:
    """The attempts to show the model again: all good ones where a next call is asked for, else the last.

    What it was told stays in sight. A look-up that brought tools does not: a small model that sees itself search
    searches again, and one that sees the tools calls them (`benchmarks/results/presenting-live.md`).
    """
    seen = [attempt for attempt in attempts if not attempt.silent]
    if rung is NEXT_CALL:
        return [attempt.exchange for attempt in seen if not attempt.reading.problems]
    return [attempt.exchange for attempt in seen if attempt.told or attempt is attempts[-1]]


def conclude(turn: str, attempts: Sequence[Attempt], quarantined: tuple[Problem, ...]) -> Proposal:
    """A turn's end: the standing calls, else the last words, else what is wrong with the last attempt."""
    last = [attempt for attempt in attempts if attempt.rung is not NEXT_CALL][-1].reading
    calls = () if last.problems else standing_calls(attempts)
    status = "calls" if calls else "text"
    if last.problems and not only_doubtful_text(last):
        status = "unresolved"
    return Proposal(turn, status, calls, last.problems, last.text, last.reasoning, tuple(attempts), quarantined)
