"""Answers of simple bilevel problems with error bars that follow from checked residuals.

The lower level is solved in 1280 bits. Convexity turns the residuals into facts about *every* solution x of it, with
E a bound of the error of ``g*`` at the point z^ that was found:

* a constraint with multiplier m has a slack of at most ``E / m`` at x; a ball with multiplier m leaves
  ``m |x - z^|^2 / 2 <= E``;
* a square of weight w of the quadratic part has ``w (a . (x - z^))^2 / 2 <= E``, and a strictly convex ridge moves by
  at most the distance at which its profile leaves its tangent by E.

f is then minimised over the set that these facts describe. Its minimum bounds f* from below; the point found counts
only if ``g`` there is ``g*`` again. Where one of these steps fails there is no error bar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.numbers.rounding import ball as ball_of
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.truth.functions.quadratics import ldl
from bilevel_verify.truth.functions.structure import Ridge
from bilevel_verify.truth.simple_bilevel.exact_lower import independent_rows
from bilevel_verify.truth.simple_bilevel.facts import Facts, Row
from bilevel_verify.truth.simple_bilevel.path_following import BITS, End, Region, follow
from bilevel_verify.truth.simple_bilevel.posed import Posed
from bilevel_verify.truth.simple_bilevel.simple_parts import Vector, dot, exact_dot, fractions

if TYPE_CHECKING:
    import flint

    from bilevel_verify.truth.functions.model import Function

FloatArray = NDArray[np.float64]
EPS = float(np.finfo(float).eps)
ROOM = 1e-80
"""Inequalities of the lower level are widened by this much, so that flat sets have an interior."""
WIDEST = 1e-6
"""A fact with more room than this describes nothing."""
LEAST = 1e-25
"""Smallest multiplier, beside the largest one, that is taken for positive where an exact proof asks for a guess."""
FLATTEST = 1e-24
"""Largest ``g - g*`` at a point that counts as a solution of the lower level."""


@dataclass(frozen=True, slots=True)
class Supported:
    """f* with its error, and x* with its error (infinite where other solutions are not excluded)."""

    f: float
    f_error: float
    x: FloatArray
    x_error: float


def region_of(simple: Posed, room: float) -> Region:
    """The feasible set in rationals; of dependent equations only a basis is kept."""
    base = simple.feasible
    lifted = base.T.shape[0] != base.T.shape[1]
    E, e = fractions(base.E), [Fraction(float(v)) for v in base.e]
    chosen = independent_rows(E)
    return Region(
        fractions(base.T) if lifted else None,
        fractions(base.G),
        [ball_of(Fraction(float(v))) for v in base.h],
        [E[i] for i in chosen],
        [ball_of(e[i]) for i in chosen],
        [([Fraction(float(v)) for v in c], Fraction(r)) for c, r in base.balls],
        room,
        simple.n,
    )


def lifted_start(simple: Posed, z: FloatArray) -> list[float]:
    """A point in the lifted variables of the feasible set."""
    if simple.feasible.T.shape[0] == simple.feasible.T.shape[1]:
        return [float(v) for v in z]
    return [*(max(float(v), 0.0) for v in z), *(max(-float(v), 0.0) for v in z)]


# ---- the lower level ----------------------------------------------------------------------------------------------


def lower_facts(simple: Posed, near: FloatArray) -> Facts | None:
    """Solve the lower level again in high precision; None where that fails.

    Parameters
    ----------
    near : a point near a solution (of the original variables).
    """
    with precision(BITS):
        end = follow(simple._g, region_of(simple, ROOM), lifted_start(simple, near))
        return None if end is None else _facts(simple, end)


def exact_facts(simple: Posed, point: Sequence[Fraction], value: Fraction) -> Facts | None:
    """The same for a rational point at which every term of g is at its minimum."""
    with precision(BITS):
        z, none = [ball_of(v) for v in point], ball_of(Fraction(0))
        lifted = simple.feasible.T.shape[0] != simple.feasible.T.shape[1]
        w = [*(v.max(none) for v in z), *((-v).max(none) for v in z)] if lifted else z
        fixed = _fixed(simple, z, 0.0)
        count = len(simple.feasible.h) + len(simple.feasible.balls)
        return None if fixed is None else Facts(z, w, ball_of(value), 0.0, {}, (0.0,) * count, *fixed, None)


def _facts(simple: Posed, end: End) -> Facts | None:
    total = float(sum((abs(float(v)) for v in [*end.weights, *end.free]), 0.0))
    error = end.below + 1e12 * (ROOM + end.violation) * (1 + total)
    linear = len(simple.feasible.h)
    weights = [float(v) for v in end.weights]
    supporting = {j: error / m for j, m in enumerate(weights[:linear]) if m > 0 and error / m < 1e-18}
    rounds = [float(np.sqrt(2 * error / m)) for m in weights[linear:] if m > 0 and error / m < 1e-18]
    kept = [m if m > LEAST * (1 + max(weights)) else 0.0 for m in weights]
    single = min(rounds) if rounds else _bowl(simple, end, error)
    fixed = _fixed(simple, end.z, error)
    if fixed is None and single is None:
        return None
    rows, halves = fixed if fixed is not None else ([], [])
    return Facts(end.z, end.w, end.value, error, supporting, tuple(kept), rows, halves, single)


def _bowl(simple: Posed, end: End, error: float) -> float | None:
    """Without a decomposition: the radius around z that the curvature of g there leaves, where it is clear."""
    if not simple.structure.missing:
        return None
    at = np.array([float(v) for v in end.z])
    B = simple._reduced.B
    hessian = B.T @ simple.smooth(simple._g)(at)[2] @ B
    values = np.linalg.eigvalsh(0.5 * (hessian + hessian.T)) if len(hessian) else np.ones(1)
    return float(np.sqrt(8 * error / values[0])) if values[0] > 1e-8 * (1 + abs(values[-1])) else None


def _room(error: float, weight: Fraction) -> float:
    """Largest |form| with ``weight * form**2 / 2 <= error``; infinite where the weight is too small for a float."""
    with np.errstate(over="ignore", divide="ignore"):
        return 0.0 if error == 0 else float(np.sqrt(np.float64(2 * error) / np.float64(float(weight))))


def _fixed(simple: Posed, z: list[flint.arb], error: float) -> tuple[list[Row], list[tuple[Vector, Fraction]]] | None:
    """Forms that all solutions share, and the pieces of the profiles; None where one is not known well enough."""
    if simple.structure.missing:
        return None
    rows = [
        Row(list(normal), dot(list(normal), z), _room(error, weight))
        for weight, normal in ldl(simple.structure.quadratic.Q).squares
    ]
    halves: list[tuple[Vector, Fraction]] = []
    for ridge in simple.structure.ridges:
        normal = list(ridge.normal)
        t = dot(normal, z) + ball_of(ridge.shift)
        piece = _piece(ridge, float(t))
        if piece is None:
            room = 0.0 if error == 0 else _reach(ridge, t, error)
            rows.append(Row(normal, dot(normal, z), room))
            continue
        if np.isfinite(piece[1]):
            halves.append((normal, Fraction(piece[1]) - ridge.shift))
        if np.isfinite(piece[0]):
            halves.append(([-v for v in normal], ridge.shift - Fraction(piece[0])))
    return (rows, halves) if all(row.room <= WIDEST for row in rows) else None


def _piece(ridge: Ridge, t: float) -> tuple[float, float] | None:
    """The affine piece of a profile that t lies on (its ends may have been rounded to floats)."""
    near = 1e-14 * (1 + abs(t))
    return next((p for p in ridge.pieces if p[0] - near <= t <= p[1] + near), None)


def _reach(ridge: Ridge, t: flint.arb, error: float) -> float:
    """How far the argument of a convex profile may move while it leaves its tangent at t by at most ``error``."""
    import flint

    from bilevel_verify.numbers.balls import ArbBalls
    from bilevel_verify.symbolic.differentiate import gradient
    from bilevel_verify.symbolic.program import program_of

    run, program = ArbBalls(), program_of(ridge.profile, [ridge.symbol])
    value, slope = program.run(run, [t])[0], gradient(program).run(run, [t])[0]
    for power in range(-60, -6):
        step = flint.arb(10) ** power
        sides = [program.run(run, [t + s])[0] - value - slope * s for s in (step, -step)]
        if all(side > error for side in sides):
            return 10.0**power
    return float(np.inf)


# ---- the upper level ----------------------------------------------------------------------------------------------


def supported(simple: Posed, facts: Facts) -> Supported | str:
    """f* and x* over the set that the facts describe, or the reason why there is no error bar."""
    with precision(BITS):
        try:
            return _at_one_point(simple, facts) if facts.single is not None else _over_the_set(simple, facts)
        except BilevelVerifyError as problem:
            return str(problem)


def _at_one_point(simple: Posed, facts: Facts) -> Supported | str:
    """The only solution of the lower level is the answer."""
    assert facts.single is not None
    f = _value(simple._f, facts.z)
    slope = _norm(simple._f, facts.z)
    x = np.array([float(v) for v in facts.z])
    rounding = 4 * EPS * (1 + float(np.linalg.norm(x)))
    if not facts.single <= WIDEST:
        return "the solution of the lower level is not known well enough"
    return Supported(*float_value(f, 2 * slope * facts.single), x, facts.single + rounding)


def _over_the_set(simple: Posed, facts: Facts) -> Supported | str:
    region, rooms, owners = _described(simple, facts)
    end = follow(simple._f, region, [float(v) for v in facts.w])
    if end is None:
        return "f could not be minimised over the solutions of the lower level in high precision"
    gap = abs(_value(simple._g, end.z) - facts.value).upper()
    if not float(gap) <= FLATTEST:
        return f"the point found for f* has g - g* = {float(gap):.2g}: the solutions of the lower level are not known"
    moved = sum((abs(float(v)) * room for v, room in zip(end.free, rooms)), 0.0)
    widened = 4 * region.room * sum((float(v) for v in end.weights), 0.0)
    error = end.below + moved + widened + float(gap) * 1e3
    x = np.array([float(v) for v in end.z])
    return Supported(*float_value(end.value, error), x, _spread(simple, region, end, error, owners))


def _described(simple: Posed, facts: Facts) -> tuple[Region, list[float], list[int]]:
    """The set of the facts: its equations with their rooms, and the inequalities that are left."""
    base = region_of(simple, 0.0)
    rows = [*base.E, *(base.G[j] for j in facts.supporting), *(_lift(base, row.normal) for row in facts.rows)]
    ends = [*base.e, *(base.h[j] for j in facts.supporting), *(row.value for row in facts.rows)]
    rooms = [*(0.0 for _ in base.E), *facts.supporting.values(), *(row.room for row in facts.rows)]
    chosen = independent_rows(rows)
    left = [j for j in range(len(base.G)) if j not in facts.supporting]
    G = [*(base.G[j] for j in left), *(_lift(base, normal) for normal, _ in facts.halves)]
    h = [*(base.h[j] for j in left), *(ball_of(end) for _, end in facts.halves)]
    exact = all(end.denominator <= 2**20 for _, end in facts.halves)
    room = max(1e-30, 1e4 * facts.room, 0.0 if exact else 1e-14)
    region = Region(base.T, G, h, [rows[i] for i in chosen], [ends[i] for i in chosen], base.balls, room, base.n)
    return region, [rooms[i] for i in chosen], left


def _lift(region: Region, normal: Vector) -> Vector:
    if region.T is None:
        return normal
    return [exact_dot(normal, [row[j] for row in region.T]) for j in range(len(region.T[0]))]


def _spread(simple: Posed, region: Region, end: End, error: float, owners: list[int]) -> float:
    """How far from x another solution may be, by the curvature of f along the constraints that carry a multiplier."""
    x = np.array([float(v) for v in end.z])
    weights = [float(v) for v in end.weights]
    linear = len(region.G)
    top = max(weights, default=0.0)
    held = [j for j in range(linear) if weights[j] > 1e-9 * top and error <= 1e-15 * weights[j]]
    T = np.eye(region.n) if region.T is None else np.array([[float(v) for v in row] for row in region.T])
    rows = np.array([[float(v) for v in row] for row in [*region.E, *(region.G[j] for j in held)]]).reshape(
        -1, T.shape[1]
    )
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    kernel, grip = _kernel(rows)
    bend = simple.smooth(simple._f)(x)[2] + sum(weights[linear:], 0.0) * np.eye(region.n)
    along = T @ kernel
    inside = _column_space(along)
    rounding = 4 * EPS * (1 + float(np.linalg.norm(x)))
    slip = error / min((weights[j] for j in held), default=1.0) + region.room
    if not inside.shape[1]:
        return rounding + 4 * slip / grip
    least = float(np.linalg.eigvalsh(inside.T @ bend @ inside)[0])
    if least <= 1e-9 * float(np.max(np.abs(bend))):
        return float(np.inf)
    size = float(np.linalg.norm(bend, 2))
    return rounding + 2 * float(np.sqrt(2 * error / least)) + 4 * slip / grip * (1 + size / least)


def _kernel(rows: FloatArray) -> tuple[FloatArray, float]:
    """An orthonormal basis of the kernel, and the least singular value that is not zero."""
    if not len(rows):
        return np.eye(rows.shape[1]), 1.0
    _, s, Vt = np.linalg.svd(rows, full_matrices=True)
    rank = int(np.count_nonzero(s > 1e-10 * s[0]))
    return np.ascontiguousarray(Vt[rank:].T), float(s[rank - 1])


def _column_space(matrix: FloatArray) -> FloatArray:
    U, s, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.ascontiguousarray(U[:, : int(np.count_nonzero(s > 1e-10))])


def _value(function: Function, z: list[flint.arb]) -> flint.arb:
    from bilevel_verify.numbers.balls import ArbBalls

    return function.program.run(ArbBalls(), list(z))[0]


def _norm(function: Function, z: list[flint.arb]) -> float:
    from bilevel_verify.truth.simple_bilevel.optimality import derivatives_at

    return float(np.linalg.norm([float(v) for v in derivatives_at(function, list(z))[0]]))


def float_value(value: flint.arb, error: float) -> tuple[float, float]:
    """The nearest float and an error that covers its rounding."""
    near = float(value.mid())
    off = float(abs(value - near).upper()) + error
    return near, 0.0 if off == 0 else float(np.nextafter(off * (1 + 4 * EPS), np.inf))
