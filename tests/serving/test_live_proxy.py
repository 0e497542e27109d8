"""The whole way with a real small model: an OpenAI client, the proxy, an embedded llama.cpp server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from conftest import Proxy  # the conftest of this folder
from rightcall.providers import checkpoints
from rightcall.providers.llama_cpp import EmbeddedServer

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "set_timer",
            "description": "Start a kitchen timer.",
            "parameters": {
                "type": "object",
                "properties": {"minutes": {"type": "integer"}, "label": {"type": "string"}},
                "required": ["minutes"],
            },
        },
    }
]
ASKED: Any = {
    "model": "qwen2.5-coder-0.5b",
    "messages": [{"role": "user", "content": "Set a timer for 25 minutes."}],
    "tools": TOOLS,
    "temperature": 0,
    "seed": 1,
    "max_tokens": 200,
}


@pytest.fixture(scope="module")
def model_server() -> Iterator[str]:
    path = checkpoints.pull(checkpoints.find("qwen2.5-coder-0.5b"))
    with EmbeddedServer(path, alias="qwen2.5-coder-0.5b", threads=2) as server:
        yield server.base_url


def test_a_call_that_the_bare_server_loses_reaches_the_client(
    model_server: str, proxied: Callable[..., Proxy]
) -> None:
    with openai.OpenAI(base_url=model_server, api_key="none", timeout=600) as bare:
        lost = bare.chat.completions.create(**ASKED)
    assert not lost.choices[0].message.tool_calls
    client = proxied(model_server).client().with_options(timeout=600)
    call = client.chat.completions.create(**ASKED).choices[0].message.tool_calls[0]  # type: ignore[index]
    assert (call.function.name, json.loads(call.function.arguments)["minutes"]) == ("set_timer", 25)
    with client.chat.completions.stream(**ASKED) as stream:
        streamed = stream.get_final_completion().choices[0].message.tool_calls[0]  # type: ignore[index]
    assert json.loads(streamed.function.arguments)["minutes"] == 25


def test_tools_in_the_prompt_reach_a_model_whose_template_drops_them(proxied: Callable[..., Proxy]) -> None:
    path = checkpoints.pull(checkpoints.find("smollm2-135m"))
    with EmbeddedServer(path, alias="smollm2-135m", threads=2) as server:
        asked = {**ASKED, "model": "smollm2-135m"}
        outside = proxied(server.base_url).client().with_options(timeout=600).chat.completions.create(**asked)
        inside_proxy = proxied(server.base_url, kit={"in_prompt": True})
        inside = inside_proxy.client().with_options(timeout=600).chat.completions.create(**asked)
    # The template drops tools, so the prompt is as short as the user's words; in the prompt the tools are there.
    assert inside.usage.prompt_tokens > outside.usage.prompt_tokens + 50  # type: ignore[union-attr]
