"""A model that says what it is told to: the public fake at the `ModelClient` port.

model = ScriptedModel([text("Let me see."), calls(("get_weather", {"city": "Oslo"}))])
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import Any

from rightcall.domain import ModelReply, ModelRequest, NativeCall, Usage
from rightcall.errors import UpstreamError
from rightcall.ports import Delta

Step = ModelReply | Exception | Callable[[ModelRequest], ModelReply]


class ScriptedModel:
    """Answers with the given steps in order; an exception among them is raised, a function is asked.

    `requests` holds what it was asked. Past the last step it raises `UpstreamError`.
    """

    def __init__(self, steps: Iterable[Step], *, chunk: int = 7) -> None:
        self._steps = list(steps)
        self._chunk = chunk
        self.requests: list[ModelRequest] = []

    async def ask(self, request: ModelRequest) -> ModelReply:
        """The next step's reply."""
        self.requests.append(request)
        if len(self.requests) > len(self._steps):
            raise UpstreamError(f"the script has {len(self._steps)} steps and was asked once more")
        step = self._steps[len(self.requests) - 1]
        if isinstance(step, Exception):
            raise step
        return step if isinstance(step, ModelReply) else step(request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The next step's reply in pieces of `chunk` characters."""
        reply = await self.ask(request)
        for start in range(0, len(reply.reasoning), self._chunk):
            yield Delta(reasoning=reply.reasoning[start : start + self._chunk])
        for start in range(0, len(reply.text), self._chunk):
            yield Delta(text=reply.text[start : start + self._chunk])
        yield Delta(reply=reply)


def text(words: str, finish_reason: str = "stop", **more: Any) -> ModelReply:
    """A reply in words."""
    return ModelReply(
        text=words, finish_reason=finish_reason, usage=Usage(1, max(len(words) // 4, 1)), model="scripted", **more
    )


def calls(*made: tuple[str, Mapping[str, Any]], words: str = "") -> ModelReply:
    """A reply with native calls."""
    native = tuple(
        NativeCall(name, json.dumps(arguments), f"call_{index}") for index, (name, arguments) in enumerate(made)
    )
    return ModelReply(text=words, tool_calls=native, finish_reason="tool_calls", usage=Usage(1, 1), model="scripted")
