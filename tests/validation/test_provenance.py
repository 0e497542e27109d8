"""A value that stands nowhere in the conversation was made up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.domain import ModelRequest, ProblemKind, Tool, ToolCall
from rightcall.errors import UsageError
from rightcall.validation.provenance import MAX_CHARS, provenance_rules, unmentioned_optional, unsourced_value


def request(said: str, required: tuple[str, ...] = ("x",), *more: dict[str, Any], **properties: Any) -> ModelRequest:
    schema = {"type": "object", "properties": properties or {"x": {}}, "required": list(required)}
    return ModelRequest(({"role": "user", "content": said}, *more), tools=(Tool("f", "", schema),))


def call(**arguments: Any) -> ToolCall:
    return ToolCall("1", "f", arguments)


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("The weather in Oslo?", "Oslo"),
        ("the weather in OSLO", "oslo"),
        ("a table for four", 4),
        ("a rate of 5%", 0.05),
        ("refund 12.50 pounds", 1250),
        ("2,000 dollars", 2000),
        ("3 thousand", 3000.0),
        ("starting March 10th, 2023", "2023-03-10"),
        ("Convert Euros", "EUR"),
        ("to Canadian dollars", "CAD"),
        ("in New York", "NY"),
        ("British Pounds to Yen", "GBP"),
        ("restaurants in Manhattan", "Manhattan, New York"),
        ("list the holy books", "holy book"),
        ("translating a sentence", "translation"),
        ("cash flows of -$100, $40", [-100, 40]),
        ("the points A(3,4) and B(1,2)", [3, 4, 1, 2]),
        ("charges of 1e-9 and -2.5E+3", [1e-9, 2500]),
        ("an inductance of 50 mH", 0.05),
        ("for the next week", 7),
        ("I am 42 and she is a year older", 43),
        ("from 3 to 10", 7),
        ("12 apples and 5 pears", 17),
        ("compounded quarterly", 4),
        ("starting from rest", 0),
        ("a pizza", 1),
        ("at 4pm", "16:00"),
        ("at 2 in the afternoon", "14:00"),
        ("November 1, 2023 at 4pm", "2023-11-01T16:00:00"),
        ("我想在肯德基买可乐", "肯德基"),
        ("上海目前的天气", "Shanghai, China"),
        ("a person named Ann who is 30", {"name": "Ann", "age": 30}),
        ("anything at all", True),
        ("anything at all", None),
        ("anything at all", ""),
        ("write to her", "Dear Ann, thank you very much for the kind letter of yesterday evening"),
    ],
)
def test_what_was_said_in_whatever_form_has_a_source(said: str, value: Any) -> None:
    assert unsourced_value(call(x=value), request(said)) is None


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("How do I find the angle of a force?", 10),
        ("Who are the famous dancers?", "New York Museum of Modern Art"),
        ("Which sculpture is the most famous?", "stone"),
        ("The schedule of today's matches", "2023-04-01"),
        ("a person", {"name": "Ann"}),
        ("several points", [1, 2]),
        ("Is it car or care?", "cart wheel repair"),
    ],
)
def test_what_nobody_said_is_made_up(said: str, value: Any) -> None:
    problem = unsourced_value(call(x=value), request(said))
    assert problem is not None
    assert problem.kind is ProblemKind.UNVERIFIED
    assert problem.path.startswith("/x")
    assert "stands nowhere in the conversation" in problem.message


def test_the_place_of_a_nested_value_is_named() -> None:
    problem = unsourced_value(call(x={"a/b": [{"city": "Rome"}]}), request("hm"))
    assert problem is not None
    assert problem.path == "/x/a~1b/0/city"


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": ["miles", "km"]},
        {"const": "miles"},
        {"default": "miles"},
        {"description": "unit, miles if not said"},
        {"$ref": "#/$defs/unit"},
    ],
)
def test_what_the_schema_itself_gives_has_a_source(schema: dict[str, Any]) -> None:
    asked = request("how far is it?", x=schema)
    tool = asked.tools[0]
    with_definitions = Tool("f", "", {**tool.parameters, "$defs": {"unit": {"enum": ["miles"]}}})
    assert unsourced_value(call(x="miles"), ModelRequest(asked.messages, tools=(with_definitions,))) is None


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": "1", "content": "the order is A-17"},
        {"role": "assistant", "content": "Shall I cancel A-17?"},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"x": "A-17"}'}}]},
    ],
)
def test_what_the_history_holds_is_a_source_whoever_said_it(message: dict[str, Any]) -> None:
    assert unsourced_value(call(x="A-17"), request("cancel it", ("x",), message)) is None
    assert unsourced_value(call(x="B-18"), request("cancel it", ("x",), message)) is not None


def test_a_level_names_its_rules() -> None:
    assert [len(provenance_rules(level)) for level in ("off", "required", "all")] == [0, 1, 2]
    with pytest.raises(UsageError, match="allowed: off, required, all"):
        provenance_rules("most")


def test_optional_and_required_arguments_are_judged_apart() -> None:
    asked = request("weather in Oslo", ("city",), city={}, year={})
    made = call(city="Oslo", year=2024)
    assert unsourced_value(made, asked) is None
    problem = unmentioned_optional(made, asked)
    assert problem is not None
    assert problem.path == "/year"
    assert "leave it out" in problem.message


def test_an_optional_argument_that_was_named_is_not_unmentioned() -> None:
    asked = request("weather in Oslo for some year", ("city",), city={}, year={})
    assert unmentioned_optional(call(city="Oslo", year=2024), asked) is None


def test_a_very_long_conversation_is_not_judged() -> None:
    assert unsourced_value(call(x="Rome"), request("a " * MAX_CHARS)) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.lists(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1, max_size=9), min_size=1, max_size=8)
)
def test_words_of_the_conversation_always_have_a_source(words: list[str]) -> None:
    said = " ".join(words)
    assert unsourced_value(call(x=said), request(f"please use {said} now")) is None


@given(JSON)
def test_no_value_and_no_schema_makes_it_raise(value: Any) -> None:
    unsourced_value(call(x=value), request("hm", x=value))
    unmentioned_optional(call(x=value), request("hm", (), x={"properties": value}))
