"""The rule for orders, each part alone: slopes, interval, thresholds from both sides, what is too little to say."""

from __future__ import annotations

from itertools import pairwise
from math import inf, isnan, log, nan
from typing import Any

import pytest

from bilevel_verify.checks.judging import orders
from bilevel_verify.checks.judging.orders import judge_order

pytestmark = pytest.mark.fast


def grown(slopes: list[float], start: float = 1.0) -> list[float]:
    """Numbers whose local slopes along 1, 2, 4, 8 ... are given."""
    found = [start]
    for slope in slopes:
        found.append(found[-1] * 2.0**slope)
    return found


def powers(count: int) -> list[float]:
    return [2.0**k for k in range(count)]


@pytest.mark.parametrize(
    "excess",
    [
        [0.0],
        [0.25, 0.5],
        [1.0, 0.5, 0.25],
        [1.0, 0.5, 0.25, 0.75],
        [0.0, 1.0, -0.5, 0.25, 0.125],
        [3.0, 2.0, 1.0, 0.5, 0.75, 0.25],
        [0.0, 0.0, 0.0, 1.0, 2.0, 4.0, 3.0],
    ],
)
def test_the_interval_is_the_hull_of_the_last_half_widened_by_its_drift(excess: list[float]) -> None:
    size = {1: 1, 2: 2, 3: 2, 4: 2, 5: 3, 6: 3, 7: 4}[len(excess)]
    half = excess[len(excess) - size :]
    drift = sum(b - a for a, b in pairwise(half)) / max(1, size - 1)
    ends = [*half, min(half) + drift, max(half) + drift]
    assert orders._interval(excess) == (min(ends), max(ends), drift)


@pytest.mark.parametrize(
    ("counted", "expected"),
    [([1.0, 2.0, 3.0, 2.5, 2.25], [2.0, 2.0, 1.5, 1.0, 0.5]), ([0.5, 0.25, 2.0, 4.0], [1.0, 1.5, 2.0, 3.0])],
)
def test_every_field_of_a_rate(counted: list[float], expected: list[float]) -> None:
    driver = powers(len(counted) + 1)
    counts, bound = grown(counted, 3.0), grown(expected, 0.5)
    rate = judge_order(driver, counts, bound)
    assert rate.slopes == pytest.approx(counted)
    assert rate.expected == pytest.approx(expected)
    low, high, drift = orders._interval([s - e for s, e in zip(counted, expected)])
    assert rate.interval == pytest.approx((low + expected[-1], high + expected[-1]))
    assert (rate.exponent, rate.slope, rate.drift) == pytest.approx((expected[-1], counted[-1], drift))
    assert rate.fraction == pytest.approx(counts[-1] / bound[-1])


def test_slopes_divide_logarithms() -> None:
    driver, counts = [1.0, 3.0, 10.0, 11.0], [2.0, 5.0, 4.0, 9.0]
    expected = [log(b / a) / log(d / c) for (a, b), (c, d) in zip(pairwise(counts), pairwise(driver))]
    assert orders.local_slopes(driver, counts) == pytest.approx(expected)


A, B, S = orders.ABOVE, orders.BELOW, orders.STEADY


