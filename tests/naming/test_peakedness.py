"""PA-Tool's choice: its worked example, what ties go to, and laws over generated candidates."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.naming.peakedness import Candidate, Method, margin, peakedness, ranked, tolerance

# Appendix A.2: counts of the top five as given there, and the others it names, 32 in all. `diet_insights` has its
# three equals and one near name, hence 4; `diet_tracker` has its four equals, hence 4 too, and what is nearest to
# the greedy name, and then what was drawn first, decides.
DIET = [
    *["diet_insights"] * 4,
    *["diet_tracker"] * 5,
    *["calorie_tracker"] * 3,
    *["nutri_guide"] * 3,
    *["eatwise"] * 3,
    *["nutrify"] * 2,
    *["nutri_navigator"] * 2,
    *["diet_planner"] * 2,
    "diet_insightful",
    *["foodlog", "smart_calories", "meal_master", "healthy_bites", "restaurant_lens", "groceries", "kcal"],
]
LAWS = settings(deadline=None, max_examples=60)
NAMES = st.text(alphabet="ab_", min_size=1, max_size=6)
CANDIDATES = st.lists(NAMES, min_size=1, max_size=32)


def test_the_paper_s_worked_example_has_three_different_outcomes() -> None:
    assert len(DIET) == 32
    first = {method: ranked(DIET, "nutri_guide", method=method)[0] for method in Method}
    assert first[Method.PEAKEDNESS] == Candidate("diet_insights", peakedness=4, count=4)
    assert first[Method.MOST_FREQUENT].name == "diet_tracker"
    assert first[Method.MOST_FREQUENT].count == 5
    assert first[Method.GREEDY].name == "nutri_guide"


def test_a_cluster_of_variants_beats_the_most_frequent_name() -> None:
    drawn = [*["lookup"] * 3, "get_weather", "get_weathers", "get_wether", "getweather", "get_weather"]
    assert peakedness(drawn)["lookup"] == 2
    assert ranked(drawn, None)[0] == Candidate("get_weather", peakedness=4, count=2)
    assert ranked(drawn, None, method=Method.MOST_FREQUENT)[0].name == "lookup"


def test_equal_names_drawn_apart_count() -> None:
    assert peakedness(["same", "same", "same", "utterly_other"]) == {"same": 2, "utterly_other": 0}


def test_the_tolerance_grows_with_the_longest_candidate() -> None:
    assert tolerance(["abcde"]) == 1
    assert tolerance(["a", "x" * 15]) == 3
    assert tolerance(["x" * 100], 0.29) == 29  # the product falls short of 29 in binary
    assert tolerance([]) == 0
    assert peakedness(["abcd", "abce"], 0.2) == {"abcd": 0, "abce": 0}
    assert peakedness(["abcd", "abce", "long_enough"], 0.2) == {"abcd": 1, "abce": 1, "long_enough": 0}


def test_a_tie_goes_to_the_name_nearest_to_the_greedy_one() -> None:
    assert ranked(["aaaa", "bbbb"], "bbbc")[0].name == "bbbb"
    assert ranked(["aaaa", "bbbb"], "aaac")[0].name == "aaaa"


def test_what_is_left_of_a_tie_goes_to_the_name_drawn_first() -> None:
    assert [each.name for each in ranked(["bb", "aa"], "cc")] == ["bb", "aa"]
    assert [each.name for each in ranked(["bb", "aa"], None)] == ["bb", "aa"]


def test_no_candidate_gives_no_choice_and_greedy_needs_only_its_own() -> None:
    assert ranked([], "a") == ()
    assert ranked([], "a", method=Method.GREEDY) == (Candidate("a"),)
    assert ranked(["a"], None, method=Method.GREEDY) == ()


def test_the_margin_is_over_the_best_name_that_is_another_habit() -> None:
    drawn = [*["get_weather"] * 10, *["get_weathers"] * 4, *["find_forecast"] * 6]
    ranking = ranked(drawn, None)
    assert [(each.name, each.peakedness) for each in ranking] == [
        ("get_weather", 13),
        ("get_weathers", 13),
        ("find_forecast", 5),
    ]
    assert margin(ranking[0], ranking, tolerance(drawn)) == 8
    assert margin(ranking[2], ranking, tolerance(drawn)) == -8
    assert margin(ranking[0], ranking[:2], tolerance(drawn)) == 13


@given(CANDIDATES, st.floats(0, 1))
@LAWS
def test_peakedness_is_its_definition(drawn: list[str], alpha: float) -> None:
    from rapidfuzz.distance.Levenshtein import distance

    within = alpha * max(map(len, drawn)) + 1e-9
    assert peakedness(drawn, alpha) == {
        name: sum(distance(name, other) <= within for index, other in enumerate(drawn) if index != drawn.index(name))
        for name in drawn
    }


@given(CANDIDATES, NAMES, st.randoms(use_true_random=False))
@LAWS
def test_the_order_of_drawing_decides_ties_only(drawn: list[str], reference: str, random: object) -> None:
    from rapidfuzz.distance.Levenshtein import distance

    shuffled = list(drawn)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = ranked(drawn, reference), ranked(shuffled, reference)
    assert set(one) == set(other)
    assert (one[0].peakedness, distance(one[0].name, reference)) == (
        other[0].peakedness,
        distance(other[0].name, reference),
    )


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), NAMES)
@LAWS
def test_the_first_is_never_behind_another(drawn: list[str], reference: str) -> None:
    ranking = ranked(drawn, reference)
    assert [each.peakedness for each in ranking] == sorted((e.peakedness for e in ranking), reverse=True)
    assert sorted(each.name for each in ranking) == sorted(drawn)
