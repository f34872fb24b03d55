"""Smooth convex minimisation over a reduced set: primal-dual interior point, then a polish to the last digit.

The interior point method brings the active set and a solution to about 1e-9; the polish solves the optimality system
with exactly those constraints by Newton steps (least squares where it is singular) and is accepted only if the
optimality conditions, checked from scratch, are better than before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import InfeasibleError, MathematicalError, SolverFailure
from bilevel_verify.truth.sets.polyhedra import Reduced

FloatArray = NDArray[np.float64]
Smooth = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]
"""``z -> (value, gradient (n,), Hessian (n, n))`` of a convex function."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Primal-dual solution.

    Attributes
    ----------
    z, u : the point in the original and in the reduced variables.
    value : objective at z.
    multipliers : of the linear inequalities of the reduced set, then of the balls (for ``(|z-c|^2 - r^2)/2``); >= 0.
    stationarity : norm of the gradient of the Lagrangian in the reduced variables.
    violation : largest violation of a constraint.
    gap : sum of multiplier times slack.
    """

    z: FloatArray
    u: FloatArray
    value: float
    multipliers: FloatArray
    stationarity: float
    violation: float
    gap: float

    @property
    def quality(self) -> float:
        return self.stationarity + self.violation + self.gap


class Constraints:
    """``c(u) <= 0`` for the linear rows and the balls of a reduced set."""

    def __init__(self, reduced: Reduced) -> None:
        self.reduced = reduced
        self.linear = len(reduced.b)
        self.count = self.linear + len(reduced.balls)

    def values(self, u: FloatArray) -> FloatArray:
        r = self.reduced
        z = r.z0 + r.B @ u
        rounds = [0.5 * (float((z - c) @ (z - c)) - radius * radius) for c, radius in r.balls]
        return np.concatenate([r.A @ u - r.b, rounds])

    def jacobian(self, u: FloatArray) -> FloatArray:
        r = self.reduced
        z = r.z0 + r.B @ u
        rows = [r.B.T @ (z - c) for c, _ in r.balls]
        return np.vstack([r.A.reshape(-1, r.dimension), *[row[None] for row in rows]])


def minimise_convex(objective: Smooth, reduced: Reduced, start: FloatArray | None = None) -> Solution:
    """Minimise a smooth convex function over a reduced set.

    Raises
    ------
    InfeasibleError : no point of the balls and the linear constraints was found.
    MathematicalError : the iterates run to infinity (no minimiser), or the objective is not defined on the set.
    SolverFailure : neither the interior point method nor the polish reached useful accuracy.
    """
    if reduced.dimension == 0:
        return _single_point(objective, reduced)
    constraints = Constraints(reduced)
    u = interior_point(constraints) if start is None else start
    if u is None:
        return _tangent(objective, reduced)
    rough = _interior_point_method(objective, constraints, u)
    best = rough
    for candidate in _polished(objective, constraints, rough):
        if candidate.quality < best.quality:
            best = candidate
    scale = 1 + abs(best.value) + float(np.max(np.abs(best.multipliers), initial=0.0))
    if not best.quality <= 1e-5 * scale:
        raise SolverFailure(
            f"the convex solver stopped with stationarity {best.stationarity:.2g}, "
            f"violation {best.violation:.2g}, gap {best.gap:.2g}"
        )
    return best


def _single_point(objective: Smooth, reduced: Reduced) -> Solution:
    z = reduced.z0
    excess = max((float(np.linalg.norm(z - c)) - r for c, r in reduced.balls), default=0.0)
    if excess > 1e-9 * (1 + float(np.linalg.norm(z))):
        raise InfeasibleError(f"the feasible set is empty: its only candidate misses a ball by {excess:.3g}")
    value = objective(z)[0]
    return Solution(z, np.empty(0), value, np.zeros(len(reduced.b) + len(reduced.balls)), 0.0, max(excess, 0.0), 0.0)


def interior_point(constraints: Constraints) -> FloatArray | None:
    """A point with ``c(u) < 0`` everywhere; None if the set has no interior (but a point).

    Linear programs find the centre of the polyhedron; with balls a short phase one follows.

    Raises
    ------
    InfeasibleError : the set is empty.
    """
    reduced = constraints.reduced
    u = reduced.centre.copy()
    if not reduced.balls:
        return u
    if np.all(constraints.values(u) < -1e-6):
        return u
    return _towards_centre(constraints, u) if len(reduced.balls) == 1 else _phase_one(constraints, u)


def _towards_centre(constraints: Constraints, inner: FloatArray) -> FloatArray | None:
    """One ball: start from the point of the polyhedron that is nearest to its centre, moved a little to the inside."""
    reduced = constraints.reduced
    centre, radius = reduced.balls[0]
    nearest = project_reduced(
        Reduced(reduced.z0, reduced.B, reduced.A, reduced.b, (), reduced.rows, reduced.equal), centre
    )
    room = radius - float(np.linalg.norm(nearest - centre))
    if room < -1e-9 * (1 + radius):
        raise InfeasibleError(f"the feasible set is empty: the linear constraints miss the ball by {-room:.3g}")
    if room <= 1e-12 * (1 + radius):
        return None
    start = np.linalg.lstsq(reduced.B, nearest - reduced.z0, rcond=None)[0]
    shift = float(np.linalg.norm(reduced.B @ (inner - start)))
    return np.asarray(start + min(0.5, 0.5 * room / (shift + 1e-300)) * (inner - start))


def _phase_one(constraints: Constraints, u: FloatArray) -> FloatArray | None:
    """Minimise the largest constraint value by a barrier method; stop as soon as it is negative."""
    d = u.size
    level = float(np.max(constraints.values(u))) + 1.0
    for weight in 10.0 ** np.arange(0, 13):
        for _ in range(60):
            c, J = constraints.values(u) - level, constraints.jacobian(u)
            if np.max(constraints.values(u)) < -1e-10:
                return u
            inv = 1.0 / -c
            gradient = np.concatenate([J.T @ inv, [weight - np.sum(inv)]])
            H = np.zeros((d + 1, d + 1))
            H[:d, :d] = (J * inv[:, None] ** 2).T @ J + _ball_curvature(constraints, inv[constraints.linear :])
            H[:d, d] = H[d, :d] = -(J * inv[:, None] ** 2).sum(axis=0)
            H[d, d] = float(np.sum(inv**2))
            step = -np.linalg.solve(H + 1e-14 * np.trace(H) * np.eye(d + 1), gradient)
            t = 1.0
            while t > 1e-12 and np.max(constraints.values(u + t * step[:d]) - (level + t * step[d])) >= 0:
                t *= 0.5
            u, level = u + 0.9 * t * step[:d], level + 0.9 * t * step[d]
            if abs(float(gradient @ step)) < 1e-9:
                break
    worst = float(np.max(constraints.values(u)))
    if worst > 1e-8:
        raise InfeasibleError(
            f"the feasible set is empty: no point satisfies all constraints (least violation about {worst:.2g})"
        )
    return None


def _ball_curvature(constraints: Constraints, weights: FloatArray) -> FloatArray:
    B = constraints.reduced.B
    return float(np.sum(weights)) * (B.T @ B)


def _tangent(objective: Smooth, reduced: Reduced) -> Solution:
    """A ball that the affine set only touches: the touching point is the whole set."""
    for centre, radius in reduced.balls:
        rest = Reduced(reduced.z0, reduced.B, reduced.A, reduced.b, (), reduced.rows, reduced.equal)
        z = project_reduced(rest, centre)
        if abs(float(np.linalg.norm(z - centre)) - radius) <= 1e-7 * (1 + radius):
            value = objective(z)[0]
            u = np.asarray(np.linalg.lstsq(reduced.B, z - reduced.z0, rcond=None)[0])
            excess = max(0.0, float(np.linalg.norm(z - centre)) - radius)
            return Solution(z, u, value, np.zeros(len(reduced.b) + len(reduced.balls)), 0.0, excess, 0.0)
    raise SolverFailure("the feasible set has no interior and no single touching point was found")


def _evaluate(objective: Smooth, reduced: Reduced, u: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    value, gradient, hessian = objective(reduced.z0 + reduced.B @ u)
    with np.errstate(invalid="ignore"):  # a kink has no derivatives
        return value, reduced.B.T @ gradient, reduced.B.T @ hessian @ reduced.B


def _interior_point_method(objective: Smooth, constraints: Constraints, u: FloatArray) -> Solution:
    """Primal-dual path following from a strictly feasible point (Boyd and Vandenberghe, section 11.7)."""
    reduced, p = constraints.reduced, constraints.count
    value, gradient, hessian = _evaluate(objective, reduced, u)
    if not np.isfinite(value):
        raise MathematicalError("the objective is not defined at an interior point of the feasible set")
    c = constraints.values(u)
    multipliers = 1.0 / np.maximum(-c, 1e-8) if p else np.empty(0)
    size0 = 1 + float(np.linalg.norm(u))
    best, since = np.inf, 0
    for _ in range(200):
        J = constraints.jacobian(u)
        dual = gradient + J.T @ multipliers
        gap = float(-c @ multipliers)
        small = float(np.linalg.norm(dual)) <= 1e-13 * (1 + float(np.linalg.norm(gradient))) and gap <= 1e-14 * (
            1 + abs(value)
        )
        reached = float(np.linalg.norm(dual)) + gap
        best, since = (reached, 0) if reached < 0.9 * best else (best, since + 1)
        if small or since > 8:
            break
        target = gap / (10.0 * max(p, 1))
        H = hessian + _ball_curvature(constraints, multipliers[constraints.linear :])
        H = H + (J * (multipliers / -c)[:, None]).T @ J if p else H
        right = -(gradient + J.T @ (target / -c)) if p else -gradient
        step = _solve_shifted(H, right)
        change = multipliers * (J @ step) / -c - multipliers + target / -c if p else np.empty(0)
        before = float(np.linalg.norm(np.concatenate([dual, -multipliers * c - target])))
        moved = _step_length(objective, constraints, u, multipliers, _Direction(step, change, before), target)
        if moved is None:
            break
        length, (value, gradient, hessian), c = moved
        u, multipliers = u + length * step, multipliers + length * change
        if float(np.linalg.norm(u)) > 1e9 * size0:
            raise MathematicalError(
                f"the iterates run to infinity (value {value:.6g} and falling): the function has no minimiser "
                f"on the set, as far as can be seen"
            )
    return _solution(objective, constraints, u, multipliers)


def _solve_shifted(H: FloatArray, right: FloatArray) -> FloatArray:
    scale = float(np.trace(H)) / len(H) + 1e-300
    for shift in (0.0, 1e-14, 1e-11, 1e-8):
        try:
            factor = np.linalg.cholesky(H + shift * scale * np.eye(len(H)))
        except np.linalg.LinAlgError:
            continue
        step = np.linalg.solve(factor.T, np.linalg.solve(factor, right))
        if np.all(np.isfinite(step)):
            return np.asarray(step)
    return np.asarray(np.linalg.lstsq(H, right, rcond=1e-12)[0]) if np.all(np.isfinite(H)) else np.full(len(H), np.nan)


@dataclass(frozen=True, slots=True)
class _Direction:
    """A step of u and of the multipliers, and the residual of the perturbed optimality system before it."""

    step: FloatArray
    change: FloatArray
    residual: float


def _step_length(
    objective: Smooth,
    constraints: Constraints,
    u: FloatArray,
    multipliers: FloatArray,
    direction: _Direction,
    target: float,
) -> tuple[float, tuple[float, FloatArray, FloatArray], FloatArray] | None:
    """Backtrack until the constraints stay strict and the residual of the perturbed optimality system falls."""
    step, change = direction.step, direction.change
    falling = change < 0
    length = 1.0
    if np.any(falling):
        length = min(1.0, 0.99 * float(np.min(-multipliers[falling] / change[falling])))
    for _ in range(40):
        new = u + length * step
        values = constraints.values(new)
        if np.all(values < 0):
            parts = _evaluate(objective, constraints.reduced, new)
            if np.isfinite(parts[0]) and np.all(np.isfinite(parts[1])):
                weights = multipliers + length * change
                residual = np.concatenate(
                    [parts[1] + constraints.jacobian(new).T @ weights, -weights * values - target]
                )
                if float(np.linalg.norm(residual)) <= (1 - 0.01 * length) * direction.residual:
                    return length, parts, values
        length *= 0.5
    return None


def _solution(objective: Smooth, constraints: Constraints, u: FloatArray, multipliers: FloatArray) -> Solution:
    reduced = constraints.reduced
    value, gradient, _ = _evaluate(objective, reduced, u)
    c, J = constraints.values(u), constraints.jacobian(u)
    safe = np.maximum(multipliers, 0.0)
    stationarity = float(np.linalg.norm(gradient + J.T @ safe)) + float(np.sum(np.maximum(-multipliers, 0)))
    return Solution(
        reduced.z0 + reduced.B @ u,
        u,
        value,
        safe,
        stationarity,
        float(np.max(c, initial=0.0)),
        float(np.sum(safe * np.abs(c))),
    )


def _polished(objective: Smooth, constraints: Constraints, rough: Solution) -> list[Solution]:
    """Newton on the optimality system with the active set read off at several thresholds."""
    c = constraints.values(rough.u)
    out: list[Solution] = []
    seen: set[bytes] = set()
    for factor in (1.0, 1e-3, 1e3):
        active = np.flatnonzero(-c < factor * rough.multipliers)
        if active.tobytes() in seen:
            continue
        seen.add(active.tobytes())
        found = polish(objective, constraints, rough.u, rough.multipliers, active)
        if found is not None:
            out.append(found)
    return out


def polish(
    objective: Smooth, constraints: Constraints, u: FloatArray, multipliers: FloatArray, active: NDArray[np.intp]
) -> Solution | None:
    """Newton with the constraints ``active`` as equations; least-norm steps where the system is singular."""
    d, k = u.size, len(active)
    weights = multipliers[active].copy()
    best: Solution | None = None
    stall = 0
    for _ in range(60):
        _, gradient, hessian = _evaluate(objective, constraints.reduced, u)
        c, J = constraints.values(u)[active], constraints.jacobian(u)[active]
        if not np.all(np.isfinite(gradient)):
            return best
        curved = [w for i, w in zip(active, weights) if i >= constraints.linear]
        H = hessian + _ball_curvature(constraints, np.array(curved))
        system = np.block([[H, J.T], [J, np.zeros((k, k))]])
        right = -np.concatenate([gradient + J.T @ weights, c])
        size = np.concatenate([np.full(d, 1.0), np.full(k, 1.0)])
        if not np.all(np.isfinite(system)):  # a kink: no second derivative
            return best
        step = np.linalg.lstsq(system * size, right, rcond=1e-13)[0] * size
        u, weights = u + step[:d], weights + step[d:]
        full = np.zeros(constraints.count)
        full[active] = weights
        now = _solution(objective, constraints, u, full)
        if not np.isfinite(now.quality):
            return best
        if best is None or now.quality < best.quality:
            stall = 0 if best is None or now.quality < 0.5 * best.quality else stall + 1
            best = now
        else:
            stall += 1
        if stall >= 4:
            break
    return best


def project_reduced(reduced: Reduced, v: FloatArray) -> FloatArray:
    """Euclidean projection of v onto a reduced set."""
    if reduced.dimension and not len(reduced.b) and not reduced.balls:
        Q, _ = np.linalg.qr(reduced.B)
        return np.asarray(reduced.z0 + Q @ (Q.T @ (v - reduced.z0)))
    unit = np.eye(v.size)

    def squared(z: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        return 0.5 * float((z - v) @ (z - v)), z - v, unit

    return minimise_convex(squared, reduced).z
