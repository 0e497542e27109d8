"""`rightcall eval` as a process: it runs, goes on after a kill, compares, and says what is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

CASES = """
- id: oslo
  prompt: The weather in Oslo?
  tools: &tools
    - {name: get_weather, description: The weather of a city., parameters: {type: object, properties: {city: {type: string}}, required: [city]}}
  expected: {name: get_weather, arguments: {city: Oslo}}
  family: weather
- id: rome
  prompt: The weather in Rome?
  tools: *tools
  expected: {name: get_weather, arguments: {city: Rome}}
  family: weather
  held_out: true
- id: bern
  prompt: The weather in Bern?
  tools: *tools
  expected: {name: get_weather, arguments: {city: Bern}}
  family: weather
- id: joke
  prompt: Tell me a joke.
  tools: *tools
  expected: none
  family: chat
"""  # noqa: E501 - a tool a line


class _Model(ThreadingHTTPServer):
    """Writes the right call as fenced text; the joke gets words. `stop_at` is the request that is never answered."""

    stop_at = 0

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.reached = threading.Event()
        self.release = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: _Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = body["messages"][0]["content"]
        self.server.asked.append(prompt)
        if len(self.server.asked) == self.server.stop_at:
            self.server.reached.set()
            self.server.release.wait(60)
            return
        city = prompt.removesuffix("?").rpartition(" ")[2]
        call = json.dumps({"name": "get_weather", "arguments": {"city": city}})
        text = "Why did the chicken cross the road?" if "joke" in prompt else f"```json\n{call}\n```"
        message = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
        data = json.dumps({**message, "usage": {"prompt_tokens": 50, "completion_tokens": 9}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def model() -> Iterator[_Model]:
    with _Model() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.release.set()
        server.shutdown()
        thread.join(10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cases.yaml").write_text(CASES)
    return tmp_path


def command(folder: Path, *arguments: str, model: _Model | None = None) -> list[str]:
    where = ["--model", "m", "--upstream", model.url] if model else []
    cache = ["--cache", str(folder / "cache.sqlite"), "--out", str(folder / "runs")]
    return [sys.executable, "-m", "rightcall", "eval", *arguments, *where, *(cache if model else [])]


def evaluate(folder: Path, *arguments: str, model: _Model | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "120", "XDG_CONFIG_HOME": str(folder)}
    return subprocess.run(
        command(folder, *arguments, model=model),
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def records(folder: Path, arm: str) -> list[dict[str, Any]]:
    (path,) = (folder / "runs").glob(f"*--{arm}--*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def test_arms_are_run_and_compared(folder: Path, model: _Model) -> None:
    done = evaluate(folder, "cases.yaml", "--arm", "bare", "--arm", "full", "--json", model=model)
    assert done.returncode == 0, done.stderr
    assert len(model.asked) == 4
    bare, full = json.loads(done.stdout)["runs"]
    assert bare["metrics"]["estimates"]["task_success"]["value"] == 0.25
    assert full["metrics"]["estimates"]["task_success"]["value"] == 1.0
    compared = evaluate(folder, "compare", bare["path"], full["path"], "--json")
    assert compared.returncode == 0, compared.stderr
    assert sorted(change["case"] for change in json.loads(compared.stdout)["gained"]) == ["bern", "oslo", "rome"]
    shown = evaluate(folder, "compare", bare["path"], full["path"])
    assert "task_success" in shown.stdout
    assert "gained: 3" in shown.stdout


def test_a_run_that_was_killed_goes_on_and_loses_only_what_was_under_way(folder: Path, model: _Model) -> None:
    model.stop_at = 3
    process = subprocess.Popen(
        command(folder, "cases.yaml", model=model), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert model.reached.wait(60)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert [record["case"] for record in records(folder, "full")] == ["oslo", "rome"]
    model.release.set()
    done = evaluate(folder, "cases.yaml", model=model)
    assert done.returncode == 0, done.stderr
    assert model.asked[3:] == ["The weather in Bern?", "Tell me a joke."]
    assert {record["case"] for record in records(folder, "full")} == {"oslo", "rome", "bern", "joke"}


def test_ctrl_c_ends_with_130_and_says_how_to_go_on(folder: Path, model: _Model) -> None:
    model.stop_at = 1
    process = subprocess.Popen(
        command(folder, "cases.yaml", model=model),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert model.reached.wait(60)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command goes on from here" in error
    assert "Traceback" not in error


def test_a_dry_run_asks_nothing(folder: Path, model: _Model) -> None:
    done = evaluate(folder, "cases.yaml", "--dry-run", "--json", "--repeats", "2", model=model)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert row["requests_min"] == 8
    assert row["input_tokens"] > 0
    assert model.asked == []
    assert not (folder / "runs").exists()


def test_a_failed_threshold_is_told_from_a_broken_run(folder: Path, model: _Model) -> None:
    met = evaluate(folder, "cases.yaml", "--fail-under", "task_success=0.9", model=model)
    assert met.returncode == 0, met.stderr
    failed = evaluate(
        folder, "cases.yaml", "--arm", "bare", "--fail-under", "task_success=0.9", "--junit", "out.xml", model=model
    )
    assert failed.returncode == 3
    assert "task_success" in failed.stdout + failed.stderr
    assert "<testcase" in (folder / "out.xml").read_text()
    unknown = evaluate(folder, "cases.yaml", "--max", "nonsense=1", model=model)
    assert unknown.returncode == 2
    assert "wrong_but_valid" in unknown.stderr
    model.shutdown()
    model.server_close()
    broken = evaluate(folder, "cases.yaml", "--seed", "5", "--fail-under", "task_success=0.9", model=model)
    assert broken.returncode == 1


def test_held_out_cases_can_be_run_alone(folder: Path, model: _Model) -> None:
    done = evaluate(folder, "cases.yaml", "--held-out", model=model)
    assert done.returncode == 0, done.stderr
    assert model.asked == ["The weather in Rome?"]


def test_a_recording_is_a_model_and_gives_the_same_numbers_each_time(folder: Path, shared: Path) -> None:
    recording = shared / "recordings" / "qwen2.5-coder-1.5b.bfcl.jsonl"
    numbers = []
    for attempt in ("a", "b"):
        done = evaluate(
            folder, "bfcl:simple_python", "bfcl:irrelevance", "--arm", "bare", "--arm", "parse", "--json",
            "--model", f"replay:{recording}", "--data", str(shared / "data"), "--cache", str(folder / "c.sqlite"),
            "--out", str(folder / attempt),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        runs = json.loads(done.stdout)["runs"]
        numbers.append([run["metrics"]["estimates"]["task_success"] for run in runs])
    assert [round(found["value"] * found["n"]) for found in numbers[0]] == [0, 36, 25, 9]
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("bfcl:simpel_python",), "Did you mean bfcl:simple_python"),
        (("missing.yaml",), "missing.yaml"),
        (("broken.yaml",), "line"),
        (("cases.yaml", "--arm", "fulll"), "none of bare, parse, full"),
        (("cases.yaml", "--case", "*", "--case", "rain*"), "fits 'rain*'; cases are called"),
    ],
)
def test_wrong_input_says_what_is_wrong_and_asks_nothing(
    folder: Path, model: _Model, arguments: tuple[str, ...], fault: str
) -> None:
    (folder / "broken.yaml").write_text(CASES.replace("expected: none", "expectd: none"))
    done = evaluate(folder, *arguments, model=model)
    assert done.returncode == 2
    assert fault in done.stderr
    assert "Traceback" not in done.stderr
    assert model.asked == []
