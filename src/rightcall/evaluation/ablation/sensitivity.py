"""Whether the answer changes when the order of asking is taken into account.

Source: research on evaluation statistics, design point 7: a GEE with families as clusters, exchangeable within, the
bias-reduced covariance, and terms for position and time. Its link is the identity, so that its coefficients are
differences of rates like the primary ones, and a variant that is always right or always wrong has one too.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from statsmodels.genmod.cov_struct import Exchangeable
from statsmodels.genmod.generalized_estimating_equations import GEE

from rightcall.evaluation.ablation.outcomes import Outcomes, reached


def position_and_time(outcomes: Outcomes) -> dict[str, Any]:
    """Differences to the control, adjusted for the place in the block and for the time.

    `place` is from first to last in a block, `time` from the first trial of the run to the last. Where the data
    cannot carry it there are no `terms`, and `reason` says why.
    """
    plan = outcomes.plan
    value = reached(plan["endpoint"])
    compared = [name for name in plan["variants"] if name != plan["control"]]
    rows = [(block, trial) for block in outcomes.whole for trial in block.trials]
    names = ["control", *compared, "place", "time"]
    families = [plan["families"][block.task] for block, _ in rows]
    # The bias-reduced covariance needs more clusters than terms, or it is one of noise.
    if len(set(families)) <= len(names):
        return _without(f"{len(set(families))} families for {len(names)} terms; more families than terms are needed")
    times = np.array([trial.time for _, trial in rows])
    columns = [
        np.ones(len(rows)),
        *(np.array([trial.variant == name for _, trial in rows], dtype=float) for name in compared),
        np.array([trial.place for _, trial in rows]) / max(len(compared), 1) - 0.5,
        (times - times.min()) / (np.ptp(times) or 1.0) - 0.5,
    ]
    design = np.column_stack(columns)
    if np.linalg.matrix_rank(design) < len(names):
        return _without("position and time cannot be told from the variants in these blocks")
    values = np.array([value(trial) for _, trial in rows])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit = GEE(
                values, design, groups=np.unique(families, return_inverse=True)[1], cov_struct=Exchangeable()
            ).fit(cov_type="bias_reduced")
            bounds = fit.conf_int()
    except (Warning, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        return _without(f"the model could not be fitted: {error}")
    if not np.isfinite(bounds).all():
        return _without("the model could not be fitted: its covariance is not finite")
    return {
        "method": "GEE, identity link, exchangeable within families, bias-reduced covariance",
        "reason": "",
        "terms": [
            {"term": name, "value": float(fit.params[index]), "low": float(low), "high": float(high)}
            for index, (name, (low, high)) in enumerate(zip(names, bounds, strict=True))
        ],
    }


def _without(reason: str) -> dict[str, Any]:
    return {"method": "", "reason": reason, "terms": []}
