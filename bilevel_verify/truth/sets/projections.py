"""Exact Euclidean projections onto the feasible sets, each with at most one extra half-space, with a verified residual.

The projection of ``v`` onto ``Z`` intersected with ``{z : <c, z> <= b}`` is ``P_Z(v - m c)`` for a multiplier ``m >=
0``
that is zero or makes the cut active (agm-bio section 3.3 (d)). For the polyhedral sets ``m -> <c, P_Z(v - m c)>`` is
piecewise linear and non-increasing, so a safeguarded Newton iteration with the generalised Jacobian of ``P_Z`` ends on
the right piece and the last step is exact up to rounding; for the ball there is a closed form (3.3 (b)).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import CertificationError, InfeasibleError, InputError
from bilevel_verify.problems.feasible import (
    Ball,
    Box,
    FeasibleSet,
    HalfSpace,
    Intersection,
    Isotonic,
    L1Ball,
    Orthant,
    Simplex,
    WholeSpace,
)
from bilevel_verify.truth.sets.convex import project_reduced
from bilevel_verify.truth.sets.polyhedra import Reduced, describe, reduce
from bilevel_verify.truth.sets.polyhedra import bounds as bounds

FloatArray = NDArray[np.float64]
ROUNDING = 64 * float(np.finfo(float).eps)
"""Relative slack below which a violated cut counts as touched: a few dozen units in the last place."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A projected point with its proof of optimality.

    Attributes
    ----------
    point : shape (n,).
    multiplier : of the cut; zero where the cut does not bind.
    residual : largest violation of the optimality conditions (fixed point, cut, complementarity), relative to the
        size of the data; a few units in the last place for a successful projection.
    """

    point: FloatArray
    multiplier: float
    residual: float


def project(feasible: FeasibleSet, point: ArrayLike) -> FloatArray:
    """Euclidean projection onto a feasible set.

    Parameters
    ----------
    feasible : one of the sets of the problems room, or an intersection of them.
    point : shape (n,).

    Raises
    ------
    InfeasibleError : the set is empty.
    """
    v = _vector(point)
    match feasible:
        case WholeSpace():
            return v.copy()
        case Box() | Orthant():
            low, high = bounds(feasible, v.size)
            return np.clip(v, low, high)
        case Ball():
            return _ball(v, _center(feasible, v.size), float(feasible.radius))
        case Simplex():
            return _simplex(v, float(feasible.total))
        case L1Ball():
            return _l1_ball(v, float(feasible.radius))
        case HalfSpace():
            return _half_space(v, _vector(feasible.normal), float(feasible.offset))
        case Isotonic():
            return _isotonic(v)
        case Intersection():
            return project_reduced(_reduced(feasible, v.size), v)
    raise InputError(f"no projection onto {type(feasible).__name__} is known")


@lru_cache(maxsize=32)
def _reduced(feasible: Intersection, n: int) -> Reduced:
    """The set as the solver takes it, two linear programs: once for all points that are projected onto it."""
    return reduce(describe(feasible, n))


def project_with_cut(feasible: FeasibleSet, point: ArrayLike, normal: ArrayLike, offset: float) -> Projection:
    """Euclidean projection onto ``feasible`` intersected with ``{z : <normal, z> <= offset}``.

    Parameters
    ----------
    feasible : the set.
    point, normal : shape (n,). A zero normal makes the cut void (or the intersection empty if ``offset < 0``).
    offset : right-hand side.

    Raises
    ------
    InfeasibleError : the intersection is empty.
    CertificationError : the optimality conditions could not be met to rounding accuracy.
    """
    v, c, b = _vector(point), _vector(normal), float(offset)
    if c.shape != v.shape or not np.all(np.isfinite(c)) or np.isnan(b):
        raise InputError("the normal of a cut needs the shape of the point and finite entries")
    if not np.any(c) and b >= 0:
        return Projection(project(feasible, v), 0.0, 0.0)
    if not np.any(c):
        raise InfeasibleError(f"the cut 0 <= {b:g} has no point")
    size = float(np.linalg.norm(c))
    c, b = c / size, b / size
    first = project(feasible, v)
    if c @ first <= b:
        return Projection(first, 0.0, 0.0)
    match feasible:
        case Ball():
            z, m = _ball_with_cut(v, _center(feasible, v.size), float(feasible.radius), c, b)
        case WholeSpace():
            m = float(c @ v - b)
            z = v - m * c
        case HalfSpace():
            z, m = _two_half_spaces(v, _vector(feasible.normal), float(feasible.offset), c, b)
        case Intersection():
            z, m = project(Intersection((*feasible.sets, HalfSpace(tuple(c), b))), v), float("nan")
        case _:
            z, m = _piecewise_linear(feasible, v, c, b)
    residual = _residual(feasible, v, c, b, z, m)
    if not residual <= 1e-9:
        raise CertificationError(f"projection onto {type(feasible).__name__} with a cut: residual {residual:.2g}")
    return Projection(z, m / size if m == m else m, residual)


def contains(feasible: FeasibleSet, point: ArrayLike, slack: float = 0.0) -> bool:
    """Whether the point is in the set, up to an absolute violation of ``slack`` in every constraint."""
    return violation(feasible, point) <= slack


def violation(feasible: FeasibleSet, point: ArrayLike) -> float:
    """Largest violation of a constraint of the set at the point (zero inside)."""
    v = _vector(point)
    match feasible:
        case WholeSpace():
            return 0.0
        case Box() | Orthant():
            low, high = bounds(feasible, v.size)
            return float(max(0.0, np.max(low - v), np.max(v - high)))
        case Ball():
            return max(0.0, float(np.linalg.norm(v - _center(feasible, v.size))) - float(feasible.radius))
        case Simplex():
            return float(max(0.0, np.max(-v), abs(float(np.sum(v)) - float(feasible.total))))
        case L1Ball():
            return max(0.0, float(np.sum(np.abs(v))) - float(feasible.radius))
        case HalfSpace():
            return max(0.0, float(_vector(feasible.normal) @ v) - float(feasible.offset))
        case Isotonic():
            return float(max(0.0, np.max(-np.diff(v), initial=0.0)))
        case Intersection():
            return max((violation(part, v) for part in feasible.sets), default=0.0)
    raise InputError(f"membership of {type(feasible).__name__} is not known")


def diameter(feasible: FeasibleSet, n: int) -> float:
    """Diameter of the set (infinite for unbounded sets; an upper bound for intersections)."""
    match feasible:
        case Ball():
            return 2 * float(feasible.radius)
        case L1Ball():
            return 2 * float(feasible.radius)
        case Simplex():
            return float(feasible.total) * (np.sqrt(2.0) if n > 1 else 0.0)
        case Box():
            low, high = bounds(feasible, n)
            return float(np.linalg.norm(high - low))
        case Intersection():
            return min((diameter(part, n) for part in feasible.sets), default=np.inf)
    return float(np.inf)


def _vector(point: object) -> FloatArray:
    v = np.asarray(point, dtype=float).reshape(-1)
    if not np.all(np.isfinite(v)):
        raise InputError("a point to project must be finite")
    return v


def _center(ball: Ball, n: int) -> FloatArray:
    return np.zeros(n) if ball.center is None else np.broadcast_to(np.asarray(ball.center, dtype=float), (n,)).copy()


def _ball(v: FloatArray, center: FloatArray, radius: float) -> FloatArray:
    d = v - center
    norm = float(np.linalg.norm(d))
    return v.copy() if norm <= radius else center + d * (radius / norm)


def _half_space(v: FloatArray, normal: FloatArray, offset: float) -> FloatArray:
    excess = float(normal @ v - offset)
    if excess <= 0:
        return v.copy()
    if not np.any(normal):
        raise InfeasibleError("a half-space with zero normal and negative offset is empty")
    return v - (excess / float(normal @ normal)) * normal


def _simplex(v: FloatArray, total: float) -> FloatArray:
    if total < 0:
        raise InfeasibleError("a simplex needs a total >= 0")
    return np.maximum(v - _threshold(v, total), 0.0)


def _threshold(v: FloatArray, total: float) -> float:
    """The shift t with ``sum max(v - t, 0) = total``; recomputed from the active set, so exact to rounding."""
    ordered = np.sort(v)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, v.size + 1)
    count = int(np.count_nonzero(ordered > excess)) or 1
    return float((np.sum(ordered[:count]) - total) / count)


def _l1_ball(v: FloatArray, radius: float) -> FloatArray:
    if radius < 0:
        raise InfeasibleError("an l1 ball needs a radius >= 0")
    size = np.abs(v)
    if float(np.sum(size)) <= radius:
        return v.copy()
    return np.copysign(np.maximum(size - _threshold(size, radius), 0.0), v)


def _isotonic(v: FloatArray) -> FloatArray:
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(v).x, dtype=float)


def _ball_with_cut(
    v: FloatArray, center: FloatArray, radius: float, c: FloatArray, b: float
) -> tuple[FloatArray, float]:
    """Closed form for ball and half-space with unit normal ``c``; the caller knows that the cut binds."""
    u, height = v - center, b - float(c @ center)
    if height < -radius * (1 + ROUNDING):
        raise InfeasibleError("the cut misses the ball")
    along = float(c @ u)
    on_plane = u - (along - height) * c
    if float(np.linalg.norm(on_plane)) <= radius:
        return center + on_plane, along - height
    w = u - along * c
    w -= float(c @ w) * c
    span, rest = float(np.linalg.norm(w)), float(np.sqrt(max(0.0, (radius - height) * (radius + height))))
    z = height * c + (rest / span) * w
    return center + z, max(0.0, along - height * (span / rest)) if rest > 0 else float("nan")


def _two_half_spaces(v: FloatArray, a: FloatArray, d: float, c: FloatArray, b: float) -> tuple[FloatArray, float]:
    """Projection onto ``<a, z> <= d`` and ``<c, z> <= b`` (unit ``c``) when the cut binds."""
    if not np.any(a):
        if d < 0:
            raise InfeasibleError("a half-space with zero normal and negative offset is empty")
        return v - (float(c @ v) - b) * c, float(c @ v) - b
    size = float(np.linalg.norm(a))
    a, d = a / size, d / size
    alone = v - (float(c @ v) - b) * c
    if float(a @ alone) <= d:
        return alone, float(c @ v) - b
    cosine = float(a @ c)
    across = a - cosine * c
    sine2 = float(across @ across)
    if sine2 <= 1e-30:
        if cosine < 0 and b + d < 0:
            raise InfeasibleError("two opposite half-spaces do not meet")
        return alone, float(c @ v) - b
    step = (float(a @ alone) - d) / sine2
    z = alone - step * across
    return z, max(0.0, float(c @ v) - b - cosine * step)


def _slope(feasible: FeasibleSet, shifted: FloatArray, z: FloatArray, c: FloatArray) -> float:
    """``c' J c`` for a generalised Jacobian J of the projection at ``shifted`` (its projection is ``z``)."""
    match feasible:
        case Box() | Orthant():
            low, high = bounds(feasible, z.size)
            free = (shifted > low) & (shifted < high)
            return float(np.sum(c[free] ** 2))
        case Simplex():
            return _centred(c[z > 0])
        case L1Ball():
            if np.array_equal(shifted, z):
                return float(c @ c)
            return _centred((np.sign(z) * c)[z != 0])
        case Isotonic():
            starts = np.flatnonzero(np.r_[True, np.diff(z) != 0])
            sums, counts = np.add.reduceat(c, starts), np.diff(np.r_[starts, z.size])
            return float(np.sum(sums**2 / counts))
    raise InputError(f"no projection onto {type(feasible).__name__} with a cut is known")


