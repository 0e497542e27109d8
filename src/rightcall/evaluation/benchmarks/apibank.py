"""API-Bank: the next call of a dialogue, with the APIs given (level 1) or to be searched for (level 2).

Source: AlibabaResearch/DAMO-ConvAI, `api-bank/`, commit 483554e. A case is one scored call; a call that follows
another one is scored twice by the original, so it is here, under an id with `:again`. Replies, which the original
scores by ROUGE-L, are left out.

The original puts API descriptions and dialogue into a text prompt. Here the APIs are tools, earlier calls are
calls with results, and two messages of ours stand for its instructions: the year, which it gives too, and "Go on."
where the dialogue stops at the assistant's own words. Level 1 offers all APIs of the dialogue. Level 2 offers
ToolSearcher and, as any host would, what its earlier searches have found; calls of APIs that no search has found
have the tag `not_offered` and cannot be won.

`apibank_rules` compares calls; the original reads one call from a reply, so the first one counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rightcall.domain import Message, Tool, ToolCall
from rightcall.errors import UsageError
from rightcall.evaluation.benchmarks.apibank_rules import as_declared, right_call
from rightcall.evaluation.benchmarks.data_files import broken_row, read_rows, require_folder
from rightcall.evaluation.benchmarks.judging import judge
from rightcall.evaluation.cases import Answer, Case, ExpectedCall, Score
from rightcall.openai_chat import call_to_json

LEVELS = ("level-1", "level-2")
_SEARCH = "ToolSearcher"
_YEAR = "The year is 2023."
_GO_ON = "Go on."
_NORMALISER = {"*": ("case", "whitespace", "date")}
_JSON_TYPES: Mapping[str, Mapping[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "list": {"type": "array"},
    "list(str)": {"type": "array", "items": {"type": "string"}},
}

Api = Mapping[str, Any]
"""A row of `apis.jsonl`, with `optional`: the names of the parameters that some recorded call does without."""


@dataclass(frozen=True, slots=True)
class ApiBankSuite:
    """One level. `folder` holds `apibank/`. The family of a case is the APIs that its dialogue uses."""

    level: str
    folder: Path

    @property
    def name(self) -> str:
        """`apibank:` and the level."""
        return f"apibank:{self.level}"

    @property
    def version(self) -> str:
        """Which data, which rules."""
        return "API-Bank 483554e, inputs compared, rules 2"

    def cases(self) -> Iterator[Case]:
        """Every scored call, in the data's order."""
        folder = require_folder(self.folder, "apibank")
        path = folder / f"{self.level}.jsonl"
        try:
            apis = _apis(folder, [row["turns"] for _, row in read_rows(path)])
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{path} or apis.jsonl lacks {error}; `rightcall eval fetch apibank` gets them anew"
            ) from error
        for number, row in read_rows(path):
            try:
                yield from self._dialogue(row["file"].removesuffix(".jsonl"), row["turns"], apis)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise broken_row(path, number, error) from error

    def score(self, case: Case, answer: Answer) -> Score:
        """The original's verdict on the call, by its inputs, and ours."""
        gold, call = case.gold, answer.calls[0] if answer.calls else None
        right = (
            call is not None
            and call.name == gold["name"]
            and right_call(call.name, call.arguments, gold["arguments"], gold["types"], frozenset(gold["optional"]))
        )
        return replace(judge(case, answer), success=right, original={"correct_call": float(right)})

    def _dialogue(self, file: str, turns: Sequence[Mapping[str, Any]], apis: Mapping[str, Api]) -> Iterator[Case]:
        used = sorted({turn["api_name"] for turn in turns if turn["role"] == "API"})
        for index, turn in enumerate(turns):
            if turn["role"] != "API":
                continue
            before = turns[:index]
            offered = used if self.level == "level-1" else _found(before)
            case = Case(
                id=f"{file}:{index}",
                messages=tuple(_messages(before, apis)),
                tools=tuple(_tool(apis[name]) for name in offered),
                accepted=((_expected(turn, apis),),),
                family="+".join(used),
                tags=(turn["api_name"], *(() if turn["api_name"] in offered else ("not_offered",))),
                normaliser=_NORMALISER,
                gold={
                    "name": turn["api_name"],
                    "arguments": turn["param_dict"],
                    "types": _types(apis[turn["api_name"]]),
                    "optional": sorted(apis[turn["api_name"]]["optional"]),
                },
            )
            yield case
            if before and before[-1]["role"] == "API":
                yield replace(case, id=f"{case.id}:again")


