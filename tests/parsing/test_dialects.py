"""Every dialect of the registry, held to the same behaviour; then what is particular to one of them."""

import json

import pytest
from dialect_texts import SPACE, WRITINGS

from rightcall import Grade, ModelReply, ProblemKind, parse
from rightcall.parsing.dialects import DIALECTS

TOOLS = [
    {
        "name": "save_note",
        "parameters": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer"},
                "ratio": {"type": "number"},
                "urgent": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "place": {"type": "object", "properties": {"city": {"type": "string"}}},
                "anything": {},
            },
            "required": ["text"],
            "additionalProperties": False,
        },
    },
    {"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}},
]
NOTE = {"text": "buy milk", "count": 3, "urgent": True, "tags": ["a", "b c"], "place": {"city": "Oslo"}}
CALL = ("save_note", NOTE)

every_writing = pytest.mark.parametrize("writing", WRITINGS, ids=lambda writing: writing.name)
writings_of_several = pytest.mark.parametrize(
    "writing", [writing for writing in WRITINGS if not writing.one_only], ids=lambda writing: writing.name
)


def read(text, finish_reason=None):
    return parse(ModelReply(text=text, finish_reason=finish_reason), TOOLS)


def calls_of(reading):
    return [(call.name, call.arguments) for call in reading.calls]


def test_every_dialect_of_the_registry_has_cases():
    assert {writing.dialect for writing in WRITINGS} == {dialect.name for dialect in DIALECTS}


@every_writing
def test_a_call_is_read_with_its_values_and_nothing_is_left(writing):
    reading = read(writing.write([CALL]))

    assert calls_of(reading) == [CALL]
    assert (reading.problems, reading.text, reading.reasoning) == ((), "", "")
    assert {note.kind for note in reading.notes} <= {"name_leak"}


TEXTS = [
    "",
    "  two  blanks  ",
    "Grüße, 世界 🌍",
    'say "hi", it\'s {late}: [now]',
    "a\\b\\n",
    "3",
    "true",
    "null",
    "a, b=1)",
]


@every_writing
def test_a_text_stays_what_it_is_whatever_it_looks_like(writing):
    for text in TEXTS:
        assert calls_of(read(writing.write([("save_note", {"text": text})]))) == [("save_note", {"text": text})]


@writings_of_several
def test_two_calls_are_two_calls_in_order(writing):
    calls = [CALL, ("get_time", {"zone": "CET"})]

    reading = read(writing.write(calls))

    assert calls_of(reading) == calls
    assert (reading.problems, reading.text) == ((), "")
    assert len({call.id for call in reading.calls}) == 2


@writings_of_several
def test_equal_calls_are_not_merged(writing):
    calls = [("get_time", {"zone": "CET"})] * 2

    assert calls_of(read(writing.write(calls))) == calls


