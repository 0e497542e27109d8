"""A request as the model is shown it, made once for a turn; and the way back for calls, problems and notes.

The loop speaks to the model in shown terms, feedback included; everything that leaves it (proposal, log, the
client's answer) is in the original ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

from rightcall.domain import (
    KEPT_TOOLS,
    ChoiceMode,
    Effects,
    ModelRequest,
    Note,
    Problem,
    Tool,
    ToolCall,
    ToolChoice,
)
from rightcall.lens import Answer, Context, Found, Presentation, PresentedTool, as_it_is, through
from rightcall.presentation.history import shown_messages
from rightcall.presentation.wording import in_other_terms
from rightcall.schema.compiled import CompiledTool, Toolset, compile_tool, compile_tools
from rightcall.schema.content_key import content_key, from_key

_NAMED_NOTES = frozenset(("name_leak", "name_spelling", "name_nearest"))


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One request through the lenses.

    `request` is what the model is shown, its tools trimmed; `toolset` what its calls are read and checked
    against. `unchanged` says that both are the original, `found` what was searched to choose what is shown,
    `offered` the original tools; for lists that are equal the same objects.
    """

    request: ModelRequest
    toolset: Toolset
    unchanged: bool = True
    found: tuple[Found, ...] = ()
    offered: tuple[Tool, ...] = ()
    _faces: _Faces = field(default_factory=lambda: _Faces((), Toolset(), {}, {}))

    @property
    def presented(self) -> tuple[PresentedTool, ...]:
        """What is shown, beside what it stands for; empty where everything is shown as it is."""
        return self._faces.presented

    @property
    def hides(self) -> bool:
        """Whether some of the original tools are not shown."""
        return any(tool.name not in self._faces.by_original for tool in self.offered)

    def answer(self, call: ToolCall) -> Answer | None:
        """What a call of a tool of rightcall's own means; None where the call is of an original tool."""
        face = self._faces.by_shown.get(call.name)
        if face is None or face.answer is None:
            return None
        return face.answer(replace(call, arguments=face.arguments.original(call.arguments)))

    def original_call(self, call: ToolCall) -> ToolCall:
        """A call in shown terms, in the original ones, notes included."""
        face = self._faces.by_shown.get(call.name)
        if face is None or face.original is None or face.original is face.tool:
            return call
        notes = tuple(self.original_note(note) for note in call.notes)
        return ToolCall(call.id, face.original.name, face.arguments.original(call.arguments), notes)

    def original_note(self, note: Note) -> Note:
        """A repair, with its place and the names in it as the client knows them."""
        face = self._faces.by_shown.get(note.tool)
        if face is None or face.original is None or face.original is face.tool:
            return note
        path = face.arguments.original_path(note.path)
        after = note.after
        if note.kind in _NAMED_NOTES:
            after = face.original.name
        elif note.kind == "key_spelling":
            after = path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        elif not note.path and isinstance(after, Mapping):
            after = face.arguments.original(after)
        return replace(note, path=path, after=after, tool=face.original.name)

    def original_problem(self, problem: Problem) -> Problem:
        """A problem found in shown terms, as the client reads it."""
        return problem if self.unchanged else in_other_terms(problem, self._faces.by_shown, to_original=True)

    def shown_problem(self, problem: Problem) -> Problem:
        """A problem found in original terms, as the model reads it."""
        return problem if self.unchanged else in_other_terms(problem, self._faces.by_original, to_original=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Faces:
    """What is shown of one list of tools, by shown and by original name, and compiled."""

    presented: tuple[PresentedTool, ...]
    toolset: Toolset
    by_shown: Mapping[str, PresentedTool]
    by_original: Mapping[str, PresentedTool]


def present(request: ModelRequest, tools: Toolset, presentation: Presentation, loaded: Sequence[str] = ()) -> View:
    """The request as the model is shown it. Pure; cheap for a list of tools seen before.

    Args:
        request: what the client asked, with usable tools only.
        tools: the same tools, compiled.
        presentation: how to show them.
        loaded: original names that the model asked for since (`Told.load`).
    """
    if not presentation or not request.tools:
        return View(request, tools)
    canonical = replace(request, tools=_canonical(tools))
    context = Context(canonical, tuple(loaded))
    presented = through(presentation.lenses, canonical.tools, context)
    faces = _faces(_with_demanded(presented, canonical))
    sent = tuple(face.tool for face in faces.presented)
    for trim in presentation.trims:
        sent = trim.trim(sent, context)
    shown = replace(
        request,
        tools=sent,
        messages=shown_messages(request.messages, faces.by_original),
        tool_choice=_shown_choice(request.tool_choice, faces),
    )
    return View(
        shown, faces.toolset, unchanged=False, found=tuple(context.found), offered=canonical.tools, _faces=faces
    )


def _with_demanded(presented: tuple[PresentedTool, ...], request: ModelRequest) -> tuple[PresentedTool, ...]:
    """A tool that the request demands is shown, whatever a lens left out."""
    name = request.choice.name
    if request.choice.mode is not ChoiceMode.NAMED or any(e.original and e.original.name == name for e in presented):
        return presented
    return (*presented, *(as_it_is(tool) for tool in request.tools if tool.name == name))


def _shown_choice(choice: ToolChoice | None, faces: _Faces) -> ToolChoice | None:
    face = faces.by_original.get(choice.name) if choice and choice.name else None
    return ToolChoice(ChoiceMode.NAMED, face.tool.name) if face else choice


@lru_cache(maxsize=64)
def _faces(presented: tuple[PresentedTool, ...]) -> _Faces:
    presented = tuple(map(_usable, presented))
    return _Faces(
        presented,
        compile_tools(face.tool for face in presented),
        {face.tool.name: face for face in presented},
        {face.original.name: face for face in presented if face.original is not None},
    )


def _usable(face: PresentedTool) -> PresentedTool:
    """A tool whose shown form cannot be used (too large, say) is shown as it is."""
    if face.original is None or compile_tool(face.tool).broken is None:
        return face
    return as_it_is(face.original)


# -- equal tools of different requests are made the same objects ------------------------------------------------


def _canonical(tools: Toolset) -> tuple[Tool, ...]:
    """The usable tools; equal ones are the same objects, so that what is made of them can be kept."""
    usable = [tool for tool in tools if tool.broken is None]
    try:
        return _tools(tuple(map(_key, usable)))
    except (TypeError, ValueError, RecursionError):
        # A field that is no JSON, which only a program can pass: nothing is kept of such tools.
        return tuple(tool.tool for tool in usable)


_Key: TypeAlias = tuple[str, str, bytes, Effects, bytes]


def _key(compiled: CompiledTool) -> _Key:
    tool = compiled.tool
    return (tool.name, tool.description, compiled.key, tool.effects, content_key(tool.extra) if tool.extra else b"")


@lru_cache(maxsize=32)
def _tools(keys: tuple[_Key, ...]) -> tuple[Tool, ...]:
    return tuple(_tool(*key) for key in keys)


@lru_cache(maxsize=KEPT_TOOLS)
def _tool(name: str, description: str, parameters: bytes, effects: Effects, extra: bytes) -> Tool:
    return Tool(name, description, from_key(parameters), effects, from_key(extra) if extra else {})
