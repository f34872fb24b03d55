"""exp, log and log1p on arrays with proved error bounds: basic operations of IEEE 754 alone, no library function.

NumPy's elementary functions differ between processors and promise nothing; sums, products and quotients are rounded
correctly everywhere. With ``u = 2^-53`` each value below is within ``8 u`` of the true one, relatively (the sums of the
errors stand at the functions); what is handed on is twice as wide. Points outside the ranges that the bounds were
derived for are left to balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bilevel_verify.numbers.rounding import UNIT, Array, down, up

ROOM = 16 * UNIT
"""Relative half-width of an answer: twice the proved error."""
LN2_HIGH = float.fromhex("0x1.62e42fefa38p-1")
"""ln 2 cut to 42 bits: its products with integers up to 2^11 are exact."""
LN2_LOW = float.fromhex("0x1.ef35793c7673p-45")
"""The rest of ln 2, to 2^-97."""
FARTHEST = 700.0
"""exp is evaluated up to here: no power of two over- or underflows."""

_FACTORIAL = [1.0 / math.factorial(i) for i in range(2, 15)]
_ODD = [1.0 / (2 * i + 3) for i in range(17)]


def _horner(coefficients: list[float], t: Array) -> Array:
    total = np.full_like(t, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * t + coefficient
    return total


def _exp(x: Array) -> Array:
    """exp for ``|x| <= 700``, within 8 u.

    ``x = k ln 2 + r``: the first difference is exact (Sterbenz), the second is off by ``|r| u + 2^-84``, so r by
    0.36 u. ``1 + (r + r^2 q(r))``: the last term is below 0.07 and has at most 29 roundings (2.1 u), the inner sum is
    below 0.42, the outer one below 1.42; the series ends 1e-19 early. All of it over ``e^r >= 0.707``: 5.6 u, and
    0.4 u from r.
    """
    k = np.rint(x * (1 / math.log(2)))
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    return np.asarray(np.ldexp(1.0 + (r + r * r * _horner(_FACTORIAL, r)), k.astype(np.int64)))


def _twice_atanh(s: Array) -> Array:
    """``log((1 + s)/(1 - s))`` for ``|s| <= 1/3``: relative error 3.4 u for an exact s (the tail: at most 0.042, with
    36 roundings 1.6 u; one sum, one product; the series ends 2e-19 early); errors of s grow by at most 1.09.
    """
    square = s * s
    return np.asarray(2.0 * s * (1.0 + square * _horner(_ODD, square)))


def _log1p(x: Array) -> Array:
    """log(1 + x) for ``0 <= x <= 1``, within 6 u: s has two roundings."""
    return _twice_atanh(x / (2.0 + x))


def _log(x: Array) -> Array:
    """log of a positive normal number, within 8 u.

    ``x = 2^k m`` with m in [0.707, 1.415): ``m - 1`` is exact, so log m is within 6 u. If k is not 0, the sum is at
    least 0.346, and what log m (at most 0.347) and the first sum lose is at most 6.4 u of it, the second sum one u.
    """
    m, k = np.frexp(x)
    low = m < math.sqrt(0.5)
    m, k = np.where(low, 2.0 * m, m), np.where(low, k - 1, k).astype(float)
    return np.asarray(k * LN2_HIGH + (k * LN2_LOW + _twice_atanh((m - 1.0) / (m + 1.0))))


def _near(x: Array) -> Array:
    return np.asarray(np.abs(x) <= FARTHEST)


def _normal(x: Array) -> Array:
    return np.asarray((x >= np.finfo(float).tiny) & (x <= np.finfo(float).max))


def _unit(x: Array) -> Array:
    return np.asarray((x >= 1e-290) & (x <= 1.0))  # below, squares of halves underflow


PROVED: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "exp": (_exp, _near),
    "log": (_log, _normal),
    "log1p": (_log1p, _unit),
}
"""Function -> its values, and where the bound of their error holds."""


def proved_ends(name: str, points: Array) -> tuple[Array, Array, Array]:
    """Ends of the values at some points and where they are proved (elsewhere they are NaN).

    Raises
    ------
    KeyError : no such function.
    """
    function, holds = PROVED[name]
    fine = holds(points)
    value = np.where(fine, function(np.where(fine, points, 1.0)), np.nan)
    room = np.abs(value) * ROOM
    return down(value - room), up(value + room), fine
