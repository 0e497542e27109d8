"""`rightcall lint` as a person and as a program use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rightcall.schema.compat.subset import covers
from rightcall.schema.lint.lint import rules


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rightcall", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
    )


FAULTY = {
    "type": "object",
    "properties": {"count": {"type": "integer", "enum": [1, "2"], "description": "How many. Default is 1."}},
}
SOUND = {"type": "object", "properties": {"city": {"type": "string", "description": "A town in Norway."}}}


def openai(parameters, **more):
    return [
        {
            "type": "function",
            "function": {
                "name": "get",
                "description": "Reads the forecast of a town.",
                "parameters": parameters,
                **more,
            },
        }
    ]


@pytest.fixture
def file(tmp_path: Path):
    def write(tools, name="tools.json") -> str:
        path = tmp_path / name
        path.write_text(tools if isinstance(tools, str) else json.dumps(tools, indent=1))
        return str(path)

    return write


def test_sound_tools_end_with_0(file):
    done = run("lint", file(openai(SOUND)))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 tools: nothing found\n"


def test_an_error_ends_with_1_and_is_told_with_place_fix_and_evidence(file):
    done = run("lint", file(openai(FAULTY)))

    assert done.returncode == 1
    assert "error   RC403  /parameters/properties/count/enum" in done.stdout
    assert "not all of the members are of type integer: '2'" in done.stdout
    assert "(measured: AgentGauge" in done.stdout
    assert run("lint", file(openai(FAULTY)), "--fail-on", "never").returncode == 0


def test_json_is_for_programs(file):
    done = run("lint", file(openai(FAULTY)), "--format", "json")

    findings = json.loads(done.stdout)["findings"]
    assert {finding["rule"] for finding in findings} >= {"RC403", "RC410"}
    assert all(finding["evidence"]["strength"] in {"measured", "reported", "opinion"} for finding in findings)


def test_sarif_has_what_the_standard_requires(file):
    path = file(openai(FAULTY, **{"x-rightcall-ignore": {"RC410": "said on purpose"}}))

    log = json.loads(run("lint", path, "--format", "sarif").stdout)

    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (one,) = log["runs"]
    driver = one["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == [rule.id for rule in rules()]
    for rule in driver["rules"]:
        assert rule["name"].isalnum()
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}
    for result in one["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"].endswith("tools.json")
        assert location["physicalLocation"]["region"]["startLine"] == 5
        assert location["logicalLocations"][0]["fullyQualifiedName"].startswith("get#/")
    silenced = [result for result in one["results"] if "suppressions" in result]
    assert [(s["ruleId"], s["suppressions"]) for s in silenced] == [
        ("RC410", [{"kind": "inSource", "justification": "said on purpose"}])
    ]


def test_fix_writes_what_is_safe_and_nothing_else(file):
    path = file(openai(FAULTY))

    done = run("lint", path, "--fix")

    assert done.returncode == 0
    assert "fixed RC403" in done.stderr
    written = json.loads(Path(path).read_text())
    expected = {"type": "integer", "enum": [1], "description": "How many. Default is 1.", "default": 1}
    assert written == openai({"type": "object", "properties": {"count": expected}})
    assert covers(written[0]["function"]["parameters"], FAULTY)
    assert covers(FAULTY, written[0]["function"]["parameters"])
    assert "nothing that is safe" in run("lint", path, "--fix").stderr


def test_fix_refuses_files_that_it_cannot_write_back(file):
    done = run("lint", file('def f(a: int) -> None:\n    """Does it."""\n', "tools.py"), "--fix")

    assert done.returncode == 2
    assert "--fix writes tools JSON only" in done.stderr


def test_a_project_silences_rules_in_its_settings(file, tmp_path):
    (tmp_path / "rightcall.toml").write_text('attempts = 2\n[lint.ignore]\nRC403 = "the API is not ours"\n')
    path = file(openai(FAULTY))

    done = run("lint", path, cwd=tmp_path)

    assert done.returncode == 0
    assert "1 silenced" in done.stdout
    assert run("parse", "--tools", path, "--help", cwd=tmp_path).returncode == 0


def test_a_silence_without_a_reason_fails(file, tmp_path):
    (tmp_path / "rightcall.toml").write_text('[lint.ignore]\nRC301 = ""\n')

    done = run("lint", file(openai(SOUND)), cwd=tmp_path)

    assert done.returncode == 1
    assert "RC901" in done.stdout


def test_an_engine_is_looked_at_closely_where_it_is_named(file):
    tools = openai({"type": "object", "properties": {"v": {"type": "string", "pattern": "a"}}})

    done = run("lint", file(tools), "--engine", "llama_cpp")

    assert done.returncode == 1
    assert "pattern is refused by llama.cpp server" in done.stdout
    assert run("lint", file(tools), "--engine", "nothing").returncode == 2


def test_mcp_openapi_and_python_are_read(file):
    mcp = {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "get", "inputSchema": FAULTY}]}}
    parameter = {"name": "count", "in": "query", "schema": FAULTY["properties"]["count"]}
    openapi = {"openapi": "3.1.0", "paths": {"/a": {"get": {"operationId": "get", "parameters": [parameter]}}}}

    for path in (file(mcp, "mcp.json"), file(openapi, "openapi.json")):
        assert "RC403" in run("lint", path).stdout
    module = file('from typing import Any\n\ndef get(v: Any) -> None:\n    """Gets it."""\n', "tools.py")
    done = run("lint", module)
    assert "RC106" in done.stdout
    assert "was executed" in done.stderr


def test_rules_are_listed():
    done = run("lint", "--rules")

    assert [line.split()[0] for line in done.stdout.splitlines()] == [rule.id for rule in rules()]


def test_no_file_says_what_to_do():
    assert "rightcall lint tools.json" in run("lint").stderr
