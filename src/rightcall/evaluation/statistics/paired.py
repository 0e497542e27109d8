"""Two runs on the same tasks: the difference, its interval, its p-value, by task and family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from rightcall.errors import UsageError
from rightcall.evaluation.statistics.estimates import LEVEL, Estimate, coded, mean

MIN_FAMILIES = 6  # below, the smallest two-sided p that flipping signs can give, 2^(1 - G), is above 5 %
_RESAMPLES = 9_999
_BATCH = 1_000_000  # signs held at a time


@dataclass(frozen=True, slots=True)
class Difference:
    """Second less first: the mean over tasks with its interval, and the p-value of "no difference".

    `p` is None where there are too few families for one; `test` names the test, or says that.
    """

    estimate: Estimate
    p: float | None
    test: str


def paired_difference(
    first: ArrayLike, second: ArrayLike, families: ArrayLike, *, level: float = LEVEL, seed: int = 0
) -> Difference:
    """Whether the second does better than the first on the same tasks.

    The interval is that of `mean` on the differences; the p-value that of `sign_flip`. Average the repeats of a
    task first: they are no samples of their own.

    Args:
        first: shape (n,), one value a task.
        second: the same of the same tasks in the same order.
        families: shape (n,), each task's family.
        level: confidence of the interval.
        seed: of the resampling, where the families are too many to try every sign.
    """
    before, after = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if before.shape != after.shape:
        raise UsageError(f"pairs are needed: got {before.shape} values and {after.shape}")
    differences = after - before
    estimate = mean(differences, families, level)
    if estimate.n and not differences.any():
        estimate = replace(estimate, reason="no task differs, so the data do not show how much one could")
    p, test = sign_flip(differences, families, seed=seed)
    return Difference(estimate, p, test)


def sign_flip(differences: ArrayLike, families: ArrayLike, *, seed: int = 0) -> tuple[float | None, str]:
    """The two-sided p-value of "families are as likely to gain as to lose", and the name of the test.

    A permutation test of the families' sums, exact where 2^G is small. The statistic is the sum over the root of
    the sum of squares: Student's t grows with it and gives the same p-value, but is infinite where all are equal.
    Families whose sum is 0 are the same under either sign and are left out of the flipping.
    """
    codes, count = coded(families)
    if not count:
        return None, "no task"
    if count < MIN_FAMILIES:
        smallest = 2.0 ** (1 - count)
        return None, f"too few families: {count}, so no p-value could be below {smallest:.2g}; {MIN_FAMILIES} needed"
    sums = np.bincount(codes, weights=np.asarray(differences, dtype=np.float64))
    sums = sums[~np.isclose(sums, 0, atol=1e-12)]
    if not sums.size:
        return 1.0, "sign flip: no family differs"
    found = stats.permutation_test(
        (sums,),
        _studentised,
        permutation_type="samples",
        vectorized=True,
        n_resamples=_RESAMPLES,
        batch=max(1, _BATCH // sums.size),
        rng=np.random.default_rng(seed),
    )
    exact = 2.0**sums.size <= _RESAMPLES
    how = "every sign" if exact else f"{_RESAMPLES:,} draws"
    return float(found.pvalue), f"sign flip of {sums.size} families, {how}"


def mcnemar_exact(gained: int, lost: int) -> float:
    """The exact two-sided p-value of McNemar's test.

    Only for one repeat of independent tasks (each a family of its own): elsewhere it rejects a true null far too
    often.

    Args:
        gained: tasks right in the second only.
        lost: tasks right in the first only.
    """
    if gained < 0 or lost < 0:
        raise UsageError(f"counts of tasks are needed, got {gained} gained and {lost} lost")
    if not gained + lost:
        return 1.0
    return min(1.0, float(mcnemar([[0, gained], [lost, 0]], exact=True).pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for being several (Holm 1979), in the same order."""
    return [float(p) for p in multipletests(p_values, method="holm")[1]] if len(p_values) else []


def _studentised(sums: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    total: NDArray[np.float64] = sums.sum(axis=axis) / np.sqrt((sums**2).sum(axis=axis))
    return total
