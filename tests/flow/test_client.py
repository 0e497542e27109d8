"""The library's front: one class, one function."""

from __future__ import annotations

import pytest

from rightcall import ModelReply, Rightcall, ScriptedModel, Tool, UsageError, parse
from rightcall.providers.scripted import calls, text

TOOL = {
    "type": "function",
    "function": {"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}},
}
USER = [{"role": "user", "content": "What time is it?"}]


async def test_it_proposes_calls() -> None:
    async with Rightcall(ScriptedModel([calls(("get_time", {"zone": "UTC"}))])) as rightcall:
        proposal = await rightcall.propose(USER, [TOOL])
    assert [call.arguments for call in proposal.calls] == [{"zone": "UTC"}]


def test_the_sync_twin_gives_the_same() -> None:
    rightcall = Rightcall(ScriptedModel([calls(("get_time", {"zone": "UTC"}))]))
    assert rightcall.propose_sync(USER, [TOOL]).calls[0].arguments == {"zone": "UTC"}


async def test_the_sync_twin_works_inside_a_running_loop_too() -> None:
    rightcall = Rightcall(ScriptedModel([text("Noon.")]))
    assert rightcall.propose_sync(USER, [TOOL]).text == "Noon."


@pytest.mark.parametrize(
    "reply",
    [
        '{"name": "get_time", "arguments": {"zone": "UTC"}}',
        {"role": "assistant", "tool_calls": [{"function": {"name": "get_time", "arguments": '{"zone": "UTC"}'}}]},
        {"choices": [{"message": {"function_call": {"name": "get_time", "arguments": '{"zone": "UTC"}'}}}]},
        ModelReply(text='<tool_call>{"name": "get_time", "arguments": {"zone": "UTC"}}</tool_call>'),
    ],
    ids=["text", "message", "completion", "reply"],
)
def test_a_reply_is_read_in_any_of_its_forms(reply: object) -> None:
    reading = parse(reply, [TOOL])  # type: ignore[arg-type]
    assert [(call.name, call.arguments) for call in reading.calls] == [("get_time", {"zone": "UTC"})]


def test_tools_may_be_given_in_any_of_their_forms() -> None:
    mcp = {"name": "b", "inputSchema": {"type": "object"}}
    bare = {"name": "c", "parameters": {"type": "object"}}
    reading = parse('{"name": "b", "arguments": {}}', [Tool("a"), mcp, bare, TOOL])
    assert [call.name for call in reading.calls] == ["b"]


def test_tools_that_are_none_are_a_clear_error() -> None:
    with pytest.raises(UsageError, match=r"tools\[0\] has no name"):
        parse("x", [{"description": "nameless"}])


async def test_an_upstream_without_a_scheme_or_version_is_completed_and_nonsense_is_refused() -> None:
    with pytest.raises(UsageError, match="is no http"):
        Rightcall("ftp://x")
    assert Rightcall("127.0.0.1:8080")._upstream == "http://127.0.0.1:8080/v1"
