"""What each rewrite makes of a schema, by example; the laws stand in `test_rewrite_laws.py`."""

from __future__ import annotations

from typing import Any

import pytest

from lens_laws import check_restores, check_round_trip, presented
from rightcall import ModelRequest, Tool, UsageError
from rightcall.lens import Context, PresentedTool
from rightcall.schema.compiled import compile_tool
from rightcall.schema.rewrite.choice import LENSES, TRIMS, rewrites

STRING: Any = {"type": "string"}
INTEGER: Any = {"type": "integer"}


def of(properties: Any, *required: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {}), **more}


def seen(name: str, schema: Any) -> PresentedTool:
    return presented([LENSES[name]], Tool("t", parameters=schema))[0]


def sent(name: str, schema: Any, *words: str) -> Any:
    tool = Tool("t", parameters=schema)
    request = ModelRequest([{"role": "user", "content": word} for word in words], tools=(tool,))
    return TRIMS[name].trim((tool,), Context(request))[0].parameters


# -- flatten ----------------------------------------------------------------------------------------------------


def test_nested_objects_become_flat_and_come_back() -> None:
    entry = seen(
        "flatten", of({"order": of({"id": STRING, "lines": of({"count": INTEGER}, "count")}, "id")}, "order")
    )
    assert entry.tool.parameters["properties"].keys() == {"order_id", "order_lines_count"}
    assert entry.tool.parameters["required"] == ["order_id"]
    assert entry.arguments.original({"order_id": "7", "order_lines_count": 2}) == {
        "order": {"id": "7", "lines": {"count": 2}}
    }


def test_an_optional_object_stays_absent_when_none_of_its_parts_is_given() -> None:
    entry = seen("flatten", of({"a": STRING, "b": of({"c": STRING, "d": STRING})}))
    assert entry.arguments.original({"a": "x"}) == {"a": "x"}
    assert entry.arguments.original({}) == {}


def test_a_required_object_of_optional_parts_comes_back_empty() -> None:
    entry = seen("flatten", of({"b": of({"c": STRING, "d": STRING})}, "b"))
    assert entry.arguments.original({}) == {"b": {}}


def test_one_part_of_an_optional_object_needs_those_that_the_object_needs() -> None:
    entry = seen("flatten", of({"b": of({"c": STRING, "d": STRING}, "c")}))
    shown = compile_tool(entry.tool)
    assert shown.accepts({})
    assert shown.accepts({"b_c": "x"})
    assert not shown.accepts({"b_d": "x"})


def test_an_empty_object_is_not_mistaken_for_an_absent_one() -> None:
    entry = seen("flatten", of({"b": of({"c": STRING, "d": of({"e": STRING})})}))
    for arguments in ({}, {"b": {}}, {"b": {"d": {}}}, {"b": {"c": "x", "d": {}}}):
        check_round_trip(entry, arguments)


def test_names_that_collide_when_flattened_are_told_apart() -> None:
    entry = seen("flatten", of({"a": of({"b": STRING}), "a_b": INTEGER, "a_b_2": INTEGER}))
    arguments = {"a": {"b": "x"}, "a_b": 1, "a_b_2": 2}
    assert entry.arguments.shown(arguments) == {"a_b_3": "x", "a_b": 1, "a_b_2": 2}
    check_round_trip(entry, arguments)


@pytest.mark.parametrize("key", ["a.b", "a/b", "a~b", "~1", "", "0", "é"])
def test_keys_that_pointers_escape_keep_their_places(key: str) -> None:
    entry = seen("flatten", of({key: of({key: STRING}, key), "z": of({"y": INTEGER})}))
    check_round_trip(entry, {key: {key: "x"}, "z": {"y": 1}})


def test_objects_in_a_list_are_flattened_where_they_stand() -> None:
    entry = seen("flatten", of({"rows": {"type": "array", "items": of({"at": of({"x": INTEGER}), "n": INTEGER})}}))
    assert entry.arguments.original({"rows": [{"at_x": 1, "n": 2}, {"n": 3}]}) == {
        "rows": [{"at": {"x": 1}, "n": 2}, {"n": 3}]
    }
    assert entry.arguments.original_path("/rows/0/at_x") == "/rows/0/at/x"
    assert entry.arguments.shown_path("/rows/0/at/x") == "/rows/0/at_x"