def _centred(c: FloatArray) -> float:
    """``||c - mean(c)||^2`` without cancellation."""
    return float(np.sum((c - np.mean(c)) ** 2)) if c.size else 0.0


def _piecewise_linear(feasible: FeasibleSet, v: FloatArray, c: FloatArray, b: float) -> tuple[FloatArray, float]:
    """Root of the piecewise linear, non-increasing ``<c, P(v - m c)> - b``; the caller knows it is positive at 0."""
    scale = 1.0 + abs(b) + float(np.linalg.norm(v))

    def at(m: float) -> tuple[FloatArray, float, float]:
        shifted = v - m * c
        z = project(feasible, shifted)
        return z, float(c @ z) - b, _slope(feasible, shifted, z, c)

    low, high, m = 0.0, np.inf, 0.0
    z, value, slope = at(0.0)
    best = (abs(value), z, m)
    for _ in range(400):
        if abs(value) <= 2e-16 * scale:
            return z, m
        low, high = (m, high) if value > 0 else (low, m)
        step = m + value / slope if slope > 0 else np.nan
        if not low < step < high:
            step = 2 * m + scale if np.isinf(high) else 0.5 * (low + high)
        if step in (low, high) or m > 1e18 * scale:
            break
        m = step
        z, value, slope = at(m)
        best = min(best, (abs(value), z, m), key=lambda item: item[0])
    _reject_empty(feasible, v.size, c, b, scale)
    return best[1], best[2]


