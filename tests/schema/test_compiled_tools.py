"""Tools made ready: broken ones are put aside and said, the others work; nothing is ever fetched."""

import socket
from collections import OrderedDict

import pytest

from rightcall import ProblemKind, Tool, parse
from rightcall.schema.compiled import MAX_CHARS, MAX_DEPTH, MAX_NODES, compile_tool, compile_tools


def nested(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"items": schema}
    return {"type": "object", "properties": {"a": schema}}


def recursive_data():
    schema = {"type": "object"}
    schema["properties"] = {"self": schema}
    return schema


GOOD = Tool("good", parameters={"type": "object", "properties": {"n": {"type": "integer"}}})
BROKEN = {
    "an unknown type": {"type": "objekt"},
    "a type that is no text": {"type": 5},
    "properties that are a list": {"type": "object", "properties": []},
    "required that is a text": {"type": "object", "required": "a"},
    "a pattern that is none": {"properties": {"a": {"type": "string", "pattern": "("}}},
    "a reference to the web": {"properties": {"a": {"$ref": "https://example.org/schema.json"}}},
    "a reference to a file": {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
    "a reference to another document": {"properties": {"a": {"$ref": "other.json#/a"}}},
    "a reference to nowhere": {"properties": {"a": {"$ref": "#/$defs/none"}}},
    "an unknown draft": {"$schema": "https://example.org/my-own-draft", "type": "object"},
    "too deep": nested(MAX_DEPTH + 10),
    "too many parts": {"properties": {f"p{n}": {"items": {"enum": [n]}} for n in range(MAX_NODES // 2)}},
    "too long": {"description": "x" * (MAX_CHARS + 1)},
    "a list": [],
    "a text": "object",
    "nothing": None,
    "true": True,
    "no JSON": {"default": {1, 2}},
    "in a circle as data": recursive_data(),
}


@pytest.mark.parametrize("parameters", BROKEN.values(), ids=BROKEN)
def test_a_broken_tool_is_put_aside_and_said_while_the_others_work(parameters):
    tools = compile_tools([Tool("bad", parameters=parameters), GOOD])

    (problem,) = tools.problems
    assert (problem.kind, problem.tool) == (ProblemKind.PROTOCOL, "bad")
    assert problem.message.startswith('tool "bad" cannot be used: its ')
    assert len(problem.message) < 1000
    assert not tools.by_name["bad"].accepts({})
    assert tools.by_name["good"].accepts({"n": 1})


@pytest.mark.parametrize("parameters", BROKEN.values(), ids=BROKEN)
def test_a_call_of_a_broken_tool_is_refused_and_one_of_a_good_tool_is_not(parameters):
    calls = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in ("bad", "good")]

    reading = parse({"tool_calls": calls}, [Tool("bad", parameters=parameters), GOOD])

    assert [call.name for call in reading.calls] == ["good"]
    (problem,) = reading.problems
    assert (problem.kind, problem.tool, problem.call_id) == (ProblemKind.PROTOCOL, "bad", "bad")
    assert problem.message.startswith("bad cannot be called: its ")


def test_the_values_of_an_enum_are_parts_too():
    parameters = {"type": "object", "properties": {"a": {"enum": list(range(MAX_NODES + 1))}}}

    assert compile_tool(Tool("t", parameters=parameters)).broken


def test_nothing_is_fetched(monkeypatch):
    def refused(*_):
        raise AssertionError("a schema was fetched")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)

    for reference in ("http://127.0.0.1:9/a.json", "https://json-schema.org/draft/2020-12/schema#/none", "urn:x:y"):
        assert compile_tool(Tool("t", parameters={"properties": {"a": {"$ref": reference}}})).broken


def test_the_first_tool_of_a_name_is_used_and_the_second_said():
    second = Tool("good", parameters={"type": "object", "properties": {"n": {"type": "string"}}})

    tools = compile_tools([GOOD, second, Tool("other")])

    assert tools.names == ["good", "other"]
    assert [problem.message for problem in tools.problems] == [
        'tool "good" cannot be used: the name is offered twice; the first tool of that name is used'
    ]
    assert tools.by_name["good"].accepts({"n": 1})
    assert not tools.by_name["good"].accepts({"n": "1"})


def test_what_is_within_bounds_works():
    fine = compile_tool(Tool("t", parameters=nested(MAX_DEPTH // 2 - 4)))
    many = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(2000)}}

    assert fine.broken is None
    assert compile_tool(Tool("t", parameters=many)).broken is None


@pytest.mark.parametrize("parameters", [{}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_tool_without_parameters_takes_an_empty_object(parameters):
    assert compile_tool(Tool("t", parameters=parameters)).accepts({})


def test_declared_and_required_parameters_are_found_in_parts_and_references():
    parameters = {
        "type": "object",
        "properties": {"a": {}},
        "required": ["a"],
        "allOf": [{"$ref": "#/$defs/more"}, {"properties": {"c": {}}}],
        "$defs": {"more": {"properties": {"b": {}}, "required": ["b"]}},
    }

    tool = compile_tool(Tool("t", parameters=parameters))

    assert (tool.declared, tool.required) == ({"a", "b", "c"}, {"a", "b"})


# -- references -------------------------------------------------------------------------------------------------

TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value"],
            "additionalProperties": False,
        }
    },
}


def read(arguments, parameters):
    call = {"id": "c", "function": {"name": "t", "arguments": arguments}}
    return parse({"tool_calls": [call]}, [Tool("t", parameters=parameters)])


def test_a_schema_that_refers_to_itself_is_followed_as_deep_as_the_value_goes():
    written = {"root": {"value": "1", "children": [{"value": "2", "children": [{"value": "3"}]}]}}

    (call,) = read(written, TREE).calls

    assert call.arguments == {"root": {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}}


def test_a_fault_deep_in_a_recursive_value_is_found():
    written = {"root": {"value": 1, "children": [{"value": 2, "children": [{"valu": 3}]}]}}

    problems = read(written, TREE).problems

    assert {(problem.kind, problem.path) for problem in problems} == {
        (ProblemKind.MISSING_REQUIRED, "/root/children/0/children/0/value"),
        (ProblemKind.EXTRA_ARGUMENT, "/root/children/0/children/0/valu"),
    }


def test_a_whole_schema_may_refer_to_itself():
    parameters = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}}

    (call,) = read({"next": {"next": {"n": "1"}}}, parameters).calls

    assert call.arguments == {"next": {"next": {"n": 1}}}


