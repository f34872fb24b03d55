"""Convex phi of any dimension: the minimum proved by its optimality conditions instead of a search over boxes.

Where phi is convex (exactly, by its structure) a point with ``nabla phi = 0`` in the free coordinates and gradients of
the right sign at the active bounds is a global minimiser. A Krawczyk test in balls proves such a point next to a float
one; the value of phi over the ball is the minimum. Where the test fails (a degenerate minimiser, say), convexity still
gives ``phi(x) >= phi(c) + nabla phi(c) . (x - c)`` on a bounded domain, and ``phi(c) - |nabla phi(c)|^2 / (2 m)`` where
phi is m-strongly convex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.numbers.rounding import floats_of, precision
from bilevel_verify.truth.functions.quadratics import ldl
from bilevel_verify.truth.functions.structure import Ranges, pole_inside, structure_of
from bilevel_verify.truth.lower_level.points import DEFAULT_BITS, Points
from bilevel_verify.truth.minimum.attainment import attains
from bilevel_verify.truth.minimum.descent import descend
from bilevel_verify.truth.minimum.eigenvalues import smallest_eigenvalue
from bilevel_verify.truth.minimum.minimum import Minimum, attained_value
from bilevel_verify.truth.minimum.objective import Objective

if TYPE_CHECKING:
    import flint

FloatArray = NDArray[np.float64]
MOST_VARIABLES = 80


def is_convex(phi: sympy.Expr, x: tuple[sympy.Symbol, ...], over: Ranges | None, within: Ranges | None = None) -> bool:
    """Exactly, on a set: a positive semidefinite quadratic (LDL') plus convex functions of affine forms.

    Parameters
    ----------
    over : ranges of affine forms on the set, beyond which poles have to lie; None for the whole space.
    within : the same, where functions that are convex on these ranges alone are good enough.
    """
    with ball_ends():
        structure = structure_of(phi, x, within)
    if structure.missing or not positive_semidefinite(structure.quadratic.Q):
        return False
    return not pole_inside(structure.ridges, over)


def positive_semidefinite(matrix: Any) -> bool:
    """Exact test of a rational matrix."""
    return ldl(matrix).sign == 1


def convex_minimum(
    points: Points, objective: Objective, low: FloatArray, high: FloatArray, start: FloatArray | None = None
) -> Minimum | None:
    """The minimum of a convex phi over a box (ends may be infinite); None where neither way gives finite bounds.

    Parameters
    ----------
    points : evaluates phi in balls.
    objective : the same phi in floats and intervals.
    start : a good point, if one is known.
    """
    best, upper = (start, np.inf) if start is not None else attained_value(objective, low, high, 32)
    best = descend(objective, np.asarray(best)[None], low, high, 60)[0]
    if not np.all(np.isfinite(best)) or len(low) > MOST_VARIABLES:
        return None
    with precision(DEFAULT_BITS):
        proved = _stationary_ball(points, best, low, high)
        if proved is not None:
            value = points.ball_hyper(proved, np.array([float(b.mid()) for b in proved])).value
            lower, upper = floats_of(value)
            x = np.clip(np.array([float(b.mid()) for b in proved]), low, high)
            return Minimum(lower, upper, x, True, 1, True, CONVEX, attained=True, certified=True)
    return _by_gradient(objective, best, low, high)


def only_minimiser(points: Points, near: FloatArray, low: FloatArray, high: FloatArray) -> list[flint.arb] | None:
    """Balls around the only minimiser of a smooth convex phi over a box, None where it is not proved to lie inside.

    The test proves a stationary point with a regular Hessian. It is a minimiser, and isolated; minimisers of a convex
    function form a convex set, so there is no other one.
    """
    if len(low) > MOST_VARIABLES or not np.all((low < near) & (near < high)):
        return None
    with precision(DEFAULT_BITS):
        return _stationary_ball(points, near, low, high)


CONVEX = "phi is convex (exact structure); Krawczyk on its optimality conditions in balls"


def _stationary_ball(points: Points, best: FloatArray, low: FloatArray, high: FloatArray) -> list[flint.arb] | None:
    """Balls around a point that satisfies the optimality conditions over the box, or None."""
    import flint

    x = [flint.arb(float(v)) for v in best]
    gradient = _gradient(points, x, best)
    fixed = [i for i, v in enumerate(best) if (v <= low[i] and gradient[i] > 0) or (v >= high[i] and gradient[i] < 0)]
    free = [i for i in range(len(best)) if i not in fixed]
    if not free:
        return x
    for _ in range(60):
        hyper = points.ball_hyper(x, best)
        matrix, slope = _free(hyper.hessian, free), [hyper.gradient[i, 0] for i in free]
        try:
            step = matrix.mid().solve(flint.arb_mat(len(free), 1, slope).mid())
        except ZeroDivisionError:
            return None
        x = [v if i in fixed else (v - step[free.index(i), 0]).mid() for i, v in enumerate(x)]
        moved = max(float(abs(step[k, 0])) for k in range(len(free)))
        if not np.isfinite(moved) or moved < 2.0 ** (-0.8 * flint.ctx.prec):
            break
    return _krawczyk(points, x, best, fixed, free, low, high)


def _krawczyk(
    points: Points,
    x: list[flint.arb],
    best: FloatArray,
    fixed: list[int],
    free: list[int],
    low: FloatArray,
    high: FloatArray,
) -> list[flint.arb] | None:
    import flint

    n = len(free)
    hyper = points.ball_hyper(x, best)
    try:
        inverse = _free(hyper.hessian, free).mid().inv().mid()
    except ZeroDivisionError:
        return None
    newton = inverse * flint.arb_mat(n, 1, [hyper.gradient[i, 0] for i in free])
    tiny = flint.arb(2) ** (-flint.ctx.prec + 8)
    sizes = [abs(newton[k, 0]).upper() * 4 + tiny * (1 + abs(x[i])) for k, i in enumerate(free)]
    for _ in range(12):
        box = list(x)
        for k, i in enumerate(free):
            box[i] = x[i] + flint.arb(0, sizes[k])
        full = points.ball_hyper(box, best)
        gap = flint.arb_mat(n, n, [int(a == b) for a in range(n) for b in range(n)]) - inverse * _free(
            full.hessian, free
        )
        spread = gap * flint.arb_mat(n, 1, [flint.arb(0, s) for s in sizes])
        image = [abs(spread[k, 0] - newton[k, 0]).upper() for k in range(n)]
        if all(a < b for a, b in zip(image, sizes)):
            for k, i in enumerate(free):
                box[i] = x[i] + flint.arb(0, image[k])
            return box if _signs_hold(points, box, best, fixed, free, low, high) else None
        sizes = [(s * 16).upper() for s in sizes]
    return None


def _signs_hold(
    points: Points,
    box: list[flint.arb],
    best: FloatArray,
    fixed: list[int],
    free: list[int],
    low: FloatArray,
    high: FloatArray,
) -> bool:
    """Gradients at the active bounds point outward, and the free coordinates lie inside the box."""
    gradient = _gradient(points, box, best)
    outward = all((gradient[i] >= 0) if best[i] <= low[i] else (gradient[i] <= 0) for i in fixed)
    return bool(outward and all(box[i] >= low[i] and box[i] <= high[i] for i in free))


def _gradient(points: Points, x: list[flint.arb], near: FloatArray) -> list[flint.arb]:
    column = points.ball_hyper(x, near).gradient
    return [column[i, 0] for i in range(len(x))]


def _free(matrix: flint.arb_mat, free: list[int]) -> flint.arb_mat:
    import flint

    return flint.arb_mat(len(free), len(free), [matrix[i, j] for i in free for j in free])


def _by_gradient(objective: Objective, best: FloatArray, low: FloatArray, high: FloatArray) -> Minimum | None:
    """Certified bounds from the gradient inequality at one point, on a bounded box or through strong convexity."""
    with ball_ends(), np.errstate(all="ignore"):
        at = objective.at(best[None])
        value, slope = at.value, at.gradient
        drop = 0.0
        for i in range(len(best)):
            lo, hi = float(slope.lo[0, i, 0]), float(slope.hi[0, i, 0])
            ends = [g * (e - best[i]) for g in (lo, hi) for e in (low[i], high[i]) if not (g == 0 and np.isinf(e))]
            drop += min([0.0, *ends]) * (1 + 1e-14)
        lower = float(np.nextafter(value.lo[0] + drop, -np.inf))
        bend = float(smallest_eigenvalue(objective.over(low[None], high[None], best[None]).hessian)[0])
        if bend > 0:
            size = float(np.sum(np.maximum(np.abs(slope.lo[0, :, 0]), np.abs(slope.hi[0, :, 0])) ** 2))
            lower = max(lower, float(np.nextafter(value.lo[0] - size / (2 * bend) * (1 + 1e-12), -np.inf)))
    if not np.isfinite(lower):
        return None
    upper = float(value.hi[0])
    bounded = bool(np.all(np.isfinite(low) & np.isfinite(high)))
    complete = upper - lower <= 1e-10 * (1 + abs(upper))
    why = "phi is convex (exact structure); gradient inequality at the best point"
    attained = True if bend > 0 or attains(objective, low, high, upper) else None
    return Minimum(lower, upper, best, bounded, 1, complete, why, attained=attained, certified=True)
