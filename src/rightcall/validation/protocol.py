"""What the request asked of the reply: whether to call, what to call, how often; and a sound history.

Source: OpenAI's Chat Completions semantics of `tool_choice` and `parallel_tool_calls`, which many servers ignore.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.domain import ChoiceMode, Message, Problem, ProblemKind, Reading, ToolChoice

LOOP_LENGTH = 3
"""Identical calls with identical results in a row that make a loop."""


def check_protocol(reading: Reading, choice: ToolChoice, *, parallel: bool | None) -> tuple[Problem, ...]:
    """What the request's own demands have against a reading.

    Args:
        reading: what the reply says; its calls may be good or bad.
        choice: the tool choice in force.
        parallel: False where the client takes one call at most.
    """
    if choice.mode is ChoiceMode.AUTO and parallel is not False:
        return ()
    called = [call.name for call in reading.calls]
    attempted = called or [problem.tool for problem in reading.problems if problem.call_id]
    if choice.mode is ChoiceMode.NONE and (called or attempted):
        return (_problem(f"no call is wanted in this turn, yet {_listed(attempted)} was called. Answer in words."),)
    demanded = choice.mode in {ChoiceMode.REQUIRED, ChoiceMode.NAMED}
    if demanded and not called and not reading.problems:
        what = json.dumps(choice.name) if choice.name else "one of the tools"
        return (
            _problem(f"a call of {what} is required, yet the reply holds none. Write the call and nothing else."),
        )
    if choice.mode is ChoiceMode.NAMED and any(name != choice.name for name in called):
        return (_problem(f"only {json.dumps(choice.name)} may be called here, not {_listed(called)}."),)
    if parallel is False and len(called) > 1:
        return (_problem(f"one call at a time: {len(called)} were made. Write only the first that is needed."),)
    return ()


def check_history(messages: Sequence[Message]) -> tuple[Problem, ...]:
    """What is wrong with a conversation: results without calls, calls without results, broken arguments, loops.

    The last assistant message may have open calls: they are what is to be run next.
    """
    problems: list[Problem] = []
    open_calls: dict[str, str] = {}
    seen: set[str] = set()
    last = len(messages) - 1
    for index, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            identifier = str(message.get("tool_call_id") or "")
            if identifier in open_calls:
                del open_calls[identifier]
            elif identifier in seen:
                problems.append(
                    _problem(f"message {index} is a second result for the call {json.dumps(identifier)}.")
                )
            else:
                problems.append(
                    _problem(f"message {index} is a result for the call {json.dumps(identifier)}, which nobody made.")
                )
            continue
        problems += _unanswered(open_calls)
        open_calls = {}
        for call in _calls(message) if role == "assistant" else ():
            identifier, function = str(call.get("id") or ""), call.get("function") or {}
            name = str(function.get("name", "")) if isinstance(function, Mapping) else ""
            if identifier in open_calls or identifier in seen:
                problems.append(_problem(f"message {index}: the call id {json.dumps(identifier)} is used twice."))
            open_calls[identifier] = name
            seen.add(identifier)
            if index != last and (fault := _argument_fault(function)):
                problems.append(_problem(f"message {index}: the arguments of {json.dumps(name)} {fault}."))
    if messages and messages[last].get("role") != "assistant":
        problems += _unanswered(open_calls)
    loop = find_loop(messages)
    return (*problems, *((loop,) if loop else ()))


def find_loop(messages: Sequence[Message]) -> Problem | None:
    """The same call with the same result, over and over, at the end of a conversation.

    Polling is no loop: its results change.
    """
    steps: list[tuple[str, str]] = []
    results = {
        str(m.get("tool_call_id")): json.dumps(m.get("content"), default=str)
        for m in messages
        if m.get("role") == "tool"
    }
    for message in messages:
        if message.get("role") == "user":
            steps.clear()
        for call in _calls(message):
            function = call.get("function") or {}
            made = json.dumps([function.get("name"), function.get("arguments")], default=str)
            steps.append((made, results.get(str(call.get("id")), "")))
    if not steps or len(steps) <= LOOP_LENGTH:
        return None
    made, before = steps[-1][0], steps[-LOOP_LENGTH - 1 : -1]
    if all(step == before[0] and step[0] == made and step[1] for step in before):
        name = json.loads(made)[0]
        return _problem(
            f"{json.dumps(name)} was called {LOOP_LENGTH + 1} times with the same arguments and the same result."
        )
    return None


def _unanswered(open_calls: Mapping[str, str]) -> list[Problem]:
    return [
        _problem(f"the call {json.dumps(identifier)} of {json.dumps(name)} has no result.")
        for identifier, name in open_calls.items()
    ]


def _argument_fault(function: Any) -> str | None:
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if not isinstance(arguments, str):
        return f"are {type(arguments).__name__}, not JSON text"
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return "are no valid JSON"
    return None if isinstance(value, dict) else "are no JSON object"


def _calls(message: Message) -> Sequence[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else ()


def _problem(message: str) -> Problem:
    return Problem(ProblemKind.PROTOCOL, message)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(json.dumps(name) for name in names)