def test_an_object_that_may_be_null_is_flattened_where_null_says_that_it_is_absent() -> None:
    inner = {"anyOf": [of({"c": STRING}, "c"), {"type": "null"}]}
    entry = seen("flatten", of({"b": {**inner, "default": None}, "n": {**inner}}))
    assert list(entry.tool.parameters["properties"]) == ["b_c", "n"]
    check_round_trip(entry, {"b": None})
    check_round_trip(entry, {"b": {"c": "x"}, "n": None})


@pytest.mark.parametrize(
    "inner",
    [
        of({}),
        of({"a": STRING}, additionalProperties=True),
        of({"a": STRING}, additionalProperties=INTEGER),
        of({"a": STRING}, patternProperties={"^x": STRING}),
        of({"a": STRING}, minProperties=1),
        of({"a": STRING}, "b"),
        of({"a": STRING}, allOf=[{"required": ["a"]}]),
        {"type": ["object", "null"], "properties": {"a": STRING}},
        {"anyOf": [of({"a": STRING}), of({"b": STRING})]},
    ],
)
def test_objects_that_say_more_than_their_properties_stay_nested(inner: Any) -> None:
    tool = Tool("t", parameters=of({"b": inner, "c": STRING}))
    assert presented([LENSES["flatten"]], tool)[0].tool is tool


def test_what_would_become_too_long_stays_nested() -> None:
    deep: Any = of({"x": STRING})
    for level in range(12):
        deep = of({f"level_number_{level}": deep})
    entry = seen("flatten", deep)
    assert all(len(name) <= 64 for name in entry.tool.parameters["properties"])
    wide = of({"b": of({f"p{n}": STRING for n in range(60)})})
    assert seen("flatten", wide).tool.parameters is wide


def test_descriptions_of_what_was_nested_are_kept() -> None:
    passenger = of({"name": {**STRING, "description": "Full name"}, "age": INTEGER}, description="Who flies.")
    shown = seen("flatten", of({"passenger": passenger})).tool.parameters["properties"]
    assert shown["passenger_name"]["description"] == "passenger: Who flies. Full name"


def test_draft_07_says_in_its_own_words_what_goes_together() -> None:
    schema = of({"b": of({"c": STRING, "d": STRING}, "c")}, **{"$schema": "http://json-schema.org/draft-07/schema#"})
    assert not compile_tool(seen("flatten", schema).tool).accepts({"b_d": "x"})


# -- inline -----------------------------------------------------------------------------------------------------

LEAF = {"type": "string", "enum": ["p", "q"]}


def test_references_are_written_out_with_what_stands_beside_them() -> None:
    schema = of({"a": {"$ref": "#/$defs/leaf", "description": "Which."}}, **{"$defs": {"leaf": LEAF}})
    assert seen("inline", schema).tool.parameters == of({"a": {**LEAF, "description": "Which."}})


