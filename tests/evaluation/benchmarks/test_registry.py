"""Suites by name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rightcall.errors import UsageError
from rightcall.evaluation.benchmarks.registry import load_suite, suite_names


def test_every_name_loads_a_suite_of_that_name_with_cases(shared: Path) -> None:
    for name in suite_names():
        suite = load_suite(name, shared / "data")
        assert suite.name == name
        assert next(suite.cases()).messages


def test_cases_and_their_ids_are_the_same_each_time(shared: Path) -> None:
    for name in suite_names():
        suite = load_suite(name, shared / "data", seed=3)
        ids = [case.id for case in suite.cases()]
        assert ids == [case.id for case in suite.cases()]
        assert len(set(ids)) == len(ids)


def test_an_unknown_name_is_told_what_is_near_and_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load_suite("bfcl:simple", tmp_path)
    told = str(caught.value)
    assert "Did you mean " in told
    assert "bfcl:simple_python" in told
    assert "metatool:{similar,scenario,reliability,multi_tool}" in told
    assert ".jsonl" in told


@pytest.mark.parametrize("name", ["bfcl:multiple", "metatool:similar", "rotbench:clean:single", "apibank:level-1"])
def test_missing_data_name_the_command_that_gets_them(tmp_path: Path, name: str) -> None:
    benchmark = name.partition(":")[0]
    with pytest.raises(UsageError, match=f"rightcall eval fetch {benchmark}"):
        load_suite(name, tmp_path)


def test_data_are_looked_for_in_the_cache_unless_a_folder_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIGHTCALL_CACHE", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        load_suite("bfcl:multiple")
    assert str(tmp_path / "benchmarks" / "bfcl") in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{\n", "line 1, is no JSON"),
        ("[]\n", "line 1, is list"),
        ('\n{"id": "a"}\n', "line 2: 'function' is missing"),
    ],
)
def test_broken_data_name_file_line_and_fault(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bfcl").mkdir()
    path = tmp_path / "bfcl" / "BFCL_v4_irrelevance.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_suite("bfcl:irrelevance", tmp_path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_a_torn_gzip_file_is_said_to_be_unreadable(tmp_path: Path) -> None:
    (tmp_path / "bfcl").mkdir()
    packed = gzip.compress(b"{}\n" * 1000)
    (tmp_path / "bfcl" / "BFCL_v4_irrelevance.json.gz").write_bytes(packed[:-10])
    with pytest.raises(UsageError, match="cannot be read"):
        load_suite("bfcl:irrelevance", tmp_path)
