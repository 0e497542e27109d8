"""Where a schema, its words and its defaults say different things."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rightcall.domain import Tool
from rightcall.schema.compat.subset import unsatisfiable
from rightcall.schema.compiled import compile_tool
from rightcall.schema.keywords import Node
from rightcall.schema.lint.findings import (
    ESSAY,
    Evidence,
    Hit,
    LintedTool,
    Rule,
    Severity,
    Strength,
    description_of,
    is_number,
    is_text,
)
from rightcall.schema.lint.words import listed_choices, stated_default
from rightcall.schema.references import has_type, own_types, properties
from rightcall.schema.shape import same_json

_MEASURED = Evidence(
    Strength.MEASURED, "AgentGauge: such a contradiction costs 13 to 29 points on models of 7 to 9 billion"
)
_SAYS_OPTIONAL = re.compile(r"^\s*[\[(]?optional\b(?! parameters?\b)|[\[(]optional[\])]", re.IGNORECASE)
_SAYS_REQUIRED = re.compile(r"^\s*[\[(]?required\b[\]).:,]|[\[(]required[\])]", re.IGNORECASE)
_SAYS_LIST = re.compile(r"^\s*(?:an?|the)?\s*(?:list|array)s? of\b(?! .{0,40}(?:separated|string))", re.IGNORECASE)
_NOTHING = {"none": "", "null": ""}  # ways to write that there is none
_SEPARATED = re.compile(r"\b(?:separated|delimited|comma|json|string)\b", re.IGNORECASE)


def _broken(tool: LintedTool) -> Iterator[Hit]:
    if (reason := compile_tool(tool.tool).broken) is not None:
        yield Hit("/parameters", f"the tool cannot be used: {reason}")


def _impossible(tool: LintedTool) -> Iterator[Hit]:
    reported = {f"/parameters{pointer}" for pointer in unsatisfiable(tool.schema)}
    by_pointer = {node.pointer: node for node in tool.nodes}
    for pointer in sorted(reported):
        node = by_pointer.get(pointer)
        if node is None or "enum" in node.schema or any(other.startswith(f"{pointer}/") for other in reported):
            continue  # the innermost place says it best, and of members another rule speaks
        yield Hit(pointer, "no value satisfies it: its keywords rule each other out")


def _stray_members(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.nodes:
        kinds, members = own_types(node.schema), node.schema.get("enum")
        if "type" not in node.schema or not isinstance(members, list):
            continue
        stray = [member for member in members if not has_type(member, kinds)]
        if stray:
            whole = "none" if len(stray) == len(members) else "not all"
            told = f"{whole} of the members are of type {' or '.join(sorted(kinds))}: {_shown(stray)}"
            yield Hit(f"{node.pointer}/enum", told)


def _wrong_defaults(tool: LintedTool) -> Iterator[Hit]:
    definitions = {word: tool.schema[word] for word in ("$defs", "definitions", "$schema") if word in tool.schema}
    for node in tool.parameters:
        if "default" not in node.schema:
            continue
        compiled = compile_tool(Tool("", parameters={**definitions, **node.schema}))
        default = node.schema["default"]
        if compiled.broken is None and not compiled.accepts(default):
            if default is None and not _is_needed(node):
                continue  # Python's way of saying that it may be left out; models are not misled by it
            yield Hit(f"{node.pointer}/default", f"the default {_shown(default)} is not valid for its own schema")


def _undeclared_required(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.nodes:
        listed = node.schema.get("required")
        names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        known = properties(node.schema, tool.schema)
        apart = node.schema.keys() & {"$ref", "anyOf", "oneOf", "patternProperties"} or node.keyword in {
            "allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas"
        }  # fmt: skip
        missing = [name for name in names if name not in known]
        if missing and not apart:
            yield Hit(f"{node.pointer}/required", f"required and not declared: {_shown(missing)}")


def _required_defaults(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        if "default" in node.schema and _is_needed(node):
            yield Hit(node.pointer, f"{node.name!r} is required and has a default, which can never apply")


def _misstated_need(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        text = description_of(node)
        if _SAYS_OPTIONAL.search(text) and _is_needed(node):
            yield Hit(f"{node.pointer}/description", "the description says optional, the schema requires it")
        elif _SAYS_REQUIRED.search(text) and not _is_needed(node) and not node.schema.keys() & {"default"}:
            yield Hit(f"{node.pointer}/description", "the description says required, the schema does not")


def _misstated_members(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        members = node.schema.get("enum")
        if not isinstance(members, list) or not is_text(node):
            continue
        missing = [choice for choice in listed_choices(description_of(node)) if choice not in members]
        if missing:
            told = f"the description offers {_shown(missing)}, which the enum does not have"
            yield Hit(f"{node.pointer}/description", told)


def _misstated_default(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        for stated in stated_default(description_of(node)) if "default" in node.schema else ():
            default = node.schema["default"]
            nothing = {_NOTHING.get(str(value).casefold(), str(value).casefold()) for value in (default, stated)}
            if not same_json(default, stated) and len(nothing) > 1 and _is_kind(stated, node):
                told = f"the description states the default {_shown(stated)}, the schema {_shown(default)}"
                yield Hit(f"{node.pointer}/default", told)


def _unwritten_default(tool: LintedTool) -> Iterator[Hit]:
    definitions = {word: tool.schema[word] for word in ("$defs", "definitions", "$schema") if word in tool.schema}
    for node in tool.parameters:
        if "default" in node.schema or _is_needed(node) or not (is_number(node) or is_text(node) or _is_flag(node)):
            continue
        for stated in stated_default(description_of(node)):
            compiled = compile_tool(Tool("", parameters={**definitions, **node.schema}))
            if stated is not None and compiled.accepts(stated):
                yield Hit(node.pointer, f"the default {_shown(stated)} stands in the description only")


def _misstated_type(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        text = description_of(node)
        if _SAYS_LIST.search(text) and is_text(node) and "enum" not in node.schema and not _SEPARATED.search(text):
            yield Hit(f"{node.pointer}/type", "the description says a list, the type is string")


def _is_kind(value: Any, node: Node) -> bool:
    """Whether a value read in prose can be meant for this parameter: 7 in "7 days later" is no date."""
    kinds = own_types(node.schema)
    return not kinds or has_type(value, kinds)


def _is_flag(node: Node) -> bool:
    return own_types(node.schema) == {"boolean"}


def _is_needed(node: Node) -> bool:
    holder: Mapping[str, Any] = node.parent.schema if node.parent else {}
    listed = holder.get("required")
    return isinstance(listed, list) and node.name in listed


def _shown(value: Any) -> str:
    if isinstance(value, list):
        text = ", ".join(repr(item) for item in value[:5])
        return text if len(value) <= 5 else f"{text}, …"  # noqa: PLR2004 - as many as are shown
    return repr(value)[:80]


_OWN = Evidence(Strength.OPINION, ESSAY)

RULES: Iterable[Rule] = (
    Rule("RC401", "unusable schema", Severity.ERROR,
         "A server refuses the whole request, or rightcall puts the tool aside.",
         "Mend the schema as the message says.",
         Evidence(Strength.REPORTED, "one bad schema makes llama.cpp refuse all tools (llama.cpp #26930)"),
         _broken),
    Rule("RC402", "impossible schema", Severity.ERROR,
         "No call can be right, whatever the model writes.",
         "Take away one of the keywords that exclude each other.",
         Evidence(Strength.MEASURED, "proven by jsonschema_rs.canonical for the schema at hand"),
         _impossible),
    Rule("RC403", "members of another type than declared", Severity.ERROR,
         "The model follows the enum and is refused, or follows the type and is refused.",
         "Change the type, or the members; --fix takes out members that can never be valid.",
         _MEASURED,
         _stray_members),
    Rule("RC404", "default that is not valid", Severity.ERROR,
         "A model that copies the default is refused.",
         "Make the default valid, or take it away.",
         _OWN,
         _wrong_defaults),
    Rule("RC405", "required but not declared", Severity.ERROR,
         "The model is shown no such parameter, and every call without it is refused.",
         "Declare the property, or take the name out of `required`.",
         _OWN,
         _undeclared_required),
    Rule("RC406", "required with a default", Severity.WARNING,
         "One of the two is wrong: what must be given has no default.",
         "Take the name out of `required`, or the default away.",
         _OWN,
         _required_defaults),
    Rule("RC407", "need misstated", Severity.WARNING,
         "The model believes the description and leaves it out, or makes a value up.",
         "Say the same in both.",
         _OWN,
         _misstated_need),
    Rule("RC408", "choices misstated", Severity.WARNING,
         "The model writes a value that the description offers, and is refused.",
         "Say the same in both.",
         _OWN,
         _misstated_members),
    Rule("RC409", "default misstated", Severity.WARNING,
         "Two defaults are stated; the model cannot know which holds.",
         "Say the same in both.",
         _OWN,
         _misstated_default),
    Rule("RC410", "default in prose only", Severity.INFO,
         "Programs cannot read it; the rewrite that hides optionals needs it.",
         "Declare it as `default` (--fix does).",
         _OWN,
         _unwritten_default),
    Rule("RC411", "type misstated", Severity.WARNING,
         "A list is asked for in words and refused by type.",
         "Declare an array, or say how the text is separated.",
         _OWN,
         _misstated_type),
)  # fmt: skip