def _apis(folder: Path, dialogues: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Api]:
    """The APIs of levels 1 and 2. The schemas do not say what is required: whatever no recorded call leaves out."""
    apis: dict[str, Api] = {
        row["name"]: {**row, "optional": set()} for _, row in read_rows(folder / "apis.jsonl") if row["set"] == "apis"
    }
    for turn in (turn for turns in dialogues for turn in turns if turn["role"] == "API"):
        api = apis[turn["api_name"]]
        declared, given = api["input_parameters"].keys(), turn["param_dict"].keys()
        if given <= declared:
            api["optional"].update(declared - given)
    return apis


def _types(api: Api) -> dict[str, str]:
    return {name: parameter["type"] for name, parameter in api["input_parameters"].items()}


def _tool(api: Api) -> Tool:
    properties = {
        name: {**_JSON_TYPES[parameter["type"]], "description": parameter["description"]}
        for name, parameter in api["input_parameters"].items()
    }
    required = [name for name in properties if name not in api["optional"]]
    return Tool(api["name"], api["description"], {"type": "object", "properties": properties, "required": required})


def _found(before: Sequence[Mapping[str, Any]]) -> list[str]:
    """ToolSearcher and what its searches have found so far, in order."""
    names = [_SEARCH]
    for turn in before:
        if turn["role"] == "API" and turn["api_name"] == _SEARCH:
            hits = turn["result"]["output"]
            names += [hit["name"] for hit in (hits if isinstance(hits, list) else [hits]) if hit["name"] not in names]
    return names


def _arguments(turn: Mapping[str, Any], apis: Mapping[str, Api]) -> dict[str, Any]:
    """A recorded call's arguments in the types that its schema declares; all of them are text in the data."""
    types = _types(apis[turn["api_name"]])
    return {name: as_declared(value, types.get(name, "str")) for name, value in turn["param_dict"].items()}


def _expected(turn: Mapping[str, Any], apis: Mapping[str, Api]) -> ExpectedCall:
    # The switches' recorded calls name a parameter that their schema has under another name.
    declared = apis[turn["api_name"]]["input_parameters"]
    arguments = {
        "name" if name == "device_id" and name not in declared else name: [value]
        for name, value in _arguments(turn, apis).items()
    }
    return ExpectedCall(turn["api_name"], arguments)


def _messages(before: Sequence[Mapping[str, Any]], apis: Mapping[str, Api]) -> Iterator[Message]:
    """The dialogue in chat form; the assistant's words and the call that follows them are one message."""
    yield {"role": "system", "content": _YEAR}
    said: str | None = None
    for index, turn in enumerate(before):
        if turn["role"] == "API":
            call = ToolCall(f"call_{index}", turn["api_name"], _arguments(turn, apis))
            yield {"role": "assistant", "content": said, "tool_calls": [call_to_json(call)]}
            output = turn["result"]["output"]
            content = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
            yield {"role": "tool", "tool_call_id": call.id, "content": content}
            said = None
            continue
        if said is not None:
            yield {"role": "assistant", "content": said}
        said = turn["text"] if turn["role"] == "AI" else None
        if said is None:
            yield {"role": "user", "content": turn["text"]}
    if said is not None:
        yield {"role": "assistant", "content": said}
        yield {"role": "user", "content": _GO_ON}
