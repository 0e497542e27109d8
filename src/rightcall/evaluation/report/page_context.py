"""What the page's templates are given: a report's parts in the order and the bounds in which they are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rightcall.domain import Family
from rightcall.evaluation.cases import SELECTION_ERRORS
from rightcall.evaluation.columns import SHARES
from rightcall.evaluation.metrics import MEANINGS, SCHEMA_DEFECT
from rightcall.evaluation.records import Record
from rightcall.evaluation.report import figures, texts
from rightcall.evaluation.report.contents import LATENCY_EDGES, TESTED, Report, RunPart
from rightcall.evaluation.report.failures import KINDS, kinds_of
from rightcall.evaluation.report.tradeoff import Tradeoff, best

_REPAIRS = 20  # rows of fields
_EXTREMES = 10  # rows of cases

_ARMS = {
    "bare": "native calls as they come",
    "parse": "one attempt, read, repaired, validated",
    "full": "asked again where it is not right",
}
_LABELS = {
    "task_success": "task success",
    "wrong_but_valid": "wrong but valid",
    "argument_exact_match": "arguments right",
    "schema_validity": "schema valid",
    "refusals": "refused",
    "false_calls": "false calls",
}


@dataclass(frozen=True, slots=True)
class _FailingCase:
    """A case of the page's list; `anchor` is where links to it lead."""

    anchor: str
    part: RunPart
    record: Record
    kinds: tuple[str, ...]


def page_context(report: Report) -> dict[str, Any]:
    """Every variable of `page.html`, by its name."""
    runs = report.runs
    failing = _failing(runs)
    return {
        "report": report,
        "by_number": {part.number: part for part in runs},
        "groups": [list(group) for _, group in groupby(runs, key=_group)],
        "failing": failing,
        "failing_total": sum(part.failing_total for part in runs),
        "kinds": {kind: KINDS[kind] for kind in KINDS if any(kind in part.failing_kinds for part in runs)},
        "infrastructure_total": sum(part.metrics.infrastructure_errors for part in runs),
        **_words(runs),
        **_difference_context(report),
        "tradeoffs": [_tradeoff_context(tradeoff) for tradeoff in report.tradeoffs],
        **_scatter_context(runs),
        **_repair_context(runs),
        **_cost_context(runs, failing),
    }


def _words(runs: Sequence[RunPart]) -> dict[str, Any]:
    suites = {part.info.suite for part in runs}
    models, arms = {part.info.model for part in runs}, {part.info.arm for part in runs}
    days = sorted({texts.moment(part.info.created)[:10] for part in runs if part.info.created})
    dates = "" if not days else days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    answers = sum(part.metrics.answers for part in runs)
    counted = [_some(len(suites), "suite"), _some(len(models), "model"), _some(len(arms), "arm")]
    return {
        "dates": dates,
        "facts": ", ".join([*counted, _some(answers, "answer")]),
        "several_versions": len({(part.info.suite, part.info.suite_version) for part in runs}) > len(suites),
        "shapes": _shapes(runs),
        "arms_said": _ARMS,
        "labels": _LABELS,
        "meanings": MEANINGS,
        "shares": SHARES,
        "families": [family.value for family in Family],
        "selection_errors": SELECTION_ERRORS,
        "axis": figures.Axis(0.0, 1.0),
        "marked": figures.marked,
        "figures": figures,
    }


