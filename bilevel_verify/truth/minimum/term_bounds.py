"""A lower bound of phi in many dimensions: the sum of the smallest values of the terms of f, each in few variables."""

from __future__ import annotations

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.functions.model import model_of
from bilevel_verify.truth.functions.structure import spread_constants
from bilevel_verify.truth.lower_level.points import Points
from bilevel_verify.truth.minimum.minimum import lower_bounds, minimise_phi
from bilevel_verify.truth.minimum.objective import PhiObjective, boxes_of

FloatArray = NDArray[np.float64]
MOST_VARIABLES, MOST_GROUPS = 3, 200


def sum_of_term_bounds(problem: Problem, points: Points, low: FloatArray, high: FloatArray) -> float:
    """Certified lower bound of ``inf phi`` over a bounded box; -inf where it gives nothing.

    Parameters
    ----------
    problem, points : the problem; ``points`` encloses the range of y* where there is a lower level.
    low, high : bounded box, shape (dx,).
    """
    ends = _ranges(problem, points, low, high)
    groups = _groups(problem)
    if ends is None or len(groups) > MOST_GROUPS:
        return -np.inf
    total = 0.0
    for term in groups:
        variables = tuple(s for s in problem.variables if s in term.free_symbols)
        a = np.array([ends[s][0] for s in variables])
        b = np.array([ends[s][1] for s in variables])
        total = float(np.nextafter(total + _least(term, variables, a, b), -np.inf))
        if not np.isfinite(total):
            return -np.inf
    return total


def _groups(problem: Problem) -> list[sympy.Expr]:
    """Terms of f; those whose variables are among another term's are joined to it."""
    terms = sorted(sympy.Add.make_args(spread_constants(problem.f)), key=lambda t: -len(t.free_symbols))
    groups: list[tuple[frozenset[sympy.Symbol], list[sympy.Expr]]] = []
    for term in terms:
        names = frozenset(term.free_symbols & set(problem.variables))
        home = next((g for g in groups if names <= g[0]), None)
        if home is None:
            groups.append((names, [term]))
        else:
            home[1].append(term)
    return [sympy.Add(*members) for _, members in groups]


def _ranges(
    problem: Problem, points: Points, low: FloatArray, high: FloatArray
) -> dict[sympy.Symbol, tuple[float, float]] | None:
    """Ends of x, and of y* over the whole box of x."""
    ends = {s: (float(a), float(b)) for s, a, b in zip(problem.x, low, high)}
    if points.model.lower is None:
        return ends
    centre = (0.5 * low + 0.5 * high)[None]
    with ball_ends(), np.errstate(all="ignore"):
        Y = points.level.solve(centre).y
        found = points.level.enclose(boxes_of(low[None], high[None]), Y, None, centre)[0]
    for s, interval in zip(problem.y, found):
        ends[s] = (float(interval.lo[0]), float(interval.hi[0]))
    return ends if all(np.isfinite(v) for pair in ends.values() for v in pair) else None


def _least(term: sympy.Expr, variables: tuple[sympy.Symbol, ...], low: FloatArray, high: FloatArray) -> float:
    if not variables:
        with ball_ends():
            return float(np.nextafter(float(term), -np.inf))
    problem = Problem(kind="single_level", f=term, x=variables)
    objective = PhiObjective(Points(model_of(problem), lambda: None))
    if len(variables) <= MOST_VARIABLES:
        found = minimise_phi(objective, low, high, tolerance=1e-6, budget=2000)
        if found.certified:
            return found.lower
    with ball_ends():
        bounds, _ = lower_bounds(objective, low[None], high[None], np.full(len(low), np.nan))
    return float(bounds[0])