def test_recursive_references_are_left_alone() -> None:
    tree = of({"children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}})
    schema = of(
        {"a": {"$ref": "#/$defs/tree"}, "b": {"$ref": "#/$defs/leaf"}}, **{"$defs": {"tree": tree, "leaf": LEAF}}
    )
    shown = seen("inline", schema).tool.parameters
    assert shown["properties"] == {"a": {"$ref": "#/$defs/tree"}, "b": LEAF}
    assert "tree" in shown["$defs"]


def test_references_that_would_write_out_too_much_are_kept() -> None:
    doubling = {
        f"d{n}": of({"l": {"$ref": f"#/$defs/d{n + 1}"}, "r": {"$ref": f"#/$defs/d{n + 1}"}}) for n in range(30)
    }
    schema = of({"a": {"$ref": "#/$defs/d0"}}, **{"$defs": {**doubling, "d30": STRING}})
    assert seen("inline", schema).tool.parameters is schema


def test_a_long_chain_of_references_is_kept() -> None:
    chain = {f"d{n}": of({"next": {"$ref": f"#/$defs/d{n + 1}"}}) for n in range(500)}
    schema = of({"a": {"$ref": "#/$defs/d0"}}, **{"$defs": {**chain, "d500": STRING}})
    assert seen("inline", schema).tool.parameters is schema


def test_a_property_that_is_called_like_a_keyword_is_no_reference() -> None:
    schema = of({"$ref": STRING, "default": {"type": "object", "default": {"$ref": "#/nowhere"}}})
    assert seen("inline", schema).tool.parameters is schema


def test_a_reference_with_a_rule_beside_it_is_kept() -> None:
    schema = of({"a": {"$ref": "#/$defs/leaf", "maxLength": 1}}, **{"$defs": {"leaf": LEAF}})
    assert seen("inline", schema).tool.parameters["properties"] == schema["properties"]


# -- units ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "description", "shown"),
    [
        ("amount", "The amount in pence", "amount_pence"),
        ("timeout", "Timeout (ms).", "timeout_milliseconds"),
        ("maxWait", "How long to wait, in seconds.", "maxWaitSeconds"),
        ("duration_seconds", "In seconds", "duration_seconds"),
        ("timeout_ms", "In milliseconds", "timeout_ms"),
        ("count", "How many", "count"),
        ("length", "Length in metres or in feet", "length"),
        ("size", "in bytes (1 megabytes at most)", "size"),
        ("days", "Days in hours", "days"),
    ],
)
def test_a_unit_goes_into_the_name_where_the_schema_says_it_and_only_one(
    name: str, description: str, shown: str
) -> None:
    entry = seen("units", of({name: {"type": "number", "description": description}}))
    assert list(entry.tool.parameters["properties"]) == [shown]
    assert entry.arguments.original({shown: 12.5}) == {name: 12.5}


def test_text_is_given_no_unit_and_a_taken_name_is_not_taken_again() -> None:
    told = {"description": "in pence"}
    entry = seen("units", of({"note": {**STRING, **told}, "a": {**INTEGER, **told}, "a_pence": INTEGER}))
    assert list(entry.tool.parameters["properties"]) == ["note", "a", "a_pence"]


# -- unions: only what is sent ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("union", "plain"),
    [
        ({"anyOf": [STRING]}, STRING),
        ({"anyOf": [STRING, {"type": "null"}], "default": None, "title": "A"}, {"type": "string", "title": "A"}),
        ({"type": ["string", "null"], "default": None}, STRING),
        ({"anyOf": [STRING, INTEGER]}, {"type": ["string", "integer"]}),
        ({"anyOf": [INTEGER, {"type": "number"}]}, {"type": "number"}),
        (
            {"oneOf": [{"const": "x", "title": "Ex"}, {"const": "y"}]},
            {"type": "string", "enum": ["x", "y"], "description": '"x": Ex'},
        ),
        ({"anyOf": [of({"a": STRING}), {"type": "null"}], "default": None}, of({"a": STRING})),
    ],
)  # fmt: skip
def test_unions_are_sent_as_one_form_where_that_says_the_same_or_more(union: Any, plain: Any) -> None:
    assert sent("unions", of({"a": union}))["properties"] == {"a": plain}


def test_null_stays_among_the_forms_where_leaving_out_does_not_say_the_same() -> None:
    assert sent("unions", of({"a": {"anyOf": [STRING, {"type": "null"}]}}, "a"))["properties"]["a"] == {
        "type": ["string", "null"]
    }


def test_objects_told_apart_by_a_tag_are_sent_as_one_object() -> None:
    circle = of({"kind": {"const": "circle"}, "radius": INTEGER, "name": STRING}, "kind", "radius")
    square = of({"kind": {"const": "square"}, "side": INTEGER, "name": STRING}, "kind", "side")
    shape = sent("unions", of({"shape": {"oneOf": [circle, square]}}, "shape"))["properties"]["shape"]
    assert shape["properties"]["kind"] == {"enum": ["circle", "square"], "type": "string"}
    assert shape["required"] == ["kind"]
    assert shape["properties"]["radius"]["description"] == 'Only with kind "circle".'
    assert "description" not in shape["properties"]["name"]


@pytest.mark.parametrize(
    "union",
    [
        {"anyOf": [of({"a": STRING}), of({"b": STRING})]},
        {"anyOf": [{**STRING, "maxLength": 3}, {**INTEGER, "minimum": 1}]},
        {"anyOf": [STRING, INTEGER], "type": "string"},
        {"oneOf": [of({"k": {"const": 1}, "v": STRING}, "k"), of({"k": {"const": 2}, "v": INTEGER}, "k")]},
    ],
)
def test_unions_whose_forms_are_too_different_stay(union: Any) -> None:
    schema = of({"a": union})
    assert sent("unions", schema) is schema


# -- defaults and rarely needed arguments: only what is sent ----------------------------------------------------


def test_a_default_is_said_in_words_and_never_filled_in() -> None:
    schema = of({"unit": {"enum": ["c", "f"], "default": "c", "description": "Of heat"}, "n": {"default": 3}}, "n")
    own = sent("defaults", schema)["properties"]
    assert own["unit"]["description"] == 'Of heat. Default: "c".'
    assert own["n"] == {"default": 3}


