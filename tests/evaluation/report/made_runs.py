"""Runs' files as a small model leaves them, drawn with a seed: suites, models and arms that share first answers.

What the model says of a case is drawn once; the arms then differ in what is made of it, as in real runs. `bare`
takes native calls as they are, `parse` reads and repairs the text too, `full` may ask again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rightcall.domain import ToolCall
from rightcall.evaluation.cases import Answer, Score
from rightcall.evaluation.records import Record, RunInfo, Tried
from rightcall.evaluation.run_file import RunFile, run_path

ARMS = ("bare", "parse", "full")
SUITES = ("bfcl:simple_python", "bfcl:irrelevance", "metatool:similar")
MODELS = ("qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")

_TOOLS = (
    ("get_weather", "city", "Oslo", "Weather in Oslo, please."),
    ("transfer_money", "amount_minor_units", 1250, "Send 12 pounds 50 to Ada."),
    ("find_flights", "destination", "LIS", "Which flights go to Lisbon on Monday?"),
    ("set_alarm", "time", "07:30", "Wake me at half past seven."),
    ("translate_text", "target_language", "nb", "How does one say good morning in Norwegian?"),
    ("search_documents", "query", "parental leave", "Where is our policy on parental leave?"),
)
# What the model says of a case where a call is right, and how likely that is.
_SAID = {
    "native and right": 10,
    "fenced and right": 34,
    "wrong value": 14,
    "number as text": 16,
    "no such tool": 7,
    "the wrong tool": 8,
    "broken JSON": 6,
    "prose": 5,
}


@dataclass(frozen=True)
class MadeCase:
    id: str
    tool: str
    argument: str
    value: Any
    asked: str
    negative: bool
    held_out: bool
    said: str
    seconds: float


def made_cases(suite: str, model: str, count: int, seed: int) -> list[MadeCase]:
    draw = random.Random(f"{suite} {model} {seed}")  # noqa: S311 - made data
    cases = []
    for number in range(count):
        tool, argument, value, asked = _TOOLS[draw.randrange(len(_TOOLS))]
        weights = dict(_SAID)
        if "1.5b" in model:
            weights |= {"fenced and right": 60, "wrong value": 9, "no such tool": 3}
        negative = suite.endswith("irrelevance")
        said = draw.choices(list(weights), list(weights.values()))[0]
        if negative:
            said = draw.choices(("prose", "fenced and right", "no such tool"), (55, 30, 15))[0]
        seconds = draw.lognormvariate(1.0, 0.6)
        cases.append(
            MadeCase(
                f"{suite.rpartition(':')[2]}_{number}",
                tool,
                argument,
                value,
                asked,
                negative,
                number % 3 == 0,
                said,
                seconds,
            )
        )
    return cases


def made_record(case: MadeCase, arm: str, model: str, position: int, *, repeat: int = 0) -> Record:
    draw = random.Random(f"{case.id} {case.said} {repeat}")  # noqa: S311 - made data
    reply, call, notes, problems = _said(case)
    native = case.said == "native and right"
    attempts = [_tried("plain", model, case.seconds, reply, problems)]
    if arm == "bare" and not native:
        call, notes, problems = None, (), ()
    if arm == "full" and problems and draw.random() < 0.6:
        call, problems = ToolCall("call_1", case.tool, {case.argument: case.value}), ()
        text = f'{{"name": "{case.tool}"}}'
        attempts.append(_tried("feedback", model, case.seconds * 0.8, {"text": text, "tool_calls": []}, ()))
    right_tool = call is not None and call.name == case.tool
    right = right_tool and call is not None and call.arguments == {case.argument: case.value}
    status = "calls" if call else "unresolved" if problems else "text"
    if case.negative:
        right = right_tool = call is None
    error = "functional_confusion" if call and not right_tool and not case.negative else ""
    if any(problem["kind"] == "unknown_tool" for problem in problems):
        error = "schema_misalignment"
    accepted: tuple[Any, ...] = ([],)
    if not case.negative:
        wanted = {case.argument: [case.value], "lang": ["en", ""]}
        accepted = ([{"name": case.tool, "arguments": wanted, "optional": ["lang"]}],)
    return Record(
        case=case.id,
        repeat=repeat,
        family=f"{case.tool}_{position % 12}",
        negative=case.negative,
        answer=Answer(
            status,
            (call,) if call else (),
            "" if call else str(reply["text"]),
            None if status == "text" else bool(call),
            problems,
            notes if call else (),
        ),
        score=Score(right, right_tool, right, {"accuracy": float(right)}, error),
        attempts=tuple(attempts),
        tags=("irrelevance",) if case.negative else ("simple",),
        held_out=case.held_out,
        escalated=False,
        seconds=sum(attempt.seconds for attempt in attempts),
        asked=case.asked,
        accepted=accepted,
        toolset="sha256:0f",
        position=position,
        time=1_790_000_000.0 + position,
    )


def made_info(suite: str, model: str, arm: str, **rest: Any) -> RunInfo:
    settings = {"attempts": 3 if arm == "full" else 1, "text_calls": arm != "bare", "reads": arm != "bare"}
    return RunInfo(
        suite=suite,
        suite_version="2026.3.23, rules 1",
        model=model,
        arm=arm,
        build="sha256:1d9614638d18024d0fbb36575a15f1302a3adf04 llama.cpp:b11549",
        settings=settings,
        sampling={"temperature": 0.0, "max_tokens": 256},
        rightcall="0.1.0",
        created=1_790_000_000.0,
        **rest,
    )


def made_records(
    suite: str, model: str, arm: str, count: int, seed: int = 0, *, repeats: int = 1, broken: Sequence[int] = ()
) -> Iterator[Record]:
    """Records one at a time; those at the positions `broken` were spoilt by infrastructure."""
    for position, case in enumerate(made_cases(suite, model, count, seed)):
        for repeat in range(repeats):
            record = made_record(case, arm, model, position, repeat=repeat)
            if position in broken:
                spoilt = Score(success=False, selection=False, arguments=False)
                record = replace(
                    record, answer=Answer("unresolved"), score=spoilt, attempts=(), error="connection refused"
                )
            yield record


def write_run(folder: Path, info: RunInfo, records: Iterator[Record]) -> Path:
    with RunFile(run_path(folder, info), info) as file:
        for record in records:
            file.append(record)
    return file.path


def write_runs(
    folder: Path,
    *,
    suites: Sequence[str] = SUITES,
    models: Sequence[str] = MODELS,
    arms: Sequence[str] = ARMS,
    count: int = 60,
    seed: int = 0,
    broken: Sequence[int] = (),
) -> list[Path]:
    return [
        write_run(folder, made_info(suite, model, arm), made_records(suite, model, arm, count, seed, broken=broken))
        for suite in suites
        for model in models
        for arm in arms
    ]


def _said(case: MadeCase) -> tuple[dict[str, Any], ToolCall | None, tuple[Any, ...], tuple[Any, ...]]:
    """The reply, and what reading, repairing and validating make of it."""
    right = ToolCall("call_1", case.tool, {case.argument: case.value})
    fenced = {"text": f'```json\n{{"name": "{case.tool}", "arguments": …}}\n```', "tool_calls": []}
    match case.said:
        case "native and right":
            native = [{"name": case.tool, "arguments": f'{{"{case.argument}": "{case.value}"}}'}]
            return {"text": "", "tool_calls": native}, right, (), ()
        case "wrong value":
            wrong = 12 if isinstance(case.value, int) else f"{case.value}!"
            return fenced, replace(right, arguments={case.argument: wrong}), (), ()
        case "number as text":
            note = {"kind": "type", "grade": "typed", "path": f"/{case.argument}", "tool": case.tool}
            return fenced, right, ({**note, "before": str(case.value), "after": case.value},), ()
        case "no such tool":
            return fenced, None, (), (_problem("unknown_tool", "selection", case),)
        case "the wrong tool":
            return fenced, ToolCall("call_1", "get_forecast", {"place": "Oslo"}), (), ()
        case "broken JSON":
            return fenced, None, (), (_problem("truncated", "arguments", case),)
        case "prose":
            return {"text": "I cannot look that up, but you could try the website.", "tool_calls": []}, None, (), ()
    return fenced, right, (), ()


def _problem(kind: str, family: str, case: MadeCase) -> dict[str, Any]:
    message = f"{case.tool!r} cannot be used so; allowed: {', '.join(tool for tool, *_ in _TOOLS)}"
    return {"kind": kind, "family": family, "path": f"/{case.argument}", "message": message, "tool": case.tool}


def _tried(rung: str, model: str, seconds: float, reply: dict[str, Any], problems: Sequence[Any]) -> Tried:
    kinds = tuple(problem["kind"] for problem in problems)
    return Tried(rung, model, seconds, 260, 45, kinds, {**reply, "finish_reason": "stop"})
