"""Every lint rule by what it finds, and by a twin next to it that it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rightcall import Effects, Tool, UsageError
from rightcall.schema.lint.findings import Severity
from rightcall.schema.lint.lint import lint, rules

TEXT = {"type": "string"}


def tool(properties=None, *, name="find_shop", description="Finds shops. Not for restaurants.", **schema):
    parameters = {"type": "object", "properties": properties or {}, **schema}
    return Tool(name, description, parameters)


def found(*tools, engines=(), ignore=None):
    return {(f.rule, f.pointer) for f in lint(tools, engines=engines, ignore=ignore).findings}


def number(description="", **more):
    return {"type": "number", "description": description, **more}


def text(description="", **more):
    return {"type": "string", "description": description, **more}


NESTED = {"type": "object", "properties": {"a": TEXT}}
FINDS = {
    "RC101": (tool({"o": NESTED}), tool({"o": TEXT})),
    "RC102": (
        tool({"v": {"anyOf": [TEXT, {"type": "integer"}]}}),
        tool({"v": {"anyOf": [TEXT, {"type": "null"}]}}),
    ),
    "RC103": (
        tool(dict.fromkeys("abcdef", TEXT), required=list("abcdef")),
        tool(dict.fromkeys("abcdef", TEXT), required=list("abcde")),
    ),
    "RC104": (tool({f"p{n}": TEXT for n in range(13)}), tool({f"p{n}": TEXT for n in range(12)})),
    "RC105": (
        tool({"o": {"type": "object"}}),
        tool({"o": {"type": "object", "additionalProperties": TEXT}}),
    ),
    "RC106": (tool({"v": {"description": "anything"}}), tool({"v": {"enum": ["a"]}})),
    "RC107": (tool({"l": {"type": "array"}}), tool({"l": {"type": "array", "items": TEXT}})),
    "RC108": (tool({"v": {"enum": ["a", "b"]}}), tool({"v": {"enum": ["a", 1]}})),
    "RC109": (
        tool({"v": {"oneOf": [{"const": "a"}, {"const": "b"}]}}),
        tool({"v": {"oneOf": [{"const": "a"}, {"type": "null"}]}}),
    ),
    "RC201": (
        tool({"v": text("The mode. Must be 'fast' or 'exact'.")}),
        tool({"v": text("The mode, such as 'fast' or 'exact'.")}),
    ),
    "RC202": (tool({"limit": {"type": "integer"}}), tool({"limit": {"type": "integer", "maximum": 50}})),
    "RC203": (
        tool({"score": number("How sure, between 0 and 1.")}),
        tool({"score": number("How sure, between 0 and 1.", minimum=0, maximum=1)}),
    ),
    "RC204": (tool({"amount": number("What to pay.")}), tool({"amount": number("What to pay, in pence.")})),
    "RC205": (
        tool({"distance": number("How far, in kilometers.")}),
        tool({"distance_kilometers": number("How far, in kilometers.")}),
    ),
    "RC206": (tool({"start_date": text("When it begins.")}), tool({"start_date": text("", format="date")})),
    "RC207": (
        tool({"start_date": text("When it begins, as YYYY-MM-DD.")}),
        tool({"start_date": text("As YYYY-MM-DD.", pattern="^[0-9-]{10}$")}),
    ),
    "RC208": (
        tool({"v": {"type": "string", "enum": ["not_found", "Not found"]}}),
        tool({"v": {"type": "string", "enum": ["not_found", "found"]}}),
    ),
    "RC301": (tool(description=""), tool()),
    "RC302": (tool({"a": TEXT}), tool({"a": text("A name.")})),
    "RC303": (tool(description="Find a shop."), tool(description="Find a shop nearby.")),
    "RC305": (
        tool(description="Finds shops.\n                 Not for food."),
        tool(description="Finds shops.\nNot for food."),
    ),
    "RC401": (tool({"a": {"type": "strin"}}), tool({"a": TEXT})),
    "RC402": (
        tool({"n": {"type": "integer", "minimum": 5, "maximum": 2}}),
        tool({"n": {"type": "integer", "minimum": 2, "maximum": 5}}),
    ),
    "RC403": (
        tool({"v": {"type": "integer", "enum": ["1", "2"]}}),
        tool({"v": {"type": "number", "enum": [1, 2.5]}}),
    ),
    "RC404": (tool({"n": {"type": "integer", "default": "five"}}), tool({"n": {"type": "integer", "default": 5}})),
    "RC405": (tool({"a": TEXT}, required=["a", "b"]), tool({"a": TEXT}, required=["a"])),
    "RC406": (tool({"a": {**TEXT, "default": "x"}}, required=["a"]), tool({"a": {**TEXT, "default": "x"}})),
    "RC407": (
        tool({"a": text("Optional. The name.")}, required=["a"]),
        tool({"a": text("Optional. The name.")}),
    ),
    "RC408": (
        tool({"v": text("Either 'day' or 'week'.", enum=["day", "month"])}),
        tool({"v": text("Either 'day' or 'week'.", enum=["day", "week"])}),
    ),
    "RC409": (
        tool({"n": {"type": "integer", "description": "How many. Default is 5.", "default": 10}}),
        tool({"n": {"type": "integer", "description": "How many. Default is 5.", "default": 5}}),
    ),
    "RC410": (
        tool({"n": {"type": "integer", "description": "How many. Default is 5."}}),
        tool({"n": {"type": "integer", "description": "How many. Default is 5."}}, required=["n"]),
    ),
    "RC411": (tool({"v": text("A list of names.")}), tool({"v": text("A comma-separated list of names.")})),
    "RC701": (tool({"v": text("word " * 600)}), tool({"v": text("word " * 100)})),
    "RC801": (
        tool(description="Cancels an order. Requires explicit user confirmation."),
        tool(description="Confirms an order."),
    ),
    "RC802": (
        tool(description="Deletes a file. Must never delete files outside the project."),
        tool(description="Do not pass null for what is unknown."),
    ),
    "RC803": (
        Tool("delete_file", "x", {}, Effects(read_only=True), {"annotations": {"readOnlyHint": True}}),
        Tool("read_file", "x", {}, Effects(read_only=True), {"annotations": {"readOnlyHint": True}}),
    ),
    "RC804": (
        tool({"command": TEXT}, description="Runs a command."),
        tool({"command": TEXT}, description="Shows the manual page of a command."),
    ),
}


@pytest.mark.parametrize("rule", FINDS)
def test_a_rule_finds_its_fault_and_leaves_its_twin_alone(rule):
    faulty, sound = FINDS[rule]

    assert rule in {identifier for identifier, _ in found(faulty)}
    assert rule not in {identifier for identifier, _ in found(sound)}


def test_every_rule_about_one_tool_has_a_case_here():
    alone = {rule.id for rule in rules() if rule.check is not None and not rule.id.startswith("RC6")}

    assert alone == FINDS.keys() - {rule.id for rule in rules() if rule.check is None}


def test_every_rule_says_why_what_to_do_and_on_what_evidence():
    for rule in rules(["all"]):
        assert rule.why.endswith("."), rule.id
        assert rule.fix, rule.id
        assert rule.evidence.where, rule.id
    assert len({rule.id for rule in rules()}) == len(rules())


def test_a_finding_points_to_its_place():
    (finding,) = [f for f in lint([tool({"a/b": {"type": "integer", "default": "x"}})]).findings if f.rule == "RC404"]

    assert finding.pointer == "/parameters/properties/a~1b/default"
    assert (finding.severity, finding.tool, finding.index) == (Severity.ERROR, "find_shop", 0)


# -- tools beside each other ---------------------------------------------------------------------------------------


def test_names_that_repair_cannot_tell_apart_are_an_error():
    assert ("RC501", "/name") in found(tool(name="get_user"), tool(name="getUser", description="Another."))
    assert ("RC501", "/name") in found(tool(), tool())


def test_tools_that_share_most_words_are_easily_confused_and_should_say_when_not_to_use_them():
    pair = (
        Tool("search_customer_orders", "Searches the orders of a customer by product."),
        Tool("search_customer_order_items", "Searches the items in orders of a customer by product."),
    )
    apart = (Tool("search_orders", "Searches orders."), Tool("get_weather", "Tells the weather of a city."))

    assert {"RC502", "RC304"} <= {rule for rule, _ in found(*pair)}
    assert not {"RC502", "RC304"} & {rule for rule, _ in found(*apart)}


def test_a_stated_limit_is_enough_between_tools_that_are_alike():
    pair = (
        Tool("search_customer_orders", "Searches the orders of a customer by product, not single items."),
        Tool("search_customer_order_items", "Searches the items in orders of a customer by product, never orders."),
    )

    assert "RC304" not in {rule for rule, _ in found(*pair)}


def test_a_toolset_that_fills_a_small_context_is_told_once():
    many = [tool({"v": text("word " * 200)}, name=f"tool_{n}", description=f"Does thing {n}.") for n in range(25)]

    assert [f.rule for f in lint(many).findings if f.rule in {"RC702", "RC703"}] == ["RC702", "RC703"]


# -- engines -------------------------------------------------------------------------------------------------------


def test_a_pattern_that_llama_cpp_cannot_convert_is_a_warning_and_an_error_where_it_is_asked_for():
    loose = tool({"v": {"type": "string", "pattern": "abc"}})
    anchored = tool({"v": {"type": "string", "pattern": "^[a-z]{3}$"}})

    def severity(*engines):
        return {f.severity for f in lint([loose], engines=engines).findings if f.rule == "RC601"}

    assert severity() == {Severity.WARNING}
    assert severity("llama_cpp") == {Severity.ERROR}
    assert severity("ollama") == set()
    assert "RC601" not in {rule for rule, _ in found(anchored, engines=["llama_cpp"])}


def test_strict_modes_want_closed_objects():
    open_ended = tool({"a": text("A name.")})
    closed = tool({"a": text("A name.")}, required=["a"], additionalProperties=False)

    assert ("RC601", "/parameters") in found(open_ended, engines=["openai_strict"])
    assert "RC601" not in {rule for rule, _ in found(closed, engines=["openai_strict"])}


def test_a_parameter_called_description_is_lost_in_ollama():
    assert ("RC602", "/parameters/properties/description") in found(
        tool({"description": text("x")}), engines=["ollama"]
    )


def test_an_unknown_engine_is_refused_with_the_known_ones():
    with pytest.raises(UsageError, match="known: llama_cpp, ollama, vllm"):
        lint([tool()], engines=["tensor"])


# -- silences ------------------------------------------------------------------------------------------------------

BARE = tool(description="")


def with_ignore(reasons):
    return Tool(BARE.name, "", BARE.parameters, extra={"x-rightcall-ignore": reasons})


def test_a_rule_is_silenced_with_a_reason_in_the_tool():
    report = lint([with_ignore({"RC301": "written by the vendor"})])

    assert "RC301" not in {f.rule for f in report.findings}
    assert [(s.finding.rule, s.reason) for s in report.silenced] == [("RC301", "written by the vendor")]


@pytest.mark.parametrize("reason", ["", "  ", None, True])
def test_a_silence_without_a_reason_silences_nothing_and_is_a_finding(reason):
    assert {"RC301", "RC901"} <= {rule for rule, _ in found(with_ignore({"RC301": reason}))}


def test_a_silence_of_an_unknown_rule_is_a_finding():
    assert ("RC902", "/x-rightcall-ignore/RC999") in found(with_ignore({"RC999": "why not"}))


def test_a_project_silences_rules_for_all_tools_or_for_one():
    other = tool(name="other", description="")

    assert "RC301" not in {rule for rule, _ in found(BARE, other, ignore={"RC301": "generated"})}
    report = lint([BARE, other], ignore={"other/RC301": "generated"})
    assert [f.tool for f in report.findings if f.rule == "RC301"] == ["find_shop"]


# -- anything at all -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [None, [], "x", 5, True, {"$ref": "#"}, {"properties": []}, {"type": {}}])
def test_a_schema_of_any_kind_is_reported_and_never_raises(parameters):
    lint([Tool("t", "", parameters), tool()])


def test_a_schema_that_is_no_json_is_reported():
    assert "RC401" in {rule for rule, _ in found(Tool("t", "", {"default": {1, 2}}))}


def test_no_schema_of_the_corpus_raises_anything(shared):
    tools = []
    for line in (shared / "cases" / "cases_dev.jsonl").read_text(encoding="utf-8").splitlines():
        for entry in json.loads(line).get("tools") or []:
            function = entry.get("function", entry)
            parameters = function.get("parameters", function.get("input_schema", {}))
            tools.append(Tool(str(function.get("name")), str(function.get("description") or ""), parameters))

    for each in tools:
        lint([each], engines=["all"])
    assert lint(tools).findings


def test_retail_tools_give_what_a_reviewer_would_say(shared):
    from rightcall.tool_sources.reading import read_tools

    tools = read_tools(shared / "data" / "taubench" / "retail" / "tools.json").tools
    given = {(f.rule, f.tool) for f in lint(tools).findings}

    assert ("RC801", "cancel_pending_order") in given
    assert ("RC103", "modify_user_address") in given
    assert ("RC502", "modify_pending_order_address") in given
    assert not {tool for _, tool in given} & {"calculate", "get_order_details", "list_all_product_types", "think"}


def test_the_documentation_lists_every_rule_as_it_is():
    page = (Path(__file__).resolve().parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")

    for rule in rules():
        told = f"{rule.evidence.strength.value}: {rule.evidence.where}"
        line = f"| {rule.id} | {rule.title} | {rule.severity.word} | {rule.why} | {rule.fix} | {told} |"
        assert line in page, rule.id
