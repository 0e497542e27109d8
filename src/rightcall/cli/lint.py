"""`rightcall lint`: what in tools is hostile to small models, refused or dropped by servers, or unsafe."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

from rightcall.cli.tool_files import loaded, plain
from rightcall.errors import UsageError

if TYPE_CHECKING:
    from rightcall.schema.lint.findings import Finding, Rule
    from rightcall.schema.lint.fixes import Fix
    from rightcall.schema.lint.lint import Report
    from rightcall.tool_sources.reading import ToolSource

EPILOG = """Examples:

rightcall lint tools.json

rightcall lint openapi.yaml --engine llama_cpp --engine ollama

rightcall lint tools.json --format sarif > lint.sarif

rightcall lint tools.json --fix

Silence a rule with its reason, in the tool ("x-rightcall-ignore": {"RC101": "the API is not ours"}) or in
rightcall.toml ([lint.ignore], RC101 = "..." or "tool_name/RC101" = "...")."""

_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
FailOn = Literal["info", "warning", "error", "never"]


def lint(
    tools: Annotated[
        Path | None, typer.Argument(help="The tools: JSON, OpenAPI 3 or a .py module.", show_default=False)
    ] = None,
    *,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            help="Look at this server only: llama_cpp, ollama, vllm, openai_strict, anthropic, gemini, all."
        ),
    ] = None,
    form: Annotated[Literal["text", "json", "sarif"], typer.Option("--format", help="How to print.")] = "text",
    fail_on: Annotated[FailOn, typer.Option(help="The mildest finding that ends with 1.")] = "error",
    fix: Annotated[
        bool, typer.Option("--fix", help="Write the safe rewrites into the file: same values, or words only.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option(help="A settings file with a table [lint.ignore].", show_default=False)
    ] = None,
    show_rules: Annotated[bool, typer.Option("--rules", help="List the rules and leave.")] = False,
) -> None:
    """Find what makes tools hard to call right, with the fix and how strong the evidence is.

    Ends with 1 where a finding is at or above --fail-on.
    """
    from rightcall.schema.lint.findings import Severity
    from rightcall.schema.lint.lint import lint as run
    from rightcall.schema.lint.lint import rules
    from rightcall.schema.lint.sarif import to_sarif
    from rightcall.settings import lint_table

    chosen = rules(engine or ())
    if show_rules:
        _show_rules(chosen)
        return
    if tools is None:
        raise UsageError("name the file of tools: rightcall lint tools.json (--rules lists the rules)")
    source = loaded(tools)
    if fix:
        source = _fix(source)
    report = run(source.tools, engines=engine or (), ignore=_ignored(lint_table(config)))
    match form:
        case "json":
            typer.echo(json.dumps(_data(report), ensure_ascii=False, indent=2))
        case "sarif":
            log = to_sarif(report, chosen, uri=tools.as_posix(), text=source.text, version=version("rightcall"))
            typer.echo(json.dumps(log, ensure_ascii=False, indent=2))
        case "text":
            _show(report, len(source.tools))
    worst = max((finding.severity for finding in report.findings), default=None)
    if fail_on != "never" and worst is not None and worst >= Severity[fail_on.upper()]:
        raise typer.Exit(1)


def _ignored(table: Mapping[str, Any]) -> Mapping[str, Any]:
    ignored = table.get("ignore", {})
    if not isinstance(ignored, Mapping):
        raise UsageError('[lint.ignore] is a table of rule ids and reasons: RC101 = "the API is not ours"')
    return ignored


def _fix(source: ToolSource) -> ToolSource:
    """Writes the safe rewrites into the file, in place, and reads it again."""
    from rightcall.schema.lint.fixes import fixed
    from rightcall.tool_sources.reading import entries

    if source.kind != "json":
        raise UsageError(f"--fix writes tools JSON only; {source.path} is read as {source.kind}, mend it by hand")
    done: list[tuple[str, Fix]] = []
    for entry, tool in zip(entries(source.document), source.tools, strict=True):
        place = entry.get("function", entry)
        text, parameters, fixes = fixed(tool.description, tool.parameters)
        if text != tool.description:
            place["description"] = text
        key = next((key for key in ("parameters", "input_schema", "inputSchema") if key in place), None)
        if key is not None:
            place[key] = parameters
        done += [(tool.name, one) for one in fixes]
    for name, one in done:
        typer.echo(f"fixed {one.rule} {plain(name)} {plain(one.pointer)}: {plain(one.what)}", err=True)
    if done:
        indent = 2 if "\n" in source.text.strip() else None
        written = json.dumps(source.document, ensure_ascii=False, indent=indent) + "\n"
        try:
            source.path.write_text(written, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{source.path} cannot be written: {error.strerror}") from error
    else:
        typer.echo("nothing that is safe to rewrite", err=True)
    return loaded(source.path)


def _data(report: Report) -> dict[str, Any]:
    return {
        "findings": [_finding_data(finding) for finding in report.findings],
        "silenced": [{**_finding_data(one.finding), "reason": one.reason} for one in report.silenced],
    }


def _finding_data(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.word,
        "tool": finding.tool,
        "index": finding.index,
        "pointer": finding.pointer,
        "why": finding.why,
        "fix": finding.fix,
        "evidence": {"strength": finding.evidence.strength.value, "where": finding.evidence.where},
    }


def _show(report: Report, count: int) -> None:
    console = Console(soft_wrap=True, highlight=False)
    shown: int | None = None
    for finding in report.findings:
        if finding.index != shown:
            shown = finding.index
            console.print(Text(plain(finding.tool), "bold"))
        word = finding.severity.word
        console.print(
            Text.assemble("  ", (f"{word:<8}", _STYLES[word]), f"{finding.rule}  ", (plain(finding.pointer), "dim"))
        )
        console.print(Text(f"          {plain(finding.why)}"))
        evidence = f"({finding.evidence.strength.value}: {finding.evidence.where})"
        console.print(Text.assemble("          ", plain(finding.fix), " ", (plain(evidence), "dim")))
    words = [finding.severity.word for finding in report.findings]
    told = ", ".join(f"{words.count(word)} {word}" for word in ("error", "warning", "info") if word in words)
    silenced = f"; {len(report.silenced)} silenced" if report.silenced else ""
    console.print(Text(f"{count} tools: {told or 'nothing found'}{silenced}", "bold"))


def _show_rules(rules: Sequence[Rule]) -> None:
    for rule in rules:
        typer.echo(f"{rule.id}  {rule.severity.word:<8} {rule.title}  ({rule.evidence.strength.value})")
