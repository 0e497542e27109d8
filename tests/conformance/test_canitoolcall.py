"""The public conformance suite of tool-call parsers, through an adapter of ours: whole, and in chunks.

`canitoolcall` holds recorded outputs of nine model families with the parse that a correct engine gives. Every
miss is listed here with its reason; a new one fails, and so does a listed one that passes.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest
from canitoolcall import checks
from canitoolcall.fixtures import Fixture, load_fixtures
from canitoolcall.pytest_plugin import family_for
from canitoolcall.results import Observation, ParsedToolCall, ParseResult, Status

from rightcall import ModelReply, Reading
from rightcall.openai_chat import tools_from_json
from rightcall.parsing.parse import parse_reply
from rightcall.parsing.stream import TextGate
from rightcall.schema.compiled import Toolset, compile_tools

MISSES = {
    "qwen3-xml/llamacpp-q35-call-inside-think": (
        "The prompt opened the reasoning and the model never closed it before it wrote a call. What stands in"
        " reasoning is inert here: a model that only thinks about a call must not make one."
    ),
}
FIXTURES = load_fixtures()
SIZES = (1, 3, 17)


def observed(fixture: Fixture, size: int | None) -> ParseResult:
    """What rightcall makes of a fixture: read whole, or fed to the stream's gate `size` characters at a time.

    Arguments are taken as parsed, before validation, because the suite judges parsers: what a model wrote
    against the schema is a fault of the model, and is refused one stage later.
    """
    tools = compile_tools(tools_from_json([dict(tool) for tool in fixture.tools]) if fixture.tools else ())
    opened = _reasoning_open(fixture)
    finish = "length" if fixture.truncated else "stop"
    reading = parse_reply(ModelReply(text=fixture.raw_output, finish_reason=finish, reasoning_open=opened), tools)
    text, reasoning = (reading.text, reading.reasoning) if size is None else _chunked(fixture, size, reading, tools)
    calls = tuple(ParsedToolCall(c.name, json.dumps(c.arguments, ensure_ascii=False)) for c in reading.calls)
    return ParseResult(text or None, reasoning or None, calls)


def _chunked(fixture: Fixture, size: int, reading: Reading, tools: Toolset) -> tuple[str, str]:
    gate = TextGate(tools, reasoning_open=_reasoning_open(fixture))
    pieces = [gate.feed(fixture.raw_output[at : at + size]) for at in range(0, len(fixture.raw_output), size)]
    pieces.append(gate.rest(reading))
    return "".join(text for text, _ in pieces), "".join(reasoning for _, reasoning in pieces)


def _reasoning_open(fixture: Fixture) -> bool:
    """Whether the generation prompt ends inside a reasoning block; an engine knows its own prompt."""
    prompt = fixture.generation_prompt
    if prompt is None:
        family = family_for(fixture)
        reference = family.reference_for(fixture.reference_model) if family else None
        prompt = (reference.default_generation_prompt if reference else None) or ""
    return prompt.rstrip().endswith(("<think>", "<|open|>think<|sep|>"))


def judged(fixture: Fixture) -> tuple[Status, list[str]]:
    """The suite's own verdict over the whole parse and every chunked one."""
    streams = {f"char:{size}": observed(fixture, size) for size in SIZES}
    rows = checks.run_checks(
        fixture, family_for(fixture), Observation(nonstream=observed(fixture, None), streams=streams)
    )
    status = checks.worst_status(row.status for row in rows)
    return status, [f"{row.check}: {row.detail}" for row in rows if row.status not in {Status.PASS, Status.SOFT_PASS}]


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.id)
def test_a_recorded_output_is_read_as_a_correct_engine_reads_it(fixture: Fixture) -> None:
    status, details = judged(fixture)
    passed = status in {Status.PASS, Status.SOFT_PASS}
    if fixture.id in MISSES:
        assert not passed, f"{fixture.id} passes now; take it off the list of misses"
    else:
        assert passed, details


def test_the_suite_is_whole_and_at_least_440_of_it_pass() -> None:
    counts = Counter(fixture.family for fixture in FIXTURES)
    assert (len(FIXTURES), len(counts)) == (469, 9)
    assert len(FIXTURES) - len(MISSES) >= 440
