"""`rightcall`: the commands, and how errors reach people."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from rightcall.cli import (
    ablate,
    align,
    demo,
    diff,
    eval,  # noqa: A004 - a command's name
    fingerprint,
    lint,
    log,
    models,
    parse,
    report,
    search,
    serve,
)
from rightcall.errors import RightcallError, UsageError

app = typer.Typer(
    name="rightcall",
    help="Makes small and self-hosted language models call tools right. Valid is not right.",
    epilog="Start with: rightcall demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("serve", epilog=serve.EPILOG)(serve.serve)
app.command("parse", epilog=parse.EPILOG)(parse.parse)
app.command("demo", epilog=demo.EPILOG)(demo.demo)
app.command("lint", epilog=lint.EPILOG)(lint.lint)
app.command("diff", epilog=diff.EPILOG)(diff.diff)
app.command("search", epilog=search.EPILOG)(search.search)
app.command("fingerprint", epilog=fingerprint.EPILOG)(fingerprint.fingerprint)
app.add_typer(align.app, name="align")
app.add_typer(eval.app, name="eval")
app.command("ablate", epilog=ablate.EPILOG)(ablate.ablate)
app.command("report", epilog=report.EPILOG)(report.report)
app.add_typer(log.app, name="log")
app.add_typer(models.app, name="models")


def _version(wanted: bool) -> None:  # noqa: FBT001 - typer passes the flag
    if wanted:
        typer.echo(f"rightcall {version('rightcall')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    shown: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    del shown  # the callback has answered


def main() -> None:
    """Runs the command line. What a person did wrong ends with 2, what failed with 1."""
    try:
        app()
    except RightcallError as error:
        typer.echo(f"rightcall: {error}", err=True)
        sys.exit(2 if isinstance(error, UsageError) else 1)
