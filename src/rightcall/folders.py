"""Where things are kept on this computer."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def cache_folder() -> Path:
    """What can be fetched or asked again: $RIGHTCALL_CACHE, else the place where this system keeps caches."""
    if own := os.environ.get("RIGHTCALL_CACHE"):
        return Path(own).expanduser()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "rightcall"
    match platform.system():
        case "Windows":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "rightcall"
        case "Darwin":
            return Path.home() / "Library" / "Caches" / "rightcall"
        case _:
            return Path.home() / ".cache" / "rightcall"
