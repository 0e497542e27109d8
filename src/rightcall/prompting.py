"""What the model is shown on a rung: the request, changed as the rung says. Pure.

Feedback is the problems' own messages, and it never pushes: where no tool may fit, "none fits" stands beside
the list as an answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rightcall.domain import (
    ChoiceMode,
    Family,
    Message,
    ModelReply,
    ModelRequest,
    ProblemKind,
    Reading,
    Tool,
    ToolCall,
    ToolChoice,
)
from rightcall.ladder import NEXT_CALL, Rung
from rightcall.openai_chat import call_to_json
from rightcall.schema.references import branches, own_types, properties, required, resolve

_MAX_ECHO = 4000
_MAX_PROBLEMS = 6
_CALL_FORM = '{"name": ..., "arguments": {...}}'


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier attempt as the model is shown it: its reply, what that said, and what no call has used yet.

    `told` are the answers to its calls, where those were of rightcall's own tools.
    """

    reply: ModelReply
    reading: Reading
    unused: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


def shown_request(
    request: ModelRequest,
    rung: Rung,
    before: Sequence[Exchange] = (),
    *,
    in_prompt: bool = False,
) -> ModelRequest:
    """The request as a rung shows it to the model.

    Args:
        request: what the client asked.
        rung: what to change.
        before: the attempts that the model is to see again, in order.
        in_prompt: describe tools in the prompt on every rung.
    """
    tools = _offered(request, rung, before)
    messages = list(request.messages)
    if rung is NEXT_CALL:
        for index, exchange in enumerate(before):
            if exchange.told:
                messages += _told(exchange, in_prompt=in_prompt)
            else:
                messages += _said(exchange, _next_call_question(before[: index + 1]))
    else:
        for exchange in before:
            if exchange.told:
                messages += _told(exchange, in_prompt=in_prompt)
            elif rung.feedback:
                messages += _said(exchange, feedback(exchange.reading, request.choice))
    if rung.example and before and (form := _example(before[-1].reading, tools)):
        messages[-1] = {**messages[-1], "content": f"{messages[-1]['content']}\n{form}"}
    extra = dict(request.extra)
    if rung.warmer:
        temperature = extra.get("temperature")
        extra["temperature"] = (temperature if isinstance(temperature, int | float) else 0.0) + rung.warmer
    if rung.constrain:
        extra["response_format"] = _call_format(tools)
    shown = replace(
        request,
        messages=messages,
        tools=tools,
        tool_choice=_forwarded_choice(request.tool_choice),
        model=rung.model or request.model,
        extra=extra,
    )
    if (in_prompt or rung.in_prompt) and tools:
        return _tools_in_prompt(shown, request.choice)
    return _demanded(shown, request.choice) if tools else shown


def feedback(reading: Reading, choice: ToolChoice) -> str:
    """Tells a model what was wrong with its reply, in the problems' own words."""
    lines = [f"- {problem.message}" for problem in reading.problems[:_MAX_PROBLEMS]]
    told = "Your last reply could not be used:\n" + "\n".join(lines)
    if choice.mode in {ChoiceMode.REQUIRED, ChoiceMode.NAMED}:
        return f"{told}\nWrite the corrected call and nothing else."
    if any(problem.family is Family.SELECTION for problem in reading.problems):
        answer = (
            "If one of the tools fits the request, call it. If none of them fits, say so in words and call nothing."
        )
        return f"{told}\n{answer}"
    if any(problem.kind is ProblemKind.AMBIGUOUS and not problem.tool for problem in reading.problems):
        answer = "If you mean to call a tool, write only the call. If you only explain, answer in words without one."
        return f"{told}\n{answer}"
    answer = (
        "Write the corrected call and nothing else. If it cannot be made with what is known, say what is missing."
    )
    return f"{told}\n{answer}"


# -- parts of a prompt --------------------------------------------------------------------------------------


def _offered(request: ModelRequest, rung: Rung, before: Sequence[Exchange]) -> tuple[Tool, ...]:
    """The tools to show: none where none may be called, the demanded one, or those in question."""
    choice = request.choice
    if choice.mode is ChoiceMode.NONE:
        return ()
    if choice.mode is ChoiceMode.NAMED:
        return tuple(tool for tool in request.tools if tool.name == choice.name)
    if not rung.narrow or not before:
        return request.tools
    reading = before[-1].reading
    named = {problem.tool for problem in reading.problems} | {call.name for call in reading.calls}
    for problem in reading.problems:
        if problem.about_selection and isinstance(problem.allowed, list):
            named |= set(problem.allowed)
    kept = tuple(tool for tool in request.tools if tool.name in named)
    unknown = any(p.kind is ProblemKind.UNKNOWN_TOOL and not p.about_selection for p in reading.problems)
    return kept if kept and not unknown else request.tools


def _forwarded_choice(choice: ToolChoice | None) -> ToolChoice | None:
    """What is sent upstream. A demand is not: the turn holds to it instead.

    Servers meet a demand with a grammar, which makes every reply valid, hides the wrong ones, and keeps a model that
    has no call to make from ever ending.
    """
    return choice if choice is not None and choice.mode is ChoiceMode.AUTO else None


