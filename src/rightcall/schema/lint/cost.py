"""What tools cost in context, as an estimate: the characters of name, description and parameters, divided by four."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from rightcall.domain import Tool
from rightcall.schema.lint.findings import ARTICLE, Evidence, Hit, LintedTool, Rule, Severity, Strength

CHARACTERS_A_TOKEN = 4
LARGE_TOOL = 600
LARGE_TOOLSET = 4096
MANY_TOOLS = 20


def token_estimate(tool: Tool) -> int:
    """About how many tokens a tool takes in a request. Tokenisers differ by a third and more."""
    shown = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return len(json.dumps(shown, ensure_ascii=False, default=str)) // CHARACTERS_A_TOKEN


def _large_tools(tool: LintedTool) -> Iterator[Hit]:
    tokens = token_estimate(tool.tool)
    if tokens > LARGE_TOOL:
        yield Hit("", f"about {tokens} tokens (characters / {CHARACTERS_A_TOKEN}) with every request")


def _large_toolset(tools: tuple[LintedTool, ...]) -> Iterator[tuple[LintedTool, Hit]]:
    tokens = sum(token_estimate(tool.tool) for tool in tools)
    if tools and tokens > LARGE_TOOLSET:
        told = f"all {len(tools)} tools take about {tokens} tokens (characters / {CHARACTERS_A_TOKEN})"
        yield tools[0], Hit("", f"{told}; Ollama's default context is {LARGE_TOOLSET}, and tools are cut first")


def _many_tools(tools: tuple[LintedTool, ...]) -> Iterator[tuple[LintedTool, Hit]]:
    if len(tools) > MANY_TOOLS:
        yield tools[0], Hit("", f"{len(tools)} tools offered at once")


RULES: Iterable[Rule] = (
    Rule("RC701", "large tool", Severity.INFO,
         f"More than about {LARGE_TOOL} tokens are sent, and read past, with every request.",
         "Shorten descriptions; split the tool.",
         Evidence(Strength.OPINION, "estimate from characters"), _large_tools),
    Rule("RC702", "toolset beyond a small context", Severity.WARNING,
         "Where the context is too short, servers cut silently and tools are lost first.",
         "Raise the context, or narrow what is offered (`rightcall serve --narrow K`).",
         Evidence(Strength.REPORTED, "PuPu #129, ollama #18107"), check_all=_large_toolset),
    Rule("RC703", "many tools at once", Severity.INFO,
         f"More than {MANY_TOOLS} tools in one turn raise the cost of choosing.",
         "Offer a retrieved subset (`rightcall serve --narrow K`).",
         Evidence(Strength.REPORTED, f"{ARTICLE}; openai/codex #9266, hermes-agent #27339"), check_all=_many_tools),
)  # fmt: skip
