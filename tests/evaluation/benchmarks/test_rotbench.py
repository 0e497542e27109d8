"""RoTBench: three nested levels by the original's rules, ours beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rightcall.domain import ToolCall
from rightcall.evaluation.benchmarks.rotbench import LEVELS, TURNS, RoTBenchSuite
from rightcall.evaluation.cases import Answer, Case
from rightcall.schema.compiled import compile_tools
from rightcall.validation.protocol import check_history

COUNTS = {
    "single": {"clean": 105, "slight": 210, "medium": 210, "heavy": 210, "union": 105},
    "multi": {"clean": 70, "slight": 140, "medium": 140, "heavy": 140, "union": 70},
}
UNWINNABLE = {
    "single": {"clean": 8, "slight": 16, "medium": 16, "heavy": 10, "union": 8},
    "multi": {"clean": 3, "slight": 6, "medium": 6, "heavy": 3, "union": 1},
}


def _cases(shared: Path, level: str, turn: str) -> tuple[RoTBenchSuite, list[Case]]:
    suite = RoTBenchSuite(level, turn, shared / "data")
    return suite, list(suite.cases())


def _levels(suite: RoTBenchSuite, case: Case, *calls: tuple[str, dict[str, Any]]) -> int:
    made = tuple(ToolCall("", name, arguments) for name, arguments in calls)
    score = suite.score(case, Answer("calls" if made else "text", made, valid=True))
    scores = [score.original[name] for name in ("tool_selection", "parameter_identification", "content_filling")]
    assert scores == sorted(scores, reverse=True)
    assert score.success is (scores[2] == 1)
    return int(sum(scores))


def _with(cases: list[Case], wanted: Any) -> Case:
    return next(case for case in cases if wanted(case))


@pytest.mark.parametrize("turn", list(TURNS))
@pytest.mark.parametrize("level", LEVELS)
def test_every_gold_answer_wins_but_those_without_arguments(shared: Path, level: str, turn: str) -> None:
    suite, cases = _cases(shared, level, turn)
    assert len(cases) == COUNTS[turn][level]
    lost = 0
    for case in cases:
        assert compile_tools(case.tools).problems == ()
        assert check_history(list(case.messages)) == ()
        offered = {original: name for name, original in reversed(case.gold["names"].items())}
        won = []
        for name, arguments in case.gold["answers"]:
            won.append(_levels(suite, case, (offered[name], arguments)))
            score = suite.score(case, Answer("calls", (ToolCall("", offered[name], arguments),), valid=True))
            assert score.selection
            assert score.arguments
        # A later answer can fail at the values, as in the original: what an earlier one with the same keys drops
        # stays dropped.
        assert won[0] in {0, 3}
        assert set(won) <= {0, 2, 3}
        lost += 3 not in won
    assert lost == UNWINNABLE[turn][level]


@pytest.mark.parametrize("turn", list(TURNS))
def test_families_are_toolsets_the_same_at_every_level_of_noise(shared: Path, turn: str) -> None:
    families = [{case.family for case in _cases(shared, level, turn)[1]} for level in LEVELS]
    assert all(found == families[0] for found in families)
    assert len(families[0]) == {"single": 49, "multi": 36}[turn]


def test_the_levels_are_nested_name_then_keys_then_values(shared: Path) -> None:
    suite, cases = _cases(shared, "clean", "single")
    case = cases[0]
    right = {"input_text": "See you later", "tgt_lang": "jpn_Jpan", "src_lang": "eng_Latn", "max_length": "None"}
    assert _levels(suite, case, ("get_translation_nllb", right)) == 3
    assert _levels(suite, case, ("get_translation_nllb", {**right, "max_length": "7"})) == 3
    assert _levels(suite, case, ("get_translation_nllb", {**right, "tgt_lang": "ja"})) == 2
    assert _levels(suite, case, ("get_translation_nllb", {"input_text": "See you later"})) == 1
    assert _levels(suite, case, ("get_translation_nllb", {})) == 0
    assert _levels(suite, case, ("finish", right)) == 0
    assert _levels(suite, case, ("get_translation_baidu", {"text": "See you later", "tgt_lang": "jp"})) == 3
    assert _levels(suite, case) == 0


def test_a_second_call_fails_all_levels(shared: Path) -> None:
    suite, cases = _cases(shared, "clean", "single")
    right = ("get_translation_baidu", {"text": "See you later", "tgt_lang": "jp"})
    assert _levels(suite, cases[0], right, right) == 0


def test_finish_is_right_for_whatever_the_last_tool_is_called_and_its_words_do_not_matter(shared: Path) -> None:
    suite, cases = _cases(shared, "medium", "multi")
    case = _with(cases, lambda case: "hsinif" in {name for name, _ in case.gold["answers"]})
    keys = next(arguments for name, arguments in case.gold["answers"] if name == "hsinif")
    said = dict.fromkeys(keys, "anything")
    assert _levels(suite, case, ("finish", said)) == _levels(suite, case, ("hsinif", said)) == 3


def test_values_do_not_matter_to_the_original_for_a_tool_that_noise_has_named_finish(shared: Path) -> None:
    suite, cases = _cases(shared, "heavy", "single")
    case = _with(cases, lambda case: case.gold["answers"] == [("finish", {"query": "career growth"})])
    assert "finish" not in case.gold["last"]
    assert _levels(suite, case, ("finish", {"query": "anything"})) == 3
    score = suite.score(case, Answer("calls", (ToolCall("", "finish", {"query": "anything"}),), valid=True))
    assert (score.selection, score.arguments) == (True, False)


def test_an_argument_whose_gold_value_is_none_may_be_left_out_for_us_but_not_for_the_original(shared: Path) -> None:
    suite, cases = _cases(shared, "clean", "single")
    less = {"input_text": "See you later", "tgt_lang": "jpn_Jpan", "src_lang": "eng_Latn"}
    assert _levels(suite, cases[0], ("get_translation_nllb", less)) == 1
    score = suite.score(cases[0], Answer("calls", (ToolCall("", "get_translation_nllb", less),), valid=False))
    assert score.arguments


def test_a_call_without_arguments_can_be_right_for_us_though_the_original_cannot_be_won(shared: Path) -> None:
    suite, cases = _cases(shared, "clean", "single")
    case = _with(cases, lambda case: all(arguments == {} for _, arguments in case.gold["answers"]))
    (name, _), *_ = case.gold["answers"]
    score = suite.score(case, Answer("calls", (ToolCall("", name, {}),), valid=True))
    assert (score.success, score.selection, score.arguments) == (False, True, True)
    assert set(score.original.values()) == {0}


def test_a_tool_that_is_listed_twice_is_offered_under_two_names_and_either_is_right(shared: Path) -> None:
    suite, cases = _cases(shared, "clean", "single")
    case = _with(cases, lambda case: any(name == "drivers" for name, _ in case.gold["answers"]))
    assert {"drivers", "drivers_2"} <= {tool.name for tool in case.tools}
    _, arguments = next(answer for answer in case.gold["answers"] if answer[0] == "drivers")
    for name in ("drivers", "drivers_2"):
        made = (ToolCall("", name, arguments),)
        assert suite.score(case, Answer("calls", made, valid=True)).original["tool_selection"] == bool(arguments)
        assert suite.score(case, Answer("calls", made, valid=True)).selection


def test_the_user_speaks_without_the_prompts_last_word_and_earlier_actions_are_calls(shared: Path) -> None:
    _, cases = _cases(shared, "clean", "multi")
    user, first, result, second, last = cases[0].messages
    assert user == {
        "role": "user",
        "content": "What is the translation of the English phrase 'See you later' in Japanese?",
    }
    assert first["tool_calls"][0]["function"]["name"] == "get_translation_nllb"
    assert json.loads(first["tool_calls"][0]["function"]["arguments"])["tgt_lang"] == "ja"
    assert result["tool_call_id"] == first["tool_calls"][0]["id"] != second["tool_calls"][0]["id"]
    assert last == {"role": "tool", "tool_call_id": second["tool_calls"][0]["id"], "content": "'ja'"}


def test_a_call_whose_arguments_were_refused_reaches_tool_selection_only(shared: Path) -> None:
    suite, cases = _cases(shared, "clean", "single")
    case = cases[0]
    (name, _), *_ = case.gold["answers"]
    problem = {"kind": "wrong_type", "family": "arguments", "path": "/text", "message": "", "tool": name}
    score = suite.score(case, Answer("unresolved", valid=False, problems=(problem,)))
    assert score.original == {"tool_selection": 1, "parameter_identification": 0, "content_filling": 0}
    assert (score.success, score.selection, score.arguments) == (False, True, False)
    unread = suite.score(case, Answer("unresolved", valid=False, problems=({**problem, "kind": "truncated"},)))
    assert set(unread.original.values()) == {0}
