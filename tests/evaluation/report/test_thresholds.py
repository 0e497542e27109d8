"""Bounds on metrics, and exit codes that tell a failed bound from a broken run."""

import pytest
from made_runs import made_info, made_records, write_run

from rightcall.errors import UsageError
from rightcall.evaluation.compare import open_run
from rightcall.evaluation.metrics import MEANINGS, measure
from rightcall.evaluation.report.contents import held_out_only
from rightcall.evaluation.report.thresholds import (
    MOST_BROKEN,
    Threshold,
    check_thresholds,
    estimates_by_name,
    exit_code,
    judge,
    parse_threshold,
)

SUITE, MODEL = "bfcl:simple_python", "small-0.5b"


@pytest.fixture(scope="module")
def metrics():
    return measure(made_records(SUITE, MODEL, "parse", 40, repeats=2))


def made_run(folder, arm="parse", **rest):
    return open_run(write_run(folder, made_info(SUITE, MODEL, arm), made_records(SUITE, MODEL, arm, 40, **rest)))


def test_a_threshold_is_a_metric_and_a_bound():
    assert parse_threshold("task_success=0.9") == Threshold("task_success", 0.9)
    assert parse_threshold("latency_p95=12", at_most=True) == Threshold("latency_p95", 12.0, at_most=True)


@pytest.mark.parametrize("name", [*MEANINGS, "errors.selection", "selection_errors.functional_confusion", "pass^4"])
def test_every_metric_can_be_bound(name):
    assert parse_threshold(f"{name}=1").metric == name


def test_an_unknown_metric_is_refused_with_the_names_that_there_are():
    with pytest.raises(UsageError, match=r"no metric 'sucess'; there are task_success, .*wrong_but_valid.*pass\^K"):
        parse_threshold("sucess=0.9")


@pytest.mark.parametrize("text", ["task_success", "task_success=", "task_success=high", "task_success=nan"])
def test_a_threshold_without_a_number_is_refused_with_the_form(text):
    with pytest.raises(UsageError, match=r"task_success=0\.9"):
        parse_threshold(text)


def test_a_bound_that_is_just_reached_is_met(metrics):
    value = metrics.estimates["task_success"].value
    assert 0 < value < 1
    for bound, at_most, met in ((value, False, True), (value + 1e-9, False, False), (value, True, True)):
        outcome = check_thresholds(metrics, [Threshold("task_success", bound, at_most)])
        assert [checked.met for checked in outcome.checked] == [met]
        assert outcome.exit_code == (0 if met else 3)
    assert check_thresholds(metrics, [Threshold("task_success", value - 1e-9, at_most=True)]).exit_code == 3


def test_an_outcome_says_the_estimate_and_its_interval(metrics):
    checked = check_thresholds(metrics, [parse_threshold("task_success=0.99")]).checked[0]
    found = metrics.estimates["task_success"]
    assert checked.estimate == found
    assert f"it is {found.value:.4g} (95 % interval {found.low:.4g} to {found.high:.4g}, 40 cases)" in str(checked)


def test_numbers_of_a_run_alone_can_be_bound_where_the_run_has_them(metrics):
    assert {"pass@2", "pass^2", "original.accuracy"} <= set(estimates_by_name(metrics))
    outcome = check_thresholds(metrics, [parse_threshold("pass^2=0.1"), parse_threshold("original.accuracy=0.1")])
    assert outcome.exit_code == 0
    with pytest.raises(UsageError, match=r"no metric 'pass\^9'; there are task_success.*pass\^2"):
        check_thresholds(metrics, [parse_threshold("pass^9=0.1")])


def test_a_bound_on_what_the_run_never_counted_is_not_met(metrics):
    outcome = check_thresholds(metrics, [parse_threshold("false_calls=0.1", at_most=True)])
    assert not outcome.checked[0].met
    assert "nothing to count" in str(outcome.checked[0])
    assert outcome.exit_code == 3


def test_no_threshold_is_met_by_any_run_that_was_scored(metrics):
    assert check_thresholds(metrics, []).exit_code == 0


def test_a_run_that_infrastructure_spoilt_is_broken_and_not_failed(tmp_path):
    thresholds = [parse_threshold("task_success=1")]
    few = judge(made_run(tmp_path / "few", broken=range(2)), thresholds)
    assert MOST_BROKEN >= 2 / 40
    assert few.outcome.exit_code == 3
    many = judge(made_run(tmp_path / "many", broken=range(3)), thresholds)
    assert many.outcome.exit_code == 1
    assert "3 of 40 cases (8%) were not answered" in many.outcome.broken


def test_a_run_in_which_nothing_was_scored_is_broken_whatever_is_asked(tmp_path):
    none = judge(made_run(tmp_path, broken=range(40)), [])
    assert none.outcome.exit_code == 1
    assert none.outcome.broken == "nothing was scored: 40 infrastructure errors"


def test_a_broken_run_among_several_counts_before_a_failed_one(tmp_path):
    met = judge(made_run(tmp_path / "met"), [])
    failed = judge(made_run(tmp_path / "failed"), [parse_threshold("task_success=1")])
    broken = judge(made_run(tmp_path / "broken", broken=range(40)), [])
    assert exit_code([]) == exit_code([met, met]) == 0
    assert exit_code([met, failed]) == 3
    assert exit_code([failed, broken, met]) == 1


def test_held_out_cases_alone_can_be_judged(tmp_path):
    run = made_run(tmp_path)
    held_out = [record for record in run.records() if record.held_out]
    found = judge(held_out_only(run), [parse_threshold("task_success=0")]).outcome.checked[0].estimate
    assert found.n == len(held_out) < 40
    assert found.value == pytest.approx(sum(record.score.success for record in held_out) / len(held_out))
