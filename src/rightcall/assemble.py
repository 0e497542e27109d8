"""The only place where concrete parts meet: settings become a kit, a log, a proxy."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlsplit

from rightcall.catalogue.correction import NameCorrection
from rightcall.catalogue.lens import BestTools, SearchTools
from rightcall.catalogue.relevance import RelevanceFloor
from rightcall.errors import UsageError
from rightcall.ladder import DEFAULT_LADDER, Ladder
from rightcall.lens import Lens, Presentation
from rightcall.presentation.no_suitable_tool import NoSuitableTool
from rightcall.providers.embeddings import BUNDLED, load_embedder
from rightcall.providers.openai_compatible import OpenAICompatible, upstream_client
from rightcall.schema.rewrite.choice import rewrites
from rightcall.store.memory import NullEventLog
from rightcall.store.redaction import redact_secrets
from rightcall.store.sqlite import SqliteEventLog, default_log_path
from rightcall.turn import Kit
from rightcall.validation.provenance import provenance_rules

if TYPE_CHECKING:
    import httpx2

    from rightcall.naming.name_map import NameMap
    from rightcall.ports import Embedder, EventLog
    from rightcall.settings import Settings

_NAMES_LOG = logging.getLogger("rightcall.names")


class SystemClock:
    """The computer's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()


@dataclass(frozen=True, slots=True)
class Parts:
    """What a running rightcall is made of; `close` ends what needs ending."""

    kit: Kit
    http: httpx2.AsyncClient
    log: EventLog

    async def close(self) -> None:
        """Ends connections and writes what the log still holds."""
        await self.http.aclose()
        close = getattr(self.log, "close", None)
        if close is not None:
            close()


def build_parts(settings: Settings) -> Parts:
    """Puts a kit together. Raises `UsageError` where the settings do not fit, `StoreError` for the log."""
    http = upstream_client()
    log = build_log(settings)
    larger = {}
    if settings.larger_model and settings.larger_upstream:
        key = settings.larger_key or settings.upstream_key
        larger[settings.larger_model] = OpenAICompatible(base_url(settings.larger_upstream), http, _bearer(key))
    kit = Kit(
        model=OpenAICompatible(base_url(settings.upstream), http, _bearer(settings.upstream_key)),
        log=log,
        clock=SystemClock(),
        ladder=build_ladder(settings),
        verifiers=provenance_rules(settings.provenance),
        presentation=build_presentation(
            settings.rewrite, names=settings.names or None, no_suitable_tool=settings.no_suitable_tool
        ),
        in_prompt=settings.tools_in_prompt,
        larger=larger,
    )
    searching = build_searching(
        narrow=settings.narrow,
        embeddings=settings.embeddings,
        correction=settings.correction,
        harmless=settings.harmless_tools.split(","),
        relevance_floor=settings.relevance_floor,
    )
    return Parts(searching.within(kit), http, log)


def build_ladder(settings: Settings) -> Ladder:
    """The default ladder, cut to the attempts allowed, with a larger model last where one is configured."""
    if settings.attempts < 1:
        raise UsageError(f"attempts is {settings.attempts}; at least 1 is needed")
    rungs = DEFAULT_LADDER.rungs[: settings.attempts]
    ladder = Ladder(rungs, next_calls=settings.next_calls, seconds=settings.deadline)
    return ladder.with_larger(settings.larger_model) if settings.larger_model else ladder


def build_presentation(
    rewrite: str, *, names: NameMap | str | os.PathLike[str] | None = None, no_suitable_tool: bool = False
) -> Presentation:
    """How tools are shown: under the names of a map, or of the file of one; rewritten; with a way out.

    Raises:
        UsageError: a rewrite that there is not (see `schema.rewrite.choice`), or no name map that can be used.
    """
    shown = rewrites(rewrite)
    first = () if names is None else (_names_lens(names),)
    last = (NoSuitableTool(),) if no_suitable_tool else ()
    return replace(shown, lenses=(*first, *shown.lenses, *last)) if first or last else shown


