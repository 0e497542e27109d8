"""Repeats of a task: does one of k succeed, do all of k."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from rightcall.errors import UsageError


def pass_at_k(successes: ArrayLike, repeats: ArrayLike, k: int) -> NDArray[np.float64]:
    """The chance that at least one of k repeats succeeds, by task: 1 - C(r - c, k) / C(r, k).

    Unbiased (Chen et al. 2021, "Evaluating Large Language Models Trained on Code").

    Args:
        successes: c, shape (n,), how many repeats of each task succeeded.
        repeats: r, shape (n,) or one number for all.
        k: 1 to the smallest r.

    Raises:
        UsageError: k, c or r out of range.
    """
    c, r = _checked(successes, repeats, k)
    return np.asarray(1 - stats.hypergeom.pmf(0, r, c, k), dtype=np.float64).clip(0, 1)


def pass_hat_k(successes: ArrayLike, repeats: ArrayLike, k: int) -> NDArray[np.float64]:
    """The chance that all of k repeats succeed, pass^k, by task: C(c, k) / C(r, k).

    Unbiased (Yao et al. 2024, "tau-bench"). Arguments and errors as for `pass_at_k`.
    """
    c, r = _checked(successes, repeats, k)
    return np.asarray(stats.hypergeom.pmf(k, r, c, k), dtype=np.float64).clip(0, 1)


def _checked(successes: ArrayLike, repeats: ArrayLike, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    c, r = np.broadcast_arrays(np.asarray(successes, dtype=np.int64), np.asarray(repeats, dtype=np.int64))
    if c.size and (c.min() < 0 or (c > r).any()):
        raise UsageError("a task has more successes than repeats, or fewer than none")
    if k < 1 or (r.size and k > r.min()):
        raise UsageError(f"k is {k}; it can be 1 to the number of repeats of every task")
    return c, r
