"""Event logs without a disk: `MemoryEventLog` for tests and for looking, `NullEventLog` for nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rightcall.ports import Event


class MemoryEventLog:
    """Keeps every event in `events`, as it came and in order."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, event: Event) -> None:
        """Keeps the event."""
        self.events.append(event)

    def flush(self) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        """Nothing to close; the events stay."""


class NullEventLog:
    """Keeps nothing."""

    def append(self, event: Event) -> None:
        """Forgets the event."""

    def flush(self) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        """Nothing to close."""
