"""Calls without any marker: a message or a fence that is a call, and all that only looks like one."""

import json

import pytest

from rightcall import ModelReply, ProblemKind, parse

WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
TIME = {"name": "get_time", "parameters": {"type": "object", "properties": {}}}
TAG = {"name": "tag", "parameters": {"type": "object", "properties": {"name": {"type": "string"}, "args": {}}}}
ECHO = {"name": "echo", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}
TOOLS = [WEATHER, TIME, ECHO]


OSLO = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
ROME = '{"name": "get_weather", "arguments": {"city": "Rome"}}'


def read(text, finish_reason=None, tools=TOOLS):
    return parse(ModelReply(text=text, finish_reason=finish_reason), tools)


def calls_of(reading):
    return [(call.name, call.arguments) for call in reading.calls]


CITY = [("get_weather", {"city": "Oslo"})]
BOTH = [*CITY, ("get_weather", {"city": "Rome"})]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        # bare
        (OSLO, CITY),
        (f"\n  {OSLO}\n", CITY),
        (f"{OSLO}<|im_end|>", CITY),
        (f"{OSLO}</s>", CITY),
        (f"[{OSLO}]", CITY),
        (f"[{OSLO}, {ROME}]", BOTH),
        (f"{OSLO}\n{ROME}", BOTH),
        (f"{OSLO};{ROME}", BOTH),
        (f"{OSLO}, {ROME}", BOTH),
        (f"{OSLO}{OSLO}", CITY * 2),
        ('{"name": "get_weather", "parameters": {"city": "Oslo"}}', CITY),
        ('{"name": "get_weather", "args": {"city": "Oslo"}}', CITY),
        ('{"tool": "get_weather", "tool_input": {"city": "Oslo"}}', CITY),
        ('{"action": "get_weather", "action_input": {"city": "Oslo"}}', CITY),
        ('{"function": "get_weather", "arguments": {"city": "Oslo"}}', CITY),
        ('{"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}', CITY),
        ('{"type": "function", "function": {"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}}', CITY),
        (f'{{"tool_calls": [{OSLO}, {ROME}]}}', BOTH),
        ('{"name": "get_weather", "city": "Oslo"}', CITY),
        ('{"get_weather": {"city": "Oslo"}}', CITY),
        ('{"name": "get_time", "arguments": {}}', [("get_time", {})]),
        ('{"name": "get_time"}', [("get_time", {})]),
        # fenced
        (f"```json\n{OSLO}\n```", CITY),
        (f"```\n{OSLO}\n```", CITY),
        (f"```tool_call\n{OSLO}\n```", CITY),
        (f"  ```json\n{OSLO}\n```  \n", CITY),
        (f"```json\n[{OSLO}, {ROME}]\n```", BOTH),
        (f"```json\n{OSLO}\n{ROME}\n```", BOTH),
        (f"```json\n{OSLO}\n```\n```json\n{ROME}\n```", BOTH),
        (f"```json\n{OSLO}\n```\n\n\n```json\n{ROME}\n```", BOTH),
        # Python
        ('get_weather(city="Oslo")', CITY),
        ("[get_weather(city='Oslo')]", CITY),
        ('[get_weather(city="Oslo"), get_weather(city="Rome")]', BOTH),
        ('get_weather(city="Oslo")\nget_weather(city="Rome")', BOTH),
        ('```tool_code\nget_weather(city="Oslo")\n```', CITY),
        ('[get_weather(city="Oslo", days=3)]', [("get_weather", {"city": "Oslo", "days": 3})]),
        ("get_time()", [("get_time", {})]),
        ('echo("a, b) c")', [("echo", {"text": "a, b) c"})]),
    ],
)
def test_a_message_that_is_calls_and_nothing_else_is_calls(text, calls):
    reading = read(text)

    assert calls_of(reading) == calls
    assert (reading.problems, reading.text) == ((), "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"I will look it up.\n\n{OSLO}", "I will look it up."),
        (f"I will look it up.\n\n```json\n{OSLO}\n```", "I will look it up."),
        (f"```json\n{OSLO}\n```\n\nI will tell you as soon as I know.", "I will tell you as soon as I know."),
        (f"First Oslo:\n```json\n{OSLO}\n```\nNow Rome:\n```json\n{ROME}\n```", "First Oslo: Now Rome:"),
    ],
)
def test_words_that_announce_a_call_are_kept_beside_it(text, shown):
    reading = read(text)

    assert [name for name, _ in calls_of(reading)] == ["get_weather"] * text.count("get_weather")
    assert reading.problems == ()
    assert reading.text.split() == shown.split()


