"""Exceptions, for people. What a model does wrong is a `Problem` (data), never one of these.

    RightcallError
    ├── UsageError          what the caller handed in cannot be used: a file, an option, a schema
    │   └── MissingExtra    an optional part is not installed
    ├── UpstreamError       the model server is down, slow, refuses, or speaks nonsense
    │   ├── UpstreamTimeout
    │   └── UpstreamRefused     it answered with an error status; carries status and body
    └── StoreError          the event log cannot be opened, read or written

Every message says what was got, what is allowed and what to do next.
"""

from __future__ import annotations


class RightcallError(Exception):
    """Base of all exceptions that rightcall raises on purpose."""


class UsageError(RightcallError):
    """What the caller handed in cannot be used."""


class MissingExtra(UsageError):
    """An optional part is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the optional part '{extra}'. Install it: pip install 'rightcall[{extra}]'")


class UpstreamError(RightcallError):
    """The model server could not be used."""


class UpstreamTimeout(UpstreamError):
    """The model server did not answer in time."""


class UpstreamRefused(UpstreamError):
    """The model server answered with an error status.

    `status` is the HTTP status, `body` the first part of what it said.
    """

    def __init__(self, status: int, body: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = body


class StoreError(RightcallError):
    """The event log cannot be opened, read or written."""