@pytest.mark.parametrize(
    "definitions",
    [
        {"a": {"$ref": "#/$defs/a"}},
        {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "integer"}]}},
        {"a": {"allOf": [{"$ref": "#/$defs/a"}]}},
    ],
)
def test_a_reference_in_a_circle_neither_hangs_nor_raises(definitions):
    reading = read({"a": "1"}, {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": definitions})

    assert len(reading.calls) + len(reading.problems) == 1


# -- formats and drafts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("date", "2026-02-28"),
        ("date-time", "2026-02-28T10:00:00Z"),
        ("date-time", "2026-02-28T10:00:00+02:00"),
        ("date-time", "2026-02-28T10:00:00.123Z"),
        ("date-time", "2026-02-28T10:00:00"),
        ("date-time", "2026-02-28T10:00"),
        ("date-time", "2026-02-28 10:00:00"),
        ("time", "10:00:00Z"),
        ("time", "10:00:00"),
        ("time", "10:00"),
        ("email", "ada@example.org"),
        ("uri", "https://example.org/a?b=c"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000"),
        ("ipv4", "127.0.0.1"),
        ("a-format-of-ones-own", "anything"),
    ],
)
def test_a_value_in_its_declared_format_is_taken(form, value):
    assert compile_tool(Tool("t", parameters={"properties": {"v": {"type": "string", "format": form}}})).accepts(
        {"v": value}
    )


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("date", "2026-02-30"),
        ("date", "28.02.2026"),
        ("date", "tomorrow"),
        ("date-time", "2026-02-30T10:00:00Z"),
        ("date-time", "2026-02-28"),
        ("date-time", "2026-02-28T25:00:00Z"),
        ("date-time", "2026-02-28T10"),
        ("date-time", "10:00"),
        ("time", "25:00"),
        ("time", "10"),
        ("time", "10 o'clock"),
        ("email", "ada"),
        ("uri", "example.org"),
        ("uuid", "123"),
        ("ipv4", "300.0.0.1"),
    ],
)
def test_a_value_out_of_its_declared_format_is_refused(form, value):
    problems = read(
        {"v": value}, {"type": "object", "properties": {"v": {"type": "string", "format": form}}}
    ).problems

    assert [(problem.kind, problem.path) for problem in problems] == [(ProblemKind.WRONG_TYPE, "/v")]


def test_an_older_draft_is_honoured_where_the_schema_names_it():
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
           "properties": {"n": {"type": "integer", "minimum": 1, "exclusiveMinimum": True}}}  # fmt: skip

    tool = compile_tool(Tool("t", parameters=old))

    assert tool.broken is None
    assert tool.accepts({"n": 2})
    assert not tool.accepts({"n": 1})


def test_true_is_no_integer_and_a_whole_number_is_one():
    tool = compile_tool(Tool("t", parameters={"properties": {"n": {"type": "integer"}}}))

    assert tool.accepts({"n": 1.0})
    assert not tool.accepts({"n": True})
    assert not tool.accepts({"n": 1.5})


def test_a_schema_that_is_changed_in_place_is_read_again():
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tool = Tool("t", parameters=parameters)
    assert compile_tool(tool).accepts({"n": 1})

    parameters["properties"]["n"]["type"] = "string"

    assert not compile_tool(tool).accepts({"n": 1})


def test_true_and_1_in_a_schema_are_not_taken_for_the_same():
    one, true = ({"properties": {"a": {"const": value}}} for value in (1, True))

    assert compile_tool(Tool("t", parameters=one)).accepts({"a": 1})
    assert not compile_tool(Tool("t", parameters=true)).accepts({"a": 1})


def test_a_schema_in_other_classes_than_jsons_own_works():
    parameters = OrderedDict(type="object", properties={"a": {"enum": ("x", "y")}})

    assert compile_tool(Tool("t", parameters=parameters)).accepts({"a": "x"})
