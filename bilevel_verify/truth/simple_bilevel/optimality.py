"""Optimality conditions as square systems in balls: of one level, or of both levels of a simple bilevel problem."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.rounding import ball as ball_of
from bilevel_verify.truth.arithmetic.krawczyk import System
from bilevel_verify.truth.simple_bilevel.exact_lower import independent_rows
from bilevel_verify.truth.simple_bilevel.posed import Posed
from bilevel_verify.truth.simple_bilevel.simple_parts import Parts, Vector, dot, fixed_normals, squared

if TYPE_CHECKING:
    import flint

    from bilevel_verify.truth.functions.model import Function

FloatArray = NDArray[np.float64]


def stationary_system(
    n: int, function: Function, rows: list[Vector], right: Vector, ball: tuple[Vector, Fraction] | None
) -> System:
    """``nabla h(x) + R' m (+ beta (x - c)) = 0, R x = right (, |x - c|^2 = r^2)``."""
    import flint

    matrix = [[ball_of(v) for v in row] for row in rows]
    ends = [ball_of(v) for v in right]
    centre = None if ball is None else [ball_of(v) for v in ball[0]]

    def system(u: list[flint.arb]) -> tuple[list[flint.arb], flint.arb_mat]:
        x, m = u[:n], u[n : n + len(rows)]
        gradient, hessian = derivatives_at(function, x)
        residual = [g + sum((w * row[i] for w, row in zip(m, matrix)), flint.arb(0)) for i, g in enumerate(gradient)]
        residual += [dot(row, x) - end for row, end in zip(rows, ends)]
        size = n + len(rows) + (centre is not None)
        J = [[flint.arb(0)] * size for _ in range(size)]
        for i in range(n):
            J[i][:n] = hessian[i]
            for k, row in enumerate(matrix):
                J[i][n + k] = row[i]
        for k, row in enumerate(matrix):
            J[n + k][:n] = row
        if centre is not None and ball is not None:
            shift = [a - c for a, c in zip(x, centre)]
            residual = [r + u[-1] * s for r, s in zip(residual[:n], shift)] + residual[n:]
            residual.append((squared(x, ball[0]) - ball_of(ball[1]) ** 2) / 2)
            for i in range(n):
                J[i][i] = J[i][i] + u[-1]
                J[i][-1] = shift[i]
                J[-1][i] = shift[i]
        return residual, flint.arb_mat(size, size, [v for row in J for v in row])

    return system


@dataclass(frozen=True, slots=True)
class Layout:
    """Unknowns: x, ``lower`` multipliers (rows E, P), upper multipliers (``signless`` of E, P, W, then A).

    ``basis`` spans the gradients of the lower level; its first rows are those of E and P.
    """

    n: int
    basis: list[Vector]
    lower: int
    signless: int
    free: list[Vector]
    right: Vector

    @property
    def size(self) -> int:
        """Number of unknowns without a ball."""
        return self.n + self.lower + self.signless + len(self.free)


def layout_of(simple: Posed, parts: Parts, supporting: list[int], active: list[int]) -> Layout | None:
    """Unknowns for these supporting and active rows; None where their gradients are dependent."""
    rows = [*parts.E, *(parts.G[j] for j in supporting)]
    if len(independent_rows(rows)) != len(rows):
        return None
    W = [normal for normal, _ in fixed_normals(simple, simple.lower.z)]
    chosen = independent_rows([*rows, *W])
    basis = [[*rows, *W][i] for i in chosen]
    constant = list(simple.structure.quadratic.q)
    for ridge in simple.structure.ridges:
        if ridge.kind == "kinked":  # its slope on an affine piece is a constant gradient that must lie in the span
            constant_rows = [*basis, list(ridge.normal)]
            if len(independent_rows(constant_rows)) != len(basis):
                return None
    if len(independent_rows([*basis, constant])) != len(basis):
        return None
    free = [parts.G[j] for j in active]
    if len(independent_rows([*basis, *free])) != len(basis) + len(free):
        return None
    right = [*parts.e, *(parts.h[j] for j in supporting), *(parts.h[j] for j in active)]
    return Layout(parts.n, basis, len(rows), len(basis), free, right)


def joint_system(simple: Posed, layout: Layout, ball: tuple[Vector, Fraction] | None) -> System:
    """The conditions of both levels as one square system; with a ball, x lies on its boundary."""
    return _Joint(simple, layout, ball).equations


