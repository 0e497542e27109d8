"""Reading replies against `json.loads`, `json_repair` and `jsonschema`: `python benchmarks/parsing.py [--quick]`.

Our side is `rightcall.turn.read_reply` with the tools compiled once, because that is what a turn runs on every
reply: it finds the tool, reads or repairs, fits, validates and makes the reading. The peers get the argument text
and the validator of the right tool, built once.
Every result is checked against the arguments meant before anything is timed.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import jsonschema_rs
from report import Part, Row, Say, Table, alone, duration, need, seconds_per_call

from rightcall.domain import ModelReply, NativeCall, Tool
from rightcall.schema.compiled import Toolset, compile_tools
from rightcall.turn import read_reply

need("json_repair", "jsonschema")
import json_repair  # noqa: E402
import jsonschema  # noqa: E402

BOUND = 3.0
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "exact": {"type": "boolean"},
        "order": {"enum": ["newest", "oldest", "best"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["query", "limit"],
    "additionalProperties": False,
}
MEANT = {"query": "small models", "limit": 5, "exact": True, "order": "best", "tags": ["llm", "tools"]}
COUNTS = (1, 10, 100, 1000)
SIZES_OF_FIELDS = ("5 short fields", "one of 2 KB")
SIZES = (1_000, 10_000, 100_000, 1_000_000)


def run(*, quick: bool, say: Say) -> Part:
    """Both rows of the cost table, and how the work grows with tools and with length."""
    seconds = 0.1 if quick else 1.0
    sizes, counts = (SIZES[:3], COUNTS[:3]) if quick else (SIZES, COUNTS)
    say("parsing: a correct native call")
    correct = _correct(seconds)
    say("parsing: malformed calls")
    broken = {f"{kind}, {size}": _malformed(kind, size, seconds / 4) for kind in KINDS for size in SIZES_OF_FIELDS}
    say("parsing: growth with the number of tools")
    by_tools = {count: _with_tools(count, seconds / 4) for count in counts}
    say("parsing: growth with the length of the reply")
    by_length = {size: _of_length(size, seconds / 4) for size in sizes}
    rows, tables = _rows(correct, broken), _tables(correct, broken, by_tools, by_length)
    return Part("parsing", rows, tables, {"correct": correct, "malformed": broken, "tools": by_tools,
                                          "length": by_length}, REMARKS)  # fmt: skip


REMARKS = (
    "ours is `read_reply`, tools compiled once: find the tool, read or repair, fit, validate, make the reading.",
    "peers get the argument text and a validator built once; the quicker of `is_valid` and `validate` is judged.",
    "the bound of malformed calls is judged at the median of all kinds; the worst kind stands beside it.",
)


# -- row 1: a correct native call -------------------------------------------------------------------------------


def _correct(seconds: float) -> dict[str, float]:
    tools, text = compile_tools([Tool("search", parameters=SCHEMA)]), json.dumps(MEANT)
    reply = _native("search", text)
    prebuilt = jsonschema.Draft202012Validator(SCHEMA)
    compiled = jsonschema_rs.validator_for(SCHEMA)
    _must_read(reply, tools, MEANT)

    def raising() -> object:
        value = json.loads(text)
        prebuilt.validate(value)
        return value

    def convenient() -> object:
        value = json.loads(text)
        jsonschema.validate(value, SCHEMA)
        return value

    work: dict[str, Callable[[], object]] = {
        "ours": lambda: read_reply(reply, tools),
        "json.loads + jsonschema, prebuilt, is_valid": lambda: prebuilt.is_valid(json.loads(text)),
        "json.loads + jsonschema, prebuilt, validate": raising,
        "json.loads + jsonschema.validate()": convenient,
        "json.loads + jsonschema-rs, nothing else": lambda: compiled.is_valid(json.loads(text)),
    }
    return seconds_per_call(work, seconds=seconds)


# -- row 2: malformed calls -------------------------------------------------------------------------------------


def _single_quotes(value: dict[str, Any]) -> str:
    # Escapes as JSON would, then swaps the quotes; the text holds neither kind.
    return json.dumps(value).replace('"', "'")


def _missing_comma(value: dict[str, Any]) -> str:
    return json.dumps(value).replace(', "order"', ' "order"')


def _comments(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1).replace("\n", "\n// the next one\n", 2)


def _python(value: dict[str, Any]) -> str:
    return json.dumps(value).replace("true", "True")


def _invalid_escapes(value: dict[str, Any]) -> str:
    return json.dumps(value).replace("small models", r"small\_models \d+")


KINDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "single quotes": _single_quotes,
    "trailing comma": lambda value: json.dumps(value)[:-1] + ",}",
    "missing comma": _missing_comma,
    "comments": _comments,
    "invalid escapes": _invalid_escapes,
    "fenced": lambda value: f"```json\n{json.dumps(value, indent=2)}\n```",
    "python literals": _python,
}


def _malformed(kind: str, size: str, seconds: float) -> dict[str, Any]:
    value = MEANT if size == SIZES_OF_FIELDS[0] else {**MEANT, "query": "small models " + prose(2_000)}
    text = KINDS[kind](value)
    if kind == "invalid escapes":
        value = {**value, "query": value["query"].replace("small models", r"small\_models \d+")}
    tools = compile_tools([Tool("search", parameters=SCHEMA)])
    reply = _native("search", text)
    prebuilt = jsonschema.Draft202012Validator(SCHEMA)
    _must_read(reply, tools, value)
    found = seconds_per_call(
        {
            "ours": lambda: read_reply(reply, tools),
            "json_repair": lambda: prebuilt.is_valid(json_repair.loads(text)),
        },
        seconds=seconds,
    )
    theirs: Any = json_repair.loads(text)
    return {**found, "ratio": found["json_repair"] / found["ours"], "peer_reads_it_right": theirs == value}


# -- growth -----------------------------------------------------------------------------------------------------


def _with_tools(count: int, seconds: float) -> dict[str, float]:
    """The last of many tools is called. `cold` compiles schemas never seen before, `warm` the same again."""
    offered = _offered(count, "same")
    tools = compile_tools(offered)
    native, text = _native(offered[-1].name, json.dumps(MEANT)), _hermes(offered[-1].name, MEANT)
    _must_read(native, tools, MEANT)
    _must_read(text, tools, MEANT)
    fresh = (_offered(count, str(number)) for number in range(1_000_000))
    cold = [_once(lambda: compile_tools(next(fresh))) for _ in range(3 if count >= 1000 else 9)]
    found = seconds_per_call(
        {
            "native": lambda: read_reply(native, tools),
            "text": lambda: read_reply(text, tools),
            "compile_warm": lambda: compile_tools(offered),
        },
        seconds=seconds,
        rounds=5,
    )
    return {**found, "compile_cold": statistics.median(cold)}


def _once(call: Callable[[], object]) -> float:
    """Seconds of one call that must not be repeated."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _of_length(size: int, seconds: float) -> dict[str, float]:
    """The same call behind ever more words, and with an ever longer argument: right, malformed, and in text."""
    tools = compile_tools([Tool("search", parameters=SCHEMA)])
    long = {**MEANT, "query": prose(size)}
    replies = {
        "words before the call": (_hermes("search", MEANT, before=prose(size)), MEANT),
        "code before the call": (_hermes("search", MEANT, before=_code(size)), MEANT),
        "argument, correct": (_native("search", json.dumps(long)), long),
        "argument, repaired": (_native("search", json.dumps(long)[:-1] + ",}"), long),
        "argument, in text": (_hermes("search", long), long),
    }
    for reply, meant in replies.values():
        _must_read(reply, tools, meant)
    work = {name: (lambda reply=reply: read_reply(reply, tools)) for name, (reply, _) in replies.items()}
    return seconds_per_call(work, seconds=seconds, rounds=5)


