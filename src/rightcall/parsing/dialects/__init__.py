"""Every public way in which models write calls, one file a family.

This table is the registry: to add a dialect, write a file and name it here. Dialects that can begin at the same
place are asked in this order; the first that knows the block as its own reads it.
"""

from __future__ import annotations

from rightcall.parsing.dialects import (
    cohere,
    deepseek,
    element,
    function_xml,
    functionary,
    gemma,
    glm,
    harmony,
    invoke_xml,
    kimi,
    minimax_m3,
    mistral,
    pythonic,
    qwen_agent,
    react,
    tagged_json,
)
from rightcall.parsing.dialects.base import Dialect

DIALECTS: tuple[Dialect, ...] = (
    harmony.DIALECT,
    deepseek.DIALECT,
    kimi.K2,
    kimi.K3,
    mistral.DIALECT,
    gemma.DIALECT,
    function_xml.DIALECT,
    minimax_m3.DIALECT,
    invoke_xml.DIALECT,
    glm.DIALECT,
    cohere.DIALECT,
    qwen_agent.DIALECT,
    functionary.MARKED,
    functionary.FIRST,
    tagged_json.DIALECT,
    pythonic.DIALECT,
    react.DIALECT,
    element.DIALECT,
)
