"""Arguments against the tool's JSON Schema, and messages that a model can act on.

Each message says where, what was got and what is allowed, mechanically: "currency: "GBP_STERLING" is not one
of ["GBP", "EUR"]" is an instruction; "invalid output" is not ("Making Small Models Reliable at Tool-Calling").
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import jsonschema_rs

from rightcall.domain import Problem, ProblemKind, ToolCall
from rightcall.schema.compiled import CompiledTool
from rightcall.schema.references import branches, json_type, own_types, properties, resolve

MAX_PROBLEMS = 10
_MAX_SHOWN = 100

_KINDS = {
    "required": ProblemKind.MISSING_REQUIRED,
    "dependentRequired": ProblemKind.MISSING_REQUIRED,
    "type": ProblemKind.WRONG_TYPE,
    # A value whose form is not the declared one is of the wrong kind, as a wrong type is.
    "format": ProblemKind.WRONG_TYPE,
    "pattern": ProblemKind.WRONG_TYPE,
    "enum": ProblemKind.NOT_IN_ENUM,
    "const": ProblemKind.NOT_IN_ENUM,
    "additionalProperties": ProblemKind.EXTRA_ARGUMENT,
    "unevaluatedProperties": ProblemKind.EXTRA_ARGUMENT,
    "propertyNames": ProblemKind.EXTRA_ARGUMENT,
}


def check_structure(call: ToolCall, tool: CompiledTool) -> tuple[Problem, ...]:
    """What the tool's schema has against a call; empty where it accepts it."""
    if tool.validator is None:
        message = f"{tool.name} cannot be called: {tool.broken}"
        return (Problem(ProblemKind.PROTOCOL, message, tool=tool.name, call_id=call.id),)
    if tool.validator.is_valid(call.arguments):
        return ()
    found: list[Problem] = []
    mistyped: set[str] = set()
    for error in sorted(tool.validator.iter_errors(call.arguments), key=lambda e: e.kind.name != "type"):
        # A value of the wrong type breaks every other rule too; the type says it best.
        found += (problem for problem in _problems(error, call, tool) if problem.path not in mistyped)
        if error.kind.name == "type":
            mistyped.add(_pointer(list(error.instance_path)))
        if len(found) >= MAX_PROBLEMS:
            break
    return tuple(found)


def _problems(error: jsonschema_rs.ValidationError, call: ToolCall, tool: CompiledTool) -> Iterable[Problem]:
    keyword = error.kind.name
    if keyword in {"anyOf", "oneOf"}:
        return [_union_problem(error, call, tool)]
    where = list(error.instance_path)
    kind = _KINDS.get(keyword, ProblemKind.CONSTRAINT)
    facts = error.kind.as_dict()
    if keyword == "required":
        name = str(facts.get("property"))
        return [_missing(name, where, call, tool)]
    if kind is ProblemKind.EXTRA_ARGUMENT:
        return [_extra(str(name), where, call, tool) for name in facts.get("unexpected", ["?"])]
    allowed: Any = facts
    if keyword == "type":
        allowed = _types_of(facts)
        message = (
            f"{_at(where)} must be {_a_type(allowed)}, not {_got(error.instance)}.{_hint(error.instance, allowed)}"
        )
    elif keyword in {"enum", "const"}:
        allowed = facts["options"] if keyword == "enum" else [facts["expected_value"]]
        message = f"{_at(where)}: {_short(error.instance)} is not one of {_short(allowed, 400)}."
    elif keyword == "format":
        allowed = facts["format"]
        message = f"{_at(where)}: {_short(error.instance)} is not a valid {allowed}{_FORMATS.get(allowed, '')}."
    elif keyword == "pattern":
        allowed = facts["pattern"]
        message = f"{_at(where)}: {_short(error.instance)} does not match the pattern {allowed}."
    else:
        message = f"{_at(where)}: {_limit(error.message)}."
    return [Problem(kind, message, _pointer(where), error.instance, allowed, tool.name, call.id)]


def _missing(name: str, where: list[str | int], call: ToolCall, tool: CompiledTool) -> Problem:
    schema = tool.tool.parameters
    parent: Any = schema
    given: Any = call.arguments
    for step in where:
        parent = _child(parent, step, schema)
        given = given[step]
    declared = properties(parent, schema)
    wanted = _described(declared.get(name), schema)
    strange = [key for key in given if key not in declared] if isinstance(given, dict) else []
    seen = f" It got {_short(strange)} instead, which it does not know." if strange else ""
    message = f"{_at([*where, name])} is required and missing{wanted}.{seen}"
    return Problem(ProblemKind.MISSING_REQUIRED, message, _pointer([*where, name]), None, name, tool.name, call.id)


