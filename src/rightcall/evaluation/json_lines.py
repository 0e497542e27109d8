"""An append-only JSONL file that outlives a kill and has one writer.

Each line is one write, so a kill loses at most what was not written yet; a last line that was torn is cut off when
the writing goes on. The file is locked while it is open, so two processes cannot mix their lines.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Self

from rightcall.errors import StoreError, UsageError
from rightcall.file_lock import take_lock

_BLOCK = 64 * 1024


class JsonLines:
    """A JSONL file opened for going on with it. `empty` says whether it had no whole line.

    Raises:
        UsageError: another process writes it.
        StoreError: it cannot be opened or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise StoreError(f"the run's file {path} cannot be opened: {error.strerror}") from error
        try:
            if not take_lock(self._handle, wait=False):
                raise UsageError(f"another process is writing {path}; wait for it, or choose another --out")  # noqa: TRY301
            self._cut_torn_line()
            self.empty = not path.stat().st_size
        except BaseException:
            os.close(self._handle)
            raise

    def write(self, data: Any) -> None:
        """Appends a line. It is there for every reader, and outlives a kill, when this returns."""
        line = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        try:
            written = os.write(self._handle, line)
            if written < len(line):  # a full disk takes a part; the rest fails aloud, and the next start cuts it off
                os.write(self._handle, line[written:])
        except OSError as error:
            raise StoreError(f"the run's file {self.path} cannot be written: {error.strerror}") from error

    def close(self) -> None:
        """Writes through to the disk and lets others in."""
        os.fsync(self._handle)
        os.close(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _cut_torn_line(self) -> None:
        with self.path.open("r+b") as file:
            end = keep = file.seek(0, os.SEEK_END)
            while keep:
                start = max(0, keep - _BLOCK)
                file.seek(start)
                newline = file.read(keep - start).rfind(b"\n")
                keep = start + newline + 1
                if newline >= 0:
                    break
            if keep < end:
                file.truncate(keep)
