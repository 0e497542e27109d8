"""What the flow needs from outside, as Protocols. Their public fakes: `providers.scripted`, `store.memory`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from rightcall.domain import ModelReply, ModelRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Delta:
    """One piece of a streamed reply. The last one carries `reply`, the whole put together.

    `head` is what the server says of the whole reply (its id, its model), on the first piece.
    """

    text: str = ""
    reasoning: str = ""
    reply: ModelReply | None = None
    head: Mapping[str, Any] = field(default_factory=dict)


class ModelClient(Protocol):
    """A model behind a server, a library or a recording."""

    async def ask(self, request: ModelRequest) -> ModelReply:
        """One request, one whole reply. Raises `UpstreamError`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The same, piece by piece; the last piece carries the whole reply. Raises `UpstreamError`."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of the event log. `data` is JSON; `time` is seconds since the epoch."""

    turn: str
    kind: str
    time: float
    data: Mapping[str, Any] = field(default_factory=dict)


class EventLog(Protocol):
    """Append-only memory of everything that happened."""

    def append(self, event: Event) -> None:
        """Takes the event at once and never waits for a disk; it may be written a little later."""
        ...

    def flush(self) -> None:
        """Returns when everything appended before is durable. Raises `StoreError`."""
        ...


class Embedder(Protocol):
    """Texts as vectors, near where they mean alike. Compared by identity; it needs numpy, which extras bring."""

    @property
    def name(self) -> str:
        """Which model it is."""
        ...

    def __hash__(self) -> int:
        """What is made with it is kept under it."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """An array of shape (texts, dimensions), each row of length 1, or all zeros where a text says nothing."""
        ...


class Clock(Protocol):
    """Time, so that tests can stand still."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...
