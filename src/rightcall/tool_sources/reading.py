"""One way in for every form that tools come in. What a file holds decides, not how it is called.

A Python module is the exception: it is known by its ending `.py`, and it is **executed**, because only running it
tells its functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rightcall.domain import Effects, Tool
from rightcall.errors import MissingExtra, UsageError
from rightcall.openai_chat import tools_from_json
from rightcall.text_files import read_text
from rightcall.tool_sources.openapi import is_openapi, tools_from_openapi
from rightcall.tool_sources.python_module import tools_from_module

MAX_BYTES = 50 * 1024 * 1024
MAX_NODES = 2_000_000


@dataclass(frozen=True, slots=True)
class ToolSource:
    """The tools of one file. `kind` is `json`, `openapi` or `python`; `executed` says that code was run.

    `document` is the file's content as data (None for Python), `text` as it stands.
    """

    path: Path
    kind: str
    tools: tuple[Tool, ...]
    text: str
    document: Any = None

    @property
    def executed(self) -> bool:
        """Whether reading it ran code."""
        return self.kind == "python"


def read_tools(path: Path) -> ToolSource:
    """The tools in a file.

    Raises:
        UsageError: the file cannot be read, or holds no tools; says what is allowed.
    """
    text = read_text(path, most=MAX_BYTES)
    if path.suffix == ".py":
        return ToolSource(path, "python", tools_from_module(path), text)
    document = _document(path, text)
    try:
        if is_openapi(document):
            return ToolSource(path, "openapi", tools_from_openapi(document), text, document)
        tools = tuple(_with_effects(tool) for tool in tools_from_json(_listing(document)))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error
    return ToolSource(path, "json", tools, text, document)


def entries(document: Any) -> list[Any]:
    """The entries of tools JSON as they stand in its document, in order, so that they can be changed in place."""
    listing = _listing(document)
    listed = listing.get("tools", [listing]) if isinstance(listing, Mapping) else listing
    return listed if isinstance(listed, list) else []


def _listing(document: Any) -> Any:
    """What holds the tools: a `tools/list` result may still stand in its JSON-RPC response."""
    if (
        isinstance(document, Mapping)
        and isinstance(document.get("result"), Mapping)
        and "tools" in document["result"]
    ):
        return document["result"]
    return document


def effects_of(annotations: Any) -> Effects:
    """MCP's tool annotations as effects; what is not said keeps MCP's cautious default."""
    if not isinstance(annotations, Mapping):
        return Effects()
    said = {
        ours: annotations[theirs]
        for ours, theirs in (
            ("read_only", "readOnlyHint"),
            ("destructive", "destructiveHint"),
            ("idempotent", "idempotentHint"),
            ("open_world", "openWorldHint"),
        )
        if isinstance(annotations.get(theirs), bool)
    }
    return Effects(**said)


def _with_effects(tool: Tool) -> Tool:
    return replace(tool, effects=effects_of(tool.extra.get("annotations")))


def _document(path: Path, text: str) -> Any:
    if path.suffix in {".yaml", ".yml"}:
        return _yaml(path, text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        allowed = "OpenAI tools JSON, an MCP tools/list result, an OpenAPI 3 document (JSON or .yaml) or a .py module"
        raise UsageError(f"{path} is not JSON: {error}. Tools are read from {allowed}") from error


def _yaml(path: Path, text: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("reading YAML", "eval") from error
    try:
        loaded = yaml.safe_load(text)
        if _nodes(loaded) > MAX_NODES:
            raise UsageError(f"{path}: its aliases unfold to more than {MAX_NODES} parts")
        return json.loads(json.dumps(loaded, default=str))  # YAML has dates and keys that are no text; JSON has not
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"{path} is not YAML that JSON can hold: {error}") from error


def _nodes(value: Any) -> int:
    """How many parts a value has when every alias is written out; stops counting beyond the bound."""
    count, waiting = 0, [value]
    while waiting and count <= MAX_NODES:
        item = waiting.pop()
        count += 1
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return count
