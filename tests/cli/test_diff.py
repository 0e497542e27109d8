"""`rightcall diff` as a person and as a program use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rightcall.ports import Event
from rightcall.store.sqlite import SqliteEventLog


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rightcall", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def tool(properties: dict, **more) -> list[dict]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return [{"name": "refund", "description": "Pays back.", "inputSchema": schema, **more}]


@pytest.fixture
def files(tmp_path: Path):
    def write(old, new) -> tuple[str, str]:
        for name, tools in (("old", old), ("new", new)):
            (tmp_path / f"{name}.json").write_text(json.dumps({"tools": tools}))
        return str(tmp_path / "old.json"), str(tmp_path / "new.json")

    return write


AMOUNT = {"type": "integer", "minimum": 1, "maximum": 100}
LESS = {**AMOUNT, "maximum": 50}


def test_a_compatible_change_ends_with_0(files):
    done = run("diff", *files(tool({"amount": LESS}), tool({"amount": AMOUNT})))

    assert (done.returncode, done.stderr) == (0, "")
    assert "compatible" in done.stdout
    assert "/parameters/properties/amount/maximum  maximum changed: 50 -> 100" in done.stdout


def test_a_tightened_bound_ends_with_1_and_shows_a_call_that_fails(files):
    paths = files(tool({"amount": AMOUNT}), tool({"amount": LESS}))

    done = run("diff", *paths, "--json")

    assert done.returncode == 1
    (diff,) = json.loads(done.stdout)["tools"]
    assert diff["verdict"] == "policy"
    assert diff["changes"][0]["example"] == {"amount": 51}
    assert run("diff", *paths, "--fail-on", "structural").returncode == 0


def test_other_words_pass_unless_they_are_asked_about(files):
    old, new = tool({"amount": AMOUNT}), tool({"amount": AMOUNT})
    new[0]["description"] = "Returns money."
    paths = files(old, new)

    assert run("diff", *paths).returncode == 0
    assert run("diff", *paths, "--fail-on", "semantic").returncode == 1


def test_hints_of_mcp_count(files):
    quiet = {"annotations": {"destructiveHint": False}}

    done = run("diff", *files(tool({}, **quiet), tool({})))

    assert done.returncode == 1
    assert "now destructive" in done.stdout


def test_recorded_calls_in_a_file_are_checked_against_the_new_schema(files, tmp_path):
    calls = tmp_path / "calls.jsonl"
    calls.write_text(
        '{"name": "refund", "arguments": {"amount": 70}}\n'
        '{"function": {"name": "refund", "arguments": "{\\"amount\\": 5}"}}\n\n'
    )

    done = run("diff", *files(tool({"amount": AMOUNT}), tool({"amount": LESS})), "--calls", str(calls), "--json")

    (row,) = json.loads(done.stdout)["calls"]
    assert (row["valid"], row["failing"], row["example"]) == (2, 1, {"amount": 70})
    assert "maximum of 50" in row["reason"]


def test_recorded_calls_in_an_event_log_are_checked_too(files, tmp_path):
    path = tmp_path / "log.sqlite"
    log = SqliteEventLog(path)
    for number, amount in enumerate((70, 5)):
        call = {"id": "c", "name": "refund", "arguments": {"amount": amount}}
        log.append(Event(f"turn_{number}", "turn.ended", 1.0, {"status": "calls", "calls": [call]}))
    log.close()

    done = run("diff", *files(tool({"amount": AMOUNT}), tool({"amount": LESS})), "--calls", str(path))

    assert "1 of 2 calls that were valid now fail" in done.stdout


def test_a_line_that_is_no_call_is_named(files, tmp_path):
    calls = tmp_path / "calls.jsonl"
    calls.write_text('{"name": "refund", "arguments": {}}\n[1]\n')

    done = run("diff", *files(tool({}), tool({})), "--calls", str(calls))

    assert done.returncode == 2
    assert "line 2 is no call" in done.stderr


def test_a_missing_file_says_so(tmp_path):
    done = run("diff", str(tmp_path / "none.json"), str(tmp_path / "none.json"))

    assert done.returncode == 2
    assert "cannot be read" in done.stderr


def test_what_a_file_says_cannot_steer_the_terminal(files):
    old, new = tool({"amount": AMOUNT}), tool({"amount": LESS})
    for side in (old, new):
        side[0]["name"] = "a\x1b[31m"

    assert "\x1b[31m" not in run("diff", *files(old, new)).stdout
