"""`rightcall diff`: what a change of tools does to calls that were valid before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

from rightcall.cli.tool_files import loaded, plain
from rightcall.errors import UsageError

if TYPE_CHECKING:
    from rightcall.schema.compat.recorded import RecordedCall, Replayed
    from rightcall.schema.compat.verdicts import Change, ToolsetDiff

EPILOG = """Examples:

rightcall diff tools.v1.json tools.v2.json

rightcall diff main.yaml branch.yaml --fail-on structural --json

rightcall diff tools.v1.json tools.v2.json --calls ~/.local/state/rightcall/log.sqlite

Verdicts, worst first: structural (an old valid call now fails for its form), policy (a range or a permission was
tightened), undecided (neither a proof nor an example), semantic (the same contract in other words), compatible
(proven: every old valid call is still valid)."""

Level = Literal["semantic", "undecided", "policy", "structural", "never"]
_STYLES = {"structural": "red", "policy": "red", "undecided": "yellow", "semantic": "cyan", "compatible": "green"}
_SHORT = 160
_MAX_LINE = 10_000_000


def diff(
    old: Annotated[Path, typer.Argument(help="The tools that calls were made with.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="The tools that they would meet now.", show_default=False)],
    *,
    calls: Annotated[
        Path | None,
        typer.Option(help="Check recorded calls too: an event log, or JSONL of calls.", show_default=False),
    ] = None,
    fail_on: Annotated[Level, typer.Option(help="The mildest verdict that ends with 1.")] = "undecided",
    declared_only: Annotated[
        bool,
        typer.Option(
            "--declared-only", help="Take it that old calls held no arguments that their schema did not name."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Compare two versions of tools, keyword by keyword, by what the change does to old calls.

    Ends with 1 where a verdict, or with --calls a recorded call that now fails, says so.
    """
    from rightcall.schema.compat.compare import compare_toolsets
    from rightcall.schema.compat.recorded import replay_calls

    before, after = loaded(old).tools, loaded(new).tools
    compared = compare_toolsets(before, after, declared_only=declared_only)
    replayed = replay_calls(_recorded(calls), before, after) if calls is not None else []
    if as_json:
        typer.echo(json.dumps(_data(compared, replayed), ensure_ascii=False, indent=2))
    else:
        _show(compared, replayed, declared_only=declared_only)
    if _fails(compared, replayed, fail_on):
        raise typer.Exit(1)


def _fails(compared: ToolsetDiff, replayed: Sequence[Replayed], fail_on: Level) -> bool:
    from rightcall.schema.compat.verdicts import Verdict

    if fail_on == "never":
        return False
    return compared.verdict >= Verdict[fail_on.upper()] or any(tool.failing for tool in replayed)


def _recorded(path: Path) -> Iterator[RecordedCall]:
    from rightcall.schema.compat.recorded import RecordedCall
    from rightcall.store.reading import calls_made

    try:
        with path.open("rb") as file:
            is_log = file.read(16) == b"SQLite format 3\x00"
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if is_log:
        for name, arguments in calls_made(path):
            yield RecordedCall(name, arguments)
        return
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _call(line, f"{path}, line {number}")


def _call(line: str, where: str) -> RecordedCall:
    from rightcall.schema.compat.recorded import RecordedCall

    try:
        row = json.loads(line) if len(line) <= _MAX_LINE else None
        call = row.get("function", row) if isinstance(row, dict) else None
        name = call.get("name", call.get("tool")) if isinstance(call, dict) else None
        if not isinstance(call, dict) or not isinstance(name, str):
            raise UsageError(f'{where} is no call; a call is {{"name": ..., "arguments": {{...}}}}')
        arguments = call.get("arguments")
        return RecordedCall(name, json.loads(arguments) if isinstance(arguments, str) else arguments)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}") from error


def _data(compared: ToolsetDiff, replayed: Sequence[Replayed]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "verdict": compared.verdict.word,
        "before": compared.before,
        "after": compared.after,
        "notes": list(compared.notes),
        "tools": [
            {
                "name": tool.name,
                "verdict": tool.verdict.word,
                "before": tool.before,
                "after": tool.after,
                **({"renamed_to": tool.renamed_to} if tool.renamed_to else {}),
                **({"example": tool.example[0]} if tool.example else {}),
                "changes": [_change_data(change) for change in tool.changes],
            }
            for tool in compared.tools
        ],
    }
    if replayed:
        data["calls"] = [
            {
                "tool": tool.tool,
                "valid": tool.valid,
                "failing": tool.failing,
                "invalid_before": tool.invalid,
                "unknown_before": tool.unknown,
                **({"example": tool.example, "reason": tool.reason} if tool.failing else {}),
            }
            for tool in replayed
        ]
    return data


def _change_data(change: Change) -> dict[str, Any]:
    return {
        "pointer": change.pointer,
        "what": change.what,
        "verdict": change.verdict.word,
        "before": change.before,
        "after": change.after,
        **({"example": change.example[0]} if change.example else {}),
    }


def _show(compared: ToolsetDiff, replayed: Sequence[Replayed], *, declared_only: bool) -> None:
    console = Console(soft_wrap=True, highlight=False)
    for note in compared.notes:
        console.print(Text(plain(note), "yellow"))
    for tool in compared.tools:
        if tool.before == tool.after and not tool.changes:
            continue
        word = tool.verdict.word
        console.print(Text.assemble((f"{word:<11}", f"bold {_STYLES[word]}"), (plain(tool.name), "bold")))
        for change in tool.changes:
            word = change.verdict.word
            place = f"{change.pointer}  " if change.pointer else ""
            console.print(
                Text.assemble(
                    "  ", (f"{word:<11}", _STYLES[word]), (plain(place), "dim"), plain(change.what), _values(change)
                )
            )
            if change.example:
                console.print(Text(f"{'':<13}fails now: {_short(change.example[0])}", "dim"))
    if not declared_only and _is_opened(compared):
        console.print(
            Text(
                "A new property breaks only calls that already held an argument of its name, which OLD allowed."
                ' --declared-only leaves those out; "additionalProperties": false rules them out.',
                "dim",
            )
        )
    for row in replayed:
        _show_replayed(console, row)
    word = compared.verdict.word
    same = sum(tool.before == tool.after for tool in compared.tools)
    console.print(Text.assemble((word, f"bold {_STYLES[word]}"), f": {len(compared.tools)} tools, {same} unchanged"))


def _show_replayed(console: Console, row: Replayed) -> None:
    counted = f"{row.failing} of {row.valid} calls that were valid now fail"
    beside = [f"{row.invalid} were not valid before"] if row.invalid else []
    beside += [f"{row.unknown} are of no tool of OLD"] if row.unknown else []
    style = "red" if row.failing else "green"
    console.print(
        Text.assemble(("calls      ", style), (plain(row.tool), "bold"), "  ", "; ".join([counted, *beside]))
    )
    if row.failing:
        console.print(Text(f"{'':<13}{_short(row.example)}: {plain(row.reason)}", "dim"))


def _is_opened(compared: ToolsetDiff) -> bool:
    return any(
        change.what.startswith("the property") and change.what.endswith("is new") and change.example
        for tool in compared.tools
        for change in tool.changes
    )


def _values(change: Change) -> str:
    if (
        change.before is None
        or change.after is None
        or isinstance(change.before, str) != isinstance(change.after, str)
    ):
        return ""
    return f": {_short(change.before)} -> {_short(change.after)}"


def _short(value: Any) -> str:
    text = plain(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
