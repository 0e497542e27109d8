"""What a model called although it was not shown it: brought to light, so that the next rung can choose among it.

Only where the model sees a part of the tools. A name that exists is shown from then on; for a name that does not,
the catalogue is searched with it and with what the user asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rightcall.catalogue.lens import last_said
from rightcall.catalogue.search import catalogue_of
from rightcall.catalogue.words import plain_name
from rightcall.domain import ModelRequest, Problem, ProblemKind, Reading
from rightcall.presentation.restore import Restored
from rightcall.presentation.view import View

MAX_NEAR = 5


def unseen(reading: Reading, request: ModelRequest, view: View) -> dict[str, list[str]]:
    """For each name that no shown tool has, the original tools that come into question, best first.

    Args:
        reading: what the model said.
        request: what the client asked.
        view: what the model was shown of it.
    """
    written = [problem.got for problem in reading.problems if problem.kind is ProblemKind.UNKNOWN_TOOL]
    if not written or not view.hides:
        return {}
    names = {tool.name for tool in view.offered}
    catalogue = catalogue_of(view.offered)
    near: dict[str, list[str]] = {}
    for name in written:
        if isinstance(name, str) and name in names:
            near[name] = [name]
        elif isinstance(name, str) and name.strip():
            found = catalogue.search(f"{plain_name(name)} {last_said(request.messages)}", MAX_NEAR)
            near[name] = [tool.name for tool, _ in found.matches]
    return {name: found for name, found in near.items() if found}


def told_of(found: Restored, near: Mapping[str, Sequence[str]], view: View) -> Restored:
    """The same with the problems of unknown names saying which tools come into question, shown by `view` by now."""
    if not near:
        return found
    original = tuple(_told(problem, near) for problem in found.reading.problems)
    shown = tuple(
        view.shown_problem(_told(problem, near)) if problem.got in near else problem
        for problem in found.said.problems
    )
    return replace(found, reading=replace(found.reading, problems=original), said=replace(found.said, problems=shown))


def _told(problem: Problem, near: Mapping[str, Sequence[str]]) -> Problem:
    if problem.kind is not ProblemKind.UNKNOWN_TOOL or not isinstance(problem.got, str) or problem.got not in near:
        return problem
    names = list(near[problem.got])
    listed = ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
    written = json.dumps(problem.got, ensure_ascii=False)[:120]
    if names == [problem.got]:
        message = f"{written} had not been listed for you and is now; read its parameters and write the call again."
    else:
        message = f"{written} is not a tool. These come nearest: {listed}."
    return replace(problem, message=message, allowed=names, about_selection=True)
