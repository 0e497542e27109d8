"""BM25F over an inverted index: names, descriptions and parameter names weighed together.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), sections 3.4 (BM25)
and 3.6 (fields). A term's frequencies in the fields are normalised by the field's length, weighted, added up, and
only then saturated; so what a term adds to a score is known when the index is built, and a query only adds up.
Much is added with numpy where that is there, in a tenth of the time and the same order, so with the same result.
"""

from __future__ import annotations

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

SATURATION = 1.2  # k1: within 1.2 to 2, which the source gives as good for many collections
MAX_QUERY_TERMS = 64
MAX_POSTINGS = 30_000
MANY_POSTINGS = 2000
"""From so many on numpy is quicker than plain Python; for fewer it need not be imported."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a document: how much its terms count, and how far its length is evened out (b, 0 to 1)."""

    weight: float
    length_effect: float


@dataclass(frozen=True, slots=True)
class _Postings:
    """The documents that hold a term, in rising order, what it adds to each one's score, and the most of that."""

    documents: array[int]
    scores: array[float]
    highest: float


class LexicalIndex:
    """Which documents hold which terms. Its size grows with the number of different terms in each document."""

    def __init__(self, fields: Mapping[str, Field], documents: Iterable[Mapping[str, Sequence[str]]]) -> None:
        """Builds the index of `documents`, each the terms of its fields, by the field's name."""
        counted: dict[str, tuple[array[int], array[float]]] = {}
        whole = [{name: tuple(document.get(name, ())) for name in fields} for document in documents]
        self.size = len(whole)
        usual = {name: max(sum(len(d[name]) for d in whole) / max(self.size, 1), 1e-9) for name in fields}
        for number, document in enumerate(whole):
            for term, frequency in _weighted(document, fields, usual).items():
                held, frequencies = counted.setdefault(term, (array("I"), array("d")))
                held.append(number)
                frequencies.append(frequency)
        self._postings = {term: self._scored(*found) for term, found in counted.items()}

    def _scored(self, held: array[int], frequencies: array[float]) -> _Postings:
        rarity = math.log(1 + (self.size - len(held) + 0.5) / (len(held) + 0.5))
        scores = array("f", (rarity * tf / (SATURATION + tf) for tf in frequencies))
        return _Postings(held, scores, max(scores))

    def search(self, query: Sequence[str], k: int) -> list[tuple[int, float]]:
        """The `k` best documents and their scores, best first; of equal ones, the first in the catalogue.

        The terms that say most are looked up first. Terms that most documents hold are passed over once enough
        documents have been looked at, which bounds the time of a query whatever it holds.
        """
        found = [self._postings[term] for term in dict.fromkeys(query) if term in self._postings]
        found.sort(key=lambda postings: -postings.highest)
        found = _bounded(found[:MAX_QUERY_TERMS])
        numpy = _numpy() if sum(len(postings.documents) for postings in found) >= MANY_POSTINGS else None
        return _best_by_numpy(numpy, found, self.size, k) if numpy else _best(found, k)


def _bounded(found: Sequence[_Postings]) -> list[_Postings]:
    taken: list[_Postings] = []
    seen = 0
    for postings in found:
        seen += len(postings.documents)
        if seen > MAX_POSTINGS and taken:
            break
        taken.append(postings)
    return taken


def _best(found: Sequence[_Postings], k: int) -> list[tuple[int, float]]:
    scores: dict[int, float] = {}
    for postings in found:
        for document, score in zip(postings.documents, postings.scores, strict=True):
            scores[document] = scores.get(document, 0.0) + score
    # The bare numbers first: comparing thousands of pairs would take longer than adding up their scores.
    least = min(heapq.nlargest(k, scores.values()), default=0.0)
    return _first((item for item in scores.items() if item[1] >= least), k)


def _best_by_numpy(numpy: Any, found: Sequence[_Postings], size: int, k: int) -> list[tuple[int, float]]:
    documents = numpy.concatenate([numpy.frombuffer(p.documents, p.documents.typecode) for p in found])
    added = numpy.concatenate([numpy.frombuffer(p.scores, p.scores.typecode) for p in found])
    scores = numpy.bincount(documents, weights=added, minlength=size)
    least = numpy.partition(scores, -min(k, size))[-min(k, size)]
    among = numpy.flatnonzero((scores >= least) & (scores > 0))
    return _first(zip(among.tolist(), scores[among].tolist(), strict=True), k)


def _first(scored: Iterable[tuple[int, float]], k: int) -> list[tuple[int, float]]:
    return sorted(scored, key=lambda item: (-item[1], item[0]))[:k]


@cache
def _numpy() -> ModuleType | None:
    try:
        import numpy as np
    except ImportError:
        return None
    return np


def _weighted(
    document: Mapping[str, Sequence[str]], fields: Mapping[str, Field], usual: Mapping[str, float]
) -> dict[str, float]:
    """The frequency of each term over all fields together, weighted and evened out for their lengths."""
    total: dict[str, float] = {}
    for name, field in fields.items():
        own = document[name]
        evened = 1 - field.length_effect + field.length_effect * len(own) / usual[name]
        for term, count in Counter(own).items():
            total[term] = total.get(term, 0.0) + field.weight * count / evened
    return total
