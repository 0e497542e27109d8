"""Real servers on loopback: a scripted upstream, and the proxy in front of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import openai
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from rightcall.assemble import SystemClock
from rightcall.providers.openai_compatible import OpenAICompatible, upstream_client
from rightcall.serving.openai_proxy import ProxyPolicy, create_app
from rightcall.store.memory import MemoryEventLog
from rightcall.turn import Kit


@contextmanager
def served(app: Any) -> Iterator[str]:
    """An application on a free loopback port, from here to the end of the block."""
    config = uvicorn.Config(app, "127.0.0.1", 0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    ready = threading.Event()
    startup = server.startup

    async def startup_and_tell(sockets: Any = None) -> None:
        await startup(sockets=sockets)
        ready.set()

    server.startup = startup_and_tell  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert ready.wait(20), "the server did not start"
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


@dataclass
class Upstream:
    """A model server that says what it is told, in order; the last step again once they run out."""

    steps: list[Any] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/chat/completions", self.chat, methods=["POST"]),
                Route(
                    "/v1/models", lambda _: JSONResponse({"object": "list", "data": [{"id": "m", "object": "model"}]})
                ),
                Route("/v1/embeddings", self.echo, methods=["POST"]),
            ]
        )

    async def echo(self, request: Request) -> Response:
        return Response(await request.body(), 200, {"x-seen": "yes"}, "application/json")

    async def chat(self, request: Request) -> Response:
        raw = await request.body()
        self.bodies.append(json.loads(raw))
        self.headers.append(dict(request.headers))
        step = self.steps[min(len(self.bodies), len(self.steps)) - 1]
        if isinstance(step, Response):
            return step
        if callable(step):
            return await step(self, request)
        if self.bodies[-1].get("stream"):
            return StreamingResponse(_pieces(step), media_type="text/event-stream")
        return JSONResponse(completion(step))


def message(
    text: str | None = None, calls: list[tuple[str, Any]] = (), finish: str = "", **more: Any
) -> dict[str, Any]:  # type: ignore[assignment]
    """A step: an assistant message, and how it ended."""
    made = [
        {
            "id": f"call_{i}",
            "type": "function",
            "function": {"name": n, "arguments": a if isinstance(a, str) else json.dumps(a)},
        }
        for i, (n, a) in enumerate(calls)
    ]
    body = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {}), **more}
    return {"message": body, "finish_reason": finish or ("tool_calls" if made else "stop")}


def completion(step: dict[str, Any]) -> dict[str, Any]:
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "total_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 5},
    }
    return {
        "id": "chatcmpl-up", "object": "chat.completion", "created": 1, "model": "up-model",
        "system_fingerprint": "fp",
        "choices": [{"index": 0, "logprobs": None, **step}], "usage": usage, "timings": {"predicted_ms": 1.5},
    }  # fmt: skip


async def _pieces(step: dict[str, Any]) -> Any:
    head = {"id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 1, "model": "up-model"}

    def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + json.dumps({**head, "choices": [choice], **more}).encode() + b"\n\n"

    body = step["message"]
    yield event({"role": "assistant", "content": None})
    for field_name in ("reasoning_content", "content"):
        words = body.get(field_name) or ""
        for start in range(0, len(words), 5):
            yield event({field_name: words[start : start + 5]})
            await asyncio.sleep(0)
    for index, call in enumerate(body.get("tool_calls", [])):
        arguments = call["function"]["arguments"]
        yield event({"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": ""}}]})
        for start in range(0, len(arguments), 4):
            yield event({"tool_calls": [{"index": index, "function": {"arguments": arguments[start : start + 4]}}]})
    yield event({}, step["finish_reason"])
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    yield b"data: " + json.dumps({**head, "choices": [], "usage": usage}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


async def hang(upstream: Upstream, request: Request) -> Response:
    """A step that never answers; `gone` is set when the caller hangs up."""
    while True:
        if await request.is_disconnected():
            upstream.gone.set()
            raise ClientDisconnect
        await asyncio.sleep(0.01)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    scripted = Upstream()
    with served(scripted.app()) as url:
        scripted.url = f"{url}/v1"
        yield scripted


@dataclass
class Proxy:
    url: str
    log: MemoryEventLog
    opened: list[openai.OpenAI] = field(default_factory=list)

    def client(self, **more: Any) -> openai.OpenAI:
        self.opened.append(openai.OpenAI(base_url=self.url, api_key="sk-client", max_retries=0, timeout=30, **more))
        return self.opened[-1]


def closing(app: Any, http: Any) -> Any:
    """The application, which ends its connections when its server ends."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await http.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    return wrapped


@pytest.fixture
def proxied(upstream: Upstream) -> Iterator[Callable[..., Proxy]]:
    """Starts a proxy in front of the scripted upstream, or of another address."""
    running = []

    def start(address: str | None = None, kit: dict[str, Any] | None = None, **policy: Any) -> Proxy:
        http = upstream_client(connect_seconds=2, read_seconds=20)
        log = MemoryEventLog()
        target = address or upstream.url
        parts = replace(Kit(OpenAICompatible(target, http), log, SystemClock()), **(kit or {}))
        server = served(closing(create_app(target, parts, http, ProxyPolicy(**policy)), http))
        proxy = Proxy(f"{server.__enter__()}/v1", log)
        running.append((server, proxy))
        return proxy

    yield start
    for server, proxy in running:
        for client in proxy.opened:
            client.close()
        server.__exit__(None, None, None)


@pytest.fixture
def proxy(proxied: Callable[..., Proxy]) -> Proxy:
    return proxied()
