"""OpenAPI 3.0 and 3.1 documents as tools: one tool an operation. Only references into the document are followed.

Parameters of the path, the query, headers and cookies become properties under their names. The JSON body's
properties stand beside them, where it is an object and no name is taken; otherwise the body is one property, `body`.
Sources: OpenAPI 3.0.3 and 3.1.0, Operation, Parameter, Request Body and Schema Object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.domain import Effects, Tool
from rightcall.errors import UsageError
from rightcall.schema.keywords import LISTS, MAPS, ONE
from rightcall.schema.references import resolve

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_EFFECTS = {
    "get": Effects(read_only=True, destructive=False, idempotent=True),
    "head": Effects(read_only=True, destructive=False, idempotent=True),
    "options": Effects(read_only=True, destructive=False, idempotent=True),
    "trace": Effects(read_only=True, destructive=False, idempotent=True),
    "put": Effects(idempotent=True),
    "delete": Effects(idempotent=True),
}
"""What RFC 9110 (9.2) says of a method; any other is taken as MCP's cautious default."""
_JSON_BODY = re.compile(r"application/(?:[\w.+-]+\+)?json\b", re.IGNORECASE)
_SEPARATORS = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_DEPTH = 64


def is_openapi(document: Any) -> bool:
    """Whether a document says that it is OpenAPI, of whatever version."""
    return isinstance(document, Mapping) and ("openapi" in document or "swagger" in document)


def tools_from_openapi(document: Mapping[str, Any]) -> tuple[Tool, ...]:
    """The operations of a document as tools.

    Raises:
        UsageError: another version than 3.0 or 3.1, a reference out of the document, or no operations.
    """
    version = str(document.get("openapi", document.get("swagger", "")))
    if not version.startswith(("3.0", "3.1")):
        raise UsageError(f"OpenAPI {version or 'without a version'} is not read; 3.0 and 3.1 are")
    tools = tuple(
        _tool(document, path, method, item, old=version.startswith("3.0"))
        for path, item in _mapping(document.get("paths")).items()
        for method in _METHODS
        if isinstance(item, Mapping) and isinstance(item.get(method), Mapping)
    )
    if not tools:
        raise UsageError("the OpenAPI document has no operations under 'paths'")
    return tools


def _tool(document: Mapping[str, Any], path: str, method: str, item: Mapping[str, Any], *, old: bool) -> Tool:
    operation = item[method]
    name = str(operation.get("operationId") or f"{method}_{path.strip('/')}")
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in _parameters(document, item, operation):
        properties[parameter["name"]] = _parameter_schema(parameter)
        if parameter.get("required") is True:
            required.append(parameter["name"])
    body, body_required = _body(document, operation)
    if body is not None:
        flat = resolve(body, document)
        own = flat.get("properties") if isinstance(flat, Mapping) else None
        if isinstance(own, Mapping) and not set(flat) - _PLAIN_OBJECT and not own.keys() & properties.keys():
            properties.update(own)
            required += [key for key in flat.get("required", ()) if body_required and key in own]
        else:
            properties["body"] = body
            required += ["body"] if body_required else []
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = list(dict.fromkeys(required))
    converted = _Definitions(document, old=old).whole(parameters)
    texts = [str(operation[key]).strip() for key in ("summary", "description") if operation.get(key)]
    extra = {key: value for key, value in operation.items() if key == "x-rightcall-ignore"}
    effects = _EFFECTS.get(method, Effects())
    return Tool(_SEPARATORS.sub("_", name).strip("_"), "\n\n".join(texts), converted, effects, extra)


_PLAIN_OBJECT = frozenset(("type", "properties", "required", "description", "title", "example", "examples", "xml"))
"""Keywords of a body that can be taken apart without losing what it says."""


