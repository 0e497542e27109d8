"""What models and tools said, as text that is shown and never obeyed."""

from __future__ import annotations

import re

# Controls but line feed and tab, what reorders or hides text, lone surrogates, and what XML cannot hold.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)


def visible(text: object) -> str:
    """`text` with everything that a terminal or a browser would act on written out as an escape."""
    return _UNSAFE.sub(lambda found: ascii(found.group())[1:-1], str(text))


def one_line(text: object) -> str:
    """`visible` text that cannot draw a second line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")
