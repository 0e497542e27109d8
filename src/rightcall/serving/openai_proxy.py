"""The OpenAI-compatible proxy: change one base URL, and tool calls come out right.

Requests without tools pass through untouched. With tools, text streams at once, and calls are held until they
are right. Nothing is kept between requests but the event log, so any number of these can stand side by side.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from rightcall.attempts import Proposal
from rightcall.domain import ModelRequest
from rightcall.errors import RightcallError, UpstreamError, UpstreamRefused, UpstreamTimeout, UsageError
from rightcall.openai_chat import request_from_json
from rightcall.providers.openai_compatible import OpenAICompatible, parsed_url, upstream_errors
from rightcall.serving.completion import CompletionStream, completion, headers_of, unresolved_error
from rightcall.turn import Kit, Shown, propose, turn

_logger = logging.getLogger(__name__)
_HOP_BY_HOP = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
     "upgrade", "host", "content-length", "accept-encoding", "content-encoding")
)  # fmt: skip
_CREDENTIALS = frozenset(("authorization", "api-key", "x-api-key"))
_STREAM_HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}


@dataclass(frozen=True, slots=True)
class ProxyPolicy:
    """How the proxy answers.

    `unresolved` says what a client gets where no call could be made right: `text` (an answer that says so) or
    `error` (status 422). `live` streams text while calls are held; without it everything is held.
    `keep_alive` is the seconds between comments on a quiet stream, `max_body` the bytes of a request.
    """

    unresolved: str = "text"
    live: bool = True
    keep_alive: float = 10.0
    max_body: int = 32 * 1024 * 1024


def create_app(upstream: str, kit: Kit, http: httpx2.AsyncClient, policy: ProxyPolicy = ProxyPolicy()) -> Starlette:
    """The proxy as an ASGI application. `kit.model` is asked only where a request brings no credential of its own."""
    proxy = _Proxy(upstream.rstrip("/"), kit, http, policy)
    every = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return Starlette(
        routes=[
            Route("/healthz", proxy.health),
            Route("/v1/chat/completions", proxy.chat, methods=["POST"]),
            Route("/chat/completions", proxy.chat, methods=["POST"]),
            Route("/v1/{path:path}", proxy.forward, methods=every),
        ]
    )


class _Proxy:
    def __init__(self, upstream: str, kit: Kit, http: httpx2.AsyncClient, policy: ProxyPolicy) -> None:
        self.upstream, self.kit, self.http, self.policy = upstream, kit, http, policy

    async def health(self, request: Request) -> Response:
        """The proxy's own health; that of the model server is its own affair."""
        del request
        return JSONResponse({"status": "ok", "upstream": self.upstream})

    async def chat(self, request: Request) -> Response:
        """One chat completion."""
        try:
            body = await _body(request, self.policy.max_body)
            fields = _parsed(body)
            if not fields.get("tools"):
                return await self.pass_on(request, "chat/completions", body)
            asked = _checked(fields)
            kit = self.kit_for(request)
            if fields.get("stream"):
                return await self.streamed(asked, fields, kit)
            return await self.answered(request, asked, kit)
        except ClientDisconnect:
            return Response(status_code=499)
        except RightcallError as error:
            return _error_response(error)

    async def forward(self, request: Request) -> Response:
        """Any other path of the API, as it is."""
        try:
            body = await _body(request, self.policy.max_body)
            return await self.pass_on(request, request.path_params["path"], body)
        except ClientDisconnect:
            return Response(status_code=499)
        except RightcallError as error:
            return _error_response(error)

    def kit_for(self, request: Request) -> Kit:
        """The kit with the client's own credential, which goes to the upstream and nowhere else."""
        credentials = {name: value for name, value in request.headers.items() if name in _CREDENTIALS}
        if not credentials:
            return self.kit
        return replace(self.kit, model=OpenAICompatible(self.upstream, self.http, credentials))

    # -- with tools ---------------------------------------------------------------------------------------------

    async def answered(self, request: Request, asked: ModelRequest, kit: Kit) -> Response:
        """The whole answer in one body. A client that hangs up ends the turn, and with it the upstream call."""
        work = asyncio.ensure_future(propose(asked, kit))
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return Response(status_code=499)
            proposal = work.result()
        finally:
            await _ended(work, gone)
        if proposal.status == "unresolved" and self.policy.unresolved == "error":
            return _unresolved_response(proposal)
        return JSONResponse(completion(proposal), headers=headers_of(proposal))

    async def streamed(self, asked: ModelRequest, fields: Mapping[str, Any], kit: Kit) -> Response:
        """The answer as server-sent events. What fails before the first event still gets its own status."""
        steps: asyncio.Queue[Shown | Proposal | BaseException] = asyncio.Queue()
        work = asyncio.ensure_future(_run(asked, kit, steps, live=self.policy.live))
        try:
            first = await self.next_step(steps)
        except BaseException:
            await _ended(work)
            raise
        if isinstance(first, BaseException):
            await _ended(work)
            raise first
        usage = bool((fields.get("stream_options") or {}).get("include_usage"))
        stream = CompletionStream(asked.model, include_usage=usage, unresolved=self.policy.unresolved)
        return StreamingResponse(
            self.events(first, steps, work, stream), media_type="text/event-stream", headers=_STREAM_HEADERS
        )

    async def events(
        self,
        first: Shown | Proposal | None,
        steps: asyncio.Queue[Shown | Proposal | BaseException],
        work: asyncio.Future[None],
        stream: CompletionStream,
    ) -> AsyncIterator[bytes]:
        """The events of one stream, with comments while it is quiet. Ends the work when the client goes."""
        step: Shown | Proposal | BaseException | None = first
        try:
            while True:
                if step is None:
                    yield b": keep-alive\n"
                elif isinstance(step, Shown):
                    if events := b"".join(stream.shown(step)):
                        yield events
                elif isinstance(step, Proposal):
                    yield b"".join(stream.ended(step))
                    return
                else:
                    yield stream.failed(_error_body(step)[1])
                    return
                step = await self.next_step(steps)
        finally:
            await _ended(work)

    async def next_step(
        self, steps: asyncio.Queue[Shown | Proposal | BaseException]
    ) -> Shown | Proposal | BaseException | None:
        """What the turn says next; None where it is quiet for so long that the client needs a sign of life."""
        if not steps.empty():
            return steps.get_nowait()
        try:
            return await asyncio.wait_for(steps.get(), self.policy.keep_alive)
        except TimeoutError:
            return None

    # -- without tools ------------------------------------------------------------------------------------------

    async def pass_on(self, request: Request, path: str, body: bytes) -> Response:
        """The request as it came to the upstream, and its answer as it comes back, streamed or not."""
        headers = {name: value for name, value in request.headers.items() if name not in _HOP_BY_HOP}
        url = f"{self.upstream}/{path}" + (f"?{request.url.query}" if request.url.query else "")
        with upstream_errors(self.upstream):
            outgoing = self.http.build_request(request.method, parsed_url(url), headers=headers, content=body)
            response = await self.http.send(outgoing, stream=True)
        kept = {name: value for name, value in response.headers.items() if name not in _HOP_BY_HOP}
        return StreamingResponse(_relayed(response), response.status_code, kept)


