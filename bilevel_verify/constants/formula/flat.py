"""Functions that vanish to infinite order at a point: ``exp(A - B/(t - t0)^p)``, p = 1 or 2, on one side of ``t0``.

With ``s = 1/(t - t0)`` the derivatives are ``P_k(s) exp(-B s^p)``, ``P_(k+1) = -s^2 (P_k' - B p s^(p-1) P_k)``:
bounded on the whole side, exact ranges from the roots of polynomials.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import sympy
from sympy import Expr

from bilevel_verify.atoms.suprema import real_roots
from bilevel_verify.intervals.batch import Interval, integer_power
from bilevel_verify.intervals.elementary import ball_ends, point_values
from bilevel_verify.intervals.rounding import Array, enclose, float_above, float_below
from bilevel_verify.intervals.scalar import Direct, point, rational_horner

Polynomial = tuple[Fraction, ...]


class FlatScalar(Direct):
    """``factor * exp(-B / (t - t0)^p)`` on a closed side of ``t0`` (value 0 at ``t0``)."""

    def __init__(self, factor: Expr, strength: Fraction, start: Fraction, power: int) -> None:
        self.factor = Interval(*(np.asarray(v) for v in enclose(factor)))
        self.strength, self.start, self.power = strength, start, power
        self.name = f"{factor}*exp(-{strength}/(t - {start})^{power})"
        self._shapes: list[Polynomial] = [(Fraction(1),)]
        self._turns: dict[int, list[tuple[float, float, float, float]]] = {}

    def shape(self, order: int) -> Polynomial:
        """``P_order``."""
        while len(self._shapes) <= order:
            p = self._shapes[-1]
            slope = [i * c for i, c in enumerate(p)][1:] or [Fraction(0)]
            shifted = [Fraction(0)] * (self.power - 1) + [self.strength * self.power * c for c in p]
            size = max(len(slope), len(shifted))
            inner = [(slope[i] if i < len(slope) else 0) - (shifted[i] if i < len(shifted) else 0) for i in range(size)]
            self._shapes.append((Fraction(0), Fraction(0), *[-Fraction(c) for c in inner]))
        return self._shapes[order]

    def range(self, order: int, t: Interval) -> Interval:
        gap = t - point(self.start)
        touching = (t.lo <= float_above(self.start)) & (t.hi >= float_below(self.start))
        # one side only: distances of the wrong sign are rounding of the joint itself
        right = gap.hi >= -gap.lo
        near = np.where(right, np.maximum(gap.lo, 0.0), np.minimum(gap.hi, 0.0))
        far = np.where(right, gap.hi, gap.lo)
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.where(near == 0, np.where(right, np.inf, -np.inf), 1.0 / near)
            second = np.where(np.isinf(far), 0.0, 1.0 / np.where(far == 0, np.nan, far))
        second = np.where(np.isnan(second), first, second)
        low, high = np.minimum(first, second), np.maximum(first, second)
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        value = self._over(order, low, high)
        lo = np.where(touching, np.minimum(value.lo, 0.0), value.lo)
        return Interval(lo, np.where(touching, np.maximum(value.hi, 0.0), value.hi)) * self.factor

    def _over(self, order: int, low: Array, high: Array) -> Interval:
        left, right = self._at(order, low), self._at(order, high)
        lo, hi = np.minimum(left.lo, right.lo), np.maximum(left.hi, right.hi)
        for a, b, bottom, top in self._critical(order):
            inside = (low <= b) & (high >= a)
            lo = np.where(inside, np.minimum(lo, bottom), lo)
            hi = np.where(inside, np.maximum(hi, top), hi)
        return Interval(lo, hi)

    def _at(self, order: int, s: Array) -> Interval:
        """Enclosure at float points of ``s``; beyond ``B |s|^p = 2000`` everything is below the smallest float."""
        limit = (2000.0 / float(self.strength)) ** (1 / self.power)
        gone = np.abs(s) > limit
        near = np.where(gone, 0.0, s)
        here = Interval(near, near)
        exponent = -(integer_power(here, self.power) * point(self.strength))
        if self.power == 1:
            exponent = Interval(np.minimum(exponent.lo, 0.0), np.minimum(np.maximum(exponent.hi, exponent.lo), 0.0))
        weight = Interval(point_values("exp", exponent.lo).lo, point_values("exp", exponent.hi).hi)
        value = rational_horner(self.shape(order), here) * weight
        return Interval(np.where(gone, -1e-300, value.lo), np.where(gone, 1e-300, value.hi))

    def _critical(self, order: int) -> list[tuple[float, float, float, float]]:
        if order not in self._turns:
            q = self.shape(order + 1)
            denominator = math.lcm(*(c.denominator for c in q))
            found = []
            for a, b in real_roots(tuple(int(c * denominator) for c in q)):
                lo, hi = float_below(a), float_above(b)
                with ball_ends():
                    value = self._at(order, np.asarray(lo)).hull(self._at(order, np.asarray(hi)))
                room = 1e-12 * float(value.magnitude()) + 1e-300
                found.append((lo, hi, float(value.lo) - room, float(value.hi) + room))
            self._turns[order] = found
        return self._turns[order]


def flat_branch(branch: Expr, t: sympy.Symbol) -> FlatScalar | None:
    """Recognise ``c exp(A - B/(t - t0)^p)``."""
    constant, core = branch.as_independent(t, as_Add=False)
    if not isinstance(core, sympy.exp):
        return None
    exponent = sympy.together(core.args[0])
    top, bottom = sympy.fraction(exponent)
    if not (top.is_polynomial(t) and bottom.is_polynomial(t)):
        return None
    degrees = sympy.Poly(top, t).degree(), sympy.Poly(bottom, t).degree()
    if degrees[0] > degrees[1] or degrees[1] < 1:
        return None
    shift = sympy.Poly(top, t).coeff_monomial(t ** degrees[1]) / sympy.Poly(bottom, t).LC()
    inverse = sympy.cancel(1 / sympy.cancel(exponent - shift))
    if not inverse.is_polynomial(t):
        return None
    coefficients = sympy.Poly(inverse, t).all_coeffs()
    power = len(coefficients) - 1
    if power not in (1, 2) or not all(c.is_Rational for c in coefficients) or coefficients[0] >= 0:
        return None
    start = -coefficients[1] / (power * coefficients[0])
    if sympy.expand(inverse - coefficients[0] * (t - start) ** power) != 0:
        return None
    strength = -1 / coefficients[0]
    return FlatScalar(
        constant * sympy.exp(shift),
        Fraction(int(strength.p), int(strength.q)),
        Fraction(int(start.p), int(start.q)),
        power,
    )
