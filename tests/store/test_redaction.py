"""What is taken out of the log, what stays, and that it never fails."""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.store.redaction import CONTENT_KEYS, DEEPEST, as_json, redact_secrets

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEow+/=\n-----END RSA PRIVATE KEY-----"

texts = st.text(st.characters(exclude_categories=[]), max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
odd_values = st.recursive(
    st.none() | st.integers() | st.floats() | texts | st.binary() | st.complex_numbers() | st.builds(object),
    lambda inner: (
        st.lists(inner) | st.tuples(inner) | st.dictionaries(texts | st.integers() | st.tuples(texts), inner)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("use sk-proj-abcdefghijklmnop1234 now", "use [redacted] now"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]"),
        ("hf_abcdefghijklmnopqrstuvwxyz", "[redacted]"),
        ("id AKIAIOSFODNN7EXAMPLE.", "id [redacted]."),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [redacted]"),
        ("Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [redacted]"),
        ("Authorization: Basic dTpw", "Authorization: Basic [redacted]"),
        ("curl -H 'authorization: token abc'", "curl -H 'authorization: token [redacted]'"),
        (f"token {JWT}, ok", "token [redacted], ok"),
        (f"a\n{KEY}\nb", "a\n[redacted]\nb"),
        ("-----BEGIN PRIVATE KEY-----\ncut off", "[redacted]"),
        ("password=hunter2&user=me", "password=[redacted]&user=me"),
        ("DB_PASSWORD='correct horse' next", "DB_PASSWORD='[redacted]' next"),
        ("https://me:hunter2@example.org/x", "https://me:[redacted]@example.org/x"),
        (r'{"password": "a\"b", "n": 1}', '{"password": "[redacted]", "n": 1}'),
        (r'"{\"api_key\": \"abc\", \"n\": 1}"', r'"{\"api_key\": \"[redacted]\", \"n\": 1}"'),
        ("client_secret: s3cr3t-value", "client_secret: [redacted]"),
    ],
)
def test_secrets_are_replaced_and_the_text_around_them_stays(text, redacted):
    assert redact_secrets(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "What is the weather in Oslo?",
        '{"max_tokens": 512, "temperature": 0}',
        "The token: five letters",
        '{"password": {"type": "string"}}',
        "The bearer of this letter, basic training, task-based work",
        "https://example.org:8080/path?q=a:b@c",
        "risk-assessment-of-a-long-name and disk-usage-of-the-machine",
    ],
)
def test_what_is_no_secret_stays(text):
    assert redact_secrets(text) == text


@given(st.text(alphabet="abc eyJ.-_:='\"\\/@\npasswordtokenBearer sk-AKIA0123456789", max_size=200))
def test_redacting_twice_is_redacting_once(text):
    once = redact_secrets(text)

    assert redact_secrets(once) == once


def test_a_redacted_json_text_is_still_json():
    text = json.dumps({"password": 'a"b\\', "nested": json.dumps({"api_key": "x y"}), "rest": [1, "two"]})

    assert json.loads(redact_secrets(text)) == {
        "password": "[redacted]",
        "nested": '{"api_key": "[redacted]"}',
        "rest": [1, "two"],
    }


@given(json_values)
def test_json_keeps_its_values_exactly(value):
    assert json.loads(as_json(value)) == value


@given(odd_values, st.sampled_from(["full", "none"]), st.sampled_from([None, redact_secrets]))
def test_anything_at_all_becomes_json_that_utf8_can_write(value, content, redact):
    def not_json(constant):
        pytest.fail(f"{constant} is no JSON")

    written = as_json({"data": value, "text": value}, content=content, redact=redact)
    json.loads(written.encode(), parse_constant=not_json)


def test_what_json_has_no_form_for_is_shown_in_words():
    circle = []
    circle.append(circle)
    deep = json.loads("[" * (DEEPEST + 5) + "]" * (DEEPEST + 5))

    class Unshowable:
        def __repr__(self):
            raise RuntimeError

    plain = json.loads(
        as_json(
            {
                "nan": float("nan"),
                "bytes": b"caf\xc3\xa9\xff",
                "huge": 1 << 20_000,
                "circle": circle,
                "set": {1},
                "unshowable": Unshowable(),
                7: "a number as a key",
            }
        )
    )

    assert plain == {
        "nan": "nan",
        "bytes": "café\\xff",
        "huge": hex(1 << 20_000),
        "circle": ["[circular]"],
        "set": [1],
        "unshowable": "[Unshowable that cannot be shown: RuntimeError]",
        "7": "a number as a key",
    }
    assert "[nested too deeply]" in as_json({"deep": deep, "odd": object()})


def test_without_content_only_its_length_is_kept():
    data = {
        "model": "qwen",
        "request": {"messages": [{"role": "user", "content": "my secret"}], "seed": 7},
        "text": None,
    }

    kept = json.loads(as_json(data, content="none"))

    assert kept == {
        "model": "qwen",
        "request": {"messages": {"omitted": True, "chars": len(as_json(data["request"]["messages"]))}, "seed": 7},
        "text": None,
    }


@given(json_values)
def test_without_content_nothing_under_a_content_key_is_kept(value):
    marked = {key: ["CONTENT", value] for key in CONTENT_KEYS}

    assert "CONTENT" not in as_json({"calls": [marked], **marked}, content="none")


def test_redaction_reaches_every_string_and_every_secret_name():
    data = {"a": ["x", {"b": "x"}], "n": 1, "password": "1", "access_token": "12345678", "token": "short"}

    kept = json.loads(as_json(data, redact=lambda text: text.replace("x", "-")))

    assert kept == {
        "a": ["-", {"b": "-"}],
        "n": 1,
        "password": "[redacted]",
        "access_token": "[redacted]",
        "token": "short",
    }


def test_a_redaction_that_fails_neither_leaks_nor_raises():
    def fails(text):
        raise RuntimeError(text)

    assert json.loads(as_json({"text": "secret"}, redact=fails)) == {"text": "[redaction failed]"}


@given(
    st.recursive(
        st.sampled_from([JWT, KEY, "plain", "password=hunter2", "Bearer abcdef0123456789abcdef", 1, "ü token"]),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["a", "Password", "token", "API-key"]), inner)
        ),
        max_leaves=6,
    )
)
def test_data_that_seems_to_hold_no_secret_is_written_as_if_it_had_been_looked_through(data):
    assert as_json(data, redact=redact_secrets) == as_json(data, redact=partial(redact_secrets))
