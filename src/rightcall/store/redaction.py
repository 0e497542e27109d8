"""What the log keeps of an event's data: content or only its length, secrets or a mark in their place.

`redact_secrets` is best effort. It knows the public shapes of secrets, not yours: a password without a name
beside it looks like any other word. Where content must not be kept at all, use `content="none"`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Literal, NamedTuple, TypeAlias

Content: TypeAlias = Literal["full", "none"]
Redact: TypeAlias = Callable[[str], str]

CONTENT_KEYS = frozenset(
    {
        "after",
        "allowed",
        "arguments",
        "before",
        "body",
        "broken",
        "content",
        "error",
        "got",
        "message",
        "messages",
        "messages_added",
        "query",
        "raw",
        "reasoning",
        "text",
        "tools",
        "unused",
    }
)
"""The keys, at any depth, that hold what people, models and tools said. `broken` and `error` are among them because
servers quote prompts and replies in their errors."""

REDACTED = "[redacted]"
DEEPEST = 100
"""Levels of nesting that are looked through; a mark stands for what lies deeper."""

_LONGEST_INT = 10_000  # bits; Python refuses to write much longer ones as decimal digits


class _Secret(NamedTuple):
    """A shape of secret. Text that holds none of `needles` (lower case) is not searched, which is most text.

    Each pattern is linear in the text: its repeats are possessive or short, and a lookbehind lets a long token
    be tried from its beginning only.
    """

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    replacement: str


def _pair(names: str, shortest: int) -> re.Pattern[str]:
    """`name=value` as people write it, in JSON, and in JSON inside a JSON string. Groups: all but the value."""
    separator = r"""\\{0,3}["']?[ \t]{0,8}[:=][ \t]{0,8}"""
    scheme = r"""(?:(?:bearer|basic|token)[ \t]{1,8})?+"""
    quoted = rf"""(?P<quote>\\{{0,3}}["'])({scheme})(?:(?!(?P=quote))(?:\\.|[^\\\n])){{{shortest},}}+"""
    bare = rf"""({scheme})[^\s"'\\,;&{{}}\[\]()<>]{{{shortest},}}+"""
    return re.compile(rf"((?:{names}){separator})(?:{quoted}|{bare})", re.IGNORECASE)


_NAMES = r"pass(?:word|wd|phrase)|pwd|(?:api|access|secret|private)[_-]?key|client[_-]?secret|authorization"
_COMMON_NAMES = r"token|secret|credentials?"  # everyday words too: what they name is secret only where it is long
_COMMON_SHORTEST = 8
_NAMED_KEY = re.compile(rf"(?:{_NAMES})$", re.IGNORECASE)
_COMMON_KEY = re.compile(rf"(?:{_COMMON_NAMES})$", re.IGNORECASE)

_SECRETS = (
    _Secret(
        ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[^-]|-(?!----))*+(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
        ),
        REDACTED,
    ),
    _Secret(("eyj",), re.compile(r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+\.[\w-]*+", re.ASCII), REDACTED),  # JWT
    _Secret(
        ("bearer", "basic"),
        re.compile(r"\b((?:Bearer|Basic)[ \t]{1,8})[\w.~+/=-]{16,}+", re.ASCII | re.IGNORECASE),
        rf"\1{REDACTED}",
    ),
    _Secret(
        ("sk-", "pk-", "rk-", "glpat-", "xox"),
        re.compile(r"(?<![\w-])(?:[spr]k|glpat|xox[a-z])-[\w-]{16,}+", re.ASCII),
        REDACTED,
    ),
    _Secret(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "hf_", "npm_", "k_live_", "k_test_"),
        re.compile(r"(?<![\w-])(?:gh[pousr]|github_pat|hf|npm|[spr]k_(?:live|test))_\w{16,}+", re.ASCII),
        REDACTED,
    ),
    _Secret(
        ("akia", "asia", "aiza"),
        re.compile(r"(?<![\w-])(?:(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35})(?![\w-])", re.ASCII),
        REDACTED,
    ),
    _Secret(("://",), re.compile(r"(://[^\s/:@]{0,100}+:)[^\s/@]{1,200}+(?=@)"), rf"\1{REDACTED}"),
    _Secret(
        ("passw", "passphrase", "pwd", "_key", "-key", "ikey", "skey", "tkey", "ekey", "client", "authorization"),
        _pair(_NAMES, 1),
        rf"\1\2\3\4{REDACTED}",
    ),
    _Secret(("token", "secret", "credential"), _pair(_COMMON_NAMES, _COMMON_SHORTEST), rf"\1\2\3\4{REDACTED}"),
)


_NEEDLES = tuple(needle for secret in _SECRETS for needle in secret.needles)
_COUNTED = '_tokens":'  # a key such as `output_tokens`, which names a number and stands in every reply's event


def redact_secrets(text: str) -> str:
    """`text` with API keys, bearer tokens, JWTs, private keys and `password=...` pairs replaced by a mark."""
    lowered = text.lower()
    for secret in _SECRETS:
        if any(needle in lowered for needle in secret.needles):
            text = secret.pattern.sub(secret.replacement, text)
    return text


def as_json(data: Any, *, content: Content = "full", redact: Redact | None = None) -> str:
    """`data` as JSON text that can always be written and read again. Never raises.

    What JSON has no form for is shown in words; what is JSON already keeps its values exactly. With `redact`, every
    string value goes through it, and a string under a name such as `password` is replaced whole.
    """
    if content == "full" and (redact is None or redact is redact_secrets):
        try:
            text = _written(data)
            if redact is None or not _may_hold_secret(text):
                return text
        except Exception:  # noqa: BLE001, S110 - whatever is odd about it, the slow way below can write it
            pass
    return _written(_Plain(content, redact).plain(data))


def _may_hold_secret(text: str) -> bool:
    """Whether JSON text holds what a secret begins with or is named by. Most holds neither: it is not walked."""
    lowered = text.lower().replace(_COUNTED, "")
    return any(needle in lowered for needle in _NEEDLES)


# Only ASCII: lone surrogates, which models do write, have no UTF-8 form but do have a JSON escape.
_written = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class _Plain:
    """Turns one event's data into plain JSON values, without content or secrets where that is asked."""

    def __init__(self, content: Content, redact: Redact | None) -> None:
        self._content = content
        self._redact = redact
        self._inside: set[int] = set()

    def plain(self, value: Any) -> Any:
        """`value` in dicts, lists, strings, finite numbers, booleans and None."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return int(value) if value.bit_length() < _LONGEST_INT else hex(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(value)
        if isinstance(value, bytes | bytearray):
            return self._text(value.decode("utf-8", "backslashreplace"))
        return self._nested(value)

    def _nested(self, value: Any) -> Any:
        if id(value) in self._inside:
            return "[circular]"
        if len(self._inside) >= DEEPEST:
            return "[nested too deeply]"
        self._inside.add(id(value))
        try:
            if isinstance(value, Mapping):
                pairs = ((key if isinstance(key, str) else str(key), member) for key, member in value.items())
                return {key: self._member(key, member) for key, member in pairs}
            if isinstance(value, Sequence | AbstractSet):
                return [self.plain(member) for member in value]
            return self._text(repr(value))
        except Exception as error:  # noqa: BLE001 - foreign code ran: a repr, a key's str, an odd mapping
            return f"[{type(value).__name__} that cannot be shown: {type(error).__name__}]"
        finally:
            self._inside.discard(id(value))

    def _member(self, key: str, value: Any) -> Any:
        if self._content == "none" and key in CONTENT_KEYS and value is not None:
            return {"omitted": True, "chars": len(value) if isinstance(value, str) else len(as_json(value))}
        if self._redact is not None and isinstance(value, str) and _names_secret(key, value):
            return REDACTED
        return self.plain(value)

    def _text(self, text: str) -> str:
        if self._redact is None:
            return text
        try:
            return str(self._redact(text))
        except Exception:  # noqa: BLE001 - the caller's function; the text must neither leak nor stop the log
            return "[redaction failed]"


def _names_secret(key: str, value: str) -> bool:
    return bool(_NAMED_KEY.search(key)) or (len(value) >= _COMMON_SHORTEST and bool(_COMMON_KEY.search(key)))
