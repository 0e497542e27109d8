"""Names made unique among components that stand side by side: the paper's priority-locked rounds.

Source: PA-Tool, appendix A.3: in each round the component with the highest peakedness for a contested name acquires
it, the others go on to their next candidate, until all names are unique. Two things are added. Names that fold alike
(`getUser`, `get_user`) contest each other, because a reader of calls takes them for one. And no name may be taken
that folds like another component's original, so each component can always keep its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rightcall.naming.names import folded
from rightcall.naming.peakedness import Candidate, Method


@dataclass(frozen=True, slots=True)
class Settled:
    """What a component got: a candidate, None for its own name; `contested` says that it had to go on to it."""

    candidate: Candidate | None
    contested: bool = False


def settle(rankings: Mapping[str, Sequence[Candidate]], method: Method = Method.PEAKEDNESS) -> dict[str, Settled]:
    """One name for each component of a scope, all different.

    Args:
        rankings: for each original name its candidates, the preferred one first, or none. Between equal scores the
            component that stands first goes first.
        method: whose score gives priority.

    Returns:
        What each got, in the given order.
    """
    originals = Counter(map(folded, rankings))
    contenders = {
        name: _Contender(name, [each for each in ranking if _may_have(name, each.name, originals)])
        for name, ranking in rankings.items()
    }
    locked: set[str] = set()
    waiting = list(contenders.values())
    while True:
        for each in waiting:
            each.go_past(locked)
        waiting = [each for each in waiting if not each.keeps_its_own]
        wanted: defaultdict[str, list[_Contender]] = defaultdict(list)
        for each in waiting:
            wanted[folded(each.wants.name)].append(each)
        contested = {name: all_of for name, all_of in wanted.items() if len(all_of) > 1}
        if not contested:
            break
        for name, all_of in contested.items():
            winner = max(all_of, key=lambda each: each.wants.score(method))
            locked.add(name)
            waiting.remove(winner)
    return {name: each.settled for name, each in contenders.items()}


def _may_have(own: str, wanted: str, originals: Mapping[str, int]) -> bool:
    """Whether a name is no other component's original."""
    others = originals[folded(wanted)] - (folded(wanted) == folded(own))
    return wanted == own or others == 0


class _Contender:
    """A component on its way down its candidates."""

    def __init__(self, original: str, candidates: Sequence[Candidate]) -> None:
        self._original = original
        self._candidates = candidates
        self._at = 0
        self._lost = False

    @property
    def wants(self) -> Candidate:
        """The candidate it is at."""
        return self._candidates[self._at]

    @property
    def keeps_its_own(self) -> bool:
        """Whether its candidates are used up, or it is at its own name, which no other may take."""
        return self._at == len(self._candidates) or self.wants.name == self._original

    @property
    def settled(self) -> Settled:
        """Where it stands."""
        return Settled(None if self._at == len(self._candidates) else self.wants, self._lost)

    def go_past(self, locked: set[str]) -> None:
        """Goes on to the first candidate that nobody has."""
        while not self.keeps_its_own and folded(self.wants.name) in locked:
            self._at += 1
            self._lost = True
