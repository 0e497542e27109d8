"""Arguments fitted to the declared schema: by what is declared, never by how a value looks."""

import json

import pytest

from rightcall import Grade, ProblemKind, parse
from rightcall.parsing.coerce import CoercionPolicy, coerce

INTEGER, NUMBER, STRING, BOOLEAN = ({"type": name} for name in ("integer", "number", "string", "boolean"))
OBJECT, ARRAY = {"type": "object"}, {"type": "array"}
NULLABLE_INTEGER = {"anyOf": [INTEGER, {"type": "null"}]}
UNITS = {"type": "string", "enum": ["celsius", "fahrenheit"]}


def schema_of(own, *, required=True, **more):
    needed = {"required": ["v"]} if required else {}
    return {"type": "object", "properties": {"v": own}, **needed, **more}


def read(arguments, parameters):
    call = {"id": "c1", "function": {"name": "act", "arguments": arguments}}
    return parse({"tool_calls": [call]}, [{"name": "act", "parameters": parameters}])


def fitted(value, own, **more):
    """The value that a call of a tool with the one parameter `v` ends with, and the notes."""
    reading = read({"v": value}, schema_of(own, **more))
    assert reading.problems == ()
    (call,) = reading.calls
    return call.arguments["v"], call.notes


def refused(value, own, **more):
    reading = read({"v": value}, schema_of(own, **more))
    assert reading.calls == ()
    assert reading.problems
    return reading.problems


# -- scalars ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "own", "value"),
    [
        ("12", INTEGER, 12),
        ("-12", INTEGER, -12),
        (" 12 ", INTEGER, 12),
        ("12.0", INTEGER, 12),
        ("1,250", INTEGER, 1250),
        ("12,345,678", INTEGER, 12345678),
        ("123456789012345678901234567890", INTEGER, 123456789012345678901234567890),
        ("12", NUMBER, 12),
        ("12.5", NUMBER, 12.5),
        ("-1e3", NUMBER, -1000.0),
        ("true", BOOLEAN, True),
        ("False", BOOLEAN, False),
        (" TRUE ", BOOLEAN, True),
        (1, BOOLEAN, True),
        (0, BOOLEAN, False),
        (12, STRING, "12"),
        (-3, STRING, "-3"),
        ("null", NULLABLE_INTEGER, None),
        ("None", NULLABLE_INTEGER, None),
        ("12", NULLABLE_INTEGER, 12),
        ("12", {"type": ["integer", "null"]}, 12),
        ('{"a": 1}', OBJECT, {"a": 1}),
        ("{'a': True,}", OBJECT, {"a": True}),
        ("[1, 2]", ARRAY, [1, 2]),
        ('["1", "2"]', {"type": "array", "items": INTEGER}, [1, 2]),
    ],
)
def test_the_declared_type_decides_and_the_note_says_so(written, own, value):
    found, notes = fitted(written, own)

    assert repr(found) == repr(value)
    first = notes[0]
    assert (first.kind, first.grade, first.path, first.before, first.tool) == (
        "type",
        Grade.TYPED,
        "/v",
        written,
        "act",
    )


@pytest.mark.parametrize(
    ("value", "own"),
    [
        ("02134", STRING),
        ("12", STRING),
        ("true", STRING),
        ("null", STRING),
        ('{"a": 1}', STRING),
        ("[1, 2]", STRING),
        ("", STRING),
        ("  padded  ", STRING),
        (12, INTEGER),
        (12.0, INTEGER),
        (12, NUMBER),
        (1e20, NUMBER),
        (True, BOOLEAN),
        (None, NULLABLE_INTEGER),
        ("12", {"type": ["integer", "string"]}),
        ("12", {"anyOf": [INTEGER, STRING]}),
        (12, {"anyOf": [INTEGER, STRING]}),
        ("12", {}),
        (1, {}),
        ("true", {"description": "anything"}),
        ({"a": "1"}, OBJECT),
        (["1"], ARRAY),
        ("celsius", UNITS),
        ("1", {"enum": ["1", 1]}),
        (1, {"enum": ["1", 1]}),
        ("Celsius", {"type": "string"}),
    ],
)
def test_what_the_schema_accepts_is_left_alone(value, own):
    found, notes = fitted(value, own)

    assert (repr(found), notes) == (repr(value), ())


