"""`rightcall log`: look at what happened.

What models and clients said is shown as text and never obeyed: no markup, no terminal control, no reordering.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rightcall.store.reading import lost_events, turn_events, turns
from rightcall.store.sqlite import default_log_path
from rightcall.visible import one_line, visible

app = typer.Typer(help="Look at what happened, turn by turn.", no_args_is_help=True)

LogFile = Annotated[
    Path | None,
    typer.Option("--log", metavar="FILE", help="The event log. Default: $RIGHTCALL_LOG, or this system's own place."),
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs, one object on a line.")]

_STATUS_STYLES = {"calls": "green", "text": "green", "unresolved": "yellow", "failed": "red"}
_SHORT_TEXT = 200  # characters of the last message sent


@app.command("list")
def list_turns(
    log: LogFile = None,
    limit: Annotated[int, typer.Option(min=1, help="How many turns, the newest first.")] = 20,
    status: Annotated[
        str | None, typer.Option(help="Only turns that ended so: calls, text, unresolved, failed, cancelled, open.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """The newest turns, one on a line."""
    path = log or default_log_path()
    rows = turns(path, limit=limit, status=status)
    if as_json:
        _print_json(asdict(row) for row in rows)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("turn", "time", "model", "status", "attempts", "tools called", "problems", "notes", "seconds"):
        justify: Literal["left", "right"] = "right" if name in {"attempts", "notes", "seconds"} else "left"
        foldable = name in {"model", "tools called", "problems"}
        table.add_column(name, justify=justify, overflow="fold", no_wrap=not foldable)
    for row in rows:
        table.add_row(
            Text(one_line(row.short)),
            _moment(row.time),
            Text(one_line(row.model)),
            Text(one_line(row.status), _STATUS_STYLES.get(row.status, "")),
            str(row.attempts),
            Text(one_line(", ".join(row.tools))),
            Text(one_line(", ".join(row.problems))),
            str(row.notes),
            "" if row.seconds is None else f"{row.seconds:.2f}",
        )
    console = _console()
    console.print(table if rows else Text("No such turns."))
    if lost := lost_events(path):
        console.print(Text(f"{lost} events were lost: more came than the disk could take.", "yellow"))


@app.command("show")
def show_turn(
    turn: Annotated[str, typer.Argument(help="The turn's id, or enough of its beginning.")],
    log: LogFile = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Everything of one turn: what was asked, every attempt, what was repaired and refused, how it ended."""
    events = turn_events(log or default_log_path(), turn)
    if as_json:
        _print_json({"turn": e.turn, "kind": e.kind, "time": e.time, "data": e.data} for e in events)
        return
    console = _console()
    console.print(Text.assemble(("turn ", "bold"), one_line(events[0].turn)))
    for event in events:
        title, lines = _SECTIONS.get(event.kind, _anything)(event.data)
        console.print(Text.assemble(_moment(event.time), "  ", (one_line(event.kind), "bold"), "  ", one_line(title)))
        for name, value in lines:
            text = Text.assemble((f"{one_line(name)}  ", "dim"), _shown(value))
            console.print(Padding(text, (0, 0, 0, 4), expand=False))


# One function for a kind of event: its title, and the named values to show below it.
_Lines = list[tuple[str, Any]]
_Section = tuple[str, _Lines]


def _turn_started(data: Mapping[str, Any]) -> _Section:
    title = f"{data.get('model') or ''}{', streamed' if data.get('stream') else ''}"
    quarantined = _each("quarantined", data.get("quarantined"), _problem)
    return title, _rest(_in_short(data), "model", "stream", "quarantined") + quarantined


def _attempt_started(data: Mapping[str, Any]) -> _Section:
    request = data.get("request")
    request = request if isinstance(request, Mapping) else {"request": request}
    sent = _rest(_in_short(request), "messages_added") + _each("added", request.get("messages_added"), _message)
    title = f"{data.get('number', '')}: {_shown(data.get('rung', ''))}"
    return title, _rest(data, "number", "rung", "request") + [(f"sent {name}", value) for name, value in sent]


def _attempt_replied(data: Mapping[str, Any]) -> _Section:
    lines = _rest(data, "number", "seconds", "tool_calls") + _each("native call", data.get("tool_calls"), _call)
    return f"{data.get('number', '')}: {_seconds(data)}", lines


