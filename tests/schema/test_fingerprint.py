"""Identity of what a model is shown: the same for the same, another for anything else."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall import Effects, Tool
from rightcall.schema.fingerprint import canonical_json, tool_fingerprint, toolset_fingerprint

PARAMETERS = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
TOOL = Tool("book", "Books a trip", PARAMETERS)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=10,
)


def turned(value):
    """The same JSON with every object's keys in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(item) for item in value] if isinstance(value, list) else value


def test_a_fingerprint_names_its_algorithm():
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", tool_fingerprint(TOOL))
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", toolset_fingerprint([]))


def test_a_fingerprint_stays_the_same_from_release_to_release():
    assert canonical_json({"b": 1.0, "a": [None, True, "é"]}) == '{"a":[null,true,"é"],"b":1}'.encode()


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.dictionaries(st.text(max_size=6), json_values, max_size=4))
def test_the_order_of_keys_and_the_way_it_is_written_do_not_count(parameters):
    again = json.loads(json.dumps(turned(parameters), indent=3))

    assert tool_fingerprint(Tool("t", "", parameters)) == tool_fingerprint(Tool("t", "", again))


@pytest.mark.parametrize(
    "other",
    [
        Tool("book2", "Books a trip", PARAMETERS),
        Tool("book", "Books a trip.", PARAMETERS),
        Tool("book", "", PARAMETERS),
        Tool("book", "Books a trip", PARAMETERS | {"required": []}),
        Tool("book", "Books a trip", PARAMETERS | {"required": ["a", "b"]}),
        Tool("book", "Books a trip", PARAMETERS | {"additionalProperties": False}),
        Tool("book", "Books a trip", PARAMETERS | {"description": "x"}),
        Tool("book", "Books a trip", PARAMETERS | {"properties": {"a": {"type": "string"}}}),
        Tool("book", "Books a trip", {**PARAMETERS, "properties": {"a": {"enum": ["x", "y"]}}}),
        Tool("book", "Books a trip", {**PARAMETERS, "properties": {"a": {"enum": ["y", "x"]}}}),
    ],
)
def test_anything_that_is_shown_counts(other):
    assert tool_fingerprint(other) != tool_fingerprint(TOOL)


def test_what_is_not_shown_does_not_count():
    other = Tool("book", "Books a trip", PARAMETERS, Effects(read_only=True), {"strict": True})

    assert tool_fingerprint(other) == tool_fingerprint(TOOL)


def test_true_and_one_are_not_the_same():
    assert canonical_json({"const": True}) != canonical_json({"const": 1})


def test_integers_beyond_a_double_have_a_fingerprint_too():
    huge = Tool("t", "", {"properties": {"n": {"maximum": 2**64, "minimum": -(2**70), "const": True}}})

    assert tool_fingerprint(huge) == tool_fingerprint(huge)
    assert tool_fingerprint(huge) != tool_fingerprint(Tool("t", "", {"properties": {"n": {"maximum": 2**65}}}))


def test_a_toolset_is_its_tools_in_their_order():
    other = Tool("cancel")

    assert toolset_fingerprint([TOOL, other]) == toolset_fingerprint((TOOL, other))
    assert (
        len({toolset_fingerprint(tools) for tools in ([], [TOOL], [TOOL, other], [other, TOOL], [TOOL, TOOL])}) == 5
    )
