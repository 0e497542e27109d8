"""An experiment's file: what was frozen, then a line a block. A block is there whole or not at all."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rightcall.errors import UsageError
from rightcall.evaluation.ablation.freeze import FORMAT, differences, frozen_hash
from rightcall.evaluation.ablation.schedule import Block
from rightcall.evaluation.ablation.trial import Trial, trial_from_json, trial_to_json
from rightcall.evaluation.json_lines import JsonLines


@dataclass(frozen=True, slots=True)
class Settled:
    """A block that was run: its trials in the order they were made, or why it was dropped for every variant.

    `tries` is how often it was begun: more than once where infrastructure failed.
    """

    number: int
    task: str
    repeat: int
    tries: int
    trials: tuple[Trial, ...] = ()
    dropped: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """The block's."""
        return self.task, self.repeat


@dataclass(frozen=True, slots=True)
class Header:
    """The file's first line: what was frozen, its hash, and when (seconds since the epoch)."""

    plan: Mapping[str, Any]
    hash: str
    created: float


class BlockFile(JsonLines):
    """An experiment's file opened for going on with it.

    `settled` are the blocks that need not be run again; those that were dropped are tried again.

    Raises:
        UsageError: another process writes it, or it belongs to another plan: what differs is named.
        StoreError: it cannot be opened or written.
    """

    def __init__(self, path: Path, plan: Mapping[str, Any]) -> None:
        super().__init__(path)
        try:
            self.settled = {block.key: block for block in self._begin(plan) if not block.dropped}
        except BaseException:
            self.close()
            raise

    def append(self, block: Settled) -> None:
        """Writes a block in one line."""
        data = {
            "block": block.number,
            "task": block.task,
            "repeat": block.repeat,
            "tries": block.tries,
            "dropped": block.dropped,
            "trials": [trial_to_json(trial) for trial in block.trials],
        }
        self.write(data)
        if not block.dropped:
            self.settled[block.key] = block

    def _begin(self, plan: Mapping[str, Any]) -> Iterator[Settled]:
        if self.empty:
            self.write({"ablation": {"hash": frozen_hash(plan), "created": time.time(), "plan": plan}})
            return iter(())
        before = read_header(self.path)
        if before.hash != frozen_hash(plan):
            changes = "\n  ".join(differences(before.plan, json.loads(json.dumps(plan))))
            raise UsageError(
                f"{self.path} was begun with another plan, which is frozen ({before.hash[:19]}…). What changed:\n"
                f"  {changes}\nPut the plan back to go on with it, or begin anew: another name in the plan, or"
                " another --out"
            )
        return read_blocks(self.path)


def read_header(path: Path) -> Header:
    """The first line of an experiment's file.

    Raises:
        UsageError: it cannot be read, is no experiment's, or does not have the hash that it says.
    """
    try:
        with path.open(encoding="utf-8") as file:
            data = json.loads(file.readline())["ablation"]
        header = Header(data["plan"], data["hash"], data["created"])
    except OSError as error:
        raise UsageError(f"the experiment's file {path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is no experiment's file: its first line should say what was frozen") from error
    if header.plan.get("format") != FORMAT:
        raise UsageError(f"{path} has format {header.plan.get('format')!r}; this version reads {FORMAT}")
    if frozen_hash(header.plan) != header.hash:
        raise UsageError(f"{path}: the frozen plan in its first line has another hash than the one beside it")
    return header


def read_blocks(path: Path) -> Iterator[Settled]:
    """The blocks, as last settled: one that was dropped and run later comes once, as run.

    Raises:
        UsageError: a line is no block; its number is named. A torn last line is passed over.
    """
    found: dict[tuple[str, int], Settled] = {}
    for block in _lines(path):
        if not block.dropped or block.key not in found or found[block.key].dropped:
            found[block.key] = block
    return iter(found.values())


def _lines(path: Path) -> Iterator[Settled]:
    with path.open("rb") as file:
        file.readline()
        for number, line in enumerate(file, start=2):
            data: Any = None
            with contextlib.suppress(ValueError):
                data = json.loads(line)
            if data is None and not line.endswith(b"\n"):
                return
            try:
                yield _settled(data)
            except (KeyError, TypeError) as error:
                raise UsageError(f"{path}, line {number}, is no block: {line[:60]!r}") from error


def _settled(data: Mapping[str, Any]) -> Settled:
    trials: Sequence[Trial] = [trial_from_json(trial) for trial in data["trials"]]
    return Settled(data["block"], data["task"], data["repeat"], data["tries"], tuple(trials), data["dropped"])


def as_settled(block: Block, tries: int, trials: Sequence[Trial] = (), dropped: str = "") -> Settled:
    """What became of a block."""
    return Settled(block.number, block.task, block.repeat, tries, tuple(trials), dropped)
