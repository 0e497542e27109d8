"""The child process in which the fixture's functions run. Standard library only: it is started by its path.

It takes a line of JSON from standard input and gives a line back, until standard input ends:

    {"call": FUNCTION, "arguments": {...}}               a tool's work
    {"adapt": FUNCTION, "tool": NAME, "arguments": {...}}  which function a call means, with which arguments
    {"judge": FUNCTION, "value": ...}                    true or false
    {"names": [FUNCTION, ...]}                           which of them are not there
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

MAX_CHARS = 32_000


def main() -> None:
    """Arguments: the file with the functions, the folder that it may import from, the folder to work in."""
    file, imports, folder = sys.argv[1:4]
    # What functions print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path.insert(0, imports)
    os.chdir(folder)
    try:
        module = _loaded(file)
    except BaseException as error:  # noqa: BLE001 - whatever the file does, its author is told
        _answer(answers, _fault(error))
        return
    _answer(answers, {"ready": True})
    for line in sys.stdin:
        try:
            answer = _done(module, json.loads(line))
        except BaseException as error:  # noqa: BLE001
            answer = _fault(error)
        _answer(answers, answer)


def _loaded(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("fixture", file)
    assert spec is not None  # noqa: S101 - it is a .py file
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules["fixture"] = module
    spec.loader.exec_module(module)
    return module


def _done(module: ModuleType, asked: Mapping[str, Any]) -> dict[str, Any]:
    if "names" in asked:
        return {"missing": [name for name in asked["names"] if not callable(getattr(module, name, None))]}
    if "call" in asked:
        return _called(getattr(module, asked["call"]), asked["arguments"])
    if "adapt" in asked:
        try:
            function, arguments = getattr(module, asked["adapt"])(asked["tool"], asked["arguments"])
        except (ValueError, LookupError, TypeError) as error:  # what arguments that fit no function lead to
            return {"meaningless": type(error).__name__}
        return {"function": function, "arguments": arguments}
    return {"verdict": bool(getattr(module, asked["judge"])(asked["value"]))}


def _called(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result contract: status, what it returned, its error's class, whether it was cut, how long it took."""
    began = time.monotonic()
    status, error_class = "ok", ""
    try:
        inspect.signature(function).bind(**arguments)
        value = function(**arguments)
        status = "empty" if value is None or value in ("", [], {}, ()) else "ok"
        content = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        content = "" if status == "empty" else content
    except Exception as error:  # noqa: BLE001 - a tool that fails is a result
        status = "denied" if isinstance(error, PermissionError) else "error"
        error_class, content = type(error).__name__, str(error)
    return {
        "status": status,
        "content": content[:MAX_CHARS],
        "error_class": error_class,
        "truncated": len(content) > MAX_CHARS,
        "duration_ms": round((time.monotonic() - began) * 1000, 3),
    }


def _fault(error: BaseException) -> dict[str, Any]:
    where = traceback.extract_tb(error.__traceback__)[-1:]
    line = f", line {where[0].lineno}" if where else ""
    return {"fault": f"{type(error).__name__}: {error}{line}"}


def _answer(answers: Any, value: Mapping[str, Any]) -> None:
    answers.write(json.dumps(value, ensure_ascii=True, default=str) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
