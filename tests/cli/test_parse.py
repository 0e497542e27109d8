"""`rightcall parse` as a person and as a program use it; the real command in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_time",
            "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]},
        },
    }
]


def run(*arguments: str, given: str | bytes = "") -> subprocess.CompletedProcess[str]:
    data = given.encode() if isinstance(given, str) else given
    done = subprocess.run(
        [sys.executable, "-m", "rightcall", *arguments], input=data, capture_output=True, check=False, timeout=60
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def tools(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS))
    return str(path)


def test_a_reply_on_standard_input_is_read_and_shown(tools: str) -> None:
    done = run(
        "parse", "--tools", tools, given='Sure.\n```json\n{"name": "get_time", "arguments": {"Zone": "UTC"}}\n```'
    )
    assert done.returncode == 0
    assert 'call     get_time {"zone": "UTC"}' in done.stdout
    assert "key_spelling (inferred) /zone" in done.stdout
    assert "text     Sure." in done.stdout


def test_a_problem_ends_with_1_and_says_what_is_wrong(tools: str) -> None:
    done = run("parse", "--tools", tools, given="<tool_call>get_time\n{}\n</tool_call>")
    assert done.returncode == 1
    assert "missing_required: zone is required and missing (string)." in done.stdout


def test_json_is_for_programs(tools: str) -> None:
    message = {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "get_time", "arguments": '{"zone": "UTC"}'}}],
    }
    done = run("parse", "--tools", tools, "--json", given=json.dumps(message))
    assert json.loads(done.stdout)["calls"] == [{"id": "c1", "name": "get_time", "arguments": {"zone": "UTC"}}]


def test_a_reply_that_is_no_utf8_is_read_as_far_as_it_goes(tools: str) -> None:
    assert run("parse", "--tools", tools, given=b"\xff\xfe hello").returncode == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "is not JSON"),
        (b"\xff", "is not UTF-8"),
        (b'"tools"', "tools must be a JSON list, not str"),
        (b'[{"description": "x"}]', "tools[0] has no name"),
        (b"[" * 100_000, "is not JSON"),
    ],
    ids=["broken", "bytes", "a string", "nameless", "deep"],
)
def test_an_unreadable_tools_file_is_named_with_its_fault(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(content)
    done = run("parse", "--tools", str(path), given="x")
    assert done.returncode == 2
    assert words in done.stderr
    assert "tools.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_tool_that_is_no_json_schema_is_named_and_the_others_work(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([*TOOLS, {"name": "odd", "parameters": {"type": "objekt"}}]))
    assert (
        run("parse", "--tools", str(path), given='{"name": "get_time", "arguments": {"zone": "UTC"}}').returncode == 0
    )
    done = run("parse", "--tools", str(path), given='{"name": "odd", "arguments": {}}')
    assert "odd cannot be called" in done.stdout


def test_missing_files_and_missing_options_say_what_to_do(tmp_path: Path) -> None:
    assert "--tools tools.json" in run("parse", given="x").stderr
    assert "cannot be read" in run("parse", "--tools", str(tmp_path / "none.json"), given="x").stderr


def test_a_broken_case_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a", "raw_kind": "text", "raw": "hi", "tools": []}\n{"id": "b", "raw_kind": "dance"}\n')
    done = run("parse", "--cases", str(path))
    assert done.returncode == 2
    assert json.loads(done.stdout.splitlines()[0]) == {
        "id": "a",
        "calls": [],
        "problems": [],
        "notes": [],
        "text": "hi",
    }
    assert "line 2" in done.stderr
    assert "kinds: text, message, stream, messages, server_error" in done.stderr


def test_help_has_examples_and_the_version_is_told() -> None:
    assert "rightcall parse --tools tools.json" in run("parse", "--help").stdout
    assert run("--version").stdout.startswith("rightcall 0.")
