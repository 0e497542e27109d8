"""Runs as JUnit XML, for CI systems: a suite a run, a test a case, a test a threshold.

The form is what Jenkins and Maven's Surefire agree on; other systems read it too. Reading is streaming: each run's
records go by twice, once to be counted and once to be written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from rightcall.errors import StoreError
from rightcall.evaluation.records import Record, RunInfo
from rightcall.evaluation.report import texts
from rightcall.evaluation.report.failures import kinds_of
from rightcall.evaluation.report.thresholds import Checked, JudgedRun
from rightcall.visible import visible

_PROBLEMS = 20
_MESSAGE = 200  # characters


@dataclass(slots=True)
class _Counts:
    tests: int = 0
    failures: int = 0
    errors: int = 0
    seconds: float = 0.0

    def add(self, other: _Counts) -> None:
        self.tests += other.tests
        self.failures += other.failures
        self.errors += other.errors
        self.seconds += other.seconds

    def attributes(self) -> dict[str, str]:
        return {
            "tests": str(self.tests),
            "failures": str(self.failures),
            "errors": str(self.errors),
            "time": f"{self.seconds:.3f}",
        }


def write_junit(path: Path, runs: Sequence[JudgedRun]) -> None:
    """Writes runs as JUnit XML.

    A case is a test: it fails where the answer is not right, and is an error where infrastructure failed. A case
    asked several times is as many tests. A threshold is a test; a run that is broken is an error of its own.

    Raises:
        StoreError: the file cannot be written.
    """
    counts = [_count(judged) for judged in runs]
    total = _Counts()
    for each in counts:
        total.add(each)
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            xml = XMLGenerator(file, "utf-8", short_empty_elements=True)
            xml.startDocument()
            _open(xml, 0, "testsuites", {"name": "rightcall", **total.attributes()})
            for judged, counted in zip(runs, counts, strict=True):
                _write_run(xml, judged, counted)
            _close(xml, 0, "testsuites")
            file.write("\n")
    except OSError as error:
        raise StoreError(f"the JUnit file {path} cannot be written: {error.strerror}") from error


def _count(judged: JudgedRun) -> _Counts:
    counts = _Counts()
    for record in judged.run.records():
        counts.tests += 1
        counts.errors += bool(record.error)
        counts.failures += not record.error and not record.score.success
        counts.seconds += record.seconds
    outcome = judged.outcome
    counts.tests += len(outcome.checked) + bool(outcome.broken)
    counts.failures += sum(not checked.met for checked in outcome.checked)
    counts.errors += bool(outcome.broken)
    return counts


def _write_run(xml: XMLGenerator, judged: JudgedRun, counts: _Counts) -> None:
    info = judged.run.info
    attributes = {"name": f"{info.suite} {info.model} {info.arm}", **counts.attributes()}
    if info.created:
        attributes["timestamp"] = datetime.fromtimestamp(info.created, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    _open(xml, 1, "testsuite", attributes)
    _open(xml, 2, "properties", {})
    for name, value in _properties(info).items():
        _empty(xml, 3, "property", {"name": name, "value": value})
    _close(xml, 2, "properties")
    if judged.outcome.broken:
        _write_test(xml, info, "the run can be judged", ("error", "broken", judged.outcome.broken, ""))
    for checked in judged.outcome.checked:
        _write_threshold(xml, info, checked)
    for record in judged.run.records():
        _write_case(xml, info, record)
    _close(xml, 1, "testsuite")


def _write_threshold(xml: XMLGenerator, info: RunInfo, checked: Checked) -> None:
    fault = None if checked.met else ("failure", "threshold", str(checked), "")
    _write_test(xml, info, f"threshold {checked.threshold}", fault)


def _write_case(xml: XMLGenerator, info: RunInfo, record: Record) -> None:
    name = f"{record.case} repeat {record.repeat}" if info.repeats > 1 else record.case
    if record.error:
        fault = ("error", "infrastructure", texts.clip(record.error), "")
    elif not record.score.success:
        kinds = ", ".join(kinds_of(record))
        fault = ("failure", kinds, f"{kinds}: {_one_line(_got(record))}", _explained(record))
    else:
        fault = None
    _write_test(xml, info, name, fault, record.seconds)


def _write_test(
    xml: XMLGenerator, info: RunInfo, name: str, fault: tuple[str, str, str, str] | None, seconds: float = 0.0
) -> None:
    """A test; `fault` is the element's name, its type, its message and its text."""
    attributes = {"name": name, "classname": _class_name(info), "time": f"{seconds:.3f}"}
    if fault is None:
        _empty(xml, 2, "testcase", attributes)
        return
    element, kind, message, text = fault
    _open(xml, 2, "testcase", attributes)
    _indent(xml, 3)
    xml.startElement(element, _safe({"type": kind, "message": message}))
    xml.characters(visible(text))
    xml.endElement(element)
    _close(xml, 2, "testcase")


def _class_name(info: RunInfo) -> str:
    """As CI systems group tests: by what stands between dots, so a model's own dots are none."""
    return ".".join(part.replace(".", "_") for part in (info.suite, info.model, info.arm))


def _properties(info: RunInfo) -> dict[str, str]:
    found = {
        "suite_version": info.suite_version,
        "model": info.model,
        "build": info.build,
        "arm": info.arm,
        "settings": texts.settings_text(info.settings),
        "sampling": texts.settings_text(info.sampling),
        "seed": str(info.seed),
        "repeats": str(info.repeats),
        "rightcall": info.rightcall,
    }
    return {name: value for name, value in found.items() if value}


def _got(record: Record) -> str:
    answer = record.answer
    if answer.calls:
        return texts.calls_text(answer.calls)
    if not record.refused:
        return answer.text or "no text"
    return str(answer.problems[0].get("message")) if answer.problems else "nothing that could be read"


def _explained(record: Record) -> str:
    parts = [
        f"asked:\n{texts.clip(record.asked)}",
        f"wanted:\n{texts.wanted_text(record.accepted)}",
        f"got:\n{texts.clip(_got(record))}",
        *(f"problem: {texts.clip(str(problem.get('message')))}" for problem in record.answer.problems[:_PROBLEMS]),
    ]
    return "\n\n".join(parts)


def _one_line(text: str) -> str:
    return texts.clip(" ".join(text.split()), _MESSAGE)


def _open(xml: XMLGenerator, depth: int, name: str, attributes: Mapping[str, str]) -> None:
    if depth:  # the root stands on its line already
        _indent(xml, depth)
    xml.startElement(name, _safe(attributes))


def _close(xml: XMLGenerator, depth: int, name: str) -> None:
    _indent(xml, depth)
    xml.endElement(name)


def _empty(xml: XMLGenerator, depth: int, name: str, attributes: Mapping[str, str]) -> None:
    _indent(xml, depth)
    xml.startElement(name, _safe(attributes))
    xml.endElement(name)


def _indent(xml: XMLGenerator, depth: int) -> None:
    xml.ignorableWhitespace("\n" + "  " * depth)


def _safe(attributes: Mapping[str, str]) -> AttributesImpl[str]:
    return AttributesImpl({name: visible(value) for name, value in attributes.items()})
