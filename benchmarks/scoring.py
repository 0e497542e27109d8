"""Scoring and statistics of recorded cases, and how they grow: `python benchmarks/scoring.py [--quick]`.

Cases are made in BFCL's own format (`multiple`: three functions, five arguments) and answered by a seeded draw as
a small model answers them: mostly right, some values wrong, some tools wrong, some refused, some repaired. Then
the real road: the suite judges every recorded answer and writes the run's file; the file is read into metrics; two
such runs are compared. Each step runs in a process of its own, which says its seconds and the peak of its memory.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from report import Part, Row, Say, Table, alone, duration, need

SIZES = (1_000, 10_000, 30_000)
QUICK_SIZES = (300, 1_000)
JUDGED = 10_000
BOUND_S = 30.0
CASES_A_FAMILY = 5
STEPS = ("score", "metrics", "compare")
ARMS = {"first": 0.62, "second": 0.70}
"""The share of right answers by run."""

_TALK = "Work out the figures for the delivery that was ordered last week and say what it comes to in the end. "


# -- what is recorded --------------------------------------------------------------------------------------------


def write_data(folder: Path, count: int) -> None:
    """Questions and possible answers as BFCL keeps them."""
    place = folder / "bfcl" / "possible_answer"
    place.mkdir(parents=True)
    questions = place.parent / "BFCL_v4_multiple.json"
    with questions.open("w") as asked, (place / questions.name).open("w") as wanted:
        for number in range(count):
            family = number // CASES_A_FAMILY
            documents = [_function(f"depot_{family}.{action}") for action in ("price_of", "plan_for", "cancel")]
            question = [[{"role": "user", "content": f"{_TALK * 3} It is number {number}."}]]
            row = {"id": f"multiple_{number}", "question": question, "function": documents}
            asked.write(json.dumps(row) + "\n")
            allowed = {name: [value] for name, value in _arguments(number).items()}
            allowed["note"].append("")
            answer = {"id": row["id"], "ground_truth": [{documents[0]["name"]: allowed}]}
            wanted.write(json.dumps(answer) + "\n")


def write_run(path: Path, folder: Path, arm: str) -> None:
    """A recorded run, its answers not yet judged."""
    from rightcall.domain import ToolCall
    from rightcall.evaluation.cases import Answer, Score
    from rightcall.evaluation.records import Record, RunInfo, Tried
    from rightcall.evaluation.run_file import RunFile

    suite = _suite(folder)
    draw = random.Random(arm)  # noqa: S311 - a sample, not a secret
    with RunFile(path, RunInfo(suite.name, suite.version, "made", arm)) as file:
        for number, case in enumerate(suite.cases()):
            outcome = draw.random() / ARMS[arm]
            arguments: dict[str, Any] = _arguments(number)
            name, status, valid, notes, problems = case.tools[0].name, "calls", True, (), ()
            if outcome >= 1:
                kind = draw.choice(("value", "tool", "refused", "text"))
                if kind == "value":
                    arguments["amount"] += 1
                elif kind == "tool":
                    name = case.tools[1].name
                elif kind == "refused":
                    status, valid, problems = "unresolved", False, (_problem(name),)
                else:
                    status, valid = "text", None
            if draw.random() < 0.3:
                notes = (_note(name, "/amount"),)
            calls = (ToolCall("call_0", name, arguments),) if status == "calls" else ()
            answer = Answer(status, calls, "" if calls else _TALK, valid, problems, notes)
            reply = {"text": json.dumps({"name": name, "arguments": arguments}), "finish_reason": "stop"}
            tried = Tried("first", "made", draw.lognormvariate(1, 0.5), 640, 70, reply=reply)
            attempts = (tried, tried) if problems else (tried,)
            record = Record(
                case.id,
                0,
                case.family,
                case.negative,
                answer,
                Score(success=False, selection=False, arguments=False),
                attempts,
                tags=case.tags,
                seconds=sum(attempt.seconds for attempt in attempts),
                asked=_TALK,
                position=number,
            )
            file.append(record)


def _function(name: str) -> dict[str, Any]:
    properties = {
        "amount": {"type": "integer", "description": "How many are ordered."},
        "city": {"type": "string", "description": "Where it goes, the city alone."},
        "express": {"type": "boolean", "description": "Whether it is to be there the next day."},
        "rate": {"type": "float", "description": "The rate of tax, as a share."},
        "note": {"type": "string", "description": "What the driver should know. Default is nothing."},
    }
    required = [name for name in properties if name != "note"]
    parameters = {"type": "dict", "properties": properties, "required": required}
    return {"name": name, "description": f"{_TALK} ({name})", "parameters": parameters}


def _arguments(number: int) -> dict[str, Any]:
    city = ("Oslo", "Sankt Pölten", "San Francisco, CA")[number % 3]
    return {"amount": number, "city": city, "express": number % 2 == 0, "rate": 0.2, "note": "ring twice"}


def _problem(tool: str) -> dict[str, Any]:
    message = "amount: got a string, an integer is needed"
    return {"kind": "wrong_type", "family": "arguments", "path": "/amount", "message": message, "tool": tool}


def _note(tool: str, path: str) -> dict[str, Any]:
    return {"kind": "type", "grade": "typed", "path": path, "before": "7", "after": 7, "tool": tool}


def _suite(folder: Path) -> Any:
    from rightcall.evaluation.benchmarks.bfcl import BfclSuite

    return BfclSuite("multiple", folder)


# -- the steps, each in its own process ----------------------------------------------------------------------------


def score(folder: Path) -> None:
    """Judges every recorded answer of the first run anew and writes the run's file."""
    from dataclasses import replace

    from rightcall.evaluation.run_file import RunFile, read_info, read_records

    suite, recorded = _suite(folder), folder / "first.jsonl"
    with RunFile(folder / "scored.jsonl", read_info(recorded)) as file:
        for case, record in zip(suite.cases(), read_records(recorded), strict=True):
            file.append(replace(record, score=suite.score(case, record.answer)))


