"""The one law of comparing schemas: what is said to be compatible is. Checked by brute force."""

from __future__ import annotations

import warnings

import pytest
from compat_strategies import pairs, value
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis_jsonschema import from_schema

from rightcall import Tool
from rightcall.schema.compat.compare import compare_schemas, compare_tools
from rightcall.schema.compat.edits import edits, made
from rightcall.schema.compat.subset import covers, covers_in_parts
from rightcall.schema.compat.verdicts import Verdict
from rightcall.schema.compiled import compile_tool

LAW = settings(
    deadline=None,
    max_examples=300,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
VALUES = 120


def accepts(schema):
    compiled = compile_tool(Tool("t", parameters=schema))
    assume(compiled.broken is None)
    return compiled.accepts


@LAW
@given(pairs())
def test_no_value_that_the_old_schema_takes_is_refused_by_a_compatible_one(pair):
    old, new, random = pair
    takes, still_takes = accepts(old), accepts(new)

    changes, example = compare_schemas(old, new)

    if max((change.verdict for change in changes), default=Verdict.COMPATIBLE) <= Verdict.SEMANTIC:
        for _ in range(VALUES):
            drawn = value(random)
            assert still_takes(drawn) or not takes(drawn), (old, new, drawn)
    if example:
        assert takes(example[0])
        assert not still_takes(example[0])


@LAW
@given(pairs())
def test_what_covers_takes_every_value(pair):
    old, new, random = pair
    takes, still_takes = accepts(old), accepts(new)
    deciding = [edit.path for edit in edits(old, new) if not edit.is_wording and not edit.is_definition]
    proven = covers(new, old) or covers_in_parts(new, old, deciding)
    assume(proven)

    for _ in range(VALUES):
        drawn = value(random)
        assert still_takes(drawn) or not takes(drawn), (old, new, drawn)


@settings(LAW, max_examples=30)
@given(pairs(references=False), st.data())
def test_a_value_drawn_from_the_old_schema_passes_a_compatible_one(pair, data):
    """The values are hypothesis-jsonschema's, which finds deep ones that blind drawing does not."""
    old, new, _ = pair
    takes, still_takes = accepts(old), accepts(new)
    assume(covers(new, old))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            drawn = data.draw(from_schema(old))
        except (AssertionError, AttributeError, KeyError, InvalidArgument):  # its own: some are beyond it
            assume(False)
            return
    assert still_takes(drawn) or not takes(drawn)


@LAW
@given(pairs())
def test_all_edits_together_make_the_new_schema(pair):
    old, new, random = pair
    takes = accepts(new)
    whole = old
    for edit in edits(old, new):
        whole = made(whole, edit)
    rebuilt = accepts(whole)

    for _ in range(VALUES):
        drawn = value(random)
        assert rebuilt(drawn) == takes(drawn)


@LAW
@given(pairs())
def test_a_tool_is_compatible_with_itself(pair):
    old, _, _ = pair
    accepts(old)

    assert compare_tools(Tool("t", "", old), Tool("t", "", old)).verdict is Verdict.COMPATIBLE


@pytest.mark.parametrize("lax", ["2026-01-31T10:00", "2026-01-31 10:00:00"])
def test_a_format_that_is_checked_less_strictly_proves_nothing_about_such_values(lax):
    """The canonical form knows the standard's format, in which this value is none."""
    old = {"type": "string", "format": "date-time"}
    new = {"type": "string", "not": {"const": lax}}
    assert compile_tool(Tool("t", parameters=old)).accepts(lax)

    assert not covers(new, old)
    assert not covers({"type": "integer"}, {"enum": [lax], "not": {"format": "date-time"}})
