"""API-Bank's rules: when a call is as good as the recorded one.

The original runs the predicted call on a fresh database and compares what comes back, by a rule of each API, with
what was recorded. The APIs' bodies are not here, so this compares inputs: equal inputs give equal results. What
that leaves out:

- Inputs that differ and still give the recorded result are wrong here: another search with the same hits.
- Inputs that the original ignores are compared all the same where they decide the result that it compares: the
  token (a wrong one is an error), the target language, and what is searched, looked up or played.

Searches (`ToolSearcher`, `SearchEngine`) ask for a word overlap above one half, as the original does for free text.

Always wrong, as in the original: recorded calls with a parameter that the API does not have (`device_id`), and
`DeleteMeeting`, which is compared on a field that it lacks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Same = Callable[[Any, Any], bool]


def _by(form: Callable[[Any], Any]) -> Same:
    def same(given: Any, recorded: Any) -> bool:
        try:
            return bool(form(given) == form(recorded))
        except (ValueError, TypeError, AttributeError, KeyError):
            return False  # the original's comparison stops here, and the call is wrong

    return same


def _moment(*forms: str) -> Callable[[Any], Any]:
    def parsed(text: Any) -> Any:
        for form in forms:
            try:
                # A leap year, or 29 February could not be read without its year.
                year = "" if "%Y" in form else "2000 "
                read = datetime.strptime(year + str(text), ("%Y " if year else "") + form).replace(tzinfo=UTC)
            except ValueError:
                continue
            return (read.month, read.day) if len(forms) > 1 else read
        raise ValueError(text)

    return parsed


def _devices(value: Any) -> Any:
    pairs = [(item["name"].strip().lower(), str(item["description"]).strip()) for item in value]
    return sorted(pairs)


EXACT: Same = _by(lambda value: value)
STRIP: Same = _by(lambda value: value.strip())
LOWER: Same = _by(lambda value: value.strip().lower())
UPPER: Same = _by(lambda value: value.strip().upper())
NO_SPACES: Same = _by(lambda value: value.replace(" ", ""))
DATE: Same = _by(_moment("%Y-%m-%d"))
TIME: Same = _by(_moment("%Y-%m-%d %H:%M:%S"))
MONTH_DAY: Same = _by(_moment("%Y-%m-%d", "%m-%d"))
DEVICES: Same = _by(_devices)


def OVERLAP(given: Any, recorded: Any) -> bool:  # noqa: N802 - one of the constants above
    """Whether more than half of the words of both are common to them."""
    words, others = set(str(given).split(" ")), set(str(recorded).split(" "))
    return len(words & others) / len(words | others) > 0.5  # noqa: PLR2004 - the original's bound


def OVERLAP_LOWER(given: Any, recorded: Any) -> bool:  # noqa: N802
    """The same without case."""
    return OVERLAP(str(given).lower(), str(recorded).lower())


@dataclass(frozen=True, slots=True)
class Rule:
    """How the inputs of one API are compared: `by` parameter, all `others` by one rule; None compares nothing."""

    by: Mapping[str, Same | None] = field(default_factory=dict)
    others: Same | None = EXACT
    never: bool = False


_AGENDA = Rule({"content": OVERLAP})
_MEETING = Rule({"meeting_topic": OVERLAP})
_REMINDER = Rule({"content": OVERLAP_LOWER})
_DELETE = Rule({"time": EXACT, "token": EXACT}, others=None)

RULES: Mapping[str, Rule] = {
    "AddAgenda": _AGENDA,
    "ModifyAgenda": _AGENDA,
    "QueryAgenda": _AGENDA,
    "DeleteAgenda": _DELETE,
    "AddMeeting": _MEETING,
    "ModifyMeeting": _MEETING,
    "QueryMeeting": _MEETING,
    "DeleteMeeting": Rule(never=True),
    "AddReminder": _REMINDER,
    "ModifyReminder": _REMINDER,
    "QueryReminder": _REMINDER,
    "DeleteReminder": _DELETE,
    "Calculator": Rule({"formula": NO_SPACES}),
    "EmergencyKnowledge": Rule({"symptom": LOWER}),
    "SymptomSearch": Rule({"symptom": LOWER}),
    "ToolSearcher": Rule({"keywords": OVERLAP_LOWER}),
    "SearchEngine": Rule({"keyword": OVERLAP_LOWER}),
    "Dictionary": Rule(others=LOWER),
    "Wiki": Rule(others=LOWER),
    "PlayMusic": Rule(others=LOWER),
    "AddScene": Rule({"name": LOWER, "devices": DEVICES}),
    "ModifyScene": Rule({"name": LOWER, "devices": DEVICES}),
    "DeleteScene": Rule({"name": LOWER}),
    "QueryScene": Rule({"name": LOWER}),
    "AppointmentRegistration": Rule({"patient_name": STRIP, "doctor_name": STRIP, "date": DATE}),
    "CancelRegistration": Rule({"appointment_id": STRIP}),
    "ModifyRegistration": Rule(
        {"appointment_id": STRIP, "new_appointment_date": DATE, "new_appointment_doctor": STRIP}
    ),
    "QueryRegistration": Rule({"patient_name": STRIP, "date": DATE}),
    "TimedSwitch": Rule({"name": LOWER, "time": TIME}),
    "CancelTimedSwitch": Rule({"name": LOWER, "time": TIME}),
    "DocumentQA": Rule(others=STRIP),
    "QueryBalance": Rule(others=STRIP),
    "QueryHealthData": Rule({"user_id": UPPER, "start_time": TIME, "end_time": TIME}),
    "RecordHealthData": Rule({"user_id": UPPER, "time": TIME, "health_data": None}),
    "QueryHistoryToday": Rule({"date": MONTH_DAY}),
    "QueryStock": Rule({"stock_code": UPPER, "date": DATE}),
    "SendEmail": Rule({"receiver": LOWER, "subject": STRIP, "content": STRIP}),
    "Translate": Rule({"src": EXACT, "src_lang": None, "tgt_lang": LOWER}),
}
"""What differs from comparing every input exactly."""


def right_call(
    name: str,
    given: Mapping[str, Any],
    recorded: Mapping[str, Any],
    types: Mapping[str, str],
    optional: frozenset[str] = frozenset(),
) -> bool:
    """Whether a call's inputs are as good as the recorded ones.

    Args:
        name: the API; both calls name it.
        given: the call's arguments.
        recorded: those of the dialogue.
        types: the API's parameters with their types as the data name them (`str`, `int`, `list(str)`, ...).
        optional: the parameters that it can do without.
    """
    rule = RULES.get(name, Rule())
    if rule.never or not given.keys() <= types.keys() or not recorded.keys() <= types.keys():
        return False
    for key in given.keys() | recorded.keys():
        compare = rule.by.get(key, rule.others)
        if key not in given and (compare or key not in optional):
            return False
        if compare is None:
            continue
        if key not in recorded or not compare(*(as_declared(side[key], types[key]) for side in (given, recorded))):
            return False
    return True


def as_declared(value: Any, kind: str) -> Any:
    """A value as the original passes it on: it reads every value from text, by the declared type."""
    if kind == "str":
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        return value
    if kind == "bool":
        return value == "True"
    try:
        read = json.loads(value.replace("'", '"'))
    except ValueError:
        return value
    wanted: tuple[type, ...] = {"int": (int,), "float": (int, float)}.get(kind, (list,))
    return read if isinstance(read, wanted) and not isinstance(read, bool) else value
