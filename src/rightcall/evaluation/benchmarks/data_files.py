"""Benchmark files: JSON or JSONL, gzipped or not, with errors that name file, line and fault."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rightcall.errors import UsageError


def require_folder(folder: Path, benchmark: str) -> Path:
    """The benchmark's folder. Raises `UsageError`, with the command that gets the data, where it is missing."""
    place = folder / benchmark
    if not place.is_dir():
        raise UsageError(
            f"the data of {benchmark} are not at {place}; get them with `rightcall eval fetch {benchmark}`, "
            f"or give the folder that holds {benchmark}/ with --data"
        )
    return place


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file with their line numbers. Raises `UsageError`."""
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{path}, line {number}, is no JSON: {error}") from error
        if not isinstance(row, dict):
            raise UsageError(f"{path}, line {number}, is {type(row).__name__}; a JSON object is needed")
        yield number, row


def read_json(path: Path) -> Any:
    """A JSON file. Raises `UsageError`."""
    try:
        return json.loads(_text(path))
    except ValueError as error:
        raise UsageError(f"{path} is no JSON: {error}") from error


def _text(path: Path) -> str:
    packed = path.with_name(path.name + ".gz")
    try:
        if path.exists() or not packed.exists():
            return path.read_text(encoding="utf-8")
        return gzip.decompress(packed.read_bytes()).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise UsageError(
            f"{path} cannot be read: {error}; `rightcall eval fetch` gets benchmark data anew"
        ) from error


def broken_row(path: Path, number: int, error: Exception) -> UsageError:
    """What to raise for a row that lacks what it should hold."""
    what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return UsageError(f"{path}, line {number}: {what}; `rightcall eval fetch` gets benchmark data anew")
