"""The four levels: nested, strict within a turn, and blind to nothing that was called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.domain import Tool
from rightcall.evaluation.ablation.grade import Made, claims_evidence, level_of
from rightcall.evaluation.ablation.plan import Evidence, Task, Variant
from rightcall.evaluation.cases import ExpectedCall

VARIANT = Variant(
    "A",
    (Tool("workspace"), Tool("delete")),
    {"workspace": ("read", "list"), "delete": ("delete",)},
)
READ = ExpectedCall("read", {"path": ("a.txt", "./a.txt"), "limit": ()}, frozenset(("limit",)))
TASK = Task("t", "f", (), {"": ((READ,),)}, evidence=Evidence(texts=("hello",)))
NEGATIVE = Task("n", "f", (), {"": ((),)})


def made(path: str = "a.txt", content: str = "hello", **more: Any) -> Made:
    right = Made(0, "workspace", {}, valid=True, function="read", given={"path": path}, status="ok", content=content)
    return replace(right, **more)


async def level(*calls: Made, task: Task = TASK, silent: bool = False) -> int:
    async def judge(function: str, value: Any) -> bool:
        return {"reads": value == [{"function": "read", "arguments": {"path": "a.txt"}}], "any": "hello" in value}[
            function
        ]

    return await level_of(calls, task, VARIANT, judge, silent=silent)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (made(), 4),
        (made("./a.txt"), 4),
        (made(given={"path": "a.txt", "limit": 17}), 4),
        (made(content="bye"), 3),
        (made(status="error"), 3),
        (made(status="timeout"), 3),
        (made("b.txt"), 2),
        (made(given={}), 2),
        (made(given={"path": "a.txt", "mode": "r"}), 2),
        (made(function="list"), 2),
        (made(function="", status="error"), 2),
        (made(valid=False, problems=("wrong_type",)), 1),
        (made(tool="delete"), 0),
        (made(tool="invented", valid=False), 0),
    ],
    ids=str,
)
async def test_a_call_is_as_right_as_the_first_thing_that_is_wrong_with_it(call: Made, expected: int) -> None:
    assert await level(call) == expected


async def test_no_call_is_no_level_where_one_is_wanted_and_all_of_them_where_none_is() -> None:
    assert await level(silent=True) == 0
    assert await level(task=NEGATIVE, silent=True) == 4
    assert await level(made(), task=NEGATIVE) == 0
    assert await level(task=NEGATIVE, silent=False) == 0  # a timeout, or nonsense


@pytest.mark.parametrize(
    ("call", "held"),
    [
        (made(status="denied"), True),
        (made(valid=False, status="refused", problems=("constraint",)), True),
        (made(valid=False, status="refused", problems=("extra_argument",)), True),
        (made(valid=False, status="refused", problems=("wrong_type",)), False),
        (made(valid=False, status="refused", problems=("unknown_tool",)), False),
        (made(), False),
    ],
)
async def test_a_boundary_that_turns_a_call_away_is_right_only_where_the_task_says_so(call: Made, held: bool) -> None:
    assert await level(call, task=replace(NEGATIVE, refusal=True)) == (4 if held else 0)
    assert await level(call, task=NEGATIVE) == 0


async def test_calling_more_than_is_wanted_in_one_turn_is_not_right() -> None:
    assert await level(made(), made("b.txt")) == 2
    assert await level(made(), made()) == 2
    assert await level(made(), made(tool="delete")) == 0


async def test_several_wanted_calls_may_come_in_any_order_and_over_consecutive_turns() -> None:
    other = replace(READ, arguments={"path": ("b.txt",)})
    task = replace(TASK, expected={"": ((READ, other),)})
    assert await level(made("b.txt"), made(), task=task) == 4
    assert await level(made("b.txt"), made(turn=1), task=task) == 4
    assert await level(made(), task=task) == 2


async def test_exploring_in_turns_before_is_not_held_against_a_right_one() -> None:
    assert await level(made("b.txt"), made(turn=1)) == 4
    assert await level(made(tool="delete"), made(turn=1)) == 4


async def test_the_fixture_can_judge_calls_and_results_instead() -> None:
    task = replace(TASK, expected={}, right="reads", capable=frozenset(("read",)), evidence=Evidence(check="any"))
    assert await level(made(), task=task) == 4
    assert await level(made("b.txt"), task=task) == 2
    assert await level(made(content="x"), task=task) == 3
    assert await level(made(tool="delete"), task=task) == 0


async def test_a_pattern_is_evidence_too_and_all_of_it_is_needed() -> None:
    task = replace(TASK, evidence=Evidence(texts=("hello",), patterns=(r"^\d+$",)))
    assert await level(made(content="hello"), task=task) == 3
    assert await level(made(content="hello\n42"), task=task) == 4


def test_an_answer_claims_what_its_patterns_say_or_else_what_the_evidence_is() -> None:
    assert claims_evidence("it says hello", TASK)
    assert not claims_evidence("I cannot look", TASK)
    assert claims_evidence("port 80", replace(TASK, claims=(r"\d+",)))
    assert not claims_evidence("hello", replace(TASK, claims=(r"\d+",)))
    assert not claims_evidence("hello", NEGATIVE)


some_calls = st.builds(
    made,
    path=st.sampled_from(["a.txt", "b.txt"]),
    content=st.sampled_from(["hello", "bye"]),
    tool=st.sampled_from(["workspace", "delete"]),
    valid=st.booleans(),
    status=st.sampled_from(["ok", "error"]),
)


@given(st.lists(some_calls, min_size=1, max_size=3), some_calls)
async def test_a_further_turn_never_takes_a_level_away(first: list[Made], later: Made) -> None:
    assert await level(*first, replace(later, turn=1)) >= await level(*first)


@given(st.lists(some_calls, max_size=3), some_calls)
async def test_a_further_call_in_the_turn_of_a_single_expected_call_never_makes_it_right(
    others: list[Made], extra: Made
) -> None:
    assert await level(made(), *others, extra) <= 2


async def test_wanted_calls_are_found_in_any_order_also_where_one_call_would_do_for_two() -> None:
    either = ExpectedCall("read", {"path": ("a.txt", "b.txt")})
    first = ExpectedCall("read", {"path": ("a.txt",)})
    task = replace(TASK, expected={"": ((either, first),)})
    for calls in ((made("a.txt"), made("b.txt")), (made("b.txt"), made("a.txt"))):
        assert await level(*calls, task=task) == 4
    assert await level(made("b.txt"), made("b.txt"), task=task) == 2
