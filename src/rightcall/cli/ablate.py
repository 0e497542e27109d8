"""`rightcall ablate`: a randomised experiment on how tools are offered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from rightcall.errors import UpstreamError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rightcall.evaluation.ablation.block_file import Settled
    from rightcall.evaluation.ablation.experiment import Cost
    from rightcall.evaluation.ablation.plan import Plan
    from rightcall.evaluation.models import ModelEntry

EPILOG = """Examples:

rightcall ablate examples/ablation/plan.toml --dry-run

rightcall ablate examples/ablation/plan.toml --power

rightcall ablate plan.toml --upstream http://127.0.0.1:11434/v1 --json

The plan is frozen and hashed before the first request. The same command goes on where a run was stopped, and shows
the analysis where nothing is left to ask. The plan names a Python file, whose functions are run on purpose."""


def ablate(  # noqa: PLR0913 - a command's options
    plan: Annotated[Path, typer.Argument(help="The plan (TOML); docs/ablation.md has an example.")],
    *,
    upstream: Annotated[str | None, typer.Option(help="The model server's base URL.", show_default=False)] = None,
    models: Annotated[Path | None, typer.Option(help="A TOML file of models.", show_default=False)] = None,
    out: Annotated[Path, typer.Option(help="The folder of the experiments' files.")] = Path("runs"),
    parallel: Annotated[int, typer.Option(min=1, max=256, help="Blocks under way at once.")] = 1,
    power: Annotated[
        bool, typer.Option("--power", help="Say how many tasks the difference needs; ask nothing.")
    ] = False,
    pilot: Annotated[
        Path | None, typer.Option(help="An experiment's file whose variances --power uses.", show_default=False)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many blocks, requests and tokens are left; ask nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Compare variants of a toolset on the same tasks, in random order, graded at four levels.

    Ends with 0 where the experiment was run, 1 where it could not be.
    """
    from rightcall.evaluation.ablation.plan_file import load_plan
    from rightcall.evaluation.models import chosen_entry

    if pilot is not None and not power:
        raise UsageError("--pilot is for --power: it says whose variances to use")
    loaded = load_plan(plan)
    if power:
        _show_power(loaded, pilot, as_json=as_json)
        return
    entries = [chosen_entry(name, upstream, models)[0] for name in loaded.models]
    if dry_run:
        _show_costs(asyncio.run(_costs(loaded, entries, out)), as_json=as_json)
        return
    _require_statistics()
    try:
        paths = asyncio.run(_run(loaded, entries, out, parallel))
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on from here", err=True)
        raise
    _show_analyses(paths, as_json=as_json)


def _require_statistics() -> None:
    """Says before an hour of asking, not after it, that the analysis cannot be made."""
    import rightcall.evaluation.statistics  # noqa: F401 - raises MissingExtra


async def _run(plan: Plan, entries: Sequence[ModelEntry], out: Path, parallel: int) -> list[Path]:
    """Every model in turn; a model with nothing left to ask is not opened."""
    from rightcall.evaluation.ablation.block_file import BlockFile
    from rightcall.evaluation.ablation.experiment import experiment_path, prepared
    from rightcall.evaluation.models import described_model, open_model

    paths = []
    for entry in entries:
        path = experiment_path(out, plan, entry.name)
        paths.append(path)
        async with prepared(plan, described_model(entry)) as experiment:
            with BlockFile(path, experiment.frozen) as file:
                cost = experiment.cost(file.settled)
                if cost.blocks and not experiment.decided(file):
                    async with open_model(entry, slots=parallel) as model:
                        with _progress(entry.name, cost) as done:
                            await experiment.run(file, model, parallel=parallel, done=done)
    return paths


async def _costs(plan: Plan, entries: Sequence[ModelEntry], out: Path) -> list[tuple[str, Cost]]:
    from rightcall.evaluation.ablation.block_file import read_blocks, read_header
    from rightcall.evaluation.ablation.experiment import experiment_path, prepared
    from rightcall.evaluation.ablation.freeze import frozen_hash
    from rightcall.evaluation.models import described_model

    rows = []
    for entry in entries:
        path = experiment_path(out, plan, entry.name)
        async with prepared(plan, described_model(entry)) as experiment:
            begun = path.is_file() and read_header(path).hash == frozen_hash(experiment.frozen)
            settled = {block.key: block for block in read_blocks(path) if not block.dropped} if begun else {}
            rows.append((entry.name, experiment.cost(settled)))
    return rows


