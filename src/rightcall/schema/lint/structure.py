"""Shapes that a small model writes wrong: depth, unions, many fields, objects without keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rightcall.schema.keywords import Node
from rightcall.schema.lint.findings import ARTICLE, Evidence, Hit, LintedTool, Rule, Severity, Strength
from rightcall.schema.pointers import pointer_of
from rightcall.schema.references import json_type, own_types, required, resolve

MANY_REQUIRED = 6
MANY_PARAMETERS = 12
DEEP = 2  # objects inside the arguments, one in another
_MAX_DEPTH = 16
_SHAPED = frozenset(
    ("additionalProperties", "allOf", "anyOf", "oneOf", "patternProperties", "properties", "propertyNames", "$ref")
)


def _nesting(tool: LintedTool) -> Iterator[Hit]:
    for name, schema in _properties(tool.schema).items():
        depth = _depth(schema, tool.schema, 0)
        if depth:
            levels = "an object" if depth == 1 else f"{depth} levels of objects"
            told = f"{levels} inside the arguments; a small model loses track of the braces"
            at = pointer_of(["parameters", "properties", name])
            yield Hit(at, told, severity=Severity.WARNING if depth >= DEEP else Severity.INFO)


def _depth(schema: Any, root: Mapping[str, Any], level: int) -> int:
    """How many objects with properties stand one in another."""
    schema = resolve(schema, root)
    if not isinstance(schema, Mapping) or level > _MAX_DEPTH:
        return 0
    inner = [*_properties(schema).values(), schema.get("items"), schema.get("additionalProperties")]
    for word in ("anyOf", "oneOf", "allOf"):
        inner += schema[word] if isinstance(schema.get(word), list) else []
    deepest = max((_depth(item, root, level + 1) for item in inner), default=0)
    return deepest + (1 if _properties(schema) else 0)


def _unions(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.nodes:
        kinds = own_types(node.schema) - {"null"}
        if isinstance(node.schema.get("type"), list) and len(kinds) > 1 and kinds != {"integer", "number"}:
            yield Hit(node.pointer, f"it takes {' or '.join(sorted(kinds))}: the model must choose before it knows")
        for word in ("anyOf", "oneOf"):
            branches = node.schema.get(word)
            if not isinstance(branches, list):
                continue
            real = [branch for branch in branches if not _is_null(branch, tool.schema)]
            if len(real) > 1 and not all(isinstance(b, Mapping) and "const" in b for b in real):
                told = f"{word} of {len(real)} forms: the model must commit to one before it has written the evidence"
                yield Hit(f"{node.pointer}/{word}", told)


def _is_null(branch: Any, root: Mapping[str, Any]) -> bool:
    schema = resolve(branch, root)
    return isinstance(schema, Mapping) and own_types(schema) == {"null"}


def _many_required(tool: LintedTool) -> Iterator[Hit]:
    needed = required(tool.schema, tool.schema)
    if len(needed) >= MANY_REQUIRED:
        yield Hit("/parameters/required", f"{len(needed)} arguments are required; each is a chance to leave one out")


def _many_parameters(tool: LintedTool) -> Iterator[Hit]:
    count = len(_properties(tool.schema))
    if count > MANY_PARAMETERS:
        optional = count - len(required(tool.schema, tool.schema))
        yield Hit("/parameters/properties", f"{count} parameters, {optional} of them optional, compete for attention")


def _shapeless_objects(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.nodes[1:]:
        declares_none = not node.schema.keys() & _SHAPED or node.schema.get("properties") == {}
        open_ended = node.schema.get("additionalProperties", True) is True
        if own_types(node.schema) == {"object"} and declares_none and open_ended and not _is_fixed(node):
            yield Hit(node.pointer, "an object without declared keys: the model has to invent them")


def _untyped(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        deciding = {"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "properties", "items", "not", "if"}
        if not node.schema.keys() & deciding:
            yield Hit(node.pointer, "no type: any value is valid, so no wrong one is ever found")


def _untyped_items(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.nodes:
        lists = own_types(node.schema) == {"array"} and not _is_fixed(node)
        if lists and not node.schema.keys() & {"items", "prefixItems", "contains"}:
            yield Hit(node.pointer, "a list that does not say what it holds: any item is valid")


def _missing_types(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.nodes:
        members = node.schema.get("enum")
        if "type" not in node.schema and isinstance(members, list) and not node.schema.keys() & {"$ref", "anyOf"}:
            kinds = {json_type(member) for member in members}
            if len(kinds) == 1:
                yield Hit(node.pointer, f"the members are all of type {kinds.pop()}, and it does not say so")


def _single_branches(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.nodes:
        for word in ("anyOf", "oneOf", "allOf"):
            branches = node.schema.get(word)
            if isinstance(branches, list) and len(branches) == 1:
                yield Hit(f"{node.pointer}/{word}", f"{word} of one form is that form, a level deeper")
            elif (
                word != "allOf"
                and isinstance(branches, list)
                and len(branches) > 1
                and all(isinstance(b, Mapping) and "const" in b for b in branches)
            ):
                yield Hit(f"{node.pointer}/{word}", f"{word} of constants is an enum, a level deeper")


def _is_fixed(node: Node) -> bool:
    return bool(node.schema.keys() & {"enum", "const"})


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    listed = schema.get("properties")
    return listed if isinstance(listed, Mapping) else {}


_REWRITE = "`rightcall serve --rewrite auto` shows a plainer form and restores the calls"
_OPINION = Evidence(Strength.OPINION, ARTICLE)

RULES: Iterable[Rule] = (
    Rule(
        "RC101",
        "nested objects",
        Severity.WARNING,
        "Every level is another brace that the model must keep open while it writes from left to right.",
        f"Flatten it; {_REWRITE}.",
        _OPINION,
        _nesting,
    ),
    Rule(
        "RC102",
        "unions",
        Severity.WARNING,
        "A union asks the model to commit to a branch before it has generated the evidence for it.",
        f"Split the parameter, or the tool; {_REWRITE}.",
        _OPINION,
        _unions,
    ),
    Rule(
        "RC103",
        "many required fields",
        Severity.INFO,
        f"A missing required key is the commonest failure, and {MANY_REQUIRED} or more are as many chances for it.",
        "Make optional what has a sane default, and look up what another argument already identifies.",
        _OPINION,
        _many_required,
    ),
    Rule(
        "RC104",
        "many parameters",
        Severity.INFO,
        f"More than {MANY_PARAMETERS} parameters cost context and invite filling in what nobody asked for.",
        "Hide rarely used options: `rightcall serve --rewrite hide` does, and takes them all the same.",
        _OPINION,
        _many_parameters,
    ),
    Rule(
        "RC105",
        "object without keys",
        Severity.WARNING,
        "Where no keys are declared, the model invents them and everything it invents is valid.",
        "Declare the properties, or say with additionalProperties what the values are.",
        _OPINION,
        _shapeless_objects,
    ),
    Rule(
        "RC106",
        "parameter without a type",
        Severity.WARNING,
        "Any value is valid, so neither repair nor validation can find a wrong one.",
        "Declare the type.",
        Evidence(Strength.OPINION, "design/03-repair-and-coercion.md: coercion goes by the declared type"),
        _untyped,
    ),
    Rule(
        "RC107",
        "list without an item type",
        Severity.WARNING,
        "Items of any kind are valid; several backends refuse such a list.",
        "Declare `items`.",
        Evidence(Strength.OPINION, "design/03-repair-and-coercion.md: coercion goes by the declared type"),
        _untyped_items,
    ),
    Rule(
        "RC108",
        "members without their type",
        Severity.INFO,
        "Templates and grammars of several servers look at `type` only.",
        "Add the type that all members have (--fix does).",
        Evidence(Strength.REPORTED, "ollama #11444, #18468, #14601"),
        _missing_types,
    ),
    Rule(
        "RC109",
        "union of one, or of constants",
        Severity.INFO,
        "A level of nesting that says nothing; some servers drop or refuse unions.",
        "Write the form itself, or an enum (--fix does).",
        Evidence(Strength.REPORTED, "ollama #18468"),
        _single_branches,
    ),
)