@pytest.mark.parametrize(
    ("writing", "marker"),
    [pytest.param(writing, marker) for writing in WRITINGS for marker in writing.markers],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_value_may_quote_the_format_itself(writing, marker):
    for text in (marker, f"a {marker} b", f"{marker}\n{marker}"):
        call = ("save_note", {"text": text, "count": 3})

        reading = read(writing.write([call]))

        assert calls_of(reading) == [call]
        assert (reading.problems, reading.text) == ((), "")


@every_writing
def test_text_around_a_call_is_kept(writing):
    reading = read(writing.around("I will look.", writing.write([CALL]), "Done."))

    assert calls_of(reading) == [CALL]
    assert reading.problems == ()
    shown = reading.text.replace("\n", " ").replace("look.Done", "look. Done").split()
    assert shown == (["I", "will", "look.", "Done."] if writing.keeps_after else ["I", "will", "look."])


@every_writing
@pytest.mark.parametrize("finish_reason", [None, "length"])
def test_a_call_that_is_cut_off_inside_is_never_a_call(writing, finish_reason):
    text = writing.write([CALL])

    for cut in range(1, text.rindex("Oslo") + 5):
        reading = read(text[:cut], finish_reason)

        assert reading.calls == (), text[:cut]


@every_writing
def test_a_cut_call_is_no_call_even_where_the_server_says_it_stopped(writing):
    text = writing.write([CALL])

    for cut in range(1, text.rindex("Oslo") + 5):
        assert read(text[:cut], "stop").calls == (), text[:cut]


@every_writing
@pytest.mark.parametrize("finish_reason", [None, "stop", "length"])
def test_a_cut_call_is_truncated_or_not_a_call_yet(writing, finish_reason):
    text = writing.write([CALL])

    for cut in range(1, text.rindex("Oslo") + 5):
        reading = read(text[:cut], finish_reason)

        assert {problem.kind for problem in reading.problems} <= {ProblemKind.TRUNCATED}, text[:cut]


@every_writing
@pytest.mark.parametrize("finish_reason", [None, "stop", "length"])
def test_a_cut_inside_a_value_is_said_to_be_one(writing, finish_reason):
    text = writing.write([("save_note", {"text": "buy milk"})])

    reading = read(text[: text.rindex("milk") + 2], finish_reason)

    assert (reading.calls, [problem.kind for problem in reading.problems]) == ((), [ProblemKind.TRUNCATED])


@writings_of_several
def test_a_cut_in_the_second_call_leaves_the_first_and_is_said(writing):
    text = writing.write([CALL, ("get_time", {"zone": "Europe/Oslo"})])

    reading = read(text[: text.rindex("Europe") + 3], "length")

    assert calls_of(reading) == ([] if writing.one_list else [CALL])
    assert [problem.kind for problem in reading.problems] == [ProblemKind.TRUNCATED]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "get_time", "arguments": {}}\n{"name": "get_time", "arguments": {"zo',
        '<tool_call>{"name": "get_time", "arguments": {}}\n{"name": "get_time", "arguments": {"zo</tool_call>',
        '[TOOL_CALLS]{"name": "get_time", "arguments": {}}, {"name": "get_time", "arguments": {"zo',
        '<|python_tag|>{"name": "get_time", "parameters": {}}; {"name": "get_time", "parameters": {"zone": CET}}',
    ],
)
def test_a_second_call_in_one_block_that_cannot_be_read_is_a_problem(text):
    assert len(read(text).problems) == 1


@pytest.mark.parametrize(
    "prose", [pytest.param(prose, id=f"{writing.name}-{prose}") for writing in WRITINGS for prose in writing.prose]
)
def test_prose_about_the_format_is_text(prose):
    reading = read(prose)

    assert (reading.calls, reading.problems, reading.text) == ((), (), prose)


def test_a_quoted_opening_tag_is_text():
    text = 'There is `<invoke name="...">` with `<parameter name="...">` inside.'

    reading = read(text)

    assert (reading.calls, reading.problems, reading.text) == ((), (), text)


@every_writing
def test_a_call_that_is_quoted_in_an_explanation_is_no_call(writing):
    text = f"The format is this:\n\n```\n{writing.write([CALL])}\n```\n\nUse it when you need a note."

    assert read(text).calls == ()


@pytest.mark.parametrize(  # harmony says itself what is a call, and a ReAct step ends its reply
    "writing",
    [writing for writing in WRITINGS if writing.dialect not in {"harmony", "react"}],
    ids=lambda writing: writing.name,
)
def test_an_explanation_that_is_cut_behind_its_example_is_no_call(writing):
    text = f"For example, the format looks like this:\n{writing.write([CALL])}"

    assert read(text, "length").calls == ()
    assert calls_of(read(f"I will save it.\n{writing.write([CALL])}", "length")) == [CALL]


@every_writing
def test_a_call_in_a_dialogue_that_the_model_made_up_is_no_call(writing):
    text = f"User: Save a note, please.\nAssistant:\n{writing.write([CALL])}"

    reading = read(text)

    assert (reading.calls, {problem.kind for problem in reading.problems}) == ((), {ProblemKind.AMBIGUOUS})


@every_writing
def test_a_call_of_an_unknown_tool_is_never_a_call_of_another(writing):
    reading = read(writing.write([("delete_note", {"text": "a"})]))

    assert reading.calls == ()
    assert {problem.kind for problem in reading.problems} <= {ProblemKind.UNKNOWN_TOOL}
    assert reading.problems or writing.dialect in {"element", "python_tag", "functionary"}


@every_writing
def test_a_call_without_arguments_is_read(writing):
    assert calls_of(read(writing.write([("get_time", {})]))) == [("get_time", {})]


@every_writing
def test_without_tools_every_text_is_text(writing):
    reading = parse(writing.write([CALL]), [])

    assert (reading.calls, reading.problems) == ((), ())


@every_writing
def test_a_native_call_is_not_doubled_by_the_same_call_in_the_text(writing):
    native = {"id": "c1", "function": {"name": "get_time", "arguments": '{"zone": "CET"}'}}

    reading = parse({"content": writing.write([("get_time", {"zone": "CET"})]), "tool_calls": [native]}, TOOLS)

    assert calls_of(reading) == [("get_time", {"zone": "CET"})]


