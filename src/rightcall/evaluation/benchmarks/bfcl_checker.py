"""BFCL's rules for single-turn calls, with their oddities.

Source: the syntax-tree checker of `bfcl-eval` 2026.3.23 for Python (`ast_checker`), which a test compares this
with. What is easily overlooked, and kept because published numbers contain it:

- A value may also have the type of the first accepted value ("a variable"); then it is compared as it is.
- Types are checked one level deep; 5 is a float where a float is declared, but not inside a list.
- Strings are compared without case, blanks and `,./-_*^`; inside lists and objects too, but not deeper.
- An empty string among the accepted values lets the argument be left out, and makes an empty list right.
- Parallel calls are matched greedily, answer by answer.

Where the original stops with an exception (an answer of another shape than its schema), the call is wrong here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Call = Mapping[str, Any]
"""`{name: arguments}`."""

_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}
_IGNORED = re.compile(r"[ ,./\-_*^]")


def check_calls(
    functions: Sequence[Mapping[str, Any]], calls: Sequence[Call], answers: Sequence[Call], kind: str
) -> bool:
    """Whether the calls are the wanted ones.

    Args:
        functions: the function documents offered, types as in BFCL's data.
        calls: what the model called, names with `_` for `.`.
        answers: `{function: {parameter: accepted values}}`, one a wanted call.
        kind: the category; what counts is whether it says `parallel` or `multiple`.
    """
    if len(calls) != len(answers):
        return False
    documents = {document["name"]: document for document in reversed(functions)}
    if "parallel" in kind:
        return _check_parallel(documents, calls, answers)
    wanted = next(iter(answers[0])) if "multiple" in kind else functions[0]["name"]
    return check_call(documents[wanted], calls[0], answers[0])


def _check_parallel(documents: Mapping[str, Any], calls: Sequence[Call], answers: Sequence[Call]) -> bool:
    left = list(calls)
    for answer in answers:
        document = documents[next(iter(answer))]
        found = next((index for index, call in enumerate(left) if check_call(document, call, answer)), None)
        if found is None:
            return False
        del left[found]
    return True


def check_call(document: Mapping[str, Any], call: Call, answer: Call) -> bool:
    """Whether one call is the wanted one."""
    name = document["name"].replace(".", "_")
    if name not in call:
        return False
    arguments, (accepted,) = call[name], answer.values()
    declared = document["parameters"]["properties"]
    if any(required not in arguments for required in document["parameters"]["required"]):
        return False
    for key, value in arguments.items():
        if key not in declared or key not in accepted or not _right(value, declared[key], accepted[key]):
            return False
    return all(key in arguments or "" in values for key, values in accepted.items())


def _right(value: Any, declared: Mapping[str, Any], accepted: Sequence[Any]) -> bool:
    kind = declared["type"]
    expected = _TYPES[kind]
    inner = _TYPES[declared["items"]["type"]] if kind in {"array", "tuple"} else None
    if kind == "float" and type(value) is int:
        value = float(value)
    match _compared_as(value, expected, inner, accepted):
        case None:
            return False
        case "object":
            return any(_is_object(value, option) for option in accepted)
        case "objects":
            return any(_are_objects(value, option) for option in accepted)
        case "string":
            return _loose(value) in [_loose(option) for option in accepted if isinstance(option, str)]
        case "list":
            return _loose_items(value) in [_loose_items(option) for option in accepted]
        case _:
            return value in accepted


def _compared_as(value: Any, expected: type, inner: type | None, accepted: Sequence[Any]) -> str | None:
    """How a value is compared with the accepted ones; None where its type is wrong."""
    first, got = _first_type(accepted), type(value)
    if got is not expected:
        return "itself" if got is first else None
    if inner and not any(_has_items(value, option, inner) for option in accepted):
        return None
    if first not in {None, expected}:
        return "itself"
    if expected is list:
        return "objects" if inner is dict else "list"
    return "object" if expected is dict else "string" if expected is str else "itself"


def _has_items(value: Sequence[Any], option: Any, inner: type) -> bool:
    """Whether every item has the declared type, or that of the first accepted item."""
    if type(option) is not list:
        return True
    first = _first_type(option)
    return all(type(item) is inner or (first is not None and type(item) is first) for item in value)


def _first_type(accepted: Sequence[Any]) -> type | None:
    return next((type(option) for option in accepted if option != ""), None)


def _is_object(value: Any, option: Any) -> bool:
    if not isinstance(option, Mapping) or not isinstance(value, Mapping):
        return False
    if any(key not in option or _loose(item) not in _loose_items(option[key]) for key, item in value.items()):
        return False
    return all(key in value or "" in _listed(values) for key, values in option.items())


def _are_objects(value: Sequence[Any], option: Any) -> bool:
    return len(value) == len(_listed(option)) and all(map(_is_object, value, _listed(option)))


def _loose_items(values: Any) -> list[Any]:
    return [_loose(item) for item in _listed(values)]


def _listed(values: Any) -> Sequence[Any]:
    # A string is its characters, as it is to the original: the empty one, which lets an argument be left out, is
    # an empty list.
    return values if isinstance(values, list | str) else ()


def _loose(value: Any) -> Any:
    return _IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value
