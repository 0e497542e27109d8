"""`rightcall eval compare`: two runs of one suite, case by case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from rightcall.errors import MissingExtra

if TYPE_CHECKING:
    from rightcall.evaluation.compare import CaseChange, Comparison
    from rightcall.evaluation.records import RunInfo
    from rightcall.evaluation.statistics import Estimate

EPILOG = """Examples:

rightcall eval compare runs/bfcl-simple_python--m--bare--*.jsonl runs/bfcl-simple_python--m--full--*.jsonl

rightcall eval compare before.jsonl after.jsonl --json"""

_MAX_CHANGES = 20
_AS_NUMBERS = frozenset(("attempts", "tokens", "seconds", "cost"))


def compare(
    first: Annotated[Path, typer.Argument(help="The run that is the baseline.", show_default=False)],
    second: Annotated[Path, typer.Argument(help="The run that is set against it.", show_default=False)],
    *,
    prices: Annotated[Path | None, typer.Option(help="Prices by model (TOML).", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Say what changed from one run to another: by how much, how sure, and in which cases.

    Differences are paired by case, repeats averaged; intervals and p-values take families as samples.
    """
    try:
        from rightcall.evaluation.compare import compare as compared
        from rightcall.evaluation.compare import comparison_to_json, open_run
        from rightcall.evaluation.prices import load_prices
    except ModuleNotFoundError as error:
        raise MissingExtra("comparing runs", "eval") from error
    comparison = compared(open_run(first), open_run(second), load_prices(prices))
    if as_json:
        typer.echo(json.dumps(comparison_to_json(comparison), ensure_ascii=False, indent=2))
        return
    console = Console()
    console.print(_numbers(comparison))
    for title, changes in (("gained", comparison.gained), ("lost", comparison.lost)):
        if changes:
            console.print(_changes(title, changes))
    console.print(_rest(comparison))


def _numbers(comparison: Comparison) -> Table:
    one, two = comparison.first, comparison.second
    table = Table(
        "",
        *_headings(one, two),
        "difference",
        "95 % interval",
        "p (Holm)",
        title=f"{one.suite}: {comparison.cases} cases in {comparison.families} families",
    )
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify = "right"
    reasons: dict[str, None] = {}
    for name, found in comparison.numbers.items():
        if found.first is None and found.second is None:
            continue  # no case of this suite has it
        if found.difference.low is None and found.difference.reason:
            reasons[found.difference.reason] = None
        scale = 1 if name in _AS_NUMBERS else 100
        unit = "" if name in _AS_NUMBERS else " %"
        table.add_row(
            name,
            _number(found.first, scale, unit),
            _number(found.second, scale, unit),
            _number(found.difference.value, scale, "", signed=True),
            _interval(found.difference, scale),
            "-" if found.p is None else f"{_p(found.p)} ({_p(found.p_holm)})",
        )
    table.caption = "\n".join(f"no interval: {reason}" for reason in reasons)
    return table


def _headings(one: RunInfo, two: RunInfo) -> tuple[str, str]:
    """What tells the runs apart: the arms, where the model is one."""
    if one.model == two.model and one.arm != two.arm:
        return escape(one.arm), escape(two.arm)
    return escape(f"{one.model} {one.arm}"), escape(f"{two.model} {two.arm}")


def _number(value: float | None, scale: int, unit: str, *, signed: bool = False) -> str:
    if value is None:
        return "-"
    return f"{value * scale:{'+' if signed else ''}.1f}{unit}"


def _interval(estimate: Estimate, scale: int) -> str:
    if estimate.low is None or estimate.high is None:
        return "none"
    return f"{estimate.low * scale:+.1f} to {estimate.high * scale:+.1f}"


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}" if value >= 0.0001 else "< 0.0001"  # noqa: PLR2004 - as printed


def _changes(title: str, changes: tuple[CaseChange, ...]) -> Table:
    left_out = len(changes) - _MAX_CHANGES
    caption = f"and {left_out} more; --json has all" if left_out > 0 else None
    table = Table("case", "first", "second", title=f"{title}: {len(changes)}", caption=caption)
    table.columns[0].no_wrap = True
    for change in changes[:_MAX_CHANGES]:
        table.add_row(change.case, _said(change.first_answers), _said(change.second_answers))
    return table


def _said(answers: tuple[Any, ...]) -> Text:
    if not answers:
        return Text("-")
    calls = "; ".join(f"{c['name']} {json.dumps(c['arguments'], ensure_ascii=False)}" for c in answers[0]["calls"])
    said = calls or f"({answers[0]['status']}) {' '.join(answers[0]['text'].split())}"
    return Text(said, overflow="ellipsis", no_wrap=True)


def _rest(comparison: Comparison) -> str:
    lines = [f"unchanged: {len(comparison.unchanged)}, of these right: {comparison.unchanged_right}"]
    if comparison.mcnemar is not None:
        lines.append(f"McNemar, exact: p = {_p(comparison.mcnemar)}")
    for which, cases in (("first", comparison.only_first), ("second", comparison.only_second)):
        if cases:
            lines.append(f"only in the {which} run, left out: {len(cases)}")
    failed = sum(comparison.infrastructure_errors)
    if failed:
        lines.append(f"infrastructure failures, left out: {failed}; run again to fill them in")
    return "\n".join(lines)
