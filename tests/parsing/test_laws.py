"""Laws of reading, over generated schemas, values and texts."""

import json

from dialect_texts import WRITINGS
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rightcall import Grade, ModelReply, Tool, parse
from rightcall.parsing.coerce import coerce
from rightcall.parsing.reasoning import BLOCKS
from rightcall.schema.compiled import compile_tool

examples = settings(derandomize=True, deadline=None, max_examples=80)

# -- schemas, and values that are valid under them --------------------------------------------------------------

names = st.from_regex(r"[a-z]{1,6}(_[a-z]{1,4})?", fullmatch=True)
words = st.sampled_from(["celsius", "fahrenheit", "Open", "closed", "in_progress", "DONE", "1", "true", "null", ""])
texts = st.text(max_size=12) | words | st.sampled_from(["12", "02134", "[1]", '{"a": 1}', "None", "1,250", " x "])
integers = st.integers(-(10**20), 10**20)
numbers = st.integers(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False, width=32)


@st.composite
def leaves(draw):
    """A schema without parts, and a strategy of its values."""
    kind = draw(st.sampled_from(["string", "integer", "number", "boolean", "enum", "mixed enum"]))
    if kind == "enum":
        members = draw(st.lists(words, min_size=1, max_size=4, unique_by=lambda word: word.casefold()))
        return {"type": "string", "enum": members}, st.sampled_from(members)
    if kind == "mixed enum":
        members = draw(st.sampled_from([[1, 2, 3], ["a", None], [True, False], ["1", 2], [0.5, "x"]]))
        return {"enum": members}, st.sampled_from(members)
    return {"type": kind}, {
        "string": texts,
        "integer": integers,
        "number": numbers,
        "boolean": st.booleans(),
    }[kind]


@st.composite
def schemas(draw, depth=2):
    """Any schema of the kinds that tools use, and a strategy of its values."""
    kinds = ["leaf"] * 4 + (["array", "object", "nullable", "type list"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "leaf":
        return draw(leaves())
    if kind == "object":
        return draw(objects(depth=depth - 1))
    own, values = draw(schemas(depth=depth - 1))
    if kind == "array":
        return {"type": "array", "items": own}, st.lists(values, max_size=3)
    if kind == "nullable":
        return {draw(st.sampled_from(["anyOf", "oneOf"])): [own, {"type": "null"}]}, values | st.none()
    return {"type": ["integer", "string"]}, integers | texts


@st.composite
def objects(draw, depth=2, min_size=0):
    """An object schema with some required properties, and a strategy of its values."""
    keys = draw(st.lists(names, min_size=min_size, max_size=4, unique_by=lambda key: key.replace("_", "")))
    parts = {key: draw(schemas(depth=depth)) for key in keys}
    needed = [key for key in keys if draw(st.booleans())]
    schema = {"type": "object", "properties": {key: own for key, (own, _) in parts.items()}}
    if needed:
        schema["required"] = needed
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    values = st.fixed_dictionaries(
        {key: parts[key][1] for key in needed}, optional={key: parts[key][1] for key in keys if key not in needed}
    )
    return schema, values


@st.composite
def valid_calls(draw, min_size=0):
    """A tool, and arguments that are valid for it."""
    schema, values = draw(objects(min_size=min_size))
    tool, arguments = Tool("act_on", parameters=schema), draw(values)
    assume(compile_tool(tool).accepts(arguments))  # oneOf [.., null] is broken where the other branch takes null
    return tool, arguments


def native(arguments, name="act_on"):
    return {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}]}


def assert_unchanged(reading, arguments):
    assert reading.problems == ()
    (call,) = reading.calls
    assert (call.name, repr(call.arguments)) == ("act_on", repr(arguments))
    assert {note.grade for note in call.notes} <= {Grade.LOSSLESS}


# -- a valid call is never changed ------------------------------------------------------------------------------


@examples
@given(valid_calls(), st.booleans(), st.sampled_from([None, 2]))
def test_a_valid_native_call_is_never_changed(pair, ascii_only, indent):
    tool, arguments = pair
    text = json.dumps(arguments, ensure_ascii=ascii_only, indent=indent)

    for sent in (text, arguments):
        reading = parse(native(sent), [tool])

        assert_unchanged(reading, arguments)
        assert reading.notes == ()


