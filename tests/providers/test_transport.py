"""Requests through the upstream client, against a server that speaks HTTP by the byte."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from rightcall.domain import ModelRequest
from rightcall.errors import UpstreamError
from rightcall.providers.openai_compatible import OpenAICompatible, upstream_client
from rightcall.providers.transport import AiohttpTransport

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Server:
    """Answers each request with the next of its answers; one that ends in None hangs up behind it."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = list(answers)
        self.requests: list[bytes] = []
        self.connections = 0
        self.hung_up = asyncio.Event()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                _, found, length = head.lower().partition(b"content-length: ")
                self.requests.append(head + await reader.readexactly(int(length.split()[0]) if found else 0))
                answer = self.answers.pop(0)
                writer.write(answer or b"")
                if self.answers[:1] == [None]:
                    self.answers.pop(0)
                    break
        except asyncio.IncompleteReadError:
            self.hung_up.set()
        finally:
            writer.close()


@asynccontextmanager
async def served(*answers: bytes | None) -> AsyncIterator[tuple[Server, httpx2.AsyncClient]]:
    server = Server(*answers)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1/chat/completions"
    async with upstream_client(connect_seconds=5, read_seconds=5) as http:
        yield server, http
    listening.close()
    await listening.wait_closed()


async def test_what_is_asked_arrives_as_it_was_written() -> None:
    async with served(OK) as (server, http):
        await http.post(
            f"{server.url}?a=b%2Fc", content=b"{}", headers={"X-Own": "1", "content-type": "application/json"}
        )
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    assert lines[0] == b"post /v1/chat/completions?a=b%2fc http/1.1"
    assert {b"x-own: 1", b"content-type: application/json", b"content-length: 2"} <= set(lines)
    assert len({line.split(b":")[0] for line in lines}) == len(lines)
    assert body == b"{}"


async def test_a_connection_is_used_again() -> None:
    async with served(OK, OK, OK) as (server, http):
        for _ in range(3):
            assert (await http.post(server.url, content=b"{}")).text == "ok"
    assert server.connections == 1


async def test_an_answer_is_decoded() -> None:
    packed = gzip.compress(b"words")
    head = f"HTTP/1.1 201 Made\r\nContent-Encoding: gzip\r\ncontent-length: {len(packed)}\r\n\r\n".encode()
    async with served(head + packed) as (server, http):
        answer = await http.get(server.url)
    assert (answer.status_code, answer.reason_phrase, answer.text) == (201, "Made", "words")


async def test_what_a_server_sets_for_one_user_does_not_go_to_the_next() -> None:
    async with served(OK.replace(b"\r\n\r\n", b"\r\nset-cookie: user=one\r\n\r\n"), OK) as (server, http):
        await http.get(server.url)
        await http.get(server.url)
    assert b"cookie" not in server.requests[1].lower()


async def test_a_redirect_is_the_clients_to_follow() -> None:
    async with served(b"HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n") as (server, http):
        assert (await http.get(server.url)).status_code == 302


async def test_no_server_is_a_connect_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        async with upstream_client() as http:
            with pytest.raises(httpx2.ConnectError):
                await http.get(url)


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\nshort", b"no http at all\r\n\r\n"],
    ids=["nothing", "half a body", "nonsense"],
)
async def test_an_answer_that_breaks_off_is_an_error(answer: bytes) -> None:
    async with served(answer, None) as (server, http):
        with pytest.raises(httpx2.RemoteProtocolError):
            await http.post(server.url)


async def test_a_server_that_says_nothing_is_a_timeout() -> None:
    async with served(b"") as (server, http):
        with pytest.raises(httpx2.ReadTimeout):
            await http.get(server.url, timeout=0.05)


async def test_a_stream_that_is_left_ends_the_connection() -> None:
    async with served(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nwords") as (server, http):
        async with http.stream("GET", server.url) as answer:
            assert await anext(answer.aiter_bytes()) == b"words"
        await asyncio.wait_for(server.hung_up.wait(), 10)


def test_proxies_of_the_environment_are_left_to_httpx2(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    assert isinstance(upstream_client()._transport, AiohttpTransport)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert not isinstance(upstream_client()._transport, AiohttpTransport)


def whole(kind: str, body: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


SAID = whole("application/json", '{"choices": [{"message": {"content": "Oslo"}}]}')
STREAMED = whole("text/event-stream", 'data: {"choices": [{"delta": {"content": "Oslo"}}]}\n\ndata: [DONE]\n\n')
QUESTION = ModelRequest(({"role": "user", "content": "Where?"},))


async def test_a_question_on_a_kept_connection_that_the_server_closes_is_asked_once_more() -> None:
    async with served(SAID, b"", None, SAID) as (server, http):
        model = OpenAICompatible(server.url.removesuffix("/chat/completions"), http)
        assert [(await model.ask(QUESTION)).text for _ in range(2)] == ["Oslo", "Oslo"]
    assert (len(server.requests), server.connections) == (3, 2)
    assert server.requests[1] == server.requests[2]


async def test_so_is_one_whose_answer_is_streamed() -> None:
    async with served(SAID, b"", None, STREAMED) as (server, http):
        model = OpenAICompatible(server.url.removesuffix("/chat/completions"), http)
        await model.ask(QUESTION)
        assert [delta.text async for delta in model.stream(QUESTION) if delta.text] == ["Oslo"]


async def test_a_server_that_always_hangs_up_is_an_error_and_one_that_began_to_answer_is_not_asked_again() -> None:
    async with served(b"", None, b"", None) as (server, http):
        with pytest.raises(UpstreamError, match=r"connection to .* failed"):
            await OpenAICompatible(server.url.removesuffix("/chat/completions"), http).ask(QUESTION)
    assert len(server.requests) == 2
    async with served(SAID[:-10], None, SAID) as (server, http):
        with pytest.raises(UpstreamError, match=r"connection to .* failed"):
            await OpenAICompatible(server.url.removesuffix("/chat/completions"), http).ask(QUESTION)
    assert len(server.requests) == 1


async def test_so_is_one_on_a_connection_that_is_reset() -> None:
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        head = await reader.readuntil(b"\r\n\r\n")
        if connections == 1:
            writer.transport.abort()
            return
        await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))
        writer.write(SAID)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    long = ModelRequest(({"role": "user", "content": "Where? " * 130_000},))
    async with upstream_client(connect_seconds=5, read_seconds=30) as http:
        assert (await OpenAICompatible(url, http).ask(long)).text == "Oslo"
    assert connections == 2
    listening.close()
    await listening.wait_closed()
