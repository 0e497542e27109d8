"""The corpus of reported failures, through the command line as its users call it, scored by its own script."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def outcomes(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cases") / "outcomes.jsonl"
    command = [sys.executable, "-m", "rightcall", "parse", "--cases", str(shared / "cases" / "cases_dev.jsonl")]
    with path.open("w") as out:
        subprocess.run(command, stdout=out, check=True)
    return path


@pytest.mark.parametrize(
    ("options", "right", "wrong"), [(["--firm"], 95.0, 0), ([], 92.0, 2)], ids=["firm cases", "all cases"]
)
def test_the_corpus_is_read_right_and_hardly_ever_wrong(
    shared: Path, outcomes: Path, options: list[str], right: float, wrong: int
) -> None:
    command = [
        sys.executable,
        str(shared / "cases" / "score.py"),
        str(shared / "cases" / "cases_dev.jsonl"),
        str(outcomes),
    ]
    scored = subprocess.run(
        [*command, *options, "--show", "wrong,missed"], capture_output=True, text=True, check=True
    )
    last = re.search(r"right \d+/\d+ = ([\d.]+) %, wrong (\d+)/", scored.stdout)
    assert last, scored.stdout
    assert float(last[1]) >= right, scored.stderr
    assert int(last[2]) <= wrong, scored.stderr
