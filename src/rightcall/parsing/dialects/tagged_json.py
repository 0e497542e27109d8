"""JSON calls between markers: Hermes and Qwen, Granite, Phi, Hunyuan, Jamba, Nemotron, InternLM, LM Studio, ...

Sources: the chat templates of the models and the reports in the corpus; Hermes' is
`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.
"""

from __future__ import annotations

import re

from rightcall.domain import ProblemKind
from rightcall.parsing.dialects.base import Block, Context, Dialect, RawCall, skip_space, truncated, unparseable
from rightcall.parsing.dialects.envelope import calls_in, read_values, unread
from rightcall.parsing.dialects.pythonic import read_marked_calls
from rightcall.parsing.json_reader import read_json, read_json_at
from rightcall.parsing.unreadable import Unreadable

MARKERS = {
    "<tool_call>": "</tool_call>",
    "<tool_calls>": "</tool_calls>",
    "<tool>": "</tool>",
    "<tools>": "</tools>",
    "<tool_code>": "</tool_code>",
    "<tool_request>": "</tool_request>",
    "<function_call>": "</function_call>",
    "<function_calls>": "</function_calls>",
    "<functioncall>": "</functioncall>",
    "<TOOLCALL>": "</TOOLCALL>",
    "<|tool_call|>": "<|/tool_call|>",
    "<|tool_calls|>": "<|/tool_calls|>",
    "<|tool_call_start|>": "<|tool_call_end|>",
    "<|tools_prefix|>": "<|tools_suffix|>",
    "<|action_start|><|plugin|>": "<|action_end|>",
    "<|FunctionCallBegin|>": "<|FunctionCallEnd|>",
    "<tool_use>": "</tool_use>",
    "<use_mcp_tool>": "</use_mcp_tool>",
    "[TOOL_CALL]": "[/TOOL_CALL]",
    "[TOOL_REQUEST]": "[END_TOOL_REQUEST]",
    "functools[": "",
}
_PREAMBLE = re.compile(r"\s*(?:call:\s*(?=\{))?(?:```[ \t]*(?:json)?[ \t]*\n\s*)?")
_AFTER = re.compile(r"\s*(?:```\s*)?")
_ELEMENTS = re.compile(
    r"\s*(?:<server_name>[^<]*</server_name>\s*)?"
    r"<(?P<tag>name|tool_name|tool|function)>\s*(?P<name>[^<>\s]+)\s*</(?P=tag)>"
    r"\s*<(?P<key>arguments|parameters|args|input|params)>\s*(?=\{)"
)
_CLOSING = re.compile(r"\s*[}\]]*\s*(?:```\s*)?(?:</[\w:]+>|<\|/?[\w]+\|>|\[/?[A-Z_]+\])")
_OPENER = re.compile("|".join(re.escape(marker) for marker in sorted(MARKERS, key=len, reverse=True)))


def _read(context: Context, opener: re.Match[str]) -> Block | None:
    text, closer = context.text, MARKERS[opener[0]]
    start = opener.end() - 1 if opener[0].endswith("[") and not closer else opener.end()
    start = _PREAMBLE.match(text, start).end()  # type: ignore[union-attr]  # matches empty
    if start >= len(text):
        return truncated(context, f"the text ends after {opener[0]}")
    if text[start] not in "{[":
        return _without_json(context, opener, start, closer)
    if expressions := _expressions(context, start, closer):
        return expressions
    try:
        values, end, repairs = read_values(context, start)
    except Unreadable as fault:
        return _faulty(context, start, closer, fault)
    if not values:
        return _without_json(context, opener, start, closer)
    calls_found = calls_in(values if len(values) > 1 else values[0], context, marked=True)
    lost = unread(context, end)
    end = _end_of_lost(text, end, closer) if lost else _behind(text, end, closer)
    if calls_found is None:
        return (
            Block(end) if values == [[]] else unparseable(end, f"what {opener[0]} holds is no call: it has no name")
        )
    made = tuple(RawCall(c.name, c.arguments, c.id, repairs + c.repairs) for c in calls_found)
    return Block(end, made, fault=lost)


def _end_of_lost(text: str, end: int, closer: str) -> int:
    close = text.find(closer, end) if closer else -1
    return close + len(closer) if close >= 0 else len(text)


def _expressions(context: Context, start: int, closer: str) -> Block | None:
    """Call expressions between the markers: of any name where the closing marker stands."""
    closed = bool(closer) and context.text.find(closer, start) >= 0
    try:
        found = read_marked_calls(context, start, marked=closed)
    except Unreadable as fault:
        return None if closed else Block(len(context.text), fault=fault)
    return Block(_behind(context.text, found[1], closer), tuple(found[0])) if found else None


def _without_json(context: Context, opener: re.Match[str], start: int, closer: str) -> Block | None:
    """Markers around something else than JSON: a call expression, or nothing that can be read."""
    if expressions := _expressions(context, start, closer):
        return expressions
    close = context.text.find(closer, start) if closer else -1
    if close < 0:
        return None
    body = context.text[start:close].strip()
    end = close + len(closer)
    if not body:
        return Block(end)
    if elements := _ELEMENTS.match(context.text, start):
        return _from_elements(context, elements, end)
    return unparseable(end, f"what stands between {opener[0]} and {closer} is neither JSON nor a call")


def _from_elements(context: Context, elements: re.Match[str], end: int) -> Block:
    """`<name>...</name><arguments>{...}</arguments>` between the markers."""
    try:
        read = read_json_at(context.text, elements.end(), context.keys)
    except Unreadable as fault:
        return Block(end, (RawCall(elements["name"], {}, fault=fault),))
    close = f"</{elements['key']}>"
    if not context.text.startswith(close, skip_space(context.text, read.end)):
        return unparseable(end, f"the arguments of {elements['name']} are not one JSON object")
    return Block(max(end, read.end), (RawCall(elements["name"], read.value, repairs=read.repairs),))


def _faulty(context: Context, start: int, closer: str, fault: Unreadable) -> Block:
    """A body that is no JSON as it stands. A closing marker behind it shows that it was not cut off."""
    text = context.text
    close = text.find(closer, start) if closer else -1
    if close < 0:
        return Block(len(text), fault=fault)
    end, body = close + len(closer), text[start:close].rstrip()
    for candidate, repair in ((body, ()), (body + "}", ("missing_closer",))):
        # Only the envelope's own bracket is put in: that of the arguments stands, so nothing of them is lost.
        if repair and not body.endswith("}"):
            continue
        try:
            read = read_json(candidate, context.keys)
        except Unreadable:
            continue
        calls = calls_in(read.value, context, marked=True)
        if calls and (not repair or (len(calls) == 1 and isinstance(read.value, dict))):
            return Block(end, tuple(RawCall(c.name, c.arguments, c.id, read.repairs + repair) for c in calls))
    if fault.kind is ProblemKind.TRUNCATED:
        end = len(text)  # it was read to the end of the text, so the closing marker may stand in a string
        fault = Unreadable(ProblemKind.UNPARSEABLE, "a bracket or a string in it is not closed", fault.position)
    return Block(end, fault=fault)


def _behind(text: str, end: int, closer: str) -> int:
    """The position behind the closing marker, which some models leave out or take from another format."""
    at = _AFTER.match(text, end).end()  # type: ignore[union-attr]  # matches empty
    if closer and text.startswith(closer, at):
        return at + len(closer)
    closing = _CLOSING.match(text, end)
    return closing.end() if closing else end


DIALECT = Dialect("tagged_json", _OPENER, tuple(MARKERS), _read)