def metrics(folder: Path) -> None:
    """Reads a run's file into metrics."""
    from rightcall.evaluation.metrics import measure, metrics_to_json
    from rightcall.evaluation.run_file import read_records

    found = metrics_to_json(measure(read_records(folder / "scored.jsonl")))
    assert 0.5 < found["estimates"]["task_success"]["value"] < 0.75, found["estimates"]["task_success"]


def compare(folder: Path) -> None:
    """Compares two runs' files."""
    from rightcall.evaluation.compare import compare as compared
    from rightcall.evaluation.compare import comparison_to_json, open_run

    comparison_to_json(compared(open_run(folder / "scored.jsonl"), open_run(folder / "second.jsonl")))


def step(name: str, folder: Path) -> None:
    """Runs one step and prints what it took, as JSON; imports are not counted."""
    import rightcall.evaluation.benchmarks.bfcl
    import rightcall.evaluation.compare
    import rightcall.evaluation.metrics  # noqa: F401 - loaded before the clock starts

    before, spent = _peak_mb(), time.process_time()
    began = time.perf_counter()
    {"score": score, "metrics": metrics, "compare": compare}[name](folder)
    took = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - spent}
    print(json.dumps(took | {"imports_mb": before, "peak_mb": _peak_mb()}))


def _peak_mb() -> float:
    """The most that this process held. Linux's `getrusage` counts the parent's memory before exec, so not that."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (2**20 if sys.platform == "darwin" else 1024)


def measure_size(count: int) -> dict[str, Any]:
    """All steps over so many cases."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, count)
        for arm in ARMS:
            write_run(folder / f"{arm}.jsonl", folder, arm)
        found: dict[str, Any] = {"cases": count, "file_mb": (folder / "first.jsonl").stat().st_size / 2**20}
        for each in STEPS:
            command = [sys.executable, __file__, "--step", each, str(folder)]
            child = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - this script
            found[each] = json.loads(child.stdout)
    return found


# -- the report ----------------------------------------------------------------------------------------------------


def run(*, quick: bool, say: Say) -> Part:
    """The row of the cost table, and the growth behind it."""
    need("scipy", "statsmodels")
    growth = []
    for count in QUICK_SIZES if quick else SIZES:
        say(f"scoring and statistics: {count:,} cases")
        growth.append(measure_size(count))
    judged = next((each for each in growth if each["cases"] == JUDGED), growth[-1])
    took = sum(judged[each]["seconds"] for each in STEPS)
    row = Row(
        f"score, metrics and comparison of {judged['cases']:,} recorded cases, one process",
        duration(took),
        "none: the bound is absolute",
        f"{took / BOUND_S:.2f} of the bound",
        f"under {BOUND_S:.0f} s for {JUDGED:,}",
        met=took < BOUND_S * judged["cases"] / JUDGED,
    )
    lines = [
        (
            f"{each['cases']:,}",
            f"{each['file_mb']:.1f} MB",
            *(f"{duration(each[name]['seconds'])}, {_grown(each[name])}" for name in STEPS),
        )
        for each in growth
    ]
    title = "Growth with the number of cases: seconds, and memory on top of the imports"
    remarks = (
        f"of these {duration(took)}, {duration(sum(judged[each]['cpu_seconds'] for each in STEPS))} are CPU time.",
        f"the imports alone take {judged['metrics']['imports_mb']:.0f} MB (scipy, statsmodels).",
        "scoring holds the suite's data file; metrics and comparison hold numbers, never records.",
    )
    table = Table(title, ("cases", "run file", *STEPS), lines)
    return Part("scoring", [row], [table], {"growth": growth, "bound_s": BOUND_S}, remarks)


def _grown(found: dict[str, float]) -> str:
    return f"{found['peak_mb'] - found['imports_mb']:.1f} MB"


if __name__ == "__main__":
    if "--step" in sys.argv:
        step(sys.argv[2], Path(sys.argv[3]))
    else:
        alone(run)
