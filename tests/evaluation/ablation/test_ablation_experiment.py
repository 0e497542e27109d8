"""Running blocks: whole or not at all, what fails is told apart from what is wrong, and a kill loses little."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_plan import OPERATIONS, PLAN, model_of, prompt_of, right, small, tasks_toml, write_plan, wrong_under

from rightcall import ModelReply, ModelRequest, UpstreamError, UpstreamRefused, UpstreamTimeout
from rightcall.errors import UsageError
from rightcall.evaluation.ablation.block_file import BlockFile, Settled, read_blocks, read_header
from rightcall.evaluation.ablation.experiment import TRIES, prepared
from rightcall.evaluation.ablation.freeze import frozen_hash
from rightcall.evaluation.ablation.plan import Plan
from rightcall.evaluation.ablation.trial import Trial
from rightcall.evaluation.models import OpenModel
from rightcall.providers.scripted import calls, text

ASKED = 3  # variants of the small plan


async def run(plan: Plan, model: OpenModel, path: Path, **more: Any) -> list[Settled]:
    async with prepared(plan, model) as experiment:
        with BlockFile(path, experiment.frozen) as file:
            await experiment.run(file, model, **more)
    return list(read_blocks(path))


def asked(model: OpenModel) -> list[ModelRequest]:
    return model.client.requests  # type: ignore[attr-defined, no-any-return]


def trials(blocks: list[Settled], variant: str) -> dict[str, Trial]:
    return {block.task: trial for block in blocks for trial in block.trials if trial.variant == variant}


async def test_every_block_is_run_under_every_variant_and_graded(tmp_path: Path) -> None:
    plan = small(tmp_path)
    blocks = await run(plan, model_of(always=wrong_under("get")), tmp_path / "run.jsonl")
    assert len(blocks) == len(plan.tasks) == 7
    levels = {name: [trial.level for trial in trials(blocks, name).values()] for name in ("A", "B", "none")}
    assert levels["A"] == [4] * 7
    assert sorted(levels["B"]) == [0] + [2] * 6  # a neighbouring file, and a call where none is right
    assert sorted(levels["none"]) == [0] * 6 + [4]


async def test_a_record_says_what_was_asked_of_what_when_and_where(tmp_path: Path) -> None:
    plan = small(tmp_path)
    path = tmp_path / "run.jsonl"
    async with prepared(plan, model_of()) as experiment:
        known = experiment.frozen
    blocks = await run(plan, model_of(always=right), path)
    assert sorted(trial.position for block in blocks for trial in block.trials) == list(range(7 * ASKED))
    for block in blocks:
        assert [trial.place for trial in block.trials] == [0, 1, 2]
        assert [trial.time for trial in block.trials] == sorted(trial.time for trial in block.trials)
        for trial in block.trials:
            assert (trial.build, trial.model, trial.sampling) == (
                "build-1",
                "scripted",
                {"temperature": 0.5, "seed": 3},
            )
            assert trial.snapshot == known["fixture"]["folder"]
            assert trial.toolset == known["variants"][trial.variant]["toolset"]
    header = read_header(path)
    assert header.hash == frozen_hash(known)
    assert json.loads(path.read_text().splitlines()[0])["ablation"]["hash"] == header.hash


async def test_repeats_are_asked_with_seeds_of_their_own(tmp_path: Path) -> None:
    model = model_of(always=right)
    await run(small(tmp_path, PLAN.replace("repeats = 1", "repeats = 2")), model, tmp_path / "run.jsonl")
    assert sorted(request.extra["seed"] for request in asked(model)) == [3] * 21 + [4] * 21


async def test_where_infrastructure_fails_the_whole_block_is_run_again(tmp_path: Path) -> None:
    model = model_of(right, UpstreamError("the server restarts"), always=right)
    blocks = await run(small(tmp_path), model, tmp_path / "run.jsonl")
    assert [block.tries for block in blocks] == [2, 1, 1, 1, 1, 1, 1]
    assert len(asked(model)) == 2 + 7 * ASKED
    assert all(len(block.trials) == ASKED for block in blocks)


async def test_a_block_that_keeps_failing_is_dropped_for_every_variant_and_asked_again_later(tmp_path: Path) -> None:
    plan, path = small(tmp_path), tmp_path / "run.jsonl"
    model = model_of(*[UpstreamError("no memory")] * TRIES, always=right)
    dropped, *others = await run(plan, model, path)
    assert (dropped.dropped, dropped.trials, dropped.tries) == ("no memory", (), TRIES)
    assert all(len(block.trials) == ASKED for block in others)
    again = model_of(always=right)
    blocks = await run(plan, again, path)
    assert len(asked(again)) == ASKED
    assert not any(block.dropped for block in blocks)


async def test_a_server_that_is_gone_ends_the_run_and_not_every_block(tmp_path: Path) -> None:
    model = model_of(*[UpstreamError("nobody is there")] * 100)
    with pytest.raises(UpstreamError, match=r"3 blocks in a row were dropped.*nobody is there.*goes on from here"):
        await run(small(tmp_path), model, tmp_path / "run.jsonl")
    assert len(asked(model)) == 3 * TRIES


async def test_a_failure_in_a_later_attempt_of_a_ladder_is_still_one_of_infrastructure(tmp_path: Path) -> None:
    plan = small(tmp_path, PLAN.replace("repeats = 1", 'repeats = 1\narm = "full"'))

    def malformed(request: ModelRequest) -> ModelReply:
        return calls((request.tools[0].name, {})) if request.tools else text("no tools")

    model = model_of(malformed, UpstreamError("gone"), always=right)
    first, *_ = await run(plan, model, tmp_path / "run.jsonl")
    # Whichever variant comes first: the baseline is answered in words, so the failure then meets the next one.
    assert (first.tries, first.dropped) == (2, "")


@pytest.mark.parametrize(
    ("step", "status"),
    [
        (UpstreamTimeout("too slow"), "timeout"),
        (UpstreamRefused(400, "context", "the prompt is too long"), "refused"),
        (text('<tool_call>{"name": "read_file", "argu'), "unresolved"),
        (ModelReply(broken="Failed to parse tool call"), "unresolved"),
        (text(""), "unresolved"),
        (calls(("invented", {"path": "x"})), "unresolved"),
    ],
    ids=["timeout", "refused", "cut", "broken", "empty", "invented"],
)
async def test_what_the_model_does_is_an_answer_and_a_bad_one_is_zero(
    tmp_path: Path, step: ModelReply | Exception, status: str
) -> None:
    def answer(request: ModelRequest) -> ModelReply:
        if not (request.tools and request.tools[0].name == "read_file"):
            return right(request)
        if isinstance(step, Exception):
            raise step
        return step

    blocks = await run(small(tmp_path), model_of(always=answer), tmp_path / "run.jsonl")
    assert len(blocks) == 7
    assert {(trial.status, trial.level) for trial in trials(blocks, "A").values()} == {(status, 0)}
    assert all(trial.level == 4 for trial in trials(blocks, "B").values())


async def test_an_error_of_selection_is_told_apart_from_one_of_arguments_and_from_a_denial(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> ModelReply:
        prompt = prompt_of(request)
        name = request.tools[0].name if request.tools else "none"
        made = {"0": ("invented", {"path": "x"}), "1": (name, {"file": "x"}), "2": (name, {"path": "/etc/passwd"})}
        return calls(made[prompt[5]]) if prompt[5:6] in made and request.tools else right(request)

    blocks = await run(small(tmp_path), model_of(always=answer), tmp_path / "run.jsonl")
    found = trials(blocks, "A")
    assert [set(found[task].problems) for task in ("0-0", "1-0", "2-0", "3-0")] == [
        {"selection"}, {"arguments"}, {"policy"}, set(),
    ]  # fmt: skip
    assert [found[task].level for task in ("0-0", "1-0", "2-0", "3-0")] == [0, 1, 2, 4]
    assert found["2-0"].calls[0].status == "denied"


async def test_a_good_call_beside_a_bad_one_is_not_run(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> ModelReply:
        if not request.tools:
            return right(request)
        name = request.tools[0].name
        return calls((name, {"path": prompt_of(request).removeprefix("read ")}), (name, {"file": "x"}))

    trial = trials(await run(small(tmp_path), model_of(always=answer), tmp_path / "run.jsonl"), "A")["0-0"]
    assert (trial.status, trial.level, set(trial.problems)) == ("unresolved", 1, {"arguments"})
    assert [call.status for call in trial.calls] == ["refused", "refused"]


async def test_under_the_bare_arm_only_native_calls_count_and_the_executor_still_validates(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> ModelReply:
        prompt = prompt_of(request)
        name = request.tools[0].name if request.tools else "none"
        if prompt == "read 0-0.txt":
            return text(f'```json\n{{"name": "{name}", "arguments": {{"path": "0-0.txt"}}}}\n```')
        if prompt == "read 1-0.txt" and request.tools:
            return calls((name, {"path": 7}))
        return right(request)

    plan = small(tmp_path, PLAN.replace("repeats = 1", 'repeats = 1\narm = "bare"'))
    found = trials(await run(plan, model_of(always=answer), tmp_path / "run.jsonl"), "A")
    assert [found[task].level for task in ("0-0", "1-0", "2-0")] == [0, 1, 4]
    assert (found["0-0"].status, found["1-0"].problems) == ("text", {"arguments": 1})
    assert found["1-0"].calls[0].status == "refused"


async def test_a_model_without_tools_that_guesses_has_acquired_nothing(tmp_path: Path) -> None:
    def guess(request: ModelRequest) -> ModelReply:
        if request.tools:
            return right(request)
        return text(f"It says: hello {prompt_of(request)[5:8]}" if "3-0" in prompt_of(request) else "It says hello!")

    found = trials(await run(small(tmp_path), model_of(always=guess), tmp_path / "run.jsonl"), "none")
    assert (found["3-0"].level, found["3-0"].claimed, found["3-0"].guessed) == (0, True, True)
    assert (found["2-0"].level, found["2-0"].claimed, found["2-0"].guessed) == (0, True, False)
    assert (found["explain"].level, found["explain"].claimed, found["explain"].guessed) == (4, False, False)


async def test_results_go_back_to_the_model_for_as_many_turns_as_the_plan_allows(tmp_path: Path) -> None:
    def look_first(request: ModelRequest) -> ModelReply:
        results = [message for message in request.messages if message["role"] == "tool"]
        if not results:
            return wrong_under("read_file", "get")(request)
        if len(results) == 1:
            assert json.loads(results[0]["content"]) == {"status": "ok", "content": "hello explain"}
            return right(request)
        return text(f"It says {json.loads(results[1]['content'])['content']}")

    plan = small(tmp_path, PLAN.replace("repeats = 1", "turns = 3"))
    found = trials(await run(plan, model_of(always=look_first), tmp_path / "run.jsonl"), "A")
    assert (found["0-0"].level, found["0-0"].turns, len(found["0-0"].calls)) == (4, 3, 2)
    assert (found["0-0"].text, found["0-0"].claimed) == ("It says hello 0-0", True)
    one = trials(await run(small(tmp_path / "one"), model_of(always=look_first), tmp_path / "one.jsonl"), "A")
    assert (one["0-0"].level, one["0-0"].turns) == (2, 1)


async def test_a_tool_that_stands_for_several_functions_is_read_by_its_adapter(tmp_path: Path) -> None:
    one = (
        PLAN.replace('{ get = "read_file" }', '{ do = ["read_file", "list_directory"] }\ncalls = "one_tool"')
        .replace('name = "get"', 'name = "do"')
        .replace('required = ["path"]\n[variants.tools.parameters.properties.path]', "required = []")
        .replace('required = []\ntype = "string"', "required = []")
    )

    def answer(request: ModelRequest) -> ModelReply:
        if request.tools and request.tools[0].name == "do" and prompt_of(request).startswith("read"):
            file = prompt_of(request).removeprefix("read ")
            action = {"0": "list", "1": "fly"}.get(file[0], "read")
            return calls(("do", {"action": action, "path": "." if action == "list" else file}))
        return right(request)

    found = trials(await run(small(tmp_path, one), model_of(always=answer), tmp_path / "run.jsonl"), "B")
    assert (found["2-0"].level, found["2-0"].calls[0].function) == (4, "read_file")
    assert (found["0-0"].level, found["0-0"].calls[0].function) == (2, "list_directory")
    assert (found["1-0"].level, found["1-0"].calls[0].error_class) == (2, "KeyError")


async def test_a_function_that_the_plan_names_and_the_fixture_lacks_is_an_error_before_any_request(
    tmp_path: Path,
) -> None:
    tasks = tasks_toml().replace('claims = ["hello"]', 'evidence_check = "no_such_check"', 1)
    with pytest.raises(UsageError, match=r"operations\.py has no function no_such_check\(\)"):
        await run(small(tmp_path, tasks=tasks), model_of(), tmp_path / "run.jsonl")


async def test_going_on_asks_only_for_the_blocks_that_are_missing(tmp_path: Path) -> None:
    plan, path = small(tmp_path), tmp_path / "run.jsonl"
    whole = await run(plan, model_of(always=right), path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]) + lines[4][:50])  # killed in the middle of a write
    model = model_of(always=right)
    blocks = await run(plan, model, path)
    assert len(asked(model)) == 4 * ASKED
    assert {block.key for block in blocks} == {block.key for block in whole}
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda folder: write_plan(folder, PLAN.replace("0.5\nseed", "0.7\nseed")),
            r"sampling\.temperature was 0\.5",
        ),
        (
            lambda folder: write_plan(folder, tasks=tasks_toml().replace("read 0-0", "open 0-0")),
            r"tasks\.0-0\.messages",
        ),
        (lambda folder: (folder / "files" / "new.txt").write_text("x"), r"fixture\.folder was"),
        (lambda folder: write_plan(folder, operations=f"{OPERATIONS}\n# changed"), r"fixture\.module was"),
    ],
    ids=["sampling", "task", "fixture", "functions"],
)
async def test_a_plan_that_was_changed_since_is_refused_and_the_change_is_named(
    tmp_path: Path, change: Callable[[Path], object], said: str
) -> None:
    from rightcall.evaluation.ablation.plan_file import load_plan

    path = tmp_path / "run.jsonl"
    plan = write_plan(tmp_path / "plan")
    await run(load_plan(plan), model_of(always=right), path)
    before = path.read_bytes()
    change(tmp_path / "plan")
    model = model_of(always=right)
    with pytest.raises(UsageError, match=rf"begun with another plan(.|\n)*{said}"):
        await run(load_plan(plan), model, path)
    assert (asked(model), path.read_bytes()) == ([], before)


async def test_another_build_of_the_model_is_another_experiment(tmp_path: Path) -> None:
    plan, path = small(tmp_path), tmp_path / "run.jsonl"
    await run(plan, model_of(always=right), path)
    with pytest.raises(UsageError, match=r'model\.build was "build-1", is "build-2"'):
        await run(plan, model_of(always=right, build="build-2"), path)


async def test_a_first_line_that_was_changed_by_hand_is_noticed(tmp_path: Path) -> None:
    plan, path = small(tmp_path), tmp_path / "run.jsonl"
    await run(plan, model_of(always=right), path)
    path.write_text(path.read_text().replace('"alpha":0.05', '"alpha":0.5', 1))
    with pytest.raises(UsageError, match="has another hash than the one beside it"):
        read_header(path)


async def test_several_blocks_at_once_come_to_the_same(tmp_path: Path) -> None:
    plan = small(tmp_path)
    one = await run(plan, model_of(always=wrong_under("get")), tmp_path / "one.jsonl")
    many = await run(plan, model_of(always=wrong_under("get")), tmp_path / "many.jsonl", parallel=4)

    def told(blocks: list[Settled]) -> dict[tuple[str, int], list[tuple[str, int, int]]]:
        return {b.key: [(t.variant, t.position, t.level) for t in b.trials] for b in blocks}

    assert told(one) == told(many)


async def test_an_e_process_ends_the_experiment_once_every_comparison_is_decided(tmp_path: Path) -> None:
    plan = small(tmp_path, PLAN.replace("delta = 0.5", 'stop = "e-process"'), tasks=tasks_toml(families=60))
    model, path = model_of(always=wrong_under("get")), tmp_path / "run.jsonl"
    blocks = await run(plan, model, path)
    assert 10 < len(blocks) < 50
    again = model_of(always=right)
    assert len(await run(plan, again, path)) == len(blocks)
    assert asked(again) == []


async def test_an_e_process_goes_on_to_the_end_where_nothing_differs(tmp_path: Path) -> None:
    plan = small(tmp_path, PLAN.replace("delta = 0.5", 'stop = "e-process"'), tasks=tasks_toml(families=20))
    plan = replace(plan, variants=plan.variants[:2])
    assert len(await run(plan, model_of(always=right), tmp_path / "run.jsonl")) == 20


async def test_what_is_left_is_counted_without_asking(tmp_path: Path) -> None:
    plan, path = small(tmp_path, PLAN.replace("repeats = 1", 'repeats = 2\narm = "full"')), tmp_path / "run.jsonl"
    model = model_of(always=right)
    async with prepared(plan, model) as experiment:
        cost = experiment.cost()
        assert (cost.blocks, cost.done, cost.requests_min, cost.requests_max) == (14, 0, 42, 42 * 11)
        assert (asked(model), cost.input_tokens > 42) == ([], True)
        with BlockFile(path, experiment.frozen) as file:
            await experiment.run(file, model)
            assert experiment.cost(file.settled).blocks == 0