@pytest.mark.parametrize(
    ("excess", "interval", "two_sided", "verdict"),
    [
        # above: both last slopes by more than 0.05, not falling, and the whole interval
        ([0.0, 0.2, 0.2], (0.1, 0.3), False, "inconsistent"),
        ([0.0, 0.06, 0.06], (0.01, 0.3), False, "inconsistent"),
        ([0.0, 0.08, 0.08], (0.01, 0.3), False, "inconsistent"),
        ([0.0, 0.04, 0.06], (0.01, 0.3), False, "consistent"),
        ([0.0, A, 0.06], (0.01, 0.3), False, "consistent"),
        ([0.0, 0.0505, A], (0.01, 0.3), False, "consistent"),
        ([0.0, 0.2, 0.04], (0.01, 0.3), False, "consistent"),
        ([0.0, 0.2, 0.199], (0.01, 0.3), False, "inconsistent"),
        ([0.0, 0.2, 0.2 - S], (0.01, 0.3), False, "inconsistent"),
        ([0.0, 0.2, 0.197], (0.01, 0.3), False, "consistent"),
        ([0.0, 0.2, 0.2], (0.0, 0.3), False, "consistent"),
        ([0.0, 0.2, 0.2], (-0.1, 0.3), False, "consistent"),
        ([0.2, 0.2, 0.0], (0.01, 0.3), False, "consistent"),
        ([0.2, 0.0, 0.2], (0.01, 0.3), False, "consistent"),
        ([0.0, 0.2, 0.2], (0.9, 1.3), False, "inconsistent"),
        # below: this family does not show the rate
        ([0.0, -0.4, -0.4], (-0.5, -0.31), False, "uninformative"),
        ([0.0, -0.4, -0.4], (-0.5, -0.31), True, "inconsistent"),
        ([0.0, -0.4, -0.38], (-0.5, -0.31), True, "uninformative"),
        ([0.0, -0.4, -0.399], (-0.5, -0.31), True, "inconsistent"),
        ([0.0, -0.4, -0.4 + S], (-0.5, -0.31), True, "inconsistent"),
        ([0.0, -0.4, -0.397], (-0.5, -0.31), True, "uninformative"),
        ([0.0, -0.4, -0.04], (-0.5, -0.31), True, "uninformative"),
        ([0.0, 0.0, -0.04], (-0.5, -0.31), True, "uninformative"),
        ([0.0, 0.0, -A], (-0.5, -0.31), True, "uninformative"),
        ([0.0, 0.0, -0.06], (-0.5, -0.31), True, "inconsistent"),
        ([0.0, -0.1, -0.08], (-0.5, -0.31), True, "uninformative"),
        ([0.0, -0.4, -0.4], (-0.5, -B), True, "uninformative"),  # the interval touches what is allowed
        ([0.0, 0.2, -0.2], (-0.5, -B), False, "consistent"),
        ([0.0, 0.2, -0.31], (-0.5, 0.2), False, "uninformative"),
        ([0.0, 0.2, -B], (-0.5, 0.2), False, "consistent"),
        ([0.0, 0.2, -0.29], (-0.5, 0.2), True, "consistent"),
        ([0.0, 0.0, 0.0], (-0.1, 0.1), False, "consistent"),
        ([0.0, 0.0, 0.2], (-0.1, 0.5), False, "consistent"),
        # too few points
        ([0.2, 0.2], (0.1, 0.3), False, "uninformative"),
        ([0.2], (0.1, 0.3), False, "uninformative"),
    ],
)
def test_thresholds(excess: list[float], interval: tuple[float, float], two_sided: bool, verdict: str) -> None:
    found, reason = orders._verdict(excess, interval, two_sided)
    assert found == verdict
    assert (reason == "") == (verdict == "consistent")
    if len(excess) < 3:
        assert reason == f"only {len(excess) + 1} points"


def test_reasons_show_both_slopes() -> None:
    assert orders._verdict([0.0, 0.2, 0.25], (0.1, 0.3), False)[1].endswith("exceed the exponent by 0.200 and 0.250")
    assert orders._verdict([0.0, -0.4, -0.5], (-0.6, -0.4), True)[1].endswith("are 0.400 and 0.500 below the exponent")
    assert orders._verdict([0.0, -0.4, -0.5], (-0.6, -0.4), False)[1].startswith("the slope is 0.500 below")
    assert (
        orders._verdict([0.0, 0.4, -0.5], (-0.6, 0.4), False)[1] == "the last local slope is 0.500 below the exponent"
    )


