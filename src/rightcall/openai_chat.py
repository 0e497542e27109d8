"""The wire form of OpenAI's Chat Completions, to and from the words of `domain`. Pure.

Unknown fields are kept and passed on. What is missing or odd in a reply is taken as it is: parsing judges it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightcall.domain import ChoiceMode, ModelReply, ModelRequest, NativeCall, Tool, ToolCall, ToolChoice, Usage
from rightcall.errors import UsageError

_REQUEST_FIELDS = frozenset(
    ("messages", "model", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options")
)
_TOOL_FIELDS = frozenset(("name", "description", "parameters", "input_schema", "inputSchema"))


# -- tools --------------------------------------------------------------------------------------------------


def tools_from_json(value: Any) -> tuple[Tool, ...]:
    """Tools from OpenAI's form, bare function objects, or an MCP `tools/list` result.

    Raises:
        UsageError: which entry is not a tool, and what is needed.
    """
    if isinstance(value, Mapping) and isinstance(value.get("tools"), list):
        value = value["tools"]
    if isinstance(value, Mapping) and ("name" in value or "function" in value):
        value = [value]
    if not isinstance(value, list):
        raise UsageError(
            f"tools must be a JSON list, not {type(value).__name__}; see `rightcall parse --help` for an example"
        )
    return tuple(_tool(entry, index) for index, entry in enumerate(value))


def _tool(entry: Any, index: int) -> Tool:
    function = entry.get("function", entry) if isinstance(entry, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str) or not name:
        raise UsageError(
            f"tools[{index}] has no name; a tool is "
            '{"type": "function", "function": {"name": ..., "parameters": ...}}'
        )
    parameters = next(
        (function[key] for key in ("parameters", "input_schema", "inputSchema") if key in function), None
    )
    extra = {key: item for key, item in function.items() if key not in _TOOL_FIELDS}
    if function is not entry:
        extra = {"": {key: item for key, item in entry.items() if key not in {"type", "function"}}, **extra}
    return Tool(
        name,
        str(function.get("description") or ""),
        {"type": "object", "properties": {}} if parameters is None else parameters,
        extra={key: item for key, item in extra.items() if key or item},
    )


def tool_to_json(tool: Tool) -> dict[str, Any]:
    """OpenAI's form of a tool, with the fields that came along."""
    function: dict[str, Any] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.parameters
    function.update({key: item for key, item in tool.extra.items() if key})
    return {"type": "function", "function": function, **tool.extra.get("", {})}


# -- requests -----------------------------------------------------------------------------------------------


def request_from_json(body: Mapping[str, Any]) -> ModelRequest:
    """A request from the body of `/v1/chat/completions`.

    Raises:
        UsageError: what in the body cannot be used.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        raise UsageError("'messages' must be a list of objects, each with a role and content")
    tools = tools_from_json(body["tools"]) if body.get("tools") else ()
    return ModelRequest(
        messages=messages,
        model=str(body.get("model") or ""),
        tools=tools,
        tool_choice=_choice(body.get("tool_choice"), tools),
        parallel_tool_calls=body.get("parallel_tool_calls")
        if isinstance(body.get("parallel_tool_calls"), bool)
        else None,
        extra={key: value for key, value in body.items() if key not in _REQUEST_FIELDS},
    )


def request_to_json(request: ModelRequest, *, stream: bool = False) -> dict[str, Any]:
    """The body of `/v1/chat/completions` for a request."""
    body: dict[str, Any] = {"model": request.model} if request.model else {}
    body["messages"] = list(request.messages)
    if request.tools:
        body["tools"] = [tool_to_json(tool) for tool in request.tools]
        if request.tool_choice is not None:
            body["tool_choice"] = _choice_to_json(request.tool_choice)
        if request.parallel_tool_calls is not None:
            body["parallel_tool_calls"] = request.parallel_tool_calls
    body.update(request.extra)
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


def _choice(value: Any, tools: Sequence[Tool]) -> ToolChoice | None:
    if value is None:
        return None
    if isinstance(value, str) and value in {"auto", "none", "required", "any"}:
        return ToolChoice(ChoiceMode.REQUIRED if value == "any" else ChoiceMode(value))
    name = None
    if isinstance(value, Mapping):
        function = value.get("function")
        name = function.get("name") if isinstance(function, Mapping) else value.get("name")
    if not isinstance(name, str):
        raise UsageError(
            f"tool_choice is {json.dumps(value)[:80]}; allowed are auto, none, required and a named function"
        )
    if all(tool.name != name for tool in tools):
        raise UsageError(f"tool_choice names {name!r}, which is not among the tools: {[tool.name for tool in tools]}")
    return ToolChoice(ChoiceMode.NAMED, name)


def _choice_to_json(choice: ToolChoice) -> Any:
    if choice.mode is ChoiceMode.NAMED:
        return {"type": "function", "function": {"name": choice.name}}
    return choice.mode.value


# -- replies ------------------------------------------------------------------------------------------------


def reply_from_json(body: Mapping[str, Any]) -> ModelReply:
    """A reply from the body of a chat completion.

    Raises:
        UsageError: where the body is no chat completion.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise UsageError("no chat completion: 'choices[0].message' is missing")
    reply = message_from_json(message, finish_reason=choice.get("finish_reason"))
    return ModelReply(
        text=reply.text,
        tool_calls=reply.tool_calls,
        reasoning=reply.reasoning,
        finish_reason=reply.finish_reason,
        usage=usage_from_json(body.get("usage")),
        model=str(body.get("model") or ""),
        body=body,
    )


