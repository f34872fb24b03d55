"""Convex minimisation in 1280 bits: a primal-dual path to a gap of about 1e-100, with what its residuals prove.

Float solvers cannot tell a slope of 1e-12 from none beside a curvature of 1; here both are far above the noise. The
iterates carry no proof; the bound ``below`` is read off the residuals of the last one: for every feasible w,
``h(w) >= h(v) - |r| |w - v| - sum lambda_i slack_i - |nu| |E v - e|`` by convexity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.numbers.rounding import ball as ball_of
from bilevel_verify.truth.simple_bilevel.optimality import derivatives_at
from bilevel_verify.truth.simple_bilevel.simple_parts import Vector

if TYPE_CHECKING:
    import flint

    from bilevel_verify.numbers.balls import ArbBalls
    from bilevel_verify.truth.functions.model import Function

BITS = 1280
MOST_UNKNOWNS = 160
MOST_STEPS = 300
GAP = 1e-100
RESIDUAL = 1e-125
REACH = 1e20
"""Solutions are looked for within this many times ``1 + |v|`` of the last iterate v."""


@dataclass(frozen=True, slots=True)
class Region:
    """``{T w : G w <= h + room, E w = e, |T w - c| <= r + room}`` in balls; T None is the identity.

    ``room`` widens inequalities so that sets without an interior have one; the equations have to be independent.
    """

    T: list[Vector] | None
    G: list[Vector]
    h: list[Any]
    E: list[Vector]
    e: list[Any]
    balls: list[tuple[Vector, Fraction]]
    room: float
    n: int


@dataclass(frozen=True, slots=True)
class End:
    """The last iterate.

    Attributes
    ----------
    z, w : the point, in the original and in lifted variables (exact balls).
    value : of the function there.
    weights : multipliers of the inequalities, then of the balls. free : multipliers of the equations.
    below : no feasible point has a value below ``value - below``.
    violation : largest violation of an inequality (with its room), a ball or an equation.
    """

    z: list[Any]
    w: list[Any]
    value: Any
    weights: list[Any]
    free: list[Any]
    below: float
    violation: float


def follow(function: Function, region: Region, start: Sequence[float]) -> End | None:
    """Minimise a convex function over a region; None where the path breaks off.

    Parameters
    ----------
    start : lifted variables, near a solution or anywhere.
    """
    path = _Path(function, region, start)
    if path.size > MOST_UNKNOWNS or not np.all(np.isfinite(np.asarray(start, dtype=float))):
        return None
    try:
        return path.end() if path.run() else None
    except ZeroDivisionError:  # a singular system: the minimisers are not bounded, or the equations are dependent
        return None


@dataclass(frozen=True, slots=True)
class _Linearised:
    """Gradient and Hessian of the function, values and Jacobian of the constraints at one point."""

    gradient: Any
    hessian: Any
    constraints: list[Any]
    jacobian: list[list[Any]]


class _Path:
    """Slacks, multipliers and Newton steps of the perturbed optimality conditions."""

    def __init__(self, function: Function, region: Region, start: Sequence[float]) -> None:
        import flint

        self.function, self.region = function, region
        m = len(start)
        self.size, self.lifted = m + len(region.E), region.T is not None
        self.T = None if region.T is None else _matrix(region.T, m)
        self.G, self.E = _matrix(region.G, m), _matrix(region.E, m)
        self.room = flint.arb(region.room)
        self.h, self.e = _column(region.h), _column(region.e)
        self.centres = [_column([ball_of(v) for v in c]) for c, _ in region.balls]
        self.radii = [ball_of(r) + self.room for _, r in region.balls]
        self.w = _column([flint.arb(float(v)) for v in start])
        self.linear, self.count = len(region.G), len(region.G) + len(region.balls)
        slack = [-float(v) for v in self._constraints(self._z(self.w), self.w)]
        self.slack = [flint.arb(max(v, 0.1)) for v in slack]
        self.weights = [flint.arb(0.01) / s for s in self.slack]
        self.free = _column([flint.arb(0)] * len(region.E))

    def _z(self, w: flint.arb_mat) -> flint.arb_mat:
        return w if self.T is None else (self.T * w).mid()

    def _constraints(self, z: flint.arb_mat, w: flint.arb_mat) -> list[flint.arb]:
        linear = (self.G * w - self.h).entries() if self.linear else []
        shifts = [(z - c).entries() for c in self.centres]
        rounds = [(sum(v * v for v in shift) - r * r) / 2 for shift, r in zip(shifts, self.radii)]
        return [*(v - self.room for v in linear), *rounds]

    def _jacobian(self, z: flint.arb_mat) -> list[list[flint.arb]]:
        rows = [(self.T.transpose() * (z - c) if self.T is not None else z - c).entries() for c in self.centres]
        return [*self.G.tolist(), *rows]

    def _derivatives(self, z: flint.arb_mat) -> tuple[flint.arb_mat, flint.arb_mat]:
        n = self.region.n
        slope, bend = derivatives_at(self.function, z.entries())
        gradient, hessian = _column(slope), _square(bend, n)
        if self.T is None:
            return gradient, hessian
        return self.T.transpose() * gradient, self.T.transpose() * hessian * self.T

    def run(self) -> bool:
        """Follow the path; whether all residuals became as small as they have to be."""
        share = 0.1
        self.at = self._linearised(self.w)
        for _ in range(MOST_STEPS):
            parts = self._residuals(self.at, self.w, self.free, self.slack, self.weights)
            sizes = [_largest(parts[0]), max((abs(float(v)) for v in parts[1]), default=0.0), _largest(parts[2])]
            if not np.all(np.isfinite(sizes)):
                return False
            gap = sum((float(s * v) for s, v in zip(self.slack, self.weights)), 0.0)
            if max(sizes) <= RESIDUAL and gap <= GAP:
                return True
            length = self._step(parts, max(share * gap, 0.1 * GAP) / max(self.count, 1))
            if length == 0.0:
                return False
            share = 0.02 if length > 0.9 else 0.1 if length > 0.3 else 0.5
        return False

    def _linearised(self, w: flint.arb_mat) -> _Linearised:
        z = self._z(w)
        return _Linearised(*self._derivatives(z), self._constraints(z, w), self._jacobian(z))

    def _residuals(
        self, at: _Linearised, w: flint.arb_mat, free: flint.arb_mat, slack: list[flint.arb], weights: list[flint.arb]
    ) -> tuple[flint.arb_mat, list[flint.arb], flint.arb_mat]:
        """Of stationarity, of ``c(w) + slack = 0``, and of the equations."""
        primal = [(c + s).mid() for c, s in zip(at.constraints, slack)]
        return self._dual(at, free, weights).mid(), primal, (self.E * w - self.e).mid()

    def _dual(self, at: _Linearised, free: flint.arb_mat, weights: list[flint.arb]) -> Any:
        """The gradient of the Lagrangian, with its rounding."""
        dual = at.gradient
        if self.count:
            dual = dual + _matrix_of(at.jacobian).transpose() * _column(weights)
        return dual + self.E.transpose() * free if len(self.region.E) else dual

    def _step(self, parts: tuple[flint.arb_mat, list[flint.arb], flint.arb_mat], target: float) -> float:
        """One Newton step towards ``slack * weight = target``; its length."""
        import flint

        dual, primal, equal = parts
        J = self.at.jacobian
        m, k = self.w.nrows(), len(self.region.E)
        ratio = [v / s for v, s in zip(self.weights, self.slack)]
        pull = [(flint.arb(target) - v * s) / s + q * p for v, s, q, p in zip(self.weights, self.slack, ratio, primal)]
        bent, right = self._curved(self.at.hessian), -dual
        if self.count:
            A = _matrix_of(J)
            scaled = _matrix_of([[q * a for a in row] for q, row in zip(ratio, J)])
            bent, right = bent + A.transpose() * scaled, right - A.transpose() * _column(pull)
        system = [row + [self.E[j, i] for j in range(k)] for i, row in enumerate(bent.mid().tolist())]
        system += [list(row) + [flint.arb(0)] * k for row in self.E.tolist()]
        moved = _matrix_of(system).mid().solve(_column([*right.entries(), *(-equal).entries()]).mid()).mid().entries()
        dw, dfree = moved[:m], moved[m:]
        along = (_matrix_of(J) * _column(dw)).mid().entries() if self.count else []
        dslack = [-p - a for p, a in zip(primal, along)]
        dweights = [u + q * a for u, q, a in zip(pull, ratio, along)]
        before = self._merit(parts, self.slack, self.weights, target)
        return self._move((dw, dfree, dslack, dweights), before, target)

    def _curved(self, hessian: flint.arb_mat) -> flint.arb_mat:
        """The Hessian of the Lagrangian; a shift far below every entry keeps directions without curvature solvable."""
        import flint

        total = sum(self.weights[self.linear :], flint.arb(0))
        if self.centres:
            inner = _unit(self.region.n) if self.T is None else self.T.transpose() * self.T
            hessian = hessian + inner * total
        return hessian + _unit(self.w.nrows()) * flint.arb(2) ** (-BITS // 2)

    def _merit(
        self,
        parts: tuple[flint.arb_mat, list[flint.arb], flint.arb_mat],
        slack: list[flint.arb],
        weights: list[flint.arb],
        target: float,
    ) -> float:
        dual, primal, equal = parts
        pairs = [float(s * v) - target for s, v in zip(slack, weights)]
        return _norm([*map(float, dual.entries()), *map(float, primal), *map(float, equal.entries()), *pairs])

    def _move(
        self,
        change: tuple[list[flint.arb], list[flint.arb], list[flint.arb], list[flint.arb]],
        before: float,
        target: float,
    ) -> float:
        """Backtrack until slacks and multipliers stay positive and the residuals do not explode; the length."""
        import flint

        dw, dfree, dslack, dweights = change
        length = 1.0
        for value, step in [*zip(self.slack, dslack), *zip(self.weights, dweights)]:
            if step < 0:
                length = min(length, 0.99 * float(-value / step))
        for _ in range(40):
            t = flint.arb(length)
            w = (self.w + _column(dw) * t).mid()
            free = (self.free + _column(dfree) * t).mid() if dfree else self.free
            at = self._linearised(w)
            moved = [(v + t * d).mid() for v, d in zip(self.slack, dslack)]
            true = [(-v).mid() for v in at.constraints]
            slack = [v if v > 0.05 * s else s for v, s in zip(true, moved)]
            weights = [(v + t * d).mid() for v, d in zip(self.weights, dweights)]
            after = self._merit(self._residuals(at, w, free, slack, weights), slack, weights, target)
            if after <= 3 * before or after <= RESIDUAL:
                self.w, self.free, self.slack, self.weights, self.at = w, free, slack, weights, at
                return length
            length *= 0.5
        return 0.0

    def end(self) -> End:
        """What the residuals of the last iterate prove, in balls."""
        import flint

        z, at = self._z(self.w), self._linearised(self.w)
        gap = sum((v * (-c).max(flint.arb(0)) for v, c in zip(self.weights, at.constraints)), flint.arb(0))
        equal = (self.E * self.w - self.e).entries() if len(self.region.E) else []
        missed = sum((abs(v * r) for v, r in zip(self.free.entries(), equal)), flint.arb(0))
        span = REACH * (1 + _norm([float(v) for v in self.w.entries()]))
        size = sum((abs(v) for v in self._dual(at, self.free, self.weights).entries()), flint.arb(0))
        below = (gap + missed + size * flint.arb(span)).upper()
        violation = max([0.0, *(float(v.upper()) for v in at.constraints), *(float(abs(v).upper()) for v in equal)])
        value = self.function.program.run(_balls(), z.entries())[0]
        return End(z.entries(), self.w.entries(), value, self.weights, self.free.entries(), float(below), violation)


def _balls() -> ArbBalls:
    from bilevel_verify.numbers.balls import ArbBalls

    return ArbBalls()


def _matrix(rows: list[Vector], columns: int) -> flint.arb_mat:
    import flint

    return flint.arb_mat(len(rows), columns, [ball_of(v) for row in rows for v in row])


def _matrix_of(rows: list[list[flint.arb]]) -> flint.arb_mat:
    import flint

    return flint.arb_mat(len(rows), len(rows[0]), [v for row in rows for v in row])


def _square(rows: list[list[flint.arb]], n: int) -> flint.arb_mat:
    import flint

    return flint.arb_mat(n, n, [v for row in rows for v in row])


def _column(values: Sequence[flint.arb]) -> flint.arb_mat:
    import flint

    return flint.arb_mat(len(values), 1, list(values))


def _unit(n: int) -> flint.arb_mat:
    import flint

    return flint.arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


def _largest(column: flint.arb_mat) -> float:
    return max((abs(float(v)) for v in column.entries()), default=0.0)


def _norm(values: Sequence[float]) -> float:
    return float(np.linalg.norm(np.asarray(values, dtype=float)))