# -- values in formats where everything is text -----------------------------------------------------------------

PLAIN = {
    "qwen3-coder",
    "seed",
    "minimax-m2",
    "function_calls",
    "minimax-m3",
    "minimax-m3-nested",
    "glm",
    "longcat",
    "cline",
}
UNTYPED = [writing for writing in WRITINGS if writing.variant in PLAIN]


@pytest.mark.parametrize("writing", UNTYPED, ids=lambda writing: writing.name)
def test_the_schema_decides_what_a_plain_value_is(writing):
    values = {"text": "12", "count": 12, "ratio": 0.5, "urgent": False, "tags": ["1"], "anything": "12"}

    (call,) = read(writing.write([("save_note", values)])).calls

    assert repr(call.arguments) == repr(values)
    assert call.notes == ()


@pytest.mark.parametrize("writing", UNTYPED, ids=lambda writing: writing.name)
def test_a_plain_value_that_is_not_of_its_type_is_refused(writing):
    for wrong in ({"count": "a dozen"}, {"urgent": "yes"}, {"tags": "a, b"}, {"place": "Oslo"}):
        reading = read(writing.write([("save_note", {"text": "a", **wrong})]))

        assert reading.calls == ()
        assert [problem.kind for problem in reading.problems] == [ProblemKind.WRONG_TYPE]


@pytest.mark.parametrize("writing", UNTYPED, ids=lambda writing: writing.name)
def test_several_lines_of_code_keep_their_blanks(writing):
    code = 'def f(x):\n    if x < 1 and x > 0:\n        return "<a>&amp;</a>"\n\n    return {}'

    assert calls_of(read(writing.write([("save_note", {"text": code})]))) == [("save_note", {"text": code})]


def test_one_framing_newline_is_markup_and_further_ones_are_data():
    text = "<tool_call>\n<function=save_note>\n<parameter=text>\n\n a \n\n</parameter>\n</function>\n</tool_call>"

    assert calls_of(read(text)) == [("save_note", {"text": "\n a \n"})]


def test_in_glm_every_blank_is_data():
    text = "<tool_call>save_note\n<arg_key>text</arg_key>\n<arg_value>\n a \n</arg_value>\n</tool_call>"

    assert calls_of(read(text)) == [("save_note", {"text": "\n a \n"})]


def test_dsml_says_itself_what_is_text():
    text = (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="save_note">\n'
        '<｜DSML｜parameter name="text" string="true">[1]</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="anything" string="false">[1]</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    )

    assert calls_of(read(text)) == [("save_note", {"text": "[1]", "anything": [1]})]


# -- particular to one ------------------------------------------------------------------------------------------


def test_kimi_ids_name_the_tool_and_stay_the_ids():
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_time:7<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )

    (call,) = read(text).calls

    assert (call.name, call.id) == ("get_time", "functions.get_time:7")
    assert [note.grade for note in call.notes] == [Grade.LOSSLESS]


def test_mistral_call_ids_are_kept():
    (call,) = read("[TOOL_CALLS]get_time[CALL_ID]9Ab3[ARGS]{}").calls

    assert (call.name, call.id) == ("get_time", "9Ab3")


def test_ids_in_an_envelope_are_kept_and_others_are_made():
    text = '<tool_call>{"id": "abc", "name": "get_time", "arguments": {}}</tool_call>'
    twice = text + text.replace('"id": "abc", ', "")

    first, second = read(twice).calls

    assert first.id == "abc"
    assert second.id.startswith("call_")


def test_cohere_answers_directly_with_no_call():
    text = 'Action: ```json\n[{"tool_name": "directly_answer", "parameters": {}}]\n```'

    reading = read(text)

    assert (reading.calls, [problem.kind for problem in reading.problems]) == ((), [ProblemKind.UNPARSEABLE])


def test_harmony_channels_are_reasoning_text_and_calls():
    text = (
        '<|channel|>analysis<|message|>Maybe {"name": "get_time", "arguments": {}}?<|end|>'
        "<|start|>assistant<|channel|>commentary<|message|>One moment.<|end|>"
        '<|start|>assistant<|channel|>commentary to=functions.get_time <|constrain|>json<|message|>{"zone": "CET"}'
        "<|call|>"
    )

    reading = read(text)

    assert calls_of(reading) == [("get_time", {"zone": "CET"})]
    assert reading.text == "One moment."
    assert reading.reasoning == 'Maybe {"name": "get_time", "arguments": {}}?'


