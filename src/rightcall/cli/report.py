"""`rightcall report`: what runs came to."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from rightcall.errors import StoreError, UsageError

EPILOG = """Examples:

rightcall report runs/*.jsonl

rightcall report runs/*.jsonl --html report.html

rightcall report runs/*.jsonl --held-out --json | jq '.runs[].metrics.estimates.task_success'

Runs of one suite and model are compared arm by arm, case by case."""


def report(
    runs: Annotated[list[Path], typer.Argument(help="Runs' files.", metavar="RUN...", show_default=False)],
    *,
    html: Annotated[
        Path | None, typer.Option(help="Write one self-contained page here.", metavar="FILE", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
    held_out: Annotated[bool, typer.Option("--held-out", help="Only the cases that are held out.")] = False,
    cases: Annotated[
        int, typer.Option(min=1, help="Failing cases to show at most, of all runs; the most harmful first.")
    ] = 300,
) -> None:
    """Say what runs came to: rates with intervals, what each arm changes, what failed and why."""
    from rightcall.evaluation.report.contents import build_report, report_to_json

    found = build_report(runs, held_out=held_out, failing_cases=cases)
    if not any(part.metrics.answers or part.metrics.infrastructure_errors for part in found.runs):
        raise UsageError(
            "the runs hold no held-out case; leave out --held-out" if held_out else "the runs hold no case yet"
        )
    if html is not None:
        from rightcall.evaluation.report.page import html_page

        page = html_page(found)
        try:
            html.write_text(page, encoding="utf-8")
        except OSError as error:
            raise StoreError(f"the page {html} cannot be written: {error.strerror}") from error
        typer.echo(html, err=True)
    if as_json:
        typer.echo(json.dumps(report_to_json(found)))  # ASCII only, so nothing in it can steer a terminal
    elif html is None:
        from rightcall.evaluation.report.terminal import print_summary

        # As wide as the terminal; in a pipe wide enough for a run to stay on its line.
        print_summary(found, Console(width=None if sys.stdout.isatty() else 140))
