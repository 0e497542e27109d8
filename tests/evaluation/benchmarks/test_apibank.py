"""API-Bank: a case a scored call, compared by its inputs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rightcall.domain import ToolCall
from rightcall.evaluation.benchmarks import apibank_rules as rules
from rightcall.evaluation.benchmarks.apibank import LEVELS, ApiBankSuite
from rightcall.evaluation.benchmarks.apibank_rules import RULES, Rule, right_call
from rightcall.evaluation.cases import Answer, Case
from rightcall.schema.compiled import compile_tools
from rightcall.validation.protocol import check_history

COUNTS = {"level-1": (399, 10), "level-2": (135, 16)}
UNWINNABLE = {
    "level-1": {"TimedSwitch": 3, "CancelTimedSwitch": 5, "DeleteMeeting": 1},
    "level-2": {"DeleteMeeting": 2},
}
NAMES = {
    "strip": rules.STRIP,
    "strip+lowercase": rules.LOWER,
    "strip+uppercase": rules.UPPER,
    "spaces removed": rules.NO_SPACES,
    "parsed as %Y-%m-%d": rules.DATE,
    "parsed as %Y-%m-%d %H:%M:%S": rules.TIME,
    "%Y-%m-%d or %m-%d, reduced to %m-%d": rules.MONTH_DAY,
    "device names strip+lowercase, descriptions strip, sorted by name": rules.DEVICES,
}
DECIDES_THE_RESULT = {
    "token": {rules.EXACT},
    "tgt_lang": {rules.LOWER},
    "(all)": {rules.LOWER, rules.OVERLAP_LOWER},
    "(all others)": {None},
}
"""Inputs that the original ignores and that are compared here, by how."""


def _cases(shared: Path, level: str) -> tuple[ApiBankSuite, list[Case]]:
    suite = ApiBankSuite(level, shared / "data")
    return suite, list(suite.cases())


def _expected_call(case: Case) -> ToolCall:
    (wanted,) = case.accepted[0]
    return ToolCall("", wanted.name, {key: values[0] for key, values in (wanted.arguments or {}).items()})


@pytest.mark.parametrize("level", LEVELS)
def test_every_scored_call_is_a_case_that_its_recorded_call_wins(shared: Path, level: str) -> None:
    suite, cases = _cases(shared, level)
    count, again = COUNTS[level]
    assert len(cases) == count
    assert sum(case.id.endswith(":again") for case in cases) == again
    assert len({case.family for case in cases}) >= 6
    lost: Counter[str] = Counter()
    for case in cases:
        toolset = compile_tools(case.tools)
        assert toolset.problems == ()
        assert check_history(list(case.messages)) == ()
        assert case.messages[-1]["role"] in {"user", "tool"}
        call = _expected_call(case)
        score = suite.score(case, Answer("calls", (call,), valid=True))
        assert score.arguments
        if "not_offered" not in case.tags:
            assert toolset.by_name[call.name].accepts(call.arguments)
        lost[call.name] += not score.success
        as_text = ToolCall("", call.name, case.gold["arguments"])
        assert suite.score(case, Answer("calls", (as_text,), valid=False)).success is score.success
    assert +lost == UNWINNABLE[level]


def test_level_two_offers_what_has_been_searched_for(shared: Path) -> None:
    _, cases = _cases(shared, "level-2")
    first, *_ = cases
    assert [tool.name for tool in first.tools] == ["ToolSearcher"]
    later = next(case for case in cases if case.gold["name"] == "AddAgenda")
    assert [tool.name for tool in later.tools] == ["ToolSearcher", "GetUserToken", "AddAgenda"]
    assert sum("not_offered" in case.tags for case in cases) == 14


def test_the_dialogue_before_becomes_messages_calls_and_results(shared: Path) -> None:
    _, cases = _cases(shared, "level-1")
    second = next(case for case in cases if case.gold["name"] == "AddAgenda")
    roles = [message["role"] for message in second.messages]
    assert roles == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    said = second.messages[6]
    assert said["content"] == "Thank you."
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {
        "username": "JaneSmith",
        "password": "password",
    }
    assert json.loads(second.messages[7]["content"]) == {"token": "o8i7u6y5t4r3e2w1q0"}


def test_only_the_first_call_counts_for_the_original_and_all_for_us(shared: Path) -> None:
    suite, cases = _cases(shared, "level-1")
    call, other = _expected_call(cases[0]), ToolCall("", "Other", {})
    assert suite.score(cases[0], Answer("calls", (call, other), valid=False)).success
    assert not suite.score(cases[0], Answer("calls", (call, other), valid=False)).selection
    assert not suite.score(cases[0], Answer("calls", (other, call), valid=False)).success
    assert suite.score(cases[0], Answer("text", text="?")).original == {"correct_call": 0}


def test_the_rules_are_those_of_the_summary_of_the_original_code(shared: Path) -> None:
    summary = json.loads((shared / "data" / "apibank" / "scoring_summary.json").read_text(encoding="utf-8"))["apis"]
    rows = (shared / "data" / "apibank" / "apis.jsonl").read_text(encoding="utf-8").splitlines()
    apis = {row["name"]: row for row in map(json.loads, rows) if row["set"] == "apis"}
    assert summary.keys() >= RULES.keys()
    for name, told in summary.items():
        if name == "DeleteMeeting":
            assert RULES[name].never
            continue
        rule = RULES.get(name, Rule())
        for parameter in apis[name]["input_parameters"]:
            compare = rule.by.get(parameter, rule.others)
            ignored = [key for key in (parameter, "(all)", "(all others)") if key in told["input_ignored"]]
            if parameter in told["input_word_overlap"]:
                assert compare in {rules.OVERLAP, rules.OVERLAP_LOWER}
                assert (compare is rules.OVERLAP_LOWER) is ("lower-cased" in told.get("note", ""))
            elif parameter in told["input_normalised"]:
                assert compare is NAMES[told["input_normalised"][parameter]], (name, parameter)
            elif parameter in told["input_exact"] or not ignored:
                assert compare is rules.EXACT, (name, parameter)
            else:
                assert compare in {None} | DECIDES_THE_RESULT.get(
                    parameter, DECIDES_THE_RESULT.get(ignored[0], set())
                )


@pytest.mark.parametrize(
    ("name", "given", "recorded", "right"),
    [
        ("AddAgenda", {"content": "Meeting with John now"}, {"content": "Meeting with John"}, True),
        ("AddAgenda", {"content": "meeting with john"}, {"content": "Meeting with John"}, False),
        ("AddReminder", {"content": "meeting with john"}, {"content": "Meeting with John"}, True),
        ("AddAgenda", {"content": "a b"}, {"content": "a c"}, False),
        (
            "QueryStock",
            {"stock_code": " aapl", "date": "2023-1-2"},
            {"stock_code": "AAPL", "date": "2023-01-02"},
            True,
        ),
        (
            "QueryStock",
            {"stock_code": "AAPL", "date": "2 January"},
            {"stock_code": "AAPL", "date": "2023-01-02"},
            False,
        ),
        ("QueryHistoryToday", {"date": "02-29"}, {"date": "2020-02-29"}, True),
        ("Calculator", {"formula": "(1+2)*3"}, {"formula": "(1 + 2) * 3"}, True),
        ("Calculator", {"formula": "3*(1+2)"}, {"formula": "(1 + 2) * 3"}, False),
        (
            "DeleteReminder",
            {"content": "x", "time": "t", "token": "k"},
            {"content": "y", "time": "t", "token": "k"},
            True,
        ),
        ("DeleteReminder", {"time": "t", "token": "k"}, {"content": "y", "time": "t", "token": "k"}, False),
        (
            "DeleteReminder",
            {"content": "y", "time": "t", "token": "q"},
            {"content": "y", "time": "t", "token": "k"},
            False,
        ),
        ("Translate", {"src": "a", "tgt_lang": "EN"}, {"src": "a", "src_lang": "de", "tgt_lang": "en"}, True),
        ("GetUserToken", {"username": "a", "extra": "b"}, {"username": "a"}, False),
        ("GetUserToken", {}, {"username": "a"}, False),
        (
            "AddScene",
            {"name": "Night", "devices": [{"name": "B", "description": "y"}, {"name": "a", "description": "x "}]},
            {"name": "night ", "devices": "[{'name': 'a', 'description': 'x'}, {'name': 'b', 'description': 'y'}]"},
            True,
        ),
    ],
)
def test_inputs_are_compared_by_the_apis_own_rule(
    name: str, given: dict[str, Any], recorded: dict[str, Any], right: bool
) -> None:
    types = {key: "list" if key == "devices" else "str" for key in (*given, *recorded) if key != "extra"}
    assert right_call(name, given, recorded, types, frozenset({"src_lang"})) is right


@pytest.mark.parametrize(
    ("value", "kind", "read"),
    [
        ("12", "int", 12),
        ("12", "str", "12"),
        (12, "str", "12"),
        ("1.5", "float", 1.5),
        ("True", "bool", True),
        ("yes", "bool", False),
        (True, "bool", True),
        ("['a', 'b']", "list(str)", ["a", "b"]),
        ("['it's']", "list(str)", "['it's']"),
        ("one", "int", "one"),
    ],
)
def test_text_is_read_as_the_declared_type(value: Any, kind: str, read: Any) -> None:
    assert rules.as_declared(value, kind) == read
