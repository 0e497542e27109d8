"""Messages of refused arguments: where, what was got, what is allowed; exact, because models act on them."""

import pytest

from rightcall import Family, ProblemKind, parse
from rightcall.validation.structure import MAX_PROBLEMS, display_path

INTEGER, STRING = {"type": "integer"}, {"type": "string"}


def problems_of(arguments, properties, **more):
    parameters = {"type": "object", "properties": properties, **more}
    call = {"id": "c1", "function": {"name": "book", "arguments": arguments}}
    reading = parse({"tool_calls": [call]}, [{"name": "book", "parameters": parameters}])
    assert reading.calls == ()
    return reading.problems


def the_problem(arguments, properties, **more):
    (problem,) = problems_of(arguments, properties, **more)
    return problem


@pytest.mark.parametrize(
    ("arguments", "properties", "more", "kind", "path", "message"),
    [
        (
            {},
            {"city": STRING},
            {"required": ["city"]},
            ProblemKind.MISSING_REQUIRED,
            "/city",
            "city is required and missing (string).",
        ),
        (
            {},
            {"city": {"type": "string", "description": "Where to go.\nIn English."}},
            {"required": ["city"]},
            ProblemKind.MISSING_REQUIRED,
            "/city",
            "city is required and missing (string, Where to go.).",
        ),
        (
            {"town": "Oslo"},
            {"city": STRING},
            {"required": ["city"]},
            ProblemKind.MISSING_REQUIRED,
            "/city",
            'city is required and missing (string). It got ["town"] instead, which it does not know.',
        ),
        (
            {"trip": {}},
            {"trip": {"type": "object", "properties": {"days": INTEGER}, "required": ["days"]}},
            {},
            ProblemKind.MISSING_REQUIRED,
            "/trip/days",
            "trip.days is required and missing (integer).",
        ),
        (
            {"days": "three"},
            {"days": INTEGER},
            {},
            ProblemKind.WRONG_TYPE,
            "/days",
            'days must be an integer, not the string "three".',
        ),
        (
            {"days": None},
            {"days": INTEGER},
            {"required": ["days"]},
            ProblemKind.WRONG_TYPE,
            "/days",
            "days must be an integer, not null.",
        ),
        (
            {"days": True},
            {"days": INTEGER},
            {},
            ProblemKind.WRONG_TYPE,
            "/days",
            "days must be an integer, not the boolean true.",
        ),
        (
            {"city": ["a", "b"]},
            {"city": STRING},
            {},
            ProblemKind.WRONG_TYPE,
            "/city",
            'city must be a string, not the array ["a", "b"]. It takes one value: make one call for each of the 2.',
        ),
        (
            {"city": {"a": 1}},
            {"city": {"type": ["string", "null"]}},
            {},
            ProblemKind.WRONG_TYPE,
            "/city",
            'city must be null or a string, not the object {"a": 1}.',
        ),
        (
            {"steps": [{"cost": 1}, {"cost": "a lot"}]},
            {"steps": {"type": "array", "items": {"type": "object", "properties": {"cost": INTEGER}}}},
            {},
            ProblemKind.WRONG_TYPE,
            "/steps/1/cost",
            'steps[1].cost must be an integer, not the string "a lot".',
        ),
        (
            {"currency": "GBP_STERLING"},
            {"currency": {"type": "string", "enum": ["GBP", "EUR"]}},
            {},
            ProblemKind.NOT_IN_ENUM,
            "/currency",
            'currency: "GBP_STERLING" is not one of ["GBP", "EUR"].',
        ),
        (
            {"kind": "x"},
            {"kind": {"const": "trip"}},
            {},
            ProblemKind.NOT_IN_ENUM,
            "/kind",
            'kind: "x" is not one of ["trip"].',
        ),
        (
            {"colour": "red"},
            {"city": STRING, "days": INTEGER},
            {"additionalProperties": False},
            ProblemKind.EXTRA_ARGUMENT,
            "/colour",
            'colour is not an argument of book. Allowed: ["city", "days"].',
        ),
        (
            {"day": "2026-02-30"},
            {"day": {"type": "string", "format": "date"}},
            {},
            ProblemKind.WRONG_TYPE,
            "/day",
            'day: "2026-02-30" is not a valid date (YYYY-MM-DD, a day that exists).',
        ),
        (
            {"mail": "me"},
            {"mail": {"type": "string", "format": "email"}},
            {},
            ProblemKind.WRONG_TYPE,
            "/mail",
            'mail: "me" is not a valid email address.',
        ),
        (
            {"link": "example.org"},
            {"link": {"type": "string", "format": "uri"}},
            {},
            ProblemKind.WRONG_TYPE,
            "/link",
            'link: "example.org" is not a valid uri (with its scheme, such as https://).',
        ),
        (
            {"code": "abc"},
            {"code": {"type": "string", "pattern": "^[A-Z]{3}$"}},
            {},
            ProblemKind.WRONG_TYPE,
            "/code",
            'code: "abc" does not match the pattern ^[A-Z]{3}$.',
        ),
        (
            {"days": 0},
            {"days": {"type": "integer", "minimum": 1}},
            {},
            ProblemKind.CONSTRAINT,
            "/days",
            "days: 0 is less than the minimum of 1.",
        ),
        (
            {"tags": []},
            {"tags": {"type": "array", "minItems": 1}},
            {},
            ProblemKind.CONSTRAINT,
            "/tags",
            "tags: [] has less than 1 item.",
        ),
        (
            {"when": []},
            {"when": {"anyOf": [INTEGER, STRING]}},
            {},
            ProblemKind.WRONG_TYPE,
            "/when",
            "when must be an integer or a string, not the array [].",
        ),
        (
            {"when": {"day": "x"}},
            {"when": {"anyOf": [STRING, {"type": "object", "properties": {"day": INTEGER}}]}},
            {},
            ProblemKind.WRONG_TYPE,
            "/when/day",
            'when.day must be an integer, not the string "x".',
        ),
    ],
)
def test_a_problem_says_where_what_was_got_and_what_is_allowed(arguments, properties, more, kind, path, message):
    problem = the_problem(arguments, properties, **more)

    assert (problem.message, problem.kind, problem.path) == (message, kind, path)
    assert (problem.tool, problem.call_id, problem.family) == ("book", "c1", Family.ARGUMENTS)


