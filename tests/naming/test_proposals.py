"""From a model's answers to a name map: what is proposed, what is flagged, what is accepted by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.domain import Tool
from rightcall.errors import UsageError
from rightcall.naming.clarity import lost_words, near_names
from rightcall.naming.components import Component, components
from rightcall.naming.name_map import AlignSettings, NameMap, Naming
from rightcall.naming.names import folded, is_acceptable
from rightcall.naming.peakedness import Candidate, Method
from rightcall.naming.proposal import Answers, carried_over, propose_names, to_be_named

STANDARD = AlignSettings()
DIET = Tool("Kaloo", "Counts calories and tracks the diet of a person.")


def tool(name: str, description: str = "", **parameters: Any) -> Tool:
    return Tool(name, description, {"type": "object", "properties": parameters})


def drawn(*names: str | tuple[str, int], greedy: str | None = None) -> Answers:
    pairs = [(each, 1) if isinstance(each, str) else each for each in names]
    return Answers(greedy, tuple(name for name, count in pairs for _ in range(count)))


def proposed(tools: list[Tool], *answers: Answers, **changed: Any) -> NameMap:
    how = replace(STANDARD, **changed)
    asked = to_be_named(tools, how)
    return propose_names(tools, dict(zip(asked, answers, strict=True)), how, "small", "build")


def test_a_firm_name_that_says_what_the_description_says_is_accepted() -> None:
    names = proposed([DIET], drawn(("calorie_tracker", 30), ("foodlog", 2), greedy="calorie_tracker"))
    assert names.by_name["Kaloo"].tool == Naming(
        "Kaloo",
        "calorie_tracker",
        accepted="calorie_tracker",
        peakedness=29,
        count=30,
        margin=28,
        greedy="calorie_tracker",
        flags=(),
        alternatives=(Candidate("foodlog", 1, 2),),
        about="Counts calories and tracks the diet of a person.",
    )


def test_a_name_that_is_hardly_ahead_waits_for_a_person() -> None:
    answers = drawn(("diet_tracker", 14), ("calorie_counter", 12), ("x", 6))
    (entry,) = proposed([DIET], answers).tools
    assert (entry.tool.proposed, entry.tool.margin, entry.tool.flags) == ("diet_tracker", 2, ("low margin",))
    assert (entry.tool.accepted, entry.tool.shown) == ("", "Kaloo")
    (taken,) = proposed([DIET], answers, accept_flagged=True).tools
    assert (taken.tool.shown, taken.tool.flags) == ("diet_tracker", ("low margin",))


def test_a_name_that_loses_what_the_tool_is_about_is_flagged() -> None:
    compare = Tool("ProductComparison", "Compare product options.")
    (entry,) = proposed([compare], drawn(("compare_options", 32))).tools
    assert entry.tool.flags == ("loses product",)


def test_the_words_of_brands_and_words_that_all_siblings_have_are_not_missed() -> None:
    assert lost_words("Figlet", "ascii_converter", "Convert text into ASCII fonts.", []) == []
    description = "Finds an order of a customer."
    assert lost_words("findOrder", "find_one", description, ["findUser", "findItem"]) == ["order"]
    assert lost_words("findOrder", "get_order", description, ["findUser", "findItem"]) == []


def test_a_name_that_has_nothing_to_do_with_its_description_is_flagged() -> None:
    (entry,) = proposed([DIET], drawn(("tool_name", 32))).tools
    assert entry.tool.flags == ("unlike its description",)
    listed = [tool("t", q={"type": "string", "description": "What to find."})]
    found = [proposed(listed, drawn((name, 32))).tools[0].parameters[0] for name in ("parameter_name", "query")]
    assert [(each.shown, each.flags) for each in found] == [("q", ("unlike its description",)), ("query", ())]


def test_names_that_become_nearly_the_same_are_flagged_both() -> None:
    assert near_names({"orders": "get_order_list", "invoices": "get_order_lists", "x": "y"}) == {
        "orders": "get_order_lists",
        "invoices": "get_order_list",
    }
    assert near_names({"get_order": "fetch_order", "get_orders": "fetch_orders"}) == {}


def test_identical_descriptions_get_different_names_and_say_so() -> None:
    tools = [Tool(f"t{number}", "Searches the catalogue.") for number in range(3)]
    same = drawn(("search_catalogue", 24), ("find_in_catalogue", 8), greedy="search_catalogue")
    names = proposed(tools, same, same, same, accept_flagged=True)
    assert [each.tool.shown for each in names.tools] == ["search_catalogue", "find_in_catalogue", "t2"]
    assert ["contested" in each.tool.flags for each in names.tools] == [False, True, True]
    assert names.tools[1].tool.margin == 7 - 23


def test_what_has_no_description_is_not_asked_and_keeps_its_name() -> None:
    tools = [tool("t", "", q={"type": "string"}, n={"type": "integer", "description": "How many results."})]
    asked = to_be_named(tools, STANDARD)
    assert [each.place for each in asked] == ["/n"]
    (entry,) = propose_names(tools, {asked[0]: drawn(("result_count", 32))}, STANDARD, "small").tools
    assert (entry.tool.accepted, entry.tool.flags) == ("t", ("no description",))
    assert [(each.place, each.shown) for each in entry.parameters] == [("/q", "q"), ("/n", "result_count")]


def test_a_component_all_of_whose_candidates_are_unusable_keeps_its_name() -> None:
    (entry,) = proposed([DIET], Answers()).tools
    assert (entry.tool.proposed, entry.tool.accepted) == ("Kaloo", "Kaloo")
    assert entry.tool.flags == ("no usable candidate",)


def test_few_usable_answers_are_flagged() -> None:
    (entry,) = proposed([DIET], drawn(("diet_tracker", 10))).tools
    assert entry.tool.flags == ("few candidates",)


def test_the_baselines_choose_otherwise_from_the_same_answers() -> None:
    answers = drawn(("foods_log", 7), *[f"calorie_count{n}" for n in "abcdefghijklm"], ("z" * 8, 12), greedy="diet")
    chosen = {method: proposed([DIET], answers, method=method).tools[0].tool.proposed for method in Method}
    assert chosen == {
        Method.PEAKEDNESS: "calorie_counta",
        Method.MOST_FREQUENT: "z" * 8,
        Method.GREEDY: "diet",
    }


def test_only_one_kind_of_component_is_renamed_where_asked() -> None:
    tools = [tool("t", "Finds.", q={"type": "string", "description": "What to find."})]
    assert [each.place for each in to_be_named(tools, replace(STANDARD, only="tools"))] == [""]
    assert [each.place for each in to_be_named(tools, replace(STANDARD, only="parameters"))] == ["/q"]
    assert [each.place for each in to_be_named(tools, STANDARD)] == ["", "/q"]


def test_parameters_are_named_where_the_lens_can_rename_them() -> None:
    inner = {"type": "object", "properties": {"id": {"type": "string", "description": "Its id."}}}
    listed = tool(
        "t",
        "Orders.",
        order={**inner, "description": "The order."},
        items={"type": "array", "items": inner},
        free={"type": "object", "additionalProperties": {"type": "string"}},
        linked={"$ref": "#/$defs/d"},
    )
    described = {**listed.parameters, "$defs": {"d": {"type": "string", "description": "Where it is said."}}}
    found = list(components(replace(listed, parameters=described)))
    assert [each.place for each in found] == [
        "", "/order", "/items", "/free", "/linked", "/order/id", "/items/-/id",
    ]  # fmt: skip
    assert found[4] == Component("t", "/linked", "linked", "Where it is said.")
    assert len({each.scope for each in found}) == 4


def test_parameters_contest_names_in_their_own_object_only() -> None:
    text = {"type": "string", "description": "The text to use."}
    tools = [tool("t1", "", a=text, b=text), tool("t2", "", a=text)]
    same = drawn(("text", 30), ("input_text", 2))
    names = proposed(tools, same, same, same, accept_flagged=True)
    assert [[each.shown for each in entry.parameters] for entry in names.tools] == [["text", "input_text"], ["text"]]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two tools are called 'Kaloo'"):
        to_be_named([DIET, DIET], STANDARD)


def test_decisions_are_carried_over_to_tools_that_are_the_same() -> None:
    other = Tool("FoodTool", "Logs food that was eaten.")
    firm, log = drawn(("calorie_tracker", 32)), drawn(("food_log", 32))
    before = proposed([DIET, other], firm, log).changed(
        lambda _, n: replace(n, accepted="my_diet" if n.original == "Kaloo" else "")
    )
    changed = replace(other, description="Logs food that was bought.")
    after = carried_over(proposed([DIET, changed], firm, log), before)
    assert [each.tool.accepted for each in after.tools] == ["my_diet", "food_log"]


def test_a_new_proposal_gives_way_to_a_decision() -> None:
    before = proposed([DIET], drawn(("calorie_tracker", 32))).changed(lambda _, n: replace(n, accepted="food_log"))
    other = Tool("FoodTool", "Logs food that was eaten.")
    new = proposed([DIET, other], drawn(("calorie_tracker", 32)), drawn(("foodLog", 32)))
    after = carried_over(new, before)
    after.check()
    assert [each.tool.shown for each in after.tools] == ["food_log", "FoodTool"]
    assert "contested" in after.tools[1].tool.flags


WORDS = st.sampled_from(["search", "Search", "find", "look", "t0", "t1", "T_0", "query", "天气"])


@given(
    st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=5),
    st.sampled_from(list(Method)),
    st.booleans(),
)
@settings(deadline=None, max_examples=80)
def test_every_map_is_a_bijection_of_acceptable_names(
    answers: list[list[str]], method: Method, flagged: bool
) -> None:
    tools = [Tool(f"t{number}", "Searches the catalogue.") for number in range(len(answers))]
    usable = [tuple(name for name in names if is_acceptable(name)) for names in answers]
    names = proposed(
        tools, *(Answers(each[0] if each else None, each) for each in usable), method=method, accept_flagged=flagged
    )
    names.check()
    shown = [each.tool.shown for each in names.tools]
    assert len({folded(name) for name in shown}) == len(tools)
    assert all(is_acceptable(name) for name in shown)
    for each in names.tools:
        assert each.tool.shown in (each.tool.original, each.tool.proposed)
        assert each.tool.proposed not in {other.name for other in tools} - {each.tool.original}
