"""The proxy with rewrites on, as OpenAI's own client sees it: no presented name ever reaches the client."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import openai
import pytest

from conftest import Proxy, Upstream, message  # the conftest of this folder
from rightcall import ONE_ATTEMPT, Tool
from rightcall.lens import Context, Presentation, PresentedTool
from rightcall.schema.rewrite.choice import rewrites

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "book_flight",
            "description": "Books a flight.",
            "parameters": {
                "type": "object",
                "properties": {
                    "passenger": {"$ref": "#/$defs/person"},
                    "bags": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
                },
                "required": ["passenger"],
                "$defs": {
                    "person": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                        "required": ["name"],
                    }
                },
            },
        },
    }
]
HISTORY: Any = [
    {"role": "user", "content": "Book it for Bo."},
    {
        "role": "assistant",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "book_flight", "arguments": '{"passenger": {"name": "Bo"}}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "booked"},
    {"role": "user", "content": "Now for ann."},
]


@dataclass(frozen=True)
class Renamed:
    """Every tool under another name, as a name map does it."""

    def present(self, tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
        del context
        return tuple(PresentedTool(replace(tool, name=f"shown_{tool.name}"), tool) for tool in tools)


AUTO = rewrites("auto")
PRESENTED = Presentation((*AUTO.lenses, Renamed()), AUTO.trims)
GOOD = ("shown_book_flight", {"passenger_name": "Ann", "bags": 2})
BAD = ("shown_book_flight", {"passenger_age": "old"})


@pytest.fixture
def presenting(proxied: Callable[..., Proxy]) -> Callable[..., Proxy]:
    def start(**more: Any) -> Proxy:
        return proxied(kit={"presentation": PRESENTED, **more.pop("kit", {})}, **more)

    return start


def create(proxy: Proxy, **more: Any) -> Any:
    return proxy.client().chat.completions.create(model="m", messages=HISTORY, tools=TOOLS, **more)


def hides(text: str) -> bool:
    return "shown_" not in text and "passenger_" not in text


def test_the_upstream_sees_presented_tools_and_history_and_the_client_original_calls(
    upstream: Upstream, presenting: Callable[..., Proxy]
) -> None:
    upstream.steps = [message(None, [GOOD])]
    answer = create(presenting())
    (sent,) = upstream.bodies
    function = sent["tools"][0]["function"]
    assert (function["name"], list(function["parameters"]["properties"])) == (
        "shown_book_flight",
        ["passenger_name", "passenger_age", "bags"],
    )
    assert function["parameters"]["properties"]["bags"] == {"type": "integer"}
    assert sent["messages"][1]["tool_calls"][0]["function"] == {
        "name": "shown_book_flight",
        "arguments": '{"passenger_name": "Bo"}',
    }
    (call,) = answer.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == (
        "book_flight",
        {"passenger": {"name": "Ann"}, "bags": 2},
    )
    assert hides(answer.model_dump_json())


def test_streamed_deltas_hold_original_calls_only(upstream: Upstream, presenting: Callable[..., Proxy]) -> None:
    text = 'One moment. <tool_call>{"name": "shown_book_flight", "arguments": {"passenger_name": "Ann"}}</tool_call>'
    for step in (message("One moment.", [GOOD]), message(text)):
        upstream.steps = [step]
        upstream.bodies.clear()
        chunks = list(create(presenting(), stream=True))
        deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
        assert "".join(delta.content or "" for delta in deltas).strip() == "One moment."
        (call,) = [call for delta in deltas for call in delta.tool_calls or ()]
        assert call.function.name == "book_flight"
        assert json.loads(call.function.arguments)["passenger"] == {"name": "Ann"}
        assert all(hides(chunk.model_dump_json()) for chunk in chunks)


def test_feedback_to_the_model_is_in_presented_terms(upstream: Upstream, presenting: Callable[..., Proxy]) -> None:
    upstream.steps = [message(None, [BAD]), message(None, [GOOD])]
    answer = create(presenting())
    assert "passenger_name is required and missing" in upstream.bodies[1]["messages"][-1]["content"]
    assert answer.choices[0].message.tool_calls[0].function.name == "book_flight"


@pytest.mark.parametrize("stream", [False, True])
def test_what_could_not_be_made_right_is_told_in_original_terms(
    upstream: Upstream, presenting: Callable[..., Proxy], *, stream: bool
) -> None:
    upstream.steps = [message(None, [BAD])]
    answer = create(presenting(kit={"ladder": ONE_ATTEMPT}), stream=stream)
    bodies = [chunk.model_dump() for chunk in answer] if stream else [answer.model_dump()]
    whole = json.dumps(bodies)
    assert "passenger.name is required and missing" in whole
    assert hides(whole)
    problems = bodies[-1]["rightcall"]["problems"]
    assert {problem["path"] for problem in problems} == {"/passenger/name", "/passenger/age"}


def test_an_unresolved_call_as_an_error_is_told_in_original_terms(
    upstream: Upstream, presenting: Callable[..., Proxy]
) -> None:
    upstream.steps = [message(None, [("shown_book", {"passenger_name": "A"})])]
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        create(presenting(kit={"ladder": ONE_ATTEMPT}, unresolved="error"))
    told = refused.value.response.json()
    assert '"book_flight"' in told["error"]["message"]
    assert "shown_book_flight" not in json.dumps(told)


def test_a_demanded_tool_is_demanded_under_its_presented_name(
    upstream: Upstream, presenting: Callable[..., Proxy]
) -> None:
    upstream.steps = [message(None, [GOOD])]
    answer = create(presenting(), tool_choice={"type": "function", "function": {"name": "book_flight"}})
    assert [tool["function"]["name"] for tool in upstream.bodies[0]["tools"]] == ["shown_book_flight"]
    assert answer.choices[0].message.tool_calls[0].function.name == "book_flight"


def test_the_log_keeps_both_fingerprints_and_original_calls(
    upstream: Upstream, presenting: Callable[..., Proxy]
) -> None:
    upstream.steps = [message(None, [GOOD])]
    proxy = presenting()
    create(proxy)
    events = {event.kind: event.data for event in proxy.log.events}
    assert events["turn.started"]["tools"][0]["name"] == "book_flight"
    assert events["turn.presented"]["tools"][0]["original"] == "book_flight"
    assert events["turn.ended"]["calls"][0]["name"] == "book_flight"
