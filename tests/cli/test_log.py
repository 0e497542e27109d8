"""What a person sees of the log, and what a program gets."""

import contextlib
import json

import pytest
from typer.testing import CliRunner

from rightcall.cli.log import app
from rightcall.errors import UsageError
from rightcall.ports import Event
from rightcall.store.sqlite import SqliteEventLog

TURN = "aaaaaaaa11111111"


def turn(name=TURN, *, time=1_700_000_000.0, status="calls", model="qwen", tool="pay"):
    messages = [{"role": "system", "content": "Be careful."}, {"role": "user", "content": "Pay 12 pounds 50."}]
    fault = {"role": "user", "content": "The amount is wrong."}
    call = {"id": "c1", "name": tool, "arguments": {"amount": 1250}}
    problem = {"kind": "wrong_type", "family": "arguments", "path": "/amount", "message": "want int", "tool": tool}
    note = {"kind": "coerced", "grade": "typed", "path": "/amount", "before": "1250", "after": 1250, "tool": tool}
    usage = {"input_tokens": 90, "output_tokens": 12}
    return [
        Event(
            name,
            "turn.started",
            time,
            {"model": model, "stream": True, "tools": [{"name": tool}], "messages": messages},
        ),
        Event(
            name,
            "attempt.started",
            time + 1,
            {"number": 1, "rung": "first", "request": {"messages_added": [fault], "extra": {"seed": 7}}},
        ),
        Event(
            name,
            "attempt.replied",
            time + 2,
            {"number": 1, "seconds": 0.5, "text": "Paying now.", "tool_calls": [call], "usage": usage},
        ),
        Event(name, "attempt.read", time + 3, {"number": 1, "calls": [call], "problems": [problem], "notes": [note]}),
        Event(name, "attempt.failed", time + 4, {"number": 2, "seconds": 1.0, "error": "the server is down"}),
        Event(
            name,
            "turn.ended",
            time + 5,
            {
                "status": status,
                "attempts": 2,
                "seconds": 1.5,
                "calls": [call],
                "problems": [problem],
                "notes_count": 1,
                "model": model,
            },
        ),
    ]


@pytest.fixture
def run(tmp_path, monkeypatch):
    path = tmp_path / "events.sqlite"
    monkeypatch.setenv("RIGHTCALL_LOG", str(path))

    def run(events, *arguments):
        with contextlib.closing(SqliteEventLog(path)) as log:
            for event in events:
                log.append(event)
        result = CliRunner().invoke(app, arguments)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.output

    return run


def test_list_shows_a_turn_on_one_line(run):
    header, line = run(turn(), "list").splitlines()

    assert header.split() == [
        "turn",
        "time",
        "model",
        "status",
        "attempts",
        "tools",
        "called",
        "problems",
        "notes",
        "seconds",
    ]
    assert line.split()[0] == "aaaaaaaa1111"
    assert line.split()[3:] == ["qwen", "calls", "2", "pay", "wrong_type", "1", "1.50"]


def test_list_puts_the_newest_turn_first_and_keeps_to_the_limit(run):
    events = [e for n in range(5) for e in turn(f"turn-{n}-xxxx", time=1_700_000_000.0 + 60 * n)]

    lines = run(events, "list", "--limit", "2").splitlines()[1:]

    assert [line.split()[0] for line in lines] == ["turn-4-xxxx", "turn-3-xxxx"]


def test_list_shows_enough_of_an_id_to_tell_it_from_its_neighbours(run):
    lines = run(turn("0123456789-abc") + turn("0123456789-axy"), "list").splitlines()[1:]

    assert {line.split()[0] for line in lines} == {"0123456789-ab", "0123456789-ax"}


def test_list_can_be_narrowed_to_a_status_and_knows_turns_that_never_ended(run):
    events = turn("ended-turn") + turn("cut-off-turn")[:3]

    assert [json.loads(line)["turn"] for line in run(events, "list", "--status", "open", "--json").splitlines()] == [
        "cut-off-turn"
    ]


def test_list_gives_programs_one_object_a_line(run):
    assert json.loads(run(turn(), "list", "--json")) == {
        "turn": TURN,
        "short": "aaaaaaaa1111",
        "time": 1_700_000_000.0,
        "model": "qwen",
        "status": "calls",
        "attempts": 2,
        "tools": ["pay"],
        "problems": ["wrong_type"],
        "notes": 1,
        "seconds": 1.5,
    }


