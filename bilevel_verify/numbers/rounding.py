"""Rationals, floats, balls and exact SymPy numbers into one another, rounded outwards; the precision of balls.

IEEE arithmetic rounds ``+ - * /`` and ``sqrt`` to nearest, so the neighbouring float on the safe side bounds the exact
result. Infinite ends are legal (an interval is a set of *reals*); an overflowed lower end comes back as the largest
float, which is still a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MathematicalError
from bilevel_verify.language.elementary import TRANSCENDENTAL
from bilevel_verify.numbers.powers import whole_power

if TYPE_CHECKING:
    import sympy
    from flint import arb

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

UNIT = 2.0**-53
"""Unit roundoff of float64."""

LEAST = 5e-324
"""The smallest positive float: room for a value that may have been rounded to 0."""

UNDERFLOW = 1e-300
"""Room for sums of products of which some may have been rounded to 0; far below every bound that decides something."""

PRECISION = 120
"""Working precision, in bits, of ball arithmetic on exact numbers."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with balls of so many bits inside the block."""
    import flint

    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def down(value: Array | float) -> Any:
    """The next float below (``-inf`` stays)."""
    return np.nextafter(value, -np.inf)


def up(value: Array | float) -> Any:
    """The next float above (``inf`` stays)."""
    return np.nextafter(value, np.inf)


def centred(low: float, high: float) -> tuple[float, float]:
    """A float between two floats, and the largest distance to them, rounded up; (low, 0) if they are equal."""
    if low == high:
        return low, 0.0
    value = 0.5 * low + 0.5 * high  # halves of the smallest numbers are rounded to zero
    return value, float(up(max(high - value, value - low)))


def nearest(value: Fraction) -> float:
    """The float nearest to a rational; an infinity beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def float_below(value: Fraction) -> float:
    """Largest-known float that does not exceed a rational (the number itself if it is a float)."""
    near = nearest(value)
    if math.isinf(near):
        return near if near < 0 else float(np.finfo(float).max)
    return near if Fraction(near) <= value else float(down(near))


def float_above(value: Fraction) -> float:
    """Smallest-known float that is not below a rational."""
    return -float_below(-value)


def ball(number: object) -> arb:
    """The ball of a number: exact for floats, integers and mpmath numbers, rounded outwards for other rationals.

    Raises
    ------
    MathematicalError : an mpmath number that is infinite or NaN.
    TypeError : not a number.
    """
    import flint

    if isinstance(number, flint.arb):
        return number
    if isinstance(number, float):  # the frequent kinds come first
        return flint.arb(float(number))
    if isinstance(number, Fraction):
        whole = number.denominator == 1
        return flint.arb(number.numerator if whole else flint.fmpq(number.numerator, number.denominator))
    if isinstance(number, (int, np.integer)):
        return flint.arb(int(number))
    if isinstance(number, np.floating):
        return flint.arb(float(number))
    if hasattr(number, "_mpf_"):
        sign, mantissa, exponent, _ = number._mpf_
        if mantissa == 0 and exponent != 0:
            raise MathematicalError("precision")
        # exact: a ball keeps every bit of mantissa * 2**exponent
        return flint.arb((-int(mantissa) if sign else int(mantissa), int(exponent)))
    raise TypeError(f"not a number: {number!r}")


def fraction(number: Any) -> Fraction:
    """A rational number, exactly.

    Raises
    ------
    MathematicalError : it is not rational.
    """
    try:
        return Fraction(number)
    except (TypeError, ValueError, OverflowError):
        raise MathematicalError(f"the parameter {number} of an atom must be rational") from None


def floats_of(value: arb) -> tuple[float, float]:
    """Float ends that contain an ``arb`` ball (``-inf, inf`` for a ball without information)."""
    if value.is_nan():
        return -math.inf, math.inf
    low, high = value.lower(), value.upper()
    bottom, top = float(low), float(high)
    if not ball(bottom) <= low:
        bottom = math.nextafter(bottom, -math.inf)
    if not ball(top) >= high:
        top = math.nextafter(top, math.inf)
    return bottom, top


def constant_ball(number: object, bits: int = PRECISION) -> arb:
    """An ``arb`` ball that contains an exact SymPy number (rational, algebraic, or elementary constant).

    Raises
    ------
    ValueError : the expression is not a closed real constant that can be evaluated.
    """
    import sympy

    with precision(bits):
        return _ball(sympy.sympify(number))


def _ball(number: sympy.Expr) -> arb:
    import flint
    import sympy

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
        case sympy.Pow(args=(base, exponent)):
            inner = _ball(base)
            if exponent.is_Integer:
                return ball(whole_power(inner, int(exponent)))
            return inner.sqrt() if exponent == sympy.Rational(1, 2) else (inner.log() * _ball(exponent)).exp()
    if number is sympy.pi:
        return flint.arb.pi()
    if number is sympy.E:
        return flint.arb.const_e()
    return _ball_function(number)


BALL_METHODS = frozenset((*TRANSCENDENTAL, "gamma", "acos", "asin", "cot", "sech", "atanh"))
"""SymPy classes whose method the balls have, by the same name."""


def _ball_function(number: sympy.Expr) -> arb:
    name = type(number).__name__
    if name in BALL_METHODS and len(number.args) == 1:
        return ball(getattr(_ball(number.args[0]), name)())
    if name == "Abs":
        return abs(_ball(number.args[0]))
    if name in ("Max", "Min"):
        balls = [_ball(part) for part in number.args]
        best = balls[0]
        for other in balls[1:]:
            best = best.max(other) if name == "Max" else best.min(other)
        return best
    for rule in ("", "sigmoid", "exp", "cosh"):  # the last three are for our own atoms
        rewritten = number.rewrite(rule) if rule else number.doit()
        if rewritten != number:
            return _ball(rewritten)
    raise ValueError(f"cannot enclose the number {number}")


@lru_cache(maxsize=65536)
def enclose(number: Fraction | int | sympy.Expr) -> tuple[float, float]:
    """Float ends of an exact number, rational or closed SymPy number; equal if it is a float.

    Infinite numbers keep their sign.
    """
    import sympy

    if isinstance(number, Fraction):
        return float_below(number), float_above(number)
    number = sympy.sympify(number)
    if number is sympy.oo or number is sympy.zoo:
        return math.inf, math.inf
    if number is -sympy.oo:
        return -math.inf, -math.inf
    if number.is_Rational:
        return enclose(Fraction(int(number.p), int(number.q)))
    for bits in (PRECISION, 400, 1500):
        low, high = floats_of(constant_ball(number, bits))
        if low > -math.inf and high - low <= 1e-14 * max(abs(low), 1e-300):
            return low, high
    return low, high


def outward(low: object, high: object) -> tuple[float, float]:
    """The smallest interval of floats around an interval with exact ends: what is shown on it holds between them."""
    return enclose(low)[0], enclose(high)[1]


def inward(low: object, high: object) -> tuple[float, float]:
    """The floats inside an interval with exact ends: the float next to an end such as 1/3 may lie outside.

    The first is larger than the second where no float is inside.
    """
    return enclose(low)[1], enclose(high)[0]
