"""The design's rule for orders and for probabilities, on synthetic and on measured counts."""

from __future__ import annotations

import random
from math import ceil, floor, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seeds import SEED

from bilevel_verify.checks.judging.orders import judge_order
from bilevel_verify.checks.judging.probability import binomial_bounds, judge_frequency

EPS = [10.0 ** (-1 - j / 2) for j in range(7)]
DRIVER = [1 / e for e in EPS]


def power(exponent: float, factor: float = 1.0) -> list[float]:
    return [factor * d**exponent for d in DRIVER]


@given(st.floats(0.5, 3), st.floats(1e-3, 1e3))
def test_the_exact_rate_is_consistent(exponent, factor):
    rate = judge_order(DRIVER, power(exponent, factor), power(exponent))
    assert rate.verdict == "consistent"
    assert rate.slope == pytest.approx(exponent)
    assert rate.interval[0] - 1e-9 <= exponent <= rate.interval[1] + 1e-9
    assert rate.fraction == pytest.approx(factor)


@given(st.floats(0.06, 1.5), st.floats(0.5, 2.5))
def test_a_planted_slower_method_is_inconsistent(excess, exponent):
    assert judge_order(DRIVER, power(exponent + excess), power(exponent)).verdict == "inconsistent"


@given(st.floats(0.35, 1.5))
def test_an_easy_problem_shows_nothing(deficit):
    assert judge_order(DRIVER, power(1.75 - deficit), power(1.75)).verdict == "uninformative"


def test_a_soft_logarithm_is_not_inconsistent():
    counts = [d**1.75 * log(d) for d in DRIVER]
    rate = judge_order(DRIVER, counts, power(1.75), soft=True)
    assert rate.slopes[-1] > 1.75 + 0.05
    assert rate.verdict == "consistent"
    assert rate.drift < 0
    assert judge_order(DRIVER, counts, power(1.75)).verdict == "uninformative"  # O() hides no logarithm


@pytest.mark.parametrize("soft", [False, True])
def test_slopes_that_fall_far_above_the_exponent_are_not_consistent(soft):
    counts = [1000 * (1 - d**-0.3) * d**0.6 for d in DRIVER]  # against eps**2, as of a count that shrinks
    rate = judge_order(DRIVER, counts, power(-2.0), soft=soft)
    assert rate.drift < 0
    assert rate.slopes[-1] > 0.6
    assert rate.verdict == "uninformative"
    assert "above the exponent" in rate.reason


def test_a_logarithm_that_is_printed_is_part_of_the_bound():
    counts = [d**1.75 * log(d) for d in DRIVER]
    rate = judge_order(DRIVER, counts, counts)
    assert rate.verdict == "consistent"
    assert rate.exponent == pytest.approx(rate.slopes[-1])


def test_rising_slopes_above_the_exponent_are_inconsistent():
    counts = [d ** (1.8 + 0.02 * j) for j, d in enumerate(DRIVER)]
    assert judge_order(DRIVER, counts, power(1.75)).verdict == "inconsistent"


def test_one_bad_slope_is_not_enough():
    counts = power(1.75)
    counts[-1] *= 1.5
    assert judge_order(DRIVER, counts, power(1.75)).verdict == "consistent"


def test_too_few_points_and_bad_counts_say_so():
    assert judge_order(DRIVER[:2], power(2)[:2], power(1.75)[:2]).verdict == "uninformative"
    assert judge_order(DRIVER, [0.0, *power(2)[1:]], power(1.75)).verdict == "uninformative"
    assert judge_order(DRIVER, [float("nan"), *power(2)[1:]], power(1.75)).verdict == "uninformative"
    with pytest.raises(ValueError):
        judge_order(DRIVER[::-1], power(2), power(2))
    with pytest.raises(ValueError):
        judge_order([1.0], [1.0], [1.0])


def test_short_sweeps_say_how_short_they_are():
    assert "decades" in judge_order(DRIVER[:4], power(1.75)[:4], power(1.75)[:4]).reason
    assert judge_order(DRIVER, power(1.75), power(1.75)).reason == ""