def test_list_says_when_there_is_nothing(run):
    assert run([], "list") == "No such turns.\n"


def test_list_says_that_events_were_lost(run):
    assert "7 events were lost" in run([Event("", "log.lost", 1.0, {"count": 7})], "list")


def test_show_makes_every_attempt_readable(run):
    output = run(turn(), "show", "aaaa")

    for part in [
        f"turn {TURN}",
        "turn.started  qwen, streamed",
        "tools  pay",
        "messages  2, the last from user: Pay 12 pounds 50.",
        "attempt.started  1: first",
        "sent added  user: The amount is wrong.",
        'sent extra  {"seed": 7}',
        "attempt.replied  1: 0.50 s",
        "text  Paying now.",
        'native call  pay {"amount": 1250}',
        'usage  {"input_tokens": 90, "output_tokens": 12}',
        'call  pay {"amount": 1250}',
        "problem  arguments wrong_type pay /amount want int",
        'note  typed coerced pay /amount "1250" → 1250',
        "error  the server is down",
        "turn.ended  calls, 1.50 s",
    ]:
        assert part in output


def test_show_gives_programs_the_events_as_they_were_logged(run):
    lines = run(turn(), "show", TURN, "--json").splitlines()

    assert [json.loads(line) for line in lines] == [
        {"turn": e.turn, "kind": e.kind, "time": e.time, "data": dict(e.data)} for e in turn()
    ]


def test_show_says_what_was_not_kept(run):
    omitted = {"omitted": True, "chars": 42}
    data = {"number": 1, "text": omitted, "tool_calls": omitted, "calls": [{"name": "pay", "arguments": omitted}]}

    output = run([Event(TURN, "attempt.replied", 1.0, data), Event(TURN, "attempt.read", 2.0, data)], "show", TURN)

    assert "text  (42 characters, not kept)" in output
    assert "native call  (42 characters, not kept)" in output
    assert "call  pay (42 characters, not kept)" in output


def test_show_shows_kinds_of_events_it_does_not_know(run):
    assert "colour  blue" in run([Event(TURN, "brand.new", 1.0, {"colour": "blue"})], "show", TURN)


@pytest.mark.parametrize("command", [["list"], ["show", TURN], ["list", "--json"], ["show", TURN, "--json"]])
def test_what_models_say_cannot_steer_the_terminal(run, command):
    nasty = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp.exe\r\ud800\x7f\U000e0041"
    events = [*turn(model=nasty, status=nasty, tool=nasty), Event(TURN, nasty, 9.0, {nasty: nasty, "text": nasty})]

    output = run(events, *command)

    assert "exe" in output
    assert not set("\x1b\x07\x9b\u202e\r\ud800\U000e0041") & set(output)


@pytest.mark.parametrize("command", [["list"], ["show", TURN]])
def test_what_models_say_is_no_markup(run, command):
    assert "[red]loud[/]" in run(turn(model="[red]loud[/]"), *command)


@pytest.mark.parametrize("command", [["list"], ["show", TURN]])
def test_a_name_cannot_draw_a_line_of_its_own(run, command):
    honest = run(turn(model="qwen"), *command)

    assert len(run(turn("zzzz", model="x\nzzz"), *command).splitlines()) <= len(honest.splitlines()) + 1


def test_a_missing_log_says_how_to_make_one(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGHTCALL_LOG", str(tmp_path / "none.sqlite"))

    result = CliRunner().invoke(app, ["list"])

    assert isinstance(result.exception, UsageError)
    assert "rightcall serve" in str(result.exception)


def test_a_turn_that_is_not_there_or_not_unique_is_said_so(run):
    events = turn("abc-1") + turn("abc-2")

    with pytest.raises(UsageError, match="no turn 'zzz'"):
        run(events, "show", "zzz")
    with pytest.raises(UsageError, match="abc-1, abc-2"):
        run([], "show", "abc")


def test_the_log_option_names_another_file(tmp_path, run):
    run(turn(), "list")
    with contextlib.closing(SqliteEventLog(tmp_path / "other.sqlite")):
        pass

    assert run([], "list", "--log", str(tmp_path / "other.sqlite")) == "No such turns.\n"
