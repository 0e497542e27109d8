"""Reasoning is inert: never a call, never shown as text, and never lost."""

import pytest

from rightcall import ModelReply, ProblemKind, parse
from rightcall.parsing.reasoning import BLOCKS

TOOLS = [{"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}}]
CALL = '<tool_call>{"name": "get_time", "arguments": {"zone": "CET"}}</tool_call>'
BARE = '{"name": "get_time", "arguments": {"zone": "CET"}}'
MOCK = '<tool_call>{"name": "get_time", "arguments": {"zone": "MOCK"}}</tool_call>'

every_block = pytest.mark.parametrize(("opening", "closing"), BLOCKS.items(), ids=BLOCKS)


def read(text, **more):
    return parse(ModelReply(text=text, **more), TOOLS)


def calls_of(reading):
    return [(call.name, call.arguments) for call in reading.calls]


@every_block
def test_reasoning_is_kept_apart_from_text(opening, closing):
    reading = read(f"{opening}\nLet me think.\n{closing}\n\nIt is noon.")

    assert (reading.calls, reading.problems) == ((), ())
    assert (reading.text, reading.reasoning) == ("It is noon.", "Let me think.")


@every_block
@pytest.mark.parametrize("call", [CALL, BARE, f"```json\n{BARE}\n```"], ids=["marked", "bare", "fenced"])
def test_a_call_behind_reasoning_is_a_call(opening, closing, call):
    reading = read(f"{opening}I need the time.{closing}\n{call}")

    assert calls_of(reading) == [("get_time", {"zone": "CET"})]
    assert (reading.problems, reading.text, reading.reasoning) == ((), "", "I need the time.")


@every_block
@pytest.mark.parametrize(
    "mock",
    [MOCK, BARE, "[TOOL_CALLS]get_time[ARGS]{}", "<function=get_time>\n</function>", "get_time()", "<tool_call>{"],
)
def test_a_call_in_reasoning_is_none(opening, closing, mock):
    reading = read(f"{opening}\n{mock}\n{closing}\nIt is noon.")

    assert (reading.calls, reading.problems) == ((), ())
    assert (reading.text, reading.reasoning) == ("It is noon.", mock)


@every_block
@pytest.mark.parametrize("finish_reason", [None, "stop", "length"])
def test_reasoning_that_never_ends_holds_no_call(opening, closing, finish_reason):
    for cut in range(len(closing)):
        reading = read(f"{opening}Perhaps {MOCK}{closing[:cut]}", finish_reason=finish_reason)

        assert (reading.calls, reading.text) == ((), "")
        assert MOCK in reading.reasoning


def test_a_reply_that_is_reasoning_and_nothing_else_says_nothing():
    (problem,) = read("<think>Let me think.</think>").problems

    assert problem.kind is ProblemKind.UNPARSEABLE
    assert problem.message.startswith("the reply is empty")


def test_several_blocks_of_reasoning_are_joined():
    reading = read(f"<think>one</think>\n<think>two</think>\n{CALL}\n<think>three</think>")

    assert calls_of(reading) == [("get_time", {"zone": "CET"})]
    assert (reading.text, reading.reasoning) == ("", "one\ntwo\nthree")


def test_reasoning_between_calls_is_kept_out_of_the_text():
    reading = read(f"{CALL}<think>and again</think>{CALL}")

    assert len(reading.calls) == 2
    assert (reading.text, reading.reasoning) == ("", "and again")


def test_reasoning_without_its_opening_was_opened_by_the_prompt():
    reading = read(f"Perhaps {MOCK} would do.\n</think>\n\n{CALL}")

    assert calls_of(reading) == [("get_time", {"zone": "CET"})]
    assert reading.problems == ()
    assert reading.reasoning == f"Perhaps {MOCK} would do."


def test_a_prompt_that_opened_reasoning_is_believed():
    reading = read(f"Perhaps {MOCK}", reasoning_open=True)

    assert (reading.calls, reading.text, reading.reasoning) == ((), "", f"Perhaps {MOCK}")


def test_an_opened_block_ends_where_it_is_closed():
    reading = read(f"Perhaps.</think>\n{CALL}", reasoning_open=True)

    assert calls_of(reading) == [("get_time", {"zone": "CET"})]
    assert reading.reasoning == "Perhaps."


def test_an_opened_block_that_is_opened_again_is_one_block():
    reading = read(f"<think>Perhaps.</think>{CALL}", reasoning_open=True)

    assert calls_of(reading) == [("get_time", {"zone": "CET"})]
    assert reading.reasoning == "Perhaps."


def test_reasoning_in_its_own_field_comes_first_and_is_inert():
    message = {"reasoning_content": f"Perhaps {MOCK}", "content": f"<think>more</think>{CALL}"}

    reading = parse(message, TOOLS)

    assert calls_of(reading) == [("get_time", {"zone": "CET"})]
    assert reading.reasoning == f"Perhaps {MOCK}\nmore"


def test_beside_a_native_call_reasoning_is_still_taken_out_of_the_text():
    native = {"id": "c1", "function": {"name": "get_time", "arguments": "{}"}}

    reading = parse({"content": f"<think>{MOCK}</think>One moment.", "tool_calls": [native]}, TOOLS)

    assert calls_of(reading) == [("get_time", {})]
    assert (reading.text, reading.reasoning) == ("One moment.", MOCK)


@pytest.mark.parametrize("value", ["<think>not really</think>", "</think>", "[THINK]", "◁think▷ x"])
def test_an_argument_may_quote_reasoning_marks(value):
    text = f'<tool_call>{{"name": "get_time", "arguments": {{"zone": "{value}"}}}}</tool_call>'

    reading = read(text)

    assert calls_of(reading) == [("get_time", {"zone": value})]
    assert (reading.text, reading.reasoning) == ("", "")


def test_without_tools_reasoning_is_taken_out_too():
    reading = parse("<think>hm</think>Hello.", [])

    assert (reading.text, reading.reasoning) == ("Hello.", "hm")


@pytest.mark.parametrize("text", ["I think so.", "<thoughts>", "a < think > b", "<thinker>x</thinker>"])
def test_what_only_looks_like_reasoning_is_text(text):
    reading = read(text)

    assert (reading.text, reading.reasoning, reading.problems) == (text, "", ())


def test_a_marker_in_backticks_is_text():
    text = "The `<think>` tag opens reasoning, and `</think>` ends it."

    assert read(text).text == text
