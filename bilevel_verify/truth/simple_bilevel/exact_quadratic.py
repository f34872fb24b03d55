"""Simple bilevel problems with quadratic f and g over a polyhedron, solved in exact rational arithmetic.

Floats only guess which constraints bind. One rational linear system holds the optimality conditions of both levels,
and its solution is accepted only if every sign and every inequality holds exactly; then f*, g* and x* are proved.

Lower level at x: ``Q x + q + G_P' mu + E' nu = 0, mu >= 0, G_P x = h_P``. Its solutions are the points of Z with
the same ``Q z`` at which the rows with ``mu > 0`` bind. Upper level: ``F x + f + G_A' lam + E' nu2 + Q w = 0`` with
``lam >= 0`` (of any sign where ``mu > 0``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.truth.functions.quadratics import Quadratic, ldl, quadratic_of
from bilevel_verify.truth.simple_bilevel.posed import Posed
from bilevel_verify.truth.simple_bilevel.simple_parts import Vector, exact_dot, fractions

FloatArray = NDArray[np.float64]
MOST_UNKNOWNS = 260


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """Proved optimal values and an optimal solution, as fractions."""

    f_star: Fraction
    g_star: Fraction
    x: tuple[Fraction, ...]
    unique: bool


def exact_answer(simple: Posed) -> ExactAnswer | None:
    """The proved answer, or None where the problem is not of this kind or the float guess of the binding rows fails."""
    problem = simple.problem
    base = simple.feasible
    if problem.g is None or base.balls or base.T.shape[0] != base.T.shape[1]:
        return None
    f, g = quadratic_of(problem.f, problem.x), quadratic_of(problem.g, problem.x)
    if f is None or g is None or not (_convex(f) and _convex(g)):
        return None
    x = np.asarray(simple.upper.z)
    (h, e), G, E = fractions([base.h, base.e]), fractions(base.G), fractions(base.E)
    Z = _Polyhedron(G, h, E, e)
    near = 1e-7 * (1 + float(np.linalg.norm(x)))
    active = [i for i in range(len(base.h)) if float(base.h[i] - base.G[i] @ x) <= near]
    supporting = [i for i in active if i in simple.supporting_sets[0]]
    found = _solve(f, g, Z, *supports(f, g, base.G, base.E, x, active))[0]
    if found is not None:
        return found
    for _ in range(4):
        found, wrong = _solve(f, g, Z, active, supporting)
        if found is not None or not wrong:
            return found
        active = [i for i in active if i not in wrong]
    return None


def supports(
    f: Quadratic, g: Quadratic, G: FloatArray, E: FloatArray, x: FloatArray, active: list[int]
) -> tuple[list[int], list[int]]:
    """Constraints that carry a multiplier: of the upper level (with the supporting ones), and of the lower level.

    Nonnegative least squares picks independent ones where more constraints bind than are needed (degenerate vertices).
    """
    Q, q, _ = g.floats()
    F, p, _ = f.floats()
    rows = G[active]
    supporting = [active[i] for i in support(rows, E, Q @ x + q)]
    free = np.vstack([np.array([[float(v) for v in row] for row in _independent(g.Q)]).reshape(-1, len(x)), E])
    tied = [i for i in active if i not in supporting]
    upper = [tied[i] for i in support(G[tied], np.vstack([free, G[supporting]]), F @ x + p)]
    return sorted([*supporting, *upper]), supporting


def support(rows: FloatArray, free: FloatArray, gradient: FloatArray) -> list[int]:
    """Rows with a positive weight in ``-gradient = rows' w + free' v``, ``w >= 0``."""
    from scipy.optimize import nnls

    if not len(rows):
        return []
    size = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    target, columns = -gradient, (rows / size[:, None]).T
    if len(free):
        basis = np.linalg.svd(free, full_matrices=False)
        kept = basis[2][basis[1] > 1e-10 * basis[1][0]] if basis[1][0] > 0 else basis[2][:0]
        columns = columns - kept.T @ (kept @ columns)
    weights, _ = nnls(columns, target)
    return [int(i) for i in np.flatnonzero(weights > 1e-8 * (1 + float(np.linalg.norm(gradient))))]


def _convex(quadratic: Quadratic) -> bool:
    return ldl(quadratic.Q).sign == 1


@dataclass(frozen=True, slots=True)
class _Polyhedron:
    """``G z <= h, E z = e`` in rationals."""

    G: list[Vector]
    h: Vector
    E: list[Vector]
    e: Vector


def _solve(
    f: Quadratic, g: Quadratic, Z: _Polyhedron, active: list[int], supporting: list[int]
) -> tuple[ExactAnswer | None, set[int]]:
    """Solve the joint system and check every condition exactly; also the rows of wrong sign in the upper level."""
    fixed_rows = _independent(g.Q)
    n, k = len(f.q), len(Z.e)
    mu, lam = n, n + len(supporting) + k
    if lam + len(active) + k + len(fixed_rows) > MOST_UNKNOWNS:
        return None, set()
    solved = solve_rational(*_joint_conditions(f, g, Z, active, supporting, fixed_rows))
    if solved is None:
        return None, set()
    values, free = solved
    x, lower, upper = values[:n], values[mu : mu + len(supporting)], values[lam:]
    fixed = {c for c, m in zip(supporting, lower) if m > 0}
    wrong = {c for c, v in zip(active, upper) if v < 0 and c not in fixed}
    fine = all(m >= 0 for m in lower) and not wrong
    if not (fine and all(exact_dot(row, x) <= bound for row, bound in zip(Z.G, Z.h))):
        return None, wrong - set(supporting)
    return ExactAnswer(_value(f, x), _value(g, x), tuple(x), not any(c < n for c in free)), set()


def _joint_conditions(
    f: Quadratic, g: Quadratic, Z: _Polyhedron, active: list[int], supporting: list[int], fixed_rows: list[Vector]
) -> tuple[list[Vector], Vector]:
    """Rows and right-hand sides of the conditions of both levels in the unknowns (x, mu, nu, lam, nu2, w)."""
    n, k, zero = len(f.q), len(Z.e), Fraction(0)
    lower, upper = len(supporting) + k, len(active) + k + len(fixed_rows)
    rows: list[Vector] = []
    right: Vector = []
    for i in range(n):
        equal = [row[i] for row in Z.E]
        rows.append([*g.Q[i], *(Z.G[c][i] for c in supporting), *equal, *[zero] * upper])
        right.append(-g.q[i])
        along = [row[i] for row in fixed_rows]
        rows.append([*f.Q[i], *[zero] * lower, *(Z.G[c][i] for c in active), *equal, *along])
        right.append(-f.q[i])
    binding = [*((Z.G[c], Z.h[c]) for c in active), *zip(Z.E, Z.e)]
    rows += [[*row, *[zero] * (lower + upper)] for row, _ in binding]
    return rows, [*right, *(end for _, end in binding)]


def _independent(matrix: list[Vector]) -> list[Vector]:
    """A basis of the row space (rows of the exact factorisation)."""
    return [list(normal) for _, normal in ldl(matrix).squares]


def _value(quadratic: Quadratic, x: Vector) -> Fraction:
    return (
        sum((x[i] * exact_dot(row, x) for i, row in enumerate(quadratic.Q)), Fraction(0)) / 2
        + exact_dot(quadratic.q, x)
        + quadratic.c
    )


def solve_rational(rows: list[Vector], right: Vector) -> tuple[Vector, set[int]] | None:
    """One exact solution of a linear system and its free columns (set to zero); None if it is inconsistent."""
    import flint

    count = len(rows[0])
    entries: list[Any] = [flint.fmpq(v.numerator, v.denominator) for row, b in zip(rows, right) for v in (*row, b)]
    reduced, rank = flint.fmpq_mat(len(rows), count + 1, entries).rref()
    values, pivots = [Fraction(0)] * count, set()
    for i in range(rank):
        pivot = next(j for j in range(count + 1) if reduced[i, j] != 0)
        if pivot == count:
            return None
        pivots.add(pivot)
        number = reduced[i, count]
        values[pivot] = Fraction(int(number.p), int(number.q))
    return values, set(range(count)) - pivots
