"""The numbers of a run in compact columns, filled in one pass: metrics and comparison read them, never records.

A record leaves some 100 bytes here, whatever its texts weigh. What a rate counts, and among which cases, is said
once, in `SHARES`.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightcall.domain import Family
from rightcall.evaluation.cases import SELECTION_ERRORS
from rightcall.evaluation.prices import Prices, dollars, price_of
from rightcall.evaluation.records import Record

Counted: TypeAlias = Callable[[Record], bool | None]

SHARES: Mapping[str, Counted] = {
    "task_success": lambda record: record.score.success,
    "argument_exact_match": lambda record: None if record.negative else record.score.arguments,
    "tool_selection": lambda record: None if record.negative else record.score.selection,
    "schema_validity": lambda record: record.answer.valid,
    "wrong_but_valid": lambda record: record.wrong_but_valid,
    "refusals": lambda record: record.refused,
    "false_calls": lambda record: record.false_call if record.negative else None,
    "escalation_rate": lambda record: record.escalated,
}
"""What a record counts for each rate; None where it is not among those counted."""

AMOUNTS: Mapping[str, Callable[[Record], float]] = {
    "attempts": lambda record: len(record.attempts),
    "tokens": lambda record: record.tokens,
    "seconds": lambda record: record.seconds,
}

FAMILIES = tuple(family.value for family in Family)
_UNDEFINED = -1


@dataclass(frozen=True, slots=True)
class Means:
    """One value a case: its repeats averaged. All of shape (cases,), sorted by `cases`."""

    cases: NDArray[np.uint64]
    values: NDArray[np.float64]
    families: NDArray[np.uint64]


@dataclass(slots=True)
class Columns:
    """A run's numbers, a row a record that counts. Cases and families are known by `key`."""

    cases: NDArray[np.uint64]
    families: NDArray[np.uint64]
    shares: dict[str, NDArray[np.int8]]
    """By name in `SHARES`, `errors.FAMILY` and `selection.KIND`: 0, 1, or -1 where not counted."""
    amounts: dict[str, NDArray[np.float64]]
    """By name in `AMOUNTS`, and `cost` in `cost_unit`."""
    original: dict[str, NDArray[np.float64]]
    """The benchmark's own scores; NaN where not defined."""
    tags: dict[str, NDArray[np.int64]]
    """Rows by tag."""
    tool_calls: dict[str, NDArray[np.int64]]
    """By tool, shape (records with a call of it, 2): row, calls."""
    repairs: dict[tuple[str, str], NDArray[np.int64]]
    """By tool and field, shape (records with such a repair, 2): row, calls repaired there."""
    note_kinds: Counter[str]
    failures: int
    """Records that infrastructure spoilt; they are in no row."""
    cost_unit: str
    cost_reason: str
    """Why it is counted in seconds, where a price was asked for."""

    def means(self, column: NDArray[Any], rows: NDArray[np.int64] | None = None) -> Means:
        """A column's mean by case, over the rows (all of them by default) where it has a number."""
        chosen = np.arange(len(column)) if rows is None else rows
        counted = column[chosen] != _UNDEFINED if column.dtype == np.int8 else ~np.isnan(column[chosen])
        chosen = chosen[counted]
        return by_case(self.cases[chosen], column[chosen], self.families[chosen])


def by_case(cases: NDArray[np.uint64], values: NDArray[Any], families: NDArray[np.uint64]) -> Means:
    """The mean of each case's values. All of shape (rows,), in any order; a case has the family of its first row."""
    each, first, codes = np.unique(cases, return_index=True, return_inverse=True)
    sums = np.bincount(codes, weights=values, minlength=len(each))
    return Means(each, sums / np.bincount(codes, minlength=len(each)), families[first])


def key(name: str) -> int:
    """What a case or a family is known by in columns: 64 bits of its name's hash."""
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def collect(records: Iterable[Record], prices: Prices) -> Columns:
    """Reads a stream of records once."""
    filling = _Filling(prices)
    for record in records:
        filling.add(record)
    return filling.columns()