@pytest.mark.parametrize(
    ("value", "own"),
    [
        (True, INTEGER),
        (True, NUMBER),
        (True, STRING),
        (False, STRING),
        (2, BOOLEAN),
        (1.0, BOOLEAN),
        (-1, BOOLEAN),
        ("1", BOOLEAN),
        ("0", BOOLEAN),
        ("yes", BOOLEAN),
        ("on", BOOLEAN),
        ("", BOOLEAN),
        ("12.5", INTEGER),
        (12.5, INTEGER),
        (12.5, STRING),
        ("1e3", INTEGER),
        ("0x10", INTEGER),
        ("twelve", INTEGER),
        ("12 items", INTEGER),
        ("$12", INTEGER),
        ("12%", NUMBER),
        ("1,5", NUMBER),
        ("1,250", NUMBER),
        ("1,25", INTEGER),
        ("1 250", INTEGER),
        ("1_250", INTEGER),
        ("", INTEGER),
        ("nan", NUMBER),
        ("inf", NUMBER),
        ("1e999", NUMBER),
        (None, INTEGER),
        (None, STRING),
        ("null", INTEGER),
        (["12"], INTEGER),
        ([12], INTEGER),
        ({"value": 12}, INTEGER),
        ("a, b", ARRAY),
        ("a", ARRAY),
        (12, ARRAY),
        ({}, ARRAY),
        ([], OBJECT),
        ("a: 1", OBJECT),
        ("[1, 2]", OBJECT),
        ('{"a": 1}', ARRAY),
        ('{"a": 1', OBJECT),
        ({"a": 1}, STRING),
        (["a"], STRING),
        ("9" * 401, INTEGER),
    ],
)
def test_what_has_no_whole_and_exact_reading_is_refused_not_guessed(value, own):
    problems = refused(value, own)

    assert {problem.path for problem in problems} == {"/v"}


def test_a_missing_value_is_never_filled_in():
    own = {"type": "string", "default": "Oslo", "const": "Oslo"}

    reading = read({}, schema_of(own))

    assert reading.calls == ()
    assert [(p.kind, p.path) for p in reading.problems] == [(ProblemKind.MISSING_REQUIRED, "/v")]


def test_a_default_is_not_added_to_an_optional_argument():
    reading = read({}, schema_of({"type": "string", "default": "Oslo"}, required=False))

    assert reading.calls[0].arguments == {}


# -- where the type is declared ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "own", "value", "path"),
    [
        ("3", {"$ref": "#/$defs/count"}, 3, "/v"),
        ("3", {"$ref": "#/$defs/alias"}, 3, "/v"),
        ("3", {"$ref": "#/definitions/count"}, 3, "/v"),
        ("3", {"$ref": "#/properties/other"}, 3, "/v"),
        ("3", {"$ref": "#/$defs/odd~1name%20x"}, 3, "/v"),
        ("3", {"$ref": "#/$defs/any", "type": "integer"}, 3, "/v"),
        ("3", {"anyOf": [INTEGER, {"type": "null"}]}, 3, "/v"),
        ("3", {"oneOf": [{"$ref": "#/$defs/count"}, {"type": "boolean"}]}, 3, "/v"),
        ("3", {"anyOf": [{"anyOf": [INTEGER, {"type": "null"}]}, {"type": "array"}]}, 3, "/v"),
        ("3", {"allOf": [INTEGER]}, 3, "/v"),
        ("3", {"allOf": [{"$ref": "#/$defs/count"}, {"minimum": 1}]}, 3, "/v"),
        ("3", {"enum": [1, 2, 3]}, 3, "/v"),
        ("3", {"const": 3}, 3, "/v"),
        (["3"], {"type": "array", "items": INTEGER}, [3], "/v/0"),
        (["a", "3"], {"type": "array", "prefixItems": [STRING, INTEGER]}, ["a", 3], "/v/1"),
        (["a", "3"], {"type": "array", "prefixItems": [STRING], "items": INTEGER}, ["a", 3], "/v/1"),
        ({"n": "3"}, {"type": "object", "properties": {"n": INTEGER}}, {"n": 3}, "/v/n"),
        ({"n": "3"}, {"type": "object", "additionalProperties": INTEGER}, {"n": 3}, "/v/n"),
        ({"a/b~c": "3"}, {"type": "object", "properties": {"a/b~c": INTEGER}}, {"a/b~c": 3}, "/v/a~1b~0c"),
        ({"n": "3"}, {"allOf": [{"type": "object", "properties": {"n": INTEGER}}]}, {"n": 3}, "/v/n"),
        ({"n": "3"}, {"properties": {"n": INTEGER}}, {"n": 3}, "/v/n"),
        (
            {"next": {"next": {"n": "3"}}},
            {"$ref": "#/$defs/chain"},
            {"next": {"next": {"n": 3}}},
            "/v/next/next/n",
        ),
        ([{"n": ["3"]}], {"type": "array", "items": {"$ref": "#/$defs/row"}}, [{"n": [3]}], "/v/0/n/0"),
    ],
)
def test_the_type_is_found_where_it_is_declared(written, own, value, path):
    parameters = schema_of(
        own,
        **{
            "$defs": {
                "count": INTEGER,
                "alias": {"$ref": "#/$defs/count"},
                "odd/name x": INTEGER,
                "any": {},
                "chain": {"type": "object", "properties": {"n": INTEGER, "next": {"$ref": "#/$defs/chain"}}},
                "row": {"type": "object", "properties": {"n": {"type": "array", "items": {"$ref": "#/$defs/count"}}}},
            },
            "definitions": {"count": INTEGER},
        },
    )
    parameters["properties"]["other"] = INTEGER

    reading = read({"v": written}, parameters)

    (call,) = reading.calls
    assert repr(call.arguments["v"]) == repr(value)
    assert [(note.grade, note.path) for note in call.notes] == [(Grade.TYPED, path)]


