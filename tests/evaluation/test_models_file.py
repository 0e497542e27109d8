"""The models file, and opening models by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from rightcall.errors import UsageError
from rightcall.evaluation.models import ModelEntry, load_models, open_model

GOOD = """
[models.small]
upstream = "127.0.0.1:8080"
larger = "big"
[models.small.sampling]
top_k = 1
[models.small.price]
second = 0.0001
[models.big]
upstream = "http://127.0.0.1:8081/v1"
model = "big:70b"
"""


def test_a_models_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(GOOD)
    entries = load_models(tmp_path / "m.toml")
    assert entries["small"].larger == "big"
    assert entries["small"].sampling == {"top_k": 1}
    assert entries["small"].price == {"second": 0.0001}
    assert entries["big"].model == "big:70b"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", r"no table \[models.NAME\]"),
        ("[models.a]\nurl = 'x'", "sets 'url'; allowed: upstream"),
        ("[models.a]\nupstream = 5", "which is no text"),
        ("[models.a]\nlarger = 'b'", "names 'b' as its larger model"),
        ("[models.a.price]\ninput = -1", "allowed are input and output"),
        ("[models.a.price]\nfoo = 1", "allowed are input and output"),
        ("models = 3", r"no table \[models.NAME\]"),
    ],
)
def test_a_broken_models_file_says_what_is_wrong(tmp_path: Path, content: str, fault: str) -> None:
    (tmp_path / "m.toml").write_text(content)
    with pytest.raises(UsageError, match=fault):
        load_models(tmp_path / "m.toml")


@pytest.mark.anyio
async def test_a_missing_credential_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(UsageError, match="SOME_KEY"):
        async with open_model(ModelEntry("x", "http://127.0.0.1:9/v1", api_key_env="SOME_KEY")):
            pass


@pytest.mark.anyio
async def test_a_model_that_is_nowhere_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no-such-model"):
        async with open_model(ModelEntry("no-such-model")):
            pass
