"""Rates: does a count grow no faster than an order bound says?

Counts are deterministic, so a standard error says nothing about them; local slopes drift, so a single slope says
little. The rule: the interval is the hull of the local slopes over the last half of the range, widened by their
extrapolated drift. ``inconsistent`` only if the last two local slopes exceed the printed exponent by more than 0.05
and do not decrease (and the whole interval lies above the exponent); ``uninformative`` if the slope is more than 0.3
below, or if slopes that decrease have not come down to the exponent: the interval lies more than 0.05 above it, and it
is no power of the logarithm of the driver that a soft order hides. A logarithm in the bound is treated as printed: it
is part of the bound's own local slope.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, log

from bilevel_verify.checks.verdicts.verdict import Verdict

ABOVE = 0.05
BELOW = 0.3
STEADY = 0.002
"""A fall of the local slope by less than this is no decrease."""
LEAST_POINTS = 4
"""Fewer points have no last two slopes and no drift."""
PREFERRED_POINTS = 5
PREFERRED_DECADES = 2.0


@dataclass(frozen=True, slots=True)
class Rate:
    """A fitted exponent against a printed one.

    ``slopes`` are the local slopes of ``log count`` against ``log(driver)``, ``expected`` those of the bound at the
    same places; ``interval`` is the design's interval for the observed slope, ``exponent`` the bound's slope at the
    end of the range. ``fraction`` is how much of the bound is used at the last point if the bound has a constant.
    """

    verdict: Verdict
    reason: str
    slopes: tuple[float, ...]
    expected: tuple[float, ...]
    interval: tuple[float, float]
    exponent: float
    slope: float
    drift: float
    fraction: float | None = None


def judge_order(
    driver: Sequence[float],
    counts: Sequence[float],
    bound: Sequence[float],
    *,
    two_sided: bool = False,
    soft: bool = False,
    counted: bool = True,
) -> Rate:
    """Compare the growth of ``counts`` with that of ``bound`` along ``driver``.

    Parameters
    ----------
    driver : what grows, increasing: ``1/eps``, ``kappa`` ...
    counts : measured counts, positive.
    bound : the expression inside the order symbol at the same places, positive.
    two_sided : for ``Theta``: growing too slowly is judged as well.
    soft : for ``softO``: a power of the logarithm of the driver above the exponent is allowed.
    counted : whether ``counts`` is what was measured, or, for a lower bound, ``bound``. Whole numbers there are taken
        to be rounded ones: they are inconsistent only if no rounding explains it.

    Raises
    ------
    ValueError : fewer than two points, or a driver that does not increase.
    """
    if len(driver) < 2 or len(counts) != len(driver) or len(bound) != len(driver):
        raise ValueError("an order needs at least two points, one count and one bound for each")
    if any(b <= a for a, b in itertools.pairwise(driver)):
        raise ValueError("the driver of an order must increase")
    if not all(isfinite(x) and x > 0 for x in (*driver, *counts, *bound)):
        return _nothing("uninformative", "a count or a bound is zero or not finite")
    slopes, expected = local_slopes(driver, counts), local_slopes(driver, bound)
    excess = [s - e for s, e in zip(slopes, expected)]
    low, high, drift = _interval(excess)
    exponent = expected[-1]
    hidden = soft and _logarithmic(driver, excess)
    verdict, reason = _verdict(excess, (low, high), two_sided, hidden)
    if verdict == "inconsistent" and _explained_by_rounding(driver, counts, bound, counted):
        verdict, reason = "uninformative", f"{reason}, as whole numbers may that are rounded"
    warning = _thin(driver, len(slopes))
    return Rate(
        verdict,
        "; ".join(part for part in (reason, warning) if part),
        tuple(slopes),
        tuple(expected),
        (low + exponent, high + exponent),
        exponent,
        slopes[-1],
        drift,
        counts[-1] / bound[-1],
    )


def local_slopes(driver: Sequence[float], values: Sequence[float]) -> list[float]:
    return [log(b / a) / log(d / c) for a, b, c, d in zip(values, values[1:], driver, driver[1:])]


def _explained_by_rounding(
    driver: Sequence[float], counts: Sequence[float], bound: Sequence[float], counted: bool
) -> bool:
    """Whether one of the last two excesses is no more than what numbers that were rounded to whole ones may show."""
    measured = counts if counted else bound
    if not all(float(value).is_integer() for value in measured):
        return False
    for place in (-1, -2):
        a, b, gap = measured[place - 1], measured[place], log(driver[place] / driver[place - 1])
        fixed = bound if counted else counts
        other = log(fixed[place] / fixed[place - 1]) / gap
        least = log(max(min((b - 1) / a, b / (a + 1)), 1e-300)) / gap - other
        most = (log(max(b / (a - 1), (b + 1) / a)) / gap if a > 1 else inf) - other
        low, high = (least, most) if counted else (-most, -least)
        if low <= ABOVE and high >= -ABOVE:
            return True
    return False


def _interval(excess: Sequence[float]) -> tuple[float, float, float]:
    """Hull of the last half of the local slopes, widened by their drift extrapolated to the end of the range."""
    half = excess[-max(2, (len(excess) + 1) // 2) :]
    drift = (half[-1] - half[0]) / (len(half) - 1) if len(half) > 1 else 0.0
    low, high = min(half), max(half)
    return min(low, low + drift), max(high, high + drift), drift


def _logarithmic(driver: Sequence[float], excess: Sequence[float]) -> bool:
    """Whether the last two excesses fall at least as fast as those of a power p of the logarithm, p / log(driver)."""
    powers = [e * log(a * b) / 2 for e, a, b in zip(excess, driver, driver[1:])][-2:]
    return len(powers) == 2 and powers[1] <= powers[0] + STEADY


def _verdict(
    excess: Sequence[float], interval: tuple[float, float], two_sided: bool, hidden: bool = False
) -> tuple[Verdict, str]:
    if len(excess) < LEAST_POINTS - 1:
        return "uninformative", f"only {len(excess) + 1} points"
    last, before = excess[-1], excess[-2]
    if last > ABOVE and before > ABOVE and last >= before - STEADY and interval[0] > 0:
        return "inconsistent", f"the last two local slopes exceed the exponent by {before:.3f} and {last:.3f}"
    if interval[1] < -BELOW:
        if two_sided and last < -ABOVE and last <= before + STEADY:
            return "inconsistent", f"the last two local slopes are {-before:.3f} and {-last:.3f} below the exponent"
        return "uninformative", f"the slope is {-last:.3f} below the exponent: this family does not show the rate"
    if last < -BELOW:
        return "uninformative", f"the last local slope is {-last:.3f} below the exponent"
    if interval[0] > ABOVE and not hidden:
        return "uninformative", f"the local slopes fall, and the last is still {last:.3f} above the exponent"
    return "consistent", ""


def _thin(driver: Sequence[float], slopes: int) -> str:
    decades = log(driver[-1] / driver[0]) / log(10)
    if slopes + 1 < PREFERRED_POINTS or decades < PREFERRED_DECADES - 1e-9:
        return f"{slopes + 1} points over {decades:.1f} decades"
    return ""


def _nothing(verdict: Verdict, reason: str) -> Rate:
    nan = float("nan")
    return Rate(verdict, reason, (), (), (nan, nan), nan, nan, nan)