@pytest.mark.parametrize(
    ("written", "own"),
    [
        ({"n": "3"}, OBJECT),
        ({"m": "3"}, {"type": "object", "properties": {"n": INTEGER}}),
        ({"m": "3"}, {"type": "object", "additionalProperties": True}),
        (["3"], {"type": "array"}),
        (["a", "3"], {"type": "array", "prefixItems": [STRING]}),
        ("3", {"not": {"type": "null"}}),
        ("3", {"$comment": "integer"}),
    ],
)
def test_what_no_schema_describes_stays_as_it_is(written, own):
    assert fitted(written, own) == (written, ())


# -- unions -----------------------------------------------------------------------------------------------------

CIRCLE = {
    "type": "object",
    "properties": {"kind": {"const": "circle"}, "size": INTEGER},
    "required": ["kind", "size"],
}
LABEL = {"type": "object", "properties": {"kind": {"const": "label"}, "size": STRING}, "required": ["kind", "size"]}


@pytest.mark.parametrize("word", ["anyOf", "oneOf"])
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ({"kind": "circle", "size": "3"}, {"kind": "circle", "size": 3}),
        ({"kind": "label", "size": 3}, {"kind": "label", "size": "3"}),
    ],
)
def test_a_fixed_property_picks_the_branch_of_a_union(word, written, value):
    found, notes = fitted(written, {word: [CIRCLE, LABEL]})

    assert found == value
    assert [note.path for note in notes] == ["/v/size"]


@pytest.mark.parametrize(
    ("written", "alternatives"),
    [
        ("1", [INTEGER, BOOLEAN, {"type": "null"}]),
        ("7", [INTEGER, {"type": "array"}]),
    ],
)
def test_the_only_branch_that_fits_decides(written, alternatives):
    assert fitted(written, {"anyOf": alternatives})[0] == int(written)


@pytest.mark.parametrize(
    ("written", "alternatives"),
    [
        (1, [STRING, BOOLEAN]),
        (0, [STRING, BOOLEAN]),
        (True, [STRING, INTEGER]),
        ("x", [INTEGER, BOOLEAN]),
    ],
)
def test_where_two_branches_fit_or_none_nothing_is_changed(written, alternatives):
    assert refused(written, {"anyOf": alternatives})


def test_a_list_of_types_decides_no_more_than_a_union_of_them():
    assert refused(1, {"type": ["string", "boolean"]})


# -- enums ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "members", "value"),
    [
        ("Celsius", ["celsius", "fahrenheit"], "celsius"),
        ("CELSIUS ", ["celsius", "fahrenheit"], "celsius"),
        ('"celsius"', ["celsius", "fahrenheit"], "celsius"),
        ("in progress", ["IN_PROGRESS", "DONE"], "IN_PROGRESS"),
        ("in-progress", ["in_progress", "done"], "in_progress"),
        ("inProgress", ["in_progress", "done"], "in_progress"),
        ("business", ["Business", "Economy"], "Business"),
        ("metres", ["metre", "foot"], "metre"),
        ("kilometre", ["kilometres", "miles"], "kilometres"),
        ("completed", ["complete", "open"], "complete"),
        ("celsius", ["Celsius", "Kelvin", 1, None], "Celsius"),
    ],
)
def test_another_spelling_of_one_member_is_inferred(written, members, value):
    found, notes = fitted(written, {"enum": members})

    assert found == value
    assert [(n.kind, n.grade, n.path, n.before, n.after) for n in notes] == [
        ("enum", Grade.INFERRED, "/v", written, value)
    ]