class _Joint:
    """Residuals and Jacobian of the conditions of both levels; ``ball`` is the one whose boundary x lies on."""

    def __init__(self, simple: Posed, layout: Layout, ball: tuple[Vector, Fraction] | None) -> None:
        import flint

        self.simple, self.layout, self.ball = simple, layout, ball
        self.basis = flint.arb_mat([[ball_of(v) for v in row] for row in layout.basis]) if layout.basis else None
        self.rows = [[ball_of(v) for v in row] for row in [*layout.basis, *layout.free]]
        self.bound = [*layout.basis[: layout.lower], *layout.free]
        self.ends = [ball_of(v) for v in layout.right]
        self.zero = flint.arb(0)

    def equations(self, u: list[flint.arb]) -> tuple[list[flint.arb], flint.arb_mat]:
        """Residuals and Jacobian at x, lower multipliers, upper multipliers (and the multiplier of the ball)."""
        import flint

        n, m, ball = self.layout.n, self.layout.lower, self.ball
        total = self.layout.size + (ball is not None)
        x, low, high = u[:n], u[n : n + m], u[n + m : n + m + len(self.rows)]
        J = [[self.zero] * total for _ in range(total)]
        residual = self._lower(x, low, J)
        shift = None if ball is None else [a - ball_of(c) for a, c in zip(x, ball[0])]
        self._upper(x, high, residual, J)
        if shift is not None:
            self._press(shift, u[-1], residual, J)
        for row, end in zip(self.bound, self.ends):
            J[len(residual)][:n] = [ball_of(v) for v in row]
            residual.append(dot(row, x) - end)
        if ball is not None and shift is not None:
            J[len(residual)][:n] = shift
            residual.append((squared(x, ball[0]) - ball_of(ball[1]) ** 2) / 2)
        return residual, flint.arb_mat(total, total, [v for row in J for v in row])

    def _lower(self, x: list[flint.arb], low: list[flint.arb], J: list[list[flint.arb]]) -> list[flint.arb]:
        """Stationarity of the lower level, along its basis."""
        import flint

        n, m, basis = self.layout.n, self.layout.lower, self.basis
        if basis is None:
            return []
        g1, g2 = derivatives_at(self.simple._g, x)
        inner = [v + sum((w * row[i] for w, row in zip(low, self.rows[:m])), self.zero) for i, v in enumerate(g1)]
        column = basis * flint.arb_mat(n, 1, inner)
        bent = basis * flint.arb_mat(n, n, [v for row in g2 for v in row])
        weights = basis * basis.transpose()
        for i in range(basis.nrows()):
            J[i][:n] = [bent[i, j] for j in range(n)]
            J[i][n : n + m] = [weights[i, k] for k in range(m)]
        return [column[i, 0] for i in range(basis.nrows())]

    def _upper(
        self, x: list[flint.arb], high: list[flint.arb], residual: list[flint.arb], J: list[list[flint.arb]]
    ) -> None:
        """Stationarity of the upper level: n further rows."""
        n, m, start = self.layout.n, self.layout.lower, len(residual)
        f1, f2 = derivatives_at(self.simple._f, x)
        for i in range(n):
            residual.append(f1[i] + sum((w * row[i] for w, row in zip(high, self.rows)), self.zero))
            J[start + i][:n] = list(f2[i])
            for k, row in enumerate(self.rows):
                J[start + i][n + m + k] = row[i]

    def _press(
        self, shift: list[flint.arb], gamma: flint.arb, residual: list[flint.arb], J: list[list[flint.arb]]
    ) -> None:
        """``gamma (x - c)`` of the ball, onto the last n rows."""
        start = len(residual) - len(shift)
        for i, value in enumerate(shift):
            residual[start + i] = residual[start + i] + gamma * value
            J[start + i][i] = J[start + i][i] + gamma
            J[start + i][-1] = value


def joint_start(simple: Posed, layout: Layout, ball: tuple[Vector, Fraction] | None) -> list[float]:
    """A float start of the joint system: the upper solution, and least-squares multipliers."""
    z = simple.upper.z
    rows = np.array([[float(v) for v in row] for row in layout.basis]).reshape(-1, layout.n)
    gradient = simple.smooth(simple._g)(z)[1]
    low = np.linalg.lstsq(rows[: layout.lower].T, -gradient, rcond=None)[0] if layout.lower else np.empty(0)
    every = [*layout.basis, *layout.free]
    high = multipliers(simple.smooth(simple._f)(z)[1], every, z, None if ball is None else ball[0])
    return [*z, *low, *high]


def multipliers(gradient: FloatArray, rows: list[Vector], z: FloatArray, centre: Vector | None) -> list[float]:
    """Least-squares multipliers of a stationarity condition."""
    columns = [[float(v) for v in row] for row in rows]
    if centre is not None:
        columns.append([float(a) - float(c) for a, c in zip(z, centre)])
    if not columns:
        return []
    return [float(v) for v in np.linalg.lstsq(np.array(columns).T, -gradient, rcond=None)[0]]


def derivatives_at(function: Function, x: list[flint.arb]) -> tuple[list[flint.arb], list[list[flint.arb]]]:
    """Gradient and Hessian in balls."""
    out = function.second_order.run(ArbBalls(), list(x))
    n = function.dz
    return list(out[1 : 1 + n]), [list(out[1 + n + i * n : 1 + n + (i + 1) * n]) for i in range(n)]
