"""Two versions of tools compared: what each change does to calls that were valid before.

Three questions are asked of every change, and of all of them together: is it proven that the new schema takes
whatever the old one took (`subset`)? If not, is there a call that the old one takes and the new one refuses
(`examples`)? If neither, the answer is `undecided`. So `compatible` is always a proof and every example is checked.
Source of the question: "How Tool Schemas Change Agent Behavior", schema versions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from rapidfuzz.fuzz import ratio

from rightcall.domain import Effects, Tool
from rightcall.schema.compat.edits import ABSENT, Edit, edits, made
from rightcall.schema.compat.examples import Examples, breaking_examples
from rightcall.schema.compat.subset import covers, covers_in_parts, difference, has_parts, part_covers
from rightcall.schema.compat.verdicts import Change, ToolDiff, ToolsetDiff, Verdict
from rightcall.schema.compiled import compile_tool
from rightcall.schema.fingerprint import tool_fingerprint, toolset_fingerprint
from rightcall.schema.keywords import ANNOTATIONS, ASSERTIONS, LISTS, MAPS, ONE, walk

POLICY_KEYWORDS = ASSERTIONS - {"$dynamicRef", "$ref", "dependencies", "dependentRequired", "required", "type"}
"""A tightened range is a matter of policy; anything else that breaks is one of form."""
MAX_WORK = 30_000  # schemas to look through for all edits together; a large tool gets fewer edits judged
MAX_EDITS, MIN_EDITS = 100, 5
MAX_SEARCHES = 20
_RETOLD = 90.0  # of 100: how alike descriptions must be where the parameters are not the same
_OPENING = frozenset(
    (
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "dependentSchemas",
        "if",
        "oneOf",
        "patternProperties",
        "propertyNames",
        "unevaluatedProperties",
    )
)


def compare_toolsets(old: Sequence[Tool], new: Sequence[Tool], *, declared_only: bool = False) -> ToolsetDiff:
    """What became of every tool.

    Args:
        old: the tools that calls were made with.
        new: the tools that they would meet now.
        declared_only: take it that old calls held declared arguments only, although their schemas let others in.
    """
    after = {tool.name: tool for tool in reversed(new)}
    before = {tool.name: tool for tool in reversed(old)}
    added = [tool for name, tool in after.items() if name not in before]
    diffs = []
    for name, tool in reversed(before.items()):
        if name in after:
            diffs.append(compare_tools(tool, after[name], declared_only=declared_only))
        else:
            diffs.append(_removed(tool, added))
    diffs += [
        ToolDiff(
            tool.name,
            Verdict.COMPATIBLE,
            (Change("", "the tool is new", Verdict.COMPATIBLE),),
            after=tool_fingerprint(tool),
        )
        for tool in reversed(added)
    ]
    notes = tuple(
        f"{side} offers {name!r} more than once; the first one counts, as it does when tools are offered"
        for side, tools in (("OLD", old), ("NEW", new))
        for name in dict.fromkeys(tool.name for tool in tools)
        if sum(other.name == name for other in tools) > 1
    )
    return ToolsetDiff(tuple(diffs), toolset_fingerprint(old), toolset_fingerprint(new), notes)


def compare_tools(old: Tool, new: Tool, *, declared_only: bool = False) -> ToolDiff:
    """What became of one tool; the names are taken to be the same."""
    marks = tool_fingerprint(old), tool_fingerprint(new)
    changes: list[Change] = []
    if old.description != new.description:
        changes.append(Change("/description", "the description", Verdict.SEMANTIC, old.description, new.description))
    changes += _effects(old.effects, new.effects)
    for tool, verdict in ((old, Verdict.UNDECIDED), (new, Verdict.STRUCTURAL)):
        if (broken := compile_tool(tool).broken) is not None:
            side = "OLD" if tool is old else "NEW"
            changes.append(Change("/parameters", f"{side} cannot be used: {broken}", verdict))
            return ToolDiff(old.name, max(c.verdict for c in changes), tuple(changes), *marks)
    inner, example = compare_schemas(
        json.loads(json.dumps(old.parameters)), json.loads(json.dumps(new.parameters)), declared_only=declared_only
    )
    changes += inner
    verdict = max((change.verdict for change in changes), default=Verdict.COMPATIBLE)
    return ToolDiff(old.name, verdict, tuple(changes), *marks, example=example)


def compare_schemas(
    old: Mapping[str, Any], new: Mapping[str, Any], *, declared_only: bool = False
) -> tuple[list[Change], tuple[Any, ...]]:
    """The changes between two usable schemas of arguments, and at most one call that shows that they break.

    Where nothing is worse than `semantic`, it is proven that `new` takes every value that `old` takes
    (every one of declared arguments, where `declared_only`).
    """
    base = _with_definitions(_closed(old) if declared_only else old, new)
    found = edits(old, new)
    wording = [edit for edit in found if edit.is_wording]
    deciding = [edit for edit in found if not edit.is_wording and not edit.is_definition]
    changes = [_change(edit, Verdict.SEMANTIC) for edit in wording]
    if not deciding:
        return changes, ()
    paths = [edit.path for edit in deciding]
    if covers_in_parts(new, base, paths) or covers(new, base):
        return changes + [_change(edit, Verdict.COMPATIBLE) for edit in deciding], ()
    candidates = list(chain(_of_difference(base, new), Examples(base, new).values()))
    breaking = breaking_examples(candidates, base, new)
    judged = max(min(MAX_WORK // (1 + sum(1 for _ in walk(base))), MAX_EDITS), MIN_EDITS)
    changes += _judged(deciding[:judged], base, new, breaking)
    if len(deciding) > judged:
        rest = f"{len(deciding) - judged} more changes, not looked at one by one"
        changes.append(Change("/parameters", rest, Verdict.UNDECIDED))
    worst = max(change.verdict for change in changes)
    example = _shortest(breaking)
    if breaking and worst < Verdict.POLICY:
        changes.append(Change("/parameters", "the changes together", Verdict.STRUCTURAL, example=example))
    elif not breaking:
        # Nothing shows that they break together, so what one of them does alone may be made up for by another.
        changes = [_softened(change) for change in changes]
        if max(change.verdict for change in changes) < Verdict.UNDECIDED:
            changes.append(Change("/parameters", "the changes together", Verdict.UNDECIDED))
    return changes, example


def _judged(
    deciding: Sequence[Edit], base: Mapping[str, Any], new: Mapping[str, Any], breaking: list[Any]
) -> list[Change]:
    """Every edit made alone in the old schema. `breaking` are calls that the new one refuses, and grows."""
    in_parts = has_parts(base) and has_parts(new)
    searches = MAX_SEARCHES
    changes = []
    for edit in deciding:
        alone = made(base, edit)
        if not isinstance(alone, Mapping):
            changes.append(_change(edit, Verdict.UNDECIDED))
        elif (in_parts and part_covers(alone, base, edit.path)) or covers(alone, base):
            changes.append(_change(edit, Verdict.COMPATIBLE))
        else:
            found = breaking_examples(breaking, base, alone)
            if not found and searches:
                searches -= 1
                found = breaking_examples(Examples(base, alone).values(), base, alone)
                breaking += breaking_examples(found, base, new)
            verdict = Verdict.POLICY if edit.keyword in POLICY_KEYWORDS else Verdict.STRUCTURAL
            changes.append(_change(edit, verdict if found else Verdict.UNDECIDED, _shortest(found)))
    return changes


def _shortest(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(sorted(values, key=lambda value: len(json.dumps(value)))[:1])


def _softened(change: Change) -> Change:
    worse = change.verdict > Verdict.UNDECIDED
    return Change(change.pointer, change.what, Verdict.UNDECIDED, change.before, change.after) if worse else change


def _change(edit: Edit, verdict: Verdict, example: tuple[Any, ...] = ()) -> Change:
    before, after = (None if value is ABSENT else value for value in (edit.before, edit.after))
    return Change(f"/parameters{edit.pointer}", _told(edit), verdict, before, after, example)


def _told(edit: Edit) -> str:
    """A change in words."""
    keyword, name = edit.keyword, str(edit.path[-1]) if edit.path else ""
    if edit.member is not None:
        return f"{edit.member!r} is {'no longer' if edit.after is ABSENT else 'now'} required"
    if len(edit.path) > 1 and edit.path[-2] in MAPS and keyword in MAPS:
        noun = "property" if keyword == "properties" else f"entry of {keyword}"
        if edit.before is ABSENT:
            return f"the {noun} {name!r} is new"
        if edit.after is ABSENT:
            return f"the {noun} {name!r} is gone"
        return f"the {noun} {name!r} changed"
    if edit.before is ABSENT:
        return f"{keyword} is new"
    return f"{keyword} is gone" if edit.after is ABSENT else f"{keyword} changed"


def _of_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Any]:
    schema = difference(old, new)
    if not isinstance(schema, Mapping):
        return []
    return list(Examples(schema, old, new).values())


def _with_definitions(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The old schema with the definitions that only the new one has, so that an edit made alone finds its target."""
    completed = dict(old)
    for word in ("$defs", "definitions"):
        theirs, ours = new.get(word), old.get(word, {})
        if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
            completed[word] = {**theirs, **ours}
    return completed


