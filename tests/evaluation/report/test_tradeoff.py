"""What abstaining costs: arms of one model, right calls against right abstentions, on the same cases."""

import io
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import made_info, made_records, write_run, write_runs
from rich.console import Console

from rightcall.evaluation.metrics import measure
from rightcall.evaluation.report.contents import build_report, report_to_json
from rightcall.evaluation.report.figures import scatter
from rightcall.evaluation.report.page import html_page
from rightcall.evaluation.report.terminal import print_summary
from rightcall.evaluation.report.tradeoff import Share, Tradeoff, TradeoffArm, best
from rightcall.evaluation.statistics import Estimate, rate

CALLS, NONE, MODEL = "bfcl:simple_python", "bfcl:irrelevance", "small-0.5b"


def written(folder, arm, suite, *, count=24, change=None, model=MODEL, **rest):
    records = made_records(suite, model, arm, count, broken=rest.pop("broken", ()))
    return write_run(folder, made_info(suite, model, arm, **rest), map(change, records) if change else records)


def both(folder, arm, **rest):
    return [written(folder, arm, suite, **rest) for suite in (CALLS, NONE)]


def mixed(folder, arm, count=12):
    """A file of one's own with both kinds of cases, in turn."""
    pairs = zip(*(made_records(suite, MODEL, arm, count) for suite in (CALLS, NONE)), strict=True)
    return write_run(folder, made_info("cases/own.yaml", MODEL, arm), (record for pair in pairs for record in pair))


def only(report):
    (tradeoff,) = report.tradeoffs
    return tradeoff


def shares(count, *, low=None, high=None):
    return Estimate(count, low, high, 10, 10, "")


def point(number, calls, abstentions):
    return TradeoffArm(
        number, f"arm {number}", (number,), Share(shares(calls), 0, 0), Share(shares(abstentions), 0, 0)
    )


def test_each_arm_has_its_runs_own_rates_where_all_arms_answered_one_suite_of_each_kind(tmp_path):
    paths = [path for arm in ("bare", "parse", "full") for path in both(tmp_path, arm)]
    found = only(build_report(paths))
    assert [(arm.number, arm.arm) for arm in found.arms] == [(1, "bare"), (2, "parse"), (3, "full")]
    assert set(found.suites) == {CALLS, NONE}
    assert (found.cases_left_out, found.arms_left_out) == (0, ())
    for arm in found.arms:
        calls = measure(made_records(CALLS, MODEL, arm.arm, 24)).estimates["task_success"]
        false = measure(made_records(NONE, MODEL, arm.arm, 24)).estimates["false_calls"]
        assert arm.right_calls.estimate == calls
        abstained = arm.right_abstentions.estimate
        assert (abstained.value, abstained.low, abstained.high) == pytest.approx(
            (1 - false.value, 1 - false.high, 1 - false.low)
        )


def test_suites_are_pooled_case_by_case_with_families_as_the_samples(tmp_path):
    suites = (CALLS, "metatool:similar", NONE)
    paths = [written(tmp_path, arm, suite, count=30) for arm in ("parse", "full") for suite in suites]
    records = [record for suite in suites[:2] for record in made_records(suite, MODEL, "full", 30)]
    values = [float(record.score.success) for record in records]
    expected = rate(values, [record.family for record in records])
    found = only(build_report(paths)).arms[1].right_calls.estimate
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert (found.n, found.families) == (60, expected.families)
    assert found.families < 60  # some families stand in both suites


def test_gained_and_lost_count_cases_against_the_first_arm(tmp_path):
    def change(record):
        # In the second arm: calls 0 to 4 are wrong; of the negative cases 0 to 9 nothing is called.
        if record.negative:
            return replace(record, answer=replace(record.answer, calls=())) if record.position < 10 else record
        return replace(record, score=replace(record.score, success=False)) if record.position < 5 else record

    paths = both(tmp_path, "full") + [
        write_run(tmp_path, made_info(suite, MODEL, "careful"), map(change, made_records(suite, MODEL, "full", 24)))
        for suite in (CALLS, NONE)
    ]
    first, second = only(build_report(paths)).arms
    assert first.right_calls.gained == first.right_calls.lost == 0
    lost = sum(record.score.success for record in made_records(CALLS, MODEL, "full", 5))
    gained = sum(record.false_call for record in made_records(NONE, MODEL, "full", 10))
    assert lost > 0
    assert gained > 0
    assert (second.right_calls.gained, second.right_calls.lost) == (0, lost)
    assert (second.right_abstentions.gained, second.right_abstentions.lost) == (gained, 0)


