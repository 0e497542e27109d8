"""What records come to: which cases each number counts, how repeats and families enter, what stands apart."""

from __future__ import annotations

import json
import random
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_records import made_note, made_problem, made_record

from rightcall.evaluation.metrics import MEANINGS, measure, metrics_to_json
from rightcall.evaluation.statistics import wilson

GOLDEN = Path(__file__).with_name("golden") / "metrics.json"


def value(records, name):
    return measure(records).estimates[name].value


def test_every_number_that_is_named_is_there_with_its_meaning():
    assert list(measure([made_record("a")]).estimates) == list(MEANINGS)


def test_a_rate_of_single_cases_has_wilsons_interval():
    found = measure(made_record(f"case_{n}", right=n < 15) for n in range(20)).estimates["task_success"]
    assert (found.value, found.n, found.families) == (0.75, 20, 20)
    assert (found.low, found.high) == pytest.approx(wilson(15, 20))


def test_cases_of_one_family_make_the_interval_wider():
    records = [made_record(f"{n}", right=n < 30) for n in range(40)]
    alone = measure(records).estimates["task_success"]
    shared = measure(replace(r, family=f"{n // 5}") for n, r in enumerate(records)).estimates["task_success"]
    assert shared.value == alone.value
    assert shared.families == 8
    assert shared.high - shared.low > 1.5 * (alone.high - alone.low)


def test_repeats_are_averaged_and_are_no_samples():
    once = [made_record(f"{n}", right=n % 2 == 0) for n in range(10)]
    often = [replace(record, repeat=repeat) for record in once for repeat in range(6)]
    assert measure(often).estimates["task_success"] == measure(once).estimates["task_success"]
    assert (measure(often).cases, measure(often).answers) == (10, 60)


def test_a_case_asked_more_often_weighs_no_more():
    records = [made_record("a", right=True), *(made_record("b", right=False, repeat=n) for n in range(9))]
    assert value(records, "task_success") == 0.5


def test_each_rate_counts_among_its_own_cases():
    records = [
        made_record("right"),
        made_record("wrong value", right=False, selection=True),
        made_record("invalid", right=False, valid=False, status="unresolved"),
        made_record("no call", right=False, calls=()),
        made_record("rightly silent", negative=True, calls=()),
        made_record("false call", negative=True, right=False),
    ]
    found = {name: estimate for name, estimate in measure(records).estimates.items() if estimate.n < 6}
    assert {name: estimate.n for name, estimate in found.items()} == {
        "argument_exact_match": 4,
        "tool_selection": 4,
        "schema_validity": 4,
        "false_calls": 2,
    }
    assert value(records, "task_success") == pytest.approx(2 / 6)
    assert value(records, "argument_exact_match") == pytest.approx(1 / 4)
    assert value(records, "tool_selection") == pytest.approx(2 / 4)
    assert value(records, "schema_validity") == pytest.approx(3 / 4)
    assert value(records, "wrong_but_valid") == pytest.approx(2 / 6)
    assert value(records, "refusals") == pytest.approx(1 / 6)
    assert value(records, "false_calls") == pytest.approx(1 / 2)


def test_infrastructure_failures_count_for_nothing_and_stand_apart():
    good = [made_record(f"{n}") for n in range(4)]
    found = measure([*good, made_record("x", right=False, error="connection refused", seconds=99)])
    assert found.infrastructure_errors == 1
    assert found.cases == 4
    assert found.estimates == measure(good).estimates


def test_requests_tokens_and_seconds_are_of_all_attempts():
    records = [made_record(f"{n}", attempts=1 + n % 2, tokens=(100, 20), seconds=float(n)) for n in range(100)]
    assert value(records, "attempts_per_task") == 1.5
    assert value(records, "tokens_per_task") == 180
    assert value(records, "latency_median") == 49
    assert value(records, "latency_p95") == 94


def test_escalations_are_counted():
    assert value([made_record("a", escalated=True), made_record("b")], "escalation_rate") == 0.5


def test_what_failures_cost_is_paid_by_the_successes():
    records = [made_record(f"{n}", right=n < 2, seconds=3.0) for n in range(6)]
    found = measure(records)
    assert (found.cost_unit, found.estimates["cost_per_success"].value) == ("seconds", pytest.approx(9.0))
    paid = measure(records, {"small": {"second": 0.01}})
    assert (paid.cost_unit, paid.estimates["cost_per_success"].value) == ("dollars", pytest.approx(0.09))