def _closed(schema: Any) -> Any:
    """The schema with objects closed that declare their properties and say nothing about others."""
    if not isinstance(schema, Mapping):
        return schema
    made_: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in {"$defs", "definitions", "properties"} and isinstance(value, Mapping):
            made_[keyword] = {name: _closed(item) for name, item in value.items()}
        elif keyword in {"items", "additionalProperties"}:
            made_[keyword] = _closed(value)
        else:
            made_[keyword] = value
    if "properties" in schema and not schema.keys() & _OPENING:
        made_["additionalProperties"] = False
    return made_


# -- tools that came, went or were renamed -------------------------------------------------------------------------


def _removed(tool: Tool, added: Sequence[Tool]) -> ToolDiff:
    twin = _twin(tool, added)
    if twin is None:
        change = Change("", "the tool is gone: every call of it now fails", Verdict.STRUCTURAL)
    else:
        told = f"the tool is gone and {twin.name!r} looks like it: calls by the old name fail"
        change = Change("/name", told, Verdict.STRUCTURAL, tool.name, twin.name)
    return ToolDiff(
        tool.name,
        Verdict.STRUCTURAL,
        (change,),
        before=tool_fingerprint(tool),
        renamed_to=twin.name if twin else None,
    )


def _twin(tool: Tool, added: Sequence[Tool]) -> Tool | None:
    """The new tool that an old one seems to have become: the same parameters, or nearly the same description."""
    likely = [other for other in added if _same_contract(tool, other) or _told_alike(tool, other) >= _RETOLD]
    return max(likely, key=lambda other: _told_alike(tool, other) + ratio(tool.name, other.name), default=None)


