"""What a run must reach, for CI: bounds on metrics, and how to tell a failed bound from a broken run.

A bound is held against the estimate itself; its interval stands beside it in every message, so that a run that is
too small to tell shows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rightcall.domain import Family
from rightcall.errors import UsageError
from rightcall.evaluation.cases import SELECTION_ERRORS
from rightcall.evaluation.compare import Run
from rightcall.evaluation.metrics import MEANINGS, Metrics, measure
from rightcall.evaluation.prices import load_prices
from rightcall.evaluation.statistics import Estimate

MET, BROKEN, USAGE, FAILED = 0, 1, 2, 3
"""Exit codes: every threshold met; the run is broken; wrong usage; a threshold is not met."""

MOST_BROKEN = 0.05
"""A run of which infrastructure spoilt more than this share of the answers says nothing."""

_FIXED = (
    *MEANINGS,
    *(f"errors.{family.value}" for family in Family),
    *(f"selection_errors.{kind}" for kind in SELECTION_ERRORS),
)
_OF_A_RUN = re.compile(r"pass[@^][1-9]\d*|original\..+")


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound on a metric, in the metric's own unit (a share from 0 to 1, seconds, tokens); `at_most` or at least."""

    metric: str
    bound: float
    at_most: bool = False

    def __str__(self) -> str:
        return f"{self.metric} {'≤' if self.at_most else '≥'} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Checked:
    """A threshold held against a run. Where nothing was there to count it is not met, and `reason` says so."""

    threshold: Threshold
    estimate: Estimate
    met: bool
    reason: str = ""

    def __str__(self) -> str:
        verdict = "met" if self.met else "not met"
        found = self.estimate
        if found.value is None:
            return f"{self.threshold}: {verdict}, {self.reason}"
        low, high = ("unknown" if end is None else f"{end:.4g}" for end in (found.low, found.high))
        return (
            f"{self.threshold}: {verdict}, it is {found.value:.4g} (95 % interval {low} to {high}, {found.n:,} cases)"
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run's thresholds came to. `broken` says why the run itself cannot be judged, or is empty."""

    checked: tuple[Checked, ...]
    broken: str = ""

    @property
    def exit_code(self) -> int:
        """`BROKEN`, `FAILED` or `MET`."""
        if self.broken:
            return BROKEN
        return MET if all(checked.met for checked in self.checked) else FAILED


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run with its numbers and what its thresholds came to."""

    run: Run
    metrics: Metrics
    outcome: Outcome


def parse_threshold(text: str, *, at_most: bool = False) -> Threshold:
    """A threshold as the command line has it: `task_success=0.9`.

    Args:
        text: metric and bound.
        at_most: whether the bound is the highest allowed (`--max`) or the lowest (`--fail-under`).

    Raises:
        UsageError: it has another form, there is no such metric, or the bound is no number.
    """
    metric, separator, bound = text.partition("=")
    metric = metric.strip()
    if not separator:
        raise UsageError(f"the threshold {text!r} has no bound; write it as task_success=0.9")
    if metric not in _FIXED and not _OF_A_RUN.fullmatch(metric):
        raise UsageError(_unknown(metric, (*_FIXED, "pass@K", "pass^K", "original.SCORE")))
    try:
        number = float(bound)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"the bound of {metric} is {bound!r}; it must be a number, as in task_success=0.9")
    return Threshold(metric, number, at_most)


def check_thresholds(metrics: Metrics, thresholds: Sequence[Threshold]) -> Outcome:
    """Holds a run's numbers against thresholds.

    Raises:
        UsageError: the run has no such metric; the message lists those that it has.
    """
    known = estimates_by_name(metrics)
    for threshold in thresholds:
        if threshold.metric not in known:
            raise UsageError(_unknown(threshold.metric, known))
    checked = tuple(_checked(threshold, known[threshold.metric]) for threshold in thresholds)
    return Outcome(checked, _broken(metrics))


def judge(run: Run, thresholds: Sequence[Threshold], metrics: Metrics | None = None) -> JudgedRun:
    """Holds a run against thresholds, measuring it unless that was done. Raises what `check_thresholds` raises."""
    if metrics is None:
        metrics = measure(run.records(), {**load_prices(), **run.info.prices})
    return JudgedRun(run, metrics, check_thresholds(metrics, thresholds))


def exit_code(judged: Iterable[JudgedRun]) -> int:
    """The exit code of several runs: a broken one counts before a failed one."""
    codes = {run.outcome.exit_code for run in judged}
    return next((code for code in (BROKEN, FAILED) if code in codes), MET)


def estimates_by_name(metrics: Metrics) -> dict[str, Estimate]:
    """Every number that a threshold may name, with its estimate."""
    return {
        **metrics.estimates,
        **_named("errors.", metrics.errors),
        **_named("selection_errors.", metrics.selection_errors),
        **_named("pass@", metrics.pass_at),
        **_named("pass^", metrics.pass_hat),
        **_named("original.", metrics.original),
    }


def _named(prefix: str, estimates: Mapping[str, Estimate] | Mapping[int, Estimate]) -> dict[str, Estimate]:
    return {f"{prefix}{name}": estimate for name, estimate in estimates.items()}


def _unknown(metric: str, known: Iterable[str]) -> str:
    return f"there is no metric {metric!r}; there are {', '.join(known)}"


def _checked(threshold: Threshold, estimate: Estimate) -> Checked:
    value = estimate.value
    if value is None:
        return Checked(threshold, estimate, met=False, reason=f"nothing to count: {estimate.reason or 'no case'}")
    met = value <= threshold.bound if threshold.at_most else value >= threshold.bound
    return Checked(threshold, estimate, met)


def _broken(metrics: Metrics) -> str:
    failures, answers = metrics.infrastructure_errors, metrics.answers
    if not answers:
        return (
            f"nothing was scored: {failures:,} infrastructure errors" if failures else "nothing was scored: no case"
        )
    share = failures / (failures + answers)
    if share > MOST_BROKEN:
        return (
            f"{failures:,} of {failures + answers:,} cases ({share:.0%}) were not answered, "
            f"more than the {MOST_BROKEN:.0%} that are allowed; run it again, only those are asked"
        )
    return ""
