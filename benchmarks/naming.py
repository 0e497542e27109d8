"""Peakedness of names, and how it grows with candidates and tools: `python benchmarks/naming.py [--quick]`.

Candidates are drawn as a small model draws them: a few habits, each in several spellings, and for the worst case all
of them different. The peer is the paper's own cost: distances between all pairs, without a cutoff.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from report import Part, Row, Say, Table, alone, duration, seconds_per_call

BOUND_S = 0.0002
CANDIDATES = (16, 32, 64, 128, 256)
TOOLS = (100, 1_000, 10_000)
QUICK_TOOLS = (100, 1_000)
_VERBS = ("get", "fetch", "lookup", "find", "list", "create", "update", "track", "search", "convert")
_NOUNS = ("weather", "order", "invoice", "calorie", "user", "ticket", "route", "rate", "image", "account")


def drawn(count: int, seed: object) -> list[str]:
    """Candidates of one component: two habits and what strays from them."""
    draw = random.Random(str(seed))  # noqa: S311 - a sample, not a secret
    habits = [f"{draw.choice(_VERBS)}_{draw.choice(_NOUNS)}" for _ in range(2)]
    spellings = ("{}", "{}", "{}", "{}s", "{}_info", "{}_data", "{}_by_id")
    return [draw.choice(spellings).format(draw.choice(habits)) for _ in range(count)]


def different(count: int) -> list[str]:
    """The worst case: no name twice."""
    draw = random.Random(count)  # noqa: S311 - a sample, not a secret
    return [f"{draw.choice(_VERBS)}_{draw.choice(_NOUNS)}_{number:04d}" for number in range(count)]


def all_pairs(names: Sequence[str]) -> list[int]:
    """The definition, word by word: for each candidate, every other one."""
    from rapidfuzz.distance.Levenshtein import distance

    within = 0.2 * max(map(len, names))
    return [
        sum(distance(name, other) <= within for at, other in enumerate(names) if at != index)
        for index, name in enumerate(names)
    ]


def settled(count: int) -> float:
    """Seconds to make names of `count` tools with 32 candidates each unique; a third of them share descriptions."""
    from rightcall.naming.collisions import settle
    from rightcall.naming.peakedness import ranked

    rankings = {f"tool_{n}": ranked(drawn(32, n % max(count * 2 // 3, 1)), None) for n in range(count)}
    began = time.perf_counter()
    names = {each.candidate.name if each.candidate else name for name, each in settle(rankings).items()}
    took = time.perf_counter() - began
    assert len(names) == count
    return took


def run(*, quick: bool, say: Say) -> Part:
    """The row of the cost table, and the growth behind it."""
    from rightcall.naming.peakedness import ranked

    seconds = 0.1 if quick else 0.5
    say("peakedness of 32 candidates")
    usual, worst = drawn(32, 0), different(32)
    found = seconds_per_call(
        {
            "usual": lambda: ranked(usual, usual[0]),
            "worst": lambda: ranked(worst, worst[0]),
            "peer": lambda: all_pairs(worst),
        },
        seconds=seconds,
    )
    row = Row(
        "peakedness of 32 candidates, all different",
        duration(found["worst"]),
        f"all pairs, no cutoff: {duration(found['peer'])}",
        f"{found['peer'] / found['worst']:.1f} times faster",
        f"under {duration(BOUND_S)}",
        met=found["worst"] < BOUND_S,
    )
    growth = []
    for count in CANDIDATES:
        say(f"peakedness of {count} candidates")
        names, strange = drawn(count, count), different(count)
        took = seconds_per_call(
            {"usual": lambda n=names: ranked(n, n[0]), "worst": lambda n=strange: ranked(n, n[0])}, seconds=seconds
        )
        growth.append({"candidates": count, **took})
    tools = []
    for count in QUICK_TOOLS if quick else TOOLS:
        say(f"names of {count:,} tools made unique")
        tools.append({"tools": count, "seconds": settled(count)})
    tables = [
        Table(
            "Growth with the number of candidates",
            ("candidates", "as a small model draws them", "all different"),
            [(str(each["candidates"]), duration(each["usual"]), duration(each["worst"])) for each in growth],
        ),
        Table(
            "Growth with the number of tools: names made unique, a third of them contested",
            ("tools", "whole", "each"),
            [
                (f"{each['tools']:,}", duration(each["seconds"]), duration(each["seconds"] / each["tools"]))
                for each in tools
            ],
        ),
    ]
    remark = f"of the 32 candidates as a small model draws them {len(set(usual))} differ: {duration(found['usual'])}."
    numbers = {"seconds": found, "candidates": growth, "tools": tools, "bound_s": BOUND_S}
    return Part("naming", [row], tables, numbers, (remark,))


if __name__ == "__main__":
    alone(run)
