"""What rightcall may do in a run: nothing (`bare`), read replies (`parse`), all of it (`full`), or as a file says.

Arms that show the tools alike ask the same first question, so they differ in what is made of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from rightcall.alignment.files import read_name_map
from rightcall.assemble import Searching, build_presentation, build_searching
from rightcall.attempts import Proposal
from rightcall.domain import ModelReply, Tool, ToolCall
from rightcall.errors import UsageError
from rightcall.evaluation.cases import Answer
from rightcall.ladder import DEFAULT_LADDER, ONE_ATTEMPT, Ladder
from rightcall.naming.map_text import map_to_text
from rightcall.naming.name_map import NameMap
from rightcall.parsing.parse import ParsingPolicy
from rightcall.record import note_to_json, problem_to_json
from rightcall.schema.compiled import compile_tools
from rightcall.text_files import read_toml
from rightcall.turn import Kit
from rightcall.validation.provenance import provenance_rules


@dataclass(frozen=True, slots=True)
class Arm:
    """What rightcall may do.

    `attempts`, `next_calls`, `deadline` (seconds a case), `tools_in_prompt`, `rewrite`, `narrow`, `embeddings`,
    `correction`, `harmless_tools`, `no_suitable_tool`, `provenance` and `relevance_floor` are the settings of those
    names; `names` is a name map; `text_calls` looks for calls in the text; `constrained` has the server decode the
    first attempt within the schema of a call, which is for measuring only: such a model cannot answer in words;
    `larger` asks the larger model last, where one is given; `reads` is off for `bare` alone: native calls are taken
    as they are.
    """

    name: str
    attempts: int = len(DEFAULT_LADDER.rungs)
    next_calls: int = DEFAULT_LADDER.next_calls
    deadline: float = DEFAULT_LADDER.seconds
    tools_in_prompt: bool = False
    text_calls: bool = True
    rewrite: str = "none"
    narrow: str = "none"
    embeddings: str = "none"
    correction: str = "off"
    harmless_tools: str = ""
    no_suitable_tool: bool = False
    provenance: str = "off"
    relevance_floor: bool = False
    names: NameMap | None = None
    constrained: bool = False
    larger: bool = True
    reads: bool = True

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the name, for the run's record."""
        settings = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "name"}
        # A map is known by what is in it, because a person may go on reviewing its file.
        if self.names is None:
            return settings | {"names": ""}
        digest = sha256(map_to_text(self.names).encode()).hexdigest()
        return settings | {"names": f"{self.names.model} sha256:{digest}"}

    def kit(self, kit: Kit, larger: str = "") -> Kit:
        """The kit with what this arm allows. `larger` names the model of the last attempt, if there is one."""
        kit = replace(
            kit,
            ladder=self._ladder(larger),
            parsing=ParsingPolicy(text_calls=self.text_calls),
            verifiers=provenance_rules(self.provenance),
            presentation=build_presentation(self.rewrite, names=self.names, no_suitable_tool=self.no_suitable_tool),
            in_prompt=self.tools_in_prompt,
        )
        return self._searching().within(kit)

    def check(self) -> None:
        """Raises `UsageError` where a setting has a value that there is not, `MissingExtra` where it needs one."""
        provenance_rules(self.provenance)
        build_presentation(self.rewrite)
        self._searching()

    def _searching(self) -> Searching:
        return build_searching(
            narrow=self.narrow,
            embeddings=self.embeddings,
            correction=self.correction,
            harmless=self.harmless_tools.split(","),
            relevance_floor=self.relevance_floor,
        )

    def _ladder(self, larger: str) -> Ladder:
        if not self.reads:
            return replace(ONE_ATTEMPT, seconds=self.deadline)
        first, *others = DEFAULT_LADDER.rungs[: self.attempts]
        ladder = Ladder(
            (replace(first, constrain=self.constrained), *others),
            next_calls=self.next_calls,
            seconds=self.deadline,
            verified=self.constrained,  # by the suite's score
        )
        return ladder.with_larger(larger) if self.larger and larger else ladder

    def answer(self, proposal: Proposal, tools: tuple[Tool, ...]) -> Answer:
        """What a client gets of a proposal."""
        if not self.reads:
            return _bare_answer(proposal.last.reply, tools)
        meant = proposal.calls or proposal.status == "unresolved"
        return Answer(
            status=proposal.status,
            calls=proposal.calls,
            text=proposal.text,
            valid=bool(proposal.calls) if meant else None,
            problems=tuple(problem_to_json(problem) for problem in proposal.problems),
            notes=tuple(note_to_json(note) for note in proposal.notes),
        )


