"""Sine, cosine, exponentials and tangent: ranges of all derivatives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bilevel_verify.atoms import suprema
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import point_values
from bilevel_verify.intervals.scalar_base import PI, Critical, Direct, Scalar, horner


class Trigonometric(Direct):
    """``sin`` (shift 0) and ``cos`` (shift 1); every derivative is a sine with another phase."""

    def __init__(self, name: str) -> None:
        self.name, self.shift = name, {"sin": 0, "cos": 1}[name]

    def range(self, order: int, t: Interval) -> Interval:
        return self.ranges((order,), t)[0]

    def ranges(self, orders: Sequence[int], t: Interval) -> list[Interval]:
        known: dict[bool, Interval] = {}
        out = []
        for order in orders:
            phase = (self.shift + order) % 4
            cosine = phase % 2 == 1
            if cosine not in known:
                known[cosine] = sine_range(t, cosine)
            out.append(-known[cosine] if phase >= 2 else known[cosine])
        return out


def sine_range(t: Interval, cosine: bool) -> Interval:
    """Range of sine or cosine on intervals: end points, and 1 / -1 wherever a crest / trough may lie inside."""
    name = "cos" if cosine else "sin"
    with np.errstate(invalid="ignore", over="ignore"):
        wide = ~((t.hi - t.lo) < 6.283) | (t.lo < -1e8) | (t.hi > 1e8)
    lo, hi = np.where(wide, 0.0, t.lo), np.where(wide, 0.0, t.hi)
    left, right = point_values(name, lo), point_values(name, hi)
    low, high = np.minimum(left.lo, right.lo), np.maximum(left.hi, right.hi)
    offset = 0.0 if cosine else 0.25
    # crest at t = 2 pi (n + offset), trough half a period later; the slack covers every rounding for |t| <= 1e8
    for shift, is_crest in ((offset, True), (offset + 0.5, False)):
        first, last = lo / (2 * PI) - shift, hi / (2 * PI) - shift
        inside = np.floor(last + 1e-7) >= np.ceil(first - 1e-7)
        if is_crest:
            high = np.where(inside, 1.0, high)
        else:
            low = np.where(inside, -1.0, low)
    return Interval(np.where(wide, -1.0, low), np.where(wide, 1.0, high))


class Exponential(Scalar):
    """``exp``, ``sinh``, ``cosh``: derivatives alternate between two functions, monotone or even."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _which(self, order: int) -> str:
        if self.name == "exp":
            return "exp"
        return ("sinh", "cosh")[(order + (self.name == "cosh")) % 2]

    def at(self, order: int, t: Interval) -> Interval:
        left, right = point_values(self._which(order), t.lo), point_values(self._which(order), t.hi)
        return left.hull(right)

    def critical(self, order: int) -> tuple[Critical, ...]:
        return ((0.0, 0.0, 1.0, 1.0),) if self._which(order) == "cosh" else ()


class Tangent(Scalar):
    """``tan`` on ``(-pi/2, pi/2)`` (other branches are not resolved: the whole line)."""

    name = "tan"
    domain = (-PI / 2, PI / 2)

    def at(self, order: int, t: Interval) -> Interval:
        s = point_values("tan", t.lo)
        p: tuple[int, ...] = (0, 1)
        for _ in range(order):
            p = suprema._product(suprema._derivative(p), (1, 0, 1))
        return horner(p, s)

    def critical(self, order: int) -> tuple[Critical, ...]:
        if order == 0:
            return ()
        value = self.at(order, Interval.of(np.zeros(())))
        return ((0.0, 0.0, float(value.lo), float(value.hi)),)
