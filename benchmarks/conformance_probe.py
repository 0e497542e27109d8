"""`canitoolcall probe` against the embedded server, bare and through `rightcall serve`.

    python benchmarks/conformance_probe.py [CHECKPOINT] [--threads N]

Prints both reports. Not part of `run.py`: it measures a model with and without rightcall, not what rightcall costs.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rightcall.providers import checkpoints
from rightcall.providers.llama_cpp import EmbeddedServer

TIMEOUT = "300"


def main() -> None:
    """Starts the servers, runs the probe on each side, ends the servers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("checkpoint", nargs="?", default="qwen2.5-coder-0.5b")
    parser.add_argument("--threads", type=int, help="llama.cpp's threads; fewer than cores on a busy machine")
    asked = parser.parse_args()
    name = asked.checkpoint
    path = checkpoints.pull(checkpoints.find(name))
    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(path, alias=name, threads=asked.threads) as server:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        serve = [sys.executable, "-m", "rightcall", "serve", "--upstream", server.base_url, "--port", str(port)]
        proxy = subprocess.Popen(  # noqa: S603 - our own command
            [*serve, "--log-path", str(Path(folder) / "events.sqlite")], stdout=subprocess.DEVNULL
        )
        try:
            _wait_for(port)
            _probe("through rightcall", f"http://127.0.0.1:{port}/v1", name)
            _probe("bare", server.base_url, name)
        finally:
            proxy.send_signal(signal.SIGTERM)
            proxy.wait(30)


def _probe(side: str, base_url: str, model: str) -> None:
    began = time.monotonic()
    command = ["-m", "canitoolcall", "probe", "--base-url", base_url, "--model", model, "--timeout", TIMEOUT]
    print(f"## {side}\n\n$ python {' '.join(command)}\n", flush=True)
    environment = {**os.environ, "COLUMNS": "200"}
    subprocess.run([sys.executable, *command], env=environment, check=False)  # noqa: S603 - a public tool
    print(f"\n{time.monotonic() - began:.0f} s\n", flush=True)


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("rightcall serve did not come up within a minute")


if __name__ == "__main__":
    main()