@pytest.mark.parametrize(
    ("written", "members"),
    [
        ("hostel", ["hotel", "flat"]),
        ("hotel", ["hostel", "flat"]),
        ("disable", ["enable"]),
        ("enable", ["disable", "delete"]),
        ("inactive", ["active", "archived"]),
        ("active", ["inactive", "archived"]),
        ("unlocked", ["locked"]),
        ("incomplete", ["complete"]),
        ("asc", ["desc"]),
        ("debit", ["credit"]),
        ("increase", ["decrease"]),
        ("export", ["import"]),
        ("male", ["female"]),
        ("encrypt", ["decrypt"]),
        ("GBP_STERLING", ["GBP", "EUR"]),
        ("USD", ["AUD", "CAD"]),
        ("monday", ["sunday"]),
        ("v1", ["v2", "v3"]),
        ("v11", ["v1", "v2"]),
        ("t2.large", ["t3.large"]),
        ("2023", ["2024"]),
        ("temperature", ["temperate"]),
        ("not_urgent", ["urgent"]),
        ("+1", ["-1"]),
        ("a-", ["a+", "b+"]),
        ("", ["on", "off"]),
        ("-", ["on", "off"]),
        ("none", ["off", "on"]),
        ("celsius or fahrenheit", ["celsius", "fahrenheit"]),
        ("cels", ["celsius", "fahrenheit"]),
        ("In Progress", ["in_progress", "in-progress"]),
        ("PaId", ["paid", "PAID"]),
    ],
)
def test_another_word_is_never_taken_for_a_member(written, members):
    (problem,) = refused(written, {"enum": members})

    assert (problem.kind, problem.path, problem.got) == (ProblemKind.NOT_IN_ENUM, "/v", written)


@pytest.mark.parametrize(
    ("written", "members"),
    [
        ("-1", ["1", "2"]),
        ("5", ["-5", "0"]),
        ("1.5", ["15", "20"]),
        ("15", ["1.5", "2.0"]),
        ("v1.1", ["v11", "v2"]),
        ("1:30", ["130", "200"]),
        ("1-2", ["12", "34"]),
    ],
)
def test_what_stands_between_digits_or_before_them_is_no_separator(written, members):
    assert refused(written, {"type": "string", "enum": members})


@pytest.mark.parametrize(
    ("written", "own", "value"),
    [
        ("3", {"enum": [1, 2, 3]}, 3),
        ("3", {"type": "integer", "enum": [1, 2, 3]}, 3),
        (3, {"enum": ["1", "2", "3"]}, "3"),
        (3, {"type": "string", "enum": ["1", "2", "3"]}, "3"),
        (True, {"enum": ["true", "false"]}, "true"),
        ("true", {"enum": [True]}, True),
    ],
)
def test_a_member_written_in_another_type_is_found(written, own, value):
    assert repr(fitted(written, own)[0]) == repr(value)


@pytest.mark.parametrize(
    ("written", "own"), [(True, {"enum": [1, 2]}), (True, {"enum": ["1", 0]}), (4, {"enum": ["1", "2"]})]
)
def test_true_and_one_are_different_members(written, own):
    assert refused(written, own)


def test_the_cutoff_and_the_margin_of_the_policy_hold():
    schema = {"enum": ["metres", "feet"]}

    assert coerce("metre", schema, CoercionPolicy(enum_cutoff=0.85))[0] == "metres"
    assert coerce("metre", schema, CoercionPolicy(enum_cutoff=0.99)) == ("metre", ())
    assert coerce("metre", {"enum": ["metres", "metred"]}, CoercionPolicy(enum_margin=0.1)) == ("metre", ())


def test_no_cutoff_lets_another_word_through():
    for written, member in [("disable", "enable"), ("hostel", "hotel"), ("inactive", "active"), ("x", "y")]:
        assert coerce(written, {"enum": [member]}, CoercionPolicy(enum_cutoff=0.0, enum_margin=0.0)) == (written, ())


