"""One number of one run with its interval: rates, means, ratios, quantiles, by family clusters.

Every function takes one value a task (repeats averaged) and the task's family. The variance is cluster-robust:
families are the samples, so the interval has as many degrees of freedom as there are families, less one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from rightcall.errors import UsageError

Floats: TypeAlias = NDArray[np.float64]

LEVEL = 0.95
_NOTHING = 1e-12  # a standard error below this part of the values is rounding, not spread


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and what is known of it.

    `low` and `high` bound it at the level asked for; None where the data bound it on no or one side only, and
    `reason` says why. `n` counts tasks, `families` clusters, `method` names the interval. `value` is None where
    nothing was there to count.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    families: int
    method: str
    reason: str = ""


def wilson(successes: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's score interval of a proportion of independent trials; `n` need not be whole (an effective n).

    Raises:
        UsageError: `n` is not positive, or `successes` are not between 0 and `n`.
    """
    if not (n > 0 and 0 <= successes <= n):
        raise UsageError(f"{successes!r} successes of {n!r}: n must be positive, successes from 0 to n")
    low, high = proportion_confint(successes, n, alpha=1 - level, method="wilson")
    # The ends that are exact by definition are so in spite of rounding.
    return (float(low) if successes > 0 else 0.0), (float(high) if successes < n else 1.0)


def rate(values: ArrayLike, families: ArrayLike, level: float = LEVEL) -> Estimate:
    """The mean of values from 0 to 1 with Wilson's interval at the effective number of tasks.

    The effective number follows Korn and Graubard (1998): n over the design effect, which is the cluster-robust
    variance of the mean by that of independent tasks, p(1 - p) / (n - 1), and counts as 1 where it is less; times
    (t(n - 1) / t(G - 1))² for the few families that it rests on. Where all values are 0 or all are 1 they do not
    show how alike the tasks of a family are, so these are taken to be entirely alike: n_eff = n² / Σ m_g², m_g the
    family sizes. With every task a family of its own it is Wilson's plain interval.

    Args:
        values: shape (n,), one a task.
        families: shape (n,), labels of any sortable kind.
        level: confidence, 0 to 1.
    """
    data, codes, count = checked(values, families)
    if data.size and not (data.min() >= 0 and data.max() <= 1):
        raise UsageError(f"a rate needs values from 0 to 1, got {data.min():g} to {data.max():g}")
    found = _unbounded(data, count, "Wilson at the effective n")
    if found.reason:
        return found
    value = float(data.mean())
    effective = _effective_n(data, codes, count, level)
    low, high = wilson(value * effective, effective, level)
    return replace(found, low=low, high=high, method=f"Wilson, effective n {effective:.1f}")


def mean(values: ArrayLike, families: ArrayLike, level: float = LEVEL) -> Estimate:
    """The mean with a cluster-robust t interval, G - 1 degrees of freedom.

    Least squares on a constant with the sandwich of Liang and Zeger (1986) and its small-sample factor G / (G - 1).

    Args:
        values: shape (n,), one a task, in any unit.
        families: shape (n,), labels of any sortable kind.
        level: confidence, 0 to 1.
    """
    data, codes, count = checked(values, families)
    found = _unbounded(data, count, "cluster-robust t")
    if found.reason:
        return found
    error = _standard_error(data, codes)
    if error == 0:
        same = "all values are equal" if np.ptp(data) == 0 else "the families' means do not differ"
        return replace(found, reason=f"{same}, so the data do not show how much the mean would vary")
    reach = float(stats.t.ppf((1 + level) / 2, count - 1)) * error
    value = float(data.mean())
    return replace(found, low=value - reach, high=value + reach)