# Counts of an independent scalar loop on a hard instance of the zoo: its slope is the one of the theorem.
def ramp_gd(eps: float) -> int:
    """Gradient descent, step 1/L, on s (sqrt(s + x^2) - sqrt(s)) with s = 2 eps and drop 1, until |gradient| <= eps."""
    s = 2 * eps
    x, count = -(1 / s + s**0.5), 0
    while True:
        gradient = s * x / (s + x * x) ** 0.5
        if abs(gradient) <= eps:
            return count
        x, count = x - gradient, count + 1


def test_controls_gradient_descent_on_the_ramp():
    eps = [10 ** (-1 - j / 4) for j in range(7)]
    counts = [float(ramp_gd(e)) for e in eps]
    driver = [1 / e for e in eps]
    assert judge_order(driver, counts, [d**2 for d in driver]).verdict == "consistent"
    slow = judge_order(driver, counts, [d**1.75 for d in driver])
    assert slow.verdict == "inconsistent"
    assert judge_order(driver, counts, [d**2.5 for d in driver]).verdict == "uninformative"


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (5, 5), (3, 10), (97, 100)])
def test_binomial_bounds_are_exact_tails(successes, trials):
    from scipy.stats import binom

    level = 1e-3
    lower, upper = binomial_bounds(successes, trials, level)
    assert lower <= successes / trials <= upper
    if successes:
        assert binom.sf(successes - 1, trials, lower) == pytest.approx(level, rel=1e-6)
    if successes < trials:
        assert binom.cdf(successes, trials, upper) == pytest.approx(level, rel=1e-6)


def test_probabilities_never_hold():
    assert judge_frequency(1000, 1000, 0.9).verdict == "undecided"
    assert judge_frequency(0, 200, 0.9).verdict == "refuted"
    assert judge_frequency(85, 100, 0.9).verdict == "undecided"
    assert judge_frequency(60, 100, 0.9).verdict == "refuted"
    assert judge_frequency(60, 100, 0.9, rows=10**9).verdict == "undecided"
    with pytest.raises(ValueError):
        judge_frequency(3, 2, 0.5)


@pytest.mark.parametrize(
    ("driver", "counts", "exponent"),
    [
        ([10, 20, 50, 100], [3, 3, 4, 5], 0.25),  # ceil(1.3 t**(1/4))
        ([6.16, 22.33, 96.37, 100.7, 206.27, 334.95, 452.76], [3, 4, 5, 5, 6, 7, 8], 0.25),  # ceil(1.58 t**(1/4))
    ],
)
def test_counts_that_were_rounded_to_whole_numbers_are_not_inconsistent(driver, counts, exponent):
    rate = judge_order(driver, counts, [t**exponent for t in driver])
    assert rate.verdict == "uninformative"
    assert "rounded" in rate.reason
    shares = [count + 1e-9 for count in counts]  # the same numbers, where nobody rounded them
    assert judge_order(driver, shares, [t**exponent for t in driver]).verdict == "inconsistent"


def test_rounded_counts_of_the_exact_rate_are_never_inconsistent_either_way():
    draw = random.Random(SEED)
    for _ in range(3000):
        exponent, factor = draw.choice((0.25, 0.5, 1.0, 1.5)), draw.uniform(0.2, 20)
        driver = sorted({10 ** draw.uniform(0.5, 3.5) for _ in range(draw.randint(4, 8))})
        rounding = draw.choice((ceil, floor))
        counts, bound = [max(1, rounding(factor * t**exponent)) for t in driver], [t**exponent for t in driver]
        assert judge_order(driver, counts, bound, two_sided=True).verdict != "inconsistent", (driver, counts)
        assert judge_order(driver, bound, counts, counted=False).verdict != "inconsistent", (driver, counts)
    counts = [ceil(30 * t**0.5) for t in DRIVER]
    assert judge_order(DRIVER, power(1.0), counts, counted=False).verdict == "inconsistent"
    assert judge_order(DRIVER, counts, power(0.25)).verdict == "inconsistent"
