"""The event log against the standard library's `sqlite3`, on this disk: `python benchmarks/event_log.py [--quick]`.

The peers write the same rows with the same durability (WAL, synchronous=FULL) into the same table:
one INSERT and commit an event, which is what "durable at once" costs without a writer thread, and one `executemany`
of all events, which is as fast as the standard library gets and keeps nothing until the end.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from report import Part, Row, Say, Table, alone

from rightcall.ports import Event
from rightcall.store.migrations import MIGRATIONS
from rightcall.store.sqlite import SqliteEventLog

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS = 20_000
COMMITS = 2_000  # fewer where every event waits for the disk
SIZES = (512, 2_048, 8_192, 32_768)
BOUND = 5_000


def make_events(count: int, size: int) -> list[Event]:
    """Events like those of attempts, about `size` bytes of JSON each, eight a turn."""
    tool = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    talk = "What is the weather like in Oslo, and is it going to rain before the evening? "
    empty = {
        "number": 1,
        "rung": "first",
        "request": {"messages": [{"role": "user", "content": ""}], "tools": [tool]},
    }
    text = (talk * (size // len(talk) + 1))[: max(0, size - len(json.dumps(empty)))]
    messages = [{"role": "user", "content": text[start : start + 300]} for start in range(0, len(text), 300)]
    data = {**empty, "request": {"messages": messages, "tools": [tool]}}
    kinds = ("turn.started", *["attempt.started"] * 6, "turn.ended")
    return [
        Event(f"{number // 8 * 2_654_435_761:032x}", kinds[number % 8], float(number), data)
        for number in range(count)
    ]


def rightcall(folder: Path, events: list[Event]) -> dict[str, float]:
    """Appends, then a flush: events a second until all are durable, and what one append costs its caller."""
    appends = []
    with contextlib.closing(SqliteEventLog(folder / "events.sqlite", queue_bytes=1 << 40)) as log:
        began = time.perf_counter()
        for event in events:
            before = time.perf_counter()
            log.append(event)
            appends.append(time.perf_counter() - before)
        log.flush()
        took = time.perf_counter() - began
    return {"events_per_s": len(events) / took, "append_us_median": statistics.median(appends) * 1e6}


def beside_work(folder: Path, events: list[Event]) -> dict[str, float]:
    """A thread that is never idle, as a loaded proxy's is, appends an event after every bit of its work."""

    def work(append: Callable[[Event], None]) -> float:
        began = time.perf_counter()
        for event in events:
            for _ in range(5):
                json.dumps(event.data)
            append(event)
        return time.perf_counter() - began

    alone = work(lambda _: None)
    with contextlib.closing(SqliteEventLog(folder / "events.sqlite", queue_bytes=1 << 40)) as log:
        with_log = work(log.append)
        behind = log.status().waiting
    return {
        "events_per_s": len(events) / with_log,
        "behind_at_the_end": behind,
        "cost_us_an_event": (with_log - alone) / len(events) * 1e6,
    }


def commit_each(folder: Path, events: list[Event]) -> float:
    """The standard library, one transaction an event."""
    with _standard_library(folder) as connection:
        began = time.perf_counter()
        for event in events:
            connection.execute(_INSERT, _row(event))
            connection.commit()
        return len(events) / (time.perf_counter() - began)


def one_batch(folder: Path, events: list[Event]) -> float:
    """The standard library, one transaction for all."""
    with _standard_library(folder) as connection:
        began = time.perf_counter()
        connection.executemany(_INSERT, map(_row, events))
        connection.commit()
        return len(events) / (time.perf_counter() - began)


_INSERT = "INSERT INTO events (turn, kind, time, data) VALUES (?, ?, ?, ?)"


def _row(event: Event) -> tuple[str, str, float, str]:
    return event.turn, event.kind, event.time, json.dumps(event.data, separators=(",", ":"))


@contextlib.contextmanager
def _standard_library(folder: Path) -> Any:
    with contextlib.closing(sqlite3.connect(folder / "peer.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("PRAGMA synchronous = full")
        connection.executescript("".join(migration.sql for migration in MIGRATIONS))
        yield connection


def _in_new_folder(measure: Any, events: list[Event]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return measure(Path(folder), events)


def measure(count: int, commits: int) -> dict[str, Any]:
    """All numbers: events a second, ratios to the peers, growth with the size of an event."""
    events = make_events(count, 2_048)
    ours = _in_new_folder(rightcall, events)
    each = _in_new_folder(commit_each, events[:commits])
    batch = _in_new_folder(one_batch, events)
    growth = {
        size: _in_new_folder(rightcall, make_events(max(1_000, count * 512 // size), size)) | {"bytes": size}
        for size in SIZES
    }
    return {
        "event_bytes": len(_row(events[0])[3]),
        "events": count,
        "rightcall": ours,
        "sqlite3_commit_each_events_per_s": each,
        "sqlite3_one_batch_events_per_s": batch,
        "ratio_to_commit_each": ours["events_per_s"] / each,
        "ratio_to_one_batch": ours["events_per_s"] / batch,
        "beside_work": _in_new_folder(beside_work, events),
        "growth_with_size": list(growth.values()),
        "bound_events_per_s": BOUND,
        "within_bound": ours["events_per_s"] >= BOUND,
    }


def run(*, quick: bool, say: Say) -> Part:
    """The row of the cost table, and what stands behind it."""
    say("event log: events a second")
    found = measure(EVENTS // 10, COMMITS // 10) if quick else measure(EVENTS, COMMITS)
    speed, each = found["rightcall"]["events_per_s"], found["sqlite3_commit_each_events_per_s"]
    row = Row(
        f"event log, events of {found['event_bytes']:,} bytes, durable at the end",
        f"{speed:,.0f} events/s",
        f"sqlite3, a commit an event: {each:,.0f} events/s",
        f"{found['ratio_to_commit_each']:.1f}×",
        f"at least {BOUND:,} events/s",
        met=found["within_bound"],
    )
    beside = found["beside_work"]
    remarks = (
        f"an append costs its caller {found['rightcall']['append_us_median']:.1f} µs in the middle.",
        f"one executemany of all events: rightcall has {found['ratio_to_one_batch']:.2f} times its speed.",
        f"beside a thread that is never idle: {beside['events_per_s']:,.0f} events/s.",
        f"an event costs that thread {beside['cost_us_an_event']:.0f} µs, all included.",
    )
    growth = [
        (f"{each['bytes']:,}", f"{each['events_per_s']:,.0f}", f"{each['events_per_s'] * each['bytes'] / 1e6:.1f}")
        for each in found["growth_with_size"]
    ]
    table = Table("Growth with the size of an event", ("bytes", "events/s", "MB/s"), growth)
    return Part("event log", [row], [table], found, remarks)


if __name__ == "__main__":
    alone(run)
