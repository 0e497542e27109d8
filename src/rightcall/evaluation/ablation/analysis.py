"""What came out: rates at every level, paired differences to the control, and what the order may have done.

Source: research on evaluation statistics, design points 3 to 7: the estimand is the mean over tasks of the paired
difference, families are clusters, Holm corrects the k - 1 tests of the primary endpoint, the other levels are
diagnostic intervals, and a GEE with position and time is the sensitivity analysis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rightcall.evaluation.ablation.block_file import Settled, read_blocks, read_header
from rightcall.evaluation.ablation.outcomes import Outcomes, Value, reached
from rightcall.evaluation.ablation.plan import LEVELS
from rightcall.evaluation.ablation.schedule import Block
from rightcall.evaluation.ablation.sensitivity import position_and_time
from rightcall.evaluation.ablation.stopping import Stopping
from rightcall.evaluation.ablation.trial import Trial
from rightcall.evaluation.statistics import Estimate, holm, mean, paired_difference, rate


def analyse(path: Path) -> dict[str, Any]:
    """The analysis that the frozen plan asks for, as data.

    Raises:
        UsageError: the file is no experiment's.
        MissingExtra: scipy or statsmodels are not installed.
    """
    header = read_header(path)
    plan = header.plan
    outcomes = Outcomes(plan, read_blocks(path))
    looks = _looks(plan, outcomes)
    return {
        "file": str(path),
        "hash": header.hash,
        "name": plan["name"],
        "model": plan["model"],
        "endpoint": plan["endpoint"],
        "alpha": plan["alpha"],
        "control": plan["control"],
        "pilot": plan["pilot"],
        "stop": plan["stop"],
        "blocks": {
            "planned": plan["n"] * plan["repeats"],
            "whole": len(outcomes.whole),
            "run_again": sum(block.tries > 1 for block in outcomes.whole),
            "dropped": [
                {"task": block.task, "repeat": block.repeat, "reason": block.dropped}
                for block in outcomes.settled
                if block.dropped
            ],
        },
        "tasks": {"positive": len(outcomes.positive_tasks()), "negative": len(outcomes.negative_tasks())},
        "families": len(set(plan["families"].values())),
        "variants": [_variant(outcomes, name) for name in plan["variants"]],
        "differences": _differences(outcomes),
        "diagnostics": _diagnostics(outcomes),
        "looks": looks,
        "sensitivity": position_and_time(outcomes),
    }


# -- one variant --------------------------------------------------------------------------------------------------


def _called(trial: Trial) -> bool:
    return bool(trial.calls)


_POSITIVE: Mapping[str, Value] = {
    "no_call": lambda trial: trial.status == "text" and not _called(trial),
    "claimed_without_evidence": lambda trial: trial.claimed and trial.level < len(LEVELS),
    "guessed": lambda trial: trial.guessed and trial.level < len(LEVELS),
    "wrong_resource": lambda trial: trial.level == LEVELS.index("L2") + 1,
    "no_evidence": lambda trial: trial.level == LEVELS.index("L3") + 1,
}
_NEGATIVE: Mapping[str, Value] = {"false_call": _called}
_ALL: Mapping[str, Value] = {
    "selection_error": lambda trial: "selection" in trial.problems or (_called(trial) and not trial.level),
    "argument_error": lambda trial: "arguments" in trial.problems,
    "policy_denial": lambda trial: "policy" in trial.problems,
    "no_reply": lambda trial: trial.status in {"timeout", "refused"},
}
_MEANS: Mapping[str, Value] = {
    "turns": lambda trial: trial.turns,
    "calls": lambda trial: len(trial.calls),
    "repairs": lambda trial: trial.repairs,
    "input_tokens": lambda trial: trial.input_tokens,
    "output_tokens": lambda trial: trial.output_tokens,
    "seconds": lambda trial: trial.seconds,
}


def _variant(outcomes: Outcomes, name: str) -> dict[str, Any]:
    """Rates with Wilson's interval at the effective n, means with the cluster-robust one."""

    def rates(values: Mapping[str, Value], tasks: list[str] | None = None) -> dict[str, Any]:
        columns = {key: outcomes.column(name, value, tasks) for key, value in values.items()}
        return {key: _data(rate(column.values, column.families)) for key, column in columns.items()}

    means = {key: outcomes.column(name, value) for key, value in _MEANS.items()}
    return {
        "name": name,
        "toolset": outcomes.plan["variants"][name]["toolset"],
        "tools": len(outcomes.plan["variants"][name]["tools"]),
        "levels": rates({level: reached(level) for level in LEVELS}),
        "errors": {
            **rates(_ALL),
            **rates(_POSITIVE, outcomes.positive_tasks()),
            **rates(_NEGATIVE, outcomes.negative_tasks()),
        },
        "means": {key: _data(mean(column.values, column.families)) for key, column in means.items()},
    }


# -- against the control ------------------------------------------------------------------------------------------


def _differences(outcomes: Outcomes) -> list[dict[str, Any]]:
    """The primary endpoint: one test a comparison, Holm over all of them. A pilot and looks have no p-values."""
    plan = outcomes.plan
    rows = [_difference(outcomes, name, plan["endpoint"]) for name in _compared(plan)]
    tested = [row for row in rows if row["p"] is not None]
    claims = not plan["pilot"] and plan["stop"] == "fixed"
    for row, adjusted in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_holm"] = adjusted if claims else None
        row["significant"] = adjusted <= plan["alpha"] if claims else None
    if not claims:
        why = "a pilot claims nothing" if plan["pilot"] else "looks were taken: the e-values decide"
        for row in rows:
            row.update(p=None, p_holm=None, significant=None, test=why)
    return rows


def _diagnostics(outcomes: Outcomes) -> list[dict[str, Any]]:
    """The other levels: where along the way a difference arises. Intervals only, no claims."""
    others = [level for level in LEVELS if level != outcomes.plan["endpoint"]]
    rows = [_difference(outcomes, name, level) for name in _compared(outcomes.plan) for level in others]
    return [{key: row[key] for key in ("variant", "level", "difference")} for row in rows]


def _difference(outcomes: Outcomes, name: str, level: str) -> dict[str, Any]:
    control = outcomes.column(outcomes.plan["control"], reached(level))
    variant = outcomes.column(name, reached(level))
    found = paired_difference(control.values, variant.values, control.families, seed=outcomes.plan["seed"])
    return {
        "variant": name,
        "level": level,
        "difference": _data(found.estimate),
        "p": found.p,
        "p_holm": None,
        "significant": None,
        "test": found.test,
    }


def _looks(plan: Mapping[str, Any], outcomes: Outcomes) -> list[dict[str, Any]]:
    """The e-values again from the file, in the run's order."""
    blocks = sorted(outcomes.settled, key=lambda block: block.number)
    order = [Block(block.number, block.task, block.repeat, ()) for block in blocks]
    stopping = Stopping(plan, order)
    ended: dict[tuple[str, int], Settled] = {block.key: block for block in blocks}
    stopping.decided(ended)
    return stopping.evidence()


def _compared(plan: Mapping[str, Any]) -> list[str]:
    return [name for name in plan["variants"] if name != plan["control"]]


def _data(estimate: Estimate) -> dict[str, Any]:
    return asdict(estimate)
