"""A name map as TOML and back: the same map is always the same text, and a person's slip is said with its place."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar, get_args

from rightcall.errors import UsageError
from rightcall.naming.name_map import AlignSettings, NameMap, Naming, Part, ToolNaming
from rightcall.naming.peakedness import Candidate, Method

FORMAT = 1
MAX_CHARS = 50_000_000
_HEADER = """\
# What a model is shown instead of these tools' own names. Made by `rightcall align`; meant to be reviewed.
#
# accepted     the name to show; empty: undecided, the original is shown. Walk through: rightcall align review FILE
# peakedness   how many of the other candidates are nearly this name; count: how many are exactly it
# margin       how far it is ahead of the best name unlike it
# flags        why a person should look
# description  of a tool: shown instead of its own
#
# Comments are not kept when this file is written again.

"""
T = TypeVar("T")


def map_to_text(names: NameMap) -> str:
    """The file's content."""
    import tomli_w

    settings = {**asdict(names.settings), "method": names.settings.method.value}
    document = {
        "format": FORMAT,
        "made_for": {"model": names.model, "build": names.build},
        "settings": settings,
        "tools": [_tool_data(each) for each in names.tools],
    }
    return _HEADER + tomli_w.dumps(document)


def map_from_text(text: str, where: str) -> NameMap:
    """The map in a file's content, every accepted name seen to be free.

    Args:
        text: the content.
        where: what to call the file in messages.

    Raises:
        UsageError: what is wrong, and what is allowed.
    """
    if len(text) > MAX_CHARS:
        raise UsageError(f"{where} has {len(text)} characters; a name map of at most {MAX_CHARS} is read")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{where} is no TOML: {error}") from error
    if document.get("format") != FORMAT:
        raise UsageError(f"{where} is no name map of format {FORMAT}. `rightcall align` makes one")
    made_for = _table(document.get("made_for"), ("model", "build"), f"{where}: [made_for]")
    tools = document.get("tools", [])
    if not isinstance(tools, list):
        raise UsageError(f"{where}: tools is no list; a tool begins with [[tools]]")
    names = NameMap(
        _typed(made_for, "model", str, "", f"{where}: [made_for]"),
        _typed(made_for, "build", str, "", f"{where}: [made_for]"),
        _settings(document.get("settings", {}), f"{where}: [settings]"),
        tuple(_tool(each, f"{where}: tool {number}") for number, each in enumerate(tools, start=1)),
    )
    if len(names.by_name) < len(names.tools):
        raise UsageError(f"{where}: a tool is there twice; each original name stands once")
    places = [(tool, naming.place) for tool, naming in names.namings()]
    if len(set(places)) < len(places):
        raise UsageError(f"{where}: a parameter is there twice; each place of a tool stands once")
    try:
        names.check()
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    return names


# -- to TOML ------------------------------------------------------------------------------------------------------


def _tool_data(each: ToolNaming) -> dict[str, Any]:
    data = _naming_data(each.tool)
    del data["place"]
    described = {"description": each.description} if each.description else {}
    parameters = [_naming_data(parameter) for parameter in each.parameters]
    return {
        **data,
        **described,
        "fingerprint": each.fingerprint,
        **({"parameters": parameters} if parameters else {}),
    }


def _naming_data(naming: Naming) -> dict[str, Any]:
    return {
        "place": naming.place,
        "original": naming.original,
        "about": naming.about,
        "proposed": naming.proposed,
        "accepted": naming.accepted,
        "flags": list(naming.flags),
        "peakedness": naming.peakedness,
        "count": naming.count,
        "margin": naming.margin,
        "greedy": naming.greedy,
        "alternatives": [asdict(each) for each in naming.alternatives],
    }


# -- from TOML ----------------------------------------------------------------------------------------------------

_NAMING = tuple(each.name for each in fields(Naming))
_TOOL = (*(name for name in _NAMING if name != "place"), "fingerprint", "description", "parameters")


def _tool(data: Any, where: str) -> ToolNaming:
    table = _table(data, _TOOL, where)
    where = f"{where} ({table.get('original')!r})"
    parameters = _typed(table, "parameters", list, [], where)
    return ToolNaming(
        _naming(table, where),
        _typed(table, "fingerprint", str, None, where),
        tuple(
            _naming(_table(each, _NAMING, f"{where}, parameter {number}"), f"{where}, parameter {number}")
            for number, each in enumerate(parameters, start=1)
        ),
        _typed(table, "description", str, "", where),
    )


def _naming(table: Mapping[str, Any], where: str) -> Naming:
    flags = _typed(table, "flags", list, [], where)
    if not all(isinstance(flag, str) for flag in flags):
        raise UsageError(f"{where}: flags holds something else than texts")
    original = _typed(table, "original", str, None, where)
    return Naming(
        original,
        _typed(table, "proposed", str, original, where),
        accepted=_typed(table, "accepted", str, "", where),
        place=_typed(table, "place", str, "", where),
        peakedness=_typed(table, "peakedness", int, 0, where),
        count=_typed(table, "count", int, 0, where),
        margin=_typed(table, "margin", int, 0, where),
        greedy=_typed(table, "greedy", str, "", where),
        flags=tuple(flags),
        alternatives=tuple(_candidate(each, where) for each in _typed(table, "alternatives", list, [], where)),
        about=_typed(table, "about", str, "", where),
    )


def _candidate(data: Any, where: str) -> Candidate:
    table = _table(data, ("name", "peakedness", "count"), f"{where}: an alternative")
    return Candidate(
        _typed(table, "name", str, None, where),
        _typed(table, "peakedness", int, 0, where),
        _typed(table, "count", int, 0, where),
    )


def _settings(data: Any, where: str) -> AlignSettings:
    table = _table(data, tuple(each.name for each in fields(AlignSettings)), where)
    standard = AlignSettings()
    values = {
        name: _typed(table, name, type(value), value, where)
        for name, value in asdict(standard).items()
        if name not in {"method", "only"}
    }
    method = _one_of(table, "method", tuple(Method), standard.method, where)
    return AlignSettings(
        method=Method(method), only=_one_of(table, "only", get_args(Part), standard.only, where), **values
    )


def _one_of(table: Mapping[str, Any], name: str, allowed: tuple[Any, ...], standard: Any, where: str) -> Any:
    value = table.get(name, standard)
    if value not in allowed:
        raise UsageError(f"{where}: {name} is {value!r}; allowed: {', '.join(allowed)}")
    return value


def _table(data: Any, allowed: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise UsageError(f"{where} is no table")
    unknown = next((name for name in data if name not in allowed), None)
    if unknown is not None:
        raise UsageError(f"{where} sets {unknown!r}; allowed: {', '.join(allowed)}")
    return data


def _typed(table: Mapping[str, Any], name: str, kind: type[T], standard: T | None, where: str) -> T:
    """A value of a table; `standard` where it is not there, and None if it has to be."""
    value = table.get(name, standard)
    if value is None:
        raise UsageError(f"{where} has no {name!r}, which it needs")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return kind(value)  # type: ignore[call-arg]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UsageError(f"{where}: {name} is {value!r}; it must be {kind.__name__}")
    return value
