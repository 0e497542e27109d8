"""The demo: the same requests to a bare model server and through rightcall, side by side."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import httpx2

from rightcall.domain import ToolCall
from rightcall.evaluation.match import Answer, same_calls
from rightcall.openai_chat import message_from_json

_GENERATION = {"temperature": 0, "seed": 1, "max_tokens": 256}


@dataclass(frozen=True, slots=True)
class DemoTask:
    """One request with its known right answer: the calls wanted, or none."""

    id: str
    prompt: str
    tools: Sequence[Mapping[str, Any]]
    answers: Sequence[Answer]


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What one side made of a task. `verdict` is right, wrong (other calls than wanted) or refused (no call)."""

    task: str
    side: str
    verdict: str
    calls: Sequence[Mapping[str, Any]]
    text: str
    attempts: int
    seconds: float


def demo_tasks() -> tuple[DemoTask, ...]:
    """The demo's tasks, from the package's own data file."""
    data = json.loads(files("rightcall.evaluation").joinpath("demo_tasks.json").read_text(encoding="utf-8"))
    return tuple(DemoTask(**entry) for entry in data)


async def run_side(
    side: str,
    http: httpx2.AsyncClient,
    url: str,
    model: str,
    tasks: Sequence[DemoTask],
    done: Callable[[DemoResult], None],
) -> list[DemoResult]:
    """Sends every task to a Chat Completions server and judges what comes back."""
    results: list[DemoResult] = []
    for task in tasks:
        body = {
            "model": model,
            "messages": [{"role": "user", "content": task.prompt}],
            "tools": list(task.tools),
            **_GENERATION,
        }
        began = time.monotonic()
        response = await http.post(f"{url}/chat/completions", json=body)
        seconds = time.monotonic() - began
        result = _judged(side, task, response, seconds)
        results.append(result)
        done(result)
    return results


def _judged(side: str, task: DemoTask, response: httpx2.Response, seconds: float) -> DemoResult:
    """A response the way a client takes it: only native calls with JSON arguments are calls."""
    attempts = int(response.headers.get("x-rightcall-attempts", "1"))
    if response.status_code >= 400:  # noqa: PLR2004 - HTTP
        return DemoResult(task.id, side, "refused" if task.answers else "right", [], response.text, attempts, seconds)
    message = response.json()["choices"][0]["message"]
    reply = message_from_json(message)
    calls: list[ToolCall] = []
    for native in reply.tool_calls:
        try:
            arguments = json.loads(native.arguments)
        except (TypeError, ValueError):
            arguments = None
        calls.append(ToolCall(native.id or "", native.name, arguments if isinstance(arguments, dict) else {}))
    verdict = "right" if same_calls(calls, task.answers) else "wrong" if calls else "refused"
    shown = [{"name": call.name, "arguments": call.arguments} for call in calls]
    return DemoResult(task.id, side, verdict, shown, reply.text, attempts, seconds)


def totals(results: Sequence[DemoResult]) -> dict[str, Any]:
    """The counts of one side."""
    counts = {verdict: sum(r.verdict == verdict for r in results) for verdict in ("right", "wrong", "refused")}
    return {
        **counts,
        "tasks": len(results),
        "attempts": sum(r.attempts for r in results),
        "seconds": round(sum(r.seconds for r in results), 1),
    }
