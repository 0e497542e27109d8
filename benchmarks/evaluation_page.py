"""Runs as a Markdown page: rates with intervals, what each arm changes, and how much of it is sure.

    python benchmarks/evaluation_page.py runs/*.jsonl > benchmarks/results/evaluation.md

The runs' files hold the benchmarks' own questions and answers, so the page is kept and the files are not.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain, groupby
from pathlib import Path

from rightcall.evaluation.report import texts
from rightcall.evaluation.report.contents import Report, RunPart, build_report
from rightcall.evaluation.report.tradeoff import Share
from rightcall.evaluation.statistics import Estimate

RATES = ("task_success", "argument_exact_match", "tool_selection", "wrong_but_valid", "refusals", "false_calls")
AMOUNTS = ("attempts_per_task", "tokens_per_task", "latency_median")


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("runs", nargs="+", type=Path)
    report = build_report(parser.parse_args().runs)
    parts = (_runs(report), _results(report), _tradeoffs(report), _differences(report), _failures(report))
    for part in chain.from_iterable(parts):
        print(part)


def _runs(report: Report) -> Iterator[str]:
    yield "## What was run\n"
    for model, group in groupby(sorted(report.runs, key=lambda p: p.info.model), key=lambda p: p.info.model):
        parts = list(group)
        info = parts[0].info
        yield f"- **{model}**: `{info.build}`; sampling {texts.settings_text(info.sampling)}; seed {info.seed}"
    versions = {part.info.suite: part.info.suite_version for part in report.runs}
    yield from (f"- `{suite}`: {version}" for suite, version in versions.items())


def _results(report: Report) -> Iterator[str]:
    yield "\n## Results\n\nPercent with 95 % intervals; clusters are tool families.\n"
    heads = " | ".join(name.replace("_", " ") for name in (*RATES, *AMOUNTS))
    yield f"| suite | model | arm | cases | families | {heads} |"
    yield "|---|---|---|" + "---:|" * (2 + len(RATES) + len(AMOUNTS))
    for part in report.runs:
        numbers = part.metrics.estimates
        cells = [_rate(numbers[name]) for name in RATES] + [texts.amount(numbers[name].value) for name in AMOUNTS]
        info = part.info
        counts = f"{part.metrics.cases} | {part.metrics.families}"
        yield f"| {info.suite} | {info.model} | {info.arm} | {counts} | {' | '.join(cells)} |"


def _rate(found: Estimate) -> str:
    if found.value is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.value:.0%}"
    return f"{found.value:.0%} ({found.low:.0%}–{found.high:.0%})"


def _points(found: Estimate) -> str:
    value = f"{100 * (found.value or 0):+.0f}"
    if found.low is None or found.high is None:
        return value
    return f"{value} ({100 * found.low:+.0f} to {100 * found.high:+.0f})"


def _tradeoffs(report: Report) -> Iterator[str]:
    if not report.tradeoffs:
        return
    yield "\n## Right calls against right abstentions\n\nOn the cases that all of a model's arms answered.\n"
    yield "| model | arm | right calls | gained, lost | right abstentions | gained, lost |"
    yield "|---|---|---:|---:|---:|---:|"
    for each in report.tradeoffs:
        for arm in each.arms:
            cells = [cell for share in (arm.right_calls, arm.right_abstentions) for cell in _share(share)]
            yield f"| {each.model} | {arm.arm} | {' | '.join(cells)} |"


def _share(share: Share) -> tuple[str, str]:
    found = share.estimate
    return f"{texts.counted(found)}, {_rate(found)}", f"+{share.gained}, −{share.lost}"


def _differences(report: Report) -> Iterator[str]:
    yield "\n## Differences between arms\n"
    yield "Percentage points, paired by case; p of the family-level sign flip, Holm over all rows and both numbers.\n"
    yield "| suite | model | from | to | task success | p | wrong but valid | p | gained, lost |"
    yield "|---|---|---|---|---:|---:|---:|---:|---:|"
    parts: dict[int, RunPart] = {part.number: part for part in report.runs}
    for each in report.differences:
        one, two = parts[each.first].info, parts[each.second].info
        cells = []
        for name in ("task_success", "wrong_but_valid"):
            found = each.numbers[name].difference
            bounds = (
                ""
                if found.low is None or found.high is None
                else f" ({100 * found.low:+.0f} to {100 * found.high:+.0f})"
            )
            cells += [f"{100 * (found.value or 0):+.0f}{bounds}", texts.p_value(each.p_holm[name])]
        change = f"+{each.gained}, −{each.lost}"
        yield f"| {one.suite} | {one.model} | {one.arm} | {two.arm} | {' | '.join(cells)} | {change} |"


def _failures(report: Report) -> Iterator[str]:
    yield "\n## What went wrong\n\n| suite | model | arm | failing | kinds | selection errors | not answered |"
    yield "|---|---|---|---:|---|---|---:|"
    for part in report.runs:
        kinds = ", ".join(f"{kind} {count}" for kind, count in part.failing_kinds.items()) or "–"
        n = part.metrics.cases
        errors = [
            (kind, round((found.value or 0) * (found.n or n)))
            for kind, found in part.metrics.selection_errors.items()
        ]
        shown = ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in errors if count) or "–"
        info = part.info
        failing = f"{part.failing_total} | {kinds} | {shown} | {part.metrics.infrastructure_errors}"
        yield f"| {info.suite} | {info.model} | {info.arm} | {failing} |"


if __name__ == "__main__":
    main()