# -- objects: nulls, keys, wrappers -----------------------------------------------------------------------------


def test_null_for_an_optional_argument_that_takes_none_is_left_out():
    reading = read({"v": None, "w": 1}, {"type": "object", "properties": {"v": STRING, "w": INTEGER}})

    (call,) = reading.calls
    assert call.arguments == {"w": 1}
    assert [(n.kind, n.grade, n.path) for n in call.notes] == [("null_optional", Grade.TYPED, "/v")]


@pytest.mark.parametrize("own", [NULLABLE_INTEGER, {"type": ["string", "null"]}, {}, {"enum": ["a", None]}])
def test_null_stays_where_it_is_allowed(own):
    assert fitted(None, own, required=False) == (None, ())


def test_null_for_a_required_argument_is_refused():
    (problem,) = refused(None, STRING)

    assert (problem.kind, problem.path) == (ProblemKind.WRONG_TYPE, "/v")


@pytest.mark.parametrize("written", ["startDate", "StartDate", "start-date", "START_DATE", "start date"])
def test_a_key_spelled_otherwise_gets_its_declared_name(written):
    parameters = {"type": "object", "properties": {"start_date": STRING}, "required": ["start_date"]}

    (call,) = read({written: "2026-01-05"}, parameters).calls

    assert call.arguments == {"start_date": "2026-01-05"}
    assert [(n.kind, n.grade, n.path, n.before, n.after) for n in call.notes] == [
        ("key_spelling", Grade.INFERRED, "/start_date", written, "start_date")
    ]


@pytest.mark.parametrize(
    ("arguments", "declared"),
    [
        ({"startDate": "a", "start_date": "b"}, ["start_date"]),
        ({"startDate": "a", "start-date": "b"}, ["start_date", "other"]),
        ({"startDate": "a"}, ["start_date", "start-date"]),
        ({"start": "a"}, ["start_date"]),
        ({"start_dat": "a"}, ["start_date"]),
        ({"date_start": "a"}, ["start_date"]),
    ],
)
def test_a_key_that_may_mean_several_or_another_is_not_renamed(arguments, declared):
    parameters = {
        "type": "object",
        "properties": dict.fromkeys(declared, STRING),
        "additionalProperties": False,
    }

    reading = read(arguments, parameters)

    assert reading.calls == ()
    assert {problem.kind for problem in reading.problems} == {ProblemKind.EXTRA_ARGUMENT}


def test_no_value_is_lost_where_keys_are_renamed():
    parameters = {"type": "object", "properties": {"a_b": STRING, "c_d": STRING}}

    (call,) = read({"aB": "1", "cD": "2", "x": "3"}, parameters).calls

    assert call.arguments == {"a_b": "1", "c_d": "2", "x": "3"}


@pytest.mark.parametrize(
    "key", ["arguments", "parameters", "args", "input", "params", "kwargs", "properties", "arguments_json"]
)
def test_a_wrapper_around_the_arguments_is_taken_off(key):
    (call,) = read({key: {"v": "a"}}, schema_of(STRING)).calls

    assert call.arguments == {"v": "a"}
    assert [(n.kind, n.grade) for n in call.notes] == [("wrapper", Grade.TYPED)]


@pytest.mark.parametrize(
    ("arguments", "parameters"),
    [
        ({"input": {"v": "a"}}, {"type": "object", "properties": {"input": OBJECT, "v": STRING}}),
        ({"data": {"v": "a"}}, {"type": "object", "properties": {"v": STRING}}),
        ({"input": {"w": "a"}}, {"type": "object", "properties": {"v": STRING}}),
        ({"input": "a"}, {"type": "object", "properties": {"v": STRING}}),
        ({"input": {"v": "a"}, "w": 1}, {"type": "object", "properties": {"v": STRING}}),
    ],
)
def test_what_is_no_certain_wrapper_stays(arguments, parameters):
    (call,) = read(arguments, parameters).calls

    assert (call.arguments, call.notes) == (arguments, ())


def test_an_object_in_a_list_of_one_is_taken_out():
    (call,) = read([{"v": "a"}], schema_of(STRING)).calls

    assert call.arguments == {"v": "a"}
    assert [(n.kind, n.grade) for n in call.notes] == [("list_of_one", Grade.LOSSLESS)]


