"""Arms: what rightcall may do in a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from rightcall.errors import UsageError
from rightcall.evaluation.arms import load_arm


def test_a_file_of_settings_is_an_arm_by_the_files_name(tmp_path: Path) -> None:
    (tmp_path / "two_tries.toml").write_text("attempts = 2\nnext_calls = 0\ndeadline = 30\n")
    arm = load_arm(str(tmp_path / "two_tries.toml"))
    assert (arm.name, arm.attempts, arm.next_calls, arm.deadline) == ("two_tries", 2, 0, 30)
    assert arm.reads


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
    ],
)
def test_a_broken_arm_says_what_is_allowed(tmp_path: Path, content: str, fault: str) -> None:
    (tmp_path / "arm.toml").write_text(content)
    with pytest.raises(UsageError, match=fault):
        load_arm(str(tmp_path / "arm.toml"))


def test_an_unknown_arm_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="none of bare, parse, full"):
        load_arm("fulll")
