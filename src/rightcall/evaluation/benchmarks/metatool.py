"""MetaTool: which of the offered tools, if any, does a query need?

Source: HowieHwong/MetaTool, commit 35e81bb. The original puts names and descriptions into a text prompt and reads
a name from the reply; here each candidate is a tool without parameters. Score: correct selection rate (the named
tools equal the gold ones; `reliability`: none is right).

The data put the gold tool first in every `similar` task and at two fixed places in `multi_tool`, so candidates are
shuffled in every task, by the seed and the case's id.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rightcall.domain import Tool
from rightcall.evaluation.benchmarks.data_files import broken_row, read_rows, require_folder
from rightcall.evaluation.benchmarks.judging import judge
from rightcall.evaluation.benchmarks.offered_names import offered_names
from rightcall.evaluation.cases import Answer, Case, ExpectedCall, Score

TASKS = ("similar", "scenario", "reliability", "multi_tool")
"""In the order of the original's subtasks, 1 to 4."""


@dataclass(frozen=True, slots=True)
class MetaToolSuite:
    """One task. `folder` holds `metatool/`.

    The family of a case is its gold tool, in `reliability` the tool that was taken away.
    """

    task: str
    folder: Path
    seed: int = 0

    @property
    def name(self) -> str:
        """`metatool:` and the task."""
        return f"metatool:{self.task}"

    @property
    def version(self) -> str:
        """Which data, which rules, which order of the candidates."""
        return f"MetaTool 35e81bb, rules 2, candidates shuffled by {self.seed}"

    def cases(self) -> Iterator[Case]:
        """Every case, in the data's order."""
        folder = require_folder(self.folder, "metatool")
        descriptions = {row["name"]: row["description"] for _, row in read_rows(folder / "tools.jsonl")}
        path = folder / f"{self.task}.jsonl"
        for number, row in read_rows(path):
            try:
                yield self._case(row, descriptions)
            except (KeyError, TypeError, ValueError) as error:
                raise broken_row(path, number, error) from error

    def score(self, case: Case, answer: Answer) -> Score:
        """Whether the right tools were selected: the only question that MetaTool asks."""
        score = judge(case, answer)
        return replace(score, success=score.selection, original={"correct_selection": float(score.selection)})

    def _case(self, row: Mapping[str, Any], descriptions: Mapping[str, str]) -> Case:
        candidates = list(row["candidates"])
        random.Random(f"{self.seed}:{row['id']}").shuffle(candidates)  # noqa: S311 - an order, no secret
        names = dict(zip(candidates, offered_names(candidates), strict=True))
        gold = row["tool"] if isinstance(row["tool"], list) else [row["tool"]]
        wanted = () if self.task == "reliability" else tuple(ExpectedCall(names[tool]) for tool in gold)
        tags = (row["scenario"],) if "scenario" in row else ()
        return Case(
            id=row["id"],
            messages=({"role": "user", "content": row["query"]},),
            tools=tuple(Tool(names[tool], descriptions[tool]) for tool in candidates),
            accepted=(wanted,),
            family="+".join(sorted(gold)),
            tags=(*tags, *((row["query_status"],) if row.get("query_status", "exact") != "exact" else ())),
            gold=row["tool"],
        )
