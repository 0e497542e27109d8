"""Unknown names corrected to the nearest tool: off by default, never to what may destroy, never in silence."""

from __future__ import annotations

import asyncio

import pytest

from rightcall import Grade, ProblemKind, Rightcall, ScriptedModel, UsageError
from rightcall.domain import Effects, Tool
from rightcall.ladder import ONE_ATTEMPT
from rightcall.providers.scripted import calls

READS = Effects(read_only=True, destructive=False)
FORECAST = Tool("get_forecast", "Reads the weather of a city.", effects=READS)
DELETE = Tool("delete_account", "Deletes an account for good.")
DECLARED = Tool("drop_table", "Drops a table.", extra={"annotations": {"destructiveHint": True}})
TOOLS = (FORECAST, DELETE, DECLARED)


def proposed(name, arguments=None, tools=TOOLS, **more):
    client = Rightcall(ScriptedModel([calls((name, arguments or {}))]), ladder=ONE_ATTEMPT, **more)
    return asyncio.run(client.propose([{"role": "user", "content": "go"}], tools))


def test_nothing_is_corrected_unless_it_is_asked_for() -> None:
    proposal = proposed("weather_forecast")
    assert [problem.kind for problem in proposal.problems] == [ProblemKind.UNKNOWN_TOOL]


def test_the_nearest_tool_is_taken_and_a_note_says_so() -> None:
    proposal = proposed("weather_forecast", correction="bm25")
    (call,) = proposal.calls
    assert call.name == "get_forecast"
    (note,) = call.notes
    assert (note.kind, note.grade, note.before, note.after, note.tool) == (
        "name_nearest",
        Grade.INFERRED,
        "weather_forecast",
        "get_forecast",
        "get_forecast",
    )


@pytest.mark.parametrize("name", ["account_delete", "remove_account"])
def test_a_tool_that_declares_no_effects_counts_as_destructive(name) -> None:
    assert proposed(name, correction="bm25").calls == ()


@pytest.mark.parametrize("harmless", [["delete_account"], ["*"]])
def test_unless_the_user_says_otherwise(harmless) -> None:
    proposal = proposed("remove_account", correction="bm25", harmless_tools=harmless)
    assert [call.name for call in proposal.calls] == ["delete_account"]


@pytest.mark.parametrize("harmless", [["drop_table"], ["*"]])
def test_a_tool_that_declares_itself_destructive_is_never_corrected_to(harmless) -> None:
    assert proposed("table_drop", correction="bm25", harmless_tools=harmless).calls == ()


def test_a_nearest_tool_that_may_destroy_is_not_passed_over_for_a_harmless_one() -> None:
    assert proposed("delete_account_forecast_account", correction="bm25").calls == ()


def test_a_name_that_has_nothing_in_common_stays_unknown() -> None:
    assert proposed("xyzzy", correction="bm25").calls == ()


def test_a_right_name_of_the_wrong_tool_is_left_alone() -> None:
    (call,) = proposed("delete_account", correction="bm25").calls
    assert (call.name, call.notes) == ("delete_account", ())


def test_corrected_arguments_are_checked_like_any_others() -> None:
    strict = Tool("get_forecast", "Weather.", {"type": "object", "required": ["city"]}, READS)
    proposal = proposed("weather_forecast", tools=(strict,), correction="bm25")
    assert [problem.kind for problem in proposal.problems] == [ProblemKind.MISSING_REQUIRED]


def test_meaning_corrects_where_no_word_is_shared() -> None:
    pytest.importorskip("wordllama", reason="the extra `search` is not installed")
    fx = Tool("convert_currency", "Converts money.", effects=READS)
    proposal = proposed("dollarsToEuros", tools=(fx, FORECAST), correction="embedding")
    assert [call.name for call in proposal.calls] == ["convert_currency"]


def test_a_correction_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="correction is 'guess'; allowed: off, bm25, embedding"):
        Rightcall(ScriptedModel([]), correction="guess")
