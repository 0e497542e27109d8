"""Before an experiment: how many tasks the difference that matters needs, and what those of the plan can show.

Source: research on evaluation statistics, design point 10, by `statistics.tasks_needed` and `statistics.power`.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rightcall.errors import UsageError
from rightcall.evaluation.ablation.block_file import read_blocks, read_header
from rightcall.evaluation.ablation.outcomes import Outcomes, reached
from rightcall.evaluation.ablation.plan import Plan
from rightcall.evaluation.statistics import Spread, pilot_spread, power, tasks_needed


def planned(plan: Plan, pilot: Path | None = None) -> list[dict[str, Any]]:
    """A row for each spread: the plan's assumption, or what a pilot's file shows for each of its comparisons.

    The level is that of Holm's first step, alpha / (k - 1). `needed` and `power` count tasks, as if they were
    independent; `power_families` counts families, as if the tasks of one told nothing new. The truth lies between.

    Raises:
        UsageError: there is neither an assumption nor a pilot, or the pilot's file cannot be used.
    """
    alpha = plan.decisions.alpha / len(plan.compared)
    spreads = _assumed(plan) if pilot is None else _seen(pilot, plan)
    rows = []
    for source, spread in spreads:
        effect, repeats = plan.decisions.delta, plan.repeats
        rows.append(
            {
                "source": source,
                **asdict(spread),
                "delta": effect,
                "alpha": alpha,
                "target": plan.assumptions.power,
                "repeats": repeats,
                "needed": tasks_needed(effect, spread, repeats, alpha=alpha, power=plan.assumptions.power),
                "tasks": len(plan.tasks),
                "power": power(len(plan.tasks), effect, spread, repeats, alpha=alpha),
                "families": len(plan.families),
                "power_families": power(len(plan.families), effect, spread, repeats, alpha=alpha),
            }
        )
    return rows


def _assumed(plan: Plan) -> list[tuple[str, Spread]]:
    assumed = plan.assumptions
    if assumed.task_variance is None:
        raise UsageError(
            "how much the difference varies between tasks is not known: set task_variance under [power] (0.05 to 0.2"
            " is usual), or give the file of a pilot with --pilot"
        )
    return [("assumed", Spread(assumed.task_variance, assumed.control_variance, assumed.variant_variance))]


def _seen(path: Path, plan: Plan) -> list[tuple[str, Spread]]:
    header = read_header(path)
    outcomes = Outcomes(header.plan, read_blocks(path))
    value = reached(plan.decisions.endpoint)
    control = outcomes.table(header.plan["control"], value)
    if len(control) < 2:  # noqa: PLR2004 - a variance needs two
        raise UsageError(f"the pilot {path} has {len(control)} tasks with a whole block; at least 2 are needed")
    return [
        (name, pilot_spread(np.array(control), np.array(outcomes.table(name, value))))
        for name in header.plan["variants"]
        if name != header.plan["control"]
    ]
