# ruff: noqa: INP001 - a plan names this file by its path; it is in no package
"""What the tools of the example do. Every function works in the current folder, which is a copy for each trial.

A `PermissionError` is a refusal by policy; any other error is the tool's failure.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

MAX_ENTRIES = 100


def list_directory(path: str = ".", limit: int = MAX_ENTRIES) -> list[str]:
    """The names in one folder, folders with a slash; not recursive."""
    if not 1 <= limit <= MAX_ENTRIES:
        raise PermissionError(f"limit is {limit}; at most {MAX_ENTRIES} entries may be listed")
    entries = sorted(_inside(path).iterdir())
    return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries][:limit]


def read_file(path: str) -> str:
    """The text of one file."""
    return _inside(path).read_text(encoding="utf-8")


def search_text(text: str, path: str = ".") -> list[str]:
    """The lines that hold a text, in one file or in every file below a folder: `path:line: content`."""
    start = _inside(path)
    files = [start] if start.is_file() else sorted(file for file in start.rglob("*") if file.is_file())
    root = Path.cwd().resolve()
    return [
        f"{file.relative_to(root)}:{number}: {line}"
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if text.casefold() in line.casefold()
    ]


def from_one_tool(tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Variant C: one tool with an action. Arguments that an action does not use are left out."""
    del tool
    functions = {
        "list": ("list_directory", ("path", "limit")),
        "read": ("read_file", ("path",)),
        "search": ("search_text", ("text", "path")),
    }
    function, names = functions[arguments["action"]]
    return function, {name: arguments[name] for name in names if name in arguments}


def from_nested(tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Variant D: the same arguments, two levels down, under no bounds. What is not understood is a mistake."""
    target, options = arguments.get("target", {}), arguments.get("options", {})
    given = {**target, **options}
    if tool == "search_text":
        given["text"] = given.pop("query")
    return tool, given


def _inside(path: str) -> Path:
    """The path with links resolved, at the moment of use. Outside of the folder nothing may be read."""
    root = Path.cwd().resolve()
    found = (root / path).resolve()
    if not found.is_relative_to(root):
        raise PermissionError(f"{path} is outside of the workspace")
    return found
