"""What a run keeps of each case: enough to count, compare and explain without the data or the model at hand.

One record is one line of JSON. A run's file begins with a line that says what was run (`RunInfo`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from rightcall.domain import ToolCall
from rightcall.evaluation.cases import Answer, Case, Score

FORMAT = 1


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What was run: everything that must be equal for two records to be one run's.

    `build` is what is known of the model behind the name (digest, server fingerprint). `settings` are those of
    the arm. `price` is by model: dollars a million tokens in (`input`) and out (`output`), or a second (`second`).
    """

    suite: str
    suite_version: str
    model: str
    arm: str
    build: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    sampling: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    repeats: int = 1
    limit: int | None = None
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rightcall: str = ""
    created: float = 0.0
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt of a turn: its rung, who answered, what it cost, what it said, what was wrong with it.

    `seconds` are those of the first time it was asked; `cached` says that this run found it answered already.
    `reply` holds `text`, `tool_calls` and `finish_reason` as they came; `problems` are kinds.
    """

    rung: str
    model: str
    seconds: float
    input_tokens: int = 0
    output_tokens: int = 0
    problems: tuple[str, ...] = ()
    reply: Mapping[str, Any] = field(default_factory=dict)
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """One case, asked once.

    `error` says that infrastructure failed: such a record counts for nothing and is asked again when the run goes
    on. `asked` is the last user message; `accepted` the right answers.
    """

    case: str
    repeat: int
    family: str
    negative: bool
    answer: Answer
    score: Score
    attempts: tuple[Tried, ...] = ()
    tags: tuple[str, ...] = ()
    held_out: bool = False
    escalated: bool = False
    seconds: float = 0.0
    asked: str = ""
    accepted: tuple[Any, ...] = ()
    toolset: str = ""
    position: int = 0
    time: float = 0.0
    error: str = ""

    @property
    def wrong_but_valid(self) -> bool:
        """Whether the calls pass their schemas and are not the right ones."""
        return bool(self.answer.calls) and self.answer.valid is True and not self.score.success

    @property
    def false_call(self) -> bool:
        """Whether a call was made where none is right."""
        return self.negative and bool(self.answer.calls)

    @property
    def refused(self) -> bool:
        """Whether it ended in a refusal."""
        return self.answer.status == "unresolved"

    @property
    def tokens(self) -> int:
        """Tokens in and out, of all attempts."""
        return sum(attempt.input_tokens + attempt.output_tokens for attempt in self.attempts)


def record_to_json(record: Record) -> dict[str, Any]:
    """A record as data; `record_from_json` takes it back without loss."""
    data = {item.name: getattr(record, item.name) for item in fields(record)}
    answer = record.answer
    data["answer"] = {
        "status": answer.status,
        "calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in answer.calls],
        "text": answer.text,
        "valid": answer.valid,
        "problems": list(answer.problems),
        "notes": list(answer.notes),
    }
    data["score"] = asdict(record.score)
    data["attempts"] = [asdict(attempt) for attempt in record.attempts]
    return data


def record_from_json(data: Mapping[str, Any]) -> Record:
    """The record again. Raises `KeyError`, `TypeError` or `ValueError` where it is none."""
    answer = dict(data["answer"])
    answer["calls"] = tuple(ToolCall(call["id"], call["name"], call["arguments"]) for call in answer["calls"])
    for name in ("problems", "notes"):
        answer[name] = tuple(answer[name])
    attempts = tuple(Tried(**{**attempt, "problems": tuple(attempt["problems"])}) for attempt in data["attempts"])
    rest = {key: value for key, value in data.items() if key not in {"answer", "score", "attempts"}}
    rest["tags"] = tuple(rest["tags"])
    rest["accepted"] = tuple(rest["accepted"])
    return Record(answer=Answer(**answer), score=Score(**data["score"]), attempts=attempts, **rest)


def accepted_to_json(case: Case) -> tuple[Any, ...]:
    """A case's right answers as data, for reports: alternatives, each a list of calls."""
    return tuple(
        [
            {
                "name": call.name,
                "arguments": None
                if call.arguments is None
                else {name: list(values) for name, values in call.arguments.items()},
                "optional": sorted(call.optional),
            }
            for call in alternative
        ]
        for alternative in case.accepted
    )
