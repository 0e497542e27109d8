"""What the benchmarks have in common: the words of their reports, fair timing, and missing peers."""

from __future__ import annotations

import importlib
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table as RichTable

Say: TypeAlias = Callable[[str], None]
"""Takes a line about what is being measured now."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the cost table: ours beside a named peer, in words, with the bound that is judged."""

    what: str
    ours: str
    peer: str
    ratio: str
    bound: str
    met: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table of further numbers, ready to print."""

    title: str
    columns: Sequence[str]
    lines: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Part:
    """What one benchmark found: rows that are judged, tables to read, raw numbers to keep, remarks."""

    name: str
    rows: Sequence[Row]
    tables: Sequence[Table] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    remarks: Sequence[str] = ()


# -- timing -----------------------------------------------------------------------------------------------------


def seconds_per_call(
    work: Mapping[str, Callable[[], object]], *, seconds: float, rounds: int = 9
) -> dict[str, float]:
    """Median seconds of one call of each, all measured in turns, so that a noisy moment hits all alike.

    `seconds` is about how long each is run in total. The garbage collector stays on: it is part of the cost.
    """
    repeats = {}
    for name, call in work.items():
        call()
        began = time.perf_counter()
        call()
        once = max(time.perf_counter() - began, 1e-7)
        repeats[name] = max(1, int(seconds / rounds / once))
    samples: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, call in work.items():
            times = range(repeats[name])
            began = time.perf_counter()
            for _time in times:
                call()
            samples[name].append((time.perf_counter() - began) / len(times))
    return {name: min(found) for name, found in samples.items()}


def duration(seconds: float) -> str:
    """Seconds in the unit that people read."""
    for limit, unit, factor in ((1e-3, "µs", 1e6), (1.0, "ms", 1e3)):
        if abs(seconds) < limit:
            return (
                f"{seconds * factor:.3g} {unit}" if abs(seconds * factor) < 100 else f"{seconds * factor:.0f} {unit}"
            )
    return f"{seconds:.2f} s"


# -- peers and the machine --------------------------------------------------------------------------------------


def need(*modules: str) -> None:
    """Ends with a clear message where a peer is not installed."""
    missing = []
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError:
            missing.append(module)
    if missing:
        sys.exit(
            f"the benchmarks compare against {', '.join(missing)}, which this Python does not have.\n"
            f"Install it: {Path(sys.executable).name} -m pip install -r requirements/dev.txt"
        )


PACKAGES = (
    "rightcall",
    "jsonschema",
    "json_repair",
    "jsonschema-rs",
    "jiter",
    "starlette",
    "uvicorn",
    "httpx2",
    "apsw",
)


def machine() -> dict[str, Any]:
    """Where the numbers come from."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
        "load_before": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "from source" if package == "rightcall" else ""


# -- showing ----------------------------------------------------------------------------------------------------

COST_COLUMNS = ("what", "ours", "peer", "ratio", "bound", "met")


def cost_lines(parts: Sequence[Part]) -> list[list[str]]:
    """The rows of the cost table as text."""
    rows = (row for part in parts for row in part.rows)
    return [[row.what, row.ours, row.peer, row.ratio, row.bound, "yes" if row.met else "NO"] for row in rows]


def show(console: Console, parts: Sequence[Part]) -> None:
    """Prints everything: the cost table first, then what stands behind it."""
    _print_table(console, Table("What it costs", COST_COLUMNS, cost_lines(parts)))
    for part in parts:
        for table in part.tables:
            _print_table(console, table)
        for remark in part.remarks:
            console.print(f"[dim]{part.name}: {remark}[/dim]")


def _print_table(console: Console, table: Table) -> None:
    shown = RichTable(title=table.title, title_justify="left", title_style="bold", show_lines=False)
    for index, column in enumerate(table.columns):
        shown.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    for line in table.lines:
        style = None if table.columns != COST_COLUMNS else "green" if line[-1] == "yes" else "bold red"
        shown.add_row(*line, style=style)
    console.print(shown)


def markdown(parts: Sequence[Part], about: Mapping[str, Any]) -> str:
    """The same report as Markdown."""
    versions = ", ".join(f"{name} {number}" for name, number in about["machine"]["versions"].items())
    where = about["machine"]
    lines = [
        "# Benchmarks",
        "",
        f"`{about['command']}` on {about['date']}.",
        "",
        f"{where['cpu']}, {where['cores']} cores, {where['system']}, {where['python']}; {versions}.",
        "",
        *(f"{note}\n" for note in about["notes"]),
        "## What it costs",
        "",
        *_markdown_table(COST_COLUMNS, cost_lines(parts)),
    ]
    for part in parts:
        lines += ["", f"## {part.name}"]
        lines += [f"\n{remark}" for remark in part.remarks]
        for table in part.tables:
            lines += ["", f"### {table.title}", "", *_markdown_table(table.columns, table.lines)]
    return "\n".join(lines) + "\n"


def _markdown_table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---", *["---:"] * (len(columns) - 1)]
    return [f"| {' | '.join(cell.replace('|', '¦') for cell in line)} |" for line in (columns, rule, *lines)]


def as_json(parts: Sequence[Part], about: Mapping[str, Any]) -> dict[str, Any]:
    """The same report as data."""
    return {
        **about,
        "cost": [asdict(row) for part in parts for row in part.rows],
        "numbers": {part.name: dict(part.numbers) for part in parts},
    }


def alone(measure: Callable[..., Part]) -> None:
    """Runs one benchmark as a script of its own: `--quick` for a short run."""
    console = Console()
    with console.status("...") as status:
        part = measure(quick="--quick" in sys.argv[1:], say=status.update)
    show(console, [part])
