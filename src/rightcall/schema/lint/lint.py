"""All rules over a toolset, and the reasons for which some are silenced.

A rule is silenced for a tool by `"x-rightcall-ignore": {"RC101": "reason"}` in it, or for a whole project by the
table `[lint.ignore]` of `rightcall.toml`, under `RC101` or `tool_name/RC101`. A silence without a reason is a
finding itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rightcall.domain import Tool
from rightcall.schema.compiled import compile_tool
from rightcall.schema.engines import engine_names
from rightcall.schema.lint import alike, contradictions, cost, safety, structure, values, wording
from rightcall.schema.lint.engines import SELF_HOSTED, engine_rules
from rightcall.schema.lint.findings import Evidence, Finding, LintedTool, Rule, Severity, Strength

IGNORE = "x-rightcall-ignore"
_SILENCE = Rule(
    "RC901",
    "silence without a reason",
    Severity.ERROR,
    "In a year nobody knows whether the reason still holds.",
    'Write the reason: {"RC101": "the API is not ours"}.',
    Evidence(Strength.OPINION, "this project's rule for every exception"),
)
_UNKNOWN = Rule(
    "RC902",
    "silence of an unknown rule",
    Severity.WARNING,
    "It silences nothing, and was meant to.",
    "Correct the id; `rightcall lint --rules` lists them.",
    Evidence(Strength.OPINION, "the list of rules"),
)
_UNUSABLE = "RC401"


@dataclass(frozen=True, slots=True)
class Silenced:
    """A finding that was silenced, with the reason."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """What the linter found, worst first within a tool, and what was silenced."""

    findings: tuple[Finding, ...]
    silenced: tuple[Silenced, ...] = ()


def rules(engines: Sequence[str] = ()) -> tuple[Rule, ...]:
    """Every rule, by id; those of engines for the named ones, else for the self-hosted ones."""
    chosen = engine_names() if "all" in engines else tuple(engines) or SELF_HOSTED
    parts: tuple[Iterable[Rule], ...] = (
        structure.RULES,
        values.RULES,
        wording.RULES,
        contradictions.RULES,
        alike.RULES,
        engine_rules(chosen, named=bool(engines)),
        cost.RULES,
        safety.RULES,
        (_SILENCE, _UNKNOWN),
    )
    return tuple(sorted((rule for part in parts for rule in part), key=lambda rule: rule.id))


def lint(tools: Sequence[Tool], *, engines: Sequence[str] = (), ignore: Mapping[str, Any] | None = None) -> Report:
    """What is hostile, contradictory, refused or unsafe in the tools.

    Args:
        tools: all tools that are offered together, because some rules compare them.
        engines: names of `engine_names()`, or `all`; none: the self-hosted ones, at lower severity.
        ignore: reasons by rule id, or by `tool name/rule id`.

    Raises:
        UsageError: there is no such engine.
    """
    chosen = rules(engines)
    linted = [LintedTool(_as_json(tool), index) for index, tool in enumerate(tools)]
    usable = tuple(tool for tool in linted if compile_tool(tool.tool).broken is None)
    found: list[Finding] = []
    for rule in chosen:
        found += rule.findings(tuple(linted) if rule.id == _UNUSABLE else usable)
    silences = [_silences(tool.tool, ignore or {}) for tool in linted]
    known = {rule.id for rule in chosen}
    kept: list[Finding] = []
    silenced: list[Silenced] = []
    for finding in found:
        reason = silences[finding.index].get(finding.rule)
        if isinstance(reason, str) and reason.strip():
            silenced.append(Silenced(finding, reason))
        else:
            kept.append(finding)
    kept += (finding for tool in linted for finding in _silence_findings(tool, known))
    kept += _project_findings(ignore or {}, known)
    kept.sort(key=lambda finding: (finding.index, -finding.severity, finding.rule, finding.pointer))
    return Report(tuple(kept), tuple(silenced))


def _as_json(tool: Tool) -> Tool:
    """The tool itself where its parameters can be looked into, else one that the rule of unusable schemas reports."""
    try:
        LintedTool(tool)
    except (TypeError, ValueError, RecursionError):
        return Tool(tool.name, tool.description, {"type": "parameters that are not JSON"}, tool.effects, tool.extra)
    return tool


def _own_silences(tool: Tool) -> Mapping[str, Any]:
    holders: tuple[Any, ...] = (tool.extra, tool.extra.get(""), tool.parameters)
    found: dict[str, Any] = {}
    for holder in holders:
        table = holder.get(IGNORE) if isinstance(holder, Mapping) else None
        if isinstance(table, Mapping):
            found.update(table)
    return found


def _silences(tool: Tool, project: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: reason for key, reason in project.items() if "/" not in key}
    prefix = f"{tool.name}/"
    found |= {key.removeprefix(prefix): reason for key, reason in project.items() if key.startswith(prefix)}
    return found | dict(_own_silences(tool))


def _silence_findings(tool: LintedTool, known: set[str]) -> Iterator[Finding]:
    for key, reason in _own_silences(tool.tool).items():
        yield from _judged(key, key, reason, known, (tool.tool.name, tool.index, f"/{IGNORE}/{key}"))


def _project_findings(ignore: Mapping[str, Any], known: set[str]) -> Iterator[Finding]:
    for key, reason in ignore.items():
        yield from _judged(key, key.rpartition("/")[2], reason, known, ("rightcall.toml", -1, f"/lint/ignore/{key}"))


def _judged(key: str, rule: str, reason: Any, known: set[str], where: tuple[str, int, str]) -> Iterator[Finding]:
    name, index, pointer = where
    for broken, found in (
        (not isinstance(reason, str) or not reason.strip(), (_SILENCE, f"{key} is silenced and no reason is given")),
        (rule not in known, (_UNKNOWN, f"there is no rule {rule!r}")),
    ):
        if broken:
            own, why = found
            yield Finding(own.id, own.severity, name, index, pointer, why, own.fix, own.evidence)
