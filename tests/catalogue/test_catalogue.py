"""Searching a catalogue: what words find, in which order, and what never raises."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.catalogue.lexical import MAX_POSTINGS, SATURATION, Field, LexicalIndex
from rightcall.catalogue.search import Catalogue, catalogue_of
from rightcall.catalogue.words import name_terms, terms
from rightcall.domain import Tool
from rightcall.schema.fingerprint import toolset_fingerprint


def tool(name, description="", *parameters):
    return Tool(name, description, {"type": "object", "properties": {p: {"type": "string"} for p in parameters}})


TOOLS = (
    tool("convertCurrency", "Converts an amount of money from one currency into another.", "amount", "target_code"),
    tool("get_weather", "Reads the forecast of a city.", "city"),
    tool("send_mail", "Sends a letter to somebody.", "recipient", "subject"),
    tool("HTTPServerLog", "Lists what happened on a machine."),
    tool("天気予報", "都市の天気を調べる。"),
)


def found(query, k=3, tools=TOOLS):
    return [t.name for t, _ in Catalogue(tools).search(query, k).matches]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("getUserInfo2", ["get", "user", "info", "2", "getuserinfo2"]),
        ("list_open-items", ["list", "open", "item", "listopenitems"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("PDF&URLTool", ["pdf", "url", "tool", "pdfurltool"]),
        ("weather", ["weather"]),
        ("", []),
        ("&&", []),
    ],
)
def test_names_are_split_where_programmers_join_words(name, expected) -> None:
    assert name_terms(name) == expected


@pytest.mark.parametrize(
    "alike",
    [
        ("flight", "flights"),
        ("plan", "planning", "planned"),
        ("make", "making"),
        ("study", "studies", "studied"),
        ("class", "classes"),
        ("organize", "organizing", "organized"),
        ("STRASSE", "straße"),
    ],
)
def test_words_that_differ_in_their_ending_are_one_term(alike) -> None:
    assert len({term for word in alike for term in terms(word)}) == 1


@pytest.mark.parametrize(("one", "other"), [("string", "str"), ("news", "new"), ("bed", "b"), ("king", "k")])
def test_words_that_only_look_inflected_stay_apart(one, other) -> None:
    # "news" is the known price of taking the plural off; the others are kept by the vowel that a stem must have.
    assert (terms(one) == terms(other)) is (one == "news")


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("exchange money", "convertCurrency"),
        ("currencies", "convertCurrency"),
        ("server log", "HTTPServerLog"),
        ("httpserverlog", "HTTPServerLog"),
        ("what is the weather in the cities", "get_weather"),
        ("target code", "convertCurrency"),
        ("天気", "天気予報"),
    ],
)
def test_a_tool_is_found_by_its_name_its_description_and_its_parameters(query, best) -> None:
    assert found(query)[0] == best


def test_what_shares_no_word_is_not_found() -> None:
    assert found("photosynthesis") == []
    assert found("") == []
    assert found("what is the") == []


def test_a_word_in_the_name_counts_more_than_one_in_a_description() -> None:
    tools = (tool("other", "Prints a label."), tool("print_label", "Does what it says."))
    assert found("label", tools=tools) == ["print_label", "other"]


def test_of_equal_tools_the_first_comes_first_whatever_the_number_asked_for() -> None:
    tools = tuple(tool(f"t{number}", "same words") for number in range(9))
    assert [found("same words", k, tools) for k in (1, 3)] == [["t0"], ["t0", "t1", "t2"]]


def test_scores_are_those_of_bm25_worked_by_hand() -> None:
    index = LexicalIndex({"text": Field(1.0, 0.75)}, [{"text": ["a", "a", "b"]}, {"text": ["b"]}])
    usual = 2
    tf = 2 / (1 - 0.75 + 0.75 * 3 / usual)
    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert index.search(["a"], 5) == [(0, pytest.approx(idf * tf / (SATURATION + tf)))]
    assert [document for document, _ in index.search(["b"], 5)] == [1, 0]


TEXTS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6), max_size=30)


@given(TEXTS, st.lists(st.sampled_from("abcdefghz"), max_size=9), st.integers(1, 40))
def test_numpy_finds_the_very_same_as_plain_python(texts, query, k) -> None:
    pytest.importorskip("numpy", reason="the extra `search` brings numpy")
    index = LexicalIndex({"text": Field(1.0, 0.75)}, [{"text": text} for text in texts])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rightcall.catalogue.lexical.MANY_POSTINGS", 1)
        with_numpy = index.search(query, k)
    assert index.search(query, k) == with_numpy
    assert all(type(number) is int and type(score) is float for number, score in with_numpy)


def test_a_query_of_words_that_every_tool_has_is_bounded() -> None:
    size = 2000
    common = [f"w{number}" for number in range(MAX_POSTINGS // size + 10)]
    index = LexicalIndex({"text": Field(1.0, 0.5)}, [{"text": [*common, f"own{n}"]} for n in range(size)])
    assert index.search([*common, "own1234"], 1)[0][0] == 1234


@given(st.lists(st.text(max_size=30), max_size=8), st.text(max_size=60), st.integers(1, 10))
def test_any_text_can_be_indexed_and_asked_for(names, query, k) -> None:
    tools = [tool(name, name[::-1]) for name in names]
    matches = Catalogue(tools).search(query, k).matches
    assert len(matches) <= k
    scores = [score for _, score in matches]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon"]), min_size=1, max_size=6))
def test_the_words_of_a_description_find_its_tool(words) -> None:
    tools = (*TOOLS, tool("x", " ".join(words)))
    assert found(" ".join(words), 1, tools) == ["x"]


def test_a_search_says_what_was_searched() -> None:
    seen = Catalogue(TOOLS).search("mail", 2)
    assert (seen.query, seen.version) == ("mail", toolset_fingerprint(TOOLS))


def test_a_catalogue_is_indexed_once() -> None:
    assert catalogue_of(TOOLS) is catalogue_of(TOOLS)


def test_schemas_that_are_no_objects_do_not_stop_the_index() -> None:
    odd = (Tool("a", "one", {"properties": 3}), Tool("b", "two", {"$ref": "#"}), Tool("c", "three", {}))
    assert found("two", tools=odd) == ["b"]