def _same_contract(tool: Tool, other: Tool) -> bool:
    return bool(tool.parameters.get("properties")) and _shape(tool.parameters) == _shape(other.parameters)


def _told_alike(tool: Tool, other: Tool) -> float:
    return ratio(tool.description, other.description) if tool.description and other.description else 0.0


def _shape(schema: Any) -> Any:
    """A schema without its wording."""
    if isinstance(schema, Mapping):
        kept: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword in MAPS and isinstance(value, Mapping):
                kept[keyword] = {name: _shape(item) for name, item in value.items()}
            elif keyword in LISTS | ONE:
                kept[keyword] = [_shape(item) for item in value] if isinstance(value, list) else _shape(value)
            elif keyword not in ANNOTATIONS:
                kept[keyword] = value
        return kept
    return schema


_STRICTER = (
    ("read_only", False, "no longer read-only", "read-only"),
    ("destructive", True, "now destructive", "no longer destructive"),
    ("idempotent", False, "no longer idempotent", "now idempotent"),
    ("open_world", True, "now reaches the outside world", "no longer reaches the outside world"),
)


def _effects(old: Effects, new: Effects) -> list[Change]:
    """Hints that changed; one that makes a host more careful tightens what may run without asking."""
    changes = []
    for name, strict, tightened, loosened in _STRICTER:
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            stricter = after is strict
            verdict = Verdict.POLICY if stricter else Verdict.COMPATIBLE
            changes.append(
                Change(f"/annotations/{name}", tightened if stricter else loosened, verdict, before, after)
            )
    return changes
