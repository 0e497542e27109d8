"""The proxy as OpenAI's own client sees it, in front of a scripted upstream; real sockets on loopback."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse

from conftest import Proxy, Upstream, hang, message  # the conftest of this folder
from rightcall import ONE_ATTEMPT, Ladder, Rung

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a city.",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
                "required": ["city"],
            },
        },
    }
]
USER: Any = [{"role": "user", "content": "How is the weather there?"}]
FENCED = '```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'


def create(proxy: Proxy, **more: Any) -> Any:
    return proxy.client().chat.completions.create(model="m", messages=USER, **{"tools": TOOLS, **more})


def made(answer: Any) -> list[tuple[str, Any]]:
    calls = answer.choices[0].message.tool_calls or []
    return [(call.function.name, json.loads(call.function.arguments)) for call in calls]


# -- whole answers ----------------------------------------------------------------------------------------------


def test_a_call_written_as_text_comes_out_native(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message(FENCED)]
    answer = create(proxy)
    assert made(answer) == [("get_weather", {"city": "Oslo"})]
    assert (answer.choices[0].finish_reason, answer.choices[0].message.content) == ("tool_calls", None)


def test_what_the_upstream_says_of_its_reply_is_kept(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message("Let me look.", [("get_weather", {"city": "Oslo"})], reasoning_content="Oslo, then.")]
    raw = proxy.client().chat.completions.with_raw_response.create(model="m", messages=USER, tools=TOOLS)
    body = json.loads(raw.text)
    assert (body["id"], body["model"], body["system_fingerprint"], body["timings"]) == (
        "chatcmpl-up", "up-model", "fp", {"predicted_ms": 1.5},
    )  # fmt: skip
    answer = body["choices"][0]["message"]
    assert (answer["content"], answer["reasoning_content"], answer["tool_calls"][0]["id"]) == (
        "Let me look.",
        "Oslo, then.",
        "call_0",
    )
    assert body["usage"] == {
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "total_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 5},
    }


def test_headers_and_an_extension_field_tell_what_was_done(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message(None, [("get_weather", {"city": "Oslo", "unit": "Celsius"})])]
    raw = proxy.client().chat.completions.with_raw_response.create(model="m", messages=USER, tools=TOOLS)
    told = json.loads(raw.text)["rightcall"]
    assert raw.headers["x-rightcall-attempts"] == "1"
    assert raw.headers["x-rightcall-turn"] == told["turn"]
    assert (raw.headers["x-rightcall-notes"], raw.headers["x-rightcall-model"]) == ("1", "up-model")
    assert [(note["kind"], note["grade"], note["path"]) for note in told["notes"]] == [("enum", "inferred", "/unit")]


def test_the_request_reaches_the_upstream_with_everything_the_client_said(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message("Mild.")]
    create(proxy, temperature=0.3, seed=4, extra_body={"min_p": 0.1, "chat_template_kwargs": {"a": 1}})
    sent = upstream.bodies[0]
    assert (sent["temperature"], sent["seed"], sent["min_p"], sent["chat_template_kwargs"]) == (0.3, 4, 0.1, {"a": 1})
    assert sent["tools"] == TOOLS
    assert upstream.headers[0]["authorization"] == "Bearer sk-client"


def test_several_calls_of_one_reply_keep_their_order_and_ids(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message(None, [("get_weather", {"city": city}) for city in ("Oslo", "Riga", "Oslo")])]
    answer = create(proxy)
    assert [arguments["city"] for _name, arguments in made(answer)] == ["Oslo", "Riga", "Oslo"]
    assert [call.id for call in answer.choices[0].message.tool_calls] == ["call_0", "call_1", "call_2"]


def test_a_wrong_call_is_made_right_by_asking_again_and_the_usage_is_of_both(
    upstream: Upstream, proxy: Proxy
) -> None:
    upstream.steps = [message(None, [("get_weather", {})]), message(FENCED)]
    answer = create(proxy)
    assert made(answer) == [("get_weather", {"city": "Oslo"})]
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (14, 6)


def test_what_cannot_be_made_right_says_so_in_words(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message(None, [("get_weather", {"unit": "kelvin"})])]
    answer = create(proxy)
    content = answer.choices[0].message.content
    assert made(answer) == []
    assert "No tool call could be made right after 3 attempts" in content
    assert "city is required and missing" in content


def test_or_as_an_error_with_the_problems_as_data(upstream: Upstream, proxied: Callable[..., Proxy]) -> None:
    upstream.steps = [message(None, [("get_weather", {})])]
    with pytest.raises(openai.UnprocessableEntityError) as caught:
        create(proxied(unresolved="error"))
    body = caught.value.response.json()
    assert body["error"]["code"] == "tool_call_unresolved"
    assert body["rightcall"]["problems"][0]["kind"] == "missing_required"


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "function": {"name": "get_weather"}}], ids=["required", "named"]
)
def test_a_demanded_call_is_demanded_even_where_the_upstream_ignores_it(
    upstream: Upstream, proxy: Proxy, choice: Any
) -> None:
    upstream.steps = [message("It is mild."), message(FENCED)]
    answer = create(proxy, tool_choice=choice)
    assert made(answer) == [("get_weather", {"city": "Oslo"})]
    assert "tool_choice" not in upstream.bodies[0]
    assert upstream.bodies[0]["messages"][0]["role"] == "system"


def test_a_call_that_is_not_wanted_is_not_made(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message(FENCED)]
    answer = create(proxy, tool_choice="none")
    assert (made(answer), answer.choices[0].message.content) == ([], FENCED)
    assert "tools" not in upstream.bodies[0]


def test_one_call_at_a_time_is_kept_to(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [
        message(None, [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Riga"})]),
        message(FENCED),
    ]
    assert made(create(proxy, parallel_tool_calls=False)) == [("get_weather", {"city": "Oslo"})]
    assert "one call at a time" in upstream.bodies[1]["messages"][-1]["content"]


def test_an_empty_answer_never_reaches_the_client_in_silence(
    upstream: Upstream, proxied: Callable[..., Proxy]
) -> None:
    upstream.steps = [message("")]
    answer = create(proxied(kit={"ladder": ONE_ATTEMPT}))
    assert "the reply is empty, although 3 tokens were generated" in answer.choices[0].message.content


def test_an_upstream_500_that_holds_the_models_text_is_salvaged(upstream: Upstream, proxy: Proxy) -> None:
    written = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
    broken = f"Failed to parse input at pos 0: {written}"
    upstream.steps = [JSONResponse({"error": {"code": 500, "message": broken, "type": "server_error"}}, 500)]
    assert made(create(proxy)) == [("get_weather", {"city": "Oslo"})]
    assert len(upstream.bodies) == 1


def test_an_upstream_500_about_the_models_output_is_asked_again(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [
        JSONResponse({"error": {"message": "error parsing tool call: raw='{\"ci'"}}, 500),
        message(FENCED),
    ]
    assert made(create(proxy)) == [("get_weather", {"city": "Oslo"})]


# -- streams ------------------------------------------------------------------------------------------------------


def streamed(proxy: Proxy, **more: Any) -> tuple[str, str, list[tuple[str, Any]], str | None, list[Any]]:
    """Text, reasoning, calls, finish reason and chunks of a streamed answer, put together as clients do."""
    text, reasoning, finish = "", "", None
    calls: dict[int, dict[str, str]] = {}
    chunks = list(create(proxy, stream=True, **more))
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasoning += getattr(choice.delta, "reasoning_content", None) or ""
            finish = choice.finish_reason or finish
            for piece in choice.delta.tool_calls or []:
                call = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                call["id"] = piece.id or call["id"]
                call["name"] += piece.function.name or ""
                call["arguments"] += piece.function.arguments or ""
    return (
        text,
        reasoning,
        [(c["name"], json.loads(c["arguments"])) for _, c in sorted(calls.items())],
        finish,
        chunks,
    )


REPLIES = {
    "words": message("It is mild today, with a light wind."),
    "a call as text": message(FENCED),
    "words and a call as text": message(f"Let me look.\n{FENCED}"),
    "a native call with words": message("Let me look.", [("get_weather", {"city": "Oslo"})]),
    "several native calls": message(None, [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Riga"})]),
    "reasoning beside a call": message(None, [("get_weather", {"city": "Oslo"})], reasoning_content="Oslo, then."),
    "reasoning in the text": message(f"<think>Oslo, then.</think>{FENCED}"),
    "a refusal": message(None, [("get_weather", {})]),
    "cut off": message('{"name": "get_weather", "arguments": {"city": "Os', finish="length"),
    "json that is no call": message('{"city": "Oslo", "degrees": 4}'),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_streamed_answer_is_the_same_as_a_whole_one(
    upstream: Upstream, proxy: Proxy, reply: dict[str, Any]
) -> None:
    upstream.steps = [reply]
    whole = create(proxy).choices[0]
    text, reasoning, calls, finish, _ = streamed(proxy)
    assert (text or None) == (whole.message.content or None)
    assert reasoning == (getattr(whole.message, "reasoning_content", None) or "")
    assert calls == [(c.function.name, json.loads(c.function.arguments)) for c in whole.message.tool_calls or []]
    assert finish == whole.finish_reason


def test_the_sdks_stream_helper_puts_calls_together(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [REPLIES["several native calls"]]
    with proxy.client().chat.completions.stream(model="m", messages=USER, tools=TOOLS) as stream:
        final = stream.get_final_completion()
    assert made(final) == [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Riga"})]


def test_text_streams_while_it_comes_and_calls_are_one_delta_each(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message("It is mild today, with a light wind.", [("get_weather", {"city": "Oslo"})])]
    *_, chunks = streamed(proxy)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert len([delta for delta in deltas if delta.content]) > 3
    pieces = [piece for delta in deltas for piece in delta.tool_calls or []]
    assert [(p.index, p.id, p.function.name, p.function.arguments) for p in pieces] == [
        (0, "call_0", "get_weather", '{"city": "Oslo"}')
    ]
    assert {chunk.id for chunk in chunks} == {"chatcmpl-up"}


def test_usage_is_streamed_where_it_is_asked_for_and_only_there(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message("Mild.")]
    assert all(chunk.usage is None for chunk in streamed(proxy)[-1])
    last = streamed(proxy, stream_options={"include_usage": True})[-1][-1]
    assert (last.choices, last.usage.total_tokens) == ([], 10)


def test_all_text_can_be_held_until_the_reply_is_judged(upstream: Upstream, proxied: Callable[..., Proxy]) -> None:
    upstream.steps = [message("It is mild today, with a light wind.")]
    *_, chunks = streamed(proxied(live=False))
    assert [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content] == [
        "It is mild today, with a light wind."
    ]


def test_an_unresolved_stream_can_end_in_an_error(upstream: Upstream, proxied: Callable[..., Proxy]) -> None:
    upstream.steps = [message(None, [("get_weather", {})])]
    with pytest.raises(openai.APIError, match="No tool call could be made right"):
        streamed(proxied(unresolved="error"))


def test_a_quiet_stream_is_kept_alive_with_comments(upstream: Upstream, proxied: Callable[..., Proxy]) -> None:
    async def slow(self: Upstream, request: Any) -> Response:
        del request
        import asyncio

        await asyncio.to_thread(self.release.wait, 20)
        return JSONResponse({"choices": [{"message": {"content": "Mild."}, "finish_reason": "stop"}]})

    upstream.steps = [slow]
    proxy = proxied(keep_alive=0.05)
    body = {"model": "m", "messages": USER, "tools": TOOLS, "stream": True}
    seen = b""
    with httpx2.stream("POST", f"{proxy.url}/chat/completions", json=body, timeout=30) as response:
        for part in response.iter_bytes():
            seen += part
            if seen.count(b": keep-alive\n") >= 2:
                upstream.release.set()
    assert b"data: [DONE]" in seen
    assert response.headers["x-accel-buffering"] == "no"


def test_a_stream_with_keep_alives_is_read_by_the_sdk(upstream: Upstream, proxied: Callable[..., Proxy]) -> None:
    async def slow(self: Upstream, request: Any) -> Response:
        del self, request
        import asyncio

        await asyncio.sleep(0.3)
        return JSONResponse({"choices": [{"message": {"content": FENCED}, "finish_reason": "stop"}]})

    upstream.steps = [slow]
    assert streamed(proxied(keep_alive=0.05))[2] == [("get_weather", {"city": "Oslo"})]


def test_a_stream_that_the_upstream_cuts_off_is_no_call(upstream: Upstream, proxied: Callable[..., Proxy]) -> None:
    async def cut(self: Upstream, request: Any) -> Response:
        del self, request
        delta = {
            "tool_calls": [{"index": 0, "id": "a", "function": {"name": "get_weather", "arguments": '{"city": "Os'}}]
        }
        event = b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]}).encode() + b"\n\n"
        return StreamingResponse(iter([event]), media_type="text/event-stream")

    upstream.steps = [cut]
    text, _, calls, _, _ = streamed(proxied(kit={"ladder": ONE_ATTEMPT}))
    assert calls == []
    assert "stopped early" in text


# -- what a client does -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_client_that_hangs_up_ends_the_upstream_call(
    upstream: Upstream, proxied: Callable[..., Proxy], stream: bool
) -> None:
    upstream.steps = [hang]
    proxy = proxied(keep_alive=0.05)
    body = {"model": "m", "messages": USER, "tools": TOOLS, "stream": stream}
    if stream:
        with httpx2.stream("POST", f"{proxy.url}/chat/completions", json=body) as response:
            next(response.iter_bytes())
    else:
        with pytest.raises(httpx2.TimeoutException):
            httpx2.post(f"{proxy.url}/chat/completions", json=body, timeout=0.4)
    assert upstream.gone.wait(10)


def test_requests_without_tools_pass_through_untouched(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message(FENCED, odd_field=1)]
    answer = proxy.client().chat.completions.create(model="m", messages=USER, extra_body={"odd": True})
    assert (answer.choices[0].message.content, made(answer)) == (FENCED, [])
    assert "rightcall" not in (answer.model_extra or {})
    assert upstream.bodies[0]["odd"] is True
    assert proxy.log.events == []


def test_they_stream_through_untouched_too(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message("It is mild today.")]
    chunks = list(proxy.client().chat.completions.create(model="m", messages=USER, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == "It is mild today."
    assert len(chunks) > 3


def test_models_and_every_other_path_are_the_upstreams(upstream: Upstream, proxy: Proxy) -> None:
    del upstream
    assert [model.id for model in proxy.client().models.list()] == ["m"]
    response = httpx2.post(f"{proxy.url}/embeddings", json={"input": "x"})
    assert (response.json(), response.headers["x-seen"]) == ({"input": "x"}, "yes")


def test_its_own_health_is_separate_from_the_upstreams(proxied: Callable[..., Proxy]) -> None:
    proxy = proxied("http://127.0.0.1:9/v1")
    assert httpx2.get(proxy.url.replace("/v1", "/healthz")).json()["status"] == "ok"


# -- what goes wrong ----------------------------------------------------------------------------------------------


def test_an_upstream_that_is_down_is_a_clear_error(proxied: Callable[..., Proxy]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for tools in (TOOLS, openai.omit):
        with pytest.raises(openai.APIStatusError) as caught:
            create(proxied(f"http://127.0.0.1:{port}/v1"), tools=tools)
        assert caught.value.status_code == 502
        assert "no model server answers" in caught.value.message
        assert "Is it running?" in caught.value.message


def test_an_upstream_that_is_too_slow_is_a_clear_error(upstream: Upstream, proxied: Callable[..., Proxy]) -> None:
    upstream.steps = [hang]
    with pytest.raises(openai.APIStatusError) as caught:
        create(proxied(kit={"ladder": Ladder((Rung("plain"),), seconds=0.2)}))
    assert (caught.value.status_code, caught.value.code) == (504, "upstream_timeout")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_an_upstreams_refusal_reaches_the_client_with_its_status(
    upstream: Upstream, proxy: Proxy, stream: bool
) -> None:
    upstream.steps = [JSONResponse({"error": {"message": "no such model"}}, 404)]
    with pytest.raises(openai.NotFoundError, match="no such model"):
        list(create(proxy, stream=stream))


@pytest.mark.parametrize(
    "nonsense",
    [
        Response(b"<html>login</html>"),
        Response(b'{"choices": []}'),
        Response(b"\xff\xfe"),
        JSONResponse({"error": {"message": "out of memory"}}),
    ],
    ids=["a page", "no choice", "no text", "an error with status 200"],
)
def test_an_upstream_that_speaks_nonsense_is_a_clear_error(
    upstream: Upstream, proxy: Proxy, nonsense: Response
) -> None:
    upstream.steps = [nonsense]
    with pytest.raises(openai.APIStatusError) as caught:
        create(proxy)
    assert caught.value.status_code == 502


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "is not JSON"),
        (b"\xff\xfe{}", 400, "is not UTF-8"),
        (b"[]", 400, "must be a JSON object"),
        (b'{"tools": [1], "messages": []}', 400, r"tools[0] has no name"),
        (b'{"tools": [{"name": "a"}], "messages": "hi"}', 400, "'messages' must be a list"),
        (
            b'{"tools": [{"name": "a"}], "messages": [], "tool_choice": "perhaps"}',
            400,
            "allowed are auto, none, required",
        ),
        (
            b'{"tools": [{"name": "a"}], "messages": [], "tool_choice": {"function": {"name": "b"}}}',
            400,
            "not among the tools",
        ),
        (b'{"tools": [{"name": "a"}], "messages": [], "n": 2}', 400, "'n' other than 1"),
        (
            b'{"tools": [{"name": "a", "parameters": {"type": "objekt"}}], "messages": []}',
            400,
            "none of the tools can be used",
        ),
        (b'{"tools": ' + b"[" * 100_000, 400, "nested too deeply"),
        (b'{"messages": "' + b"x" * 2000 + b'"}', 413, "at most 1000"),
    ],
)
def test_bad_requests_get_a_clear_error(
    upstream: Upstream, proxied: Callable[..., Proxy], body: bytes, status: int, words: str
) -> None:
    limit = 1000 if status == 413 else 10_000_000
    response = httpx2.post(f"{proxied(max_body=limit).url}/chat/completions", content=body)
    assert response.status_code == status
    assert words in response.json()["error"]["message"]
    assert upstream.bodies == []


def test_a_body_without_a_length_is_bounded_too(upstream: Upstream, proxied: Callable[..., Proxy]) -> None:
    del upstream
    pieces = (b"x" * 500 for _ in range(10))
    response = httpx2.post(f"{proxied(max_body=1000).url}/chat/completions", content=pieces)
    assert response.status_code == 413


def test_the_log_holds_no_credential(upstream: Upstream, proxy: Proxy) -> None:
    upstream.steps = [message(FENCED)]
    create(proxy)
    assert "sk-client" not in repr(proxy.log.events)
