"""The file of a name map: one text for one map, and a clear word for every slip."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall.alignment.files import read_name_map, write_name_map
from rightcall.errors import RightcallError, UsageError
from rightcall.naming.map_text import map_from_text, map_to_text
from rightcall.naming.name_map import AlignSettings, NameMap, Naming, ToolNaming
from rightcall.naming.peakedness import Candidate, Method

GOLDEN = Path(__file__).with_name("golden") / "names.toml"
NAMES = NameMap(
    "small",
    "sha256:00 llama.cpp",
    AlignSettings(),
    (
        ToolNaming(
            Naming(
                "DietTool",
                "diet_insights",
                peakedness=4,
                count=4,
                greedy="nutri_guide",
                flags=("low margin", "near diet_insight"),
                alternatives=(Candidate("diet_tracker", 4, 5), Candidate("nutri_guide", 2, 3)),
                about='A tool that "simplifies" calorie counting…',
            ),
            "sha256:ab",
            (
                Naming("q", "query", "query", place="/q", peakedness=31, count=32, margin=32, greedy="query"),
                Naming("a/b", "path", "file_path", place="/o/a~1b"),
            ),
            description="Counts calories.",
        ),
        ToolNaming(Naming("t", "t", "t", flags=("no description",)), "sha256:cd"),
    ),
)


def test_the_file_is_the_golden_one() -> None:
    assert map_to_text(NAMES) == GOLDEN.read_text(encoding="utf-8")
    assert map_from_text(GOLDEN.read_text(encoding="utf-8"), "names.toml") == NAMES


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


@given(
    st.lists(st.tuples(TEXT, TEXT, st.integers(-1024, 1024)), max_size=3, unique_by=lambda row: row[0]),
    st.sampled_from(list(Method)),
    st.floats(0, 1),
)
@settings(deadline=None, max_examples=60)
def test_whatever_is_written_is_read_back(rows: list[tuple[str, str, int]], method: Method, alpha: float) -> None:
    tools = tuple(
        ToolNaming(Naming(name, text, about=text, margin=margin, flags=(text,)), text, description=text)
        for name, text, margin in rows
    )
    names = NameMap("m", "b", AlignSettings(method, alpha=alpha), tools)
    text = map_to_text(names)
    assert map_from_text(text, "x") == names
    assert map_to_text(map_from_text(text, "x")) == text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 1", "format = 2", "no name map of format 1"),
        ("format = 1", "format = ", "no TOML"),
        ('accepted = "query"', 'acepted = "query"', "sets 'acepted'; allowed:"),
        ('accepted = "query"', "accepted = 3", "accepted is 3; it must be str"),
        ('accepted = "query"', 'accepted = "a query"', "a name begins with a letter"),
        ('accepted = "query"', f'accepted = "{"x" * 65}"', "64 characters at most"),
        ('original = "t"', 'original = "DietTool"', "a tool is there twice"),
        ('accepted = "t"', 'accepted = "dietTool"', "'DietTool' has that name originally"),
        ('method = "peakedness"', 'method = "best"', "allowed: peakedness, mostfreq, greedy"),
        ('fingerprint = "sha256:cd"', "", "has no 'fingerprint'"),
        ("peakedness = 31", "peakedness = true", "peakedness is True; it must be int"),
        ('place = "/q"', 'place = "/o/a~1b"', "a parameter is there twice"),
        ("[made_for]", "[made_with]", r"\[made_for\] is no table"),
    ],
)
def test_a_slip_in_the_file_is_said_with_what_is_allowed(old: str, new: str, message: str) -> None:
    text = GOLDEN.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    with pytest.raises(UsageError, match=message):
        map_from_text(text.replace(old, new, 1), "names.toml")


def test_two_components_shown_under_one_name_are_refused() -> None:
    twice = NAMES.changed(lambda _, naming: replace(naming, accepted="same") if not naming.place else naming)
    with pytest.raises(UsageError, match="the tool 'DietTool' cannot be shown as 'same': 't' is shown as 'same'"):
        map_from_text(map_to_text(twice), "names.toml")


def test_parameters_of_different_objects_may_share_a_name() -> None:
    same = NAMES.changed(lambda _, naming: replace(naming, accepted="same") if naming.place else naming)
    assert map_from_text(map_to_text(same), "names.toml") == same


def test_a_file_is_written_whole_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "names" / "small.toml"
    write_name_map(path, NAMES)
    write_name_map(path, NAMES)
    assert read_name_map(path) == NAMES
    assert [each.name for each in path.parent.iterdir()] == ["small.toml"]
    with pytest.raises(RightcallError, match="cannot be written"):
        write_name_map(path / "below", NAMES)


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_name_map(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"a = '\xe9'")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_name_map(tmp_path / "latin.toml")
