"""JSON as models write it: valid JSON is left alone, a fault with one reading is repaired, anything else refused."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall import Grade, ProblemKind, parse
from rightcall.parsing.json_reader import read_json
from rightcall.parsing.json_repair import MAX_DEPTH
from rightcall.parsing.json_scalars import MAX_DIGITS

TOOL = {
    "name": "save",
    "parameters": {"type": "object", "properties": {"text": {}, "path": {}, "n": {}, "tags": {}, "note": {}}},
}


def read(arguments):
    """What becomes of native arguments that are sent as this text."""
    return parse({"tool_calls": [{"id": "c1", "function": {"name": "save", "arguments": arguments}}]}, [TOOL])


def read_value(arguments):
    reading = read(arguments)
    assert reading.problems == ()
    (call,) = reading.calls
    return call.arguments, {note.kind for note in call.notes}


def refusal(arguments):
    reading = read(arguments)
    assert reading.calls == ()
    (problem,) = reading.problems
    return problem.kind


# -- valid JSON -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ('{"n": 12345678901234567890123456789}', {"n": 12345678901234567890123456789}),
        ('{"n": -9007199254740993}', {"n": -9007199254740993}),
        ('{"n": 1e20}', {"n": 1e20}),
        ('{"n": -0.0}', {"n": -0.0}),
        ('{"n": 5e-324}', {"n": 5e-324}),
        ('{"n": 1.0}', {"n": 1.0}),
        ('{"text": "Grüße, 世界 🌍"}', {"text": "Grüße, 世界 🌍"}),
        (r'{"text": "\u00e9\ud83d\ude00"}', {"text": "é😀"}),
        (r'{"text": "C:\\new\\table \"q\" \/ \b\f\n\r\t"}', {"text": 'C:\\new\\table "q" / \b\f\n\r\t'}),
        ('{"text": "a // b # c /* d */ ```"}', {"text": "a // b # c /* d */ ```"}),
        ('{"text": "True, None, NaN, {\'a\': 1,}"}', {"text": "True, None, NaN, {'a': 1,}"}),
        ('{"text": "  "}', {"text": "  "}),
        ('{"": {"a b": [null, true, false, [], {}]}}', {"": {"a b": [None, True, False, [], {}]}}),
        (' \n\t{"n"\r\n:\t1 } \n', {"n": 1}),
        ('{"text": "\u2028\u00a0\ufeff\u200b"}', {"text": "\u2028\u00a0\ufeff\u200b"}),
    ],
)
def test_valid_json_keeps_its_values_and_leaves_no_note(text, value):
    found, kinds = read_value(text)

    assert (repr(found), kinds) == (repr(value), set())


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.dictionaries(st.text(max_size=8), json_values, max_size=4), st.booleans(), st.sampled_from([None, 2]))
def test_any_valid_object_reads_as_the_standard_library_reads_it(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)

    read = read_json(text)

    assert (repr(read.value), read.repairs) == (repr(json.loads(text)), ())


# -- one repair at a time: what is repaired, and its twin that is not -------------------------------------------

REPAIRED = [
    # kind, text, value
    ("trailing_comma", '{"n": 1,}', {"n": 1}),
    ("trailing_comma", '{"tags": [1, 2, ], "n": 1}', {"tags": [1, 2], "n": 1}),
    ("missing_comma", '{"n": 1 "text": "a"}', {"n": 1, "text": "a"}),
    ("missing_comma", '{"text": "a"\n "n": 1}', {"text": "a", "n": 1}),
    ("missing_comma", '{"tags": [{"n": 1} {"n": 2}]}', {"tags": [{"n": 1}, {"n": 2}]}),
    ("unquoted_key", "{n: 1, text: 'a'}", {"n": 1, "text": "a"}),
    ("unquoted_key", '{my-key: 1, $ref_: 2, "n": 3}', {"my-key": 1, "$ref_": 2, "n": 3}),
    ("quotes", "{'text': 'a'}", {"text": "a"}),
    ("quotes", "{'text': 'say \"hi\"'}", {"text": 'say "hi"'}),
    ("quotes", "{\"text\": 'it's late'}", {"text": "it's late"}),
    ("quotes", "{“text”: “a”}", {"text": "a"}),
    ("quotes", "{‘text’: ‘a’}", {"text": "a"}),
    ("python_literal", '{"text": None, "n": True, "tags": [False]}', {"text": None, "n": True, "tags": [False]}),
    ("python_literal", '{"text": NULL, "n": TRUE}', {"text": None, "n": True}),
    ("number_form", '{"n": +5}', {"n": 5}),
    ("number_form", '{"n": .5}', {"n": 0.5}),
    ("number_form", '{"n": -.5}', {"n": -0.5}),
    ("number_form", '{"n": 5.}', {"n": 5}),
    ("control_character", '{"text": "a\nb\tc"}', {"text": "a\nb\tc"}),
    ("triple_quotes", '{"text": """a "b" c\n"""}', {"text": 'a "b" c\n'}),
    ("triple_quotes", "{'text': '''it's'''}", {"text": "it's"}),
    ("inner_quote", '{"text": "say "hi" now"}', {"text": 'say "hi" now'}),
    ("inner_quote", '{"text": "say "hi" now", "n": 1}', {"text": 'say "hi" now', "n": 1}),
    ("inner_quote", '{"text": "<a href="x">y</a>"}', {"text": '<a href="x">y</a>'}),
    ("invalid_escape", r'{"text": "\d+\.\w"}', {"text": r"\d+\.\w"}),
    ("invalid_escape", r'{"text": "it\'s"}', {"text": "it's"}),
    ("invalid_escape", r'{"path": "C:\Users\me"}', {"path": r"C:\Users\me"}),
    ("comment_or_escape_between", '{"n": 1, // one\n "text": "a"}', {"n": 1, "text": "a"}),
    ("comment_or_escape_between", '{"n": 1, # one\n "text": "a" /* b */}', {"n": 1, "text": "a"}),
    ("comment_or_escape_between", r'{\n  "n": 1,\n  "text": "a"\n}', {"n": 1, "text": "a"}),
    ("repeated_key", '{"n": 1, "n": 1}', {"n": 1}),
    ("repeated_key", '{"text": {"a": 1, "b": 2}, "text": {"b": 2, "a": 1}}', {"text": {"b": 2, "a": 1}}),
    ("fence", '```json\n{"n": 1}\n```', {"n": 1}),
    ("fence", '```\n{"n": 1}\n```\n', {"n": 1}),
    ("trailing_closer", '{"n": 1}}', {"n": 1}),
    ("trailing_closer", '{"n": 1})', {"n": 1}),
    ("trailing_closer", '{"n": 1}]}', {"n": 1}),
    ("trailing_closer", '{"n": 1}```', {"n": 1}),
    ("trailing_closer", '{"n": 1};', {"n": 1}),
    ("trailing_closer", '{"n": 1}</s>', {"n": 1}),
    ("trailing_closer", '{"n": 1}<|im_end|>', {"n": 1}),
    ("repeated_value", '{"n": 1}{"n": 1}', {"n": 1}),
    ("repeated_value", '{}{"n": 1}', {"n": 1}),
    ("trailing_text", '{"n": 1} That should do it.', {"n": 1}),
    ("double_encoded", json.dumps(json.dumps({"n": 1, "text": 'a "b"'})), {"n": 1, "text": 'a "b"'}),
    ("null_arguments", "null", {}),
    ("null_arguments", "None", {}),
]


@pytest.mark.parametrize(("kind", "text", "value"), REPAIRED)
def test_a_fault_with_one_reading_is_repaired_and_named(kind, text, value):
    found, kinds = read_value(text)

    assert repr(found) == repr(value)
    assert kind in kinds


@pytest.mark.parametrize("text", [text for _kind, text, _value in REPAIRED])
def test_syntax_repairs_are_lossless(text):
    reading = read(text)

    assert {note.grade for note in reading.notes} == {Grade.LOSSLESS}
    assert {note.tool for note in reading.notes} == {"save"}


@pytest.mark.parametrize("text", [text for _kind, text, _value in REPAIRED])
def test_what_was_repaired_needs_no_repair_again(text):
    (call,) = read(text).calls

    assert read_value(json.dumps(call.arguments)) == (call.arguments, set())


@pytest.mark.parametrize(
    "text",
    [
        # twins of the repairs above: here no reading is certain
        '{"n": 1,, "text": "a"}',
        '{"n": , "text": "a"}',
        '{, "n": 1}',
        '{"tags": [1 2]}',
        '{"tags": ["a" "b"]}',
        '{"n" 1}',
        '{"n"; 1}',
        '{"n": one}',
        '{"text": hello world}',
        '{"text": hello}',
        "{n m: 1}",
        '{"n": 007}',
        '{"n": 0x1F}',
        '{"n": 1.2.3}',
        '{"n": 1_000}',
        '{"n": 1,000}',
        '{"n": 12abc}',
        '{"n": --5}',
        '{"n": 2024-01-05}',
        '{"n": 5%}',
        '{"n": $5}',
        '{"n": NaN}',
        '{"n": Infinity}',
        '{"n": -Infinity}',
        '{"n": undefined}',
        '{"n": 1e999}',
        '{"n": 1]',
        '{"tags": [1}',
        '{"tags": [1}]}',
        '{"tags": {"n": 1]}',
        r'{"text": "\ud800"}',
        r'{"text": "\udc00 low first"}',
        '{"text": "a" + "b"}',
        '{"n": 1 + 2}',
        '{"n": 1}, and more',
        "please save it",
        "<n>1</n>",
        "n=1",
        "}",
        "]",
    ],
)
def test_what_has_no_certain_repair_is_unparseable(text):
    assert refusal(text) is ProblemKind.UNPARSEABLE


@pytest.mark.parametrize(
    "text",
    [
        '{"n": 1, "n": 2}',
        '{"n": 1, "n": "1"}',
        '{"n": true, "n": 1}',
        '{"n": 1}{"n": 2}',
        '{"n": 1} {"text": "a"}',
        '{"n": 1}[{"n": 1}]',
        r'{"path": "C:\Users\new"}',
        r'{"path": "D:\temp\Data"}',
    ],
)
def test_two_possible_readings_are_ambiguous(text):
    assert refusal(text) is ProblemKind.AMBIGUOUS


def test_an_unescaped_quote_before_a_comma_is_refused_unless_a_declared_key_follows():
    assert read_value('{"text": "a "b", "n": 1}')[0] == {"text": 'a "b', "n": 1}
    assert refusal('{"text": "a "b", c", "n": 1}') is ProblemKind.UNPARSEABLE
    assert refusal('{"text": "a "b", c"}') is ProblemKind.UNPARSEABLE
    assert refusal('{"text": "a "b" c", "unheard_of": 1}') is ProblemKind.UNPARSEABLE


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"',
        '{"te',
        '{"text"',
        '{"text":',
        '{"text": "hel',
        '{"text": "hello',
        '{"text": "hello\\',
        '{"text": "hello"',
        '{"text": "hello",',
        '{"text": "hello", "n"',
        '{"text": "hello", "n": 1',
        '{"text": "hello", "n": 12.',
        '{"text": "hello", "n": 1e',
        '{"text": "hello", "n": -',
        '{"text": "hello", "n": tr',
        '{"text": "hello", "n": nul',
        '{"text": "hello", "tags": [',
        '{"text": "hello", "tags": [1',
        '{"text": "hello", "tags": [1]',
        '{"text": "hello", "tags": [{"n": 1}',
        '{"text": """hello"',
        '```json\n{"text": "hello"',
        r'{"text": "\ud83d\ude0',
        "{'text': 'hello",
        '"{\\"n\\": 1',
    ],
)
def test_a_text_that_stops_early_is_truncated(text):
    assert refusal(text) is ProblemKind.TRUNCATED


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.dictionaries(st.text(max_size=6), json_values, min_size=1, max_size=4), st.booleans(), st.data())
def test_no_beginning_of_an_object_is_read_as_one(value, ascii_only, data):
    text = json.dumps(value, ensure_ascii=ascii_only)
    cut = data.draw(st.integers(1, len(text) - 1))

    assert read(text[:cut]).calls == ()


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.text(alphabet="{}[]\"':,\\ntrue0123.-e#/ab \n“”", max_size=40) | st.text(max_size=30))
def test_any_text_is_read_or_refused_and_what_is_read_needs_no_second_repair(text):
    reading = read(text)

    assert len(reading.calls) + len(reading.problems) == 1
    for call in reading.calls:
        assert read_value(json.dumps(call.arguments)) == (call.arguments, set())


