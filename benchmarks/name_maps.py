"""What name maps change, as a Markdown page: each arm against the tools' own names, and what the maps are like.

    python benchmarks/name_maps.py --runs "MetaTool similar=names_meta" --map "MetaTool=meta_pa_tool.toml"

`--runs` names a folder of `rightcall eval` runs of one environment, one of them of an arm called `base`; `--map` a
name map of `rightcall align`. Both may be repeated. The scores are the benchmarks' own: MetaTool's correct selection,
RoTBench's tool selection, parameter identification and content filling, each nested in the one before.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rightcall.alignment.files import read_name_map
from rightcall.evaluation.records import Record, RunInfo
from rightcall.evaluation.report import texts
from rightcall.evaluation.run_file import read_info, read_records
from rightcall.evaluation.statistics import Difference, holm, paired_difference, rate
from rightcall.naming.name_map import NameMap, Naming

BASE = "base"
SCORES = ("correct_selection", "tool_selection", "parameter_identification", "content_filling")
ARMS = (
    BASE,
    "greedy",
    "mostfreq",
    "pa_tool",
    "pa_unflagged",
    "tool_only",
    "parameter_only",
    "constrained",
    "constrained_pa",
)
BINS = ((0, 3), (4, 7), (8, 11), (12, 15), (16, 19), (20, 23), (24, 27), (28, 31))
"""Peakedness of one of 32 names: how many of the 31 others are nearly it."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One benchmark at one level of noise: the records of each arm by case."""

    title: str
    infos: Mapping[str, RunInfo]
    arms: Mapping[str, Mapping[str, Record]]

    @property
    def scores(self) -> list[str]:
        """The scores that these records have, in their order."""
        first = next(iter(self.arms[BASE].values()))
        return [score for score in SCORES if score in first.score.original]

    def values(self, arm: str, score: str) -> list[float]:
        """A score of every case, in the order of the base's cases."""
        return [self.arms[arm][case].score.original[score] for case in self.arms[BASE]]

    @property
    def families(self) -> list[str]:
        """Each case's family, in the same order."""
        return [record.family for record in self.arms[BASE].values()]

    def against_base(self, arm: str, score: str) -> Difference:
        """The arm less the base."""
        return paired_difference(self.values(BASE, score), self.values(arm, score), self.families)


def read_environment(title: str, folder: Path) -> Environment:
    """Every run in a folder. All arms must have answered the same cases."""
    infos, arms = {}, {}
    for path in sorted(folder.glob("*.jsonl")):
        info = read_info(path)
        infos[info.arm] = info
        arms[info.arm] = {record.case: record for record in read_records(path) if not record.error}
    cases = set(arms[BASE])
    unequal = [arm for arm, records in arms.items() if set(records) != cases]
    assert not unequal, f"{folder}: {', '.join(unequal)} answered other cases than {BASE}"
    return Environment(title, infos, {arm: arms[arm] for arm in ARMS if arm in arms})


def results(environments: Sequence[Environment]) -> Iterator[str]:
    """A row for each environment, arm and score."""
    tested = [(e, arm, score) for e in environments for arm in e.arms if arm != BASE for score in e.scores]
    found = {(e.title, arm, score): e.against_base(arm, score) for e, arm, score in tested}
    with_p = [place for place, difference in found.items() if difference.p is not None]
    adjusted = dict(zip(with_p, holm([found[place].p or 0.0 for place in with_p]), strict=True))
    yield "| environment | arm | score | right | share | against base, points | gained, lost | p | p (Holm) |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
    for environment in environments:
        for arm in environment.arms:
            for score in environment.scores:
                values = environment.values(arm, score)
                share = rate(values, environment.families)
                cells = [environment.title, arm, score.replace("_", " "), f"{sum(values):g} of {len(values)}"]
                cells.append(f"{share.value:.0%} ({share.low or 0:.0%}–{share.high or 0:.0%})")
                if arm == BASE:
                    cells += ["", "", "", ""]
                else:
                    place = (environment.title, arm, score)
                    cells += _difference(environment, arm, score, found[place], adjusted.get(place))
                yield f"| {' | '.join(cells)} |"


def _difference(e: Environment, arm: str, score: str, found: Difference, p_holm: float | None) -> list[str]:
    pairs = list(zip(e.values(BASE, score), e.values(arm, score), strict=True))
    gained, lost = sum(two > one for one, two in pairs), sum(two < one for one, two in pairs)
    estimate = found.estimate
    bounds = "" if estimate.low is None else f" ({100 * estimate.low:+.0f} to {100 * (estimate.high or 0):+.0f})"
    points = f"{100 * (estimate.value or 0):+.0f}{bounds}"
    return [points, f"+{gained}, −{lost}", texts.p_value(found.p), texts.p_value(p_holm)]


