"""Suites by name: `bfcl:CATEGORY`, `metatool:TASK`, `rotbench:LEVEL:TURN`, `apibank:LEVEL`, or a case file's path."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from rightcall.errors import UsageError
from rightcall.evaluation.benchmarks.apibank import LEVELS as API_LEVELS
from rightcall.evaluation.benchmarks.apibank import ApiBankSuite
from rightcall.evaluation.benchmarks.bfcl import CATEGORIES, BfclSuite
from rightcall.evaluation.benchmarks.metatool import TASKS, MetaToolSuite
from rightcall.evaluation.benchmarks.own_cases import OwnSuite
from rightcall.evaluation.benchmarks.rotbench import LEVELS, TURNS, RoTBenchSuite
from rightcall.evaluation.cases import Suite
from rightcall.folders import cache_folder

CASE_FILES = (".yaml", ".yml", ".json", ".jsonl")


def suite_names() -> list[str]:
    """The names of the public benchmarks' suites."""
    return [
        *(f"bfcl:{category}" for category in CATEGORIES),
        *(f"metatool:{task}" for task in TASKS),
        *(f"rotbench:{level}:{turn}" for level in LEVELS for turn in TURNS),
        *(f"apibank:{level}" for level in API_LEVELS),
    ]


def data_folder() -> Path:
    """Where fetched benchmark data stand, unless another folder is given."""
    return cache_folder() / "benchmarks"


def load_suite(name: str, data: Path | None = None, seed: int = 0) -> Suite:
    """The suite of a name, or of a user's own file.

    Args:
        name: one of `suite_names()`, or the path of a `.yaml`, `.yml`, `.json` or `.jsonl` file.
        data: the folder that holds `bfcl/`, `metatool/`, ...; the cache where None.
        seed: decides the order of candidates where the data give the right one away by its place.

    Raises:
        UsageError: no such suite; its data are missing, with the command that gets them; or its file is broken.
    """
    if Path(name).suffix in CASE_FILES:
        return OwnSuite(Path(name))
    folder = data or data_folder()
    benchmark, _, rest = name.partition(":")
    if name in suite_names():
        suite = _suite(benchmark, rest, folder, seed)
        next(suite.cases(), None)  # says now, not in the middle of a run, that data are missing
        return suite
    close = get_close_matches(name, suite_names(), n=3)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    raise UsageError(f"There is no suite {name!r}.{hint} There are: {_families()}.")


def _suite(benchmark: str, rest: str, folder: Path, seed: int) -> Suite:
    match benchmark:
        case "bfcl":
            return BfclSuite(rest, folder)
        case "metatool":
            return MetaToolSuite(rest, folder, seed)
        case "apibank":
            return ApiBankSuite(rest, folder)
        case _:
            level, _, turn = rest.partition(":")
            return RoTBenchSuite(level, turn, folder)


def _families() -> str:
    return (
        f"bfcl:{{{','.join(CATEGORIES)}}}, metatool:{{{','.join(TASKS)}}}, "
        f"rotbench:{{{','.join(LEVELS)}}}:{{{','.join(TURNS)}}}, "
        f"apibank:{{{','.join(API_LEVELS)}}}, or the path of a case file ({', '.join(CASE_FILES)})"
    )
