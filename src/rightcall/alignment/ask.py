"""Tools aligned with a model: it is asked for names of all of them, and the answers become a name map.

Source: PA-Tool, Algorithm 1, stage 1: one name at temperature 0, then N at the sampling temperature, each with a seed
of its own. Equal questions are asked once: with equal seeds they have equal answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rightcall.domain import Message, ModelReply, ModelRequest, Tool
from rightcall.errors import UsageError
from rightcall.naming.components import Component
from rightcall.naming.name_map import AlignSettings, NameMap
from rightcall.naming.names import candidate_name
from rightcall.naming.prompts import (
    DESCRIPTION_TOKENS,
    NAME_TOKENS,
    description_from,
    description_messages,
    name_messages,
)
from rightcall.naming.proposal import Answers, propose_names, to_be_named
from rightcall.ports import ModelClient

MAX_CANDIDATES = 1024
STANDARD = AlignSettings()


async def align(
    tools: Sequence[Tool],
    model: ModelClient,
    name: str,
    *,
    settings: AlignSettings = STANDARD,
    build: str = "",
    served: str = "",
    parallel: int = 4,
    done: Callable[[], None] = lambda: None,
) -> NameMap:
    """Asks a model for the names of tools.

    Args:
        tools: the tools, of different names.
        model: the model; put `store.completions.CachedModel` around it, and a run that was stopped goes on.
        name: what the map calls the model.
        settings: how it is asked and what is chosen.
        build: what is known of the model.
        served: its name on its server, if that is another.
        parallel: requests under way at once.
        done: called after each answer; `requests_for` says how many there will be.

    Raises:
        UsageError: two tools have one name, or the settings make no sense.
        UpstreamError: the model could not be asked.
    """
    _check(settings)
    questions = _questions(tools, settings)
    waiting = iter(questions)

    async def work() -> None:
        # A question's samples one after another: a server reads its prompt once, and beside it those of the others.
        for question in waiting:
            for sample in range(question.samples + 1):
                question.take(sample, await model.ask(question.request(sample, served or name, settings)))
                done()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(parallel):
                group.create_task(work())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None  # the others are its like
    answers = {each: question.answers for question in questions for each in question.components}
    descriptions = {tool: question.description for question in questions for tool in question.described}
    return propose_names(tools, answers, settings, name, build, descriptions)


def requests_for(tools: Sequence[Tool], settings: AlignSettings) -> int:
    """How many requests `align` makes. Raises `UsageError` as it does."""
    _check(settings)
    return sum(question.samples + 1 for question in _questions(tools, settings))


# -- what is asked ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Question:
    """A question and its answers: sample 0 is the one at temperature 0.

    `components` are those that want its answer as a name, `described` the tools that want it as a description.
    """

    messages: Sequence[Message]
    samples: int
    tokens: int
    components: list[Component] = field(default_factory=list)
    described: list[str] = field(default_factory=list)
    description: str = ""
    names: dict[int, str | None] = field(default_factory=dict)

    def request(self, sample: int, served: str, settings: AlignSettings) -> ModelRequest:
        """What is sent for one sample. The seed is the sample's own, or all samples would be one."""
        sampling = {
            "temperature": settings.temperature if sample else 0,
            "seed": settings.seed + sample,
            "max_tokens": self.tokens,
        }
        return ModelRequest(self.messages, model=served, extra=sampling)

    def take(self, sample: int, reply: ModelReply) -> None:
        """Keeps what is usable of an answer."""
        cut = reply.finish_reason == "length"
        if self.components:
            self.names[sample] = candidate_name(reply.text, cut=cut)
        if self.described:
            self.description = description_from(reply.text, cut=cut) or ""

    @property
    def answers(self) -> Answers:
        """The usable names, the samples in their order."""
        drawn = (name for sample in range(1, self.samples + 1) if (name := self.names[sample]) is not None)
        return Answers(self.names[0], tuple(drawn))


def _questions(tools: Sequence[Tool], settings: AlignSettings) -> list[_Question]:
    """The different questions, in the order in which tools and parameters stand."""
    naming: dict[tuple[str, bool], _Question] = {}
    for each in to_be_named(tools, settings):
        key = (each.description, bool(each.place))
        if key not in naming:
            messages = name_messages(each.description, parameter=bool(each.place))
            naming[key] = _Question(messages, settings.samples, NAME_TOKENS)
        naming[key].components.append(each)
    describing: dict[str, _Question] = {}
    for tool in tools if settings.describe else ():
        if tool.description.strip():
            question = _Question(description_messages(tool.description), 0, DESCRIPTION_TOKENS)
            describing.setdefault(tool.description, question).described.append(tool.name)
    return [*naming.values(), *describing.values()]


def _check(settings: AlignSettings) -> None:
    if not 1 <= settings.candidates <= MAX_CANDIDATES:
        raise UsageError(f"candidates is {settings.candidates}; allowed: 1 to {MAX_CANDIDATES}")
    if not 0 < settings.temperature <= 2:  # noqa: PLR2004 - the range of every server
        raise UsageError(f"temperature is {settings.temperature:g}; allowed: above 0, at most 2")
    if not 0 <= settings.alpha <= 1:
        raise UsageError(f"alpha is {settings.alpha:g}; allowed: 0 to 1")
