"""Prices: which one counts for a model, what an answer costs, what a broken file says."""

from __future__ import annotations

import pytest
from made_records import made_record

from rightcall.errors import UsageError
from rightcall.evaluation.prices import dollars, load_prices, price_of


def test_without_a_file_every_model_is_counted_in_seconds():
    prices = load_prices()
    assert price_of("anything", prices) == {}
    assert dollars(made_record("a", model="anything"), prices) is None


def test_a_file_is_put_over_the_shipped_prices(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text('["big"]\ninput = 2\noutput = 8.0\n["qwen*"]\nsecond = 0.001\n["qwen-*-7b"]\nunit = "seconds"\n')
    prices = load_prices(file)
    assert price_of("big", prices) == {"input": 2.0, "output": 8.0}
    assert price_of("qwen-1b", prices) == {"second": 0.001}
    assert price_of("qwen-x-7b", prices) == {}
    assert price_of("other", prices) == {}


def test_the_exact_name_counts_before_any_pattern():
    assert price_of("qwen*", {"qwen*": {"second": 1.0}, "*": {"second": 2.0}}) == {"second": 1.0}
    assert price_of("qwen[1]", {"qwen[1]": {"second": 1.0}, "*": {"second": 2.0}}) == {"second": 1.0}


def test_an_answer_costs_all_its_attempts():
    record = made_record("a", model="big", tokens=(1000, 100), attempts=2, seconds=3.0)
    assert dollars(record, {"big": {"input": 2.0, "output": 10.0}}) == pytest.approx(2 * (0.002 + 0.001))
    assert dollars(record, {"big": {"second": 0.5}}) == pytest.approx(1.5)
    assert dollars(record, {"b*": {"input": 2.0, "second": 0.5}}) == pytest.approx(2 * 0.002 + 1.5)


def test_tokens_that_the_server_did_not_say_are_not_free():
    assert dollars(made_record("a", tokens=(0, 0)), {"small": {"input": 2.0}}) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("big = 3", "'big' in .* is 3; it should be a table of dollars"),
        ("[gpt-4.1]\ninput = 1", "'gpt-4' in .* has 1; .*Names with dots stand in quotes"),
        ('["big"]\ninputs = 3', "has inputs"),
        ('["big"]\ninput = -3', "input is -3"),
        ('["big"]\ninput = "3"', "input is '3'"),
        ('["big"]\ninput = true', "input is True"),
        ('["big"]\nsecond = nan', "second is nan"),
        ('["big"]\nunit = "euros"', "has unit"),
        ('["big"]', "is empty"),
        ("big", "are no TOML"),
    ],
)
def test_a_broken_file_names_the_model_and_the_fault(tmp_path, text, fault):
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=fault):
        load_prices(file)


def test_a_missing_file_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        load_prices(tmp_path / "none.toml")