MANY = of(
    {
        "to": STRING,
        "subject": STRING,
        "body": STRING,
        "cc": STRING,
        "bcc": STRING,
        "priority": {"enum": ["low", "urgent"], "default": "low"},
        "trace_level": {**INTEGER, "description": "For debugging"},
        "headers": {**STRING, "deprecated": True, "default": "x"},
    },
    "to",
    "headers",
)


def test_rarely_needed_optionals_are_not_sent_and_required_ones_always_are() -> None:
    assert list(sent("hide", MANY, "Write to Ann.")["properties"]) == [
        "to",
        "subject",
        "body",
        "cc",
        "bcc",
        "headers",
    ]


def test_an_argument_comes_back_when_its_name_or_a_value_of_it_is_mentioned() -> None:
    assert "priority" in sent("hide", MANY, "Write to Ann, it is urgent!")["properties"]
    assert "trace_level" in sent("hide", MANY, "Set the trace to 3")["properties"]


def test_a_tool_with_few_arguments_keeps_them_all() -> None:
    schema = of({"a": {**STRING, "default": "x"}})
    assert sent("hide", schema, "hello") is schema


# -- engines: only what is sent ---------------------------------------------------------------------------------


def downlevelled(engine: str, schema: Any) -> Any:
    tool = Tool("t", parameters=schema)
    (trim,) = rewrites(f"downlevel={engine}").trims
    return trim.trim((tool,), Context(ModelRequest([], tools=(tool,))))[0].parameters


def test_what_an_engine_does_not_take_is_said_in_words() -> None:
    schema = of(
        {
            "id": {**STRING, "pattern": "^ORD-", "description": "The order"},
            "kind": {"const": "sale"},
            "n": {**INTEGER, "minimum": 1, "description": "How many?"},
            "tags": {"type": "array", "items": STRING, "uniqueItems": True},
        },
        additionalProperties=False,
    )
    assert downlevelled("ollama", schema) == of(
        {
            "id": {**STRING, "description": "The order. Must match ^ORD-."},
            "kind": {"enum": ["sale"]},
            "n": {**INTEGER, "description": "How many? At least 1."},
            "tags": {"type": "array", "items": STRING, "description": "No item twice."},
        }
    )
    assert schema["properties"]["n"]["minimum"] == 1


def test_a_union_is_written_in_the_word_that_the_engine_knows() -> None:
    union = [{**STRING, "maxLength": 3}, INTEGER]
    assert downlevelled("openai_strict", of({"a": {"oneOf": union}}))["properties"]["a"] == {"anyOf": union}


def test_what_an_engine_takes_stays_as_it_is_and_an_unknown_engine_is_refused() -> None:
    schema = of({"a": STRING}, "a")
    assert downlevelled("llama_cpp", schema) is schema
    with pytest.raises(UsageError, match="downlevel=nonesuch names no engine that is known; known: llama_cpp"):
        rewrites("downlevel=nonesuch")


@pytest.mark.parametrize("engine", ["llama_cpp", "ollama", "vllm", "gemini"])
def test_arguments_that_are_called_like_keywords_survive_every_engine(engine: str) -> None:
    names = ("pattern", "const", "minimum", "if", "not", "description", "type", "enum", "oneOf")
    schema = of({name: {**STRING, "minLength": 1} for name in names}, *names)
    assert list(downlevelled(engine, schema)["properties"]) == list(names)


# -- choosing ---------------------------------------------------------------------------------------------------


def test_auto_none_and_lists_choose_rewrites_in_a_fixed_order() -> None:
    assert not rewrites("none")
    assert not rewrites("")
    assert rewrites("auto").lenses == (LENSES["inline"], LENSES["flatten"])
    assert rewrites(" units, flatten").lenses == (LENSES["flatten"], LENSES["units"])
    assert rewrites("auto,units,hide").trims == (TRIMS["unions"], TRIMS["hide"])


def test_an_unknown_rewrite_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"'flaten' is no rewrite; allowed: auto, none, or some of inline, flatten"):
        rewrites("flaten")


def test_rewrites_work_one_on_what_the_other_made() -> None:
    money = of({"value": {**INTEGER, "description": "in pence"}, "currency": LEAF}, "value")
    schema = of({"price": {"$ref": "#/$defs/money"}}, "price", **{"$defs": {"money": money}})
    entry = presented(rewrites("inline,flatten,units").lenses, Tool("t", parameters=schema))[0]
    assert list(entry.tool.parameters["properties"]) == ["price_value_pence", "price_currency"]
    check_restores(entry, {"price_value_pence": 12})
    check_round_trip(entry, {"price": {"value": 12, "currency": "p"}})
    assert entry.arguments.original_path("/price_value_pence") == "/price/value"