def _reject_empty(feasible: FeasibleSet, n: int, c: FloatArray, b: float, scale: float) -> None:
    least = _least(feasible, c)
    if least > b + ROUNDING * scale:
        raise InfeasibleError(
            f"the cut misses the set: the smallest value of the normal on it is {least - b:.3g} too large"
        )


def _least(feasible: FeasibleSet, c: FloatArray) -> float:
    """Minimum of ``<c, z>`` over the set."""
    match feasible:
        case Box() | Orthant():
            low, high = bounds(feasible, c.size)
            return float(np.sum([ci * (lo if ci > 0 else hi) for ci, lo, hi in zip(c, low, high) if ci]))
        case Simplex():
            return float(feasible.total) * float(np.min(c))
        case L1Ball():
            return -float(feasible.radius) * float(np.max(np.abs(c)))
        case Isotonic():
            tails = np.cumsum(c[::-1])[::-1]
            inside = np.all(tails[1:] >= -ROUNDING) and abs(tails[0]) <= ROUNDING
            return 0.0 if inside else -np.inf
    return -np.inf


def _residual(feasible: FeasibleSet, v: FloatArray, c: FloatArray, b: float, z: FloatArray, m: float) -> float:
    """Violation of ``z = P_Z(v - m c)``, the cut and ``m (<c, z> - b) = 0``, relative to the size of the data."""
    scale = 1.0 + abs(b) + float(np.linalg.norm(v))
    worst = max(violation(feasible, z), float(c @ z) - b, 0.0)
    if m == m and not isinstance(feasible, Intersection):
        fixed = float(np.linalg.norm(project(feasible, v - m * c) - z))
        worst = max(worst, min(fixed, fixed / (1.0 + abs(m)) * scale), -m, abs(m * (float(c @ z) - b)) / (1 + abs(m)))
    return worst / scale
