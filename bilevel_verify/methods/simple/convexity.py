"""A convexity check that a run can afford: gradients of a convex function are monotone between any two points."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MathematicalError
from bilevel_verify.methods.engine import uncounted
from bilevel_verify.problems.feasible import WholeSpace
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.sets.projections import project

FloatArray = NDArray[np.float64]
POINTS = 14
NEAR = 1e-3
_SEEN: OrderedDict[int, tuple[Problem, str]] = OrderedDict()
_MOST_SEEN = 64


def require_convex(problem: Problem) -> None:
    """Refuse a problem whose f or g is visibly not convex on Z; the message names two points that show it.

    Raises
    ------
    MathematicalError : the gradient of f or g decreases between two points of Z.
    """
    if id(problem) not in _SEEN:
        _SEEN[id(problem)] = (problem, _witness(problem))
        if len(_SEEN) > _MOST_SEEN:
            _SEEN.popitem(last=False)
    trouble = _SEEN[id(problem)][1]
    if trouble:
        raise MathematicalError(trouble)


def _witness(problem: Problem) -> str:
    """Two points of Z between which a gradient decreases, as one line; empty if none was found."""
    free = uncounted(problem, compiled=False)
    sample = _sample(problem)
    for name, gradient in (("f", free.grad_f), ("g", free.grad_g)):
        slopes = np.array([gradient(z)[0] for z in sample])
        for i in range(len(sample)):
            for j in range(i):
                step, change = sample[i] - sample[j], slopes[i] - slopes[j]
                product = float(change @ step)
                size = float(np.linalg.norm(step)) * float(np.linalg.norm(np.abs(slopes[i]) + np.abs(slopes[j])))
                if product < -1e-9 * size:
                    return (
                        f"{name} is not convex on Z: <grad {name}(a) - grad {name}(b), a - b> = {product:.3g} "
                        f"at a = {_text(sample[i])}, b = {_text(sample[j])}"
                    )
    return ""


def _sample(problem: Problem) -> FloatArray:
    """Points of Z far apart, each with a near one."""
    feasible, n = problem.feasible or WholeSpace(), problem.dx
    rng = np.random.default_rng(0)
    far = [project(feasible, point) for point in rng.normal(size=(POINTS // 2, n)) * 1.5]
    middle = np.mean(far, axis=0)
    inner = [middle + t * (p - middle) for p, t in zip(far, rng.uniform(0.2, 0.8, len(far)))]
    base = [*far, *inner]
    near = [project(feasible, point + NEAR * rng.normal(size=n)) for point in base]
    points = np.array([*base, *near])
    return points[np.all(np.isfinite(points), axis=1)]


def _text(point: FloatArray) -> str:
    shown = ", ".join(f"{v:.6g}" for v in point[:6])
    return f"({shown}{', ...' if len(point) > 6 else ''})"
