"""MetaTool's questions with all of its 199 tools offered at once, as a case file for `rightcall eval`.

    python benchmarks/catalogue_cases.py --data ../shared/data --seed 1 --limit 24 --out catalogue
    rightcall eval catalogue/cases.jsonl --arm all.toml --arm narrow.toml --arm search.toml ...

The cases are those that `rightcall eval metatool:similar` draws with the same options; there each has ten candidates.
All cases have the same tools in the same order, so a server reads them once.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from suite_tools import drawn_cases

from rightcall.domain import Tool
from rightcall.evaluation.benchmarks.metatool import MetaToolSuite
from rightcall.evaluation.runner import RunOptions
from rightcall.openai_chat import tool_to_json


def main() -> None:
    """Writes `tools.json` and `cases.jsonl`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    suite = MetaToolSuite("similar", given.data, given.seed)
    tools: dict[str, Tool] = {tool.name: tool for case in suite.cases() for tool in case.tools}
    cases = drawn_cases(suite, RunOptions(seed=given.seed, limit=given.limit))
    given.out.mkdir(parents=True, exist_ok=True)
    listed = [tool_to_json(tools[name]) for name in sorted(tools)]
    (given.out / "tools.json").write_text(json.dumps(listed, indent=1, ensure_ascii=False), encoding="utf-8")
    with (given.out / "cases.jsonl").open("w", encoding="utf-8") as file:
        for case in cases:
            row = {
                "id": case.id,
                "prompt": case.messages[0]["content"],
                "tools": "tools.json",
                "expected": [{"name": wanted.name} for wanted in case.accepted[0]],
                "family": case.family,
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
