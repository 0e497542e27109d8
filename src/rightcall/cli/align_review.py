"""`rightcall align review`: a person goes through a name map in the terminal. Every answer is saved at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from rightcall.cli.tool_files import plain

if TYPE_CHECKING:
    from rightcall.naming.name_map import NameMap, Naming

EPILOG = """Examples:

rightcall align review names.toml

rightcall align review names.toml --all

Answers: Enter accepts the proposal, a number takes an alternative, o keeps the original name, s skips, q quits; any
longer word is taken as a name of your own (a one-letter name with = before it)."""

_KEYS = "Enter accept, number alternative, o original, s skip, q quit, or a name"


def review(
    file: Annotated[Path, typer.Argument(help="A name map of `rightcall align`.", show_default=False)],
    *,
    everything: Annotated[bool, typer.Option("--all", help="Go through what is decided too.")] = False,
) -> None:
    """Go through the names that wait for a person."""
    from rightcall.alignment.files import read_name_map, write_name_map

    names = read_name_map(file)
    console = Console(soft_wrap=True, highlight=False)
    waiting = [(tool, naming.place) for tool, naming in names.namings() if everything or not naming.accepted]
    decided = 0
    for number, (tool, place) in enumerate(waiting, start=1):
        naming = _at(names, tool, place)
        _show(console, tool, naming, f"{number}/{len(waiting)}")
        accepted = _answer(console, names, tool, naming)
        if accepted is None:
            break
        if accepted:
            names = _with(names, tool, replace(naming, accepted=accepted))
            write_name_map(file, names)
            decided += 1
    left = sum(not naming.accepted for _, naming in names.namings())
    console.print(f"{decided} decided, {left} left")


def _answer(console: Console, names: NameMap, tool: str, naming: Naming) -> str | None:
    """The name that a person wants; empty to skip, None to quit."""
    from rightcall.naming.name_map import Taken

    taken = Taken(names.beside(tool, naming))
    while True:
        try:
            said = str(typer.prompt(_KEYS, default="", show_default=False)).strip()
        except typer.Abort:  # Ctrl-C, or the input has ended
            console.print()
            return None
        if said == "q":
            return None
        if said == "s":
            return ""
        name = _name(said, naming)
        objection = _unknown(said, naming) if name is None else taken.objection_to(name, naming)
        if name is not None and objection is None:
            return name
        console.print(Text(f"  not {plain(name or said)}: {plain(objection or '')}", "red"))


def _name(said: str, naming: Naming) -> str | None:
    """The name that an answer means; None where it means none."""
    if not said:
        return naming.proposed
    if said == "o":
        return naming.original
    if said.isdecimal():
        at = int(said) - 1
        return naming.alternatives[at].name if 0 <= at < len(naming.alternatives) else None
    if said.startswith("="):
        return said[1:].strip()
    return said if len(said) > 1 else None


def _unknown(said: str, naming: Naming) -> str:
    if said.isdecimal():
        return f"there are {len(naming.alternatives)} alternatives"
    return f"no such answer; {_KEYS}"


def _show(console: Console, tool: str, naming: Naming, progress: str) -> None:
    what = f"parameter {naming.place} of {tool}" if naming.place else f"tool {tool}"
    console.print(Text.assemble((f"\n{progress}  ", "dim"), (plain(what), "bold")))
    if naming.about:
        console.print(Text(f"  {plain(naming.about)}", "dim"))
    console.print(
        Text.assemble(
            "  proposed  ",
            (plain(naming.proposed), "green"),
            f"  peakedness {naming.peakedness}, drawn {naming.count}, margin {naming.margin}",
            (f"  {plain('; '.join(naming.flags))}" if naming.flags else "", "yellow"),
        )
    )
    if naming.accepted:
        console.print(Text(f"  accepted  {plain(naming.accepted)}"))
    for number, each in enumerate(naming.alternatives, start=1):
        console.print(Text(f"  {number:>8}  {plain(each.name)}  peakedness {each.peakedness}, drawn {each.count}"))


def _at(names: NameMap, tool: str, place: str) -> Naming:
    entry = names.by_name[tool]
    return next(naming for naming in (entry.tool, *entry.parameters) if naming.place == place)


def _with(names: NameMap, tool: str, changed: Naming) -> NameMap:
    return names.changed(lambda name, old: changed if (name, old.place) == (tool, changed.place) else old)
