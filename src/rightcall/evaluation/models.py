"""The model of a run, found by its name: on a server, in this machine, or in a recording."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rightcall.assemble import base_url
from rightcall.domain import ModelReply, ModelRequest
from rightcall.errors import UsageError
from rightcall.ports import Delta, ModelClient
from rightcall.providers import checkpoints
from rightcall.providers.llama_cpp import EmbeddedServer
from rightcall.providers.openai_compatible import OpenAICompatible, upstream_client
from rightcall.providers.replay import ReplayModel
from rightcall.settings import Settings
from rightcall.text_files import read_toml

REPLAY = "replay:"


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """Where a model is and what it costs: one table of a models file, or what the command line says.

    `model` is its name on the server (its own name where it is empty), `api_key_env` the environment variable
    with the credential, `larger` the entry that is asked last, `price` dollars a million tokens (`input`,
    `output`) or a second (`second`).
    """

    name: str
    upstream: str = ""
    model: str = ""
    api_key_env: str = ""
    larger: str = ""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    price: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model ready to be asked. `build` is what is known of it; `served` its name on its server.

    `holds` says whether it can answer a request at all; a recording can answer only what was recorded.
    """

    entry: ModelEntry
    client: ModelClient
    served: str
    build: str
    holds: Callable[[ModelRequest], bool] | None = None


class _Unopened:
    """Stands for a model that is only spoken of."""

    async def ask(self, request: ModelRequest) -> ModelReply:
        raise UsageError(f"the model {request.model!r} was not opened")

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        raise UsageError(f"the model {request.model!r} was not opened")


def described_model(entry: ModelEntry) -> OpenModel:
    """All that is known of a model without reaching it; asking it fails.

    Raises:
        UsageError: there is no such model.
    """
    if entry.name.startswith(REPLAY):
        replay = ReplayModel(Path(entry.name.removeprefix(REPLAY)))
        return OpenModel(entry, replay, "", f"{REPLAY}{replay.digest}", replay.holds)
    if entry.upstream:
        return OpenModel(entry, _Unopened(), entry.model or entry.name, base_url(entry.upstream))
    checkpoint = checkpoints.find(entry.name)
    build = f"sha256:{checkpoint.sha256} llama.cpp:xllamacpp-{_xllamacpp()}"
    return OpenModel(entry, _Unopened(), checkpoint.name, build)


@contextlib.asynccontextmanager
async def open_model(
    entry: ModelEntry, *, slots: int = 1, pull: Callable[[checkpoints.Checkpoint], Path] = checkpoints.pull
) -> AsyncGenerator[OpenModel, None]:
    """Opens a model for as long as the context lasts: `replay:FILE`, one on a server, or a checkpoint.

    A checkpoint is fetched by `pull` where it is not here, and served in this machine to `slots` requests at once.

    Raises:
        UsageError: there is no such model, or no way to reach it.
        UpstreamError: it could not be started.
    """
    described = described_model(entry)
    if entry.name.startswith(REPLAY):
        yield described
        return
    with contextlib.ExitStack() as stack:
        url = base_url(entry.upstream) if entry.upstream else ""
        if not url:
            checkpoint = checkpoints.find(entry.name)
            path = checkpoints.cached_path(checkpoint) or pull(checkpoint)
            url = stack.enter_context(EmbeddedServer(path, alias=checkpoint.name, slots=slots)).base_url
        async with upstream_client() as http:
            yield replace(described, client=OpenAICompatible(url, http, _headers(entry)))


def load_models(path: Path) -> dict[str, ModelEntry]:
    """The entries of a models file (TOML): a table `[models.NAME]` each.

    Raises:
        UsageError: what in the file is wrong, and what is allowed.
    """
    tables = read_toml(path, what=f"the models file {path}").get("models", {})
    if not isinstance(tables, dict) or not tables:
        raise UsageError(f"the models file {path} has no table [models.NAME]")
    entries = {name: _entry(name, table, path) for name, table in tables.items()}
    for entry in entries.values():
        if entry.larger and entry.larger not in entries:
            raise UsageError(f"{path}: {entry.name!r} names {entry.larger!r} as its larger model, which is not there")
    return entries


def chosen_entry(name: str, upstream: str | None, models: Path | None) -> tuple[ModelEntry, ModelEntry | None]:
    """The entry that a command line names, and the one that is asked last, if there is one.

    Args:
        name: of an entry of the models file, where there is one, else of a model on the server or a checkpoint.
        upstream: the server's base URL; the setting of that name where it is None.
        models: the models file.

    Raises:
        UsageError: the file cannot be used, or has no such entry.
    """
    if models is None:
        return ModelEntry(name, upstream=Settings.load({"upstream": upstream}).upstream), None
    entries = load_models(models)
    if name not in entries:
        raise UsageError(f"the models file {models} has no {name!r}; it has {', '.join(entries)}")
    entry = entries[name]
    return entry, entries[entry.larger] if entry.larger else None


_TEXTS = ("upstream", "model", "api_key_env", "larger")
_PRICES = ("input", "output", "second")


def _entry(name: str, table: Any, path: Path) -> ModelEntry:
    allowed = (*_TEXTS, "sampling", "price")
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [models.{name}] is no table; it may hold {', '.join(allowed)}")
    for key, value in table.items():
        if key not in allowed:
            raise UsageError(f"{path}: [models.{name}] sets {key!r}; allowed: {', '.join(allowed)}")
        if not isinstance(value, str if key in _TEXTS else dict):
            raise UsageError(f"{path}: [models.{name}] sets {key} to {value!r}, which is no {_kind(key)}")
    for key, value in table.get("price", {}).items():
        if key not in _PRICES or isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise UsageError(
                f"{path}: [models.{name}.price] sets {key} to {value!r}; allowed are input and output, in dollars a"
                " million tokens, and second, in dollars"
            )
    return ModelEntry(name, **table)


def _kind(key: str) -> str:
    return "text" if key in _TEXTS else "table"


def _headers(entry: ModelEntry) -> dict[str, str]:
    if not entry.api_key_env:
        return {}
    if not (key := os.environ.get(entry.api_key_env)):
        raise UsageError(f"the model {entry.name!r} needs its credential in the environment: {entry.api_key_env}")
    return {"authorization": f"Bearer {key}"}


def _xllamacpp() -> str:
    try:
        return version("xllamacpp")
    except PackageNotFoundError:  # EmbeddedServer says what to install
        return "none"
