"""What the event log promises: nothing flushed is lost, nothing is lost in silence, and no disk stops the caller."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.errors import StoreError, UsageError
from rightcall.ports import Event, EventLog
from rightcall.store import migrations
from rightcall.store.memory import MemoryEventLog, NullEventLog
from rightcall.store.migrations import APPLICATION_ID, MIGRATIONS, Migration, refuse_unsound_sqlite
from rightcall.store.reading import turn_events, turns
from rightcall.store.sqlite import SqliteEventLog, default_log_path

SOURCES = Path(migrations.__file__).parents[2]

json_objects = st.dictionaries(
    st.text(),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ),
)


def event(number=0, *, turn="t", kind="k", **data):
    return Event(turn, kind, float(number), {"n": number, **data})


def rows(path, columns="turn, kind, data"):
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        return connection.execute(f"SELECT {columns} FROM events ORDER BY seq").fetchall()  # noqa: S608


def numbers(path):
    return [json.loads(data)["n"] for _, _, data in rows(path)]


def child(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", f"import sys\nfrom rightcall.store.sqlite import *\n{code}", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.sqlite"


@pytest.fixture
def opened():
    """Opens logs that are closed after the test."""
    with contextlib.ExitStack() as stack:

        def opened(path, **options):
            return stack.enter_context(contextlib.closing(SqliteEventLog(path, **options)))

        yield opened


class Disk(apsw.VFS):
    """The disk under every SQLite file opened while it exists; `fault` hears of writes and syncs, and may raise."""

    def __init__(self):
        self.base = apsw.vfs_names()[0]
        self.fault = lambda _operation: None
        super().__init__("disk-of-the-test", self.base, makedefault=True)

    def xOpen(self, name, flags):  # noqa: N802
        return DiskFile(self, name, flags)

    def fail_with(self, error):
        def fault(_operation):
            raise error

        self.fault = fault

    def heal(self):
        self.fault = lambda _operation: None

    def excepthook(self, *_):
        """Errors that SQLite itself passes over, as at a checkpoint."""


class DiskFile(apsw.VFSFile):
    def __init__(self, disk, name, flags):
        self.disk = disk
        super().__init__(disk.base, name, flags)

    def xWrite(self, data, offset):  # noqa: N802
        self.disk.fault("write")
        super().xWrite(data, offset)

    def xSync(self, flags):  # noqa: N802
        self.disk.fault("sync")
        super().xSync(flags)

    def excepthook(self, *_):
        pass


@pytest.fixture
def disk():
    disk = Disk()
    yield disk
    disk.unregister()


# Writing


def test_what_was_flushed_is_in_the_file_in_order(path, opened):
    log = opened(path, batch=7)
    for number in range(100):
        log.append(event(number))
    log.flush()

    assert numbers(path) == list(range(100))
    assert log.status().written == 100
    assert log.status().waiting == 0


def test_an_idle_log_writes_without_being_asked(path, opened):
    log = opened(path)
    log.append(event())

    with log._progress:
        assert log._progress.wait_for(lambda: log._written == 1, timeout=30)

    assert numbers(path) == [0]


def test_closing_writes_what_waits_and_may_be_repeated(path):
    log = SqliteEventLog(path)
    for number in range(50):
        log.append(event(number))
    log.close()
    log.close()

    assert numbers(path) == list(range(50))


def test_a_program_that_just_ends_loses_nothing(path):
    process = child(
        "log = SqliteEventLog(sys.argv[1])\nfor n in range(50): log.append(Event('t','k',0.0,{'n':n}))", path
    )
    process.communicate()

    assert process.returncode == 0
    assert numbers(path) == list(range(50))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_sigkill_after_a_flush_loses_nothing(path):
    process = child(
        """
log = SqliteEventLog(sys.argv[1])
for n in range(300): log.append(Event("flushed", "k", 0.0, {"n": n}))
log.flush()
print("flushed", flush=True)
while True: log.append(Event("not flushed", "k", 0.0, {"n": -1}))
""",
        path,
    )
    with process:
        assert process.stdout.readline() == "flushed\n"
        process.send_signal(signal.SIGKILL)

    assert [json.loads(data)["n"] for turn, _, data in rows(path) if turn == "flushed"] == list(range(300))


def test_two_processes_write_one_file(path):
    code = """
