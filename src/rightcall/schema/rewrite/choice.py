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
AUTO = ("inline", "flatten", "unions")
"""What takes a burden off the model without taking a word or an argument from it; see design/12."""


def rewrites(spec: str) -> Presentation:
    """The presentation that a setting asks for: `auto`, `none`, or names with commas between them.

    Raises:
        UsageError: a name that is no rewrite; the message lists them.
    """
    names = [name.strip() for name in spec.split(",") if name.strip()]
    if names in ([], ["none"]):
        return AS_OFFERED
    chosen = [part for name in names for part in (AUTO if name == "auto" else (name,))]
    known = (*LENSES, *TRIMS)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is no rewrite; allowed: auto, none, or some of {', '.join(known)}")
    return Presentation(
        tuple(lens for name, lens in LENSES.items() if name in chosen),
        tuple(trim for name, trim in TRIMS.items() if name in chosen),
    )
