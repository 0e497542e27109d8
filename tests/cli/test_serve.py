"""`rightcall serve` as a process: it starts, serves, logs, and ends cleanly, or says what is wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from small_model import small_model

CALL = '{"name": "get_time", "arguments": {"zone": "UTC"}}'
BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": "time?"}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "get_time",
                "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}},
            },
        }
    ],
}


@pytest.fixture
def upstream() -> Iterator[str]:
    with small_model(lambda _: CALL) as url:
        yield url


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(upstream: str, log: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "rightcall",
        "serve",
        "--upstream",
        upstream,
        "--port",
        str(port),
        "--log-path",
        str(log),
        *options,
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        url = f"http://127.0.0.1:{port}"
        with httpx2.Client(transport=httpx2.HTTPTransport(retries=50), timeout=10) as client:
            assert client.get(f"{url}/healthz").status_code == 200
        yield process, url
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_it_makes_calls_right_and_ends_cleanly_on_ctrl_c(upstream: str, tmp_path: Path) -> None:
    log = tmp_path / "events.sqlite"
    with serving(upstream, log) as (process, url):
        answer = httpx2.post(f"{url}/v1/chat/completions", json=BODY).json()
        assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "get_time"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert f"rightcall listens on {url}/v1 in front of {upstream}" in out
    assert "Traceback" not in err
    assert process.returncode in {0, 130, -signal.SIGINT}
    shown = subprocess.run(
        [sys.executable, "-m", "rightcall", "log", "list", "--log", str(log), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(shown.stdout.splitlines()[0])["status"] == "calls"


def test_what_was_answered_is_in_the_log_after_a_kill(upstream: str, tmp_path: Path) -> None:
    log = tmp_path / "events.sqlite"
    with serving(upstream, log) as (process, url):
        for _ in range(5):
            httpx2.post(f"{url}/v1/chat/completions", json=BODY)
        # The log is written when the server is idle; a later answer shows that it was.
        httpx2.post(f"{url}/v1/chat/completions", json=BODY)
        process.kill()
        process.wait()
    shown = subprocess.run(
        [sys.executable, "-m", "rightcall", "log", "list", "--log", str(log), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    ended = [row for line in shown.stdout.splitlines() if (row := json.loads(line))["status"] == "calls"]
    assert len(ended) >= 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "no upstream is set"),
        (["--upstream", "ftp://x"], "is no http(s) address"),
        (["--upstream", "http://127.0.0.1:9/v1", "--attempts", "0"], "at least 1 is needed"),
        (["--upstream", "http://127.0.0.1:9/v1", "--unresolved", "shrug"], "allowed: text, error"),
        (["--upstream", "http://127.0.0.1:9/v1", "--log-path", "/proc/none/events.sqlite"], "event log"),
    ],
)
def test_wrong_settings_are_one_clear_line(options: list[str], words: str) -> None:
    env = {key: value for key, value in os.environ.items() if not key.startswith("RIGHTCALL_")}
    done = subprocess.run(
        [sys.executable, "-m", "rightcall", "serve", *options],
        capture_output=True,
        text=True,
        timeout=30,
        env=env,
        check=False,
    )
    assert done.returncode in {1, 2}
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_a_clear_error(upstream: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [
            sys.executable,
            "-m",
            "rightcall",
            "serve",
            "--upstream",
            upstream,
            "--port",
            str(taken.getsockname()[1]),
            "--log-path",
            str(tmp_path / "e.sqlite"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert "Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_another_address_than_loopback_is_warned_about(upstream: str, tmp_path: Path) -> None:
    with serving(upstream, tmp_path / "e.sqlite", "--host", "0.0.0.0") as (process, _):  # noqa: S104 - what is warned about
        process.send_signal(signal.SIGINT)
        assert "can be reached from other machines" in process.communicate(timeout=20)[1]
