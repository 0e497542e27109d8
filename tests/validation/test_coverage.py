"""What the user named and no call uses: a sign of a call that was not made, never a problem."""

import pytest

from rightcall import Tool, ToolCall
from rightcall.validation.coverage import MAX_CHARS, MAX_MENTIONS, unused_mentions

WEATHER = Tool("get_weather", "Weather of a city")


def unused(text, *arguments, tools=(WEATHER,)):
    calls = [ToolCall(f"c{n}", "get_weather", values) for n, values in enumerate(arguments or [{}])]
    return unused_mentions([{"role": "user", "content": text}], calls, tools)


@pytest.mark.parametrize(
    ("text", "arguments", "found"),
    [
        ("Weather in Oslo and Rome?", {"city": "Oslo"}, ("Rome",)),
        ("Weather in Oslo and Rome?", {"city": "rome, oslo"}, ()),
        ("Compare San Francisco with New York", {"city": "New York"}, ("San Francisco",)),
        ("Write to Ada's brother", {"to": "Ada"}, ()),
        ("Find 'blue note' and \"green note\"", {"q": "blue note"}, ("green note",)),
        ("Find `a.txt` or “b.txt”", {"q": "A.TXT"}, ("b.txt",)),
        ("Add 5 and 7", {"a": 5}, ("7",)),
        ("Add 5 and 7", {"a": 5, "b": 7.0}, ()),
        ("Add 5 and 7", {"values": [5, {"x": 7}]}, ()),
        ("Add 5 and 7", {"text": "5 + 7"}, ()),
        ("Cool it to -5", {"degrees": -5}, ()),
        ("A budget of 1,250", {"n": 1250}, ()),
        ("A loan of $1,250.50", {"n": 1250.5}, ()),
        ("A loan of €300", {"n": 300}, ()),
        ("A loan of £300", {"n": 200}, ("£300",)),
        ("At 7%", {"rate": 7}, ()),
        ("At 7%", {"rate": 0.07}, ()),
        ("At 7 percent", {"rate": 0.07}, ()),
        ("At 7%", {"rate": 0.7}, ("7%",)),
        ("About 2 million people", {"n": 2000000}, ()),
        ("About 2 million people", {"n": 2}, ()),
        ("About 1.5k", {"n": 1500}, ()),
        ("About 3 billion", {"n": 3000000000}, ()),
        ("At 5:30", {"time": "5:30"}, ()),
        ("At 5:30", {"time": "17:30"}, ("5:30",)),
        ("At 5:30", {"hour": 5}, ()),
        ("The 3rd of May", {}, ()),
        ("True is not 1", {"flag": True}, ("1",)),
    ],
)
def test_what_no_argument_uses_is_found_as_it_was_written(text, arguments, found):
    assert unused(text, arguments) == found


def test_the_arguments_of_all_calls_count():
    assert unused("Weather in Oslo and Rome?", {"city": "Oslo"}, {"city": "Rome"}) == ()


@pytest.mark.parametrize(
    "text",
    [
        "What is it like?",
        "Please go on. Then stop.",
        "On Monday in January",
        "In Celsius or in US Dollars",
        "I am here",
    ],
)
def test_words_that_name_no_thing_are_no_mentions(text):
    assert unused(text) == ()


def test_names_that_the_tools_themselves_bear_are_no_mentions():
    tools = [Tool("search_wikipedia", "Searches the Wikipedia")]

    assert unused("Look in Wikipedia for Oslo", {"q": "x"}, tools=tools) == ("Oslo",)


def test_only_so_many_are_told():
    assert len(unused("Take " + " and ".join(str(n) for n in range(100, 200)))) == MAX_MENTIONS


def test_a_mention_is_told_once():
    assert unused("From Oslo to Rome and from Oslo to Bonn", {"to": "Rome"}) == ("Oslo", "Bonn")


def test_nothing_is_read_beyond_the_limit():
    assert unused("x " * (MAX_CHARS // 2) + " and Rome and 77") == ()


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user", "content": "Oslo and Rome"}, {"role": "tool", "tool_call_id": "a", "content": "Rome"}],
        [{"role": "user", "content": "in Oslo and Rome"}, {"role": "assistant", "content": "Well, Rome"}],
        [{"role": "user", "content": [{"type": "text", "text": "in Oslo"}]}],
        [{"role": "user", "content": None}],
        [{"role": "user"}],
        [{}],
    ],
)
def test_there_is_nothing_to_say_where_the_last_message_is_not_the_words_of_the_user(messages):
    assert unused_mentions(messages, [ToolCall("c", "get_weather", {})], [WEATHER]) == ()


def test_without_a_call_there_is_nothing_to_cover():
    assert unused_mentions([{"role": "user", "content": "in Oslo"}], [], [WEATHER]) == ()