class _Filling:
    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._counted: dict[str, Counted] = {
            **SHARES,
            **{f"errors.{name}": _has_problem(name) for name in FAMILIES},
            **{f"selection.{name}": _has_selection_error(name) for name in SELECTION_ERRORS},
        }
        self._shares = {name: array("b") for name in self._counted}
        self._amounts = {name: array("d") for name in (*AMOUNTS, "dollars")}
        self._cases, self._families = array("Q"), array("Q")
        self._original: dict[str, array[float]] = {}
        self._tags: dict[str, array[int]] = {}
        self._tool_calls: dict[str, array[int]] = {}
        self._repairs: dict[tuple[str, str], array[int]] = {}
        self._kinds: Counter[str] = Counter()
        self._failures = 0
        self._priced: set[str] = set()
        self._unpriced: set[str] = set()

    def add(self, record: Record) -> None:
        if record.error:
            self._failures += 1
            return
        row = len(self._cases)
        self._cases.append(key(record.case))
        self._families.append(key(record.family))
        for share, counted in self._counted.items():
            yes = counted(record)
            self._shares[share].append(_UNDEFINED if yes is None else yes)
        for name, amount in AMOUNTS.items():
            self._amounts[name].append(amount(record))
        self._add_cost(record)
        for name, value in record.score.original.items():
            scores = self._original.setdefault(name, array("d"))
            scores.extend([math.nan] * (row - len(scores)))
            scores.append(value)
        for tag in dict.fromkeys(record.tags):
            self._tags.setdefault(tag, array("q")).append(row)
        self._add_repairs(record, row)

    def _add_cost(self, record: Record) -> None:
        for attempt in record.attempts:
            (self._priced if price_of(attempt.model, self._prices) else self._unpriced).add(attempt.model)
        cost = dollars(record, self._prices)
        self._amounts["dollars"].append(math.nan if cost is None else cost)

    def _add_repairs(self, record: Record, row: int) -> None:
        calls = Counter(call.name for call in record.answer.calls)
        for tool, count in calls.items():
            self._tool_calls.setdefault(tool, array("q")).extend((row, count))
        fields: Counter[tuple[str, str]] = Counter()
        seen: Counter[tuple[str, str, str]] = Counter()
        for note in record.answer.notes:
            tool, kind, path = note.get("tool", ""), note.get("kind", ""), _field(note.get("path", ""))
            self._kinds[kind] += 1
            seen[tool, path, kind] += 1
            # Two kinds of repair at one field are one call repaired; two elements of its list are too.
            fields[tool, path] = min(max(fields[tool, path], seen[tool, path, kind]), calls[tool])
        for where, count in fields.items():
            if where[1] and count:
                self._repairs.setdefault(where, array("q")).extend((row, count))

    def columns(self) -> Columns:
        rows = len(self._cases)
        for scores in self._original.values():
            scores.extend([math.nan] * (rows - len(scores)))
        amounts = {name: np.asarray(column, dtype=np.float64) for name, column in self._amounts.items()}
        in_dollars = amounts.pop("dollars")
        unit, reason = self._unit(in_dollars)
        amounts["cost"] = in_dollars if unit == "dollars" else amounts["seconds"]
        return Columns(
            cases=np.asarray(self._cases, dtype=np.uint64),
            families=np.asarray(self._families, dtype=np.uint64),
            shares={name: np.asarray(column, dtype=np.int8) for name, column in self._shares.items()},
            amounts=amounts,
            original={name: np.asarray(column, dtype=np.float64) for name, column in self._original.items()},
            tags={tag: np.asarray(column, dtype=np.int64) for tag, column in self._tags.items()},
            tool_calls={tool: _pairs(column) for tool, column in self._tool_calls.items()},
            repairs={where: _pairs(column) for where, column in self._repairs.items()},
            note_kinds=self._kinds,
            failures=self._failures,
            cost_unit=unit,
            cost_reason=reason,
        )

    def _unit(self, in_dollars: NDArray[np.float64]) -> tuple[str, str]:
        if not self._priced:
            return "seconds", ""
        if self._unpriced:
            return "seconds", f"no price for {', '.join(sorted(self._unpriced))}"
        if np.isnan(in_dollars).any():
            return "seconds", "the server did not say how many tokens some answers took"
        return "dollars", ""


def _has_problem(family: str) -> Counted:
    return lambda record: any(problem.get("family") == family for problem in record.answer.problems)


def _has_selection_error(kind: str) -> Counted:
    return lambda record: record.score.selection_error == kind


def _field(pointer: str) -> str:
    """A JSON pointer with `*` for the places of a list: a field of the schema, not of one call."""
    return "/".join("*" if step.isdigit() else step for step in pointer.split("/"))


def _pairs(column: array[int]) -> NDArray[Any]:
    return np.asarray(column, dtype=np.int64).reshape(-1, 2)
