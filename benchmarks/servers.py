"""The servers that the proxy's benchmark needs: `python servers.py stub PORT`, `python servers.py forward PORT URL`.

`stub` answers chat completions at once, always the same; `forward` is the peer, a bare Starlette application that
passes requests on untouched with the HTTP client that rightcall uses too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

HEAD = {"id": "chatcmpl-1", "created": 1, "model": "stub"}
ARGUMENTS = json.dumps({"city": "Oslo", "days": 3, "unit": "celsius", "hourly": False, "fields": ["rain", "wind"]})
TEXT = "It will rain in Oslo for three days, and then the sun comes out again."
CALL = {"id": "call_1", "type": "function", "function": {"name": "get_forecast", "arguments": ARGUMENTS}}
USAGE = {"prompt_tokens": 200, "completion_tokens": 40, "total_tokens": 240}


def _whole(message: dict[str, Any], finish: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return json.dumps({**HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()


def _events(deltas: list[dict[str, Any]], finish: str) -> list[bytes]:
    steps = [({"role": "assistant", "content": ""}, None), *((delta, None) for delta in deltas), ({}, finish)]
    chunks = [
        {**HEAD, "object": "chat.completion.chunk",
         "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in steps
    ]  # fmt: skip
    return [*(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks), b"data: [DONE]\n\n"]


def _call_deltas() -> list[dict[str, Any]]:
    """The call as servers stream it: the name, then the arguments in pieces."""
    opening = {**CALL, "index": 0, "function": {"name": "get_forecast", "arguments": ""}}
    pieces = [ARGUMENTS[at : at + 12] for at in range(0, len(ARGUMENTS), 12)]
    return [
        {"tool_calls": [opening]},
        *({"tool_calls": [{"index": 0, "function": {"arguments": p}}]} for p in pieces),
    ]


WHOLE = {
    True: _whole({"content": None, "tool_calls": [CALL]}, "tool_calls"),
    False: _whole({"content": TEXT}, "stop"),
}
STREAMED = {
    True: _events(_call_deltas(), "tool_calls"),
    False: _events([{"content": word + " "} for word in TEXT.split()], "stop"),
}


def stub() -> Starlette:
    """The upstream."""

    async def answer(request: Request) -> Response:
        asked = json.loads(await request.body())
        tools = bool(asked.get("tools"))
        if not asked.get("stream"):
            return Response(WHOLE[tools], media_type="application/json")

        async def events() -> AsyncIterator[bytes]:
            for event in STREAMED[tools]:
                yield event

        return StreamingResponse(events(), media_type="text/event-stream")

    return Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])


def forwarder(upstream: str) -> Starlette:
    """The peer: nothing is looked at, everything passed on; a stream as it comes, anything else in one piece."""
    limits = httpx2.Limits(max_connections=256, max_keepalive_connections=64)
    http = httpx2.AsyncClient(limits=limits, timeout=60)
    dropped = {"host", "content-length", "connection", "transfer-encoding", "accept-encoding"}

    async def forward(request: Request) -> Response:
        headers = {name: value for name, value in request.headers.items() if name not in dropped}
        url = f"{upstream}/{request.path_params['path']}"
        outgoing = http.build_request(request.method, url, headers=headers, content=await request.body())
        response = await http.send(outgoing, stream=True)
        kept = {name: value for name, value in response.headers.items() if name not in dropped}
        if "text/event-stream" not in kept.get("content-type", ""):
            content = await response.aread()
            return Response(content, response.status_code, kept)

        async def relay() -> AsyncIterator[bytes]:
            try:
                async for part in response.aiter_raw():
                    yield part
            finally:
                await response.aclose()

        return StreamingResponse(relay(), response.status_code, kept)

    return Starlette(routes=[Route("/v1/{path:path}", forward, methods=["GET", "POST"])])


if __name__ == "__main__":
    application = stub() if sys.argv[1] == "stub" else forwarder(sys.argv[3])
    uvicorn.run(application, host="127.0.0.1", port=int(sys.argv[2]), log_level="warning", access_log=False)
