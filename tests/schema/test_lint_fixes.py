"""Safe rewrites: what is written means the same, and is what the finding asked for."""

from __future__ import annotations

import pytest
from compat_strategies import pairs, value
from hypothesis import assume, given, settings

from rightcall import Tool
from rightcall.schema.compiled import compile_tool
from rightcall.schema.lint.fixes import fixed


def rewritten(schema):
    return fixed("", {"type": "object", "properties": {"v": schema}})[1]["properties"]["v"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"oneOf": [{"const": "a"}, {"const": 1}]}, {"enum": ["a", 1]}),
        ({"anyOf": [{"type": "string"}], "description": "x"}, {"description": "x", "type": "string"}),
        ({"type": "integer", "enum": [1, "2", 3]}, {"type": "integer", "enum": [1, 3]}),
        (
            {"type": "integer", "description": "How many. Default is 5."},
            {"type": "integer", "description": "How many. Default is 5.", "default": 5},
        ),
        (
            {"type": "string", "description": "One line\n        and another."},
            {"type": "string", "description": "One line\nand another."},
        ),
    ],
)
def test_what_is_safe_is_rewritten(before, after):
    assert rewritten(before) == after


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "enum": ["1", "2"]},  # no member would be left
        {"oneOf": [{"const": "a"}, {"const": "a"}]},  # takes nothing, an enum would take it
        {"anyOf": [{"$ref": "#/$defs/x"}]},
        {"type": "string", "description": "Must be 'a' or 'b'."},  # an enum would take fewer
        {"type": "string", "description": "Default is 5 or more.", "maxLength": 0},
        {"type": "integer", "minimum": 1, "description": "Default is 0."},
    ],
)
def test_what_is_not_safe_is_left(schema):
    assert rewritten(schema) == schema


def test_names_required_twice_are_mended_although_the_schema_is_unusable():
    broken = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "a"]}

    _, mended, done = fixed("", broken)

    assert mended["required"] == ["a"]
    assert [fix.rule for fix in done] == ["RC401"]


@settings(deadline=None, max_examples=150)
@given(pairs())
def test_a_fixed_schema_takes_the_same_values(pair):
    schema, _, random = pair
    before = compile_tool(Tool("t", parameters=schema))
    assume(before.broken is None)

    after = compile_tool(Tool("t", parameters=fixed("", schema)[1]))

    for _ in range(60):
        drawn = value(random)
        assert before.accepts(drawn) == after.accepts(drawn)
