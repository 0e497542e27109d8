"""One turn: from a request to calls that are right, or a refusal that says why.

    present -> ask the model -> parse, repair, coerce -> validate -> restore -> (ladder: again, changed) -> proposal

Read `turn()` from top to bottom. The one backward step, the ladder's, stands there and nowhere else; everything
else is a pure function of what came before. `propose()` is all that the proxy needs, because its client runs
the tools.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from rightcall.attempts import Attempt, Proposal, conclude, extends_calls, shown_again, standing_calls
from rightcall.domain import (
    ChoiceMode,
    JsonObject,
    ModelReply,
    ModelRequest,
    Problem,
    ProblemKind,
    Reading,
    Tool,
    ToolCall,
    ToolChoice,
)
from rightcall.errors import UpstreamError, UpstreamTimeout, UsageError
from rightcall.ladder import DEFAULT_LADDER, NEXT_CALL, Ladder, Rung, next_rung
from rightcall.lens import AS_OFFERED, Presentation
from rightcall.parsing.parse import DEFAULT_POLICY, ParsingPolicy, parse_reply
from rightcall.parsing.stream import TextGate
from rightcall.ports import Clock, Delta, EventLog, ModelClient
from rightcall.presentation.restore import Restored, restored
from rightcall.presentation.reveal import told_of, unseen
from rightcall.presentation.view import View, present
from rightcall.prompting import shown_request
from rightcall.record import TurnRecord
from rightcall.schema.compiled import Toolset, compile_tools
from rightcall.validation.coverage import unused_mentions
from rightcall.validation.protocol import check_protocol
from rightcall.validation.structure import check_structure

Verifier = Callable[[ToolCall, ModelRequest], Problem | None]
"""A rule about a valid call: None if it is right, else a Problem that says why not."""


@dataclass(frozen=True, slots=True)
class Kit:
    """The parts a turn works with: ports, and one policy for each stage.

    Each stage has a neutral value (`ONE_ATTEMPT`, no verifiers), so leaving one out is `replace(kit, ...)`.
    `presentation` says how the model is shown the tools; `in_prompt` describes them in the prompt on every rung;
    `larger` holds the clients of the other models that rungs name.
    """

    model: ModelClient
    log: EventLog
    clock: Clock
    ladder: Ladder = DEFAULT_LADDER
    parsing: ParsingPolicy = DEFAULT_POLICY
    verifiers: tuple[Verifier, ...] = ()
    presentation: Presentation = AS_OFFERED
    in_prompt: bool = False
    larger: Mapping[str, ModelClient] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shown:
    """Text and reasoning that may be shown while the turn goes on; `head` is what the server says of its reply."""

    text: str = ""
    reasoning: str = ""
    head: JsonObject = field(default_factory=dict)


async def propose(request: ModelRequest, kit: Kit) -> Proposal:
    """Runs a turn to its end and returns the proposal. Raises what `turn` raises."""
    async with aclosing(turn(request, kit, live=False)) as steps:
        async for step in steps:
            if isinstance(step, Proposal):
                return step
    raise UpstreamError("the turn ended without a proposal")  # pragma: no cover - turn() proposes or raises


async def turn(request: ModelRequest, kit: Kit, *, live: bool) -> AsyncGenerator[Shown | Proposal, None]:
    """The whole story of a turn. Yields what may be shown, at once where `live`, and at last the proposal.

    Raises:
        UsageError: none of the tools can be used.
        UpstreamError: the model could not be asked even once; a later failure keeps what there was before.
    """
    identifier = f"turn_{secrets.token_hex(12)}"
    record = TurnRecord(identifier, kit.log, kit.clock)
    began = kit.clock.monotonic()
    attempts: list[Attempt] = []
    loaded: list[str] = []
    tools = compile_tools(request.tools)
    record.begun(request, tools, live=live)
    try:
        offered = _usable(request, tools)
        view = present(offered, tools, kit.presentation)
        record.presented(view, loaded)
        gate = TextGate(_callable(view)) if live else None
        while rung := next_rung([a.outcome for a in attempts], kit.ladder, seconds=kit.clock.monotonic() - began):
            asked = shown_request(view.request, rung, shown_again(attempts, rung), in_prompt=kit.in_prompt)
            record.asking(len(attempts) + 1, rung, asked, len(request.messages))
            asked_at = kit.clock.monotonic()
            reply = ModelReply()
            try:
                if gate and not attempts:
                    async with aclosing(kit.model.stream(asked)) as deltas:
                        async for delta in _until(kit, began, deltas):
                            text, reasoning = gate.feed(delta.text)
                            if text or reasoning or delta.reasoning or delta.head:
                                yield Shown(text, delta.reasoning + reasoning, delta.head)
                            reply = delta.reply or reply
                else:
                    async with asyncio.timeout(_left(kit, began)):
                        reply = await _client(kit, rung).ask(asked)
            except (UpstreamError, TimeoutError) as error:
                failure = _as_upstream_error(error, kit)
                record.failed(len(attempts) + 1, rung, kit.clock.monotonic() - asked_at, failure)
                if not attempts:
                    raise failure from error
                break
            found = _verified(restored(_read(reply, view, kit), view, tools, request.choice), view, request, kit)
            found = _within_look_ups(found, rung, attempts, view, kit)
            near = unseen(found.reading, offered, view)
            wanted = [name for told in found.told for name in told.load] + [
                n for names in near.values() for n in names
            ]
            if asked_for := [name for name in dict.fromkeys(wanted) if name not in loaded]:
                loaded += asked_for
                view = present(offered, tools, kit.presentation, loaded)
            found = told_of(found, near, view)
            attempt = _attempt(rung, asked, reply, found, kit.clock.monotonic() - asked_at, request, kit, attempts)
            silent = bool(found.told and asked_for) and all(answer.load for answer in found.told)
            attempts.append(replace(attempt, silent=silent))
            record.answered(attempt)
            record.told(found.told)
            if asked_for:
                record.presented(view, loaded)
        proposal = conclude(identifier, attempts, tools.problems)
        said = Reading(text=proposal.text, reasoning=proposal.reasoning)
        text, reasoning = gate.rest(said) if gate else (said.text, said.reasoning)
        yield Shown(text, "" if live and attempts[0].reply.reasoning else reasoning)
        record.ended(proposal, kit.clock.monotonic() - began)
        yield proposal
    except BaseException as error:
        record.abandoned(error, len(attempts), kit.clock.monotonic() - began, request.model)
        raise


def first_question(request: ModelRequest, kit: Kit) -> ModelRequest:
    """What a turn asks first, without asking it. Raises `UsageError` where none of the tools can be used."""
    tools = compile_tools(request.tools)
    view = present(_usable(request, tools), tools, kit.presentation)
    return shown_request(view.request, kit.ladder.rungs[0], in_prompt=kit.in_prompt)


def read_reply(
    reply: ModelReply,
    tools: Toolset | Sequence[Tool],
    *,
    choice: ToolChoice | None = None,
    parallel: bool | None = None,
    policy: ParsingPolicy = DEFAULT_POLICY,
) -> Reading:
    """What a reply says, parsed, repaired, coerced and validated: one attempt without a model. Pure.

    Args:
        reply: what came back from the model.
        tools: what it was offered.
        choice: the request's tool choice; None is `auto`.
        parallel: False where the client takes one call at most.
        policy: how to read.

    Returns:
        Calls that may be run, problems of everything else that was meant as one, notes of every repair, and
        the text and reasoning that are left. Nothing in a reply makes it raise.
    """
    toolset = tools if isinstance(tools, Toolset) else compile_tools(tools)
    parsed = parse_reply(reply, toolset, policy)
    good: list[ToolCall] = []
    problems = list(parsed.problems)
    for call in parsed.calls:
        found = check_structure(call, toolset.by_name[call.name])
        problems += found
        if not found:
            good.append(call)
    if reply.finish_reason == "length":
        problems = [_as_truncated(problem) for problem in problems]
    reading = replace(parsed, calls=tuple(good), problems=tuple(problems)) if problems else parsed
    if not (reading.calls or reading.problems or reading.text.strip()) and len(toolset):
        return reading.with_problems(_nothing_said(reply))
    against = check_protocol(reading, choice or ToolChoice(), parallel=parallel)
    return replace(reading, calls=(), problems=reading.problems + against) if against else reading


# -- the steps of a turn ----------------------------------------------------------------------------------------


def _callable(view: View) -> Toolset:
    """What a call may be of: nothing where the request wants none."""
    return Toolset() if view.request.choice.mode is ChoiceMode.NONE else view.toolset


def _read(reply: ModelReply, view: View, kit: Kit) -> Reading:
    """What a reply says, in the terms that the model was shown."""
    request = view.request
    parallel = request.parallel_tool_calls
    return read_reply(reply, _callable(view), choice=request.choice, parallel=parallel, policy=kit.parsing)


def _verified(found: Restored, view: View, request: ModelRequest, kit: Kit) -> Restored:
    """What was found, or its refusal where a rule has something against a call."""
    problems = [
        problem
        for call in found.reading.calls
        for verify in kit.verifiers
        if (problem := verify(call, request)) is not None
    ]
    return found.refused(problems, view)


def _within_look_ups(found: Restored, rung: Rung, before: Sequence[Attempt], view: View, kit: Kit) -> Restored:
    """What was found, held to the bound of look-ups; one instead of a next call counts as no call."""
    if not found.told:
        return found
    if rung is NEXT_CALL:
        return replace(found, told=())
    if sum(bool(attempt.told) for attempt in before) < kit.ladder.look_ups:
        return found
    return replace(found, told=()).refused([_ENOUGH_LOOKED_UP], view)


def _attempt(
    rung: Rung,
    asked: ModelRequest,
    reply: ModelReply,
    found: Restored,
    seconds: float,
    request: ModelRequest,
    kit: Kit,
    before: Sequence[Attempt],
) -> Attempt:
    """The attempt, with what the request still mentions that no call uses."""
    reading = found.reading
    unused: tuple[str, ...] = ()
    if reading.calls and not reading.problems and kit.ladder.next_calls and request.parallel_tool_calls is not False:
        standing = standing_calls(before) if rung is NEXT_CALL else ()
        unused = unused_mentions(request.messages, (*standing, *reading.calls), request.tools)
    extends = rung is NEXT_CALL and extends_calls(reading, unused, before)
    told = tuple(answer.text for answer in found.told)
    return Attempt(len(before) + 1, rung, asked, reply, reading, seconds, unused, extends, found.said, told)


def _client(kit: Kit, rung: Rung) -> ModelClient:
    return kit.larger.get(rung.model, kit.model) if rung.model else kit.model


def _left(kit: Kit, began: float) -> float:
    """Seconds until the turn's deadline."""
    return max(kit.ladder.seconds - (kit.clock.monotonic() - began), 0.001)


