"""What a report says, whatever its form: read from runs' records in one pass, bounded however large they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Generic, TypeVar

from rightcall.evaluation.columns import collect
from rightcall.evaluation.compare import Compared, Comparison, Run, compare, open_run
from rightcall.evaluation.metrics import Metrics, metrics_of, metrics_to_json
from rightcall.evaluation.prices import Prices, dollars, load_prices
from rightcall.evaluation.records import Record, RunInfo, record_to_json
from rightcall.evaluation.report.failures import KINDS, failed, harm, kinds_of
from rightcall.evaluation.report.tradeoff import RunOutcomes, Tradeoff, run_outcomes, tradeoffs
from rightcall.evaluation.statistics import holm

FAILING_CASES = 300
"""So many failing cases are kept in a report, shared evenly among its runs, where nothing else is said."""

TESTED = ("task_success", "wrong_but_valid")
"""The numbers whose differences stand in the forest plot; their p-values are adjusted together."""

LATENCY_EDGES = tuple(2.0**power for power in range(-6, 11))
"""Upper ends in seconds of the bins of the latency histogram; a last bin holds what is slower."""

_ARMS = ("bare", "parse", "full")
_EXTREMES = 10  # slowest and dearest cases
_MESSAGES = 20  # different messages of infrastructure errors
_LONGEST_MESSAGE = 500

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class RunPart:
    """One run in a report. `number` is what it is called there, from 1.

    `failing` are the most harmful failing cases, as many as there is room for, of `failing_total`;
    `failing_kinds` counts all of them by `KINDS`. `latency` counts answers by `LATENCY_EDGES`. `slowest` and
    `largest` are cases by seconds and by tokens, `dearest` by dollars, empty where `metrics.cost_unit` is another.
    `infrastructure` counts messages.
    """

    number: int
    file: str
    info: RunInfo
    prices: Prices
    metrics: Metrics
    failing: tuple[Record, ...]
    failing_total: int
    failing_kinds: Mapping[str, int]
    latency: tuple[int, ...]
    slowest: tuple[Record, ...]
    dearest: tuple[Record, ...]
    largest: tuple[Record, ...]
    infrastructure: Mapping[str, int]

    def cost(self, record: Record) -> float | None:
        """What a case cost in dollars; None where it has no price."""
        return dollars(record, self.prices)


@dataclass(frozen=True, slots=True)
class ArmDifference:
    """The second run less the first, on the cases of both: same suite, same model.

    `p_holm` holds, by the names of `TESTED`, p-values adjusted for every difference in the report.
    """

    first: int
    second: int
    cases: int
    families: int
    gained: int
    lost: int
    numbers: Mapping[str, Compared]
    p_holm: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Report:
    """Runs by suite, model and arm, with what there is between arms of one suite and model, and of one model."""

    runs: tuple[RunPart, ...]
    differences: tuple[ArmDifference, ...]
    tradeoffs: tuple[Tradeoff, ...]
    held_out: bool = False


def build_report(paths: Sequence[Path], *, held_out: bool = False, failing_cases: int = FAILING_CASES) -> Report:
    """Reads runs' files into a report; memory does not grow with their texts.

    Args:
        paths: the runs' files, in any order; one named twice counts once.
        held_out: whether to look at held-out cases only.
        failing_cases: how many failing cases to keep at most, of all runs; of each at least one.

    Raises:
        UsageError: a file cannot be read or is no run's.
    """
    runs = [(path, open_run(path)) for path in {path.resolve(): path for path in paths}.values()]
    if held_out:
        runs = [(path, held_out_only(run)) for path, run in runs]
    runs.sort(key=lambda item: _order(item[1].info))
    room = max(1, failing_cases // max(1, len(runs)))
    parts, outcomes = [], []
    for number, (path, run) in enumerate(runs, start=1):
        part, found = _part(number, path, run, room)
        parts.append(part)
        outcomes.append(found)
    outcomes.sort(key=lambda found: _order(found.info)[2:])
    return Report(tuple(parts), _differences([run for _, run in runs]), tradeoffs(outcomes), held_out)


def held_out_only(run: Run) -> Run:
    """The same run with its held-out cases only."""
    return replace(run, records=lambda: (record for record in run.records() if record.held_out))


def report_to_json(report: Report) -> dict[str, Any]:
    """The report as data: what is estimated as its own fields, records as a run's file has them."""
    return {
        "held_out": report.held_out,
        "runs": [_part_to_json(part) for part in report.runs],
        "differences": [asdict(difference) for difference in report.differences],
        "tradeoffs": [asdict(tradeoff) for tradeoff in report.tradeoffs],
    }


def _part_to_json(part: RunPart) -> dict[str, Any]:
    return {
        "number": part.number,
        "file": part.file,
        "run": asdict(part.info),
        "metrics": metrics_to_json(part.metrics),
        "latency": {"edges": list(LATENCY_EDGES), "counts": list(part.latency)},
        "failing": {
            "total": part.failing_total,
            "kinds": dict(part.failing_kinds),
            "cases": [{"kinds": kinds_of(record), **record_to_json(record)} for record in part.failing],
        },
        "slowest": [_extreme(part, record) for record in part.slowest],
        "dearest": [_extreme(part, record) for record in part.dearest],
        "largest": [_extreme(part, record) for record in part.largest],
        "infrastructure_errors": dict(part.infrastructure),
    }


