"""Defaults said in words: chat templates show descriptions, and several drop `default`.

Only said: an argument that the model leaves out stays left out, and the tool fills in what it will.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rightcall.domain import JsonObject
from rightcall.schema.rewrite.walk import mapped, needed

_MAX_SHOWN = 60


def defaults_told(schema: JsonObject) -> JsonObject:
    """The schema with each optional argument's default in its description."""
    made: JsonObject = _told(schema)
    return schema if made == schema else made


def _told(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return schema
    made = mapped(schema, _told)
    own, required = made.get("properties"), needed(made)
    if isinstance(own, Mapping):
        made = {**made, "properties": {n: p if n in required else _with_default(p) for n, p in own.items()}}
    return made


def _with_default(schema: Any) -> Any:
    if not isinstance(schema, Mapping) or schema.get("default") is None:
        return schema
    value = json.dumps(schema["default"], ensure_ascii=False, default=str)
    about = schema.get("description")
    text = about.rstrip() if isinstance(about, str) else ""
    if len(value) > _MAX_SHOWN or "default" in text.casefold():
        return schema
    end = "" if not text or text.endswith((".", "!", "?")) else "."
    return {**schema, "description": f"{text}{end} Default: {value}.".strip()}
