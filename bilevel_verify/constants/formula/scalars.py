"""Ranges of one-variable functions that are not atoms: subdivided interval jets, adaptively for single intervals."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
import sympy

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import balls_in_use, fast_ends
from bilevel_verify.intervals.jet_arithmetic import JetArithmetic
from bilevel_verify.intervals.jets import coefficients_of
from bilevel_verify.intervals.scalar import Direct
from bilevel_verify.numbers.rounding import Array

PIECES = 8
"""Equal pieces of every interval of a batch."""


class CompositeScalar(Direct):
    """A function of one variable given by a formula in ``t``.

    A batch of intervals is bounded piecewise (8 pieces each); a single interval, possibly the whole line, is bounded
    adaptively to a relative accuracy of 1e-5 of its own range.
    """

    def __init__(self, expression: sympy.Expr, t: sympy.Symbol) -> None:
        from bilevel_verify.symbolic.program import program_of

        self.expression, self.variable = expression, t
        self.name = str(expression)
        self.program = program_of(expression, [t])
        self.partitions: dict[tuple[int, float, float], tuple[Array, Array]] = {}
        self.cache: dict[tuple[int, float, float, bool], tuple[float, float]] = {}

    def range(self, order: int, t: Interval) -> Interval:
        lo, hi = np.atleast_1d(t.lo), np.atleast_1d(t.hi)
        if lo.size == 1:
            low, high = self._single(order, float(lo[0]), float(hi[0]))
            return Interval(np.full(t.lo.shape, low), np.full(t.hi.shape, high))
        thin = bool((lo == hi).all())
        edges = [lo, hi] if thin else _edges(lo, hi)
        total: Interval | None = None
        for left, right in itertools.pairwise(edges):
            piece = self._bounds(order, left, right)
            total = piece if total is None else total.hull(piece)
        assert total is not None
        return Interval(total.lo.reshape(t.lo.shape), total.hi.reshape(t.hi.shape))

    def _bounds(self, order: int, lo: Array, hi: Array) -> Interval:
        arithmetic = JetArithmetic(1, order)
        jet = self.program.run(arithmetic, arithmetic.variables(lo[:, None], hi[:, None]))[0]
        row = coefficients_of(jet, order)
        return Interval(np.broadcast_to(row.lo[0], lo.shape), np.broadcast_to(row.hi[0], lo.shape))

    def _single(self, order: int, lo: float, hi: float) -> tuple[float, float]:
        key = (order, lo, hi, balls_in_use())
        if key not in self.cache:
            if lo == hi:
                thin = self._bounds(order, np.array([lo]), np.array([hi]))
                self.cache[key] = float(thin.lo[0]), float(thin.hi[0])
            else:
                self.cache[key] = self._adaptive(order, lo, hi)
        return self.cache[key]

    def _adaptive(self, order: int, lo: float, hi: float) -> tuple[float, float]:
        """Partition found with fast arithmetic; bounded once more in the arithmetic that is asked for."""
        key = (order, lo, hi)
        if key not in self.partitions:
            with fast_ends():
                self.partitions[key] = self._partition(order, lo, hi)
        left, right = self.partitions[key]
        bounds = self._bounds(order, left, right)
        return float(bounds.lo.min()), float(bounds.hi.max())

    def _partition(self, order: int, lo: float, hi: float) -> tuple[Array, Array]:
        """Subdivide whatever decides one of the two ends, until both are known to 1e-5 of the range or 600 pieces."""
        left, right = _first_cut(lo, hi)
        bounds = self._bounds(order, left, right)
        for _ in range(30):
            middle = _middles(left, right)
            seen = self._bounds(order, middle, middle)
            reached_low, reached_high = float(seen.hi.min()), float(seen.lo.max())
            room = 1e-5 * max(reached_high - reached_low, abs(reached_high), abs(reached_low), 1e-12)
            room = room if math.isfinite(room) else 0.0
            active = (bounds.lo < reached_low - room) | (bounds.hi > reached_high + room)
            active &= (right - left > 1e-9 * np.maximum(1.0, np.abs(left))) & (
                np.minimum(np.abs(left), np.abs(right)) < 1e9
            )
            if not active.any() or len(left) > 600:
                break
            new_left = np.concatenate([left[active], middle[active]])
            new_right = np.concatenate([middle[active], right[active]])
            fresh = self._bounds(order, new_left, new_right)
            left, right = np.concatenate([left[~active], new_left]), np.concatenate([right[~active], new_right])
            bounds = Interval(
                np.concatenate([bounds.lo[~active], fresh.lo]), np.concatenate([bounds.hi[~active], fresh.hi])
            )
        return left, right


@lru_cache(maxsize=512)
def _ladder() -> tuple[float, ...]:
    steps = [0.0] + [8.0**k for k in range(-1, 6)] + [1e8, math.inf]
    return tuple([-s for s in reversed(steps[1:])] + steps)


def _first_cut(lo: float, hi: float) -> tuple[Array, Array]:
    marks = [m for m in _ladder() if lo < m < hi] if math.isinf(hi - lo) else []
    if not marks:
        edges = np.linspace(lo, hi, 17)
        edges[0], edges[-1] = lo, hi
    else:
        edges = np.array([lo, *marks, hi])
    return edges[:-1], edges[1:]


def _middles(left: Array, right: Array) -> Array:
    with np.errstate(invalid="ignore"):
        middle = 0.5 * left + 0.5 * right
        middle = np.where(np.isposinf(right), np.maximum(8 * left, 8.0), middle)
        return np.where(np.isneginf(left), np.minimum(8 * right, -8.0), middle)


def _edges(lo: Array, hi: Array) -> list[Array]:
    finite = np.isfinite(lo) & np.isfinite(hi)
    with np.errstate(invalid="ignore"):
        inner = [np.where(finite, np.clip(lo + (hi - lo) * (k / PIECES), lo, hi), hi) for k in range(1, PIECES)]
    return [lo, *inner, hi]
