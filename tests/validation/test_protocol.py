"""What a request demands of its reply, and what is wrong with a conversation."""

import json

import pytest

from rightcall import Family, ProblemKind, parse
from rightcall.validation.protocol import LOOP_LENGTH, check_history

TOOLS = [{"name": name, "parameters": {"type": "object", "properties": {}}} for name in ("read", "write")]


def native(*names):
    return {"content": "Some words.", "tool_calls": [{"id": f"c{n}", "function": {"name": name, "arguments": "{}"}}
                                                     for n, name in enumerate(names)]}  # fmt: skip


def read(reply, **demands):
    return parse(reply, TOOLS, **demands)


def outcome(reading):
    return [call.name for call in reading.calls], [problem.message for problem in reading.problems]


# -- tool_choice and parallel_tool_calls ------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [None, "auto"])
def test_auto_takes_calls_and_words(choice):
    assert outcome(read(native("read", "write"), tool_choice=choice)) == (["read", "write"], [])
    assert outcome(read("Hello.", tool_choice=choice)) == ([], [])


def test_none_refuses_a_call():
    reading = read(native("read"), tool_choice="none")

    assert outcome(reading) == ([], ['no call is wanted in this turn, yet "read" was called. Answer in words.'])
    assert (reading.problems[0].kind, reading.problems[0].family) == (ProblemKind.PROTOCOL, Family.PROTOCOL)


def test_none_takes_words():
    assert outcome(read("Hello.", tool_choice="none")) == ([], [])


@pytest.mark.parametrize(
    ("choice", "what"), [("required", "one of the tools"), ("write", '"write"')], ids=["required", "named"]
)
def test_a_demanded_call_that_is_missing_is_asked_for(choice, what):
    reading = read("Hello.", tool_choice=choice)

    assert outcome(reading) == (
        [],
        [f"a call of {what} is required, yet the reply holds none. Write the call and nothing else."],
    )


def test_required_takes_any_call():
    assert outcome(read(native("read"), tool_choice="required")) == (["read"], [])


def test_a_named_tool_is_the_only_one_that_may_be_called():
    assert outcome(read(native("write"), tool_choice="write")) == (["write"], [])
    assert outcome(read(native("read", "write"), tool_choice="write")) == (
        [],
        ['only "write" may be called here, not "read", "write".'],
    )


def test_a_demanded_call_that_was_tried_says_its_own_problem_only():
    reading = read(native("raed"), tool_choice="required")

    assert [problem.kind for problem in reading.problems] == [ProblemKind.UNKNOWN_TOOL]


def test_one_call_at_a_time_where_the_client_says_so():
    assert outcome(read(native("read"), parallel_tool_calls=False)) == (["read"], [])
    assert outcome(read(native("read", "write"), parallel_tool_calls=False)) == (
        [],
        ["one call at a time: 2 were made. Write only the first that is needed."],
    )


@pytest.mark.parametrize("parallel", [True, None])
def test_several_calls_are_fine_elsewhere(parallel):
    assert outcome(read(native("read", "write"), parallel_tool_calls=parallel)) == (["read", "write"], [])


# -- the history ------------------------------------------------------------------------------------------------

ASKED = {"role": "user", "content": "go"}


def called(*calls):
    return {"role": "assistant", "content": None, "tool_calls": [
        {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}
        for identifier, name, arguments in calls]}  # fmt: skip


def result(identifier, content="ok"):
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def messages_of(history):
    found = check_history(history)
    assert {problem.kind for problem in found} <= {ProblemKind.PROTOCOL}
    return [problem.message for problem in found]


