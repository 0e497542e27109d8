"""Users' own cases: a file of prompts, tools and the calls that are right. Its form: `docs/evaluation-cases.md`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rightcall.domain import Message, Tool
from rightcall.errors import UsageError
from rightcall.evaluation.benchmarks.case_file import Entry, Faults, read_entries, read_value
from rightcall.evaluation.benchmarks.judging import judge
from rightcall.evaluation.cases import Accepted, Answer, Case, ExpectedCall, Score
from rightcall.evaluation.normalise import RULES, unknown_rule
from rightcall.openai_chat import tools_from_json
from rightcall.schema.compiled import compile_tools
from rightcall.text_files import read_text
from rightcall.validation.protocol import check_history

_FIELDS = ("id", "prompt", "messages", "tools", "expected", "normaliser", "family", "tags", "held_out")
_CALL_FIELDS = ("name", "arguments", "optional")
_NONE = "none"
_EXPECTED = "a call {name, arguments}, a list of calls, `none`, or {alternatives: [...]}"


class OwnSuite:
    """The cases of a file; success is that the arguments are right, after each case's normaliser.

    Everything is read and checked at once, so a broken file is refused before a model is asked.

    Raises:
        UsageError: up to 20 faults of the file, each with its line.
        MissingExtra: it is YAML, and PyYAML is not installed.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._digest = hashlib.sha256()
        self._cases = tuple(_Reader(path, self._digest.update).cases())

    @property
    def version(self) -> str:
        """The digest of the file and of the tool files it names."""
        return f"sha256:{self._digest.hexdigest()}, rules 2"

    def cases(self) -> Iterator[Case]:
        """Every case, in the file's order."""
        return iter(self._cases)

    def score(self, case: Case, answer: Answer) -> Score:
        """How right an answer is."""
        return judge(case, answer)


class _Wrong(Exception):
    """A fault at a place within a case."""

    def __init__(self, text: str, *place: str | int) -> None:
        super().__init__(text)
        self.place = place


class _Reader:
    def __init__(self, path: Path, digest: Any) -> None:
        self._path, self._digest = path, digest
        self._tool_files: dict[str, tuple[Tool, ...] | str] = {}

    def cases(self) -> list[Case]:
        faults = Faults(self._path)
        self._digest(read_text(self._path).encode())
        entries = read_entries(self._path, faults)
        cases: list[Case] = []
        seen: dict[str, int] = {}
        for entry in entries:
            try:
                case = self._case(entry.value)
                if case.id in seen:
                    raise _Wrong(f"the id {case.id!r} stands in line {seen[case.id]} already", "id")  # noqa: TRY301
            except _Wrong as wrong:
                faults.add(entry.line(*wrong.place), _named(entry, str(wrong)))
                case = None
            identifier = entry.value.get("id") if isinstance(entry.value, dict) else None
            if isinstance(identifier, str):
                seen.setdefault(identifier, entry.line("id"))
            if case:
                cases.append(case)
        if not entries and not faults.found:
            faults.add(1, "there are no cases")
        faults.end()
        return cases

    def _case(self, value: Any) -> Case:
        if not isinstance(value, dict):
            raise _Wrong(f"a case is an object, not {_kind(value)}")
        _known(value, _FIELDS)
        identifier = value.get("id")
        if not isinstance(identifier, str) or not identifier:
            raise _Wrong(f"`id` must be a text of its own, not {identifier!r}", "id")
        tools = self._tools(value.get("tools"))
        if "expected" not in value:
            raise _Wrong(f"`expected` is missing: {_EXPECTED}")
        accepted = _alternatives(value["expected"], {tool.name: tool for tool in tools})
        names = sorted({call.name for call in accepted[0]} or {tool.name for tool in tools})
        held_out = value.get("held_out", False)
        if not isinstance(held_out, bool):
            raise _Wrong(f"`held_out` is true or false, not {held_out!r}", "held_out")
        family = value.get("family", "+".join(names) or "no tools")
        if not isinstance(family, str):
            raise _Wrong(f"`family` is a text, not {_kind(family)}", "family")
        return Case(
            id=identifier,
            messages=_messages(value),
            tools=tools,
            accepted=accepted,
            family=family,
            tags=tuple(_texts(value.get("tags", []), "tags")),
            held_out=held_out,
            normaliser=_normaliser(value.get("normaliser", {})),
        )

    def _tools(self, value: Any) -> tuple[Tool, ...]:
        if isinstance(value, str):
            if value not in self._tool_files:
                self._tool_files[value] = self._tool_file(value)
            found = self._tool_files[value]
            if isinstance(found, str):
                raise _Wrong(found, "tools")
            return found
        if not isinstance(value, list):
            raise _Wrong(f"`tools` is a list of tools or the path of a file with one, not {_kind(value)}", "tools")
        return _compiled(value)

    def _tool_file(self, name: str) -> tuple[Tool, ...] | str:
        """The tools of a file, or what is wrong with it: it is read once and said wherever it is named."""
        folder = self._path.parent.resolve()
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            return f"the tool file {name!r} is outside the folder of the case file; put it beside or below"
        try:
            self._digest(read_text(path).encode())
            return _compiled(read_value(path))
        except (UsageError, _Wrong) as error:
            return f"the tool file {name!r}: {error}"