def test_a_suite_with_both_kinds_of_cases_is_split_case_by_case(tmp_path):
    found = only(build_report([mixed(tmp_path, arm) for arm in ("parse", "full")]))
    assert found.suites == ("cases/own.yaml",)
    for arm in found.arms:
        right = [record.score.success for record in made_records(CALLS, MODEL, arm.arm, 12)]
        abstained = [not record.answer.calls for record in made_records(NONE, MODEL, arm.arm, 12)]
        assert arm.right_calls.estimate.value == pytest.approx(sum(right) / 12)
        assert arm.right_abstentions.estimate.value == pytest.approx(sum(abstained) / 12)
        assert len(arm.runs) == 1


def test_only_cases_that_every_arm_answered_count_and_the_others_are_counted_out(tmp_path):
    paths = [*both(tmp_path, "parse"), *both(tmp_path, "full", count=20, broken=(2, 5))]
    paths.append(written(tmp_path, "parse", "metatool:similar"))  # the other arm was not run on it
    found = only(build_report(paths))
    for arm in found.arms:
        assert arm.right_calls.estimate.n == arm.right_abstentions.estimate.n == 18
    assert set(found.suites) == {CALLS, NONE}
    assert found.cases_left_out == 2 * (24 - 18) + 24
    kept = [
        record.score.success for record in made_records(CALLS, MODEL, "parse", 20) if record.position not in {2, 5}
    ]
    assert found.arms[0].right_calls.estimate.value == pytest.approx(sum(kept) / 18)


def test_cases_of_the_same_name_in_two_suites_are_two_cases(tmp_path):
    paths = []
    for arm in ("parse", "full"):
        for suite in ("own/a.yaml", "own/b.yaml"):
            records = (
                replace(record, case=f"case {record.position}") for record in made_records(CALLS, MODEL, arm, 9)
            )
            paths.append(write_run(tmp_path, made_info(suite, MODEL, arm), records))
        paths.append(written(tmp_path, arm, NONE))
    assert only(build_report(paths)).arms[0].right_calls.estimate.n == 18


def test_an_arm_that_shares_no_cases_of_both_kinds_is_left_out_by_name(tmp_path):
    paths = both(tmp_path, "parse") + both(tmp_path, "full")
    for suite, made in (("metatool:similar", CALLS), ("metatool:reliability", NONE)):
        paths.append(write_run(tmp_path, made_info(suite, MODEL, "bare"), made_records(made, MODEL, "bare", 9)))
    found = only(build_report(paths))
    assert [arm.arm for arm in found.arms] == ["parse", "full"]  # though the odd one stands first
    assert found.arms_left_out == ("bare",)


def test_there_is_no_figure_without_two_arms_that_have_both_kinds_of_cases(tmp_path):
    alone = [*both(tmp_path, "full"), written(tmp_path, "parse", CALLS), written(tmp_path, "bare", NONE)]
    other = both(tmp_path, "parse", model="another")
    report = build_report(alone + other)
    assert report.tradeoffs == ()
    assert report_to_json(report)["tradeoffs"] == []
    assert 'id="abstention"' not in html_page(report)
    assert "#abstention" not in html_page(report)


def test_each_model_has_a_figure_of_its_own(tmp_path):
    report = build_report(write_runs(tmp_path, count=20))
    assert [tradeoff.model for tradeoff in report.tradeoffs] == ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"]
    text = html_page(report)
    assert text.count('<svg viewBox="0 0 420.0 320.0"') == 3
    assert text.count('href="#abstention"') == 1


def test_runs_of_one_arm_on_the_same_cases_are_averaged_as_repeats_are(tmp_path):
    def wrong(record):
        return replace(record, score=replace(record.score, success=False))

    paths = both(tmp_path, "parse") + both(tmp_path, "full")
    once = only(build_report(paths)).arms[1]
    again = written(tmp_path, "full", CALLS, change=wrong, seed=1)
    twice = only(build_report([*paths, again])).arms[1]
    assert twice.right_calls.estimate.n == once.right_calls.estimate.n
    assert twice.right_calls.estimate.value == pytest.approx(once.right_calls.estimate.value / 2)
    assert len(twice.runs) == len(once.runs) + 1


def test_held_out_cases_only_where_they_are_asked_for(tmp_path):
    paths = both(tmp_path, "parse") + both(tmp_path, "full")
    found = only(build_report(paths, held_out=True))
    assert found.arms[0].right_calls.estimate.n == sum(r.held_out for r in made_records(CALLS, MODEL, "full", 24))


