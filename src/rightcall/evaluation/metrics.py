"""What a run's records come to: every number with its interval, by family clusters.

"Measure the thing that actually matters" in "Making Small Models Reliable at Tool-Calling" says which: task success
and arguments carry information, schema validity and tool selection flatter, wrong-but-valid is what they hide.
Repeats of a case are averaged before anything else; infrastructure failures count for nothing and stand apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightcall.evaluation.cases import SELECTION_ERRORS
from rightcall.evaluation.columns import FAMILIES, SHARES, Columns, Means, collect
from rightcall.evaluation.prices import Prices, load_prices
from rightcall.evaluation.records import Record
from rightcall.evaluation.statistics import Estimate, mean, pass_at_k, pass_hat_k, quantile, rate, ratio

SCHEMA_DEFECT = 0.3
"""A field repaired in this share of its tool's calls is the schema's fault, not the model's (the same article)."""

MEANINGS: Mapping[str, str] = {
    "task_success": "right as a whole by the suite's own verdict, of all cases",
    "argument_exact_match": "right tools, every argument right after normalisation, of cases where a call is right",
    "tool_selection": "right tools, as often as wanted, of cases where a call is right",
    "schema_validity": "calls that fit the offered schemas, of cases where a call was meant",
    "wrong_but_valid": "calls that fit their schemas and are not the right ones, of all cases",
    "refusals": "ended in a refusal, of all cases",
    "false_calls": "made a call, of cases where none is right",
    "escalation_rate": "asked the larger model, of all cases",
    "attempts_per_task": "requests to a model a case, mean",
    "tokens_per_task": "tokens in and out a case, mean",
    "latency_median": "seconds an answer, median over answers",
    "latency_p95": "seconds an answer, 95th percentile over answers",
    "cost_per_success": "what all answers cost by the successes among them, in the run's unit",
}
"""Every name in `Metrics.estimates`, and what it counts among what."""


@dataclass(frozen=True, slots=True)
class FieldRepairs:
    """How often one field had to be repaired.

    `field` is a JSON pointer with `*` for the places of a list. `share` is that of the tool's `calls`, which are
    its n.
    """

    tool: str
    field: str
    calls: int
    repaired: int
    share: Estimate

    @property
    def schema_defect(self) -> bool:
        """Whether so many calls need it that the schema is at fault."""
        return self.repaired >= SCHEMA_DEFECT * self.calls


@dataclass(frozen=True, slots=True)
class Metrics:
    """A run in numbers.

    `estimates` holds what `MEANINGS` names, in that order. `errors` are shares of cases whose answer has a problem
    of the family; `selection_errors` of cases with that kind of wrong tool. `pass_at` and `pass_hat` are by k; a
    case with fewer than k answers is not in them. `by_tag` holds the rates of `SHARES` of the cases with the tag.
    `repairs` are the fields repaired, the most frequent first; `note_kinds` all repairs by kind, fields or not.
    `cost_unit` is `dollars` or `seconds`.
    """

    cases: int
    answers: int
    families: int
    infrastructure_errors: int
    cost_unit: str
    estimates: Mapping[str, Estimate]
    pass_at: Mapping[int, Estimate]
    pass_hat: Mapping[int, Estimate]
    errors: Mapping[str, Estimate]
    selection_errors: Mapping[str, Estimate]
    original: Mapping[str, Estimate]
    by_tag: Mapping[str, Mapping[str, Estimate]]
    repairs: tuple[FieldRepairs, ...]
    note_kinds: Mapping[str, int]


def measure(records: Iterable[Record], prices: Prices | None = None) -> Metrics:
    """The metrics of a stream of records, read once and not kept.

    Args:
        records: one run's; those with `error` are counted apart.
        prices: by model; the shipped ones (seconds for every model) by default.
    """
    return metrics_of(collect(records, load_prices() if prices is None else prices))


