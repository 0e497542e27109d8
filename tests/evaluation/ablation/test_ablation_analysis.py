"""What comes out of known outcomes: the numbers, what may be claimed, and what is told apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_plan import PLAN, model_of, small, tasks_toml

from rightcall.errors import UsageError
from rightcall.evaluation.ablation.analysis import analyse
from rightcall.evaluation.ablation.block_file import BlockFile, as_settled
from rightcall.evaluation.ablation.freeze import frozen
from rightcall.evaluation.ablation.grade import Made
from rightcall.evaluation.ablation.plan import Plan, Task
from rightcall.evaluation.ablation.planning import planned
from rightcall.evaluation.ablation.schedule import Block, schedule
from rightcall.evaluation.ablation.trial import Trial
from rightcall.evaluation.statistics import holm, paired_difference

Levels = Callable[[str, Task, Block, int], int]
"""Variant, task, block, place in it: the level reached."""


def written(path: Path, plan: Plan, levels: Levels, dropped: tuple[str, ...] = (), **more: Any) -> Path:
    """An experiment's file with these outcomes, as a run would leave it."""
    model = model_of()
    data = frozen(plan, model=model.entry.name, build=model.build, snapshot="sha256:1", module="sha256:2")
    tasks = {task.id: task for task in plan.tasks}
    with BlockFile(path, data) as file:
        for block in schedule(plan):
            if block.task in dropped:
                file.append(as_settled(block, 3, dropped="the server was gone"))
                continue
            trials = []
            for place, name in enumerate(block.order):
                level = levels(name, tasks[block.task], block, place)
                position = block.number * len(block.order) + place
                trials.append(Trial(name, position, place, time=1000.0 + position, level=level, turns=1, **more))
            file.append(as_settled(block, 1, trials))
    return path


def by_name(rows: list[dict[str, Any]], key: str = "variant") -> dict[str, dict[str, Any]]:
    return {row[key]: row for row in rows}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return small(tmp_path, PLAN.replace("repeats = 1", "repeats = 2"), tasks=tasks_toml(families=12, each=3))


def test_the_primary_numbers_are_those_of_the_paired_test_by_task_with_holm_over_every_comparison(
    tmp_path: Path, plan: Plan
) -> None:
    def level(variant: str, task: Task, block: Block, place: int) -> int:
        del place
        return {"A": 4, "B": 4 if (len(task.id) + block.repeat + int(task.family[-1] == "3")) % 2 else 2}.get(
            variant, 0
        )

    found = analyse(written(tmp_path / "run.jsonl", plan, level))
    families = [task.family for task in plan.tasks]
    means = {
        name: [
            sum(level(name, task, Block(0, task.id, repeat, ()), 0) == 4 for repeat in (0, 1)) / 2
            for task in plan.tasks
        ]
        for name in ("A", "B", "none")
    }
    by_hand = {name: paired_difference(means["A"], means[name], families) for name in ("B", "none")}
    rows = by_name(found["differences"])
    for name, expected in by_hand.items():
        assert rows[name]["difference"]["value"] == pytest.approx(np.mean(means[name]) - np.mean(means["A"]))
        assert rows[name]["difference"]["low"] == pytest.approx(expected.estimate.low, abs=1e-12, nan_ok=True)
        assert rows[name]["p"] == expected.p
    adjusted = holm([by_hand["B"].p or 0.0, by_hand["none"].p or 0.0])
    assert [rows["B"]["p_holm"], rows["none"]["p_holm"]] == adjusted
    assert rows["none"]["significant"] is (adjusted[1] <= 0.05)


def test_levels_are_nested_and_only_the_endpoint_is_tested(tmp_path: Path, plan: Plan) -> None:
    ranks = itertools.cycle(range(5))
    found = analyse(written(tmp_path / "run.jsonl", plan, lambda *_: next(ranks)))
    for variant in found["variants"]:
        values = [variant["levels"][level]["value"] for level in ("L1", "L2", "L3", "L4")]
        assert values == sorted(values, reverse=True)
        for level in variant["levels"].values():
            assert level["low"] < level["value"] < level["high"]
    assert {row["level"] for row in found["differences"]} == {"L4"}
    assert {(row["variant"], row["level"]) for row in found["diagnostics"]} == set(
        itertools.product(("B", "none"), ("L1", "L2", "L3"))
    )
    assert all("p" not in row for row in found["diagnostics"])


def test_another_endpoint_is_tested_if_the_plan_froze_it(tmp_path: Path, plan: Plan) -> None:
    plan = replace(plan, decisions=replace(plan.decisions, endpoint="L2"))
    found = analyse(written(tmp_path / "run.jsonl", plan, lambda variant, *_: {"A": 2, "B": 4}.get(variant, 0)))
    rows = by_name(found["differences"])
    assert (rows["B"]["difference"]["value"], rows["none"]["difference"]["value"]) == (0.0, -1.0)


def test_a_pilot_claims_nothing(tmp_path: Path, plan: Plan) -> None:
    plan = replace(plan, decisions=replace(plan.decisions, pilot=True))
    found = analyse(written(tmp_path / "run.jsonl", plan, lambda variant, *_: 4 if variant == "A" else 0))
    for row in found["differences"]:
        assert (row["p"], row["p_holm"], row["significant"]) == (None, None, None)
        assert row["difference"]["value"] == -1.0


