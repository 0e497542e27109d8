"""Large catalogues in a turn: what the model is shown, what it can look up, and what the log keeps of it."""

from __future__ import annotations

import asyncio
import json

import pytest

from rightcall import DEFAULT_LADDER, ChoiceMode, Rightcall, ScriptedModel, ToolChoice, UsageError
from rightcall.catalogue.lens import MAX_FOUND, SHOWN_WHOLE, BestTools, last_said
from rightcall.domain import ModelRequest, Tool
from rightcall.ladder import Rung
from rightcall.lens import Context
from rightcall.providers.scripted import calls, text
from rightcall.schema.fingerprint import tool_fingerprint, toolset_fingerprint
from rightcall.store.memory import MemoryEventLog
from rightcall.store.redaction import as_json

FX = Tool(
    "convert_currency",
    "Converts money into another currency.",
    {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]},
)
WEATHER = Tool("get_weather", "Reads the forecast of a city.", {"type": "object", "properties": {"city": {}}})
MAIL = Tool("send_mail", "Sends a letter.")
FILLER = tuple(Tool(f"filler_{number}", f"Does thing{number}.") for number in range(40))
TOOLS = (*FILLER[:20], FX, WEATHER, *FILLER[20:], MAIL)
ASK = {"role": "user", "content": "How much money is 12 dollars in another currency?"}


def turn(steps, messages=(ASK,), tools=TOOLS, **more):
    model, log = ScriptedModel(steps), MemoryEventLog()
    client = Rightcall(model, log=log, **more)
    choice = more.pop("tool_choice", None)
    proposal = asyncio.run(client.propose(list(messages), tools, tool_choice=choice))
    return proposal, model, log


def shown(model, number=0):
    return [tool.name for tool in model.requests[number].tools]


def events(log, kind):
    return [event.data for event in log.events if event.kind == kind]


GOOD = calls(("convert_currency", {"amount": 12}))


# -- the best few -----------------------------------------------------------------------------------------------


def test_a_turn_shows_the_tools_that_fit_what_the_user_said_best_first() -> None:
    proposal, model, _ = turn([GOOD], narrow=3)
    assert proposal.status == "calls"
    assert shown(model)[0] == "convert_currency"
    assert len(shown(model)) <= 3


def test_the_log_keeps_catalogue_query_matches_and_fingerprints() -> None:
    _, _, log = turn([GOOD], narrow=1)
    (searched,) = events(log, "turn.searched")
    assert searched["catalogue"] == toolset_fingerprint(TOOLS)
    assert searched["query"] == ASK["content"]
    (match,) = searched["matches"]
    assert (match["name"], match["fingerprint"]) == ("convert_currency", tool_fingerprint(FX))
    assert match["score"] > 0
    assert [tool["name"] for tool in events(log, "turn.presented")[0]["tools"]] == ["convert_currency"]


def test_a_log_without_content_keeps_no_query() -> None:
    _, _, log = turn([GOOD], narrow=1)
    (searched,) = events(log, "turn.searched")
    kept = as_json(searched, content="none")
    assert ASK["content"] not in kept
    assert "convert_currency" in kept


def test_tools_already_called_stay() -> None:
    called = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "send_mail", "arguments": "{}"}}],
    }
    result = {"role": "tool", "tool_call_id": "a", "content": "sent"}
    _, model, _ = turn([GOOD], [{"role": "user", "content": "write"}, called, result, ASK], narrow=1)
    assert shown(model) == ["convert_currency", "send_mail"]


def test_a_demanded_tool_is_shown_whatever_fits() -> None:
    model = ScriptedModel([calls(("get_weather", {}))])
    choice = ToolChoice(ChoiceMode.NAMED, "get_weather")
    asyncio.run(Rightcall(model, narrow=1).propose([ASK], TOOLS, tool_choice=choice))
    assert shown(model) == ["get_weather"]


def test_a_small_catalogue_is_shown_as_it_is() -> None:
    _, model, log = turn([GOOD], tools=(FX, WEATHER, MAIL), narrow=3)
    assert shown(model) == ["convert_currency", "get_weather", "send_mail"]
    assert events(log, "turn.searched") == []


