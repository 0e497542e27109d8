"""The statistics of evaluation, over scipy and statsmodels: intervals, paired tests, repeats, planning, looks.

The sample is the family: tasks that share tools are not independent, and repeats of a task are no new tasks. Where
the data cannot carry an interval or a p-value it is None, with the reason in words.

Sources: Miller, "Adding Error Bars to Evals" (arXiv 2411.00640), and those named at each function.
"""

from __future__ import annotations

from importlib.util import find_spec

from rightcall.errors import MissingExtra

if any(find_spec(name) is None for name in ("scipy", "statsmodels")):
    raise MissingExtra("the evaluation's statistics", "eval")

from rightcall.evaluation.statistics.estimates import Estimate, mean, quantile, rate, ratio, wilson
from rightcall.evaluation.statistics.looks import BettingProcess
from rightcall.evaluation.statistics.paired import Difference, holm, mcnemar_exact, paired_difference, sign_flip
from rightcall.evaluation.statistics.planning import Spread, pilot_spread, power, tasks_needed
from rightcall.evaluation.statistics.repeats import pass_at_k, pass_hat_k

__all__ = [
    "BettingProcess",
    "Difference",
    "Estimate",
    "Spread",
    "holm",
    "mcnemar_exact",
    "mean",
    "paired_difference",
    "pass_at_k",
    "pass_hat_k",
    "pilot_spread",
    "power",
    "quantile",
    "rate",
    "ratio",
    "sign_flip",
    "tasks_needed",
    "wilson",
]
