"""Two runs of one suite, case by case: how much better, how sure, what was gained and what was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightcall.errors import UsageError
from rightcall.evaluation.columns import AMOUNTS, SHARES, Columns, Means, collect, key
from rightcall.evaluation.prices import Prices, load_prices
from rightcall.evaluation.records import Record, RunInfo
from rightcall.evaluation.run_file import read_info, read_records
from rightcall.evaluation.statistics import Estimate, holm, mcnemar_exact, paired_difference


@dataclass(frozen=True, slots=True)
class Run:
    """A run to compare: what was run, and a way to read its records, again each time."""

    info: RunInfo
    records: Callable[[], Iterable[Record]]


def open_run(path: Path) -> Run:
    """A run's file as a `Run`. Raises `UsageError` where it is none."""
    return Run(read_info(path), partial(read_records, path))


@dataclass(frozen=True, slots=True)
class Compared:
    """One number in both runs, over the cases that both have it for.

    `difference` is second less first, by task and family cluster. `p` is that of "no difference" by `test`, None
    where the families are too few; `p_holm` is adjusted for all numbers compared.
    """

    first: float | None
    second: float | None
    difference: Estimate
    p: float | None
    p_holm: float | None
    test: str


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A case that one run does better: the share of its repeats that succeed in each, and what was answered.

    An answer is data: `repeat`, `success`, `status`, `calls` (name and arguments) and `text`.
    """

    case: str
    family: str
    first: float
    second: float
    first_answers: tuple[Mapping[str, Any], ...] = ()
    second_answers: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Second against first.

    `numbers` holds the rates of `SHARES`, and `attempts`, `tokens`, `seconds` and, where both runs have prices for
    all their models, `cost` (dollars) a task.
    `gained` and `lost` are by task success; of the unchanged, `unchanged_right` are those always right in both.
    `mcnemar` is the exact p-value where it is allowed: one repeat, every case a family of its own.
    """

    first: RunInfo
    second: RunInfo
    cases: int
    families: int
    numbers: Mapping[str, Compared]
    mcnemar: float | None
    gained: tuple[CaseChange, ...]
    lost: tuple[CaseChange, ...]
    unchanged: tuple[str, ...]
    unchanged_right: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    infrastructure_errors: tuple[int, int]


def compare(first: Run, second: Run, prices: Prices | None = None) -> Comparison:
    """What changed from the first run to the second, on the cases that both answered.

    Each is read twice, once for its numbers and once for the answers of the cases that changed.

    Args:
        first: the baseline.
        second: what is set against it.
        prices: by model, for both; the shipped ones (seconds for every model) by default.

    Raises:
        UsageError: the runs are of different suites, or of different versions of one.
    """
    for name in ("suite", "suite_version"):
        ours, theirs = getattr(first.info, name), getattr(second.info, name)
        if ours != theirs:
            raise UsageError(
                f"the runs cannot be compared: {name} is {ours!r} in the first and {theirs!r} in the second; "
                "run both on the same suite and data"
            )
    paid = load_prices() if prices is None else prices
    before, after = collect(first.records(), paid), collect(second.records(), paid)
    success = _Pairs(before.means(before.shares["task_success"]), after.means(after.shares["task_success"]))
    names = _Names(first, second, success)
    return Comparison(
        first=first.info,
        second=second.info,
        cases=len(success.cases),
        families=len(np.unique(success.families)),
        numbers=_numbers(before, after),
        mcnemar=_mcnemar(before, after, success),
        gained=names.changed(success.second > success.first),
        lost=names.changed(success.second < success.first),
        unchanged=names.of(success.cases[success.second == success.first]),
        unchanged_right=int(((success.first == 1) & (success.second == 1)).sum()),
        only_first=names.of(np.setdiff1d(before.cases, after.cases)),
        only_second=names.of(np.setdiff1d(after.cases, before.cases)),
        infrastructure_errors=(before.failures, after.failures),
    )


