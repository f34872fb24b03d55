"""Lower levels with a rational solution, verified exactly: the right-hand sides of the description become exact.

A float solution is rounded to simple fractions on the rows that g fixes; the rounded point counts only if it is
feasible and stationary in exact arithmetic (``-nabla g`` is a combination of constraint normals with multipliers >= 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy

from bilevel_verify.truth.simple_bilevel.exact_quadratic import solve_rational
from bilevel_verify.truth.simple_bilevel.posed import Posed
from bilevel_verify.truth.simple_bilevel.simple_parts import Parts, Vector, exact_dot, fixed_normals

MOST_VARIABLES = 60
MOST_OPERATIONS = 20_000
SHORT = 200


@dataclass(frozen=True, slots=True)
class RationalLower:
    """``rows z = right`` are the exact values that g fixes; ``supporting``: constraints with a positive multiplier."""

    point: tuple[Fraction, ...]
    rows: list[Vector]
    right: Vector
    supporting: tuple[int, ...]
    text: str


def independent_rows(rows: Sequence[Vector]) -> list[int]:
    """Numbers of a maximal independent set of rows, earlier ones first (exact)."""
    import flint

    if not rows:
        return []
    n = len(rows[0])
    # pivots of the transpose: columns are the rows asked about
    entries = [flint.fmpq(rows[j][i].numerator, rows[j][i].denominator) for i in range(n) for j in range(len(rows))]
    reduced, rank = flint.fmpq_mat(n, len(rows), entries).rref()
    return [next(j for j in range(len(rows)) if reduced[i, j] != 0) for i in range(rank)]


def rational_lower(simple: Posed) -> RationalLower | None:
    """An exact rational solution of the lower level near the float one, or None."""
    g = simple.problem.g
    if g is None or simple.n > MOST_VARIABLES or not _may_be_rational(g, simple.problem.x):
        return None
    if g.count_ops() > MOST_OPERATIONS:
        return None
    parts, found, reduced = Parts(simple), simple.lower, simple._reduced
    supporting = simple.supporting_sets[0]
    fixed = fixed_normals(simple, found.z)
    for digits in (1, 12, 1000, 10**6):
        point = _rounded(simple, parts, [normal for normal, _ in fixed], [*reduced.equal, *supporting], digits)
        if point is None:
            continue
        gradient = _gradient(g, simple.problem.x, point)
        if gradient is None or not _feasible(parts, point):
            continue
        weights = _weights(parts, gradient, supporting)
        if weights is not None:
            rows = [normal for normal, _ in fixed]
            right = [sum((a * b for a, b in zip(row, point)), Fraction(0)) for row in rows]
            strict = tuple(j for j, w in zip(supporting, weights) if w > 0)
            return RationalLower(tuple(point), rows, right, strict, "rational solution of the lower level")
    return None


def _may_be_rational(g: sympy.Expr, x: Sequence[sympy.Symbol]) -> bool:
    """Whether exact gradients at rational points may be rational (short expressions are simply tried)."""
    if g.count_ops() < SHORT:
        return True
    known = {"pluspow", "plus", "Max", "Min", "abspow", "Abs", "huber"}
    functions = [a for a in g.atoms(sympy.Function, sympy.Max, sympy.Min) if a.free_symbols & set(x)]
    if any(type(a).__name__ not in known for a in functions):
        return False
    return g.xreplace({a: sympy.Dummy() for a in functions}).is_polynomial() is True


def rational_upper(simple: Posed, parts: Parts, lower: RationalLower) -> Vector | None:
    """A rational point near the float solution that meets the conditions of the upper level exactly, or None.

    Degenerate active sets (multipliers 0) do no harm here.
    """
    f = simple.problem.f
    if not parts.sure or not _may_be_rational(f, simple.problem.x) or f.count_ops() > MOST_OPERATIONS:
        return None
    equations = [*lower.rows, *parts.E, *(parts.G[j] for j in lower.supporting)]
    right = [*lower.right, *parts.e, *(parts.h[j] for j in lower.supporting)]
    z = simple.upper.z
    for digits in (12, 1000):
        point = [Fraction(float(v)).limit_denominator(digits) for v in z]
        if max((abs(float(p) - v) for p, v in zip(point, z)), default=0.0) > 1e-7:
            continue
        if any(exact_dot(row, point) != end for row, end in zip(equations, right)) or not _feasible(parts, point):
            continue
        gradient = _gradient(f, simple.problem.x, point)
        if gradient is not None and _balanced(parts, point, gradient, equations):
            return point
    return None


def _balanced(parts: Parts, point: Vector, gradient: Vector, free: list[Vector]) -> bool:
    """Whether ``-gradient`` combines free rows and, with weights >= 0, active constraints: exactly."""
    from scipy.optimize import nnls

    signed = [row for row, end in zip(parts.G, parts.h) if exact_dot(row, point) == end]
    for centre, radius in parts.balls:
        offset = [a - c for a, c in zip(point, centre)]
        if exact_dot(offset, offset) == radius**2:
            signed.append(offset)
    base = [free[i] for i in independent_rows(free)]
    columns = [*base, *([-v for v in row] for row in base), *signed]
    if not columns:
        return not any(gradient)
    matrix = np.array([[float(v) for v in row] for row in columns]).T
    weights, _ = nnls(matrix, -np.array([float(v) for v in gradient]))
    used = [row for row, w in zip(signed, weights[2 * len(base) :]) if w > 1e-9]
    every = [*base, *used]
    rows = [[column[i] for column in every] for i in range(len(gradient))]
    solved = solve_rational(rows, [-v for v in gradient]) if every else None
    if solved is None:
        return not every and not any(gradient)
    return all(w >= 0 for w in solved[0][len(base) :])


def _rounded(simple: Posed, parts: Parts, rows: list[Vector], tight: list[int], digits: int) -> Vector | None:
    """The float solution rounded so that fixed rows and tight constraints have simple values."""
    z = simple.lower.z
    near = [Fraction(float(v)).limit_denominator(max(digits, 64)) for v in z]
    values = [Fraction(sum(float(a) * v for a, v in zip(row, z))).limit_denominator(digits) for row in rows]
    every = [*parts.E, *(parts.G[j] for j in tight), *rows]
    ends = [*parts.e, *(parts.h[j] for j in tight), *values]
    chosen = independent_rows(every)
    if not chosen:
        return near
    left = [every[i] for i in chosen]
    gap = [ends[i] - sum((a * b for a, b in zip(every[i], near)), Fraction(0)) for i in chosen]
    gram = [[sum((u * v for u, v in zip(a, b) if u and v), Fraction(0)) for b in left] for a in left]
    solved = solve_rational(gram, gap)
    if solved is None:
        return None
    return [v + sum((w * row[i] for w, row in zip(solved[0], left)), Fraction(0)) for i, v in enumerate(near)]


def _gradient(function: sympy.Expr, x: Sequence[sympy.Symbol], point: Vector) -> Vector | None:
    """Exact gradient of a (piecewise) polynomial with rational coefficients; None for other coefficients."""
    put = {s: sympy.Rational(v.numerator, v.denominator) for s, v in zip(x, point)}
    out = []
    for s in x:
        value = sympy.diff(function, s).subs(put).doit()
        if not value.is_Rational:
            return None
        out.append(Fraction(int(value.p), int(value.q)))
    return out


def _feasible(parts: Parts, point: Vector) -> bool:
    linear = all(sum((a * b for a, b in zip(row, point)), Fraction(0)) <= end for row, end in zip(parts.G, parts.h))
    equal = all(sum((a * b for a, b in zip(row, point)), Fraction(0)) == end for row, end in zip(parts.E, parts.e))
    balls = all(sum(((a - c) ** 2 for a, c in zip(point, m)), Fraction(0)) <= r**2 for m, r in parts.balls)
    return linear and equal and balls


def _weights(parts: Parts, gradient: Vector, supporting: list[int]) -> list[Fraction] | None:
    """Multipliers of the supporting constraints that balance the gradient exactly (with any of the equations)."""
    columns = [*(parts.G[j] for j in supporting), *parts.E]
    if not columns:
        return [] if not any(gradient) else None
    rows = [[column[i] for column in columns] for i in range(len(gradient))]
    solved = solve_rational(rows, [-v for v in gradient])
    if solved is None:
        return None
    weights = solved[0][: len(supporting)]
    return weights if all(w >= 0 for w in weights) else None
