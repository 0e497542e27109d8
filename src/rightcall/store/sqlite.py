"""The event log in one SQLite file: appending costs microseconds, one thread does the writing.

An event that finds the writer idle is written within 10 ms, and with it what came meanwhile: a turn is one
transaction. While the writer is busy events gather, and the next transaction takes all of them up to `batch`: the
disk sets the pace, and the busier it is the fewer transactions it sees.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import marshal
import math
import os
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from rightcall.errors import StoreError
from rightcall.ports import Event
from rightcall.store.migrations import open_log, reason
from rightcall.store.redaction import as_json

if TYPE_CHECKING:
    from rightcall.store.redaction import Content, Redact

LOST = "log.lost"
"""Kind of the event, of no turn, that says how many events were lost because the disk could not keep up."""

_GATHER_SECONDS = 0.01  # how long an event that finds the writer idle waits for the rest of its turn
_RETRY_SECONDS = 1.0  # how long a failing disk is left alone, unless somebody flushes

_logger = logging.getLogger(__name__)


def default_log_path() -> Path:
    """$RIGHTCALL_LOG, else the place where this system keeps the state of programs."""
    if chosen := os.environ.get("RIGHTCALL_LOG"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        state = Path(os.environ.get("XDG_STATE_HOME", ""))
        folder = state if state.is_absolute() else Path.home() / ".local" / "state"  # a relative one is void
    return folder / "rightcall" / "events.sqlite"


@dataclass(frozen=True, slots=True)
class LogStatus:
    """How the log is doing. `failure` is why the last transaction failed, None where it did not."""

    path: Path
    written: int
    waiting: int
    lost: int
    failure: str | None


class SqliteEventLog:
    """An `EventLog` in one SQLite file, which several processes may share.

    What was flushed survives SIGKILL and power loss. Nothing is dropped in silence: at most `queue_bytes` (about)
    of events wait for the disk, those beyond are counted, and a `log.lost` event takes their place as soon as
    there is room. A failing disk stops nothing but `flush`: what waits is tried again until it is written.

    `content` and `redact` say what is kept of the events' data; see `store.redaction`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        batch: int = 500,
        queue_bytes: int = 64 * 1024 * 1024,
        content: Content = "full",
        redact: Redact | None = None,
    ) -> None:
        self._path = Path(path).expanduser()
        self._batch = batch
        self._queue_bytes = queue_bytes
        self._content: Content = content
        self._redact = redact
        self._connection = open_log(self._path)

        lock = threading.Lock()  # guards all that follows
        self._work = threading.Condition(lock)  # there is something for the writer to do
        self._progress = threading.Condition(lock)  # a transaction ended, one way or the other
        self._queue: deque[tuple[Event, int]] = deque()
        self._waiting_bytes = 0
        self._taken = 0
        self._written = 0
        self._lost = 0
        self._lost_since_flush = 0
        self._unrecorded: Event | None = None  # the `log.lost` event that there is no room for yet
        self._attempts = 0
        self._failed_attempt = 0
        self._failure: str | None = None
        self._idle = False
        self._flushing = 0  # how many wait in `flush`
        self._attempts_at_close: int | None = None  # a number once the log is closed

        self._writer = threading.Thread(target=self._write_all, name="rightcall-event-log", daemon=True)
        self._writer.start()
        atexit.register(self._close_at_exit)

    def append(self, event: Event) -> None:
        """Takes the event and returns at once. Its data must not change afterwards."""
        weight = _weight(event.data, self._queue_bytes)
        with self._work:
            crowded = self._waiting_bytes > 0 and self._waiting_bytes + weight > self._queue_bytes
            if crowded or self._attempts_at_close is not None:
                self._lose(event)
            else:
                self._take(event, weight)

    def flush(self) -> None:
        """Returns when everything appended before is durable.

        Raises `StoreError` where the disk fails, and where events were lost since the last flush.
        """
        with self._work:
            goal = self._taken + (self._unrecorded is not None)
            attempts = self._attempts
            self._flushing += 1
            self._work.notify()
            try:
                while self._written < goal:
                    if self._failed_attempt > attempts or not self._writer.is_alive():
                        raise StoreError(
                            f"the event log {self._path} cannot be written: {self._failure or 'it is closed'}"
                        )
                    self._progress.wait()
            finally:
                self._flushing -= 1
            lost, self._lost_since_flush = self._lost_since_flush, 0
        if lost:
            raise StoreError(
                f"the event log {self._path} lost {lost} events: more came than the disk could take. Every other "
                f"event is written, and a {LOST} event says how many are missing."
            )

    def status(self) -> LogStatus:
        """How the log is doing, for people and health checks."""
        with self._work:
            return LogStatus(self._path, self._written, self._taken - self._written, self._lost, self._failure)

    def close(self) -> None:
        """Writes what waits and ends the log. Raises `StoreError` where something could not be written."""
        with self._work:
            if self._attempts_at_close is None:
                self._attempts_at_close = self._attempts
            self._work.notify()
        self._writer.join()
        atexit.unregister(self._close_at_exit)
        with contextlib.suppress(apsw.Error):  # what was committed is safe, checkpointed or not
            self._connection.close()
        if self._failure is not None:
            unwritten = self._taken - self._written
            raise StoreError(f"{unwritten} events never reached the event log {self._path}: {self._failure}")

    def _close_at_exit(self) -> None:
        try:
            self.close()
        except StoreError as error:
            _logger.error("%s", error)  # noqa: TRY400 - the trace says nothing to a person at this point

    def _take(self, event: Event, weight: int) -> None:
        self._queue.append((event, weight))
        self._waiting_bytes += weight
        self._taken += 1
        if self._idle or len(self._queue) == self._batch or 2 * self._waiting_bytes > self._queue_bytes:
            self._work.notify()

    def _lose(self, event: Event) -> None:
        if self._lost == 0:
            _logger.warning("the event log %s is losing events: it is closed or its disk cannot keep up", self._path)
        self._lost += 1
        self._lost_since_flush += 1
        so_far = self._unrecorded.data["count"] if self._unrecorded else 0
        self._unrecorded = Event("", LOST, event.time, {"count": so_far + 1})

    # What follows runs in the writer's thread.

    def _write_all(self) -> None:
        while batch := self._next_batch():
            while not self._attempt(batch):
                if not self._try_again():
                    return
            self._settle(batch)

    def _next_batch(self) -> list[tuple[Event, int]]:
        """All that waits, up to a batch; nothing where the log is closed and all is written."""
        with self._work:
            while not self._queue and self._attempts_at_close is None:
                self._idle = True
                self._work.wait()
            if self._idle and not self._flushing and self._attempts_at_close is None:
                self._idle = False
                self._work.wait(_GATHER_SECONDS)  # the rest of a turn comes within it; who flushes ends it
            self._idle = False
            return [self._queue.popleft() for _ in range(min(self._batch, len(self._queue)))]

    def _row(self, event: Event) -> tuple[str, str, float, str]:
        data = as_json(event.data, content=self._content, redact=self._redact)
        return _writable(event.turn), _writable(event.kind), _seconds(event.time), data

    def _attempt(self, batch: list[tuple[Event, int]]) -> bool:
        """One transaction: all of `batch` or nothing."""
        with self._work:
            self._attempts += 1
        try:
            values = [value for event, _ in batch for value in self._row(event)]
            self._connection.execute(_insert(len(batch)), values)
        except Exception as error:  # noqa: BLE001 - whatever it is, the writer must live to try again
            self._fail(reason(error))
            return False
        return True

    def _fail(self, reason: str) -> None:
        if self._failure is None:
            _logger.error("the event log %s cannot be written, and tries again: %s", self._path, reason)
        with self._progress:
            self._failure = reason
            self._failed_attempt = self._attempts
            self._progress.notify_all()

    def _try_again(self) -> bool:
        """After a failure: waits for a moment, or for somebody who flushes. A closed log tries once more."""
        with self._work:
            if self._attempts_at_close is None:
                self._work.wait(_RETRY_SECONDS)
            return self._attempts_at_close is None or self._failed_attempt <= self._attempts_at_close

    def _settle(self, batch: list[tuple[Event, int]]) -> None:
        with self._progress:
            self._failure = None
            self._written += len(batch)
            self._waiting_bytes -= sum(weight for _, weight in batch)
            if self._unrecorded is not None:  # now there is room, and it goes before whatever comes later
                self._take(self._unrecorded, 0)
                self._unrecorded = None
            self._progress.notify_all()


