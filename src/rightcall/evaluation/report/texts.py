"""How values stand as text in reports: safe to show, short enough, numbers with what is known of them.

What models and tools said is shown and never obeyed: what a terminal would act on, and what reorders or hides
text on a page, is written out as an escape.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rightcall.domain import ToolCall
from rightcall.evaluation.statistics import Estimate

_LONGEST = 2000
_MANY = 20
NOTHING = "–"


def clip(text: str, longest: int = _LONGEST) -> str:
    """The beginning of a long text, and how much was left out."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest:,} more characters)"


def json_text(value: Any) -> str:
    """A value as one line of JSON."""
    return clip(json.dumps(value, ensure_ascii=False))


def calls_text(calls: Sequence[ToolCall]) -> str:
    """Calls as they would be written, one a line: `get_weather(city="Oslo")`."""
    lines = []
    for call in calls:
        arguments = ", ".join(f"{name}={json_text(value)}" for name, value in call.arguments.items())
        lines.append(f"{call.name}({clip(arguments)})")
    return _listed(lines, "calls")


def wanted_text(accepted: Sequence[Any]) -> str:
    """The right answers of a record, one alternative after the other."""
    alternatives = ["\n".join(_wanted_call(call) for call in calls) or "no call" for calls in accepted]
    return _listed(alternatives, "alternatives", "\nor\n") if alternatives else "not said"


def percent(value: float | None) -> str:
    """A share: `83.3 %`."""
    return NOTHING if value is None else f"{_rounded(100 * value)} %"


def points(value: float | None) -> str:
    """A difference of shares in percentage points, with its sign: `+12.5`."""
    if value is None:
        return NOTHING
    return f"{'+' if value > 0 else '−' if value < 0 else '±'}{_rounded(100 * abs(value))}"


def share_interval(estimate: Estimate) -> str:
    """The interval of a share in whole per cent: `71 to 90`; empty where it has none."""
    return _interval(estimate, lambda value: f"{100 * value:.0f}")


def points_interval(estimate: Estimate) -> str:
    """The interval of a difference, in percentage points."""
    return _interval(estimate, points)


def amount(value: float | None) -> str:
    """A number of anything with three significant digits: `1,240`, `0.0312`; the smallest are `< 0.001`."""
    if value is None:
        return NOTHING
    if 0 < abs(value) < 0.001:  # noqa: PLR2004 - three digits
        return "< 0.001"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits


def amount_interval(estimate: Estimate) -> str:
    """The interval of an amount."""
    return _interval(estimate, amount)


def p_value(p: float | None) -> str:
    """A p-value, never more exact than is of use."""
    return NOTHING if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"  # noqa: PLR2004 - as is usual


def moment(time: float) -> str:
    """Seconds since 1970 as a date and a time in UTC; empty for 0, which says that nobody knows."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC") if time else ""


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings in one line, as JSON has them."""
    return ", ".join(f"{name} {json_text(value)}" for name, value in settings.items())


def counted(estimate: Estimate) -> str:
    """A share as cases of cases: `14 of 16`; the first is no whole number where repeats differ."""
    return f"{amount((estimate.value or 0.0) * estimate.n)} of {estimate.n:,}"


def _interval(estimate: Estimate, text: Callable[[float], str]) -> str:
    low, high = estimate.low, estimate.high
    if low is None:
        return "" if high is None else f"up to {text(high)}"
    return f"{text(low)} or more" if high is None else f"{text(low)} to {text(high)}"


def _rounded(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _wanted_call(call: Mapping[str, Any]) -> str:
    """A call with the values that are right for each argument; in brackets what may be left out."""
    arguments = call.get("arguments")
    if arguments is None:
        return f"{call.get('name')}(…)"
    optional = call.get("optional") or ()
    shown = []
    for name, values in arguments.items():
        argument = f"{name}={' or '.join(json_text(value) for value in values) or NOTHING}"
        shown.append(f"[{argument}]" if name in optional else argument)
    return f"{call.get('name')}({clip(', '.join(shown))})"


def _listed(items: list[str], what: str, between: str = "\n") -> str:
    left_out = len(items) - _MANY
    return between.join(items[:_MANY]) + (f"\n… and {left_out:,} more {what}" if left_out > 0 else "")
