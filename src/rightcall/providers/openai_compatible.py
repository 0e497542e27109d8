"""Any server that speaks OpenAI's Chat Completions: llama.cpp, Ollama, vLLM, LM Studio, SGLang, ...

Follows what servers really do: an error status whose body holds the model's own text is a reply to be read,
a stream that stops early is a reply that was cut off, and nonsense is a clear error.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.request import getproxies

import httpx2

from rightcall.domain import ModelReply, ModelRequest
from rightcall.errors import UpstreamError, UpstreamRefused, UpstreamTimeout, UsageError
from rightcall.openai_chat import StreamAssembler, reply_from_json, request_to_json
from rightcall.ports import Delta
from rightcall.providers.transport import AiohttpTransport

MAX_BODY = 64 * 1024 * 1024
_SHOWN = 2000
# Servers that fail on the output of their model, not on the request: the output is in the message.
_MODEL_FAULT = re.compile(r"pars(?:e|ing)|tool.call|peg-native|XML syntax|grammar", re.IGNORECASE)


def upstream_client(*, connect_seconds: float = 10.0, read_seconds: float = 600.0) -> httpx2.AsyncClient:
    """An HTTP client for model servers: patient while a model thinks, quick to notice that none is there."""
    timeout = httpx2.Timeout(read_seconds, connect=connect_seconds)
    # httpx2's own transport knows the proxies that the environment names; ours is quicker.
    transport = None if getproxies() else AiohttpTransport()
    # One client serves all users of the proxy: what a server sets for one of them must not go to the others.
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx2.AsyncClient(timeout=timeout, transport=transport, cookies=no_cookies, follow_redirects=False)


@lru_cache(maxsize=256)
def parsed_url(url: str) -> httpx2.URL:
    """A URL for the client, parsed once: parsing costs as much as sending. Raises `httpx2.InvalidURL`."""
    return httpx2.URL(url)


class OpenAICompatible:
    """A model server at `base_url`, which ends in the version (`http://127.0.0.1:8080/v1`).

    `headers` go with every request (the client's credential, say). The HTTP client is the caller's to close.
    """

    def __init__(self, base_url: str, http: httpx2.AsyncClient, headers: Mapping[str, str] | None = None) -> None:
        self.base_url = base_url.rstrip("/")
        self._http = http
        self._headers = {**(headers or {}), "content-type": "application/json"}

    async def ask(self, request: ModelRequest) -> ModelReply:
        """One whole reply. Raises `UpstreamError`."""
        content = json.dumps(request_to_json(request), ensure_ascii=False).encode("utf-8", "replace")
        with upstream_errors(self.base_url):
            async with self._answer(content) as response:
                body = await _read(response)
        if response.status_code >= 400:  # noqa: PLR2004 - HTTP
            return self._refused(response.status_code, body)
        return _reply(body, self.base_url)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The reply piece by piece. Raises `UpstreamError`."""
        content = json.dumps(request_to_json(request, stream=True), ensure_ascii=False).encode("utf-8", "replace")
        with upstream_errors(self.base_url):
            async with self._answer(content) as response:
                if response.status_code >= 400:  # noqa: PLR2004
                    reply = self._refused(response.status_code, await _read(response))
                    yield Delta(reply=reply)
                    return
                if "text/event-stream" not in response.headers.get("content-type", "text/event-stream"):
                    reply = _reply(await _read(response), self.base_url)
                    yield Delta(reply.text, reply.reasoning, reply)
                    return
                assembler = StreamAssembler()
                async for chunk in _events(response):
                    if "error" in chunk and not chunk.get("choices"):
                        message = _message_of(chunk)
                        if not _MODEL_FAULT.search(message):
                            raise UpstreamError(f"{self.base_url} failed while answering: {message[:_SHOWN]}")
                        yield Delta(reply=ModelReply(broken=message))
                        return
                    first = not assembler.head
                    text, reasoning = assembler.add(chunk)
                    if first or text or reasoning:
                        yield Delta(text, reasoning, head=assembler.head if first else {})
                yield Delta(reply=assembler.reply())

    @asynccontextmanager
    async def _answer(self, content: bytes) -> AsyncGenerator[httpx2.Response, None]:
        """The response to a question, its body still to be read.

        A server may close a kept connection at the moment in which a question is sent on it. One that ends without a
        byte of an answer is therefore asked once more: asking a model changes nothing.
        """
        request = self._http.build_request("POST", self._url, content=content, headers=self._headers)
        try:
            response = await self._http.send(request, stream=True)
        except httpx2.ConnectError:
            raise
        except (httpx2.RemoteProtocolError, httpx2.NetworkError):
            response = await self._http.send(request, stream=True)
        try:
            yield response
        finally:
            await response.aclose()

    @property
    def _url(self) -> httpx2.URL:
        return parsed_url(f"{self.base_url}/chat/completions")

    def _refused(self, status: int, body: bytes) -> ModelReply:
        """An error status as a broken reply where the model's output was at fault, else as an exception."""
        text = body.decode("utf-8", "replace")
        message = _message_of(_json(body)) or text
        if status >= 500 and _MODEL_FAULT.search(message):  # noqa: PLR2004
            return ModelReply(broken=message)
        raise UpstreamRefused(status, text[:_SHOWN], f"{self.base_url} answered {status}: {message[:_SHOWN]}")


async def _read(response: httpx2.Response) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MAX_BODY:
            raise UpstreamError(f"the model server sent more than {MAX_BODY} bytes; the reply was dropped")
        parts.append(part)
    return b"".join(parts)


async def _events(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """The JSON objects of a server-sent event stream, up to `[DONE]`. Comments and broken lines are passed over."""
    buffer = b""
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MAX_BODY:
            raise UpstreamError(f"the model server streamed more than {MAX_BODY} bytes; the rest was dropped")
        buffer += part
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            if line.strip() == b"data: [DONE]":
                return
            if (chunk := _data(line)) is not None:
                yield chunk
    if (chunk := _data(buffer)) is not None:
        yield chunk


def _data(line: bytes) -> dict[str, Any] | None:
    prefix, _, payload = line.strip().partition(b":")
    if prefix not in {b"data", b"error"}:
        return None
    value = _json(payload)
    if prefix == b"error" and isinstance(value, dict):
        return {"error": value}
    return value if isinstance(value, dict) else None


def _reply(body: bytes, base_url: str) -> ModelReply:
    value = _json(body)
    if not isinstance(value, dict):
        raise UpstreamError(
            f"{base_url} sent no JSON but {body[:80].decode('utf-8', 'replace')!r};"
            " is it an OpenAI-compatible server?"
        )
    if "error" in value and not value.get("choices"):
        raise UpstreamError(f"{base_url} failed: {_message_of(value)[:_SHOWN]}")
    try:
        return reply_from_json(value)
    except UsageError as error:
        raise UpstreamError(f"{base_url} sent {error}; is it an OpenAI-compatible server?") from error


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _message_of(value: Any) -> str:
    """The message of an error body, in any of the shapes servers use."""
    error = value.get("error", value) if isinstance(value, Mapping) else value
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("detail") or error.get("error") or json.dumps(error)
    return error if isinstance(error, str) else "" if error is None else json.dumps(error)


@contextmanager
def upstream_errors(base_url: str) -> Iterator[None]:
    """Turns the HTTP client's exceptions into ours, once, for every call."""
    try:
        yield
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        raise UpstreamError(
            f"no model server answers at {base_url}: {str(error) or 'no connection'}. Is it running?"
        ) from error
    except httpx2.TimeoutException as error:
        raise UpstreamTimeout(
            f"the model server at {base_url} did not answer in time ({type(error).__name__})"
        ) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise UpstreamError(
            f"the connection to {base_url} failed: {type(error).__name__} {error}".rstrip()
        ) from error
