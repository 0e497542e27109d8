"""The page: complete, self-contained, and deaf to what models say."""

import base64
import hashlib
import re
from collections import Counter
from dataclasses import asdict, replace
from html.parser import HTMLParser

import pytest
from made_runs import made_info, made_records, write_run

from rightcall.evaluation.records import RunInfo, record_from_json, record_to_json
from rightcall.evaluation.report.contents import build_report
from rightcall.evaluation.report.page import html_page

SUITE, MODEL = "bfcl:simple_python", "small-0.5b"
VOID = {"meta", "input", "br"}
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)><style>*{}</style>{{7*7}}</pre>&lt;"


class Page(HTMLParser):
    """Tags, attributes and texts of a page, and whether every tag is closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = Counter(), [], [], []
        self.raw = {"script": "", "style": ""}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data):
        if self.open and self.open[-1] in self.raw:
            self.raw[self.open[-1]] += data
        else:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def values(self, name):
        return [value for _, found, value in self.attributes if found == name]


@pytest.fixture(scope="module")
def page(report):
    return Page(html_page(report))


def hostile(value):
    """Every text replaced, keys of free mappings too."""
    if isinstance(value, dict):
        return {key: hostile(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [hostile(item) for item in value]
    return f"{value}{HOSTILE}" if isinstance(value, str) else value


def hostile_page(folder, evil=hostile, *, known_words=False):
    """A page of runs of which every text that anyone could have chosen is hostile."""
    paths = []
    for arm in ("bare", "parse"):
        info = RunInfo(**evil(asdict(made_info(SUITE, MODEL, arm))))
        info = replace(info, settings={**info.settings, HOSTILE: HOSTILE}, sampling={HOSTILE: [HOSTILE]})
        info = replace(info, prices={HOSTILE: {"second": 1.0}}, arm=arm + HOSTILE)
        records = []
        for record in made_records(SUITE, MODEL, arm, 24, broken=(3,)):
            data = evil(record_to_json(record))
            data["answer"]["status"] = record.answer.status
            data["error"] = evil(record.error) if record.error else ""
            if known_words:  # so that hostile and harmless records count the same
                data["score"]["selection_error"] = record.score.selection_error
                for problem, was in zip(data["answer"]["problems"], record.answer.problems, strict=True):
                    problem["family"] = was["family"]
            data["score"]["original"] = {HOSTILE: 0.5}
            for call in data["answer"]["calls"]:
                call["arguments"][HOSTILE] = {HOSTILE: HOSTILE}
            records.append(record_from_json(data))
        paths.append(write_run(folder, info, iter(records)))
    return html_page(build_report(paths))


def test_the_page_is_well_formed(page):
    assert page.open == []
    assert page.tags["main"] == page.tags["h1"] == 1


def test_hostile_text_in_every_field_stays_text(tmp_path):
    text = hostile_page(tmp_path)
    page = Page(text)
    assert page.open == []
    assert page.tags["script"] == page.tags["style"] == 1
    assert (
        page.tags["img"] == page.tags["iframe"] == page.tags["object"] == page.tags["link"] == page.tags["base"] == 0
    )
    assert "alert" not in page.raw["script"]
    assert page.text.count("<script>alert(1)</script>") > 100
    assert "49" not in re.findall(r"<style>\*\{\}</style>(\S+?)</pre>", page.text)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_hostile_text_says_nothing_to_the_page_that_harmless_text_does_not(tmp_path):
    tame = Page(hostile_page(tmp_path / "tame", lambda value: value, known_words=True))
    wild = Page(hostile_page(tmp_path / "wild", known_words=True))
    assert wild.tags == tame.tags
    assert Counter((tag, name) for tag, name, _ in wild.attributes) == Counter(
        (tag, name) for tag, name, _ in tame.attributes
    )


def test_what_would_reorder_or_hide_text_is_written_out(tmp_path):
    trick = "safe\u202egnp.exe\u200b\x1b[31m"
    records = (replace(record, asked=trick) for record in made_records(SUITE, MODEL, "bare", 12))
    text = html_page(build_report([write_run(tmp_path, made_info(SUITE, MODEL, "bare"), records)]))
    assert r"safe\u202egnp.exe\u200b\x1b[31m" in text
    assert not set(trick) & set(text) & {"\u202e", "\u200b", "\x1b"}


def test_nothing_is_loaded_from_elsewhere(page):
    assert page.values("src") == []
    assert all(target.startswith("#") for target in page.values("href"))
    assert "url(" not in page.raw["style"]
    assert "@import" not in page.raw["style"]
    assert not re.search(r"fetch|XMLHttpRequest|import\(|innerHTML|document\.write|eval", page.raw["script"])


def test_the_policy_allows_this_style_and_this_script_alone(page):
    policy = next(value for tag, name, value in page.attributes if tag == "meta" and "default-src" in (value or ""))
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["base-uri"] == directives["form-action"] == "'none'"
    for name in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.raw[name].encode()).digest()).decode()
        assert directives[f"{name}-src"] == f"'sha256-{digest}'"
    # A style attribute would be refused by that policy.
    assert page.values("style") == []


def test_every_link_within_the_page_leads_somewhere_and_ids_are_unique(page):
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {target[1:] for target in page.values("href")} <= set(ids)
    labels = [label for value in page.values("aria-labelledby") for label in value.split()]
    assert set(labels) <= set(ids)


def test_tables_have_headers_and_pictures_have_names(page):
    scopes = Counter(value for tag, name, value in page.attributes if tag == "th" and name == "scope")
    assert scopes["col"] > 20
    assert scopes["row"] > 20
    assert page.tags["th"] == sum(scopes.values())
    named = [
        value for tag, name, value in page.attributes if tag == "svg" and name in {"aria-label", "aria-labelledby"}
    ]
    pictures = [value for tag, name, value in page.attributes if tag == "svg" and name == "role"]
    assert pictures == ["img"] * len(named)
    assert all(named)
    assert page.tags["title"] > 1  # the page's own, and those of marks


def test_arms_differ_by_the_shape_of_their_marks(page):
    classes = {value for _, name, value in page.attributes if name == "class"}
    assert "mark ring" in classes  # bare
    assert any(value.startswith("M0-5.6") for value in page.values("d"))  # parse
    assert "4.6" in page.values("r")  # full


def test_light_and_dark_and_narrow_are_seen_to(page):
    assert "prefers-color-scheme: dark" in page.raw["style"]
    assert "@media (max-width" in page.raw["style"]
    assert "width=device-width, initial-scale=1" in page.values("content")


def test_what_was_run_is_said(page, report):
    for part in report.runs:
        for said in (
            part.info.build,
            part.info.suite_version,
            part.info.rightcall,
            part.file,
            "2026-09-21 14:13 UTC",
        ):
            assert said in page.text
    assert "attempts 3, text_calls true, reads true" in page.text
    assert "temperature 0.0, max_tokens 256; seed 0, repeats 1" in page.text


def test_a_field_repaired_in_30_percent_of_calls_is_called_a_schema_defect(report, page):
    fields = [found for part in report.runs for found in part.metrics.repairs]
    defects = [found for found in fields if found.schema_defect]
    assert 0 < len(defects) < len(fields)
    # Once in the lead, once a field.
    assert page.text.count("schema defect") == len(defects) + 1


def test_each_failing_case_shows_what_was_asked_what_is_right_and_what_came(report, page):
    part = report.runs[1]
    wrong = next(record for record in part.failing if record.answer.calls)
    call = wrong.answer.calls[0]
    assert wrong.case in page.text
    assert wrong.asked in page.text
    (name, value), *_ = call.arguments.items()
    assert f"{call.name}({name}={value if isinstance(value, int) else chr(34) + value + chr(34)})" in page.text
    refused = next(record for record in part.failing if record.refused)
    assert refused.answer.problems[0]["message"] in page.text
    assert page.tags["details"] == sum(len(part.failing) for part in report.runs) + len(report.runs)


def test_failing_cases_are_there_without_the_script_and_the_filter_is_not(page):
    assert ("form", "hidden", None) in page.attributes
    assert ("details", "hidden", None) not in page.attributes


def test_the_page_of_a_large_run_is_bounded_and_says_what_it_leaves_out(tmp_path):
    long, problem = "y" * 30_000, {"kind": "k", "message": "m" * 300}
    records = (
        replace(
            record,
            asked=long,
            answer=replace(record.answer, text=long, problems=(problem,) * 90),
            attempts=(replace(record.attempts[0], reply={"text": long}), *record.attempts[:1] * 49),
        )
        for record in made_records(SUITE, MODEL, "bare", 60)
    )
    report = build_report([write_run(tmp_path, made_info(SUITE, MODEL, "bare"), records)], failing_cases=10)
    text = html_page(report)
    total = report.runs[0].failing_total
    assert f"10 of {total} failing answers are shown" in Page(text).text
    assert f"the other {total - 10} are in the runs’ files" in Page(text).text
    assert "(28,000 more characters)" in text
    assert "… and 70 more" in text
    assert "… and 38 more attempts" in text
    assert len(text) < 500_000


def test_infrastructure_errors_are_said_apart(page):
    assert "3 cases were not answered" in page.text
    assert "connection refused" in page.text


def test_one_run_alone_makes_a_page_without_differences(run_files):
    page = Page(html_page(build_report(run_files[:1])))
    assert page.open == []
    assert "What each arm changes" not in page.text


def test_a_run_without_an_answer_makes_a_page_all_the_same(tmp_path):
    path = write_run(tmp_path, made_info(SUITE, MODEL, "bare"), made_records(SUITE, MODEL, "bare", 2, broken=(0, 1)))
    page = Page(html_page(build_report([path])))
    assert page.open == []
    assert "2 cases were not answered" in page.text


def test_the_same_runs_give_the_same_page(report, run_files):
    assert html_page(report) == html_page(build_report(run_files))
