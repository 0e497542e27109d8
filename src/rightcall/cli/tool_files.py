"""Files of tools as the commands take them, and what stands in them as a terminal can take it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rightcall.tool_sources.reading import ToolSource

# Controls but line feed and tab, and what reorders or hides text.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def plain(text: str) -> str:
    """A text out of a file without anything that a terminal would obey."""
    return _UNSAFE.sub("�", text)


def loaded(path: Path) -> ToolSource:
    """The tools of a file; says on standard error where reading it ran code."""
    from rightcall.tool_sources.reading import read_tools

    source = read_tools(path)
    if source.executed:
        typer.echo(f"{path} was executed to find its tools.", err=True)
    return source
