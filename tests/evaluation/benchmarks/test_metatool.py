"""MetaTool: candidates in no telling order, and set match."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rightcall.domain import ToolCall
from rightcall.evaluation.benchmarks.metatool import TASKS, MetaToolSuite
from rightcall.evaluation.cases import Answer, Case
from rightcall.schema.compiled import compile_tools

COUNTS = {"similar": 995, "scenario": 1800, "reliability": 995, "multi_tool": 497}


def _suite(shared: Path, task: str, seed: int = 0) -> MetaToolSuite:
    return MetaToolSuite(task, shared / "data", seed)


def _called(*names: str) -> Answer:
    return Answer("calls", tuple(ToolCall("", name, {}) for name in names), valid=True)


def _gold(case: Case) -> list[str]:
    return [wanted.name for wanted in case.accepted[0]]


@pytest.mark.parametrize("task", TASKS)
def test_every_case_offers_its_candidates_with_descriptions_and_no_parameters(shared: Path, task: str) -> None:
    cases = list(_suite(shared, task).cases())
    assert len(cases) == COUNTS[task]
    assert len({case.family for case in cases}) >= 6
    for case in cases:
        assert compile_tools(case.tools).problems == ()
        assert all(tool.description and not tool.parameters["properties"] for tool in case.tools)
        assert case.negative is (task == "reliability")


def test_a_name_that_backends_refuse_is_offered_in_plain_characters(shared: Path) -> None:
    case = next(case for case in _suite(shared, "scenario").cases() if case.gold == "PDF&URLTool")
    assert _gold(case) == ["PDF_URLTool"]
    assert "PDF_URLTool" in {tool.name for tool in case.tools}


@pytest.mark.parametrize("task", ["similar", "multi_tool"])
def test_the_place_of_the_right_tool_tells_nothing(shared: Path, task: str) -> None:
    places: Counter[int] = Counter()
    for case in _suite(shared, task).cases():
        names = [tool.name for tool in case.tools]
        places.update(names.index(name) for name in _gold(case))
    even = places.total() / 10
    # Nine degrees of freedom: a chi-square beyond 28 happens once in a thousand orders.
    assert sum((places[place] - even) ** 2 / even for place in range(10)) < 28


def test_the_order_is_the_seeds(shared: Path) -> None:
    orders = [
        [[tool.name for tool in case.tools] for case in _suite(shared, "similar", seed).cases()] for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]
    assert [sorted(names) for names in orders[0]] == [sorted(names) for names in orders[2]]
    assert _suite(shared, "similar", 1).version != _suite(shared, "similar", 2).version


def test_the_gold_tool_is_right_whatever_its_arguments_and_any_other_wrong(shared: Path) -> None:
    suite = _suite(shared, "similar")
    case = next(iter(suite.cases()))
    (gold,) = _gold(case)
    other = next(tool.name for tool in case.tools if tool.name != gold)
    right = suite.score(case, Answer("calls", (ToolCall("", gold, {"query": "x"}),), valid=False))
    assert (right.success, right.original) == (True, {"correct_selection": 1})
    for wrong in (_called(other), _called(gold, other), _called(gold, gold), Answer("text", text=gold)):
        assert suite.score(case, wrong).original == {"correct_selection": 0}


def test_two_tools_match_as_a_set(shared: Path) -> None:
    suite = _suite(shared, "multi_tool")
    case = next(iter(suite.cases()))
    one, two = _gold(case)
    assert suite.score(case, _called(two, one)).success
    assert not suite.score(case, _called(one)).success
    assert not suite.score(case, _called(one, two, one)).success


def test_no_tool_is_right_where_the_right_one_was_taken_away(shared: Path) -> None:
    suite = _suite(shared, "reliability")
    case = next(iter(suite.cases()))
    assert case.gold not in {tool.name for tool in case.tools}
    assert suite.score(case, Answer("text", text="None of them.")).success
    assert suite.score(case, Answer("unresolved", valid=False)).success
    assert not suite.score(case, _called(case.tools[0].name)).success
