"""What simple bilevel methods ask of a feasible set beyond projection: linear minimisation, and level sets of f."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InfeasibleError, InputError
from bilevel_verify.problems.feasible import Ball, Box, FeasibleSet, L1Ball, Simplex
from bilevel_verify.truth.sets.projections import bounds, project

FloatArray = NDArray[np.float64]
SLACK = 1e-14
ROUNDED = 64 * 2.0**-52
"""Rounding errors of a gradient near a point where it vanishes, in units of ``|Hessian| |x|``."""


def is_rounding_error(slope: FloatArray, hessian: FloatArray, x: FloatArray) -> bool:
    """Whether a gradient at ``x`` is no larger than its rounding errors there, so that its direction says nothing."""
    return float(np.linalg.norm(slope)) <= ROUNDED * float(np.linalg.norm(hessian)) * float(np.linalg.norm(x))


def linear_minimum(feasible: FeasibleSet, p: FloatArray) -> FloatArray:
    """``argmin <p, s>`` over a compact set; ties go to the first vertex.

    Raises
    ------
    InputError : the set is not compact (or no linear minimisation is known for it).
    """
    n = len(p)
    match feasible:
        case Ball():
            center = np.zeros(n) if feasible.center is None else np.asarray(feasible.center, float)
            size = float(np.linalg.norm(p))
            direction = p / size if size > 0 else np.eye(n)[0]
            return np.asarray(center - float(feasible.radius) * direction)
        case Box():
            low, high = bounds(feasible, n)
            _compact(feasible, low, high)
            return np.where(p < 0, high, low)
        case Simplex():
            return np.asarray(float(feasible.total) * np.eye(n)[int(np.argmin(p))])
        case L1Ball():
            place = int(np.argmax(np.abs(p)))
            return np.asarray(-float(feasible.radius) * float(np.sign(p[place]) or 1.0) * np.eye(n)[place])
    raise InputError(f"linear minimisation needs a compact set: ball, box, simplex or l1 ball, not {feasible!r}")


def linear_minimum_with_cut(feasible: FeasibleSet, p: FloatArray, c: FloatArray, b: float) -> FloatArray:
    """``argmin <p, s>`` over the set intersected with ``<c, s> <= b``.

    Raises
    ------
    InfeasibleError : the intersection is empty beyond rounding.
    """
    free = linear_minimum(feasible, p)
    scale = SLACK * (1.0 + abs(b) + float(np.linalg.norm(c)))
    if c @ free <= b + scale or not np.any(c):
        return free
    if isinstance(feasible, Ball):
        return _ball_with_cut(feasible, p, c, b, scale)
    return _on_the_cut(feasible, p, c, b, scale)


def _ball_with_cut(ball: Ball, p: FloatArray, c: FloatArray, b: float, scale: float) -> FloatArray:
    """Both constraints bind: the point of the intersection circle that is lowest for p."""
    center = np.zeros(len(p)) if ball.center is None else np.asarray(ball.center, float)
    square, offset = float(c @ c), b - float(c @ center)
    radius2 = float(ball.radius) ** 2 - offset * offset / square
    if radius2 < -scale:
        raise InfeasibleError("the cut misses the ball")
    along = p - (c @ p) / square * c
    size = float(np.linalg.norm(along))
    base = center + offset / square * c
    return np.asarray(base if size == 0 else base - np.sqrt(max(0.0, radius2)) * along / size)


def _on_the_cut(feasible: FeasibleSet, p: FloatArray, c: FloatArray, b: float, scale: float) -> FloatArray:
    """Polyhedra: the optimum is a mixture of two vertices that minimise ``p + mu c`` at the critical mu.

    ``mu -> <c, argmin <p + mu c, s>>`` is a decreasing step function; the two vertices at its jump across b are mixed
    so that the cut binds exactly.
    """
    low_mu, high_mu = 0.0, 1.0
    above = linear_minimum(feasible, p)
    below = linear_minimum(feasible, p + high_mu * c)
    while c @ below > b + scale:
        low_mu, above, high_mu = high_mu, below, 2.0 * high_mu
        if high_mu > 1e18:
            raise InfeasibleError("the cut misses the feasible set")
        below = linear_minimum(feasible, p + high_mu * c)
    for _ in range(400):
        gap = float(c @ above - c @ below)
        if gap <= 0:
            return below
        # the mu at which the two vertices cost the same: no vertex beats both there once the jump is found
        critical = float(p @ below - p @ above) / gap
        if not low_mu < critical < high_mu:
            break
        middle = linear_minimum(feasible, p + critical * c)
        cost = float((p + critical * c) @ (middle - above))
        if cost >= -1e-15 * (1.0 + float(np.linalg.norm(p)) + critical * float(np.linalg.norm(c))):
            break
        if c @ middle > b:
            low_mu, above = critical, middle
        else:
            high_mu, below = critical, middle
    share = (b - float(c @ below)) / float(c @ above - c @ below)
    return np.asarray(below + np.clip(share, 0.0, 1.0) * (above - below))


def project_on_level_set(
    feasible: FeasibleSet,
    v: FloatArray,
    value: Callable[[FloatArray], float],
    gradient: Callable[[FloatArray], FloatArray],
    level: float,
    smoothness: float,
) -> FloatArray:
    """Projection onto ``{z in Z: f(z) <= level}`` for a smooth convex f, through the multiplier of the level.

    Parameters
    ----------
    smoothness : Lipschitz constant of the gradient of f (a bound is enough).

    Raises
    ------
    InfeasibleError : f stays above the level on Z.
    """
    first = project(feasible, v)
    if value(first) <= level:
        return first
    low, high, z = 0.0, 1.0, first
    for _ in range(80):
        z = _proximal(feasible, v, gradient, high, smoothness, z)
        if value(z) <= level:
            break
        low, high = high, 4.0 * high
    else:
        raise InfeasibleError(f"f stays above {level:g} on the feasible set")
    return _root_in_multiplier(feasible, v, value, gradient, level, smoothness, (low, high), z)


def _root_in_multiplier(
    feasible: FeasibleSet,
    v: FloatArray,
    value: Callable[[FloatArray], float],
    gradient: Callable[[FloatArray], FloatArray],
    level: float,
    smoothness: float,
    bracket: tuple[float, float],
    start: FloatArray,
) -> FloatArray:
    from scipy.optimize import brentq

    points = {"z": start}

    def excess(mu: float) -> float:
        points["z"] = _proximal(feasible, v, gradient, mu, smoothness, points["z"])
        return value(points["z"]) - level

    mu = float(brentq(excess, *bracket, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=200))
    return _proximal(feasible, v, gradient, mu, smoothness, points["z"])


def _proximal(
    feasible: FeasibleSet,
    v: FloatArray,
    gradient: Callable[[FloatArray], FloatArray],
    mu: float,
    smoothness: float,
    start: FloatArray,
) -> FloatArray:
    """``argmin_Z |z - v|^2/2 + mu f(z)`` by accelerated projected gradients (strong convexity 1), to rounding."""
    step = 1.0 / (1.0 + mu * smoothness)
    root = np.sqrt(step)
    momentum = (1.0 - root) / (1.0 + root)
    z = ahead = start
    calm = 0
    for _ in range(20_000):
        following = project(feasible, ahead - step * (ahead - v + mu * gradient(ahead)))
        moved = float(np.max(np.abs(following - z), initial=0.0))
        ahead = following + momentum * (following - z)
        z = following
        calm = calm + 1 if moved <= 4e-16 * (1.0 + float(np.max(np.abs(z), initial=0.0))) else 0
        if calm >= 3:
            break
    return z


def _compact(feasible: FeasibleSet, low: FloatArray, high: FloatArray) -> None:
    if not np.all(np.isfinite(low) & np.isfinite(high)):
        raise InputError(f"linear minimisation needs a compact set, not {feasible!r}")