def message_from_json(message: Mapping[str, Any], finish_reason: Any = None) -> ModelReply:
    """A reply from an assistant message, in whatever shape servers send one."""
    calls = message.get("tool_calls")
    if isinstance(calls, Mapping):
        calls = [calls]
    native = [_native(call) for call in calls] if isinstance(calls, list) else []
    if not native and isinstance(message.get("function_call"), Mapping):
        native = [_native({"function": message["function_call"]})]
    if not native and isinstance(message.get("content"), list):
        native = [_native(part) for part in message["content"] if _type_of(part) == "tool_use"]
    finish = message.get("finish_reason", finish_reason)
    return ModelReply(
        text=text_of(message.get("content")),
        tool_calls=tuple(native),
        reasoning=text_of(message.get("reasoning_content") or message.get("reasoning") or message.get("thinking")),
        finish_reason=str(finish) if finish else None,
    )


def _type_of(part: Any) -> Any:
    return part.get("type") if isinstance(part, Mapping) else None


def text_of(content: Any, between: str = "") -> str:
    """The text of a message's content: a string, or the text parts of a list.

    A model's parts are pieces of one text; a user's are texts of their own, which a line break `between` keeps apart.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
        return between.join(part for part in parts if isinstance(part, str))
    return ""


def usage_from_json(value: Any) -> Usage | None:
    """Tokens as OpenAI counts them; None where the server says nothing."""
    if not isinstance(value, Mapping):
        return None
    counts = [value.get(key) for key in ("prompt_tokens", "completion_tokens")]
    return Usage(*(count if isinstance(count, int) else 0 for count in counts))


def call_to_json(call: ToolCall) -> dict[str, Any]:
    """OpenAI's form of a call; arguments are JSON text."""
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


_ARGUMENT_FIELDS = ("arguments", "args", "parameters", "input")
"""Where servers and libraries put arguments: OpenAI, LangChain, Llama, Anthropic."""


def _native(call: Any) -> NativeCall:
    function = call.get("function", call) if isinstance(call, Mapping) else {}
    function = function if isinstance(function, Mapping) else {}
    identifier = call.get("id") if isinstance(call, Mapping) else None
    name = function.get("name")
    key = next((key for key in _ARGUMENT_FIELDS if function.get(key) is not None), "arguments")
    return NativeCall(
        name if isinstance(name, str) else "",
        function.get(key),
        identifier if isinstance(identifier, str) and identifier else None,
    )


# -- streams ------------------------------------------------------------------------------------------------


