"""How the event log's file is opened and comes to its schema, in numbered and named steps.

`PRAGMA user_version` says which steps were taken. A step that has been released never changes: a new need is a new
step at the end.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, NamedTuple

import apsw

from rightcall.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

APPLICATION_ID = 0x52_43_4C_47
"""`RCLG`, in the file's header: this SQLite file is an event log of rightcall and nothing else."""

_BUSY_MS = 10_000  # how long to wait for another process's transaction


class Migration(NamedTuple):
    """One step of the schema, from version `number - 1` to `number`."""

    number: int
    name: str
    sql: str


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        1,
        "events, found by turn, and turns by their start",
        # The second index is partial: it costs one write a turn, not one an event.
        """
        CREATE TABLE events (
            seq INTEGER PRIMARY KEY,
            turn TEXT NOT NULL,
            kind TEXT NOT NULL,
            time REAL NOT NULL,
            data TEXT NOT NULL
        ) STRICT;
        CREATE INDEX events_of_turn ON events (turn);
        CREATE INDEX turn_starts ON events (time) WHERE kind = 'turn.started';
        """,
    ),
)


def refuse_unsound_sqlite() -> None:
    """Raises `StoreError` on an SQLite whose WAL can corrupt a file that several connections write."""
    version = tuple(map(int, apsw.sqlite_lib_version().split(".")))
    repaired = version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)
    if version >= (3, 7) and not repaired:
        raise StoreError(
            f"SQLite {apsw.sqlite_lib_version()} can corrupt the event log (the WAL-reset bug of 3.7.0 to 3.51.2). "
            "Install an apsw with SQLite 3.51.3 or newer: pip install --upgrade apsw"
        )


def open_log(path: Path) -> apsw.Connection:
    """The log at `path`, made or migrated where needed. Raises `StoreError`."""
    refuse_unsound_sqlite()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What was said to a model is nobody else's business; SQLite gives its side files the same mode.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(
            f"the event log {path} cannot be opened: {error.strerror}. Choose another file (RIGHTCALL_LOG)."
        ) from error
    connection = None
    try:
        connection = apsw.Connection(str(path.absolute()), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(_BUSY_MS)
        version_of(connection)  # a file that is not ours stays as it is
        _use_wal(connection)
        connection.pragma("synchronous", "full")
        _migrate(connection)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, apsw.Error):
            raise StoreError(f"the event log {path} cannot be opened: {reason(error)}") from error
        raise
    return connection


def _use_wal(connection: apsw.Connection) -> None:
    deadline = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:  # where several processes open a new file at once SQLite does not wait here by itself
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def reason(error: BaseException) -> str:
    """What went wrong, and what to do about it."""
    advice = {
        apsw.BusyError: "Another process holds it; end that process, or choose another file (RIGHTCALL_LOG).",
        apsw.CantOpenError: "Is its folder writable?",
        apsw.CorruptError: "Move the file away; a new one is made.",
        apsw.FullError: "Free some space.",
        apsw.NotADBError: "Choose another file (RIGHTCALL_LOG).",
        apsw.ReadOnlyError: "Make the file and its folder writable, or choose another file (RIGHTCALL_LOG).",
    }
    said = f"{str(error) or type(error).__name__}."
    return " ".join([said, *(text for kind, text in advice.items() if isinstance(error, kind))])


def version_of(connection: apsw.Connection) -> int:
    """The schema's version, 0 for an empty file. Raises `StoreError` for a file that is not rightcall's to use."""
    with connection:  # one snapshot, whoever else is making the file at this moment
        application, version = connection.pragma("application_id"), connection.pragma("user_version")
        used = connection.execute("SELECT 1 FROM sqlite_schema").get is not None
    if application == APPLICATION_ID:
        if version > MIGRATIONS[-1].number:
            raise StoreError(
                f"{connection.filename} is an event log of version {version}, and this rightcall knows versions up "
                f"to {MIGRATIONS[-1].number}. Upgrade rightcall, or choose another file."
            )
        return int(version)
    if application or version or used:
        raise StoreError(
            f"{connection.filename} is an SQLite database, but no event log of rightcall. Choose another file."
        )
    return 0


def _migrate(connection: apsw.Connection) -> None:
    """Brings the file to the newest version, all or nothing, whoever else is opening it at the same moment."""
    if version_of(connection) == MIGRATIONS[-1].number:
        return
    connection.execute("BEGIN IMMEDIATE")  # whatever fails from here on, closing the connection takes it all back
    version = version_of(connection)  # again: another process may have been first
    for migration in MIGRATIONS[version:]:
        connection.execute(migration.sql)
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", MIGRATIONS[-1].number)
    connection.execute("COMMIT")