def comparison_to_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison as data: every field by its name. Answers are not copied."""
    data = {item.name: getattr(comparison, item.name) for item in fields(comparison)}
    for name in ("first", "second"):
        data[name] = asdict(data[name])
    for name in ("gained", "lost"):
        data[name] = [{item.name: getattr(change, item.name) for item in fields(change)} for change in data[name]]
    data["numbers"] = {name: asdict(number) for name, number in comparison.numbers.items()}
    return data


class _Pairs:
    """A number of the cases that both runs have it for."""

    def __init__(self, first: Means, second: Means) -> None:
        self.cases, ours, theirs = np.intersect1d(first.cases, second.cases, return_indices=True)
        self.first, self.second = first.values[ours], second.values[theirs]
        self.families = first.families[ours]


class _Names:
    """The second reading: ids of cases, and the answers of those that changed."""

    def __init__(self, first: Run, second: Run, success: _Pairs) -> None:
        self._success = success
        self._ids: dict[int, tuple[str, str]] = {}
        wanted = {int(case) for case in success.cases[success.first != success.second]}
        self._answers = [self._read(run, wanted) for run in (first, second)]

    def _read(self, run: Run, wanted: set[int]) -> dict[int, list[Mapping[str, Any]]]:
        answers: dict[int, list[Mapping[str, Any]]] = {}
        for record in run.records():
            if record.error:
                continue
            case = key(record.case)
            self._ids.setdefault(case, (record.case, record.family))
            if case in wanted:
                answers.setdefault(case, []).append(_answer(record))
        return answers

    def of(self, cases: NDArray[np.uint64]) -> tuple[str, ...]:
        return tuple(sorted(self._ids[int(case)][0] for case in cases))

    def changed(self, chosen: NDArray[np.bool_]) -> tuple[CaseChange, ...]:
        found = []
        for place in np.flatnonzero(chosen):
            case = int(self._success.cases[place])
            shares = float(self._success.first[place]), float(self._success.second[place])
            answers = (tuple(sorted(each[case], key=lambda answer: answer["repeat"])) for each in self._answers)
            found.append(CaseChange(*self._ids[case], *shares, *answers))
        return tuple(sorted(found, key=lambda change: change.case))


def _answer(record: Record) -> Mapping[str, Any]:
    answer = record.answer
    return {
        "repeat": record.repeat,
        "success": record.score.success,
        "status": answer.status,
        "calls": [{"name": call.name, "arguments": call.arguments} for call in answer.calls],
        "text": answer.text,
    }


def _numbers(before: Columns, after: Columns) -> dict[str, Compared]:
    columns: dict[str, tuple[NDArray[Any], NDArray[Any]]]
    columns = {name: (before.shares[name], after.shares[name]) for name in SHARES}
    columns |= {name: (before.amounts[name], after.amounts[name]) for name in AMOUNTS}
    if before.cost_unit == after.cost_unit == "dollars":
        columns["cost"] = before.amounts["cost"], after.amounts["cost"]
    found = {}
    for name, (ours, theirs) in columns.items():
        pairs = _Pairs(before.means(ours), after.means(theirs))
        found[name] = pairs, paired_difference(pairs.first, pairs.second, pairs.families)
    tested = [name for name, (_, difference) in found.items() if difference.p is not None]
    adjusted = dict(zip(tested, holm([found[name][1].p or 0.0 for name in tested]), strict=True))
    return {
        name: Compared(
            first=float(pairs.first.mean()) if pairs.first.size else None,
            second=float(pairs.second.mean()) if pairs.second.size else None,
            difference=difference.estimate,
            p=difference.p,
            p_holm=adjusted.get(name),
            test=difference.test,
        )
        for name, (pairs, difference) in found.items()
    }


def _mcnemar(before: Columns, after: Columns, success: _Pairs) -> float | None:
    once = all(len(np.unique(columns.cases)) == len(columns.cases) for columns in (before, after))
    if not once or not success.cases.size or len(np.unique(success.families)) < len(success.cases):
        return None
    gained, lost = int((success.second > success.first).sum()), int((success.second < success.first).sum())
    return mcnemar_exact(gained, lost)
