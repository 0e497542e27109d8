"""What a change of tools does to old calls, change by change."""

from __future__ import annotations

import pytest

from rightcall import Effects, Tool
from rightcall.schema.compat.compare import compare_tools, compare_toolsets
from rightcall.schema.compat.pattern_example import pattern_example
from rightcall.schema.compat.recorded import RecordedCall, replay_calls
from rightcall.schema.compat.verdicts import Verdict
from rightcall.schema.compiled import compile_tool

TEXT, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def closed(properties, required=(), **more):
    return {
        "type": "object", "properties": properties, "required": list(required), "additionalProperties": False, **more
    }  # fmt: skip


def compared(old, new, **options):
    return compare_tools(Tool("t", "", old), Tool("t", "", new), **options)


def tree(leaf):
    node = {"type": "object", "properties": {"value": leaf, "next": {"$ref": "#/$defs/node"}}}
    return closed({"root": {"$ref": "#/$defs/node"}}, **{"$defs": {"node": node}})


COMPATIBLE = {
    "an optional property is new in a closed object": (closed({"a": TEXT}), closed({"a": TEXT, "b": TEXT})),
    "an integer becomes a number": (closed({"a": INTEGER}), closed({"a": NUMBER})),
    "a type is added": (closed({"a": TEXT}), closed({"a": {"type": ["string", "null"]}})),
    "a member is added": (closed({"a": {"enum": ["x"]}}), closed({"a": {"enum": ["x", "y"]}})),
    "a bound is widened": (closed({"a": {**INTEGER, "maximum": 5}}), closed({"a": {**INTEGER, "maximum": 6}})),
    "a bound is written otherwise": (
        closed({"a": {**INTEGER, "exclusiveMinimum": 0}}),
        closed({"a": {**INTEGER, "minimum": 1}}),
    ),
    "a divisor divides the old one": (
        closed({"a": {**INTEGER, "multipleOf": 4}}),
        closed({"a": {**INTEGER, "multipleOf": 2}}),
    ),
    "what was required is optional": (closed({"a": TEXT}, ["a"]), closed({"a": TEXT})),
    "a pattern is gone": (closed({"a": {**TEXT, "pattern": "^a"}}), closed({"a": TEXT})),
    "a branch is added": (
        closed({"a": {"anyOf": [TEXT, INTEGER]}}),
        closed({"a": {"anyOf": [TEXT, INTEGER, {"type": "null"}]}}),
    ),
    "the object is opened": (closed({"a": TEXT}), closed({"a": TEXT}, additionalProperties=True)),
    "a recursive schema is widened": (tree(INTEGER), tree(NUMBER)),
    "a demand on a recursive schema is dropped": (
        tree({"type": "object", "required": ["x"]}),
        tree({"type": "object"}),
    ),
    "a reference is written out": (
        closed({"a": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": INTEGER}}),
        closed({"a": INTEGER}),
    ),
}


@pytest.mark.parametrize("change", COMPATIBLE)
def test_a_wider_contract_is_compatible(change):
    diff = compared(*COMPATIBLE[change])

    assert diff.verdict is Verdict.COMPATIBLE
    assert diff.changes


@pytest.mark.parametrize("change", [name for name in COMPATIBLE if "otherwise" not in name and "out" not in name])
def test_the_same_change_backwards_breaks(change):
    new, old = COMPATIBLE[change]

    diff = compared(old, new)

    assert diff.verdict >= Verdict.POLICY
    (example,) = diff.example
    assert compile_tool(Tool("t", parameters=old)).accepts(example)
    assert not compile_tool(Tool("t", parameters=new)).accepts(example)


POLICY = {
    "maximum": (closed({"a": {**INTEGER, "maximum": 100}}), closed({"a": {**INTEGER, "maximum": 50}})),
    "minimum": (closed({"a": INTEGER}), closed({"a": {**INTEGER, "minimum": 0}})),
    "enum": (closed({"a": {"enum": ["x", "y"]}}), closed({"a": {"enum": ["x"]}})),
    "pattern": (closed({"a": TEXT}), closed({"a": {**TEXT, "pattern": "^[a-z]{3}$"}})),
    "format": (closed({"a": TEXT}), closed({"a": {**TEXT, "format": "date"}})),
    "maxLength": (closed({"a": TEXT}), closed({"a": {**TEXT, "maxLength": 5}})),
    "maxItems": (closed({"a": {"type": "array"}}), closed({"a": {"type": "array", "maxItems": 1}})),
    "uniqueItems": (
        closed({"a": {"type": "array", "items": TEXT}}),
        closed({"a": {"type": "array", "items": TEXT, "uniqueItems": True}}),
    ),
}


@pytest.mark.parametrize("keyword", POLICY)
def test_a_tightened_range_is_a_matter_of_policy(keyword):
    diff = compared(*POLICY[keyword])

    (change,) = diff.changes
    assert (change.verdict, change.pointer) == (Verdict.POLICY, f"/parameters/properties/a/{keyword}")
    assert change.example


STRUCTURAL = {
    "required": (closed({"a": TEXT}), closed({"a": TEXT}, ["a"])),
    "type": (closed({"a": NUMBER}), closed({"a": INTEGER})),
    "property gone": (closed({"a": TEXT, "b": TEXT}), closed({"a": TEXT})),
    "closed": ({"type": "object", "properties": {"a": TEXT}}, closed({"a": TEXT})),
    "union": (closed({"a": {"anyOf": [TEXT, INTEGER]}}), closed({"a": TEXT})),
    "nested": (closed({"o": closed({"x": TEXT})}, ["o"]), closed({"o": closed({"x": TEXT}, ["x"])}, ["o"])),
    "referred": (tree(NUMBER), tree(INTEGER)),
    "dependentRequired": (
        closed({"a": TEXT, "b": TEXT}),
        closed({"a": TEXT, "b": TEXT}, dependentRequired={"a": ["b"]}),
    ),
    "items": (
        closed({"a": {"type": "array", "items": NUMBER}}),
        closed({"a": {"type": "array", "items": INTEGER}}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", STRUCTURAL)
def test_another_form_is_structural(change):
    diff = compared(*STRUCTURAL[change])

    assert diff.verdict is Verdict.STRUCTURAL
    assert diff.example


def test_other_words_are_semantic():
    old = closed({"a": {**TEXT, "description": "one", "default": "x"}})
    new = closed({"a": {**TEXT, "description": "two", "default": "y", "x-own": 1}})

    diff = compared(old, new)

    assert diff.verdict is Verdict.SEMANTIC
    assert {change.verdict for change in diff.changes} == {Verdict.SEMANTIC}


def test_patterns_that_are_not_the_same_are_not_guessed_about():
    diff = compared(closed({"a": {**TEXT, "pattern": "^a"}}), closed({"a": {**TEXT, "pattern": "^a.*"}}))

    assert diff.verdict is Verdict.UNDECIDED


def test_a_new_property_in_an_open_object_breaks_only_calls_that_already_held_it():
    old, new = {"type": "object", "properties": {"a": TEXT}}, {"type": "object", "properties": {"a": TEXT, "b": TEXT}}

    assert compared(old, new).verdict is Verdict.STRUCTURAL
    assert "b" in compared(old, new).example[0]
    assert compared(old, new, declared_only=True).verdict is Verdict.COMPATIBLE


def test_a_change_that_another_makes_up_for_is_compatible():
    old = closed({"a": {**INTEGER, "maximum": 5}})
    new = closed({"a": {**INTEGER, "exclusiveMaximum": 6}})

    assert compared(old, new).verdict is Verdict.COMPATIBLE


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (Effects(read_only=True), Effects(read_only=False), Verdict.POLICY),
        (Effects(destructive=False), Effects(destructive=True), Verdict.POLICY),
        (Effects(destructive=True), Effects(destructive=False), Verdict.COMPATIBLE),
    ],
)
def test_effects_that_make_a_host_more_careful_are_a_matter_of_policy(old, new, verdict):
    assert compare_tools(Tool("t", "", {}, old), Tool("t", "", {}, new)).verdict is verdict


def test_a_broken_new_schema_breaks_every_call_and_a_broken_old_one_decides_nothing():
    good, bad = closed({"a": TEXT}), {"type": "objekt"}

    assert compared(good, bad).verdict is Verdict.STRUCTURAL
    assert compared(bad, good).verdict is Verdict.UNDECIDED


def test_tools_that_come_go_and_are_renamed_are_told_apart():
    order = closed({"order_id": TEXT})
    old = [Tool("get_order", "Reads an order.", order), Tool("ping", "Pings."), Tool("same", "Stays.")]
    new = [Tool("same", "Stays."), Tool("read_order", "Reads an order.", order), Tool("fresh", "Is new.")]

    diff = compare_toolsets(old, new)

    told = {tool.name: (tool.verdict, tool.renamed_to) for tool in diff.tools}
    assert told == {
        "get_order": (Verdict.STRUCTURAL, "read_order"),
        "ping": (Verdict.STRUCTURAL, None),
        "same": (Verdict.COMPATIBLE, None),
        "read_order": (Verdict.COMPATIBLE, None),
        "fresh": (Verdict.COMPATIBLE, None),
    }


def test_recorded_calls_are_counted_by_what_becomes_of_them():
    old = [Tool("pay", "", closed({"amount": INTEGER})), Tool("gone", "", closed({}))]
    new = [Tool("pay", "", closed({"amount": {**INTEGER, "maximum": 10}}))]
    calls = [
        RecordedCall("pay", {"amount": 5}),
        RecordedCall("pay", {"amount": 50}),
        RecordedCall("pay", {"amount": "x"}),
        RecordedCall("pay", None),
        RecordedCall("gone", {}),
        RecordedCall("never", {}),
    ]

    pay, gone, never = replay_calls(calls, old, new)

    assert (pay.valid, pay.failing, pay.invalid) == (2, 1, 2)
    assert pay.example == {"amount": 50}
    assert (gone.failing, gone.reason) == (1, "NEW has no such tool")
    assert (never.valid, never.unknown) == (0, 1)


@pytest.mark.parametrize(
    "pattern",
    ["^ORD-[0-9]{8}$", "^(a|b)c+$", "[^a-z]x?", r"^\d{4}-\d{2}$", "^[A-Z]{2,3}(?:-x)?$", r"^\w+@\w+\.org$", "", "^$"],
)
def test_a_text_is_found_for_common_patterns(pattern):
    text = pattern_example(pattern)

    assert compile_tool(Tool("t", parameters={"properties": {"v": {"pattern": pattern}}})).accepts({"v": text})
    assert text is not None


@pytest.mark.parametrize("pattern", ["(?=a)b", "[", "a{2", "a{1000}", "(", ")", "*", r"\1", "x" * 5000])
def test_a_pattern_beyond_it_gives_no_text(pattern):
    assert pattern_example(pattern) is None