def _demanded(request: ModelRequest, choice: ToolChoice) -> ModelRequest:
    """The request with the client's demand for a call in words, which every model can read."""
    match choice.mode:
        case ChoiceMode.NAMED:
            demand = f"Answer with a call of {choice.name}, and nothing else."
        case ChoiceMode.REQUIRED:
            demand = "Answer with a call of one of the tools, and nothing else."
        case _:
            return request
    return replace(request, messages=_with_system(request.messages, demand))


def _with_system(messages: Sequence[Message], text: str) -> list[Message]:
    """The messages with `text` in the system message, which stands first."""
    if messages and messages[0].get("role") == "system" and isinstance(messages[0].get("content"), str):
        return [{**messages[0], "content": f"{messages[0]['content']}\n\n{text}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def _said(exchange: Exchange, answer: str) -> list[Message]:
    """A reply as the model wrote it, and what it is told.

    Calls that no one ran are shown as text, because a history may not hold a call without its result.
    """
    return [
        {"role": "assistant", "content": _echo(exchange.reply, exchange.reading)},
        {"role": "user", "content": answer},
    ]


def _told(exchange: Exchange, *, in_prompt: bool) -> list[Message]:
    """Calls of rightcall's own tools with their results; as text for a model whose template drops tools."""
    if in_prompt:
        return _said(exchange, "\n\n".join(exchange.told))
    calls = exchange.reading.calls
    asked = {"role": "assistant", "content": None, "tool_calls": [call_to_json(call) for call in calls]}
    results = zip(calls, exchange.told, strict=True)
    return [asked, *({"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results)]


def _echo(reply: ModelReply, reading: Reading) -> str:
    if reply.tool_calls:
        written = [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
        text = "\n".join(json.dumps(call, ensure_ascii=False, default=str) for call in written)
    else:
        text = reply.text or (reply.broken or "") or _calls_text(reading.calls)
    return text if len(text) <= _MAX_ECHO else text[:_MAX_ECHO] + "…"


def _calls_text(calls: Sequence[ToolCall]) -> str:
    return "\n".join(json.dumps({"name": c.name, "arguments": c.arguments}, ensure_ascii=False) for c in calls)


def _next_call_question(before: Sequence[Exchange]) -> str:
    made = sum(len(exchange.reading.calls) for exchange in before if not exchange.told)
    mentioned = ", ".join(json.dumps(mention, ensure_ascii=False) for mention in before[-1].unused)
    count = "That is call 1." if made == 1 else f"Those are {made} calls."
    return (
        f"{count} The request also mentions {mentioned}. If the request needs another call for that, write that one"
        " next call as JSON, in the same form as before. If every part of the request is done, write DONE."
    )


def _example(reading: Reading, tools: Sequence[Tool]) -> str:
    """The form of a right call of the tool that was meant. A form and no values, so that nothing can be copied.

    Where no offered tool was meant there is none: showing how to call one would push the model into it.
    """
    named = [problem.tool for problem in reading.problems if problem.tool]
    tool = next((tool for tool in tools if tool.name in named), None)
    if tool is None:
        return ""
    schema = tool.parameters
    needed = required(schema, schema)
    parts = [
        f"{json.dumps(name)}: {_placeholder(own, schema)}"
        for name, own in properties(schema, schema).items()
        if name in needed
    ]
    return f'The form of a call of {tool.name}: {{"name": "{tool.name}", "arguments": {{{", ".join(parts)}}}}}'


def _placeholder(schema: Any, root: Any) -> str:
    resolved = resolve(schema, root)
    if isinstance(resolved, Mapping) and isinstance(resolved.get("enum"), list):
        return "<one of " + json.dumps(resolved["enum"], ensure_ascii=False)[:200] + ">"
    kinds = sorted({kind for branch in branches(resolved, root) for kind in own_types(branch)})
    return f"<{' or '.join(kinds) or 'value'}>"


def _tools_in_prompt(request: ModelRequest, choice: ToolChoice) -> ModelRequest:
    """Tools described in a system message, for models whose chat template drops them."""
    described = "\n".join(
        json.dumps({"name": t.name, "description": t.description, "parameters": t.parameters}, ensure_ascii=False)
        for t in request.tools
    )
    must = choice.mode in {ChoiceMode.REQUIRED, ChoiceMode.NAMED}
    when = (
        "You must call one of them." if must else "Call one only if the request needs it; otherwise answer in words."
    )
    text = (
        f"You can call these tools:\n{described}\n{when} To call, write nothing but"
        f"\n<tool_call>\n{_CALL_FORM}\n</tool_call>\none such block for each call."
    )
    messages = _with_system(request.messages, text)
    return replace(request, messages=messages, tools=(), tool_choice=None, parallel_tool_calls=None)


def _call_format(tools: Sequence[Tool]) -> dict[str, Any]:
    """A response format that only lets calls through: JSON Schema, as llama.cpp, vLLM and Ollama take it."""
    forms = [
        {
            "type": "object",
            "properties": {"name": {"const": tool.name}, "arguments": tool.parameters},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    schema = forms[0] if len(forms) == 1 else {"anyOf": forms}
    return {"type": "json_schema", "json_schema": {"name": "tool_call", "schema": schema}}
