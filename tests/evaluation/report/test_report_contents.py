"""What a report says of runs' files."""

import json
import tracemalloc
from dataclasses import replace
from itertools import pairwise

import pytest
from made_runs import made_info, made_records, write_run

from rightcall.errors import UsageError
from rightcall.evaluation.report.contents import LATENCY_EDGES, build_report, report_to_json
from rightcall.evaluation.report.failures import KINDS, kinds_of
from rightcall.evaluation.run_file import read_records

SUITE, MODEL = "bfcl:simple_python", "small-0.5b"


def test_runs_stand_by_arm_from_bare_to_full_in_whatever_order_they_are_named(run_files):
    report = build_report([run_files[2], run_files[0], run_files[1], run_files[0]])
    assert [(part.number, part.info.arm) for part in report.runs] == [(1, "bare"), (2, "parse"), (3, "full")]


def test_arms_of_one_suite_and_model_are_compared_step_by_step_and_from_first_to_last(report):
    assert [(each.first, each.second) for each in report.differences] == [(1, 2), (2, 3), (1, 3)]
    first, last = report.runs[0], report.runs[2]
    whole = report.differences[2]
    value = last.metrics.estimates["task_success"].value - first.metrics.estimates["task_success"].value
    assert whole.numbers["task_success"].difference.value == pytest.approx(value)
    assert whole.gained - whole.lost == pytest.approx(value * whole.cases)


def test_p_values_are_adjusted_for_every_difference_that_is_shown(report):
    for difference in report.differences:
        for name, adjusted in difference.p_holm.items():
            assert adjusted >= difference.numbers[name].p
    smallest = min(each.numbers[name].p for each in report.differences for name in each.p_holm)
    tests = 2 * len(report.differences)
    assert min(p for each in report.differences for p in each.p_holm.values()) == pytest.approx(tests * smallest)


def test_runs_of_other_models_or_suites_are_not_compared(tmp_path):
    others = [
        write_run(tmp_path, made_info(suite, model, "bare"), made_records(suite, model, "bare", 12))
        for suite, model in ((SUITE, MODEL), (SUITE, "other"), ("metatool:similar", MODEL))
    ]
    assert build_report(others).differences == ()


def test_every_failing_case_is_kept_while_there_is_room(report, run_files):
    for part, path in zip(report.runs, run_files, strict=True):
        wrong = {record.case for record in read_records(path) if not record.error and not record.score.success}
        assert {record.case for record in part.failing} == wrong
        assert part.failing_total == len(wrong)


def test_without_room_the_most_harmful_failing_cases_are_kept_and_all_are_counted(report, run_files):
    small = build_report(run_files, failing_cases=9)
    for part, whole in zip(small.runs, report.runs, strict=True):
        assert part.failing == whole.failing[:3]
        assert part.failing_total == whole.failing_total
        assert part.failing_kinds == whole.failing_kinds
    ranks = [list(KINDS).index(kinds_of(record)[0]) for record in report.runs[1].failing]
    assert ranks == sorted(ranks)
    assert len(set(ranks)) > 1


def test_each_kind_of_failure_is_told_from_the_answer():
    records = {
        case.case: case
        for arm in ("bare", "parse")
        for suite in (SUITE, "bfcl:irrelevance")
        for case in made_records(suite, MODEL, arm, 40)
        if not case.score.success
    }
    wrong = next(record for record in records.values() if record.answer.calls and not record.negative)
    false = next(record for record in records.values() if record.answer.calls and record.negative)
    refused = next(record for record in records.values() if record.answer.status == "unresolved")
    assert kinds_of(wrong) == ("wrong but valid",)
    assert kinds_of(replace(wrong, answer=replace(wrong.answer, valid=False))) == ("invalid call",)
    assert kinds_of(false) == ("wrong but valid", "false call")
    assert kinds_of(refused) == ("refused",)
    said = replace(refused, answer=replace(refused.answer, status="text"))
    assert kinds_of(said) == ("no call",)
    assert kinds_of(replace(said, negative=True)) == ("not right",)


def test_infrastructure_errors_stand_apart_by_message(report):
    for part in report.runs:
        assert part.infrastructure == {"connection refused": 1}
        assert part.metrics.infrastructure_errors == 1
        assert part.metrics.answers == 39


def test_the_latency_histogram_counts_every_answer_in_its_bin(report, run_files):
    seconds = [record.seconds for record in read_records(run_files[0]) if not record.error]
    ends = [0.0, *LATENCY_EDGES, float("inf")]
    expected = tuple(sum(low < value <= high for value in seconds) for low, high in pairwise(ends))
    assert report.runs[0].latency == expected
    assert sum(expected) == 39


def test_the_slowest_and_the_largest_cases_are_those_of_the_run(report, run_files):
    records = [record for record in read_records(run_files[2]) if not record.error]
    slowest = sorted(records, key=lambda record: -record.seconds)[:10]
    assert [record.case for record in report.runs[2].slowest] == [record.case for record in slowest]
    assert [record.tokens for record in report.runs[2].largest] == sorted(
        (record.tokens for record in records), reverse=True
    )[:10]
    assert report.runs[2].dearest == ()


def test_with_prices_the_dearest_cases_are_by_dollars(tmp_path):
    info = made_info(SUITE, MODEL, "full", prices={MODEL: {"second": 0.5}})
    part = build_report([write_run(tmp_path, info, made_records(SUITE, MODEL, "full", 20))]).runs[0]
    assert [part.cost(record) for record in part.dearest] == [
        pytest.approx(record.seconds / 2) for record in part.slowest
    ]


def test_held_out_cases_only_where_they_are_asked_for(run_files):
    report = build_report(run_files[:1], held_out=True)
    held_out = [record for record in read_records(run_files[0]) if record.held_out and not record.error]
    assert report.runs[0].metrics.answers == len(held_out)
    assert all(record.held_out for record in report.runs[0].failing)


def test_memory_does_not_grow_with_what_was_said(tmp_path):
    said = "x" * 100_000
    few, many = 20, 120

    def peak(count):
        records = (replace(record, asked=said) for record in made_records(SUITE, MODEL, "bare", count))
        path = write_run(tmp_path, made_info(SUITE, MODEL, "bare", limit=count), records)
        tracemalloc.start()
        build_report([path], failing_cases=2)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(few)  # imports and caches
    assert peak(many) - peak(few) < (many - few) * len(said) / 4


def test_the_json_report_is_json_and_holds_every_part(report):
    data = json.loads(json.dumps(report_to_json(report)))
    assert [run["run"]["arm"] for run in data["runs"]] == ["bare", "parse", "full"]
    run = data["runs"][1]
    assert run["metrics"]["estimates"]["task_success"]["low"] < run["metrics"]["estimates"]["task_success"]["value"]
    assert run["failing"]["total"] == len(run["failing"]["cases"]) == report.runs[1].failing_total
    assert run["failing"]["cases"][0]["attempts"]
    assert data["differences"][0]["numbers"]["task_success"]["difference"]["value"] > 0


def test_a_file_that_is_no_run_is_refused_with_its_name(tmp_path):
    path = tmp_path / "notes.jsonl"
    path.write_text("{}\n")
    with pytest.raises(UsageError, match=r"notes\.jsonl is no run's file"):
        build_report([path])