def _names_lens(names: NameMap | str | os.PathLike[str]) -> Lens:
    from rightcall.alignment.files import read_name_map
    from rightcall.naming.lens import NamesLens

    known = read_name_map(names) if isinstance(names, str | os.PathLike) else names
    # A turn says again what the one before has said; a person needs to read it once.
    return NamesLens(known, lru_cache(maxsize=1024)(_NAMES_LOG.warning))


@dataclass(frozen=True, slots=True)
class Searching:
    """What a search of the catalogue does for a turn: what it shows, which names it corrects, what it refuses."""

    lens: Lens | None = None
    nearest: NameCorrection | None = None
    floor: RelevanceFloor | None = None

    def within(self, kit: Kit) -> Kit:
        """The kit with it. What is shown is chosen before it is rewritten or renamed."""
        shown, parsing = kit.presentation, replace(kit.parsing, nearest=self.nearest)
        lenses = shown.lenses if self.lens is None else (self.lens, *shown.lenses)
        floor = () if self.floor is None else (self.floor,)
        shown = replace(shown, lenses=lenses)
        return replace(kit, presentation=shown, parsing=parsing, verifiers=(*floor, *kit.verifiers))


def build_searching(
    *,
    narrow: str | int = "none",
    embeddings: str = "none",
    correction: str = "off",
    harmless: Iterable[str] = (),
    relevance_floor: bool = False,
) -> Searching:
    """How the catalogue is searched.

    Args:
        narrow: `none`, the number of tools to show each turn, or `search` for search tools.
        embeddings: `none`, `bundled`, or a folder with a model2vec model.
        correction: `off`, `bm25` or `embedding`.
        harmless: tools without declared effects that may be corrected to; `*` for all of them.
        relevance_floor: whether calls of tools that nothing said has to do with are refused.

    Raises:
        UsageError: none of these values; `MissingExtra` where embeddings need one.
    """
    embedder = build_embedder(embeddings)
    names = frozenset(name.strip() for name in harmless if name.strip())
    match correction:
        case "off":
            nearest = None
        case "bm25":
            nearest = NameCorrection("lexical", harmless=names)
        case "embedding":
            nearest = NameCorrection("embedded", embedder or build_embedder(BUNDLED), names)
        case _:
            raise UsageError(f"correction is {correction!r}; allowed: off, bm25, embedding")
    floor = RelevanceFloor(embedder) if relevance_floor else None
    return Searching(_narrowing(str(narrow), embedder), nearest, floor)


def _narrowing(narrow: str, embedder: Embedder | None) -> Lens | None:
    if narrow == "none":
        return None
    if narrow == "search":
        return SearchTools(embedder)
    if narrow.isascii() and narrow.isdecimal() and int(narrow) > 0:
        return BestTools(int(narrow), embedder)
    raise UsageError(f"narrow is {narrow!r}; allowed: none, search, or how many tools to show (1 or more)")


def build_embedder(where: str) -> Embedder | None:
    """The embedder of a setting; None for `none`. Raises `UsageError`, and `MissingExtra` without the extra."""
    return None if where == "none" else load_embedder(where)


def build_log(settings: Settings) -> EventLog:
    """The event log that the settings ask for."""
    if not settings.log:
        return NullEventLog()
    return SqliteEventLog(
        settings.log_path or default_log_path(),
        content=cast("Literal['full', 'none']", settings.log_content),
        redact=redact_secrets if settings.log_redact else None,
    )


def base_url(url: str) -> str:
    """A base URL made whole: http is the default scheme, and `/v1` is put behind a bare host."""
    if not url:
        raise UsageError("no upstream is set. Give one: --upstream http://127.0.0.1:11434/v1, or RIGHTCALL_UPSTREAM")
    whole = url if "://" in url else f"http://{url}"
    parts = urlsplit(whole)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"the upstream {url!r} is no http(s) address such as http://127.0.0.1:11434/v1")
    return f"{whole.rstrip('/')}/v1" if parts.path in {"", "/"} else whole.rstrip("/")


def _bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}