@pytest.mark.parametrize(
    ("slopes", "two_sided", "verdict"),
    [
        ([1.0] * 6, False, "consistent"),
        ([1.2] * 6, False, "inconsistent"),
        ([0.5] * 6, False, "uninformative"),
        ([0.5] * 6, True, "inconsistent"),
        ([1.2] * 2, False, "uninformative"),
        ([1.0, 1.0, 1.0, 0.5, 1.1, 1.1], False, "consistent"),  # the interval reaches below the exponent
        ([1.0, 1.0, 1.0, 0.5, 1.1, 1.1], True, "consistent"),
    ],
)
def test_the_verdict_of_a_whole_sweep(slopes: list[float], two_sided: bool, verdict: str) -> None:
    driver = powers(len(slopes) + 1)
    assert judge_order(driver, grown(slopes), driver, two_sided=two_sided).verdict == verdict
    assert judge_order(driver, grown(slopes), driver).verdict == ("uninformative" if slopes[0] == 0.5 else verdict)


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        ([1.0, 10.0, 100.0, 1000.0], "4 points over 3.0 decades"),
        ([1.0, 2.0, 4.0, 8.0, 16.0], "5 points over 1.2 decades"),
        ([1.0, 2.0, 4.0, 8.0, 100.0], ""),
        ([1.0, 2.0, 4.0, 8.0, 99.0], "5 points over 2.0 decades"),
        ([1.0, 10.0, 100.0, 1000.0, 1e4], ""),
        ([1.0, 10.0, 100.0, 1000.0, 1e4, 1e5], ""),
        ([1.0, 2.0, 4.0, 8.0], "4 points over 0.9 decades"),
    ],
)
def test_short_sweeps_say_so(driver: list[float], words: str) -> None:
    assert orders._thin(driver, len(driver) - 1) == words
    assert judge_order(driver, driver, driver).reason == words
    found = judge_order(driver, [x**2 for x in driver], driver)
    first = f"the last two local slopes exceed the exponent by {1:.3f} and {1:.3f}"
    assert (found.verdict, found.reason) == ("inconsistent", "; ".join(part for part in (first, words) if part))


@pytest.mark.parametrize("bad", [0.0, -1.0, inf, nan])
@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("which", ["counts", "bound"])
def test_numbers_without_a_logarithm_say_nothing(bad: float, place: int, which: str) -> None:
    given: dict[str, list[float]] = {"counts": powers(5), "bound": powers(5)}
    given[which][place] = bad
    rate = judge_order(powers(5), **given)
    assert (rate.verdict, rate.reason) == ("uninformative", "a count or a bound is zero or not finite")
    assert (rate.slopes, rate.expected) == ((), ())
    numbers = (*rate.interval, rate.exponent, rate.slope, rate.drift)
    assert all(isnan(number) for number in numbers)


@pytest.mark.parametrize(
    ("driver", "counts", "bound"),
    [
        ([1.0], [1.0], [1.0]),
        ([], [], []),
        ([1.0, 2.0], [1.0], [1.0, 2.0]),
        ([1.0, 2.0], [1.0, 2.0], [1.0]),
        ([1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0]),
    ],
)
def test_lengths_must_fit(driver: list[float], counts: list[float], bound: list[float]) -> None:
    with pytest.raises(ValueError, match="at least two points"):
        judge_order(driver, counts, bound)


@pytest.mark.parametrize("driver", [[1.0, 1.0, 2.0], [1.0, 3.0, 2.0], [2.0, 1.0, 3.0], [3.0, 2.0, 1.0]])
def test_the_driver_must_increase(driver: list[float]) -> None:
    with pytest.raises(ValueError, match="must increase"):
        judge_order(driver, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


def test_two_points_have_one_slope_and_no_drift() -> None:
    rate: Any = judge_order([1.0, 2.0], [1.0, 4.0], [1.0, 2.0])
    assert (rate.verdict, rate.reason) == ("uninformative", "only 2 points; 2 points over 0.3 decades")
    assert (rate.slopes, rate.drift) == ((2.0,), 0.0)
    assert rate.interval == (2.0, 2.0)
