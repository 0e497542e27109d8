"""Whether what looks like a call is only shown: quoted, in a listing, inside a sentence, or as an example.

Models write about calls as well as making them: documentation, logs, scripts, transcripts. A marker counts for
little there. What is certainly shown is text; what may be meant all the same is refused as ambiguous.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

from rightcall.domain import ProblemKind
from rightcall.parsing.unreadable import Unreadable

CALL_FENCES = frozenset(
    ("", "json", "json5", "jsonc", "tool_call", "tool_calls", "tool_code", "function_call", "tool", "xml")
)
"""Languages of fences that models wrap calls in; a fence of any other language is a listing."""

EXAMPLE = re.compile(
    r"\b(?:examples?|e\.g\.|for instance|such as|would (?:look|be|call|use)|could (?:be|call|use|write|type)"
    r"|you (?:can|could|would|should|might|may)|if you|format|syntax|template|schema|instead of|don't|do not"
    r"|alternatively|looks? like|something like|hypothetical)\b",
    re.IGNORECASE,
)
"""Words that present a call without any marker as an example."""

_PRESENTED = re.compile(
    r"\b(?:examples?|e\.g\.|for instance|syntax|looks? like|would look|is how|written as|form(?:at)? (?:is|looks))\b",
    re.IGNORECASE,
)
_INTRODUCED = re.compile(
    r"\b(?:writes?|types?|uses?|using|sends?|emits?|prints?|outputs?|says?|like|with|as|string|tags?|form|format|is)"
    r"[ \t]*:?[ \t]*\Z",
    re.IGNORECASE,
)
FENCE_LINE = re.compile(r"^[ \t]*```+[ \t]*(?P<info>[\w+#.\-]*)[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_SHOWN_LINE = re.compile(r"[ \t]*[>|]|.*<!--(?!.*-->)|.*<(?:code|pre|kbd)>\s*\Z")
_GOES_ON = re.compile(r"[ \t]*[,.;:]?[ \t]*\w")
_SPEAKER = re.compile(r"^[ \t*#]*(?:(?P<other>User|Human)|Assistant|AI|Bot)[ \t*]*:", re.MULTILINE | re.IGNORECASE)
_CLOSING_QUOTES = {'"': '"', "'": "'", "“": "”", "«": "»", "`": "`"}
_LINE_VALUE = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
_JSON = json.JSONDecoder(strict=False)
_MAX_VALUES = 64


def is_presented(words: str) -> bool:
    """Whether words around a marked call present it as an example."""
    return _PRESENTED.search(words) is not None


def in_listing(text: str, since: int, start: int) -> bool:
    """Whether a place lies in a fence that wraps no call: of another language, or with words on both sides.

    Fences before `since` belong to what has been read already.
    """
    fence: re.Match[str] | None = None
    lines = _fence_lines(text)
    for line in lines:
        if line.start() >= start:
            break
        if line.start() >= since:
            fence = None if fence and not line["info"] else fence or line
    if fence is None:
        return False
    close = next((line for line in lines if line.start() >= start and not line["info"]), None)
    before = text[: fence.start()].strip()
    after = text[close.end() :] if close else ""
    if fence["info"].lower() not in CALL_FENCES:
        return bool(before or after.strip() or text[fence.end() : start].strip())
    return bool(before and _FENCE.sub("", after).strip())


@lru_cache(maxsize=8)
def _fence_lines(text: str) -> tuple[re.Match[str], ...]:
    """The fence lines of a text, found once: every marker in it asks for them."""
    return tuple(FENCE_LINE.finditer(text))


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether a stretch stands in quotes, code marks, a block quote, a table or a comment."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    mark = text[start - 1 : start]
    if mark == "`" and text[start - 3 : start] != "```":
        return True
    return bool(_SHOWN_LINE.match(line)) or (mark in _CLOSING_QUOTES and text.startswith(_CLOSING_QUOTES[mark], end))


def in_sentence(text: str, since: int, start: int, end: int) -> bool:
    """Whether a stretch is the object of a sentence: "write <...> and wait". Text before `since` has been read."""
    line = max(text.rfind("\n", 0, start) + 1, since)
    return _INTRODUCED.search(text[line:start]) is not None and _GOES_ON.match(text, end) is not None


def in_transcript(text: str, start: int) -> bool:
    """Whether a place belongs to a dialogue that the model made up: someone else speaks before it, then the model."""
    others = [bool(turn["other"]) for turn in _SPEAKER.finditer(text, 0, start)]
    return any(others) and not others[-1]


def only_shown() -> Unreadable:
    """The fault of a call that may be an example, a quotation or a part of an invented dialogue."""
    reason = "a call stands inside an explanation; if it is meant, it must be the whole reply"
    return Unreadable(ProblemKind.AMBIGUOUS, reason)


def json_values(text: str) -> list[tuple[int, int]]:
    """Where JSON values stand that begin a line: a marker inside of one is a part of its strings.

    A string that nothing closes takes up all the rest of the text.
    """
    spans: list[tuple[int, int]] = []
    for found in list(_LINE_VALUE.finditer(text))[:_MAX_VALUES]:
        if spans and found.end() < spans[-1][1]:
            continue
        try:
            _value, end = _JSON.raw_decode(text, found.end())
        except RecursionError:
            continue
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Unterminated string"):
                continue
            end = len(text)
        spans.append((found.end(), end))
    return spans
