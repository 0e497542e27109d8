"""Settings: defaults, file, environment, flags; the later wins, and a wrong one says where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from rightcall import UsageError
from rightcall.assemble import base_url, build_ladder
from rightcall.settings import Settings


def test_the_later_source_wins(tmp_path: Path) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text('port = 1\nattempts = 1\nunresolved = "error"\nlog = false\n')
    env = {"RIGHTCALL_PORT": "2", "RIGHTCALL_ATTEMPTS": "2", "RIGHTCALL_LOG": "yes"}
    settings = Settings.load({"port": 3, "attempts": None}, file=file, env=env)
    assert (settings.port, settings.attempts, settings.unresolved, settings.log) == (3, 2, "error", True)


@pytest.mark.parametrize(
    ("text", "env", "flags", "words"),
    [
        ("colour = 1", {}, {}, r"rightcall.toml sets 'colour', which is no setting"),
        ("port = 'many'", {}, {}, r"rightcall.toml sets port to 'many'; it must be int"),
        ("port = ", {}, {}, "is no TOML"),
        ("", {"RIGHTCALL_LOG": "perhaps"}, {}, "the environment sets log to 'perhaps'; it must be bool"),
        ("", {}, {"unresolved": "shrug"}, "the command line sets unresolved to 'shrug'; allowed: text, error"),
        ("port = true", {}, {}, "sets port to True; it must be int"),
    ],
)
def test_a_wrong_setting_says_what_and_where(
    tmp_path: Path, text: str, env: dict[str, str], flags: dict[str, str], words: str
) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=words):
        Settings.load(flags, file=file, env=env)


def test_a_settings_file_that_is_not_there_is_an_error_only_if_it_was_named(tmp_path: Path) -> None:
    assert Settings.load(env={"XDG_CONFIG_HOME": str(tmp_path)}).port == 8484
    with pytest.raises(UsageError, match="cannot be read"):
        Settings.load(file=tmp_path / "none.toml", env={})


def test_credentials_are_not_shown() -> None:
    assert "secret" not in repr(Settings(upstream_key="secret", larger_key="secret"))


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        ("127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("http://localhost:11434", "http://localhost:11434/v1"),
        ("https://models.example/api/v1/", "https://models.example/api/v1"),
    ],
)
def test_an_upstream_address_is_made_whole(given: str, whole: str) -> None:
    assert base_url(given) == whole


def test_fewer_attempts_are_fewer_rungs_and_a_larger_model_comes_last() -> None:
    assert [rung.name for rung in build_ladder(Settings(attempts=1)).rungs] == ["plain"]
    assert [rung.name for rung in build_ladder(Settings(larger_model="big")).rungs] == [
        "plain",
        "feedback",
        "example",
        "larger",
    ]
    with pytest.raises(UsageError, match="at least 1"):
        build_ladder(Settings(attempts=0))