async def _run(
    asked: ModelRequest, kit: Kit, steps: asyncio.Queue[Shown | Proposal | BaseException], *, live: bool
) -> None:
    """Runs a turn beside the response, so that a quiet model does not make a quiet stream."""
    try:
        async with contextlib.aclosing(turn(asked, kit, live=live)) as story:
            async for step in story:
                steps.put_nowait(step)
    except RightcallError as error:
        steps.put_nowait(error)
    except Exception as error:  # a fault of ours: the client gets an error, the log the trace
        _logger.exception("a turn failed")
        steps.put_nowait(error)


async def _relayed(response: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for part in response.aiter_bytes():
            yield part
    finally:
        await response.aclose()


async def _ended(*tasks: asyncio.Future[Any]) -> None:
    """Ends tasks and waits until they have cleaned up after themselves."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


# -- requests and errors ----------------------------------------------------------------------------------------


class _BodyTooLarge(UsageError):
    """A request body beyond the limit."""


async def _body(request: Request, limit: int) -> bytes:
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit:
        raise _BodyTooLarge(f"the request body has {declared} bytes; at most {limit} are taken")
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise _BodyTooLarge(f"the request body has more than {limit} bytes")
        parts.append(part)
    return b"".join(parts)


def _parsed(body: bytes) -> Mapping[str, Any]:
    try:
        fields = json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UsageError(f"the request body is not UTF-8: {error.reason} at byte {error.start}") from error
    except RecursionError as error:
        raise UsageError("the request body is nested too deeply") from error
    except ValueError as error:
        raise UsageError(f"the request body is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise UsageError(f"the request body must be a JSON object, not {type(fields).__name__}")
    return fields


def _checked(fields: Mapping[str, Any]) -> ModelRequest:
    if fields.get("n") not in {None, 1}:
        raise UsageError("'n' other than 1 is not supported with tools; send the request several times instead")
    try:
        return request_from_json(fields)
    except RecursionError as error:
        raise UsageError("the request is nested too deeply") from error


def _error_response(error: BaseException) -> Response:
    status, body = _error_body(error)
    return JSONResponse(body, status)


def _error_body(error: BaseException) -> tuple[int, dict[str, Any]]:
    """An exception as an OpenAI-style error, in this one place."""
    status, kind, code = 500, "server_error", "internal_error"
    if isinstance(error, _BodyTooLarge):
        status, kind, code = 413, "invalid_request_error", "body_too_large"
    elif isinstance(error, UsageError):
        status, kind, code = 400, "invalid_request_error", "invalid_request"
    elif isinstance(error, UpstreamTimeout):
        status, kind, code = 504, "upstream_error", "upstream_timeout"
    elif isinstance(error, UpstreamRefused):
        status, kind, code = error.status, "upstream_error", "upstream_refused"
    elif isinstance(error, UpstreamError):
        status, kind, code = 502, "upstream_error", "upstream_unavailable"
    message = (
        str(error) if isinstance(error, RightcallError) else "rightcall failed on this request; its log says why"
    )
    return status, {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _unresolved_response(proposal: Proposal) -> Response:
    return JSONResponse(unresolved_error(proposal), 422, headers=headers_of(proposal))
