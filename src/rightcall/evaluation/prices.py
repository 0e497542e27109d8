"""What answers cost: dollars where a model has a price, seconds where it has none.

Prices are a mapping from a model's name, or a pattern with `*`, to its price: `input` and `output` in dollars a
million tokens, or `second` in dollars a second. An empty price counts seconds. It is the form of `RunInfo.prices`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from rightcall.errors import UsageError
from rightcall.evaluation.records import Record, Tried
from rightcall.text_files import read_text

Prices: TypeAlias = Mapping[str, Mapping[str, float]]

_KEYS = ("input", "output", "second")
_MILLION = 1e6


def load_prices(path: Path | None = None) -> dict[str, dict[str, float]]:
    """The shipped prices (`prices.toml`, which documents the format) with those of a file put over them.

    Raises:
        UsageError: the file cannot be read, or a price in it is none.
    """
    shipped = files("rightcall.evaluation").joinpath("prices.toml").read_text(encoding="utf-8")
    prices = _read(shipped, "prices.toml")
    if path is None:
        return prices
    return prices | _read(read_text(path, what=f"the file of prices {path}"), str(path))


def price_of(model: str, prices: Prices) -> Mapping[str, float]:
    """A model's price: by its exact name, else by the longest pattern that matches; empty where it has none."""
    if model in prices:
        return prices[model]
    matching = [name for name in prices if "*" in name and fnmatchcase(model, name)]
    return prices[max(matching, key=len)] if matching else {}


def dollars(record: Record, prices: Prices) -> float | None:
    """What a record's answers cost. None where a model has no price, or its server did not say the tokens.

    An attempt that brought no reply is not in the record and costs nothing here.
    """
    total = 0.0
    for attempt in record.attempts:
        cost = _attempt(attempt, price_of(attempt.model, prices))
        if cost is None:
            return None
        total += cost
    return total


def _attempt(attempt: Tried, price: Mapping[str, float]) -> float | None:
    by_token = "input" in price or "output" in price
    tokens = attempt.input_tokens + attempt.output_tokens
    if not price or (by_token and not tokens):
        return None
    asked = attempt.input_tokens * price.get("input", 0.0) + attempt.output_tokens * price.get("output", 0.0)
    return asked / _MILLION + attempt.seconds * price.get("second", 0.0)


def _read(text: str, where: str) -> dict[str, dict[str, float]]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the prices {where} are no TOML: {error}") from error
    return {model: _price(price, f"the price of {model!r} in {where}") for model, price in data.items()}


def _price(price: Any, what: str) -> dict[str, float]:
    allowed = 'a table of dollars: input and output (a million tokens) or second, or unit = "seconds" alone'
    if not isinstance(price, dict):
        raise UsageError(f"{what} is {price!r}; it should be {allowed}. A name with dots or * stands in quotes")
    if price == {"unit": "seconds"}:
        return {}
    if unknown := [name for name in price if name not in _KEYS]:
        raise UsageError(f"{what} has {', '.join(unknown)}; it should be {allowed}. Names with dots stand in quotes")
    if not price:
        raise UsageError(f"{what} is empty; it should be {allowed}")
    for name, value in price.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not isfinite(value) or value < 0:
            raise UsageError(f"{what}: {name} is {value!r}; it should be a number of dollars, 0 or more")
    return {name: float(value) for name, value in price.items()}
