"""What a scalar function has to tell: values at points, critical points, and from them ranges over intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from bilevel_verify.intervals.batch import Interval, clean
from bilevel_verify.numbers.rounding import Array, float_above, float_below

Critical = tuple[float, float, float, float]
"""Enclosure of a critical point (lo, hi) and of the value there (lo, hi)."""

PI = math.pi
"""The float below pi (pi lies under the next one)."""


@lru_cache(maxsize=16384)
def point(value: float | Fraction) -> Interval:
    """A thin interval around one number."""
    exact = Fraction(value)
    return Interval(np.asarray(float_below(exact)), np.asarray(float_above(exact)))


def horner(p: tuple[int, ...], s: Interval) -> Interval:
    """An integer polynomial on thin intervals (coefficients as enclosures: large ones are not floats)."""
    total = Interval(np.zeros_like(s.lo), np.zeros_like(s.hi)) + point(Fraction(p[-1]))
    for coefficient in reversed(p[:-1]):
        total = total * s
        if coefficient:
            total = total + point(Fraction(coefficient))
    return total


class Scalar:
    """A function of one real variable. Sub-classes say what happens at points and where it turns.

    Attributes
    ----------
    name : for derivations.
    domain : closed range of arguments on which every derivative in use exists.
    smooth : number of continuous derivatives (``inf`` for analytic ones).
    """

    name: str = ""
    domain: tuple[float, float] = (-math.inf, math.inf)
    smooth: float = math.inf

    def at(self, order: int, t: Interval) -> Interval:
        """Enclosure of the derivative at thin intervals, limits at infinite points included."""
        raise NotImplementedError

    def critical(self, order: int) -> tuple[Critical, ...]:
        """Where the derivative of that order turns, and its value there."""
        raise NotImplementedError

    def prepare(self, points: Array) -> object:
        """Whatever all derivatives at these points have in common (None: nothing)."""
        return None

    def at_prepared(self, order: int, points: Array, base: object) -> Interval:
        """:meth:`at` for float points, with what :meth:`prepare` returned."""
        return self.at(order, Interval(points, points))

    def range(self, order: int, t: Interval) -> Interval:
        """Range of the derivative over each interval of a batch (the whole line outside the domain)."""
        return self.ranges((order,), t)[0]

    def ranges(self, orders: Sequence[int], t: Interval) -> list[Interval]:
        """Ranges of several derivatives over the same intervals."""
        low, high = np.broadcast_arrays(t.lo, t.hi)
        thin = bool((low == high).all())
        points = low.ravel() if thin else np.concatenate([low.ravel(), high.ravel()])
        base = self.prepare(points)
        return [self._one_range(order, t, points, base, thin) for order in orders]

    def _one_range(self, order: int, t: Interval, points: Array, base: object, thin: bool) -> Interval:
        value = self.at_prepared(order, points, base)
        count, shape = t.lo.size, t.lo.shape
        if thin:
            return self._outside(t, value.lo.reshape(shape), value.hi.reshape(shape))
        low = np.minimum(value.lo[:count], value.lo[count:]).reshape(shape)
        high = np.maximum(value.hi[:count], value.hi[count:]).reshape(shape)
        for a, b, bottom, top in self.critical(order):
            inside = (t.lo <= b) & (t.hi >= a)
            if inside.any():
                low = np.where(inside, np.minimum(low, bottom), low)
                high = np.where(inside, np.maximum(high, top), high)
        return self._outside(t, low, high)

    def _outside(self, t: Interval, low: Array, high: Array) -> Interval:
        first, last = self.domain
        bad = (t.lo < first) | (t.hi > last)
        return clean(np.where(bad, -np.inf, low), np.where(bad, np.inf, high))


class Direct(Scalar):
    """A function whose ranges are computed without end points and critical points."""

    def ranges(self, orders: Sequence[int], t: Interval) -> list[Interval]:
        return [self.range(order, t) for order in orders]

    def range(self, order: int, t: Interval) -> Interval:
        raise NotImplementedError

    def at(self, order: int, t: Interval) -> Interval:
        return self.range(order, t)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return ()


def thin(a: Fraction, b: Fraction) -> Interval:
    return Interval(np.asarray(float_below(a)), np.asarray(float_above(b)))


def widen_by_slope(order: int, where: Interval, value: Interval) -> Interval:
    """The turning point lies between two neighbouring floats; a second-order term far below rounding is added."""
    width = float(where.hi - where.lo)
    room = 1e3 * math.factorial(order + 3) * width * width * max(1.0, float(value.magnitude()))
    return Interval(np.asarray(value.lo - room), np.asarray(value.hi + room))
