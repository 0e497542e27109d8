"""What of a model's answer is a name, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.naming.names import candidate_name, folded, is_acceptable

LAWS = settings(deadline=None, max_examples=100)


@pytest.mark.parametrize(
    "answer",
    [
        "get_weather",
        "  get_weather\n",
        "`get_weather`",
        '"get_weather"',
        "**get_weather**",
        "'get_weather'.",
        "get_weather()",
        "get_weather(city: str) -> dict",
        "def get_weather(city):",
        "function get_weather()",
        "```\nget_weather\n```",
        "```python\ndef get_weather(city):\n    pass\n```",
        "Name: get_weather",
        "Tool name: `get_weather`",
        "**Function Name:** get_weather",
        "The name is get_weather.",
        "Name:\nget_weather",
        "- get_weather",
        "1. get_weather",
        '{"name": "get_weather"}',
        '```json\n{"tool_name": "get_weather"}\n```',
        "get_weather\n\nThis name says what the tool does.",
        "<think>Weather, so get_forecast?</think>\nget_weather",
        "hmm, get_forecast</think>get_weather",
        "get weather".replace(" ", "."),
        "gét_wéather",
    ],
)
def test_a_name_is_found_in_what_stands_around_it(answer: str) -> None:
    assert candidate_name(answer) == "get_weather"


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("Weather Tracker", "Weather_Tracker"),
        ("getWeather", "getWeather"),
        ("get-weather", "get-weather"),
        ("weather/v2", "weather_v2"),
        ("2fa_code", "_2fa_code"),
        ("Ｗeather", "Weather"),
    ],
)
def test_a_name_is_brought_into_a_form_that_backends_accept(answer: str, name: str) -> None:
    assert candidate_name(answer) == name


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   \n\n",
        "```\n```",
        "Sure! Here is a name",
        "I would call it get_weather because it gets the weather.",
        "get weather",
        "Sure!",
        "天气查询",
        "погода",
        "straße",
        "🌦️",
        "42",
        "___",
        "a" * 65,
        "x" * 100_000,
        "<think>get_weather",
        '{"name": "get_weather", "arguments": {}}',
        '["get_weather"]',
        '{"name": ' * 10_000,
        "name=",
        "<tool_call>",
    ],
)
def test_prose_other_letters_and_absurd_answers_are_no_candidates(answer: str) -> None:
    assert candidate_name(answer) is None


def test_a_name_that_was_cut_off_is_no_candidate() -> None:
    assert candidate_name("get_weather_for_the_ne", cut=True) is None
    assert candidate_name("get_weather\n\nThis name", cut=True) == "get_weather"


def test_names_fold_alike_whatever_their_case_and_separators() -> None:
    assert len({folded(name) for name in ("listItems", "list-items", "LIST_ITEMS", "list.items")}) == 1
    assert folded("list_item") != folded("list_items")


@given(st.text(max_size=80))
@LAWS
def test_whatever_is_found_is_acceptable(answer: str) -> None:
    name = candidate_name(answer)
    assert name is None or is_acceptable(name)


@given(st.from_regex(r"\A[A-Za-z][A-Za-z0-9_]{0,40}[a-z]\Z"))
@LAWS
def test_a_plain_name_stays_what_it_is(name: str) -> None:
    assert candidate_name(name) == name
