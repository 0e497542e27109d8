"""The documentation's code is real: every Python block runs, every command and link exists."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from rightcall.cli.main import app
from small_model import small_model

ROOT = Path(__file__).resolve().parents[1]
FOR_USERS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [*FOR_USERS, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "design").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.name}:{number}")
    for page in PAGES
    for number, block in enumerate(
        re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    )
]
ADDRESS = "http://127.0.0.1:11434/v1"


def fenced_call(body: dict[str, Any]) -> str:
    """Answers as a small model does: the call as fenced text."""
    tool = body["tools"][0]["function"]
    arguments = dict.fromkeys(tool["parameters"].get("required", []), "Oslo")
    return f"```json\n{json.dumps({'name': tool['name'], 'arguments': arguments})}\n```"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with small_model(fenced_call) as url:
        yield url


@pytest.mark.parametrize("block", BLOCKS)
def test_a_code_block_runs(block: str, server: str) -> None:
    code = block.replace(ADDRESS, server)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    if "propose(" in code:
        assert "calls [('get_weather', {'city': 'Oslo'})]" in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def options(command: Any) -> set[str]:
    """The options of a command and of all below it."""
    own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return own.union(*(options(below) for below in getattr(command, "commands", {}).values()))


def test_every_option_in_the_documentation_exists() -> None:
    known = options(typer.main.get_command(app)) | {"--jinja", "--help"}  # llama.cpp's, and everybody's
    for page in FOR_USERS:
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", page.read_text(encoding="utf-8")):
            assert option in known, f"{page.name} names {option}"


def test_every_setting_is_in_the_reference() -> None:
    from rightcall.settings import Settings

    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert [name for name in Settings.__dataclass_fields__ if f"`{name}`" not in text] == []
