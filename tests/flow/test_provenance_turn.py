"""Values that nobody gave, in a whole turn: the model is told, and may answer in words."""

from __future__ import annotations

import pytest

from rightcall import Rightcall
from rightcall.errors import UsageError
from rightcall.providers.scripted import ScriptedModel, calls, text

pytestmark = pytest.mark.anyio
DISTANCE = {
    "name": "distance",
    "parameters": {
        "type": "object",
        "properties": {"from": {"type": "string"}, "to": {"type": "string"}, "year": {"type": "integer"}},
        "required": ["from", "to"],
    },
}
ASKED = [{"role": "user", "content": "Tell me some of the major airports in Norway."}]
INVENTED = calls(("distance", {"from": "Paris", "to": "Rome"}))


async def test_an_invented_value_is_told_and_words_are_an_answer() -> None:
    model = ScriptedModel([INVENTED, text("I have no tool for that.")])
    async with Rightcall(model, provenance="required") as rightcall:
        proposal = await rightcall.propose(ASKED, [DISTANCE])
    assert proposal.status == "text"
    assert proposal.text == "I have no tool for that."
    told = model.requests[1].messages[-1]["content"]
    assert "'Paris' of from stands nowhere in the conversation" in told
    assert "if no tool fits, answer in words" in told


async def test_a_model_that_insists_is_refused() -> None:
    async with Rightcall(ScriptedModel([INVENTED] * 3), provenance="required") as rightcall:
        proposal = await rightcall.propose(ASKED, [DISTANCE])
    assert proposal.status == "unresolved"
    assert [problem.kind.value for problem in proposal.problems] == ["unverified"]
    assert proposal.problems[0].family.value == "policy"


async def test_optional_arguments_are_judged_where_all_are() -> None:
    asked = [{"role": "user", "content": "How far is it from Paris to Rome?"}]
    made = calls(("distance", {"from": "Paris", "to": "Rome", "year": 2024}))
    right = calls(("distance", {"from": "Paris", "to": "Rome"}))
    async with Rightcall(ScriptedModel([made]), provenance="required") as rightcall:
        assert (await rightcall.propose(asked, [DISTANCE])).calls[0].arguments["year"] == 2024
    async with Rightcall(ScriptedModel([made, right]), provenance="all") as rightcall:
        proposal = await rightcall.propose(asked, [DISTANCE])
    assert proposal.calls[0].arguments == {"from": "Paris", "to": "Rome"}
    assert len(proposal.attempts) == 2


async def test_it_is_off_unless_asked_for() -> None:
    async with Rightcall(ScriptedModel([INVENTED])) as rightcall:
        assert (await rightcall.propose(ASKED, [DISTANCE])).status == "calls"
    with pytest.raises(UsageError, match="allowed: off, required, all"):
        Rightcall(ScriptedModel([]), provenance="some")
