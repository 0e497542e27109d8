"""The scorer against BFCL's own checker, on recorded answers and on what they become when something is changed.

`RIGHTCALL_BFCL_EVAL` names a folder with the original, put there without its dependencies:

    pip install --no-deps --require-hashes --target FOLDER -r requirements/bfcl-eval.txt

Its table of models, which imports every vendor's SDK, is replaced by one entry: a model whose names have `_` for `.`.
"""

from __future__ import annotations

import copy
import importlib
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from rightcall.domain import ToolCall
from rightcall.evaluation.benchmarks.bfcl import CATEGORIES, BfclSuite
from rightcall.evaluation.benchmarks.bfcl_checker import check_calls
from rightcall.evaluation.cases import Answer, Case
from rightcall.openai_chat import reply_from_json, request_from_json
from rightcall.turn import read_reply

AST_CATEGORIES = [category for category in CATEGORIES if "relevance" not in category]
Calls = list[dict[str, Any]]
Original = Callable[[Case, Calls], bool | None]


@pytest.fixture(scope="module")
def original() -> Iterator[Original]:
    """The original's verdict; None where it stops with an exception."""
    folder = os.environ.get("RIGHTCALL_BFCL_EVAL")
    if not folder:
        pytest.skip("the original checker is not here; set RIGHTCALL_BFCL_EVAL as this file's docstring says")
    models = ModuleType("bfcl_eval.constants.model_config")
    models.MODEL_CONFIG_MAPPING = {"any": SimpleNamespace(underscore_to_dot=True)}  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setitem(sys.modules, models.__name__, models)
        checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
        python = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON

        def verdict(case: Case, calls: Calls) -> bool | None:
            gold = copy.deepcopy(case.gold)
            try:
                result = checker.ast_checker(
                    gold["function"], copy.deepcopy(calls), gold["ground_truth"], python, case.tags[0], "any"
                )
            except (TypeError, KeyError, AttributeError, IndexError, ValueError):
                return None
            return bool(result["valid"])

        yield verdict
        for name in [name for name in sys.modules if name.partition(".")[0] == "bfcl_eval"]:
            del sys.modules[name]


def _ours(case: Case, calls: Calls) -> bool:
    return check_calls(case.gold["function"], calls, case.gold["ground_truth"], case.tags[0])


def _cases(shared: Path, category: str) -> dict[str, Case]:
    return {case.id: case for case in BfclSuite(category, shared / "data").cases()}


def _right(case: Case, rng: random.Random) -> Calls:
    """Right calls as our own accepted values have them, with optional arguments given or left out."""
    return [
        {
            wanted.name: {
                key: copy.deepcopy(rng.choice(values))
                for key, values in (wanted.arguments or {}).items()
                if values and not (key in wanted.optional and rng.random() < 0.5)
            }
        }
        for wanted in case.accepted[0]
    ]


def _other_value(value: Any, rng: random.Random) -> Any:
    """A value near to a given one: another type, another spelling, more or less of it."""
    near: list[Any] = [str(value), None, [value], {"value": value}, "", [], {}, True]
    if isinstance(value, str):
        near += [
            value.upper(),
            value.lower(),
            value.replace(" ", ""),
            f"{value}.",
            value[:-1],
            value.replace("'", '"'),
        ]
        near += [f" {value}-", list(value)]
    if isinstance(value, int | float):
        near += [value + 1, -value, float(value), int(value), bool(value), value + 0.5]
    if isinstance(value, list):
        near += [value[:-1], value[::-1], value + value[:1], [*value, "x"], *value[:1]]
        if value:
            index = rng.randrange(len(value))
            near += [[*value[:index], _other_value(value[index], rng), *value[index + 1 :]]] * 6
    if isinstance(value, dict):
        near += [dict(reversed(value.items())), {**value, "more": 1}]
        if value:
            key = rng.choice(list(value))
            near += [{name: item for name, item in value.items() if name != key}]
            near += [{**value, key: _other_value(value[key], rng)}] * 6
    return rng.choice(near)


def _mutated(calls: Calls, case: Case, rng: random.Random) -> Calls:
    """Calls with one thing changed."""
    calls = copy.deepcopy(calls)
    if not calls:
        return [{rng.choice(case.tools).name: {}}]
    index = rng.randrange(len(calls))
    ((name, arguments),) = calls[index].items()
    match rng.choice(["value"] * 6 + ["drop", "add", "rename", "name", "order", "fewer", "more"]):
        case "value" if arguments:
            key = rng.choice(list(arguments))
            arguments[key] = _other_value(arguments[key], rng)
        case "drop" if arguments:
            del arguments[rng.choice(list(arguments))]
        case "add":
            declared = [key for tool in case.tools for key in tool.parameters["properties"]]
            arguments[rng.choice([*declared, "invented"])] = rng.choice(["", 1, 1.5, True, [], {}, "x"])
        case "rename" if arguments:
            key = rng.choice(list(arguments))
            arguments[key.upper()] = arguments.pop(key)
        case "name":
            calls[index] = {rng.choice([*(tool.name for tool in case.tools), name.upper(), f"{name}s"]): arguments}
        case "order":
            rng.shuffle(calls)
        case "fewer":
            del calls[index]
        case "more":
            calls.insert(rng.randrange(len(calls) + 1), copy.deepcopy(calls[index]))
        case _:
            pass
    return calls


@pytest.mark.parametrize("category", AST_CATEGORIES)
def test_the_verdict_is_the_originals_on_right_answers_and_on_mutated_ones(
    shared: Path, original: Original, category: str
) -> None:
    rng = random.Random(f"mutations of {category}")  # noqa: S311
    seen: Counter[str] = Counter()
    cases = _cases(shared, category)
    for case in cases.values():
        for _ in range(max(5, 3000 // len(cases))):
            calls = _right(case, rng)
            for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
                calls = _mutated(calls, case, rng)
            theirs, ours = original(case, calls), _ours(case, calls)
            seen[f"{theirs}"] += 1
            # Where the original stops with an exception it has no verdict; the call is wrong.
            assert ours is bool(theirs), (case.id, calls, case.gold["ground_truth"])
    assert min(seen["True"], seen["False"]) > 500, seen


@pytest.mark.parametrize("size", ["0.5b", "1.5b"])
def test_the_verdict_is_the_originals_on_every_recorded_reply(shared: Path, original: Original, size: str) -> None:
    suites = {category: _cases(shared, category) for category in ("simple_python", "multiple", "parallel")}
    right = 0
    for line in (shared / "recordings" / f"qwen2.5-coder-{size}.bfcl.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["cat"] not in suites:
            continue
        case = suites[entry["cat"]][entry["id"]]
        reading = read_reply(reply_from_json(entry["response"]), request_from_json(entry["request"]).tools)
        calls = [{call.name: call.arguments} for call in reading.calls]
        assert _ours(case, calls) is original(case, calls), case.id
        right += _ours(case, calls)
    assert right > 50


def test_the_suites_score_is_the_checkers(shared: Path) -> None:
    suite = BfclSuite("parallel", shared / "data")
    case = next(iter(suite.cases()))
    rng = random.Random(1)  # noqa: S311
    for calls in (_right(case, rng), _right(case, rng)[::-1], _right(case, rng)[:1]):
        made = tuple(ToolCall("", name, arguments) for call in calls for name, arguments in call.items())
        score = suite.score(case, Answer("calls", made, valid=True))
        assert score.success is _ours(case, calls)
        assert score.original == {"accuracy": float(score.success)}
