"""One trial: one task under one variant, from the question to the level it reached."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from rightcall.assemble import SystemClock
from rightcall.attempts import Proposal
from rightcall.domain import Message, ModelReply, ModelRequest, ToolCall
from rightcall.errors import UpstreamError, UpstreamRefused, UpstreamTimeout, UsageError
from rightcall.evaluation.ablation.fixture import Fixture, Workspace
from rightcall.evaluation.ablation.grade import Made, claims_evidence, guesses_evidence, level_of
from rightcall.evaluation.ablation.plan import Plan, Task, Variant
from rightcall.evaluation.cases import Answer
from rightcall.evaluation.models import OpenModel
from rightcall.openai_chat import call_to_json
from rightcall.ports import Delta, ModelClient
from rightcall.schema.compiled import Toolset, compile_tools
from rightcall.schema.fingerprint import toolset_fingerprint
from rightcall.store.memory import NullEventLog
from rightcall.turn import Kit, propose
from rightcall.validation.structure import check_structure

_KEPT_CHARS = 4000
_BAD_REQUEST = frozenset((400, 413, 422))  # the server refuses this very request, whenever it is asked


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one task under one variant. Times are seconds since the epoch, durations seconds.

    `status` is that of the last turn: `calls`, `text`, `unresolved`, or why there was none: `timeout`, or `refused`
    by the server, with its `reason`. `level` is 0 to 4. `claimed`: the answer in words claims evidence, whether or
    not any was acquired; `guessed`: it holds the evidence. `position` is the place in the whole run, `place` the one
    within the block. `problems` counts by family what was wrong with the calls in the end.
    """

    variant: str
    position: int
    place: int
    time: float
    level: int = 0
    status: str = "text"
    reason: str = ""
    calls: tuple[Made, ...] = ()
    text: str = ""
    claimed: bool = False
    guessed: bool = False
    problems: Mapping[str, int] = field(default_factory=dict)
    turns: int = 0
    attempts: int = 0
    repairs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    model: str = ""
    build: str = ""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    snapshot: str = ""
    toolset: str = ""


def trial_to_json(trial: Trial) -> dict[str, Any]:
    """A trial as data; long results are cut, after they were graded."""
    data = asdict(trial)
    for call in data["calls"]:
        call["content"] = call["content"][:_KEPT_CHARS]
    return data


def trial_from_json(data: Mapping[str, Any]) -> Trial:
    """The trial again. Raises `KeyError` or `TypeError` where it is none."""
    return Trial(**{**data, "calls": tuple(_made_from_json(call) for call in data["calls"])})


def _made_from_json(data: Mapping[str, Any]) -> Made:
    values: dict[str, Any] = {**data, "problems": tuple(data["problems"])}
    return Made(**values)


class Subject:
    """A model under a plan, ready for trials."""

    def __init__(self, plan: Plan, model: OpenModel, fixture: Fixture) -> None:
        self._plan = plan
        self._model = model
        self._fixture = fixture
        self._tools = {variant.name: compile_tools(variant.tools) for variant in plan.variants}

    def request(self, task: Task, variant: Variant, repeat: int) -> ModelRequest:
        """The first question of a trial."""
        sampling = self._sampling(repeat)
        return ModelRequest(task.messages, self._model.served, variant.tools, extra=sampling)

    def kit(self) -> Kit:
        """What a turn works with under the plan's arm."""
        return self._plan.arm.kit(Kit(self._model.client, NullEventLog(), SystemClock()))

    async def run(self, task: Task, variant: Variant, repeat: int, position: int, place: int) -> Trial:
        """One trial. What the model does is an answer, a timeout and nonsense included.

        Raises:
            UpstreamError: infrastructure failed; nothing can be said of the variant.
            UsageError: the fixture's own functions failed.
        """
        request = self.request(task, variant, repeat)
        trial = Trial(
            variant.name,
            position,
            place,
            time.time(),
            build=self._model.build,
            sampling=dict(request.extra),
            snapshot=self._fixture.digest,
            toolset=toolset_fingerprint(variant.tools),
        )
        began = time.monotonic()
        async with self._fixture.workspace() as workspace:
            trial = await self._turns(request, variant, workspace, trial)
            silent = trial.status == "text" and not trial.calls
            level = await level_of(trial.calls, task, variant, workspace.judge, silent=silent)
        return replace(
            trial,
            level=level,
            claimed=claims_evidence(trial.text, task),
            guessed=guesses_evidence(trial.text, task) and not task.negative,
            seconds=time.monotonic() - began,
        )

    async def _turns(self, request: ModelRequest, variant: Variant, workspace: Workspace, trial: Trial) -> Trial:
        """Question, calls, results, again, until the model answers in words or the turns are used up."""
        client = _Watched(self._model.client)
        kit = replace(self.kit(), model=client)
        for turn in range(self._plan.turns):
            try:
                proposal = await propose(request, kit)
            except UpstreamTimeout as error:
                return replace(trial, status="timeout", reason=str(error))
            except UpstreamRefused as error:
                if error.status in _BAD_REQUEST:
                    return replace(trial, status="refused", reason=str(error))
                raise
            if client.failure is not None:
                raise client.failure
            answer = self._plan.arm.answer(proposal, variant.tools)
            meant = self._meant(proposal, answer, variant, turn)
            # Of a turn that is refused nothing is run, the good calls in it neither.
            run = answer.status == "calls"
            made = [await self._carried_out(call, variant, workspace) if run else call for call in meant]
            trial = _with_turn(trial, proposal, answer, made, self._model.served)
            if answer.status == "unresolved" or not made:
                return trial
            request = replace(request, messages=[*request.messages, *_exchange(proposal, made)])
        return trial

    def _meant(self, proposal: Proposal, answer: Answer, variant: Variant, turn: int) -> list[Made]:
        """Every call of a turn, good or bad. What cannot be attributed to a tool is no call."""
        if answer.status == "text":
            return []
        # A turn that came to nothing may still hold good calls beside the bad ones.
        good = answer.calls or (proposal.last.reading.calls if self._plan.arm.reads else ())
        judged = [_judged(call, self._tools[variant.name], turn) for call in good]
        # Their problems are told for calls that are not among the good ones: bare calls are judged here instead.
        there = {made.tool for made in judged} if not self._plan.arm.reads else set()
        bad: dict[str, list[str]] = {}
        for problem in answer.problems:
            if problem["tool"] and problem["tool"] not in there:
                bad.setdefault(str(problem["tool"]), []).append(str(problem["kind"]))
        return judged + [Made(turn, tool, problems=tuple(kinds)) for tool, kinds in bad.items()]

    async def _carried_out(self, made: Made, variant: Variant, workspace: Workspace) -> Made:
        """A valid call with its result. What the schema refuses never reaches a function."""
        if not made.valid:
            return made
        functions = variant.operations[made.tool]
        if variant.adapter:
            meant = await workspace.adapt(variant.adapter, made.tool, made.arguments)
            if isinstance(meant, str):
                return replace(made, status="error", error_class=meant, content="the arguments mean no operation")
            function, given = meant
            if function not in functions:
                raise UsageError(
                    f"the fixture's {variant.adapter}() reads a call of {made.tool!r} as {function!r}; variant"
                    f" {variant.name!r} declares {', '.join(functions)}"
                )
        else:
            function, given = functions[0], dict(made.arguments)
        result = await workspace.call(function, given)
        return replace(made, function=function, given=given, **asdict(result))

    def _sampling(self, repeat: int) -> dict[str, Any]:
        sampling = {**self._plan.sampling, **self._model.entry.sampling}
        if isinstance(sampling.get("seed"), int):
            sampling["seed"] += repeat
        return sampling