def _compiled(value: Any) -> tuple[Tool, ...]:
    try:
        tools = tools_from_json(value)
    except UsageError as error:
        raise _Wrong(str(error), "tools") from error
    if problems := compile_tools(tools).problems:
        raise _Wrong(problems[0].message, "tools")
    return tools


def _messages(value: Mapping[str, Any]) -> tuple[Message, ...]:
    if ("prompt" in value) == ("messages" in value):
        raise _Wrong("a case has `prompt` (the user's words) or `messages` (a dialogue), one of them")
    if "prompt" in value:
        if not isinstance(value["prompt"], str):
            raise _Wrong(f"`prompt` is a text, not {_kind(value['prompt'])}", "prompt")
        return ({"role": "user", "content": value["prompt"]},)
    messages = value["messages"]
    if not isinstance(messages, list) or not messages or not all(isinstance(item, dict) for item in messages):
        raise _Wrong("`messages` is a list of objects, each with `role` and `content`", "messages")
    for index, message in enumerate(messages):
        if not isinstance(message.get("role"), str):
            raise _Wrong("a message needs a `role`: system, user, assistant or tool", "messages", index)
    if problems := check_history(messages):
        raise _Wrong(problems[0].message, "messages")
    return tuple(messages)


def _alternatives(value: Any, tools: Mapping[str, Tool]) -> tuple[Accepted, ...]:
    if isinstance(value, dict) and "alternatives" in value:
        _known(value, ("alternatives",), "expected")
        listed = value["alternatives"]
        if not isinstance(listed, list) or not listed:
            raise _Wrong("`alternatives` is a list of right answers", "expected", "alternatives")
        places: list[tuple[str | int, ...]] = [("expected", "alternatives", index) for index in range(len(listed))]
        return tuple(_calls(item, tools, place) for item, place in zip(listed, places, strict=True))
    return (_calls(value, tools, ("expected",)),)


def _calls(value: Any, tools: Mapping[str, Tool], place: tuple[str | int, ...]) -> Accepted:
    if value == _NONE:
        return ()
    if isinstance(value, dict):
        return (_call(value, tools, place),)
    if isinstance(value, list) and value:
        return tuple(_call(item, tools, (*place, index)) for index, item in enumerate(value))
    raise _Wrong(f"expected is {_kind(value)}; it may be {_EXPECTED}", *place)


def _call(value: Any, tools: Mapping[str, Tool], place: tuple[str | int, ...]) -> ExpectedCall:
    if not isinstance(value, dict):
        raise _Wrong(f"a call is an object with `name` and `arguments`, not {_kind(value)}", *place)
    _known(value, _CALL_FIELDS, *place)
    name = value.get("name")
    if not isinstance(name, str) or name not in tools:
        close = get_close_matches(str(name), tools, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise _Wrong(f"the expected tool {name!r} is not offered{hint} ({', '.join(tools) or 'no tools'})", *place)
    arguments = value.get("arguments")
    if arguments is None:
        return ExpectedCall(name)
    if not isinstance(arguments, dict):
        raise _Wrong(f"`arguments` is an object, not {_kind(arguments)}", *place, "arguments")
    accepted = {key: _accepted(item, (*place, "arguments", key)) for key, item in arguments.items()}
    optional = _texts(value.get("optional", []), *place, "optional")
    if unknown := [key for key in optional if key not in accepted]:
        raise _Wrong(f"{unknown[0]!r} is optional but not among the arguments", *place, "optional")
    example = {key: values[0] for key, values in accepted.items()}
    if not compile_tools([tools[name]]).by_name[name].accepts(example):
        raise _Wrong(f"the schema of {name} refuses the expected arguments {example!r}", *place, "arguments")
    return ExpectedCall(name, accepted, frozenset(optional))


def _accepted(value: Any, place: tuple[str | int, ...]) -> Sequence[Any]:
    if not isinstance(value, dict) or list(value) != ["any_of"]:
        return [value]
    if not isinstance(value["any_of"], list) or not value["any_of"]:
        raise _Wrong("`any_of` is a list of right values", *place)
    listed: list[Any] = value["any_of"]
    return listed


def _normaliser(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise _Wrong(f"`normaliser` maps an argument, or `*`, to rules, not {_kind(value)}", "normaliser")
    rules = {}
    for argument, names in value.items():
        listed = _texts([names] if isinstance(names, str) else names, "normaliser", argument)
        for name in listed:
            if name not in RULES:
                raise _Wrong(unknown_rule(name), "normaliser", argument)
        rules[argument] = tuple(listed)
    return rules


def _texts(value: Any, *place: str | int) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _Wrong(f"`{place[-1]}` is a list of texts, not {value!r}"[:200], *place)
    return value


def _known(value: Mapping[str, Any], allowed: Sequence[str], *place: str | int) -> None:
    for key in value:
        if key not in allowed:
            close = get_close_matches(str(key), allowed, n=1)
            hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(allowed)}"
            raise _Wrong(f"there is no field `{key}`; {hint}", *place, key)


def _named(entry: Entry, text: str) -> str:
    identifier = entry.value.get("id") if isinstance(entry.value, dict) else None
    return f"case {identifier!r}: {text}" if isinstance(identifier, str) else text


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "nothing"}
    return names.get(type(value), "a number")