def _extreme(part: RunPart, record: Record) -> dict[str, Any]:
    names = {"case": record.case, "repeat": record.repeat, "success": record.score.success}
    return {**names, "seconds": record.seconds, "tokens": record.tokens, "dollars": part.cost(record)}


def _order(info: RunInfo) -> tuple[Any, ...]:
    rank = _ARMS.index(info.arm) if info.arm in _ARMS else len(_ARMS)
    return info.suite, info.suite_version, info.model, rank, info.arm, info.created


def _part(number: int, path: Path, run: Run, room: int) -> tuple[RunPart, RunOutcomes]:
    prices = {**load_prices(), **run.info.prices}
    seen = _Seen(prices, room)
    columns = collect(seen.passing(run.records()), prices)
    metrics = metrics_of(columns)
    part = RunPart(
        number=number,
        file=path.name,
        info=run.info,
        prices=prices,
        metrics=metrics,
        failing=seen.failing.best(),
        failing_total=seen.failing_total,
        failing_kinds={kind: seen.kinds[kind] for kind in KINDS if seen.kinds[kind]},
        latency=tuple(seen.latency),
        slowest=seen.slowest.best(),
        dearest=seen.dearest.best() if metrics.cost_unit == "dollars" else (),
        largest=seen.largest.best(),
        infrastructure=dict(seen.messages.most_common()),
    )
    return part, run_outcomes(number, run.info, columns)


class _Seen:
    """What a report keeps of a run's records while they go by."""

    def __init__(self, prices: Prices, room: int) -> None:
        self.failing: _Best[Record] = _Best(room, harm)
        self.slowest: _Best[Record] = _Best(_EXTREMES, lambda record: -record.seconds)
        self.dearest: _Best[Record] = _Best(_EXTREMES, lambda record: -(dollars(record, prices) or 0.0))
        self.largest: _Best[Record] = _Best(_EXTREMES, lambda record: -record.tokens)
        self.failing_total = 0
        self.kinds: Counter[str] = Counter()
        self.latency = [0] * (len(LATENCY_EDGES) + 1)
        self.messages: Counter[str] = Counter()

    def passing(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self._see(record)
            yield record

    def _see(self, record: Record) -> None:
        if record.error:
            message = record.error[:_LONGEST_MESSAGE]
            known = message in self.messages or len(self.messages) < _MESSAGES
            self.messages[message if known else "other messages"] += 1
            return
        if failed(record):
            self.failing_total += 1
            self.kinds.update(kinds_of(record))
            self.failing.add(record)
        for extremes in (self.slowest, self.dearest, self.largest):
            extremes.add(record)
        self.latency[_latency_bin(record.seconds)] += 1


def _latency_bin(seconds: float) -> int:
    if seconds <= LATENCY_EDGES[0]:
        return 0
    return min(len(LATENCY_EDGES), math.ceil(math.log2(seconds / LATENCY_EDGES[0])))


class _Best(Generic[_Item]):
    """The first so many of a stream in the order of a key, the earlier first where keys are equal."""

    def __init__(self, size: int, key: Callable[[_Item], Any]) -> None:
        self._size, self._key = size, key
        self._kept: list[_Item] = []

    def add(self, item: _Item) -> None:
        self._kept.append(item)
        if len(self._kept) >= 2 * self._size + 1:
            self._kept = list(self.best())

    def best(self) -> tuple[_Item, ...]:
        return tuple(sorted(self._kept, key=self._key)[: self._size])


def _differences(runs: Sequence[Run]) -> tuple[ArmDifference, ...]:
    compared: list[tuple[int, int, Comparison]] = []
    numbered = enumerate(runs, start=1)
    for _, group in groupby(numbered, key=lambda item: _order(item[1].info)[:3]):
        members = list(group)
        pairs = list(pairwise(members))
        if len(pairs) > 1:
            pairs.append((members[0], members[-1]))
        for (first, ours), (second, theirs) in pairs:
            prices = {**load_prices(), **ours.info.prices, **theirs.info.prices}
            compared.append((first, second, compare(ours, theirs, prices)))
    adjusted = _adjusted([comparison for _, _, comparison in compared])
    return tuple(
        ArmDifference(
            first=first,
            second=second,
            cases=comparison.cases,
            families=comparison.families,
            gained=len(comparison.gained),
            lost=len(comparison.lost),
            numbers=comparison.numbers,
            p_holm=p_holm,
        )
        for (first, second, comparison), p_holm in zip(compared, adjusted, strict=True)
    )


def _adjusted(comparisons: Sequence[Comparison]) -> list[dict[str, float | None]]:
    where = [
        (place, name, p)
        for place, comparison in enumerate(comparisons)
        for name in TESTED
        if (p := comparison.numbers[name].p) is not None
    ]
    found: list[dict[str, float | None]] = [dict.fromkeys(TESTED) for _ in comparisons]
    for (place, name, _), p in zip(where, holm([p for _, _, p in where]), strict=True):
        found[place][name] = p
    return found