@pytest.mark.parametrize(
    "text",
    [
        f"For example, you could call it like this:\n```json\n{OSLO}\n```",
        f"The format is:\n\n{OSLO}",
        f"```json\n{OSLO}\n```\nThis is what a call would look like.",
        f"You can use this template:\n```json\n{OSLO}\n```",
        f"If you want the weather, write:\n```json\n{OSLO}\n```",
        f"Don't write\n```json\n{OSLO}\n```",
        f"```json\n{OSLO}\n```\nis a hypothetical call.",
    ],
)
def test_an_example_inside_an_explanation_is_no_call_and_says_so(text):
    reading = read(text)

    assert reading.calls == ()
    assert [problem.kind for problem in reading.problems] == [ProblemKind.AMBIGUOUS]
    assert reading.text == text


@pytest.mark.parametrize(
    "text",
    [
        'This is the record:\n{"name": "get_time"}',
        '```json\n{"name": "get_time"}\n```\nis what the file holds.',
        'This is the forecast:\n\n{"get_weather": {"city": "Oslo"}}',
        f"User: How is the weather in Oslo?\nAssistant:\n{OSLO}",
        f"**Human:** Oslo?\n**Assistant:** I will look.\n```json\n{OSLO}\n```",
    ],
)
def test_what_may_as_well_be_data_or_a_dialogue_is_refused_where_words_stand_beside_it(text):
    reading = read(text)

    assert (reading.calls, [problem.kind for problem in reading.problems]) == ((), [ProblemKind.AMBIGUOUS])
    assert reading.text == text


@pytest.mark.parametrize(
    "text",
    [
        f"Assistant: I will look.\n{OSLO}",
        f"The user: a person in Oslo.\n{OSLO}",
        f"I answer the user:\n{OSLO}",
    ],
)
def test_words_about_who_speaks_are_no_dialogue(text):
    assert calls_of(read(text)) == CITY


@pytest.mark.parametrize(
    "text",
    [
        f"A call is\n\n```json\n{OSLO}\n```\n\nand the answer comes back as text.",
        f"Here\n{OSLO}\nis in the middle.",
        f"The object `{OSLO}` is written inline.",
        f"Say {OSLO} and see.",
        "You would write `get_weather(city='Oslo')` for that.",
        "Calling get_weather(city='Oslo') gives the weather.",
        "get_weather(city='Oslo') is how it is called.",
        "get_weather: gives the weather of a city.",
        "[get_weather] is the tool's name.",
        f"```python\nprint({OSLO})\n```",
        "```python\nget_weather(city='Oslo')\n```",
        f"```bash\ncurl -d '{OSLO}' localhost\n```",
    ],
)
def test_a_call_in_the_middle_of_words_or_in_code_is_text(text):
    reading = read(text)

    assert (reading.calls, reading.problems, reading.text) == ((), (), text)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ada", "age": 36}',
        '{"name": "Ada", "parameters": {"age": 36}}',
        '{"name": "get_weather", "version": 2, "stars": 5}',
        '{"name": "get_weather", "description": "gives the weather", "parameters": {"type": "object"}, "x": 1}',
        '{"get_weather": "sunny"}',
        '{"get_weather": {"temperature": 12}}',
        '{"city": "Oslo"}',
        '{"arguments": {"city": "Oslo"}}',
        '[{"name": "Ada"}, {"name": "Bob"}]',
        f'[{OSLO}, {{"name": "Ada"}}]',
        f'{{"calls": [{OSLO}]}}',
        f'{{"example": {OSLO}}}',
        "[1, 2, 3]",
        "[]",
        "{}",
        '"get_weather"',
        "get_weather",
        "{city}",
        '```json\n{"name": "Ada", "age": 36}\n```',
        "```json\n[]\n```",
        "print(1)",
        "f(x)",
        "[f(1), g(2)]",
    ],
)
def test_data_that_looks_like_a_call_is_text(text):
    reading = read(text)

    assert (reading.calls, reading.problems, reading.text) == ((), (), text)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "get_forecast", "arguments": {"city": "Oslo"}}',
        '```json\n{"name": "get_forecast", "arguments": {"city": "Oslo"}}\n```',
    ],
)
def test_an_envelope_with_an_unknown_name_is_an_unknown_tool(text):
    reading = read(text)

    assert (reading.calls, [problem.kind for problem in reading.problems]) == ((), [ProblemKind.UNKNOWN_TOOL])


def test_a_tool_whose_parameters_are_called_like_an_envelope_keeps_them():
    text = '{"name": "tag", "arguments": {"name": "get_weather", "args": [1]}}'

    assert calls_of(read(text, tools=[TAG, WEATHER])) == [("tag", {"name": "get_weather", "args": [1]})]


