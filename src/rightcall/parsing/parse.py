"""A reply into calls: native ones first, then the text in any dialect; each read, named, repaired and fitted.

Pure. What comes out is well formed but not yet validated: that is the next stage.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rightcall.domain import (
    Grade,
    ModelReply,
    Note,
    Problem,
    ProblemKind,
    Reading,
    ToolCall,
)
from rightcall.parsing.coerce import DEFAULT_POLICY as DEFAULT_COERCION
from rightcall.parsing.coerce import CoercionPolicy, coerce
from rightcall.parsing.conversions import has_raw, plain
from rightcall.parsing.dialects.base import Context, RawCall
from rightcall.parsing.dialects.envelope import calls_in
from rightcall.parsing.json_reader import read_json
from rightcall.parsing.names import MAX_NAME, Match, fold, match_name, suggest
from rightcall.parsing.text import read_text, split_reasoning
from rightcall.parsing.unreadable import Unreadable
from rightcall.schema.compiled import CompiledTool, Toolset
from rightcall.schema.references import json_type

MAX_CHARS = 4_000_000
_ENDED = frozenset(("stop", "tool_calls", "function_call", "end_turn", "eos", "complete"))
_WRAPPERS = frozenset(
    ("arguments", "parameters", "args", "input", "params", "kwargs", "properties", "arguments_json")
)
_CARRIERS = frozenset(
    ("multitooluseparallel", "parallel", "function", "functioncall", "tool", "toolcall", "calltool", "callfunction")
)
"""Names that say only that something is called; the arguments hold what."""

_MAX_ENCODINGS = 3
_SALVAGE = re.compile(
    r"(?:Failed to parse input at pos \d+:|unparsed (?:peg-native )?output:)\s*(?P<text>.+)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class ParsingPolicy:
    """How replies are read. `text_calls`: look for calls in the text where there is no native one.

    `nearest` may name the tool to take for a name that no tool has; None where none is to be taken.
    """

    text_calls: bool = True
    coercion: CoercionPolicy = DEFAULT_COERCION
    nearest: Callable[[str, Toolset], str | None] | None = None


DEFAULT_POLICY = ParsingPolicy()


def new_call_id() -> str:
    """An id for a call that came without one, in OpenAI's form."""
    return f"call_{secrets.token_hex(12)}"


def parse_reply(
    reply: ModelReply,
    tools: Toolset,
    policy: ParsingPolicy = DEFAULT_POLICY,
    make_id: Callable[[], str] = new_call_id,
) -> Reading:
    """Reads what a reply says.

    Args:
        reply: what came back from the model.
        tools: what it was offered; calls of anything else are `unknown_tool`.
        policy: how to read.
        make_id: makes ids for calls that have none.

    Returns:
        Calls in the order written, problems of what was meant as a call and is none, notes of every repair,
        and the text that is left. Nothing raises on account of the reply's content.
    """
    if reply.broken is not None:
        return _salvaged(reply, tools, policy, make_id)
    if len(reply.text) > MAX_CHARS:
        reason = f"the reply has {len(reply.text)} characters; at most {MAX_CHARS} are read"
        return Reading(problems=(Problem(ProblemKind.UNPARSEABLE, reason),), text=reply.text)
    run = _Parse(reply, tools, policy, make_id)
    if reply.tool_calls:
        raw = [RawCall(call.name, call.arguments, call.id) for call in reply.tool_calls]
        parts = split_reasoning(reply.text, reasoning_open=reply.reasoning_open)
        return run.reading(raw, [], parts.text, _joined(reply.reasoning, parts.reasoning))
    if not (policy.text_calls and len(tools)):
        parts = split_reasoning(reply.text, reasoning_open=reply.reasoning_open)
        return Reading(text=parts.text, reasoning=_joined(reply.reasoning, parts.reasoning))
    parts = read_text(_context(reply, tools), reasoning_open=reply.reasoning_open)
    return run.reading(parts.calls, parts.faults, parts.text, _joined(reply.reasoning, parts.reasoning))


