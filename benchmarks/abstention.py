"""What the provenance rules refuse: false calls, wrong calls and right ones, on recorded replies and on gold calls.

    python benchmarks/abstention.py --shared ../shared > benchmarks/results/abstention.md

No model is asked. Recordings are replies of real models; the gold calls of BFCL are right by definition, so whatever
a rule refuses of them is its own mistake.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rightcall.domain import ModelRequest, ToolCall
from rightcall.evaluation.arms import PARSE
from rightcall.evaluation.benchmarks.registry import load_suite
from rightcall.evaluation.cases import Case
from rightcall.evaluation.models import ModelEntry, described_model
from rightcall.evaluation.runner import Runner, RunOptions
from rightcall.store.completions import CompletionCache
from rightcall.validation.provenance import LEVELS, provenance_rules, unsourced_value

SUITES = ("bfcl:irrelevance", "bfcl:simple_python", "bfcl:multiple", "bfcl:parallel")
GOLD = ("bfcl:simple_python", "bfcl:multiple", "bfcl:parallel", "bfcl:live_simple", "bfcl:live_multiple")


async def recorded(shared: Path) -> Iterator[str]:
    """A row for each model and suite: right and wrong-but-valid at each level of the rules."""
    rows = []
    for size in ("0.5b", "1.5b"):
        recording = shared / "recordings" / f"qwen2.5-coder-{size}.bfcl.jsonl"
        model = described_model(ModelEntry(f"replay:{recording}"))
        for name in SUITES:
            suite = load_suite(name, shared / "data")
            cells = []
            with tempfile.TemporaryDirectory() as folder, CompletionCache(Path(folder) / "cache") as cache:
                for level in LEVELS:
                    runner = Runner(suite, replace(PARSE, provenance=level), model, cache, RunOptions())
                    records = [await runner.ask(case) for case in runner.cases()]
                    right = sum(record.score.success for record in records)
                    wrong = sum(record.wrong_but_valid for record in records)
                    cells.append(f"{right} / {wrong}")
            rows.append(f"| {size} | {name} | {len(records)} | {' | '.join(cells)} |")
    return iter(rows)


def gold(shared: Path) -> Iterator[str]:
    """A row for each suite: how many right answers a level refuses."""
    for name in GOLD:
        refused = dict.fromkeys(LEVELS, 0)
        cases = [case for case in load_suite(name, shared / "data").cases() if not case.negative]
        for case in cases:
            request = ModelRequest(case.messages, tools=case.tools)
            calls = [_gold_call(case, index, request) for index in range(len(case.accepted[0]))]
            for level in LEVELS:
                rules = provenance_rules(level)
                refused[level] += any(rule(call, request) for call in calls for rule in rules)
        shares = " | ".join(f"{refused[level]} ({refused[level] / len(cases):.1%})" for level in LEVELS[1:])
        yield f"| {name} | {len(cases)} | {shares} |"


def _gold_call(case: Case, index: int, request: ModelRequest) -> ToolCall:
    """A right call, without what may be left out; of several right values one that has a source, if any has."""
    expected = case.accepted[0][index]
    arguments = {}
    for name, values in (expected.arguments or {}).items():
        if name not in expected.optional:
            given = [value for value in values if value != ""] or [None]
            sourced = (v for v in given if unsourced_value(ToolCall("", expected.name, {name: v}), request) is None)
            arguments[name] = next(sourced, given[0])
    return ToolCall("", expected.name, arguments)


def main() -> None:
    """Prints the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="the folder with recordings/ and data/")
    shared = parser.parse_args().shared
    print("# Abstention: values that nobody gave\n")
    print("`python benchmarks/abstention.py --shared ../shared`; the rules are `--provenance off|required|all`.\n")
    print("## Recorded replies, one attempt: right / wrong but valid\n")
    print("A refused call is no call, so on irrelevance it is right. The rules were made looking at these replies.\n")
    print("| model | suite | cases | off | required | all |\n|---|---|---:|---:|---:|---:|")
    print("\n".join(asyncio.run(recorded(shared))))
    print("\n## Gold calls that the rules refuse: their own mistakes\n")
    print("| suite | cases | required | all |\n|---|---:|---:|---:|")
    print("\n".join(gold(shared)))


if __name__ == "__main__":
    main()