@examples
@given(valid_calls(), st.booleans())
def test_a_valid_call_in_hermes_form_is_never_changed(pair, ascii_only):
    tool, arguments = pair
    body = json.dumps({"name": "act_on", "arguments": arguments}, ensure_ascii=ascii_only)

    reading = parse(f"<tool_call>\n{body}\n</tool_call>", [tool])

    assert_unchanged(reading, arguments)
    assert reading.text == ""


@examples
@given(valid_calls(), st.booleans(), st.sampled_from([None, 2]))
def test_a_valid_fenced_call_is_never_changed(pair, ascii_only, indent):
    tool, arguments = pair
    body = json.dumps({"name": "act_on", "arguments": arguments}, ensure_ascii=ascii_only, indent=indent)

    reading = parse(f"```json\n{body}\n```", [tool])

    assert_unchanged(reading, arguments)
    assert reading.text == ""


JSON_WRITINGS = [w for w in WRITINGS if w.dialect in {"tagged_json", "harmony", "kimi_k2", "mistral", "deepseek"}]


@examples
@given(valid_calls(), st.sampled_from(JSON_WRITINGS))
def test_a_valid_call_in_any_json_dialect_is_never_changed(pair, writing):
    tool, arguments = pair

    assert_unchanged(parse(writing.write([("act_on", arguments)]), [tool]), arguments)


# -- repair and coercion come to rest ---------------------------------------------------------------------------


def damaged(arguments, how):
    text = json.dumps(arguments, ensure_ascii=False)
    match how:
        case "python":
            return repr(arguments)
        case "trailing comma":
            return text[:-1] + ",}" if arguments else text
        case "fence":
            return f"```json\n{text}\n```"
        case "closer":
            return text + "}"
        case "twice":
            return json.dumps(text)
        case "strings":
            return json.dumps({key: json.dumps(item) for key, item in arguments.items()})
        case "null":
            return json.dumps(arguments | {"other": None})
        case _:
            return json.dumps({key.upper(): item for key, item in arguments.items()})


HOW = ["python", "trailing comma", "fence", "closer", "twice", "strings", "null", "keys"]


@settings(examples, max_examples=150)
@given(valid_calls(min_size=1), st.sampled_from(HOW))
def test_repairing_what_was_repaired_changes_nothing(pair, how):
    tool, arguments = pair

    for call in parse(native(damaged(arguments, how)), [tool]).calls:
        again = parse(native(json.dumps(call.arguments)), [tool])

        assert [(repr(c.arguments), c.notes) for c in again.calls] == [(repr(call.arguments), ())]


@settings(examples, max_examples=150)
@given(
    valid_calls(min_size=1),
    st.recursive(
        st.none() | st.booleans() | integers | texts, lambda inner: st.lists(inner, max_size=2), max_leaves=3
    ),
    st.data(),
)
def test_fitting_what_was_fitted_changes_nothing(pair, wrong, data):
    tool, arguments = pair
    spoiled = arguments | {data.draw(st.sampled_from(sorted(tool.parameters["properties"]))): wrong}

    fitted, _ = coerce(spoiled, tool.parameters)

    if compile_tool(tool).accepts(fitted):
        assert (repr(coerce(fitted, tool.parameters)[0]), coerce(fitted, tool.parameters)[1]) == (repr(fitted), ())


@examples
@given(valid_calls())
def test_a_valid_value_needs_no_fitting(pair):
    tool, arguments = pair

    fitted, notes = coerce(arguments, tool.parameters)

    assert (repr(fitted), notes) == (repr(arguments), ())


# -- what is cut off is no call ---------------------------------------------------------------------------------


@examples
@given(valid_calls(min_size=1), st.sampled_from(JSON_WRITINGS), st.data(), st.sampled_from([None, "stop", "length"]))
def test_a_text_that_ends_inside_the_arguments_is_no_call(pair, writing, data, finish_reason):
    tool, arguments = pair
    assume(arguments)
    text = writing.write([("act_on", arguments)])
    written = json.dumps(arguments, ensure_ascii=False)
    begin = text.rindex(written)
    cut = data.draw(st.integers(begin + 1, begin + len(written) - 1))

    reading = parse(ModelReply(text=text[:cut], finish_reason=finish_reason), [tool])

    assert reading.calls == ()