def _some(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _difference_context(report: Report) -> dict[str, Any]:
    parts = {part.number: part for part in report.runs}
    grouped = groupby(report.differences, key=lambda difference: _group(parts[difference.first]))
    members = [list(group) for _, group in grouped]
    tests = [
        (difference.numbers[name], difference.p_holm[name]) for difference in report.differences for name in TESTED
    ]
    reasons = dict.fromkeys(compared.test for compared, p in tests if p is None)
    return {
        "difference_groups": [(parts[group[0].first], group) for group in members],
        "axes": {
            name: figures.around_zero(difference.numbers[name].difference for difference in report.differences)
            for name in TESTED
        },
        "tested": sum(p is not None for _, p in tests),
        "untested": list(reasons),
    }


def _scatter_context(runs: Sequence[RunPart]) -> dict[str, Any]:
    numbers = [(part.number, *_estimates(part, "schema_validity", "wrong_but_valid")) for part in runs]
    drawn = figures.scatter(numbers, x_includes=[1.0], y_includes=[0.0])
    points = {point.number: point for point in drawn.points}
    groups = [
        [points[part.number] for part in group if part.number in points] for _, group in groupby(runs, key=_group)
    ]
    return {
        "scatter": drawn,
        "scatter_paths": [_path(group) for group in groups if len(group) > 1],
        "scatter_missing": [part for part in runs if part.number not in points],
    }


def _tradeoff_context(tradeoff: Tradeoff) -> dict[str, Any]:
    """A model's scatter, and the line through the arms that no other beats, if they are several."""
    drawn = figures.scatter(
        [(arm.number, arm.right_calls.estimate, arm.right_abstentions.estimate) for arm in tradeoff.arms]
    )
    line = [drawn.points[arm.number - 1] for arm in best(tradeoff)]
    return {
        "tradeoff": tradeoff,
        "arms": {arm.number: arm for arm in tradeoff.arms},
        "scatter": drawn,
        "path": _path(line) if len(line) > 1 else "",
    }


def _path(points: Sequence[figures.Point]) -> str:
    return " ".join(f"{point.x},{point.y}" for point in points)


def _repair_context(runs: Sequence[RunPart]) -> dict[str, Any]:
    found = [(part, repaired) for part in runs for repaired in part.metrics.repairs]
    found.sort(key=lambda item: (not item[1].schema_defect, -(item[1].share.value or 0.0), item[0].number))
    return {
        "repairs": found[:_REPAIRS],
        "repairs_left_out": len(found[_REPAIRS:]),
        "schema_defect": SCHEMA_DEFECT,
    }


def _cost_context(runs: Sequence[RunPart], failing: Sequence[_FailingCase]) -> dict[str, Any]:
    return {
        "slowest": _extremes(runs, lambda part: part.slowest, lambda _, record: record.seconds, failing),
        "dearest": _dearest(runs, failing),
        "in_dollars": _in_dollars(runs),
        "latency": _latency(runs),
    }


def _group(part: RunPart) -> tuple[str, str, str]:
    return part.info.suite, part.info.suite_version, part.info.model


def _estimates(part: RunPart, *names: str) -> tuple[Any, ...]:
    return tuple(part.metrics.estimates[name] for name in names)


def _shapes(runs: Sequence[RunPart]) -> dict[str, str]:
    """Each arm's mark: the same in every figure."""
    usual = {"bare": "ring", "parse": "diamond", "full": "disc"}
    arms = dict.fromkeys(part.info.arm for part in runs)
    others = [arm for arm in arms if arm not in usual]
    free = [shape for shape in figures.SHAPES if shape not in usual.values()]
    taken = {arm: shape for arm, shape in usual.items() if arm in arms}
    return taken | {arm: free[place % len(free)] for place, arm in enumerate(others)}


def _failing(runs: Sequence[RunPart]) -> list[_FailingCase]:
    return [
        _FailingCase(f"case-{part.number}-{place}", part, record, kinds_of(record))
        for part in runs
        for place, record in enumerate(part.failing, start=1)
    ]


def _in_dollars(runs: Sequence[RunPart]) -> bool:
    return all(part.metrics.cost_unit == "dollars" for part in runs)


def _dearest(runs: Sequence[RunPart], failing: Sequence[_FailingCase]) -> list[dict[str, Any]]:
    """By dollars where every run has prices, else by tokens."""
    if _in_dollars(runs):
        return _extremes(runs, lambda part: part.dearest, lambda part, record: part.cost(record) or 0.0, failing)
    return _extremes(runs, lambda part: part.largest, lambda _, record: record.tokens, failing)


def _extremes(
    runs: Sequence[RunPart],
    cases: Callable[[RunPart], Sequence[Record]],
    size: Callable[[RunPart, Record], float],
    failing: Sequence[_FailingCase],
) -> list[dict[str, Any]]:
    anchors = {(case.part.number, case.record.case, case.record.repeat): case.anchor for case in failing}
    found = sorted(((part, record) for part in runs for record in cases(part)), key=lambda item: -size(*item))
    return [
        {
            "part": part,
            "record": record,
            "cost": part.cost(record),
            "anchor": anchors.get((part.number, record.case, record.repeat)),
        }
        for part, record in found[:_EXTREMES]
    ]


def _latency(runs: Sequence[RunPart]) -> dict[str, Any]:
    """The histograms over the bins that any run fills, and the bins' ends in words."""
    used = [place for place in range(len(LATENCY_EDGES) + 1) if any(part.latency[place] for part in runs)]
    if not used:
        return {"rows": [], "bins": []}
    bins = range(used[0], used[-1] + 1)
    return {
        "rows": [(part, [part.latency[place] for place in bins]) for part in runs],
        "bins": [_bin_text(place) for place in bins],
    }


def _bin_text(place: int) -> str:
    if place == len(LATENCY_EDGES):
        return f"> {texts.amount(LATENCY_EDGES[-1])} s"
    return f"≤ {texts.amount(LATENCY_EDGES[place])} s"
