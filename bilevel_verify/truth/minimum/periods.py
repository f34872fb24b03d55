"""Periodic phi: one period of x is enough for its minimum on the whole space.

If ``f(x + p, y + v) = f(x, y)`` and ``g_y(x + p, y + v) = g_y(x, y)`` identically, then ``y*(x + p) = y*(x) + v`` and
phi has the period p. Candidates come from float solutions; a period counts only if both identities hold symbolically.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.numbers.rounding import enclose
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.lower_level.points import Points

FloatArray = NDArray[np.float64]
PERIODIC = ("psi", "sin", "cos", "tan")
MOST_OPERATIONS = 400


def one_period(problem: Problem, points: Points, low: FloatArray, high: FloatArray) -> tuple[FloatArray, str] | None:
    """Upper ends of one period from 0 (for every unbounded x) with the proved periods as text; else None.

    Ends of bounded coordinates stay as they are; a coordinate bounded on one side only has no period here.
    """
    lower = problem.lower
    size = problem.f.count_ops() + (0 if lower is None else lower.count_ops())
    if size > MOST_OPERATIONS or not any(type(a).__name__ in PERIODIC for a in problem.f.atoms(sympy.Function)):
        return None
    ends, found = high.copy(), []
    for i, symbol in enumerate(problem.x):
        if np.isfinite(low[i]) and np.isfinite(high[i]):
            continue
        period = None if np.isfinite(low[i]) or np.isfinite(high[i]) else _period(problem, points, i)
        if period is None:
            return None
        ends[i] = enclose(period)[1]
        found.append(f"{period} in {symbol.name}")
    return ends, ", ".join(found)


def _period(problem: Problem, points: Points, i: int) -> sympy.Expr | None:
    base = np.full(problem.dx, 0.3)
    for period in (*(k * sympy.pi for k in (2, 4, 1, 6, 8, 12)), *(sympy.Integer(k) for k in (4, 8, 12))):
        other = base.copy()
        other[i] += float(period)
        shift = _shift(problem, points, base, other, period)
        if shift is not None and _proved(problem, i, period, shift):
            return period
    return None


def _shift(
    problem: Problem, points: Points, base: FloatArray, other: FloatArray, period: sympy.Expr
) -> list[sympy.Expr] | None:
    """``y*(x + p) - y*(x)`` as simple multiples of the period, read off floats."""
    if points.model.lower is None:
        return []
    solved = points.level.solve(np.vstack([base, other]))
    if not solved.converged.all():
        return None
    ratios = (solved.y[1] - solved.y[0]) / float(period)
    simple = [Fraction(float(r)).limit_denominator(12) for r in ratios]
    if any(abs(float(s) - r) > 1e-9 for s, r in zip(simple, ratios)):
        return None
    return [sympy.Rational(s.numerator, s.denominator) * period for s in simple]


def _proved(problem: Problem, i: int, period: sympy.Expr, shift: list[sympy.Expr]) -> bool:
    moved = {problem.x[i]: problem.x[i] + period, **{s: s + v for s, v in zip(problem.y, shift)}}
    lower = problem.lower
    parts = [problem.f, *([] if lower is None else [sympy.diff(lower, s) for s in problem.y])]
    return all(_vanishes(part.subs(moved, simultaneous=True), part) for part in parts)


def _vanishes(left: sympy.Expr, right: sympy.Expr) -> bool:
    difference = sympy.expand(_folded(left) - _folded(right))
    return bool(difference == 0)


def _folded(expression: sympy.Expr) -> sympy.Expr:
    """Arguments of periodic functions without whole periods."""

    def fold(part: sympy.Expr) -> sympy.Expr:
        name = type(part).__name__
        inner = sympy.expand(part.args[-1])
        full = sympy.Integer(4) if name == "psi" else 2 * sympy.pi
        constant = inner.as_independent(*inner.free_symbols, as_Add=True)[0] if inner.free_symbols else sympy.S.Zero
        whole = sympy.floor(constant / full) * full
        return part.func(*part.args[:-1], inner - whole)

    return expression.replace(lambda e: type(e).__name__ in PERIODIC and bool(e.free_symbols), fold)
