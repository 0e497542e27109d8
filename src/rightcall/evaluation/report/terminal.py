"""A report in the terminal: tables, intervals drawn in text, latencies as a sparkline.

What models and tools are called is shown as text and never obeyed: no markup, no terminal control.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from rightcall.evaluation.metrics import SCHEMA_DEFECT
from rightcall.evaluation.report import texts
from rightcall.evaluation.report.contents import TESTED, ArmDifference, Report, RunPart
from rightcall.evaluation.report.figures import Axis, around_zero
from rightcall.evaluation.report.tradeoff import Tradeoff
from rightcall.evaluation.statistics import Estimate
from rightcall.visible import one_line

_BARS = "▁▂▃▄▅▆▇█"
_SHARES = Axis(0.0, 1.0)
_WIDE = 120  # columns, from which on there is room for everything
_DEFECTS = 10
_LONGEST = 24  # characters of an arm's name


def print_summary(report: Report, console: Console) -> None:
    """Prints a report's summary: results, differences between arms, what abstaining costs, schema defects, failures.

    A narrow console gets shorter bars and fewer columns.
    """
    wide = console.width >= _WIDE
    tables = (*_results(report, wide=wide), *_differences(report, wide=wide), *_tradeoffs(report, wide=wide))
    for part in (*tables, *map(Text, _remarks(report))):
        console.print(part)


def interval_bar(estimate: Estimate, axis: Axis, width: int, *, zero: bool = False) -> str:
    """An estimate on an axis of `width` characters: `  ├──●──┤  `, `┊` where 0 is.

    An end that the data do not bound is open; without a value the bar is empty.
    """
    cells = [" "] * width

    def place(value: float) -> int:
        return min(width - 1, int(axis.at(value) / 100 * width))

    if zero:
        cells[place(0.0)] = "┊"
    if estimate.value is not None:
        at = place(estimate.value)
        low = at if estimate.low is None else place(estimate.low)
        high = at if estimate.high is None else place(estimate.high)
        cells[low : high + 1] = "─" * (high + 1 - low)
        if estimate.low is not None:
            cells[low] = "├"
        if estimate.high is not None:
            cells[high] = "┤"
        cells[at] = "●"
    return "".join(cells)


def sparkline(counts: Sequence[int]) -> str:
    """Counts as bars of one character each, without the empty ones at both ends."""
    used = [place for place, count in enumerate(counts) if count]
    if not used:
        return ""
    shown = counts[used[0] : used[-1] + 1]
    most = max(shown)
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in shown)


def _results(report: Report, *, wide: bool) -> Iterator[RenderableType]:
    bar = 20 if wide else 11
    yield Text("Results, held-out cases only" if report.held_out else "Results", "bold")
    labels = [_label(part) for part in report.runs]
    columns = [Column("", width=max(map(len, labels), default=1)), Column("cases", width=6, justify="right")]
    scale = ", 0 to 100 %" if wide else ""
    columns += [Column(name + scale, width=bar + 9) for name in ("task success", "wrong but valid")]
    columns += [Column("valid", width=7, justify="right")]
    if wide:
        columns += [
            Column("refused", width=7, justify="right"),
            Column("seconds", width=7, justify="right"),
            Column(),
        ]
    for number, (_, group) in enumerate(groupby(report.runs, key=_group)):
        parts = list(group)
        table = _table(columns, header=not number)
        for part in parts:
            table.add_row(*_result(part, bar, wide=wide))
        yield _name(parts[0])
        yield table


def _result(part: RunPart, bar: int, *, wide: bool) -> Iterator[Text]:
    numbers = part.metrics.estimates
    yield Text(_label(part))
    yield Text(f"{part.metrics.cases:,}")
    for name, style in (("task_success", "green"), ("wrong_but_valid", "red")):
        drawn = interval_bar(numbers[name], _SHARES, bar)
        yield Text.assemble((f"{texts.percent(numbers[name].value):>7}  ", "bold"), (drawn, style))
    yield Text(texts.percent(numbers["schema_validity"].value))
    if wide:
        yield Text(texts.percent(numbers["refusals"].value))
        yield Text(texts.amount(numbers["latency_median"].value))
        yield Text(sparkline(part.latency), "cyan")


def _differences(report: Report, *, wide: bool) -> Iterator[RenderableType]:
    if not report.differences:
        return
    bar = 21 if wide else 11
    parts = {part.number: part for part in report.runs}
    yield Text("\nDifferences in percentage points, p adjusted for all (Holm)", "bold")
    axes = {name: around_zero(each.numbers[name].difference for each in report.differences) for name in TESTED}
    columns = [Column("", width=max(len(_pair(parts, each)) for each in report.differences))]
    for name in TESTED:
        reach = f", ±{100 * axes[name].end:.0f}"
        columns += [Column(name.replace("_", " ") + reach, width=bar + 9), Column("p", width=7, justify="right")]
    if wide:
        columns.append(Column("gained, lost", width=12, justify="right"))
    for number, (_, group) in enumerate(groupby(report.differences, key=lambda each: _group(parts[each.first]))):
        members = list(group)
        table = _table(columns, header=not number)
        for each in members:
            row = [Text(_pair(parts, each))]
            for name, style in zip(TESTED, ("green", "red"), strict=True):
                found = each.numbers[name].difference
                drawn = interval_bar(found, axes[name], bar, zero=True)
                row.append(Text.assemble((f"{texts.points(found.value):>7}  ", "bold"), (drawn, style)))
                row.append(Text(texts.p_value(each.p_holm[name])))
            table.add_row(*row, *([Text(f"+{each.gained}, −{each.lost}")] if wide else []))
        yield _name(parts[members[0].first])
        yield table


def _tradeoffs(report: Report, *, wide: bool) -> Iterator[RenderableType]:
    if not report.tradeoffs:
        return
    bar = 20 if wide else 11
    yield Text("\nRight calls against right abstentions, on the cases that all arms answered", "bold")
    names = [_clipped(arm.arm) for tradeoff in report.tradeoffs for arm in tradeoff.arms]
    columns = [Column("", width=max(map(len, names)))]
    for name in ("right calls", "right abstentions"):
        columns.append(Column(name + (", 0 to 100 %" if wide else ""), width=bar + 9))
        if wide:
            columns.append(Column("gained, lost", width=12, justify="right"))
    for number, tradeoff in enumerate(report.tradeoffs):
        table = _table(columns, header=not number)
        for arm in tradeoff.arms:
            row = [Text(_clipped(arm.arm))]
            for share in (arm.right_calls, arm.right_abstentions):
                drawn = interval_bar(share.estimate, _SHARES, bar)
                row.append(Text.assemble((f"{texts.percent(share.estimate.value):>7}  ", "bold"), (drawn, "green")))
                if wide:
                    row.append(Text(f"+{share.gained:,}, −{share.lost:,}" if arm.number > 1 else ""))
            table.add_row(*row)
        yield _tradeoff_name(tradeoff)
        yield table


def _tradeoff_name(tradeoff: Tradeoff) -> Text:
    first = tradeoff.arms[0]
    calls, abstentions = first.right_calls.estimate.n, first.right_abstentions.estimate.n
    cases = f"  {calls:,} cases with a right call, {abstentions:,} without"
    return Text.assemble((one_line(tradeoff.model), "bold"), (cases, "dim"))


def _table(columns: Sequence[Column], *, header: bool) -> Table:
    """One of several tables whose columns stand below each other; the first has the header."""
    copies = [column.copy() for column in columns]
    for column in copies:
        column.no_wrap = True
    return Table(*copies, box=None, pad_edge=False, show_header=header, header_style="dim")


def _remarks(report: Report) -> Iterator[str]:
    yield ""
    defects = [(part, found) for part in report.runs for found in part.metrics.repairs if found.schema_defect]
    if defects:
        yield f"Schema defects, fields repaired in {texts.percent(SCHEMA_DEFECT)} of their tool's calls or more:"
    for part, found in defects[:_DEFECTS]:
        field = one_line(f"{found.tool} {found.field}")
        yield f"  {_label(part)} {field}: {found.repaired:,} of {found.calls:,} calls"
    if len(defects) > _DEFECTS:
        yield f"  … and {len(defects) - _DEFECTS:,} more"
    for part in report.runs:
        if part.failing_total:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in part.failing_kinds.items())
            yield f"{_label(part)}: {part.failing_total:,} answers not right ({kinds})"
    for part in report.runs:
        for message, count in part.infrastructure.items():
            yield f"{_label(part)}: {count:,} not answered: {one_line(message)}"


def _group(part: RunPart) -> tuple[str, str, str]:
    return part.info.suite, part.info.suite_version, part.info.model


def _name(part: RunPart) -> Text:
    return Text(f"{one_line(part.info.suite)}  {one_line(part.info.model)}", "bold")


def _label(part: RunPart) -> str:
    return _clipped(f"#{part.number} {part.info.arm}")


def _clipped(name: str) -> str:
    return texts.clip(one_line(name), _LONGEST)


def _pair(parts: Mapping[int, RunPart], difference: ArmDifference) -> str:
    return f"{_label(parts[difference.first])} → {_label(parts[difference.second])}"
