"""A conversation as the model is shown it: its own earlier calls in the terms that it is offered now.

A client keeps calls in original terms. A model that sees them so, beside tools of other names, copies the old form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.domain import Message
from rightcall.lens import UNCHANGED, PresentedTool

_RESULTS = frozenset(("tool", "function"))


def shown_messages(messages: Sequence[Message], by_original: Mapping[str, PresentedTool]) -> Sequence[Message]:
    """The messages with calls and the names on results in shown terms. What is no sound call stays as it is."""
    changed = {name: face for name, face in by_original.items() if face.tool is not face.original}
    return [_message(message, changed) for message in messages] if changed else messages


def _message(message: Message, changed: Mapping[str, PresentedTool]) -> Message:
    role = message.get("role")
    if role in _RESULTS and isinstance(name := message.get("name"), str) and name in changed:
        return {**message, "name": changed[name].tool.name}
    if role != "assistant":
        return message
    shown = dict(message)
    if isinstance(calls := message.get("tool_calls"), list):
        shown["tool_calls"] = [_call(call, changed) for call in calls]
    if isinstance(function := message.get("function_call"), Mapping):
        shown["function_call"] = _function(function, changed)
    return shown


def _call(call: Any, changed: Mapping[str, PresentedTool]) -> Any:
    function = call.get("function") if isinstance(call, Mapping) else None
    return {**call, "function": _function(function, changed)} if isinstance(function, Mapping) else call


def _function(function: Mapping[str, Any], changed: Mapping[str, PresentedTool]) -> Mapping[str, Any]:
    name = function.get("name")
    face = changed.get(name) if isinstance(name, str) else None
    if face is None:
        return function
    shown = {**function, "name": face.tool.name}
    if face.arguments is not UNCHANGED and "arguments" in function:
        shown["arguments"] = _arguments(function["arguments"], face)
    return shown


def _arguments(written: Any, face: PresentedTool) -> Any:
    """Arguments in shown terms, in the form in which they came: JSON text or an object."""
    if isinstance(written, Mapping):
        return face.arguments.shown(written)
    try:
        value = json.loads(written)
    except (TypeError, ValueError, RecursionError):
        return written
    return json.dumps(face.arguments.shown(value), ensure_ascii=False) if isinstance(value, dict) else written
