"""`rightcall align`: tools and parameters named as a model would name them, for a person to review."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from rightcall.cli import align_review
from rightcall.cli.run_by_default import RunByDefault
from rightcall.cli.tool_files import loaded
from rightcall.errors import UsageError
from rightcall.folders import cache_folder
from rightcall.settings import Settings

if TYPE_CHECKING:
    from rightcall.domain import Tool
    from rightcall.evaluation.models import ModelEntry
    from rightcall.naming.name_map import AlignSettings, NameMap
    from rightcall.store.completions import CompletionCache

EPILOG = """Examples:

rightcall align tools.json --model qwen2.5-coder-1.5b --out names.toml

rightcall align tools.json --model qwen2.5:7b --upstream http://127.0.0.1:11434/v1 --out names.toml

rightcall align review names.toml

rightcall serve --names names.toml --upstream http://127.0.0.1:11434/v1

Answers are kept, so the same command goes on where a run was stopped. Decisions in an existing file are kept too."""


app = typer.Typer(
    cls=RunByDefault,
    help="Name tools and parameters as a model would name them (PA-Tool); review the names.",
    epilog=EPILOG,
    no_args_is_help=True,
)
app.command("review", epilog=align_review.EPILOG)(align_review.review)


@app.command(epilog=EPILOG)
def run(  # noqa: PLR0913 - a command's options
    tools: Annotated[Path, typer.Argument(help="The tools: OpenAI, MCP, OpenAPI or Python.", show_default=False)],
    *,
    model: Annotated[
        str,
        typer.Option(help="A name on the server, or of `rightcall models list`; or replay:FILE.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The name map to write.", show_default=False)],
    upstream: Annotated[str | None, typer.Option(help="The model server's base URL.", show_default=False)] = None,
    method: Annotated[
        Literal["peakedness", "mostfreq", "greedy"],
        typer.Option(help="How a name is chosen; the last two are the paper's baselines."),
    ] = "peakedness",
    only: Annotated[
        Literal["both", "tools", "parameters"], typer.Option(help="Rename one kind of component only.")
    ] = "both",
    describe: Annotated[
        bool, typer.Option("--describe", help="Ask for plainer descriptions of tools too, as EasyTool does.")
    ] = False,
    candidates: Annotated[int, typer.Option(help="Names drawn for each component.")] = 32,
    temperature: Annotated[float, typer.Option(help="Sampling temperature of the candidates.")] = 0.4,
    alpha: Annotated[float, typer.Option(help="Names are alike up to this share of the longest one.")] = 0.2,
    seed: Annotated[int, typer.Option(help="The first seed; each sample has its own.")] = 0,
    accept_flagged: Annotated[
        bool, typer.Option("--accept-flagged", help="Take names too that are flagged for a person.")
    ] = False,
    parallel: Annotated[int, typer.Option(min=1, max=256, help="Requests under way at once.")] = 4,
    cache: Annotated[
        Path | None, typer.Option(help="The cache of completions. Default: in the user's cache folder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Ask a model how it would call these tools and write what it says most firmly as a name map.

    A name that a person should look at is proposed and not used until it is accepted: rightcall align review.
    """
    from rightcall.alignment.files import read_name_map, write_name_map
    from rightcall.evaluation.models import ModelEntry
    from rightcall.naming.name_map import AlignSettings
    from rightcall.naming.peakedness import Method
    from rightcall.naming.proposal import carried_over
    from rightcall.store.completions import CompletionCache

    settings = AlignSettings(
        Method(method), candidates, temperature, alpha, seed, only, describe, accept_flagged=accept_flagged
    )
    before = read_name_map(out) if out.exists() else None
    if before is not None and (before.model, before.settings) != (model, settings):
        raise UsageError(
            f"{out} was made with {_difference(before, model, settings)}. Write to another file, or remove this one"
        )
    key = "RIGHTCALL_UPSTREAM_KEY"
    entry = ModelEntry(
        model, upstream=Settings.load({"upstream": upstream}).upstream, api_key_env=key if os.environ.get(key) else ""
    )
    listed = loaded(tools).tools
    with CompletionCache(cache or cache_folder() / "completions.sqlite") as kept:
        try:
            made = asyncio.run(_asked(listed, entry, settings, parallel, kept))
        except KeyboardInterrupt:
            typer.echo("stopped; the same command goes on from here", err=True)
            raise
    if before is not None:
        made = carried_over(made, before)
    write_name_map(out, made)
    _tell(made, out, as_json=as_json)


async def _asked(
    tools: Sequence[Tool], entry: ModelEntry, settings: AlignSettings, parallel: int, kept: CompletionCache
) -> NameMap:
    """The map, with a progress bar on standard error."""
    from rightcall.alignment.ask import align, requests_for
    from rightcall.evaluation.models import open_model
    from rightcall.store.completions import CachedModel

    total = requests_for(tools, settings)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    async with open_model(entry, slots=parallel) as opened:
        with Progress(*columns, console=Console(stderr=True)) as bar:
            line = bar.add_task(f"asking {entry.name}", total=total)
            return await align(
                tools,
                CachedModel(opened.client, kept, opened.build),
                entry.name,
                settings=settings,
                build=opened.build,
                served=opened.served,
                parallel=parallel,
                done=lambda: bar.advance(line),
            )


def _difference(before: NameMap, model: str, settings: AlignSettings) -> str:
    """The first thing in which an existing map differs from what is asked for."""
    from dataclasses import asdict

    wanted = {"model": model, **asdict(settings)}
    had = {"model": before.model, **asdict(before.settings)}
    return next(f"{name} {value}, not {wanted[name]}" for name, value in had.items() if value != wanted[name])


def _tell(made: NameMap, out: Path, *, as_json: bool) -> None:
    namings = [naming for _, naming in made.namings()]
    flags = Counter(
        flag.split(" ", 1)[0] if flag.startswith(("loses", "near")) else flag for n in namings for flag in n.flags
    )
    counts = {
        "tools": len(made.tools),
        "parameters": len(namings) - len(made.tools),
        "renamed": sum(naming.shown != naming.original for naming in namings),
        "undecided": sum(not naming.accepted for naming in namings),
        "described": sum(bool(each.description) for each in made.tools),
    }
    if as_json:
        typer.echo(json.dumps({"path": str(out), "model": made.model, **counts, "flags": dict(flags)}, indent=2))
        return
    typer.echo(
        f"{out}: {counts['tools']} tools and {counts['parameters']} parameters, {counts['renamed']} of them renamed"
        + (f", {counts['described']} described anew" if counts["described"] else "")
    )
    if flags:
        typer.echo("flagged: " + ", ".join(f"{count} {flag}" for flag, count in flags.most_common()))
    if counts["undecided"]:
        typer.echo(f"{counts['undecided']} wait for a person: rightcall align review {out}")
