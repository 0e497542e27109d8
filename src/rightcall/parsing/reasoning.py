"""Reasoning blocks. What stands in them is inert: never a call, never shown as text."""

from __future__ import annotations

import re

BLOCKS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<mm:think>": "</mm:think>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "◁think▷": "◁/think▷",
}
OPEN = re.compile("|".join(map(re.escape, BLOCKS)))
CLOSE = re.compile("|".join(map(re.escape, BLOCKS.values())))
ANSWER = "<|open|>response<|sep|>"
"""Where an answer begins without any reasoning, in Kimi K3's format."""


def skipped(text: str) -> bool:
    """Whether a text whose prompt had opened a reasoning block begins with something else all the same."""
    return OPEN.match(text.lstrip()) is not None or text.lstrip().startswith(ANSWER)


def block_end(text: str, opener: re.Match[str]) -> tuple[int, int]:
    """Where the content of a reasoning block ends, and where the text goes on: both the end if it is not closed."""
    closer = BLOCKS[opener[0]]
    end = text.find(closer, opener.end())
    return (end, end + len(closer)) if end >= 0 else (len(text), len(text))
