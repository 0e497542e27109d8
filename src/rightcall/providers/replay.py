"""Recorded replies as a model: the same request gets the same reply, so a whole path is tested offline.

A recording is a JSONL file of objects with `request` (the body that was sent) and `response` (what came back).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from rightcall.domain import ModelReply, ModelRequest
from rightcall.errors import UpstreamError, UsageError
from rightcall.openai_chat import reply_from_json, request_to_json
from rightcall.ports import Delta


class ReplayModel:
    """Answers a request with the reply recorded for the same messages and tools.

    `digest` is the file's, `sha256:` and hexadecimal.
    """

    def __init__(self, path: Path) -> None:
        self._replies: dict[str, ModelReply] = {}
        try:
            content = path.read_bytes()
            lines = content.decode("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the recording {path} cannot be read: {error}") from error
        self.digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
                self._replies[_key(entry["request"])] = reply_from_json(entry["response"])
            except (ValueError, KeyError, TypeError, UsageError) as error:
                raise UsageError(f"{path}, line {number}, is no recorded exchange: {error}") from error

    def holds(self, request: ModelRequest) -> bool:
        """Whether the request was recorded."""
        return _key(request_to_json(request)) in self._replies

    async def ask(self, request: ModelRequest) -> ModelReply:
        """The recorded reply. Raises `UpstreamError` where there is none."""
        reply = self._replies.get(_key(request_to_json(request)))
        if reply is None:
            raise UpstreamError("this request was not recorded, so there is no reply to replay")
        return reply

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The recorded reply in one piece."""
        reply = await self.ask(request)
        yield Delta(reply.text, reply.reasoning, reply)


def _key(body: Mapping[str, Any]) -> str:
    tools = [tool.get("function", tool).get("name") for tool in body.get("tools") or []]
    return json.dumps([body.get("messages"), tools], sort_keys=True, ensure_ascii=False)
