"""Independent answers by a conic solver: ``g*(x)``, ``f*`` and ``g*`` with primal value, dual value and gap.

Witnesses, not certificates: Clarabel works in floating point. They are asked for by name and never take the place of
another answer silently.
"""

from __future__ import annotations

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import InputError
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.lower_level.points import Points, point_of
from bilevel_verify.truth.minimum.closed_form import closed_form
from bilevel_verify.truth.simple_bilevel.facts import SolutionSet
from bilevel_verify.truth.witness.cvxpy_bridge import ConicAnswer, box_of, solve_convex
from bilevel_verify.truth.witness.disciplined import NotRepresentable

FloatArray = NDArray[np.float64]


def conic_g(problem: Problem, x: ArrayLike | None = None) -> ConicAnswer:
    """``g*(x) = min over y of g(x, y)``, on the set of y if there is one (of ``-f`` for minimax).

    Without x the ``g*`` of a simple bilevel problem.

    Raises
    ------
    NotRepresentable : g is outside the disciplined fragment; the message names the term and says why.
    SolverFailure : Clarabel did not end "optimal"; its status and what is known.
    """
    if problem.kind == "simple_bilevel":
        assert problem.g is not None
        return solve_convex(problem.g, problem.x, problem.feasible)
    if problem.lower is None or not problem.y:
        raise InputError("a single-level problem has no lower level")
    if x is None:
        raise InputError("conic_g needs the point x")
    put = {s: sympy.Rational(float(v)) for s, v in zip(problem.x, point_of(x, problem.dx))}
    return solve_convex(sympy.expand_mul(problem.lower.subs(put)), problem.y, problem.feasible)


def conic_phi(problem: Problem, points: Points, low: FloatArray, high: FloatArray) -> ConicAnswer:
    """The minimum of phi over a range of x.

    Raises
    ------
    NotRepresentable : no explicit phi is known, or it is outside the disciplined fragment.
    SolverFailure : Clarabel did not end "optimal".
    """
    phi = closed_form(problem, points)
    if phi is None:
        raise NotRepresentable("phi is not explicit: y*(x) is not known in closed form")
    return solve_convex(phi, problem.x, box_of(low, high))


def conic_f(problem: Problem, solutions: SolutionSet) -> ConicAnswer:
    """The minimum of f over the exact description of the solutions of a lower level without y.

    Raises
    ------
    NotRepresentable : the solution set has no exact description, or f is outside the disciplined fragment.
    SolverFailure : Clarabel did not end "optimal".
    """
    if solutions.reduced is None:
        raise NotRepresentable(f"the solution set has no exact description: {solutions.missing}")
    return solve_convex(problem.f, problem.x, within=solutions.reduced)
