"""When an experiment may end: after every block, or once betting has decided every comparison.

Source: research on evaluation statistics, design point 9: looks only through an e-process, fed with families. The
comparisons share the level equally (an e-value of (k - 1) / α decides one), since Holm's steps need all p-values at
one moment and these processes stop at different ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.evaluation.ablation.block_file import Settled
from rightcall.evaluation.ablation.outcomes import Outcomes, reached
from rightcall.evaluation.ablation.schedule import Block


class Stopping:
    """The plan's stop rule, told of what has ended. A fixed experiment never stops early.

    Looks are taken family by family in the run's order, and at whole families only: when to stop must not depend
    on which block happens to end first.
    """

    def __init__(self, plan: Mapping[str, Any], blocks: Sequence[Block]) -> None:
        self._plan = plan
        self._waiting: list[str] = []
        self._members: dict[str, list[tuple[str, int]]] = {}
        for block in blocks:
            self._members.setdefault(plan["families"][block.task], []).append(block.key)
        compared = [name for name in plan["variants"] if name != plan["control"]]
        self._processes: dict[str, Any] = {}
        if plan["stop"] == "e-process":
            from rightcall.evaluation.statistics import BettingProcess

            self._waiting = list(self._members)
            self._processes = {name: BettingProcess(plan["alpha"] / len(compared)) for name in compared}

    def decided(self, ended: Mapping[tuple[str, int], Settled]) -> bool:
        """Whether every comparison is decided by the blocks that have ended."""
        while self._waiting and all(key in ended for key in self._members[self._waiting[0]]):
            self._observe([ended[key] for key in self._members[self._waiting.pop(0)]])
        return bool(self._processes) and all(process.stop for process in self._processes.values())

    def evidence(self) -> list[dict[str, Any]]:
        """The e-values so far, by comparison."""
        return [
            {
                "variant": name,
                "e_value": process.e_value,
                "highest": process.highest,
                "needed": 1 / process.alpha,
                "families": process.seen,
                "decided": process.stop,
            }
            for name, process in self._processes.items()
        ]

    def _observe(self, blocks: Sequence[Settled]) -> None:
        outcomes = Outcomes(self._plan, blocks)
        value = reached(self._plan["endpoint"])
        control = outcomes.column(self._plan["control"], value).values
        if not control:  # every block of the family was dropped
            return
        for name, process in self._processes.items():
            variant = outcomes.column(name, value).values
            process.observe((sum(variant) - sum(control)) / len(control))