# -- bounds -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("valid", [True, False])
def test_depth_is_bounded(valid):
    comma = "" if valid else ","
    deep = MAX_DEPTH - 2

    assert read_value('{"n": ' + "[" * deep + "1" + "]" * deep + comma + "}")[0]["n"]
    if not valid:
        assert refusal('{"n": ' + "[" * 5000 + "1" + "]" * 5000 + ",}") is ProblemKind.UNPARSEABLE


def test_valid_json_deeper_than_any_stack_is_refused_not_a_crash():
    reading = read('{"n": ' + "[" * 100_000 + "]" * 100_000 + "}")

    assert reading.calls == ()
    assert len(reading.problems) == 1


def test_digits_are_bounded():
    digits = "7" * MAX_DIGITS

    assert read_value('{"n": ' + digits + ",}")[0] == {"n": int(digits)}
    assert refusal('{"n": 7' + digits + ",}") is ProblemKind.UNPARSEABLE
    assert read('{"n": ' + "7" * 10_000 + "}").problems


@pytest.mark.parametrize(
    "text",
    [
        '{"text": "' + 'a "b" ' * 33_000,
        '{"text": "' + '" ' * 100_000,
        '{"text": "' + "\\" * 200_001,
        "{" * 200_000,
        "[" * 200_000,
        '{"a": ' * 33_000,
        '{"n": 1' + " " * 200_000 + "x}",
        '{"n": 1 ' + "/*" * 100_000,
        '{"n": ' + "1" * 200_000,
        "{'a': 'b' " * 20_000,
        '{"a": 1 ' * 25_000,
        '{"n": 1}' * 25_000,
        '{"n": 1} ' + "{" * 200_000,
        '{"n": 1}' + "}" * 200_000,
        '{"tags": [' + '{"n": 1} ' * 22_000,
        "```json\n" + "```" * 66_000,
        '{"text": """' + '"" ' * 66_000,
        '"' + '\\"' * 100_000,
        "“" * 200_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_hostile_text_of_200_kb_is_answered(text):
    reading = read(text)

    assert len(reading.calls) + len(reading.problems) == 1
