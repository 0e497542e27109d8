"""Where calls are carried out: a copy of the snapshot for each trial, and a child process that can be stopped.

The functions are the user's own Python. They run in a child whose working directory is the copy; it is started
afresh for each trial, so that no trial sees what another left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rightcall.errors import UsageError
from rightcall.evaluation.ablation.plan import FixtureSpec

_WORKER = Path(__file__).with_name("worker.py")
_MAX_FILES = 10_000
_MAX_BYTES = 256 * 1024 * 1024
_MAX_LINE = 4 * 1024 * 1024
_STARTUP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Executed:
    """The result contract of one call: `status` is ok, empty, error, denied or timeout."""

    status: str
    content: str = ""
    error_class: str = ""
    truncated: bool = False
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Fixture:
    """The snapshot taken at the start: later changes of the original change nothing.

    `digest` covers the folder (names, contents, links), `module_digest` the Python file.
    """

    folder: Path
    module: Path
    imports: Path
    seconds: float
    digest: str
    module_digest: str

    @contextlib.asynccontextmanager
    async def workspace(self) -> AsyncGenerator[Workspace, None]:
        """A fresh copy with a process of its own, which is started by its first use and stopped at the end."""
        with tempfile.TemporaryDirectory(prefix="rightcall-trial-", ignore_cleanup_errors=True) as scratch:
            copy = Path(scratch) / "fixture"
            await asyncio.to_thread(shutil.copytree, self.folder, copy, symlinks=True)
            workspace = Workspace(self, copy)
            try:
                yield workspace
            finally:
                await workspace.stop()


@contextlib.contextmanager
def snapshot(spec: FixtureSpec) -> Generator[Fixture, None, None]:
    """Takes the snapshot, for as long as the context lasts. Raises `UsageError` where it is too large."""
    _check_size(spec.folder)
    with tempfile.TemporaryDirectory(prefix="rightcall-fixture-", ignore_cleanup_errors=True) as scratch:
        folder, module = Path(scratch) / "snapshot", Path(scratch) / spec.module.name
        shutil.copytree(spec.folder, folder, symlinks=True)
        shutil.copyfile(spec.module, module)
        yield Fixture(
            folder, module, spec.module.parent.resolve(), spec.seconds, folder_digest(folder), _file_digest(module)
        )


def folder_digest(folder: Path) -> str:
    """`sha256:` over the relative path and the content (or the link's target) of everything in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            entry = f"link {path.readlink()}"
        elif path.is_dir():
            entry = "folder"
        else:
            entry = f"file {_file_digest(path)}"
        digest.update(json.dumps([name, entry]).encode() + b"\n")
    return f"sha256:{digest.hexdigest()}"


class Workspace:
    """One trial's copy of the fixture and the process that works in it."""

    def __init__(self, fixture: Fixture, folder: Path) -> None:
        self._fixture = fixture
        self.folder = folder
        self._process: asyncio.subprocess.Process | None = None

    async def call(self, function: str, arguments: Mapping[str, Any]) -> Executed:
        """Carries a call out; one that takes longer than allowed is stopped with everything it started."""
        try:
            answer = await self._ask({"call": function, "arguments": arguments})
        except TimeoutError:
            await self.stop()
            seconds = self._fixture.seconds
            return Executed("timeout", f"stopped after {seconds:g} s", "TimeoutError", duration_ms=seconds * 1000)
        if "fault" in answer:
            return Executed("error", str(answer["fault"]), str(answer["fault"]).partition(":")[0])
        return Executed(**answer)

    async def adapt(self, adapter: str, tool: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | str:
        """Which function a call means, with which arguments.

        Where it means none, the class of the error that the adapter raised: ValueError, LookupError, TypeError.
        """
        answer = await self._own(adapter, {"adapt": adapter, "tool": tool, "arguments": arguments})
        if "meaningless" in answer:
            return str(answer["meaningless"])
        function, given = answer["function"], answer["arguments"]
        if not isinstance(function, str) or not isinstance(given, dict):
            raise UsageError(
                f"the fixture's {adapter}() returned {function!r} and {given!r} for {tool}; it must return the name"
                " of a function and a dict of arguments"
            )
        return function, given

    async def judge(self, function: str, value: Any) -> bool:
        """The verdict of a function of the fixture."""
        return bool((await self._own(function, {"judge": function, "value": value}))["verdict"])

    async def missing(self, names: Iterable[str]) -> list[str]:
        """Which of these functions the fixture does not have."""
        answer = await self._own("the module", {"names": list(names)})
        return [str(name) for name in answer["missing"]]

    async def stop(self) -> None:
        """Ends the process and what it started; the next use starts another in the same folder."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        await process.communicate()

    async def _own(self, what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Asks what is the plan's own work, not a tool's: a failure there is the plan's fault, not the model's."""
        try:
            answer = await self._ask(asked)
        except TimeoutError:
            await self.stop()
            raise UsageError(f"the fixture's {what} took longer than {self._fixture.seconds:g} s") from None
        if "fault" in answer:
            raise UsageError(f"the fixture's {what} failed: {answer['fault']}")
        return answer

    async def _ask(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        process = self._process or await self._start()
        assert process.stdin is not None  # noqa: S101 - a pipe was asked for
        process.stdin.write(json.dumps(asked, ensure_ascii=True).encode() + b"\n")
        async with asyncio.timeout(self._fixture.seconds):
            return await self._answer(process)

    async def _start(self) -> asyncio.subprocess.Process:
        fixture = self._fixture
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", str(_WORKER), str(fixture.module), str(fixture.imports), str(self.folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=_MAX_LINE,
            start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(_STARTUP_SECONDS):
                first = await self._answer(process)
        except TimeoutError:
            raise UsageError(f"loading the fixture took longer than {_STARTUP_SECONDS:g} s") from None
        if "fault" in first:
            raise UsageError(f"the fixture's module cannot be loaded: {first['fault']}")
        return process

    async def _answer(self, process: asyncio.subprocess.Process) -> dict[str, Any]:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        line = await process.stdout.readline()
        if not line:
            await self.stop()
            return {"fault": "ProcessEnded: the function ended the process that it ran in"}
        answer: dict[str, Any] = json.loads(line)
        return answer


def _check_size(folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    size = sum(path.stat().st_size for path in files)
    if len(files) > _MAX_FILES or size > _MAX_BYTES:
        raise UsageError(
            f"the fixture {folder} has {len(files)} files and {size} bytes; it is copied for each trial, so at most"
            f" {_MAX_FILES} files and {_MAX_BYTES} bytes are allowed"
        )


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
