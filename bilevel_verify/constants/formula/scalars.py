"""Ranges of one-variable functions that are not atoms: subdivided interval jets, adaptively for single intervals."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import balls_in_use, fast_ends
from bilevel_verify.intervals.jet_arithmetic import JetArithmetic
from bilevel_verify.intervals.jets import coefficients_of
from bilevel_verify.intervals.scalar import Direct
from bilevel_verify.numbers.rounding import Array, Mask

PIECES = 8
"""Equal pieces of every interval of a batch."""
MOST_PIECES, MOST_KEPT = 600, 2000
"""An interval with more pieces is cut no further; intervals of one function whose pieces are remembered."""
Ends = tuple[float, float]
Whole = NDArray[np.int64]


class CompositeScalar(Direct):
    """A function of one variable given by a formula in ``t``.

    A batch of boxes is bounded piecewise (8 pieces each interval); the intervals of a single box, possibly the whole
    line, are bounded adaptively to a relative accuracy of 1e-5 of their own range.
    """

    def __init__(self, expression: sympy.Expr, t: sympy.Symbol) -> None:
        from bilevel_verify.symbolic.program import program_of

        self.expression, self.variable = expression, t
        self.name = str(expression)
        self.program = program_of(expression, [t])
        self.partitions: dict[tuple[int, float, float], tuple[Array, Array]] = {}
        self.cache: dict[tuple[int, float, float, bool], Ends] = {}

    def range(self, order: int, t: Interval) -> Interval:
        shape = np.shape(t.lo)
        lo, hi = np.ravel(t.lo), np.ravel(t.hi)
        total: Interval | None = None
        if shape[:1] in ((), (1,)):
            total = self._each(order, lo, hi)
        else:
            thin = bool((lo == hi).all())
            for left, right in itertools.pairwise([lo, hi] if thin else _edges(lo, hi)):
                piece = self._bounds(order, left, right)
                total = piece if total is None else total.hull(piece)
        assert total is not None
        return Interval(total.lo.reshape(shape), total.hi.reshape(shape))

    def _bounds(self, order: int, lo: Array, hi: Array) -> Interval:
        arithmetic = JetArithmetic(1, order)
        jet = self.program.run(arithmetic, arithmetic.variables(lo[:, None], hi[:, None]))[0]
        row = coefficients_of(jet, order)
        return Interval(np.broadcast_to(row.lo[0], lo.shape), np.broadcast_to(row.hi[0], lo.shape))

    def _each(self, order: int, lo: Array, hi: Array) -> Interval:
        """A few intervals, each adaptively."""
        ends = list(zip(lo.tolist(), hi.tolist()))
        balls = balls_in_use()
        if len(self.partitions) + len(ends) > MOST_KEPT:
            self.partitions.clear()
            self.cache.clear()
        missing = [pair for pair in dict.fromkeys(ends) if (order, *pair, balls) not in self.cache]
        if missing:
            found = self._adaptive(order, missing)
            self.cache.update({(order, *pair, balls): value for pair, value in zip(missing, found)})
        values = np.array([self.cache[order, *pair, balls] for pair in ends]).reshape(-1, 2)
        return Interval(values[:, 0], values[:, 1])

    def _adaptive(self, order: int, ends: list[Ends]) -> list[Ends]:
        """Partitions found with fast arithmetic; bounded once more in the arithmetic that is asked for."""
        missing = [pair for pair in ends if (order, *pair) not in self.partitions]
        if missing:
            with fast_ends():
                found = self._partition(order, missing)
            self.partitions.update({(order, *pair): cut for pair, cut in zip(missing, found)})
        cuts = [self.partitions[order, *pair] for pair in ends]
        starts = np.cumsum([0, *(len(left) for left, _ in cuts[:-1])])
        bounds = self._bounds(order, *(np.concatenate(side) for side in zip(*cuts)))
        low, high = np.minimum.reduceat(bounds.lo, starts), np.maximum.reduceat(bounds.hi, starts)
        return list(zip(low.tolist(), high.tolist()))

    def _partition(self, order: int, ends: list[Ends]) -> list[tuple[Array, Array]]:
        """Subdivide whatever decides one of the two ends, until both are known to 1e-5 of the range or 600 pieces;
        every interval for itself, all in one batch.
        """
        cuts = [_first_cut(lo, hi) if lo < hi else (np.array([lo]), np.array([hi])) for lo, hi in ends]
        left, right = (np.concatenate(side) for side in zip(*cuts))
        owner = np.repeat(np.arange(len(ends)), [len(first) for first, _ in cuts])
        bounds = self._bounds(order, left, right)
        for _ in range(30):
            middle = _middles(left, right)
            active = self._decisive(bounds, self._bounds(order, middle, middle), owner, len(ends))
            active &= (right - left > 1e-9 * np.maximum(1.0, np.abs(left))) & (
                np.minimum(np.abs(left), np.abs(right)) < 1e9
            )
            active &= np.bincount(owner, minlength=len(ends))[owner] <= MOST_PIECES
            if not active.any():
                break
            new_left = np.concatenate([left[active], middle[active]])
            new_right = np.concatenate([middle[active], right[active]])
            fresh = self._bounds(order, new_left, new_right)
            left, right = np.concatenate([left[~active], new_left]), np.concatenate([right[~active], new_right])
            owner = np.concatenate([owner[~active], owner[active], owner[active]])
            bounds = Interval(
                np.concatenate([bounds.lo[~active], fresh.lo]), np.concatenate([bounds.hi[~active], fresh.hi])
            )
        return [(left[owner == number], right[owner == number]) for number in range(len(ends))]

    @staticmethod
    def _decisive(bounds: Interval, seen: Interval, owner: Whole, count: int) -> Mask:
        """Pieces whose bounds leave the range of what was seen in their interval by more than 1e-5 of it."""
        low, high = np.full(count, np.inf), np.full(count, -np.inf)
        np.minimum.at(low, owner, seen.hi)
        np.maximum.at(high, owner, seen.lo)
        with np.errstate(invalid="ignore"):
            sizes = [high - low, np.abs(high), np.abs(low), np.full(count, 1e-12)]
            room = 1e-5 * np.maximum.reduce(sizes)
        room = np.where(np.isfinite(room), room, 0.0)
        return (bounds.lo < (low - room)[owner]) | (bounds.hi > (high + room)[owner])


@lru_cache(maxsize=512)
def composite(expression: sympy.Expr, t: sympy.Symbol) -> CompositeScalar:
    """The function of a formula, one object with what it has found for all ridges that have it."""
    return CompositeScalar(expression, t)


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
