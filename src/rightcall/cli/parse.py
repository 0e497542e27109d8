"""`rightcall parse`: read replies without a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from rightcall.domain import ModelReply, Reading, Tool
from rightcall.errors import UsageError
from rightcall.evaluation.corpus import case_outcome
from rightcall.openai_chat import message_from_json, reply_from_json, tools_from_json
from rightcall.record import note_to_json, problem_to_json
from rightcall.text_files import read_text
from rightcall.turn import read_reply

MAX_FILE = 100 * 1024 * 1024

EPILOG = """Examples:

rightcall parse --tools tools.json < reply.txt

rightcall parse --cases cases.jsonl > outcomes.jsonl

tools.json is a list as OpenAI's API takes it, or what an MCP server lists:
[{"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}}]"""


def parse(
    reply: Annotated[
        Path | None,
        typer.Argument(
            help="The reply: raw text, an assistant message or a chat completion. Default: standard input."
        ),
    ] = None,
    *,
    tools: Annotated[
        Path | None, typer.Option(help="The tools that were offered (JSON).", show_default=False)
    ] = None,
    cases: Annotated[
        Path | None, typer.Option(help="Read a corpus (JSONL) instead; one outcome a line.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Read what a model wrote: the calls in it, what is wrong, what was repaired.

    Ends with 0 where everything meant as a call is right, and with 1 where a problem is left.
    """
    if cases is not None:
        for outcome in _outcomes(cases):
            typer.echo(json.dumps(outcome, ensure_ascii=False))
        return
    if tools is None:
        raise UsageError(
            "give the tools that the model was offered: --tools tools.json (or --cases FILE for a corpus)"
        )
    offered = _tools(tools)
    reading = read_reply(_reply(_text(reply)), offered)
    if as_json:
        typer.echo(json.dumps(_data(reading), ensure_ascii=False, indent=2))
    else:
        _show(reading)
    if reading.problems:
        raise typer.Exit(1)


def _outcomes(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(read_text(path, most=MAX_FILE).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
            if not isinstance(case, dict):
                raise UsageError("a case is a JSON object")  # noqa: TRY301 - one place names the line
            yield case_outcome(case)
        except (ValueError, RecursionError, UsageError) as error:
            raise UsageError(f"{path}, line {number}: {error}") from error


def _tools(path: Path) -> tuple[Tool, ...]:
    try:
        return tools_from_json(json.loads(read_text(path, most=MAX_FILE)))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _reply(text: str) -> ModelReply:
    """A chat completion, an assistant message, or, as models write anything, just text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and "choices" in value:
        return reply_from_json(value)
    if isinstance(value, dict) and value.get("role") == "assistant":
        return message_from_json(value)
    return ModelReply(text=text)


def _text(path: Path | None) -> str:
    if path is not None:
        return read_text(path, most=MAX_FILE)
    if sys.stdin.isatty():
        typer.echo("Reading the reply from the terminal; end it with Ctrl-D.", err=True)
    data = sys.stdin.buffer.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise UsageError(f"the reply is larger than {MAX_FILE} bytes")
    return data.decode("utf-8", "replace")


def _data(reading: Reading) -> dict[str, Any]:
    return {
        "calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reading.calls],
        "problems": [problem_to_json(problem) for problem in reading.problems],
        "notes": [note_to_json(note) for note in reading.notes],
        "text": reading.text,
        "reasoning": reading.reasoning,
    }


def _show(reading: Reading) -> None:
    console = Console(soft_wrap=True)
    for call in reading.calls:
        console.print(
            Text.assemble(
                ("call     ", "bold green"), f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}"
            )
        )
    for problem in reading.problems:
        console.print(Text.assemble(("problem  ", "bold red"), f"{problem.kind.value}: {problem.message}"))
    for note in reading.notes:
        change = (
            ""
            if note.before is None and note.after is None
            else f"  {json.dumps(note.before, default=str)} -> {json.dumps(note.after, default=str)}"
        )
        console.print(
            Text.assemble(("repair   ", "bold yellow"), f"{note.kind} ({note.grade.value}) {note.path}{change}")
        )
    if reading.text.strip():
        console.print(Text.assemble(("text     ", "bold"), reading.text.strip()))
    if not (reading.calls or reading.problems or reading.text.strip()):
        console.print("nothing")
