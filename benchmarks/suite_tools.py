"""The different tools that a suite's cases offer, as an OpenAI tools file, for `rightcall align` and `lint`.

    python benchmarks/suite_tools.py metatool:similar --data ../shared/data --seed 1 --limit 36 > tools.json

Cases are drawn as `rightcall eval` draws them, so the same options give the tools of the same cases.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rightcall.evaluation.arms import PARSE
from rightcall.evaluation.benchmarks.registry import load_suite
from rightcall.evaluation.cases import Case, Suite
from rightcall.evaluation.models import ModelEntry, OpenModel
from rightcall.evaluation.runner import Runner, RunOptions
from rightcall.openai_chat import tool_to_json
from rightcall.providers.scripted import ScriptedModel
from rightcall.store.completions import CompletionCache


def drawn_cases(suite: Suite, options: RunOptions) -> list[Case]:
    """The cases that `rightcall eval` would ask."""
    unasked = OpenModel(ModelEntry("none"), ScriptedModel([]), "none", "")
    with CompletionCache(":memory:") as cache:
        return list(Runner(suite, PARSE, unasked, cache, options).cases())


def main() -> None:
    """Prints the file. Ends with 1 where two different tools have one name, because a name map needs one of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--case", action="append", default=[])
    given = parser.parse_args()
    options = RunOptions(seed=given.seed, limit=given.limit, only=tuple(given.case))
    cases = drawn_cases(load_suite(given.suite, given.data, given.seed), options)
    tools: dict[str, object] = {}
    for tool in (tool for case in cases for tool in case.tools):
        form = tool_to_json(tool)
        if tools.setdefault(tool.name, form) != form:
            sys.exit(f"two different tools are called {tool.name!r}; take fewer cases")
    print(json.dumps(list(tools.values()), indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
