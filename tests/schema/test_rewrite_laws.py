"""The laws of lenses, for every rewrite and for all of them together, over generated schemas and values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from parameter_schemas import parameters, values

from lens_laws import check_restores, check_round_trip, presented
from rightcall.domain import ModelRequest, Tool
from rightcall.lens import Context, Lens, PresentedTool
from rightcall.openai_chat import tools_from_json
from rightcall.schema.compiled import compile_tool
from rightcall.schema.rewrite.choice import LENSES as REWRITES
from rightcall.schema.rewrite.choice import TRIMS
from rightcall.schema.rewrite.unions import plain_unions

INLINE, FLATTEN, UNITS = (REWRITES[name] for name in ("inline", "flatten", "units"))
LENSES: dict[str, tuple[Lens, ...]] = {
    "inline": (INLINE,),
    "flatten": (FLATTEN,),
    "units": (UNITS,),
    "all": (INLINE, FLATTEN, UNITS),
    "units before flatten": (UNITS, INLINE, FLATTEN),
}
SLOW = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))


def entry_of(name: str, schema: Any) -> PresentedTool:
    tool = Tool("t", parameters=schema)
    assume(compile_tool(tool).broken is None)
    return presented(LENSES[name], tool)[0]


@pytest.mark.parametrize("name", LENSES)
@given(data=st.data())
@SLOW
def test_what_the_shown_tool_takes_restores_to_what_the_original_takes(name: str, data: st.DataObject) -> None:
    entry = entry_of(name, data.draw(parameters()))
    value = data.draw(values(dict(entry.tool.parameters)))
    assume(compile_tool(entry.tool).accepts(value))
    check_restores(entry, value)


@pytest.mark.parametrize("name", LENSES)
@given(data=st.data())
@SLOW
def test_showing_and_restoring_gives_back_what_there_was(name: str, data: st.DataObject) -> None:
    schema = data.draw(parameters())
    entry = entry_of(name, schema)
    value = data.draw(values(schema))
    assume(compile_tool(Tool("t", parameters=schema)).accepts(value))
    check_round_trip(entry, value)


@given(schema=parameters())
@SLOW
def test_trims_write_schemas_of_the_same_tool_that_still_compile(schema: dict[str, Any]) -> None:
    tool = Tool("t", "What it does.", schema)
    assume(compile_tool(tool).broken is None)
    for trim in TRIMS.values():
        (sent,) = trim.trim((tool,), Context(ModelRequest([{"role": "user", "content": "a b"}], tools=(tool,))))
        assert (sent.name, sent.description) == (tool.name, tool.description)
        assert compile_tool(sent).broken is None
        assert set(sent.parameters.get("required", ())) <= set(sent.parameters["properties"]) | set(
            schema.get("required", ())
        )


@given(data=st.data())
@SLOW
def test_unions_in_plain_form_let_through_whatever_the_union_does_but_null_for_absent(data: st.DataObject) -> None:
    schema = data.draw(parameters())
    tool = Tool("t", parameters=schema)
    assume(compile_tool(tool).broken is None)
    value = data.draw(values(schema))
    assume(compile_tool(tool).accepts(value))
    plain = compile_tool(Tool("t", parameters=plain_unions(schema)))
    assert plain.accepts(without_nulls(value)) or not compile_tool(tool).accepts(without_nulls(value))


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def test_every_tool_of_the_reported_cases_is_rewritten(shared: Path) -> None:
    lines = (shared / "cases" / "cases_dev.jsonl").read_text(encoding="utf-8").splitlines()
    tools = [tool for line in lines for tool in tools_from_json(json.loads(line).get("tools") or [])]
    usable = [tool for tool in tools if compile_tool(tool).broken is None]
    assert len(usable) > 100
    for tool in usable:
        presented(LENSES["all"], tool)
        for trim in TRIMS.values():
            assert compile_tool(trim.trim((tool,), Context(ModelRequest([], tools=(tool,))))[0]).broken is None
