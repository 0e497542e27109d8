"""BFCL, the Berkeley Function Calling Leaderboard: single-turn categories of the v4 data.

Tools are offered as BFCL offers them to function-calling models: Python-like types as JSON Schema types, `.` in
names as `_`. Source of data and rules: `bfcl-eval` 2026.3.23 (the same files as ShishirPatil/gorilla 6ea5797).

In `irrelevance` no call is right, in `live_relevance` any call is. The original asks whether a call can be decoded
from the reply; here the question is whether the client got one, so a refused call is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from rightcall.domain import Tool
from rightcall.evaluation.benchmarks.bfcl_checker import check_calls
from rightcall.evaluation.benchmarks.data_files import broken_row, read_rows, require_folder
from rightcall.evaluation.benchmarks.judging import judge
from rightcall.evaluation.benchmarks.offered_names import offered_names
from rightcall.evaluation.cases import Accepted, Answer, Case, ExpectedCall, Score

CATEGORIES = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
_JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_NORMALISER = {"*": ("case", "whitespace")}


@dataclass(frozen=True, slots=True)
class BfclSuite:
    """One category. `folder` holds `bfcl/`.

    The family of a case is the wanted functions, or the first function offered where none is wanted: cases about
    one function are not independent.
    """

    category: str
    folder: Path

    @property
    def name(self) -> str:
        """`bfcl:` and the category."""
        return f"bfcl:{self.category}"

    @property
    def version(self) -> str:
        """Which data, which rules."""
        return "bfcl-eval 2026.3.23, rules 2"

    def cases(self) -> Iterator[Case]:
        """Every case, in the data's order."""
        folder = require_folder(self.folder, "bfcl")
        questions = folder / f"BFCL_v4_{self.category}.json"
        answers: dict[str, Any] = {}
        if "relevance" not in self.category:
            path = folder / "possible_answer" / questions.name
            answers = {row.get("id", ""): row for _, row in read_rows(path)}
        for number, row in read_rows(questions):
            try:
                wanted = answers[row["id"]]["ground_truth"] if answers else None
                yield _case(self.category, row, wanted)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise broken_row(questions, number, error) from error

    def score(self, case: Case, answer: Answer) -> Score:
        """BFCL's verdict, and ours beside it."""
        if "relevance" in self.category:
            called = bool(answer.calls)
            return _relevance_score(case, answer, right=called is (self.category == "live_relevance"))
        calls = [{call.name: call.arguments} for call in answer.calls]
        right = check_calls(case.gold["function"], calls, case.gold["ground_truth"], self.category)
        return replace(judge(case, answer), success=right, original={"accuracy": float(right)})


def _relevance_score(case: Case, answer: Answer, *, right: bool) -> Score:
    if case.negative:
        return replace(judge(case, answer), success=right, original={"accuracy": float(right)})
    # Any offered tool may be right and any number of calls; nothing is known of their arguments.
    offered = {tool.name for tool in case.tools}
    selection = right and all(call.name in offered for call in answer.calls)
    error = "" if selection else judge(case, answer).selection_error
    return Score(right, selection, selection, {"accuracy": float(right)}, error)


def _case(category: str, row: Mapping[str, Any], wanted: Sequence[Mapping[str, Any]] | None) -> Case:
    documents = row["function"]
    names = dict(zip((item["name"] for item in documents), _tool_names(documents), strict=True))
    tools = tuple(_tool(item, names[item["name"]]) for item in documents)
    if wanted is not None:
        accepted: tuple[Accepted, ...] = (tuple(_expected(answer, names) for answer in wanted),)
        family = "+".join(sorted({name for answer in wanted for name in answer}))
    else:
        accepted = ((),) if category.endswith("irrelevance") else tuple((ExpectedCall(t.name),) for t in tools)
        family = documents[0]["name"] if documents else "no tools"
    return Case(
        id=row["id"],
        messages=tuple(row["question"][0]),
        tools=tools,
        accepted=accepted,
        family=family,
        tags=(category,),
        normaliser=_NORMALISER,
        gold={"function": documents, "ground_truth": wanted},
    )


def _tool_names(documents: Sequence[Mapping[str, Any]]) -> list[str]:
    return offered_names(item["name"] for item in documents)


def _tool(document: Mapping[str, Any], name: str) -> Tool:
    return Tool(name, document["description"], json_schema(document["parameters"]))


def json_schema(declared: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter document as JSON Schema: the types renamed, everything else as it is. `any` is no type at all."""
    schema = dict(declared)
    if schema.get("type") == "any":
        del schema["type"]
    elif isinstance(schema.get("type"), str):
        schema["type"] = _JSON_TYPES.get(schema["type"], schema["type"])
    if isinstance(schema.get("properties"), Mapping):
        schema["properties"] = {key: json_schema(item) for key, item in schema["properties"].items()}
    if isinstance(schema.get("items"), Mapping):
        schema["items"] = json_schema(schema["items"])
    return schema


def _expected(answer: Mapping[str, Any], names: Mapping[str, str]) -> ExpectedCall:
    ((name, arguments),) = answer.items()
    accepted = {
        key: [one for value in values if value != "" for one in _readings(value)] for key, values in arguments.items()
    }
    return ExpectedCall(names[name], accepted, frozenset(key for key, values in arguments.items() if "" in values))


def _readings(value: Any) -> list[Any]:
    """The values that an accepted one stands for: inside objects, every key lists its own accepted values."""
    if isinstance(value, Mapping):
        choices = [_choices(key, values) for key, values in value.items()]
        return [dict(pair for pair in pairs if pair) for pairs in product(*choices)]
    if isinstance(value, list):
        return [list(items) for items in product(*(_readings(item) for item in value))]
    return [value]


def _choices(key: str, values: Any) -> list[tuple[str, Any] | None]:
    """What a key may hold; None where it may be missing. One object in the data gives values without a list."""
    listed = values if isinstance(values, list) and values else [values]
    choices: list[tuple[str, Any] | None] = []
    for value in listed:
        choices += [None] if isinstance(value, str) and not value else [(key, one) for one in _readings(value)]
    return choices
