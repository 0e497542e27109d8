"""`rightcall serve`: the proxy in front of a model server."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from pathlib import Path
from typing import Annotated, Any

import typer

from rightcall.assemble import base_url, build_parts
from rightcall.errors import UsageError
from rightcall.settings import Settings
from rightcall.store.sqlite import default_log_path

EPILOG = """Examples:

rightcall serve --upstream http://127.0.0.1:11434/v1      (Ollama)

rightcall serve --upstream http://127.0.0.1:8080/v1       (llama.cpp)

rightcall serve --upstream http://127.0.0.1:8000/v1       (vLLM)

Then point the client at http://127.0.0.1:8484/v1. Every option can also stand in rightcall.toml, or in the
environment as RIGHTCALL_..., for example RIGHTCALL_UPSTREAM."""


def serve(  # noqa: PLR0913 - one parameter for each option
    *,
    upstream: Annotated[
        str | None, typer.Option(help="Base URL of the model server, with its version.", show_default=False)
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1", show_default=False)
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on. Default: 8484", show_default=False)] = None,
    attempts: Annotated[
        int | None,
        typer.Option(
            help="How often a model is asked to make a call right; 1 only repairs. Default: 3", show_default=False
        ),
    ] = None,
    next_calls: Annotated[
        int | None,
        typer.Option(
            help="How often a call is asked for that the request seems to hold; 0 never. Default: 8",
            show_default=False,
        ),
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds for all attempts of a turn. Default: 300", show_default=False)
    ] = None,
    larger_model: Annotated[
        str | None, typer.Option(help="A model for the last attempt.", show_default=False)
    ] = None,
    larger_upstream: Annotated[
        str | None, typer.Option(help="Where that model is, if elsewhere.", show_default=False)
    ] = None,
    unresolved: Annotated[
        str | None,
        typer.Option(
            help="What a client gets where no call could be made right: text or error. Default: text",
            show_default=False,
        ),
    ] = None,
    hold_text: Annotated[
        bool | None,
        typer.Option(
            "--hold-text", help="Hold streamed text back too, until the reply is judged.", show_default=False
        ),
    ] = None,
    tools_in_prompt: Annotated[
        bool | None,
        typer.Option(
            "--tools-in-prompt",
            help="Describe tools in the prompt, for models whose template drops them.",
            show_default=False,
        ),
    ] = None,
    rewrite: Annotated[
        str | None,
        typer.Option(
            help="How schemas are shown to the model: auto, none, or a list of rewrites. Default: none",
            show_default=False,
        ),
    ] = None,
    names: Annotated[
        Path | None,
        typer.Option(
            help="A name map of `rightcall align`: tools are shown to the model under its names.", show_default=False
        ),
    ] = None,
    no_suitable_tool: Annotated[
        bool | None,
        typer.Option(
            "--no-suitable-tool",
            help="Offer the model a tool that says that none of the others fits.",
            show_default=False,
        ),
    ] = None,
    narrow: Annotated[
        str | None,
        typer.Option(
            help="Show only so many tools a turn, those that fit best; or search: two tools that find the others."
            " Default: none",
            show_default=False,
        ),
    ] = None,
    embeddings: Annotated[
        str | None,
        typer.Option(
            help="What compares meanings in a search: none, bundled, or a model2vec folder. Default: none",
            show_default=False,
        ),
    ] = None,
    correction: Annotated[
        str | None,
        typer.Option(
            help="Take the nearest tool for an unknown name: off, bm25 or embedding; never a destructive one."
            " Default: off",
            show_default=False,
        ),
    ] = None,
    harmless_tools: Annotated[
        str | None,
        typer.Option(
            help="Tools without declared effects that may be corrected to, with commas; * for all.",
            show_default=False,
        ),
    ] = None,
    provenance: Annotated[
        str | None,
        typer.Option(
            help="Refuse values that stand nowhere in the conversation: off, required (arguments), all. Default: off",
            show_default=False,
        ),
    ] = None,
    relevance_floor: Annotated[
        bool | None,
        typer.Option(
            "--relevance-floor",
            help="Refuse calls of tools that share no word with what was said, nor, with embeddings, its meaning.",
            show_default=False,
        ),
    ] = None,
    log: Annotated[
        bool | None, typer.Option("--log/--no-log", help="Keep the event log. Default: yes", show_default=False)
    ] = None,
    log_path: Annotated[Path | None, typer.Option(help="Where the event log is.", show_default=False)] = None,
    log_content: Annotated[
        str | None,
        typer.Option(help="full, or none: what happened without what was said. Default: full", show_default=False),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A settings file (TOML).", show_default=False)] = None,
) -> None:
    """Stand in front of a model server and make its tool calls right."""
    flags: dict[str, Any] = {
        "upstream": upstream,
        "host": host,
        "port": port,
        "attempts": attempts,
        "next_calls": next_calls,
        "deadline": deadline,
        "larger_model": larger_model,
        "larger_upstream": larger_upstream,
        "unresolved": unresolved,
        "hold_text": hold_text,
        "tools_in_prompt": tools_in_prompt,
        "rewrite": rewrite,
        "names": str(names) if names else None,
        "no_suitable_tool": no_suitable_tool,
        "narrow": narrow,
        "embeddings": embeddings,
        "correction": correction,
        "harmless_tools": harmless_tools,
        "provenance": provenance,
        "relevance_floor": relevance_floor,
        "log": log,
        "log_path": str(log_path) if log_path else None,
        "log_content": log_content,
    }
    settings = Settings.load(flags, file=config)
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    import uvicorn

    from rightcall.serving.openai_proxy import ProxyPolicy, create_app

    upstream = base_url(settings.upstream)
    parts = build_parts(settings)
    try:
        policy = ProxyPolicy(settings.unresolved, not settings.hold_text, settings.keep_alive, settings.max_body)
        app = create_app(upstream, parts.kit, parts.http, policy)
        with _listening(settings.host, settings.port) as sock:
            _announce(settings, sock.getsockname()[1], upstream)
            config = uvicorn.Config(
                app,
                http="httptools",
                lifespan="off",
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                timeout_graceful_shutdown=5,
            )
            await uvicorn.Server(config).serve([sock])
    finally:
        await parts.close()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        sock = socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"cannot listen on {host} port {port}: {reason}. Choose another with --host and --port"
        raise UsageError(message) from error
    # asyncio sets this only on sockets that it makes; without it every answer waits 40 ms for an acknowledgement.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _announce(settings: Settings, port: int, upstream: str) -> None:
    typer.echo(f"rightcall listens on http://{settings.host}:{port}/v1 in front of {upstream}")
    if settings.log:
        kept = "" if settings.log_content == "full" else " (without content)"
        typer.echo(f"event log: {settings.log_path or default_log_path()}{kept}")
    try:
        loopback = ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        loopback = settings.host == "localhost"
    if not loopback:
        typer.echo(
            "warning: this address can be reached from other machines, and rightcall asks nobody who they are.",
            err=True,
        )
