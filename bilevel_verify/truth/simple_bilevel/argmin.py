"""The argmin of a convex function over a set, described exactly by linear constraints around one minimiser.

Inequality constraints with a positive multiplier become equations, every ridge ``a_i . z`` of g is fixed to its value
(or confined to the interval on which its profile is affine), and ``Q z`` is fixed for the quadratic part. A ball with a
positive multiplier leaves a single point.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InfeasibleError
from bilevel_verify.truth.functions.quadratics import ldl
from bilevel_verify.truth.functions.structure import Structure
from bilevel_verify.truth.sets.convex import Solution
from bilevel_verify.truth.sets.polyhedra import Description, Reduced, reduce
from bilevel_verify.truth.simple_bilevel.certificate import touching_point
from bilevel_verify.truth.simple_bilevel.exact_lower import independent_rows
from bilevel_verify.truth.simple_bilevel.facts import Facts, SolutionSet
from bilevel_verify.truth.simple_bilevel.posed import Posed
from bilevel_verify.truth.simple_bilevel.simple_parts import ball_of, exact_dot

FloatArray = NDArray[np.float64]
EPS = float(np.finfo(float).eps)


def solution_set(simple: Posed, found: Solution) -> SolutionSet:
    """The solution set of the lower level, given one solution."""
    reduced = simple._reduced
    slack = _accuracy(simple, found)
    facts = simple.facts
    if simple.supporting_sets[1] or reduced.dimension == 0 or (facts is not None and facts.single is not None):
        return SolutionSet(_single(found.z), found.z, True, slack)
    if simple.structure.missing:
        return SolutionSet(None, found.z, False, slack, simple.structure.missing)
    touching = touching_point(simple) if reduced.balls else None
    if touching is not None:
        point = _single(touching)
        return SolutionSet(point, touching, True, 4 * EPS * (1 + float(np.linalg.norm(touching))))
    try:
        exact = reduce(describe_argmin(simple, found, reduced) if facts is None else described(simple, facts))
    except InfeasibleError as problem:  # the solution found lies in the set: its description in floats failed
        return SolutionSet(None, found.z, False, slack, f"its description was lost in rounding ({problem})")
    return SolutionSet(exact, found.z, exact.dimension == 0, slack)


def described(simple: Posed, facts: Facts) -> Description:
    """The facts about the solutions as linear constraints in floats; of dependent equations only a basis is kept."""
    base = simple.feasible
    rows = [list(map(Fraction, base.G[j])) for j in facts.supporting]
    rows = [*(list(map(Fraction, row)) for row in base.E), *rows]
    lift = [[Fraction(float(v)) for v in row] for row in base.T.T]
    ends = [*map(float, base.e), *(float(base.h[j]) for j in facts.supporting)]
    for row in facts.rows:
        size = max(abs(v) for v in row.normal)
        rows.append([exact_dot(row.normal, column) / size for column in lift])
        ends.append(float(row.value / ball_of(size)))
    chosen = independent_rows(rows)
    E = np.array([[float(v) for v in rows[i]] for i in chosen]).reshape(-1, base.T.shape[1])
    bare = Description(base.T, base.G, base.h, E, np.array([ends[i] for i in chosen]), base.balls)
    halves = [
        ([v / max(map(abs, normal)) for v in normal], end / max(map(abs, normal))) for normal, end in facts.halves
    ]
    G = np.array([[float(v) for v in normal] for normal, _ in halves]).reshape(-1, simple.n)
    return bare.with_rows(G, np.array([float(end) for _, end in halves]))


def _single(z: FloatArray) -> Reduced:
    """The set of one point."""
    return Reduced(z, np.zeros((len(z), 0)), np.zeros((0, 0)), np.zeros(0), (), (), ())


def describe_argmin(simple: Posed, found: Solution, reduced: Reduced) -> Description:
    """Linear description of the argmin: Z with supporting constraints as equations, fixed ridges, fixed ``Q z``.

    ``found`` is a lower-level solution over ``reduced``, the set whose multipliers it has.
    """
    size = 1 + float(np.max(np.abs(found.multipliers), initial=0.0))
    supporting = [row for row, m in zip(reduced.rows, found.multipliers) if m > 1e-9 * size]
    base = simple.feasible
    description = Description(
        base.T,
        base.G,
        base.h,
        np.vstack([base.E, base.G[supporting]]),
        np.concatenate([base.e, base.h[supporting]]),
        base.balls,
    )
    rows_E, rhs_E, rows_G, rhs_G = _fixed(simple.structure, found.z)
    n = simple.n
    return description.with_rows(
        np.array(rows_G).reshape(-1, n), np.array(rhs_G), np.array(rows_E).reshape(-1, n), np.array(rhs_E)
    )


def _fixed(structure: Structure, z: FloatArray) -> tuple[list[FloatArray], list[float], list[FloatArray], list[float]]:
    """Equations and inequalities that every minimiser satisfies, given one of them."""
    rows_E: list[FloatArray] = []
    rhs_E: list[float] = []
    rows_G: list[FloatArray] = []
    rhs_G: list[float] = []
    for _, normal in ldl(structure.quadratic.Q).squares:
        row = np.array([float(v) for v in normal])
        rows_E.append(row)
        rhs_E.append(float(row @ z))
    for ridge in structure.ridges:
        row, shift = ridge.row()
        t = float(row @ z) + shift
        piece = (
            next((p for p in ridge.pieces if p[0] - 1e-9 <= t <= p[1] + 1e-9), None) if ridge.kind == "kinked" else None
        )
        if piece is None:
            rows_E.append(row)
            rhs_E.append(float(row @ z))
            continue
        if np.isfinite(piece[1]):
            rows_G.append(row)
            rhs_G.append(piece[1] - shift)
        if np.isfinite(piece[0]):
            rows_G.append(-row)
            rhs_G.append(shift - piece[0])
    return rows_E, rhs_E, rows_G, rhs_G


def _accuracy(simple: Posed, found: Solution) -> float:
    """How far the fixed values of the description may be off: what the facts leave, and rounding."""
    rounding = float(8 * EPS * (1 + float(np.linalg.norm(found.z))) * np.sqrt(simple.n))
    return float(np.inf) if simple.facts is None else rounding + simple.facts.room
