"""`$ref` written out: small models do not follow pointers, and several templates and engines drop `$defs`.

The meaning stays the same, so arguments are not touched. Recursive references are left alone, and so is the whole
schema where writing it out would make it much longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from rightcall.domain import JsonObject
from rightcall.schema.pointers import steps
from rightcall.schema.rewrite.walk import DEFINITIONS, READ_ONLY, mapped, self_contained, subschemas

MAX_PARTS = 2_000
"""Schemas in the result; beyond, references are kept."""
MAX_DEPTH = 32
"""Schemas inside each other; the same."""


class _TooLarge(Exception):
    """Writing the references out makes the schema too long."""


def inlined(schema: JsonObject) -> JsonObject:
    """The schema with its references written out, as far as that ends; definitions that nobody needs are dropped."""
    if not self_contained(schema) or not any("$ref" in node for node in subschemas(schema)):
        return schema
    try:
        made = _Inlining(schema).node(schema)
    except _TooLarge:
        return schema
    body = {word: value for word, value in made.items() if word not in DEFINITIONS}
    return made if any("$ref" in node for node in subschemas(body)) else body


class _Inlining:
    def __init__(self, root: JsonObject) -> None:
        self.root = root
        self.parts = 0
        self.leads_back: dict[str, bool] = {}

    def node(self, schema: Any, depth: int = 0) -> Any:
        """A schema with its references written out."""
        if not isinstance(schema, Mapping):
            return schema
        self.parts += 1
        if self.parts > MAX_PARTS or depth > MAX_DEPTH:
            raise _TooLarge
        reference = schema.get("$ref")
        if isinstance(reference, str):
            beside = {word: value for word, value in schema.items() if word != "$ref"}
            target = self.target(reference)
            if not isinstance(target, Mapping) or not beside.keys() <= READ_ONLY or self.recursive(reference):
                return schema
            return {**self.node(target, depth + 1), **beside}
        return mapped(schema, lambda part: self.node(part, depth + 1), but=DEFINITIONS)

    def recursive(self, reference: str) -> bool:
        """Whether what a reference leads to leads to the same reference again."""
        if reference not in self.leads_back:
            seen: set[str] = set()
            waiting = [reference]
            while waiting:
                nodes = subschemas(self.target(waiting.pop()))
                found = {node["$ref"] for node in nodes if isinstance(node.get("$ref"), str)} - seen
                seen |= found
                waiting += found
            self.leads_back[reference] = reference in seen
        return self.leads_back[reference]

    def target(self, reference: str) -> Any:
        """What a reference within the document leads to, one step; None where it leads nowhere."""
        node: Any = self.root
        for step in steps(unquote(reference[1:])):
            if isinstance(node, Mapping) and step in node:
                node = node[step]
            else:
                return None
        return node
