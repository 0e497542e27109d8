"""Runs a suite: each case through the same `propose()` as production, a record each, what is done is not redone."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from rightcall.assemble import SystemClock
from rightcall.attempts import Attempt
from rightcall.domain import ModelRequest
from rightcall.errors import UpstreamError, UpstreamRefused, UpstreamTimeout, UsageError
from rightcall.evaluation.arms import Arm
from rightcall.evaluation.cases import Answer, Case, Score, Suite
from rightcall.evaluation.models import OpenModel
from rightcall.evaluation.records import Record, Tried, accepted_to_json
from rightcall.evaluation.run_file import RunFile
from rightcall.openai_chat import request_to_json, text_of
from rightcall.schema.fingerprint import toolset_fingerprint
from rightcall.store.completions import CachedModel, CompletionCache, completion_key
from rightcall.store.memory import NullEventLog
from rightcall.turn import Kit, first_question, propose

_ASKED_CHARS = 4000
_CHARS_A_TOKEN = 3.5  # JSON and English, roughly; only for the estimate before a run
_BAD_REQUEST = frozenset((400, 413, 422))  # the server refuses this very request: asking again changes nothing


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a suite is run.

    `only` are patterns of case ids (`*`, `?`, `[...]`), where not all cases are wanted; of those `limit` draws so
    many with the seed. `sampling` goes into every request.
    """

    seed: int = 0
    repeats: int = 1
    limit: int | None = None
    parallel: int = 1
    held_out: bool = False
    sampling: Mapping[str, Any] | None = None
    only: tuple[str, ...] = ()

    def wants(self, case: Case) -> bool:
        """Whether a case is among those asked for."""
        named = not self.only or any(fnmatchcase(case.id, pattern) for pattern in self.only)
        return named and (case.held_out or not self.held_out)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will cost: answers wanted, those kept, requests at least and at most, and about how many tokens."""

    cases: int
    cached: int
    requests_min: int
    requests_max: int
    input_tokens: int
    output_tokens_max: int


class Runner:
    """One suite, one arm, one model, and the larger one where there is one."""

    def __init__(
        self,
        suite: Suite,
        arm: Arm,
        model: OpenModel,
        cache: CompletionCache,
        options: RunOptions,
        larger: OpenModel | None = None,
    ) -> None:
        self._suite = suite
        self._arm = arm
        self._model = model
        self._cache = cache
        self._options = options
        self._larger = larger

    def cases(self) -> Iterator[Case]:
        """The cases of this run in order: those asked for and drawn, that the model can answer."""
        options = self._options
        chosen = (case for case in self._suite.cases() if options.wants(case) and self._can_answer(case))
        return iter(_sample(chosen, options.limit, options.seed)) if options.limit is not None else chosen

    def estimate(self) -> Estimate:
        """What the whole run will cost beside what is kept, without asking anything."""
        cases = cached = tokens = longest = 0
        for _, case, repeat in self._asked():
            cases += 1
            request = self._first(case, repeat)
            if self._cache.find(completion_key(request, self._model.build, repeat)):
                cached += 1
                continue
            tokens += int(len(str(request_to_json(request))) / _CHARS_A_TOKEN)
            limit = request.extra.get("max_tokens")
            longest += limit if isinstance(limit, int) else 0
        kit = self._arm.kit(_EMPTY_KIT, "larger" if self._larger else "")
        most = len(kit.ladder.rungs) + kit.ladder.next_calls
        fresh = cases - cached
        return Estimate(cases, cached, fresh, fresh * most + cached * (most - 1), tokens, longest * most)

    def left(self, file: RunFile) -> int:
        """How many answers the file does not hold yet."""
        return sum((case.id, repeat) not in file.done for _, case, repeat in self._asked())

    async def run(self, file: RunFile, done: Callable[[Record], None] | None = None) -> None:
        """Asks every case that the file does not hold yet. What is answered is written before the next is asked."""
        semaphore = asyncio.Semaphore(self._options.parallel)
        async with asyncio.TaskGroup() as group:
            for position, case, repeat in self._asked():
                if (case.id, repeat) in file.done:
                    continue
                await semaphore.acquire()
                task = group.create_task(self._one(case, repeat, position, file, done))
                task.add_done_callback(lambda _: semaphore.release())

    def _asked(self) -> Iterator[tuple[int, Case, int]]:
        position = 0
        for case in self.cases():
            for repeat in range(self._options.repeats):
                yield position, case, repeat
                position += 1

    async def _one(
        self, case: Case, repeat: int, position: int, file: RunFile, done: Callable[[Record], None] | None
    ) -> None:
        record = await self.ask(case, repeat, position)
        file.append(record)
        if done:
            done(record)

    async def ask(self, case: Case, repeat: int = 0, position: int = 0) -> Record:
        """Asks one case. A failure of infrastructure is a record with `error`; what the model does is an answer."""
        answered: list[tuple[float, bool]] = []
        began = time.time()
        request = self._request(case, repeat)
        try:
            proposal = await propose(request, self._kit(repeat, answered))
        except UpstreamTimeout as error:
            return self._failed(case, repeat, position, began, "timeout", str(error))
        except UpstreamRefused as error:
            if error.status in _BAD_REQUEST:
                return self._failed(case, repeat, position, began, "refused", str(error))
            return self._broken(case, repeat, position, began, error)
        except UpstreamError as error:
            return self._broken(case, repeat, position, began, error)
        except UsageError as error:  # none of the tools can be used
            return self._failed(case, repeat, position, began, "unusable", str(error))
        answer = self._arm.answer(proposal, case.tools)
        attempts = tuple(
            _tried(attempt, seconds, cached)
            for attempt, (seconds, cached) in zip(proposal.attempts, answered, strict=False)
        )
        record = self._record(case, repeat, position, began, answer)
        return replace(
            record,
            attempts=attempts,
            seconds=sum(attempt.seconds for attempt in attempts),
            escalated=self._larger is not None and any(a.rung == "larger" for a in attempts),
        )

    # -- the parts of a record -----------------------------------------------------------------------------------

    def _record(self, case: Case, repeat: int, position: int, began: float, answer: Answer) -> Record:
        return Record(
            case=case.id,
            repeat=repeat,
            family=case.family,
            negative=case.negative,
            answer=answer,
            score=self._suite.score(case, answer),
            tags=case.tags,
            held_out=case.held_out,
            asked=_asked_text(case),
            accepted=accepted_to_json(case),
            toolset=toolset_fingerprint(case.tools),
            position=position,
            time=began,
        )

    def _failed(self, case: Case, repeat: int, position: int, began: float, kind: str, message: str) -> Record:
        """A turn that the model or the server ended without a reply: an answer, and not a right one."""
        problem = {"kind": kind, "family": "protocol", "path": "", "message": message, "tool": ""}
        answer = Answer("unresolved", problems=(problem,))
        record = self._record(case, repeat, position, began, answer)
        # Silence is not the right answer of a negative case either.
        score = replace(record.score, success=False, selection=False, arguments=False)
        return replace(record, score=score, seconds=time.time() - began)

    def _broken(self, case: Case, repeat: int, position: int, began: float, error: Exception) -> Record:
        record = self._record(case, repeat, position, began, Answer("unresolved"))
        score = Score(success=False, selection=False, arguments=False)
        return replace(record, score=score, error=str(error) or type(error).__name__)

    # -- asking ----------------------------------------------------------------------------------------------------

    def _request(self, case: Case, repeat: int) -> ModelRequest:
        sampling = {**(self._options.sampling or {}), **self._model.entry.sampling}
        if "seed" in sampling:
            sampling["seed"] += repeat
        return ModelRequest(messages=case.messages, model=self._model.served, tools=case.tools, extra=sampling)

    def _first(self, case: Case, repeat: int) -> ModelRequest:
        return first_question(self._request(case, repeat), self._arm.kit(_EMPTY_KIT))

    def _can_answer(self, case: Case) -> bool:
        return self._model.holds is None or self._model.holds(self._first(case, 0))

    def _kit(self, repeat: int, answered: list[tuple[float, bool]]) -> Kit:
        model = CachedModel(self._model.client, self._cache, self._model.build, repeat, answered)
        kit = replace(_EMPTY_KIT, model=model)
        if self._larger is None:
            return self._arm.kit(kit)
        larger = CachedModel(self._larger.client, self._cache, self._larger.build, repeat, answered)
        kit = replace(kit, larger={self._larger.served: larger})
        return self._arm.kit(kit, self._larger.served)


class _NoModel:
    """Stands in a kit that asks nothing: for looking at its ladder, or before the model is put in."""

    async def ask(self, request: ModelRequest) -> Any:
        raise UpstreamError(f"no model is set, and {request.model!r} was asked")

    def stream(self, request: ModelRequest) -> Any:
        raise UpstreamError(f"no model is set, and {request.model!r} was asked")


_EMPTY_KIT = Kit(_NoModel(), NullEventLog(), SystemClock())


def _sample(cases: Iterator[Case], size: int, seed: int) -> list[Case]:
    """So many cases drawn with the seed, each equally likely, in their own order; memory grows with `size` only."""
    draw = random.Random(seed)  # noqa: S311 - a sample, not a secret
    kept: list[tuple[int, Case]] = []
    for number, case in enumerate(cases):
        if len(kept) < size:
            kept.append((number, case))
        elif (slot := draw.randrange(number + 1)) < size:
            kept[slot] = (number, case)
    return [case for _, case in sorted(kept, key=lambda entry: entry[0])]


def _tried(attempt: Attempt, seconds: float, cached: bool) -> Tried:  # noqa: FBT001 - a value, not an option
    reply = attempt.reply
    return Tried(
        rung=attempt.rung.name,
        model=attempt.model,
        seconds=seconds,
        input_tokens=reply.usage.input_tokens if reply.usage else 0,
        output_tokens=reply.usage.output_tokens if reply.usage else 0,
        problems=tuple(problem.kind.value for problem in attempt.reading.problems),
        reply={
            "text": reply.text,
            "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls],
            "finish_reason": reply.finish_reason,
            "fingerprint": reply.body.get("system_fingerprint"),
        },
        cached=cached,
    )


def _asked_text(case: Case) -> str:
    users = [text_of(message.get("content"), "\n") for message in case.messages if message.get("role") == "user"]
    return users[-1][:_ASKED_CHARS] if users else ""
