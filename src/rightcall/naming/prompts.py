"""What a model is asked: a name for a description, and a plainer description.

Source: PA-Tool, section 4.3: each component's description alone is given, never its original name, so that noise in
names cannot reach the answer (appendix I). Descriptions: the paper's adaptation of EasyTool (appendix G.3): one or
two sentences that begin with what the tool does, written by the target model itself.
"""

from __future__ import annotations

import re

from rightcall.domain import Message

VERSION = 1
"""Goes up with the wording, because another question has other answers."""
NAME_TOKENS = 32
DESCRIPTION_TOKENS = 160
_MAX_DESCRIPTION = 4000
_MAX_SENTENCES = 2
_NAMING = (
    "You name the parts of programming interfaces. Answer with one name, as you would write it in code,"
    " and with nothing else: no spaces, no quotes, no explanation."
)
_TOOL = "What is the name of the tool that is described here?\n\n{}"
_PARAMETER = "What is the name of the parameter that is described here?\n\n{}"
_DESCRIBING = (
    "You write documentation of tools for programs that choose between them. Rewrite the description of a tool in one"
    " or two short sentences. Begin with a verb that says what it does, such as Retrieves or Calculates. Leave out"
    " repetition, praise and links; keep what it needs and what it does not do. Answer with the description alone."
)
_LABEL = re.compile(r"^\W*(?:new |rewritten )?description\W*:\W*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def name_messages(description: str, *, parameter: bool) -> list[Message]:
    """The question for a name."""
    question = (_PARAMETER if parameter else _TOOL).format(description[:_MAX_DESCRIPTION].strip())
    return [{"role": "system", "content": _NAMING}, {"role": "user", "content": question}]


def description_messages(description: str) -> list[Message]:
    """The question for a plainer description."""
    return [
        {"role": "system", "content": _DESCRIBING},
        {"role": "user", "content": description[:_MAX_DESCRIPTION].strip()},
    ]


def description_from(text: str, *, cut: bool) -> str | None:
    """The description that an answer holds: two sentences at most, whole ones; None where there is none."""
    first = text.rpartition("</think>")[2].strip().strip("`\"' \n").split("\n\n", 1)[0]
    sentences = _SENTENCE_END.split(" ".join(_LABEL.sub("", first).split()))
    if cut and len(sentences) <= _MAX_SENTENCES:
        sentences = sentences[:-1]
    return " ".join(sentences[:_MAX_SENTENCES]).strip("\"'` ") or None
