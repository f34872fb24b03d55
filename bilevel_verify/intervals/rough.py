"""Atoms of limited smoothness, ``psi_nu`` and Huber, and derivatives of atoms as functions of their own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from bilevel_verify.intervals.batch import Interval, clean
from bilevel_verify.intervals.powers import signed_power
from bilevel_verify.intervals.scalar_base import Critical, Direct, Scalar, point
from bilevel_verify.numbers.rounding import Array, Mask


class Psi(Direct):
    """The period-4 function of exponent ``nu`` whose third derivative is ``sgn(s)|s|^nu``, s a triangle wave.

    (ragd-gs, numerical section.) ``psi, psi', psi'', psi'''`` are monotone between integers.
    """

    def __init__(self, nu: Fraction) -> None:
        self.nu = nu
        self.name = f"psi_{nu}"
        self.smooth = 3

    def at(self, order: int, t: Interval) -> Interval:
        return self._at_points(order, t.lo)

    def _at_points(self, order: int, points: Array) -> Interval:
        infinite = ~np.isfinite(points) | (np.abs(points) > 1e12)
        safe = np.where(infinite, 0.0, points)
        with np.errstate(invalid="ignore"):
            # exact: fmod of floats is exact, and the shift by 1 is done on the reduced argument
            reduced = np.fmod(safe, 4.0)
            reduced = np.where(reduced < 0, reduced + 4.0, reduced)  # rounding here is covered below
        wave, rising = self._triangle(reduced)
        value = self._value(order, wave, rising)
        return clean(np.where(infinite, -np.inf, value.lo), np.where(infinite, np.inf, value.hi))

    @staticmethod
    def _triangle(reduced: Array) -> tuple[Interval, Mask]:
        """Triangle wave of arguments in [0, 4]: t on [0,1], 2-t on [1,3], t-4 on [3,4], with a step of slack."""
        falling = (reduced >= 1) & (reduced <= 3)
        late = reduced > 3
        s = np.where(falling, 2.0 - reduced, np.where(late, reduced - 4.0, reduced))
        slack = np.where(reduced == np.round(reduced), 0.0, 1e-15)
        return Interval(np.maximum(s - slack, -1.0), np.minimum(s + slack, 1.0)), ~falling

    def _value(self, order: int, s: Interval, rising: Mask) -> Interval:
        nu = self.nu
        size = s.absolute()
        sign_positive, sign_negative = s.lo >= 0, s.hi <= 0

        def odd(v: Interval) -> Interval:
            low = np.where(sign_positive, v.lo, -v.hi)
            high = np.where(sign_negative, -v.lo, v.hi)
            return Interval(low, high)

        def signed(v: Interval) -> Interval:
            return Interval(np.where(rising, v.lo, -v.hi), np.where(rising, v.hi, -v.lo))

        if order == 3:
            if nu == 0:
                return Interval(np.where(s.lo > 0, 1.0, -1.0), np.where(s.hi < 0, -1.0, 1.0))
            return odd(_unit_power(size, nu))
        if order == 2:
            return signed((_unit_power(size, 1 + nu) - Interval.of(1.0)) * point(1 / (1 + nu)))
        if order == 1:
            return odd(_unit_power(size, 2 + nu)) * point(1 / ((1 + nu) * (2 + nu))) - s * point(1 / (1 + nu))
        if order == 0:
            return self._zeroth(size, rising)
        # order 4 and more: not bounded near the zeros of s for nu < 1
        if order == 4 and nu == 1:
            return signed(Interval(np.ones_like(s.lo), np.ones_like(s.hi)))
        return Interval(np.full_like(s.lo, -np.inf), np.full_like(s.hi, np.inf))

    def _zeroth(self, size: Interval, rising: Mask) -> Interval:
        nu = self.nu
        first, second = 1 / ((1 + nu) * (2 + nu) * (3 + nu)), Fraction(1, 2) / (1 + nu)
        value = _unit_power(size, 3 + nu) * point(first) - size.square() * point(second)
        flipped = point(2 * (first - second)) - value
        return Interval(np.where(rising, value.lo, flipped.lo), np.where(rising, value.hi, flipped.hi))

    def range(self, order: int, t: Interval) -> Interval:
        if order == 4 and self.nu == 1:
            return Interval(np.full_like(t.lo, -1.0), np.full_like(t.hi, 1.0))
        with np.errstate(invalid="ignore"):
            wide = ~((t.hi - t.lo) < 4.0) | (t.lo < -1e9) | (t.hi > 1e9)
        lo, hi = np.where(wide, 0.0, t.lo), np.where(wide, 0.0, t.hi)
        value = self._at_points(order, lo).hull(self._at_points(order, hi))
        low, high = value.lo, value.hi
        for j in range(4):
            inside = np.floor((hi - j) / 4 + 1e-9) >= np.ceil((lo - j) / 4 - 1e-9)
            there = self._at_points(order, np.asarray(float(j)))
            low = np.where(inside | wide, np.minimum(low, there.lo), low)
            high = np.where(inside | wide, np.maximum(high, there.hi), high)
        return Interval(low, high)


class Huber(Direct):
    """``t^2/2`` for ``|t| <= delta``, ``delta |t| - delta^2/2`` outside: the second derivative jumps at ``+-delta``."""

    smooth = 1

    def __init__(self, delta: Fraction) -> None:
        self.delta, self.name = delta, f"Huber_{delta}"

    def range(self, order: int, t: Interval) -> Interval:
        d = point(self.delta)
        if order == 1:
            return Interval(np.clip(t.lo, -d.hi, d.lo), np.clip(t.hi, -d.lo, d.hi))  # delta need not be a float
        if order == 2:
            wholly_inside = (t.lo > -d.hi) & (t.hi < d.hi)
            touches = (t.lo <= d.lo) & (t.hi >= -d.lo)
            return Interval(np.where(wholly_inside, 1.0, 0.0), np.where(touches, 1.0, 0.0))
        if order > 2:
            kink = ((t.lo <= d.lo) & (t.hi >= d.hi)) | ((t.lo <= -d.hi) & (t.hi >= -d.lo))
            return Interval(np.where(kink, -np.inf, 0.0), np.where(kink, np.inf, 0.0))
        size = t.absolute()
        return Interval(self._value(size.lo, d).lo, self._value(size.hi, d).hi)

    @staticmethod
    def _value(size: Array, d: Interval) -> Interval:
        here = Interval(size, size)
        inner = here.square() * Interval.of(0.5)
        outer = d * here - d.square() * Interval.of(0.5)
        return Interval(
            np.where(size <= d.lo, inner.lo, outer.lo),
            np.where(size <= d.lo, inner.hi, np.where(np.isinf(size), np.inf, outer.hi)),
        )

    def at(self, order: int, t: Interval) -> Interval:
        return self.range(order, t)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return ()


class Derived(Direct):
    """The derivative of another scalar function, as a function of its own."""

    def __init__(self, base: Scalar, order: int) -> None:
        self.base, self.order = base, order
        self.name, self.domain = f"{base.name}^({order})", base.domain
        self.smooth = base.smooth - order

    def range(self, order: int, t: Interval) -> Interval:
        return self.base.range(order + self.order, t)

    def ranges(self, orders: Sequence[int], t: Interval) -> list[Interval]:
        return self.base.ranges([order + self.order for order in orders], t)

    def at(self, order: int, t: Interval) -> Interval:
        return self.base.at(order + self.order, t)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return self.base.critical(order + self.order)


def _unit_power(size: Interval, exponent: Fraction) -> Interval:
    """``s^q`` for s in [0, 1], q > 0: monotone."""
    value = signed_power(size, exponent)
    return Interval(value.lo, np.minimum(value.hi, 1.0))
