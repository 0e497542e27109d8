"""A Python module's public functions as tools: names, docstrings, type hints. Reading it executes the module.

The mapping of hints is small on purpose. A hint that it does not know is an error with the function's name, because
a schema that was guessed would be checked, compared and shown as if it were the function's own.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib.util
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from rightcall.domain import Tool
from rightcall.errors import UsageError
from rightcall.tool_sources.docstrings import described

_SCALARS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Decimal: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    None: {"type": "null"},
    Any: {},
    object: {},
    bytes: {"type": "string", "contentEncoding": "base64"},
    date: {"type": "string", "format": "date"},
    datetime: {"type": "string", "format": "date-time"},
    time: {"type": "string", "format": "time"},
    UUID: {"type": "string", "format": "uuid"},
    Path: {"type": "string"},
}
_KNOWN = (
    "str, int, float, bool, None, Any, bytes, Decimal, date, datetime, time, UUID, Path, Literal, Enum, list, tuple, "
    "set, dict, Optional, unions, Annotated with a text, TypedDict and dataclasses"
)
_JSON_ATOMS = (str, int, float, bool, type(None))
_MAX_DEPTH = 16


def tools_from_module(path: Path) -> tuple[Tool, ...]:
    """Runs the module at `path` and describes its public functions that have a docstring, in order.

    `__all__`, where the module has one, says which functions are public.

    Raises:
        UsageError: the module fails when it is run, has no such functions, or uses a hint that cannot be described.
    """
    name = f"rightcall_tools_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # classes look their own module up, when they are made and when hints are read
    try:
        spec.loader.exec_module(module)
        tools = tuple(_tool(function) for function in _public_functions(module))
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{path} was executed and failed: {type(error).__name__}: {error}") from error
    finally:
        del sys.modules[name]
    if not tools:
        raise UsageError(f"{path} has no public functions with docstrings; those are its tools")
    return tools


def _public_functions(module: types.ModuleType) -> Iterator[Callable[..., Any]]:
    listed = getattr(module, "__all__", None)
    names = [name for name in vars(module) if not name.startswith("_")] if listed is None else list(listed)
    for name in names:
        function = getattr(module, name, None)
        if inspect.isfunction(function) and function.__doc__ and function.__module__ == module.__name__:
            yield function


def _tool(function: Callable[..., Any]) -> Tool:
    description, texts = described(function)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise UsageError(f"{function.__name__}: its type hints cannot be read: {error}") from error
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise UsageError(f"{function.__name__}: *{parameter.name} has no schema; name every parameter")
        schema = dict(_schema(hints.get(parameter.name, Any), f"{function.__name__}.{parameter.name}", 0))
        if texts.get(parameter.name):
            schema.setdefault("description", texts[parameter.name])
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif _is_json(parameter.default):
            schema["default"] = parameter.default
        properties[parameter.name] = schema
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    parameters["additionalProperties"] = False  # Python refuses an argument that it does not know
    return Tool(function.__name__, description, parameters)


def _schema(hint: Any, where: str, depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise UsageError(f"{where}: the hint is nested deeper than {_MAX_DEPTH} levels")
    try:
        if hint in _SCALARS:
            return _SCALARS[hint]
    except TypeError:  # not hashable, so no scalar
        pass
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        text = next((item for item in arguments[1:] if isinstance(item, str)), None)
        own = _schema(arguments[0], where, depth + 1)
        return {**own, "description": text} if text else own
    if origin is typing.Literal:
        return _members(list(arguments))
    if origin in {typing.Union, types.UnionType}:
        return _union([_schema(item, where, depth + 1) for item in arguments])
    container = origin or hint
    if isinstance(container, type):
        return _class_schema(container, arguments, where, depth)
    raise UsageError(f"{where}: the hint {hint!r} cannot be described. Known: {_KNOWN}")


def _class_schema(kind: type, arguments: tuple[Any, ...], where: str, depth: int) -> dict[str, Any]:
    if issubclass(kind, enum.Enum):
        return _members([member.value for member in kind])
    if typing.is_typeddict(kind) or dataclasses.is_dataclass(kind):
        return _record(kind, where, depth)
    if issubclass(kind, Mapping):
        return {"type": "object", **_inner("additionalProperties", arguments[1:], where, depth)}
    if issubclass(kind, tuple) and arguments and arguments[-1] is not Ellipsis:
        items = [_schema(item, where, depth + 1) for item in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if issubclass(kind, AbstractSet):
        return {"type": "array", **_inner("items", arguments[:1], where, depth), "uniqueItems": True}
    if issubclass(kind, Sequence) and not issubclass(kind, str | bytes):
        return {"type": "array", **_inner("items", arguments[:1], where, depth)}
    raise UsageError(f"{where}: the hint {kind.__name__} cannot be described. Known: {_KNOWN}")


def _inner(keyword: str, arguments: tuple[Any, ...], where: str, depth: int) -> dict[str, Any]:
    return {keyword: _schema(arguments[0], where, depth + 1)} if arguments and arguments[0] is not Any else {}


def _record(kind: type, where: str, depth: int) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    if dataclasses.is_dataclass(kind):
        empty = dataclasses.MISSING
        needed = [f.name for f in dataclasses.fields(kind) if f.default is empty and f.default_factory is empty]
    else:
        total = getattr(kind, "__total__", True)
        marks = {name: typing.get_origin(hint) for name, hint in hints.items()}
        needed = [name for name, mark in marks.items() if mark is typing.Required or (total and mark is None)]
    properties = {name: _schema(_unwrapped(hint), f"{where}.{name}", depth + 1) for name, hint in hints.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": needed} if needed else schema


def _unwrapped(hint: Any) -> Any:
    """The hint inside a TypedDict's `Required[...]` or `NotRequired[...]`."""
    marked = typing.get_origin(hint) in {typing.Required, typing.NotRequired}
    return typing.get_args(hint)[0] if marked else hint


def _members(values: list[Any]) -> dict[str, Any]:
    kinds = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    found = list(dict.fromkeys(kinds[type(value)] for value in values if type(value) in kinds))
    if len(found) == 1:
        return {"type": found[0], "enum": values}
    return {"enum": values}


def _union(parts: list[dict[str, Any]]) -> dict[str, Any]:
    if all(part.keys() == {"type"} and isinstance(part["type"], str) for part in parts):
        return {"type": [part["type"] for part in parts]}
    nullable = [part for part in parts if part != {"type": "null"}]
    if len(nullable) == 1 and len(parts) > 1 and isinstance(nullable[0].get("type"), str):
        own = nullable[0]
        made = {**own, "type": [own["type"], "null"]}
        return {**made, "enum": [*own["enum"], None]} if "enum" in own else made
    return {"anyOf": parts}


def _is_json(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_json(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    return isinstance(value, _JSON_ATOMS)
