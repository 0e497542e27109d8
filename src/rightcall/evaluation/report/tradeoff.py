"""What abstaining costs: for each arm of a model, right calls kept against right abstentions, on the same cases.

An arm that calls less makes fewer false calls and loses right ones. Both shares are over the cases that every arm
shown answered, of all suites together, so two arms differ by what they do and not by what they were asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from rightcall.evaluation.columns import Columns, Means, by_case, key
from rightcall.evaluation.records import RunInfo
from rightcall.evaluation.statistics import Estimate, rate


@dataclass(frozen=True, slots=True)
class RunOutcomes:
    """A run's cases by kind, one value a case; two suites' cases are never the same.

    `calls` has the cases where a call is right: how often it came. `abstentions` has the negative ones: how often
    nothing was called.
    """

    number: int
    info: RunInfo
    calls: Means
    abstentions: Means


@dataclass(frozen=True, slots=True)
class Share:
    """What an arm got right of one kind of cases; `gained` and `lost` count cases against the first arm."""

    estimate: Estimate
    gained: int
    lost: int


@dataclass(frozen=True, slots=True)
class TradeoffArm:
    """A point: `number` from 1 within its model, `runs` the numbers of the runs that are pooled in it."""

    number: int
    arm: str
    runs: tuple[int, ...]
    right_calls: Share
    right_abstentions: Share


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """The arms of a model that answered both kinds of cases, on the cases that all of them answered.

    `suites` are those the cases are of. `cases_left_out` counts cases that some of the arms answered and others did
    not; `arms_left_out` names arms that share no cases of both kinds with the others.
    """

    model: str
    suites: tuple[str, ...]
    arms: tuple[TradeoffArm, ...]
    cases_left_out: int
    arms_left_out: tuple[str, ...]


def run_outcomes(number: int, info: RunInfo, columns: Columns) -> RunOutcomes:
    """What is kept of a run: 24 bytes a case."""
    false_calls = columns.shares["false_calls"]  # not counted where a call is right
    called = columns.means(false_calls)
    right = columns.means(columns.shares["task_success"], np.flatnonzero(false_calls < 0))
    suite = np.uint64(key(f"{info.suite}\n{info.suite_version}"))
    return RunOutcomes(
        number,
        info,
        calls=replace(right, cases=right.cases ^ suite),
        abstentions=replace(called, cases=called.cases ^ suite, values=1 - called.values),
    )


def tradeoffs(runs: Sequence[RunOutcomes]) -> tuple[Tradeoff, ...]:
    """One for each model with two arms or more to set against each other.

    Args:
        runs: by model, then by arm, the first arm first. Runs of one arm are pooled; a case that several of them
            answered is averaged, as repeats are.
    """
    found = (_tradeoff(model, list(group)) for model, group in groupby(runs, key=lambda run: run.info.model))
    return tuple(tradeoff for tradeoff in found if tradeoff)


def best(tradeoff: Tradeoff) -> list[TradeoffArm]:
    """The arms that no other equals in both shares and beats in one, the most right calls last."""

    def shares(arm: TradeoffArm) -> tuple[float, float]:
        return arm.right_calls.estimate.value or 0.0, arm.right_abstentions.estimate.value or 0.0

    found: list[TradeoffArm] = []
    for arm in sorted(tradeoff.arms, key=shares, reverse=True):  # so that only an earlier one can beat it
        (calls, abstentions), others = shares(arm), [shares(other) for other in found]
        if all(theirs < abstentions or (calls, abstentions) == (ours, theirs) for ours, theirs in others):
            found.append(arm)
    return found[::-1]


@dataclass(frozen=True, slots=True, eq=False)  # arrays have no one truth; an arm equals itself
class _Arm:
    name: str
    runs: tuple[RunOutcomes, ...]
    calls: Means
    abstentions: Means


def _tradeoff(model: str, runs: Sequence[RunOutcomes]) -> Tradeoff | None:
    pooled = [_pooled(name, tuple(group)) for name, group in groupby(runs, key=lambda run: run.info.arm)]
    arms = [arm for arm in pooled if arm.calls.cases.size and arm.abstentions.cases.size]
    shown = max((_sharing(arms[place:]) for place in range(len(arms))), key=len, default=[])
    if len(shown) < 2:  # noqa: PLR2004 - one point is no trade-off
        return None
    calls, abstentions = _shared(shown)
    every = [reduce(np.union1d, kind) for kind in zip(*map(_cases, shown), strict=True)]
    first = shown[0]
    return Tradeoff(
        model=model,
        suites=tuple(dict.fromkeys(run.info.suite for run in first.runs if _has_any(run, calls, abstentions))),
        arms=tuple(
            TradeoffArm(
                number=number,
                arm=arm.name,
                runs=tuple(run.number for run in arm.runs if _has_any(run, calls, abstentions)),
                right_calls=_share(first.calls, arm.calls, calls),
                right_abstentions=_share(first.abstentions, arm.abstentions, abstentions),
            )
            for number, arm in enumerate(shown, start=1)
        ),
        cases_left_out=sum(map(len, every)) - len(calls) - len(abstentions),
        arms_left_out=tuple(arm.name for arm in arms if arm not in shown),
    )


def _pooled(name: str, runs: tuple[RunOutcomes, ...]) -> _Arm:
    return _Arm(name, runs, _together([run.calls for run in runs]), _together([run.abstentions for run in runs]))


def _together(means: Sequence[Means]) -> Means:
    # Families keep their names across suites: where two suites use the same tools their cases are no more
    # independent than within one.
    return by_case(
        np.concatenate([each.cases for each in means]),
        np.concatenate([each.values for each in means]),
        np.concatenate([each.families for each in means]),
    )


def _sharing(arms: Sequence[_Arm]) -> list[_Arm]:
    """The first arm, and each further one that leaves cases of both kinds in common."""
    shown = list(arms[:1])
    for arm in arms[1:]:
        if all(cases.size for cases in _shared([*shown, arm])):
            shown.append(arm)
    return shown


def _shared(arms: Sequence[_Arm]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The cases that all arms answered: those with a right call, and the negative ones."""
    calls, abstentions = zip(*map(_cases, arms), strict=True)
    return reduce(np.intersect1d, calls), reduce(np.intersect1d, abstentions)


def _cases(arm: _Arm) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    return arm.calls.cases, arm.abstentions.cases


def _has_any(run: RunOutcomes, calls: NDArray[np.uint64], abstentions: NDArray[np.uint64]) -> bool:
    return bool(np.isin(run.calls.cases, calls).any() or np.isin(run.abstentions.cases, abstentions).any())


def _share(first: Means, arm: Means, cases: NDArray[np.uint64]) -> Share:
    before, after = (each.values[np.searchsorted(each.cases, cases)] for each in (first, arm))
    families = first.families[np.searchsorted(first.cases, cases)]
    return Share(rate(after, families), int((after > before).sum()), int((after < before).sum()))
