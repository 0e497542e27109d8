"""Names made unique by priority, round after round, down to the original name."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.naming.collisions import settle
from rightcall.naming.names import folded
from rightcall.naming.peakedness import Candidate, Method


def got(rankings: dict[str, list[tuple[str, int]]], method: Method = Method.PEAKEDNESS) -> dict[str, str]:
    made = {name: [Candidate(word, score) for word, score in ranking] for name, ranking in rankings.items()}
    return {name: (each.candidate.name if each.candidate else name) for name, each in settle(made, method).items()}


def test_the_highest_peakedness_takes_a_contested_name_and_the_other_goes_on() -> None:
    assert got({"t1": [("search", 9), ("find", 3)], "t2": [("search", 12), ("look", 4)]}) == {
        "t1": "find",
        "t2": "search",
    }


def test_between_equals_the_first_in_the_list_goes_first() -> None:
    assert got({"t1": [("search", 9), ("find", 3)], "t2": [("search", 9), ("find", 3)]}) == {
        "t1": "search",
        "t2": "find",
    }


def test_a_chain_is_settled_in_rounds() -> None:
    # t2 loses a and goes on to b; there it is ahead of t3, which goes on to c and is ahead of t4.
    rankings = {
        "t1": [("a", 20)],
        "t2": [("a", 18), ("b", 15)],
        "t3": [("b", 10), ("c", 9)],
        "t4": [("c", 5), ("d", 1)],
    }
    assert got(rankings) == {"t1": "a", "t2": "b", "t3": "c", "t4": "d"}
    # The other way round those that were there first keep what they have.
    rankings["t2"] = [("a", 18), ("b", 2), ("e", 1)]
    assert got(rankings) == {"t1": "a", "t2": "e", "t3": "b", "t4": "c"}


def test_a_cascade_ends_in_the_original_name() -> None:
    same = [("search", 9), ("find", 3)]
    assert got({"t1": same, "t2": same, "t3": same, "t4": same}) == {
        "t1": "search",
        "t2": "find",
        "t3": "t3",
        "t4": "t4",
    }


def test_who_had_to_go_on_is_told() -> None:
    settled = settle({"t1": [Candidate("a", 2)], "t2": [Candidate("a", 1)], "t3": []})
    assert [settled[name].contested for name in ("t1", "t2", "t3")] == [False, True, False]


def test_no_name_shadows_another_s_original() -> None:
    assert got({"search": [("find", 9)], "other": [("search", 30), ("Search", 9), ("look", 1)]}) == {
        "search": "find",
        "other": "look",
    }


def test_a_component_may_keep_or_respell_its_own_name() -> None:
    assert got({"get_user": [("get_user", 9)]}) == {"get_user": "get_user"}
    assert got({"get_user": [("getUser", 9)]}) == {"get_user": "getUser"}


def test_names_that_differ_in_spelling_only_contest_each_other() -> None:
    assert got({"t1": [("get_user", 9)], "t2": [("getUser", 8), ("user", 1)]}) == {"t1": "get_user", "t2": "user"}


def test_originals_that_are_alike_already_keep_their_names() -> None:
    assert got({"getUser": [("get_user", 9)], "get_user": [("getUser", 8)]}) == {
        "getUser": "getUser",
        "get_user": "get_user",
    }


def test_the_most_frequent_method_gives_priority_by_count() -> None:
    rankings = {"t1": [Candidate("a", 9, 2), Candidate("b", 1, 1)], "t2": [Candidate("a", 5, 5)]}
    settled = settle(rankings, Method.MOST_FREQUENT)
    assert [each.candidate.name for each in settled.values() if each.candidate] == ["b", "a"]


LAWS = settings(deadline=None, max_examples=100)
WORDS = st.sampled_from(["a", "A", "b", "c", "a_b", "aB", "d", "t1", "t2", "T_2"])
RANKINGS = st.dictionaries(
    st.sampled_from(["t1", "t2", "t3", "T2", "a", "b"]),
    st.lists(st.tuples(WORDS, st.integers(0, 31)), max_size=5, unique_by=lambda pair: pair[0]),
)


@given(RANKINGS)
@LAWS
def test_names_are_unique_and_shadow_nothing_whatever_is_contested(
    rankings: dict[str, list[tuple[str, int]]],
) -> None:
    names = got(rankings)
    assert list(names) == list(rankings)
    assert len(set(names.values())) == len(names)
    for original, name in names.items():
        assert name == original or name in [word for word, _ in rankings[original]]
        if name != original:
            others = [other for other in names if other != original]
            assert folded(name) not in {folded(each) for other in others for each in (other, names[other])}


@given(RANKINGS)
@LAWS
def test_an_uncontested_first_choice_is_had(rankings: dict[str, list[tuple[str, int]]]) -> None:
    names = got(rankings)
    for original, ranking in rankings.items():
        others = {folded(word) for other, more in rankings.items() if other != original for word, _ in more}
        others |= {folded(other) for other in rankings if other != original}
        if ranking and folded(ranking[0][0]) not in others:
            assert names[original] == ranking[0][0]