def test_a_value_that_fits_two_forms_of_which_one_is_wanted_is_ambiguous():
    problem = the_problem({"n": 4}, {"n": {"oneOf": [INTEGER, {"type": "number"}]}})

    assert problem.message == "n: 4 fits more than one of the allowed forms."
    assert problem.kind is ProblemKind.AMBIGUOUS


def test_a_problem_carries_what_was_got_and_what_is_allowed_as_data():
    enum = the_problem({"c": "x"}, {"c": {"enum": ["a", "b"]}})
    typed = the_problem({"c": "x"}, {"c": INTEGER})

    assert (enum.got, enum.allowed) == ("x", ["a", "b"])
    assert (typed.got, typed.allowed) == ("x", ["integer"])


@pytest.mark.parametrize(
    ("where", "shown"),
    [([], ""), (["a"], "a"), (["a", "b"], "a.b"), (["a", 0, "b", 1], "a[0].b[1]"), ([0, "a"], "[0].a")],
)
def test_paths_are_written_as_models_write_them(where, shown):
    assert display_path(where) == shown


def test_slashes_and_tildes_in_keys_are_escaped_in_the_pointer():
    problem = the_problem({"a/b~c": "x"}, {"a/b~c": INTEGER})

    assert problem.path == "/a~1b~0c"
    assert problem.message.startswith("a/b~c must be an integer")


def test_a_value_of_the_wrong_type_is_said_once():
    properties = {"n": {"type": "integer", "minimum": 1, "enum": [1, 2], "maximum": 2}}

    assert [problem.kind for problem in problems_of({"n": "many"}, properties)] == [ProblemKind.WRONG_TYPE]


def test_every_fault_of_a_call_is_said():
    found = problems_of(
        {"days": "three", "unit": "miles", "x": 1},
        {"city": STRING, "days": INTEGER, "unit": {"enum": ["km", "m"]}},
        required=["city"],
        additionalProperties=False,
    )

    assert {(problem.kind, problem.path) for problem in found} == {
        (ProblemKind.MISSING_REQUIRED, "/city"),
        (ProblemKind.WRONG_TYPE, "/days"),
        (ProblemKind.NOT_IN_ENUM, "/unit"),
        (ProblemKind.EXTRA_ARGUMENT, "/x"),
    }


def test_the_number_of_problems_and_the_length_of_their_values_are_bounded():
    keys = [f"k{n}" for n in range(50)]

    found = problems_of(dict.fromkeys(keys, "x" * 5000), dict.fromkeys(keys, INTEGER))

    assert len(found) == MAX_PROBLEMS
    assert all(len(problem.message) < 200 for problem in found)


def test_a_long_enum_is_cut_in_the_message_and_whole_in_the_data():
    members = [f"member-{n}" for n in range(500)]

    problem = the_problem({"m": "nothing like it"}, {"m": {"enum": members}})

    assert len(problem.message) < 500
    assert problem.allowed == members


def test_good_calls_stand_beside_the_problems_of_bad_ones():
    tools = [{"name": "book", "parameters": {"type": "object", "properties": {"n": INTEGER}, "required": ["n"]}}]
    calls = [{"id": i, "function": {"name": "book", "arguments": a}} for i, a in [("a", "{}"), ("b", '{"n": 1}')]]

    reading = parse({"tool_calls": calls}, tools)

    assert [call.id for call in reading.calls] == ["b"]
    assert [(problem.call_id, problem.kind) for problem in reading.problems] == [("a", ProblemKind.MISSING_REQUIRED)]


def test_at_a_length_limit_a_missing_argument_is_a_cut():
    tools = [{"name": "book", "parameters": {"type": "object", "properties": {"n": INTEGER}, "required": ["n"]}}]
    message = {"tool_calls": [{"function": {"name": "book", "arguments": "{}"}}], "finish_reason": "length"}

    (problem,) = parse(message, tools).problems

    assert problem.kind is ProblemKind.TRUNCATED
    assert problem.message == "the reply hit its length limit: n is required and missing (integer)."


@pytest.mark.parametrize(
    ("pattern", "text"), [(r"^(a+)+$", "a" * 40 + "!"), (r"(x+x+)+y", "x" * 60), (r"^(\w+\s?)*$", "word " * 30 + "!")]
)
def test_a_pattern_that_backtracks_without_end_is_bounded(pattern, text):
    assert problems_of({"t": text}, {"t": {"type": "string", "pattern": pattern}})
