"""All benchmarks, as ratios to named peers in one run on one machine: `python benchmarks/run.py [--quick]`.

Prints the report and writes `benchmarks/results/bench.md` and `bench.json`; `--quick` only prints. Nothing here
fails on account of a number: a bound that is missed stands in the report.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

import event_log
import presenting
import proxy
import retrieval
import scoring
from report import as_json, machine, markdown, show
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import naming
import parsing

RESULTS = Path(__file__).with_name("results")
BENCHMARKS = (parsing, presenting, naming, retrieval, event_log, proxy, scoring)
BUSY = 0.5


def main() -> None:
    """Runs everything, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="a short run, only printed")
    quick = parser.parse_args().quick
    console = Console()
    about = {
        "command": "python benchmarks/run.py" + (" --quick" if quick else ""),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "notes": [],
    }
    load = about["machine"]["load_before"]
    if load and load[0] > BUSY:
        about["notes"].append(f"The machine was not idle: load average {load[0]} before the run.")
    parts = []
    bar = Progress(BarColumn(20), TextColumn("{task.description}"), TimeElapsedColumn(), console=console)
    with bar as progress:
        task = progress.add_task("", total=len(BENCHMARKS))
        for benchmark in BENCHMARKS:
            parts.append(benchmark.run(quick=quick, say=lambda line: progress.update(task, description=line)))
            progress.advance(task)
    show(console, parts)
    for note in about["notes"]:
        console.print(f"[yellow]{note}[/yellow]")
    if quick:
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "bench.md").write_text(markdown(parts, about), encoding="utf-8")
    (RESULTS / "bench.json").write_text(json.dumps(as_json(parts, about), indent=1) + "\n", encoding="utf-8")
    console.print(f"written: {RESULTS / 'bench.md'}, {RESULTS / 'bench.json'}")


if __name__ == "__main__":
    main()
