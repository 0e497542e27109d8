"""The order of asking: whole blocks, random, decided by the seed alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from small_plan import small, tasks_toml

from rightcall.evaluation.ablation.plan import Plan
from rightcall.evaluation.ablation.schedule import schedule


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return replace(small(tmp_path, tasks=tasks_toml(families=20, each=5)), repeats=3)


def test_every_task_and_repeat_is_one_block_with_every_variant_once(plan: Plan) -> None:
    blocks = schedule(plan)
    assert Counter(block.key for block in blocks) == Counter(
        (task.id, repeat) for task in plan.tasks for repeat in range(3)
    )
    assert all(sorted(block.order) == ["A", "B", "none"] for block in blocks)
    assert [block.number for block in blocks] == list(range(len(blocks)))


def test_the_seed_decides_the_order_and_nothing_else_does(plan: Plan) -> None:
    assert schedule(plan) == schedule(plan)
    assert schedule(plan) != schedule(replace(plan, seed=plan.seed + 1))


def test_each_variant_stands_in_each_place_about_as_often(plan: Plan) -> None:
    blocks = schedule(plan)
    expected = len(blocks) / 3
    for place in range(3):
        counts = Counter(block.order[place] for block in blocks)
        # Chi-square with 2 degrees of freedom: 18.4 is its 0.9999 quantile; the seed is fixed.
        assert sum((counts[name] - expected) ** 2 / expected for name in ("A", "B", "none")) < 18.4


def test_blocks_are_shuffled_across_tasks_and_repeats(plan: Plan) -> None:
    repeats = [block.repeat for block in schedule(plan)]
    families = [block.task.split("-")[0] for block in schedule(plan)]
    assert repeats != sorted(repeats)
    assert len(list(groupby(families))) > 2 * len(set(families))


def test_an_e_process_gets_whole_families_one_after_another_in_random_order(plan: Plan) -> None:
    looking = replace(plan, decisions=replace(plan.decisions, stop="e-process"))
    family = {task.id: task.family for task in plan.tasks}
    order = [name for name, _ in groupby(family[block.task] for block in schedule(looking))]
    assert sorted(order) == sorted(plan.families)
    assert order != list(plan.families)
