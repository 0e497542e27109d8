"""A floor of relevance: a call of a tool that has nothing in common with what was said is refused.

Small models call a tool where none fits. A search of the catalogue would not have found that tool: it shares no word
with the conversation, and, where an embedder is given, its meaning is far from it too. The rule is a verifier
(`turn.Verifier`). It judges words of one script, so what was said in another script than the tool's is let be, and a
call that the client demands is never refused. Measured in design/16.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rightcall.catalogue.words import MAX_CHARS, name_terms, plain_name, terms
from rightcall.domain import ChoiceMode, ModelRequest, Problem, ProblemKind, Tool, ToolCall
from rightcall.openai_chat import text_of
from rightcall.ports import Embedder
from rightcall.schema.keywords import walk

FAR = 0.3
"""Texts whose vectors have a smaller cosine are about other things; design/16 has the curve."""
MAX_MESSAGES = 20
MAX_TEXTS = 2000
_SAYING = ("title", "description", "const", "default")
_OTHER_SCRIPT = re.compile(r"[^\W\d_a-zA-Z\u00aa-\u024f\u1e00-\u1eff]")


@dataclass(frozen=True, slots=True)
class RelevanceFloor:
    """Refuses calls of tools that nothing said has to do with.

    `embedder` compares meanings where no word is shared; only what is less alike than `far` (a cosine) is refused.
    """

    embedder: Embedder | None = None
    far: float = FAR

    def __call__(self, call: ToolCall, request: ModelRequest) -> Problem | None:
        """None where the tool may fit; else a problem of selection, so that the model may answer in words."""
        tool = request.tool(call.name)
        if tool is None or request.choice.mode in {ChoiceMode.REQUIRED, ChoiceMode.NAMED}:
            return None
        texts = [*_said(request)]
        if any(len(text) > MAX_CHARS for text in texts):  # what is not read may be what the call is about
            return None
        said, wanted = "\n".join(texts), {term for text in texts for term in terms(text)}
        if not wanted or _OTHER_SCRIPT.search(said) or not wanted.isdisjoint(_terms_of(tool)):
            return None
        if self.embedder is not None and _cosine(self.embedder, said, tool) >= self.far:
            return None
        return Problem(
            ProblemKind.UNVERIFIED,
            f"{tool.name} has nothing in common with the request: no word of it stands in the tool's description or"
            " parameters. Call it only if it does what was asked; if no tool does, answer in words",
            got=tool.name,
            allowed="a tool that does what was asked, or words",
            tool=tool.name,
            call_id=call.id,
            about_selection=True,
        )


def _said(request: ModelRequest) -> Iterator[str]:
    """What the user and the tools said: what an assistant or a system prompt says would fit every tool."""
    for message in request.messages[-MAX_MESSAGES:]:
        if message.get("role") in {"user", "tool"}:
            yield text_of(message.get("content"), "\n")


def _terms_of(tool: Tool) -> set[str]:
    """The terms of everything that is written about a tool: names, descriptions, closed values."""
    found = {*name_terms(tool.name), *terms(tool.description)}
    for text in islice(_texts(tool.parameters), MAX_TEXTS):
        found.update(name_terms(text), terms(text))
    return found


def _texts(schema: Any) -> Iterator[str]:
    """What a schema says in words: names of parameters, titles and descriptions, closed values and defaults."""
    for node in walk(schema):
        said = [node.name if node.is_parameter else "", *(node.schema.get(key) for key in _SAYING)]
        values = node.schema.get("enum")
        said += values if isinstance(values, list) else []
        yield from (text for text in said if isinstance(text, str))


def _cosine(embedder: Embedder, said: str, tool: Tool) -> float:
    one, other = embedder.embed([said[:MAX_CHARS], f"{plain_name(tool.name)}. {tool.description}"[:MAX_CHARS]])
    return float(one @ other)
