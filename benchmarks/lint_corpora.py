"""How often each lint rule fires on public tools: tau-bench retail, API-Bank, BFCL.

    python benchmarks/lint_corpora.py ../shared/data            # the table of docs/lint.md
    python benchmarks/lint_corpora.py ../shared/data --show RC204 --most 20

BFCL offers other tools to every case, so each case is linted as the toolset that it is, and a tool is counted once.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rightcall.domain import Tool
from rightcall.evaluation.benchmarks.registry import load_suite
from rightcall.schema.fingerprint import tool_fingerprint
from rightcall.schema.lint.findings import Finding
from rightcall.schema.lint.lint import lint, rules
from rightcall.tool_sources.reading import read_tools

BFCL = ("simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance", "live_simple", "live_multiple")


def toolsets(data: Path) -> Iterator[tuple[str, list[tuple[Tool, ...]]]]:
    """Each corpus with its toolsets."""
    yield "tau-bench retail", [read_tools(data / "taubench" / "retail" / "tools.json").tools]
    cases = list(load_suite("apibank:level-1", data, 0).cases())
    apis = {tool.name: tool for case in cases for tool in case.tools}
    yield "API-Bank", [tuple(apis.values())]
    yield "BFCL", [case.tools for name in BFCL for case in load_suite(f"bfcl:{name}", data, 0).cases()]


def findings(sets: list[tuple[Tool, ...]], engines: tuple[str, ...]) -> tuple[int, list[tuple[Tool, Finding]]]:
    """How many different tools there are, and what is found in them, once for each tool and place."""
    seen: set[tuple[str, str, str]] = set()
    tools: set[str] = set()
    found = []
    for offered in sets:
        marks = [tool_fingerprint(tool) for tool in offered]
        tools.update(marks)
        for finding in lint(offered, engines=engines).findings:
            key = (marks[finding.index], finding.rule, finding.pointer)
            if key not in seen:
                seen.add(key)
                found.append((offered[finding.index], finding))
    return len(tools), found


def main() -> None:
    """Prints the table, or the findings of one rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--engine", action="append", default=[])
    parser.add_argument("--show", help="print the findings of this rule")
    parser.add_argument("--most", type=int, default=30)
    options = parser.parse_args()
    columns = {name: findings(sets, tuple(options.engine)) for name, sets in toolsets(options.data)}
    if options.show:
        for name, (_, found) in columns.items():
            for tool, finding in [pair for pair in found if pair[1].rule == options.show][: options.most]:
                print(f"{name}: {tool.name} {finding.pointer}: {finding.why}")
        return
    print(
        "| rule | severity | " + " | ".join(f"{name} ({count} tools)" for name, (count, _) in columns.items()) + " |"
    )
    print("|---|---|" + "---|" * len(columns))
    counts = {name: Counter(finding.rule for _, finding in found) for name, (_, found) in columns.items()}
    for rule in rules(options.engine):
        cells = " | ".join(str(counts[name][rule.id]) for name in columns)
        print(f"| {rule.id} {rule.title} | {rule.severity.word} | {cells} |")


if __name__ == "__main__":
    main()
