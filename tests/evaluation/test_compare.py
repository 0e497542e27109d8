"""Two runs' files against each other: by case and family, what was gained and lost, what is in one only."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from made_records import INFO, made_record
from test_metrics import rounded

from rightcall.errors import UsageError
from rightcall.evaluation.compare import compare, comparison_to_json, open_run
from rightcall.evaluation.run_file import RunFile
from rightcall.evaluation.statistics import mcnemar_exact, paired_difference

GOLDEN = Path(__file__).with_name("golden") / "comparison.json"


@pytest.fixture
def runs(tmp_path):
    """Writes two runs' files from records and opens them."""

    def written(first, second, **infos):
        opened = []
        for arm, records in (("bare", first), ("full", second)):
            info = replace(INFO, arm=arm, **infos.get(arm, {}))
            with RunFile(tmp_path / f"{arm}.jsonl", info) as file:
                for record in records:
                    file.append(record)
            opened.append(open_run(tmp_path / f"{arm}.jsonl"))
        return opened

    return written


def records(right, *, family=lambda n: f"family_{n}", **rest):
    return [made_record(f"case_{n}", right=bool(yes), family=family(n), **rest) for n, yes in enumerate(right)]


def test_the_difference_is_that_of_the_paired_test_by_family(runs):
    before, after = [0, 1, 0, 1, 0, 1, 0, 0] * 3, [1, 1, 0, 1, 1, 1, 0, 1] * 3
    first, second = (records(right, family=lambda n: f"family_{n % 8}") for right in (before, after))
    found = compare(*runs(first, second)).numbers["task_success"]
    expected = paired_difference(before, after, [n % 8 for n in range(24)])
    assert (found.first, found.second) == (pytest.approx(9 / 24), pytest.approx(18 / 24))
    assert found.difference.value == pytest.approx(9 / 24)
    assert (found.difference.low, found.difference.high) == pytest.approx(
        (expected.estimate.low, expected.estimate.high)
    )
    assert found.p == pytest.approx(expected.p)
    assert found.p_holm >= found.p


def test_cases_gained_and_lost_show_what_both_answered(runs):
    same = [made_record("c"), made_record("d", right=False)]
    first = [made_record("a", right=False, calls=()), made_record("b"), *same]
    second = [made_record("a"), made_record("b", right=False, calls=("search",)), *same]
    found = compare(*runs(first, second))
    (gained,), (lost,) = found.gained, found.lost
    assert (gained.case, gained.first, gained.second) == ("a", 0, 1)
    assert gained.first_answers[0]["text"] == "hello"
    assert gained.second_answers[0]["calls"] == [{"name": "get_weather", "arguments": {"city": "a"}}]
    assert (lost.case, lost.second_answers[0]["calls"][0]["name"]) == ("b", "search")
    assert (found.unchanged, found.unchanged_right) == (("c", "d"), 1)


def test_repeats_are_averaged_by_case_before_pairing(runs):
    first = [made_record("a", right=n < 1, repeat=n) for n in range(4)] + [made_record("b")]
    second = [made_record("a", right=n < 3, repeat=n) for n in (3, 2, 1, 0)] + [made_record("b")]
    found = compare(*runs(first, second))
    (gained,) = found.gained
    assert (gained.first, gained.second) == (0.25, 0.75)
    assert [answer["repeat"] for answer in gained.second_answers] == [0, 1, 2, 3]
    assert found.numbers["task_success"].difference.value == pytest.approx(0.25)
    assert found.numbers["task_success"].difference.n == 2


def test_a_number_is_compared_on_the_cases_that_have_it_in_both(runs):
    first = [made_record(f"{n}", valid=n < 2, calls=("t",) if n < 4 else ()) for n in range(6)]
    second = [made_record(f"{n}", valid=True, calls=("t",) if n > 1 else ()) for n in range(6)]
    found = compare(*runs(first, second)).numbers["schema_validity"]
    assert (found.difference.n, found.first, found.second) == (2, 0, 1)


def test_what_only_one_run_answered_is_named_and_left_out(runs):
    first = [made_record("a"), made_record("b"), made_record("c")]
    second = [made_record("b"), made_record("c", error="down"), made_record("d", right=False)]
    found = compare(*runs(first, second))
    assert (found.cases, found.only_first, found.only_second) == (1, ("a", "c"), ("d",))
    assert found.infrastructure_errors == (0, 1)


def test_mcnemar_stands_only_for_single_answers_of_independent_cases(runs, tmp_path):
    before, after = [0] * 7 + [1] * 5, [1] * 6 + [0] * 2 + [1] * 4
    independent = compare(*runs(records(before), records(after)))
    assert independent.mcnemar == pytest.approx(mcnemar_exact(6, 1))
    for file in tmp_path.iterdir():
        file.unlink()
    first, second = (records(right, family=lambda n: f"family_{n % 6}") for right in (before, after))
    assert compare(*runs(first, second)).mcnemar is None


def test_too_few_families_give_a_reason_instead_of_a_p(runs):
    found = compare(*runs(records([0, 1, 0]), records([1, 1, 1])))
    number = found.numbers["task_success"]
    assert (number.p, number.p_holm) == (None, None)
    assert "too few families" in number.test


def test_cost_is_compared_where_both_runs_have_prices(runs):
    first, second = records([1] * 8), [made_record(f"case_{n}", seconds=3.0) for n in range(8)]
    opened = runs(first, second)
    assert "cost" not in compare(*opened).numbers
    found = compare(*opened, prices={"small": {"second": 0.5}}).numbers["cost"]
    assert (found.first, found.second) == (0.5, 1.5)


@pytest.mark.parametrize("changed", [{"suite": "bfcl:parallel"}, {"suite_version": "2"}])
def test_runs_of_different_suites_are_not_compared(runs, changed):
    with pytest.raises(UsageError, match=next(iter(changed))):
        compare(*runs(records([1]), records([1]), full=changed))


def test_runs_without_a_common_case_compare_to_nothing(runs):
    found = compare(*runs([made_record("a")], [made_record("b")]))
    assert found.cases == 0
    assert found.numbers["task_success"].difference.reason == "no task"


def test_the_json_form_is_the_documented_one(runs):
    first = [made_record(f"case_{n}", right=n % 3 == 0, seconds=1.0 + n) for n in range(8)]
    second = [made_record(f"case_{n}", right=n % 2 == 0, seconds=2.0) for n in range(1, 9)]
    data = comparison_to_json(compare(*runs(first, second)))
    assert rounded(data) == json.loads(GOLDEN.read_text(encoding="utf-8"))
