"""The wire form of Chat Completions, to and from the words of the domain; and streams as servers really send them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall import ChoiceMode, ModelReply, ModelRequest, NativeCall, Tool, ToolCall, ToolChoice, Usage, UsageError
from rightcall.openai_chat import (
    StreamAssembler,
    assembled,
    call_to_json,
    message_from_json,
    reply_from_json,
    request_from_json,
    request_to_json,
    text_of,
    tool_to_json,
    tools_from_json,
    usage_from_json,
)

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "get_weather", "description": "Weather of a city", "parameters": PARAMETERS}
TOOL = {"type": "function", "function": FUNCTION}
MESSAGES = [{"role": "user", "content": "Weather in Oslo?"}]

# -- tools ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        [TOOL],
        [FUNCTION],
        TOOL,
        FUNCTION,
        {"tools": [TOOL]},
        {"tools": [{"name": "get_weather", "description": "Weather of a city", "inputSchema": PARAMETERS}]},
        [{"name": "get_weather", "description": "Weather of a city", "input_schema": PARAMETERS}],
    ],
    ids=["OpenAI", "bare", "one", "one bare", "wrapped", "MCP", "Anthropic"],
)
def test_tools_are_read_in_every_public_form(written):
    (tool,) = tools_from_json(written)

    assert (tool.name, tool.description, tool.parameters) == ("get_weather", "Weather of a city", PARAMETERS)


def test_a_tool_without_parameters_or_description_has_empty_ones():
    (tool,) = tools_from_json([{"type": "function", "function": {"name": "now"}}])

    assert (tool.description, tool.parameters) == ("", {"type": "object", "properties": {}})


def test_a_tool_goes_back_as_it_came_with_the_fields_that_nobody_knows():
    written = {
        "type": "function",
        "function": {**FUNCTION, "strict": True, "x-cost": {"cents": 5}},
        "cache_control": {"type": "ephemeral"},
    }

    assert tool_to_json(tools_from_json([written])[0]) == written


def test_an_empty_description_is_not_sent():
    assert tool_to_json(Tool("now")) == {
        "type": "function",
        "function": {"name": "now", "parameters": {"type": "object", "properties": {}}},
    }


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("get_weather", "tools must be a JSON list, not str; see `rightcall parse --help` for an example"),
        (None, "tools must be a JSON list, not NoneType; see `rightcall parse --help` for an example"),
        ({"a": 1}, "tools must be a JSON list, not dict; see `rightcall parse --help` for an example"),
    ],
)
def test_tools_that_are_no_list_are_refused(written, message):
    with pytest.raises(UsageError) as refused:
        tools_from_json(written)

    assert str(refused.value) == message


@pytest.mark.parametrize("entry", [{}, "x", None, {"function": "x"}, {"name": ""}, {"name": 5}, {"function": {}}])
def test_the_entry_that_is_no_tool_is_named(entry):
    with pytest.raises(UsageError) as refused:
        tools_from_json([TOOL, entry])

    assert str(refused.value) == (
        'tools[1] has no name; a tool is {"type": "function", "function": {"name": ..., "parameters": ...}}'
    )


# -- requests ---------------------------------------------------------------------------------------------------

BODY = {
    "model": "qwen",
    "messages": MESSAGES,
    "tools": [TOOL],
    "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
    "parallel_tool_calls": False,
    "temperature": 0.2,
    "seed": 1,
    "logit_bias": {"5": -100},
    "x-own-field": [None],
}


def test_a_request_is_read():
    request = request_from_json(BODY)

    assert (request.model, request.messages, request.parallel_tool_calls) == ("qwen", MESSAGES, False)
    assert request.tool_choice == ToolChoice(ChoiceMode.NAMED, "get_weather")
    assert request.extra == {"temperature": 0.2, "seed": 1, "logit_bias": {"5": -100}, "x-own-field": [None]}


def test_a_request_goes_out_as_it_came():
    assert request_to_json(request_from_json(BODY)) == BODY


def test_a_streamed_request_asks_for_the_usage_too():
    body = request_to_json(request_from_json({**BODY, "stream": True, "stream_options": {"a": 1}}), stream=True)

    assert body == {**BODY, "stream": True, "stream_options": {"include_usage": True}}


def test_a_request_without_tools_says_nothing_about_them():
    request = ModelRequest(MESSAGES, tool_choice=ToolChoice(ChoiceMode.NONE), parallel_tool_calls=True)

    assert request_to_json(request) == {"messages": MESSAGES}


@pytest.mark.parametrize(
    ("written", "choice"),
    [
        (None, None),
        ("auto", ToolChoice()),
        ("none", ToolChoice(ChoiceMode.NONE)),
        ("required", ToolChoice(ChoiceMode.REQUIRED)),
        ("any", ToolChoice(ChoiceMode.REQUIRED)),
        ({"type": "function", "function": {"name": "get_weather"}}, ToolChoice(ChoiceMode.NAMED, "get_weather")),
        ({"type": "tool", "name": "get_weather"}, ToolChoice(ChoiceMode.NAMED, "get_weather")),
    ],
)
def test_every_form_of_tool_choice_is_read(written, choice):
    assert request_from_json({**BODY, "tool_choice": written}).tool_choice == choice


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"messages": None}, "'messages' must be a list of objects, each with a role and content"),
        ({"messages": ["hi"]}, "'messages' must be a list of objects, each with a role and content"),
        ({"tool_choice": "maybe"},
         'tool_choice is "maybe"; allowed are auto, none, required and a named function'),
        ({"tool_choice": {"type": "function"}},
         'tool_choice is {"type": "function"}; allowed are auto, none, required and a named function'),
        ({"tool_choice": {"function": {"name": "other"}}},
         "tool_choice names 'other', which is not among the tools: ['get_weather']"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_used_says_what_is_wrong(change, message):
    with pytest.raises(UsageError) as refused:
        request_from_json({**BODY, **change})

    assert str(refused.value) == message


# -- replies ----------------------------------------------------------------------------------------------------


def completion(message, **more):
    return {
        "id": "x",
        "model": "qwen",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        **more,
    }


def test_a_completion_is_read_whole():
    message = {
        "role": "assistant",
        "content": "One moment.",
        "reasoning_content": "Oslo, then.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
        ],
    }
    body = completion(message, usage={"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12})

    assert reply_from_json(body) == ModelReply(
        text="One moment.",
        tool_calls=(NativeCall("get_weather", '{"city": "Oslo"}', "c1"),),
        reasoning="Oslo, then.",
        finish_reason="stop",
        usage=Usage(5, 7),
        model="qwen",
        body=body,
    )


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        ({"tool_calls": None}, ()),
        ({"tool_calls": []}, ()),
        ({"tool_calls": "x"}, ()),
        ({"tool_calls": {"function": {"name": "a", "arguments": {}}}}, (NativeCall("a", {}),)),
        ({"tool_calls": [{"name": "a", "arguments": "{}"}]}, (NativeCall("a", "{}"),)),
        ({"tool_calls": [{"id": "", "function": {"name": "a"}}]}, (NativeCall("a", None),)),
        ({"tool_calls": [{"id": 5, "function": {"name": None, "arguments": [1]}}]}, (NativeCall("", [1]),)),
        ({"tool_calls": [None, {"function": "x"}]}, (NativeCall("", None), NativeCall("", None))),
        ({"function_call": {"name": "a", "arguments": "{}"}}, (NativeCall("a", "{}"),)),
        (
            {"tool_calls": [{"function": {"name": "a", "arguments": "{}"}}], "function_call": {"name": "b"}},
            (NativeCall("a", "{}"),),
        ),
    ],
)
def test_native_calls_are_taken_as_they_come(message, calls):
    assert message_from_json(message).tool_calls == calls


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Hello", "Hello"),
        (None, ""),
        (5, ""),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}, "c", None], "abc"),
        ([], ""),
    ],
)
def test_the_text_of_a_message_is_found(content, text):
    assert text_of(content) == text


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_found_under_every_name(field):
    assert message_from_json({"content": "a", field: "hm"}).reasoning == "hm"


@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": None}, {"choices": [{}]}, {"choices": [None]}])
def test_a_body_that_is_no_completion_is_refused(body):
    with pytest.raises(UsageError, match=r"no chat completion: 'choices\[0\]\.message' is missing"):
        reply_from_json(body)


@pytest.mark.parametrize(
    ("written", "usage"),
    [
        (None, None),
        ({}, Usage()),
        ({"prompt_tokens": 3}, Usage(3, 0)),
        ({"prompt_tokens": "3", "completion_tokens": None}, Usage()),
    ],
)
def test_usage_is_what_the_server_says(written, usage):
    assert usage_from_json(written) == usage


def test_a_call_goes_out_with_its_arguments_as_text():
    call = ToolCall("c1", "get_weather", {"city": "Ærø", "n": 2**70, "x": None})

    assert call_to_json(call) == {
        "id": "c1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city": "Ærø", "n": 1180591620717411303424, "x": null}'},
    }


# -- streams ----------------------------------------------------------------------------------------------------


def chunk(finish_reason=None, **delta):
    return {"id": "x", "model": "qwen", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


def piece(index=None, identifier=None, name=None, arguments=None):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call = {"index": index, "id": identifier, "function": function}
    return chunk(tool_calls=[{key: value for key, value in call.items() if value is not None}])


def calls_of(*chunks):
    return [(call.id, call.name, call.arguments) for call in assembled(chunks).tool_calls]


def test_a_stream_is_put_together():
    chunks = [
        chunk(role="assistant", content=""),
        chunk(reasoning_content="Oslo, "),
        chunk(reasoning="then."),
        chunk(content="One "),
        chunk(content="moment."),
        piece(0, "c1", "get_weather", ""),
        piece(0, arguments='{"city": '),
        piece(0, arguments='"Oslo"}'),
        chunk("tool_calls"),
        {"id": "x", "model": "qwen", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}},
    ]

    assert assembled(chunks) == ModelReply(
        text="One moment.",
        tool_calls=(NativeCall("get_weather", '{"city": "Oslo"}', "c1"),),
        reasoning="Oslo, then.",
        finish_reason="tool_calls",
        usage=Usage(5, 7),
        model="qwen",
        body={"id": "x", "model": "qwen"},
    )


def test_each_chunk_gives_what_it_brought():
    assembler = StreamAssembler()

    assert assembler.add(chunk(content="a", reasoning_content="b")) == ("a", "b")
    assert assembler.add(piece(0, "c1", "get_weather", "{}")) == ("", "")
    assert assembler.add({}) == ("", "")


def test_a_stream_that_stops_has_no_finish_reason():
    assert assembled([chunk(content="a")]).finish_reason is None
    assert assembled([]) == ModelReply()


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        pytest.param(
            [piece(0, "a", "f", '{"n": '), piece(1, "b", "g", '{"m": '), piece(0, arguments="1}"),
             piece(1, arguments="2}")],
            [("a", "f", '{"n": 1}'), ("b", "g", '{"m": 2}')],
            id="interleaved",
        ),
        pytest.param(
            [piece(0, "a", "f", "{}"), piece(0, "b", "g", '{"m": 2}')],
            [("a", "f", "{}"), ("b", "g", '{"m": 2}')],
            id="an index used again, with another id",
        ),
        pytest.param(
            [piece(0, None, "f", "{}"), piece(0, None, "f", '{"m": 2}')],
            [(None, "f", "{}"), (None, "f", '{"m": 2}')],
            id="an index used again, without ids",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"n'), piece(0, "b", "g", '{"m'), piece(0, arguments='": 2}')],
            [("a", "f", '{"n'), ("b", "g", '{"m": 2}')],
            id="an index used again goes on with the last call",
        ),
        pytest.param(
            [piece(None, "a", "f", '{"n": '), piece(None, arguments="1}")],
            [("a", "f", '{"n": 1}')],
            id="no index",
        ),
        pytest.param(
            [piece(None, "a", "f", "{}"), piece(None, "b", "g", '{"m": '), piece(None, arguments="2}")],
            [("a", "f", "{}"), ("b", "g", '{"m": 2}')],
            id="no index, two ids",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"n": '), piece(0, "a", "f", "1}")],
            [("a", "f", '{"n": 1}')],
            id="id and name in every chunk",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"n": '), piece(0, "a", None, "1}"), piece(0, "a", None, '{"n": 1}')],
            [("a", "f", '{"n": 1}')],
            id="the whole sent again at the end",
        ),
        pytest.param(
            [piece(0, "a", "get_", ""), piece(0, None, "weather", ""), piece(0, arguments="{}")],
            [("a", "get_weather", "{}")],
            id="a name in two pieces",
        ),
        pytest.param(
            [piece(0, "a", "f", {"n": 1})],
            [("a", "f", {"n": 1})],
            id="arguments as an object",
        ),
        pytest.param(
            [piece(0, "a", "f", ""), piece(0, None, None, {"n": 1})],
            [("a", "f", {"n": 1})],
            id="arguments as an object behind an empty text",
        ),
        pytest.param(
            [piece(0, "a", "f", "{}"), piece(1, "b", "f", "{}")],
            [("a", "f", "{}"), ("b", "f", "{}")],
            id="equal calls",
        ),
        pytest.param(
            [piece(1, "b", "g", "{}"), piece(0, "a", "f", "{}")],
            [("b", "g", "{}"), ("a", "f", "{}")],
            id="in the order of coming",
        ),
        pytest.param([piece(0, "a", "f")], [("a", "f", "")], id="no arguments at all"),
        pytest.param([piece(0, "", "f", "{}"), piece(0, "", None, "")], [(None, "f", "{}")], id="empty ids"),
        pytest.param(
            [chunk(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}},
                               {"index": 1, "id": "b", "function": {"name": "g", "arguments": "{}"}}])],
            [("a", "f", "{}"), ("b", "g", "{}")],
            id="two in one chunk",
        ),
    ],
)  # fmt: skip
def test_calls_are_put_together_however_a_server_streams_them(chunks, calls):
    assert calls_of(*chunks) == calls


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"tool_calls": None}}]},
        {"choices": [{"delta": {"tool_calls": [None, "x", {}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": None}]}}]},
        {"choices": [{"delta": {"content": None, "reasoning_content": None}}]},
        {"choices": [], "usage": None},
        {"error": {"message": "late"}},
    ],
)
def test_an_odd_chunk_does_no_harm(odd):
    assert [call[:2] for call in calls_of(piece(0, "a", "f", "{}"), odd) if call[1]] == [("a", "f")]


names = st.sampled_from(["f", "get_weather"])
arguments = st.dictionaries(st.sampled_from("abc"), st.integers(0, 9) | st.text(max_size=4), max_size=2)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.lists(st.tuples(names, arguments), max_size=4), st.booleans(), st.booleans(), st.data())
def test_calls_that_a_server_streams_by_the_book_come_out_as_they_went_in(calls, interleaved, indexed, data):
    streams = []
    for index, (name, values) in enumerate(calls):
        text = json.dumps(values)
        cut = data.draw(st.integers(0, len(text)))
        at = index if indexed or interleaved else None
        streams.append([piece(at, f"c{index}", name, text[:cut]), piece(at, arguments=text[cut:])])
    if interleaved:
        chunks = [pieces[0] for pieces in streams] + [pieces[1] for pieces in streams]
    else:
        chunks = [part for pieces in streams for part in pieces]

    assert calls_of(*chunks) == [(f"c{n}", name, json.dumps(values)) for n, (name, values) in enumerate(calls)]