@examples
@given(valid_calls(min_size=1), st.data())
def test_native_arguments_that_stop_early_are_no_call(pair, data):
    tool, arguments = pair
    text = json.dumps(arguments)
    cut = data.draw(st.integers(1, len(text) - 1))

    assert parse(native(text[:cut]), [tool]).calls == ()


@examples
@given(valid_calls(min_size=1), st.data(), st.sampled_from(["{}", "```json\n{}", "<think>hm</think>\n{}"]))
def test_an_unmarked_call_that_stops_early_is_no_call(pair, data, frame):
    tool, arguments = pair
    body = json.dumps({"name": "act_on", "arguments": arguments})
    cut = data.draw(st.integers(1, len(body) - 2))

    assert parse(frame.format(body[:cut]), [tool]).calls == ()


# -- nothing in a reply raises, and every call is valid ---------------------------------------------------------

TOOLS = [
    Tool(
        "act_on",
        parameters={
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "n": {"type": "integer"},
                "unit": {"enum": ["celsius", "fahrenheit"]},
                "row": {"type": "array", "items": {"type": "number"}},
            },
            "required": ["text"],
            "additionalProperties": False,
        },
    ),
    Tool("get_time"),
]
MARKERS = sorted(
    {marker for writing in WRITINGS for marker in writing.markers}
    | {piece for writing in WRITINGS for piece in writing.write([("act_on", {"text": "a", "n": 1})]).split('"')}
    | set(BLOCKS)
    | set(BLOCKS.values())
)
fragments = (
    st.sampled_from(MARKERS)
    | st.sampled_from(
        [*"{}[]()<>|`'\":,=\n \\/", "```json\n", '"name": "act_on"', '"arguments": {', "act_on", "text"]
    )
    | st.text(max_size=4)
)


def assert_sound(reading, tools):
    compiled = {tool.name: compile_tool(tool) for tool in tools}
    for call in reading.calls:
        assert compiled[call.name].accepts(call.arguments)
        assert call.id
        json.dumps(call.arguments)


@settings(examples, max_examples=150)
@given(st.text(max_size=80), st.sampled_from([None, "stop", "length"]), st.booleans())
def test_any_text_is_read_without_raising(text, finish_reason, reasoning_open):
    reply = ModelReply(text=text, finish_reason=finish_reason, reasoning_open=reasoning_open)

    assert_sound(parse(reply, TOOLS), TOOLS)


@settings(examples, max_examples=300)
@given(st.lists(fragments, max_size=25).map("".join), st.sampled_from([None, "stop", "length"]))
def test_any_pieces_of_markers_are_read_without_raising_and_give_valid_calls_only(text, finish_reason):
    assert_sound(parse(ModelReply(text=text, finish_reason=finish_reason), TOOLS), TOOLS)


@settings(examples, max_examples=150)
@given(st.sampled_from(WRITINGS), st.data())
def test_a_damaged_call_gives_valid_calls_only(writing, data):
    text = writing.write([("act_on", {"text": "buy milk", "n": 3, "unit": "celsius", "row": [1, 2]})])
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 6)))
    put_in = data.draw(fragments | st.just(""))

    assert_sound(parse(text[:start] + put_in + text[end:], TOOLS), TOOLS)


odd_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.just("text"), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(examples, max_examples=150)
@given(st.sampled_from(["act_on", "get_time", "", None, 5]) | st.text(max_size=8), odd_values)
def test_any_native_call_is_read_without_raising_and_gives_valid_calls_only(name, arguments):
    reading = parse(native(arguments, name), TOOLS)

    assert len(reading.calls) + len(reading.problems) >= 1
    assert_sound(reading, TOOLS)


@examples
@given(st.dictionaries(st.sampled_from(["content", "tool_calls", "function_call", "reasoning_content", "choices"]),
                       odd_values, max_size=4))  # fmt: skip
def test_any_odd_message_is_read_without_raising(message):
    message.pop("choices", None)

    assert_sound(parse(message, TOOLS), TOOLS)
