"""`rightcall align` and `rightcall align review`, over a real HTTP server that plays the model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rightcall.alignment.files import read_name_map
from rightcall.cli.align import app
from rightcall.errors import UpstreamError, UsageError
from rightcall.naming.name_map import NameMap
from small_model import small_model

TOOLS = [
    {
        "name": "DietTool",
        "description": "A tool that simplifies calorie counting and tracks the diet.",
        "inputSchema": {
            "type": "object",
            "properties": {"q": {"type": "string", "description": "What was eaten."}, "n": {"type": "integer"}},
        },
    },
    {"name": "WthrSvc", "description": "Tells the weather of a city."},
    {"name": "WthrSvc2", "description": "Tells the weather of a city."},
]
# What the model says at temperature 0, then with the seeds 1 to 8.
SAYS = {
    "calorie": ["nutri_guide", *["diet_tracker"] * 7, "diet_trackers"],
    "eaten": ["food", *["`food_eaten`"] * 6, "Sure! Here is one", "天气"],
    "weather": ["get_weather", *["get_weather"] * 5, *["city_weather"] * 3],
}


class Model:
    """Answers by what the question is about and by the seed; counts what it was asked."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.before: Callable[[int], None] = lambda _: None
        self.url = ""

    def answer(self, body: dict[str, Any]) -> str:
        self.bodies.append(body)
        self.before(len(self.bodies))
        question = body["messages"][-1]["content"]
        if "Rewrite the description" in body["messages"][0]["content"]:
            return f"Description: Retrieves this. {question}"
        assert (body["temperature"] == 0) == (body["seed"] == 0)
        return next(names for about, names in SAYS.items() if about in question)[body["seed"]]


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    with small_model(made.answer) as url:
        made.url = url
        yield made


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": TOOLS}), encoding="utf-8")
    return path


@pytest.fixture
def align(model: Model, tools: Path, tmp_path: Path) -> Callable[..., Result]:
    def run(*more: str) -> Result:
        given = [str(tools), "--model", "small", "--upstream", model.url, "--out", str(tmp_path / "names.toml")]
        given += ["--cache", str(tmp_path / "kept.sqlite"), "--candidates", "8", *more]
        return CliRunner().invoke(app, given)

    return run


def names_in(folder: Path) -> NameMap:
    return read_name_map(folder / "names.toml")


def shown(names: NameMap) -> dict[str, str]:
    return {f"{tool}{naming.place}": naming.shown for tool, naming in names.namings()}


def test_tools_are_named_and_the_rest_waits_for_a_person(
    align: Callable[..., Result], model: Model, tmp_path: Path
) -> None:
    done = align()
    assert done.exit_code == 0, done.output
    names = names_in(tmp_path)
    assert shown(names) == {
        "DietTool": "diet_tracker",
        "DietTool/q": "food_eaten",
        "DietTool/n": "n",
        "WthrSvc": "get_weather",
        "WthrSvc2": "WthrSvc2",
    }
    second = names.by_name["WthrSvc2"].tool
    assert (second.proposed, second.accepted, second.flags[0]) == ("city_weather", "", "contested")
    assert (names.model, names.build) == ("small", model.url)
    assert f"1 wait for a person: rightcall align review {tmp_path / 'names.toml'}" in done.stdout
    assert "3 tools and 2 parameters, 3 of them renamed" in done.stdout


def test_every_sample_has_its_own_seed_and_equal_questions_are_asked_once(
    align: Callable[..., Result], model: Model
) -> None:
    align()
    assert len(model.bodies) == 3 * 9
    asked = [(body["messages"][-1]["content"], body["temperature"], body["seed"]) for body in model.bodies]
    assert len(set(asked)) == len(asked)
    assert {body["max_tokens"] for body in model.bodies} == {32}
    assert {body["temperature"] for body in model.bodies} == {0, 0.4}
    assert not any("DietTool" in json.dumps(body) for body in model.bodies), "the original name is never told"


