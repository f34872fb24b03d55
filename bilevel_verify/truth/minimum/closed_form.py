"""phi as a formula of x, where y*(x) has one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import sympy

from bilevel_verify.errors import MathematicalError
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.functions.limits import GIVES_UP
from bilevel_verify.truth.lower_level.points import Points
from bilevel_verify.truth.minimum.effort import FEW_X, FEW_Y
from bilevel_verify.truth.sets.squares import with_squares

NOT_ZERO = 1e-10
"""A value of thirty digits above this is not that of an expression that vanishes."""


def closed_form(problem: Problem, points: Points | None = None) -> sympy.Expr | None:
    """phi as an explicit expression of x, or None.

    f itself for one level; otherwise through y*(x) where g is quadratic in y (dy <= 3), or where y* is affine in x:
    guessed from a few solutions, accepted only if the gradient of the lower level vanishes identically on it.
    """
    if problem.lower is None or not problem.y:
        return with_squares(problem.f, problem.x) if problem.f.count_ops() < 2000 else problem.f
    found = _linear_solution(problem) if problem.dy <= FEW_Y else None
    if found is None and points is not None:
        found = _affine_solution(problem, points)
    if found is None:
        return None
    phi = problem.f.subs(dict(zip(problem.y, found)), simultaneous=True)
    return with_squares(phi, problem.x) if phi.count_ops() < 2000 else phi


def _affine_solution(problem: Problem, points: Points) -> list[sympy.Expr] | None:
    """An affine y*(x) with small rational coefficients, proved by substitution."""
    lower = problem.lower
    if lower is None or lower.count_ops() > 400 or problem.dx > FEW_X:
        return None
    X = np.vstack([np.zeros(problem.dx), np.eye(problem.dx), -np.eye(problem.dx)])
    solved = points.level.solve(X)
    if not solved.converged.all():
        return None
    base, slopes = solved.y[0], solved.y[1 : 1 + problem.dx] - solved.y[0]
    if np.max(np.abs(solved.y[1 + problem.dx :] - (base - slopes)), initial=0.0) > 1e-9:
        return None

    def simple(value: float) -> sympy.Rational:
        fraction = Fraction(float(value)).limit_denominator(10_000)
        return sympy.Rational(fraction.numerator, fraction.denominator)

    y = [simple(base[k]) + sum(simple(slopes[i, k]) * s for i, s in enumerate(problem.x)) for k in range(problem.dy)]
    put = dict(zip(problem.y, y))
    gradient = [sympy.expand(sympy.diff(lower, v).subs(put, simultaneous=True)) for v in problem.y]
    if any(_not_zero(entry, problem.x) or sympy.simplify(entry) != 0 for entry in gradient):
        return None
    return y


def _not_zero(expression: sympy.Expr, letters: Sequence[sympy.Symbol]) -> bool:
    """Whether its value at one point shows that it is not zero everywhere; to simplify it may take seconds."""
    value = expression.subs({s: sympy.Rational(1, 3 + k) for k, s in enumerate(letters)}).evalf(30)
    return bool(value.is_number and abs(value) > NOT_ZERO)


def _linear_solution(problem: Problem) -> list[sympy.Expr] | None:
    """y*(x) where the gradient of the lower level is linear in y."""
    try:
        gradient = [sympy.diff(problem.lower, v) for v in problem.y]
        matrix = sympy.Matrix([[sympy.diff(row, v) for v in problem.y] for row in gradient])
    except MathematicalError:  # an atom without this derivative
        return None
    if matrix.free_symbols & set(problem.y):
        return None
    origin = dict.fromkeys(problem.y, sympy.Integer(0))
    right = -sympy.Matrix([row.subs(origin) for row in gradient])
    try:
        y = [sympy.simplify(v) for v in matrix.LUsolve(right)]
    except GIVES_UP:
        return None
    return None if any(entry.has(sympy.zoo, sympy.nan) for entry in y) else y
