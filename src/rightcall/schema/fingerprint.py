"""Versioned identity of what a model is shown: `sha256:` over canonical JSON (RFC 8785).

An unchanged tool name does not imply an unchanged contract, so every event carries these.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import rfc8785

from rightcall.domain import KEPT_TOOLS, Tool
from rightcall.schema.content_key import content_key, from_key


def canonical_json(value: Any) -> bytes:
    """RFC 8785 bytes of a JSON value.

    Integers beyond 2**53 are written as the double that RFC 8785 makes of every number.
    """
    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(_as_doubles(value))


def tool_fingerprint(tool: Tool) -> str:
    """Identity of one tool as the model sees it: name, description and parameters."""
    return _fingerprint(tool.name, tool.description, content_key(tool.parameters))


@lru_cache(maxsize=KEPT_TOOLS)
def _fingerprint(name: str, description: str, parameters: bytes) -> str:
    """Made once for each tool: a proxy sees the same ones in every request."""
    shown = {"name": name, "description": description, "parameters": json.loads(json.dumps(from_key(parameters)))}
    return _digest(canonical_json(shown))


def toolset_fingerprint(tools: Iterable[Tool]) -> str:
    """Identity of an offered list of tools; their order is part of it, because the model sees it."""
    return _digest("\n".join(tool_fingerprint(tool) for tool in tools).encode())


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _as_doubles(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return float(value)
    if isinstance(value, Mapping):
        return {key: _as_doubles(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_doubles(item) for item in value]
    return value
