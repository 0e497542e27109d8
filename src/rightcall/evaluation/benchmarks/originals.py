"""What benchmark authors published, made into the files that the suites read.

Each function takes the checked-out tree and a new, empty folder. They raise `OSError`, `KeyError`, `ValueError`,
`TypeError` or `SyntaxError` where the tree is not as it should be.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rightcall.evaluation.benchmarks.metatool import TASKS
from rightcall.evaluation.benchmarks.rotbench import LEVELS, TURNS

_CANDIDATE = re.compile(r"^(\d+)\. tool name: (.*?), tool description: ", re.MULTILINE)


def convert_rotbench(tree: Path, target: Path) -> None:
    """RoTBench's files as they are."""
    shutil.copy(tree / "LICENSE", target)
    for turn in TURNS.values():
        (target / turn).mkdir()
        for level in LEVELS:
            shutil.copy(tree / "Data" / turn / f"{level}.json", target / turn)


def convert_metatool(tree: Path, target: Path) -> None:
    """MetaTool's tools, and its four selection tasks without the prompts around them.

    A task's candidates are read from the list in its prompt. In the reliability task, whose gold tool was taken
    away, `expected` says "None".
    """
    shutil.copy(tree / "LICENSE", target)
    dataset = tree / "dataset"
    merged = _json(dataset / "big_tool_des.json")
    _write_rows(
        target / "tools.jsonl",
        (
            {"name": name, "description": description, "merged": name in merged}
            for name, description in _json(dataset / "plugin_des.json").items()
        ),
    )
    for number, task in enumerate(TASKS, start=1):
        rows = _json(dataset / "tmp_dataset" / f"Task2-Subtask{number}.json")
        prefix = task.removesuffix("_tool")
        _write_rows(
            target / f"{task}.jsonl",
            (_metatool_row(f"{prefix}_{index}", task, row) for index, row in enumerate(rows)),
        )


def _metatool_row(identifier: str, task: str, row: Mapping[str, Any]) -> dict[str, Any]:
    found = [(int(number), name) for number, name in _CANDIDATE.findall(row["action_prompt"])]
    if not found or [number for number, _ in found] != list(range(1, len(found) + 1)):
        raise ValueError(f"the prompt of {identifier} lists no candidates")
    more = {"scenario": row["scenario"]} if "scenario" in row else {}
    more |= {"expected": "None"} if task == "reliability" else {}
    candidates = [name for _, name in found]
    return {"id": identifier, "query": row["query"], "tool": row["tool"], "candidates": candidates, **more}


def convert_apibank(tree: Path, target: Path) -> None:
    """API-Bank's dialogues, one row each, and the schemas of its APIs, read from their classes but never run."""
    bank = tree / "api-bank"
    shutil.copy(bank / "LICENSE", target)
    for level, folder in (("level-1", "level-1-given-desc"), ("level-2", "level-2-toolsearcher")):
        files = sorted((bank / "lv1-lv2-samples" / folder).glob("*.jsonl"))
        if not files:
            raise ValueError(f"{folder} holds no dialogues")
        _write_rows(target / f"{level}.jsonl", ({"file": file.name, "turns": _turns(file)} for file in files))
    apis = [row for file in sorted((bank / "apis").glob("*.py")) for row in _api_rows(file)]
    if not apis:
        raise ValueError("there are no APIs")
    _write_rows(target / "apis.jsonl", apis)


def _turns(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


_API_FIELDS = ("description", "input_parameters", "output_parameters", "database_name")


def _api_rows(file: Path) -> Iterable[dict[str, Any]]:
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef) or not any(
            isinstance(b, ast.Name) and b.id == "API" for b in node.bases
        ):
            continue
        values = {
            assigned.targets[0].id: _literal(assigned.value)
            for assigned in node.body
            if isinstance(assigned, ast.Assign)
            and isinstance(assigned.targets[0], ast.Name)
            and assigned.targets[0].id in _API_FIELDS
        }
        if "input_parameters" in values:
            yield {"set": "apis", "file": file.name, "name": node.name, **values}


def _literal(node: ast.expr) -> Any:
    """A constant; texts may be put together with `+`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _literal(node.left) + _literal(node.right)
    return ast.literal_eval(node)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
