"""`rightcall ablate`: from a plan's file to an analysis, over a real HTTP server that plays the model."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from rightcall.cli import ablate
from rightcall.errors import UpstreamError, UsageError
from rightcall.evaluation.ablation.block_file import read_blocks

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "ablation"
GUIDE = ROOT / "docs" / "ablation.md"

app = typer.Typer(pretty_exceptions_enable=False)
app.command("ablate", epilog=ablate.EPILOG)(ablate.ablate)

_PATH = re.compile(r"[\w./]+\.(?:md|toml|csv|js|txt)")


class _Server(ThreadingHTTPServer):
    """Calls the first tool for the file that the prompt names, in the shape that the tool asks for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Model)
        self.asked = 0
        self.status = 200
        self.hold_after = sys.maxsize
        self.held = threading.Event()
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class _Model(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked += 1
        if self.server.asked > self.server.hold_after:
            self.server.held.set()
            self.close_connection = True
            self.server.released.wait(300)  # until the test has killed the client
            return
        message = {"role": "assistant", "content": _answer(body)}
        data = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "model": "small"}).encode()
        self.send_response(self.server.status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def _answer(body: dict[str, Any]) -> str:
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools") or []}
    found = _PATH.search(body["messages"][-1]["content"])
    name = next((name for name in ("read_file", "get", "cat", "workspace", "files") if name in tools), None)
    if name is None or found is None:
        return "I would have to look."
    arguments: dict[str, Any] = {"path": found[0].rstrip(".")}
    if "target" in tools[name]["properties"]:
        arguments = {"target": arguments}
    if "action" in tools[name]["properties"]:
        arguments = {"action": "read", **arguments}
    return f"```json\n{json.dumps({'name': name, 'arguments': arguments})}\n```"


@pytest.fixture
def server() -> Iterator[_Server]:
    running = _Server()
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield running
    running.released.set()
    running.shutdown()
    running.server_close()
    thread.join()


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_dry_run_and_a_power_calculation_ask_nothing(server: _Server, tmp_path: Path) -> None:
    plan = EXAMPLE / "plan.toml"
    dry = run(plan, "--dry-run", "--json", "--upstream", server.url, "--out", tmp_path)
    (cost,) = json.loads(dry.stdout)
    assert (cost["blocks"], cost["requests_min"], cost["output_tokens_max"]) == (16, 80, 80 * 160)
    power = run(plan, "--power", "--json")
    (row,) = json.loads(power.stdout)
    assert (row["tasks"], row["families"], row["alpha"]) == (16, 8, 0.0125)
    assert 0 < row["power_families"] < row["power"] < 1
    for shown in (run(plan, "--dry-run", "--upstream", server.url), run(plan, "--power")):
        assert shown.exit_code == 0
        assert "16" in shown.stdout
    assert (server.asked, list(tmp_path.iterdir())) == (0, [])


def test_the_example_runs_to_its_analysis_and_a_second_run_asks_nothing(server: _Server, tmp_path: Path) -> None:
    command = (EXAMPLE / "plan.toml", "--upstream", server.url, "--out", tmp_path)
    first = run(*command, "--json")
    assert first.exit_code == 0, first.output
    (found,) = json.loads(first.stdout)
    assert (server.asked, found["blocks"]["whole"], found["blocks"]["dropped"]) == (80, 16, [])
    levels = {variant["name"]: variant["levels"]["L4"]["value"] for variant in found["variants"]}
    # It reads the five files that are named (a sixth has its path in other words), and calls nothing else.
    assert levels["A"] == levels["B"] == levels["C"] == levels["D"] > levels["none"]
    second = run(*command)
    assert (second.exit_code, server.asked) == (0, 80)
    for expected in ("less A, at L4", "selection error", "claimed without evidence", "frozen as sha256:"):
        assert expected in second.stdout


@pytest.mark.timeout(400)  # it waits for another process, which is slow on a busy machine
def test_a_killed_run_goes_on_and_loses_only_the_block_under_way(server: _Server, tmp_path: Path) -> None:
    server.hold_after = 23
    code = "import typer; from rightcall.cli.ablate import ablate; typer.run(ablate)"
    arguments = [EXAMPLE / "plan.toml", "--upstream", server.url, "--out", tmp_path]
    with subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stderr=subprocess.DEVNULL) as child:
        try:
            assert server.held.wait(300)
        finally:
            os.kill(child.pid, signal.SIGKILL)
    (path,) = tmp_path.iterdir()
    assert len(list(read_blocks(path))) == 4  # 23 of 80 requests were answered, 5 are a block
    server.hold_after, server.asked = sys.maxsize, 0
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    assert server.asked == (16 - 4) * 5
    assert json.loads(done.stdout)[0]["blocks"]["whole"] == 16


def test_a_second_process_on_the_same_file_is_refused(server: _Server, tmp_path: Path) -> None:
    from rightcall.evaluation.json_lines import JsonLines

    with JsonLines(tmp_path / "file-tools--qwen2.5-coder-0.5b.jsonl"):
        refused = run(EXAMPLE / "plan.toml", "--upstream", server.url, "--out", tmp_path)
    assert isinstance(refused.exception, UsageError)
    assert "another process is writing" in str(refused.exception)
    assert server.asked == 0


def test_a_server_that_fails_ends_the_run_as_failed(server: _Server, tmp_path: Path) -> None:
    server.status = 503
    failed = run(EXAMPLE / "plan.toml", "--upstream", server.url, "--out", tmp_path)
    assert isinstance(failed.exception, UpstreamError)
    assert not isinstance(failed.exception, UsageError)
    assert "3 blocks in a row were dropped" in str(failed.exception)


def test_a_pilots_file_is_for_power_only(tmp_path: Path) -> None:
    refused = run(EXAMPLE / "plan.toml", "--pilot", tmp_path / "x.jsonl")
    assert isinstance(refused.exception, UsageError)
    assert "--pilot is for --power" in str(refused.exception)


def test_the_plan_of_the_guide_runs_as_it_stands(server: _Server, tmp_path: Path) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    blocks = re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert {"plan.toml", "operations.py"} <= {name for name, _ in blocks}
    for name, content in blocks:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    done = run(tmp_path / "plan.toml", "--upstream", server.url, "--out", tmp_path / "runs", "--json")
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)
    rates = {variant["name"]: variant["levels"]["L4"]["value"] for variant in found["variants"]}
    assert rates["described"] == rates["one_tool"] == 1.0
    assert rates["none"] < 1.0
