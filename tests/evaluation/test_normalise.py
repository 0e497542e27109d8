"""Normaliser rules: what they make equal, and what they leave alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.errors import UsageError
from rightcall.evaluation.normalise import RULES, normalised, same_value


@pytest.mark.parametrize(
    ("rule", "one", "other"),
    [
        ("case", "Berlin", "BERLIN"),
        ("case", "Straße", "STRASSE"),
        ("whitespace", " New \t York\n", "New York"),
        ("date", "2024-05-01", "1 May 2024"),
        ("date", "2024-05-01", "May 1st, 2024"),
        ("date", "2024-05-01", "1 may. 2024"),
        ("date", "2024-05-01", "2024/5/1"),
        ("date", "2024-05-01", "2024-05-01T00:00:00"),
        ("date", "2024-05-01 14:30", "2024-05-01T14:30:00"),
        ("date", "2024-05-01T14:30:00Z", "2024-05-01T16:30:00+02:00"),
        ("number", "12", 12),
        ("number", "12.0", 12),
        ("number", "1,234,567.5", 1234567.5),
        ("number", "-3e2", -300),
        ("units", "5 km", "5000 m"),
        ("units", "5km", "5,000 metres"),
        ("units", "2 h", "120 minutes"),
        ("units", "1.5 Hours", "90 min"),
        ("units", "1 lb", "453.59237 grams"),
        ("units", "12 inches", "1 foot"),
        ("units", "1 week", "7 days"),
    ],
)
def test_two_ways_of_writing_one_value_are_equal_under_their_rule_only(rule: str, one: Any, other: Any) -> None:
    assert same_value(one, other, [rule])
    assert not same_value(one, other)


@pytest.mark.parametrize(
    ("rule", "one", "other"),
    [
        ("date", "01/05/2024", "2024-05-01"),
        ("date", "2024-02-30", "2024-03-01"),
        ("date", "2024-05-01", "2024-05-01T14:30"),
        ("date", "2024-05-01T14:30", "2024-05-01T14:30Z"),
        ("number", "1,2", 12),
        ("number", "12%", 12),
        ("number", "1", True),
        ("number", "0", False),
        ("number", "", 0),
        ("units", "5 M", "5 m"),
        ("units", "1 month", "30 days"),
        ("units", "5 pounds", "5 lb"),
        ("units", "8 oz", "226.796185 g"),
        ("units", "5 m", "5 min"),
        ("units", "5", "5 m"),
    ],
)
def test_what_is_ambiguous_or_another_value_is_left_alone(rule: str, one: Any, other: Any) -> None:
    assert not same_value(one, other, [rule])


def test_rules_reach_into_lists_and_objects_and_are_applied_together() -> None:
    one = {"stops": ["New  York", {"on": "1 May 2024", "far": "5 KM"}]}
    other = {"stops": ["new york", {"on": "2024-05-01", "far": "5000 m"}]}
    assert same_value(one, other, ["whitespace", "date", "units", "case"])
    assert not same_value(one, other, ["whitespace", "date", "units"])


def test_numbers_compare_by_value_and_truth_values_are_no_numbers() -> None:
    assert same_value(5, 5.0)
    assert same_value([1, {"a": 2.0}], [1.0, {"a": 2}])
    assert not same_value(1, True)
    assert not same_value([0], [False])
    assert not same_value("5", 5)


def test_keys_and_order_matter_where_json_says_so() -> None:
    assert same_value({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not same_value({"a": 1}, {"a": 1, "b": None})
    assert not same_value([1, 2], [2, 1])


def test_a_rule_that_does_not_exist_is_refused_with_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"no normaliser 'dates'; did you mean 'date'\? \(there are case, "):
        normalised("x", ["dates"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
WRITTEN = st.from_regex(r"[-+]?[0-9]{1,4}([,.][0-9]{1,3})?(e[0-9]{1,3})? ?(km|h|lb|M|weeks)?", fullmatch=True) | (
    st.from_regex(r"[0-9]{1,4}[-/ ](May|[0-9]{1,2})[-/ ][0-9]{1,4}( [0-9]:[0-9]{2}Z?)?", fullmatch=True)
)


@settings(deadline=None)
@given(value=JSON | WRITTEN, rules=st.permutations(list(RULES)).map(lambda names: names[:2]))
def test_a_normalised_value_stays_as_it_is(value: Any, rules: list[str]) -> None:
    for rule in rules:
        once = normalised(value, [rule])
        assert same_value(normalised(once, [rule]), once)
    assert same_value(value, value, rules)


@settings(deadline=None)
@given(one=WRITTEN, other=WRITTEN, rule=st.sampled_from(list(RULES)))
def test_equality_is_symmetric(one: str, other: str, rule: str) -> None:
    assert same_value(one, other, [rule]) is same_value(other, one, [rule])