def test_a_run_with_a_model_without_price_is_counted_in_seconds_and_says_so():
    records = [made_record("a"), made_record("b", model="larger")]
    found = measure(records, {"small": {"second": 0.01}})
    assert found.cost_unit == "seconds"
    assert "no price for larger" in found.estimates["cost_per_success"].reason


def test_without_a_success_there_is_no_cost_of_one():
    found = measure([made_record("a", right=False), made_record("b", right=False)]).estimates["cost_per_success"]
    assert (found.value, found.reason) == (None, "no case succeeded")


def test_pass_at_k_and_pass_hat_k_are_over_the_repeats():
    right = {"a": 4, "b": 2, "c": 0}
    found = measure(made_record(case, right=n < count, repeat=n) for case, count in right.items() for n in range(4))
    assert {k: round(each.value, 6) for k, each in found.pass_at.items()} == {
        1: 0.5,
        2: round((1 + 5 / 6 + 0) / 3, 6),
        4: round(2 / 3, 6),
    }
    assert {k: round(each.value, 6) for k, each in found.pass_hat.items()} == {
        1: 0.5,
        2: round((1 + 1 / 6 + 0) / 3, 6),
        4: round(1 / 3, 6),
    }


def test_a_case_with_too_few_answers_is_not_in_pass_at_k():
    records = [made_record("a", repeat=n) for n in range(3)] + [made_record("b", right=False)]
    assert [(k, found.n) for k, found in measure(records).pass_at.items()] == [(1, 2), (2, 1), (3, 1)]


def test_errors_are_shares_of_cases_by_family():
    records = [
        made_record("a", problems=(made_problem("arguments"), made_problem("arguments")), status="unresolved"),
        made_record("b", problems=(made_problem("selection"), made_problem("arguments")), status="unresolved"),
        made_record("c", selection_error="functional_confusion"),
        made_record("d"),
    ]
    found = measure(records)
    assert {name: each.value for name, each in found.errors.items()} == {
        "selection": 0.25,
        "arguments": 0.5,
        "policy": 0,
        "protocol": 0,
    }
    assert {name: each.value for name, each in found.selection_errors.items()} == {
        "schema_misalignment": 0,
        "functional_confusion": 0.25,
        "context_misunderstanding": 0,
    }


def test_original_scores_are_over_the_cases_that_have_them():
    records = [
        made_record("a"),
        made_record("b", original={"tool": 1.0, "content": 0.0}),
        made_record("c", original={"tool": 0.0}),
    ]
    found = measure(records).original
    assert {name: (each.value, each.n) for name, each in found.items()} == {"tool": (0.5, 2), "content": (0.0, 1)}


def test_tags_have_their_own_rates():
    records = [made_record(f"{n}", right=n < 3, tags=("dates", "long") if n % 2 else ("dates",)) for n in range(6)]
    found = measure(records).by_tag
    assert {tag: (each["task_success"].value, each["task_success"].n) for tag, each in found.items()} == {
        "dates": (0.5, 6),
        "long": (pytest.approx(1 / 3), 3),
    }


# -- repairs --------------------------------------------------------------------------------------------------------


def repairs(records):
    return {(each.tool, each.field): each for each in measure(records).repairs}


def test_a_field_repaired_in_30_percent_of_its_tools_calls_is_a_schema_defect():
    records = [made_record(f"{n}", notes=(made_note("/days"),) if n < 3 else ()) for n in range(10)]
    records += [made_record(f"other {n}", calls=("search",)) for n in range(50)]
    found = repairs(records)["get_weather", "/days"]
    assert (found.calls, found.repaired, found.schema_defect) == (10, 3, True)
    assert found.share.value == pytest.approx(0.3)
    assert (found.share.low, found.share.high) == pytest.approx(wilson(3, 10))
    fewer = [*records, made_record("one more")]
    assert not repairs(fewer)["get_weather", "/days"].schema_defect


def test_two_kinds_of_repair_at_one_field_are_one_call_repaired():
    notes = made_note("/days"), made_note("/days", kind="range")
    found = repairs([made_record("a", notes=notes), made_record("b")])
    assert found["get_weather", "/days"].repaired == 1


