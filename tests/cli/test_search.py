"""`rightcall search` as a person and as a program use it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rightcall.domain import Tool
from rightcall.schema.fingerprint import toolset_fingerprint

CATALOGUE = [
    {"name": "convert_currency", "description": "Converts money.", "inputSchema": {"type": "object"}},
    {"name": "get_weather", "description": "Reads the \x1b[31mforecast.", "inputSchema": {"type": "object"}},
]


@pytest.fixture
def catalogue(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": CATALOGUE}))
    return str(path)


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "rightcall", "search", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_best_tools_are_printed_with_scores_and_nothing_that_a_terminal_obeys(catalogue) -> None:
    done = run("weather forecasts", "--tools", catalogue)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[1] == "get_weather"
    assert "\x1b" not in done.stdout


def test_json_has_the_catalogues_version_and_the_fingerprints(catalogue) -> None:
    done = run("money", "--tools", catalogue, "-k", "1", "--json")
    told = json.loads(done.stdout)
    tools = [Tool(t["name"], t["description"], t["inputSchema"]) for t in CATALOGUE]
    assert (told["by"], told["query"], told["catalogue"]) == ("lexical", "money", toolset_fingerprint(tools))
    assert [match["name"] for match in told["matches"]] == ["convert_currency"]
    assert told["matches"][0]["fingerprint"].startswith("sha256:")


def test_nothing_found_ends_with_1(catalogue) -> None:
    done = run("photosynthesis", "--tools", catalogue)
    assert (done.returncode, done.stdout) == (1, "")
    assert "None of the 2 tools" in done.stderr


@pytest.mark.parametrize(
    ("more", "words"), [(["-k", "0"], "equal to 1"), (["--embeddings", "nowhere"], "no folder; give `bundled`")]
)
def test_what_cannot_be_used_ends_with_2(catalogue, more, words) -> None:
    done = run("money", "--tools", catalogue, *more)
    assert done.returncode == 2
    assert words in done.stderr
