"""What the interval tests compare with: fractions and 60 digits, without slack."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isinf, nextafter

import mpmath
import numpy as np

from bilevel_verify.intervals.batch import Interval

DIGITS = 60


def rational(value):
    """A float, Fraction or mpmath number as an exact Fraction (infinities stay floats)."""
    if isinstance(value, Fraction | int):
        return Fraction(value)
    if isinstance(value, mpmath.mpf):
        if mpmath.isinf(value):
            return float(value)
        sign, mantissa, exponent, _ = value._mpf_
        return (-1 if sign else 1) * Fraction(int(mantissa)) * Fraction(2) ** exponent
    return float(value) if isinf(value) else Fraction(float(value))


def encloses(found, low, high, *, steps=3, relative=0.0, absolute=0.0, rows=None):
    """Assert, row by row and without slack, that ``found`` contains [low, high] and is not much wider.

    ``steps`` floats of room are allowed on either side, and beyond them ``relative`` and ``absolute``.
    """
    ends = zip(np.atleast_1d(found.lo).tolist(), np.atleast_1d(found.hi).tolist(), low, high, strict=True)
    for k, (lo, hi, least, most) in enumerate(ends):
        where = (k, lo, hi, float(least), float(most), None if rows is None else rows[k])
        least, most = rational(least), rational(most)
        assert lo <= hi, where  # not a NaN
        assert rational(lo) <= least, where
        assert rational(hi) >= most, where
        room = absolute + relative * max(abs(float(least)), abs(float(most)))
        below, above = _float(least) - room, _float(most) + room
        for _ in range(steps):
            below, above = nextafter(below, -inf), nextafter(above, inf)
        assert lo >= below, ("too low", *where)
        assert hi <= above, ("too high", *where)


def _float(value):
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def floats(seed, count):
    """Random floats of both signs and of many sizes, subnormal and large ones, integers and zeros among them."""
    generator = np.random.default_rng(seed)
    usual = generator.normal(size=count) * 10.0 ** generator.integers(-4, 5, size=count)
    edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        3.0,
        -7.0,
        5e-324,
        -5e-324,
        3e-310,
        -3e-310,
        1e-160,
        -1e-160,
        1e150,
        -1e150,
        1e-8,
        0.1,
    ]
    values = np.concatenate([usual, generator.choice(edges, size=count)])
    return generator.permutation(values)


def intervals(seed, count, thin=True):
    """Random intervals of such floats; a quarter of them points."""
    values = floats(seed, count)
    lo, hi = np.minimum(values[:count], values[count:]), np.maximum(values[:count], values[count:])
    if thin:
        hi[: count // 4] = lo[: count // 4]
    return Interval(lo, hi)


def fractions(array):
    return [Fraction(float(value)) for value in np.atleast_1d(array)]