def test_a_dropped_block_counts_for_no_variant_and_is_reported(tmp_path: Path, plan: Plan) -> None:
    found = analyse(written(tmp_path / "run.jsonl", plan, lambda *_: 4, dropped=("0-0",)))
    assert found["blocks"]["whole"] == found["blocks"]["planned"] - 2
    assert found["blocks"]["dropped"] == [
        {"task": "0-0", "repeat": repeat, "reason": "the server was gone"}
        for repeat in (block.repeat for block in schedule(plan) if block.task == "0-0")
    ]
    assert {variant["levels"]["L4"]["n"] for variant in found["variants"]} == {len(plan.tasks) - 1}


def test_errors_of_selection_arguments_and_policy_are_rates_of_their_own(tmp_path: Path, plan: Plan) -> None:
    call = Made(0, "read_file", valid=True, status="ok")
    made = {
        "selection": ({"problems": {"selection": 1}}, "selection_error"),
        "incapable": ({"calls": (call,), "level": 0}, "selection_error"),
        "arguments": ({"problems": {"arguments": 2}, "level": 1}, "argument_error"),
        "policy": ({"calls": (call,), "problems": {"policy": 1}, "level": 3}, "policy_denial"),
        "timeout": ({"status": "timeout"}, "no_reply"),
    }
    for kind, (facts, rate) in made.items():
        level = facts.pop("level", 0)  # type: ignore[attr-defined]
        path = written(tmp_path / f"{kind}.jsonl", plan, lambda *_, level=level: level, **facts)  # type: ignore[misc]
        errors = analyse(path)["variants"][0]["errors"]
        shown = {
            name
            for name in ("selection_error", "argument_error", "policy_denial", "no_reply")
            if errors[name]["value"]
        }
        assert shown == {rate}


def test_the_baseline_is_shown_to_claim_and_to_guess_what_it_has_not_acquired(tmp_path: Path, plan: Plan) -> None:
    found = analyse(written(tmp_path / "run.jsonl", plan, lambda *_: 0, claimed=True, text="hello"))
    errors = by_name(found["variants"], "name")["none"]["errors"]
    assert (errors["claimed_without_evidence"]["value"], errors["guessed"]["value"]) == (1.0, 0.0)
    assert errors["no_call"]["n"] == len(plan.tasks) - 1
    assert errors["false_call"]["n"] == 1


def test_what_the_place_in_the_block_does_shows_in_the_sensitivity_analysis(tmp_path: Path, plan: Plan) -> None:
    draw = np.random.default_rng(5)

    def level(variant: str, task: Task, block: Block, place: int) -> int:
        del task, block
        chance = {"A": 0.7, "B": 0.5, "none": 0.4}[variant] - 0.15 * (place - 1)
        return 4 if draw.random() < chance else 2

    plan = replace(plan, repeats=20)
    found = analyse(written(tmp_path / "run.jsonl", plan, level))["sensitivity"]
    terms = by_name(found["terms"], "term")
    assert terms["place"]["low"] < -0.3 < terms["place"]["high"] < 0
    assert terms["time"]["low"] < 0 < terms["time"]["high"]
    assert terms["B"]["low"] < -0.2 < terms["B"]["high"] < 0


def test_too_few_families_for_the_terms_are_said_to_be_so(tmp_path: Path) -> None:
    plan = small(tmp_path, PLAN.replace("delta = 0.5", "pilot = true"), tasks=tasks_toml(families=4, each=4))
    found = analyse(written(tmp_path / "run.jsonl", plan, lambda *_: 4))
    assert found["sensitivity"]["terms"] == []
    assert "4 families for 5 terms" in found["sensitivity"]["reason"]


def test_under_looks_the_e_values_decide_and_are_the_same_from_the_file(tmp_path: Path) -> None:
    plan = small(tmp_path, PLAN.replace("delta = 0.5", 'stop = "e-process"'), tasks=tasks_toml(families=60))
    found = analyse(written(tmp_path / "run.jsonl", plan, lambda variant, *_: 4 if variant != "none" else 0))
    looks = by_name(found["looks"])
    assert (looks["none"]["decided"], looks["B"]["decided"]) == (True, False)
    assert looks["none"]["needed"] == pytest.approx(2 / 0.05)
    assert looks["none"]["families"] == 60
    assert all(row["p"] is None for row in found["differences"])


# -- beforehand -----------------------------------------------------------------------------------------------------


def test_power_from_assumptions_uses_the_first_level_of_holm(tmp_path: Path) -> None:
    plan = small(tmp_path, PLAN.replace("task_variance = 0.1", "task_variance = 0.1\npower = 0.9"))
    (row,) = planned(plan)
    assert (row["source"], row["alpha"], row["target"]) == ("assumed", 0.025, 0.9)
    quantiles = 2.2414 + 1.2816  # of the normal distribution, at 1 - 0.025 / 2 and at 0.9
    assert row["needed"] == int(np.ceil(quantiles**2 * (0.1 + 0.25 + 0.25) / 0.5**2))
    assert row["power_families"] <= row["power"] < 0.9


def test_power_from_a_pilot_is_by_comparison(tmp_path: Path, plan: Plan) -> None:
    draw = np.random.default_rng(1)
    path = written(
        tmp_path / "pilot.jsonl",
        plan,
        lambda variant, *_: 4 if draw.random() < {"A": 0.5, "B": 0.5}.get(variant, 0) else 0,
    )
    rows = by_name(planned(plan, path), "source")
    assert set(rows) == {"B", "none"}
    assert rows["B"]["needed"] > rows["none"]["needed"]
    assert rows["none"]["second"] == 0.0


def test_power_without_any_variance_asks_for_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"set task_variance under \[power\].*or give the file of a pilot"):
        planned(small(tmp_path, PLAN.replace("task_variance = 0.1", "")))
