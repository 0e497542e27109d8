"""`rightcall eval`: cases with known right answers, on the same road as production."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from rightcall.cli import compare
from rightcall.cli.run_by_default import RunByDefault
from rightcall.errors import MissingExtra
from rightcall.folders import cache_folder

if TYPE_CHECKING:
    from rightcall.evaluation.records import Record, RunInfo
    from rightcall.evaluation.report.contents import Report
    from rightcall.evaluation.report.thresholds import JudgedRun
    from rightcall.evaluation.runner import Estimate

EPILOG = """Examples:

rightcall eval bfcl:simple_python --model qwen2.5-coder-0.5b --limit 20 --arm bare --arm full

rightcall eval my_cases.yaml --model qwen2.5:7b --upstream http://127.0.0.1:11434/v1 --dry-run

rightcall eval my_cases.yaml --model small --models models.toml --fail-under task_success=0.9 --junit eval.xml

Suites: bfcl:CATEGORY, metatool:TASK, rotbench:LEVEL:single|multi, apibank:level-1|level-2, or a file of your own
(YAML or JSONL). The same command goes on where a run was stopped; a finished case is never asked again."""


app = typer.Typer(
    cls=RunByDefault,
    help="Run cases with known right answers through propose(), compare runs, fetch benchmark data.",
    epilog=EPILOG,
    no_args_is_help=True,
)


app.command("compare", epilog=compare.EPILOG)(compare.compare)


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
    case: Annotated[
        list[str] | None,
        typer.Option(
            help="Only cases whose ids fit, with * and ? as in file names: 'simple_python_1*'. May be repeated.",
            show_default=False,
        ),
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
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            help="End with 3 where a metric is lower: task_success=0.9. May be repeated.", show_default=False
        ),
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option(
            "--max",
            help="End with 3 where a metric is higher: wrong_but_valid=0.02. May be repeated.",
            show_default=False,
        ),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML for CI here.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Run suites with a model and say how right it was.

    Ends with 0 where all thresholds are met, 3 where one is not, 1 where the run itself is broken.
    """
    try:
        from rightcall.evaluation.report import thresholds
    except ModuleNotFoundError as error:
        raise MissingExtra("evaluation", "eval") from error
    from rightcall.evaluation.arms import load_arm
    from rightcall.evaluation.benchmarks.registry import load_suite
    from rightcall.evaluation.compare import open_run
    from rightcall.evaluation.models import chosen_entry
    from rightcall.evaluation.report.contents import build_report
    from rightcall.evaluation.report.junit import write_junit
    from rightcall.evaluation.runner import RunOptions
    from rightcall.evaluation.session import Session
    from rightcall.store.completions import CompletionCache

    bounds = [thresholds.parse_threshold(text) for text in fail_under or []]
    bounds += [thresholds.parse_threshold(text, at_most=True) for text in most or []]
    options = RunOptions(
        seed=seed,
        repeats=repeats,
        limit=limit,
        parallel=parallel,
        held_out=held_out,
        sampling={"temperature": temperature, "max_tokens": max_tokens, "seed": seed},
        only=tuple(case or ()),
    )
    arms = [load_arm(name) for name in arm or ["full"]]
    loaded = [load_suite(name, data, seed) for name in suites]
    entry, larger = chosen_entry(model, upstream, models)
    with CompletionCache(cache or cache_folder() / "completions.sqlite") as completions:
        session = Session(loaded, arms, options, out, completions)
        if dry_run:
            _show_estimates(session.estimates(entry, larger), as_json=as_json)
            return
        try:
            paths = asyncio.run(session.run(entry, larger, _watch))
        except KeyboardInterrupt:
            typer.echo("stopped; the same command goes on from here", err=True)
            raise
    shown = None if as_json else build_report(paths)
    measured = {part.file: part.metrics for part in shown.runs} if shown else {}
    judged = [thresholds.judge(open_run(path), bounds, measured.get(path.name)) for path in paths]
    if junit is not None:
        write_junit(junit, judged)
    if shown is None:
        typer.echo(json.dumps({"runs": [_data(*pair) for pair in zip(paths, judged, strict=True)]}, indent=2))
    else:
        _show(shown, paths, judged)
    raise typer.Exit(thresholds.exit_code(judged))


@contextmanager
def _watch(info: RunInfo, answers: int) -> Iterator[Callable[[Record], None]]:
    """A progress bar on standard error, with how many were right so far."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("right {task.fields[right]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    right = 0
    with Progress(*columns, console=Console(stderr=True)) as bar:
        line = bar.add_task(f"{info.suite} {info.arm}", total=answers, right=0)

        def done(record: Record) -> None:
            nonlocal right
            right += record.score.success
            bar.update(line, advance=1, right=right)

        yield done


def _show_estimates(rows: list[tuple[RunInfo, Estimate]], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([{"suite": i.suite, "arm": i.arm, **asdict(e)} for i, e in rows], indent=2))
        return
    table = Table("suite", "arm", "cases", "kept answers", "requests", "tokens in, about", "tokens out, at most")
    for info, cost in rows:
        requests = f"{cost.requests_min} to {cost.requests_max}"
        values = (cost.cases, cost.cached, requests, cost.input_tokens, cost.output_tokens_max)
        table.add_row(info.suite, info.arm, *(str(value) for value in values))
    Console().print(table)


def _show(report: Report, paths: list[Path], judged: list[JudgedRun]) -> None:
    from rightcall.evaluation.report.terminal import print_summary

    print_summary(report, Console(width=None if sys.stdout.isatty() else 140))
    for path, run in zip(paths, judged, strict=True):
        typer.echo(path)
        for line in (*run.outcome.checked, *([f"broken: {run.outcome.broken}"] if run.outcome.broken else [])):
            typer.echo(f"  {line}")


def _data(path: Path, judged: JudgedRun) -> dict[str, Any]:
    from rightcall.evaluation.metrics import metrics_to_json

    info, outcome = judged.run.info, judged.outcome
    return {
        "path": str(path),
        "suite": info.suite,
        "model": info.model,
        "arm": info.arm,
        "metrics": metrics_to_json(judged.metrics),
        "thresholds": [
            {"metric": c.threshold.metric, "bound": c.threshold.bound, "at_most": c.threshold.at_most, "met": c.met}
            for c in outcome.checked
        ],
        "broken": outcome.broken,
        "exit_code": outcome.exit_code,
    }


@app.command("fetch", epilog="Examples:\n\nrightcall eval fetch bfcl\n\nrightcall eval fetch metatool --data data")
def fetch_(
    name: Annotated[str, typer.Argument(help="bfcl, metatool, rotbench or apibank.", show_default=False)],
    *,
    data: Annotated[Path | None, typer.Option(help="Where to put it. Default: the user's cache folder.")] = None,
) -> None:
    """Fetch a benchmark's data from where its authors published them, at a pinned version, and print the folder."""
    from rightcall.evaluation.benchmarks.registry import data_folder
    from rightcall.evaluation.fetch import fetch

    with Console(stderr=True).status(f"fetching {name}"):
        folder = fetch(name, data or data_folder())
    typer.echo(folder)
