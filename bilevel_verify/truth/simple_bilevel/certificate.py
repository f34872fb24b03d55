"""Proved answers of simple bilevel problems: the optimality conditions of both levels, by exact or ball arithmetic.

With W the normals that g fixes (ridges, and rows of the exact factorisation of its quadratic part), P the supporting
constraints of the lower level and A the active ones of the upper level, x solves the problem if

* lower: ``nabla g(x) + G_P' mu + E' nu + sum beta_j (x - c_j) = 0``, ``mu, beta > 0``;
* upper: ``nabla f(x) + G_A' lam + E' nu2 + W' w + sum gamma_j (x - c_j) = 0``, ``lam >= 0`` outside P, ``gamma >= 0``;
* ``G_A x = h_A, E x = e``, active balls ``|x - c_j| = r_j``, everything else strictly feasible.

A ball with ``beta > 0`` leaves one point, which the lower conditions determine alone. Where the lower level has a
rational solution (verified exactly), ``W x`` is known exactly and only the upper conditions are left. Everything else
is one square system, proved by Krawczyk's test in balls. Degenerate systems are not proved here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.truth.arithmetic.krawczyk import MOST_UNKNOWNS, krawczyk
from bilevel_verify.truth.lower_level.points import precision
from bilevel_verify.truth.simple_bilevel.exact_lower import (
    RationalLower,
    independent_rows,
    rational_lower,
    rational_upper,
)
from bilevel_verify.truth.simple_bilevel.optimality import (
    joint_start,
    joint_system,
    layout_of,
    multipliers,
    stationary_system,
)
from bilevel_verify.truth.simple_bilevel.posed import Posed
from bilevel_verify.truth.simple_bilevel.simple_parts import (
    Certificate,
    Parts,
    Vector,
    ball_of,
    exact_dot,
    fixed_normals,
)

if TYPE_CHECKING:
    import flint

FloatArray = NDArray[np.float64]
BITS = 192
NEAR = 1e-9


def certificate(simple: Posed) -> Certificate | None:
    """Prove the answer of a simple bilevel problem; None where the conditions are degenerate or cannot be verified."""
    if simple.structure.missing or simple.feasible.T.shape[0] != simple.feasible.T.shape[1]:
        return None
    with precision(BITS):
        for way in (_supporting_ball, _through_rational_lower, _joint):
            found = way(simple)
            if found is not None:
                return found
    return None


def touching_point(simple: Posed) -> FloatArray | None:
    """The only solution of a lower level whose solutions in the linear part of the set touch a ball; None otherwise."""
    lower = None if simple.structure.missing else rational_lower(simple)
    found = None if lower is None else _touching(Parts(simple), lower)
    return None if found is None else np.array([float(v) for v in found])


# ---- the three ways -----------------------------------------------------------------------------------------------


def _supporting_ball(simple: Posed) -> Certificate | None:
    """One ball with a positive multiplier: x is the only solution of the lower level."""
    found = simple.lower
    rows, supporting_sets = simple.supporting_sets
    if len(supporting_sets) != 1:
        return None
    parts = Parts(simple)
    chosen = independent_rows([*parts.E, *(parts.G[j] for j in rows)])
    if len(chosen) != len(parts.E) + len(rows):
        return None
    equations = [*parts.E, *(parts.G[j] for j in rows)]
    right = [*parts.e, *(parts.h[j] for j in rows)]
    centre, radius = parts.balls[supporting_sets[0]]
    system = stationary_system(parts.n, simple._g, equations, right, (centre, radius))
    values = multipliers(simple.smooth(simple._g)(found.z)[1], equations, found.z, centre)
    proved = krawczyk(system, [*found.z, *values])
    if proved is None:
        return None
    x, weights, beta = proved[: parts.n], proved[parts.n + len(parts.E) : -1], proved[-1]
    if not (beta > 0 and all(w > 0 for w in weights)) or not parts.inside(x, set(rows), {supporting_sets[0]}):
        return None
    return parts.answer(x, "the lower level has one solution (held by a ball); Krawczyk in balls")


def _through_rational_lower(simple: Posed) -> Certificate | None:
    """A lower-level solution in rational numbers makes the description exact; then the upper conditions alone."""
    lower = rational_lower(simple)
    if lower is None:
        return None
    parts = Parts(simple)
    touching = _touching(parts, lower)
    if touching is not None:
        return parts.answer([ball_of(v) for v in touching], "rational solution, the only one: the set touches a ball")
    point = rational_upper(simple, parts, lower)
    if point is not None:
        return parts.answer([ball_of(v) for v in point], "rational solution, conditions of both levels exact")
    for active, rounds in _active_sets(simple):
        fixed = set(lower.supporting)
        equations = [*lower.rows, *parts.E, *(parts.G[j] for j in sorted(fixed))]
        right = [*lower.right, *parts.e, *(parts.h[j] for j in sorted(fixed))]
        free = [j for j in active if j not in fixed]
        base = independent_rows(equations)
        rows = [*(equations[i] for i in base), *(parts.G[j] for j in free)]
        ends = [*(right[i] for i in base), *(parts.h[j] for j in free)]
        if len(independent_rows(rows)) != len(rows) or len(rounds) > 1:
            continue
        ball = parts.balls[rounds[0]] if rounds else None
        found = _upper(simple, parts, rows, ends, len(base), ball)
        settled = fixed | set(free) | _settled(parts, rows, ends)
        if found is not None and parts.inside(found, settled, set(rounds)):
            return parts.answer(found, f"{lower.text}; Krawczyk in balls on the upper level")
    return None


def _settled(parts: Parts, rows: list[Vector], right: Vector) -> set[int]:
    """Constraints that the exact equations decide, and that hold."""
    from bilevel_verify.truth.simple_bilevel.exact_quadratic import solve_rational

    out: set[int] = set()
    if not rows:
        return out
    columns = [[row[i] for row in rows] for i in range(parts.n)]
    for j, row in enumerate(parts.G):
        solved = solve_rational(columns, list(row))
        if solved is not None and exact_dot(solved[0], right) <= parts.h[j]:
            out.add(j)
    return out


def _upper(
    simple: Posed,
    parts: Parts,
    rows: list[Vector],
    right: Vector,
    signless: int,
    ball: tuple[Vector, Fraction] | None,
) -> list[flint.arb] | None:
    z = simple.upper.z
    system = stationary_system(parts.n, simple._f, rows, right, ball)
    values = multipliers(simple.smooth(simple._f)(z)[1], rows, z, None if ball is None else ball[0])
    proved = krawczyk(system, [*z, *values])
    if proved is None:
        return None
    weights = proved[parts.n + signless :]
    return proved[: parts.n] if all(w > 0 for w in weights) else None


def _joint(simple: Posed) -> Certificate | None:
    """Both levels in one system, for lower levels without rational solutions."""
    parts, supporting = Parts(simple), simple.supporting_sets[0]
    for active, rounds in _active_sets(simple):
        if len(rounds) > 1:
            continue
        ball = parts.balls[rounds[0]] if rounds else None
        layout = layout_of(simple, parts, supporting, [j for j in active if j not in supporting])
        if layout is None or layout.size + (ball is not None) > MOST_UNKNOWNS:
            continue
        proved = krawczyk(joint_system(simple, layout, ball), joint_start(simple, layout, ball))
        if proved is None:
            continue
        x = proved[: parts.n]
        lower = proved[parts.n + len(parts.E) : parts.n + layout.lower]
        upper = proved[parts.n + layout.lower + layout.signless :]
        if all(w > 0 for w in [*lower, *upper]) and parts.inside(x, set(supporting) | set(active), set(rounds)):
            return parts.answer(x, "optimality conditions of both levels; Krawczyk in balls")
    return None


# ---- ingredients ---------------------------------------------------------------------------------------------------


def _active_sets(simple: Posed) -> list[tuple[list[int], list[int]]]:
    """Guesses of the active rows (numbers in the feasible set) and balls at the upper solution."""
    reduced = simple.solutions.reduced
    assert reduced is not None
    z = simple.upper.z
    found = simple.upper.multipliers
    rounds = [j for j in range(len(reduced.balls)) if found[len(reduced.b) + j] > 1e-8 * (1 + float(np.max(found)))]
    out: list[tuple[list[int], list[int]]] = [] if rounds else [(_carrying(simple), [])]
    size = 1 + float(np.max(np.abs(found), initial=0.0))
    for level in (1e-8, 1e-5, 1e-11):
        heavy = {j for j, m in zip(reduced.rows, found) if m > level * size}
        rows = sorted(heavy)
        rounds = [j for j in range(len(reduced.balls)) if found[len(reduced.b) + j] > level * size]
        if (rows, rounds) not in out:
            out.append((rows, rounds))
    parts = Parts(simple)
    near = [
        j for j, row in enumerate(parts.G) if abs(float(parts.h[j]) - float(np.dot([float(v) for v in row], z))) < NEAR
    ]
    if (near, out[0][1]) not in out:
        out.append((near, out[0][1]))
    return out


def _carrying(simple: Posed) -> list[int]:
    """Active rows that carry a multiplier of the upper level, by nonnegative least squares: independent ones."""
    from bilevel_verify.truth.simple_bilevel.exact_quadratic import support

    parts, z = Parts(simple), simple.upper.z
    values = [float(np.dot([float(v) for v in row], z)) for row in parts.G]
    active = [j for j, value in enumerate(values) if abs(float(parts.h[j]) - value) < 1e3 * NEAR]
    free = [*parts.E, *(normal for normal, _ in fixed_normals(simple, simple.lower.z))]
    rows = [np.array([[float(v) for v in row] for row in part]).reshape(-1, parts.n) for part in (
        [parts.G[j] for j in active], free)]  # fmt: skip
    return [active[i] for i in support(rows[0], rows[1], simple.smooth(simple._f)(z)[1])]


def _touching(parts: Parts, lower: RationalLower) -> Vector | None:
    """The only common point of the fixed rows and a ball that they touch, exactly."""
    from bilevel_verify.truth.simple_bilevel.exact_quadratic import solve_rational

    equations = [*lower.rows, *parts.E, *(parts.G[j] for j in sorted(lower.supporting))]
    right = [*lower.right, *parts.e, *(parts.h[j] for j in sorted(lower.supporting))]
    base = independent_rows(equations)
    rows, ends = [equations[i] for i in base], [right[i] for i in base]
    for centre, radius in parts.balls:
        gram = [[exact_dot(a, b) for b in rows] for a in rows]
        offsets = [b - exact_dot(a, centre) for a, b in zip(rows, ends)]
        solved = solve_rational(gram, offsets) if rows else None
        if solved is None:
            continue
        point = [c + sum((w * a[i] for w, a in zip(solved[0], rows)), Fraction(0)) for i, c in enumerate(centre)]
        if sum(((p - c) ** 2 for p, c in zip(point, centre)), Fraction(0)) != radius**2:
            continue
        if all(exact_dot(row, point) <= end for row, end in zip(parts.G, parts.h)) and all(
            sum(((p - c) ** 2 for p, c in zip(point, other)), Fraction(0)) <= r**2 for other, r in parts.balls
        ):
            return point
    return None
