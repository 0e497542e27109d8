"""`rightcall eval`: cases with known right answers, on the same road as production."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from typer.core import TyperGroup

from rightcall.errors import UsageError
from rightcall.evaluation.arms import Arm, load_arm
from rightcall.evaluation.benchmarks.registry import load_suite
from rightcall.evaluation.cases import Suite
from rightcall.evaluation.models import ModelEntry, OpenModel, load_models, open_model
from rightcall.evaluation.records import Record, RunInfo
from rightcall.evaluation.run_file import RunFile, run_path
from rightcall.evaluation.runner import Runner, RunOptions
from rightcall.folders import cache_folder
from rightcall.settings import Settings
from rightcall.store.completions import CompletionCache

EPILOG = """Examples:

rightcall eval bfcl:simple_python --model qwen2.5-coder-0.5b --limit 20 --arm bare --arm full

rightcall eval my_cases.yaml --model qwen2.5:7b --upstream http://127.0.0.1:11434/v1 --dry-run

rightcall eval my_cases.yaml --model small --models models.toml --fail-under task_success=0.9 --junit eval.xml

Suites: bfcl:CATEGORY, metatool:TASK, rotbench:LEVEL:single|multi, apibank:level-1|level-2, or a file of your own
(YAML or JSONL). The same command goes on where a run was stopped; a finished case is never asked again."""


class _RunByDefault(TyperGroup):
    """`rightcall eval SUITE` means `rightcall eval run SUITE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts `run` before arguments that begin with no subcommand."""
        if args and args[0] not in self.commands and args[0] not in {"--help", "-h"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_RunByDefault,
    help="Run cases with known right answers through propose(), compare runs, fetch benchmark data.",
    epilog=EPILOG,
    no_args_is_help=True,
)


@app.command(epilog=EPILOG)
def run(  # noqa: PLR0913 - a command's options
    suites: Annotated[list[str], typer.Argument(help="What to run.", metavar="SUITE...", show_default=False)],
    *,
    model: Annotated[
        str,
        typer.Option(
            help="A name on the server, in the models file or of `rightcall models list`; or replay:FILE.",
            show_default=False,
        ),
    ],
    upstream: Annotated[str | None, typer.Option(help="The model server's base URL.", show_default=False)] = None,
    models: Annotated[Path | None, typer.Option(help="A TOML file of models.", show_default=False)] = None,
    arm: Annotated[
        list[str] | None,
        typer.Option(help="What rightcall may do: bare, parse, full, or a TOML file. Several are several runs."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the runs' files.")] = Path("runs"),
    data: Annotated[
        Path | None, typer.Option(help="Where benchmark data lie. Default: what `eval fetch` fetched.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Draw so many cases with the seed.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="For drawing, shuffling and sampling.")] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="How often each case is asked.")] = 1,
    parallel: Annotated[int, typer.Option(min=1, max=256, help="Cases under way at once.")] = 1,
    temperature: Annotated[float, typer.Option(min=0, help="Sampling temperature.")] = 0.0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Output tokens at most, a request.")] = 512,
    held_out: Annotated[bool, typer.Option("--held-out", help="Only the cases that are held out.")] = False,
    cache: Annotated[
        Path | None, typer.Option(help="The cache of completions. Default: in the user's cache folder.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many requests and tokens it will cost; ask nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Run suites with a model and say how right it was.

    Ends with 0 where all thresholds are met, 3 where one is not, 1 where the run itself is broken.
    """
    options = RunOptions(
        seed=seed,
        repeats=repeats,
        limit=limit,
        parallel=parallel,
        held_out=held_out,
        sampling={"temperature": temperature, "max_tokens": max_tokens, "seed": seed},
    )
    arms = [load_arm(name) for name in arm or ["full"]]
    loaded = [load_suite(name, data, seed) for name in suites]
    entry, larger = _entries(model, upstream, models)
    console = Console(stderr=True)
    with CompletionCache(cache or cache_folder() / "completions.sqlite") as completions:
        session = _Session(loaded, arms, options, out, completions, console)
        if dry_run:
            _show_estimates(asyncio.run(session.estimates(entry, larger)), as_json=as_json)
            return
        try:
            paths = asyncio.run(session.run(entry, larger))
        except KeyboardInterrupt:
            console.print("stopped; the same command goes on from here")
            raise
    _show(paths, as_json=as_json)


class _Session:
    """Every suite with every arm, one after the other, over one open model."""

    def __init__(
        self,
        suites: list[Suite],
        arms: list[Arm],
        options: RunOptions,
        out: Path,
        cache: CompletionCache,
        console: Console,
    ) -> None:
        self._suites = suites
        self._arms = arms
        self._options = options
        self._out = out
        self._cache = cache
        self._console = console

    async def run(self, entry: ModelEntry, larger: ModelEntry | None) -> list[Path]:
        paths = []
        async with AsyncExitStack() as stack:
            opened, second = await self._opened(stack, entry, larger)
            for suite, arm in self._pairs():
                runner = Runner(suite, arm, opened, self._cache, self._options, second)
                info = _info(suite, arm, opened, second, self._options)
                with RunFile(run_path(self._out, info), info) as file, self._progress(runner, file, info) as done:
                    await runner.run(file, done)
                paths.append(file.path)
        return paths

    async def estimates(self, entry: ModelEntry, larger: ModelEntry | None) -> list[dict[str, Any]]:
        rows = []
        async with AsyncExitStack() as stack:
            opened, second = await self._opened(stack, entry, larger)
            for suite, arm in self._pairs():
                estimate = Runner(suite, arm, opened, self._cache, self._options, second).estimate()
                rows.append({"suite": suite.name, "arm": arm.name, **asdict(estimate)})
        return rows

    def _pairs(self) -> Iterator[tuple[Suite, Arm]]:
        return ((suite, arm) for suite in self._suites for arm in self._arms)

    async def _opened(
        self, stack: AsyncExitStack, entry: ModelEntry, larger: ModelEntry | None
    ) -> tuple[OpenModel, OpenModel | None]:
        with self._console.status(f"opening {entry.name}"):
            opened = await stack.enter_async_context(open_model(entry, slots=self._options.parallel))
            second = await stack.enter_async_context(open_model(larger)) if larger else None
        return opened, second

    @contextmanager
    def _progress(self, runner: Runner, file: RunFile, info: RunInfo) -> Iterator[Any]:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("right {task.fields[right]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        total = runner.estimate(file)
        with Progress(*columns, console=self._console) as bar:
            line = bar.add_task(
                f"{info.suite} {info.arm}", total=total.cases + total.done, completed=total.done, right=0
            )
            right = 0

            def done(record: Record) -> None:
                nonlocal right
                right += record.score.success
                bar.update(line, advance=1, right=right)

            yield done


def _entries(model: str, upstream: str | None, models: Path | None) -> tuple[ModelEntry, ModelEntry | None]:
    if models is not None:
        entries = load_models(models)
        if model not in entries:
            raise UsageError(f"the models file {models} has no {model!r}; it has {', '.join(entries)}")
        entry = entries[model]
        return entry, entries[entry.larger] if entry.larger else None
    settings = Settings.load({"upstream": upstream})
    return ModelEntry(model, upstream=settings.upstream), None


def _info(suite: Suite, arm: Arm, model: OpenModel, larger: OpenModel | None, options: RunOptions) -> RunInfo:
    prices = {item.served: dict(item.entry.price) for item in (model, larger) if item and item.entry.price}
    settings = arm.settings
    if larger:
        settings["larger_model"] = larger.entry.name
        settings["larger_build"] = larger.build
    if options.held_out:
        settings["held_out"] = True
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


def _show_estimates(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("suite", "arm", "cases", "done", "answered before", "requests", "tokens in", "tokens out, at most")
    for row in rows:
        requests = f"{row['requests_min']} to {row['requests_max']}"
        values = (row["cases"], row["done"], row["cached"], requests, row["input_tokens"], row["output_tokens_max"])
        table.add_row(row["suite"], row["arm"], *(str(value) for value in values))
    Console().print(table)


def _show(paths: list[Path], *, as_json: bool) -> None:
    for path in paths:
        typer.echo(path)
