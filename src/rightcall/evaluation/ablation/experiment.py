"""Runs an experiment: blocks in random order, every variant in each, whole blocks only, until the plan says stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rightcall.errors import UpstreamError, UsageError
from rightcall.evaluation.ablation.block_file import BlockFile, Settled, as_settled
from rightcall.evaluation.ablation.fixture import Fixture, snapshot
from rightcall.evaluation.ablation.freeze import frozen
from rightcall.evaluation.ablation.plan import Plan
from rightcall.evaluation.ablation.schedule import Block, schedule
from rightcall.evaluation.ablation.stopping import Stopping
from rightcall.evaluation.ablation.trial import Subject
from rightcall.evaluation.models import OpenModel
from rightcall.ladder import PLAIN
from rightcall.openai_chat import request_to_json
from rightcall.prompting import shown_request

TRIES = 3
"""How often a block is begun before it is dropped."""
_DROPPED_IN_A_ROW = 3
_CHARS_A_TOKEN = 3.5  # JSON and English, roughly; only for the estimate before a run


@dataclass(frozen=True, slots=True)
class Cost:
    """What the rest of an experiment will cost at most. `input_tokens` are those of the first turns, roughly."""

    blocks: int
    done: int
    requests_min: int
    requests_max: int
    input_tokens: int
    output_tokens_max: int


class Experiment:
    """A plan with one model and its fixture's snapshot. Use `prepared`, which takes the snapshot and checks it.

    The model need not be open to be told what it would cost; `frozen` is what is fixed.
    """

    def __init__(self, plan: Plan, model: OpenModel, fixture: Fixture) -> None:
        self.plan = plan
        self.blocks = schedule(plan)
        self._fixture = fixture
        self._described = Subject(plan, model, fixture)
        self._tasks = {task.id: task for task in plan.tasks}
        self._variants = {variant.name: variant for variant in plan.variants}
        self.frozen: Mapping[str, Any] = frozen(
            plan,
            model=model.entry.name,
            build=model.build,
            snapshot=fixture.digest,
            module=fixture.module_digest,
        )

    def cost(self, settled: Mapping[tuple[str, int], Settled] | None = None) -> Cost:
        """What is left to be asked; nothing is."""
        rest = [block for block in self.blocks if block.key not in (settled or {})]
        ladder = self._described.kit().ladder
        trials = len(rest) * len(self.plan.variants)
        most = self.plan.turns * (len(ladder.rungs) + ladder.next_calls)
        limit = self.plan.sampling.get("max_tokens")
        chars = sum(self._chars(block) for block in rest)
        return Cost(
            blocks=len(rest),
            done=len(self.blocks) - len(rest),
            requests_min=trials,
            requests_max=trials * most,
            input_tokens=int(chars / _CHARS_A_TOKEN),
            output_tokens_max=trials * most * (limit if isinstance(limit, int) else 0),
        )

    def decided(self, file: BlockFile) -> bool:
        """Whether the stop rule ends the experiment with what the file holds."""
        return Stopping(self.frozen, self.blocks).decided(file.settled)

    async def run(
        self, file: BlockFile, model: OpenModel, *, parallel: int = 1, done: Callable[[Settled], None] | None = None
    ) -> None:
        """Runs every block that the file does not hold yet, so many at once; each is written as it ends.

        Args:
            file: where the blocks go, and those that need not be run again.
            model: the model, open; it must be the one that was frozen.
            parallel: blocks under way at once. Within a block, variants are asked one after the other.
            done: told of each block.

        Raises:
            UpstreamError: one block after another was dropped: there is no use in going on.
            UsageError: the fixture's own functions failed.
        """
        subject = Subject(self.plan, model, self._fixture)
        stopping = Stopping(self.frozen, self.blocks)
        ended = dict(file.settled)
        semaphore = asyncio.Semaphore(parallel)
        dropped = 0

        async def one(block: Block) -> None:
            nonlocal dropped
            settled = await self._block(block, subject)
            file.append(settled)
            ended[settled.key] = settled
            dropped = dropped + 1 if settled.dropped else 0
            if done:
                done(settled)
            if dropped >= _DROPPED_IN_A_ROW:
                raise UpstreamError(
                    f"{dropped} blocks in a row were dropped, the last because: {settled.dropped}. See to the model"
                    " server; the same command goes on from here"
                )

        async with _first_failure(), asyncio.TaskGroup() as group:
            for block in self.blocks:
                if block.key in file.settled:
                    continue
                await semaphore.acquire()
                if stopping.decided(ended):
                    break
                task = group.create_task(one(block))
                task.add_done_callback(lambda _: semaphore.release())

    async def _block(self, block: Block, subject: Subject) -> Settled:
        """A whole block: where infrastructure fails within it, all of it is run again."""
        task, reason = self._tasks[block.task], ""
        size = len(block.order)
        for tries in range(1, TRIES + 1):
            try:
                trials = [
                    await subject.run(task, self._variants[name], block.repeat, block.number * size + place, place)
                    for place, name in enumerate(block.order)
                ]
            except UpstreamError as error:
                reason = str(error) or type(error).__name__
            else:
                return as_settled(block, tries, trials)
        return as_settled(block, TRIES, dropped=reason)

    def _chars(self, block: Block) -> int:
        task, total = self._tasks[block.task], 0
        for variant in self.plan.variants:
            request = self._described.request(task, variant, block.repeat)
            asked = shown_request(request, PLAIN, [], in_prompt=self.plan.arm.tools_in_prompt)
            total += len(str(request_to_json(asked)))
        return total


@asynccontextmanager
async def prepared(plan: Plan, model: OpenModel) -> AsyncIterator[Experiment]:
    """The experiment, ready to run: the snapshot is taken and has every function that the plan names.

    Raises:
        UsageError: the fixture cannot be used, or lacks a function.
    """
    with snapshot(plan.fixture) as fixture:
        async with fixture.workspace() as workspace:
            if missing := await workspace.missing(_functions(plan)):
                raise UsageError(f"{plan.fixture.module} has no function {missing[0]}(); the plan names it")
        yield Experiment(plan, model, fixture)


def experiment_path(folder: Path, plan: Plan, model: str) -> Path:
    """Where an experiment's file stands: by its name and the model's, so that a changed plan meets its own file."""
    tail = Path(model).stem if model.startswith("replay:") else model.replace("/", "-").replace(":", "-")
    return folder / f"{plan.name}--{tail}.jsonl"


def _functions(plan: Plan) -> list[str]:
    names = {name for variant in plan.variants for functions in variant.operations.values() for name in functions}
    names |= {variant.adapter for variant in plan.variants}
    names |= {name for task in plan.tasks for name in (task.right, task.evidence.check)}
    return sorted(names - {""})


@asynccontextmanager
async def _first_failure() -> AsyncIterator[None]:
    """Tells of a group of failures by its first: the others follow from it."""
    try:
        yield
    except BaseExceptionGroup as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None
