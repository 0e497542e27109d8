"""Reading tables of a plan, with errors that name the place, what was got and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightcall.errors import UsageError

_KINDS: Mapping[type, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}


class Table:
    """One table of the plan's file. `where` is its name for people: `PLAN.toml: task 'read'`."""

    def __init__(self, values: Any, where: str, allowed: Collection[str]) -> None:
        if not isinstance(values, Mapping):
            raise UsageError(f"{where} must be a table, not {_kind(values)}; it may hold {', '.join(allowed)}")
        for key in values:
            if key not in allowed:
                close = difflib.get_close_matches(key, allowed, 1)
                hint = f" (did you mean {close[0]!r}?)" if close else ""
                raise UsageError(f"{where} sets {key!r}{hint}; allowed: {', '.join(allowed)}")
        self._values = values
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def raw(self, key: str, default: Any = None) -> Any:
        """The value as it stands."""
        return self._values.get(key, default)

    def text(self, key: str, default: str | None = None) -> str:
        """A text; without a default it must be there and not empty."""
        value = self._value(key, default, str)
        if default is None and not value:
            raise UsageError(f"{self.where}: {key} is empty")
        return str(value)

    def flag(self, key: str) -> bool:
        """True or false; false where it is not set."""
        return bool(self._value(key, default=False, kind=bool))

    def whole(self, key: str, default: int, least: int, most: int | None = None) -> int:
        """A whole number within bounds."""
        return int(self._bounded(key, self._value(key, default, int), least, most))

    def number(self, key: str, default: float, least: float, most: float | None = None) -> float:
        """A number within bounds."""
        return float(self._bounded(key, self._value(key, default, float), least, most))

    def choice(self, key: str, default: str, allowed: Sequence[str]) -> str:
        """One of a few words."""
        value = self.text(key, default)
        if value not in allowed:
            raise UsageError(f"{self.where}: {key} is {value!r}; allowed: {', '.join(allowed)}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, or one text alone."""
        value = self._values.get(key, [])
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UsageError(f"{self.where}: {key} must be a list of texts, not {_kind(value)}")
        return tuple(value)

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A table inside; empty where it is not set."""
        value = self._value(key, {}, dict)
        assert isinstance(value, Mapping)  # noqa: S101 - _value has checked it
        return value

    def rows(self, key: str) -> list[Any]:
        """A list of tables that is not empty."""
        value = self._value(key, None, list)
        if not value:
            raise UsageError(f"{self.where}: {key} is empty")
        return list(value)

    def path(self, key: str, folder: Path) -> Path:
        """A path, from the plan's folder where it is relative."""
        return folder / self.text(key)

    def _value(self, key: str, default: Any, kind: type) -> Any:
        value = self._values.get(key, default)
        if value is None:
            raise UsageError(f"{self.where} needs {key!r}: {_KINDS[kind]}")
        fits = isinstance(value, int | float if kind is float else kind)
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise UsageError(f"{self.where}: {key} must be {_KINDS[kind]}, not {_kind(value)} {value!r}")
        return value

    def _bounded(self, key: str, value: float, least: float, most: float | None) -> float:
        if value < least or (most is not None and value > most):
            bounds = f"at least {least}" if most is None else f"{least} to {most}"
            raise UsageError(f"{self.where}: {key} is {value}; allowed: {bounds}")
        return value


def identifier(text: str, where: str) -> str:
    """The name of a function. Raises `UsageError` for anything else."""
    if not text.isidentifier():
        raise UsageError(f"{where}: {text!r} is no name of a Python function")
    return text


def require_unique(what: str, names: Sequence[str], path: Path) -> None:
    """Raises `UsageError` where a name stands twice."""
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"{path} has two {what}s called {repeated!r}")


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), type(value).__name__)