@dataclass(slots=True)
class _Parse:
    reply: ModelReply
    tools: Toolset
    policy: ParsingPolicy
    make_id: Callable[[], str]

    def reading(self, raw: list[RawCall], faults: list[Unreadable], text: str, reasoning: str) -> Reading:
        calls: list[ToolCall] = []
        problems: list[Problem] = []
        for call in _expanded(raw, self.tools):
            outcome = self.call(call)
            if isinstance(outcome, ToolCall):
                calls.append(outcome)
            else:
                problems.append(outcome)
        problems += (_fault_problem(fault) for fault in faults)
        return Reading(tuple(calls), tuple(problems), text, reasoning)

    def call(self, raw: RawCall) -> ToolCall | Problem:
        """One raw call as a call of a declared tool, or why it is none."""
        identifier = raw.id or self.make_id()
        tool, named = self.tools.by_name.get(raw.name), None
        if tool is None:
            match = match_name(raw.name, self.tools.names)
            if match.name is None and raw.fault and raw.fault.kind is ProblemKind.TRUNCATED and self.begins(raw.name):
                return _fault_problem(raw.fault, identifier=identifier)
            if match.name is None and not match.candidates:
                match = self.nearest(raw.name) or match
            if match.name is None:
                return _unknown(raw.name, match.candidates, self.tools.names, identifier)
            tool, named = self.tools.by_name[match.name], match.note
        if raw.fault:
            return _fault_problem(raw.fault, tool.name, identifier)
        try:
            arguments, notes = self.arguments(raw.arguments, tool)
        except Unreadable as fault:
            return _fault_problem(fault, tool.name, identifier)
        if isinstance(arguments, Problem):
            return arguments
        if not (named or raw.repairs or notes):
            return ToolCall(identifier, tool.name, arguments)
        repaired = [Note(kind, Grade.LOSSLESS) for kind in raw.repairs]
        every = tuple(_of(tool.name, note) for note in ([named] if named else []) + repaired + notes)
        return ToolCall(identifier, tool.name, arguments, every)

    def nearest(self, written: str) -> Match | None:
        """What the policy takes for a name that no tool has."""
        take = self.policy.nearest if written.strip() and len(written) <= MAX_NAME else None
        name = take(written, self.tools) if take else None
        return Match(name, Note("name_nearest", Grade.INFERRED, before=written, after=name)) if name else None

    def begins(self, name: str) -> bool:
        """Whether a name is the beginning of a declared one, so that it may be cut off itself."""
        return any(declared.startswith(name) for declared in self.tools.names)

    def arguments(self, written: Any, tool: CompiledTool) -> tuple[dict[str, Any] | Problem, list[Note]]:
        notes: list[Note] = []
        value, is_text = written, isinstance(written, str)
        if is_text:
            value, repairs = _decoded(written, tool)
            notes += [Note(kind, Grade.LOSSLESS) for kind in repairs]
        typed = type(value) is dict and value.keys() <= tool.declared and (is_text or not has_raw(value))
        if typed and tool.accepts(value):
            return value, notes
        value = _unboxed(value, tool, notes)
        if not isinstance(value, dict):
            return _no_object(value, tool), notes
        fitted, changes = coerce(value, tool.tool.parameters, self.policy.coercion)
        return plain(fitted), [*notes, *changes]


def _decoded(text: str, tool: CompiledTool) -> tuple[Any, tuple[str, ...]]:
    """Arguments sent as text. Nothing at all, `null` and `None` are how some servers write no arguments."""
    bare = text.strip()
    if bare in {"", "null", "None"}:
        return {}, () if not bare else ("null_arguments",)
    read = read_json(text, tool.declared)
    value, repairs = read.value, read.repairs
    for _again in range(_MAX_ENCODINGS):
        if not isinstance(value, str) or value.lstrip()[:1] not in {"{", '"'}:
            break
        inner = read_json(value, tool.declared)
        value, repairs = inner.value, (*repairs, "double_encoded", *inner.repairs)
    return value, repairs


def _unboxed(value: Any, tool: CompiledTool, notes: list[Note]) -> Any:
    """The arguments object out of what models wrap around it."""
    if value is None:
        return {}
    if value == [] and not tool.required:
        # PHP writes an empty object so.
        notes.append(Note("empty_list", Grade.LOSSLESS, before=value, after={}))
        return {}
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        notes.append(Note("list_of_one", Grade.LOSSLESS, before=value, after=value[0]))
        value = value[0]
    if not isinstance(value, dict):
        return value
    if (
        isinstance(value.get("properties"), dict)
        and value.get("type") == "object"
        and "properties" not in tool.declared
    ):
        # The model repeats the schema; its properties hold the values, or nothing.
        notes.append(Note("schema_echo", Grade.TYPED, before=value, after=value["properties"]))
        return value["properties"]
    inner = _wrapped(value, tool)
    if inner is not None and inner.keys() <= tool.declared and tool.required <= inner.keys():
        notes.append(Note("wrapper", Grade.TYPED, before=value, after=inner))
        return inner
    return value


