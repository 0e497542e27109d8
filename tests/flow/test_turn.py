"""The story of a turn, told with a scripted model: what is asked, what stands, how it ends."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from typing import Any

import pytest

from rightcall import (
    DEFAULT_LADDER,
    ONE_ATTEMPT,
    Ladder,
    ModelReply,
    ModelRequest,
    Problem,
    ProblemKind,
    Proposal,
    Rung,
    ScriptedModel,
    ToolChoice,
    UpstreamError,
    UpstreamTimeout,
    UsageError,
)
from rightcall.assemble import SystemClock
from rightcall.domain import ChoiceMode
from rightcall.openai_chat import tools_from_json
from rightcall.providers.scripted import calls, text
from rightcall.store.memory import MemoryEventLog
from rightcall.turn import Kit, Shown, propose, turn

WEATHER = {
    "name": "get_weather",
    "description": "Weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
        "required": ["city"],
    },
}
TIME = {"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}
TOOLS = tools_from_json([WEATHER, TIME])


def kit(*steps: Any, **more: Any) -> tuple[Kit, ScriptedModel, MemoryEventLog]:
    model, log = ScriptedModel(steps), MemoryEventLog()
    return replace(Kit(model, log, SystemClock()), **more), model, log


def asked(prompt: str = "How is the weather there?", **more: Any) -> ModelRequest:
    return ModelRequest([{"role": "user", "content": prompt}], tools=TOOLS, **more)


def told(model: ScriptedModel, number: int) -> str:
    return str(model.requests[number].messages[-1]["content"])


FENCED = '```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'


async def test_a_call_written_as_text_is_proposed_at_the_first_attempt() -> None:
    parts, model, _ = kit(text(FENCED))
    proposal = await propose(asked(), parts)
    assert (proposal.status, len(model.requests)) == ("calls", 1)
    assert [(call.name, call.arguments) for call in proposal.calls] == [("get_weather", {"city": "Oslo"})]


async def test_words_are_an_answer_and_are_not_nudged_into_a_tool() -> None:
    parts, model, _ = kit(text("It is mild."))
    proposal = await propose(asked(), parts)
    assert (proposal.status, proposal.text, len(model.requests)) == ("text", "It is mild.", 1)


async def test_a_wrong_call_is_asked_for_again_with_the_problems_own_words() -> None:
    parts, model, _ = kit(
        calls(("get_weather", {"city": "Oslo", "unit": "kelvin"})), calls(("get_weather", {"city": "Oslo"}))
    )
    proposal = await propose(asked(), parts)
    assert proposal.status == "calls"
    assert 'unit: "kelvin" is not one of ["celsius", "fahrenheit"].' in told(model, 1)
    assert model.requests[1].messages[-2] == {
        "role": "assistant",
        "content": '{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\", \\"unit\\": \\"kelvin\\"}"}',
    }


async def test_every_rung_shows_the_model_something_else() -> None:
    parts, model, _ = kit(*[calls(("get_weather", {}))] * 3)
    proposal = await propose(asked(), parts)
    assert proposal.status == "unresolved"
    assert [attempt.rung.name for attempt in proposal.attempts] == ["plain", "feedback", "example"]
    seen = [(request.messages, request.tools, request.extra) for request in model.requests]
    assert all(before != after for before, after in itertools.pairwise(seen))
    assert model.requests[2].extra["temperature"] == pytest.approx(0.2)
    assert [tool.name for tool in model.requests[2].tools] == ["get_weather"]
    assert '{"name": "get_weather", "arguments": {"city": <string>}}' in told(model, 2)


async def test_an_example_never_holds_a_value_that_could_be_copied_as_an_answer() -> None:
    tools = tools_from_json([{**WEATHER, "parameters": {**WEATHER["parameters"], "examples": [{"city": "Oslo"}]}}])
    parts, model, _ = kit(*[calls(("get_weather", {}))] * 3)
    await propose(ModelRequest([{"role": "user", "content": "weather?"}], tools=tools), parts)
    assert "Oslo" not in told(model, 2)


async def test_an_invented_tool_is_answered_with_the_list_and_with_a_way_out() -> None:
    parts, model, _ = kit(calls(("open_browser", {"url": "x"})), text("I have no tool for that."))
    proposal = await propose(asked(), parts)
    assert (proposal.status, proposal.text) == ("text", "I have no tool for that.")
    assert '"open_browser" is not a tool' in told(model, 1)
    assert '"get_weather", "get_time"' in told(model, 1)
    assert "If none of them fits, say so in words" in told(model, 1)


async def test_a_model_that_invents_tools_is_never_shown_how_to_call_one_of_the_offered() -> None:
    one = tools_from_json([WEATHER])
    parts, model, _ = kit(*[calls(("open_browser", {"url": "x"}))] * 3)
    proposal = await propose(ModelRequest([{"role": "user", "content": "Open it."}], tools=one), parts)
    assert (proposal.status, len(model.requests)) == ("unresolved", 3)
    assert all("The form of a call" not in told(model, number) for number in (1, 2))


async def test_a_required_call_gets_no_way_out() -> None:
    parts, model, _ = kit(text("It is mild."), calls(("get_weather", {"city": "Oslo"})))
    proposal = await propose(asked(tool_choice=ToolChoice(ChoiceMode.REQUIRED)), parts)
    assert proposal.status == "calls"
    assert "a call of one of the tools is required" in told(model, 1)
    assert "say so in words" not in told(model, 1)


async def test_a_named_tool_is_the_only_one_shown_and_is_demanded_in_words() -> None:
    parts, model, _ = kit(calls(("get_time", {"zone": "UTC"})))
    await propose(asked(tool_choice=ToolChoice(ChoiceMode.NAMED, "get_time")), parts)
    sent = model.requests[0]
    assert ([tool.name for tool in sent.tools], sent.messages[0]["role"]) == (["get_time"], "system")
    assert "a call of get_time" in sent.messages[0]["content"]


@pytest.mark.parametrize("choice", [ToolChoice(ChoiceMode.REQUIRED), ToolChoice(ChoiceMode.NAMED, "get_time")])
async def test_a_demand_is_never_forwarded_because_a_server_meets_it_with_a_grammar(choice: ToolChoice) -> None:
    parts, model, _ = kit(text("It is noon."), calls(("get_time", {"zone": "UTC"})))
    proposal = await propose(asked(tool_choice=choice), parts)
    assert [request.tool_choice for request in model.requests] == [None, None]
    assert [call.name for call in proposal.calls] == ["get_time"]


async def test_no_call_wanted_shows_no_tools_and_leaves_markup_as_text() -> None:
    parts, model, _ = kit(text(FENCED))
    proposal = await propose(asked(tool_choice=ToolChoice(ChoiceMode.NONE)), parts)
    assert (proposal.status, proposal.text, model.requests[0].tools) == ("text", FENCED, ())


async def test_two_calls_where_one_is_allowed_are_not_cut_to_the_first() -> None:
    both = calls(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Riga"}))
    parts, _, _ = kit(both, ladder=ONE_ATTEMPT)
    proposal = await propose(asked(parallel_tool_calls=False), parts)
    assert (proposal.status, proposal.calls) == ("unresolved", ())
    assert proposal.problems[0].kind is ProblemKind.PROTOCOL


async def test_one_broken_call_among_several_holds_the_others_back() -> None:
    reply = ModelReply(
        tool_calls=(*calls(("get_weather", {"city": "Oslo"})).tool_calls, *calls(("get_weather", {})).tool_calls)
    )
    parts, _, _ = kit(reply, ladder=ONE_ATTEMPT)
    proposal = await propose(asked(), parts)
    assert (proposal.status, proposal.calls) == ("unresolved", ())


async def test_a_call_that_was_not_made_is_asked_for_until_nothing_is_left() -> None:
    parts, model, _ = kit(*[text(FENCED.replace("Oslo", city)) for city in ("Oslo", "Riga", "Brno")])
    proposal = await propose(asked("How is the weather in Oslo, Riga and Brno?"), parts)
    assert [call.arguments["city"] for call in proposal.calls] == ["Oslo", "Riga", "Brno"]
    assert [attempt.rung.name for attempt in proposal.attempts] == ["plain", "next_call", "next_call"]
    assert 'The request also mentions "Riga", "Brno"' in told(model, 1)
    assert 'The request also mentions "Brno"' in told(model, 2)


async def test_an_answer_without_a_new_call_ends_the_asking() -> None:
    parts, model, _ = kit(text(FENCED), text("DONE"))
    proposal = await propose(asked("How is the weather in Oslo? I am flying to Riga."), parts)
    assert [call.arguments for call in proposal.calls] == [{"city": "Oslo"}]
    assert (proposal.status, proposal.text, len(model.requests)) == ("calls", "", 2)


@pytest.mark.parametrize("second", ["Oslo", "Paris"], ids=["the same call again", "a call of nothing mentioned"])
async def test_a_further_call_counts_only_if_it_uses_what_no_call_used(second: str) -> None:
    parts, _, _ = kit(text(FENCED), text(FENCED.replace("Oslo", second)))
    proposal = await propose(asked("How is the weather in Oslo and Riga?"), parts)
    assert [call.arguments["city"] for call in proposal.calls] == ["Oslo"]


async def test_no_further_call_is_asked_for_where_one_is_the_limit() -> None:
    parts, model, _ = kit(text(FENCED))
    await propose(asked("How is the weather in Oslo and Riga?", parallel_tool_calls=False), parts)
    assert len(model.requests) == 1


async def test_an_empty_reply_is_never_an_answer() -> None:
    parts, model, _ = kit(text(""), text("Mild."))
    proposal = await propose(asked(), parts)
    assert (proposal.status, proposal.text) == ("text", "Mild.")
    assert "the reply is empty" in told(model, 1)


async def test_a_server_that_failed_on_the_models_output_is_asked_again() -> None:
    parts, model, _ = kit(ModelReply(broken="Failed to parse tool call"), calls(("get_weather", {"city": "Oslo"})))
    proposal = await propose(asked(), parts)
    assert (proposal.status, len(model.requests)) == ("calls", 2)


async def test_a_call_inside_an_explanation_is_asked_about_once_and_the_text_stands_if_it_stays() -> None:
    explained = f"You can call it like this, for example:\n{FENCED}\nThat gives the weather."
    parts, model, _ = kit(text(explained), text(explained))
    proposal = await propose(asked(), parts)
    assert (proposal.status, proposal.calls, len(model.requests)) == ("text", (), 2)
    assert proposal.text == explained


async def test_a_verifier_refuses_a_valid_call_and_its_words_reach_the_model() -> None:
    def in_europe(call: Any, request: Any) -> Problem | None:
        del request
        if call.arguments["city"] == "Lima":
            return Problem(ProblemKind.UNVERIFIED, "Lima is not in Europe.", tool=call.name)
        return None

    parts, model, _ = kit(
        calls(("get_weather", {"city": "Lima"})), calls(("get_weather", {"city": "Oslo"})), verifiers=(in_europe,)
    )
    proposal = await propose(asked(), parts)
    assert proposal.calls[0].arguments == {"city": "Oslo"}
    assert "Lima is not in Europe." in told(model, 1)


async def test_a_larger_model_is_a_rung_like_any_other() -> None:
    large = ScriptedModel([calls(("get_weather", {"city": "Oslo"}))])
    parts, _, _ = kit(
        *[calls(("get_weather", {}))] * 3, ladder=DEFAULT_LADDER.with_larger("large"), larger={"large": large}
    )
    proposal = await propose(asked(), parts)
    assert (proposal.status, proposal.last.rung.name, large.requests[0].model) == ("calls", "larger", "large")


async def test_a_constrained_rung_sends_the_schema_of_a_call() -> None:
    ladder = Ladder((Rung("constrained", constrain=True),), next_calls=0, verified=True)
    parts, model, _ = kit(text('{"name": "get_weather", "arguments": {"city": "Oslo"}}'), ladder=ladder)
    proposal = await propose(asked(), parts)
    assert proposal.status == "calls"
    schema = model.requests[0].extra["response_format"]["json_schema"]["schema"]
    assert [form["properties"]["name"]["const"] for form in schema["anyOf"]] == ["get_weather", "get_time"]


async def test_tools_can_be_described_in_the_prompt_instead() -> None:
    parts, model, _ = kit(
        text('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'), in_prompt=True
    )
    proposal = await propose(asked(), parts)
    sent = model.requests[0]
    assert (proposal.status, sent.tools, sent.messages[0]["role"]) == ("calls", (), "system")
    assert '"name": "get_weather"' in sent.messages[0]["content"]


async def test_a_broken_tool_is_left_out_and_named_while_the_others_work() -> None:
    tools = tools_from_json([WEATHER, {"name": "broken", "parameters": {"type": "objekt"}}])
    parts, model, _ = kit(calls(("get_weather", {"city": "Oslo"})))
    proposal = await propose(ModelRequest([{"role": "user", "content": "x"}], tools=tools), parts)
    assert proposal.status == "calls"
    assert [tool.name for tool in model.requests[0].tools] == ["get_weather"]
    assert '"broken" cannot be used' in proposal.quarantined[0].message


async def test_only_broken_tools_are_an_error_for_the_caller() -> None:
    parts, _, log = kit()
    tools = tools_from_json([{"name": "broken", "parameters": {"type": "objekt"}}])
    with pytest.raises(UsageError, match="none of the tools can be used"):
        await propose(ModelRequest([{"role": "user", "content": "x"}], tools=tools), parts)
    assert log.events[-1].data["status"] == "failed"


async def test_a_model_that_cannot_be_asked_at_all_is_an_error() -> None:
    parts, _, log = kit(UpstreamError("nobody is there"))
    with pytest.raises(UpstreamError, match="nobody is there"):
        await propose(asked(), parts)
    assert [event.kind for event in log.events] == ["turn.started", "attempt.started", "attempt.failed", "turn.ended"]


async def test_a_later_failure_keeps_what_there_was_before() -> None:
    parts, _, _ = kit(calls(("get_weather", {})), UpstreamError("gone"))
    proposal = await propose(asked(), parts)
    assert (proposal.status, len(proposal.attempts)) == ("unresolved", 1)


async def test_a_turn_ends_at_its_deadline() -> None:
    class Never:
        async def ask(self, request: ModelRequest) -> ModelReply:
            del request
            await asyncio.Event().wait()
            raise AssertionError

        def stream(self, request: ModelRequest) -> Any:
            raise NotImplementedError

    parts, _, _ = kit(ladder=Ladder((Rung("plain"),), seconds=0.01))
    with pytest.raises(UpstreamTimeout, match=r"deadline of 0\.01 s"):
        await propose(asked(), replace(parts, model=Never()))


async def test_the_log_tells_the_whole_story_with_fingerprints() -> None:
    parts, _, log = kit(calls(("get_weather", {"city": "Oslo", "unit": "Celsius"})))
    proposal = await propose(asked(), parts)
    assert [event.kind for event in log.events] == [
        "turn.started", "attempt.started", "attempt.replied", "attempt.read", "turn.ended",
    ]  # fmt: skip
    assert {event.turn for event in log.events} == {proposal.turn}
    started, _, _, read, ended = (event.data for event in log.events)
    assert all(tool["fingerprint"].startswith("sha256:") for tool in started["tools"])
    assert [(note["kind"], note["before"], note["after"]) for note in read["notes"]] == [
        ("enum", "Celsius", "celsius")
    ]
    assert (ended["status"], ended["attempts"], ended["notes_count"]) == ("calls", 1, 1)


async def _steps(request: ModelRequest, parts: Kit) -> tuple[list[Shown], Proposal]:
    steps = [step async for step in turn(request, parts, live=True)]
    assert isinstance(steps[-1], Proposal)
    return [step for step in steps if isinstance(step, Shown)], steps[-1]


@pytest.mark.parametrize(
    "reply",
    [
        text("It is mild today, with a light wind."),
        text(f"Let me look.\n{FENCED}"),
        text("<think>Which city?</think>It is mild."),
        calls(("get_weather", {"city": "Oslo"}), words="Let me look."),
    ],
    ids=["words", "words and a call", "reasoning", "native call"],
)
async def test_a_live_turn_shows_what_a_whole_one_says(reply: ModelReply) -> None:
    whole = await propose(asked(), kit(reply)[0])
    shown, proposal = await _steps(asked(), kit(reply)[0])
    assert "".join(step.text for step in shown) == whole.text
    assert "".join(step.reasoning for step in shown) == whole.reasoning
    assert [(call.name, call.arguments) for call in proposal.calls] == [(c.name, c.arguments) for c in whole.calls]


async def test_words_stream_before_the_reply_is_whole() -> None:
    shown, _ = await _steps(asked(), kit(text("It is mild today, with a light wind."))[0])
    assert len([step for step in shown if step.text]) > 3


async def test_text_that_was_shown_is_not_shown_twice_after_a_second_attempt() -> None:
    first = text(f"Let me look.\n{FENCED.replace('city', 'town')}")
    shown, proposal = await _steps(asked(), kit(first, text(f"Here it is.\n{FENCED}"))[0])
    assert proposal.status == "calls"
    assert "".join(step.text for step in shown).strip() == "Let me look."


async def test_a_listener_that_leaves_ends_the_turn_as_cancelled() -> None:
    parts, _, log = kit(text("It is mild today, with a light wind."))
    story = turn(asked(), parts, live=True)
    await anext(story)
    await story.aclose()
    assert log.events[-1].data["status"] == "cancelled"
