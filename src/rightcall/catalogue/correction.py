"""Baselines that map a name which no tool has to the nearest tool's: off by default, measured in design/15.

Source: "Retrieval-based Correction", Appendix G.1 of the PA-Tool paper: a predicted name that is none of the
candidates (compared without case) becomes the nearest valid tool, by BM25 or in the space of embeddings. It has no
cutoff there, and none here. Ours never corrects to what may destroy something, and leaves an `inferred` note.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rightcall.catalogue.search import catalogue_of
from rightcall.domain import Tool
from rightcall.ports import Embedder
from rightcall.schema.compiled import Toolset

ALL = "*"


@dataclass(frozen=True, slots=True)
class NameCorrection:
    """Which tool is taken for an unknown name.

    `harmless` names tools that declare no effects and may be corrected to all the same; `*` in it stands for every
    such tool. A tool that declares itself destructive is never corrected to.
    """

    by: Literal["lexical", "embedded"]
    embedder: Embedder | None = None
    harmless: frozenset[str] = frozenset()

    def __call__(self, written: str, tools: Toolset) -> str | None:
        """The nearest tool's name; None where nothing is near, or where it might destroy something."""
        usable = tuple(compiled.tool for compiled in tools if compiled.broken is None)
        tool = catalogue_of(usable, self.embedder).nearest_name(written, self.by)
        return tool.name if tool is not None and self._harmless(tool) else None

    def _harmless(self, tool: Tool) -> bool:
        if tool.effects.read_only or not tool.effects.destructive:
            return True
        return not _declares(tool) and not self.harmless.isdisjoint((tool.name, ALL))


def _declares(tool: Tool) -> bool:
    """Whether the tool itself says that it may destroy something; else that is only the cautious default."""
    annotations = tool.extra.get("annotations")
    return isinstance(annotations, Mapping) and annotations.get("destructiveHint") is True
