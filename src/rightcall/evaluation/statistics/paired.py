"""Two runs on the same tasks: the difference, its interval, its p-value, by task and family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from rightcall.errors import UsageError
from rightcall.evaluation.statistics.estimates import LEVEL, Estimate, checked, mean

MIN_FAMILIES = 6  # below, the smallest two-sided p that flipping signs can give, 2^(1 - G), is above 5 %
_EXACT_FAMILIES = 13  # 8,192 choices of signs
_DRAWS = 9_999
_BATCH = 500_000  # signs held at a time


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

    A permutation test of the families' sums: every choice of signs where there are few, seeded draws otherwise,
    the data themselves counted as one. The studentised sum is the statistic; flipping leaves the sum of squares as
    it is, so Student's t grows with the plain sum, and comparing sums gives the same p-value. Families whose sum is
    0 are the same under either sign and are left out.

    The same as `scipy.stats.permutation_test(..., permutation_type="samples")`, which sorts for every draw: measured
    at 9,999 draws, 1.5 ms a family, some ten times a matrix product's. Thousands of families need the latter.
    """
    values, codes, count = checked(differences, families)
    if not count:
        return None, "no task"
    if count < MIN_FAMILIES:
        smallest = 2.0 ** (1 - count)
        return None, f"too few families: {count}, so no p-value could be below {smallest:.2g}; {MIN_FAMILIES} needed"
    sums = np.bincount(codes, weights=values)
    sums = sums[~np.isclose(sums, 0, atol=1e-12)]
    if not sums.size:
        return 1.0, "sign flip: no family differs"
    exact = sums.size <= _EXACT_FAMILIES
    draws = 2**sums.size if exact else _DRAWS
    draw = None if exact else np.random.default_rng(seed)
    total = sums.sum()
    least = abs(total) - 1e-12 * np.abs(sums).sum()  # ties are as extreme, in spite of rounding
    extreme = 0
    rows = max(1, _BATCH // sums.size)
    for start in range(0, draws, rows):
        flipped = _flips(start, min(draws - start, rows), sums.size, draw)
        extreme += int((np.abs(total - 2 * (flipped @ sums)) >= least).sum())
    if exact:
        return extreme / draws, f"sign flip of {sums.size} families, every sign"
    return (extreme + 1) / (draws + 1), f"sign flip of {sums.size} families, {draws:,} draws"


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


def _flips(start: int, rows: int, size: int, draw: np.random.Generator | None) -> NDArray[np.float64]:
    """Which of `size` signs are turned, 0 or 1, in each row: choices number `start` and on, or drawn."""
    if draw is None:
        return (np.arange(start, start + rows)[:, None] >> np.arange(size) & 1).astype(np.float64)
    octets = draw.integers(0, 256, (rows, -(-size // 8)), dtype=np.uint8)
    return np.unpackbits(octets, axis=1, count=size).astype(np.float64)
