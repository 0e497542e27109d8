"""gpt-oss's harmony: messages with a channel, and a recipient where they are calls.

The recipient may stand in the role or in the channel part of the header (harmony's format description). What
is on the analysis channel without a recipient is reasoning. A call's JSON is read to its own end, because it
may quote any marker.
"""

from __future__ import annotations

import re

from rightcall.domain import ProblemKind
from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall
from rightcall.parsing.json_reader import read_json_at
from rightcall.parsing.names import match_name
from rightcall.parsing.unreadable import Unreadable

_OPENER = re.compile(
    r"<\|channel\|>|<\|start\|>(?=\w)"
    r"|\A\s*(?:assistant\s*)?to=[\w.\-]+\s*(?=<\|)"
    r"|\A\s*(?:analysis|commentary|assistant)?\s*to=functions\.[\w.\-]+\s*(?:code|json)?\s*(?=\{)"
    r"|(?<=\S)assistant(?:commentary|analysis)?\s*to=functions\.[\w.\-]+\s*(?:commentary)?\s*(?:code|json)?\s*(?=\{)"
)
_HEADER = re.compile(
    r"\s*(?:<\|start\|>)?(?P<head>(?:(?!<\|(?:message|start|end|call|return)\|>).){0,400}?)<\|message\|>", re.DOTALL
)
_BROKEN_HEADER = re.compile(r"\s*(?:<\|start\|>|<\|channel\|>).*?(?=<\|start\|>|<\|channel\|>|\Z)", re.DOTALL)
_RECIPIENT = re.compile(r"\bto=([\w.\-]+)")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_END = re.compile(
    r"<\|end\|>(?=\s*(?:<\|start\|>|<\|channel\|>|\Z))|<\|return\|>\s*\Z|<\|call\|>(?=\s*(?:<\|start\|>|\Z))"
)
_STOP = re.compile(r"\s*(?:<\|call\|>|<\|end\|>|<\|return\|>)")
_VISIBLE = frozenset(("final", "commentary"))


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    if not opener[0].startswith("<|") and not re.match(r"<\|", context.text[opener.end() :]):
        return _stripped(context, opener)
    text, at = context.text, opener.start()
    calls: list[RawCall] = []
    visible: list[str] = []
    thoughts: list[str] = []
    while at < len(text):
        header = _HEADER.match(text, at)
        if header is None:
            broken = _BROKEN_HEADER.match(text, at)
            if broken is None or broken.end() == at:
                break
            at = broken.end()
            continue
        head = header["head"]
        recipient, channel = _RECIPIENT.search(head), _CHANNEL.findall(head)
        if recipient and recipient[1] not in {"assistant", "user", "all"}:
            call, at = _call(context, recipient[1], header.end())
            calls.append(call)
            continue
        end = _END.search(text, header.end())
        body = text[header.end() : end.start() if end else len(text)]
        (thoughts if channel and channel[-1] not in _VISIBLE else visible).append(body)
        at = end.end() if end else len(text)
    if not calls and not visible and not thoughts:
        return Block(len(text), text=text[opener.start() :])
    return Block(at, tuple(calls), "".join(visible) + text[at:][:0], "\n".join(thoughts))


def _call(context: Context, recipient: str, start: int) -> tuple[RawCall, int]:
    text = context.text
    known = recipient.startswith("functions.") or match_name(recipient, context.names).name is not None
    if not known:
        end = _END.search(text, start)
        return RawCall(recipient, {}), end.end() if end else len(text)
    at = start
    while at < len(text) and text[at].isspace():
        at += 1
    try:
        read = read_json_at(text, at, context.keys)
    except Unreadable as fault:
        end = _END.search(text, start)
        kind = ProblemKind.UNPARSEABLE if end else fault.kind
        return RawCall(recipient, {}, fault=Unreadable(kind, fault.reason, at)), end.end() if end else len(text)
    stop = _STOP.match(text, read.end)
    return RawCall(recipient, read.value, repairs=read.repairs), stop.end() if stop else read.end


def _stripped(context: Context, opener: re.Match[str]) -> Block | None:
    """A call whose special tokens a server has stripped: `commentary to=functions.name json{...}`."""
    recipient = _RECIPIENT.search(opener[0])
    if recipient is None:
        return None
    call, end = _call(context, recipient[1], opener.end())
    return Block(end, (call,))


_STARTS = (
    "<|channel|>",
    "<|start|>",
    " to=",
    "to=",
    "assistant to=",
    "commentary to=",
    "analysis to=",
    "assistant<|",
)
DIALECT = Dialect("harmony", _OPENER, _STARTS, _read, ("<|channel|>", "<|start|>", "to="))
