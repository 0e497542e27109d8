"""Presenting tools through `--rewrite auto`: the first time, and from the cache: `python benchmarks/presenting.py`.

Each turn gets the tools as new objects, as a proxy does: they are read from JSON and compiled before the clock
starts, as every turn does with or without a presentation.
"""

from __future__ import annotations

import json
import time
from typing import Any

from report import Part, Row, Say, Table, alone, duration

SIZES = (100, 1_000, 3_000)
QUICK_SIZES = (100, 1_000)
BOUNDED = 1_000
BOUND_S = 0.005
TURNS = 30


def offered(count: int) -> str:
    """Tools with what rewrites work on: nested objects, a reference, an optional that may be null."""
    person = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name"],
    }
    lines = {"type": "object", "properties": {"count": {"type": "integer"}, "note": {"type": "string"}}}
    tools = []
    for number in range(count):
        order = {"type": "object", "properties": {"id": {"type": "string"}, "lines": lines}, "required": ["id"]}
        properties = {
            "order": order | {"description": f"Order of depot {number}."},
            "amount": {"type": "number", "description": "The amount in pence."},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "who": {"$ref": "#/$defs/person"},
        }
        parameters = {"type": "object", "properties": properties, "required": ["order"], "$defs": {"person": person}}
        tools.append({"name": f"order_{number}", "description": "Orders something.", "parameters": parameters})
    return json.dumps(tools)


def measure(count: int) -> dict[str, Any]:
    """Seconds to present so many tools: the first time, and the median of later turns."""
    from rightcall.domain import ModelRequest
    from rightcall.openai_chat import tools_from_json
    from rightcall.presentation import present
    from rightcall.schema.compiled import compile_tools
    from rightcall.schema.rewrite.choice import rewrites

    body, presentation, took = offered(count), rewrites("auto"), []
    for _ in range(TURNS + 1):
        request = ModelRequest([{"role": "user", "content": "Order it."}], tools=tools_from_json(json.loads(body)))
        tools = compile_tools(request.tools)
        began = time.perf_counter()
        view = present(request, tools, presentation)
        took.append(time.perf_counter() - began)
        assert "order_id" in view.request.tools[0].parameters["properties"]
    return {"tools": count, "first_s": took[0], "later_s": sorted(took[1:])[TURNS // 2]}


def run(*, quick: bool, say: Say) -> Part:
    """The row of the cost table, and how it grows."""
    growth = []
    for count in QUICK_SIZES if quick else SIZES:
        say(f"presenting: {count:,} tools")
        growth.append(measure(count))
    bounded = next(each for each in growth if each["tools"] == BOUNDED)
    row = Row(
        f"presenting {BOUNDED:,} known tools through `--rewrite auto`",
        duration(bounded["later_s"]),
        "none: the bound is absolute",
        f"{bounded['later_s'] / BOUND_S:.2f} of the bound",
        f"under {duration(BOUND_S)}",
        met=bounded["later_s"] < BOUND_S,
    )
    lines = [(f"{e['tools']:,}", duration(e["first_s"]), duration(e["later_s"])) for e in growth]
    table = Table("Growth with the number of tools", ("tools", "first time", "later turns (median)"), lines)
    return Part("presenting", [row], [table], {"growth": growth, "bound_s": BOUND_S}, ())


if __name__ == "__main__":
    alone(run)
