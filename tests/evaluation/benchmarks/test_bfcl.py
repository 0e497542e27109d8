"""BFCL: what is offered to the model, and what counts as right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rightcall.domain import ToolCall
from rightcall.evaluation.benchmarks.bfcl import CATEGORIES, BfclSuite, json_schema
from rightcall.evaluation.benchmarks.registry import load_suite
from rightcall.evaluation.cases import Answer, Case
from rightcall.openai_chat import tool_to_json
from rightcall.schema.compiled import compile_tools

RECORDED = ("simple_python", "multiple", "parallel", "irrelevance")
COUNTS = {
    "simple_python": 400,
    "multiple": 200,
    "parallel": 200,
    "parallel_multiple": 200,
    "irrelevance": 240,
    "live_simple": 258,
    "live_multiple": 1053,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
    "live_irrelevance": 884,
    "live_relevance": 16,
}


def _suite(shared: Path, category: str) -> BfclSuite:
    return BfclSuite(category, shared / "data")


def _right(case: Case) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall("", wanted.name, {key: values[0] for key, values in (wanted.arguments or {}).items() if values})
        for wanted in case.accepted[0]
    )


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_case_of_the_data_is_offered_with_tools_that_compile(shared: Path, category: str) -> None:
    cases = list(_suite(shared, category).cases())
    assert len(cases) == len({case.id for case in cases}) == COUNTS[category]
    assert len({case.family for case in cases}) >= 6
    for case in cases:
        assert compile_tools(case.tools).problems == ()
        assert {wanted.name for alternative in case.accepted for wanted in alternative} <= {
            tool.name for tool in case.tools
        }


@pytest.mark.parametrize("size", ["0.5b", "1.5b"])
def test_a_case_asks_what_was_recorded(shared: Path, size: str) -> None:
    cases = {case.id: case for category in RECORDED for case in _suite(shared, category).cases()}
    lines = (shared / "recordings" / f"qwen2.5-coder-{size}.bfcl.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 110
    for line in lines:
        recorded = json.loads(line)
        case = cases[recorded["id"]]
        assert list(case.messages) == recorded["request"]["messages"]
        assert json.dumps([tool_to_json(tool) for tool in case.tools]) == json.dumps(recorded["request"]["tools"])


def test_python_like_types_become_json_schema_types_and_properties_named_type_stay() -> None:
    declared = {
        "type": "dict",
        "properties": {
            "type": {"type": "any", "description": "whatever"},
            "size": {"type": "tuple", "items": {"type": "float"}},
            "more": {"type": "dict", "properties": {"enum": {"type": "string", "enum": ["dict"]}}},
        },
        "required": ["type"],
    }
    assert json_schema(declared) == {
        "type": "object",
        "properties": {
            "type": {"description": "whatever"},
            "size": {"type": "array", "items": {"type": "number"}},
            "more": {"type": "object", "properties": {"enum": {"type": "string", "enum": ["dict"]}}},
        },
        "required": ["type"],
    }


def test_no_call_is_right_where_no_tool_fits_and_any_offered_one_is_wrong(shared: Path) -> None:
    suite = _suite(shared, "irrelevance")
    case = next(iter(suite.cases()))
    assert case.negative
    silent = suite.score(case, Answer("text", text="None of them fits."))
    assert (silent.success, silent.selection, silent.arguments, silent.selection_error) == (True, True, True, "")
    refused = suite.score(case, Answer("unresolved", valid=False, problems=({"kind": "unknown_tool"},)))
    assert refused.success
    called = suite.score(case, Answer("calls", (ToolCall("", case.tools[0].name, {}),), valid=True))
    assert (called.success, called.selection, called.original["accuracy"]) == (False, False, 0)
    assert called.selection_error == ""


def test_any_call_is_relevant_and_only_an_offered_tool_is_selected(shared: Path) -> None:
    suite = _suite(shared, "live_relevance")
    case = next(iter(suite.cases()))
    assert not case.negative
    twice = suite.score(case, Answer("calls", (ToolCall("", case.tools[0].name, {}),) * 2, valid=True))
    assert (twice.success, twice.selection) == (True, True)
    other = suite.score(case, Answer("calls", (ToolCall("", "invented", {}),), valid=False))
    assert (other.success, other.selection, other.selection_error) == (True, False, "schema_misalignment")
    assert not suite.score(case, Answer("text", text="hm")).success


def test_arguments_are_ours_and_stricter_than_bfcl_about_punctuation(shared: Path) -> None:
    suite = _suite(shared, "simple_python")
    case = next(case for case in suite.cases() if case.id == "simple_python_0")
    (right,) = _right(case)
    loose = ToolCall("", right.name, {**right.arguments, "unit": "UN-ITS"})
    score = suite.score(case, Answer("calls", (loose,), valid=True))
    assert (score.success, score.selection, score.arguments) == (True, True, False)
    cased = ToolCall("", right.name, {**right.arguments, "unit": " Units"})
    assert suite.score(case, Answer("calls", (cased,), valid=True)).arguments


def test_an_optional_argument_may_be_left_out_and_a_required_one_may_not(shared: Path) -> None:
    suite = _suite(shared, "simple_python")
    case = next(case for case in suite.cases() if case.id == "simple_python_0")
    (right,) = _right(case)
    for name, allowed in (("unit", True), ("base", False)):
        less = ToolCall("", right.name, {key: value for key, value in right.arguments.items() if key != name})
        score = suite.score(case, Answer("calls", (less,), valid=True))
        assert (score.success, score.arguments) == (allowed, allowed)


def test_the_registry_loads_it_by_name(shared: Path) -> None:
    suite = load_suite("bfcl:live_parallel", shared / "data", seed=1)
    assert suite.name == "bfcl:live_parallel"
    assert len(list(suite.cases())) == 16
