"""Findings from the table of engines: one for each keyword and effect in a tool, with every engine that has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rightcall.schema.engines import EngineIssue, engine_issues, engine_title
from rightcall.schema.lint.findings import CheckTool, Evidence, Hit, LintedTool, Rule, Severity, Strength

SELF_HOSTED = ("llama_cpp", "ollama", "vllm")
"""Looked at where no engine is named."""
_TITLES = {
    "RC601": ("refused by a server", "rejects"),
    "RC602": ("dropped by a server", "drops"),
    "RC603": ("not enforced by a server", "ignores"),
}
_WHY = {
    "RC601": "One such tool can fail the whole request, with all its other tools.",
    "RC602": "The model, or the grammar, never learns of it.",
    "RC603": "The model may see it; nothing holds it to it.",
}
_FIX = {
    "RC601": "`rightcall serve --rewrite downlevel=ENGINE` says it in words and checks it afterwards.",
    "RC602": "Say it in the description too; rightcall validates the call in any case.",
    "RC603": "Nothing to change: rightcall validates the call.",
}


def engine_rules(engines: tuple[str, ...], *, named: bool) -> Iterable[Rule]:
    """The rules for some engines; `named` where the user asked for them, which makes every finding count more."""
    for identifier, (title, effect) in _TITLES.items():
        usual = Severity.WARNING if effect == "rejects" else Severity.INFO
        yield Rule(
            identifier,
            title,
            Severity(min(usual + named, Severity.ERROR)) if effect != "ignores" else Severity.INFO,
            _WHY[identifier],
            _FIX[identifier],
            Evidence(Strength.REPORTED, "schema/engines.toml, with the source of every entry"),
            check=_checker(engines, effect, named=named),
        )


def _checker(engines: tuple[str, ...], effect: str, *, named: bool) -> CheckTool:
    def check(tool: LintedTool) -> Iterator[Hit]:
        if effect == "ignores" and not named:
            return
        found: dict[str, list[EngineIssue]] = {}
        for engine in engines:
            for issue in engine_issues(engine, tool.tool.name, tool.schema):
                if issue.effect == effect:
                    found.setdefault(issue.keyword, []).append(issue)
        for keyword, issues in found.items():
            yield _hit(keyword, issues, effect)

    return check


def _hit(keyword: str, issues: list[EngineIssue], effect: str) -> Hit:
    first = issues[0]
    titles = ", ".join(dict.fromkeys(engine_title(issue.engine) for issue in issues))
    places = len({issue.pointer for issue in issues})
    counted = f" ({places} places)" if places > 1 else ""
    pointer = "/name" if keyword == "name" else f"/parameters{first.pointer}"
    verb = {"rejects": "refused by", "drops": "dropped by", "ignores": "not enforced by"}[effect]
    sources = "; ".join(dict.fromkeys(issue.source for issue in issues))
    return Hit(
        pointer,
        f"{keyword} is {verb} {titles}{counted}: {first.why}",
        evidence=Evidence(Strength.REPORTED, sources),
    )
