"""Replies of models, kept by the content of their request: what was asked once is not asked again.

One SQLite file that several processes may share. The key is the SHA-256 of the request's body as it is sent,
of what is known of the model, and of the repeat, so that repeats are asked afresh.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import apsw

from rightcall.domain import ModelReply, ModelRequest, NativeCall, Usage
from rightcall.errors import StoreError
from rightcall.openai_chat import request_to_json
from rightcall.ports import Delta, ModelClient

_BUSY_MS = 30_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS completions (
  key TEXT PRIMARY KEY, model TEXT NOT NULL, reply TEXT NOT NULL, seconds REAL NOT NULL, time REAL NOT NULL
) WITHOUT ROWID"""


@dataclass(frozen=True, slots=True)
class Completion:
    """A kept reply; `seconds` is how long the model took when it was asked."""

    reply: ModelReply
    seconds: float


class CompletionCache:
    """Kept replies. Raises `StoreError` where the file cannot be opened, read or written."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).expanduser()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._db = apsw.Connection(str(self._path))
            self._db.set_busy_timeout(_BUSY_MS)
            self._db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            self._db.execute(_SCHEMA)
        except (OSError, apsw.Error) as error:
            raise StoreError(f"the cache of completions {self._path} cannot be opened: {error}") from error

    def find(self, key: str) -> Completion | None:
        """What was kept under a key of `completion_key`."""
        try:
            row = self._db.execute("SELECT reply, seconds FROM completions WHERE key = ?", (key,)).fetchone()
        except apsw.Error as error:
            raise StoreError(f"the cache of completions {self._path} cannot be read: {error}") from error
        return Completion(_reply_from_json(json.loads(row[0])), row[1]) if row else None

    def keep(self, key: str, model: str, completion: Completion) -> None:
        """Keeps a reply; one that is there already stays."""
        values = (key, model, json.dumps(_reply_to_json(completion.reply)), completion.seconds, time.time())
        try:
            self._db.execute("INSERT OR IGNORE INTO completions VALUES (?, ?, ?, ?, ?)", values)
        except apsw.Error as error:
            raise StoreError(f"the cache of completions {self._path} cannot be written: {error}") from error

    def close(self) -> None:
        """Ends the connection."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class CachedModel:
    """A `ModelClient` that asks another one only what is not kept yet.

    `build` is what is known of the model (a digest, a server's address), `repeat` the number of the sample.
    `answered` tells of every reply that was given, in order: how long the model took, and whether it was kept.
    """

    def __init__(
        self,
        model: ModelClient,
        cache: CompletionCache,
        build: str,
        repeat: int = 0,
        answered: list[tuple[float, bool]] | None = None,
    ) -> None:
        self._model = model
        self._cache = cache
        self._build = build
        self._repeat = repeat
        self.answered: list[tuple[float, bool]] = [] if answered is None else answered

    async def ask(self, request: ModelRequest) -> ModelReply:
        """The kept reply, or the model's, which is kept. Raises what the model raises; failures are not kept."""
        key = completion_key(request, self._build, self._repeat)
        kept = self._cache.find(key)
        if kept is None:
            began = time.monotonic()
            reply = await self._model.ask(request)
            kept = Completion(reply, time.monotonic() - began)
            self._cache.keep(key, request.model, kept)
            self.answered.append((kept.seconds, False))
        else:
            self.answered.append((kept.seconds, True))
        return kept.reply

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The same, in one piece."""
        reply = await self.ask(request)
        yield Delta(reply.text, reply.reasoning, reply)


def completion_key(request: ModelRequest, build: str, repeat: int) -> str:
    """The key of a request's reply."""
    # The body as it is sent, key order included: a chat template shows a schema's keys in their order.
    asked = json.dumps([build, repeat, request_to_json(request)])
    return f"sha256:{hashlib.sha256(asked.encode()).hexdigest()}"


def _reply_to_json(reply: ModelReply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.tool_calls],
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
        "usage": [reply.usage.input_tokens, reply.usage.output_tokens] if reply.usage else None,
        "model": reply.model,
        "reasoning_open": reply.reasoning_open,
        "broken": reply.broken,
        "fingerprint": reply.body.get("system_fingerprint"),
    }


def _reply_from_json(data: Mapping[str, Any]) -> ModelReply:
    return ModelReply(
        text=data["text"],
        tool_calls=tuple(NativeCall(call["name"], call["arguments"], call["id"]) for call in data["tool_calls"]),
        reasoning=data["reasoning"],
        finish_reason=data["finish_reason"],
        usage=Usage(*data["usage"]) if data["usage"] else None,
        model=data["model"],
        reasoning_open=data["reasoning_open"],
        broken=data["broken"],
        body={"system_fingerprint": data["fingerprint"]} if data["fingerprint"] else {},
    )
