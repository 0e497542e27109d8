"""The ladder as a pure decision: it changes at each rung, and it ends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall import DEFAULT_LADDER, Ladder, Problem, ProblemKind, Reading, Rung, ToolCall, UsageError
from rightcall.ladder import NEXT_CALL, Outcome, next_rung

BAD = Reading(problems=(Problem(ProblemKind.WRONG_TYPE, "wrong", tool="t", call_id="1"),))
GOOD = Reading(calls=(ToolCall("1", "t", {}),))


def test_it_begins_with_the_first_rung_and_climbs_only_while_something_is_wrong() -> None:
    assert next_rung([], DEFAULT_LADDER, seconds=0) == DEFAULT_LADDER.rungs[0]
    assert next_rung([Outcome(DEFAULT_LADDER.rungs[0], BAD)], DEFAULT_LADDER, seconds=0) == DEFAULT_LADDER.rungs[1]
    assert next_rung([Outcome(DEFAULT_LADDER.rungs[0], GOOD)], DEFAULT_LADDER, seconds=0) is None


def test_it_stops_at_the_deadline_and_at_its_tokens() -> None:
    tried = [Outcome(DEFAULT_LADDER.rungs[0], BAD, output_tokens=50)]
    assert next_rung(tried, DEFAULT_LADDER, seconds=DEFAULT_LADDER.seconds) is None
    assert next_rung(tried, Ladder(output_tokens=50), seconds=0) is None
    assert next_rung(tried, Ladder(output_tokens=51), seconds=0) is not None


@pytest.mark.parametrize(
    ("rungs", "words"),
    [
        ((), "at least one rung"),
        ((Rung("a"), Rung("b")), "look the same to the model"),
        ((Rung("a", feedback=True),), "no attempt before it"),
        ((Rung("a"), Rung("b", constrain=True)), "hides the wrong"),
    ],
)
def test_a_ladder_that_cannot_work_is_refused_when_it_is_built(rungs: tuple[Rung, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Ladder(rungs)


def test_a_constrained_rung_is_taken_where_a_check_stands_behind_it() -> None:
    assert Ladder((Rung("a"), Rung("b", constrain=True)), verified=True).rungs[1].constrain


RUNGS = st.builds(
    Rung,
    name=st.sampled_from("abcdef"),
    feedback=st.booleans(),
    example=st.booleans(),
    narrow=st.booleans(),
    warmer=st.sampled_from([0.0, 0.2]),
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(RUNGS, min_size=1, max_size=6),
    st.integers(0, 5),
    st.lists(st.booleans(), min_size=40, max_size=40),
    st.data(),
)
def test_every_ladder_ends_whatever_the_model_does(
    rungs: list[Rung], next_calls: int, luck: list[bool], data: st.DataObject
) -> None:
    try:
        ladder = Ladder(tuple(rungs), next_calls=next_calls)
    except UsageError:
        return
    outcomes: list[Outcome] = []
    for good in luck:
        rung = next_rung(outcomes, ladder, seconds=0)
        if rung is None:
            break
        if outcomes and rung is not NEXT_CALL and outcomes[-1].rung is not NEXT_CALL:
            assert rung.shows() != outcomes[-1].rung.shows()
        unused = ("x",) if data.draw(st.booleans()) else ()
        outcomes.append(Outcome(rung, GOOD if good else BAD, unused, extends=good and rung is NEXT_CALL))
    assert next_rung(outcomes, ladder, seconds=0) is None
    assert len(outcomes) <= len(rungs) + next_calls + 1