@pytest.mark.parametrize("arguments", [[{"v": "a"}, {"v": "b"}], '[{"v": "a"}, {"v": "b"}]'])
def test_a_list_of_several_objects_is_ambiguous(arguments):
    reading = read(arguments, schema_of(STRING))

    assert reading.calls == ()
    assert [problem.kind for problem in reading.problems] == [ProblemKind.AMBIGUOUS]


@pytest.mark.parametrize("arguments", ["12", "true", '"Oslo"', "[1]", 12, True, "[[1]]"])
def test_arguments_that_are_no_object_are_of_the_wrong_type(arguments):
    reading = read(arguments, schema_of(STRING))

    assert reading.calls == ()
    assert [problem.kind for problem in reading.problems] == [ProblemKind.WRONG_TYPE]


@pytest.mark.parametrize("arguments", [None, "", "  ", "{}", {}, "null", "None", "[]", []])
def test_no_arguments_at_all_are_an_empty_object(arguments):
    (call,) = read(arguments, {"type": "object", "properties": {}}).calls

    assert call.arguments == {}


def test_values_inside_a_repeated_schema_are_taken_out():
    echo = {"type": "object", "properties": {"v": "a"}, "required": ["v"]}

    (call,) = read(echo, schema_of(STRING)).calls

    assert call.arguments == {"v": "a"}
    assert [(n.kind, n.grade) for n in call.notes] == [("schema_echo", Grade.TYPED)]


def test_a_repeated_schema_without_values_is_no_call():
    echo = {"type": "object", "properties": {"v": {"type": "string"}}, "required": ["v"]}

    reading = read(echo, schema_of(STRING))

    assert reading.calls == ()
    assert [problem.kind for problem in reading.problems] == [ProblemKind.WRONG_TYPE]


def test_an_argument_that_is_really_called_properties_stays():
    parameters = {"type": "object", "properties": {"type": STRING, "properties": OBJECT}}
    arguments = {"type": "object", "properties": {"v": "a"}}

    (call,) = read(arguments, parameters).calls

    assert (call.arguments, call.notes) == (arguments, ())


# -- notes ------------------------------------------------------------------------------------------------------


def test_the_notes_of_a_call_name_each_change_with_its_grade_in_order():
    parameters = {
        "type": "object",
        "properties": {"cityName": STRING, "days": INTEGER, "units": UNITS, "note": STRING},
        "required": ["cityName", "days"],
    }

    (call,) = read("{'city_name': 'Oslo', 'days': '3', 'units': 'Celsius', 'note': null}", parameters).calls

    assert call.arguments == {"cityName": "Oslo", "days": 3, "units": "celsius"}
    assert {(note.kind, note.grade, note.path) for note in call.notes} == {
        ("quotes", Grade.LOSSLESS, ""),
        ("key_spelling", Grade.INFERRED, "/cityName"),
        ("type", Grade.TYPED, "/days"),
        ("enum", Grade.INFERRED, "/units"),
        ("null_optional", Grade.TYPED, "/note"),
    }


def test_fitting_changes_neither_the_reply_nor_the_schema():
    arguments = {"v": ["1", {"n": "2"}], "note": None}
    parameters = {
        "type": "object",
        "properties": {"v": {"type": "array", "items": {"anyOf": [INTEGER, {"properties": {"n": INTEGER}}]}}},
    }
    before = json.dumps([arguments, parameters])

    read(arguments, parameters)

    assert json.dumps([arguments, parameters]) == before


@pytest.mark.parametrize(
    "arguments",
    [{"item_id": "1", "itemId": "2"}, {"itemId": "1", "item-id": "2"}, {"item_id": 1, "ITEM_ID": True}],
)
def test_one_argument_in_two_spellings_with_two_values_is_ambiguous_where_more_is_allowed(arguments):
    tool = {"name": "t", "parameters": {"type": "object", "properties": {"item_id": {}}}}

    reading = parse({"tool_calls": [{"function": {"name": "t", "arguments": arguments}}]}, [tool])

    assert (reading.calls, [problem.kind for problem in reading.problems]) == ((), [ProblemKind.AMBIGUOUS])


def test_further_arguments_that_are_no_spelling_of_a_declared_one_stay():
    tool = {"name": "t", "parameters": {"type": "object", "properties": {"item_id": {}}}}
    arguments = {"item_id": "1", "item": "2", "id": "3"}

    reading = parse({"tool_calls": [{"function": {"name": "t", "arguments": arguments}}]}, [tool])

    assert reading.calls[0].arguments == arguments