async def _until(kit: Kit, began: float, deltas: AsyncIterator[Delta]) -> AsyncIterator[Delta]:
    """A stream held to the turn's deadline."""
    while True:
        try:
            async with asyncio.timeout(_left(kit, began)):
                delta = await anext(deltas)
        except StopAsyncIteration:
            return
        yield delta


def _usable(request: ModelRequest, tools: Toolset) -> ModelRequest:
    """The request without the tools that are quarantined, so that the model is not shown what it cannot call."""
    if not tools.problems:
        return request
    usable = tuple(tool.tool for tool in tools if tool.broken is None)
    if not usable and request.tools:
        reasons = "; ".join(problem.message for problem in tools.problems)
        raise UsageError(f"none of the tools can be used: {reasons}")
    return replace(request, tools=usable)


def _as_upstream_error(error: Exception, kit: Kit) -> UpstreamError:
    if isinstance(error, UpstreamError):
        return error
    seconds = kit.ladder.seconds
    return UpstreamTimeout(f"the model did not finish within the deadline of {seconds:g} s; raise it or ask for less")


_ENOUGH_LOOKED_UP = Problem(
    ProblemKind.PROTOCOL,
    "tools were looked up often enough in this turn. Call one that was found, or say in words that none fits.",
    about_selection=True,
)


def _as_truncated(problem: Problem) -> Problem:
    """At a length limit a missing argument is the effect of the cut, not the model's choice."""
    if problem.kind is not ProblemKind.MISSING_REQUIRED:
        return problem
    return replace(problem, kind=ProblemKind.TRUNCATED, message=f"the reply hit its length limit: {problem.message}")


def _nothing_said(reply: ModelReply) -> Problem:
    tokens = reply.usage.output_tokens if reply.usage else 0
    made = f", although {tokens} tokens were generated" if tokens else ""
    message = f"the reply is empty{made}. Answer in words, or write a call."
    return Problem(ProblemKind.UNPARSEABLE, message, got="", allowed="words or a call")
