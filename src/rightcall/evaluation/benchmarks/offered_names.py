"""Names as backends take them: letters, digits, `_` and `-`, at most 64 of them, each once."""

from __future__ import annotations

import re
from collections.abc import Iterable

_REFUSED = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64


def offered_names(names: Iterable[str]) -> list[str]:
    """A name for each, in order: other characters become `_`, and a name that is taken gets a number behind it."""
    taken: set[str] = set()
    offered = []
    for name in names:
        plain = _REFUSED.sub("_", name)[:_LONGEST] or "tool"
        unique, number = plain, 2
        while unique in taken:
            unique = f"{plain[: _LONGEST - len(str(number)) - 1]}_{number}"
            number += 1
        taken.add(unique)
        offered.append(unique)
    return offered
