"""Rewrites that are safe to write into a file: they change words, or spellings of the same set of values.

Every change of a schema is checked before it is kept: old and new must be proven to take the same values. What
needs calls to be restored is no fix of a file, it is `--rewrite` when serving.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rightcall.domain import Tool
from rightcall.schema.compat.subset import covers
from rightcall.schema.compiled import compile_tool
from rightcall.schema.keywords import LISTS, MAPS, ONE
from rightcall.schema.lint.words import stated_default
from rightcall.schema.references import has_type, json_type, own_types

_RUNS = re.compile(r"[ \t]{3,}|\n[ \t]{2,}|\n{3,}")
_BLANK_LINES = re.compile(r"\n{3,}")
_UNIONS = ("anyOf", "oneOf", "allOf")
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Fix:
    """One rewrite: which rule's finding it mends, and in words what was done where (a pointer into the tool)."""

    rule: str
    pointer: str
    what: str


def fixed(description: str, parameters: Any) -> tuple[str, Any, list[Fix]]:
    """Description and parameters of a tool with every safe rewrite made, and what was done.

    A schema that cannot be used is left as it is, and so is one whose rewrite is not proven to mean the same.
    """
    done: list[Fix] = []
    text = _collapsed(description)
    if text != description:
        done.append(Fix("RC305", "/description", "indentation collapsed"))
    if not isinstance(parameters, Mapping):
        return text, parameters, done
    original = json.loads(json.dumps(parameters))
    inner: list[Fix] = []
    rewritten = _schema(original, "/parameters", inner, frozenset(), 0)
    if not inner or not _means_the_same(original, rewritten):
        return text, parameters, done
    return text, rewritten, done + inner


def _means_the_same(old: Any, new: Any) -> bool:
    if compile_tool(Tool("", parameters=new)).broken is not None:
        return False
    if compile_tool(Tool("", parameters=old)).broken is not None:
        return bool(_deduplicated(old) == _deduplicated(new))
    return covers(new, old) and covers(old, new)


def _deduplicated(schema: Any) -> Any:
    """A schema whose `required` lists name nothing twice, which is all that a fix may mend in an unusable one."""
    if isinstance(schema, Mapping):
        return {
            key: list(dict.fromkeys(item)) if key == "required" and _is_names(item) else _deduplicated(item)
            for key, item in schema.items()
        }
    return [_deduplicated(item) for item in schema] if isinstance(schema, list) else schema


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _schema(schema: Any, at: str, done: list[Fix], needed: frozenset[str], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return schema
    listed = schema.get("required")
    inside: frozenset[str] = frozenset(listed) if isinstance(listed, list) and _is_names(listed) else frozenset()
    made: dict[str, Any] = {}
    for keyword, value in schema.items():
        where = f"{at}/{keyword}"
        if keyword in MAPS and isinstance(value, Mapping):
            names = inside if keyword == "properties" else frozenset(value)
            made[keyword] = {
                name: _schema(item, f"{where}/{name}", done, names & {name}, depth + 1)
                for name, item in value.items()
            }
        elif keyword in LISTS and isinstance(value, list):
            made[keyword] = [
                _schema(item, f"{where}/{i}", done, frozenset("_"), depth + 1) for i, item in enumerate(value)
            ]
        elif keyword in ONE:
            made[keyword] = _schema(value, where, done, frozenset("_"), depth + 1)
        elif keyword == "required" and _is_names(value) and len(set(value)) < len(value):
            made[keyword] = list(dict.fromkeys(value))
            done.append(Fix("RC401", where, "names that stood twice, once"))
        else:
            made[keyword] = value
    return _own(made, at, done, optional=not needed)


def _own(schema: dict[str, Any], at: str, done: list[Fix], *, optional: bool) -> dict[str, Any]:
    """The rewrites of one schema by itself."""
    schema = _without_union(schema, at, done)
    members = schema.get("enum")
    if isinstance(members, list) and "type" in schema:
        valid = [member for member in members if has_type(member, own_types(schema))]
        if valid and len(valid) < len(members):
            schema["enum"] = valid
            done.append(Fix("RC403", f"{at}/enum", f"{len(members) - len(valid)} members that were never valid, out"))
    elif isinstance(members, list) and members and not schema.keys() & {"$ref", *_UNIONS}:
        kinds = {json_type(member) for member in members}
        if len(kinds) == 1:
            schema = {"type": kinds.pop(), **schema}
            done.append(Fix("RC108", at, "the members' type, declared"))
    text = schema.get("description")
    if isinstance(text, str):
        if (collapsed := _collapsed(text)) != text:
            schema["description"] = collapsed
            done.append(Fix("RC305", f"{at}/description", "indentation collapsed"))
        if optional and "default" not in schema and (stated := stated_default(text)) and stated != (None,):
            own = compile_tool(Tool("", parameters=schema))
            if own.broken is None and own.accepts(stated[0]) and own_types(schema):
                schema["default"] = stated[0]
                done.append(Fix("RC410", at, f"the default {stated[0]!r}, declared"))
    return schema


def _without_union(schema: dict[str, Any], at: str, done: list[Fix]) -> dict[str, Any]:
    for word in _UNIONS:
        branches = schema.get(word)
        if not isinstance(branches, list) or not all(isinstance(branch, Mapping) for branch in branches):
            continue
        beside = {key: value for key, value in schema.items() if key != word}
        if len(branches) == 1 and not beside.keys() & branches[0].keys() and "$ref" not in branches[0]:
            done.append(Fix("RC109", f"{at}/{word}", "the only form, in its place"))
            return {**beside, **branches[0]}
        constants = [branch["const"] for branch in branches if branch.keys() == {"const"}]
        if word != "allOf" and len(constants) == len(branches) > 1 and "enum" not in beside:
            done.append(Fix("RC109", f"{at}/{word}", "constants, as an enum"))
            return {**beside, "enum": constants}
    return schema


def _collapsed(text: str) -> str:
    """The text without a docstring's indentation; one that has none is left alone."""
    if not _RUNS.search(text):
        return text
    lines = [" ".join(line.split()) for line in text.strip().splitlines()]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines))