log = SqliteEventLog(sys.argv[1], batch=3)
print("ready", flush=True)
sys.stdin.readline()
for n in range(200): log.append(Event(sys.argv[2], "k", 0.0, {"n": n}))
log.close()
"""
    processes = [child(code, path, name) for name in "ab"]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.communicate("go\n")

    written = rows(path)
    assert [process.returncode for process in processes] == [0, 0]
    for name in "ab":
        assert [json.loads(data)["n"] for turn, _, data in written if turn == name] == list(range(200))


@given(json_objects)
def test_any_json_comes_back_as_it_went(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("log") / "events.sqlite"
    with contextlib.closing(SqliteEventLog(path)) as log:
        log.append(Event("turn", "kind", 1.5, data))

    assert turn_events(path, "turn") == [Event("turn", "kind", 1.5, data)]


def test_what_cannot_be_written_as_it_is_holds_nothing_up(path, opened):
    log = opened(path)
    log.append(Event("\ud800", "k\ud800", float("nan"), {"n": "\ud800", "odd": object()}))
    log.append(event(1))
    log.flush()

    (turn, kind, data), _ = rows(path)
    assert (turn, kind, json.loads(data)["n"]) == ("\\ud800", "k\\ud800", "\ud800")


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, {"n": 0, "text": "hello", "model": "qwen"}),
        ({"content": "none"}, {"n": 0, "text": {"omitted": True, "chars": 5}, "model": "qwen"}),
        ({"redact": str.upper}, {"n": 0, "text": "HELLO", "model": "QWEN"}),
    ],
)
def test_content_and_redaction_decide_what_is_kept(path, opened, options, kept):
    log = opened(path, **options)
    log.append(event(text="hello", model="qwen"))
    log.flush()

    assert json.loads(rows(path)[0][2]) == kept


# Failing disks


def test_a_flush_returns_only_when_the_disk_has_synced(path, disk, opened):
    log = opened(path)
    operations = []
    disk.fault = operations.append
    log.append(event())
    log.flush()

    assert "write" in operations
    assert operations[-1] == "sync"


def test_whichever_write_fails_every_event_is_there_once(tmp_path, disk):
    for nth in itertools.count(1):
        path = tmp_path / f"{nth}.sqlite"
        countdown = itertools.count(1)

        def fault(_operation, nth=nth, countdown=countdown):
            if next(countdown) == nth:
                raise apsw.IOError("this one fails")

        disk.fault = fault
        expected = []
        with contextlib.suppress(StoreError), contextlib.closing(SqliteEventLog(path)) as log:
            for number in range(4):
                log.append(event(number))
                expected.append(number)
                with contextlib.suppress(StoreError):
                    log.flush()
        disk.heal()

        assert not path.exists() or not expected or numbers(path) == expected
        SqliteEventLog(path).close()  # and the file is of use
        if next(countdown) <= nth:
            break
    assert nth > 20


def test_whenever_the_disk_dies_what_was_flushed_is_there(tmp_path, disk):
    for nth in itertools.count(1):
        path = tmp_path / f"{nth}.sqlite"
        countdown = itertools.count(1)

        def fault(_operation, nth=nth, countdown=countdown):
            if next(countdown) >= nth:
                raise apsw.IOError("dead")

        disk.fault = fault
        flushed = []
        with contextlib.suppress(StoreError), contextlib.closing(SqliteEventLog(path)) as log:
            for number in range(4):
                log.append(event(number))
                with contextlib.suppress(StoreError):
                    log.flush()
                    flushed.append(number)
        disk.heal()

        SqliteEventLog(path).close()
        assert numbers(path)[: len(flushed)] == flushed
        if next(countdown) <= nth:
            break
    assert flushed == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (apsw.FullError("database or disk is full"), "full. Free some space"),
        (apsw.ReadOnlyError("attempt to write a readonly database"), "writable"),
        (OSError("cable pulled"), "cable pulled"),
    ],
)
def test_a_failing_disk_stops_nothing_but_flush_until_it_is_well_again(path, disk, opened, error, advice, caplog):
    log = opened(path)
    disk.fail_with(error)
    for number in range(10):
        log.append(event(number))

    for _ in range(2):
        with pytest.raises(StoreError, match=advice):
            log.flush()
    assert advice in log.status().failure
    assert log.status().waiting == 10
    assert [record.levelname for record in caplog.records] == ["ERROR"]

    disk.heal()
    log.flush()
    assert log.status().failure is None
    assert numbers(path) == list(range(10))


def test_closing_on_a_dead_disk_says_how_much_is_missing(path, disk):
    log = SqliteEventLog(path)
    disk.fail_with(apsw.FullError("full"))
    for number in range(3):
        log.append(event(number))

    with pytest.raises(StoreError, match="3 events never reached"):
        log.close()


def test_more_than_the_disk_can_take_is_counted_and_said(path, opened, caplog):
    log = opened(path, queue_bytes=10_000, batch=2)
    with contextlib.closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")  # the writer has to wait
        for number in range(30):
            log.append(event(number, text="x" * 1_000))
        lost = log.status().lost
        other.execute("COMMIT")
    with pytest.raises(StoreError, match=f"lost {lost} events"):
        log.flush()
    log.append(event(99))
    log.flush()

    assert 0 < lost < 30
    *kept, loss, last = rows(path)
    assert [json.loads(data)["n"] for _, _, data in kept] == list(range(30 - lost))
    assert loss == ("", "log.lost", json.dumps({"count": lost}, separators=(",", ":")))
    assert json.loads(last[2])["n"] == 99
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_one_event_larger_than_the_bound_still_gets_through(path, opened):
    log = opened(path, queue_bytes=10)
    log.append(event(text="x" * 1_000))
    log.flush()

    assert numbers(path) == [0]


def test_what_comes_after_closing_is_counted_and_not_raised(path, caplog):
    log = SqliteEventLog(path)
    log.close()
    log.append(event())

    assert log.status().lost == 1
    assert "losing events" in caplog.text
    with pytest.raises(StoreError, match="it is closed"):
        log.flush()


# Opening


def test_missing_folders_are_made_and_nobody_else_may_read(tmp_path, opened):
    path = tmp_path / "a" / "b" / "events.sqlite"
    log = opened(path)
    log.append(event())
    log.flush()

    if os.name == "posix":
        modes = {file.name: oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()}
        assert modes == {f"events.sqlite{suffix}": "0o600" for suffix in ("", "-wal", "-shm")}
        assert oct(path.parent.stat().st_mode & 0o777) == "0o700"


def test_the_file_says_whose_it_is_and_of_which_version(path, opened):
    opened(path)

    with contextlib.closing(apsw.Connection(str(path))) as connection:
        pragmas = [connection.pragma(name) for name in ("application_id", "user_version", "journal_mode")]
    assert pragmas == [APPLICATION_ID, MIGRATIONS[-1].number, "wal"]


def test_migrations_are_numbered_from_one_without_gaps():
    assert [migration.number for migration in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_a_file_of_an_older_version_is_migrated_and_keeps_its_data(path, monkeypatch):
    with contextlib.closing(SqliteEventLog(path)) as log:
        log.append(event(1))
    later = Migration(
        MIGRATIONS[-1].number + 1, "say where", "ALTER TABLE events ADD COLUMN place TEXT DEFAULT 'here'"
    )
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, later))

    with contextlib.closing(SqliteEventLog(path)) as log:
        log.append(event(2))

    assert rows(path, "json_extract(data, '$.n'), place") == [(1, "here"), (2, "here")]


def test_a_migration_that_fails_changes_nothing(path, monkeypatch):
    with contextlib.closing(SqliteEventLog(path)) as log:
        log.append(event(1))
    broken = Migration(MIGRATIONS[-1].number + 1, "broken", "ALTER TABLE events ADD COLUMN place TEXT; NONSENSE")
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, broken))
        with pytest.raises(StoreError, match="NONSENSE"):
            SqliteEventLog(path)

    with contextlib.closing(SqliteEventLog(path)) as log:
        log.append(event(2))
    assert numbers(path) == [1, 2]


def test_a_newer_version_is_refused(path):
    SqliteEventLog(path).close()
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.pragma("user_version", 99)

    with pytest.raises(StoreError, match=r"version 99.*Upgrade rightcall"):
        SqliteEventLog(path)


def test_a_file_that_is_no_database_is_refused_and_left_alone(path):
    path.write_text("Dear diary, today I met a large language model. " * 50)

    with pytest.raises(StoreError, match="not a database"):
        SqliteEventLog(path)
    assert path.read_text().startswith("Dear diary")


def test_another_programs_database_is_refused_and_left_alone(path):
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()

    with pytest.raises(StoreError, match="no event log of rightcall"):
        SqliteEventLog(path)
    assert path.read_bytes() == before


def test_a_place_where_no_file_can_be_is_refused(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteEventLog(tmp_path / "file" / "events.sqlite")
    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteEventLog(tmp_path)


def test_a_disk_that_may_only_be_read_is_refused(path, disk):
    disk.fail_with(apsw.ReadOnlyError("attempt to write a readonly database"))

    with pytest.raises(StoreError, match=r"readonly.*Make the file and its folder writable"):
        SqliteEventLog(path)


@pytest.mark.parametrize("version", ["3.7.0", "3.40.1", "3.44.5", "3.45.0", "3.50.6", "3.51.0", "3.51.2"])
def test_an_sqlite_that_corrupts_is_refused(path, monkeypatch, version):
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)

    with pytest.raises(StoreError, match=rf"SQLite {version} can corrupt.*pip install"):
        SqliteEventLog(path)
    assert not path.exists()


@pytest.mark.parametrize("version", ["3.6.23.1", "3.44.6", "3.50.7", "3.51.3", "3.54.1", "4.0.0"])
def test_a_sound_sqlite_is_accepted(monkeypatch, version):
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: version)

    refuse_unsound_sqlite()


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"RIGHTCALL_LOG": "/my/log", "XDG_STATE_HOME": "/state"}, "/my/log"),
        ("linux", {"RIGHTCALL_LOG": "~/log"}, "/home/me/log"),
        ("linux", {"XDG_STATE_HOME": "/state"}, "/state/rightcall/events.sqlite"),
        ("linux", {"XDG_STATE_HOME": "relative"}, "/home/me/.local/state/rightcall/events.sqlite"),
        ("linux", {}, "/home/me/.local/state/rightcall/events.sqlite"),
        ("darwin", {}, "/home/me/Library/Application Support/rightcall/events.sqlite"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/rightcall/events.sqlite"),
        ("win32", {}, "/home/me/AppData/Local/rightcall/events.sqlite"),
    ],
)
@pytest.mark.skipif(os.name != "posix", reason="the expected paths are written the POSIX way")
def test_the_log_has_a_place_on_every_system(monkeypatch, platform, environment, expected):
    for name in ("RIGHTCALL_LOG", "XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)

    assert str(default_log_path()) == expected


# Reading


def test_turns_come_newest_first_and_can_be_narrowed(path):
    with contextlib.closing(SqliteEventLog(path)) as log:
        for number, (model, status) in enumerate([("a", "calls"), ("b", "failed"), ("a", "text")]):
            turn = f"turn-{number}-{model}"
            log.append(event(number, turn=turn, kind="turn.started", model=model))
            log.append(event(number, turn=turn, kind="turn.ended", model=model, status=status))

    def found(**options):
        return [row.turn for row in turns(path, **{"limit": 10, **options})]

    assert found() == ["turn-2-a", "turn-1-b", "turn-0-a"]
    assert found(limit=1) == ["turn-2-a"]
    assert found(since=1.0) == ["turn-2-a", "turn-1-b"]
    assert found(status="failed") == ["turn-1-b"]
    assert found(model="a", limit=1) == ["turn-2-a"]


def test_reading_sees_what_was_flushed_while_the_log_is_being_written(path, opened):
    log = opened(path)
    log.append(event(kind="turn.started", model="a"))
    log.flush()

    assert [(row.turn, row.status) for row in turns(path, limit=1)] == [("t", "open")]


def test_an_exact_id_wins_over_longer_ones_that_begin_with_it(path):
    with contextlib.closing(SqliteEventLog(path)) as log:
        log.append(event(1, turn="ab"))
        log.append(event(2, turn="abc"))

    assert [e.data["n"] for e in turn_events(path, "ab")] == [1]
    assert [e.data["n"] for e in turn_events(path, "abc")] == [2]


def test_reading_never_makes_a_file_and_refuses_what_is_no_log(path):
    with pytest.raises(UsageError, match="no event log"):
        turns(path, limit=1)
    assert not path.exists()

    path.touch()
    with pytest.raises(StoreError, match="rightcall serve"):
        turns(path, limit=1)

    path.write_text("no database " * 100)
    with pytest.raises(StoreError, match="cannot be read"):
        turns(path, limit=1)


# Without a disk


def test_the_fakes_are_event_logs_too():
    memory, null = MemoryEventLog(), NullEventLog()
    logs: list[EventLog] = [memory, null]
    for log in logs:
        log.append(event(1))
        log.flush()
        log.close()

    assert memory.events == [event(1)]
