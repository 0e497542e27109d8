"""Known values, laws, and simulations that show which tests lie where tasks share a family."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rightcall.errors import UsageError
from rightcall.evaluation.statistics import (
    BettingProcess,
    Spread,
    holm,
    mcnemar_exact,
    mean,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    pilot_spread,
    power,
    quantile,
    rate,
    ratio,
    sign_flip,
    tasks_needed,
    wilson,
)

tasks = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 8)), min_size=1, max_size=40)


# -- known values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_published_intervals(successes, n, low, high):
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_is_exact_at_its_ends():
    assert wilson(0, 7)[0] == 0
    assert wilson(7, 7)[1] == 1


@pytest.mark.parametrize("trials", [(1, 0), (3, 2), (-1, 5)])
def test_wilson_refuses_what_are_no_counts(trials):
    with pytest.raises(UsageError, match="successes of"):
        wilson(*trials)


def test_holm_adjusts_step_by_step():
    # Sorted: 0.005 x 4, 0.01 x 3, 0.03 x 2, and 0.04 x 1 lifted to the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@pytest.mark.parametrize(
    ("gained", "lost", "p"), [(10, 2, 158 / 4096), (2, 10, 158 / 4096), (0, 6, 2 / 64), (3, 3, 1)]
)
def test_mcnemar_is_the_binomial_tail_doubled(gained, lost, p):
    assert mcnemar_exact(gained, lost) == pytest.approx(p)


def test_mcnemar_of_no_change_is_one():
    assert mcnemar_exact(0, 0) == 1


def test_the_cluster_robust_interval_is_that_worked_out_by_hand():
    # Mean 1/2; residual sums by family 1/2, -1/2, 0; variance (3/2) (1/4 + 1/4) / 6² = 1/48; t(0.975, 2) = 4.302653.
    found = mean([1, 1, 0, 0, 1, 0], ["a", "a", "a", "b", "c", "c"])
    reach = 4.302653 / np.sqrt(48)
    assert (found.low, found.value, found.high) == pytest.approx((0.5 - reach, 0.5, 0.5 + reach), rel=1e-6)
    assert (found.n, found.families) == (6, 3)


def test_with_every_task_its_own_family_the_interval_is_students():
    values = np.random.default_rng(3).normal(size=25)
    found = mean(values, range(25))
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx(tuple(expected))


def test_a_rate_of_independent_tasks_has_wilsons_interval():
    found = rate([1] * 81 + [0] * 182, range(263))
    assert (found.low, found.high) == pytest.approx(wilson(81, 263))


def test_tasks_that_agree_within_families_count_as_one_a_family():
    # 20 families of 10 alike: the design effect is 10 * 199/190 at G/(G-1), and t(199)/t(19) shrinks n_eff further.
    values = np.repeat([1.0] * 12 + [0.0] * 8, 10)
    found = rate(values, np.repeat(range(20), 10))
    design = (20 / 19) * 10 * 199 / 200
    effective = 200 / design * (stats.t.ppf(0.975, 199) / stats.t.ppf(0.975, 19)) ** 2
    assert (found.low, found.high) == pytest.approx(wilson(0.6 * effective, effective))


def test_all_right_in_few_families_is_no_certainty():
    alone, few = rate([1] * 100, range(100)), rate([1] * 100, np.repeat(range(5), 20))
    assert alone.low == pytest.approx(wilson(100, 100)[0])
    assert few.low < wilson(5, 5)[0] < alone.low


def test_a_ratio_is_sum_over_sum():
    found = ratio([2.0, 4.0, 3.0, 3.0], [1, 1, 0, 1], ["a", "b", "c", "d"])
    linear = 4 + (np.array([2.0, 4, 3, 3]) - 4 * np.array([1, 1, 0, 1])) / 0.75
    assert found.value == 4
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 3) * stats.sem(linear))
    assert found.low >= 0


def test_a_quantile_is_bounded_by_order_statistics():
    # Binomial(100, 1/2): ranks 40 and 61 (David and Nagaraja).
    found = quantile(np.arange(1, 101), range(100), 0.5)
    assert (found.value, found.low, found.high) == (50, 40, 61)


def test_a_tail_that_no_task_reaches_has_no_bound():
    found = quantile(np.arange(10), range(10), 0.95)
    assert found.low is not None
    assert found.high is None
    assert "do not reach" in found.reason


@pytest.mark.parametrize(("c", "at", "hat"), [(0, 0, 0), (1, 1 / 2, 0), (2, 5 / 6, 1 / 6), (4, 1, 1)])
def test_pass_at_k_and_pass_hat_k_count_draws_of_two_of_four(c, at, hat):
    assert pass_at_k([c], 4, 2) == pytest.approx([at])
    assert pass_hat_k([c], 4, 2) == pytest.approx([hat])


@pytest.mark.parametrize(("c", "r", "k"), [([1], 4, 5), ([1], 4, 0), ([5], 4, 2), ([-1], 4, 2), ([1, 1], [4, 2], 3)])
def test_pass_refuses_k_beyond_the_repeats(c, r, k):
    for pass_k in (pass_at_k, pass_hat_k):
        with pytest.raises(UsageError):
            pass_k(c, r, k)


# -- the paired test --------------------------------------------------------------------------------------------


def test_the_smallest_p_is_two_to_one_minus_g():
    found = paired_difference([0] * 8, [1] * 8, range(8))
    assert found.p == 2.0**-7
    assert found.test == "sign flip of 8 families, every sign"


def test_an_exact_sign_flip_counts_the_sums_that_are_as_extreme():
    # Sums 1..6 with only the 1 negative: |sum| is 19 or more for the signs of 21 and of 19, either way round.
    p, _ = sign_flip([-1, 2, 3, 4, 5, 6], range(6))
    assert p == pytest.approx(4 / 64)


@pytest.mark.parametrize("families", [6, 9, 12, 13, 14, 40])
def test_the_sign_flip_is_scipys_permutation_test_of_a_studentised_sum(families):
    sums = np.random.default_rng(families).normal(0.3, 1, families)
    oracle = stats.permutation_test(
        (sums,),
        lambda x, axis: x.mean(axis) / x.std(axis, ddof=1),
        permutation_type="samples",
        vectorized=True,
        n_resamples=9_999,
        rng=np.random.default_rng(1),
    )
    exact = families <= 13
    assert sign_flip(sums, range(families))[0] == pytest.approx(oracle.pvalue, abs=1e-9 if exact else 0.02)


def test_thousands_of_families_are_no_trouble():
    p, _ = sign_flip(np.random.default_rng(6).normal(1, 1, 3_000), range(3_000))
    assert p == pytest.approx(1e-4)


def test_many_families_are_resampled_the_same_each_time():
    draw = np.random.default_rng(5)
    values, families = draw.normal(0.1, 1, 200), np.repeat(range(40), 5)
    first, second = sign_flip(values, families), sign_flip(values, families)
    assert first == second
    assert "9,999 draws" in first[1]
    students = stats.ttest_1samp(np.bincount(families, weights=values), 0).pvalue
    assert first[0] == pytest.approx(students, abs=0.03)


def test_too_few_families_give_an_interval_and_no_p():
    found = paired_difference([0, 0, 1, 0, 1], [1, 1, 1, 0, 1], range(5))
    assert found.p is None
    assert "too few families: 5" in found.test
    assert found.estimate.low is not None


@settings(deadline=None)
@given(tasks, st.randoms())
def test_swapping_the_runs_turns_the_difference_and_keeps_the_p(pairs, random):
    first, families = [value for value, _ in pairs], [family for _, family in pairs]
    second = [random.choice([0.0, 0.5, 1.0]) for _ in first]
    there, back = paired_difference(first, second, families), paired_difference(second, first, families)
    assert there.estimate.value == pytest.approx(-back.estimate.value)
    assert (there.p is None) == (back.p is None)
    if there.p is not None:
        assert there.p == pytest.approx(back.p)
        assert there.p >= 2.0 ** (1 - len(set(families)))


@settings(deadline=None)
@given(tasks)
def test_an_interval_holds_its_rate_and_never_beats_independence(pairs):
    values, families = [value for value, _ in pairs], [f"family {family}" for _, family in pairs]
    found = rate(values, families)
    assert (found.low is None) == (len(set(families)) == 1)
    if found.low is None:
        assert found.reason
        return
    assert 0 <= found.low <= found.value <= found.high <= 1
    low, high = wilson(sum(values), len(values))
    assert found.high - found.low >= high - low - 1e-9


@settings(deadline=None)
@given(tasks)
def test_repeats_make_any_success_likelier_and_all_less_likely(pairs):
    c = np.array([round(2 * value) for value, _ in pairs])
    assert (pass_hat_k(c, 2, 2) <= c / 2 + 1e-12).all()
    assert (pass_at_k(c, 2, 2) >= c / 2 - 1e-12).all()
    assert pass_at_k(c, 2, 1) == pytest.approx(c / 2)


# -- where the data say nothing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("estimate", [rate, mean, lambda v, f: quantile(v, f, 0.5), lambda v, f: ratio(v, v, f)])
def test_no_task_is_no_number(estimate):
    found = estimate([], [])
    assert (found.value, found.low, found.high, found.n) == (None, None, None, 0)
    assert found.reason == "no task"


@pytest.mark.parametrize("estimate", [rate, mean, lambda v, f: quantile(v, f, 0.5), lambda v, f: ratio(v, v, f)])
def test_one_family_has_a_value_and_no_interval(estimate):
    found = estimate([1, 0, 1], ["a", "a", "a"])
    assert found.value is not None
    assert (found.low, found.high) == (None, None)
    assert "one family only" in found.reason


def test_equal_values_do_not_pretend_to_know_the_mean():
    found = mean([2, 2, 2], list("abc"))
    assert (found.value, found.low) == (2, None)
    assert "all values are equal" in found.reason


def test_families_with_equal_means_do_not_either():
    found = mean([0.1, 0.7, 0.7, 0.1, 0.1, 0.7], list("aabbcc"))
    assert found.low is None
    assert "do not differ" in found.reason


def test_two_equal_runs_differ_by_nothing_known():
    found = paired_difference([1, 0] * 6, [1, 0] * 6, range(12))
    assert (found.estimate.value, found.estimate.low, found.p) == (0, None, 1)
    assert "no task differs" in found.estimate.reason


def test_no_success_leaves_a_ratio_undefined():
    assert ratio([1.0, 2.0], [0, 0], list("ab")).value is None


@pytest.mark.parametrize(
    ("values", "families"), [([1, 2], ["a"]), ([[1, 2]], ["a", "b"]), ([1, float("nan")], ["a", "b"])]
)
def test_values_that_are_not_one_number_a_task_are_refused(values, families):
    for estimate in (mean, sign_flip):
        with pytest.raises(UsageError):
            estimate(values, families)


def test_a_rate_outside_nought_to_one_is_refused():
    with pytest.raises(UsageError, match="from 0 to 1"):
        rate([2, 0], list("ab"))


# -- simulations --------------------------------------------------------------------------------------------------


def _clustered_null(runs: int, families: int, each: int, repeats: int, seed: int):
    """Two variants that are equally good on the whole, each better at some families: shape (runs, tasks, repeats)."""
    draw = np.random.default_rng(seed)
    effects = np.repeat(draw.normal(0, 0.5, (runs, families)), each, axis=1)
    ease = draw.normal(0, 1, (runs, families * each))
    odds = [ease - effects, ease + effects]
    return [draw.random((*o.shape, repeats)) < 1 / (1 + np.exp(-o))[..., None] for o in odds]


def test_of_a_true_null_by_families_the_family_test_rejects_5_percent_and_the_pooled_tests_far_more():
    runs, families, each, repeats = 500, 8, 12, 5
    first, second = _clustered_null(runs, families, each, repeats, seed=11)
    groups = np.repeat(range(families), each)

    interval = test = 0
    for a, b in zip(first.mean(axis=2), second.mean(axis=2), strict=True):
        found = paired_difference(a, b, groups)
        interval += not found.estimate.low <= 0 <= found.estimate.high
        test += found.p <= 0.05

    trials = families * each * repeats
    a, b = (x.reshape(runs, trials).sum(axis=1) / trials for x in (first, second))
    z = (b - a) / np.sqrt((a * (1 - a) + b * (1 - b)) / trials)
    pooled = int((np.abs(z) > 1.96).sum())
    gained, lost = ((x & ~y).reshape(runs, trials).sum(axis=1) for x, y in ((second, first), (first, second)))
    mcnemar = sum(mcnemar_exact(int(g), int(n)) <= 0.05 for g, n in zip(gained, lost, strict=True))

    bound = stats.binom.ppf(0.999, runs, 0.05)
    assert stats.binom.ppf(0.001, runs, 0.05) <= test <= bound
    assert stats.binom.ppf(0.001, runs, 0.05) <= interval <= bound
    assert pooled > 2 * bound
    assert mcnemar > 2 * bound


def test_the_interval_of_a_clustered_rate_covers_and_the_plain_one_does_not():
    runs, families, each = 400, 25, 8
    draw = np.random.default_rng(12)
    ease = draw.beta(3.2, 0.8, (runs, families))  # mean 0.8, tasks of a family alike
    right = draw.random((runs, families, each)) < ease[..., None]
    groups = np.repeat(range(families), each)
    clustered = plain = 0
    for values in right.reshape(runs, -1):
        found = rate(values, groups)
        clustered += found.low <= 0.8 <= found.high
        low, high = wilson(values.sum(), values.size)
        plain += low <= 0.8 <= high
    assert clustered >= stats.binom.ppf(0.001, runs, 0.95)
    assert plain < 0.85 * runs


def test_betting_may_be_looked_at_always_and_a_t_test_may_not():
    runs, units = 400, 200
    differences = np.random.default_rng(13).choice([-1.0, -0.5, 0.0, 0.5, 1.0], (runs, units))
    stopped = 0
    for each in differences:
        process = BettingProcess()
        stopped += any(process.observe(value) and process.stop for value in each)
    n = np.arange(10, units + 1)
    sums, squares = (np.cumsum(x, axis=1)[:, 9:] for x in (differences, differences**2))
    t = sums / n / np.sqrt((squares - sums**2 / n) / (n - 1) / n)
    peeked = (np.abs(t) > stats.t.ppf(0.975, n - 1)).any(axis=1).sum()
    assert stopped <= stats.binom.ppf(0.999, runs, 0.05)
    assert peeked > 0.15 * runs


def test_betting_finds_a_real_difference_in_either_direction():
    for sign in (1, -1):
        values = np.random.default_rng(14).choice([-1.0, 0.0, 1.0], 400, p=[0.1, 0.6, 0.3])
        process = BettingProcess()
        for value in values:
            process.observe(sign * value)
        assert process.stop
        assert process.e_value > 20


def test_the_first_bet_is_that_of_the_paper_and_half_is_the_most():
    # sqrt(2 log(2/0.05) / (1 * 1 * log 2)) is above the cap of one half.
    process = BettingProcess(alpha=0.05)
    assert process.observe(1.0) == pytest.approx((1.5 + 0.5) / 2)
    assert process.observe(1.0) == pytest.approx((1.5**2 + 0.5**2) / 2)


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), max_size=60))
def test_betting_never_goes_broke_nor_forgets(values):
    process = BettingProcess()
    seen = [process.observe(value) for value in values]
    assert all(value > 0 for value in seen)
    assert process.highest == max([1.0, *seen])


@pytest.mark.parametrize("difference", [1.5, -2, float("nan")])
def test_betting_refuses_what_is_out_of_bounds(difference):
    with pytest.raises(UsageError, match="between -1 and 1"):
        BettingProcess().observe(difference)


# -- planning -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "repeats", "low", "high"), [(60, 1, 0.11, 0.16), (200, 1, 0.35, 0.40), (60, 5, 0.49, 0.54)]
)
def test_power_at_eight_points_is_what_simulation_found(n, repeats, low, high):
    assert low <= power(n, 0.08, Spread(0.0, 0.24, 0.24), repeats) <= high


@settings(deadline=None)
@given(st.floats(0.02, 0.5), st.floats(0, 0.3), st.floats(0.01, 0.25), st.integers(1, 10))
def test_the_tasks_needed_are_the_fewest_that_have_the_power(effect, between, within, repeats):
    spread = Spread(between, within, within)
    n = tasks_needed(effect, spread, repeats, power=0.8)
    assert power(n, effect, spread, repeats) >= 0.8 - 1e-9
    assert n == 2 or power(n - 1, effect, spread, repeats) < 0.8


def test_tasks_needed_follow_the_formula():
    # (1.959964 + 0.841621)² (0.02 + 0.4 / 5) / 0.1²
    assert tasks_needed(0.1, Spread(0.02, 0.2, 0.2), 5) == 79


def test_a_pilot_tells_the_variance_between_tasks_from_that_between_repeats():
    draw = np.random.default_rng(15)
    p = draw.uniform(0.2, 0.8, 4000)
    shift = draw.choice([-0.15, 0.15], 4000)
    first, second = (draw.random((4000, 6)) < q[:, None] for q in (p, p + shift))
    found = pilot_spread(first, second)
    assert found.between == pytest.approx(0.15**2, abs=0.006)
    assert found.first == pytest.approx((p * (1 - p)).mean(), abs=0.006)
    assert found.second == pytest.approx(((p + shift) * (1 - p - shift)).mean(), abs=0.006)


def test_plans_that_make_no_sense_are_refused():
    with pytest.raises(UsageError, match="smallest that matters"):
        tasks_needed(0, Spread(0.1, 0.1, 0.1))
    with pytest.raises(UsageError, match="negative"):
        Spread(-0.1, 0, 0)
    with pytest.raises(UsageError, match="at least 1"):
        power(10, 0.1, Spread(0.1, 0.1, 0.1), repeats=0)
    with pytest.raises(UsageError, match="same tasks"):
        pilot_spread([[1, 0]], [[1, 0]])


# -- without the extra --------------------------------------------------------------------------------------------


def test_without_scipy_the_message_says_what_to_install():
    code = (
        "import sys, importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'scipy' else real(name, *rest)\n"
        "import rightcall.evaluation.statistics\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "pip install 'rightcall[eval]'" in found.stderr
