"""JSON envelopes: which objects are calls. Shared by every dialect that carries JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rightcall.parsing.dialects.base import Context, RawCall
from rightcall.parsing.json_reader import read_json_at
from rightcall.parsing.names import fold, match_name
from rightcall.parsing.unreadable import Unreadable

NAME_KEYS = ("name", "tool_name", "function_name", "tool", "function", "action", "recipient_name")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "params", "kwargs")
NO_ARGUMENTS, KEYED_BY_NAME = "no_arguments", "keyed_by_name"
_BESIDE = frozenset(("id", "type", "tool_call_id", "call_id", "index", "thought", "reasoning", "description"))
_SEPARATOR = re.compile(r"[\s,;﻿]*")
_CALL_BEGINS = re.compile(rf"""[\[\s]*\{{\s*["'](?:{"|".join(NAME_KEYS)}|type|id)["']\s*:""")
LOOKS_LIKE_CALL = re.compile(rf"""["'“](?:{"|".join(NAME_KEYS)}|tool_calls|tool_uses)["'”]\s*:""")


def calls_in(value: Any, context: Context, *, marked: bool) -> list[RawCall] | None:
    """The calls that a JSON value holds, or None where it is no call.

    `marked` says that a marker already called it a call, so that an unknown name or odd keys are faults of a
    call rather than signs of plain data.
    """
    if isinstance(value, list):
        found: list[RawCall] = []
        for item in value:
            inner = calls_in(item, context, marked=marked)
            if inner is None:
                return None
            found += inner
        return found or None
    if not isinstance(value, Mapping):
        return None
    for wrapper in ("tool_calls", "tool_uses"):
        if isinstance(value.get(wrapper), list) and set(value) <= {wrapper, "content", "role", *_BESIDE}:
            return calls_in(value[wrapper], context, marked=True)
    if isinstance(value.get("function"), Mapping) and set(value) <= {"function", *_BESIDE}:
        if not marked and _is_definition(value["function"]):
            return None
        return calls_in({**value["function"], "id": value.get("id")}, context, marked=True)
    return _call(value, context, marked=marked)


def _call(value: Mapping[str, Any], context: Context, *, marked: bool) -> list[RawCall] | None:
    name_key = next((key for key in NAME_KEYS if isinstance(value.get(key), str)), None)
    if name_key is None:
        return _keyed_by_name(value, context, marked=marked)
    name = value[name_key]
    if not marked and _is_no_call(value, name_key, context):
        return None
    argument_keys = [key for key in ARGUMENT_KEYS if key in value]
    others = set(value) - {name_key, *argument_keys} - _BESIDE
    declared = match_name(name, context.names).name
    if not argument_keys or (others and declared and set(argument_keys) <= context.parameters.get(declared, set())):
        return _flat(value, name, name_key, declared, context, marked=marked)
    known = declared is not None
    if others and not (marked and known and len(argument_keys) == 1):
        return None
    if len(argument_keys) > 1:
        return None
    # Without a marker {"name", "parameters"} of an unknown name is data; "arguments" is hardly ever anything else.
    if not marked and not known and (argument_keys[0] not in {"arguments", "tool_input", "action_input"}):
        return None
    identifier = value.get("id") or value.get("tool_call_id") or value.get("call_id")
    arguments = value[argument_keys[0]]
    return [RawCall(name, arguments, str(identifier) if identifier else None)]


def _is_no_call(value: Mapping[str, Any], name_key: str, context: Context) -> bool:
    """Data that has the shape of an envelope: the definition of a tool, or the answer of a ReAct agent."""
    if name_key == "action" and fold(value[name_key]) == "finalanswer":
        return match_name(value[name_key], context.names).name is None
    return _is_definition(value) and not {"type", "properties"} <= context.parameters.get(
        value[name_key], frozenset()
    )


def _is_definition(value: Mapping[str, Any]) -> bool:
    """Whether parameters are a schema, so that the object defines a tool."""
    parameters = value.get("parameters")
    return (
        isinstance(parameters, Mapping) and "type" in parameters and isinstance(parameters.get("properties"), Mapping)
    )


def _flat(
    value: Mapping[str, Any], name: str, name_key: str, declared: str | None, context: Context, *, marked: bool
) -> list[RawCall] | None:
    """An envelope without an arguments key: none are given, or they stand beside the name."""
    rest = {key: item for key, item in value.items() if key != name_key}
    parameters = context.parameters.get(declared, frozenset()) if declared else frozenset()
    if declared is None:
        return [RawCall(name, {})] if marked and not rest else None
    if not marked and name not in context.names:
        return None  # only a name written exactly tells such an object from data
    if not rest:
        if marked:
            return [RawCall(name, {})]
        return [RawCall(name, {}, repairs=(NO_ARGUMENTS,))] if not parameters else None
    if name_key in parameters or not set(rest) <= parameters:
        bare = {key: item for key, item in rest.items() if key not in _BESIDE}
        return [RawCall(name, bare)] if marked and (not bare or set(bare) <= parameters) else None
    return [RawCall(name, rest, repairs=("flat_envelope",))]


def _keyed_by_name(value: Mapping[str, Any], context: Context, *, marked: bool) -> list[RawCall] | None:
    """`{"get_weather": {"city": "Oslo"}}`: the only key is a declared tool, its value fits the parameters."""
    if len(value) != 1:
        return None
    ((name, arguments),) = value.items()
    parameters = context.parameters.get(name)
    if parameters is None or not isinstance(arguments, Mapping) or not set(arguments) <= parameters:
        return None
    if not (marked or arguments):
        return None
    return [RawCall(name, arguments, repairs=(KEYED_BY_NAME,))]


def unread(context: Context, end: int) -> Unreadable | None:
    """What is wrong with a further call behind values that have been read; None where none is begun there."""
    start = _SEPARATOR.match(context.text, end).end()  # type: ignore[union-attr]  # matches empty
    if not _CALL_BEGINS.match(context.text, start):
        return None
    try:
        read_json_at(context.text, start, context.keys)
    except Unreadable as fault:
        return fault
    return None


def read_values(context: Context, position: int) -> tuple[list[Any], int, tuple[str, ...]]:
    """JSON values that stand one after the other, with blanks, commas or semicolons between them.

    Raises:
        Unreadable: where the first value cannot be read; a later one that cannot ends the list.
    """
    values: list[Any] = []
    repairs: tuple[str, ...] = ()
    end = position
    while True:
        start = _SEPARATOR.match(context.text, end).end()  # type: ignore[union-attr]  # matches empty
        if context.text[start : start + 1] not in {"{", "["} or not context.text[start : start + 1]:
            return values, end, repairs
        try:
            read = read_json_at(context.text, start, context.keys)
        except Unreadable:
            if not values:
                raise
            return values, end, repairs
        values.append(read.value)
        repairs += read.repairs
        end = read.end
