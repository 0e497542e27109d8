"""The geometry of the page's figures: where marks stand, in per cent of a width, and what is written at an axis.

Every plot of an interval is a small SVG whose coordinates are percentages, so it is as wide as its place and its
marks keep their shape. A scatter has a fixed view box.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rightcall.evaluation.statistics import Estimate

SHAPES = ("ring", "diamond", "disc", "square", "triangle", "plus")
"""Marks that are told apart without colour, in the order in which arms take them."""

WIDTH, HEIGHT = 420.0, 320.0
"""A scatter's view box."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 12.0, 26.0, 40.0
_LABEL = 12.0  # the space a point's number takes, and how far from its point it stands


@dataclass(frozen=True, slots=True)
class Tick:
    """A place at an axis, and its value."""

    at: float
    value: float


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from `start` to `end` on a length of 100."""

    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value stands; one outside stands at the end."""
        share = (value - self.start) / (self.end - self.start)
        return round(100 * min(1.0, max(0.0, share)), 2)

    def ticks(self, most: int = 5) -> tuple[Tick, ...]:
        """Round values along the axis."""
        step = _round_step((self.end - self.start) / most)
        first, last = math.ceil(self.start / step - 1e-9), math.floor(self.end / step + 1e-9)
        return tuple(Tick(self.at(number * step), number * step) for number in range(first, last + 1))


@dataclass(frozen=True, slots=True)
class Marked:
    """An estimate on an axis; an end is None where the data do not bound it."""

    at: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """A run or an arm in a scatter: where it is, how far its intervals reach, where its number stands."""

    number: int
    x: float
    y: float
    low_x: float
    high_x: float
    low_y: float
    high_y: float
    label_x: float
    label_y: float


def marked(estimate: Estimate, axis: Axis) -> Marked | None:
    """Where an estimate stands on an axis; None where it has no value."""
    if estimate.value is None:
        return None
    low, high = (None if end is None else axis.at(end) for end in (estimate.low, estimate.high))
    return Marked(axis.at(estimate.value), low, high)


def around_zero(estimates: Iterable[Estimate]) -> Axis:
    """The axis for differences: the same on both sides of 0, wide enough for every interval."""
    ends = [abs(end) for found in estimates for end in (found.low, found.value, found.high) if end is not None]
    reach = max(ends, default=0.0) or 0.1
    step = _round_step(reach / 2)
    reach = math.ceil(reach / step - 1e-9) * step
    return Axis(-reach, reach)


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points over two axes. `x_ticks` and `y_ticks` are in the view box."""

    points: tuple[Point, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM


def scatter(
    pairs: Sequence[tuple[int, Estimate, Estimate]],
    *,
    x_includes: Sequence[float] = (),
    y_includes: Sequence[float] = (),
) -> Scatter:
    """Numbered pairs of shares as a scatter: the first along, the second up.

    A pair of which one has no value is left out. The axes reach as far as the intervals, and the values that they
    include in any case, need.
    """
    shown = [(number, x, y) for number, x, y in pairs if x.value is not None and y.value is not None]
    x_axis = _share_axis([x for _, x, _ in shown], x_includes)
    y_axis = _share_axis([y for _, _, y in shown], y_includes)
    reaches = [
        ([_across(x_axis.at(value)) for value in _ends(x)], [_up(y_axis.at(value)) for value in _ends(y)])
        for _, x, y in shown
    ]
    taken = [(at_x, at_y) for (_, at_x, _), (_, at_y, _) in reaches]
    points: list[Point] = []
    for (number, _, _), ((low_x, at_x, high_x), (low_y, at_y, high_y)) in zip(shown, reaches, strict=True):
        label = _free_place(at_x, at_y, taken)
        taken.append(label)
        points.append(Point(number, at_x, at_y, low_x, high_x, low_y, high_y, *label))
    return Scatter(
        tuple(points),
        tuple(Tick(_across(tick.at), tick.value) for tick in x_axis.ticks()),
        tuple(Tick(_up(tick.at), tick.value) for tick in y_axis.ticks()),
    )


def _share_axis(estimates: Sequence[Estimate], includes: Sequence[float]) -> Axis:
    """In steps of 10 %, and 20 % long at least."""
    ends = [end for found in estimates for end in _ends(found)]
    ends = [*ends, *includes] if ends else [0.0, 1.0]
    start = min(8, math.floor(10 * min(ends) + 1e-9))
    return Axis(start / 10, max(start + 2, math.ceil(10 * max(ends) - 1e-9)) / 10)


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    value = estimate.value or 0.0
    low, high = (value if end is None else end for end in (estimate.low, estimate.high))
    return low, value, high


def _across(share: float) -> float:
    return round(_LEFT + share / 100 * (WIDTH - _LEFT - _RIGHT), 1)


def _up(share: float) -> float:
    return round(HEIGHT - _BOTTOM - share / 100 * (HEIGHT - _TOP - _BOTTOM), 1)


def _free_place(x: float, y: float, taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """A place near a point for its number, clear of all points and of the numbers that are placed already."""
    places = [
        (round(x + distance * math.cos(angle), 1), round(y - distance * math.sin(angle), 1))
        for distance in (_LABEL, 2 * _LABEL, 3 * _LABEL)
        for angle in (math.pi * eighth / 4 for eighth in (1, 3, 7, 5, 0, 4, 2, 6))
    ]
    inside = [
        place for place in places if _LEFT < place[0] < WIDTH - 4 and _TOP - 6 < place[1] < HEIGHT - _BOTTOM - 2
    ]
    for place in inside:
        if all(math.dist(place, other) > 0.9 * _LABEL for other in taken):
            return place
    return inside[0] if inside else (x, y)


def _round_step(rough: float) -> float:
    """The next of 1, 2, 5, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
