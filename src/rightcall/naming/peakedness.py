"""How strongly a model's own candidates gather around a name, and which of them it prefers.

Source: PA-Tool, sections 3.3 and 3.4, Algorithm 1. For candidates s_1 .. s_N and the longest length L among them,
`peakedness(s_i)` counts the j != i with edit distance(s_i, s_j) <= alpha * L. Equal names drawn apart count like
any other. The highest wins; ties go to the name nearest to what the model writes at temperature 0, then to the one
drawn first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rapidfuzz.distance.Levenshtein import distance
from rapidfuzz.process import extract

ALPHA = 0.2
"""The paper's best value for all four models (appendix A.4); 0.1 and 0.3 cost 2 to 3 points."""


class Method(StrEnum):
    """How a name is chosen: PA-Tool's way, or one of the paper's two baselines (section 4.2)."""

    PEAKEDNESS = "peakedness"
    MOST_FREQUENT = "mostfreq"
    GREEDY = "greedy"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A distinct name: its peakedness, and how often it was drawn (0: only at temperature 0)."""

    name: str
    peakedness: int = 0
    count: int = 0

    def score(self, method: Method) -> int:
        """What a method prefers, and what decides a collision."""
        return self.count if method is Method.MOST_FREQUENT else self.peakedness


def tolerance(names: Sequence[str], alpha: float = ALPHA) -> int:
    """The largest edit distance at which two of the names are alike: alpha times the longest length, whole edits."""
    # A product such as 0.29 * 100 falls a hair short of what it means.
    return int(alpha * max(map(len, names), default=0) + 1e-9)


def peakedness(names: Sequence[str], alpha: float = ALPHA) -> dict[str, int]:
    """The peakedness of each distinct name, in the order drawn.

    Args:
        names: the candidates as drawn, equal ones included.
        alpha: how much of the longest name may differ, 0 to 1.
    """
    counts = Counter(names)
    within = tolerance(names, alpha)
    scores = {name: count - 1 for name, count in counts.items()}
    rest = list(counts)
    while rest:
        name = rest.pop()
        for other, *_ in extract(name, rest, scorer=distance, score_cutoff=within, limit=None):
            scores[name] += counts[other]
            scores[other] += counts[name]
    return scores


def ranked(
    names: Sequence[str], reference: str | None, alpha: float = ALPHA, method: Method = Method.PEAKEDNESS
) -> tuple[Candidate, ...]:
    """The distinct candidates, the preferred one first.

    Args:
        names: the usable candidates as drawn, equal ones included.
        reference: the name at temperature 0; None where it is unusable.
        alpha: see `peakedness`.
        method: what is preferred. The greedy method has the reference as its only candidate.
    """
    if method is Method.GREEDY:
        return (Candidate(reference),) if reference else ()
    counts = Counter(names)
    found = [Candidate(name, score, counts[name]) for name, score in peakedness(names, alpha).items()]
    # Sorting is stable, so what is left of a tie goes to the name drawn first.
    return tuple(sorted(found, key=lambda each: (-each.score(method), distance(each.name, reference or each.name))))


def margin(chosen: Candidate, ranking: Sequence[Candidate], within: int, method: Method = Method.PEAKEDNESS) -> int:
    """How far a name is ahead of the best one that is not alike; negative where such a name is ahead of it.

    Names alike are one habit of the model in several spellings, so they do not count against each other.
    """
    others = (each.score(method) for each in ranking if distance(each.name, chosen.name) > within)
    return chosen.score(method) - max(others, default=0)
