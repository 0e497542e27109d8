"""The tasks of a plan, read and checked against its variants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightcall.domain import Message
from rightcall.errors import UsageError
from rightcall.evaluation.ablation.plan import Evidence, Task, Variant
from rightcall.evaluation.ablation.tables import Table, identifier, require_unique
from rightcall.evaluation.cases import Accepted, ExpectedCall
from rightcall.evaluation.normalise import RULES, unknown_rule
from rightcall.text_files import read_toml

_TASK = (
    "id", "family", "prompt", "messages", "expected", "right", "capable", "evidence", "evidence_pattern",
    "evidence_check", "claims", "refusal", "normaliser",
)  # fmt: skip
_CALL = ("function", "arguments", "optional")


def load_tasks(table: Table, path: Path, variants: Sequence[Variant]) -> tuple[Task, ...]:
    """The tasks of a plan's table, which stand in it or in a file of their own.

    Raises:
        UsageError: which task cannot be used, and why.
    """
    if isinstance(table.raw("tasks"), str):
        path = table.path("tasks", path.parent)
        table = Table(read_toml(path), str(path), ("tasks",))
    tasks = tuple(_task(row, number, path, variants) for number, row in enumerate(table.rows("tasks"), start=1))
    require_unique("task", [task.id for task in tasks], path)
    return tasks


def _task(row: Any, number: int, path: Path, variants: Sequence[Variant]) -> Task:
    table = Table(row, f"{path}: task {number}", _TASK)
    name = table.text("id")
    table.where = f"{path}: task {name!r}"
    if ("expected" in table) == ("right" in table):
        raise UsageError(f"{table.where} needs either 'expected' (the right calls) or 'right' (a function)")
    task = Task(
        id=name,
        family=table.text("family"),
        messages=_messages(table),
        expected=_expected(table, variants) if "expected" in table else {},
        right=table.text("right", ""),
        capable=frozenset(table.texts("capable")),
        evidence=Evidence(
            table.texts("evidence"), _patterns(table, "evidence_pattern"), table.text("evidence_check", "")
        ),
        claims=_patterns(table, "claims"),
        refusal=table.flag("refusal"),
        normaliser=_normaliser(table),
    )
    for function in (*task.capable, task.right, task.evidence.check):
        if function:
            identifier(function, table.where)
    _check_task(task, table.where, variants)
    return task


def _check_task(task: Task, where: str, variants: Sequence[Variant]) -> None:
    if task.negative:
        if task.evidence != Evidence():
            raise UsageError(f"{where} wants no call, so there is no evidence to return; leave it out")
        return
    if task.refusal:
        raise UsageError(f"{where} wants a call; `refusal` is for tasks where no call is right (expected = [])")
    if task.evidence == Evidence():
        raise UsageError(
            f"{where} needs what a result must hold for level 4: evidence, evidence_pattern or evidence_check"
        )
    if task.right and not task.capable:
        raise UsageError(f"{where}: beside 'right' name the functions that can do the task: capable = [...]")
    for variant in variants:
        if variant.baseline:
            continue
        offered = {function for functions in variant.operations.values() for function in functions}
        wanted = task.accepted(variant)
        if not task.right and not any(all(call.name in offered for call in calls) for calls in wanted):
            raise UsageError(
                f"{where}: no right answer can be given under variant {variant.name!r}, whose tools stand for"
                f" {', '.join(sorted(offered))}; add one for it, or mend the variant's functions"
            )


def _messages(table: Table) -> tuple[Message, ...]:
    if ("prompt" in table) == ("messages" in table):
        raise UsageError(f"{table.where} needs either 'prompt' or 'messages'")
    if "prompt" in table:
        return ({"role": "user", "content": table.text("prompt")},)
    rows = table.rows("messages")
    for message in rows:
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise UsageError(f"{table.where}: a message has a role and content, not {message!r}")
    return tuple(dict(message) for message in rows)


def _expected(table: Table, variants: Sequence[Variant]) -> dict[str, tuple[Accepted, ...]]:
    value = table.raw("expected")
    if not isinstance(value, Mapping):
        return {"": _alternatives(value, table.where)}
    named = Table(value, f"{table.where}: expected", [variant.name for variant in variants])
    missing = [v.name for v in variants if not v.baseline and v.name not in named]
    if missing:
        raise UsageError(f"{named.where} has no entry for variant {missing[0]!r}")
    found = {key: _alternatives(item, f"{named.where}.{key}") for key, item in value.items()}
    if len({any(alternatives) for alternatives in found.values()}) > 1:
        raise UsageError(f"{named.where}: a call is right under one variant and none under another; use two tasks")
    return found


def _alternatives(value: Any, where: str) -> tuple[Accepted, ...]:
    """`[]`: none is right; a list of calls: all of them are wanted; a list of lists: any one of those will do."""
    if not isinstance(value, list):
        raise UsageError(f"{where}: expected must be a list of calls, or a list of such lists, not {value!r}")
    if value and all(isinstance(item, list) for item in value):
        if not all(value):
            raise UsageError(f"{where}: an alternative is empty; a task either wants a call or does not")
        return tuple(tuple(_call(entry, where) for entry in item) for item in value)
    return (tuple(_call(entry, where) for entry in value),)


def _call(value: Any, where: str) -> ExpectedCall:
    table = Table(value, f"{where}: expected", _CALL)
    function = identifier(table.text("function"), table.where)
    arguments = {
        key: tuple(item) if isinstance(item, list) else (item,) for key, item in table.mapping("arguments").items()
    }
    optional = frozenset(table.texts("optional"))
    if strange := optional - arguments.keys():
        raise UsageError(f"{table.where}: optional names {min(strange)!r}, which is not among the arguments")
    return ExpectedCall(function, arguments if "arguments" in table else None, optional)


def _patterns(table: Table, key: str) -> tuple[str, ...]:
    for pattern in table.texts(key):
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(f"{table.where}: {key} {pattern!r} is no regular expression: {error}") from error
    return table.texts(key)


def _normaliser(table: Table) -> dict[str, tuple[str, ...]]:
    given = table.mapping("normaliser")
    rules = Table(given, f"{table.where}: normaliser", list(given))
    found = {key: rules.texts(key) for key in given}
    for names in found.values():
        for name in names:
            if name not in RULES:
                raise UsageError(f"{rules.where}: {unknown_rule(name)}")
    return found
