"""`rightcall fingerprint`: which version of a contract a file holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from rightcall.cli.tool_files import loaded

EPILOG = """Examples:

rightcall fingerprint tools.json

rightcall fingerprint openapi.yaml --json

The fingerprints are those on every event of the log: sha256 over canonical JSON (RFC 8785) of name, description and
parameters. The toolset's covers all of them in their order."""


def fingerprint(
    tools: Annotated[Path, typer.Argument(help="The tools: JSON, OpenAPI 3 or a .py module.", show_default=False)],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Say what identifies each tool, and all of them together, as the model is shown them."""
    from rightcall.schema.fingerprint import tool_fingerprint, toolset_fingerprint

    source = loaded(tools)
    marks = [(tool.name, tool_fingerprint(tool)) for tool in source.tools]
    whole = toolset_fingerprint(source.tools)
    if as_json:
        listed = [{"name": name, "fingerprint": mark} for name, mark in marks]
        typer.echo(json.dumps({"toolset": whole, "tools": listed}, ensure_ascii=False, indent=2))
        return
    for name, mark in marks:
        typer.echo(f"{mark}  {name}")
    typer.echo(f"{whole}  (toolset of {len(marks)})")
