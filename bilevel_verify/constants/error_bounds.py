"""Exact Hoelderian error bounds on balls and simplices, and lower bounds of eigenvalues where no closed form is known.

A convex quadratic g on a ball of radius R around the origin (shifted there first), d = z - p for p the nearest point of
X_g*. Which of the three cases it is, is decided in rational arithmetic:

* the solutions ``Q u = -q`` of least norm p lies inside: with V a basis of the range of Q, alpha is the least
  eigenvalue of the pencil ``(V'QV, V'(I + pp'/(R^2-|p|^2))V)``, r = 2: where the ball cuts the solutions off, going out
  along the sphere gains distance but no value;
* p lies on the sphere: it is the only solution, ``|d|^2 <= -2 p.d`` gives r = 4, alpha = 1 / (2 w.p) with Q w = p;
* else the ball presses with a multiplier mu > 0, the solution is unique, r = 2, alpha = lambda_min(Q) + mu.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy
from sympy import Expr, Integer

from bilevel_verify.constants.calculus import exact
from bilevel_verify.constants.formula.structure import Structure
from bilevel_verify.intervals.linalg import point_eigenvalues
from bilevel_verify.problems import feasible as sets

Bound = tuple[Expr, Expr, str, sympy.Matrix | None]
"""alpha, r, the derivation in words, and the solution where it is the only one."""
LARGEST = 40


def rational(value: float) -> sympy.Rational:
    """A float or a SymPy number as an exact rational."""
    if isinstance(value, Expr):
        return sympy.Rational(value)
    number = Fraction(float(value))
    return sympy.Rational(number.numerator, number.denominator)


def quadratic_on_ball(structure: Structure, ball: sets.Ball) -> Bound | None:
    """The bound of a convex quadratic on a ball; None where it is not a rational quadratic of moderate size."""
    n = len(structure.variables)
    entries = [*structure.quadratic.values(), *structure.linear.values()]
    if structure.ridges or n > LARGEST or not all(v.is_Rational for v in entries):
        return None
    Q = sympy.Matrix(exact.exact_matrix(structure, [], tuple(range(n))))
    if any(high < 0 for _, high, _ in exact._eigenvalues(tuple(tuple(row) for row in Q.tolist()))):
        return None  # not convex
    center = sympy.Matrix([rational(v) for v in ball.center or (0.0,) * n])
    q = sympy.Matrix([structure.linear.get(i, Integer(0)) for i in range(n)]) + Q * center
    radius2 = rational(ball.radius) ** 2
    if _rank(Q) == 0 and all(v == 0 for v in q):
        return None
    least = _least_norm(Q, q)
    if least is None or (least.T * least)[0] > radius2:
        return _supporting(Q, q, radius2, center)
    size2 = (least.T * least)[0]
    return _tangent(Q, least, center) if size2 == radius2 else _inside(Q, least, radius2)


def _rank(Q: sympy.Matrix) -> int:
    return int(Q.rank())


def _least_norm(Q: sympy.Matrix, q: sympy.Matrix) -> sympy.Matrix | None:
    """The solution of ``Q u = -q`` in the range of Q; None if there is none."""
    if all(v == 0 for v in q):
        return sympy.zeros(len(q), 1)
    V = sympy.Matrix.hstack(*Q.columnspace()) if Q.rank() else None
    if V is None:
        return None
    weights = (V.T * Q * V).LUsolve(-V.T * q)
    found = V * weights
    return found if (Q * found + q).is_zero_matrix else None


def _inside(Q: sympy.Matrix, p: sympy.Matrix, radius2: Expr) -> Bound | None:
    V = sympy.Matrix.hstack(*Q.columnspace())
    n = Q.rows
    if V.cols == n:
        spread = sympy.eye(n)  # a single solution inside: nothing is cut off
    else:
        spread = sympy.eye(n) + p * p.T / (radius2 - (p.T * p)[0])
    pencil = (V.T * spread * V).LUsolve(V.T * Q * V)
    alpha = least_root(pencil)
    if alpha is None:
        return None
    return alpha, Integer(2), f"solutions inside the ball, cut off by it: r = 2, alpha = {alpha}", None


def _tangent(Q: sympy.Matrix, p: sympy.Matrix, center: sympy.Matrix) -> Bound | None:
    V = sympy.Matrix.hstack(*Q.columnspace())
    w = V * (V.T * Q * V).LUsolve(V.T * p)
    alpha = 1 / (2 * (w.T * p)[0])
    if V.cols == Q.rows:
        return None  # strongly convex: r = 2
    return alpha, Integer(4), f"the solutions touch the sphere at one point: r = 4, alpha = {alpha}", p + center


def _supporting(Q: sympy.Matrix, q: sympy.Matrix, radius2: Expr, center: sympy.Matrix) -> Bound | None:
    """alpha = lambda_min(Q) + mu with the multiplier of the ball, closed where q is an eigenvector of Q."""
    bottom = Integer(0) if Q.rank() < Q.rows else least_root(Q)
    if bottom is None:
        return None
    turned = Q * q
    size2 = (q.T * q)[0]
    factor = (q.T * turned)[0] / size2
    if (turned - factor * q).is_zero_matrix:
        mu = sympy.expand(sympy.sqrt(size2) / sympy.sqrt(radius2) - factor)
        point = -q * sympy.sqrt(radius2) / sympy.sqrt(size2) + center
    else:
        mu, point = _multiplier_below(Q, q, radius2), None
    alpha = sympy.expand(bottom + mu)
    return alpha, Integer(2), f"the ball presses with multiplier {mu}: r = 2, alpha = {alpha}", point


def _multiplier_below(Q: sympy.Matrix, q: sympy.Matrix, radius2: Expr) -> Expr:
    """A rational just below the root of the decreasing ``|(Q + mu I)^-1 q|^2 = R^2``, checked exactly."""
    from scipy.optimize import brentq

    values, vectors = np.linalg.eigh(np.array(Q, dtype=float))
    along, radius = vectors.T @ np.array(q, dtype=float).ravel(), float(radius2) ** 0.5

    def excess(mu: float) -> float:
        return float(np.linalg.norm(along / (np.maximum(values, 0.0) + mu)) - radius)

    top = float(np.linalg.norm(along)) / radius
    root = float(brentq(excess, 1e-12 * top, top * (1 + 1e-12), xtol=1e-300)) if top > 0 else 0.0
    share = Fraction(1) - Fraction(1, 10**12)
    for _ in range(40):
        mu = sympy.Rational(str((Fraction(root) * share).limit_denominator(10**18)))
        u = (Q + mu * sympy.eye(Q.rows)).LUsolve(q)
        if (u.T * u)[0] >= radius2:
            return mu
        share -= Fraction(1, 10**9)
        share *= share
    return Integer(0)


def least_root(matrix: sympy.Matrix) -> Expr | None:
    """Least eigenvalue of a rational matrix with real eigenvalues: closed up to degree two, else from below."""
    rows = tuple(tuple(row) for row in matrix.tolist())
    if not all(c.is_Rational for row in rows for c in row):
        return None
    closed = exact.extreme_eigenvalue(rows, False) if len(rows) > 1 else rows[0][0]
    if closed is not None:
        return closed
    if not matrix.is_symmetric():
        values = exact._eigenvalues(rows)
        low = min((low for low, _, _ in values), default=0.0)
        return None if low <= 0 else rational(low)
    low = float(np.min(point_eigenvalues(np.array([[[float(c) for c in row] for row in rows]]))[0]))
    spread = float(np.max(np.abs(np.array(matrix, dtype=float)))) * len(rows) * 2.0**-52
    return rational(low - spread) if low - spread > 0 else None


def single_row_on_simplex(
    weight: Expr, power: Expr, row: dict[int, Expr], shift: Expr, n: int, total: float
) -> tuple[Expr, Expr, str] | None:
    """``g = w |a.x + s|^p`` on a simplex of a given total, if the hyperplane meets it.

    Mass on entries above the level moves to the lowest entry: a unit of it changes a.x by at least the gap and costs a
    distance of at most sqrt 2; enough mass is there, since afterwards nothing is above the level.
    """
    entries = [row.get(i, Integer(0)) for i in range(n)]
    level = -shift / rational(total)
    if not all(v.is_Rational for v in [*entries, level]) or not min(entries) <= level <= max(entries):
        return None
    above, below = [a for a in entries if a > level], [a for a in entries if a < level]
    gaps = ([min(above) - min(entries)] if above else []) + ([max(entries) - max(below)] if below else [])
    if not gaps:
        return None
    gap = min(gaps)
    alpha = sympy.expand(power * weight * (gap / sympy.sqrt(2)) ** power)
    return alpha, power, f"one row on a simplex, gap {gap}: r = {power}, alpha = {alpha}"