def test_two_calls_of_a_tool_can_both_be_repaired():
    twice = made_record("a", calls=("get_weather",) * 3, notes=(made_note("/days"), made_note("/days")))
    found = repairs([twice])["get_weather", "/days"]
    assert (found.calls, found.repaired) == (3, 2)


def test_places_of_a_list_are_one_field_and_one_call():
    notes = made_note("/items/0/price"), made_note("/items/1/price")
    found = repairs([made_record("a", notes=notes), made_record("b")])
    assert found["get_weather", "/items/*/price"].repaired == 1


def test_repairs_of_no_field_are_counted_by_kind_only():
    notes = made_note("", kind="single_quotes"), made_note("/days")
    found = measure([made_record("a", notes=notes)])
    assert [each.field for each in found.repairs] == ["/days"]
    assert found.note_kinds == {"single_quotes": 1, "type": 1}


def test_notes_of_calls_that_were_refused_are_no_repairs():
    refused = made_record("a", calls=(), status="unresolved", notes=(made_note("/days"),))
    assert measure([refused, made_record("b")]).repairs == ()


# -- laws and limits ------------------------------------------------------------------------------------------------

some_records = st.lists(
    st.builds(
        made_record,
        st.sampled_from("abcdef"),
        right=st.booleans(),
        repeat=st.integers(0, 3),
        negative=st.booleans(),
        calls=st.sampled_from([(), ("get_weather",), ("get_weather", "search")]),
        valid=st.sampled_from([True, False, None]),
        seconds=st.floats(0, 100),
        tags=st.sampled_from([(), ("x",), ("x", "y")]),
        notes=st.lists(st.builds(made_note, st.sampled_from(["", "/a", "/b/0"]))).map(tuple),
        error=st.sampled_from(["", "", "down"]),
    ),
    max_size=30,
    unique_by=lambda record: (record.case, record.repeat),
)


@settings(max_examples=30, deadline=None)
@given(some_records, st.randoms(use_true_random=False))
def test_the_order_of_records_changes_nothing(records, shuffling: random.Random):
    shuffled = records.copy()
    shuffling.shuffle(shuffled)
    assert rounded(metrics_to_json(measure(shuffled))) == rounded(metrics_to_json(measure(records)))


@settings(max_examples=30, deadline=None)
@given(some_records)
def test_any_run_comes_to_numbers_that_are_json(records):
    found = measure(records)
    json.dumps(metrics_to_json(found), allow_nan=False)
    for estimate in found.estimates.values():
        assert (estimate.value is None) <= bool(estimate.reason)
        assert (estimate.low is None) <= bool(estimate.reason)


def test_no_record_is_no_number():
    found = measure([])
    assert (found.cases, found.pass_at, found.repairs) == (0, {}, ())
    assert {estimate.reason for estimate in found.estimates.values()} == {"no task"}


def test_records_are_not_kept():
    def stream():
        for n in range(1_000):
            record = made_record(f"case_{n}", asked="x" * 20_000)
            yield replace(record, answer=replace(record.answer, text="y" * 20_000))

    measure([])  # what is imported and cached on first use is not the run's
    tracemalloc.start()
    try:
        measure(stream())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000  # the records weigh 40 MB


# -- the form -------------------------------------------------------------------------------------------------------


def rounded(data):
    if isinstance(data, dict):
        return {name: rounded(each) for name, each in data.items()}
    if isinstance(data, list | tuple):
        return [rounded(each) for each in data]
    return round(data, 6) if isinstance(data, float) else data


def test_the_json_form_is_the_documented_one():
    records = [
        made_record(
            f"case_{n}",
            right=n % 3 > 0,
            repeat=repeat,
            family=f"family_{n % 4}",
            calls=() if n == 5 else ("get_weather",),
            negative=n == 5,
            tags=("dates",) if n < 4 else (),
            notes=(made_note("/days"),) if n % 3 == 0 else (),
            problems=(made_problem("arguments"),) if n == 3 else (),
            original={"ast": float(n % 3 > 0)},
            seconds=1.0 + n / 4,
        )
        for n in range(8)
        for repeat in range(2)
    ]
    assert rounded(metrics_to_json(measure(records))) == json.loads(GOLDEN.read_text(encoding="utf-8"))