class StreamAssembler:
    """Puts the chunks of a streamed completion together, as servers really send them.

    An index decides which call a delta belongs to, unless the call there has another id and the delta's id is
    that of a call begun elsewhere; a new id with a name opens a new call even at a used index; a delta without an
    index, or with nothing but arguments at a new one, goes on with the last call; a name is set, not appended; a
    server that sends the whole arguments again does not double them. Source: the stream reports of the corpus
    (family e).
    """

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.finish_reason: str | None = None
        self.head: dict[str, Any] = {}
        self._usage: Usage | None = None
        self._calls: list[_StreamedCall] = []

    def add(self, chunk: Mapping[str, Any]) -> tuple[str, str]:
        """Takes one chunk; returns the text and the reasoning that it brought."""
        self.head = self.head or {key: value for key, value in chunk.items() if key not in {"choices", "usage"}}
        self._usage = usage_from_json(chunk.get("usage")) or self._usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else chunk if "delta" in chunk else {}
        delta = choice.get("delta") if isinstance(choice, Mapping) else None
        if isinstance(choice, Mapping) and choice.get("finish_reason"):
            self.finish_reason = str(choice["finish_reason"])
        if not isinstance(delta, Mapping):
            return "", ""
        text = text_of(delta.get("content"))
        reasoning = text_of(delta.get("reasoning_content") or delta.get("reasoning"))
        self.text.append(text)
        self.reasoning.append(reasoning)
        calls = delta.get("tool_calls")
        if not calls and isinstance(delta.get("function_call"), Mapping):
            calls = [{"function": delta["function_call"]}]
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, Mapping):
                self._piece(piece)
        return text, reasoning

    def reply(self) -> ModelReply:
        """The whole reply. A stream that ended without a finish reason was cut off."""
        return ModelReply(
            text="".join(self.text),
            tool_calls=tuple(NativeCall(call.name, call.arguments(), call.id) for call in self._calls if call.said()),
            reasoning="".join(self.reasoning),
            finish_reason=self.finish_reason,
            usage=self._usage,
            model=str(self.head.get("model") or ""),
            body=self.head,
        )

    def _piece(self, piece: Mapping[str, Any]) -> None:
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        name, identifier, index = function.get("name"), piece.get("id"), piece.get("index")
        call = self._belongs(index, identifier, name)
        if isinstance(name, str) and name and call.name != name:
            call.name = name if not call.name else call.name + name
        if isinstance(identifier, str) and identifier:
            call.id = identifier
        if function.get("arguments") is not None:
            call.pieces.append(function["arguments"])

    def _belongs(self, index: Any, identifier: Any, name: Any) -> _StreamedCall:
        here = next((call for call in reversed(self._calls) if index is None or call.index == index), None)
        if here:
            another = identifier and here.id not in {None, identifier}
            again = name and not identifier and here.complete()
            if not another and not again:
                return here
        known = next((call for call in self._calls if identifier and call.id == identifier), None)
        if known and (here or index is None):
            return known
        last = self._calls[-1] if self._calls else None
        if last and not here and not name and not identifier and not last.complete():
            return last
        call = _StreamedCall(index)
        self._calls.append(call)
        return call


class _StreamedCall:
    def __init__(self, index: Any) -> None:
        self.index = index
        self.name = ""
        self.id: str | None = None
        self.pieces: list[Any] = []

    def said(self) -> bool:
        """Whether anything was said of it: some servers close a stream with an empty call."""
        return bool(self.name or self.id or any(self.pieces))

    def complete(self) -> bool:
        return bool(self.name) and all(isinstance(p, str) for p in self.pieces) and _complete("".join(self.pieces))

    def arguments(self) -> Any:
        if any(not isinstance(piece, str) for piece in self.pieces):
            return self.pieces[-1]
        filled = [piece for piece in self.pieces if piece]
        if len(filled) > 1 and filled[-1] == "".join(filled[:-1]) and _complete(filled[-1]):
            return filled[-1]
        return "".join(filled)


def _complete(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def assembled(chunks: Iterable[Mapping[str, Any]]) -> ModelReply:
    """The reply of a whole stream."""
    assembler = StreamAssembler()
    for chunk in chunks:
        assembler.add(chunk)
    return assembler.reply()
