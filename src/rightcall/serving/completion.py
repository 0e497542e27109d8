"""A proposal in the wire form of Chat Completions, whole or as the events of a stream.

What the upstream said of its reply is kept: its id, its model, fields that nobody here knows. Each call is one
delta with its own index, id, name and complete arguments, which every client can put together.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from rightcall.attempts import Proposal
from rightcall.openai_chat import call_to_json
from rightcall.record import note_to_json, problem_to_json
from rightcall.turn import Shown


def completion(proposal: Proposal) -> dict[str, Any]:
    """The body of a chat completion."""
    upstream = dict(proposal.last.reply.body)
    choices = upstream.get("choices")
    first = dict(choices[0]) if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = dict(first.get("message") or {})
    text = text_for_client(proposal)
    message.update({"role": "assistant", "content": text or None})
    for name in ("tool_calls", "function_call"):
        message.pop(name, None)
    if proposal.calls:
        message["tool_calls"] = [call_to_json(call) for call in proposal.calls]
    else:
        message["content"] = text
    if proposal.reasoning:
        message["reasoning_content"] = proposal.reasoning
    choice = {**first, "index": 0, "message": message, "finish_reason": finish_reason(proposal)}
    return {
        "id": _completion_id(proposal.turn),
        "created": int(time.time()),
        "model": proposal.last.request.model,
        **upstream,
        "object": "chat.completion",
        "choices": [choice],
        "usage": usage(proposal),
        "rightcall": extension(proposal),
    }


class CompletionStream:
    """The server-sent events of one completion."""

    def __init__(self, model: str, *, include_usage: bool, unresolved: str) -> None:
        self._head: dict[str, Any] = {"created": int(time.time()), "model": model}
        self._include_usage = include_usage
        self._unresolved = unresolved
        self._opened = False

    def shown(self, step: Shown) -> Iterator[bytes]:
        """The events for a piece of text or reasoning."""
        if step.head and not self._opened:
            self._head.update({key: value for key, value in step.head.items() if key not in {"choices", "usage"}})
        if not self._opened:
            self._opened = True
            yield self._event({"role": "assistant", "content": ""})
        if step.reasoning:
            yield self._event({"reasoning_content": step.reasoning})
        if step.text:
            yield self._event({"content": step.text})

    def ended(self, proposal: Proposal) -> Iterator[bytes]:
        """The events of the end: calls, or what is wrong, then the finish reason, the usage and the end mark."""
        self._head.setdefault("id", _completion_id(proposal.turn))
        yield from self.shown(Shown(head=proposal.last.reply.body))
        if proposal.status == "unresolved" and self._unresolved == "error":
            yield _data(unresolved_error(proposal))
            yield b"data: [DONE]\n\n"
            return
        if proposal.status == "unresolved":
            yield self._event({"content": ("\n\n" if proposal.text else "") + notice(proposal)})
        for index, call in enumerate(proposal.calls):
            yield self._event({"tool_calls": [{"index": index, **call_to_json(call)}]})
        yield self._event({}, finish=finish_reason(proposal), more={"rightcall": extension(proposal)})
        if self._include_usage:
            yield _data({**self._fields(), "choices": [], "usage": usage(proposal)})
        yield b"data: [DONE]\n\n"

    def failed(self, body: dict[str, Any]) -> bytes:
        """The event of an error in the middle of a stream, which clients raise."""
        return _data(body) + b"data: [DONE]\n\n"

    def _event(self, delta: dict[str, Any], finish: str | None = None, more: dict[str, Any] | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**self._fields(), "choices": [choice], **(more or {})})

    def _fields(self) -> dict[str, Any]:
        self._head.setdefault("id", _completion_id(str(id(self))))
        return {**self._head, "object": "chat.completion.chunk"}


def text_for_client(proposal: Proposal) -> str:
    """The words of the answer; where no call could be made right, they say so."""
    if proposal.status != "unresolved":
        return proposal.text
    return f"{proposal.text}\n\n{notice(proposal)}" if proposal.text.strip() else notice(proposal)


def notice(proposal: Proposal) -> str:
    """What a client is told, in words, where no call could be made right."""
    count = len(proposal.attempts)
    lines = "\n".join(f"- {problem.message}" for problem in proposal.problems[:6])
    return f"No tool call could be made right after {count} attempt{'s' if count > 1 else ''}:\n{lines}"


def unresolved_error(proposal: Proposal) -> dict[str, Any]:
    """The same as an OpenAI-style error, with the problems as data."""
    error = {
        "message": notice(proposal),
        "type": "tool_call_unresolved",
        "param": None,
        "code": "tool_call_unresolved",
    }
    return {"error": error, "rightcall": extension(proposal)}


def finish_reason(proposal: Proposal) -> str:
    """`tool_calls` where there are calls; a length limit wins, because what follows was cut."""
    if proposal.last.reply.finish_reason == "length":
        return "length"
    return "tool_calls" if proposal.calls else "stop"


def usage(proposal: Proposal) -> dict[str, Any]:
    """Tokens of all attempts together, beside whatever else the last reply's usage says."""
    upstream = proposal.last.reply.body.get("usage")
    total = proposal.usage
    counts = {
        "prompt_tokens": total.input_tokens,
        "completion_tokens": total.output_tokens,
        "total_tokens": total.input_tokens + total.output_tokens,
    }
    return {**upstream, **counts} if isinstance(upstream, dict) else counts


def extension(proposal: Proposal) -> dict[str, Any]:
    """What rightcall did, for whoever wants to know."""
    return {
        "turn": proposal.turn,
        "status": proposal.status,
        "attempts": len(proposal.attempts),
        "rungs": [attempt.rung.name for attempt in proposal.attempts],
        "model": proposal.last.reply.model or proposal.last.request.model,
        "notes": [note_to_json(note) for note in proposal.notes],
        "problems": [problem_to_json(problem) for problem in (*proposal.problems, *proposal.quarantined)],
    }


def headers_of(proposal: Proposal) -> dict[str, str]:
    """The same in short, as response headers."""
    model = proposal.last.reply.model or proposal.last.request.model
    return {
        "x-rightcall-turn": proposal.turn,
        "x-rightcall-status": proposal.status,
        "x-rightcall-attempts": str(len(proposal.attempts)),
        "x-rightcall-notes": str(len(proposal.notes)),
        "x-rightcall-model": model.encode("ascii", "replace").decode()[:200].replace("\n", " ").replace("\r", " "),
    }


def _completion_id(turn: str) -> str:
    return f"chatcmpl-{turn.removeprefix('turn_')}"


def _data(value: dict[str, Any]) -> bytes:
    return (
        b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n\n"
    )
