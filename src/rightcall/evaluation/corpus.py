"""A corpus of reported failures: each case read as a reply is, one outcome a case.

A case has `raw` in one of five kinds (`raw_kind`): `message` (an assistant message), `text` (raw model text),
`stream` (the deltas of a stream), `messages` (a history to check) and `server_error`; besides, the `tools` and
what matters of the `request`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.domain import ModelReply, Problem, ProblemKind, Reading
from rightcall.errors import UsageError
from rightcall.openai_chat import assembled, message_from_json, request_from_json
from rightcall.record import note_to_json, problem_to_json
from rightcall.turn import read_reply
from rightcall.validation.protocol import check_history


def case_outcome(case: Mapping[str, Any]) -> dict[str, Any]:
    """What rightcall makes of a case: calls, problems, notes and the text that is left.

    Raises:
        UsageError: the case is no case.
    """
    raw, kind = case.get("raw"), case.get("raw_kind", "message")
    try:
        request = request_from_json({"messages": [], "tools": case.get("tools"), **(case.get("request") or {})})
    except UsageError as error:
        # A request that cannot be used is refused before any reply is read.
        refused = Problem(ProblemKind.PROTOCOL, str(error))
        problems = [problem_to_json(refused)]
        return {"id": case.get("id"), "calls": [], "problems": problems, "notes": [], "text": ""}
    broken: tuple[Problem, ...] = ()
    if kind == "messages":
        if not isinstance(raw, list):
            raise UsageError("a case of kind 'messages' needs a list of messages in 'raw'")
        broken = check_history(raw)
        open_calls = bool(raw) and raw[-1].get("role") == "assistant"
        reading = _read(message_from_json(raw[-1]), request) if open_calls and not broken else Reading()
    else:
        reading = _read(_reply(raw, kind), request)
    return {
        "id": case.get("id"),
        "calls": [{"name": call.name, "arguments": call.arguments} for call in reading.calls],
        "problems": [problem_to_json(problem) for problem in (*broken, *reading.problems)],
        "notes": [note_to_json(note) for note in reading.notes],
        "text": reading.text,
    }


def _read(reply: ModelReply, request: Any) -> Reading:
    return read_reply(reply, request.tools, choice=request.choice, parallel=request.parallel_tool_calls)


def _reply(raw: Any, kind: str) -> ModelReply:
    if kind == "text" and isinstance(raw, str):
        return ModelReply(text=raw)
    if kind == "message" and isinstance(raw, Mapping):
        return message_from_json(raw)
    if kind == "stream" and isinstance(raw, Mapping) and isinstance(raw.get("stream"), list):
        return assembled(raw["stream"])
    if kind == "server_error" and isinstance(raw, Mapping):
        return ModelReply(broken=str(raw.get("error", "")))
    raise UsageError(
        f"'raw' of kind {kind!r} is {type(raw).__name__}; kinds: text, message, stream, messages, server_error"
    )