BARE = Arm("bare", attempts=1, next_calls=0, text_calls=False, larger=False, reads=False)
PARSE = Arm("parse", attempts=1, next_calls=0, larger=False)
FULL = Arm("full")
_NAMED = {arm.name: arm for arm in (BARE, PARSE, FULL)}
_KINDS: Mapping[str, type] = {
    item.name: {"names": str, "deadline": float}.get(item.name, type(item.default))
    for item in fields(Arm)
    if item.name not in {"name", "reads"}
}


def load_arm(text: str) -> Arm:
    """An arm by its name, or from a TOML file of settings; the file's name without its ending is the arm's.

    Raises:
        UsageError: no such arm, or what in the file is wrong.
    """
    if text in _NAMED:
        return _NAMED[text]
    path = Path(text)
    if not path.is_file():
        raise UsageError(f"the arm {text!r} is none of {', '.join(_NAMED)}, and no file")
    values = read_toml(path, what=f"the arm's file {path}")
    arm = Arm(path.stem, **_checked(values, path))
    try:
        arm.check()
    except UsageError as error:
        raise UsageError(f"the arm's file {path}: {error}") from error
    return arm


def _checked(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    if type(values.get("narrow")) is int:
        values = {**values, "narrow": str(values["narrow"])}
    for name, value in values.items():
        kind = _KINDS.get(name)
        if kind is None:
            raise UsageError(f"{path} sets {name!r}; an arm has {', '.join(_KINDS)}")
        if not _fits(kind, value):
            raise UsageError(f"{path} sets {name} to {value!r}; it must be {kind.__name__}, and not negative")
    if not 1 <= values.get("attempts", 1) <= len(DEFAULT_LADDER.rungs):
        raise UsageError(f"{path} sets attempts to {values['attempts']}; allowed: 1 to {len(DEFAULT_LADDER.rungs)}")
    if name_map := values.get("names"):
        return {**values, "names": read_name_map(path.parent / name_map)}
    return {name: value for name, value in values.items() if name != "names"}


def _fits(kind: type, value: Any) -> bool:
    if kind is str:
        return isinstance(value, str)
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    return isinstance(value, int | float if kind is float else int) and value >= 0


def _bare_answer(reply: ModelReply, tools: tuple[Tool, ...]) -> Answer:
    """What a client of the bare server gets: native calls whose arguments are a JSON object, as they are."""
    toolset = compile_tools(tools)
    calls: list[ToolCall] = []
    problems: list[Mapping[str, Any]] = []
    for native in reply.tool_calls:
        arguments = _strict(native.arguments)
        if arguments is None:
            problems.append(_problem("unparseable", "arguments", native.name, "the arguments are no JSON object"))
            continue
        calls.append(ToolCall(native.id or "", native.name, arguments))
        if native.name not in toolset.by_name:
            problems.append(_problem("unknown_tool", "selection", native.name, "no such tool is offered"))
        elif not toolset.by_name[native.name].accepts(arguments):
            problems.append(_problem("constraint", "arguments", native.name, "the schema refuses the arguments"))
    if not reply.tool_calls:
        return Answer("text", text=reply.text)
    return Answer("calls" if calls else "unresolved", tuple(calls), reply.text, not problems, tuple(problems))


def _strict(arguments: Any) -> dict[str, Any] | None:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, dict) else None


def _problem(kind: str, family: str, tool: str, message: str) -> dict[str, Any]:
    return {"kind": kind, "family": family, "path": "", "message": message, "tool": tool}
