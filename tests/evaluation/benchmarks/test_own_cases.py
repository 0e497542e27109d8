"""A user's case file: what it says, how it is judged, and what is said of a broken one."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from rightcall.domain import ToolCall
from rightcall.errors import UsageError
from rightcall.evaluation.benchmarks.registry import load_suite
from rightcall.evaluation.cases import Answer, Suite

WEATHER = {
    "name": "get_weather",
    "description": "The weather of a day.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "day": {"type": "string"}, "wind": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
SEND = {"name": "send", "parameters": {"type": "object", "properties": {"to": {"type": "string"}}}}


def _case(**changes: Any) -> dict[str, Any]:
    case = {
        "id": "one",
        "prompt": "Weather in Oslo?",
        "tools": [WEATHER, SEND],
        "expected": {"name": "get_weather", "arguments": {"city": "Oslo"}},
    }
    return {key: value for key, value in {**case, **changes}.items() if value is not ...}


def _suite(folder: Path, *cases: Any) -> Suite:
    path = folder / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return load_suite(str(path))


def _fault(folder: Path, *cases: Any) -> str:
    with pytest.raises(UsageError) as caught:
        _suite(folder, *cases)
    return str(caught.value)


def _called(*made: tuple[str, dict[str, Any]]) -> Answer:
    return Answer("calls", tuple(ToolCall("", name, arguments) for name, arguments in made), valid=True)


def _success(suite: Suite, answer: Answer) -> bool:
    return suite.score(next(iter(suite.cases())), answer).success


def test_one_file_reads_the_same_as_yaml_json_and_jsonl(tmp_path: Path) -> None:
    cases = [_case(), _case(id="two", expected="none", held_out=True, tags=["poem"], family="poems")]
    (tmp_path / "cases.json").write_text(json.dumps(cases, indent=1), encoding="utf-8")
    (tmp_path / "cases.yaml").write_text(json.dumps(cases, indent=1), encoding="utf-8")
    suites = [
        load_suite(str(tmp_path / "cases.json")),
        load_suite(str(tmp_path / "cases.yaml")),
        _suite(tmp_path, *cases),
    ]
    first, *others = [[repr(case) for case in suite.cases()] for suite in suites]
    assert all(other == first for other in others)
    one, two = suites[0].cases()
    assert (one.negative, one.held_out, one.family) == (False, False, "get_weather")
    assert (two.negative, two.held_out, two.family, two.tags) == (True, True, "poems", ("poem",))


def test_yaml_scalars_are_what_json_would_have(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(
        textwrap.dedent(
            """\
            - id: scalars
              prompt: hm
              tools:
                - name: f
                  parameters: {type: object, properties: {}}
              expected:
                name: f
                arguments:
                  day: 2024-05-01
                  time: 12:30
                  country: NO
                  code: 02134
                  switch: on
                  old: 0o17
                  truth: true
                  count: 12
                  share: 1.5
                  empty: null
            """
        ),
        encoding="utf-8",
    )
    (case,) = load_suite(str(tmp_path / "cases.yaml")).cases()
    assert {key: value for key, (value,) in (case.accepted[0][0].arguments or {}).items()} == {
        "day": "2024-05-01",
        "time": "12:30",
        "country": "NO",
        "code": "02134",
        "switch": "on",
        "old": "0o17",
        "truth": True,
        "count": 12,
        "share": 1.5,
        "empty": None,
    }


def test_the_right_call_is_right_and_every_other_wrong(tmp_path: Path) -> None:
    suite = _suite(tmp_path, _case())
    assert _success(suite, _called(("get_weather", {"city": "Oslo"})))
    for wrong in (
        _called(("get_weather", {"city": "oslo"})),
        _called(("get_weather", {"city": "Oslo", "day": "today"})),
        _called(("get_weather", {})),
        _called(("send", {"city": "Oslo"})),
        _called(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Oslo"})),
        Answer("text", text="It rains."),
        Answer("unresolved", valid=False),
    ):
        assert not _success(suite, wrong)


def test_several_calls_are_right_in_any_order(tmp_path: Path) -> None:
    any_city = {"name": "get_weather", "arguments": {"city": {"any_of": ["Oslo", "Rome"]}}}
    only_oslo = {"name": "get_weather", "arguments": {"city": "Oslo"}}
    suite = _suite(tmp_path, _case(expected=[any_city, only_oslo]))
    oslo, rome = ("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})
    assert _success(suite, _called(oslo, rome))
    assert _success(suite, _called(rome, oslo))
    assert not _success(suite, _called(rome, rome))


def test_alternatives_may_mix_calls_and_none(tmp_path: Path) -> None:
    suite = _suite(tmp_path, _case(expected={"alternatives": ["none", {"name": "send"}]}))
    assert _success(suite, Answer("text", text="To whom?"))
    assert _success(suite, _called(("send", {"to": "anybody"})))
    assert not _success(suite, _called(("get_weather", {"city": "Oslo"})))


def test_an_optional_argument_may_be_left_out_but_not_be_wrong(tmp_path: Path) -> None:
    expected = {"name": "get_weather", "arguments": {"city": "Oslo", "wind": "km/h"}, "optional": ["wind"]}
    suite = _suite(tmp_path, _case(expected=expected))
    assert _success(suite, _called(("get_weather", {"city": "Oslo"})))
    assert _success(suite, _called(("get_weather", {"city": "Oslo", "wind": "km/h"})))
    assert not _success(suite, _called(("get_weather", {"city": "Oslo", "wind": "mph"})))


def test_a_normaliser_of_an_argument_stands_in_place_of_the_one_of_all(tmp_path: Path) -> None:
    expected = {"name": "get_weather", "arguments": {"city": "Oslo", "day": "2024-05-01"}}
    suite = _suite(tmp_path, _case(expected=expected, normaliser={"*": "case", "day": ["date"]}))
    assert _success(suite, _called(("get_weather", {"city": "OSLO", "day": "1 May 2024"})))
    assert not _success(suite, _called(("get_weather", {"city": "1 May 2024", "day": "OSLO"})))


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["get_weather"], ""),
        (["get_wether"], "schema_misalignment"),
        (["weather_today"], "functional_confusion"),
        (["send"], "context_misunderstanding"),
        (["get_weather", "get_weather"], ""),
        ([], ""),
    ],
)
def test_a_wrong_tool_is_of_one_of_three_kinds(tmp_path: Path, names: list[str], kind: str) -> None:
    near = {"name": "weather_today", "description": "The weather of today."}
    suite = _suite(tmp_path, _case(tools=[WEATHER, SEND, near]))
    score = suite.score(next(iter(suite.cases())), _called(*((name, {}) for name in names)))
    assert score.selection_error == kind
    assert score.selection is (names == ["get_weather"])


def test_a_refused_name_that_was_not_offered_is_misalignment_too(tmp_path: Path) -> None:
    suite = _suite(tmp_path, _case())
    refused = Answer("unresolved", valid=False, problems=({"kind": "unknown_tool", "tool": "weather"},))
    assert suite.score(next(iter(suite.cases())), refused).selection_error == "schema_misalignment"


def test_tools_may_stand_in_a_file_beside_the_cases(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps([WEATHER]), encoding="utf-8")
    suite = _suite(tmp_path, _case(tools="tools.json"))
    assert [tool.name for case in suite.cases() for tool in case.tools] == ["get_weather"]
    before = suite.version
    (tmp_path / "tools.json").write_text(json.dumps([{**WEATHER, "description": "Rain?"}]), encoding="utf-8")
    assert _suite(tmp_path, _case(tools="tools.json")).version != before


def test_a_tool_file_outside_the_folder_is_refused_even_through_a_link(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "tools.json").write_text(json.dumps([WEATHER]), encoding="utf-8")
    (inside / "link.json").symlink_to(tmp_path / "tools.json")
    for name in ("../tools.json", str(tmp_path / "tools.json"), "link.json"):
        assert "outside the folder" in _fault(inside, _case(tools=name))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": ...}, "`id` must be a text of its own, not None"),
        ({"promt": "hm"}, "there is no field `promt`; did you mean `prompt`?"),
        ({"messages": []}, "a case has `prompt` (the user's words) or `messages` (a dialogue), one of them"),
        ({"prompt": ..., "messages": []}, "`messages` is a list of objects"),
        ({"prompt": ..., "messages": [{"content": "x"}]}, "a message needs a `role`"),
        ({"tools": ...}, "`tools` is a list of tools or the path of a file with one, not nothing"),
        ({"tools": [{}]}, "tools[0] has no name"),
        ({"tools": "missing.json"}, "the tool file 'missing.json': "),
        ({"tools": [{"name": "f", "parameters": {"type": "what"}}]}, 'tool "f" cannot be used'),
        ({"expected": ...}, "`expected` is missing"),
        ({"expected": None}, "expected is nothing; it may be a call"),
        ({"expected": []}, "expected is a list; it may be"),
        ({"expected": {"name": "get_wether"}}, "'get_wether' is not offered; did you mean 'get_weather'?"),
        ({"expected": {"name": "send", "argments": {}}}, "no field `argments`; did you mean `arguments`?"),
        ({"expected": {"name": "get_weather", "arguments": {"town": "x"}}}, "the schema of get_weather refuses"),
        (
            {"expected": {"name": "send", "arguments": {}, "optional": ["to"]}},
            "'to' is optional but not among the arguments",
        ),
        ({"normaliser": {"*": "caze"}}, "there is no normaliser 'caze'; did you mean 'case'?"),
        ({"held_out": "yes"}, "`held_out` is true or false"),
        ({"tags": "one"}, "`tags` is a list of texts"),
    ],
)
def test_a_fault_names_its_line_and_what_is_allowed(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    told = _fault(tmp_path, _case(id="good"), _case(**changes))
    assert f"{tmp_path / 'cases.jsonl'} has a fault:\n  line 2: " in told
    assert said in told


def test_a_repeated_id_names_both_lines(tmp_path: Path) -> None:
    assert "line 3: case 'one': the id 'one' stands in line 1 already" in _fault(
        tmp_path, _case(), _case(id="two"), _case()
    )


def test_all_faults_are_told_at_once_up_to_twenty(tmp_path: Path) -> None:
    told = _fault(tmp_path, *(_case(id=f"case-{number}", expected=3) for number in range(25)))
    assert "has 25 faults" in told
    assert told.count("\n  line ") == 20
    assert told.endswith("and 5 more")


def test_a_fault_in_yaml_names_the_line_of_the_field(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(
        textwrap.dedent(
            """\
            - id: one
              prompt: hm
              tools:
                - {name: f}
              expected:
                name: f
                optinal: []
            - id: two
              prompt: hm
              tools: []
              normaliser:
                "*": [case]
                day: [dates]
              expected: none
            """
        ),
        encoding="utf-8",
    )
    with pytest.raises(UsageError) as caught:
        load_suite(str(path))
    assert "line 7: case 'one': there is no field `optinal`; did you mean `optional`?" in str(caught.value)
    assert "line 13: case 'two': there is no normaliser 'dates'" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "line", "said"),
    [
        ("a.yaml", "- id: one\n  id: two\n", 2, "the key 'id' stands twice"),
        ("a.yaml", "- id: [\n", 2, "no YAML"),
        ("a.yaml", "id: one\n", 1, "a list of cases is needed"),
        ("a.yaml", "- id: !!timestamp 2024-05-01\n", 1, "nothing JSON has"),
        ("a.yaml", "- &a [*a]\n", 1, "no YAML"),
        ("a.yaml", "", 1, "a list of cases is needed"),
        ("a.jsonl", "", 1, "there are no cases"),
        ("a.json", '[\n {"id": "one",\n', 3, "no JSON"),
        ("a.json", '[{"id": 1}\n{"id": 2}]', 2, "a comma or the end of the list is needed"),
        ("a.json", '{"id": 1}', 1, "a JSON list of cases is needed"),
        ("a.jsonl", '{"id": "one", "id": "two"}', 1, "the key 'id' stands twice"),
        ("a.jsonl", "\n{\n", 2, "no JSON"),
        ("a.jsonl", "3\n", 1, "a case is an object, not a number"),
    ],
)
def test_a_file_that_cannot_be_read_names_the_line(
    tmp_path: Path, name: str, text: str, line: int, said: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_suite(str(tmp_path / name))
    assert f"line {line}: " in str(caught.value)
    assert said in str(caught.value)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_suite(str(tmp_path / "none.yaml"))
