"""Polynomials times ``exp(-t^2/2)`` or a power of ``1/(1+t^2)``: a family that is closed under derivatives."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import cast

import numpy as np

from bilevel_verify.atoms import suprema
from bilevel_verify.intervals.batch import Interval, product_of_positive, square_root
from bilevel_verify.intervals.elementary import ball_ends, point_values
from bilevel_verify.intervals.powers import signed_power
from bilevel_verify.intervals.scalar_base import Critical, Scalar, point, thin, widen_by_slope
from bilevel_verify.numbers.rounding import Array, Mask, up


class WeightedPolynomial(Scalar):
    """``P(t) exp(-t^2/2)`` (kind ``gauss``) or ``P(t) (1+t^2)^(-e)`` (kind ``rational``), any rational ``P`` and ``e``.

    The derivatives keep that shape, so critical points are roots of polynomials and ranges on half lines are exact.
    """

    def __init__(self, kind: str, p: tuple[Fraction, ...], power: Fraction = Fraction(0)) -> None:
        self.kind, self.first, self.power = kind, p, power
        body = " + ".join(f"{c} t^{i}" for i, c in enumerate(p) if c)
        self.name = f"({body}) exp(-t^2/2)" if kind == "gauss" else f"({body}) (1+t^2)^(-{power / 2})"
        self._shapes: dict[int, tuple[tuple[Fraction, ...], Fraction]] = {0: (p, power)}
        self._critical: dict[int, tuple[Critical, ...]] = {}

    def shape(self, order: int) -> tuple[tuple[Fraction, ...], Fraction]:
        """Polynomial of the derivative and twice the exponent of ``1/(1+t^2)``."""
        if order not in self._shapes:
            p, power = self.shape(order - 1)
            slope = tuple(i * c for i, c in enumerate(p))[1:]
            if self.kind == "gauss":
                self._shapes[order] = _combine(slope, (Fraction(0), *p), Fraction(-1)), power
            else:
                raised = _combine(slope, (Fraction(0), Fraction(0), *slope), Fraction(1))
                self._shapes[order] = _combine(raised, (Fraction(0), *p), -power), power + 2
        return self._shapes[order]

    def prepare(self, points: Array) -> object:
        return gauss_base(points) if self.kind == "gauss" else rational_base(points)

    def at(self, order: int, t: Interval) -> Interval:
        return self.at_prepared(order, t.lo, self.prepare(t.lo))

    def at_prepared(self, order: int, points: Array, base: object) -> Interval:
        p, power = self.shape(order)
        return gauss_value(p, base) if self.kind == "gauss" else rational_value(p, power, points, base)

    def critical(self, order: int) -> tuple[Critical, ...]:
        if order not in self._critical:
            q, _ = self.shape(order + 1)
            denominator = math.lcm(*(c.denominator for c in q))
            found = []
            for a, b in suprema.real_roots(tuple(int(c * denominator) for c in q)):
                where = thin(a, b)
                with ball_ends():
                    value = widen_by_slope(order, where, self.at(order, Interval(where.lo, where.lo)))
                found.append((float(where.lo), float(where.hi), float(value.lo), float(value.hi)))
            self._critical[order] = tuple(found)
        return self._critical[order]


def gauss_base(points: Array) -> tuple[Mask, Interval, Interval]:
    """For ``P(t) exp(-t^2/2)``: which points are far out, the near ones, and the weight there.

    Beyond 60 the weight is below exp(-1800): every polynomial in use times it is below the smallest float.
    """
    far = np.abs(points) > 60.0
    near = np.where(far, 0.0, points)
    here = Interval(near, near)
    exponent = here.square() * Interval.of(-0.5)
    return far, here, point_values("exp", exponent.lo).hull(point_values("exp", exponent.hi))


def gauss_value(p: tuple[Fraction, ...], base: object) -> Interval:
    """``P(t) exp(-t^2/2)`` at prepared points."""
    far, here, weight = cast(tuple[Mask, Interval, Interval], base)
    value = rational_horner(p, here) * weight
    floor = 0.0 if len(p) == 1 and p[0] >= 0 else -1e-300
    return Interval(np.where(far, floor, value.lo), np.where(far, 1e-300, value.hi))


def rational_base(points: Array) -> tuple[Interval, Interval]:
    """``u = |t|/sqrt(1+t^2)`` and ``c = 1/sqrt(1+t^2)`` at points, both in [0, 1]."""
    size = np.minimum(np.abs(points), 1e150)
    huge = np.abs(points) > 1e150
    root = square_root(Interval.of(1.0) + Interval(size, size).square())
    inverse = root.reciprocal()
    c = Interval(np.where(huge, 0.0, np.maximum(inverse.lo, 0.0)), np.minimum(inverse.hi, 1.0))
    u = product_of_positive(Interval(size, size), inverse)
    return Interval(np.where(huge, np.nextafter(1.0, 0), u.lo), np.where(huge, 1.0, np.minimum(u.hi, 1.0))), c


def rational_value(p: tuple[Fraction, ...], power: Fraction, points: Array, base: object) -> Interval:
    """``sum_j p_j t^j (1+t^2)^(-power/2) = sum_j p_j (+-u)^j c^(power - j)``: nothing overflows for j <= power."""
    u, c = cast(tuple[Interval, Interval], base)
    negative = points < 0
    lead = signed_power(c, power - (len(p) - 1))
    shrink = [lead]  # c^(power - d), c^(power - d + 1), ... up to c^power
    for _ in range(len(p) - 1):
        shrink.append(shrink[-1] * c)
    total: Interval | None = None
    grow: Interval | None = None
    for j, coefficient in enumerate(p):
        grow = None if j == 0 else u if grow is None else product_of_positive(grow, u)
        if not coefficient:
            continue
        term = shrink[len(p) - 1 - j] if grow is None else grow * shrink[len(p) - 1 - j]
        if coefficient != 1:
            term = term * point(coefficient)
        if j % 2:
            term = Interval(np.where(negative, -term.hi, term.lo), np.where(negative, -term.lo, term.hi))
        total = term if total is None else total + term
    return Interval(np.zeros_like(points), np.zeros_like(points)) if total is None else total


def hypot(points: Array) -> Interval:
    size = np.minimum(np.abs(points), 1e150)
    root = square_root(Interval.of(1.0) + Interval(size, size).square())
    far = np.abs(points) > 1e150
    return Interval(
        np.where(far, np.abs(points), root.lo),
        np.where(far, np.where(np.isinf(points), np.inf, up(np.abs(points))), root.hi),
    )


def rational_horner(p: tuple[Fraction, ...], s: Interval) -> Interval:
    """A rational polynomial at thin intervals."""
    total = Interval(np.zeros_like(s.lo), np.zeros_like(s.hi)) + point(p[-1])
    for coefficient in reversed(p[:-1]):
        total = total * s
        if coefficient:
            total = total + point(coefficient)
    return total


def _combine(p: tuple[Fraction, ...], q: tuple[Fraction, ...], factor: Fraction) -> tuple[Fraction, ...]:
    size = max(len(p), len(q))
    zero = Fraction(0)
    out = [(p[i] if i < len(p) else zero) + factor * (q[i] if i < len(q) else zero) for i in range(size)]
    while len(out) > 1 and out[-1] == 0:
        out.pop()
    return tuple(out)
