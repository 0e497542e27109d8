"""The words of rightcall, as frozen data. Standard library only; every other module speaks them.

Reading order: what is offered (`Tool`), what is asked (`ModelRequest`), what came back (`ModelReply`),
what it says (`Reading`: calls, problems, notes), piece by piece.

Messages have one form inside, that of OpenAI's Chat Completions (mappings with `role`, `content`, ...);
codecs at the edge translate from and to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

JsonObject: TypeAlias = Mapping[str, Any]
Message: TypeAlias = Mapping[str, Any]

KEPT_TOOLS = 32_768
"""Of so many tools each stage keeps what it has made of them; were it fewer than a client offers, none would stay."""


@dataclass(frozen=True, slots=True)
class Effects:
    """What running a tool does, in MCP's terms and with MCP's cautious defaults."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A tool as it is offered. `parameters` is a JSON Schema (2020-12 unless it names another draft).

    `extra` keeps the fields of the wire form that rightcall does not read (`strict`, `cache_control`, ...).
    Tools compare by identity: two tools of one name may differ in schema.
    """

    name: str
    description: str = ""
    parameters: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    effects: Effects = Effects()
    extra: JsonObject = field(default_factory=dict)


class ChoiceMode(StrEnum):
    """How free the model is to call."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """`mode`, and the demanded tool's name where the mode is `named`."""

    mode: ChoiceMode = ChoiceMode.AUTO
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What is sent to a model.

    `extra` holds every other field of the client's request (temperature, max_tokens, seed, ...): it is
    passed on as it came. `model` may be empty: the server's own.
    """

    messages: Sequence[Message]
    model: str = ""
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    extra: JsonObject = field(default_factory=dict)

    @property
    def choice(self) -> ToolChoice:
        """The tool choice in force: `auto` where the client said nothing."""
        return self.tool_choice or ToolChoice()

    def tool(self, name: str) -> Tool | None:
        """The first offered tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)


@dataclass(frozen=True, slots=True)
class NativeCall:
    """One call in a reply's `tool_calls`, as it came: nothing checked, anything may be missing or odd."""

    name: str
    arguments: Any
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the server counted them."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back from a model: text, native calls and reasoning kept apart.

    `finish_reason` is the server's (`stop`, `length`, `tool_calls`, ...), None where it said nothing.
    `reasoning_open` says that the prompt already opened a reasoning block, so that the text begins inside
    it. `broken` holds the server's error text where the server failed on the model's own output.
    `body` is the wire form as it came.
    """

    text: str = ""
    tool_calls: tuple[NativeCall, ...] = ()
    reasoning: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str = ""
    reasoning_open: bool = False
    broken: str | None = None
    body: JsonObject = field(default_factory=dict)


class Grade(StrEnum):
    """How sure a repair is. There is no grade for invented: a missing value is never filled in."""

    LOSSLESS = "lossless"
    """Syntax only; one possible reading."""
    TYPED = "typed"
    """The declared schema decides: "12" becomes 12."""
    INFERRED = "inferred"
    """A closed set decides: an enum member or a name, spelled otherwise."""


@dataclass(frozen=True, slots=True)
class Note:
    """One repair: what was changed, where (JSON pointer into the arguments), from what to what."""

    kind: str
    grade: Grade
    path: str = ""
    before: Any = None
    after: Any = None
    tool: str = ""


class Family(StrEnum):
    """Problems of different families have different cures, so they are never counted together."""

    SELECTION = "selection"
    ARGUMENTS = "arguments"
    POLICY = "policy"
    PROTOCOL = "protocol"


class ProblemKind(StrEnum):
    """Why something was refused."""

    UNPARSEABLE = "unparseable"
    TRUNCATED = "truncated"
    AMBIGUOUS = "ambiguous"
    UNKNOWN_TOOL = "unknown_tool"
    MISSING_REQUIRED = "missing_required"
    WRONG_TYPE = "wrong_type"
    NOT_IN_ENUM = "not_in_enum"
    EXTRA_ARGUMENT = "extra_argument"
    CONSTRAINT = "constraint"
    DENIED = "denied"
    UNVERIFIED = "unverified"
    PROTOCOL = "protocol"


_FAMILY = {
    ProblemKind.UNKNOWN_TOOL: Family.SELECTION,
    ProblemKind.DENIED: Family.POLICY,
    ProblemKind.UNVERIFIED: Family.POLICY,
    ProblemKind.PROTOCOL: Family.PROTOCOL,
}


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a call, or a whole reply, was refused. Data, not an exception: it can be shown, counted, sent back.

    `message` is mechanical and addressed to the model: what was got, what is allowed, where. `path` is a
    JSON pointer into the arguments. `call_id` and `tool` name the call that it is about, where there is one.
    """

    kind: ProblemKind
    message: str
    path: str = ""
    got: Any = None
    allowed: Any = None
    tool: str = ""
    call_id: str | None = None
    about_selection: bool = False

    @property
    def family(self) -> Family:
        """Which cure it needs: descriptions, schemas, permissions or the host's own history."""
        if self.about_selection:
            return Family.SELECTION
        return _FAMILY.get(self.kind, Family.ARGUMENTS)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that may be run: a declared name, and arguments that the tool's schema accepts."""

    id: str
    name: str
    arguments: dict[str, Any]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply says. Good calls stand beside the problems of bad ones; the host decides what to run."""

    calls: tuple[ToolCall, ...] = ()
    problems: tuple[Problem, ...] = ()
    text: str = ""
    reasoning: str = ""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Every repair of the calls, in order."""
        return tuple(note for call in self.calls for note in call.notes)

    def with_problems(self, *problems: Problem) -> Reading:
        """The same reading with `problems` added."""
        return replace(self, problems=self.problems + problems) if problems else self
