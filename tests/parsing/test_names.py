"""Which declared tool a written name means: exact, then what templates leak, then spelling; never a guess."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall import Family, Grade, ProblemKind, parse
from rightcall.parsing.names import MAX_NAME


def read(written, *declared):
    tools = [{"name": name} for name in declared]
    return parse({"tool_calls": [{"id": "c1", "function": {"name": written, "arguments": "{}"}}]}, tools)


@pytest.mark.parametrize("name", ["get_weather", "a", "mcp__files__read", "ns.tool", "工具", "x" * 64])
def test_an_exact_name_is_taken_without_a_note(name):
    reading = read(name, "other", name)

    assert [(call.name, call.notes) for call in reading.calls] == [(name, ())]


def test_an_exact_name_wins_over_every_other_spelling():
    reading = read("functions.read", "read", "functions.read", "Read")

    assert [call.name for call in reading.calls] == ["functions.read"]
    assert reading.notes == ()


@pytest.mark.parametrize(
    "written",
    [
        "functions.get_weather",
        "function.get_weather",
        "tools.get_weather",
        "tool.get_weather",
        "default_api.get_weather",
        "api.get_weather",
        "default_api:get_weather",
        "functions/get_weather",
        "functions.get_weather:0",
        "functions.get_weather:12",
        "get_weather:0",
        "get_weather()",
        " get_weather ",
        '"get_weather"',
        "'get_weather'",
        "`get_weather`",
        "get_weather<|channel|>commentary",
        "get_weather<|constrain|>json",
        "get_weather<｜tool▁sep｜>",
        "get_weatherget_weather",
    ],
)
def test_what_templates_leave_on_a_name_is_taken_off_losslessly(written):
    reading = read(written, "get_weather", "get_time")

    (call,) = reading.calls
    assert call.name == "get_weather"
    assert [(note.kind, note.grade, note.before, note.after, note.tool) for note in call.notes] == [
        ("name_leak", Grade.LOSSLESS, written, "get_weather", "get_weather")
    ]


@pytest.mark.parametrize(
    "written",
    ["getWeather", "GetWeather", "GET_WEATHER", "get-weather", "get weather", "get.weather", "get__weather",
     "functions.getWeather", "getWeather()"],
)  # fmt: skip
def test_another_spelling_of_one_declared_name_is_inferred(written):
    reading = read(written, "get_weather", "get_time")

    (call,) = reading.calls
    assert call.name == "get_weather"
    assert [(note.kind, note.grade, note.before) for note in call.notes] == [
        ("name_spelling", Grade.INFERRED, written)
    ]


@pytest.mark.parametrize(
    ("written", "declared", "candidates"),
    [
        ("getitem", ("get_item", "getItem"), ["get_item", "getItem"]),
        ("read", ("fs__read", "db__read"), ["fs__read", "db__read"]),
        ("read", ("fs.read", "db.read", "write"), ["fs.read", "db.read"]),
        ("functions.GET-ITEM", ("get_item", "getItem"), ["get_item", "getItem"]),
    ],
)
def test_a_name_that_several_tools_answer_to_is_ambiguous(written, declared, candidates):
    reading = read(written, *declared)

    assert reading.calls == ()
    (problem,) = reading.problems
    assert (problem.kind, problem.family) == (ProblemKind.AMBIGUOUS, Family.SELECTION)
    assert problem.allowed == candidates
    assert (problem.got, problem.call_id) == (written, "c1")


@pytest.mark.parametrize(
    "written",
    [
        "weather",
        "get_wether",
        "get_weathers",
        "get_weather_now",
        "forecast",
        "set_weather",
        "get",
        "my.get_weather",
        "functions",
        "functions.",
        ":0",
        "gett_weather",
        "get_weather:abc",
        "get_weather(city='Oslo')",
        "x" * (MAX_NAME + 1),
    ],
)
def test_anything_looser_is_only_suggested_never_taken(written):
    reading = read(written, "get_weather", "get_time")

    assert reading.calls == ()
    (problem,) = reading.problems
    assert (problem.kind, problem.family) == (ProblemKind.UNKNOWN_TOOL, Family.SELECTION)
    assert problem.allowed == ["get_weather", "get_time"]


def test_an_unknown_name_is_answered_with_the_nearest_and_the_list():
    (problem,) = read("get_wether", "send_mail", "get_weather").problems

    assert problem.message == (
        '"get_wether" is not a tool. Nearest: "get_weather". The tools are "send_mail", "get_weather".'
    )


def test_a_long_catalogue_is_not_listed_whole():
    (problem,) = read("zzz", *(f"tool_{n}" for n in range(40))).problems

    assert problem.message.endswith('"tool_29" and 10 more.')
    assert len(problem.allowed) == 40


@pytest.mark.parametrize("written", ["", " ", "\n"])
def test_a_call_without_a_name_is_an_unknown_tool(written):
    (problem,) = read(written, "get_weather").problems

    assert problem.kind is ProblemKind.UNKNOWN_TOOL
    assert problem.message == 'the call names no tool. The tools are "get_weather".'


@pytest.mark.parametrize("name", [None, 5, ["get_weather"], {"name": "get_weather"}])
def test_a_name_that_is_no_text_names_no_tool(name):
    tools = [{"name": "get_weather"}]

    reading = parse({"tool_calls": [{"id": "c1", "function": {"name": name, "arguments": "{}"}}]}, tools)

    assert reading.calls == ()
    assert [problem.kind for problem in reading.problems] == [ProblemKind.UNKNOWN_TOOL]


def test_calls_that_parallel_wrappers_hold_are_taken_out():
    tools = [{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]
    uses = [{"recipient_name": f"functions.{n}", "parameters": {"city": c}} for n, c in
            [("get_weather", "Oslo"), ("get_weather", "Rome")]]  # fmt: skip
    call = {"function": {"name": "multi_tool_use.parallel", "arguments": {"tool_uses": uses}}}

    reading = parse({"tool_calls": [call]}, tools)

    assert [(c.name, c.arguments) for c in reading.calls] == [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Rome"}),
    ]


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5, unique=True))
def test_a_call_is_of_a_declared_tool_or_there_is_none(written, declared):
    reading = read(written, *declared)

    assert len(reading.calls) + len(reading.problems) == 1
    assert all(call.name in declared for call in reading.calls)
    if written in declared:
        assert [call.name for call in reading.calls] == [written]
