"""The laws of lenses, for the names of a name map, alone and before all rewrites."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from parameter_schemas import parameters, values

from lens_laws import check_restores, check_round_trip, presented
from rightcall.domain import Tool
from rightcall.lens import Lens, PresentedTool
from rightcall.naming.components import components
from rightcall.naming.lens import NamesLens
from rightcall.naming.name_map import NameMap, Naming, ToolNaming
from rightcall.schema.compiled import compile_tool
from rightcall.schema.fingerprint import tool_fingerprint
from rightcall.schema.rewrite.choice import rewrites

SLOW = settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
AFTER = st.sampled_from([(), rewrites("inline,flatten,units").lenses])


@st.composite
def renamed_tools(draw: Any, after: tuple[Lens, ...]) -> PresentedTool:
    """A tool some of whose parameters have new names, also such as flattening might make (`a_1`)."""
    tool = Tool("t", parameters=draw(parameters()))
    assume(compile_tool(tool).broken is None)
    prefix = draw(st.sampled_from(["x_", "a", "a_"]))
    found = list(components(tool))
    new = {each.place: f"{prefix}{index}" for index, each in enumerate(found) if draw(st.booleans())}
    own, *rest = (Naming(each.name, each.name, new.get(each.place, ""), place=each.place) for each in found)
    names = NameMap("m", tools=(ToolNaming(own, tool_fingerprint(tool), tuple(rest)),))
    (entry,) = presented((NamesLens(names), *after), tool)
    assert entry.tool.name == (new.get("") or "t")
    return entry


@given(data=st.data(), after=AFTER)
@SLOW
def test_what_the_shown_tool_takes_restores_to_what_the_original_takes(
    data: st.DataObject, after: tuple[Lens, ...]
) -> None:
    entry = data.draw(renamed_tools(after))
    value = data.draw(values(dict(entry.tool.parameters)))
    assume(compile_tool(entry.tool).accepts(value))
    check_restores(entry, value)


@given(data=st.data(), after=AFTER)
@SLOW
def test_showing_and_restoring_gives_back_what_there_was(data: st.DataObject, after: tuple[Lens, ...]) -> None:
    entry = data.draw(renamed_tools(after))
    assert entry.original is not None
    value = data.draw(values(dict(entry.original.parameters)))
    assume(compile_tool(entry.original).accepts(value))
    check_round_trip(entry, value)