def _weight(data: Any, enough: int) -> int:
    """About how many bytes `data` is; counts no further than `enough`, so that a circle in it ends too."""
    with contextlib.suppress(ValueError):  # nothing counts plain values quicker; it refuses the others, and circles
        return len(marshal.dumps(data, 2))
    total = 0
    stack = [data]
    while stack and total <= enough:
        value = stack.pop()
        if isinstance(value, str | bytes):
            total += len(value)
        elif isinstance(value, dict):
            total += 64
            stack.extend(value.values())
        elif isinstance(value, list | tuple):
            total += 64
            stack.extend(value)
        elif isinstance(value, Mapping):
            total += 64
            stack.extend(value.values())
        else:
            total += 8
    return total


def _insert(rows: int) -> str:
    """One statement for all rows, and so one transaction.

    `executemany` gives up and takes back the interpreter's lock at every row; beside a busy event loop that is a
    wait of milliseconds each time, which makes the writer a hundred times slower.
    """
    places = ", ".join(["(?, ?, ?, ?)"] * rows)
    return f"INSERT INTO events (turn, kind, time, data) VALUES {places}"  # noqa: S608 - question marks only


def _writable(word: str) -> str:
    """`word` as UTF-8 can write it. One row that cannot be written would hold up all that come after it."""
    return str(word).encode("utf-8", "backslashreplace").decode("utf-8")


def _seconds(time: Any) -> float:
    return float(time) if isinstance(time, int | float) and math.isfinite(time) else 0.0