@contextmanager
def _progress(model: str, cost: Cost) -> Iterator[Callable[[Settled], None]]:
    """A bar on standard error, a step a block."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("blocks, dropped {task.fields[dropped]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        line = bar.add_task(model, total=cost.blocks + cost.done, completed=cost.done, dropped=0)
        dropped = 0

        def done(block: Settled) -> None:
            nonlocal dropped
            dropped += bool(block.dropped)
            bar.update(line, advance=1, dropped=dropped)

        yield done


# -- what is shown ----------------------------------------------------------------------------------------------


def _show_power(plan: Plan, pilot: Path | None, *, as_json: bool) -> None:
    from rightcall.evaluation.ablation.planning import planned

    rows = planned(plan, pilot)
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    first = rows[0]
    table = Table(
        "variances", "between tasks", "tasks needed", "power with the plan's tasks", "if only families count"
    )
    for row in rows:
        table.add_row(
            row["source"],
            f"{row['between']:.3f}",
            str(row["needed"]),
            f"{row['tasks']} tasks: {row['power']:.0%}",
            f"{row['families']} families: {row['power_families']:.0%}",
        )
    out = Console()
    out.print(
        f"A difference of {first['delta']:.0%} at level {plan.decisions.endpoint}, alpha {first['alpha']:.4g} (Holm's"
        f" first of {len(plan.compared)}), power {first['target']:.0%}, {first['repeats']} repeats a task"
    )
    out.print(table)


def _show_costs(rows: Sequence[tuple[str, Cost]], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([{"model": model, **asdict(cost)} for model, cost in rows], indent=2))
        return
    table = Table("model", "blocks", "done", "requests", "tokens in, first turns", "tokens out, at most")
    for model, cost in rows:
        requests = f"{cost.requests_min} to {cost.requests_max}"
        table.add_row(
            model, str(cost.blocks), str(cost.done), requests, f"{cost.input_tokens:,}", f"{cost.output_tokens_max:,}"
        )
    Console().print(table)


def _show_analyses(paths: Sequence[Path], *, as_json: bool) -> None:
    from rightcall.evaluation.ablation.analysis import analyse

    found = [analyse(path) for path in paths]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        out = Console()
        for analysis in found:
            _show_analysis(analysis, out)
    if empty := next((analysis for analysis in found if not analysis["blocks"]["whole"]), None):
        raise UpstreamError(f"{empty['file']} holds no whole block: every one was dropped")


def _show_analysis(analysis: Mapping[str, Any], out: Console) -> None:
    blocks = analysis["blocks"]
    out.print(
        f"[bold]{analysis['name']}[/bold] with {analysis['model']['name']}: {blocks['whole']} of {blocks['planned']}"
        f" blocks, {blocks['run_again']} run again, {len(blocks['dropped'])} dropped; {analysis['families']}"
        f" families; {analysis['tasks']['negative']} of {sum(analysis['tasks'].values())} tasks want no call"
    )
    levels = ("L1", "L2", "L3", "L4")
    table = Table("variant", *levels, title="reached, with 95 % intervals by family")
    for variant in analysis["variants"]:
        table.add_row(variant["name"], *(_rate(variant["levels"][level]) for level in levels))
    out.print(table)
    out.print(_differences(analysis))
    names = {name: name.replace("_", " ") for name in analysis["variants"][0]["errors"]}
    table = Table(
        "", *(variant["name"] for variant in analysis["variants"]), title="what went wrong, and what it cost"
    )
    for name, shown in names.items():
        table.add_row(shown, *(_share(variant["errors"][name]) for variant in analysis["variants"]))
    for name in analysis["variants"][0]["means"]:
        cells = (variant["means"][name]["value"] for variant in analysis["variants"])
        table.add_row(name.replace("_", " "), *("-" if cell is None else f"{cell:.1f}" for cell in cells))
    out.print(table)
    for look in analysis["looks"]:
        out.print(
            f"{look['variant']}: e-value {look['e_value']:.2f} after {look['families']} families, highest"
            f" {look['highest']:.2f} of {look['needed']:.0f} needed"
        )
    sensitivity = analysis["sensitivity"]
    shown = [
        f"{term['term']} {term['value']:+.2f} ({term['low']:+.2f} to {term['high']:+.2f})"
        for term in sensitivity["terms"]
        if term["term"] != "control"
    ]
    out.print(f"with position and time: {'; '.join(shown) or sensitivity['reason']}")
    out.print(f"{analysis['file']}, frozen as {analysis['hash'][:19]}…", highlight=False)


def _differences(analysis: Mapping[str, Any]) -> Table:
    title = f"less {analysis['control']}, at {analysis['endpoint']}"
    table = Table("variant", "difference", "p", "p after Holm", "test", title=title)
    for row in analysis["differences"]:
        p, adjusted = (("-" if row[key] is None else f"{row[key]:.3f}") for key in ("p", "p_holm"))
        mark = " *" if row["significant"] else ""
        table.add_row(row["variant"], _signed(row["difference"]), p, adjusted + mark, row["test"])
    for row in analysis["diagnostics"]:
        table.add_row(f"{row['variant']} at {row['level']}", _signed(row["difference"]), "", "", "diagnostic")
    return table


def _rate(estimate: Mapping[str, Any]) -> str:
    if estimate["value"] is None:
        return "-"
    bounds = "" if estimate["low"] is None else f" ({estimate['low']:.0%} to {estimate['high']:.0%})"
    return f"{estimate['value']:.0%}{bounds}"


def _share(estimate: Mapping[str, Any]) -> str:
    return "-" if estimate["value"] is None else f"{estimate['value']:.0%}"


def _signed(estimate: Mapping[str, Any]) -> str:
    if estimate["value"] is None:
        return "-"
    bounds = "" if estimate["low"] is None else f" ({estimate['low']:+.0%} to {estimate['high']:+.0%})"
    return f"{estimate['value']:+.0%}{bounds}"
