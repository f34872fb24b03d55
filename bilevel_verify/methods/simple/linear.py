"""Linear minimisation over every feasible set, alone and cut by one half-space, with a dual value that proves it.

``min <p, s>`` over Z and ``<c, s> <= b`` has the dual ``max over m >= 0 of min_Z <p + m c, s> - m b``; the gap between
the two is returned. Sets given by ranges of coordinates (after a change of coordinates for the isotonic cone, whose
points are non-negative combinations of tails of ones and any multiple of all ones) are solved by walking along the
breakpoints of the dual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import InfeasibleError, InputError, MathematicalError
from bilevel_verify.methods.simple.geometry import linear_minimum, linear_minimum_with_cut
from bilevel_verify.problems.feasible import (
    Ball,
    Box,
    FeasibleSet,
    HalfSpace,
    Isotonic,
    L1Ball,
    Orthant,
    Simplex,
    WholeSpace,
)
from bilevel_verify.truth.sets.projections import bounds

FloatArray = NDArray[np.float64]
ZERO = 1e-13
"""Relative size below which a reduced cost counts as zero."""


@dataclass(frozen=True, slots=True)
class LinearMinimum:
    """A minimiser of ``<p, s>`` with its value and the distance to a dual value (zero up to rounding)."""

    point: FloatArray
    value: float
    gap: float


def minimise_linear(
    feasible: FeasibleSet, p: ArrayLike, normal: ArrayLike | None = None, offset: float = 0.0
) -> LinearMinimum:
    """``argmin <p, s>`` over the set, intersected with ``<normal, s> <= offset`` if a normal is given.

    Raises
    ------
    MathematicalError : the minimum is minus infinity.
    InfeasibleError : the intersection is empty.
    InputError : an intersection of sets, for which no linear minimisation is known.
    """
    cost = np.asarray(p, dtype=float).reshape(-1)
    n = cost.size
    c = np.zeros(n) if normal is None else np.asarray(normal, dtype=float).reshape(-1)
    b = 0.0 if normal is None else float(offset)
    if c.shape != cost.shape or not np.all(np.isfinite(np.r_[cost, c, b])):
        raise InputError("linear minimisation needs a cost and a normal of one length, all finite")
    if not np.any(c) and b < 0:
        raise InfeasibleError(f"the cut 0 <= {b:g} has no point")
    match feasible:
        case WholeSpace() | Box() | Orthant():
            low, high = (np.full(n, -np.inf), np.full(n, np.inf))
            if not isinstance(feasible, WholeSpace):
                low, high = bounds(feasible, n)
            point, m = over_ranges(low, high, cost, c, b)
        case Isotonic():
            low = np.r_[-np.inf, np.zeros(n - 1)]
            weights, m = over_ranges(low, np.full(n, np.inf), _tails(cost), _tails(c), b)
            point = np.cumsum(weights)
        case HalfSpace():
            point, m = _over_half_spaces(np.asarray(feasible.normal, dtype=float), float(feasible.offset), cost, c, b)
        case Ball() | Simplex() | L1Ball():
            point = linear_minimum_with_cut(feasible, cost, c, b) if np.any(c) else linear_minimum(feasible, cost)
            m = _multiplier(feasible, cost, c, b)
        case _:
            raise InputError(f"no linear minimisation over {feasible.describe()} is known")
    value = float(cost @ point)
    return LinearMinimum(point, value, value - (least(feasible, cost + m * c) - m * b))


def least(feasible: FeasibleSet, q: FloatArray) -> float:
    """``min_Z <q, s>``, reduced costs that are rounding taken as zero; minus infinity where there is no minimum."""
    n, size = q.size, ZERO * (1.0 + float(np.max(np.abs(q), initial=0.0)))
    match feasible:
        case WholeSpace():
            return 0.0 if np.all(np.abs(q) <= size) else -np.inf
        case Box() | Orthant():
            return _least_of_ranges(*bounds(feasible, n), q, size)
        case Isotonic():
            return _least_of_ranges(np.r_[-np.inf, np.zeros(n - 1)], np.full(n, np.inf), _tails(q), n * size)
        case HalfSpace():
            a = np.asarray(feasible.normal, dtype=float)
            t = -float(a @ q) / float(a @ a)
            flat = np.linalg.norm(q + t * a) <= n * size and t >= -size
            return -t * float(feasible.offset) if flat else -np.inf
        case Ball():
            center = np.zeros(n) if feasible.center is None else np.asarray(feasible.center, dtype=float)
            return float(q @ center) - float(feasible.radius) * float(np.linalg.norm(q))
        case Simplex():
            return float(feasible.total) * float(np.min(q))
        case L1Ball():
            return -float(feasible.radius) * float(np.max(np.abs(q)))
    raise InputError(f"no linear minimisation over {feasible.describe()} is known")


def _least_of_ranges(low: FloatArray, high: FloatArray, q: FloatArray, size: float) -> float:
    ends = np.where(q > 0, low, high)
    flat = (np.abs(q) <= size) & ~np.isfinite(ends)
    return float(np.sum(np.where(flat | (q == 0), 0.0, q * np.where(q == 0, 0.0, ends))))


def _tails(v: FloatArray) -> FloatArray:
    """Sums of the last entries: the coordinates of a cost in the isotonic cone."""
    return np.asarray(np.cumsum(v[::-1])[::-1])


def over_ranges(low: FloatArray, high: FloatArray, p: FloatArray, c: FloatArray, b: float) -> tuple[FloatArray, float]:
    """Minimiser of ``<p, s>`` over ranges and ``<c, s> <= b``, and the multiplier of the cut.

    Raises
    ------
    MathematicalError : the minimum is minus infinity. InfeasibleError : there is no point.
    """
    size = ZERO * (1.0 + float(np.max(np.abs(p), initial=0.0)))
    fixed = np.abs(c) <= ZERO * (1.0 + float(np.max(np.abs(c), initial=0.0)))
    breaks = np.unique(np.r_[0.0, [-p[i] / c[i] for i in np.flatnonzero(~fixed) if -p[i] / c[i] > 0]])
    start = _ends(low, high, np.where(np.abs(p) <= size, 0.0, p), c)
    if np.all(np.isfinite(start)) and float(c @ start) <= b:
        return start, 0.0
    for m in breaks:
        q = p + m * c
        q[np.abs(q) <= size * (1.0 + m)] = 0.0
        free = (q == 0) & ~fixed
        s = _ends(low, high, np.where(free, 0.0, q), c)
        if not np.all(np.isfinite(s[~free])):
            continue  # the dual is minus infinity here
        found = _meet(low, high, s, c, b, free)
        if found is not None:
            return found, float(m)
    nearest = _ends(low, high, c, c)
    if np.all(np.isfinite(nearest)) and float(c @ nearest) > b + 64 * ZERO * (1 + abs(b)):
        raise InfeasibleError("the cut misses the feasible set")
    raise MathematicalError("the linear function is unbounded below on this set")


def _ends(low: FloatArray, high: FloatArray, q: FloatArray, c: FloatArray) -> FloatArray:
    """Ends of the ranges that minimise ``<q, s>``; where q vanishes, the end that is lowest for the cut."""
    lowest = np.where(c > 0, low, np.where(c < 0, high, np.clip(0.0, low, high)))
    neutral = np.where(np.isfinite(lowest), lowest, np.clip(0.0, low, high))
    return np.where(q > 0, low, np.where(q < 0, high, neutral))


def _meet(
    low: FloatArray, high: FloatArray, s: FloatArray, c: FloatArray, b: float, free: FloatArray
) -> FloatArray | None:
    """Move free coordinates within their ranges until ``<c, s> = b``; None if they cannot."""
    s = s.copy()
    missing = b - float(c @ s)
    for i in np.flatnonzero(free):
        target = s[i] + missing / c[i]
        moved = float(np.clip(target, low[i], high[i]))
        missing -= c[i] * (moved - s[i])
        s[i] = moved
        if moved == target:
            return s
    return s if abs(missing) <= 64 * ZERO * (1.0 + abs(b) + float(np.abs(c) @ np.abs(s))) else None


def _over_half_spaces(a: FloatArray, d: float, p: FloatArray, c: FloatArray, b: float) -> tuple[FloatArray, float]:
    """One or two half-spaces: the cost must be a non-negative combination of the outward normals, turned round."""
    size = 1e-12 * (1.0 + float(np.linalg.norm(p)))
    scale = float(a @ a)
    alone = -float(a @ p) / scale
    square = float(c @ c)
    if np.linalg.norm(p + alone * a) <= size and alone >= 0:
        on = a * (d / scale)
        across = c - float(c @ a) / scale * a
        if float(c @ on) <= b:
            return on, 0.0
        if float(across @ across) > 1e-24 * square:
            return on + (b - float(c @ on)) / float(across @ across) * across, 0.0
    if square > 0:
        share = -float(c @ p) / square
        if np.linalg.norm(p + share * c) <= size and share >= 0:
            on = c * (b / square)
            across = a - float(a @ c) / square * c
            if float(a @ on) <= d:
                return on, share
            if float(across @ across) > 1e-24 * scale:
                return on + (d - float(a @ on)) / float(across @ across) * across, share
        pair = np.column_stack([a, c])
        weights = np.linalg.lstsq(pair, -p, rcond=None)[0]
        if np.linalg.norm(pair @ weights + p) <= size and np.all(weights >= -size):
            point = np.linalg.lstsq(pair.T, np.array([d, b]), rcond=None)[0]
            return point, float(max(weights[1], 0.0))
        cosine = float(a @ c) / np.sqrt(scale * square)
        if cosine <= -1 + 1e-14 and b / np.sqrt(square) + d / np.sqrt(scale) < 0:
            raise InfeasibleError("two opposite half-spaces do not meet")
    raise MathematicalError("the linear function is unbounded below on this set")


def _multiplier(feasible: FeasibleSet, p: FloatArray, c: FloatArray, b: float) -> float:
    """Maximiser of the concave dual over m >= 0, for compact sets."""
    from scipy.optimize import minimize_scalar

    if not np.any(c):
        return 0.0

    def dual(m: float) -> float:
        return least(feasible, p + m * c) - m * b

    high = 1.0
    while dual(2 * high) > dual(high) and high < 1e12:
        high *= 2
    found = minimize_scalar(lambda m: -dual(m), bounds=(0.0, 2 * high), method="bounded", options={"xatol": 1e-14})
    exact = [m for m in _breaks(feasible, p, c) if m > 0]
    return max([0.0, float(found.x), *exact], key=dual)


def _breaks(feasible: FeasibleSet, p: FloatArray, c: FloatArray) -> list[float]:
    """Multipliers at which the minimising vertex of a polyhedron may change."""
    if isinstance(feasible, Ball):
        return []
    signs = (1.0, -1.0) if isinstance(feasible, L1Ball) else (1.0,)
    pairs = [(s * p[i], s * c[i]) for i in range(len(p)) for s in signs]
    return [(v - u) / (g - h) for k, (u, g) in enumerate(pairs) for v, h in pairs[:k] if g != h]
