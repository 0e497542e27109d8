"""Name maps as files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rightcall.errors import RightcallError
from rightcall.naming.map_text import MAX_CHARS, map_from_text, map_to_text
from rightcall.naming.name_map import NameMap
from rightcall.text_files import read_text


def read_name_map(path: str | os.PathLike[str]) -> NameMap:
    """The map in a file. Raises `UsageError` where there is none, or what is in it cannot be used."""
    path = Path(path).expanduser()
    text = read_text(path, what=f"the name map {path}", most=4 * MAX_CHARS, hint="Make one: rightcall align")
    return map_from_text(text, str(path))


def write_name_map(path: str | os.PathLike[str], names: NameMap) -> None:
    """Writes the file whole or not at all. Raises `RightcallError` where it cannot be written."""
    path = Path(path).expanduser()
    text = map_to_text(names)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=path.name, delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        Path(file.name).chmod(mode)
        Path(file.name).replace(path)
    except OSError as error:
        raise RightcallError(f"the name map {path} cannot be written: {error.strerror}") from error
