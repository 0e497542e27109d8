"""Looking at results as they come, without fooling oneself."""

from __future__ import annotations

import math

from rightcall.errors import UsageError

_MOST = 0.5  # a bet never risks more than half of the capital, so that one loss does not end the game


class BettingProcess:
    """Evidence against "the mean difference is 0", valid at any moment one chooses to look.

    Two gamblers bet on differences from -1 to 1, one that they are above 0, one that they are below; the e-value
    is their mean capital. Under the null it exceeds 1/α ever with probability α at most (Ville), so an experiment
    may stop when it does. The bets are the predictable plug-in of Waudby-Smith and Ramdas (2023), "Estimating
    means of bounded random variables by betting", section 4: they use only what was seen before.

    Feed independent units in random order: the mean difference of a family, not of a task or a repeat.
    """

    def __init__(self, alpha: float = 0.05) -> None:
        if not 0 < alpha < 1:
            raise UsageError(f"alpha is {alpha}; it must lie between 0 and 1")
        self.alpha = alpha
        self.seen = 0
        self.highest = 1.0
        self._gain = self._loss = 1.0
        self._sum = self._squares = 0.0

    @property
    def e_value(self) -> float:
        """The evidence now: 1 at the start, large against the null."""
        return (self._gain + self._loss) / 2

    @property
    def stop(self) -> bool:
        """Whether the null was ever rejected at the level."""
        return self.highest >= 1 / self.alpha

    def observe(self, difference: float) -> float:
        """Takes the next difference; the e-value after it.

        Raises:
            UsageError: it is not between -1 and 1.
        """
        if not -1 <= difference <= 1:
            raise UsageError(f"a difference is {difference!r}; it must lie between -1 and 1")
        bet = self._bet()
        self._gain *= 1 + bet * difference
        self._loss *= 1 - bet * difference
        self.highest = max(self.highest, self.e_value)
        self.seen += 1
        self._sum += difference
        # The mean is taken as if a difference of 0 and a variance of 1 had been seen before the first.
        self._squares += (difference - self._sum / (self.seen + 1)) ** 2
        return self.e_value

    def _bet(self) -> float:
        turn = self.seen + 1
        variance = (1 + self._squares) / turn
        return min(_MOST, math.sqrt(2 * math.log(2 / self.alpha) / (variance * turn * math.log(1 + turn))))
