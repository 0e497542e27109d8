"""Benchmark data from where their authors published them, at a pinned version, in the layout that suites read.

BFCL comes from the wheel of `bfcl-eval`, read as an archive and never installed; the others from their git
repositories, of which only the needed files of one commit are fetched. A wheel is checked by its digest; a commit's
name is its digest, which git checks.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from rightcall.errors import UpstreamError, UsageError
from rightcall.evaluation.benchmarks import originals
from rightcall.evaluation.benchmarks.bfcl import CATEGORIES
from rightcall.providers.sources import download_wheel

_GIT_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class WheelFiles:
    """BFCL's questions and answers, from the wheel of a package."""

    package: str
    version: str
    sha256: str
    folder: str

    def fetch(self, target: Path, scratch: Path) -> None:
        """Puts the files into `target`. Raises `UpstreamError`."""
        wheel = download_wheel(self.package, self.version, scratch)
        with wheel.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != self.sha256:
            raise UpstreamError(f"{wheel.name} has sha256 {digest}; {self.sha256} is needed")
        (target / "possible_answer").mkdir()
        with zipfile.ZipFile(wheel) as archive:
            for category in CATEGORIES:
                name = f"BFCL_v4_{category}.json"
                for member in [name] if "relevance" in category else [name, f"possible_answer/{name}"]:
                    (target / member).write_bytes(archive.read(f"{self.folder}/{member}"))


@dataclass(frozen=True, slots=True)
class GitFiles:
    """Files of one commit. `paths` are patterns as in a sparse checkout; `convert` makes of them what suites read."""

    url: str
    commit: str
    paths: tuple[str, ...]
    convert: Callable[[Path, Path], None]

    def fetch(self, target: Path, scratch: Path) -> None:
        """Puts the converted files into `target`. Raises `UpstreamError`, and `UsageError` without git."""
        tree = scratch / "tree"
        _git(None, "init", "--quiet", str(tree))
        _git(tree, "remote", "add", "origin", self.url)
        _git(tree, "sparse-checkout", "set", "--no-cone", *self.paths)
        _git(tree, "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", self.commit)
        _git(tree, "checkout", "--quiet", "--detach", self.commit)
        try:
            self.convert(tree, target)
        except (OSError, KeyError, ValueError, TypeError, SyntaxError) as error:
            raise UpstreamError(
                f"the files of {self.url} at {self.commit[:7]} are not as expected: {error!r}"
            ) from error


SOURCES: dict[str, WheelFiles | GitFiles] = {
    "bfcl": WheelFiles(
        "bfcl-eval",
        "2026.3.23",
        "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
        "bfcl_eval/data",
    ),
    "metatool": GitFiles(
        "https://github.com/HowieHwong/MetaTool",
        "35e81bb7576826e980c80fed8f8c0a2b4a1e6fbb",
        ("/LICENSE", "/dataset/*.json", "/dataset/tmp_dataset/*.json"),
        originals.convert_metatool,
    ),
    "rotbench": GitFiles(
        "https://github.com/Junjie-Ye/RoTBench",
        "637e43ae9a978036774c92bb2ab11a83609e304b",
        ("/LICENSE", "/Data/First_Turn/*.json", "/Data/Third_Turn/*.json"),
        originals.convert_rotbench,
    ),
    "apibank": GitFiles(
        "https://github.com/AlibabaResearch/DAMO-ConvAI",
        "483554eae102996f5ec1f4feab4e78ef29c2a394",
        ("/api-bank/LICENSE", "/api-bank/apis/*.py", "/api-bank/lv1-lv2-samples/"),
        originals.convert_apibank,
    ),
}


def fetch(name: str, cache: Path) -> Path:
    """Fetches a benchmark's data into `cache / name`, in place of what is there, and returns that folder.

    The folder appears, or changes, only when everything is there.

    Raises:
        UsageError: no such benchmark, no git, or a cache that cannot be written.
        UpstreamError: the source cannot be reached, or brought something else.
    """
    if name not in SOURCES:
        close = get_close_matches(name, SOURCES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UsageError(f"There are no data {name!r} to fetch.{hint} There are: {', '.join(SOURCES)}.")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=f".{name}-") as folder:
            scratch = Path(folder)
            fresh, old = scratch / "fresh", scratch / "old"
            fresh.mkdir()
            SOURCES[name].fetch(fresh, scratch)
            if (cache / name).exists():
                (cache / name).replace(old)
            fresh.replace(cache / name)
    except OSError as error:
        raise UsageError(f"the data cannot be put into {cache}: {error}") from error
    return cache / name


def _git(tree: Path | None, *arguments: str) -> None:
    if not shutil.which("git"):
        raise UsageError("fetching this benchmark needs git, which is not installed")
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *([] if tree is None else ["-C", str(tree)]), *arguments],  # noqa: S607 - whichever git is meant
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UpstreamError(f"git {arguments[0]} took longer than {_GIT_SECONDS:.0f} s") from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise UpstreamError(
            f"git {arguments[0]} failed: {said}. "
            "Check the network, or put the data into a folder and name it with --data."
        )
