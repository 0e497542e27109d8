"""What the rules of abstention refuse: false calls, wrong calls and right ones, on recorded replies and gold calls.

    python benchmarks/abstention.py --shared ../shared > benchmarks/results/abstention.md

No model is asked. Recordings are replies of real models; the gold calls of BFCL are right by definition, so whatever
a rule refuses of them is its own mistake.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rightcall.catalogue.relevance import FAR, RelevanceFloor
from rightcall.domain import ModelRequest, ToolCall
from rightcall.evaluation.arms import PARSE, Arm
from rightcall.evaluation.benchmarks.registry import load_suite
from rightcall.evaluation.cases import Case
from rightcall.evaluation.models import ModelEntry, described_model
from rightcall.evaluation.runner import Runner, RunOptions
from rightcall.providers.embeddings import BUNDLED, load_embedder
from rightcall.store.completions import CompletionCache
from rightcall.turn import Verifier
from rightcall.validation.provenance import provenance_rules, unsourced_value

SUITES = ("bfcl:irrelevance", "bfcl:simple_python", "bfcl:multiple", "bfcl:parallel")
NEGATIVE = ("bfcl:irrelevance", "bfcl:live_irrelevance")
GOLD = ("bfcl:simple_python", "bfcl:multiple", "bfcl:parallel", "bfcl:live_simple", "bfcl:live_multiple")
ARMS = (
    PARSE,
    replace(PARSE, name="required", provenance="required"),
    replace(PARSE, name="all", provenance="all"),
    replace(PARSE, name="floor", relevance_floor=True),
    replace(PARSE, name="floor, meaning", relevance_floor=True, embeddings=BUNDLED),
    replace(PARSE, name="floor + all", relevance_floor=True, provenance="all"),
)
CURVE = (0.0, 0.1, 0.2, FAR, 0.4, 0.5)


async def recorded(shared: Path) -> Iterator[str]:
    """A row for each model and suite: right and wrong-but-valid with each arm."""
    rows = []
    for size in ("0.5b", "1.5b"):
        recording = shared / "recordings" / f"qwen2.5-coder-{size}.bfcl.jsonl"
        model = described_model(ModelEntry(f"replay:{recording}"))
        for name in SUITES:
            suite = load_suite(name, shared / "data")
            cells = []
            with tempfile.TemporaryDirectory() as folder, CompletionCache(Path(folder) / "cache") as cache:
                for arm in ARMS:
                    runner = Runner(suite, arm, model, cache, RunOptions())
                    records = [await runner.ask(case) for case in runner.cases()]
                    right = sum(record.score.success for record in records)
                    wrong = sum(record.wrong_but_valid for record in records)
                    cells.append(f"{right} / {wrong}")
            rows.append(f"| {size} | {name} | {len(records)} | {' | '.join(cells)} |")
    return iter(rows)


def refusals(shared: Path, ways: Mapping[str, Sequence[Verifier]]) -> Iterator[str]:
    """A row for each suite: how many right answers are refused; of negative cases, where every tool would be."""
    for name in (*NEGATIVE, *GOLD):
        cases = [case for case in load_suite(name, shared / "data").cases() if case.tools]
        refused = dict.fromkeys(ways, 0)
        for case in cases:
            request = ModelRequest(case.messages, tools=case.tools)
            calls = _calls(case, request)
            for way, rules in ways.items():
                found = [any(rule(call, request) for rule in rules) for call in calls]
                refused[way] += all(found) if case.negative else any(found)
        shares = " | ".join(f"{count} ({count / len(cases):.1%})" for count in refused.values())
        yield f"| {name} | {len(cases)} | {shares} |"


def _calls(case: Case, request: ModelRequest) -> list[ToolCall]:
    """The right calls; where none is right, one of each tool."""
    if case.negative:
        return [ToolCall("", tool.name, {}) for tool in case.tools]
    return [_gold_call(case, index, request) for index in range(len(case.accepted[0]))]


def rules_of(arm: Arm) -> tuple[Verifier, ...]:
    """The verifiers of an arm."""
    floor = (RelevanceFloor(load_embedder(arm.embeddings) if arm.embeddings == BUNDLED else None),)
    return (*(floor if arm.relevance_floor else ()), *provenance_rules(arm.provenance))


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
    heads, lines = " | ".join(arm.name for arm in ARMS), "---:|" * len(ARMS)
    print("# Abstention: calls that nothing was said for\n")
    print("`python benchmarks/abstention.py --shared ../shared`; `required` and `all` are levels of `--provenance`,")
    print("`floor` is `--relevance-floor`, with `meaning` beside `--embeddings bundled`.\n")
    print("## Recorded replies, one attempt: right / wrong but valid\n")
    print("A refused call is no call, so on irrelevance it is right. The rules were made looking at these replies.\n")
    print(f"| model | suite | cases | {heads} |\n|---|---|---:|{lines}")
    print("\n".join(asyncio.run(recorded(shared))))
    print("\n## What the rules refuse without any model\n")
    print("Of the irrelevance suites: cases where every offered tool is refused, whatever its arguments (provenance")
    print("judges arguments, so it has none to judge here). Of the others: gold calls, each a rule's own mistake.\n")
    print(f"| suite | cases | {heads} |\n|---|---:|{lines}")
    print("\n".join(refusals(shared, {arm.name: rules_of(arm) for arm in ARMS})))
    print("\n### The floor's trade-off\n")
    print("Refused where no word is shared and the cosine of the meanings is below:\n")
    embedder = load_embedder(BUNDLED)
    curve = {f"{far:g}": (RelevanceFloor(embedder, far),) for far in CURVE} | {"words alone": (RelevanceFloor(),)}
    print(f"| suite | cases | {' | '.join(curve)} |\n|---|---:|{'---:|' * len(curve)}")
    print("\n".join(refusals(shared, curve)))


if __name__ == "__main__":
    main()
