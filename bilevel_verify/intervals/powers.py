"""Powers ``t^p``, ``|t|^p``, ``sgn(t)|t|^p``, ``max(t,0)^p`` and the logarithm: ranges of all derivatives."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from bilevel_verify.intervals.batch import Interval, integer_power, square_root
from bilevel_verify.intervals.elementary import point_values
from bilevel_verify.intervals.scalar_base import Critical, Scalar, point
from bilevel_verify.numbers.rounding import Array, float_above


class Power(Scalar):
    """``t^p`` on ``t > 0`` (any real ``p``), or on the whole line for integer ``p``; ``log`` is ``p = 0`` of sorts.

    ``kind``: ``plain`` (t^p), ``abs`` (|t|^p), ``sgn`` (sgn(t)|t|^p), ``plus`` (max(t,0)^p), ``log``.
    """

    def __init__(self, exponent: Fraction, kind: str = "plain") -> None:
        self.exponent, self.kind = exponent, kind
        self.name = {
            "plain": f"t^{exponent}",
            "abs": f"|t|^{exponent}",
            "sgn": f"sgn(t)|t|^{exponent}",
            "plus": f"max(t,0)^{exponent}",
            "log": "log",
        }[kind]
        whole = exponent.denominator == 1 and exponent >= 0
        if kind == "log" or (kind == "plain" and not whole):
            self.domain = (0.0, math.inf)
        if kind in ("abs", "sgn", "plus"):
            polynomial = exponent.denominator == 1 and (kind == "abs") == (exponent % 2 == 0) and kind != "plus"
            self.smooth = math.inf if polynomial else math.ceil(exponent) - 1

    def factor(self, order: int) -> Fraction:
        """``p (p-1) ... (p-k+1)`` (for ``log``: ``(-1)^(k-1) (k-1)!``)."""
        if self.kind == "log":
            return Fraction((-1) ** (order - 1) * math.factorial(order - 1))
        value = Fraction(1)
        for j in range(order):
            value *= self.exponent - j
        return value

    def at(self, order: int, t: Interval) -> Interval:
        if self.kind == "log" and order == 0:
            return point_values("log", t.lo)
        exponent = self.exponent - order
        coefficient = self.factor(order)
        if coefficient == 0:
            return Interval(np.zeros_like(t.lo), np.zeros_like(t.hi))
        if self.kind in ("plain", "log"):
            return signed_power(t, exponent) * point(coefficient)
        return self._one_side(order, t.lo, exponent) * point(coefficient)

    def _one_side(self, order: int, points: Array, exponent: Fraction) -> Interval:
        size = np.abs(points)
        value = signed_power(Interval(size, size), exponent)
        odd = (order % 2 == 1) == (self.kind == "abs")
        if self.kind == "plus":
            keep = points > 0
            return Interval(np.where(keep, value.lo, 0.0), np.where(keep, value.hi, 0.0))
        if exponent == 0 and odd:
            # a jump: at 0 both one-sided limits
            return Interval(np.where(points > 0, 1.0, -1.0), np.where(points < 0, -1.0, 1.0))
        negative = odd & (points < 0)
        return Interval(np.where(negative, -value.hi, value.lo), np.where(negative, -value.lo, value.hi))

    def critical(self, order: int) -> tuple[Critical, ...]:
        exponent = self.exponent - order
        if self.domain[0] == 0.0:  # the logarithm and powers of positive numbers are monotone
            return ()
        if exponent > 0:
            return ((0.0, 0.0, 0.0, 0.0),)
        if self.kind == "plain" or self.smooth == math.inf:  # a polynomial: constant from here on
            return ()
        if exponent < 0:  # exists only away from 0
            return ((0.0, 0.0, -math.inf, math.inf),)
        c = float_above(self.factor(order))
        return ((0.0, 0.0, 0.0 if self.kind == "plus" else -c, c),)


def signed_power(t: Interval, exponent: Fraction) -> Interval:
    """``t^q`` at thin intervals: repeated products for integers, roots for halves, exp(q log t) otherwise."""
    if exponent.denominator == 1:
        return integer_power(t, int(exponent))
    clipped = Interval(np.maximum(t.lo, 0.0), np.maximum(t.hi, 0.0))
    if exponent.denominator == 2:
        root = square_root(clipped)
        return integer_power(root, int(exponent.numerator))
    low = _positive_power(clipped.lo, exponent)
    high = _positive_power(clipped.hi, exponent)
    return low.hull(high)


def _positive_power(points: Array, exponent: Fraction) -> Interval:
    logarithm = point_values("log", points)
    product = logarithm * point(exponent)
    return point_values("exp", product.lo).hull(point_values("exp", product.hi))
