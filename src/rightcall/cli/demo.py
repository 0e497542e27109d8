"""`rightcall demo`: a real small model, bare and through rightcall."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from rightcall.assemble import build_parts
from rightcall.providers import checkpoints
from rightcall.providers.llama_cpp import EmbeddedServer
from rightcall.settings import Settings

if TYPE_CHECKING:
    from rightcall.evaluation.demo import DemoResult, DemoTask

EPILOG = """Examples:

rightcall demo

rightcall demo --model qwen2.5-coder-1.5b --json"""

_SIDES = ("bare", "rightcall")
_STYLES = {"right": "green", "wrong": "red", "refused": "yellow"}


def demo(
    *,
    model: Annotated[str, typer.Option(help="A checkpoint from `rightcall models list`.")] = "qwen2.5-coder-0.5b",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many tasks.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Send real requests with known answers to a small model, bare and through rightcall, and compare.

    The model is fetched once (checked against its digest), and runs in this machine: no server, no account.
    """
    from rightcall.evaluation.demo import demo_tasks, totals

    console = Console(stderr=True)
    tasks = demo_tasks()[:limit]
    checkpoint = checkpoints.find(model)
    path = checkpoints.cached_path(checkpoint) or _pulled(checkpoint, console)
    with console.status(f"starting {model}"):
        server = EmbeddedServer(path, alias=model)
    with server:
        results = asyncio.run(_both_sides(server.base_url, checkpoint, tasks, console))
    if as_json:
        data = {
            "model": model,
            "sides": {side: totals(results[side]) for side in _SIDES},
            "tasks": [asdict(result) for side in _SIDES for result in results[side]],
        }
        typer.echo(json.dumps(data, ensure_ascii=False, indent=2))
        return
    out = Console()
    out.print(_details(tasks, results))
    out.print(_summary(model, {side: totals(results[side]) for side in _SIDES}))
    out.print(_example(tasks, results))


def _pulled(checkpoint: checkpoints.Checkpoint, console: Console) -> Path:
    with Progress(TextColumn("fetching {task.description}"), BarColumn(), DownloadColumn(), console=console) as bar:
        task = bar.add_task(checkpoint.name, total=checkpoint.size)
        return checkpoints.pull(
            checkpoint,
            progress=lambda done, total, what: bar.update(task, completed=done, total=total, description=what),
        )


async def _both_sides(
    base_url: str, checkpoint: checkpoints.Checkpoint, tasks: Sequence[DemoTask], console: Console
) -> dict[str, list[DemoResult]]:
    import httpx2

    from rightcall.evaluation.demo import run_side
    from rightcall.serving.openai_proxy import create_app

    with tempfile.TemporaryDirectory() as folder:
        flags = {
            "upstream": base_url,
            "log_path": str(Path(folder) / "demo.sqlite"),
            "tools_in_prompt": checkpoint.tools_in_prompt,
        }
        settings = Settings.load(flags, env={})
        parts = build_parts(settings)
        app = create_app(base_url, parts.kit, parts.http)
        columns = (TextColumn("{task.description:>9}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        try:
            with Progress(*columns, console=console) as bar:
                lines = {side: bar.add_task(side, total=len(tasks)) for side in _SIDES}
                bare = await run_side(
                    "bare", parts.http, base_url, checkpoint.name, tasks, lambda _: bar.advance(lines["bare"])
                )
                transport = httpx2.ASGITransport(app=app)
                async with httpx2.AsyncClient(transport=transport, base_url="http://proxy", timeout=600) as http:
                    through = await run_side(
                        "rightcall",
                        http,
                        "http://proxy/v1",
                        checkpoint.name,
                        tasks,
                        lambda _: bar.advance(lines["rightcall"]),
                    )
        finally:
            await parts.close()
    return {"bare": bare, "rightcall": through}


def _summary(model: str, sides: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(
        "",
        "right",
        "wrong",
        "refused",
        "attempts",
        "seconds",
        title=f"{model}: {sides['bare']['tasks']} tasks",
    )
    for side in _SIDES:
        counts = sides[side]
        cells = [str(counts[name]) for name in ("right", "wrong", "refused", "attempts", "seconds")]
        table.add_row(side, *cells)
    return table


def _details(tasks: Sequence[DemoTask], results: Mapping[str, Sequence[DemoResult]]) -> Table:
    table = Table("task", "bare", "rightcall", "attempts", "calls through rightcall")
    for index, task in enumerate(tasks):
        bare, through = results["bare"][index], results["rightcall"][index]
        calls = "; ".join(
            f"{call['name']} {json.dumps(call['arguments'], ensure_ascii=False)}" for call in through.calls
        )
        table.add_row(
            task.id,
            Text(bare.verdict, _STYLES[bare.verdict]),
            Text(through.verdict, _STYLES[through.verdict]),
            str(through.attempts),
            Text(calls or through.text[:120] or "-"),
        )
    return table


def _example(tasks: Sequence[DemoTask], results: Mapping[str, Sequence[DemoResult]]) -> Text:
    """One request that the bare server lost, with what a client got from either side."""
    for task, bare, through in zip(tasks, results["bare"], results["rightcall"], strict=True):
        if bare.verdict != "right" and through.verdict == "right" and through.calls:
            call = through.calls[0]
            made = f"{call['name']} {json.dumps(call['arguments'], ensure_ascii=False)}"
            said = json.dumps(bare.text, ensure_ascii=False)[:300]
            return Text.assemble(
                ("\nFor example: ", "bold"), task.prompt,
                ("\n  bare server, only text: ", "bold"), said,
                ("\n  rightcall, a call:      ", "bold"), made,
            )  # fmt: skip
    return Text("")