def test_without_a_users_word_there_is_nothing_to_choose_by() -> None:
    request = ModelRequest([{"role": "system", "content": "money"}], tools=TOOLS)
    assert len(BestTools(2).present(TOOLS, Context(request))) == len(TOOLS)


@pytest.mark.parametrize(
    ("said", "query"),
    [
        (["Convert 12 dollars into euros", "yes please"], "yes please\nConvert 12 dollars into euros"),
        (["Convert 12 dollars into euros", "what is the weather in Oslo, Norway, tomorrow"], None),
        ([[{"type": "text", "text": "weather in Oslo"}, {"type": "image_url"}, 3]], "weather in Oslo"),
        ([None, 5, {"a": 1}], ""),
    ],
)
def test_what_is_searched_for_is_what_was_last_said_and_before_it_where_that_is_too_little(said, query) -> None:
    messages = [{"role": "user", "content": content} for content in said]
    assert last_said(messages) == (said[-1] if query is None else query)


def test_a_real_tool_that_was_not_shown_is_shown_when_it_is_called() -> None:
    steps = [calls(("get_weather", {"city": "Oslo"})), calls(("get_weather", {"city": "Oslo"}))]
    proposal, model, log = turn(steps, narrow=1)
    assert [call.name for call in proposal.calls] == ["get_weather"]
    assert shown(model) == ["convert_currency"]
    assert shown(model, 1) == ["convert_currency", "get_weather"]
    assert '"get_weather" had not been listed' in model.requests[1].messages[-1]["content"]
    assert events(log, "turn.presented")[-1]["loaded"] == ["get_weather"]


def test_a_name_that_does_not_exist_searches_the_catalogue_and_the_narrowing_rung_chooses_what_was_found() -> None:
    steps = [calls(("forecast_reader", {})), calls(("forecast_reader", {})), calls(("get_weather", {}))]
    ladder = DEFAULT_LADDER
    narrowing = ladder.rungs.index(next(rung for rung in ladder.rungs if rung.narrow))
    proposal, model, _ = turn(steps, narrow=2, ladder=ladder)
    assert [call.name for call in proposal.calls] == ["get_weather"]
    assert "get_weather" not in shown(model)
    assert "get_weather" in shown(model, 1)
    told = model.requests[1].messages[-1]["content"]
    assert "These come nearest" in told
    assert "If none of them fits" in told
    assert "get_weather" in shown(model, narrowing)
    assert isinstance(ladder.rungs[narrowing], Rung)


# -- search tools -----------------------------------------------------------------------------------------------


def test_what_a_search_found_can_be_called_at_once() -> None:
    steps = [calls(("search_tools", {"query": "weather forecast"})), calls(("get_weather", {"city": "Oslo"}))]
    proposal, model, log = turn(steps, narrow="search")
    assert [(call.name, call.arguments) for call in proposal.calls] == [("get_weather", {"city": "Oslo"})]
    assert shown(model) == ["search_tools", "load_tools"]
    assert model.requests[1].messages == model.requests[0].messages
    assert shown(model, 1) == ["search_tools", "load_tools", "get_weather"]
    (searched,) = events(log, "turn.searched")
    assert (searched["query"], searched["loaded"]) == ("weather forecast", ["get_weather"])
    assert searched["catalogue"] == toolset_fingerprint(TOOLS)
    assert searched["matches"][0]["fingerprint"] == tool_fingerprint(WEATHER)


def test_a_search_beside_one_that_found_nothing_is_answered_in_words() -> None:
    both = calls(("search_tools", {"query": "weather"}), ("search_tools", {"query": "photosynthesis"}))
    _, model, _ = turn([both, text("Only the weather.")], narrow="search")
    assert shown(model, 1) == ["search_tools", "load_tools", "get_weather"]
    found, nothing = (message["content"] for message in model.requests[1].messages[-2:])
    assert found.startswith("- get_weather")
    assert nothing.startswith("No tool has these words")


