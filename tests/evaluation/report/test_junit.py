"""JUnit XML as CI systems read it."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from made_runs import made_info, made_records, write_run

from rightcall.domain import ToolCall
from rightcall.errors import StoreError
from rightcall.evaluation.compare import open_run
from rightcall.evaluation.report.junit import write_junit
from rightcall.evaluation.report.thresholds import judge, parse_threshold

GOLDEN = Path(__file__).with_name("golden") / "junit.xml"
SUITE, MODEL = "bfcl:simple_python", "small-0.5b"

# What Jenkins' schema of JUnit allows: attributes, those that are required, and children.
ALLOWED = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, set(), {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id", "package"},
        {"name", "tests", "failures", "errors"},
        {"properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, {"name", "value"}, set()),
    "testcase": (
        {"name", "time", "classname"},
        {"name"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": ({"type", "message"}, set(), set()),
    "error": ({"type", "message"}, set(), set()),
}


def judged(folder, arm="parse", thresholds=(), *, info=None, records=None, **rest):
    records = made_records(SUITE, MODEL, arm, 8, **rest) if records is None else records
    return judge(open_run(write_run(folder, info or made_info(SUITE, MODEL, arm), records)), thresholds)


def written(folder, *runs):
    path = folder / "junit.xml"
    write_junit(path, runs)
    return path


def valid(path):
    root = ET.parse(path).getroot()  # noqa: S314 - this project wrote it
    assert root.tag == "testsuites"
    for element in root.iter():
        allowed, required, children = ALLOWED[element.tag]
        assert required <= set(element.attrib) <= allowed, element.tag
        assert {child.tag for child in element} <= children, element.tag
        if "time" in element.attrib:
            assert re.fullmatch(r"\d+\.\d{3}", element.attrib["time"])
    counted = [root.iter("testcase"), root.iter("failure"), root.iter("error")]
    assert [root.get(name) for name in ("tests", "failures", "errors")] == [str(len(list(each))) for each in counted]
    for suite in root:
        counted = [suite.iter("testcase"), suite.iter("failure"), suite.iter("error")]
        names = ("tests", "failures", "errors")
        assert [suite.get(name) for name in names] == [str(len(list(each))) for each in counted]
    return root


def test_a_run_is_written_as_it_was_agreed(tmp_path):
    thresholds = [parse_threshold("task_success=0.2"), parse_threshold("wrong_but_valid=0.02", at_most=True)]
    path = written(tmp_path, judged(tmp_path, thresholds=thresholds, broken=(2,)))
    valid(path)
    assert path.read_text(encoding="utf-8") == GOLDEN.read_text(encoding="utf-8")


def test_a_case_is_a_test_that_fails_where_the_answer_is_not_right(tmp_path):
    run = judged(tmp_path, broken=(2,))
    root = valid(written(tmp_path, run))
    tests = {test.get("name"): test for test in root.iter("testcase")}
    records = {record.case: record for record in run.run.records()}
    assert set(records) < set(tests)
    for name, record in records.items():
        failed = tests[name].find("failure") is not None
        assert failed == (not record.error and not record.score.success)
        assert (tests[name].find("error") is not None) == bool(record.error)


def test_a_failure_says_what_was_wanted_and_what_came(tmp_path):
    root = valid(written(tmp_path, judged(tmp_path, records=made_records(SUITE, MODEL, "parse", 30))))
    failure = next(each for each in root.iter("failure") if each.get("type") == "wrong but valid")
    wanted = re.search(r'wanted:\n(\w+)\(\w+=.+, \[lang="en" or ""\]\)', failure.text)
    assert wanted
    assert re.search(r"got:\n\w+\(\w+=.+\)", failure.text)
    assert failure.get("message").startswith("wrong but valid: ")


def test_a_threshold_is_a_test(tmp_path):
    thresholds = [parse_threshold("task_success=0"), parse_threshold("task_success=1")]
    root = valid(written(tmp_path, judged(tmp_path, thresholds=thresholds)))
    met, missed = (root.find(f".//testcase[@name='threshold task_success ≥ {bound}']") for bound in (0, 1))
    assert met.find("failure") is None
    assert "not met, it is" in missed.find("failure").get("message")


def test_a_broken_run_is_an_error_of_its_own(tmp_path):
    root = valid(written(tmp_path, judged(tmp_path, broken=range(8))))
    error = root.find(".//testcase[@name='the run can be judged']/error")
    assert error.get("message") == "nothing was scored: 8 infrastructure errors"


def test_repeats_are_tests_of_their_own_with_names_of_their_own(tmp_path):
    info = made_info(SUITE, MODEL, "parse", repeats=2)
    root = valid(written(tmp_path, judged(tmp_path, info=info, repeats=2)))
    names = [test.get("name") for test in root.iter("testcase")]
    assert len(names) == len(set(names)) == 16


def test_several_runs_are_suites_of_one_file(tmp_path):
    root = valid(written(tmp_path, judged(tmp_path, "bare"), judged(tmp_path, "parse")))
    assert [suite.get("name") for suite in root] == [f"{SUITE} {MODEL} {arm}" for arm in ("bare", "parse")]
    # A dot would make a package of half a model's name.
    assert {test.get("classname") for test in root[0].iter("testcase")} == {"bfcl:simple_python.small-0_5b.bare"}


def test_hostile_text_neither_breaks_the_file_nor_hides_in_it(tmp_path):
    hostile = "]]></failure><testcase name='x'/>&amp;\x00\x1b[2J\ud800\u202e\ufffe\r\n\"'"
    records = (
        replace(
            record,
            case=hostile + record.case,
            asked=hostile,
            error=hostile if record.position == 1 else "",
            answer=replace(record.answer, text=hostile, calls=(ToolCall(hostile, hostile, {hostile: hostile}),)),
        )
        for record in made_records(SUITE, MODEL, "bare", 6)
    )
    info = made_info(SUITE, MODEL + hostile, "bare" + hostile)
    path = written(tmp_path, judged(tmp_path, info=info, records=records))
    root = valid(path)
    assert len(list(root.iter("testcase"))) == 7  # six cases, and a run of which too much was spoilt
    assert not set(path.read_text(encoding="utf-8")) & {"\x00", "\x1b", "\u202e", "\ufffe", "\r"}
    assert "</failure><testcase name='x'/>" in root.find(".//failure").text


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(StoreError, match=r"missing.junit\.xml cannot be written: No such file"):
        write_junit(tmp_path / "missing" / "junit.xml", [])
