"""Functions with a removable singularity: ``sin t / t``, ``(e^t - 1)/t``, ``log(1+t)/t``, as averages.

``int_0^1 cos(ts) ds``, ``int_0^1 e^(ts) ds``, ``int_0^1 ds/(1+ts)``: differentiating under the integral gives
``|sinc^(k)| <= 1/(k+1)``, and monotone derivatives of one sign for the other two. Point values come from balls: the
power series with its remainder near 0, the quotient elsewhere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.scalar_base import Critical, Direct, Scalar
from bilevel_verify.numbers.rounding import LEAST, UNDERFLOW, Array, down, floats_of, precision, up

if TYPE_CHECKING:
    import sympy

NEAR = 0.5
"""Up to this distance from 0 the power series is summed."""

TERMS = 40
"""Terms of the series; the remainder is added as a ball."""


def _point(name: str, order: int, t: float) -> tuple[float, float]:
    if math.isnan(t) or (name == "logrel" and t <= -1.0):
        return -math.inf, math.inf
    if math.isinf(t):
        return _limit(name, order, t > 0)
    import flint

    with precision(200):
        return floats_of((_series if abs(t) <= NEAR else _quotient)(name, order, flint.arb(t)))


def _limit(name: str, order: int, positive: bool) -> tuple[float, float]:
    if name == "exprel" and positive:
        return float(np.finfo(float).max), math.inf
    return -LEAST, LEAST


def _coefficient(name: str, n: int) -> sympy.Expr:
    """Coefficient of ``t^n`` as an exact rational."""
    import flint

    if name == "sinc":
        return flint.fmpq(0) if n % 2 else flint.fmpq((-1) ** (n // 2), math.factorial(n + 1))
    if name == "exprel":
        return flint.fmpq(1, math.factorial(n + 1))
    return flint.fmpq((-1) ** n, n + 1)


def _series(name: str, order: int, t: sympy.Expr) -> sympy.Expr:
    import flint

    total, power = flint.arb(0), flint.arb(1)
    count = TERMS if name != "logrel" else 10 * TERMS
    for n in range(order, order + count):
        falling = math.perm(n, order)
        total += flint.arb(_coefficient(name, n) * falling) * power
        power = power * t
    # |c_n| n!/(n-order)! t^(n-order) decreases at least geometrically with ratio 3/4 from here on
    first = order + count
    coefficients = [abs(_coefficient(name, first)), abs(_coefficient(name, first + 1))]
    tail = flint.arb(max(coefficients) * math.perm(first + 1, order))
    room = tail * abs(power) * 8
    return total + flint.arb(0, float(room.upper()) * (1 + 1e-9) + UNDERFLOW)


def _quotient(name: str, order: int, t: sympy.Expr) -> sympy.Expr:
    """k! times a coefficient of the quotient of two power series at ``t``."""
    import flint

    length = order + 2
    top = flint.arb_series([t, 1], prec=length)
    numerator = {"sinc": lambda: top.sin(), "exprel": lambda: top.exp() - 1, "logrel": lambda: (top + 1).log()}[name]()
    quotient = numerator / top
    return quotient[order] * math.factorial(order)


class Sinc(Direct):
    """``sin t / t``."""

    name = "sinc"

    def range(self, order: int, t: Interval) -> Interval:
        middle = t.centre()
        radius = t.radius(middle) / (order + 2) * (1 + 1e-15)
        value = _values("sinc", order, middle)
        cap = 1.0 / (order + 1) * (1 + 4e-16)
        low, high = np.maximum(value.lo - radius, -cap), np.minimum(value.hi + radius, cap)
        return Interval(down(low), up(high))


class Monotone(Scalar):
    """``(e^t - 1)/t`` and ``log(1+t)/t``: every derivative is monotone."""

    def __init__(self, name: str) -> None:
        self.name = name
        if name == "logrel":
            self.domain = (-1.0, math.inf)

    def at(self, order: int, t: Interval) -> Interval:
        return _values(self.name, order, t.lo)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return ()


def _values(name: str, order: int, points: Array) -> Interval:
    flat, where = np.unique(np.atleast_1d(points).ravel(), return_inverse=True)
    ends = np.array([_point(name, order, float(v)) for v in flat])
    shape = np.shape(points)
    return Interval(ends[where, 0].reshape(shape), ends[where, 1].reshape(shape))
