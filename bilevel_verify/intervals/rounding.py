"""Outward rounding of float64 results, and enclosures of exact numbers.

IEEE arithmetic rounds ``+ - * /`` and ``sqrt`` to nearest, so the neighbouring float on the safe side bounds the exact
result. Infinite ends are legal (an interval is a set of *reals*); an overflowed lower end comes back as the largest
float, which is still a lower bound.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.language.elementary import TRANSCENDENTAL

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNIT = 2.0**-53
"""Unit roundoff of float64."""

PRECISION = 120
"""Working precision, in bits, of ball arithmetic on exact numbers."""


def down(value: Array | float) -> Any:
    """The next float below (``-inf`` stays)."""
    return np.nextafter(value, -np.inf)


def up(value: Array | float) -> Any:
    """The next float above (``inf`` stays)."""
    return np.nextafter(value, np.inf)


def float_below(value: Fraction) -> float:
    """Largest-known float that does not exceed a rational (the number itself if it is a float)."""
    near = _nearest(value)
    if math.isinf(near):
        return near if near < 0 else float(np.finfo(float).max)
    return near if Fraction(near) <= value else float(down(near))


def float_above(value: Fraction) -> float:
    """Smallest-known float that is not below a rational."""
    return -float_below(-value)


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def ball(number: Any, bits: int = PRECISION) -> Any:
    """An ``arb`` ball that contains an exact SymPy number (rational, algebraic, or elementary constant).

    Raises
    ------
    ValueError : the expression is not a closed real constant that can be evaluated.
    """
    import flint

    saved = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        return _ball(sympy.sympify(number))
    finally:
        flint.ctx.prec = saved


def _ball(number: sympy.Expr) -> Any:
    import flint

    match number:
        case sympy.Rational():
            return flint.arb(flint.fmpq(int(number.p), int(number.q)))
        case sympy.Float():
            return _ball(sympy.Rational(number))
        case sympy.Add():
            return sum((_ball(part) for part in number.args[1:]), _ball(number.args[0]))
        case sympy.Mul():
            product = flint.arb(1)
            for part in number.args:
                product = product * _ball(part)
            return product
        case sympy.Pow():
            return _ball_power(*number.args)
    if number is sympy.pi:
        return flint.arb.pi()
    if number is sympy.E:
        return flint.arb.const_e()
    return _ball_function(number)


def _ball_power(base: sympy.Expr, exponent: sympy.Expr) -> Any:
    import flint

    inner = _ball(base)
    if exponent.is_Integer:
        count = abs(int(exponent))
        power = flint.arb(1)
        for _ in range(count):
            power = power * inner
        return power if exponent >= 0 else 1 / power
    if exponent == sympy.Rational(1, 2):
        return inner.sqrt()
    return (inner.log() * _ball(exponent)).exp()


BALL_METHODS = frozenset((*TRANSCENDENTAL, "gamma", "acos", "asin", "cot", "sech", "atanh"))
"""SymPy classes whose method the balls have, by the same name."""


def _ball_function(number: sympy.Expr) -> Any:
    name = type(number).__name__
    if name in BALL_METHODS and len(number.args) == 1:
        return getattr(_ball(number.args[0]), name)()
    if name == "Abs":
        return abs(_ball(number.args[0]))
    if name in ("Max", "Min"):
        balls = [_ball(part) for part in number.args]
        best = balls[0]
        for other in balls[1:]:
            best = best.max(other) if name == "Max" else best.min(other)
        return best
    rewritten = number.doit()
    if rewritten != number:
        return _ball(rewritten)
    raise ValueError(f"cannot enclose the number {number}")


def floats_of(value: Any) -> tuple[float, float]:
    """Float ends that contain an ``arb`` ball (``-inf, inf`` for a ball without information)."""
    if value.is_nan():
        return -math.inf, math.inf
    low, high = _directed(value.lower()), _directed(value.upper())
    return low[0], high[1]


def _directed(point: Any) -> tuple[float, float]:
    """Floats just below and just above an ``arb`` whose radius is ignored (it is an exact end)."""
    if not point.is_finite():
        number = float(point)
        return number, number
    mantissa, exponent = point.mid().man_exp()
    mantissa, exponent = int(mantissa), int(exponent)
    # ends of arb carry short mantissas; the rational is exact
    if exponent > 4000:
        huge = float(np.finfo(float).max)
        return (huge, math.inf) if mantissa > 0 else (-math.inf, -huge)
    if exponent + mantissa.bit_length() < -1200:
        tiny = 5e-324
        return (0.0, tiny) if mantissa > 0 else (-tiny, 0.0)
    exact = Fraction(mantissa) * (Fraction(2) ** exponent)
    return float_below(exact), float_above(exact)


@lru_cache(maxsize=65536)
def enclose(number: sympy.Expr) -> tuple[float, float]:
    """Float ends of an exact number; equal if the number is a float. Infinite numbers keep their sign."""
    number = sympy.sympify(number)
    if number is sympy.oo or number is sympy.zoo:
        return math.inf, math.inf
    if number is -sympy.oo:
        return -math.inf, -math.inf
    if number.is_Rational:
        exact = Fraction(int(number.p), int(number.q))
        return float_below(exact), float_above(exact)
    for bits in (PRECISION, 400, 1500):
        low, high = floats_of(ball(number, bits))
        if low > -math.inf and high - low <= 1e-14 * max(abs(low), 1e-300):
            return low, high
    return low, high
