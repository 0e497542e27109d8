"""Records as a run leaves them, with only what a test cares about said."""

from __future__ import annotations

from typing import Any

from rightcall.domain import ToolCall
from rightcall.evaluation.cases import Answer, Score
from rightcall.evaluation.records import Record, RunInfo, Tried

INFO = RunInfo(suite="bfcl:multiple", suite_version="1", model="small", arm="bare")


def made_record(  # noqa: PLR0913 - each is one thing that a test may say of a record
    case: str,
    *,
    right: bool = True,
    repeat: int = 0,
    family: str | None = None,
    calls: tuple[str, ...] = ("get_weather",),
    valid: bool | None = True,
    negative: bool = False,
    selection: bool | None = None,
    status: str | None = None,
    seconds: float = 1.0,
    tokens: tuple[int, int] = (90, 10),
    model: str = "small",
    attempts: int = 1,
    problems: tuple[dict[str, Any], ...] = (),
    notes: tuple[dict[str, Any], ...] = (),
    original: dict[str, float] | None = None,
    selection_error: str = "",
    **rest: Any,
) -> Record:
    called = tuple(ToolCall(f"call_{number}", name, {"city": case}) for number, name in enumerate(calls))
    answer = Answer(
        status or ("calls" if calls else "text"),
        calls=called,
        text="" if calls else "hello",
        valid=valid if calls else None,
        problems=problems,
        notes=notes,
    )
    score = Score(right, right if selection is None else selection, right, original or {}, selection_error)
    tried = tuple(Tried("first", model, seconds / attempts, *tokens) for _ in range(attempts))
    return Record(
        case, repeat, case if family is None else family, negative, answer, score, tried, seconds=seconds, **rest
    )


def made_note(path: str, *, kind: str = "type", tool: str = "get_weather") -> dict[str, Any]:
    return {"kind": kind, "grade": "typed", "path": path, "before": "1", "after": 1, "tool": tool}


def made_problem(family: str, kind: str = "wrong_type") -> dict[str, Any]:
    return {"kind": kind, "family": family, "path": "/city", "message": "no", "tool": "get_weather"}
