"""Runs of one suite and model with three arms, written and read once."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("scipy", reason="needs the eval extra")
pytest.importorskip("jinja2", reason="needs the eval extra")

from made_runs import write_runs

from rightcall.evaluation.report.contents import Report, build_report


@pytest.fixture(scope="session")
def run_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    return write_runs(folder, suites=("bfcl:simple_python",), models=("small-0.5b",), count=40, broken=(7,))


@pytest.fixture(scope="session")
def report(run_files: list[Path]) -> Report:
    return build_report(run_files)
