"""The summary that a person sees in the terminal."""

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import made_info, made_records, write_run
from rich.console import Console

from rightcall.evaluation.report.contents import build_report
from rightcall.evaluation.report.figures import Axis
from rightcall.evaluation.report.terminal import interval_bar, print_summary, sparkline
from rightcall.evaluation.statistics import Estimate

shares = st.floats(0, 1)


def estimate(low, value, high):
    return Estimate(value, low, high, 10, 10, "")


def printed(report, width=140):
    out = io.StringIO()
    print_summary(report, Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize(
    ("low", "value", "high", "drawn"),
    [
        (0.2, 0.5, 0.8, "  ├──●──┤ "),
        (0.0, 0.0, 0.3, "●──┤      "),
        (0.7, 1.0, 1.0, "       ├─●"),
        (None, 0.5, None, "     ●    "),
        (0.3, 0.5, None, "   ├─●    "),
        (None, None, None, "          "),
    ],
)
def test_an_interval_is_drawn_between_its_ends(low, value, high, drawn):
    assert interval_bar(estimate(low, value, high), Axis(0.0, 1.0), 10) == drawn


def test_a_difference_is_drawn_about_zero():
    axis = Axis(-1.0, 1.0)
    assert interval_bar(estimate(0.4, 0.6, 0.8), axis, 11, zero=True) == "     ┊ ├●┤ "
    assert interval_bar(estimate(-0.3, 0.1, 0.5), axis, 11, zero=True) == "   ├──●─┤  "


@given(st.lists(shares, min_size=3, max_size=3).map(sorted), st.integers(5, 60))
def test_every_interval_fits_its_place_and_shows_its_value_once(ends, width):
    drawn = interval_bar(estimate(*ends), Axis(0.0, 1.0), width)
    assert len(drawn) == width
    assert drawn.count("●") == 1
    assert drawn.index("●") == min(width - 1, int(round(100 * ends[1], 2) / 100 * width))


@given(st.lists(st.integers(0, 10**6), max_size=20))
def test_a_sparkline_has_a_bar_for_every_bin_between_the_first_and_the_last_that_is_used(counts):
    used = [place for place, count in enumerate(counts) if count]
    drawn = sparkline(counts)
    assert len(drawn) == (used[-1] - used[0] + 1 if used else 0)
    if used:
        assert drawn[counts.index(max(counts)) - used[0]] == "█"
        # A bin with anything in it is higher than an empty one.
        assert all((bar == "▁") == (count == 0) for bar, count in zip(drawn, counts[used[0] :], strict=False))


def test_the_summary_shows_results_differences_defects_and_failures(report):
    text = printed(report)
    first, second = report.runs[0], report.runs[1]
    assert "bfcl:simple_python  small-0.5b" in text
    assert f"{100 * second.metrics.estimates['task_success'].value:.1f}".removesuffix(".0") + " %" in text
    assert "├" in text
    assert "#1 bare → #2 parse" in text
    assert "Schema defects" in text
    assert f"#1 bare: {first.failing_total} answers not right (no call {first.failing_total})" in text
    assert "#1 bare: 1 not answered: connection refused" in text


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_line_is_wider_than_the_console_and_no_row_is_folded(report, width):
    lines = printed(report, width).splitlines()
    assert all(len(line) <= width for line in lines)
    assert sum(line.startswith("#1 bare  ") for line in lines) == 1
    assert sum(line.startswith("#1 bare → ") for line in lines) == 2


def test_what_models_and_tools_are_called_steers_no_terminal(tmp_path):
    hostile = "\x1b[2J\u202e[bold]x[/bold]\n#9 fake"
    records = (
        replace(
            record,
            error=hostile if record.position == 1 else "",
            answer=replace(
                record.answer,
                notes=tuple({**note, "tool": record.answer.calls[0].name} for note in record.answer.notes),
            ),
        )
        for record in made_records("s", "m", "parse", 20)
    )
    info = made_info("suite" + hostile, "model" + hostile, "arm" + hostile)
    text = printed(build_report([write_run(tmp_path, info, records)]))
    assert not {"\x1b", "\u202e"} & set(text)
    assert r"\x1b[2J\u202e[bold]x[/bold]\n#9 fake" in text
    assert not [line for line in text.splitlines() if line.startswith("#9")]


def test_held_out_cases_only_is_said(run_files):
    assert printed(build_report(run_files, held_out=True)).startswith("Results, held-out cases only")
