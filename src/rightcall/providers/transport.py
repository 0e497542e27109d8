"""aiohttp underneath httpx2: the same client, whose requests cost 0.4 of the time (design/10-proxy-cost.md).

httpx2's own transport reads and writes HTTP in Python; aiohttp does it in C. Everything above the transport stays
httpx2's: requests, timeouts, decoding, exceptions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import lru_cache

import aiohttp
import httpx2
import yarl

_KEEP_ALIVE_SECONDS = 4.0  # servers close idle connections after 5 s (llama.cpp, uvicorn); a race loses a request
_WRITTEN_BY_HTTPX2 = ("accept", "accept-encoding", "content-type", "user-agent")


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Sends httpx2's requests through one aiohttp session, which keeps connections. HTTP/1.1, no proxies."""

    def __init__(self, *, max_connections: int = 256) -> None:
        self._max_connections = max_connections
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One exchange; the body of the answer is still to be read."""
        content = await request.aread()
        timeout = request.extensions.get("timeout", {})
        with _translated(request):
            response = await self._opened().request(
                request.method,
                _url(str(request.url)),
                headers=[(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw],
                skip_auto_headers=_WRITTEN_BY_HTTPX2,
                data=content or None,
                allow_redirects=False,
                timeout=_timeout(timeout.get("connect"), timeout.get("read")),
            )
        return httpx2.Response(
            response.status,
            headers=response.raw_headers,
            stream=_Body(request, response),
            extensions={
                "http_version": b"HTTP/1.1",
                "reason_phrase": (response.reason or "").encode("latin-1", "replace"),
            },
        )

    async def aclose(self) -> None:
        """Ends all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        """The session, made where there is a loop for it to run in."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._max_connections,
                    keepalive_timeout=_KEEP_ALIVE_SECONDS,
                    ssl=httpx2.create_ssl_context(),
                ),
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


class _Body(httpx2.AsyncByteStream):
    """The answer's body as it comes. Closing it early closes the connection, which tells the server to stop."""

    def __init__(self, request: httpx2.Request, response: aiohttp.ClientResponse) -> None:
        self._request = request
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated(self._request):
            async for part in self._response.content.iter_any():
                yield part

    async def aclose(self) -> None:
        self._response.close()


@lru_cache(maxsize=256)
def _url(url: str) -> yarl.URL:
    return yarl.URL(url, encoded=True)


@lru_cache(maxsize=16)
def _timeout(connect: float | None, read: float | None) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=connect, sock_read=read)


@contextmanager
def _translated(request: httpx2.Request) -> Iterator[None]:
    """The exceptions of aiohttp as those of httpx2."""
    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise httpx2.ConnectTimeout(str(error), request=request) from error
    except aiohttp.ServerTimeoutError as error:
        raise httpx2.ReadTimeout(str(error), request=request) from error
    except aiohttp.ClientConnectorError as error:
        raise httpx2.ConnectError(str(error), request=request) from error
    except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, aiohttp.ClientResponseError) as error:
        raise httpx2.RemoteProtocolError(str(error), request=request) from error
    except (aiohttp.ClientError, ConnectionError) as error:
        raise httpx2.NetworkError(str(error), request=request) from error
