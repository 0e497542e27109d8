"""Real replies of two small models on BFCL tasks: every reply that holds the right call yields it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rightcall import ProblemKind
from rightcall.evaluation.match import same_calls
from rightcall.openai_chat import reply_from_json, request_from_json
from rightcall.turn import read_reply

# Says "Here's an example of how you can do it" around the call: an example inside an explanation is not a call.
# It is `ambiguous`, so a turn asks the model what it meant.
PRESENTED_AS_AN_EXAMPLE = {("0.5b", "multiple_138")}
# Right calls by category, of 40 simple_python, 30 multiple, 15 parallel.
RIGHT = {
    "0.5b": {"simple_python": 35, "multiple": 25, "parallel": 0},
    "1.5b": {"simple_python": 36, "multiple": 29, "parallel": 1},
}


def _recorded(shared: Path, size: str) -> list[dict[str, Any]]:
    lines = (shared / "recordings" / f"qwen2.5-coder-{size}.bfcl.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("size", ["0.5b", "1.5b"])
def test_every_reply_that_holds_the_right_call_yields_it(shared: Path, size: str) -> None:
    right: Counter[str] = Counter()
    for entry in _recorded(shared, size):
        if entry["answer"] is None:
            continue
        reading = read_reply(reply_from_json(entry["response"]), request_from_json(entry["request"]).tools)
        if (size, entry["id"]) in PRESENTED_AS_AN_EXAMPLE:
            assert [problem.kind for problem in reading.problems] == [ProblemKind.AMBIGUOUS]
        right[entry["cat"]] += same_calls(reading.calls, entry["answer"])
    assert {category: right[category] for category in RIGHT[size]} == RIGHT[size]


@pytest.mark.parametrize("size", ["0.5b", "1.5b"])
def test_a_call_of_a_tool_that_was_not_offered_is_never_made(shared: Path, size: str) -> None:
    for entry in _recorded(shared, size):
        tools = request_from_json(entry["request"]).tools
        reading = read_reply(reply_from_json(entry["response"]), tools)
        assert {call.name for call in reading.calls} <= {tool.name for tool in tools}
