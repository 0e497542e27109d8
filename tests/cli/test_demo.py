"""The demo: its tasks are sound, and with a real small model rightcall gets more right than the bare server."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rightcall.domain import ToolCall
from rightcall.evaluation.demo import demo_tasks
from rightcall.evaluation.match import same_calls
from rightcall.openai_chat import tools_from_json
from rightcall.schema.compiled import compile_tools
from rightcall.validation.structure import check_structure


def test_every_expected_call_of_the_demo_is_valid_under_its_tool() -> None:
    tasks = demo_tasks()
    assert len(tasks) == 20
    for task in tasks:
        tools = compile_tools(tools_from_json(list(task.tools)))
        assert not tools.problems
        for answer in task.answers:
            ((name, allowed),) = answer.items()
            arguments = {key: values[0] for key, values in allowed.items()}
            call = ToolCall("1", name, arguments)
            assert check_structure(call, tools.by_name[name]) == ()
            assert same_calls([call], [answer])


@pytest.mark.live
@pytest.mark.timeout(900)
def test_the_demo_runs_with_the_small_model_and_shows_both_sides() -> None:
    command = [sys.executable, "-m", "rightcall", "demo", "--limit", "4", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=850, check=False)
    assert done.returncode == 0, done.stderr
    sides = json.loads(done.stdout)["sides"]
    assert sides["bare"]["right"] == 0
    assert sides["rightcall"]["right"] >= 3
