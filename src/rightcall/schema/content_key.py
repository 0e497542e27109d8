"""Keys for what is made once from equal schemas: a proxy is sent the same tools in every request, as new objects."""

from __future__ import annotations

import json
import marshal
from typing import Any

_VERSION = 2  # later ones also write which objects are shared, so that equal values may differ


def content_key(value: Any) -> bytes:
    """JSON-like values as bytes: the same only for the same types, values and order.

    `marshal` is several times quicker than JSON and takes exact types only; anything else goes through JSON first.

    Raises:
        TypeError, ValueError, RecursionError: it is not JSON.
    """
    try:
        return marshal.dumps(value, _VERSION)
    except ValueError:
        return marshal.dumps(json.loads(json.dumps(value)), _VERSION)


def from_key(key: bytes) -> Any:
    """A copy of the value that a key was made of."""
    return marshal.loads(key)  # noqa: S302 - these bytes were written above, in this process
