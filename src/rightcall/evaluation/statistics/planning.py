"""How many tasks an experiment needs, and what a given number can show.

Miller, "Adding Error Bars to Evals", section 5: the variance of a paired difference of means over n tasks with r
repeats is [ω² + (σ²_A + σ²_B) / r] / n. Repeats shrink only the second term. n counts independent tasks: where
families hold many, it counts families.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from rightcall.errors import UsageError


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the variance of a difference comes from.

    `between` is ω², the variance over tasks of the true difference; `first` and `second` are σ²_A and σ²_B, the
    mean over tasks of the variance between repeats of one task.
    """

    between: float
    first: float
    second: float

    def __post_init__(self) -> None:
        if min(self.between, self.first, self.second) < 0:
            raise UsageError(f"variances cannot be negative: {self}")

    def of_difference(self, repeats: int) -> float:
        """The variance of one task's mean difference over so many repeats."""
        if repeats < 1:
            raise UsageError(f"repeats are {repeats}; at least 1 is needed")
        return self.between + (self.first + self.second) / repeats


def tasks_needed(effect: float, spread: Spread, repeats: int = 1, *, alpha: float = 0.05, power: float = 0.8) -> int:
    """The smallest number of independent tasks: (z(1 - α/2) + z(power))² · [ω² + (σ²_A + σ²_B)/r] / δ².

    Args:
        effect: δ, the difference to be found, not 0.
        spread: the variances.
        repeats: r of each task and variant.
        alpha: two-sided level of the test.
        power: the chance to find an effect of that size.
    """
    if not effect:
        raise UsageError("an effect of 0 cannot be found with any number of tasks; give the smallest that matters")
    reach = float(stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(power))
    # The rounding guard keeps a whole number from becoming the next one.
    return max(2, math.ceil(reach**2 * spread.of_difference(repeats) / effect**2 - 1e-9))


def power(tasks: int, effect: float, spread: Spread, repeats: int = 1, *, alpha: float = 0.05) -> float:
    """The chance to find the effect with so many independent tasks: the inverse of `tasks_needed`.

    The chance of finding it with the wrong sign is left out, as in that formula.
    """
    if tasks < 1:
        raise UsageError(f"tasks are {tasks}; at least 1 is needed")
    error = math.sqrt(spread.of_difference(repeats) / tasks)
    if not error:
        return 1.0 if effect else 0.0
    return float(stats.norm.cdf(abs(effect) / error - stats.norm.ppf(1 - alpha / 2)))


def pilot_spread(first: ArrayLike, second: ArrayLike) -> Spread:
    """The variances seen in a pilot.

    Args:
        first: shape (tasks, repeats). With one repeat the variance between repeats cannot be told from that
            between tasks: all of it is called `between`, which says truly what r = 1 needs and promises nothing
            of more repeats.
        second: the same tasks, shape (tasks, repeats); the number of repeats may differ.

    Raises:
        UsageError: the shapes do not fit, or there are fewer than two tasks.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b) or len(a) < 2 or not (a.shape[1] and b.shape[1]):  # noqa: PLR2004 - two axes, two tasks
        raise UsageError(f"a pilot needs two (tasks, repeats) tables of the same tasks, got {a.shape} and {b.shape}")
    within = [float(x.var(axis=1, ddof=1).mean()) if x.shape[1] > 1 else 0.0 for x in (a, b)]
    seen = float((b.mean(axis=1) - a.mean(axis=1)).var(ddof=1))
    between = seen - sum(variance / x.shape[1] for variance, x in zip(within, (a, b), strict=True))
    return Spread(max(0.0, between), within[0], within[1])
