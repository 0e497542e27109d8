"""Files that people hand in, read whole: bounded, UTF-8, with errors that name the file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from rightcall.errors import UsageError


def read_text(path: Path, *, what: str = "", most: int | None = None, hint: str = "") -> str:
    """A file's text.

    Args:
        path: the file.
        what: what to call it in messages; its path by default.
        most: so many bytes at most.
        hint: what to do where it cannot be read.

    Raises:
        UsageError: it cannot be read, is too large, or is not UTF-8.
    """
    named = what or str(path)
    try:
        if most is not None and path.stat().st_size > most:
            raise UsageError(f"{named} is larger than {most} bytes")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        advice = f". {hint}" if hint else ""
        raise UsageError(f"{named} cannot be read: {error.strerror}{advice}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{named} is not UTF-8: {error.reason} at byte {error.start}") from error


def read_toml(path: Path, *, what: str = "") -> dict[str, Any]:
    """A TOML file. Raises `UsageError` where `read_text` does, or where it is no TOML."""
    text = read_text(path, what=what)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{what or path} is no TOML: {error}") from error