@pytest.mark.parametrize(
    "history",
    [
        [],
        [ASKED],
        [{"role": "system", "content": "be brief"}, ASKED, {"role": "assistant", "content": "hi"}],
        [ASKED, called(("a", "read", "{}")), result("a"), {"role": "assistant", "content": "done"}],
        [ASKED, called(("a", "read", "{}"), ("b", "write", "{}")), result("b"), result("a"), ASKED],
        [ASKED, called(("a", "read", ""))],
        [ASKED, called(("a", "read", "{}"), ("b", "write", "{broken"))],
    ],
)
def test_a_sound_history_has_no_problems(history):
    assert messages_of(history) == []


def test_a_result_without_its_call_is_an_orphan():
    assert messages_of([ASKED, result("x")]) == ['message 1 is a result for the call "x", which nobody made.']


def test_a_call_without_its_result_is_named_when_the_talk_goes_on():
    history = [ASKED, called(("a", "read", "{}"), ("b", "write", "{}")), result("a"), ASKED]

    assert messages_of(history) == ['the call "b" of "write" has no result.']


def test_results_that_end_the_history_must_be_complete():
    history = [ASKED, called(("a", "read", "{}"), ("b", "write", "{}")), result("a")]

    assert messages_of(history) == ['the call "b" of "write" has no result.']


def test_a_late_result_belongs_to_no_open_call():
    history = [ASKED, called(("a", "read", "{}")), ASKED, result("a")]

    first, second = messages_of(history)
    assert first == 'the call "a" of "read" has no result.'
    assert second.startswith("message 3 is a")


def test_a_second_result_is_one_too_many():
    history = [ASKED, called(("a", "read", "{}")), result("a"), result("a")]

    assert messages_of(history) == ['message 3 is a second result for the call "a".']


@pytest.mark.parametrize(
    "history",
    [
        [ASKED, called(("a", "read", "{}"), ("a", "read", "{}")), result("a")],
        [ASKED, called(("a", "read", "{}")), result("a"), called(("a", "read", "{}")), result("a")],
    ],
)
def test_an_id_that_is_used_twice_is_named(history):
    assert any('the call id "a" is used twice.' in message for message in messages_of(history))


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("{broken", "are no valid JSON"),
        ("[1]", "are no JSON object"),
        ({"n": 1}, "are dict, not JSON text"),
        (None, "are NoneType, not JSON text"),
    ],
)
def test_past_arguments_that_break_other_servers_are_named(arguments, fault):
    history = [ASKED, called(("a", "read", arguments)), result("a"), ASKED]

    assert messages_of(history) == [f'message 1: the arguments of "read" {fault}.']


@pytest.mark.parametrize(
    "odd", [{"role": "assistant", "tool_calls": "x"}, {"role": "assistant", "tool_calls": [1]}, {}, {"role": 5}]
)
def test_an_odd_message_does_not_raise(odd):
    assert messages_of([ASKED, odd, ASKED]) == []


def repeated(times, content=lambda _: "same"):
    history = [ASKED]
    for n in range(times):
        history += [called((f"c{n}", "read", "{}")), result(f"c{n}", content(n))]
    return history


LOOPED = '"read" was called 4 times with the same arguments and the same result.'


def test_the_same_call_with_the_same_result_over_and_over_is_a_loop():
    assert messages_of(repeated(LOOP_LENGTH)) == []
    assert messages_of(repeated(LOOP_LENGTH + 1)) == [LOOPED]


def test_polling_is_no_loop_because_its_results_change():
    assert messages_of(repeated(9, content=lambda n: f"{n * 10} % done")) == []


def test_a_loop_is_broken_by_another_call_or_by_the_user():
    four = repeated(LOOP_LENGTH + 1)
    other = [called(("x", "write", "{}")), result("x")]

    assert messages_of([*four[:5], *other, *four[5:]]) == []
    assert messages_of([*four, *other]) == []
    assert messages_of([*four[:5], ASKED, *four[5:]]) == []


def test_calls_with_other_arguments_are_no_loop():
    history = [ASKED]
    for n in range(6):
        history += [called((f"c{n}", "read", json.dumps({"page": n}))), result(f"c{n}")]

    assert messages_of(history) == []
