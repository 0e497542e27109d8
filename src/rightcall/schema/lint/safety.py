"""What is unsafe: rules that only prose states, hints that contradict names, tools that take anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rightcall.schema.lint.findings import (
    ESSAY,
    Evidence,
    Hit,
    LintedTool,
    Rule,
    Severity,
    Strength,
    description_of,
    is_free_text,
)
from rightcall.schema.lint.words import name_words

_CONFIRMED = re.compile(
    r"\b(?:user|explicit|customer|human|owner|manager)(?:'s)? (?:explicit )?(?:confirmation|approval|consent)"
    r"|\b(?:requires?|needs?|must have|after|with(?:out)?) (?:\w+ ){0,2}"
    r"(?:confirmation|approval|authori[sz]ation|consent)"
    r"|\bconfirm(?:ed)? (?:with|by) the (?:user|customer)\b",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(
    r"\b(?:must not|must never|may not|do not|don't|never|not allowed to|(?:is|are) (?:forbidden|prohibited)"
    r"|only (?:admins?|administrators|managers|owners|authori[sz]ed)|only allowed|can only be (?:done|used|called)"
    r"|cannot be (?:cancell?ed|changed|exchanged|modified|refunded|returned|undone))\b[^.]{0,120}",
    re.IGNORECASE,
)
_ABOUT_WRITING = re.compile(
    r"\b(?:(?:not|n't|never) (?:use|overwrite)|pass"
    r"|provide|include|specify|omit|leave|fill|guess|make up|invent|null|empty|format"
    r"|use this (?:tool|function)|confus|need to|have to|worry|exist|found|blank|set (?:both|if|when))\b",
    re.IGNORECASE,
)
_WRITING = frozenset(
    ("add", "book", "cancel", "charge", "create", "delete", "drop", "execute", "modify", "order", "pay", "post",
     "purchase", "refund", "remove", "reset", "send", "set", "transfer", "update", "write")
)  # fmt: skip
_DESTROYING = frozenset(("delete", "destroy", "drop", "erase", "purge", "remove", "wipe"))
_ANYTHING = frozenset(("cmd", "command", "code", "script", "shell", "sql"))
_RUN = re.compile(r"\b(?:execut\w*|run|runs|running|eval\w*)\b", re.IGNORECASE)


def _confirmation_in_prose(tool: LintedTool) -> Iterator[Hit]:
    found = _CONFIRMED.search(tool.tool.description)
    if found:
        yield Hit("/description", f"the rule {found[0].strip()!r} stands in prose only: a call without it is valid")


def _prohibition_in_prose(tool: LintedTool) -> Iterator[Hit]:
    for found in _FORBIDDEN.finditer(tool.tool.description):
        if not _ABOUT_WRITING.search(found[0]):
            yield Hit("/description", f"the rule {found[0].strip()[:80]!r} stands in prose only: nothing refuses it")
            return


def _contrary_hints(tool: LintedTool) -> Iterator[Hit]:
    first = next(iter(name_words(tool.tool.name)), "")
    effects = tool.tool.effects
    hints = tool.tool.extra.get("annotations")
    said = hints if isinstance(hints, dict) else {}
    if said.get("readOnlyHint") is True and first in _WRITING:
        yield Hit("/annotations/readOnlyHint", f"it says read-only and is called {tool.tool.name!r}")
    if said.get("destructiveHint") is False and first in _DESTROYING:
        yield Hit("/annotations/destructiveHint", f"it says not destructive and is called {tool.tool.name!r}")
    if effects.read_only and said.get("destructiveHint") is True:
        yield Hit("/annotations", "it says both read-only and destructive")


def _takes_anything(tool: LintedTool) -> Iterator[Hit]:
    for node in tool.parameters:
        told = f"{tool.tool.name.replace('_', ' ')} {tool.tool.description} {description_of(node)}"
        named = node.name.casefold() in _ANYTHING and node.parent is tool.nodes[0]
        if named and is_free_text(node) and _RUN.search(told):
            yield Hit(node.pointer, f"{node.name!r} takes any program: there is nothing to check before it runs")


_ESSAY = Evidence(Strength.OPINION, ESSAY)

RULES: Iterable[Rule] = (
    Rule("RC801", "confirmation asked for in prose only", Severity.WARNING,
         "A valid call is not an authorised one; a model that forgets to ask is not stopped.",
         "Let the host enforce it: a policy or a verifier, and effects hints that make it ask.",
         _ESSAY, _confirmation_in_prose),
    Rule("RC802", "prohibition in prose only", Severity.WARNING,
         "What may not be done must be refused where it is done; a description cannot refuse.",
         "Enforce it in the executor or by policy; the description may still say it.",
         _ESSAY, _prohibition_in_prose),
    Rule("RC803", "hints that contradict the name or each other", Severity.WARNING,
         "Hosts decide by these hints what runs without asking.",
         "Correct the hint, or the name.",
         Evidence(Strength.OPINION, "MCP: readOnlyHint, destructiveHint"), _contrary_hints),
    Rule("RC804", "takes any program", Severity.INFO,
         "One free text for everything leaves no structure to check, and the model quotes and escapes by itself.",
         "Offer separate tools that show intent in their arguments.",
         _ESSAY, _takes_anything),
)  # fmt: skip