def _parameters(
    document: Mapping[str, Any], item: Mapping[str, Any], operation: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """An operation's own parameters and those of its path, which it may override by name and place."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for holder in (item, operation):
        listed = holder.get("parameters")
        for raw in listed if isinstance(listed, list) else ():
            parameter = _local(document, raw)
            if isinstance(parameter.get("name"), str):
                found[parameter["name"], str(parameter.get("in"))] = parameter
    yield from found.values()


def _parameter_schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = parameter.get("schema")
    if schema is None:
        content = _mapping(parameter.get("content"))
        schema = next((_mapping(media).get("schema") for media in content.values()), None)
    described = dict(schema) if isinstance(schema, Mapping) else {}
    if parameter.get("description") and "description" not in described:
        described["description"] = parameter["description"]
    return described


def _body(document: Mapping[str, Any], operation: Mapping[str, Any]) -> tuple[Any, bool]:
    if "requestBody" not in operation:
        return None, False
    body = _local(document, operation["requestBody"])
    content = _mapping(body.get("content"))
    media = next((value for kind, value in content.items() if _JSON_BODY.match(str(kind))), None)
    schema = _mapping(media).get("schema")
    return (schema, body.get("required") is True) if isinstance(schema, Mapping) else (None, False)


class _Definitions:
    """Turns a schema of the document into one that stands alone: references lead to `$defs`, 3.0 becomes 2020-12."""

    def __init__(self, document: Mapping[str, Any], *, old: bool) -> None:
        self._document, self._old = document, old
        self._names: dict[str, str] = {}
        self._waiting: list[str] = []

    def whole(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        converted: dict[str, Any] = self._schema(schema, 0)
        definitions: dict[str, Any] = {}
        while self._waiting:
            reference = self._waiting.pop()
            target = resolve({"$ref": reference}, self._document)
            definitions[self._names[reference]] = self._schema(target, 0)
        if definitions:
            converted["$defs"] = definitions
        return converted

    def _schema(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping):
            return schema
        if depth > _MAX_DEPTH:
            raise UsageError(f"a schema is nested deeper than {_MAX_DEPTH} levels")
        made: dict[str, Any] = {}
        for keyword, value in schema.items():
            if keyword == "$ref":
                made["$ref"] = self._reference(str(value))
            elif keyword in MAPS and isinstance(value, Mapping):
                made[keyword] = {name: self._schema(item, depth + 1) for name, item in value.items()}
            elif keyword in LISTS and isinstance(value, list):
                made[keyword] = [self._schema(item, depth + 1) for item in value]
            elif keyword in ONE:
                made[keyword] = self._schema(value, depth + 1)
            elif keyword not in {"discriminator", "xml", "externalDocs"}:
                made[keyword] = value
        return _as_2020(made) if self._old else made

    def _reference(self, reference: str) -> str:
        if not reference.startswith("#/"):
            raise UsageError(f"the reference {reference!r} leads out of the document; only local ones are followed")
        if reference not in self._names:
            wanted = reference.rsplit("/", 1)[-1]
            taken = set(self._names.values())
            name = next(
                text for text in (wanted, *(f"{wanted}_{n}" for n in range(2, len(taken) + 3))) if text not in taken
            )
            self._names[reference] = name
            self._waiting.append(reference)
        return f"#/$defs/{self._names[reference]}"


def _as_2020(schema: dict[str, Any]) -> dict[str, Any]:
    """What OpenAPI 3.0 says otherwise than JSON Schema: `nullable`, boolean exclusive bounds, `example`."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive) and bound in schema:
            schema[exclusive] = schema.pop(bound)
    if "example" in schema:
        schema["examples"] = [schema.pop("example")]
    if schema.pop("nullable", False) is True:
        if isinstance(schema.get("type"), str):
            schema["type"] = [schema["type"], "null"]
            if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
                schema["enum"] = [*schema["enum"], None]
        elif schema.keys() & {"$ref", "allOf", "anyOf", "oneOf"}:
            schema = {"anyOf": [schema, {"type": "null"}]}
    return schema


def _local(document: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
    reference = value.get("$ref") if isinstance(value, Mapping) else None
    if isinstance(reference, str) and not reference.startswith("#/"):
        raise UsageError(f"the reference {reference!r} leads out of the document; only local ones are followed")
    return _mapping(resolve(value, document))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