def _wrapped(value: dict[str, Any], tool: CompiledTool) -> dict[str, Any] | None:
    """What stands under the one key that only wraps the arguments, maybe beside the tool's own name."""
    keys = [key for key in value if not (key == "name" and value[key] == tool.name)]
    if len(keys) != 1 or keys[0] not in _WRAPPERS or not value.keys().isdisjoint(tool.declared):
        return None
    inner = value[keys[0]]
    if isinstance(inner, str) and inner.lstrip()[:1] == "{":
        try:
            inner = read_json(inner, tool.declared).value
        except Unreadable:
            return None
    return inner if isinstance(inner, dict) else None


def _no_object(value: Any, tool: CompiledTool) -> Problem:
    if isinstance(value, list) and len(value) > 1:
        message = f"the arguments of {tool.name} are a list of {len(value)}; make one call for each of them"
        return Problem(ProblemKind.AMBIGUOUS, message, got=value, allowed="object", tool=tool.name)
    message = f"the arguments of {tool.name} must be a JSON object, not {json_type(value)} {_short(value)}"
    return Problem(ProblemKind.WRONG_TYPE, message, got=value, allowed="object", tool=tool.name)


def _expanded(raw: list[RawCall], tools: Toolset) -> list[RawCall]:
    """Calls of what no one offers but models have seen, such as `multi_tool_use.parallel`, as the calls they hold."""
    found: list[RawCall] = []
    for call in raw:
        inner = None
        if (
            call.name not in tools.by_name
            and fold(call.name) in _CARRIERS
            and match_name(call.name, tools.names).name is None
        ):
            try:
                value = read_json(call.arguments).value if isinstance(call.arguments, str) else call.arguments
                inner = calls_in(value, _names_only(tools), marked=True) if isinstance(value, Mapping) else None
            except Unreadable:
                inner = None
        found += inner or [call]
    return found


def _unknown(written: str, candidates: tuple[str, ...], names: list[str], identifier: str) -> Problem:
    shown = json.dumps(written, ensure_ascii=False)[:120]
    if candidates:
        message = f"{shown} could be any of {_listed(candidates)}; write the full name of the one that is meant"
        return Problem(
            ProblemKind.AMBIGUOUS,
            message,
            got=written,
            allowed=list(candidates),
            call_id=identifier,
            about_selection=True,
        )
    near = suggest(written, names) if written.strip() else []
    hint = f" Nearest: {_listed(near)}." if near else ""
    allowed = f"The tools are {_listed(names)}." if names else "No tool is offered."
    message = f"{shown} is not a tool.{hint} {allowed}" if written.strip() else f"the call names no tool. {allowed}"
    return Problem(ProblemKind.UNKNOWN_TOOL, message, got=written, allowed=list(names), call_id=identifier)


def _fault_problem(fault: Unreadable, tool: str = "", identifier: str | None = None) -> Problem:
    where = f"the arguments of {tool}" if tool else "the call"
    message = {
        ProblemKind.TRUNCATED: f"{where} stopped early: {fault.reason}. Write it again, whole and shorter.",
        ProblemKind.AMBIGUOUS: f"{where} can be read in more than one way: {fault.reason}.",
    }.get(fault.kind, f"{where} cannot be read: {fault.reason}. Write one valid JSON object.")
    return Problem(fault.kind, message, got=fault.reason, allowed="one JSON object", tool=tool, call_id=identifier)


def _salvaged(reply: ModelReply, tools: Toolset, policy: ParsingPolicy, make_id: Callable[[], str]) -> Reading:
    """A server that failed on the model's own output: its error may carry the text that broke its parser."""
    broken = reply.broken or ""
    found = _SALVAGE.search(broken)
    if found and len(tools):
        whole = ModelReply(text=found["text"].strip(), finish_reason=reply.finish_reason)
        reading = parse_reply(whole, tools, policy, make_id)
        if reading.calls:
            return reading
    message = f"the server could not read the model's output: {broken[:300]}"
    return Reading(problems=(Problem(ProblemKind.UNPARSEABLE, message, got=broken),))


def _context(reply: ModelReply, tools: Toolset) -> Context:
    parameters = {tool.name: tool.declared for tool in tools}
    keys = frozenset(("name", "arguments", "parameters")).union(*parameters.values())
    finish = (reply.finish_reason or "").lower()
    return Context(reply.text, tuple(parameters), parameters, keys, finish == "length", finish in _ENDED)


def _names_only(tools: Toolset) -> Context:
    return Context("", tuple(tools.names), {tool.name: tool.declared for tool in tools})


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _of(tool: str, note: Note) -> Note:
    return note if note.tool else Note(note.kind, note.grade, note.path, note.before, note.after, tool)


def _listed(names: Any) -> str:
    shown = [json.dumps(name, ensure_ascii=False) for name in list(names)[:30]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _short(value: Any, limit: int = 60) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"
