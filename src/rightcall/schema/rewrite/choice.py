"""Which rewrites to use: `auto`, `none`, or a list of names; and in which order they go."""

from __future__ import annotations

from rightcall.errors import UsageError
from rightcall.lens import AS_OFFERED, Lens, Presentation, Trim
from rightcall.schema.rewrite.defaults import defaults_told
from rightcall.schema.rewrite.flatten import flattened
from rightcall.schema.rewrite.hide import RareOptionalsHidden
from rightcall.schema.rewrite.inline import inlined
from rightcall.schema.rewrite.lenses import Plainer, Rewrite, same_meaning
from rightcall.schema.rewrite.unions import plain_unions
from rightcall.schema.rewrite.units import with_units

LENSES: dict[str, Lens] = {
    "inline": Rewrite(same_meaning(inlined)),
    "flatten": Rewrite(flattened),
    "units": Rewrite(with_units),
}
"""In order: flattening sees through the references that were written out, and names what was flattened gets."""
TRIMS: dict[str, Trim] = {
    "unions": Plainer(plain_unions),
    "defaults": Plainer(defaults_told),
    "hide": RareOptionalsHidden(),
}
DOWNLEVEL = "downlevel="
AUTO = ("inline", "flatten", "unions")
"""What takes a burden off the model without taking a word or an argument from it; see design/13."""


def rewrites(spec: str) -> Presentation:
    """The presentation that a setting asks for: `auto`, `none`, or names with commas between them.

    `downlevel=ENGINE` says in words what an engine of `engines.toml` does not take.

    Raises:
        UsageError: a name that is no rewrite, or no engine; the message lists them.
    """
    names = [name.strip() for name in spec.split(",") if name.strip()]
    if names in ([], ["none"]):
        return AS_OFFERED
    chosen = [part for name in names for part in (AUTO if name == "auto" else (name,))]
    engines = [name.removeprefix(DOWNLEVEL) for name in chosen if name.startswith(DOWNLEVEL)]
    known = (*LENSES, *TRIMS)
    unknown = [name for name in chosen if name not in known and not name.startswith(DOWNLEVEL)]
    if unknown:
        allowed = ", ".join((*known, f"{DOWNLEVEL}ENGINE"))
        raise UsageError(f"{unknown[0]!r} is no rewrite; allowed: auto, none, or some of {allowed}")
    return Presentation(
        tuple(lens for name, lens in LENSES.items() if name in chosen),
        (*(trim for name, trim in TRIMS.items() if name in chosen), *map(_for_engine, engines)),
    )


def _for_engine(engine: str) -> Trim:
    """The trim for one engine, last of all, so that it sees what is really sent; the tables are read only here."""
    from rightcall.schema.engines import engine_names
    from rightcall.schema.rewrite.downlevel import Downlevelled

    if engine not in engine_names():
        raise UsageError(f"{DOWNLEVEL}{engine} names no engine that is known; known: {', '.join(engine_names())}")
    return Downlevelled(engine)
