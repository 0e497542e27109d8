"""Carrying calls out: in a copy, within a time, and never with the power to spoil the next trial."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rightcall.errors import UsageError
from rightcall.evaluation.ablation.fixture import Fixture, folder_digest, snapshot
from rightcall.evaluation.ablation.plan import FixtureSpec
from rightcall.evaluation.ablation.worker import MAX_CHARS

MODULE = f"""
import os
from pathlib import Path

print("words of the module must not get between the answers")

def read(path): return Path(path).read_text()
def write(path, text): Path(path).write_text(text)
def refuse(): raise PermissionError("not there")
def nothing(): return []
def zero(): return 0
def long(): return "x" * ({MAX_CHARS} + 1)
def noisy():
    print("noise")
    return {{"answer": 42}}
def endless():
    while True: pass
def suicide(): os._exit(3)
def adapter(tool, arguments):
    if "path" not in arguments: raise ValueError("no path")
    if arguments["path"] == "boom": raise RuntimeError("a bug")
    if arguments["path"] == "odd": return "read"[0:0], None
    return "read", dict(arguments)
def has_hello(results): return "hello" in results
"""


@contextmanager
def fixture(folder: Path, module: str = MODULE, seconds: float = 20.0) -> Iterator[Fixture]:
    files = folder / "files"
    files.mkdir(exist_ok=True)
    (files / "a.txt").write_text("hello")
    (folder / "module.py").write_text(module)
    with snapshot(FixtureSpec(files, folder / "module.py", seconds)) as taken:
        yield taken


async def test_what_a_trial_writes_stays_in_its_copy(tmp_path: Path) -> None:
    with fixture(tmp_path) as taken:
        async with taken.workspace() as first:
            await first.call("write", {"path": "a.txt", "text": "changed"})
            assert (await first.call("read", {"path": "a.txt"})).content == "changed"
        async with taken.workspace() as second:
            assert (await second.call("read", {"path": "a.txt"})).content == "hello"
    assert (tmp_path / "files" / "a.txt").read_text() == "hello"


async def test_the_snapshot_is_that_of_the_start(tmp_path: Path) -> None:
    with fixture(tmp_path) as taken:
        (tmp_path / "files" / "a.txt").write_text("later")
        (tmp_path / "module.py").write_text("def read(path): return 'another'")
        async with taken.workspace() as workspace:
            assert (await workspace.call("read", {"path": "a.txt"})).content == "hello"
        assert taken.digest != folder_digest(tmp_path / "files")


async def test_a_call_that_does_not_end_is_stopped_and_the_next_one_works(tmp_path: Path) -> None:
    with fixture(tmp_path, seconds=2.0) as taken:
        async with taken.workspace() as workspace:
            assert (await workspace.call("endless", {})).status == "timeout"
            assert (await workspace.call("read", {"path": "a.txt"})).status == "ok"


async def test_a_function_that_ends_the_process_is_an_error_and_the_next_one_works(tmp_path: Path) -> None:
    with fixture(tmp_path) as taken:
        async with taken.workspace() as workspace:
            ended = await workspace.call("suicide", {})
            assert (ended.status, ended.error_class) == ("error", "ProcessEnded")
            assert (await workspace.call("read", {"path": "a.txt"})).status == "ok"


@pytest.mark.parametrize(
    ("function", "arguments", "status", "error_class", "content"),
    [
        ("read", {"path": "a.txt"}, "ok", "", "hello"),
        ("read", {"path": "b.txt"}, "error", "FileNotFoundError", "No such file"),
        ("read", {"file": "a.txt"}, "error", "TypeError", "missing a required argument"),
        ("refuse", {}, "denied", "PermissionError", "not there"),
        ("nothing", {}, "empty", "", ""),
        ("zero", {}, "ok", "", "0"),
        ("noisy", {}, "ok", "", '{"answer": 42}'),
    ],
)
async def test_success_nothing_found_refusal_and_failure_are_told_apart(
    tmp_path: Path, function: str, arguments: dict[str, str], status: str, error_class: str, content: str
) -> None:
    with fixture(tmp_path) as taken:
        async with taken.workspace() as workspace:
            result = await workspace.call(function, arguments)
    assert (result.status, result.error_class, result.truncated) == (status, error_class, False)
    assert content in result.content


async def test_a_result_that_is_cut_says_so(tmp_path: Path) -> None:
    with fixture(tmp_path) as taken:
        async with taken.workspace() as workspace:
            result = await workspace.call("long", {})
    assert (len(result.content), result.truncated) == (MAX_CHARS, True)


async def test_an_adapter_says_what_a_call_means_or_that_it_means_nothing(tmp_path: Path) -> None:
    with fixture(tmp_path) as taken:
        async with taken.workspace() as workspace:
            assert await workspace.adapt("adapter", "tool", {"path": "a.txt"}) == ("read", {"path": "a.txt"})
            assert await workspace.adapt("adapter", "tool", {}) == "ValueError"
            with pytest.raises(UsageError, match=r"adapter failed: RuntimeError: a bug, line \d+"):
                await workspace.adapt("adapter", "tool", {"path": "boom"})
            with pytest.raises(UsageError, match="must return the name of a function and a dict"):
                await workspace.adapt("adapter", "tool", {"path": "odd"})
            assert await workspace.judge("has_hello", ["hello"])
            assert not await workspace.judge("has_hello", [])


async def test_a_module_that_cannot_be_loaded_is_the_plans_fault(tmp_path: Path) -> None:
    with fixture(tmp_path, "import no_such_module") as taken:
        async with taken.workspace() as workspace:
            with pytest.raises(UsageError, match="cannot be loaded: ModuleNotFoundError"):
                await workspace.missing([])


def test_the_digest_sees_names_contents_folders_and_links(tmp_path: Path) -> None:
    def digest_of(*steps: str) -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        for step in steps:
            kind, _, rest = step.partition(" ")
            name, _, value = rest.partition("=")
            if kind == "folder":
                (folder / name).mkdir()
            elif kind == "link":
                (folder / name).symlink_to(value)
            else:
                (folder / name).write_text(value)
        return folder_digest(folder)

    same = digest_of("file a=1", "file b=2")
    assert same == digest_of("file b=2", "file a=1")
    others = [
        digest_of("file a=2", "file b=1"),
        digest_of("file a=1"),
        digest_of("file a=1", "file b=2", "folder c"),
        digest_of("file a=1", "link b=a"),
        digest_of("file a=1", "link b=c"),
    ]
    assert len({same, *others}) == 6


def test_a_fixture_too_large_to_copy_for_each_trial_is_refused(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    with (files / "huge").open("wb") as file:
        file.truncate(300 * 1024 * 1024)
    (tmp_path / "module.py").touch()
    with (
        pytest.raises(UsageError, match="1 files and 314572800 bytes; it is copied for each trial"),
        snapshot(FixtureSpec(files, tmp_path / "module.py")),
    ):
        pass
