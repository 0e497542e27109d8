"""The proxy against a bare Starlette forwarder, both in front of a stub: `python benchmarks/proxy.py [--quick]`.

The proxy is `rightcall serve` as people start it: one process, its event log on, in a file. The servers under test
share one core and take turns; the client and the stub have the other. The client is a bare socket that sends
prepared bytes, so that it is not what is measured. Loopback only; every process started here is ended here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from report import Part, Row, Say, Table, alone, duration

import rightcall

LATENCY_BOUND = 0.002
SHARE_BOUND = 1 / 3
CONNECTIONS = 16
ROUNDS = 10
EVENTS_A_TURN = 5
SERVERS = ("direct", "forwarder", "rightcall")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of request: with tools or none, streamed or not."""

    name: str
    tools: int
    stream: bool = False


KINDS = (
    Kind("5 tools", 5),
    Kind("5 tools, streamed", 5, stream=True),
    Kind("no tools", 0),
    Kind("no tools, streamed", 0, stream=True),
)
MORE_TOOLS = (Kind("1 tool", 1), Kind("20 tools", 20), Kind("100 tools", 100))


def run(*, quick: bool, say: Say) -> Part:
    """Latency at one connection, throughput at sixteen, for each kind of request; latency with more tools."""
    one, many = (60, 240) if quick else (300, 1_500)
    latency: dict[str, dict[str, float]] = {}
    throughput: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder, _started(Path(folder)) as servers:
        for kind in (*KINDS, *MORE_TOOLS):
            say(f"proxy: latency, {kind.name}")
            latency[kind.name] = asyncio.run(_latency(servers, kind, one))
        for kind in KINDS:
            say(f"proxy: throughput, {kind.name}")
            throughput[kind.name] = asyncio.run(_throughput(servers, kind, many))
        pinned = servers[0].cores is not None
        servers[-1].end()
        log = _logged(Path(folder) / "events.sqlite")
    numbers = {"latency": latency, "throughput": throughput, "event_log": log, "pinned": pinned}
    return Part(
        "proxy", _rows(latency, throughput), _tables(latency, throughput), numbers, _remarks(log, pinned=pinned)
    )


