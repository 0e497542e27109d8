"""A plan from its TOML file. Everything is checked before anything is asked; `docs/ablation.md` has an example."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightcall.domain import Tool
from rightcall.errors import UsageError
from rightcall.evaluation.ablation.plan import LEVELS, Assumptions, Decisions, FixtureSpec, Plan, Variant
from rightcall.evaluation.ablation.plan_tasks import load_tasks
from rightcall.evaluation.ablation.tables import Table, identifier, require_unique
from rightcall.evaluation.arms import load_arm
from rightcall.openai_chat import tools_from_json
from rightcall.schema.compiled import compile_tools
from rightcall.text_files import read_toml

_PLAN = (
    "name", "models", "control", "arm", "repeats", "turns", "seed", "sampling", "fixture", "decisions", "power",
    "variants", "tasks",
)  # fmt: skip
_FIXTURE = ("folder", "module", "seconds")
_DECISIONS = ("endpoint", "alpha", "delta", "stop", "pilot")
_POWER = ("power", "task_variance", "control_variance", "variant_variance")
_VARIANT = ("name", "tools", "functions", "calls", "search")
_MAX_TURNS = 8
_MAX_REPEATS = 1000


def load_plan(path: Path) -> Plan:
    """The plan in a file; relative paths in it start from the file's folder.

    Raises:
        UsageError: what in the plan cannot be used, and what is allowed.
    """
    folder = path.parent
    table = Table(read_toml(path), str(path), _PLAN)
    variants = tuple(_variant(row, number, path) for number, row in enumerate(table.rows("variants"), start=1))
    require_unique("variant", [variant.name for variant in variants], path)
    plan = Plan(
        name=_name(table.text("name"), path),
        models=table.texts("models"),
        control=table.text("control"),
        variants=variants,
        tasks=load_tasks(table, path, variants),
        fixture=_fixture(table.mapping("fixture"), path),
        decisions=_decisions(table.mapping("decisions"), path),
        assumptions=_assumptions(table.mapping("power"), path),
        arm=load_arm(_arm(table.text("arm", "parse"), folder)),
        repeats=table.whole("repeats", 1, 1, _MAX_REPEATS),
        turns=table.whole("turns", 1, 1, _MAX_TURNS),
        seed=table.whole("seed", 0, 0),
        sampling=table.mapping("sampling"),
    )
    _check(plan, path)
    return plan


def _check(plan: Plan, path: Path) -> None:
    """What only shows when the parts are seen together."""
    names = [variant.name for variant in plan.variants]
    if not plan.models:
        raise UsageError(f"{path}: models is empty; name at least one")
    if plan.control not in names:
        raise UsageError(f"{path}: the control {plan.control!r} is no variant; there are {', '.join(names)}")
    if len(names) < 2:  # noqa: PLR2004 - a comparison has two sides
        raise UsageError(f"{path} has one variant; a comparison needs at least two")
    if next(variant for variant in plan.variants if variant.name == plan.control).baseline:
        raise UsageError(f"{path}: the control {plan.control!r} has no tools; take a variant with tools")
    if all(task.negative for task in plan.tasks):
        raise UsageError(f"{path}: no task needs a call, so there is nothing to acquire; add positive tasks")
    threshold = plan.decisions.alpha / len(plan.compared)
    if plan.decisions.stop == "fixed" and not plan.decisions.pilot and plan.smallest_p() > threshold:
        needed = len(plan.families)
        while 2.0 ** (1 - needed) > threshold:
            needed += 1
        raise UsageError(
            f"{path}: {len(plan.families)} families cannot show any difference: the smallest p-value of their sign"
            f" flips is {plan.smallest_p():.3g}, and Holm's first step of {len(plan.compared)} comparisons asks for"
            f" {threshold:.3g}. Use at least {needed} families, fewer variants, or say `pilot = true` under"
            " [decisions] to estimate variances without p-values"
        )


# -- variants ---------------------------------------------------------------------------------------------------


def _variant(row: Any, number: int, path: Path) -> Variant:
    table = Table(row, f"{path}: variant {number}", _VARIANT)
    name = table.text("name")
    table.where = f"{path}: variant {name!r}"
    if "search" in table:
        raise UsageError(
            f"{table.where} sets search: offering tools through search and load needs the catalogue's search, which"
            " this version of rightcall does not have yet. Offer the tools themselves, or leave the variant out"
        )
    tools = _tools(table.raw("tools"), table.where, path.parent)
    if not tools:
        return Variant(name)
    compiled = compile_tools(tools)
    if compiled.problems:
        raise UsageError(f"{table.where}: {compiled.problems[0].message}")
    operations = _operations(table, tools)
    adapter = table.text("calls", "")
    several = [tool for tool, functions in operations.items() if len(functions) > 1]
    if several and not adapter:
        raise UsageError(
            f"{table.where}: the tool {several[0]!r} may stand for {', '.join(operations[several[0]])}; name the"
            " function of the fixture that says which is meant: calls = ..."
        )
    return Variant(name, tools, operations, adapter)


def _tools(value: Any, where: str, folder: Path) -> tuple[Tool, ...]:
    if value is None:
        raise UsageError(f"{where} needs 'tools': a JSON file, a list of tools, or an empty list for the baseline")
    if isinstance(value, str):
        file = folder / value
        try:
            value = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{where}: the tools file {file} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise UsageError(f"{where}: the tools file {file} is no JSON: {error}") from error
    try:
        return tools_from_json(value)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error


def _operations(table: Table, tools: Sequence[Tool]) -> dict[str, tuple[str, ...]]:
    given = Table(table.mapping("functions"), f"{table.where}: functions", [tool.name for tool in tools])
    operations = {tool.name: given.texts(tool.name) or (tool.name,) for tool in tools}
    for functions in operations.values():
        for function in functions:
            identifier(function, f"{table.where}: functions")
    return operations


# -- the rest ---------------------------------------------------------------------------------------------------


def _fixture(values: Mapping[str, Any], path: Path) -> FixtureSpec:
    table = Table(values, f"{path}: [fixture]", _FIXTURE)
    folder, module = table.path("folder", path.parent), table.path("module", path.parent)
    if not folder.is_dir():
        raise UsageError(f"{table.where}: folder {folder} is no folder")
    if not module.is_file():
        raise UsageError(f"{table.where}: module {module} is no file")
    return FixtureSpec(folder, module, table.number("seconds", 10.0, 0.1, 3600))


def _decisions(values: Mapping[str, Any], path: Path) -> Decisions:
    table, usual = Table(values, f"{path}: [decisions]", _DECISIONS), Decisions()
    return Decisions(
        endpoint=table.choice("endpoint", usual.endpoint, LEVELS),
        alpha=table.number("alpha", usual.alpha, 0.0001, 0.5),
        delta=table.number("delta", usual.delta, 0.001, 1.0),
        stop=table.choice("stop", usual.stop, ("fixed", "e-process")),
        pilot=table.flag("pilot"),
    )


def _assumptions(values: Mapping[str, Any], path: Path) -> Assumptions:
    table, usual = Table(values, f"{path}: [power]", _POWER), Assumptions()
    return Assumptions(
        power=table.number("power", usual.power, 0.05, 0.999),
        task_variance=table.number("task_variance", 0.0, 0.0, 1.0) if "task_variance" in table else None,
        control_variance=table.number("control_variance", usual.control_variance, 0.0, 0.25),
        variant_variance=table.number("variant_variance", usual.variant_variance, 0.0, 0.25),
    )


def _arm(text: str, folder: Path) -> str:
    return str(folder / text) if text.endswith(".toml") else text


def _name(text: str, path: Path) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text):
        raise UsageError(f"{path}: name is {text!r}; letters, digits, dot, dash and underscore make a file's name")
    return text
