"""One turn: from a request to calls that are right, or a refusal that says why.

    present -> ask the model -> parse, repair, coerce -> validate -> (ladder: again, changed) -> proposal

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
from rightcall.parsing.parse import DEFAULT_POLICY, ParsingPolicy, parse_reply
from rightcall.parsing.stream import TextGate
from rightcall.ports import Clock, Delta, EventLog, ModelClient
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
    `in_prompt` describes tools in the prompt on every rung; `larger` holds the clients of the other models
    that rungs name.
    """

    model: ModelClient
    log: EventLog
    clock: Clock
    ladder: Ladder = DEFAULT_LADDER
    parsing: ParsingPolicy = DEFAULT_POLICY
    verifiers: tuple[Verifier, ...] = ()
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
    tools = compile_tools(request.tools)
    record.begun(request, tools, live=live)
    try:
        offered = _usable(request, tools)
        callable_tools = Toolset() if request.choice.mode is ChoiceMode.NONE else tools
        gate = TextGate(callable_tools) if live else None
        while rung := next_rung([a.outcome for a in attempts], kit.ladder, seconds=kit.clock.monotonic() - began):
            asked = shown_request(offered, rung, shown_again(attempts, rung), in_prompt=kit.in_prompt)
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
            reading = _verified(_read(reply, callable_tools, request, kit), request, kit)
            attempt = _attempt(rung, asked, reply, reading, kit.clock.monotonic() - asked_at, request, kit, attempts)
            attempts.append(attempt)
            record.answered(attempt)
        proposal = conclude(identifier, attempts, tools.problems)
        said = Reading(text=proposal.text, reasoning=proposal.reasoning)
        text, reasoning = gate.rest(said) if gate else (said.text, said.reasoning)
        yield Shown(text, "" if live and attempts[0].reply.reasoning else reasoning)
        record.ended(proposal, kit.clock.monotonic() - began)
        yield proposal
    except BaseException as error:
        record.abandoned(error, len(attempts), kit.clock.monotonic() - began, request.model)
        raise


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


def _read(reply: ModelReply, tools: Toolset, request: ModelRequest, kit: Kit) -> Reading:
    parallel = request.parallel_tool_calls
    return read_reply(reply, tools, choice=request.choice, parallel=parallel, policy=kit.parsing)


def _verified(reading: Reading, request: ModelRequest, kit: Kit) -> Reading:
    """The reading, or its refusal where a rule has something against a call."""
    problems = [
        problem
        for call in reading.calls
        for verify in kit.verifiers
        if (problem := verify(call, request)) is not None
    ]
    return replace(reading, calls=(), problems=(*reading.problems, *problems)) if problems else reading


def _attempt(
    rung: Rung,
    asked: ModelRequest,
    reply: ModelReply,
    reading: Reading,
    seconds: float,
    request: ModelRequest,
    kit: Kit,
    before: Sequence[Attempt],
) -> Attempt:
    """The attempt, with what the request still mentions that no call uses."""
    unused: tuple[str, ...] = ()
    if reading.calls and not reading.problems and kit.ladder.next_calls and request.parallel_tool_calls is not False:
        standing = standing_calls(before) if rung is NEXT_CALL else ()
        unused = unused_mentions(request.messages, (*standing, *reading.calls), request.tools)
    extends = rung is NEXT_CALL and extends_calls(reading, unused, before)
    return Attempt(len(before) + 1, rung, asked, reply, reading, seconds, unused, extends)


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
