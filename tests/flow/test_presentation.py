"""Lenses in the turn: the model speaks in shown terms, everything that leaves the turn in the original ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rightcall import (
    DEFAULT_LADDER,
    ONE_ATTEMPT,
    ChoiceMode,
    Ladder,
    ModelRequest,
    Problem,
    ProblemKind,
    Rightcall,
    ScriptedModel,
    Tool,
    ToolCall,
    ToolChoice,
    UsageError,
)
from rightcall.assemble import SystemClock, build_parts
from rightcall.lens import Answer, Context, Declined, Lens, Presentation, PresentedTool, Told, as_it_is
from rightcall.openai_chat import tools_from_json
from rightcall.providers.scripted import calls, text
from rightcall.schema.rewrite.choice import rewrites
from rightcall.schema.rewrite.lenses import Rewrite
from rightcall.schema.rewrite.places import Place
from rightcall.schema.rewrite.rename import renamed
from rightcall.settings import Settings
from rightcall.store.memory import MemoryEventLog
from rightcall.turn import Kit, Shown, propose, turn

BOOK = {
    "name": "book_flight",
    "description": "Books a flight.",
    "parameters": {
        "type": "object",
        "properties": {
            "passenger": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                "required": ["name"],
            },
            "cabin": {"enum": ["economy", "business"]},
        },
        "required": ["passenger"],
    },
}
CANCEL = {"name": "cancel_flight", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}
TOOLS = tools_from_json([BOOK, CANCEL])
FLAT = rewrites("flatten")


@dataclass(frozen=True)
class Renamed:
    """A lens as a name map makes one: other names for tools."""

    names: tuple[tuple[str, str], ...]

    def present(self, tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
        del context
        names = dict(self.names)
        return tuple(
            PresentedTool(replace(t, name=names[t.name]), t) if t.name in names else as_it_is(t) for t in tools
        )


@dataclass(frozen=True)
class Own:
    """A lens that adds a tool of its own."""

    name: str
    answer: Callable[[ToolCall], Answer]

    def present(self, tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
        del context
        own = Tool(self.name, "Of rightcall's own.", {"type": "object", "properties": {"query": {"type": "string"}}})
        return (*map(as_it_is, tools), PresentedTool(own, None, answer=self.answer))


@dataclass(frozen=True)
class OnlyLoaded:
    """A lens that shows what was asked for and nothing else."""

    def present(self, tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
        return tuple(as_it_is(tool) for tool in tools if tool.name in context.needed)


NAMES = Renamed((("book_flight", "reserve_seat"), ("cancel_flight", "drop_booking")))
BOTH = Presentation((*FLAT.lenses, NAMES))
NONE_FITS = Own("no_suitable_tool", lambda _: Declined("None of the tools fits."))
SEARCH = Own("search_tools", lambda _: Told("cancel_flight: cancels one.", ("cancel_flight",)))


def kit(presentation: Presentation, *steps: Any, **more: Any) -> tuple[Kit, ScriptedModel, MemoryEventLog]:
    model, log = ScriptedModel(steps), MemoryEventLog()
    return replace(Kit(model, log, SystemClock(), presentation=presentation), **more), model, log


def asked(*messages: Any, **more: Any) -> ModelRequest:
    return ModelRequest([*messages, {"role": "user", "content": "Book it for ann."}], tools=TOOLS, **more)


def lenses(*found: Lens) -> Presentation:
    return Presentation(tuple(found))


def told(model: ScriptedModel, number: int) -> str:
    return str(model.requests[number].messages[-1]["content"])


GOOD = ("reserve_seat", {"passenger_name": "Ann", "cabin": "economy"})


# -- calls, both ways -------------------------------------------------------------------------------------------


async def test_the_model_is_shown_the_lens_and_the_proposal_is_in_original_terms() -> None:
    parts, model, _ = kit(BOTH, calls(GOOD))
    proposal = await propose(asked(), parts)
    assert [tool.name for tool in model.requests[0].tools] == ["reserve_seat", "drop_booking"]
    assert list(model.requests[0].tools[0].parameters["properties"]) == ["passenger_name", "passenger_age", "cabin"]
    assert [(c.name, c.arguments) for c in proposal.calls] == [
        ("book_flight", {"passenger": {"name": "Ann"}, "cabin": "economy"})
    ]


async def test_calls_written_as_text_and_repaired_are_restored_with_their_notes() -> None:
    written = '```json\n{"name": "reserveSeat", "arguments": {"PassengerName": "Ann", "passenger_age": "41"}}\n```'
    parts, _, _ = kit(BOTH, text(written))
    proposal = await propose(asked(), parts)
    assert [call.arguments for call in proposal.calls] == [{"passenger": {"name": "Ann", "age": 41}}]
    told = {(note.kind, note.tool, note.path, note.after) for note in proposal.notes}
    assert ("key_spelling", "book_flight", "/passenger/name", "name") in told
    assert ("type", "book_flight", "/passenger/age", 41) in told
    assert ("name_spelling", "book_flight", "", "book_flight") in told


async def test_history_is_shown_in_the_terms_that_the_model_is_offered_now() -> None:
    made = {"name": "book_flight", "arguments": json.dumps({"passenger": {"name": "Bo"}, "extra": 1})}
    history = [
        {"role": "user", "content": "Book it for Bo."},
        {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": made}]},
        {"role": "tool", "tool_call_id": "c1", "name": "book_flight", "content": "booked"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c2", "function": {"name": "book_flight", "arguments": "{broken"}}],
        },
        {"role": "assistant", "function_call": {"name": "cancel_flight", "arguments": "{}"}},
    ]
    parts, model, log = kit(BOTH, calls(GOOD))
    await propose(asked(*history), parts)
    seen = model.requests[0].messages
    assert seen[1]["tool_calls"][0]["function"] == {
        "name": "reserve_seat",
        "arguments": '{"passenger_name": "Bo", "extra": 1}',
    }
    assert seen[2]["name"] == "reserve_seat"
    assert seen[3]["tool_calls"][0]["function"] == {"name": "reserve_seat", "arguments": "{broken"}
    assert seen[4]["function_call"]["name"] == "drop_booking"
    assert log.events[0].data["messages"][1] == history[1]


async def test_a_demanded_tool_is_demanded_by_its_shown_name_and_shown_whatever_a_lens_leaves_out() -> None:
    demand = ToolChoice(ChoiceMode.NAMED, "book_flight")
    parts, model, _ = kit(BOTH, calls(GOOD))
    proposal = await propose(asked(tool_choice=demand), parts)
    assert proposal.status == "calls"
    assert [tool.name for tool in model.requests[0].tools] == ["reserve_seat"]
    parts, model, _ = kit(
        lenses(Renamed(()), SEARCH, OnlyLoaded()), calls(("book_flight", {"passenger": {"name": "A"}}))
    )
    assert (await propose(asked(tool_choice=demand), parts)).status == "calls"


async def test_one_call_at_a_time_and_no_call_at_all_hold_for_shown_tools_too() -> None:
    parts, model, _ = kit(BOTH, text("Hello."))
    proposal = await propose(asked(tool_choice=ToolChoice(ChoiceMode.NONE)), parts)
    assert (proposal.status, model.requests[0].tools) == ("text", ())


# -- problems, both ways ----------------------------------------------------------------------------------------


async def test_feedback_speaks_in_shown_terms_and_the_problem_in_original_ones() -> None:
    bad = ("reserve_seat", {"passenger_age": "old", "cabin": "first"})
    parts, model, _ = kit(BOTH, calls(bad), calls(GOOD))
    proposal = await propose(asked(), parts)
    assert proposal.status == "calls"
    assert "passenger_age must be an integer" in told(model, 1)
    assert "passenger_name is required and missing" in told(model, 1)
    found = {(p.kind.value, p.tool, p.path) for p in proposal.attempts[0].reading.problems}
    assert found == {
        ("wrong_type", "book_flight", "/passenger/age"),
        ("missing_required", "book_flight", "/passenger/name"),
        ("not_in_enum", "book_flight", "/cabin"),
    }
    messages = [p.message for p in proposal.attempts[0].reading.problems]
    assert any(message.startswith("passenger.age must be an integer") for message in messages)
    assert any(message.startswith("passenger.name is required and missing") for message in messages)
    assert not any("passenger_" in message or "reserve_seat" in message for message in messages)


async def test_an_extra_argument_and_an_unknown_tool_name_what_is_allowed_in_each_sides_terms() -> None:
    parts, model, _ = kit(
        BOTH, calls(("reserve_seat", {"passenger_name": "A", "seat": 1})), calls(("reserve", {})), text("No.")
    )
    proposal = await propose(asked(), parts)
    first, second = (attempt.reading.problems[0] for attempt in proposal.attempts[:2])
    assert '["passenger_name", "passenger_age", "cabin"]' in told(model, 1)
    assert first.message == (
        'seat is not an argument of book_flight. Allowed: ["passenger.name", "passenger.age", "cabin"].'
    )
    assert first.allowed == ["passenger.name", "passenger.age", "cabin"]
    assert '"reserve_seat", "drop_booking"' in told(model, 2)
    assert (second.kind, second.allowed) == (ProblemKind.UNKNOWN_TOOL, ["book_flight", "cancel_flight"])
    assert "reserve_seat" not in second.message
    assert '"book_flight", "cancel_flight"' in second.message


async def test_a_verifier_sees_originals_and_its_words_reach_the_model_in_shown_terms() -> None:
    def grown_up(call: ToolCall, request: ModelRequest) -> Problem | None:
        assert request.tools == TOOLS
        if call.arguments["passenger"].get("age", 99) >= 18:
            return None
        message = "passenger.age: book_flight takes no children."
        return Problem(ProblemKind.UNVERIFIED, message, "/passenger/age", tool=call.name, call_id=call.id)

    young = ("reserve_seat", {"passenger_name": "A", "passenger_age": 4})
    parts, model, _ = kit(BOTH, calls(young), calls(GOOD), verifiers=(grown_up,))
    proposal = await propose(asked(), parts)
    assert proposal.status == "calls"
    assert "passenger_age: reserve_seat takes no children." in told(model, 1)
    assert proposal.attempts[0].reading.problems[0].path == "/passenger/age"


async def test_a_restored_call_that_the_original_refuses_is_a_problem_whatever_the_lens_let_through() -> None:
    def loose(schema: Any) -> Any:
        shown, place = renamed(schema, lambda at, _: "who" if at == "/passenger" else at.rpartition("/")[2])
        return {**shown, "properties": {**shown["properties"], "who": {}}}, place

    bad = calls(("book_flight", {"who": {"name": 7}}))
    parts, model, _ = kit(lenses(Rewrite(loose)), bad, bad, bad)
    proposal = await propose(asked(), parts)
    assert (proposal.status, proposal.calls) == ("unresolved", ())
    assert proposal.problems[0].path == "/passenger/name"
    assert "who.name must be a string, not the integer 7" in told(model, 1)


async def test_a_tool_whose_shown_form_cannot_be_used_is_shown_as_it_is() -> None:
    def breaking(schema: Any) -> Any:
        return {**schema, "properties": {"a": {"type": "nonsense"}}}, Place()

    good = calls(("book_flight", {"passenger": {"name": "Ann"}}))
    parts, model, _ = kit(lenses(Rewrite(breaking)), good)
    proposal = await propose(asked(), parts)
    assert model.requests[0].tools[0].parameters == BOOK["parameters"]
    assert proposal.status == "calls"


async def test_good_calls_stand_beside_a_bad_one_in_both_terms() -> None:
    reply = calls(("drop_booking", {"id": "1"}), ("reserve_seat", {}))
    parts, _, _ = kit(BOTH, reply, ladder=ONE_ATTEMPT)
    attempt = (await propose(asked(), parts)).attempts[0]
    assert [call.name for call in attempt.reading.calls] == ["cancel_flight"]
    assert [call.name for call in attempt.said.calls] == ["drop_booking"]


async def test_a_missing_call_is_looked_for_with_original_calls() -> None:
    request = ModelRequest([{"role": "user", "content": "Book it for Ann and for Bob."}], tools=TOOLS)
    parts, model, _ = kit(
        BOTH, calls(("reserve_seat", {"passenger_name": "Ann"})), calls(("reserve_seat", {"passenger_name": "Bob"}))
    )
    proposal = await propose(request, parts)
    assert [call.arguments["passenger"]["name"] for call in proposal.calls] == ["Ann", "Bob"]
    assert '"reserve_seat"' in str(model.requests[1].messages[-2]["content"])


# -- trims ------------------------------------------------------------------------------------------------------


async def test_what_a_trim_leaves_out_is_still_read_and_checked() -> None:
    many: Any = {f"p{n}": {"type": "string"} for n in range(7)} | {"limit": {"type": "integer", "default": 5}}
    tools = (Tool("find", "", {"type": "object", "properties": many, "additionalProperties": False}),)
    request = ModelRequest([{"role": "user", "content": "find it"}], tools=tools)
    parts, model, _ = kit(rewrites("hide"), calls(("find", {"limit": "9"})))
    proposal = await propose(request, parts)
    assert "limit" not in model.requests[0].tools[0].parameters["properties"]
    assert proposal.calls[0].arguments == {"limit": 9}


# -- rightcall's own tools --------------------------------------------------------------------------------------


async def test_a_call_that_means_none_fits_ends_the_turn_in_words() -> None:
    parts, model, _ = kit(lenses(NONE_FITS), calls(("no_suitable_tool", {})))
    proposal = await propose(asked(), parts)
    assert (proposal.status, proposal.text, proposal.calls) == ("text", "None of the tools fits.", ())
    assert len(model.requests) == 1


async def test_the_models_own_words_are_kept_beside_its_refusal() -> None:
    parts, _, _ = kit(lenses(NONE_FITS), calls(("no_suitable_tool", {}), words="I cannot sing."))
    assert (await propose(asked(), parts)).text == "I cannot sing."


async def test_a_refusal_does_not_do_where_a_call_is_required() -> None:
    parts, _, _ = kit(lenses(NONE_FITS), *[calls(("no_suitable_tool", {}))] * 3)
    proposal = await propose(asked(tool_choice=ToolChoice(ChoiceMode.REQUIRED)), parts)
    assert proposal.status == "unresolved"


async def test_a_refusal_beside_a_call_says_two_things_and_is_asked_about() -> None:
    both = calls(("no_suitable_tool", {}), ("book_flight", {"passenger": {"name": "A"}}))
    parts, model, _ = kit(lenses(NONE_FITS), both, text("None fits."))
    proposal = await propose(asked(), parts)
    assert (proposal.status, proposal.text) == ("text", "None fits.")
    assert "two things at once" in told(model, 1)
    assert not any("no_suitable_tool" in p.message for a in proposal.attempts for p in a.reading.problems)


async def test_a_look_up_is_answered_and_what_it_loads_can_be_called() -> None:
    parts, model, log = kit(
        lenses(OnlyLoaded(), SEARCH),
        calls(("search_tools", {"query": "cancel"})),
        calls(("cancel_flight", {"id": "7"})),
    )
    proposal = await propose(asked(), parts)
    assert [tool.name for tool in model.requests[0].tools] == ["search_tools"]
    assert [tool.name for tool in model.requests[1].tools] == ["cancel_flight", "search_tools"]
    assert model.requests[1].messages == model.requests[0].messages  # a model that sees itself search searches again
    assert [(call.name, call.arguments) for call in proposal.calls] == [("cancel_flight", {"id": "7"})]
    assert [attempt.rung.name for attempt in proposal.attempts] == ["plain", "look_up"]
    presented = [event.data for event in log.events if event.kind == "turn.presented"]
    assert [one["loaded"] for one in presented] == [[], ["cancel_flight"]]


async def test_a_look_up_that_brings_nothing_new_is_answered_in_words() -> None:
    parts, model, _ = kit(
        lenses(OnlyLoaded(), SEARCH),
        *[calls(("search_tools", {"query": "cancel"}))] * 2,
        calls(("cancel_flight", {"id": "7"})),
    )
    proposal = await propose(asked(), parts)
    assert proposal.status == "calls"
    question, answer = model.requests[2].messages[-2:]
    assert question["tool_calls"][0]["function"]["name"] == "search_tools"
    assert answer == {"role": "tool", "tool_call_id": "call_0", "content": "cancel_flight: cancels one."}
    assert len(model.requests[2].messages) == len(model.requests[0].messages) + 2


async def test_what_was_looked_up_stays_in_sight_when_the_call_after_it_is_wrong() -> None:
    parts, model, _ = kit(
        lenses(OnlyLoaded(), SEARCH),
        *[calls(("search_tools", {}))] * 2,
        calls(("cancel_flight", {"id": [7, 8]})),
        calls(("cancel_flight", {"id": "7"})),
        in_prompt=True,
    )
    proposal = await propose(asked(), parts)
    assert proposal.status == "calls"
    said = [str(message["content"]) for message in model.requests[3].messages]
    assert "cancel_flight: cancels one." in said
    assert "id must be a string" in said[-1]


async def test_looking_up_for_ever_ends() -> None:
    parts, model, _ = kit(lenses(SEARCH), *[calls(("search_tools", {}))] * 20, ladder=Ladder(look_ups=2))
    proposal = await propose(asked(), parts)
    assert proposal.status == "unresolved"
    assert len(model.requests) == 2 + len(DEFAULT_LADDER.rungs)
    assert not any("search_tools" in problem.message for problem in proposal.problems)


# -- log and streams --------------------------------------------------------------------------------------------


async def test_the_log_tells_what_was_shown_and_keeps_calls_in_original_terms() -> None:
    parts, _, log = kit(BOTH, calls(GOOD))
    await propose(asked(), parts)
    kinds = [event.kind for event in log.events]
    assert kinds[:2] == ["turn.started", "turn.presented"]
    started, presented = log.events[0].data, log.events[1].data
    assert [tool["name"] for tool in started["tools"]] == ["book_flight", "cancel_flight"]
    assert [(tool["name"], tool["original"]) for tool in presented["tools"]] == [
        ("reserve_seat", "book_flight"),
        ("drop_booking", "cancel_flight"),
    ]
    assert presented["toolset"] != started["toolset"]
    assert all(tool["fingerprint"].startswith("sha256:") for tool in presented["tools"])
    read = next(event.data for event in log.events if event.kind == "attempt.read")
    assert read["calls"][0]["name"] == "book_flight"
    assert log.events[-1].data["calls"][0]["arguments"] == {"passenger": {"name": "Ann"}, "cabin": "economy"}


async def test_without_a_presentation_the_log_says_nothing_of_one() -> None:
    parts, _, log = kit(Presentation(), text("Hi."))
    await propose(asked(), parts)
    assert "turn.presented" not in [event.kind for event in log.events]


async def test_a_call_in_shown_terms_is_held_back_from_a_live_stream() -> None:
    written = 'Sure. <tool_call>{"name": "reserve_seat", "arguments": {"passenger_name": "Ann"}}</tool_call>'
    parts, _, _ = kit(BOTH, text(written))
    steps = [step async for step in turn(asked(), parts, live=True)]
    shown = "".join(step.text for step in steps if isinstance(step, Shown))
    assert shown.strip() == "Sure."
    assert steps[-1].calls[0].arguments == {"passenger": {"name": "Ann"}}


@pytest.mark.parametrize("extra", [{1, 2}, object()])
async def test_tools_with_fields_that_are_no_json_are_presented_too(extra: Any) -> None:
    tools = tuple(replace(tool, extra={"odd": extra}) for tool in TOOLS)
    parts, _, _ = kit(BOTH, calls(GOOD))
    proposal = await propose(replace(asked(), tools=tools), parts)
    assert proposal.calls[0].name == "book_flight"


def test_turns_side_by_side_do_not_mix_their_loaded_tools() -> None:
    async def one(look_up: bool) -> list[str]:
        steps = [calls(("search_tools", {})), text("Done.")] if look_up else [text("Done.")]
        parts, model, _ = kit(lenses(OnlyLoaded(), SEARCH), *steps)
        await propose(asked(), parts)
        return [tool.name for tool in model.requests[-1].tools]

    async def both() -> list[list[str]]:
        return await asyncio.gather(one(look_up=True), one(look_up=False))

    assert asyncio.run(both()) == [["cancel_flight", "search_tools"], ["search_tools"]]


async def test_the_library_presents_with_rewrite_and_answers_in_the_terms_of_its_tools() -> None:
    model = ScriptedModel([calls(("book_flight", {"passenger_name": "Ann"}))])
    async with Rightcall(model, rewrite="auto") as rightcall:
        proposal = await rightcall.propose([{"role": "user", "content": "Book it."}], [BOOK, CANCEL])
    assert [call.arguments for call in proposal.calls] == [{"passenger": {"name": "Ann"}}]
    with pytest.raises(UsageError, match="'nonesuch' is no rewrite"):
        Rightcall(model, rewrite="nonesuch")


def test_the_setting_reaches_the_kit() -> None:
    parts = build_parts(Settings(upstream="127.0.0.1:1", rewrite="flatten, units", log=False))
    assert parts.kit.presentation == rewrites("flatten,units")
    asyncio.run(parts.close())
