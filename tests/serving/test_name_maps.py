"""The proxy and the library with a name map: the model sees its names, the client only its own."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest

from conftest import Proxy, Upstream, message  # the conftest of this folder
from rightcall import ONE_ATTEMPT, Rightcall, Tool
from rightcall.alignment.files import write_name_map
from rightcall.assemble import build_presentation
from rightcall.errors import UsageError
from rightcall.naming.name_map import NameMap, Naming, ToolNaming
from rightcall.openai_chat import tools_from_json
from rightcall.providers.scripted import ScriptedModel, calls
from rightcall.schema.fingerprint import tool_fingerprint

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "WthrSvc",
            "description": "Tells the weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "loc": {"type": "string", "description": "The city."},
                    "fmt": {
                        "type": "object",
                        "properties": {"u": {"type": "string", "enum": ["c", "f"], "description": "The unit."}},
                    },
                },
                "required": ["loc"],
            },
        },
    },
    {"type": "function", "function": {"name": "OtherSvc", "description": "Does something else."}},
]
NEW = {"": "get_weather_forecast", "/loc": "city_name", "/fmt": "format_options", "/fmt/u": "temperature_unit"}
PRESENTED = (*NEW.values(), "do_another_thing")
HISTORY: Any = [
    {"role": "user", "content": "And in Bergen?"},
    {
        "role": "assistant",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "WthrSvc", "arguments": '{"loc": "Bergen", "fmt": {"u": "c"}}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "WthrSvc", "content": "rain"},
    {"role": "user", "content": "And in Oslo?"},
]
GOOD = ("get_weather_forecast", {"city_name": "Oslo", "format_options": {"temperature_unit": "c"}})
BAD = ("get_weather_forecast", {"format_options": {"temperature_unit": "kelvin"}})


def name_map(tools: tuple[Tool, ...]) -> NameMap:
    weather, other = tools
    own, *parameters = (
        Naming(place.rpartition("/")[2] or weather.name, name, name, place=place) for place, name in NEW.items()
    )
    return NameMap(
        "qwen2.5-coder-1.5b",
        tools=(
            ToolNaming(own, tool_fingerprint(weather), tuple(parameters)),
            ToolNaming(Naming(other.name, "do_another_thing", "do_another_thing"), tool_fingerprint(other)),
        ),
    )


@pytest.fixture
def names(tmp_path: Path) -> Path:
    path = tmp_path / "names.toml"
    write_name_map(path, name_map(tools_from_json(TOOLS)))
    return path


@pytest.fixture(params=["none", "auto"])
def presenting(request: Any, proxied: Callable[..., Proxy], names: Path) -> Callable[..., Proxy]:
    def start(**more: Any) -> Proxy:
        shown = build_presentation(request.param, names=names)
        return proxied(kit={"presentation": shown, **more.pop("kit", {})}, **more)

    return start


def create(proxy: Proxy, **more: Any) -> Any:
    more.setdefault("model", "qwen2.5-coder:1.5b")
    return proxy.client().chat.completions.create(messages=HISTORY, tools=TOOLS, **more)


def hides(text: str) -> bool:
    return not any(name in text for name in PRESENTED)


def good(upstream_tools: Any) -> tuple[str, dict[str, Any]]:
    """The right call in the terms that the model was shown, flattened or not."""
    function = upstream_tools[0]["function"]
    if "format_options" in function["parameters"]["properties"]:
        return GOOD
    return function["name"], {"city_name": "Oslo", "format_options_temperature_unit": "c"}


def test_names_in_calls_history_and_results_are_the_model_s_upstream_and_the_client_s_downstream(
    upstream: Upstream, presenting: Callable[..., Proxy]
) -> None:
    upstream.steps = [message(None, [GOOD])]
    create(presenting())
    sent = upstream.bodies[0]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["get_weather_forecast", "do_another_thing"]
    assert sent["messages"][1]["tool_calls"][0]["function"]["name"] == "get_weather_forecast"
    assert "city_name" in sent["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert sent["messages"][2]["name"] == "get_weather_forecast"
    upstream.steps = [message(None, [good(sent["tools"])])]
    answer = create(presenting())
    (call,) = answer.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == (
        "WthrSvc",
        {"loc": "Oslo", "fmt": {"u": "c"}},
    )
    assert hides(answer.model_dump_json())


def test_streamed_deltas_hold_the_client_s_names_only(upstream: Upstream, proxied: Any, names: Path) -> None:
    proxy = proxied(kit={"presentation": build_presentation("none", names=names)})
    text = f"<tool_call>{json.dumps({'name': GOOD[0], 'arguments': GOOD[1]})}</tool_call>"
    for step in (message("One moment.", [GOOD]), message(text)):
        upstream.steps = [step]
        upstream.bodies.clear()
        chunks = list(create(proxy, stream=True))
        (call,) = [call for c in chunks for choice in c.choices for call in choice.delta.tool_calls or ()]
        assert (call.function.name, json.loads(call.function.arguments)["fmt"]) == ("WthrSvc", {"u": "c"})
        assert all(hides(chunk.model_dump_json()) for chunk in chunks)


def test_feedback_is_in_the_model_s_names_and_problems_in_the_client_s(
    upstream: Upstream, proxied: Any, names: Path
) -> None:
    shown = build_presentation("none", names=names)
    upstream.steps = [message(None, [BAD]), message(None, [GOOD])]
    assert create(proxied(kit={"presentation": shown})).choices[0].message.tool_calls[0].function.name == "WthrSvc"
    feedback = upstream.bodies[1]["messages"][-1]["content"]
    assert "city_name is required and missing" in feedback
    assert "format_options.temperature_unit" in feedback
    assert "WthrSvc" not in feedback
    upstream.bodies.clear()
    upstream.steps = [message(None, [BAD])]
    told = create(proxied(kit={"presentation": shown, "ladder": ONE_ATTEMPT})).model_dump()
    assert hides(json.dumps(told))
    assert {problem["path"] for problem in told["rightcall"]["problems"]} == {"/loc", "/fmt/u"}


def test_an_unknown_name_is_answered_with_each_side_s_own_list(upstream: Upstream, proxied: Any, names: Path) -> None:
    kit = {"presentation": build_presentation("none", names=names), "ladder": ONE_ATTEMPT}
    upstream.steps = [message(None, [("weather_forecaster", {"city_name": "Oslo"})])]
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        create(proxied(kit=kit, unresolved="error"))
    told = json.dumps(refused.value.response.json())
    assert "WthrSvc" in told
    assert hides(told)


def test_a_demanded_tool_is_demanded_under_the_model_s_name(
    upstream: Upstream, presenting: Callable[..., Proxy]
) -> None:
    upstream.steps = [message("It does.", [("do_another_thing", {})])]
    answer = create(presenting(), tool_choice={"type": "function", "function": {"name": "OtherSvc"}})
    assert "WthrSvc" not in json.dumps(upstream.bodies[0]["tools"])
    assert answer.choices[0].message.tool_calls[0].function.name == "OtherSvc"


def test_a_changed_tool_and_another_model_are_said_once_in_the_log(
    upstream: Upstream, proxied: Any, names: Path, caplog: pytest.LogCaptureFixture
) -> None:
    proxy = proxied(kit={"presentation": build_presentation("none", names=names), "ladder": ONE_ATTEMPT})
    changed = [TOOLS[0], {"type": "function", "function": {**TOOLS[1]["function"], "description": "New."}}]
    upstream.steps = [message("Fine.")]
    with caplog.at_level(logging.WARNING, "rightcall.names"):
        for _ in range(2):
            proxy.client().chat.completions.create(model="llama-3", messages=HISTORY[:1], tools=changed)
    assert [tool["function"]["name"] for tool in upstream.bodies[0]["tools"]] == ["get_weather_forecast", "OtherSvc"]
    said = [record.getMessage() for record in caplog.records if record.name == "rightcall.names"]
    assert len(said) == 2
    assert "made for 'qwen2.5-coder-1.5b' and is used for 'llama-3'" in said[0]
    assert "'OtherSvc' has changed" in said[1]


@pytest.mark.parametrize("form", ["path", "text", "map"])
def test_the_library_takes_a_map_or_its_file(names: Path, form: str) -> None:
    given: Any = {"path": names, "text": str(names), "map": name_map(tools_from_json(TOOLS))}[form]
    model = ScriptedModel([calls(GOOD)])
    proposal = asyncio.run(Rightcall(model, names=given).propose(HISTORY, TOOLS))
    assert (proposal.calls[0].name, proposal.calls[0].arguments) == ("WthrSvc", {"loc": "Oslo", "fmt": {"u": "c"}})
    assert model.requests[0].tools[0].name == "get_weather_forecast"


def test_a_map_that_cannot_be_used_is_refused_before_anything_is_asked(names: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Rightcall("http://127.0.0.1:9/v1", names=names.with_name("none.toml"))
    shadowing = name_map(tools_from_json(TOOLS)).changed(
        lambda _, n: replace(n, accepted="OtherSvc") if n.original == "WthrSvc" else n
    )
    write_name_map(names, shadowing)
    with pytest.raises(UsageError, match="cannot be shown as 'OtherSvc'"):
        build_presentation("none", names=names)
