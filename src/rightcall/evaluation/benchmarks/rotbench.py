"""RoTBench: can the tools still be used when their names and parameters are noisy?

Source: Junjie-Ye/RoTBench, commit 637e43a. The original describes the tools in a text prompt and reads `Action:`
and `Action Input:` from the reply; here they are offered as tools, the user's words are the message, and the
earlier actions and results of the third turn are calls and tool messages.

The three original scores are nested, and keep the original's rules: `finish` is right for whatever the last tool
is called; keys whose gold value is `"None"` are dropped on both sides once the key sets agree; values do not
matter for the last tool (finish) and the last but one (ask_to_user), whatever stands there, nor for a tool that
noise gave one of these names; a call without arguments fails all three, so a case whose only gold input is `{}`
cannot be won; so does a second call, which would leave the original's JSON unreadable. A call whose arguments were
read and refused reaches tool selection and no more: its keys may have been right, the original might go on.

`selection` and `arguments` are ours: they judge empty input as any other, and let an argument be left out whose
gold value is `"None"`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rightcall.domain import Message, Tool, ToolCall
from rightcall.errors import UsageError
from rightcall.evaluation.benchmarks.data_files import read_json, require_folder
from rightcall.evaluation.benchmarks.judging import judge
from rightcall.evaluation.benchmarks.offered_names import offered_names
from rightcall.evaluation.cases import Answer, Case, ExpectedCall, Score
from rightcall.openai_chat import call_to_json

LEVELS = ("clean", "slight", "medium", "heavy", "union")
TURNS = {"single": "First_Turn", "multi": "Third_Turn"}
_ACTION = re.compile(r"Action: *(.*?)\n?Action Input:(.*)", re.DOTALL)
_BEGIN = "Begin!"
_UNSET = "None"
_FREE = ("finish", "ask_to_user")


@dataclass(frozen=True, slots=True)
class RoTBenchSuite:
    """One noise level and turn. `folder` holds `rotbench/`.

    The family of a case is its toolset, known by the descriptions, which noise leaves alone: 49 in the first turn
    and 36 in the third, the same at every level. The seven scenarios are tags: as clusters they would be few.
    """

    level: str
    turn: str
    folder: Path

    @property
    def name(self) -> str:
        """`rotbench:`, the level and the turn."""
        return f"rotbench:{self.level}:{self.turn}"

    @property
    def version(self) -> str:
        """Which data, which rules."""
        return "RoTBench 637e43a, rules 2"

    def cases(self) -> Iterator[Case]:
        """Every case, in the data's order."""
        path = require_folder(self.folder, "rotbench") / TURNS[self.turn] / f"{self.level}.json"
        rows = read_json(path)
        for number, row in enumerate(rows):
            noise = "" if self.level in {"clean", "union"} else "names" if 2 * number < len(rows) else "parameters"
            try:
                yield _case(f"{self.level}-{self.turn}-{number}", row, noise)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise UsageError(
                    f"{path}, entry {number}: {error!r}; `rightcall eval fetch rotbench` gets it anew"
                ) from error

    def score(self, case: Case, answer: Answer) -> Score:
        """The original's three nested scores, and ours."""
        reached = _reached(case.gold, answer)
        original = {
            "tool_selection": float(reached >= 1),
            "parameter_identification": float(reached >= 2),  # noqa: PLR2004 - the levels of the original
            "content_filling": float(reached >= 3),  # noqa: PLR2004
        }
        return replace(judge(case, answer), success=original["content_filling"] == 1, original=original)


def _reached(gold: Mapping[str, Any], answer: Answer) -> int:
    """How many of the three levels a reply reaches."""
    if len(answer.chosen) != 1 or (answer.calls and not answer.calls[0].arguments):
        return 0
    name = gold["names"].get(answer.chosen[0], answer.chosen[0])
    given = dict(answer.calls[0].arguments) if answer.calls else None
    reached = 0
    for action, wanted in gold["answers"]:
        if name == "finish" and action == gold["last"][-1]:
            name = action
        if name != action:
            continue
        reached = max(reached, 1)
        if given is None or given.keys() != wanted.keys():
            continue
        reached = max(reached, 2)
        # Dropped for the answers that follow, too: so does the original.
        unset = [key for key, value in wanted.items() if value == _UNSET]
        for key in unset:
            del given[key]
        if action in {*gold["last"], *_FREE} or given == {key: wanted[key] for key in wanted.keys() - unset}:
            return 3
    return reached


def _case(identifier: str, row: Mapping[str, Any], noise: str) -> Case:
    system, *dialogue, last = row["conversations"]
    documents, _ = json.JSONDecoder().raw_decode(system["value"], system["value"].index("["))
    names = [document["name"] for document in documents]
    offered = offered_names(names)
    answers = [_action(text) for text in last["value"]]
    first_offered = dict(zip(reversed(names), reversed(offered), strict=True))
    descriptions = sorted({document["description"] for document in documents})
    family = hashlib.sha256(json.dumps(descriptions).encode()).hexdigest()[:8]
    return Case(
        id=identifier,
        messages=tuple(_messages(dialogue, first_offered)),
        tools=tuple(
            Tool(name, document["description"], _parameters(document["parameters"]))
            for name, document in zip(offered, documents, strict=True)
        ),
        accepted=tuple(
            (_expected(name, arguments, free=action in names[-2:]),)
            for action, arguments in answers
            for name, original in zip(offered, names, strict=True)
            if original == action
        ),
        family=f"{row['scenario']}-{family}",
        tags=(row["scenario"], *((f"noisy_{noise}",) if noise else ())),
        normaliser={"*": ("case", "whitespace", "number")},
        gold={"answers": answers, "last": names[-2:], "names": dict(zip(offered, names, strict=True))},
    )


def _parameters(declared: Mapping[str, Any]) -> dict[str, Any]:
    # Noise gave two schemas two parameters of one name; both require it twice, which is no valid JSON Schema.
    return {**declared, "required": list(dict.fromkeys(declared["required"]))}


def _expected(name: str, arguments: Mapping[str, Any], *, free: bool) -> ExpectedCall:
    if free:
        return ExpectedCall(name)
    unset = frozenset(key for key, value in arguments.items() if value == _UNSET)
    return ExpectedCall(name, {key: [value] for key, value in arguments.items()}, unset)


def _action(text: str) -> tuple[str, dict[str, Any]]:
    found = _ACTION.search(text)
    if not found:
        raise ValueError(f"no action in {text[:80]!r}")
    return found[1], json.loads(found[2])


def _messages(dialogue: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[Message]:
    """The dialogue in chat form.

    Where a user's words answer an action (a question to the user), they are its result.
    """
    open_call = ""
    for number, turn in enumerate(dialogue):
        if turn["from"] == "assistant":
            name, arguments = _action(turn["value"])
            open_call = f"call_{number}"
            call = ToolCall(open_call, names.get(name, name), arguments)
            yield {"role": "assistant", "content": None, "tool_calls": [call_to_json(call)]}
        elif open_call:
            yield {"role": "tool", "tool_call_id": open_call, "content": turn["value"]}
            open_call = ""
        else:
            yield {"role": "user", "content": turn["value"].strip().removesuffix(_BEGIN).strip()}
