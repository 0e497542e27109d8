"""Do the calls cover the request? What the user named and no argument uses may be a call that was not made.

Small models write one call where several are asked. Numbers, names and quoted words of the last user message
that stand in no argument are a sign of that; only a sign, so it starts one more question to the model and
never a problem. Names are found by capital letters, so scripts without them give numbers and quotes only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rightcall.domain import Message, Tool, ToolCall

MAX_MENTIONS = 8
MAX_CHARS = 1_500
"""Longer prompts mention so much that nothing follows from it."""
_NUMBER = re.compile(
    r"(?<![\w.^])[$€£¥]?(?P<digits>\d{1,3}(?:,\d{3})+|\d+)(?P<fraction>\.\d+)?(?P<clock>:\d\d)?\s?"
    r"(?P<scale>%|percent\b|k\b|thousand\b|m\b|million\b|bn?\b|billion\b)?(?!st\b|nd\b|rd\b|th\b)",
    re.IGNORECASE,
)
_SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9}
_QUOTED = re.compile(r"(?<!\w)'([^'\n]{2,40})'(?!\w)|\"([^\"\n]{2,40})\"|“([^”\n]{2,40})”|`([^`\n]{2,40})`")
_WORD = re.compile(r"[^\W\d_][\w'’\-]*|[.?!:;,()\n\"“”]")
_SENTENCE_END = frozenset('.?!:;\n"“”(')
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_SEPARATOR = re.compile(r"[_.]+")
# Capitalised words that name no thing: months, days, units and currencies, which arguments spell in other ways.
_NO_NAMES = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "celsiu",
        "fahrenheit",
        "kelvin",
        "joule",
        "watt",
        "newton",
        "ampere",
        "volt",
        "pascal",
        "hertz",
        "mpg",
        "rpm",
        "gmt",
        "utc",
        "euro",
        "dollar",
        "pound",
        "canadian",
        "american",
        "british",
        "australian",
    ]
)
_PERCENT = frozenset(("%", "percent"))


def unused_mentions(messages: Sequence[Message], calls: Sequence[ToolCall], tools: Iterable[Tool]) -> tuple[str, ...]:
    """What the last message, if it is the user's, names and no call uses; at most `MAX_MENTIONS`, as written."""
    last = messages[-1] if messages else {}
    content = last.get("content")
    if last.get("role") != "user" or not isinstance(content, str) or not calls or len(content) > MAX_CHARS:
        return ()
    values = [value for call in calls for value in _leaves(call.arguments)]
    words = " ".join(value for value in values if isinstance(value, str)).casefold()
    numbers = {
        abs(float(value)) for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    }
    numbers |= {float(digits) for digits in _DIGITS.findall(words)}
    about = _SEPARATOR.sub(" ", " ".join(f"{tool.name} {tool.description}" for tool in tools).casefold())
    found = [
        mention for mention in _numbers(content) if not mention[1] & numbers and mention[0].casefold() not in words
    ]
    mentions = [mention for mention, _ in found]
    for name in _names(content):
        parts = _SEPARATOR.sub(" ", name.casefold()).split()
        used = all(part in words for part in parts) or all(part in about for part in parts)
        if parts and not used and not (len(parts) == 1 and parts[0].rstrip("s") in _NO_NAMES):
            mentions.append(name)
    return tuple(dict.fromkeys(mentions))[:MAX_MENTIONS]


def _numbers(text: str) -> Iterator[tuple[str, set[float]]]:
    """Numbers as written, each with the values that it may stand for: 7% is 7 or 0.07."""
    for match in _NUMBER.finditer(text):
        value = float(match["digits"].replace(",", "") + (match["fraction"] or ""))
        scale = (match["scale"] or "").casefold()
        meant = {value}
        if scale in _PERCENT:
            meant.add(round(value / 100, 12))
        elif scale:
            meant.add(value * _SCALES[scale])
        yield match[0].strip(), meant


def _names(text: str) -> Iterator[str]:
    """Quoted words, and runs of capitalised words that do not just begin a sentence."""
    for match in _QUOTED.finditer(text):
        yield next(group for group in match.groups() if group)
    run: list[str] = []
    begins = True
    for token in _WORD.findall(text):
        capital = token[0].isupper() and len(token.strip("'’-")) > 2  # noqa: PLR2004 - "I", "A" and "US" say little
        if capital and not (begins and not run):
            run.append(token.removesuffix("'s").removesuffix("’s").rstrip("'’"))
        elif run:
            yield " ".join(run)
            run = []
        begins = token in _SENTENCE_END
    if run:
        yield " ".join(run)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
