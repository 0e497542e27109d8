"""A small experiment in a folder of its own, and models that answer it in a known way."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rightcall import ModelReply, ModelRequest
from rightcall.evaluation.ablation.plan import Plan
from rightcall.evaluation.ablation.plan_file import load_plan
from rightcall.evaluation.models import ModelEntry, OpenModel
from rightcall.providers.scripted import ScriptedModel, calls, text

OPERATIONS = """
from pathlib import Path

def read_file(path):
    if path.startswith("/"):
        raise PermissionError("outside")
    return Path(path).read_text()

def list_directory(path="."):
    return sorted(entry.name for entry in Path(path).iterdir())

def one_tool(tool, arguments):
    action = arguments["action"]
    return {"read": "read_file", "list": "list_directory"}[action], {"path": arguments["path"]}

def every_call_reads(calls):
    return all(call["function"] == "read_file" for call in calls)

def mentions_hello(results):
    return any("hello" in result for result in results)
"""

PLAN = """
name = "small"
models = ["scripted"]
control = "A"
repeats = 1
tasks = "tasks.toml"

[sampling]
temperature = 0.5
seed = 3

[decisions]
delta = 0.5

[power]
task_variance = 0.1

[fixture]
folder = "files"
module = "operations.py"
seconds = 5

[[variants]]
name = "A"

[[variants.tools]]
name = "read_file"
description = "Reads a file."
[variants.tools.parameters]
type = "object"
required = ["path"]
additionalProperties = false
[variants.tools.parameters.properties.path]
type = "string"

[[variants]]
name = "B"
functions = { get = "read_file" }

[[variants.tools]]
name = "get"
[variants.tools.parameters]
type = "object"
required = ["path"]
[variants.tools.parameters.properties.path]
type = "string"

[[variants]]
name = "none"
tools = []
"""


def tasks_toml(families: int = 7, each: int = 1) -> str:
    """Tasks that read `N.txt`, which holds "hello N"; the last family wants no call."""
    rows = []
    for family in range(families - 1):
        for number in range(each):
            name = f"{family}-{number}"
            rows.append(
                f'[[tasks]]\nid = "{name}"\nfamily = "f{family}"\nprompt = "read {name}.txt"\n'
                f'expected = [{{ function = "read_file", arguments = {{ path = "{name}.txt" }} }}]\n'
                f'evidence = ["hello {name}"]\nclaims = ["hello"]\n'
            )
    rows.append('[[tasks]]\nid = "explain"\nfamily = "explain"\nprompt = "what is a file?"\nexpected = []\n')
    return "\n".join(rows)


def write_plan(folder: Path, plan: str = PLAN, tasks: str | None = None, operations: str = OPERATIONS) -> Path:
    """The experiment's files; returns the plan's."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "plan.toml"
    path.write_text(plan, encoding="utf-8")
    (folder / "tasks.toml").write_text(tasks or tasks_toml(), encoding="utf-8")
    (folder / "operations.py").write_text(operations, encoding="utf-8")
    files = folder / "files"
    files.mkdir(exist_ok=True)
    for task in tomllib.loads(tasks or tasks_toml())["tasks"]:
        (files / f"{task['id']}.txt").write_text(f"hello {task['id']}", encoding="utf-8")
    return path


def small(folder: Path, plan: str = PLAN, **files: Any) -> Plan:
    """The experiment, loaded."""
    return load_plan(write_plan(folder, plan, **files))


def prompt_of(request: ModelRequest) -> str:
    """What the task asks."""
    return next(str(message["content"]) for message in request.messages if message["role"] == "user")


def right(request: ModelRequest) -> ModelReply:
    """Reads the file that the prompt names with whatever tool there is; explains what is to be explained."""
    prompt = prompt_of(request)
    if not prompt.startswith("read ") or not request.tools:
        return text("A file is a sequence of bytes.")
    return calls((request.tools[0].name, {"path": prompt.removeprefix("read ")}))


def wrong_under(*tools: str) -> Callable[[ModelRequest], ModelReply]:
    """Right, but for a neighbouring file where one of these tools is offered."""

    def answer(request: ModelRequest) -> ModelReply:
        if request.tools and request.tools[0].name in tools:
            return calls((request.tools[0].name, {"path": "explain.txt"}))
        return right(request)

    return answer


def model_of(
    *steps: Any, build: str = "build-1", always: Callable[[ModelRequest], ModelReply] | None = None
) -> OpenModel:
    """A scripted model: the steps, then `always` for every later question."""
    script: Sequence[Any] = [*steps, *([always] * 2000 if always else [])]
    return OpenModel(ModelEntry("scripted", upstream="http://127.0.0.1:1"), ScriptedModel(script), "scripted", build)
