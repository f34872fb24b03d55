"""Interval arithmetic on arrays: thousands of intervals at once, every operation rounded outward.

An :class:`Interval` is a pair of float64 arrays. Ends may be infinite; the product 0 * inf is 0 because infinity is
never attained. A NaN (an undefined end) is widened to the whole line at once, so no comparison ever sees one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bilevel_verify.numbers.powers import whole_power
from bilevel_verify.numbers.rounding import LEAST, Array, down, up


@dataclass(frozen=True, slots=True)
class Interval:
    """Closed intervals ``[lo, hi]``, element by element; ``lo`` and ``hi`` broadcast against other operands."""

    lo: Array
    hi: Array

    @staticmethod
    def of(lo: ArrayLike, hi: ArrayLike | None = None) -> Interval:
        """Intervals from ends (a point if ``hi`` is omitted); NaN becomes the whole line."""
        low = np.asarray(lo, dtype=float)
        return clean(low, low if hi is None else np.asarray(hi, dtype=float))

    @property
    def shape(self) -> tuple[int, ...]:
        """Common shape of the two ends."""
        return self.lo.shape

    def __getitem__(self, key: Any) -> Interval:
        return Interval(self.lo[key], self.hi[key])

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __add__(self, other: Interval) -> Interval:
        with np.errstate(over="ignore", invalid="ignore"):
            return clean(down(self.lo + other.lo), up(self.hi + other.hi))

    def __sub__(self, other: Interval) -> Interval:
        with np.errstate(over="ignore", invalid="ignore"):
            return clean(down(self.lo - other.hi), up(self.hi - other.lo))

    def __mul__(self, other: Interval) -> Interval:
        with np.errstate(invalid="ignore", over="ignore"):
            a, b = self.lo * other.lo, self.lo * other.hi
            c, d = self.hi * other.lo, self.hi * other.hi
            low = np.fmin(np.fmin(a, b), np.fmin(c, d))
            high = np.fmax(np.fmax(a, b), np.fmax(c, d))
            lo, hi, both = down(low), up(high), low * high
            if np.count_nonzero(both * both > 0) == np.size(both):  # nearly always: no end is 0, none is missing
                return Interval(lo, hi)
        # fmin/fmax skip 0*inf = NaN; all four are NaN only for [0,0]*[-inf,inf] = 0
        flat_low, flat_high = low == 0, high == 0
        missing = np.isnan(low)
        if missing.any():
            flat_low, flat_high = flat_low | missing, flat_high | missing
        if flat_low.any():
            lo = np.where(flat_low, _exact_zero(self, other, -1), lo)
        if flat_high.any():
            hi = np.where(flat_high, _exact_zero(self, other, 1), hi)
        return Interval(lo, hi)

    def __truediv__(self, other: Interval) -> Interval:
        return self * other.reciprocal()

    def reciprocal(self) -> Interval:
        """``1 / x``; the whole line where 0 lies inside, a half line where it is an end."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            low, high = down(1.0 / self.hi), up(1.0 / self.lo)
        inside = (self.lo < 0) & (self.hi > 0)
        zero = (self.lo == 0) & (self.hi == 0)
        low = np.where(self.hi == 0, -np.inf, low)
        high = np.where(self.lo == 0, np.inf, high)
        bad = inside | zero
        return Interval(np.where(bad, -np.inf, low), np.where(bad, np.inf, high))

    def square(self) -> Interval:
        """``x * x`` with both factors equal, hence never negative."""
        with np.errstate(over="ignore"):
            a, b = self.lo * self.lo, self.hi * self.hi
            below, above = down(np.minimum(a, b)), up(np.maximum(a, b))
        straddles = (self.lo <= 0) & (self.hi >= 0)
        low = np.where(straddles, 0.0, np.maximum(below, 0.0))
        nothing = (self.lo == 0) & (self.hi == 0)
        return Interval(low, np.where(nothing, 0.0, above))

    def magnitude(self) -> Array:
        """``sup |x|``."""
        return np.asarray(np.maximum(np.abs(self.lo), np.abs(self.hi)))

    def mignitude(self) -> Array:
        """``inf |x|``."""
        return np.asarray(np.where((self.lo <= 0) & (self.hi >= 0), 0.0, np.minimum(np.abs(self.lo), np.abs(self.hi))))

    def absolute(self) -> Interval:
        """``|x|``."""
        return Interval(self.mignitude(), self.magnitude())

    def hull(self, other: Interval) -> Interval:
        """Smallest interval containing both."""
        return Interval(np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi))

    def meet(self, other: Interval) -> Interval:
        """Intersection of two enclosures of the same quantity (never empty unless one of them is wrong)."""
        return Interval(np.maximum(self.lo, other.lo), np.minimum(self.hi, other.hi))

    def scaled(self, factor: float) -> Interval:
        """Product with one float (exact for powers of two up to the rounding step)."""
        return self * Interval.of(factor)

    def centre(self) -> Array:
        """A float inside (not rounded: any point of the interval will do); 0 or an end for infinite intervals."""
        with np.errstate(invalid="ignore", over="ignore"):
            middle = 0.5 * self.lo + 0.5 * self.hi
        biggest = float(np.finfo(float).max)
        low, high = np.maximum(self.lo, -biggest), np.minimum(self.hi, biggest)
        middle = np.where(np.isfinite(self.lo) & np.isfinite(self.hi), middle, 0.0)
        return np.asarray(np.clip(middle, low, high))

    def radius(self, centre: Array | None = None) -> Array:
        """Largest distance from ``centre``, rounded up."""
        middle = self.centre() if centre is None else centre
        with np.errstate(over="ignore"):
            return np.asarray(np.maximum(np.maximum(up(self.hi - middle), up(middle - self.lo)), 0.0))


