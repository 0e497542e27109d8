"""A name map out of what a model answered: rank, settle, flag. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rightcall.domain import Tool
from rightcall.errors import UsageError
from rightcall.naming.clarity import is_echo, is_unlike, lost_words, near_names
from rightcall.naming.collisions import Settled, settle
from rightcall.naming.components import Component, components
from rightcall.naming.name_map import AlignSettings, NameMap, Naming, Taken, ToolNaming
from rightcall.naming.peakedness import Candidate, Method, margin, ranked, tolerance
from rightcall.schema.fingerprint import tool_fingerprint

LOW_MARGIN = 0.1
"""A name that is ahead of the best unlike one by no more than this share of the candidates is flagged."""
FEW = 0.5
"""So is one for which a smaller share of the answers held a name."""
ALTERNATIVES = 6
_ABOUT = 200


@dataclass(frozen=True, slots=True)
class Answers:
    """The usable names in a model's answers: at temperature 0, and as drawn."""

    greedy: str | None = None
    drawn: tuple[str, ...] = ()


def to_be_named(tools: Sequence[Tool], settings: AlignSettings) -> list[Component]:
    """The components that a model is to be asked about, in order.

    Raises:
        UsageError: two tools have one name.
    """
    names = [tool.name for tool in tools]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise UsageError(f"two tools are called {twice!r}; a name map needs a name for each. Take one of them out")
    return [each for tool in tools for each in components(tool) if _is_asked(each, settings)]


def propose_names(
    tools: Sequence[Tool],
    answers: Mapping[Component, Answers],
    settings: AlignSettings,
    model: str,
    build: str = "",
    descriptions: Mapping[str, str] | None = None,
) -> NameMap:
    """The name map of some tools.

    Args:
        tools: the tools, of different names.
        answers: what the model answered for the components of `to_be_named`.
        settings: how it was asked, and how to choose.
        model: its name.
        build: what is known of it.
        descriptions: plainer descriptions by the tools' original names.

    Returns:
        A map that shows every component under a name of its own. A flagged name is proposed and not accepted.
    """
    by_tool = {tool.name: list(components(tool)) for tool in tools}
    scopes: defaultdict[tuple[str, str], list[Component]] = defaultdict(list)
    for each in (component for parts in by_tool.values() for component in parts):
        scopes[each.scope].append(each)
    namings: dict[Component, Naming] = {}
    for beside in scopes.values():
        namings |= _scope(beside, answers, settings)
    made = []
    for tool in tools:
        own, *parameters = by_tool[tool.name]
        text = (descriptions or {}).get(tool.name, "")
        made.append(
            ToolNaming(namings[own], tool_fingerprint(tool), tuple(namings[each] for each in parameters), text)
        )
    return NameMap(model, build, settings, tuple(made))


def carried_over(new: NameMap, old: NameMap) -> NameMap:
    """The new map with what was decided in an old one of the same model and settings, for tools that are the same.

    A decision goes before a proposal: one that does not fit beside it is left undecided.
    """
    same = {
        name: each
        for name, each in old.by_name.items()
        if name in new.by_name and new.by_name[name].fingerprint == each.fingerprint
    }
    decided = {(name, n.place): n.accepted for name, each in same.items() for n in (each.tool, *each.parameters)}
    merged = new.changed(lambda tool, n: replace(n, accepted=decided.get((tool, n.place), n.accepted)))
    clashing = set()
    for scope in merged.scopes():
        taken = Taken(naming for _, naming in scope)
        clashing |= {
            (tool, naming.place)
            for tool, naming in scope
            if (tool, naming.place) not in decided and taken.objection_to(naming.shown, naming)
        }
    free = merged.changed(
        lambda tool, n: replace(n, accepted="", flags=(*n.flags, "contested")) if (tool, n.place) in clashing else n
    )
    return replace(
        free,
        tools=tuple(
            replace(each, description=same[each.tool.original].description) if each.tool.original in same else each
            for each in free.tools
        ),
    )


# -- one scope --------------------------------------------------------------------------------------------------


def _scope(
    beside: Sequence[Component], answers: Mapping[Component, Answers], settings: AlignSettings
) -> dict[Component, Naming]:
    rankings = {each: _ranking(answers.get(each), settings) for each in beside}
    settled = settle({each.name: ranking for each, ranking in rankings.items()}, settings.method)
    named = {each: _naming(each, rankings[each], settled[each.name], answers.get(each), settings) for each in beside}
    near = near_names({naming.original: naming.proposed for naming in named.values()})
    return {each: _judged(each, naming, near, beside, settings) for each, naming in named.items()}


def _ranking(found: Answers | None, settings: AlignSettings) -> tuple[Candidate, ...]:
    return ranked(found.drawn, found.greedy, settings.alpha, settings.method) if found else ()


def _naming(
    component: Component,
    ranking: Sequence[Candidate],
    settled: Settled,
    found: Answers | None,
    settings: AlignSettings,
) -> Naming:
    """What is proposed, with the flags that come from how it was found."""
    chosen = settled.candidate or Candidate(component.name)
    drawn = found.drawn if found else ()
    within = tolerance(drawn, settings.alpha)
    naming = Naming(
        component.name,
        chosen.name,
        place=component.place,
        peakedness=chosen.peakedness,
        count=chosen.count,
        margin=margin(chosen, ranking, within, settings.method) if ranking else 0,
        greedy=(found.greedy if found else None) or "",
        alternatives=tuple(each for each in ranking if each.name != chosen.name)[:ALTERNATIVES],
        about=_about(component.description),
    )
    return replace(naming, flags=tuple(_findings(component, naming, settled, found, settings)))


def _findings(
    component: Component, naming: Naming, settled: Settled, found: Answers | None, settings: AlignSettings
) -> list[str]:
    if not _is_asked(component, replace(settings, only="both")):
        return ["no description"]
    if found is None:
        return []
    if settled.candidate is None and not settled.contested:
        return ["no usable candidate"]
    flags = ["contested"] if settled.contested else []
    if settings.method is not Method.GREEDY and naming.proposed != naming.original:
        if naming.margin <= LOW_MARGIN * settings.samples:
            flags.append("low margin")
        if len(found.drawn) < FEW * settings.samples:
            flags.append("few candidates")
    return flags


def _judged(
    component: Component,
    naming: Naming,
    near: Mapping[str, str],
    beside: Sequence[Component],
    settings: AlignSettings,
) -> Naming:
    """The naming with the flags of clarity, accepted where there is nothing to decide."""
    name, own = naming.proposed, naming.original
    if name == own:
        return replace(naming, accepted=own)
    siblings = [each.name for each in beside if each is not component]
    flags = list(naming.flags)
    flags += [f"loses {word}" for word in lost_words(own, name, component.description, siblings)]
    # A parameter may well be called by a word that its description does without: `query` for "what to find".
    if is_echo(name) or (not component.place and is_unlike(own, name, component.description)):
        flags.append("unlike its description")
    if own in near:
        flags.append(f"near {near[own]}")
    accepted = name if settings.accept_flagged or not flags else ""
    return replace(naming, flags=tuple(flags), accepted=accepted)


def _is_asked(component: Component, settings: AlignSettings) -> bool:
    wanted = settings.only == "both" or (settings.only == "parameters") == bool(component.place)
    return wanted and bool(component.description.strip())


def _about(description: str) -> str:
    line = " ".join(description.split())
    return line if len(line) <= _ABOUT else line[: _ABOUT - 1] + "…"