def _judged(call: ToolCall, tools: Toolset, turn: int) -> Made:
    tool = tools.by_name.get(call.name)
    if tool is None:
        return Made(turn, call.name, call.arguments, problems=("unknown_tool",))
    kinds = tuple(problem.kind.value for problem in check_structure(call, tool))
    return Made(turn, call.name, call.arguments, valid=not kinds, problems=kinds)


class _Watched:
    """A model whose infrastructure's failures are kept: a ladder goes on after one, an experiment must not."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self.failure: UpstreamError | None = None

    async def ask(self, request: ModelRequest) -> ModelReply:
        try:
            return await self._client.ask(request)
        except UpstreamTimeout:
            raise
        except UpstreamError as error:
            if not (isinstance(error, UpstreamRefused) and error.status in _BAD_REQUEST):
                self.failure = error
            raise

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        return self._client.stream(request)


def _with_turn(trial: Trial, proposal: Proposal, answer: Answer, made: Sequence[Made], served: str) -> Trial:
    families = dict(trial.problems)
    for problem in answer.problems if answer.status != "text" else ():
        families[problem["family"]] = families.get(problem["family"], 0) + 1
    if denied := sum(call.status == "denied" for call in made):
        families["policy"] = families.get("policy", 0) + denied
    fingerprint = proposal.last.reply.body.get("system_fingerprint")
    return replace(
        trial,
        status=answer.status,
        calls=(*trial.calls, *made),
        text=answer.text[:_KEPT_CHARS],
        problems=families,
        turns=trial.turns + 1,
        attempts=trial.attempts + len(proposal.attempts),
        repairs=trial.repairs + len(proposal.notes),
        input_tokens=trial.input_tokens + proposal.usage.input_tokens,
        output_tokens=trial.output_tokens + proposal.usage.output_tokens,
        model=" ".join(str(part) for part in (proposal.last.reply.model or served, fingerprint) if part),
    )


def _exchange(proposal: Proposal, made: Sequence[Made]) -> list[Message]:
    """The calls and their results as messages. Identifiers are counted, so that equal trials ask equal questions."""
    identifiers = [f"call_{call.turn}_{index}" for index, call in enumerate(made)]
    calls = [
        call_to_json(ToolCall(identifier, call.tool, dict(call.arguments)))
        for identifier, call in zip(identifiers, made, strict=True)
    ]
    results = [
        {"role": "tool", "tool_call_id": identifier, "content": json.dumps(_shown(call), ensure_ascii=False)}
        for identifier, call in zip(identifiers, made, strict=True)
    ]
    return [{"role": "assistant", "content": proposal.text or None, "tool_calls": calls}, *results]


def _shown(call: Made) -> dict[str, Any]:
    """What the model is told of a result: success, nothing found, failure and a cut are never the same."""
    shown: dict[str, Any] = {"status": call.status, "content": call.content}
    if call.error_class:
        shown["error"] = call.error_class
    if call.truncated:
        shown["truncated"] = True
    if call.status == "refused":
        shown["content"] = f"the call was not carried out: {', '.join(call.problems)}"
    return shown
