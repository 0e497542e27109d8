"""Tool search on MetaTool and name correction on recorded replies: `python benchmarks/tool_search.py [--sample N]`.

MetaTool's 199 tools and its query-tool pairs (design/15 says on which of them weights were chosen: those are left
out here). A query counts as found at k where its one gold tool is among the first k. The saving is in tokens of the
tools' JSON, by the tokenizer of the embedder. Correction: every name in the recordings that no offered tool has,
mapped by each baseline; right where the answer wants a call of that tool. Prints a report and writes
`benchmarks/results/tool-search.md`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from rightcall.catalogue.correction import ALL, NameCorrection
from rightcall.catalogue.lens import BestTools, SearchTools
from rightcall.catalogue.search import Catalogue
from rightcall.domain import ModelRequest, ProblemKind, Tool
from rightcall.lens import Context
from rightcall.openai_chat import reply_from_json, tools_from_json
from rightcall.parsing.parse import ParsingPolicy
from rightcall.providers.embeddings import BUNDLED, load_embedder
from rightcall.turn import read_reply

SHARED = Path(__file__).resolve().parents[2] / "shared"
RESULT = Path(__file__).with_name("results") / "tool-search.md"
CHOSEN_ON = 4000
SAVING_ON = 500
AT = (1, 5, 10)


def main() -> None:
    """Measures both and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--sample", type=int, default=0, help="so many queries, drawn with a fixed seed; 0: all")
    sample = parser.parse_args().sample
    tools = _tools()
    queries = _queries(sample)
    catalogue = Catalogue(tools, load_embedder(BUNDLED))
    lines = [
        "# Tool search and name correction",
        "",
        f"`python benchmarks/tool_search.py{f' --sample {sample}' if sample else ''}`",
        "",
        "## MetaTool",
        "",
        f"{len(tools)} tools, catalogue {catalogue.version[:19]}; {len(queries)} query-tool pairs that no weight",
        f"was chosen on. Embeddings: {load_embedder(BUNDLED).name}. In brackets half of a 95 % interval, the",
        "pairs taken as independent (they are of 199 tools, so in truth it is wider).",
        "",
        "| ranking | recall at 1 | at 5 | at 10 |",
        "|---|---|---|---|",
        *(_ranking(catalogue, by, queries) for by in reversed(catalogue.ways)),
        "",
        *_saving(tools, [query for query, _ in queries[:SAVING_ON]]),
        "",
        "## Correction of unknown names, offline",
        "",
        "Every call in the recordings whose name no offered tool has, with all tools taken as harmless (else none of",
        "BFCL's tools, which declare no effects, would ever be corrected to).",
        "",
        *_corrections(),
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULT.write_text(text, encoding="utf-8")


def _tools() -> tuple[Tool, ...]:
    lines = (SHARED / "data/metatool/tools.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(Tool(tool["name"], tool["description"]) for tool in map(json.loads, lines))


def _queries(sample: int) -> list[tuple[str, str]]:
    with gzip.open(SHARED / "data/metatool/all_clean_data.csv.gz", "rt", encoding="utf-8") as file:
        rows = [(row["Query"], row["Tool"]) for row in csv.DictReader(file)]
    random.Random(1).shuffle(rows)  # noqa: S311 - a sample, not a secret
    rest = rows[CHOSEN_ON:]
    return rest[:sample] if sample else rest


def _ranking(catalogue: Catalogue, by: Any, queries: list[tuple[str, str]]) -> str:
    found = Counter[int]()
    for query, wanted in queries:
        names = [tool.name for tool, _ in catalogue.search(query, max(AT), by).matches]
        found.update(k for k in AT if wanted in names[:k])
    recalls = [found[k] / len(queries) for k in AT]
    shown = [f"{r:.3f} (±{1.96 * math.sqrt(r * (1 - r) / len(queries)):.3f})" for r in recalls]
    return f"| {by} | {' | '.join(shown)} |"


def _saving(tools: tuple[Tool, ...], queries: list[str]) -> list[str]:
    counter = load_embedder(BUNDLED).tokenizer
    cost = cache(lambda tool: _tokens(tool, counter))
    whole = sum(map(cost, tools))
    lines = [f"Means over {len(queries)} of the queries, tools chosen by words alone.", ""]
    lines += ["| what the model is shown | tools | tokens of their JSON | saved |", "|---|---|---|---|"]
    lines.append(f"| all | {len(tools)} | {whole} | |")
    shown = {f"`narrow = {k}`": BestTools(k) for k in (5, 10)} | {"`narrow = search`, at first": SearchTools()}
    for name, lens in shown.items():
        number = tokens = 0.0
        for query in queries:
            request = ModelRequest([{"role": "user", "content": query}], tools=tools)
            part = [face.tool for face in lens.present(tools, Context(request))]
            number += len(part) / len(queries)
            tokens += sum(map(cost, part)) / len(queries)
        lines.append(f"| {name} | {number:.1f} | {tokens:.0f} | {1 - tokens / whole:.1%} |")
    return lines


def _tokens(tool: Tool, counter: Tokenizer) -> int:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    text = json.dumps({"type": "function", "function": function}, ensure_ascii=False)
    return len(counter.encode(text, add_special_tokens=False).ids)


# -- correction -------------------------------------------------------------------------------------------------


def _corrections() -> list[str]:
    harmless = frozenset((ALL,))
    ways = {
        "bm25": NameCorrection("lexical", harmless=harmless),
        "embedding": NameCorrection("embedded", load_embedder(BUNDLED), harmless),
    }
    lines = [
        "| recording | tasks | correction | unknown names | right | wrong | wrong: no call is right | not mapped |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for path in sorted((SHARED / "recordings").glob("*.jsonl")):
        tasks = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        lines += [_correction(path.stem, tasks, name, way) for name, way in ways.items()]
    return lines


def _correction(recording: str, tasks: list[Any], name: str, way: NameCorrection) -> str:
    count = Counter[str]()
    for task in tasks:
        tools, reply = tools_from_json(task["request"]["tools"]), reply_from_json(task["response"])
        unknown = [p for p in read_reply(reply, tools).problems if p.kind is ProblemKind.UNKNOWN_TOOL]
        if not unknown:
            continue
        seen: list[tuple[str, str | None]] = []

        def nearest(written: str, offered: Any, seen: list[Any] = seen) -> str | None:
            seen.append((written, way(written, offered)))
            return None

        read_reply(reply, tools, policy=ParsingPolicy(nearest=nearest))
        wanted = {called for call in task["answer"] or [] for called in call}
        for _, mapped in seen:
            count["unknown"] += 1
            if mapped is None:
                count["none"] += 1
            elif not wanted:
                count["irrelevant"] += 1
            else:
                count["right" if mapped in {w.replace(".", "_") for w in wanted} else "wrong"] += 1
    cells = [count[key] for key in ("unknown", "right", "wrong", "irrelevant", "none")]
    return f"| {recording} | {len(tasks)} | {name} | {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
