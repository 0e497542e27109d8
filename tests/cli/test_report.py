"""`rightcall report` as a person and a program use it."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

pytest.importorskip("scipy", reason="needs the eval extra")
pytest.importorskip("jinja2", reason="needs the eval extra")

import typer
from typer.testing import CliRunner

from rightcall.cli.report import report
from rightcall.domain import ToolCall
from rightcall.errors import StoreError, UsageError
from rightcall.evaluation.cases import Answer, Score
from rightcall.evaluation.records import Record, RunInfo, Tried
from rightcall.evaluation.run_file import RunFile

app = typer.Typer()
app.command("report")(report)


def written(path, arm, right, *, held_out=()):
    """A run of ten cases, of which the numbers in `right` are answered right."""
    info = RunInfo("mine.yaml", "1", "small", arm, created=1_790_000_000.0)
    with RunFile(path, info) as file:
        for number in range(10):
            call = ToolCall("c", "pay", {"amount": 1250 if number in right else 12})
            score = Score(number in right, selection=True, arguments=number in right)
            record = Record(
                f"case {number}",
                0,
                f"family {number}",
                negative=False,
                answer=Answer("calls", (call,), valid=True),
                score=score,
                attempts=(Tried("plain", "small", 1.5, 90, 10),),
                seconds=1.5,
                asked="Pay 12 pounds 50.",
                accepted=([{"name": "pay", "arguments": {"amount": [1250]}, "optional": []}],),
                held_out=number in held_out,
            )
            file.append(replace(record, position=number))
    return path


@pytest.fixture
def runs(tmp_path):
    first = written(tmp_path / "a.jsonl", "bare", {0, 1}, held_out={0, 9})
    return [str(first), str(written(tmp_path / "b.jsonl", "full", range(9), held_out={0, 9}))]


def said(*arguments):
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done


def test_by_default_it_prints_a_summary(runs):
    text = said(*runs).stdout
    assert "20 %" in text
    assert "90 %" in text
    assert "#1 bare → #2 full" in text
    assert "+7, −0" in text
    assert "wrong but valid 8" in text


def test_a_page_is_written_where_it_is_asked_for(runs, tmp_path):
    page = tmp_path / "report.html"
    done = said(*runs, "--html", str(page))
    assert done.stdout == ""
    assert page.read_text(encoding="utf-8").count('<details class="case"') == 9


def test_json_is_one_object_for_programs_and_can_go_with_a_page(runs, tmp_path):
    done = said(*runs, "--json", "--html", str(tmp_path / "report.html"))
    data = json.loads(done.stdout)
    assert [run["metrics"]["estimates"]["task_success"]["value"] for run in data["runs"]] == [0.2, 0.9]
    assert data["differences"][0]["numbers"]["task_success"]["difference"]["value"] == pytest.approx(0.7)
    assert (tmp_path / "report.html").exists()


def test_held_out_cases_only(runs):
    data = json.loads(said(*runs, "--held-out", "--json").stdout)
    assert [run["metrics"]["cases"] for run in data["runs"]] == [2, 2]


def test_failing_cases_shown_are_as_many_as_asked(runs):
    data = json.loads(said(*runs, "--cases", "4", "--json").stdout)
    assert [len(run["failing"]["cases"]) for run in data["runs"]] == [2, 1]
    assert [run["failing"]["total"] for run in data["runs"]] == [8, 1]


def test_runs_without_a_held_out_case_are_refused_with_what_to_do(tmp_path):
    path = written(tmp_path / "a.jsonl", "bare", {0})
    with pytest.raises(UsageError, match="no held-out case; leave out --held-out"):
        said(str(path), "--held-out")


def test_a_page_that_cannot_be_written_is_said(runs, tmp_path):
    with pytest.raises(StoreError, match="cannot be written"):
        said(*runs, "--html", str(tmp_path / "missing" / "report.html"))


def test_without_the_eval_extra_it_says_what_to_install(runs):
    code = (
        "import sys\n"
        "for name in ('numpy', 'scipy', 'statsmodels', 'jinja2'): sys.modules[name] = None\n"
        "from pathlib import Path\n"
        "from rightcall.cli.report import report\n"
        f"report([Path({runs[0]!r})])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtra" in done.stderr
    assert "pip install 'rightcall[eval]'" in done.stderr