def metrics_of(columns: Columns) -> Metrics:
    """The metrics of a run that is in columns already."""
    estimates = {name: _rate(columns.means(columns.shares[name])) for name in SHARES}
    pass_at, pass_hat = _passes(columns)
    return Metrics(
        cases=len(np.unique(columns.cases)),
        answers=len(columns.cases),
        families=len(np.unique(columns.families)),
        infrastructure_errors=columns.failures,
        cost_unit=columns.cost_unit,
        estimates=estimates | _amounts(columns),
        pass_at=pass_at,
        pass_hat=pass_hat,
        errors={name: _rate(columns.means(columns.shares[f"errors.{name}"])) for name in FAMILIES},
        selection_errors={
            name: _rate(columns.means(columns.shares[f"selection.{name}"])) for name in SELECTION_ERRORS
        },
        original={name: _rate(columns.means(scores)) for name, scores in columns.original.items()},
        by_tag={
            tag: {name: _rate(columns.means(columns.shares[name], rows)) for name in SHARES}
            for tag, rows in sorted(columns.tags.items())
        },
        repairs=tuple(sorted(_repairs(columns), key=_most_repaired)),
        note_kinds=dict(columns.note_kinds.most_common()),
    )


def metrics_to_json(metrics: Metrics) -> dict[str, Any]:
    """The metrics as data: every field by its name, an estimate as its own fields, k as text."""
    data = asdict(metrics)
    for name in ("pass_at", "pass_hat"):
        data[name] = {str(k): value for k, value in data[name].items()}
    data["repairs"] = [asdict(found) | {"schema_defect": found.schema_defect} for found in metrics.repairs]
    return data


def _rate(means: Means) -> Estimate:
    return rate(means.values, means.families)


def _amounts(columns: Columns) -> dict[str, Estimate]:
    attempts, tokens, cost = (columns.means(columns.amounts[name]) for name in ("attempts", "tokens", "cost"))
    success = columns.means(columns.shares["task_success"])
    seconds = columns.amounts["seconds"]
    costs = ratio(cost.values, success.values, cost.families)
    if costs.value is None and costs.n:
        costs = replace(costs, reason="no case succeeded")
    reasons = [reason for reason in (costs.reason, columns.cost_reason) if reason]
    return {
        "attempts_per_task": mean(attempts.values, attempts.families),
        "tokens_per_task": mean(tokens.values, tokens.families),
        "latency_median": quantile(seconds, columns.families, 0.5),
        "latency_p95": quantile(seconds, columns.families, 0.95),
        "cost_per_success": replace(costs, reason="; ".join(reasons)),
    }


def _passes(columns: Columns) -> tuple[dict[int, Estimate], dict[int, Estimate]]:
    """pass@k and pass^k for k of 1, 2, 4, ... and all the repeats that there are."""
    success = columns.means(columns.shares["task_success"])
    _, repeats = np.unique(columns.cases, return_counts=True)
    most = int(repeats.max(initial=0))
    right = np.rint(success.values * repeats).astype(np.int64)
    at, hat = {}, {}
    for k in _ks(most):
        enough = repeats >= k
        families = success.families[enough]
        at[k] = rate(pass_at_k(right[enough], repeats[enough], k), families)
        hat[k] = rate(pass_hat_k(right[enough], repeats[enough], k), families)
    return at, hat


def _ks(most: int) -> Iterator[int]:
    k = 1
    while k < most:
        yield k
        k *= 2
    if most:
        yield most


def _repairs(columns: Columns) -> Iterator[FieldRepairs]:
    for (tool, field), repaired in columns.repairs.items():
        rows, calls = columns.tool_calls[tool].T
        counts = np.zeros_like(calls)
        counts[np.searchsorted(rows, repaired[:, 0])] = repaired[:, 1]
        values, families = _by_call(calls, counts, columns.families[rows])
        yield FieldRepairs(tool, field, int(calls.sum()), int(counts.sum()), rate(values, families))


def _by_call(
    calls: NDArray[np.int64], repaired: NDArray[np.int64], families: NDArray[np.uint64]
) -> tuple[NDArray[np.float64], NDArray[np.uint64]]:
    """One value a call, 1 where it was repaired, and its family."""
    each = np.stack([repaired, calls - repaired], axis=1).ravel()
    return np.repeat(np.tile([1.0, 0.0], len(calls)), each), np.repeat(families, calls)


def _most_repaired(found: FieldRepairs) -> tuple[float, int, str, str]:
    return -found.repaired / found.calls, -found.calls, found.tool, found.field
