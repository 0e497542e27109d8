"""The library's front: a model server, tools, and calls that are right.

async with Rightcall("http://127.0.0.1:11434/v1", model="qwen2.5-coder:1.5b") as rightcall:
proposal = await rightcall.propose(messages, tools)
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self, TypeVar

import httpx2

from rightcall.assemble import SystemClock, base_url, build_presentation, build_searching
from rightcall.attempts import Proposal
from rightcall.domain import ChoiceMode, Message, ModelReply, ModelRequest, Reading, Tool, ToolChoice
from rightcall.ladder import DEFAULT_LADDER, Ladder
from rightcall.naming.name_map import NameMap
from rightcall.openai_chat import message_from_json, reply_from_json, tools_from_json
from rightcall.ports import EventLog, ModelClient
from rightcall.providers.openai_compatible import OpenAICompatible, upstream_client
from rightcall.store.memory import NullEventLog
from rightcall.turn import Kit, Verifier, propose, read_reply
from rightcall.validation.provenance import provenance_rules

T = TypeVar("T")


class Rightcall:
    """Asks a model for tool calls and returns right ones, or says why there are none.

    Args:
        upstream: base URL of an OpenAI-compatible server, or a `ModelClient` (`ScriptedModel`, say).
        model: the model's name, as the server knows it; empty: the server's own.
        api_key: sent as a bearer token, where the server wants one.
        ladder: which attempts to make; see `Ladder`.
        verifiers: rules that a valid call must pass; see `Verifier`.
        provenance: refuses values that stand nowhere in the conversation: `off`, those of `required` arguments, or
            of `all`.
        relevance_floor: refuses calls of tools that share no word with what was said, nor, with `embeddings`, its
            meaning.
        log: where everything that happens is kept; nowhere by default.
        tools_in_prompt: describe tools in the prompt, for models whose chat template drops them.
        no_suitable_tool: offers the model a tool that says that none of the others fits.
        rewrite: how schemas are shown: `auto`, `none`, or names of rewrites with commas between them. Calls and
            problems come back in the terms of the tools as they were given.
        names: a name map, or the file of one (`rightcall align`): the model is shown its names, you see your own.
        narrow: how many tools the model is shown each turn, those that fit what the user last said best; or `search`
            for two tools with which it finds and loads the others.
        embeddings: what compares meanings where tools are searched: `none`, `bundled`, or a model2vec folder.
        correction: takes the nearest tool for a name that there is not, by `bm25` or `embedding`; `off` by default.
            Only tools whose effects are harmless, or that `harmless_tools` names (`*`: all that declare none).
        sampling: further fields of every request (`temperature`, `max_tokens`, `seed`, ...).

    Use it as a context manager, or close it: it holds connections.
    """

    def __init__(  # noqa: PLR0913 - one parameter for each thing that can be set
        self,
        upstream: str | ModelClient,
        *,
        model: str = "",
        api_key: str = "",
        ladder: Ladder = DEFAULT_LADDER,
        verifiers: Sequence[Verifier] = (),
        provenance: str = "off",
        relevance_floor: bool = False,
        log: EventLog | None = None,
        tools_in_prompt: bool = False,
        no_suitable_tool: bool = False,
        rewrite: str = "none",
        names: NameMap | str | os.PathLike[str] | None = None,
        narrow: str | int = "none",
        embeddings: str = "none",
        correction: str = "off",
        harmless_tools: Sequence[str] = (),
        sampling: Mapping[str, Any] | None = None,
    ) -> None:
        self._upstream = base_url(upstream) if isinstance(upstream, str) else upstream
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._model = model
        self._sampling = dict(sampling or {})
        self._http: httpx2.AsyncClient | None = None
        self._parts = {
            "ladder": ladder,
            "verifiers": (*verifiers, *provenance_rules(provenance)),
            "presentation": build_presentation(rewrite, names=names, no_suitable_tool=no_suitable_tool),
            "in_prompt": tools_in_prompt,
        }
        self._searching = build_searching(
            narrow=narrow,
            embeddings=embeddings,
            correction=correction,
            harmless=harmless_tools,
            relevance_floor=relevance_floor,
        )
        self._log = log or NullEventLog()

    async def propose(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool | Mapping[str, Any]],
        *,
        tool_choice: str | ToolChoice | None = None,
        parallel_tool_calls: bool | None = None,
    ) -> Proposal:
        """Asks for calls and climbs the ladder until they are right.

        Args:
            messages: the conversation, in OpenAI's form.
            tools: what may be called: `Tool`s, or their OpenAI or MCP form.
            tool_choice: `auto` (the default), `none`, `required`, or the name of the one tool to call.
            parallel_tool_calls: False for one call at most.

        Returns:
            A proposal whose status is `calls`, `text` or `unresolved`.

        Raises:
            UsageError: the tools cannot be used.
            UpstreamError: the model could not be asked.
        """
        request = ModelRequest(
            messages=messages,
            model=self._model,
            tools=as_tools(tools),
            tool_choice=_as_choice(tool_choice),
            parallel_tool_calls=parallel_tool_calls,
            extra=self._sampling,
        )
        return await propose(request, self._kit())

    def propose_sync(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool | Mapping[str, Any]],
        *,
        tool_choice: str | ToolChoice | None = None,
        parallel_tool_calls: bool | None = None,
    ) -> Proposal:
        """The same for code without an event loop; also works where one is running, in a thread of its own."""

        async def once() -> Proposal:
            # Connections belong to the loop that made them, so this call brings its own.
            async with _Twin(self) as twin:
                return await twin.propose(
                    messages, tools, tool_choice=tool_choice, parallel_tool_calls=parallel_tool_calls
                )

        return _run(once())

    async def aclose(self) -> None:
        """Ends the connections. The log is its owner's to close."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def _kit(self) -> Kit:
        if isinstance(self._upstream, str):
            self._http = self._http or upstream_client()
            model: ModelClient = OpenAICompatible(self._upstream, self._http, self._headers)
        else:
            model = self._upstream
        kit = replace(Kit(model, self._log, SystemClock()), **self._parts)  # type: ignore[arg-type]
        return self._searching.within(kit)


