"""The rename lens: names at every depth and back, and what it does where a map and a request do not fit."""

from __future__ import annotations

from dataclasses import replace

from lens_laws import check_restores, check_round_trip, presented
from rightcall.domain import ModelRequest, Tool
from rightcall.lens import Context, PresentedTool
from rightcall.naming.components import components
from rightcall.naming.lens import NamesLens
from rightcall.naming.name_map import NameMap, Naming, ToolNaming
from rightcall.schema.fingerprint import tool_fingerprint

WEATHER = Tool(
    "WthrSvc",
    "Tells the weather.",
    {
        "type": "object",
        "properties": {
            "loc": {"type": "string", "description": "The city."},
            "opts": {
                "type": "object",
                "properties": {"u": {"type": "string", "enum": ["c", "f"]}, "loc": {"type": "string"}},
                "required": ["u"],
            },
            "days": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "integer"}}}},
        },
        "required": ["loc"],
    },
)


def map_of(*tools: Tool, model: str = "small", **new: str) -> NameMap:
    """A map that gives what is named in `new` another name, by the original's last step."""
    entries = []
    for tool in tools:
        own, *parameters = (
            Naming(each.name, each.name, new.get(each.name, ""), place=each.place) for each in components(tool)
        )
        entries.append(ToolNaming(own, tool_fingerprint(tool), tuple(parameters)))
    return NameMap(model, tools=tuple(entries))


def shown(names: NameMap, *tools: Tool, model: str = "") -> tuple[tuple[PresentedTool, ...], list[str]]:
    said: list[str] = []
    lens = NamesLens(names, said.append)
    return lens.present(tools, Context(ModelRequest([], model=model, tools=tools))), said


def test_tools_and_parameters_at_any_depth_are_shown_under_their_accepted_names() -> None:
    names = map_of(WEATHER, WthrSvc="get_weather", loc="city", u="unit", d="day", opts="options")
    (entry,) = presented([NamesLens(names)], WEATHER)
    assert entry.tool.name == "get_weather"
    assert (entry.tool.description, entry.original) == ("Tells the weather.", WEATHER)
    properties = entry.tool.parameters["properties"]
    assert list(properties) == ["city", "options", "days"]
    assert list(properties["options"]["properties"]) == ["unit", "city"]
    assert list(properties["days"]["items"]["properties"]) == ["day"]
    call = {"city": "Oslo", "options": {"unit": "c", "city": "x"}, "days": [{"day": 1}]}
    original = {"loc": "Oslo", "opts": {"u": "c", "loc": "x"}, "days": [{"d": 1}]}
    check_restores(entry, call)
    assert entry.arguments.original(call) == original
    check_round_trip(entry, original)
    assert entry.arguments.original_path("/options/unit") == "/opts/u"


def test_names_that_nobody_accepted_are_not_shown() -> None:
    (entry,), _ = shown(map_of(WEATHER), WEATHER)
    assert entry.tool is WEATHER


def test_a_description_of_the_map_is_shown_instead_of_the_tool_s_own() -> None:
    names = map_of(WEATHER)
    names = replace(names, tools=(replace(names.tools[0], description="Retrieves the weather."),))
    (entry,), _ = shown(names, WEATHER)
    assert (entry.tool.name, entry.tool.description) == ("WthrSvc", "Retrieves the weather.")


def test_a_tool_that_has_changed_is_named_and_left_as_it_is() -> None:
    other = Tool("t", "Another.")
    changed = replace(WEATHER, description="Tells tomorrow's weather.")
    entries, said = shown(map_of(WEATHER, other, WthrSvc="get_weather", t="other_tool"), changed, other)
    assert [each.tool.name for each in entries] == ["WthrSvc", "other_tool"]
    assert len(said) == 1
    assert "'WthrSvc' has changed" in said[0]


def test_a_map_of_another_model_works_and_is_warned_of() -> None:
    names = map_of(WEATHER, WthrSvc="get_weather", model="qwen2.5-coder-1.5b")
    (entry,), said = shown(names, WEATHER, model="llama-3.2-3b")
    assert entry.tool.name == "get_weather"
    assert "made for 'qwen2.5-coder-1.5b' and is used for 'llama-3.2-3b'" in said[0]
    for same in ("qwen2.5-coder-1.5b", "qwen2.5-coder:1.5b", "Qwen/Qwen2.5-Coder-1.5B-Instruct", ""):
        assert shown(names, WEATHER, model=same)[1] == []


def test_a_name_that_a_tool_outside_the_map_has_already_is_not_shown() -> None:
    names = map_of(WEATHER, WthrSvc="get_weather")
    entries, _ = shown(names, WEATHER, Tool("get_weather"))
    assert [each.tool.name for each in entries] == ["WthrSvc", "get_weather"]


def test_the_same_tools_are_shown_as_the_same_objects() -> None:
    lens = NamesLens(map_of(WEATHER, WthrSvc="get_weather"))
    first, second = (lens.present((WEATHER,), Context(ModelRequest([]))) for _ in range(2))
    assert first is second
    more = lens.present((WEATHER, Tool("t")), Context(ModelRequest([])))
    assert more[0] is first[0]
