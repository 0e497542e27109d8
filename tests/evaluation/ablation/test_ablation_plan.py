"""A plan's file: what is read from it, and what is said of one that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_plan import PLAN, small, tasks_toml, write_plan

from rightcall.errors import UsageError
from rightcall.evaluation.ablation.plan_file import load_plan

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ablation" / "plan.toml"


def test_the_example_has_four_ways_to_offer_the_tools_and_a_baseline_without_any() -> None:
    plan = load_plan(EXAMPLE)
    assert [(variant.name, len(variant.tools)) for variant in plan.variants] == [
        ("A", 3), ("B", 3), ("C", 1), ("D", 3), ("none", 0),
    ]  # fmt: skip
    assert plan.control == "A"
    assert plan.smallest_p() <= plan.decisions.alpha / 4
    assert {task.id for task in plan.tasks if task.negative} == {
        "explain-json",
        "explain-tool",
        "outside",
        "too-many",
    }


def test_a_tool_stands_for_the_function_of_its_name_unless_the_plan_says_otherwise(tmp_path: Path) -> None:
    a, b, none = small(tmp_path).variants
    assert a.operations == {"read_file": ("read_file",)}
    assert b.operations == {"get": ("read_file",)}
    assert none.baseline


def test_expected_calls_can_differ_by_variant(tmp_path: Path) -> None:
    tasks = tasks_toml().replace(
        'expected = [{ function = "read_file", arguments = { path = "0-0.txt" } }]',
        'expected = { A = [{ function = "read_file" }],'
        ' B = [[{ function = "read_file", arguments = { path = "x" } }]] }',
    )
    plan = small(tmp_path, tasks=tasks)
    a, b, _ = plan.variants
    assert plan.tasks[0].accepted(a)[0][0].arguments is None
    assert plan.tasks[0].accepted(b)[0][0].arguments == {"path": ("x",)}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("repeats = 1", "repeets = 1", r"sets 'repeets' \(did you mean 'repeats'\?\); allowed: name, models"),
        ("repeats = 1", "repeats = 0", "repeats is 0; allowed: 1 to 1000"),
        ("repeats = 1", 'repeats = "2"', "repeats must be a whole number, not text '2'"),
        ("repeats = 1", "repeats = true", "repeats must be a whole number, not true or false True"),
        ('control = "A"', 'control = "Z"', "the control 'Z' is no variant; there are A, B, none"),
        ('control = "A"', 'control = "none"', "the control 'none' has no tools"),
        ("delta = 0.5", 'endpoint = "L5"', "endpoint is 'L5'; allowed: L1, L2, L3, L4"),
        ("delta = 0.5", 'stop = "soon"', "stop is 'soon'; allowed: fixed, e-process"),
        ('name = "B"', 'name = "A"', "two variants called 'A'"),
        ('name = "B"', 'name = "B"\nsearch = true', "needs the catalogue's search, which this version of rightcall"),
        ('{ get = "read_file" }', '{ gett = "read_file" }', r"sets 'gett' \(did you mean 'get'\?\)"),
        ('{ get = "read_file" }', '{ get = ["read_file", "list_directory"] }', "may stand for read_file, list"),
        ('{ get = "read_file" }', '{ get = "read file" }', "'read file' is no name of a Python function"),
        ('{ get = "read_file" }', '{ get = "list_directory" }', "no right answer can be given under variant 'B'"),
        ("tools = []", 'tools = "no.json"', r"the tools file .*no\.json cannot be read"),
        ('folder = "files"', 'folder = "nowhere"', "nowhere is no folder"),
        ("seconds = 5", "seconds = 0", r"seconds is 0; allowed: 0\.1 to 3600"),
        ('name = "small"', 'name = "a/b"', "name is 'a/b'"),
        ('type = "object"', 'type = "objekt"', "no valid JSON Schema"),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_be_used_is_refused_with_what_is_wrong(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in PLAN
    with pytest.raises(UsageError, match=said):
        small(tmp_path, PLAN.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('evidence = ["hello 0-0"]\n', "", "task '0-0' needs what a result must hold for level 4"),
        ('prompt = "read 0-0.txt"', "", "task '0-0' needs either 'prompt' or 'messages'"),
        ('claims = ["hello"]', 'claims = ["("]', "is no regular expression"),
        ('claims = ["hello"]', "refusal = true", "`refusal` is for tasks where no call is right"),
        ('claims = ["hello"]', "normaliser = { path = ['caps'] }", "there is no normaliser 'caps'"),
        ('claims = ["hello"]', "right = 'every_call_reads'", "needs either 'expected' .* or 'right'"),
        ('id = "1-0"', 'id = "0-0"', "two tasks called '0-0'"),
        ("expected = []", 'expected = []\nevidence = ["x"]', "wants no call, so there is no evidence"),
        ('path = "0-0.txt" } }', 'path = "0-0.txt" }, optional = ["limit"] }', "optional names 'limit'"),
        ('expected = [{ function = "read_file", arguments = { path = "0-0.txt" } }]', "right = 'every_call_reads'",
         "name the functions that can do the task"),
        ('expected = [{ function = "read_file", arguments = { path = "0-0.txt" } }]',
         'expected = { A = [{ function = "read_file" }] }', "no entry for variant 'B'"),
        ('expected = [{ function = "read_file", arguments = { path = "0-0.txt" } }]',
         'expected = { A = [{ function = "read_file" }], B = [] }', "right under one variant and none under another"),
    ],
)  # fmt: skip
def test_a_task_that_cannot_be_used_is_refused_by_its_name(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in tasks_toml()
    with pytest.raises(UsageError, match=said):
        small(tmp_path, tasks=tasks_toml().replace(old, new, 1))


def test_too_few_families_are_refused_with_the_number_that_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"6 families cannot show any difference.*Use at least 7 families"):
        small(tmp_path, tasks=tasks_toml(families=6))


def test_a_pilot_may_have_few_families(tmp_path: Path) -> None:
    plan = small(tmp_path, PLAN.replace("delta = 0.5", "pilot = true"), tasks=tasks_toml(families=2))
    assert plan.decisions.pilot


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    path = write_plan(tmp_path, "name = ")
    with pytest.raises(UsageError, match=r"plan\.toml is no TOML"):
        load_plan(path)
