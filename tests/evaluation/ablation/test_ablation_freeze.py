"""What is fixed beforehand: the whole of it, in a form that does not depend on how the file is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_plan import PLAN, small, tasks_toml

from rightcall.evaluation.ablation.freeze import differences, frozen, frozen_hash
from rightcall.evaluation.ablation.plan import Plan

GOLDEN = Path(__file__).with_name("frozen_plan.json")


def data_of(plan: Plan, **more: str) -> dict[str, Any]:
    facts = {"model": "m", "build": "b", "snapshot": "sha256:1", "module": "sha256:2", **more}
    return frozen(plan, **facts)


def test_the_form_of_what_is_frozen_is_known(tmp_path: Path) -> None:
    data = {**data_of(small(tmp_path, tasks=tasks_toml(7))), "rightcall": "VERSION"}
    # Which settings an arm has is its own business; that all of them are frozen is tested below.
    data["arm"] = {"name": data["arm"]["name"]}
    data["tasks"] = {key: data["tasks"][key] for key in ("0-0", "explain")}
    assert json.loads(json.dumps(data)) == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_layout_and_comments_of_the_file_are_not_frozen(tmp_path: Path) -> None:
    lines = PLAN.replace("repeats = 1", "# a comment\nrepeats = 1").replace("delta = 0.5", "delta   =   5e-1")
    a, b = small(tmp_path / "a"), small(tmp_path / "b", lines)
    assert frozen_hash(data_of(a)) == frozen_hash(data_of(b))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("delta = 0.5", "delta = 0.25", "delta was 0.5, is 0.25"),
        ("delta = 0.5", "delta = 0.5\nalpha = 0.1", "alpha was 0.05, is 0.1"),
        ("repeats = 1", "repeats = 2", "repeats was 1, is 2"),
        ("seed = 3", "seed = 4", "sampling.seed was 3, is 4"),
        ("repeats = 1", 'repeats = 1\narm = "full"', 'arm.name was "parse", is "full"'),
        ("Reads a file.", "Reads.", "variants.A.tools was"),
        ('name = "none"', 'name = "nothing"', "variants.none is gone"),
    ],
)
def test_every_decision_is_frozen_and_a_change_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    before, after = data_of(small(tmp_path / "a")), data_of(small(tmp_path / "b", PLAN.replace(old, new, 1)))
    assert frozen_hash(before) != frozen_hash(after)
    assert any(said in line for line in differences(before, after))


def test_every_setting_of_the_arm_is_frozen(tmp_path: Path) -> None:
    plan = small(tmp_path)
    assert data_of(plan)["arm"] == {"name": "parse", **plan.arm.settings}


def test_tasks_fixture_and_model_are_frozen_too(tmp_path: Path) -> None:
    plan = small(tmp_path)
    before = data_of(plan)
    other = replace(plan, tasks=(replace(plan.tasks[0], family="elsewhere"), *plan.tasks[1:]))
    assert differences(before, data_of(other)) == ['families.0-0 was "f0", is "elsewhere"']
    assert differences(before, data_of(plan, snapshot="sha256:3")) == ['fixture.folder was "sha256:1", is "sha256:3"']
    assert differences(before, data_of(plan, build="c")) == ['model.build was "b", is "c"']
    assert differences(before, data_of(plan)) == []
