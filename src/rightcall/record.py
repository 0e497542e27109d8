"""A turn told to the event log as it happens: everything sent, everything said, every decision."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rightcall.attempts import Attempt, Proposal
from rightcall.domain import ModelRequest, Note, Problem, Tool, ToolCall, Usage
from rightcall.ladder import Rung
from rightcall.lens import Found, PresentedTool, Told
from rightcall.ports import Clock, Event, EventLog
from rightcall.presentation.view import View
from rightcall.schema.compiled import Toolset
from rightcall.schema.fingerprint import tool_fingerprint, toolset_fingerprint


class TurnRecord:
    """Writes the events of one turn; the last of them, `turn.ended`, once."""

    def __init__(self, turn: str, log: EventLog, clock: Clock) -> None:
        self._turn, self._log, self._clock = turn, log, clock
        self._ended = False

    def begun(self, request: ModelRequest, tools: Toolset, *, live: bool) -> None:
        """What the client asked, with the fingerprints of what it offered."""
        offered = [tool.tool for tool in tools if tool.broken is None]
        self._append(
            "turn.started",
            {
                "model": request.model,
                "stream": live,
                "tools": [{"name": tool.name, "fingerprint": tool_fingerprint(tool)} for tool in offered],
                "toolset": toolset_fingerprint(offered),
                "messages": list(request.messages),
                "tool_choice": {"mode": request.choice.mode.value, "name": request.choice.name},
                "parallel_tool_calls": request.parallel_tool_calls,
                "quarantined": [problem_to_json(problem) for problem in tools.problems],
            },
        )

    def presented(self, view: View, loaded: Sequence[str]) -> None:
        """What the model is shown instead, where it is something else: what it stands for, and its fingerprints."""
        if view.unchanged:
            return
        self._append("turn.presented", {**_presented(view.presented, view.request.tools), "loaded": list(loaded)})
        for found in view.found:
            self._append("turn.searched", {**found_to_json(found), "loaded": []})

    def told(self, answers: Sequence[Told]) -> None:
        """What the model looked up of the catalogue: the search, or what it had loaded."""
        for answer in answers:
            if answer.found is not None:
                self._append("turn.searched", {**found_to_json(answer.found), "loaded": list(answer.load)})

    def asking(self, number: int, rung: Rung, asked: ModelRequest, own_messages: int) -> None:
        """What is sent: sampling, the tools shown, and the messages put behind the client's `own_messages`."""
        self._append(
            "attempt.started",
            {
                "number": number,
                "rung": rung.name,
                "model": asked.model,
                "temperature": asked.extra.get("temperature"),
                "tools_shown": [tool.name for tool in asked.tools],
                "request": {
                    "messages_added": list(asked.messages[own_messages:]) if rung.feedback else [],
                    "extra": dict(asked.extra),
                },
            },
        )

    def answered(self, attempt: Attempt) -> None:
        """The reply as it came, and what was read in it."""
        reply, reading = attempt.reply, attempt.reading
        self._append(
            "attempt.replied",
            {
                "number": attempt.number,
                "seconds": attempt.seconds,
                "model": reply.model,
                "finish_reason": reply.finish_reason,
                "usage": _usage(reply.usage),
                "text": reply.text,
                "reasoning": reply.reasoning,
                "tool_calls": [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in reply.tool_calls],
                "broken": reply.broken,
            },
        )
        self._append(
            "attempt.read",
            {
                "number": attempt.number,
                "calls": calls_to_json(reading.calls),
                "problems": [problem_to_json(problem) for problem in reading.problems],
                "notes": [note_to_json(note) for note in reading.notes],
                "text": reading.text,
                "unused": list(attempt.unused),
            },
        )

    def failed(self, number: int, rung: Rung, seconds: float, error: Exception) -> None:
        """An attempt that brought no reply."""
        self._append("attempt.failed", {"number": number, "rung": rung.name, "seconds": seconds, "error": str(error)})

    def ended(self, proposal: Proposal, seconds: float) -> None:
        """What the turn came to."""
        self._end(
            {
                "status": proposal.status,
                "attempts": len(proposal.attempts),
                "seconds": seconds,
                "calls": calls_to_json(proposal.calls),
                "problems": [problem_to_json(problem) for problem in proposal.problems],
                "notes_count": len(proposal.notes),
                "model": proposal.last.model,
                "usage": _usage(proposal.usage),
            }
        )

    def abandoned(self, error: BaseException, attempts: int, seconds: float, model: str) -> None:
        """A turn that came to nothing: the client went away, or something failed."""
        cancelled = isinstance(error, asyncio.CancelledError | GeneratorExit)
        self._end(
            {
                "status": "cancelled" if cancelled else "failed",
                "attempts": attempts,
                "seconds": seconds,
                "error": str(error),
                "calls": [],
                "problems": [],
                "notes_count": 0,
                "model": model,
            }
        )

    def _end(self, data: Mapping[str, Any]) -> None:
        if not self._ended:
            self._ended = True
            self._append("turn.ended", data)

    def _append(self, kind: str, data: Mapping[str, Any]) -> None:
        self._log.append(Event(self._turn, kind, self._clock.now(), data))


def calls_to_json(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Calls as data."""
    return [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]


def problem_to_json(problem: Problem) -> dict[str, Any]:
    """A problem as data, for the log, the command line and the proxy's extension field."""
    return {
        "kind": problem.kind.value,
        "family": problem.family.value,
        "path": problem.path,
        "message": problem.message,
        "tool": problem.tool,
    }


def found_to_json(found: Found) -> dict[str, Any]:
    """A search as data: the catalogue's version, the query, and what was found, with fingerprints."""
    matches = [
        {"name": tool.name, "fingerprint": tool_fingerprint(tool), "score": round(score, 6)}
        for tool, score in found.matches
    ]
    return {"catalogue": found.version, "query": found.query, "matches": matches}


def note_to_json(note: Note) -> dict[str, Any]:
    """A repair as data."""
    return {
        "kind": note.kind,
        "grade": note.grade.value,
        "path": note.path,
        "before": note.before,
        "after": note.after,
        "tool": note.tool,
    }


@lru_cache(maxsize=64)
def _presented(presented: tuple[PresentedTool, ...], sent: tuple[Tool, ...]) -> Mapping[str, Any]:
    """Made once for each list of tools: like tools of different requests are the same objects once presented."""
    shown = [
        {
            "name": tool.name,
            "original": face.original.name if face.original else None,
            "fingerprint": tool_fingerprint(tool),
        }
        for face, tool in zip(presented, sent, strict=True)
    ]
    return {"tools": shown, "toolset": toolset_fingerprint(sent)}


def _usage(usage: Usage | None) -> dict[str, int] | None:
    return {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens} if usage else None