# -- what is read -----------------------------------------------------------------------------------------------


def prose(size: int) -> str:
    """Words and line breaks, always the same."""
    words = [
        "the",
        "model",
        "reads",
        "what",
        "was",
        "asked",
        "and",
        "answers",
        "in",
        "a",
        "few",
        "words",
        "that",
        "a",
        "person",
        "(or",
        "a",
        "program)",
        "can",
        "use",
    ]
    dice = random.Random(1)  # noqa: S311 - the same words in every run
    text: list[str] = []
    length = 0
    while length < size:
        word = dice.choice(words) + (".\n" if dice.random() < 0.07 else "")
        text.append(word)
        length += len(word) + 1
    return " ".join(text)[:size].strip()


_CODE = "Here it is:\n\n```python\nfor item in items[1:]:\n    if item < 3:\n        print(f'<{item}>')\n```\n\n"


def _code(size: int) -> str:
    return (_CODE * (size // len(_CODE) + 1))[:size].rpartition("\n\n")[0] + "\n\nNow I look it up.\n"


def _native(name: str, arguments: str) -> ModelReply:
    return ModelReply(tool_calls=(NativeCall(name, arguments, "call_1"),), finish_reason="tool_calls")


def _hermes(name: str, arguments: dict[str, Any], before: str = "") -> ModelReply:
    body = json.dumps({"name": name, "arguments": arguments})
    return ModelReply(text=f"{before}\n<tool_call>\n{body}\n</tool_call>", finish_reason="stop")


def _offered(count: int, mark: str) -> list[Tool]:
    """Tools whose schemas differ, as those of one server do."""
    return [Tool(f"search_{number}", f"Looks in place {number}.", {**SCHEMA, "title": f"{mark} {number}"})
            for number in range(count)]  # fmt: skip


def _must_read(reply: ModelReply, tools: Toolset, meant: dict[str, Any]) -> None:
    reading = read_reply(reply, tools)
    if [call.arguments for call in reading.calls] != [meant] or reading.problems:
        raise SystemExit(f"not read as meant, so not worth timing: {str(reply)[:300]}\n{str(reading)[:600]}")


# -- the report -------------------------------------------------------------------------------------------------


def _rows(correct: dict[str, float], broken: dict[str, dict[str, Any]]) -> list[Row]:
    """The bound of malformed calls is judged at the middle of all kinds; the worst kind is named beside it."""
    prebuilt = min(seconds for how, seconds in correct.items() if "prebuilt" in how)
    rows = [_row("parse + validate a correct native call, 5 fields", correct["ours"],
                 "json.loads + jsonschema", prebuilt, prebuilt / correct["ours"])]  # fmt: skip
    for size in SIZES_OF_FIELDS:
        found = {kind: broken[f"{kind}, {size}"] for kind in KINDS}
        ours, theirs, ratio = (
            statistics.median(each[key] for each in found.values()) for key in ("ours", "json_repair", "ratio")
        )
        worst = min(found, key=lambda kind: found[kind]["ratio"])
        what = f"parse + repair + validate a malformed call, {size}"
        more = f"; worst, {worst}: {found[worst]['ratio']:.1f}×"
        rows.append(_row(what, ours, "json_repair + jsonschema", theirs, ratio, more))
    return rows


def _row(what: str, ours: float, peer: str, theirs: float, ratio: float, more: str = "") -> Row:
    return Row(what, duration(ours), f"{peer} {duration(theirs)}", f"{ratio:.1f}× as fast{more}",
               f"at least {BOUND:g}×", ratio >= BOUND)  # fmt: skip


def _tables(
    correct: dict[str, float],
    broken: dict[str, dict[str, Any]],
    by_tools: dict[int, dict[str, float]],
    by_length: dict[int, dict[str, float]],
) -> list[Table]:
    ours = correct["ours"]
    return [
        Table("A correct native call, 5 fields", ("how", "time", "ours is faster"),
              [(name, duration(took), f"{took / ours:.1f}×") for name, took in correct.items()]),
        Table("Malformed calls",
              ("kind", "ours", "json_repair + jsonschema", "ours is faster", "peer reads it right"),
              [(kind, duration(found["ours"]), duration(found["json_repair"]), f"{found['ratio']:.1f}×",
                "yes" if found["peer_reads_it_right"] else "no") for kind, found in broken.items()]),
        Table("Growth with the number of tools", ("tools", *(_columns(next(iter(by_tools.values())), "a tool"))),
              [(str(count), *_cells(found, count)) for count, found in by_tools.items()]),
        Table("Growth with the length of the reply",
              ("characters", *_columns(next(iter(by_length.values())), "a KB")),
              [(f"{size:,}", *_cells(found, size / 1_000)) for size, found in by_length.items()]),
    ]  # fmt: skip


def _columns(found: dict[str, float], unit: str) -> list[str]:
    return [f"{name.replace('_', ' ')} ({unit})" for name in found]


def _cells(found: dict[str, float], units: float) -> list[str]:
    return [f"{duration(took)} ({duration(took / units)})" for took in found.values()]


if __name__ == "__main__":
    alone(run)
