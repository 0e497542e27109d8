"""A problem in other terms: its tool, its pointer, what it allows, and the same names in its message.

Messages are mechanical: they name tools, arguments and paths as the schemas do, so exchanging those words, whole
and nothing else, says the same to the other side.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rightcall.domain import Problem, ProblemKind
from rightcall.lens import PresentedTool
from rightcall.schema.pointers import pointer_of, steps
from rightcall.schema.references import branches, properties, resolve
from rightcall.validation.structure import display_path

_NAMES_TOOLS = frozenset((ProblemKind.UNKNOWN_TOOL, ProblemKind.AMBIGUOUS))
_NAMES_ARGUMENTS = frozenset((ProblemKind.EXTRA_ARGUMENT, ProblemKind.MISSING_REQUIRED))
_CUT_WORD = re.compile(r"[\"\w.\-]*…")
_MAX_WORDS = 2000


def in_other_terms(problem: Problem, faces: Mapping[str, PresentedTool], *, to_original: bool) -> Problem:
    """The problem as the other side reads it.

    Args:
        problem: in the terms of the names that `faces` is keyed by.
        faces: every presented tool, by shown name where `to_original`, else by original name.
        to_original: which way.
    """
    own = {name for name, face in faces.items() if face.original is None}
    words = {
        name: other for name, face in faces.items() if (other := _other_name(face, to_original=to_original)) != name
    }
    tools = dict(words)
    path = problem.path
    face = faces.get(problem.tool)
    if face is not None and face.original is not None and face.tool is not face.original:
        path, arguments = _arguments(problem.path, face, to_original=to_original)
        words = arguments | words
    if not words and not own:
        return problem
    told = problem.allowed
    if problem.kind in _NAMES_TOOLS and isinstance(told, list):
        told = [_exchanged(item, tools) for item in told if not (isinstance(item, str) and item in own)]
    elif problem.kind in _NAMES_ARGUMENTS:
        told = [_exchanged(item, words) for item in told] if isinstance(told, list) else _exchanged(told, words)
    return replace(
        problem,
        tool=tools.get(problem.tool, problem.tool),
        path=path,
        allowed=told,
        message=_reworded(problem.message, words, own if problem.kind in _NAMES_TOOLS else set()),
    )


def _exchanged(item: Any, words: Mapping[str, str]) -> Any:
    return words.get(item, item) if isinstance(item, str) else item


def _other_name(face: PresentedTool, *, to_original: bool) -> str:
    other = face.original if to_original else face.tool
    return (other or face.tool).name


def _arguments(pointer: str, face: PresentedTool, *, to_original: bool) -> tuple[str, dict[str, str]]:
    """A pointer on the other side, and the words for it and for the arguments beside and below it."""
    assert face.original is not None  # noqa: S101 - the caller has looked
    schema = face.tool.parameters if to_original else face.original.parameters
    move = face.arguments.original_path if to_original else face.arguments.shown_path
    moved = move(pointer)
    here = steps(pointer)
    words = {_display(here): _display(steps(moved))} if here else {}
    for host in (here[:-1], here) if here else ((),):
        words |= _words_below(host, schema, move)
    return moved, {word: other for word, other in words.items() if word and other and word != other}


def _words_below(host: Sequence[str], schema: Any, move: Callable[[str], str]) -> dict[str, str]:
    """What the arguments of one object are called on the other side: alone, and with the path before them."""
    words: dict[str, str] = {}
    around = steps(move(pointer_of(host)))
    for name in list(properties(_at(schema, host), schema))[:_MAX_WORDS]:
        there = steps(move(pointer_of((*host, name))))
        words[name] = _display(there[len(around) :] if there[: len(around)] == around else there)
        words[_display((*host, name))] = _display(there)
    return words


def _at(schema: Any, host: Sequence[str]) -> Any:
    """The schema of what stands at some steps; `{}` where it does not say."""
    node: Any = schema
    for step in host:
        node = resolve(node, schema)
        if not isinstance(node, Mapping):
            return {}
        found = next((p[step] for b in branches(node, schema) if step in (p := properties(b, schema))), None)
        node = found if found is not None else node.get("items", {}) if step.isdigit() else {}
    return node


def _display(where: Sequence[str]) -> str:
    return display_path([int(step) if step.isdecimal() and step.isascii() else step for step in where])


def _reworded(message: str, words: Mapping[str, str], dropped: set[str]) -> str:
    """The message with words exchanged, whole and in one pass; the names of `dropped` are taken off its lists."""
    for name in dropped:
        message = message.replace(f', "{name}"', "").replace(f'"{name}", ', "").replace(f'"{name}"', "none")
    longest = sorted((word for word in words if word in message), key=len, reverse=True)
    # A word cut off at the end of a long list can no longer be told from a name of the other side.
    message = _CUT_WORD.sub("…", message)
    if not longest:
        return message
    pattern = re.compile(r"(?<![\w.])(?:" + "|".join(map(re.escape, longest)) + r")(?!\w)")
    return pattern.sub(lambda match: words[match[0]], message)