def errors(environments: Sequence[Environment]) -> Iterator[str]:
    """How each arm fails: the paper's kinds of wrong selection, and the others."""
    yield "| environment | arm | no call | name of no tool | wrong tool | right tool, wrong arguments |"
    yield "|---|---|---:|---:|---:|---:|"
    for environment in environments:
        for arm, records in environment.arms.items():
            kinds = Counter(map(_failure, records.values()))
            counts = " | ".join(str(kinds[kind]) for kind in ("no call", "no tool", "wrong tool", "arguments"))
            yield f"| {environment.title} | {arm} | {counts} |"


def _failure(record: Record) -> str:
    if any(problem["kind"] == "unknown_tool" for problem in record.answer.problems):
        return "no tool"
    if not record.answer.chosen:
        return "no call"
    if not record.score.selection:
        return "wrong tool"
    return "" if record.score.success else "arguments"


def peakedness(maps: Mapping[str, NameMap]) -> Iterator[str]:
    """How firmly the model names things, tools and parameters apart."""
    heads = " | ".join(f"{low}–{high}" for low, high in BINS)
    yield f"| map | of | names | {heads} | median | margin of at most 3 | renamed | flagged |"
    yield "|---|---|---:|" + "---:|" * (len(BINS) + 4)
    for title, each in maps.items():
        namings = [naming for _, naming in each.namings()]
        for kind, part in (
            ("tools", [n for n in namings if not n.place]),
            ("parameters", [n for n in namings if n.place]),
        ):
            if part:
                yield f"| {title} | {kind} | {len(part)} | {_distribution(part)} |"


def _distribution(namings: Sequence[Naming]) -> str:
    bins = [sum(low <= n.peakedness <= high for n in namings) for low, high in BINS]
    median = sorted(n.peakedness for n in namings)[len(namings) // 2]
    close = sum(n.margin <= 3 for n in namings)
    renamed, flagged = sum(n.shown != n.original for n in namings), sum(bool(n.flags) for n in namings)
    return " | ".join(map(str, (*bins, median, close, renamed, flagged)))


def agreement(maps: Mapping[str, NameMap]) -> Iterator[str]:
    """How often the most peaked name is the first in frequency or the one at temperature 0."""
    yield "| map | components | the greedy name, too | the most frequent name, too |"
    yield "|---|---:|---:|---:|"
    for title, each in maps.items():
        asked = [naming for _, naming in each.namings() if naming.peakedness]
        greedy = sum(n.proposed == n.greedy for n in asked)
        frequent = sum(n.count >= max((a.count for a in n.alternatives), default=0) for n in asked)
        yield f"| {title} | {len(asked)} | {greedy} | {frequent} |"


def examples(maps: Mapping[str, NameMap]) -> Iterator[str]:
    """The firmest and the weakest names of each map."""
    for title, each in maps.items():
        tools = sorted((t.tool for t in each.tools), key=lambda n: -n.peakedness)
        for word, part in (("firmest", tools[:6]), ("weakest", tools[-6:])):
            named = ", ".join(f"`{n.original}` → `{n.shown}` ({n.peakedness})" for n in part)
            yield f"- {title}, {word}: {named}"


def _titled(text: str) -> tuple[str, Path]:
    title, _, path = text.partition("=")
    return title, Path(path)


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", action="append", type=_titled, required=True, metavar="TITLE=FOLDER")
    parser.add_argument("--map", action="append", type=_titled, default=[], metavar="TITLE=FILE")
    given = parser.parse_args()
    environments = [read_environment(title, folder) for title, folder in given.runs]
    maps = {title: read_name_map(path) for title, path in given.map}
    print("## Results\n\nShares with 95 % intervals; clusters are families of cases. Differences are")
    print("paired by case; p is that of the family-level sign flip, adjusted (Holm) over all rows.\n")
    print("\n".join(results(environments)))
    print("\n## How they fail\n")
    print("\n".join(errors(environments)))
    print("\n## Peakedness\n\nOf the name that was chosen: how many of the other 31 are nearly it.\n")
    print("\n".join(peakedness(maps)))
    print("\n### Does it matter which name is chosen?\n")
    print("\n".join(agreement(maps)))
    print("\n### Examples\n")
    print("\n".join(examples(maps)))


if __name__ == "__main__":
    main()
