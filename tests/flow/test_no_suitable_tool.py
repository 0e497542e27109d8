"""A presented way out: the model says that no tool fits, and the client gets words."""

from __future__ import annotations

import pytest

from rightcall import Rightcall
from rightcall.providers.scripted import ScriptedModel, calls, text

pytestmark = pytest.mark.anyio
WEATHER = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
ASKED = [{"role": "user", "content": "Who is Ada Lovelace?"}]
RIGHT = calls(("get_weather", {"city": "Oslo"}))


async def test_a_model_that_takes_the_way_out_ends_in_words() -> None:
    model = ScriptedModel([calls(("no_suitable_tool", {"reason": "No tool knows people."}))])
    async with Rightcall(model, no_suitable_tool=True) as rightcall:
        proposal = await rightcall.propose(ASKED, [WEATHER])
    assert [tool.name for tool in model.requests[0].tools] == ["get_weather", "no_suitable_tool"]
    assert proposal.status == "text"
    assert proposal.text == "No tool knows people."
    assert proposal.calls == ()


async def test_it_is_understood_in_text_too() -> None:
    model = ScriptedModel([text('```json\n{"name": "no_suitable_tool", "arguments": {}}\n```')])
    async with Rightcall(model, no_suitable_tool=True) as rightcall:
        proposal = await rightcall.propose(ASKED, [WEATHER])
    assert (proposal.status, proposal.text) == ("text", "None of the tools fits this request.")


@pytest.mark.parametrize("choice", ["required", "get_weather"])
async def test_it_is_not_offered_where_a_call_is_demanded(choice: str) -> None:
    model = ScriptedModel([RIGHT])
    async with Rightcall(model, no_suitable_tool=True) as rightcall:
        proposal = await rightcall.propose(ASKED, [WEATHER], tool_choice=choice)
    assert "no_suitable_tool" not in {tool.name for tool in model.requests[0].tools}
    assert proposal.status == "calls"


async def test_a_tool_of_that_name_keeps_it() -> None:
    model = ScriptedModel([calls(("no_suitable_tool_", {}))])
    async with Rightcall(model, no_suitable_tool=True) as rightcall:
        proposal = await rightcall.propose(ASKED, [{**WEATHER, "name": "no_suitable_tool"}])
    assert proposal.status == "text"


async def test_it_is_off_unless_asked_for() -> None:
    model = ScriptedModel([RIGHT])
    async with Rightcall(model) as rightcall:
        await rightcall.propose(ASKED, [WEATHER])
    assert len(model.requests[0].tools) == 1