def test_page_terminal_and_json_say_the_same_numbers(tmp_path):
    report = build_report(both(tmp_path, "parse") + both(tmp_path, "full"))
    _, arm = only(report).arms
    data = json.loads(json.dumps(report_to_json(report)))["tradeoffs"][0]["arms"][1]
    assert data["right_calls"]["estimate"]["value"] == arm.right_calls.estimate.value
    assert data["right_abstentions"]["gained"] == arm.right_abstentions.gained
    section = html_page(report).partition('id="abstention"')[2].partition("</section>")[0]
    assert f"{round(arm.right_calls.estimate.value * 24)} of 24" in section
    changes = f"{arm.right_calls.gained} gained, {arm.right_calls.lost} lost"
    assert changes in section
    out = io.StringIO()
    print_summary(report, Console(file=out, width=140))
    table = out.getvalue().partition("Right calls against right abstentions")[2]
    assert f"{MODEL}  24 cases with a right call, 24 without" in table
    (row,) = [line for line in table.splitlines() if line.startswith("full ")]
    assert f"{100 * arm.right_calls.estimate.value:.1f}".removesuffix(".0") + " %" in row
    assert f"+{arm.right_calls.gained}, −{arm.right_calls.lost}" in row


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_of_the_terminals_table_is_wider_than_the_console(tmp_path, width):
    long = "an-arm-of-a-very-long-name" * 3
    out = io.StringIO()
    print_summary(build_report(both(tmp_path, "full") + both(tmp_path, long)), Console(file=out, width=width))
    table = out.getvalue().partition("Right calls against right abstentions")[2].partition("answers not right")[0]
    assert "an-arm-of" in table
    assert all(len(line) <= width for line in out.getvalue().splitlines() if "not right" not in line)


def test_hostile_names_of_models_suites_and_arms_stay_text(tmp_path):
    hostile = "\"'><script>alert(1)</script>\x1b[2J\u202e"
    paths = []
    for arm in ("full", "other"):
        for suite in (CALLS, NONE):
            info = made_info(suite + hostile, MODEL + hostile, arm + hostile)
            paths.append(write_run(tmp_path, info, made_records(suite, MODEL, arm, 12)))
    report = build_report(paths)
    assert only(report).model == MODEL + hostile
    section = html_page(report).partition('id="abstention"')[2].partition("</section>")[0]
    assert "<script" not in section
    assert "\u202e" not in section
    assert section.count("&lt;script&gt;") > 4
    out = io.StringIO()
    print_summary(report, Console(file=out, width=140))
    assert not {"\x1b", "\u202e"} & set(out.getvalue())


def test_the_line_leads_through_the_arms_that_no_other_beats():
    arms = (point(1, 0.9, 0.2), point(2, 0.9, 0.4), point(3, 0.7, 0.4), point(4, 0.5, 0.8), point(5, 0.5, 0.8))
    assert [arm.number for arm in best(Tradeoff("m", (), arms, 0, ()))] == [5, 4, 2]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8))
def test_an_arm_is_off_the_line_exactly_where_another_is_as_good_in_both_and_better_in_one(places):
    arms = tuple(point(number, x / 4, y / 4) for number, (x, y) in enumerate(places, start=1))
    beaten = {
        number
        for number, ours in enumerate(places, start=1)
        if any(other != ours and other[0] >= ours[0] and other[1] >= ours[1] for other in places)
    }
    line = [arm.number for arm in best(Tradeoff("m", (), arms, 0, ()))]
    assert sorted(line) == sorted(set(range(1, len(places) + 1)) - beaten)
    calls = [places[number - 1][0] for number in line]
    assert calls == sorted(calls)


def test_axes_reach_as_far_as_the_intervals_and_what_they_include():
    pairs = [(1, shares(0.62, low=0.55, high=0.69), shares(0.31, low=0.25, high=0.38))]
    fitted = scatter(pairs)
    assert [tick.value for tick in (fitted.x_ticks[0], fitted.x_ticks[-1])] == pytest.approx([0.5, 0.7])
    assert [tick.value for tick in (fitted.y_ticks[0], fitted.y_ticks[-1])] == pytest.approx([0.2, 0.4])
    wider = scatter(pairs, x_includes=[1.0], y_includes=[0.0])
    assert wider.x_ticks[-1].value == pytest.approx(1.0)
    assert wider.y_ticks[0].value == 0.0
    corner = scatter([(1, shares(1.0), shares(0.0))])
    assert [tick.value for tick in (corner.x_ticks[0], corner.x_ticks[-1])] == pytest.approx([0.8, 1.0])
    assert [tick.value for tick in (corner.y_ticks[0], corner.y_ticks[-1])] == pytest.approx([0.0, 0.2])


@given(st.lists(st.tuples(st.floats(0.05, 0.95), st.floats(0.05, 0.95)), min_size=1, max_size=4))
def test_numbers_of_points_hide_no_other_point_and_no_other_number(places):
    points = scatter([(n, shares(x), shares(y)) for n, (x, y) in enumerate(places, start=1)]).points
    labels = [(point.label_x, point.label_y) for point in points]
    assert len(set(labels)) == len(labels)
    for point in points:
        others = [(other.x, other.y) for other in points]
        assert min(((point.label_x - x) ** 2 + (point.label_y - y) ** 2) ** 0.5 for x, y in others) > 5
