"""The read side of the event log: turns, newest first, and everything of one turn."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from rightcall.errors import StoreError, UsageError
from rightcall.ports import Event
from rightcall.store.migrations import MIGRATIONS, reason, version_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

OPEN = "open"
"""The status of a turn without a `turn.ended`: it still runs, or its process died."""

_SHORTEST = 12  # characters of a turn's id that are shown at least: `turn_` and seven more


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn in a list. `short` is the shortest beginning of `turn`, from 12 characters on, that no other has."""

    turn: str
    short: str
    time: float
    model: str
    status: str
    attempts: int = 0
    tools: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notes: int = 0
    seconds: float | None = None


def turns(
    path: str | os.PathLike[str],
    *,
    limit: int,
    since: float | None = None,
    status: str | None = None,
    model: str | None = None,
) -> list[TurnRow]:
    """The newest `limit` turns, newest first: those that began at `since` or later, of this status and this model."""
    found: list[TurnRow] = []
    with _reading(path) as connection:
        started = connection.execute(
            "SELECT seq, turn, time FROM events WHERE kind = 'turn.started' AND time >= ? "
            "ORDER BY time DESC, seq DESC",
            (float("-inf") if since is None else since,),
        )
        while len(found) < limit and (start := next(started, None)) is not None:
            row = _turn_row(connection, *start)
            if status in {None, row.status} and model in {None, row.model}:
                found.append(row)
    return found


def turn_events(path: str | os.PathLike[str], turn: str) -> list[Event]:
    """Every event of one turn, in order. `turn` is its id, or a beginning of it that no other turn has."""
    with _reading(path) as connection:
        found = [name for (name,) in connection.execute(_TURNS_FROM, (turn, turn + "\U0010ffff"))]
        if turn in found:
            found = [turn]
        if not found:
            raise UsageError(f"{path} has no turn {turn!r}. `rightcall log list` shows the turns.")
        if len(found) > 1:
            raise UsageError(f"several turns of {path} begin with {turn!r}: {', '.join(found[:5])}. Give more of it.")
        rows = connection.execute("SELECT turn, kind, time, data FROM events WHERE turn = ? ORDER BY seq", found)
        return [Event(name, kind, time, _loaded(data)) for name, kind, time, data in rows]


_TURNS_FROM = "SELECT DISTINCT turn FROM events WHERE turn > '' AND turn >= ? AND turn < ? ORDER BY turn LIMIT 6"


def lost_events(path: str | os.PathLike[str]) -> int:
    """How many events the log says it lost, over all its life."""
    with _reading(path) as connection:
        rows = connection.execute("SELECT data FROM events WHERE turn = '' AND kind = 'log.lost'")
        return sum(_count(_loaded(data).get("count")) for (data,) in rows)


def calls_made(path: str | os.PathLike[str]) -> Iterator[tuple[str, Any]]:
    """The calls that turns ended with, oldest first: the tool's name, and its arguments as far as they were kept."""
    with _reading(path) as connection:
        for (text,) in connection.execute("SELECT data FROM events WHERE kind = 'turn.ended' ORDER BY seq"):
            calls = _loaded(text).get("calls")
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict) and isinstance(call.get("name"), str):
                    yield call["name"], call.get("arguments")


@contextlib.contextmanager
def _reading(path: str | os.PathLike[str]) -> Iterator[apsw.Connection]:
    """A connection that only reads, and sees one moment of the log."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise UsageError(f"there is no event log at {file}. `rightcall serve` makes one; --log names another file.")
    connection = None
    try:
        connection = apsw.Connection(str(file.absolute()), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(5_000)
        with connection:
            if version_of(connection) < MIGRATIONS[-1].number:
                raise StoreError(f"the event log {file} is empty or of an older version. Run `rightcall serve` once.")
            yield connection
    except apsw.Error as error:
        raise StoreError(f"the event log {file} cannot be read: {reason(error)}") from error
    finally:
        if connection is not None:
            connection.close()


def _turn_row(connection: apsw.Connection, seq: int, turn: str, time: float) -> TurnRow:
    short = _short(connection, turn)
    ended = connection.execute(
        "SELECT data FROM events WHERE turn = ? AND kind = 'turn.ended' ORDER BY seq DESC LIMIT 1", (turn,)
    ).get
    if ended is None:
        attempts = connection.execute(
            "SELECT count(*) FROM events WHERE turn = ? AND kind = 'attempt.started'", (turn,)
        ).get
        return TurnRow(turn, short, time, _asked_model(connection, seq), OPEN, attempts)
    data = _loaded(ended)
    seconds = data.get("seconds")
    return TurnRow(
        turn,
        short,
        time,
        str(data.get("model") or "") or _asked_model(connection, seq),
        str(data.get("status", "")),
        _count(data.get("attempts")),
        _words(data.get("calls"), "name"),
        _words(data.get("problems"), "kind"),
        _count(data.get("notes_count")),
        seconds if isinstance(seconds, int | float) else None,
    )


def _asked_model(connection: apsw.Connection, seq: int) -> str:
    return str(_loaded(connection.execute("SELECT data FROM events WHERE seq = ?", (seq,)).get).get("model") or "")


def _short(connection: apsw.Connection, turn: str) -> str:
    """Only the neighbours in order can share more of an id's beginning than all others do."""
    before = connection.execute("SELECT max(turn) FROM events WHERE turn < ?", (turn,)).get
    after = connection.execute("SELECT min(turn) FROM events WHERE turn > ?", (turn,)).get
    length = _SHORTEST
    while any(other and other.startswith(turn[:length]) for other in (before, after)) and length < len(turn):
        length += 1
    return turn[:length]


def _words(items: Any, key: str) -> tuple[str, ...]:
    """The names in a list of names, or of objects that have one under `key`."""
    named = (item.get(key) if isinstance(item, dict) else item for item in (items if isinstance(items, list) else ()))
    return tuple(str(name) for name in named)


def _count(value: Any) -> int:
    """A count that was logged as a number, or as the list of what it counts."""
    if isinstance(value, list):
        return len(value)
    return value if isinstance(value, int) else 0


def _loaded(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):  # not from this library's hand, or deeper than Python reads
        data = None
    return data if isinstance(data, dict) else {"unreadable": text}