class _Twin(Rightcall):
    """The same settings with connections of its own."""

    def __init__(self, original: Rightcall) -> None:
        self.__dict__.update(original.__dict__)
        self._http = None


def parse(
    reply: str | Mapping[str, Any] | ModelReply,
    tools: Sequence[Tool | Mapping[str, Any]],
    *,
    tool_choice: str | ToolChoice | None = None,
    parallel_tool_calls: bool | None = None,
) -> Reading:
    """Reads what a model wrote: the calls in it, what is wrong, what was repaired. Pure; no model is asked.

    Args:
        reply: raw text, an assistant message in OpenAI's form, a whole chat completion, or a `ModelReply`.
        tools: what the model was offered: `Tool`s, or their OpenAI or MCP form.
        tool_choice: the request's, where it matters: `auto`, `none`, `required` or a tool's name.
        parallel_tool_calls: False where one call at most is wanted.

    Returns:
        A `Reading`: `calls` that the tools accept, `problems` of everything else that was meant as a call,
        `notes` of every repair, `text` and `reasoning`.

    Raises:
        UsageError: the tools are no tools. Nothing in the reply makes it raise.
    """
    choice = _as_choice(tool_choice)
    return read_reply(_as_reply(reply), as_tools(tools), choice=choice, parallel=parallel_tool_calls)


def _as_reply(reply: str | Mapping[str, Any] | ModelReply) -> ModelReply:
    if isinstance(reply, ModelReply):
        return reply
    if isinstance(reply, str):
        return ModelReply(text=reply)
    return reply_from_json(reply) if "choices" in reply else message_from_json(reply)


def as_tools(tools: Sequence[Tool | Mapping[str, Any]]) -> tuple[Tool, ...]:
    """Tools from `Tool`s, from OpenAI's form and from MCP's, mixed as they come. Raises `UsageError`."""
    return tuple(tool if isinstance(tool, Tool) else tools_from_json([tool])[0] for tool in tools)


def _as_choice(choice: str | ToolChoice | None) -> ToolChoice | None:
    if choice is None or isinstance(choice, ToolChoice):
        return choice
    if choice in {"auto", "none", "required"}:
        return ToolChoice(ChoiceMode(choice))
    return ToolChoice(ChoiceMode.NAMED, choice)


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
