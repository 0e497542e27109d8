"""A run's file: a line that says what was run, then a line a case. Append-only JSONL (`json_lines`)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from rightcall.errors import UsageError
from rightcall.evaluation.json_lines import JsonLines
from rightcall.evaluation.records import FORMAT, Record, RunInfo, record_from_json, record_to_json

_NOT_IDENTITY = frozenset(("created", "rightcall", "prices", "format"))


class RunFile(JsonLines):
    """A run's file opened for going on with it.

    `done` holds (case, repeat) of every record that counts; those with `error` are asked again.

    Raises:
        UsageError: another process writes it, or it holds another run.
        StoreError: it cannot be opened or written.
    """

    def __init__(self, path: Path, info: RunInfo) -> None:
        super().__init__(path)
        try:
            self.done = self._begin(info)
        except BaseException:
            self.close()
            raise

    def append(self, record: Record) -> None:
        """Writes a record. It is there for every reader, and outlives a kill, when this returns."""
        self.write(record_to_json(record))

    def _begin(self, info: RunInfo) -> set[tuple[str, int]]:
        if self.empty:
            self.write({"run": asdict(info)})
            return set()
        found = read_info(self.path)
        for item in fields(RunInfo):
            here, there = getattr(info, item.name), getattr(found, item.name)
            if item.name not in _NOT_IDENTITY and _plain(here) != _plain(there):
                raise UsageError(
                    f"{self.path} holds another run: its {item.name} is {there!r}, not {here!r}; choose another --out"
                )
        return {(record.case, record.repeat) for record in read_records(self.path) if not record.error}


def run_path(folder: Path, info: RunInfo) -> Path:
    """Where a run stands in a folder: the same settings, the same file, so that the same command goes on with it."""
    data = {key: value for key, value in asdict(info).items() if key not in _NOT_IDENTITY}
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]
    suite = Path(info.suite).stem if os.sep in info.suite else info.suite
    model = info.model.rpartition("/")[2] if "/" in info.model else info.model
    name = "--".join(re.sub(r"[^A-Za-z0-9._]+", "-", part).strip("-") for part in (suite, model, info.arm))
    return folder / f"{name}--{digest}.jsonl"


def read_info(path: Path) -> RunInfo:
    """The first line of a run's file.

    Raises:
        UsageError: the file cannot be read or is no run's.
    """
    try:
        with path.open(encoding="utf-8") as file:
            data = json.loads(file.readline())["run"]
        if data.get("format") != FORMAT:
            raise UsageError(f"{path} has format {data.get('format')!r}; this version reads {FORMAT}")
        return RunInfo(**data)
    except OSError as error:
        raise UsageError(f"the run's file {path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no run's file: its first line should say what was run") from error


def read_records(path: Path) -> Iterator[Record]:
    """The records of a run's file, one at a time.

    A case that failed and was answered later comes once, as answered; one that failed only, once, as failed.

    Raises:
        UsageError: a line is no record; its number is named. A torn last line is passed over.
    """
    answered, last_failure = _outcomes(path)
    for number, data in _lines(path):
        key = (data["case"], data["repeat"])
        if data.get("error") and (key in answered or last_failure[key] != number):
            continue
        try:
            yield record_from_json(data)
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path}, line {number}, is no record: {error}") from error


def _outcomes(path: Path) -> tuple[set[tuple[str, int]], dict[tuple[str, int], int]]:
    """Which of the cases that failed were answered, and the line of each one's last failure."""
    failures: dict[tuple[str, int], int] = {}
    answered: set[tuple[str, int]] = set()
    for number, data in _lines(path):
        if data.get("error"):
            failures[data["case"], data["repeat"]] = number
    if failures:
        answered = {
            key
            for _, data in _lines(path)
            if not data.get("error") and (key := (data["case"], data["repeat"])) in failures
        }
    return answered, failures


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    read_info(path)
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                continue
            data = None
            with contextlib.suppress(ValueError):
                data = json.loads(line)
            if not isinstance(data, dict) or "case" not in data or "repeat" not in data:
                if not line.endswith(b"\n"):
                    return
                raise UsageError(f"{path}, line {number}, is no record: {line[:60]!r}")
            yield number, data


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))
