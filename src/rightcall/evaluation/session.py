"""Several suites with several arms over one open model: what `rightcall eval` does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from rightcall.errors import UsageError
from rightcall.evaluation.arms import Arm
from rightcall.evaluation.cases import Suite
from rightcall.evaluation.models import ModelEntry, OpenModel, described_model, open_model
from rightcall.evaluation.records import Record, RunInfo
from rightcall.evaluation.run_file import RunFile, run_path
from rightcall.evaluation.runner import Estimate, Runner, RunOptions
from rightcall.store.completions import CompletionCache

Watch: TypeAlias = Callable[[RunInfo, int], AbstractContextManager[Callable[[Record], None]]]
"""Looks on while a run is under way: told what it is and how many answers are wanted, its context gives what is
called with every record."""


@dataclass(frozen=True, slots=True)
class Session:
    """Every suite with every arm, one run after the other, over one open model.

    The runs' files go into the folder `out`.
    """

    suites: Sequence[Suite]
    arms: Sequence[Arm]
    options: RunOptions
    out: Path
    cache: CompletionCache

    async def run(self, entry: ModelEntry, larger: ModelEntry | None, watch: Watch) -> list[Path]:
        """Runs what is not done yet, and returns the runs' files.

        Raises `UsageError` where no case has been asked for, and what opening a model or a file raises.
        """
        self._check_asked_for()
        paths = []
        async with AsyncExitStack() as stack:
            model = await stack.enter_async_context(open_model(entry, slots=self.options.parallel))
            second = await stack.enter_async_context(open_model(larger)) if larger else None
            for suite, arm in self._pairs():
                runner = Runner(suite, arm, model, self.cache, self.options, second)
                info = _info(suite, arm, model, second, self.options)
                with RunFile(run_path(self.out, info), info) as file:
                    with watch(info, runner.left(file)) as done:
                        await runner.run(file, done)
                    paths.append(file.path)
        return paths

    def estimates(self, entry: ModelEntry, larger: ModelEntry | None) -> list[tuple[RunInfo, Estimate]]:
        """What each run will cost. No model is opened. Raises `UsageError` where no case has been asked for."""
        self._check_asked_for()
        model, second = described_model(entry), described_model(larger) if larger else None
        return [
            (
                _info(suite, arm, model, second, self.options),
                Runner(suite, arm, model, self.cache, self.options, second).estimate(),
            )
            for suite, arm in self._pairs()
        ]

    def _check_asked_for(self) -> None:
        # A pattern may be meant for one of several suites, but for none is a slip of the pen.
        idle = list(self.options.only)
        ids: list[str] = []
        cases = chain.from_iterable(suite.cases() for suite in self.suites)
        while idle and (case := next(cases, None)):
            idle = [pattern for pattern in idle if not fnmatchcase(case.id, pattern)]
            ids.append(case.id)
        if idle:
            names = ", ".join(suite.name for suite in self.suites)
            raise UsageError(
                f"no case of {names} fits {', '.join(map(repr, idle))}; cases are called {', '.join(ids[:3])}, ..."
            )

    def _pairs(self) -> Iterator[tuple[Suite, Arm]]:
        return ((suite, arm) for suite in self.suites for arm in self.arms)


def _info(suite: Suite, arm: Arm, model: OpenModel, larger: OpenModel | None, options: RunOptions) -> RunInfo:
    prices = {item.served: dict(item.entry.price) for item in (model, larger) if item and item.entry.price}
    settings = arm.settings
    if larger:
        settings["larger_model"] = larger.entry.name
        settings["larger_build"] = larger.build
    if options.held_out:
        settings["held_out"] = True
    if options.only:
        settings["only"] = list(options.only)
    return RunInfo(
        suite=suite.name,
        suite_version=suite.version,
        model=model.entry.name,
        arm=arm.name,
        build=model.build,
        settings=settings,
        sampling={**(options.sampling or {}), **model.entry.sampling},
        seed=options.seed,
        repeats=options.repeats,
        limit=options.limit,
        prices=prices,
        rightcall=version("rightcall"),
        created=time.time(),
    )
