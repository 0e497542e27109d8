"""Findings as SARIF 2.1.0 (OASIS), for code scanning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from rightcall.schema.lint.findings import Finding, Rule, Severity
from rightcall.schema.lint.lint import Report

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def to_sarif(report: Report, rules: Sequence[Rule], *, uri: str, text: str, version: str) -> dict[str, Any]:
    """A SARIF log of one run.

    Args:
        report: what was found; silenced findings are kept as suppressed results.
        rules: all rules that ran.
        uri: the linted file, as it is to be shown.
        text: its content, to find the line of a tool's name in.
        version: this program's.
    """
    places = {rule.id: index for index, rule in enumerate(rules)}
    lines = text.splitlines()
    results = [_result(finding, places, uri, lines) for finding in report.findings]
    results += [
        {
            **_result(one.finding, places, uri, lines),
            "suppressions": [{"kind": "inSource", "justification": one.reason}],
        }
        for one in report.silenced
    ]
    driver = {
        "name": "rightcall",
        "version": version,
        "rules": [_rule(rule) for rule in rules],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in re.findall(r"[a-z]+", rule.title.lower())),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"evidence": rule.evidence.strength.value, "evidenceSource": rule.evidence.where},
    }


def _result(finding: Finding, places: dict[str, int], uri: str, lines: Iterable[str]) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "ruleIndex": places[finding.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.tool}: {finding.why}. {finding.fix}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": {"startLine": _line(finding.tool, lines)},
                },
                "logicalLocations": [
                    {
                        "name": finding.tool,
                        "fullyQualifiedName": f"{finding.tool}#{finding.pointer}",
                        "kind": "function",
                    }
                ],
            }
        ],
        "partialFingerprints": {"rightcall/v1": f"{finding.rule}:{finding.tool}:{finding.pointer}"},
        "properties": {
            "pointer": finding.pointer,
            "evidence": finding.evidence.strength.value,
            "evidenceSource": finding.evidence.where,
        },
    }


def _line(name: str, lines: Iterable[str]) -> int:
    """The first line that holds the tool's name in quotes or as a function's; 1 where none does."""
    wanted = (f'"{name}"', f"'{name}'", f"def {name}(", f": {name}")
    return next((number for number, line in enumerate(lines, start=1) if any(w in line for w in wanted)), 1)
