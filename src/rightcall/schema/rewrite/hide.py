"""Optional arguments that are rarely needed, left out of what is sent until the conversation speaks of them.

The rule: of a tool with more than `MANY` arguments those are left out that are optional and that their own schema
calls deprecated, or describes as advanced, internal, for debugging or rarely needed, or gives a default; never a
required one. An argument comes back as soon as its name or one of its values is mentioned, or an earlier call used
it; and a call that gives one anyway is read and checked like any other, because only what is sent is shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from rightcall.domain import KEPT_TOOLS, Tool
from rightcall.lens import Context
from rightcall.schema.rewrite.walk import needed
from rightcall.schema.shape import enum_members

MANY = 6
"""Arguments that a tool may have before any is left out."""
_MAX_READ = 20_000
_RARE = re.compile(
    r"\b(?:advanced|rarely|seldom|internal|debug(?:ging)?|deprecated|legacy|experimental|expert)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SHORTEST = 3
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class RareOptionalsHidden:
    """The trim of this module."""

    def trim(self, tools: tuple[Tool, ...], context: Context) -> tuple[Tool, ...]:
        """The tools without rarely needed arguments that nobody speaks of."""
        if not any(map(_rare, tools)):
            return tools
        words = frozenset(_spoken(context))
        return tuple(_without(tool, _unspoken(_rare(tool), words)) for tool in tools)


@lru_cache(maxsize=KEPT_TOOLS)
def _rare(tool: Tool) -> Mapping[str, frozenset[str]]:
    """The arguments of a tool that may be left out, each with the words that bring it back."""
    declared = tool.parameters.get("properties")
    if not isinstance(declared, Mapping) or len(declared) <= MANY:
        return {}
    kept = set(needed(tool.parameters))
    for word in ("dependentRequired", "dependencies"):
        together = tool.parameters.get(word)
        for name, others in together.items() if isinstance(together, Mapping) else ():
            kept |= {name, *(others if isinstance(others, list) else ())}
    return {n: _cues(n, own) for n, own in declared.items() if n not in kept and _is_rare(own)}


def _is_rare(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    said = schema.get("description")
    told = isinstance(said, str) and _RARE.search(said) is not None
    return schema.get("deprecated") is True or schema.get("default") is not None or told


def _cues(name: str, schema: Mapping[str, Any]) -> frozenset[str]:
    texts = [_HUMP.sub(" ", name), *(member for member in enum_members(schema) or () if isinstance(member, str))]
    return frozenset(word for text in texts for word in _words(text))


def _unspoken(rare: Mapping[str, frozenset[str]], words: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name, cues in rare.items() if not cues & words)


@lru_cache(maxsize=KEPT_TOOLS)
def _without(tool: Tool, hidden: frozenset[str]) -> Tool:
    if not hidden:
        return tool
    left = {name: own for name, own in tool.parameters["properties"].items() if name not in hidden}
    return replace(tool, parameters={**tool.parameters, "properties": left})


def _spoken(context: Context) -> Iterator[str]:
    """The words of the conversation, calls included; the newest of it where it is long."""
    left = _MAX_READ
    for message in reversed(context.request.messages):
        for text in _texts([message.get("content"), message.get("tool_calls")]):
            yield from _words(_HUMP.sub(" ", text[:left]))
            left -= len(text)
            if left <= 0:
                return


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list) and depth < _MAX_DEPTH:
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item, depth + 1)


def _words(text: str) -> Iterator[str]:
    """Words by which something is recognised: long enough, without case and plural."""
    return (word.casefold().removesuffix("s") for word in _WORD.findall(text) if len(word) >= _SHORTEST)
