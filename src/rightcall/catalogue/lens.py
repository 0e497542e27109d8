"""Large catalogues shown in part: the best few for each request, or two tools that find the others.

Both keep what the conversation has already called, because a model that has used a tool may go on with it.
Sources: "Dynamic loading changes the experiment" in "Tool Schemas as Versioned Action Contracts", and the reports of
lists that change beneath a cached prompt: what was shown stays in its place, and what is loaded goes behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from rightcall.catalogue.search import Catalogue, catalogue_of
from rightcall.catalogue.words import terms
from rightcall.domain import Message, Tool, ToolCall
from rightcall.lens import Context, Found, PresentedTool, Told, as_it_is
from rightcall.openai_chat import text_of
from rightcall.ports import Embedder

SHOWN_WHOLE = 20
"""A catalogue of so many tools needs no search tools: they would cost a look-up and save little."""
MAX_FOUND = 5
"""What a search brings, and what can be loaded at once: one number, as a model asks for all that it is told of."""
_ENOUGH_TERMS = 4
_MAX_MESSAGES = 20
_SUMMARY = 160


@dataclass(frozen=True, slots=True)
class BestTools:
    """Shows the `k` tools that fit what the user last said, best first, and those already called."""

    k: int
    embedder: Embedder | None = None

    def present(self, tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
        """The tools to show. Where the user has said nothing there is nothing to search for: then all."""
        query = last_said(context.request.messages)
        if len(tools) <= self.k or not query:
            return tuple(map(as_it_is, tools))
        found = catalogue_of(tools, self.embedder).search(query, self.k)
        context.found.append(found)
        by_name = {tool.name: tool for tool in tools}
        kept = (by_name[name] for name in _staying(context) if name in by_name)
        return tuple(map(as_it_is, dict.fromkeys((*(tool for tool, _ in found.matches), *kept))))


@dataclass(frozen=True, slots=True)
class SearchTools:
    """Shows two tools, one that finds others and one that takes names that are known, then what is in use.

    What was found is ready at once: a 1.5B model that had to load it by name came to a call in none of 24 cases.
    """

    embedder: Embedder | None = None

    def present(self, tools: tuple[Tool, ...], context: Context) -> tuple[PresentedTool, ...]:
        """The search tools first, which never change; then the tools called before and those loaded, in order."""
        if len(tools) <= SHOWN_WHOLE:
            return tuple(map(as_it_is, tools))
        by_name = {tool.name: tool for tool in tools}
        in_use = dict.fromkeys(by_name[name] for name in _staying(context) if name in by_name)
        return (*_search_tools(tools, self.embedder), *map(as_it_is, in_use))


def last_said(messages: Sequence[Message]) -> str:
    """What the user last asked for: the last message, and those before it while there are too few words to go by."""
    said: list[str] = []
    count = 0
    for message in reversed(messages[-_MAX_MESSAGES:]):
        if message.get("role") != "user":
            continue
        said.append(text_of(message.get("content"), "\n"))
        count += len(terms(said[-1]))
        if count >= _ENOUGH_TERMS:
            break
    return "\n".join(text for text in said if text.strip())


def _staying(context: Context) -> Iterator[str]:
    """Names of what has to stay: called in the conversation, loaded in this turn, demanded; in that order."""
    for message in context.request.messages:
        calls = message.get("tool_calls") if message.get("role") == "assistant" else None
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, Mapping) else None
            name = function.get("name") if isinstance(function, Mapping) else None
            if isinstance(name, str):
                yield name
    yield from context.loaded
    if context.request.choice.name:
        yield context.request.choice.name


# -- the search tools -------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _search_tools(tools: tuple[Tool, ...], embedder: Embedder | None) -> tuple[PresentedTool, ...]:
    """Both tools over a catalogue; the same objects for the same catalogue."""
    catalogue = catalogue_of(tools, embedder)
    taken = {tool.name for tool in tools}
    search, load = _free("search_tools", taken), _free("load_tools", taken)
    finding = Tool(
        search,
        f"Finds tools among {len(tools)} that are not listed here, and makes the best ones ready to be called. Use it"
        " first where a request needs a tool that is not listed.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What the tool is to do, in a few words.", "minLength": 1}
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    )
    loading = Tool(
        load,
        f"Makes tools ready to be called whose names are known; {search} finds the others.",
        {
            "type": "object",
            "properties": {
                "names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_FOUND}
            },
            "required": ["names"],
            "additionalProperties": False,
        },
    )
    return (
        PresentedTool(finding, None, answer=partial(_searched, catalogue)),
        PresentedTool(loading, None, answer=partial(_loaded, catalogue)),
    )


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"{name}_"
    return name


def _searched(catalogue: Catalogue, call: ToolCall) -> Told:
    return _told(catalogue, str(call.arguments["query"]))


def _told(catalogue: Catalogue, query: str) -> Told:
    found = catalogue.search(query, MAX_FOUND)
    if not found.matches:
        return Told("No tool has these words. Search with other words, or say that no tool fits.", found=found)
    lines = [f"- {tool.name}: {_summary(tool)}" for tool, _ in found.matches]
    after = "They are ready: call the one that fits now. If none of them fits, search otherwise or say so in words."
    return Told("\n".join([*lines, after]), tuple(tool.name for tool, _ in found.matches), found)


def _summary(tool: Tool) -> str:
    line = " ".join(tool.description.split())
    return line if len(line) <= _SUMMARY else line[: _SUMMARY - 1] + "…"


def _loaded(catalogue: Catalogue, call: ToolCall) -> Told:
    """A name that no tool has is searched for: a model that guesses one means a tool of that kind."""
    names = list(dict.fromkeys(call.arguments["names"]))
    by_name = _by_name(catalogue)
    there = tuple(name for name in names if name in by_name)
    matches = tuple((by_name[name], 1.0) for name in there)
    said = [f"Ready: {', '.join(there)}. Call what fits now."] if there else []
    missing = [name for name in names if name not in by_name]
    if not missing:
        return Told(said[0], there, Found("", catalogue.version, matches))
    query = " ".join(missing)
    nearest = _told(catalogue, query)
    said += [f"There is no tool {query[:_SUMMARY]!r}.", nearest.text]
    more = nearest.found.matches if nearest.found else ()
    return Told("\n".join(said), (*there, *nearest.load), Found(query, catalogue.version, (*matches, *more)))


def _by_name(catalogue: Catalogue) -> dict[str, Tool]:
    return {tool.name: tool for tool in catalogue.tools}
