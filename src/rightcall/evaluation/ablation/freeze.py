"""What is fixed before the first request, as data, with its hash: nobody can change it afterwards in silence.

Source: research on evaluation statistics, design point 1 (freeze and hash control, primary endpoint, alpha, n, r,
delta, family map and stop rule before running).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from rightcall.evaluation.ablation.plan import Plan, Task, Variant
from rightcall.evaluation.cases import Accepted
from rightcall.openai_chat import tool_to_json
from rightcall.schema.fingerprint import canonical_json, toolset_fingerprint

FORMAT = 1
_SHOWN = 60
_MAX_DIFFERENCES = 8


def frozen(plan: Plan, *, model: str, build: str, snapshot: str, module: str) -> dict[str, Any]:
    """Everything that decides the outcome, in a normal form: the order of keys and the file's layout are not in it.

    Args:
        plan: the experiment.
        model: the model's name in the plan.
        build: what is known of the model behind it.
        snapshot: digest of the fixture's folder.
        module: digest of the fixture's Python file.
    """
    return {
        "format": FORMAT,
        "rightcall": version("rightcall"),
        "name": plan.name,
        "model": {"name": model, "build": build},
        "sampling": dict(plan.sampling),
        "arm": {"name": plan.arm.name, **plan.arm.settings},
        "control": plan.control,
        **asdict(plan.decisions),
        "n": len(plan.tasks),
        "repeats": plan.repeats,
        "turns": plan.turns,
        "seed": plan.seed,
        "families": {task.id: task.family for task in plan.tasks},
        "fixture": {"folder": snapshot, "module": module, "seconds": plan.fixture.seconds},
        "variants": {variant.name: _variant(variant) for variant in plan.variants},
        "tasks": {task.id: _task(task) for task in plan.tasks},
    }


def frozen_hash(data: Mapping[str, Any]) -> str:
    """`sha256:` over the canonical JSON (RFC 8785) of what is frozen."""
    return f"sha256:{hashlib.sha256(canonical_json(data)).hexdigest()}"


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What changed, a line each: where, what it was, what it is."""
    found = list(_changes(before, after, ""))
    if len(found) > _MAX_DIFFERENCES:
        found = [*found[:_MAX_DIFFERENCES], f"and {len(found) - _MAX_DIFFERENCES} more"]
    return found


def _changes(before: Any, after: Any, where: str) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            place = f"{where}.{key}" if where else str(key)
            if key not in after:
                yield f"{place} is gone"
            elif key not in before:
                yield f"{place} is new"
            else:
                yield from _changes(before[key], after[key], place)
    elif canonical_json(before) != canonical_json(after):
        yield f"{where} was {_short(before)}, is {_short(after)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _variant(variant: Variant) -> dict[str, Any]:
    return {
        "toolset": toolset_fingerprint(variant.tools),
        "tools": [tool_to_json(tool) for tool in variant.tools],
        "functions": {tool: list(functions) for tool, functions in variant.operations.items()},
        "calls": variant.adapter,
    }


def _task(task: Task) -> dict[str, Any]:
    return {
        "messages": [dict(message) for message in task.messages],
        "expected": {name: [_calls(calls) for calls in accepted] for name, accepted in task.expected.items()},
        "right": task.right,
        "capable": sorted(task.capable),
        "evidence": asdict(task.evidence),
        "claims": list(task.claims),
        "refusal": task.refusal,
        "normaliser": {name: list(rules) for name, rules in task.normaliser.items()},
    }


def _calls(calls: Accepted) -> list[dict[str, Any]]:
    return [
        {
            "function": call.name,
            "arguments": None
            if call.arguments is None
            else {name: list(values) for name, values in call.arguments.items()},
            "optional": sorted(call.optional),
        }
        for call in calls
    ]