def ratio(numerators: ArrayLike, denominators: ArrayLike, families: ArrayLike, level: float = LEVEL) -> Estimate:
    """Sum over sum, of values that are not negative, with the cluster-robust interval of its linearised form.

    R + (x - R y) / mean(y) has mean R and, to first order, R's variance (Cochran, "Sampling Techniques", 6.3).
    """
    above, codes, count = checked(numerators, families)
    below, _, _ = checked(denominators, families)
    total = float(below.sum())
    if not total:
        reason = "no task" if not above.size else "the denominator is 0 in every task"
        return Estimate(None, None, None, above.size, count, "linearised ratio", reason)
    value = float(above.sum()) / total
    found = mean(value + (above - value * below) / below.mean(), codes, level)
    low = None if found.low is None else max(0.0, found.low)
    return replace(found, value=value, low=low, method="linearised ratio, cluster-robust t")


def quantile(values: ArrayLike, families: ArrayLike, share: float, level: float = LEVEL) -> Estimate:
    """The value that `share` of the tasks do not exceed, bounded by order statistics at the effective n.

    The binomial interval of the rank (David and Nagaraja, "Order Statistics", 7.1), with the effective number of
    tasks of the indicator "at most the quantile", as Woodruff (1952) does for survey data. A tail that too few
    tasks reach has no bound on its side.
    """
    data, codes, count = checked(values, families)
    found = _unbounded(data, count, "order statistics at the effective n")
    if not data.size:
        return found
    value = float(np.quantile(data, share, method="inverted_cdf"))
    found = replace(found, value=value)
    if found.reason:
        return found
    # Rounded first, so that a whole number does not become the one before.
    effective = max(1, math.floor(round(_effective_n((data <= value).astype(float), codes, count, level), 6)))
    lowest = int(stats.binom.ppf((1 - level) / 2, effective, share))
    highest = int(stats.binom.ppf((1 + level) / 2, effective, share)) + 1
    ordered = np.sort(data)
    low, high = (
        float(ordered[math.ceil(rank / effective * data.size) - 1]) if 1 <= rank <= effective else None
        for rank in (lowest, highest)
    )
    reason = "" if low is not None and high is not None else f"{effective} effective tasks do not reach so far out"
    return replace(found, low=low, high=high, reason=reason, method=f"order statistics, effective n {effective}")


def checked(values: ArrayLike, families: ArrayLike) -> tuple[Floats, NDArray[np.intp], int]:
    """Values as numbers, families as numbers from 0, and how many families there are. Raises `UsageError`."""
    data = np.asarray(values, dtype=np.float64)
    names, codes = np.unique(np.asarray(families), return_inverse=True)
    if data.ndim != 1 or codes.shape != data.shape:
        raise UsageError(f"one value and one family a task are needed, got shapes {data.shape} and {codes.shape}")
    if not np.isfinite(data).all():
        raise UsageError("a value is not a finite number; leave out what is not defined")
    return data, codes, len(names)


def _unbounded(data: Floats, families: int, method: str) -> Estimate:
    """The estimate without its interval, with the reason where there can be none."""
    if not data.size:
        return Estimate(None, None, None, 0, 0, method, "no task")
    reason = "" if families > 1 else "one family only: how families differ cannot be seen"
    return Estimate(float(data.mean()), None, None, data.size, families, method, reason)


def _standard_error(data: Floats, codes: NDArray[Any]) -> float:
    """Cluster-robust, of the mean; exactly 0 where only rounding is left."""
    if np.ptp(data) == 0:
        return 0.0
    options = {"groups": codes, "df_correction": True}
    fit = OLS(data, np.ones_like(data)).fit(cov_type="cluster", cov_kwds=options, use_t=True)
    error = float(fit.bse[0])
    return error if error > _NOTHING * float(np.abs(data).max()) else 0.0


def _effective_n(data: Floats, codes: NDArray[Any], count: int, level: float) -> float:
    p, n = float(data.mean()), data.size
    if 0 < p < 1:
        error = _standard_error(data, codes)
        effective = n / max(1.0, error**2 * (n - 1) / (p * (1 - p)))
    else:
        effective = n**2 / float((np.bincount(codes).astype(float) ** 2).sum())
    tail = (1 + level) / 2
    return float(effective * (stats.t.ppf(tail, n - 1) / stats.t.ppf(tail, count - 1)) ** 2)
