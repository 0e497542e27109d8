"""Running a suite: the same road as production, nothing asked twice, failures told from answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rightcall.domain import ModelReply, ModelRequest, NativeCall, Tool
from rightcall.errors import UpstreamError, UpstreamRefused, UpstreamTimeout
from rightcall.evaluation.arms import BARE, FULL, PARSE, Arm
from rightcall.evaluation.benchmarks.judging import judge
from rightcall.evaluation.cases import Answer, Case, ExpectedCall, Score
from rightcall.evaluation.models import ModelEntry, OpenModel
from rightcall.evaluation.records import Record, RunInfo
from rightcall.evaluation.run_file import RunFile, read_records
from rightcall.evaluation.runner import Runner, RunOptions
from rightcall.providers.scripted import ScriptedModel, calls, text
from rightcall.store.completions import CompletionCache

pytestmark = pytest.mark.anyio
FENCED = '```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'
RIGHT = calls(("get_weather", {"city": "Oslo"}))

WEATHER = Tool(
    "get_weather",
    "The weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


class ListSuite:
    """A suite of given cases; success is the one expected call, or none."""

    name = "list"
    version = "1"

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases

    def cases(self) -> Iterator[Case]:
        return iter(self._cases)

    def score(self, case: Case, answer: Answer) -> Score:
        wanted = [(call.name, {k: v[0] for k, v in (call.arguments or {}).items()}) for call in case.accepted[0]]
        got = [(call.name, call.arguments) for call in answer.calls]
        return Score(got == wanted, [n for n, _ in got] == [n for n, _ in wanted], got == wanted)


def weather_case(number: int, city: str | None = "Oslo", *, held_out: bool = False) -> Case:
    accepted = ((ExpectedCall("get_weather", {"city": [city]}),),) if city else ((),)
    messages = (
        {"role": "system", "content": f"session {number}"},
        {"role": "user", "content": f"The weather in {city}?" if city else "Tell me a joke"},
    )
    return Case(f"case_{number}", messages, (WEATHER,), accepted, f"family_{number % 3}", held_out=held_out)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CompletionCache]:
    with CompletionCache(tmp_path / "completions.sqlite") as opened:
        yield opened


def runner(
    cache: CompletionCache,
    steps: Sequence[Any],
    cases: Sequence[Case],
    arm: Arm = FULL,
    larger: OpenModel | None = None,
    **options: Any,
) -> tuple[Runner, ScriptedModel]:
    model = ScriptedModel(steps)
    opened = OpenModel(ModelEntry("small"), model, "small", "build-1")
    return Runner(ListSuite(cases), arm, opened, cache, RunOptions(**options), larger), model


async def run(work: Runner, path: Path) -> list[Record]:
    with RunFile(path, RunInfo("list", "1", "small", "full")) as file:
        await work.run(file)
    return list(read_records(path))


async def test_three_arms_ask_the_first_question_once(cache: CompletionCache, tmp_path: Path) -> None:
    case = weather_case(1)
    first, model = runner(cache, [text(FENCED)], [case], BARE)
    (bare,) = await run(first, tmp_path / "bare.jsonl")
    (parse,) = await run(runner(cache, [], [case], PARSE)[0], tmp_path / "parse.jsonl")
    (full,) = await run(runner(cache, [], [case], FULL)[0], tmp_path / "full.jsonl")
    assert len(model.requests) == 1
    assert (bare.answer.status, bare.score.success) == ("text", False)
    assert parse.score.success
    assert full.score.success
    assert [r.attempts[0].cached for r in (bare, parse, full)] == [False, True, True]


async def test_only_the_cases_whose_ids_fit_are_asked(cache: CompletionCache) -> None:
    cases = [weather_case(number) for number in (1, 2, 12, 13)]
    ids = [case.id for case in cases]

    def asked(*only: str, **options: Any) -> list[int]:
        work, _ = runner(cache, [], cases, only=only, **options)
        return [ids.index(case.id) for case in work.cases()]

    assert asked() == [0, 1, 2, 3]
    assert asked(ids[1]) == [1]
    assert asked(ids[0] + "*") == [0, 2, 3]
    assert asked(ids[1], ids[0] + "?") == [1, 2, 3]
    assert len(asked(ids[0] + "*", limit=2)) == 2
    assert asked("none") == []


async def test_full_climbs_the_ladder_where_parse_refuses(cache: CompletionCache, tmp_path: Path) -> None:
    unknown = calls(("weather_tomorrow", {"town": "Oslo"}))
    case = weather_case(1)
    (parse,) = await run(runner(cache, [unknown], [case], PARSE)[0], tmp_path / "parse.jsonl")
    full_runner, model = runner(cache, [RIGHT], [case], FULL)
    (full,) = await run(full_runner, tmp_path / "full.jsonl")
    assert parse.refused
    assert [p["kind"] for p in parse.answer.problems] == ["unknown_tool"]
    assert full.score.success
    assert [(a.rung, a.cached) for a in full.attempts] == [("plain", True), ("feedback", False)]
    assert len(model.requests) == 1


async def test_bare_takes_native_calls_as_they_are(cache: CompletionCache, tmp_path: Path) -> None:
    odd = ModelReply(tool_calls=(NativeCall("get_weather", '{"city": 5}'), NativeCall("get_weather", "{city")))
    (record,) = await run(runner(cache, [odd], [weather_case(1)], BARE)[0], tmp_path / "r.jsonl")
    assert [call.arguments for call in record.answer.calls] == [{"city": 5}]
    assert record.answer.valid is False
    assert not record.wrong_but_valid
    assert [p["kind"] for p in record.answer.problems] == ["constraint", "unparseable"]


async def test_a_false_call_on_a_negative_case_is_told(cache: CompletionCache, tmp_path: Path) -> None:
    (record,) = await run(runner(cache, [RIGHT], [weather_case(1, None)])[0], tmp_path / "r.jsonl")
    assert record.negative
    assert record.false_call
    assert record.wrong_but_valid


async def test_a_second_run_costs_nothing(cache: CompletionCache, tmp_path: Path) -> None:
    cases = [weather_case(n) for n in range(4)]
    await run(runner(cache, [RIGHT] * 4, cases)[0], tmp_path / "a.jsonl")
    again, model = runner(cache, [], cases)
    assert again.estimate().requests_min == 0
    records = await run(again, tmp_path / "b.jsonl")
    assert model.requests == []
    assert all(record.score.success for record in records)


async def test_a_finished_case_is_never_asked_again(cache: CompletionCache, tmp_path: Path) -> None:
    cases = [weather_case(n) for n in range(4)]
    path = tmp_path / "run.jsonl"
    await run(runner(cache, [RIGHT] * 2, cases[:2])[0], path)
    work, model = runner(cache, [RIGHT] * 2, cases)
    records = await run(work, path)
    assert len(model.requests) == 2
    assert [record.case for record in records] == [case.id for case in cases]


async def test_repeats_are_asked_afresh_with_seeds_of_their_own(cache: CompletionCache, tmp_path: Path) -> None:
    work, model = runner(cache, [RIGHT] * 3, [weather_case(1)], repeats=3, sampling={"seed": 7})
    records = await run(work, tmp_path / "r.jsonl")
    assert [request.extra["seed"] for request in model.requests] == [7, 8, 9]
    assert [record.repeat for record in records] == [0, 1, 2]


async def test_infrastructure_that_fails_is_no_answer_and_is_asked_again(
    cache: CompletionCache, tmp_path: Path
) -> None:
    path = tmp_path / "r.jsonl"
    (failed,) = await run(runner(cache, [UpstreamError("connection refused")], [weather_case(1)])[0], path)
    assert failed.error == "connection refused"
    (record,) = await run(runner(cache, [RIGHT], [weather_case(1)])[0], path)
    assert (record.error, record.score.success) == ("", True)


@pytest.mark.parametrize("error", [UpstreamTimeout("too slow"), UpstreamRefused(400, "", "the context is full")])
async def test_a_model_that_is_too_slow_or_too_small_has_answered_wrongly(
    cache: CompletionCache, tmp_path: Path, error: Exception
) -> None:
    (record,) = await run(runner(cache, [error], [weather_case(1, None)])[0], tmp_path / "r.jsonl")
    assert record.error == ""
    assert record.refused
    assert not record.score.success


async def test_a_limit_draws_the_same_cases_for_every_arm(cache: CompletionCache) -> None:
    cases = [weather_case(n) for n in range(50)]
    drawn = [[c.id for c in runner(cache, [], cases, arm, limit=10, seed=3)[0].cases()] for arm in (BARE, FULL)]
    other = [c.id for c in runner(cache, [], cases, FULL, limit=10, seed=4)[0].cases()]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 10
    assert other != drawn[0]
    assert drawn[0] != [c.id for c in cases[:10]]


async def test_held_out_cases_alone_can_be_run(cache: CompletionCache) -> None:
    cases = [weather_case(1), weather_case(2, held_out=True)]
    assert [c.id for c in runner(cache, [], cases, held_out=True)[0].cases()] == ["case_2"]


async def test_the_larger_model_is_asked_last_and_counted_as_escalation(
    cache: CompletionCache, tmp_path: Path
) -> None:
    nonsense = calls(("no_such_tool_at_all", {}))
    larger_model = ScriptedModel([RIGHT])
    larger = OpenModel(ModelEntry("big"), larger_model, "big", "build-2")
    work, _ = runner(cache, [nonsense] * 3, [weather_case(1)], larger=larger)
    (record,) = await run(work, tmp_path / "r.jsonl")
    assert record.escalated
    assert record.score.success
    assert record.attempts[-1].rung == "larger"
    assert larger_model.requests[0].model == "big"


async def test_cases_in_parallel_are_all_kept(cache: CompletionCache, tmp_path: Path) -> None:
    cases = [weather_case(n) for n in range(40)]
    records = await run(runner(cache, [RIGHT] * 40, cases, parallel=8)[0], tmp_path / "r.jsonl")
    assert {record.case for record in records} == {case.id for case in cases}


async def test_an_estimate_asks_nothing(cache: CompletionCache) -> None:
    work, model = runner(cache, [], [weather_case(n) for n in range(3)], sampling={"max_tokens": 100}, repeats=2)
    estimate = work.estimate()
    assert (estimate.cases, estimate.requests_min) == (6, 6)
    assert estimate.requests_max > 6
    assert estimate.input_tokens > 100
    assert model.requests == []


async def test_the_order_of_keys_that_a_template_shows_is_part_of_the_request(
    cache: CompletionCache, tmp_path: Path
) -> None:
    parameters = json.loads('{"properties": {"city": {"type": "string"}}, "type": "object", "required": ["city"]}')
    case = weather_case(1)
    turned = Case(
        case.id, case.messages, (Tool("get_weather", "The weather of a city.", parameters),), case.accepted, "f"
    )
    await run(runner(cache, [RIGHT], [case])[0], tmp_path / "a.jsonl")
    work, model = runner(cache, [RIGHT], [turned])
    await run(work, tmp_path / "b.jsonl")
    assert len(model.requests) == 1


async def test_only_recorded_requests_are_run_on_a_recording(cache: CompletionCache) -> None:
    def holds(request: ModelRequest) -> bool:
        return "session 2" in request.messages[0]["content"]

    opened = OpenModel(ModelEntry("replay:x"), ScriptedModel([]), "", "digest", holds)
    cases = [weather_case(n) for n in range(4)]
    work = Runner(ListSuite(cases), FULL, opened, cache, RunOptions())
    assert [case.id for case in work.cases()] == ["case_2"]


@pytest.mark.parametrize("arm", [BARE, PARSE])
async def test_a_tool_was_chosen_even_where_its_arguments_are_refused(
    cache: CompletionCache, tmp_path: Path, arm: Arm
) -> None:
    case, negative = weather_case(1), weather_case(2, None)
    refused = calls(("get_weather", {"town": "Oslo"}))
    records = await run(runner(cache, [refused, refused], [case, negative], arm)[0], tmp_path / "run.jsonl")
    assert [record.answer.chosen for record in records] == [("get_weather",)] * 2
    score = judge(case, records[0].answer)
    assert (score.selection, score.arguments, score.selection_error) == (True, False, "")
    # Where no call is right, a refused one is none: nothing would have been run.
    assert judge(negative, records[1].answer).selection is (arm is PARSE)


@pytest.mark.parametrize(
    ("kind", "family", "chosen"),
    [
        ("wrong_type", "arguments", ("f",)),
        ("unverified", "policy", ("f",)),  # a value without a source
        ("unverified", "selection", ()),  # a tool that nothing said has to do with
        ("unknown_tool", "selection", ()),
        ("truncated", "arguments", ()),
    ],
)
def test_what_was_refused_says_if_the_tool_was_chosen(kind: str, family: str, chosen: tuple[str, ...]) -> None:
    problem = {"kind": kind, "family": family, "path": "", "message": "", "tool": "f"}
    assert Answer("unresolved", problems=(problem, problem)).chosen == chosen


async def test_a_call_that_could_not_be_read_chooses_no_tool(cache: CompletionCache, tmp_path: Path) -> None:
    cut = text('{"name": "get_weather", "arguments": {"city": "Os', finish_reason="length")
    (record,) = await run(runner(cache, [cut], [weather_case(1)], PARSE)[0], tmp_path / "run.jsonl")
    assert record.answer.problems
    assert record.answer.chosen == ()