@pytest.mark.parametrize(
    "text",
    [
        "get_weather(city=CITY)",
        'get_weather(city="Oslo" + "!")',
        "get_weather(city=get_time())",
        "get_weather(city=['Oslo', open('x')])",
        "get_weather('Oslo', 3)",
        "get_weather(city='Oslo', city='Rome')",
        "get_weather(**{'city': 'Oslo'})",
        "x = get_weather(city='Oslo')",
        "get_weather(city='Oslo').json()",
        "lambda: get_weather(city='Oslo')",
    ],
)
def test_python_that_is_more_than_calls_with_literals_is_no_call(text):
    assert read(text).calls == ()


# -- cut off and broken -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ["{}", "```json\n{}", "[{}", "```json\n[{}"], ids=["bare", "fence", "list", "both"])
@pytest.mark.parametrize("finish_reason", [None, "stop", "length"])
def test_an_object_that_is_cut_off_is_never_a_call(frame, finish_reason):
    for cut in range(1, len(OSLO) - 1):
        reading = read(frame.format(OSLO[:cut]), finish_reason)

        assert reading.calls == ()
        assert {problem.kind for problem in reading.problems} <= {ProblemKind.TRUNCATED}


@pytest.mark.parametrize("frame", ["{}", "```json\n{}", "I will look it up.\n{}"], ids=["bare", "fence", "words"])
def test_an_object_that_is_cut_inside_its_arguments_is_truncated(frame):
    reading = read(frame.format(OSLO[: OSLO.index("slo")]))

    if frame.startswith("I will"):
        assert reading.calls == ()
    else:
        assert [problem.kind for problem in reading.problems] == [ProblemKind.TRUNCATED]


@pytest.mark.parametrize("call", ['get_weather(city="Oslo", days=3)', '[get_weather(city="Oslo"), get_time()]'])
def test_a_python_call_that_is_cut_off_is_never_a_call(call):
    for cut in range(1, len(call)):
        assert read(call[:cut], "length").calls == (), call[:cut]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"name": "get_weather", "arguments": {"city": Oslo}}', ProblemKind.UNPARSEABLE),
        ('```json\n{"name": "get_weather", "arguments": {"city": "Oslo}}\n```', ProblemKind.UNPARSEABLE),
        ('{"name": "get_weather", "arguments": {"city": "Oslo", "city": "Rome"}}', ProblemKind.AMBIGUOUS),
        ('{"name": "get_weather", "arguments": {"days": 2}}', ProblemKind.MISSING_REQUIRED),
        ('{"name": "get_weather", "arguments": {"city": {"name": "Oslo"}}}', ProblemKind.WRONG_TYPE),
    ],
)
def test_a_call_with_a_fault_says_which(text, kind):
    reading = read(text)

    assert (reading.calls, [problem.kind for problem in reading.problems]) == ((), [kind])


@pytest.mark.parametrize(
    "text",
    [
        "{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}",
        '{"name": "get_weather", "arguments": {"city": "Oslo",},}',
        '{name: "get_weather", arguments: {city: "Oslo"}}',
        '{"name": "get_weather", "arguments": {"city": "Oslo"}}}',
        '{{"name": "get_weather", "arguments": {"city": "Oslo"}}}',
        '```json\n{"name": "get_weather", // the tool\n "arguments": {"city": "Oslo"}}\n```',
        f"```json\n{OSLO}}}\n```",
    ],
)
def test_faults_with_one_reading_are_repaired_in_bare_calls_too(text):
    reading = read(text)

    assert calls_of(reading) == CITY
    assert reading.notes
    assert reading.text == ""


def test_a_value_may_hold_fences_and_envelopes():
    value = f"```json\n{OSLO}\n```\nget_time()"
    text = json.dumps({"name": "echo", "arguments": {"text": value}})

    for written in (text, f"```json\n{text}\n```"):
        assert calls_of(read(written)) == [("echo", {"text": value})]


def test_distinct_calls_are_neither_dropped_nor_merged():
    text = "\n".join(f'{{"name": "get_weather", "arguments": {{"city": "City {n}"}}}}' for n in range(20))

    assert calls_of(read(text)) == [("get_weather", {"city": f"City {n}"}) for n in range(20)]


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_a_reply_that_says_nothing_is_unparseable(text):
    reading = read(text)

    assert (reading.calls, [problem.kind for problem in reading.problems]) == ((), [ProblemKind.UNPARSEABLE])


@pytest.mark.parametrize("text", ["Hello!", "Oslo is in Norway.\n\n- cold\n- dark", "1 < 2, [3], {4} and `5`"])
def test_plain_words_come_back_as_they_are(text):
    reading = read(text)

    assert (reading.calls, reading.problems, reading.text) == ((), (), text)