def test_a_search_is_not_shown_either_where_the_next_call_is_asked_for() -> None:
    asked = {"role": "user", "content": "How much money are 12 dollars in another currency, and how much are 30?"}
    steps = [calls(("search_tools", {"query": "convert money"})), GOOD, calls(("convert_currency", {"amount": 30}))]
    proposal, model, _ = turn(steps, (asked,), narrow="search")
    assert [call.arguments for call in proposal.calls] == [{"amount": 12}, {"amount": 30}]
    assert "search_tools" not in json.dumps(model.requests[2].messages)


def test_all_that_a_search_brings_can_be_loaded_by_name() -> None:
    steps = [calls(("search_tools", {"query": "filler"})), text("none")]
    _, model, _ = turn(steps, narrow="search")
    found = shown(model, 1)[2:]
    assert len(found) == MAX_FOUND
    _, model, _ = turn([calls(("load_tools", {"names": found})), text("none")], narrow="search")
    assert shown(model, 1)[2:] == found


def test_what_is_loaded_goes_behind_what_was_shown() -> None:
    steps = [
        calls(("load_tools", {"names": ["send_mail"]})),
        calls(("load_tools", {"names": ["convert_currency", "send_mail"]})),
        GOOD,
    ]
    _, model, log = turn(steps, narrow="search")
    assert shown(model, 1) == ["search_tools", "load_tools", "send_mail"]
    assert shown(model, 2) == ["search_tools", "load_tools", "send_mail", "convert_currency"]
    assert events(log, "turn.searched")[0]["loaded"] == ["send_mail"]


def test_a_name_that_no_tool_has_is_searched_for() -> None:
    guessed = calls(("load_tools", {"names": ["send_mail", "Weather Forecast"]}))
    _, model, _ = turn([guessed, guessed, text("none")], narrow="search")
    assert shown(model, 1) == ["search_tools", "load_tools", "send_mail", "get_weather"]
    said = model.requests[2].messages[-1]["content"]  # in words, as it brings nothing new
    assert said.startswith(
        "Ready: send_mail. Call what fits now.\nThere is no tool 'Weather Forecast'.\n- get_weather"
    )
    _, model, _ = turn([calls(("load_tools", {"names": ["photosynthesis"]})), text("none")], narrow="search")
    assert "say that no tool fits" in model.requests[1].messages[-1]["content"]


def test_look_ups_are_bounded() -> None:
    steps = [calls(("search_tools", {"query": f"w{number}"})) for number in range(12)]
    proposal, model, _ = turn(steps, narrow="search")
    assert proposal.status == "unresolved"
    assert len(model.requests) <= DEFAULT_LADDER.look_ups + len(DEFAULT_LADDER.rungs)


def test_a_search_that_finds_nothing_offers_words_as_an_answer() -> None:
    steps = [calls(("search_tools", {"query": "photosynthesis"})), text("There is no tool for that.")]
    proposal, model, _ = turn(steps, narrow="search")
    assert (proposal.status, proposal.text) == ("text", "There is no tool for that.")
    assert "say that no tool fits" in model.requests[1].messages[-1]["content"]


def test_the_search_tools_take_no_name_that_is_taken() -> None:
    _, model, _ = turn([text("ok")], tools=(*TOOLS, Tool("search_tools"), Tool("load_tools")), narrow="search")
    assert shown(model) == ["search_tools_", "load_tools_"]


def test_a_few_tools_need_no_search_tools() -> None:
    _, model, _ = turn([GOOD], tools=TOOLS[20 : 20 + SHOWN_WHOLE], narrow="search")
    assert len(shown(model)) == SHOWN_WHOLE


def test_a_client_never_sees_a_search_tool() -> None:
    steps = [calls(("search_tools", {"query": "money"})), calls(("search_tools", {"wrong": 1})), GOOD, GOOD]
    proposal, _, _ = turn(steps, narrow="search")
    assert "search_tools" not in json.dumps([call.name for call in proposal.calls])
    assert [call.name for call in proposal.calls] == ["convert_currency"]


@pytest.mark.parametrize("narrow", ["0", "-1", "1.5", "many", "", 0])
def test_a_narrowing_that_there_is_not_is_refused(narrow) -> None:
    with pytest.raises(UsageError, match="allowed: none, search, or how many tools"):
        Rightcall(ScriptedModel([]), narrow=narrow)
