"""Settings: defaults, then a file, then the environment, then flags; the later wins.

The file is TOML: `rightcall.toml` in the working directory, else `config.toml` in the user's configuration
folder. The environment's names are the settings' in capitals behind `RIGHTCALL_`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self, get_type_hints

from rightcall.errors import UsageError
from rightcall.text_files import read_toml

_CHOICES = {
    "unresolved": ("text", "error"),
    "log_content": ("full", "none"),
    "provenance": ("off", "required", "all"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a user can set. Times are in seconds, sizes in bytes."""

    upstream: str = ""
    """Base URL of the model server, with its version: http://127.0.0.1:11434/v1"""
    upstream_key: str = field(default="", repr=False)
    """Credential for the upstream, where clients bring none."""
    host: str = "127.0.0.1"
    port: int = 8484
    unresolved: str = "text"
    """What a client gets where no call could be made right: `text` or `error`."""
    hold_text: bool = False
    """Hold the text of a stream back too, until the whole reply is judged."""
    tools_in_prompt: bool = False
    """Describe tools in the prompt, for models whose chat template drops them."""
    rewrite: str = "none"
    """How to show schemas: `auto`, `none`, or rewrites with commas between them (see docs/presenting-tools.md)."""
    names: str = ""
    """A file of `rightcall align`: tools and parameters are shown to the model under its names."""
    narrow: str = "none"
    """How many tools a turn shows, those that fit best; or `search`: two tools that find the others."""
    embeddings: str = "none"
    """What compares meanings where tools are searched: `none`, `bundled`, or a folder with a model2vec model."""
    correction: str = "off"
    """Take the nearest tool for a name that there is not, by `bm25` or `embedding`; never a destructive one."""
    harmless_tools: str = ""
    """Tools without declared effects that may be corrected to, with commas between them; `*`: all of them."""
    attempts: int = 3
    """How often at most a model is asked to make a call right; 1 only repairs."""
    next_calls: int = 8
    """How often at most a call is asked for that the request seems to hold and no one made; 0 never."""
    deadline: float = 300.0
    """Seconds for all attempts of a turn together."""
    larger_model: str = ""
    """A model for the last attempt; on `larger_upstream`, else on the same server."""
    larger_upstream: str = ""
    larger_key: str = field(default="", repr=False)
    no_suitable_tool: bool = False
    """Offer the model a tool that says that none of the others fits."""
    provenance: str = "off"
    """Refuse values that stand nowhere in the conversation: of `required` arguments, or of `all`."""
    relevance_floor: bool = False
    """Refuse calls of tools that share no word with what was said, nor, with `embeddings`, its meaning."""
    log: bool = True
    log_path: str = ""
    """Where the event log is; empty: the user's state folder."""
    log_content: str = "full"
    """`none` keeps what happened without what was said."""
    log_redact: bool = True
    """Take what looks like a secret out of the log."""
    keep_alive: float = 10.0
    max_body: int = 32 * 1024 * 1024

    @classmethod
    def load(
        cls, flags: Mapping[str, Any] | None = None, *, file: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Self:
        """Reads the settings. Flags that are None were not given.

        Raises:
            UsageError: which setting, from where, is wrong, and what is allowed.
        """
        env = os.environ if env is None else env
        settings = cls()
        path = _file(file, env)
        if path is not None:
            own = {name: value for name, value in _read(path).items() if name not in _TABLES}
            settings = settings.updated(own, f"the file {path}")
        given = {name: env[f"RIGHTCALL_{name.upper()}"] for name in _TYPES if f"RIGHTCALL_{name.upper()}" in env}
        settings = settings.updated(given, "the environment")
        return settings.updated({k: v for k, v in (flags or {}).items() if v is not None}, "the command line")

    def updated(self, values: Mapping[str, Any], source: str) -> Self:
        """The settings with some replaced; `source` is where those come from, for the error."""
        unknown = [name for name in values if name not in _TYPES]
        if unknown:
            raise UsageError(f"{source} sets {unknown[0]!r}, which is no setting. Settings: {', '.join(_TYPES)}")
        settings = replace(self, **{name: _typed(name, value, source) for name, value in values.items()})
        for name, allowed in _CHOICES.items():
            if getattr(settings, name) not in allowed:
                raise UsageError(
                    f"{source} sets {name} to {getattr(settings, name)!r}; allowed: {', '.join(allowed)}"
                )
        return settings


_TABLES = frozenset(("lint",))
"""Tables of the settings file that other parts of rightcall read."""


def lint_table(file: Path | None = None, env: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    """The linter's table in the settings file; empty where there is none. Raises `UsageError` as `Settings.load`."""
    path = _file(file, os.environ if env is None else env)
    table = _read(path).get("lint", {}) if path is not None else {}
    if not isinstance(table, Mapping):
        raise UsageError(f"the file {path} sets lint to {table!r}; it is a table, [lint.ignore]")
    return table


_TYPES = {name: kind for name, kind in get_type_hints(Settings).items() if name in {f.name for f in fields(Settings)}}
_TRUE, _FALSE = frozenset(("1", "true", "yes", "on")), frozenset(("0", "false", "no", "off"))


def _typed(name: str, value: Any, source: str) -> Any:
    kind = _TYPES[name]
    try:
        if kind is bool and isinstance(value, str):
            if value.casefold() in _TRUE | _FALSE:
                return value.casefold() in _TRUE
        elif kind is bool:
            if isinstance(value, bool):
                return value
        elif not isinstance(value, bool):
            return kind(value)
    except (TypeError, ValueError):
        pass
    raise UsageError(f"{source} sets {name} to {value!r}; it must be {kind.__name__}")


def _file(file: Path | None, env: Mapping[str, str]) -> Path | None:
    if file is not None:
        return file
    if chosen := env.get("RIGHTCALL_CONFIG"):
        return Path(chosen)
    folder = Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return next(
        (path for path in (Path("rightcall.toml"), folder / "rightcall" / "config.toml") if path.is_file()), None
    )


def _read(path: Path) -> Mapping[str, Any]:
    return read_toml(path, what=f"the settings file {path}")
