"""Whole powers by squaring, and powers and roots of rationals that are rational again."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from operator import mul
from typing import Any

from bilevel_verify.errors import MathematicalError

LONGEST = 8192
"""Bits up to which rationals are written out."""


def whole_power(base: object, exponent: int, times: Callable[[Any, Any], Any] = mul) -> Any:
    """``base ** exponent`` by squaring, least significant bit first, as generated code does; the integer 1 for 0.

    Balls need it: ``arb ** int`` of FLINT is NaN for a ball that contains 0.
    """
    if exponent < 0:
        return 1 / whole_power(base, -exponent, times)
    result, square = None, base
    while exponent:
        if exponent & 1:
            result = square if result is None else times(result, square)
        exponent >>= 1
        if exponent:
            square = times(square, square)
    return 1 if result is None else result


def rational_power(base: Fraction, exponent: Fraction) -> Fraction | None:
    """``base ** exponent`` where it is rational and not too long to be written out, else None.

    Raises
    ------
    MathematicalError : 0 to a negative power, or a root of a negative number.
    """
    if base == 0:
        if exponent < 0:
            raise MathematicalError("a negative power of 0")
        return Fraction(int(exponent == 0))
    size = max(base.numerator.bit_length(), base.denominator.bit_length())
    if size * abs(exponent.numerator) > LONGEST:
        return None
    if exponent.denominator > 1:
        if base < 0:
            raise MathematicalError("a root of a negative number")
        root = exact_root(base, exponent.denominator)
        if root is None:
            return None
        base = root
    return base**exponent.numerator


def exact_root(value: Fraction, degree: int) -> Fraction | None:
    """The rational ``degree``-th root of a nonnegative rational, if there is one."""
    top, bottom = _integer_root(value.numerator, degree), _integer_root(value.denominator, degree)
    return None if top is None or bottom is None else Fraction(top, bottom)


def _integer_root(number: int, degree: int) -> int | None:
    if number in (0, 1):
        return number
    if degree > number.bit_length():
        return None
    guess = math.isqrt(number) if degree == 2 else _newton_root(number, degree)
    return guess if guess**degree == number else None


def _newton_root(number: int, degree: int) -> int:
    guess = 1 << -(-number.bit_length() // degree)
    while True:
        better = ((degree - 1) * guess + number // guess ** (degree - 1)) // degree
        if better >= guess:
            return guess
        guess = better
