"""rightcall makes small and self-hosted language models call tools right. Valid is not right.

The map, in reading order:

    domain      the words, as frozen data
    turn        the whole story: present, ask, read, validate, climb the ladder, propose
    parsing     a reply into calls: dialects, repair, names, coercion
    validation  structure (JSON Schema), protocol, coverage
    ladder      which attempt comes next; prompting: what it shows the model
    lens        tools shown otherwise, both ways; presentation: in the turn; schema.rewrite: the rewrites
    ports       what the flow needs from outside; providers, store: what fills them
    assemble    the only place where concrete parts meet
    serving     the OpenAI-compatible proxy; cli: the commands

A module imports only from rows below its own, and stages never see each other; `lint-imports` holds that.

For most programs `Rightcall` is enough; `parse` reads one reply without a model.
"""

from rightcall.attempts import Attempt, Proposal
from rightcall.client import Rightcall, parse
from rightcall.domain import (
    ChoiceMode,
    Effects,
    Family,
    Grade,
    ModelReply,
    ModelRequest,
    NativeCall,
    Note,
    Problem,
    ProblemKind,
    Reading,
    Tool,
    ToolCall,
    ToolChoice,
    Usage,
)
from rightcall.errors import (
    MissingExtra,
    RightcallError,
    StoreError,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
    UsageError,
)
from rightcall.ladder import DEFAULT_LADDER, ONE_ATTEMPT, Ladder, Rung
from rightcall.providers.scripted import ScriptedModel
from rightcall.turn import Verifier

__all__ = [
    "DEFAULT_LADDER",
    "ONE_ATTEMPT",
    "Attempt",
    "ChoiceMode",
    "Effects",
    "Family",
    "Grade",
    "Ladder",
    "MissingExtra",
    "ModelReply",
    "ModelRequest",
    "NativeCall",
    "Note",
    "Problem",
    "ProblemKind",
    "Proposal",
    "Reading",
    "Rightcall",
    "RightcallError",
    "Rung",
    "ScriptedModel",
    "StoreError",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "UpstreamError",
    "UpstreamRefused",
    "UpstreamTimeout",
    "Usage",
    "UsageError",
    "Verifier",
    "parse",
]
