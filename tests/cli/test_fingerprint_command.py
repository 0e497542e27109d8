"""`rightcall fingerprint`: the same marks as on events, from every kind of file."""

from __future__ import annotations

import json
import subprocess
import sys

from rightcall import Tool
from rightcall.schema.fingerprint import tool_fingerprint, toolset_fingerprint

SCHEMA = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rightcall", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def test_the_marks_are_those_of_the_log(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"type": "function", "function": {"name": "t", "parameters": SCHEMA}}]))
    tool = Tool("t", "", SCHEMA)

    done = run("fingerprint", str(path), "--json")

    assert json.loads(done.stdout) == {
        "toolset": toolset_fingerprint([tool]),
        "tools": [{"name": "t", "fingerprint": tool_fingerprint(tool)}],
    }


def test_people_get_a_line_a_tool_and_one_for_the_set(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [{"name": "a", "inputSchema": SCHEMA}, {"name": "b"}]}))

    lines = run("fingerprint", str(path)).stdout.splitlines()

    assert [line.partition("  ")[2] for line in lines] == ["a", "b", "(toolset of 2)"]
    assert all(line.startswith("sha256:") for line in lines)


def test_a_module_is_executed_and_that_is_said(tmp_path):
    path = tmp_path / "tools.py"
    path.write_text('def add(a: int, b: int = 0) -> int:\n    """Adds two numbers."""\n    return a + b\n')

    done = run("fingerprint", str(path))

    assert done.returncode == 0
    assert "was executed" in done.stderr
    assert done.stdout.splitlines()[0].endswith("  add")