def test_the_same_command_asks_nothing_again_and_keeps_decisions(
    align: Callable[..., Result], model: Model, tmp_path: Path
) -> None:
    align()
    first = (tmp_path / "names.toml").read_text(encoding="utf-8")
    asked = len(model.bodies)
    assert align().exit_code == 0
    assert (tmp_path / "names.toml").read_text(encoding="utf-8") == first
    (tmp_path / "names.toml").write_text(first.replace('accepted = "diet_tracker"', 'accepted = "my_diet"'))
    assert align().exit_code == 0
    assert shown(names_in(tmp_path))["DietTool"] == "my_diet"
    assert len(model.bodies) == asked


def test_a_run_that_was_stopped_goes_on_where_it_was(model: Model, tools: Path, tmp_path: Path) -> None:
    held, release = threading.Event(), threading.Event()

    def hold(asked: int) -> None:
        if asked == 10:
            held.set()
            assert release.wait(60)

    model.before = hold
    given = [str(tools), "--model", "small", "--upstream", model.url, "--out", str(tmp_path / "names.toml")]
    given += ["--cache", str(tmp_path / "kept.sqlite"), "--candidates", "8", "--parallel", "1"]
    command = [sys.executable, "-c", "from rightcall.cli.align import app; app()", *given]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert held.wait(60)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    finally:
        process.kill()
        release.set()
    assert process.returncode != 0
    assert "the same command goes on from here" in told
    assert not (tmp_path / "names.toml").exists()
    model.before = lambda _: None
    asked = len(model.bodies)
    assert CliRunner().invoke(app, given).exit_code == 0
    assert len(model.bodies) == asked + 27 - 9


def test_a_model_that_cannot_be_asked_ends_the_run_and_nothing_is_written(tools: Path, tmp_path: Path) -> None:
    given = [str(tools), "--model", "small", "--upstream", "http://127.0.0.1:9", "--out", str(tmp_path / "n.toml")]
    failed = CliRunner().invoke(app, [*given, "--cache", str(tmp_path / "kept.sqlite")])
    assert isinstance(failed.exception, UpstreamError)
    assert not (tmp_path / "n.toml").exists()


@pytest.mark.parametrize(
    ("method", "name", "asked"), [("mostfreq", "diet_tracker", 27), ("greedy", "nutri_guide", 3)]
)
def test_baselines(
    align: Callable[..., Result], model: Model, tmp_path: Path, method: str, name: str, asked: int
) -> None:
    assert align("--method", method, "--accept-flagged").exit_code == 0
    assert shown(names_in(tmp_path))["DietTool"] == name
    assert len(model.bodies) == asked


def test_one_kind_of_component_alone(align: Callable[..., Result], model: Model, tmp_path: Path) -> None:
    align("--only", "parameters")
    assert shown(names_in(tmp_path))["DietTool"] == "DietTool"
    assert shown(names_in(tmp_path))["DietTool/q"] == "food_eaten"
    assert len(model.bodies) == 9


def test_descriptions_are_asked_for_and_stand_in_the_same_file(
    align: Callable[..., Result], model: Model, tmp_path: Path
) -> None:
    assert align("--describe").exit_code == 0
    names = names_in(tmp_path)
    assert names.by_name["WthrSvc"].description == "Retrieves this. Tells the weather of a city."
    assert names.by_name["WthrSvc"].tool.proposed == "get_weather"
    assert len(model.bodies) == 27 + 2


def test_a_file_of_another_model_or_method_is_not_overwritten(align: Callable[..., Result]) -> None:
    align()
    for more, said in (
        (("--method", "greedy"), "method peakedness, not greedy"),
        (("--alpha", "0.1"), "alpha 0.2, not 0.1"),
        (("--model", "other"), "model small, not other"),
    ):
        refused = align(*more)
        assert isinstance(refused.exception, UsageError)
        assert said in str(refused.exception)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--candidates", "0"), "candidates is 0; allowed: 1 to 1024"),
        (("--temperature", "0"), "temperature is 0; allowed: above 0"),
        (("--alpha", "1.5"), "alpha is 1.5; allowed: 0 to 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    align: Callable[..., Result], model: Model, more: tuple[str, str], said: str
) -> None:
    refused = align(*more)
    assert isinstance(refused.exception, UsageError)
    assert said in str(refused.exception)
    assert not model.bodies


