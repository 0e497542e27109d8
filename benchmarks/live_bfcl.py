"""A real small model on BFCL tasks, bare and through the proxy.

    python benchmarks/live_bfcl.py --recordings ../shared/recordings --model qwen2.5-coder-1.5b --out FILE

Takes the tasks (requests and answers) from a folder of recorded exchanges, starts the model embedded, puts the
real proxy in front of it on a loopback port, and sends every task. A finished task is kept in the output file
and never asked again, so a stopped run goes on where it was. Times are not the point here: nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from rightcall.assemble import build_parts
from rightcall.domain import ToolCall
from rightcall.evaluation.match import same_calls
from rightcall.openai_chat import message_from_json
from rightcall.providers import checkpoints
from rightcall.providers.llama_cpp import EmbeddedServer
from rightcall.serving.openai_proxy import create_app
from rightcall.settings import Settings

CATEGORIES = ("simple_python", "multiple", "parallel", "irrelevance")


def main() -> None:
    """Runs the tasks and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--recordings", type=Path, required=True)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--side", choices=("bare", "rightcall"), default="rightcall")
    parser.add_argument("--category", action="append", choices=CATEGORIES)
    parser.add_argument("--log", default="")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    tasks = _tasks(options.recordings, options.model, options.category or CATEGORIES)
    done = _done(options.out)
    checkpoint = checkpoints.find(options.model)
    path = checkpoints.cached_path(checkpoint) or checkpoints.pull(checkpoint)
    with EmbeddedServer(path, alias=options.model, threads=2) as server, options.out.open("a") as out:
        url = server.base_url if options.side == "bare" else _proxy(server.base_url, options.log)
        for task in tasks:
            if task["id"] in done:
                continue
            result = _run(task, url)
            out.write(json.dumps(result) + "\n")
            out.flush()
            done[task["id"]] = result
            print(
                f"{len(done):4}/{len(tasks)}  {result['verdict']:8} {task['id']}  {result['seconds']:.0f} s",
                flush=True,
            )
    _report(options, [done[task["id"]] for task in tasks])


def _tasks(folder: Path, model: str, categories: Any) -> list[dict[str, Any]]:
    lines = (folder / f"{model}.bfcl.jsonl").read_text().splitlines()
    return [task for line in lines if (task := json.loads(line))["cat"] in categories]


def _done(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    return {entry["id"]: entry for line in path.read_text().splitlines() if (entry := json.loads(line))}


def _proxy(upstream: str, log: str) -> str:
    settings = Settings.load({"upstream": upstream, "log": bool(log), "log_path": log or None}, env={})
    parts = build_parts(settings)
    app = create_app(upstream, parts.kit, parts.http)
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", 0, log_level="warning"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    return f"http://127.0.0.1:{port}/v1"


def _run(task: dict[str, Any], url: str) -> dict[str, Any]:
    began = time.monotonic()
    response = httpx2.post(f"{url}/chat/completions", json=task["request"], timeout=900)
    seconds = time.monotonic() - began
    body = response.json()
    message = body["choices"][0]["message"] if response.status_code == httpx2.codes.OK else {}
    calls = []
    for native in message_from_json(message).tool_calls:
        arguments = json.loads(native.arguments) if isinstance(native.arguments, str) else native.arguments
        calls.append(ToolCall(native.id or "", native.name, arguments))
    wanted = task["answer"]
    right = same_calls(calls, wanted) if wanted else not calls
    verdict = "right" if right else "wrong" if calls else "refused"
    return {
        "id": task["id"],
        "cat": task["cat"],
        "verdict": verdict,
        "calls": [{"name": call.name, "arguments": call.arguments} for call in calls],
        "text": message.get("content"),
        "rightcall": body.get("rightcall"),
        "seconds": round(seconds, 2),
    }


def _report(options: argparse.Namespace, results: list[dict[str, Any]]) -> None:
    print(f"\n{options.model}, {options.side}, Python {platform.python_version()}; command: {' '.join(sys.argv)}")
    print(f"{'category':16}{'tasks':>6}{'right':>7}{'wrong':>7}{'refused':>9}{'attempts':>10}{'seconds':>9}")
    for category in CATEGORIES:
        rows = [result for result in results if result["cat"] == category]
        counts = Counter(row["verdict"] for row in rows)
        attempts = sum((row["rightcall"] or {}).get("attempts", 1) for row in rows)
        seconds = sum(row["seconds"] for row in rows)
        print(
            f"{category:16}{len(rows):6}{counts['right']:7}{counts['wrong']:7}{counts['refused']:9}{attempts:10}{seconds:9.0f}"
        )


if __name__ == "__main__":
    main()
