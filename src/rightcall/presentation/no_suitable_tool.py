"""A way out for a model that would rather call something: a tool beside the others that says that none fits."""

from __future__ import annotations

from functools import lru_cache

from rightcall.domain import ChoiceMode, Tool, ToolCall
from rightcall.lens import Context, Declined, PresentedTool, as_it_is

_NAME = "no_suitable_tool"
_DESCRIPTION = (
    "Call this when none of the other tools does what the request asks for, or when the request asks for words only."
)
_PARAMETERS = {
    "type": "object",
    "properties": {"reason": {"type": "string", "description": "Why no other tool fits."}},
}


class NoSuitableTool:
    """A `Lens` that offers it last, wherever the client leaves the model free to call nothing."""

    def present(self, tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
        """The tools as they are, and the way out."""
        if not tools or context.request.choice.mode is not ChoiceMode.AUTO:
            return tuple(map(as_it_is, tools))
        return (*map(as_it_is, tools), _way_out(frozenset(tool.name for tool in tools)))


@lru_cache(maxsize=64)
def _way_out(taken: frozenset[str]) -> PresentedTool:
    name = _NAME
    while name in taken:
        name += "_"
    return PresentedTool(Tool(name, _DESCRIPTION, _PARAMETERS), None, answer=_declined)


def _declined(call: ToolCall) -> Declined:
    reason = call.arguments.get("reason")
    return Declined(reason if isinstance(reason, str) and reason else "None of the tools fits this request.")
