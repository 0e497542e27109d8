"""Tool search: time of a query and of the index by number of tools: `python benchmarks/retrieval.py [--quick]`.

The catalogues are made, with a fixed seed: names, descriptions and parameters from a vocabulary whose words are as
unevenly frequent as those of language (Zipf). The queries are of 5, 12 and 40 words, of which a few name the tool
that is looked for and the others are drawn like the catalogue's. That words find the tool is checked before anything
is timed; made words mean nothing, so that vectors are only timed. The peer is a scan of all tools with `rapidfuzz`,
which is what a program has without an index.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from rapidfuzz import fuzz, process
from report import Part, Row, Say, Table, alone, duration, seconds_per_call

from rightcall.catalogue.search import Catalogue
from rightcall.domain import Tool
from rightcall.errors import MissingExtra
from rightcall.providers.embeddings import BUNDLED, load_embedder

if TYPE_CHECKING:
    from rightcall.ports import Embedder

BOUND = 0.005
JUDGED = 10_000
SIZES = (1_000, 10_000, 100_000)
LENGTHS = (5, 12, 40)
QUERIES = 50
VOCABULARY = 20_000


def run(*, quick: bool, say: Say) -> Part:
    """The row of the cost table, and how query and index grow."""
    sizes = SIZES[:2] if quick else SIZES
    seconds = 0.1 if quick else 1.0
    results = {size: _measured(size, seconds, say) for size in sizes}
    judged = results[JUDGED]
    worst = max(value for way in judged["query"].values() for value in way.values())
    row = Row(
        "search among 10,000 tools",
        duration(worst),
        f"{duration(judged['scan'])} (scan with rapidfuzz)",
        f"{judged['scan'] / worst:.1f}",
        f"under {duration(BOUND)}",
        met=worst < BOUND,
    )
    return Part("retrieval", [row], [_queries(results), _indexes(results)], results, REMARKS)


REMARKS = (
    "a query's time is the mean over 50 queries, index built; the worst way and length is judged.",
    "lexical adds up much with numpy where that is there; embedded and fused need it, the extra `search` brings it.",
)


def _measured(size: int, seconds: float, say: Say) -> dict[str, Any]:
    say(f"retrieval: {size:,} tools, made")
    tools = made_tools(size)
    embedder = _embedder()
    say(f"retrieval: {size:,} tools, index")
    catalogue = Catalogue(tools, embedder)
    build: dict[str, float] = {}
    for way in ("lexical", "embedded") if embedder else ("lexical",):
        began = time.perf_counter()
        catalogue.search("warm", 1, way)
        build[way] = time.perf_counter() - began
    query: dict[str, dict[int, float]] = {}
    for way in catalogue.ways:
        say(f"retrieval: {size:,} tools, {way}")
        query[way] = {length: _timed(catalogue, way, length, seconds) for length in LENGTHS}
    names = [f"{tool.name} {tool.description}" for tool in tools]
    text = made_queries(tools, LENGTHS[1])[0][0]
    scan = _per_call(lambda: process.extract(text, names, scorer=fuzz.WRatio, limit=10), min(seconds, 0.3))
    return {"query": query, "build": build, "scan": scan}


def _timed(catalogue: Catalogue, way: Any, length: int, seconds: float) -> float:
    queries = made_queries(catalogue.tools, length)
    found = sum(
        wanted in {tool.name for tool, _ in catalogue.search(text, 10, way).matches} for text, wanted in queries
    )
    assert way != "lexical" or found >= QUERIES * 0.8, f"{way} finds {found} of {QUERIES} tools"
    return _per_call(lambda: [catalogue.search(text, 10, way) for text, _ in queries], seconds) / len(queries)


def _per_call(work: Callable[[], object], seconds: float) -> float:
    return seconds_per_call({"": work}, seconds=seconds)[""]


@cache
def _embedder() -> Embedder | None:
    try:
        return load_embedder(BUNDLED)
    except MissingExtra:
        return None


# -- made catalogues --------------------------------------------------------------------------------------------


@cache
def _words() -> tuple[list[str], list[float]]:
    chance = random.Random(7)  # noqa: S311 - made data, not secrets
    syllables = [c + v for c in "bcdfghklmnprstvw" for v in "aeiou"]
    words = sorted({"".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(VOCABULARY)})
    chance.shuffle(words)
    return words, list(accumulate(1 / (rank + 10) for rank in range(len(words))))


@cache
def made_tools(size: int) -> tuple[Tool, ...]:
    """Tools with two or three words in the name, 15 to 30 in the description, and one to six parameters."""
    chance = random.Random(size)  # noqa: S311
    words, weights = _words()

    def drawn(low: int, high: int) -> list[str]:
        return chance.choices(words, cum_weights=weights, k=chance.randint(low, high))

    return tuple(
        Tool(
            f"{'_'.join(drawn(2, 3))}_{number}",
            " ".join(drawn(15, 30)),
            {"type": "object", "properties": {word: {"type": "string"} for word in drawn(1, 6)}},
        )
        for number in range(size)
    )


def made_queries(tools: tuple[Tool, ...], length: int) -> list[tuple[str, str]]:
    """Queries of `length` words with the name of the tool that each looks for; four of its own words lead."""
    chance = random.Random(length)  # noqa: S311
    words, weights = _words()
    rank = {word: number for number, word in enumerate(words)}
    queries = []
    for tool in chance.sample(tools, QUERIES):
        own = tool.description.split()
        rare = sorted(set(own), key=rank.__getitem__)[-4:]
        queries.append(
            (" ".join([*rare, *chance.choices(words, cum_weights=weights, k=length - len(rare))]), tool.name)
        )
    return queries


# -- tables -----------------------------------------------------------------------------------------------------


def _queries(results: dict[int, Any]) -> Table:
    head = ["query", *(f"{size:,} tools" for size in results)]
    lines = [
        [f"{way}, {length} words", *(duration(found["query"][way][length]) for found in results.values())]
        for way in results[JUDGED]["query"]
        for length in LENGTHS
    ]
    lines.append(["scan with rapidfuzz", *(duration(found["scan"]) for found in results.values())])
    return Table("Time of a query", head, lines)


def _indexes(results: dict[int, Any]) -> Table:
    head = ["tools", *results[JUDGED]["build"]]
    rows = [[f"{size:,}", *(duration(t) for t in found["build"].values())] for size, found in results.items()]
    return Table("Time to build the index, once for a catalogue", head, rows)


if __name__ == "__main__":
    alone(run)