def test_harmony_without_its_special_tokens_is_still_a_call():
    assert calls_of(read('commentary to=functions.get_time json{"zone": "CET"}')) == [("get_time", {"zone": "CET"})]


def test_a_react_step_ends_where_the_model_invents_its_observation():
    text = (
        'Thought: I need the time.\nAction: get_time\nAction Input: {"zone": "CET"}\nObservation: 12:00\n'
        'Thought: Save it.\nAction: save_note\nAction Input: {"text": "12:00"}\nFinal Answer: noon'
    )

    reading = read(text)

    assert calls_of(reading) == [("get_time", {"zone": "CET"})]
    assert reading.text.strip() == "Thought: I need the time."


def m3(body):
    return f'{SPACE}<tool_call>\n{SPACE}<invoke name="save_note">{body}{SPACE}</invoke>\n{SPACE}</tool_call>'


def m3_element(key, *content):
    return f"{SPACE}<{key}>{''.join(content)}{SPACE}</{key}>"


def test_minimax_m3_values_may_hold_any_markup():
    page = '<html>\n<p class="a">1 < 2</p>\n</html><text>'

    assert calls_of(read(m3(m3_element("text", page)))) == [("save_note", {"text": page})]


def test_minimax_m3_lists_and_objects_are_typed_by_the_schema_to_the_last_leaf():
    tags = m3_element("tags", m3_element("item", "1"), m3_element("item", "true"))
    place = m3_element("place", "\n", m3_element("city", "12"), "\n")

    assert calls_of(read(m3(m3_element("text", "a") + tags + place))) == [
        ("save_note", {"text": "a", "tags": ["1", "true"], "place": {"city": "12"}})
    ]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (m3_element("text", "a") + m3_element("text", "b"), ProblemKind.AMBIGUOUS),
        (f"{SPACE}<text>a{SPACE}</count>", ProblemKind.UNPARSEABLE),
        (m3_element("tags", m3_element("item", "a"), m3_element("city", "b")), ProblemKind.UNPARSEABLE),
        ("a word", ProblemKind.UNPARSEABLE),
        (m3_element("tags", "a", m3_element("item", "b")), ProblemKind.UNPARSEABLE),
    ],
)
def test_minimax_m3_elements_out_of_order_are_no_call(body, kind):
    reading = read(m3(body))

    assert (reading.calls, [problem.kind for problem in reading.problems]) == ((), [kind])


def test_what_a_qwen_agent_makes_up_behind_its_call_is_dropped():
    text = (
        'I look.\n✿FUNCTION✿: get_time\n✿ARGS✿: {"zone": "CET"}\n✿RESULT✿: 12:00\n✿RETURN✿: It is noon.\n'
        '✿FUNCTION✿: save_note\n✿ARGS✿: {"text": "noon"}'
    )

    reading = read(text)

    assert calls_of(reading) == [("get_time", {"zone": "CET"})]
    assert reading.text.strip() == "I look."


def test_functionary_speaks_to_all_and_calls_in_one_reply():
    text = '>>>all\nI will look.\n>>>get_time\n{"zone": "CET"}<|eot_id|>'
    older = (
        "<|from|>assistant\n<|recipient|>all\n<|content|>I will look.\n<|from|>assistant\n<|recipient|>get_time\n"
        '<|content|>{"zone": "CET"}<|stop|>'
    )

    for written in (text, older):
        reading = read(written)

        assert calls_of(reading) == [("get_time", {"zone": "CET"})]
        assert (reading.text.strip(), reading.problems) == ("I will look.", ())


@pytest.mark.parametrize(
    "text",
    ['get_time\n{"zone": "CET"}', 'get_time\n<|content|>{"zone": "CET"}<|stop|>', 'get_time\n{"zone": "CET"}>>>'],
)
def test_functionary_may_begin_with_the_name_because_the_mark_stands_in_the_prompt(text):
    assert calls_of(read(text)) == [("get_time", {"zone": "CET"})]


@pytest.mark.parametrize(
    "text",
    [
        'get_time\n{"zone": "CET"} is what it takes.',
        'get_time\n{"hour": 1}',
        'get_clock\n{"zone": "CET"}',
        'get_time:\n{"zone": "CET"}',
        '>>> get_time\n{"zone": "CET"}\nis a session.',
    ],
)
def test_a_name_over_an_object_that_may_be_data_is_no_call(text):
    reading = read(text)

    assert (reading.calls, reading.problems, reading.text) == ((), (), text)


