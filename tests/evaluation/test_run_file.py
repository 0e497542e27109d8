"""A run's file: nothing is lost, nothing is mixed, what is broken is named."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.domain import ToolCall
from rightcall.errors import UsageError
from rightcall.evaluation.cases import Answer, Score
from rightcall.evaluation.records import Record, RunInfo, Tried, record_from_json, record_to_json
from rightcall.evaluation.run_file import RunFile, read_info, read_records, run_path

INFO = RunInfo("list", "1", "small", "full", sampling={"temperature": 0.0})
WRONG = Score(success=False, selection=False, arguments=False)


def record(case: str, repeat: int = 0, error: str = "") -> Record:
    return Record(case, repeat, "family", negative=False, answer=Answer("text", text="hm"), score=WRONG, error=error)


def test_what_was_appended_is_read_back_after_the_first_line(tmp_path: Path) -> None:
    full = replace(
        record("a"),
        answer=Answer(
            "calls", (ToolCall("1", "f", {"x": [1, None, "é"]}),), "t", True, ({"kind": "k"},), ({"n": 1},)
        ),
        score=Score(success=True, selection=True, arguments=True, original={"ast": 1.0}, selection_error=""),
        attempts=(Tried("plain", "m", 1.5, 3, 4, ("truncated",), {"text": "…"}, cached=True),),
        tags=("x",),
        accepted=([{"name": "f"}],),
    )
    with RunFile(tmp_path / "run.jsonl", INFO) as file:
        file.append(full)
    assert read_info(tmp_path / "run.jsonl") == INFO
    assert list(read_records(tmp_path / "run.jsonl")) == [full]


@given(st.text(), st.integers(), st.booleans())
def test_a_record_survives_json(text: str, repeat: int, negative: bool) -> None:
    before = replace(record(text, repeat), negative=negative, asked=text)
    assert record_from_json(record_to_json(before)) == before


def test_going_on_knows_what_is_done_and_asks_failures_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with RunFile(path, INFO) as file:
        file.append(record("a"))
        file.append(record("b", error="connection refused"))
    with RunFile(path, INFO) as file:
        assert file.done == {("a", 0)}
        file.append(record("b"))
    assert [(r.case, r.error) for r in read_records(path)] == [("a", ""), ("b", "")]


def test_a_case_that_only_failed_comes_once(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    for reason in ("first", "second"):
        with RunFile(path, INFO) as file:
            file.append(record("b", error=reason))
    assert [r.error for r in read_records(path)] == ["second"]


@pytest.mark.parametrize("torn", [b'{"case": "c", "rep', b"{", '{"case": "ü'.encode()[:-1]])
def test_a_last_line_torn_by_a_kill_is_passed_over_and_cut_off(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "run.jsonl"
    with RunFile(path, INFO) as file:
        file.append(record("a"))
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert [r.case for r in read_records(path)] == ["a"]
    with RunFile(path, INFO) as file:
        assert file.done == {("a", 0)}
    assert path.read_bytes() == whole


def test_a_file_torn_in_its_first_line_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"run": {"suite"')
    with RunFile(path, INFO) as file:
        assert file.done == set()
    assert read_info(path) == INFO


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with RunFile(path, INFO) as file:
        file.append(record("a"))
    path.write_bytes(path.read_bytes() + b"nonsense\n")
    with pytest.raises(UsageError, match="line 3, is no record"):
        list(read_records(path))


def test_another_run_is_refused_with_the_setting_that_differs(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    RunFile(path, INFO).close()
    with pytest.raises(UsageError, match="its seed is 0, not 7"):
        RunFile(path, replace(INFO, seed=7))


def test_a_run_of_a_newer_rightcall_may_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    RunFile(path, INFO).close()
    RunFile(path, replace(INFO, rightcall="9.9", created=1.0)).close()


def test_the_same_settings_mean_the_same_file_and_others_another(tmp_path: Path) -> None:
    same = run_path(tmp_path, replace(INFO, created=5.0))
    assert same == run_path(tmp_path, INFO)
    assert run_path(tmp_path, replace(INFO, limit=5)) != same
    assert run_path(tmp_path, replace(INFO, suite="rotbench:clean:single")).name.startswith("rotbench-clean-single--")


def test_a_file_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    RunFile(path, INFO).close()
    code = (
        "import os, sys; from rightcall.file_lock import take_lock; h = os.open(sys.argv[1], os.O_RDWR);"
        " take_lock(h, wait=True); print('locked', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(UsageError, match="another process is writing"):
            RunFile(path, INFO)
        other.kill()
    RunFile(path, INFO).close()  # a killed process leaves no lock behind


def test_what_is_no_run_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"case": 1}\n')
    with pytest.raises(UsageError, match="no run's file"):
        read_info(tmp_path / "x.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        read_info(tmp_path / "missing.jsonl")
