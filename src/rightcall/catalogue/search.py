"""A catalogue of tools that can be searched: by words, by vectors, or by both, fused by rank.

Source of the fusion: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion" (2009): a tool's score is the sum of
1 / (k + rank) over the rankings. Ours weighs the two rankings and takes a smaller k; design/15 has the measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias

from rightcall.catalogue.lexical import Field, LexicalIndex
from rightcall.catalogue.vectors import VectorIndex
from rightcall.catalogue.words import name_terms, plain_name, terms
from rightcall.domain import Tool
from rightcall.lens import Found
from rightcall.ports import Embedder
from rightcall.schema.fingerprint import toolset_fingerprint
from rightcall.schema.references import properties

By: TypeAlias = Literal["lexical", "embedded", "fused"]

FIELDS = {
    "name": Field(weight=2.0, length_effect=0.5),
    "description": Field(weight=1.0, length_effect=0.3),
    "parameters": Field(weight=0.5, length_effect=0.75),
}
MAX_TERMS = 1000
_RANK_OFFSET = 10
_LEXICAL_WEIGHT = 0.5
_DEPTH = 50


class Catalogue:
    """Tools, indexed once. Both indexes are built when they are first needed.

    Args:
        tools: what can be found.
        embedder: makes vectors of texts; without one, words alone are compared.
    """

    def __init__(self, tools: Sequence[Tool], embedder: Embedder | None = None) -> None:
        self.tools = tuple(tools)
        self._embedder = embedder

    @cached_property
    def version(self) -> str:
        """The toolset's fingerprint, which says what was searched."""
        return toolset_fingerprint(self.tools)

    @property
    def ways(self) -> tuple[By, ...]:
        """How it can be searched, the default first."""
        return ("fused", "embedded", "lexical") if self._embedder else ("lexical",)

    def search(self, query: str, k: int, by: By | None = None) -> Found:
        """The `k` tools that fit a query best, best first; fewer where fewer share a word with it.

        Scores are comparable within one query and way only: BM25 sums, cosines, or sums of reciprocal ranks.
        """
        ranked = {"lexical": self._lexical, "embedded": self._embedded, "fused": self._fused}[by or self.ways[0]]
        matches = tuple((self.tools[number], score) for number, score in ranked(query, k))
        return Found(query, self.version, matches)

    def nearest_name(self, name: str, by: By) -> Tool | None:
        """The tool that a name which no tool has comes nearest to; None where nothing is in common."""
        found = self._lexical_by(name_terms(name), 1) if by == "lexical" else self._embedded(plain_name(name), 1)
        return self.tools[found[0][0]] if found else None

    def _lexical(self, query: str, k: int) -> list[tuple[int, float]]:
        return self._lexical_by(terms(query), k)

    def _lexical_by(self, query: Sequence[str], k: int) -> list[tuple[int, float]]:
        return self._words.search(query, k)

    def _embedded(self, query: str, k: int) -> list[tuple[int, float]]:
        return self._vectors.search(query, k)

    def _fused(self, query: str, k: int) -> list[tuple[int, float]]:
        scores: dict[int, float] = {}
        rankings = ((1.0, self._embedded), (_LEXICAL_WEIGHT, self._lexical))
        for weight, ranked in rankings:
            for rank, (number, _) in enumerate(ranked(query, max(k, _DEPTH)), start=1):
                scores[number] = scores.get(number, 0.0) + weight / (_RANK_OFFSET + rank)
        return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]

    @cached_property
    def _words(self) -> LexicalIndex:
        return LexicalIndex(FIELDS, map(_terms_of, self.tools))

    @cached_property
    def _vectors(self) -> VectorIndex:
        assert self._embedder is not None  # noqa: S101 - `ways` says so
        return VectorIndex(self._embedder, [f"{plain_name(tool.name)}. {tool.description}" for tool in self.tools])


@lru_cache(maxsize=8)
def catalogue_of(tools: tuple[Tool, ...], embedder: Embedder | None = None) -> Catalogue:
    """The catalogue of a list of tools, kept for the next turn that offers the same ones."""
    return Catalogue(tools, embedder)


def _terms_of(tool: Tool) -> Mapping[str, Sequence[str]]:
    parameters = [term for name in _parameter_names(tool.parameters) for term in name_terms(name)]
    return {
        "name": name_terms(tool.name)[:MAX_TERMS],
        "description": terms(tool.description)[:MAX_TERMS],
        "parameters": parameters[:MAX_TERMS],
    }


def _parameter_names(schema: Any) -> list[str]:
    return list(properties(schema, schema))[:MAX_TERMS]