def _attempt_read(data: Mapping[str, Any]) -> _Section:
    notes = _each("note", data.get("notes"), _note)
    return str(data.get("number", "")), _outcome(data) + notes + _rest(data, "number", "calls", "problems", "notes")


def _turn_ended(data: Mapping[str, Any]) -> _Section:
    title = f"{data.get('status', '')}, {_seconds(data)}"
    return title, _outcome(data) + _rest(data, "status", "seconds", "calls", "problems")


def _anything(data: Mapping[str, Any]) -> _Section:
    return "", _rest(data)


_SECTIONS = {
    "turn.started": _turn_started,
    "attempt.started": _attempt_started,
    "attempt.replied": _attempt_replied,
    "attempt.read": _attempt_read,
    "turn.ended": _turn_ended,
}


def _rest(data: Mapping[str, Any], *shown: str) -> _Lines:
    """What there is in `data` beside what is shown already."""
    return [(key, value) for key, value in data.items() if key not in shown and value not in (None, "", [], {})]


def _each(name: str, items: Any, text: Callable[[Mapping[str, Any]], str]) -> _Lines:
    """One line for each of `items`, as `text` puts it; what has another form, or was not kept, as it is."""
    listed = items if isinstance(items, list) else [] if items is None else [items]
    return [(name, text(item) if isinstance(item, Mapping) and "omitted" not in item else item) for item in listed]


def _outcome(data: Mapping[str, Any]) -> _Lines:
    return _each("call", data.get("calls"), _call) + _each("problem", data.get("problems"), _problem)


def _in_short(request: Mapping[str, Any]) -> dict[str, Any]:
    """Tools by their names, and of the messages the last one: the rest is the client's, and in `--json`."""
    tools, messages = request.get("tools"), request.get("messages")
    short = dict(request)
    if isinstance(tools, list):
        short["tools"] = ", ".join(str(_tool_name(tool)) for tool in tools)
    if isinstance(messages, list) and messages and isinstance(messages[-1], Mapping):
        said = _shown(messages[-1].get("content"))
        said = said if len(said) <= _SHORT_TEXT else f"{said[:_SHORT_TEXT]}…"
        short["messages"] = f"{len(messages)}, the last from {messages[-1].get('role')}: {said}"
    return short


def _tool_name(tool: Any) -> Any:
    if not isinstance(tool, Mapping):
        return tool
    wire = tool.get("function")
    return wire.get("name") if isinstance(wire, Mapping) else tool.get("name")


def _message(message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls")
    return f"{message.get('role')}: {_shown(message.get('content') or '')} {_shown(calls) if calls else ''}".rstrip()


def _call(call: Mapping[str, Any]) -> str:
    return f"{call.get('name')} {_shown(call.get('arguments'))}"


def _problem(problem: Mapping[str, Any]) -> str:
    parts = [problem.get(key) for key in ("family", "kind", "tool", "path", "message")]
    return " ".join(_shown(part) for part in parts if part)


def _note(note: Mapping[str, Any]) -> str:
    parts = [note.get(key) for key in ("grade", "kind", "tool", "path")]
    before, after = (_shown(note.get(key), quoted=True) for key in ("before", "after"))
    return " ".join([*(_shown(part) for part in parts if part), f"{before} → {after}"])


def _seconds(data: Mapping[str, Any]) -> str:
    seconds = data.get("seconds")
    return f"{seconds:.2f} s" if isinstance(seconds, int | float) else ""


def _shown(value: Any, *, quoted: bool = False) -> str:
    """A value from the log as one safe text."""
    if isinstance(value, Mapping) and value.get("omitted") is True:
        return f"({value.get('chars')} characters, not kept)"
    if isinstance(value, str) and not quoted:
        return visible(value)
    return visible(json.dumps(value, ensure_ascii=False))


def _console() -> Console:
    """As wide as the terminal; in a pipe wide enough for a turn to stay on its line."""
    return Console(width=None if sys.stdout.isatty() else 160)


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _print_json(objects: Iterable[Mapping[str, Any]]) -> None:
    for each in objects:
        typer.echo(json.dumps(each))  # ASCII only, so nothing in it can steer a terminal
