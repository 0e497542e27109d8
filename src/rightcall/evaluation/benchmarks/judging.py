"""The questions that mean the same in every suite: were the right tools called, are the arguments right.

Calls match an alternative in any order, each wanted call by one call of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.domain import Tool, ToolCall
from rightcall.evaluation.cases import SELECTION_ERRORS, Accepted, Answer, Case, ExpectedCall, Score
from rightcall.evaluation.normalise import same_value

MISALIGNMENT, CONFUSION, CONTEXT = SELECTION_ERRORS
SIMILAR = 0.05
"""From which share of common words two tools count as similar: a coarse line. Of the pairs that MetaTool calls
similar (a tool and its nine nearest by embedding) 40 % reach it, of all pairs of its tools 8 %."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SAYS_LITTLE = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be by can for from get has have how if in into is it its of on or our out set so "
        "than that the their them this to tool use used user users using via what when which with you your",
    )
)


def judge(case: Case, answer: Answer) -> Score:
    """How right an answer is by the case's own accepted calls; success is having the arguments right."""
    selection = selects(case, answer)
    arguments = selection and any(
        _matched(answer.calls, alternative, case.normaliser) for alternative in case.accepted
    )
    error = "" if selection or case.negative else selection_error(case, answer)
    return Score(arguments, selection, arguments, selection_error=error)


def selects(case: Case, answer: Answer) -> bool:
    """Whether the tools of an alternative were chosen, as often as wanted, whatever the arguments.

    Where an alternative is no call at all, a call that was refused is none.
    """
    wanted = [Counter(call.name for call in alternative) for alternative in case.accepted]
    return Counter(call.name for call in answer.calls) in wanted or Counter(answer.chosen) in wanted


def selection_error(case: Case, answer: Answer) -> str:
    """Which of PA-Tool's three kinds of error a wrong selection is (Appendix E), or none.

    The paper had a model judge whether a wrong tool is similar to the right one. Here it is the share of words that
    name and description have in common, so the line between confusion and context is drawn mechanically. As in the
    paper, cases where no tool is right have none of the three (they are not asked about): a call there is a false
    call. So have right tools in the wrong number.
    """
    offered = {tool.name: tool for tool in case.tools}
    if any(problem.get("kind") == "unknown_tool" for problem in answer.problems):
        return MISALIGNMENT
    chosen = set(answer.chosen)
    if chosen - offered.keys():
        return MISALIGNMENT
    right = {wanted.name for alternative in case.accepted for wanted in alternative}
    wrong = chosen - right
    if not wrong:
        return ""
    pairs = [(offered[name], offered[other]) for name in wrong for other in right if other in offered]
    return CONFUSION if any(likeness(*pair) >= SIMILAR for pair in pairs) else CONTEXT


def likeness(one: Tool, other: Tool) -> float:
    """The share of words that names and descriptions of two tools have in common (Jaccard), 0 to 1."""
    words, others = _words(one), _words(other)
    return len(words & others) / len(words | others) if words and others else 0.0


def _words(tool: Tool) -> frozenset[str]:
    words = (word.lower() for word in _WORD.findall(f"{tool.name} {tool.description}"))
    # Plurals are cut so that `flight` and `flights` meet; nothing else is stemmed.
    return frozenset(word.removesuffix("s") if len(word) > 3 else word for word in words if word not in _SAYS_LITTLE)  # noqa: PLR2004


def _matched(calls: Sequence[ToolCall], wanted: Accepted, rules: Mapping[str, Sequence[str]]) -> bool:
    fits = [[is_call(call, one, rules) for call in calls] for one in wanted]
    return len(calls) == len(wanted) and each_has_its_own(fits)


def each_has_its_own(fits: Sequence[Sequence[bool]]) -> bool:
    """Whether each row can take a column of its own that fits it, as a wanted call takes a call.

    Augmenting paths: a greedy choice can block a right one.
    """
    holder: dict[int, int] = {}

    def seat(index: int, tried: set[int]) -> bool:
        for place, fit in enumerate(fits[index]):
            if fit and place not in tried:
                tried.add(place)
                if place not in holder or seat(holder[place], tried):
                    holder[place] = index
                    return True
        return False

    return all(seat(index, set()) for index in range(len(fits)))


def is_call(call: ToolCall, wanted: ExpectedCall, rules: Mapping[str, Sequence[str]]) -> bool:
    """Whether a call is the wanted one: the name, no argument too many or missing, each value an accepted one."""
    if call.name != wanted.name:
        return False
    if wanted.arguments is None:
        return True
    if not call.arguments.keys() <= wanted.arguments.keys():
        return False
    return all(
        _accepted(call.arguments[name], values, rules_of(rules, name))
        if name in call.arguments
        else name in wanted.optional
        for name, values in wanted.arguments.items()
    )


def _accepted(got: Any, values: Sequence[Any], rules: Sequence[str]) -> bool:
    return any(same_value(got, value, rules) for value in values)


def rules_of(normaliser: Mapping[str, Sequence[str]], argument: str) -> Sequence[str]:
    """An argument's rules of comparing: its own, else those of `*`, all of them."""
    return normaliser.get(argument, normaliser.get("*", ()))
