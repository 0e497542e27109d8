"""Why a case failed, in the words that reports count and filter by."""

from __future__ import annotations

from collections.abc import Mapping

from rightcall.evaluation.records import Record

KINDS: Mapping[str, str] = {
    "wrong but valid": "the calls fit their schemas and are not the right ones",
    "false call": "a call was made where none is right",
    "invalid call": "a call that its schema refuses",
    "refused": "no call could be made right, and it said so",
    "no call": "text where a call is wanted",
    "not right": "the suite's own rules refuse it for another reason",
}
"""Every kind of failure, the most harmful first, and what it means. A failing case is of one at least."""


def failed(record: Record) -> bool:
    """Whether the answer was not right. A failure of infrastructure is no answer."""
    return not record.error and not record.score.success


def kinds_of(record: Record) -> tuple[str, ...]:
    """The kinds of a failing case's failure, in the order of `KINDS`."""
    found = {
        "wrong but valid": record.wrong_but_valid,
        "false call": record.false_call,
        "invalid call": bool(record.answer.calls) and record.answer.valid is False,
        "refused": record.refused,
        "no call": record.answer.status == "text" and not record.negative,
    }
    return tuple(kind for kind, is_so in found.items() if is_so) or ("not right",)


def harm(record: Record) -> tuple[int, int]:
    """For sorting failing cases: the most harmful first, then in the order they were asked."""
    return list(KINDS).index(kinds_of(record)[0]), record.position