def _extra(name: str, where: list[str | int], call: ToolCall, tool: CompiledTool) -> Problem:
    schema = tool.tool.parameters
    parent = schema
    for step in where:
        parent = _child(parent, step, schema)
    known = list(properties(parent, schema))
    message = f"{_at([*where, name])} is not an argument of {tool.name}. Allowed: {_short(known, 400)}."
    return Problem(ProblemKind.EXTRA_ARGUMENT, message, _pointer([*where, name]), name, known, tool.name, call.id)


def _union_problem(error: jsonschema_rs.ValidationError, call: ToolCall, tool: CompiledTool) -> Problem:
    """The nearest alternative's complaint, or the types of all of them where none is near."""
    where = list(error.instance_path)
    alternatives = error.kind.as_dict().get("context") or []
    if not all(alternatives) or not alternatives:
        message = f"{_at(where)}: {_short(error.instance)} fits more than one of the allowed forms."
        return Problem(ProblemKind.AMBIGUOUS, message, _pointer(where), error.instance, None, tool.name, call.id)
    shaped = [
        errors
        for errors in alternatives
        if errors and not any(e.kind.name == "type" and list(e.instance_path) == where for e in errors)
    ]
    if shaped:
        nearest = min(shaped, key=len)
        return next(iter(_problems(nearest[0], call, tool)))
    allowed = sorted({name for errors in alternatives for e in errors for name in _types_of(e.kind.as_dict())})
    message = f"{_at(where)} must be {_a_type(allowed)}, not {_got(error.instance)}.{_hint(error.instance, allowed)}"
    return Problem(ProblemKind.WRONG_TYPE, message, _pointer(where), error.instance, allowed, tool.name, call.id)


# -- the words of messages ---------------------------------------------------------------------------------

_FORMATS = {
    "date": " (YYYY-MM-DD, a day that exists)",
    "date-time": " (YYYY-MM-DDThh:mm:ssZ)",
    "time": " (hh:mm:ss)",
    "email": " address",
    "uri": " (with its scheme, such as https://)",
}


def display_path(where: Sequence[str | int]) -> str:
    """A path as people and models write it: `steps[1].cost`."""
    text = ""
    for step in where:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _at(where: Sequence[str | int]) -> str:
    return display_path(where) or "the arguments"


def _pointer(where: Sequence[str | int]) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in where)


def _types_of(facts: dict[str, Any]) -> list[str]:
    types = facts.get("types", facts.get("type", []))
    return [types] if isinstance(types, str) else list(types)


def _a_type(names: Sequence[str]) -> str:
    articles = {"integer": "an integer", "object": "an object", "array": "an array", "null": "null"}
    return " or ".join(articles.get(name, f"a {name}") for name in names) or "of another type"


def _got(value: Any) -> str:
    return "null" if value is None else f"the {json_type(value)} {_short(value)}"


def _hint(value: Any, allowed: Sequence[str]) -> str:
    """What to do about a list where one value is due: the fault of a call that wants to be several."""
    if isinstance(value, list) and len(value) > 1 and "array" not in allowed:
        return f" It takes one value: make one call for each of the {len(value)}."
    return ""


def _described(schema: Any, root: Any) -> str:
    resolved = resolve(schema, root) if schema is not None else None
    if not isinstance(resolved, dict):
        return ""
    types = sorted({name for branch in branches(resolved, root) for name in own_types(branch)})
    text = str(resolved.get("description", "")).strip().split("\n")[0][:120]
    shown = ", ".join(part for part in (" or ".join(types), text) if part)
    return f" ({shown})" if shown else ""


def _child(schema: Any, step: str | int, root: Any) -> Any:
    schema = resolve(schema, root)
    if not isinstance(schema, dict):
        return {}
    if isinstance(step, int):
        return schema.get("items", {})
    for branch in branches(schema, root):
        found = properties(branch, root).get(step)
        if found is not None:
            return found
    return {}


def _short(value: Any, limit: int = _MAX_SHOWN) -> str:
    return _limit(json.dumps(value, ensure_ascii=False, default=str), limit)


def _limit(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