def _exact_zero(first: Interval, second: Interval, sign: int) -> Array:
    """A product end of 0 is exact unless a corner of that sign underflowed to it; then it gets one step of room."""
    lost: Any = False
    with np.errstate(invalid="ignore", over="ignore"):
        for a in (first.lo, first.hi):
            for b in (second.lo, second.hi):
                gone = (a * b == 0) & (a != 0) & (b != 0)
                if gone.any():
                    same = np.signbit(a) == np.signbit(b)
                    lost = lost | (gone & (~same if sign < 0 else same))
    return np.asarray(np.where(lost, sign * LEAST, 0.0))


def product_of_positive(a: Interval, b: Interval) -> Interval:
    """Product of non-negative bounded intervals (no case distinctions)."""
    with np.errstate(over="ignore"):
        return Interval(np.maximum(down(a.lo * b.lo), 0.0), up(a.hi * b.hi))


def clean(lo: Array, hi: Array) -> Interval:
    """An interval whose NaN ends became infinite."""
    ordered = lo <= hi  # false beside a NaN; ends the wrong way round stay as they are
    if np.count_nonzero(ordered) < np.size(ordered):
        lost = np.isnan(lo) | np.isnan(hi)
        lo, hi = np.where(lost, -np.inf, lo), np.where(lost, np.inf, hi)
    return Interval(lo, hi)


def sum_of(parts: list[Interval]) -> Interval:
    """Sum of several intervals, one rounding step each."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def integer_power(base: Interval, exponent: int) -> Interval:
    """``x ** n`` for an integer ``n`` with the exact range up to rounding (monotone, or even and folded at 0)."""
    if exponent < 0:
        return integer_power(base, -exponent).reciprocal()
    if exponent == 0:
        return Interval(np.ones_like(base.lo), np.ones_like(base.hi))
    folded = base if exponent % 2 else base.absolute()
    low, high = _monotone_power(folded.lo, exponent), _monotone_power(folded.hi, exponent)
    return Interval(low.lo, high.hi)


def _monotone_power(point: Array, exponent: int) -> Interval:
    def times(one: Interval, other: Interval) -> Interval:
        return one.square() if one is other else one * other

    power: Interval = whole_power(Interval(point, point), exponent, times)
    return power


def square_root(t: Interval) -> Interval:
    """``sqrt`` of non-negative intervals; IEEE roots are correctly rounded."""
    with np.errstate(invalid="ignore"):
        low, high = np.sqrt(t.lo), np.sqrt(t.hi)
    exact_low = low * low == t.lo
    exact_high = high * high == t.hi
    tidy = (np.abs(low) < 2**26) & (low == np.round(low)), (np.abs(high) < 2**26) & (high == np.round(high))
    low = np.where(exact_low & tidy[0], low, np.maximum(down(low), 0.0))
    high = np.where(exact_high & tidy[1], high, up(high))
    return clean(low, high)