# -- the servers ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; `cores` is where it was pinned to."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    cores: frozenset[int] | None

    def cpu(self) -> float:
        """Seconds of processor time it has used, all threads; 0 where the system does not say."""
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return 0.0

    def end(self) -> None:
        """Ends it in good order, and waits."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@contextlib.contextmanager
def _started(folder: Path) -> Iterator[list[Server]]:
    """The stub (which is `direct`), the forwarder and the proxy, each in a process of its own."""
    own, theirs = _cores()
    here = Path(__file__).with_name("servers.py")
    stub, forwarder, proxy = _free_ports(3)
    upstream = f"http://127.0.0.1:{stub}/v1"
    commands = {
        "direct": (stub, [str(here), "stub", str(stub)], own),
        "forwarder": (forwarder, [str(here), "forward", str(forwarder), upstream], theirs),
        "rightcall": (proxy, ["-m", "rightcall", "serve", "--upstream", upstream, "--port", str(proxy),
                              "--log-path", str(folder / "events.sqlite")], theirs),
    }  # fmt: skip
    source = str(Path(rightcall.__file__).resolve().parents[1])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RIGHTCALL_")}
    environment |= {"PYTHONPATH": source, "XDG_CONFIG_HOME": str(folder)}
    before = os.sched_getaffinity(0) if own else None
    servers: list[Server] = []
    try:
        if own:
            os.sched_setaffinity(0, own)
        for name, (port, arguments, cores) in commands.items():
            process = subprocess.Popen(  # noqa: S603 - our own servers
                [sys.executable, *arguments], cwd=folder, env=environment, stdout=subprocess.DEVNULL
            )
            servers.append(Server(name, port, process, cores))
            if cores:
                os.sched_setaffinity(process.pid, cores)
        for server in servers:
            _wait_for(server)
        yield servers
    finally:
        for server in servers:
            server.end()
        if before:
            os.sched_setaffinity(0, before)


def _cores() -> tuple[frozenset[int] | None, frozenset[int] | None]:
    """One core for the client and the stub, another for the servers under test, where that can be had."""
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        return None, None
    first, second, *_ = sorted(os.sched_getaffinity(0))
    return frozenset((first,)), frozenset((second,))


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(contextlib.closing(socket.socket())) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _wait_for(server: Server) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if server.process.poll() is not None:
            raise SystemExit(f"the server {server.name!r} ended at once; its output is above")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/healthz", timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"the server {server.name!r} did not come up within a minute")


# -- the client -------------------------------------------------------------------------------------------------


class Connection:
    """A kept-alive connection that sends prepared bytes and reads one whole answer."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 22)
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def ask(self, request: bytes) -> bytes:
        """Head and body of the answer, as they came."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise SystemExit(f"a server answered: {head[:400].decode('latin-1')}")
        _, found, length = head.lower().partition(b"\r\ncontent-length:")
        if found:
            return head + await self._reader.readexactly(int(length.partition(b"\r\n")[0]))
        return head + await self._reader.readuntil(b"\r\n0\r\n\r\n")


def _request(kind: Kind, port: int) -> bytes:
    """A request about as an agent sends it: a system prompt, a question, tools of five parameters."""
    body: dict[str, Any] = {
        "model": "stub",
        "messages": [
            {"role": "system", "content": "You answer questions about the weather. " * 20},
            {"role": "user", "content": "What is the weather like in Oslo for the next 3 days? Rain and wind only."},
        ],
        "temperature": 0,
    }
    if kind.tools:
        body["tools"] = [_tool("get_forecast"), *(_tool(f"get_other_{number}") for number in range(1, kind.tools))]
    if kind.stream:
        body["stream"] = True
    content = json.dumps(body).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"accept: */*\r\nuser-agent: bench\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def _tool(name: str) -> dict[str, Any]:
    properties = {
        "city": {"type": "string", "description": "The city, as people write it."},
        "days": {"type": "integer", "minimum": 1, "maximum": 14, "description": "How many days from today on."},
        "unit": {"enum": ["celsius", "fahrenheit"], "description": "The unit of temperatures."},
        "hourly": {"type": "boolean", "description": "Hours instead of days."},
        "fields": {"type": "array", "items": {"type": "string"}, "description": "What to tell: rain, wind, ..."},
    }
    parameters = {"type": "object", "properties": properties, "required": ["city", "days"], "title": name}
    return {"type": "function", "function": {"name": name, "description": f"The weather, by {name}.",
                                             "parameters": parameters}}  # fmt: skip


# -- what is measured -------------------------------------------------------------------------------------------


async def _latency(servers: Sequence[Server], kind: Kind, count: int) -> dict[str, float]:
    """Median seconds of one request at one connection; the servers take turns."""
    took: dict[str, list[float]] = {server.name: [] for server in servers}
    for _ in range(ROUNDS):
        for server in servers:
            request = _request(kind, server.port)
            async with Connection(server.port) as connection:
                for _ in range(3):  # warm: compiled schemas, kept-alive connections
                    _must_be_right(await connection.ask(request), kind, server)
                for _ in range(count // ROUNDS):
                    began = time.perf_counter()
                    await connection.ask(request)
                    took[server.name].append(time.perf_counter() - began)
    return {name: statistics.median(seconds) for name, seconds in took.items()}


async def _throughput(servers: Sequence[Server], kind: Kind, count: int) -> dict[str, dict[str, float]]:
    """Requests a second at sixteen connections, in five rounds of turns, and how busy the server's core was."""
    rounds = 5
    found: dict[str, list[tuple[float, float]]] = {server.name: [] for server in servers}
    for turn in range(rounds + 1):
        for server in servers:
            request, each = _request(kind, server.port), max(1, count // rounds // CONNECTIONS)
            async with contextlib.AsyncExitStack() as stack:
                connections = [await stack.enter_async_context(Connection(server.port)) for _ in range(CONNECTIONS)]
                each = each if turn else 1  # the first round only warms up
                cpu, began = server.cpu(), time.perf_counter()
                await asyncio.gather(*(_ask_often(connection, request, each) for connection in connections))
                took = time.perf_counter() - began
                if turn:
                    found[server.name].append((each * CONNECTIONS / took, (server.cpu() - cpu) / took))
    return {
        name: {"per_second": statistics.median(speed for speed, _ in samples),
               "cpu": statistics.median(cpu for _, cpu in samples)}
        for name, samples in found.items()
    }  # fmt: skip


async def _ask_often(connection: Connection, request: bytes, times: int) -> None:
    for _ in range(times):
        await connection.ask(request)


def _must_be_right(answer: bytes, kind: Kind, server: Server) -> None:
    """What is timed must be the real thing: a call from the first attempt, through the proxy's own path."""
    head, _, body = answer.partition(b"\r\n\r\n")
    wanted = b"get_forecast" if kind.tools else b"rain"
    through = server.name != "rightcall" or not kind.tools or b'"status":"calls","attempts":1' in body
    if wanted not in body or not through:
        raise SystemExit(f"{server.name} answered {kind.name!r} wrongly: {head[:300]!r} {body[:600]!r}")


def _logged(path: Path) -> dict[str, int]:
    """Events in the log, turns that ended, events lost."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        counts = dict(connection.execute("SELECT kind, count(*) FROM events GROUP BY kind").fetchall())
    return {"events": sum(counts.values()), "turns": counts.get("turn.ended", 0), "lost": counts.get("log.lost", 0)}


# -- the report -------------------------------------------------------------------------------------------------


def _rows(latency: dict[str, dict[str, float]], throughput: dict[str, dict[str, dict[str, float]]]) -> list[Row]:
    rows = []
    for kind in KINDS:
        times = latency[kind.name]
        added, peer = (times[name] - times["direct"] for name in ("rightcall", "forwarder"))
        rows.append(
            Row(f"proxy, added latency, {kind.name}", duration(added), f"forwarder {duration(peer)}",
                f"{added / peer:.2f}×", f"at most {duration(LATENCY_BOUND)}", added <= LATENCY_BOUND)
        )  # fmt: skip
    for kind in KINDS:
        speeds = throughput[kind.name]
        ours, theirs = (speeds[name]["per_second"] for name in ("rightcall", "forwarder"))
        rows.append(
            Row(f"proxy, {CONNECTIONS} connections, {kind.name}", f"{ours:,.0f} requests/s",
                f"forwarder {theirs:,.0f} requests/s", f"{ours / theirs:.2f}×", "at least 0.33×",
                ours / theirs >= SHARE_BOUND)
        )  # fmt: skip
    return rows


def _tables(latency: dict[str, dict[str, float]], throughput: dict[str, dict[str, dict[str, float]]]) -> list[Table]:
    first = [
        (name, *(duration(times[server]) for server in SERVERS), duration(times["forwarder"] - times["direct"]),
         duration(times["rightcall"] - times["direct"]))
        for name, times in latency.items()
    ]  # fmt: skip
    second = [
        (name, *(f"{speeds[server]['per_second']:,.0f} ({speeds[server]['cpu']:.0%})" for server in SERVERS))
        for name, speeds in throughput.items()
    ]
    return [
        Table("Median latency at one connection",
              ("requests", *SERVERS, "added by the forwarder", "added by rightcall"), first),
        Table(f"Requests a second at {CONNECTIONS} connections (and how busy that server's core was)",
              ("requests", *SERVERS), second),
    ]  # fmt: skip


def _remarks(log: dict[str, int], *, pinned: bool) -> list[str]:
    placed = "pinned: the servers under test on one core, client and stub on another" if pinned else "not pinned"
    whole = "all there" if log["events"] == EVENTS_A_TURN * log["turns"] else "NOT five a turn"
    return [
        f"{placed}; uvicorn and httpx2 as they come for rightcall and forwarder alike.",
        f"event log on: {log['turns']:,} turns, {log['events']:,} events in the file ({whole}), {log['lost']} lost.",
    ]


if __name__ == "__main__":
    alone(run)
