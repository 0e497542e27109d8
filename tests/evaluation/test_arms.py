"""Arms: what rightcall may do in a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from rightcall.alignment.files import write_name_map
from rightcall.assemble import SystemClock
from rightcall.domain import ModelRequest, Tool
from rightcall.errors import UsageError
from rightcall.evaluation.arms import load_arm
from rightcall.naming.name_map import NameMap, Naming, ToolNaming
from rightcall.providers.scripted import ScriptedModel
from rightcall.store.memory import NullEventLog
from rightcall.turn import Kit, first_question


def test_a_file_of_settings_is_an_arm_by_the_files_name(tmp_path: Path) -> None:
    (tmp_path / "two_tries.toml").write_text("attempts = 2\nnext_calls = 0\ndeadline = 30\n")
    arm = load_arm(str(tmp_path / "two_tries.toml"))
    assert (arm.name, arm.attempts, arm.next_calls, arm.deadline) == ("two_tries", 2, 0, 30)
    assert arm.reads


TOOL = Tool(
    "book",
    "Books a table.",
    {"type": "object", "properties": {"table": {"type": "object", "properties": {"seats": {"type": "integer"}}}}},
)
ASKED = ModelRequest(({"role": "user", "content": "a table for two"},), tools=(TOOL, Tool("sing", "Sings a song.")))


def shown_by(settings: str, tmp_path: Path) -> ModelRequest:
    """What the model is asked first in an arm of these settings."""
    (tmp_path / "arm.toml").write_text(settings)
    kit = Kit(ScriptedModel([]), NullEventLog(), SystemClock())
    return first_question(ASKED, load_arm(str(tmp_path / "arm.toml")).kit(kit))


def test_an_arm_shows_the_tools_as_its_settings_say(tmp_path: Path) -> None:
    assert [tool.name for tool in shown_by("narrow = 1", tmp_path).tools] == ["book"]
    assert [tool.name for tool in shown_by('narrow = "1"', tmp_path).tools] == ["book"]
    flat = shown_by('rewrite = "flatten"', tmp_path).tools[0].parameters
    assert list(flat["properties"]) == ["table_seats"]
    assert "response_format" not in shown_by("attempts = 1", tmp_path).extra


def test_a_constrained_arm_lets_the_server_decode_calls_only_and_only_at_first(tmp_path: Path) -> None:
    constrained = shown_by("constrained = true", tmp_path).extra["response_format"]
    names = [form["properties"]["name"]["const"] for form in constrained["json_schema"]["schema"]["anyOf"]]
    assert names == ["book", "sing"]
    ladder = load_arm(str(tmp_path / "arm.toml")).kit(Kit(ScriptedModel([]), NullEventLog(), SystemClock())).ladder
    assert [rung.constrain for rung in ladder.rungs] == [True, False, False]


def test_an_arm_with_a_name_map_is_known_by_what_is_in_the_map(tmp_path: Path) -> None:
    def settings(accepted: str) -> dict[str, object]:
        tool = Naming("WthrSvc", "get_weather", accepted)
        write_name_map(tmp_path / "maps" / "names.toml", NameMap("small", tools=(ToolNaming(tool, "sha256:00"),)))
        return load_arm(str(tmp_path / "aligned.toml")).settings

    (tmp_path / "aligned.toml").write_text('names = "maps/names.toml"\n')
    first, again, changed = settings("get_weather"), settings("get_weather"), settings("weather")
    assert first == again
    assert first["names"] != changed["names"]
    assert str(first["names"]).startswith("small sha256:")
    assert load_arm("full").settings["names"] == ""


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("attemps = 2", "'attemps'; an arm has attempts"),
        ("attempts = 0", "allowed: 1 to 3"),
        ("attempts = 9", "allowed: 1 to 3"),
        ("next_calls = -1", "must be int, and not negative"),
        ("text_calls = 1", "must be bool"),
        ("deadline = true", "must be float"),
        ("attempts =", "is no TOML"),
        ('names = "none.toml"', "name map .*none.toml cannot be read"),
        ('provenance = "some"', "arm.toml: provenance is 'some'; allowed: off, required, all"),
        ('rewrite = "shorter"', "arm.toml: .*'shorter'"),
        ('narrow = "few"', "arm.toml: narrow is 'few'"),
        ("narrow = -1", "arm.toml: narrow is '-1'"),
        ('correction = "soundex"', "arm.toml: correction is 'soundex'"),
        ("constrained = 1", "must be bool"),
    ],
)
def test_a_broken_arm_says_what_is_allowed(tmp_path: Path, content: str, fault: str) -> None:
    (tmp_path / "arm.toml").write_text(content)
    with pytest.raises(UsageError, match=fault):
        load_arm(str(tmp_path / "arm.toml"))


def test_an_unknown_arm_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="none of bare, parse, full"):
        load_arm("fulll")
