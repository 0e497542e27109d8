"""The page about case files: its example runs, its tables are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rightcall.domain import ToolCall
from rightcall.evaluation import normalise
from rightcall.evaluation.benchmarks.own_cases import _CALL_FIELDS, _FIELDS
from rightcall.evaluation.benchmarks.registry import load_suite
from rightcall.evaluation.cases import SELECTION_ERRORS, Answer, Suite
from rightcall.evaluation.fetch import SOURCES
from rightcall.evaluation.normalise import RULES, same_value

PAGE = Path(__file__).resolve().parents[3] / "docs" / "evaluation-cases.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    (example,) = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    (tmp_path / "cases.yaml").write_text(example, encoding="utf-8")
    return load_suite(str(tmp_path / "cases.yaml"))


def _called(*made: tuple[str, dict[str, str]]) -> Answer:
    return Answer("calls", tuple(ToolCall("", name, dict(arguments)) for name, arguments in made), valid=True)


def test_the_example_is_judged_as_the_page_says(suite: Suite) -> None:
    cases = {case.id: case for case in suite.cases()}
    oslo = {"city": "OSLO", "country": "norway", "day": "May 1st, 2025", "within": "5000 m"}
    rome = {"city": "Rome", "day": "2025-05-01"}
    right = {
        "weather-in-oslo": [
            _called(("get_weather", oslo)),
            _called(("get_weather", {"city": "Oslo", "day": "2025-05-01"})),
        ],
        "two-cities": [_called(("get_weather", rome), ("get_weather", {**rome, "city": "Oslo"}))],
        "no-tool-fits": [Answer("text", text="Rain, rain.")],
        "ask-or-send": [_called(("send_message", {})), Answer("text", text="Which Ann?")],
    }
    assert cases.keys() == right.keys()
    assert [case.id for case in cases.values() if case.held_out] == ["no-tool-fits"]
    for name, answers in right.items():
        assert all(suite.score(cases[name], answer).success for answer in answers)
        assert not suite.score(cases[name], _called(("get_weather", {"city": "Oslo"}))).success


def test_every_field_rule_kind_and_source_is_on_the_page() -> None:
    names = [*_FIELDS, *_CALL_FIELDS, *RULES, *SELECTION_ERRORS, *SOURCES]
    assert [name for name in names if f"`{name}`" not in TEXT] == []


def test_the_table_of_rules_is_that_of_the_module() -> None:
    def rules(text: str) -> list[str]:
        return re.findall(r"^\| `(\w+)` \|.*\|.*\|$", text, re.MULTILINE)

    (section,) = re.findall(r"## Normalisers\n(.*?)\n## ", TEXT, re.DOTALL)
    assert rules(section) == rules(normalise.__doc__ or "") == list(RULES)


def test_every_unit_on_the_page_is_known() -> None:
    (listed,) = re.findall(r"`units` knows (.*?) and weeks", TEXT, re.DOTALL)
    names = re.split(r"[;,\s]+", listed.strip())
    assert len(names) == 18
    for name in names:
        assert not same_value(f"1 {name}", f"2 {name}", ["units"])
        assert same_value(f"1 {name}", f"1.0 {name}", ["units"]), name
