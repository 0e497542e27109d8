"""`rightcall search`: which tools of a catalogue fit a query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightcall.cli.tool_files import loaded, plain

if TYPE_CHECKING:
    from rightcall.lens import Found

EPILOG = """Examples:

rightcall search "convert money" --tools tools.json -k 5

rightcall search "convert money" --tools openapi.yaml --embeddings bundled

Words alone are compared unless --embeddings gives a model: `bundled` (pip install 'rightcall[search]'), or a folder
with a model2vec model. Ends with 1 where nothing fits."""


def search(
    query: Annotated[str, typer.Argument(help="What the tool is to do.", show_default=False)],
    *,
    tools: Annotated[Path, typer.Option(help="The catalogue: JSON, OpenAPI 3 or a .py module.", show_default=False)],
    k: Annotated[int, typer.Option("-k", min=1, help="How many tools at most.")] = 10,
    embeddings: Annotated[str, typer.Option(help="none, bundled, or a folder with a model2vec model.")] = "none",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Find the tools of a catalogue that fit a query, best first."""
    from rightcall.assemble import build_embedder
    from rightcall.catalogue.search import Catalogue

    catalogue = Catalogue(loaded(tools).tools, build_embedder(embeddings))
    found = catalogue.search(query, k)
    if as_json:
        from rightcall.record import found_to_json

        typer.echo(json.dumps({"by": catalogue.ways[0], **found_to_json(found)}, ensure_ascii=False, indent=2))
    else:
        _show(found, len(catalogue.tools))
    if not found.matches:
        raise typer.Exit(1)


def _show(found: Found, size: int) -> None:
    for tool, score in found.matches:
        line = " ".join(tool.description.split())
        typer.echo(plain(f"{score:8.4f}  {tool.name}  {line[:100]}".rstrip()))
    if not found.matches:
        typer.echo(f"None of the {size} tools has a word of the query.", err=True)