def test_json_for_programs(align: Callable[..., Result], tmp_path: Path) -> None:
    done = align("--json")
    told = json.loads(done.stdout)
    assert (told["path"], told["tools"], told["renamed"], told["undecided"]) == (
        str(tmp_path / "names.toml"),
        3,
        3,
        1,
    )
    assert told["flags"]["contested"] == 1


# -- review --------------------------------------------------------------------------------------------------------


@pytest.fixture
def review(align: Callable[..., Result], tmp_path: Path) -> Callable[..., Result]:
    align()
    path = tmp_path / "names.toml"

    def run(*answers: str, everything: bool = False) -> Result:
        more = ["--all"] if everything else []
        typed = "".join(f"{answer}\n" for answer in answers)
        return CliRunner().invoke(app, ["review", str(path), *more], input=typed, env={"COLUMNS": "200"})

    return run


def test_enter_accepts_the_proposal(review: Callable[..., Result], tmp_path: Path) -> None:
    done = review("")
    assert done.exit_code == 0
    assert "1/1  tool WthrSvc2" in done.stdout
    assert "Tells the weather of a city." in done.stdout
    assert "1 decided, 0 left" in done.stdout
    assert shown(names_in(tmp_path))["WthrSvc2"] == "city_weather"


def test_a_name_that_is_taken_is_refused_and_asked_for_again(review: Callable[..., Result], tmp_path: Path) -> None:
    done = review("1", "getWeather", "dietTool", "two words", "7", "x", "forecast_for")
    assert done.exit_code == 0
    assert "not get_weather: 'WthrSvc' is shown as 'get_weather'" in done.stdout
    assert "not getWeather: 'WthrSvc' is shown as 'get_weather'" in done.stdout
    assert "not dietTool: 'DietTool' has that name originally" in done.stdout
    assert "not two words: a name begins with a letter or _" in done.stdout
    assert "not 7: there are 1 alternatives" in done.stdout
    assert "not x: no such answer" in done.stdout
    assert shown(names_in(tmp_path))["WthrSvc2"] == "forecast_for"


@pytest.mark.parametrize(("answer", "name"), [("o", "WthrSvc2"), ("=w", "w"), ("s", "WthrSvc2"), ("q", "WthrSvc2")])
def test_keys(review: Callable[..., Result], tmp_path: Path, answer: str, name: str) -> None:
    done = review(answer)
    entry = names_in(tmp_path).by_name["WthrSvc2"].tool
    assert (entry.shown, bool(entry.accepted)) == (name, answer not in "sq")
    assert f"{int(answer not in 'sq')} decided, {int(answer in 'sq')} left" in done.stdout


def test_answers_are_saved_one_by_one_and_the_end_of_the_input_quits(
    review: Callable[..., Result], tmp_path: Path
) -> None:
    done = review("meal_log", "2", everything=True)
    assert done.exit_code == 0
    assert "tool DietTool" in done.stdout
    assert shown(names_in(tmp_path))["DietTool"] == "meal_log"
    assert "parameter /q of DietTool" in done.stdout


def test_an_alternative_is_taken_by_its_number(review: Callable[..., Result], tmp_path: Path) -> None:
    assert review("1", "q", everything=True).exit_code == 0
    assert shown(names_in(tmp_path))["DietTool"] == "diet_trackers"


def test_what_a_file_holds_cannot_steer_the_terminal(review: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "names.toml"
    text = path.read_text(encoding="utf-8").replace("Tells the weather", "\\u001b[2JTells the weather")
    path.write_text(text, encoding="utf-8")
    done = review("q")
    assert "[2JTells the weather" in done.stdout
    assert "\x1b[2J" not in done.stdout


def test_nothing_to_review_is_fine(review: Callable[..., Result]) -> None:
    review("")
    assert "0 decided, 0 left" in review().stdout


def test_help_shows_examples() -> None:
    shown_help = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "160", **os.environ}).stdout
    assert "rightcall align review names.toml" in shown_help