@pytest.mark.parametrize(
    "text",
    [
        '<|python_tag|>get_time.call(zone=open("/etc/passwd").read())',
        '<|python_tag|>get_time.call(zone="a" + "b")',
        "<|python_tag|>get_time.call(zone=__import__('os').sep)",
        '<|python_tag|>get_time.call(zone=f"{1}")',
        "<|python_start|>[get_time(zone=ZONE)]<|python_end|>",
    ],
)
def test_python_is_never_evaluated(text):
    assert read(text).calls == ()


def test_an_argument_that_stands_twice_in_an_expression_is_no_call():
    assert read('<|python_tag|>get_time.call(zone="CET", zone="UTC")').calls == ()


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('<tool_call>{"name": "get_time", "arguments": {"zone": "CET"}}', {"zone": "CET"}),
        ('<tool_call>{"name": "get_time", "arguments": {"zone": "CET"}}</tool_code>', {"zone": "CET"}),
        ('<tool_call>{"name": "get_time", "parameters": {"zone": "CET"}}</tool_call>', {"zone": "CET"}),
        ('<tool_call>{"name": "get_time", "arguments": "{\\"zone\\": \\"CET\\"}"}</tool_call>', {"zone": "CET"}),
        ('<tool_call>{"name": "get_time", "zone": "CET"}</tool_call>', {"zone": "CET"}),
        ('<tool_call>{"get_time": {"zone": "CET"}}</tool_call>', {"zone": "CET"}),
        ("<tool_call>{'name': 'get_time', 'arguments': {'zone': 'CET'}}</tool_call>", {"zone": "CET"}),
        ('<tool_call>{"name": "get_time", "arguments": {"zone": "CET"}</tool_call>', {"zone": "CET"}),
        ('<tool_call>get_time(zone="CET")</tool_call>', {"zone": "CET"}),
        ('<tool_call>get_time\n{"zone": "CET"}\n</tool_call>', {"zone": "CET"}),
        ('<tool_call>{"type": "function", "function": {"name": "get_time", "arguments": {}}}</tool_call>', {}),
        ('<tool_call>{"name": "get_time"}</tool_call>', {}),
        ('<tool_call>{"name": "get_time", "arguments": null}</tool_call>', {}),
    ],
)
def test_what_models_put_between_hermes_markers_is_read(text, arguments):
    reading = read(text)

    assert calls_of(reading) == [("get_time", arguments)]
    assert (reading.problems, reading.text) == ((), "")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ('{"arguments": {"zone": "CET"}}', ProblemKind.UNPARSEABLE),
        ("please call get_time", ProblemKind.UNPARSEABLE),
        ('{"name": "get_time", "arguments": {"zone": "CET}}', ProblemKind.UNPARSEABLE),
        ('{"name": "get_time", "arguments": {"zone": CET}}', ProblemKind.UNPARSEABLE),
        ('{"name": "get_time", "arguments": {"zone": "CET", "zone": "UTC"}}', ProblemKind.AMBIGUOUS),
        ('{"name": "get_clock", "arguments": {}}', ProblemKind.UNKNOWN_TOOL),
        ('{"name": "get_time", "arguments": {"zone": 1.5}}', ProblemKind.WRONG_TYPE),
    ],
)
def test_a_marked_call_that_cannot_be_read_says_why_instead_of_passing_as_text(body, kind):
    reading = read(f"<tool_call>{body}</tool_call>")

    assert reading.calls == ()
    assert [problem.kind for problem in reading.problems] == [kind]


@pytest.mark.parametrize("text", ["<tool_call></tool_call>", "[TOOL_CALLS][]", "<tool_call>[]</tool_call>"])
def test_an_empty_list_of_calls_is_no_call(text):
    assert read(text + " Nothing to do.").calls == ()
    assert read(text + " Nothing to do.").problems == ()


@pytest.mark.parametrize("text", ["</tool_call>", "</parameter>\n</function>\n</tool_call>", "<parameter=zone>\nCET"])
def test_the_end_of_a_call_without_its_beginning_is_a_fault(text):
    (problem,) = read(text).problems

    assert problem.kind is ProblemKind.UNPARSEABLE


def test_arguments_are_the_same_object_in_every_dialect():
    readings = {json.dumps(read(writing.write([CALL])).calls[0].arguments, sort_keys=True) for writing in WRITINGS}

    assert len(readings) == 1
