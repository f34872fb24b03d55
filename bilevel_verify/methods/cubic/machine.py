"""The operators of IFSBA and IMCN and the descent of Algorithms 6 and 7 as loops that numba compiles.

They take the steps of ``products``, ``chebyshev`` and ``descent``, which run on arrays (plain Python, mpmath numbers).
Scratch rows come in three tables: ``wx`` (rows of length dx), ``wy`` (dy), ``wz`` (dx + dy).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bilevel_verify.methods.cubic.arithmetic import Array
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.vectors import dot
from bilevel_verify.oracles import Oracles
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import (
    ask_hvp_f,
    ask_hvp_g,
    ask_hvp_yy_f,
    ask_hvp_yy_g,
    ask_jvp_xy_f,
    ask_jvp_xy_g,
    exhausted,
)
from bilevel_verify.oracles.jit import compiled, loop
from bilevel_verify.oracles.oracles import BudgetExhausted

if TYPE_CHECKING:
    pass

NEEDS = ("hvp_f", "hvp_g", "hvp_yy_f", "hvp_yy_g", "jvp_xy_f", "jvp_xy_g")
PENALTY_KIND, MINIMAX_KIND = range(2)
LAM, LOW_1, HIGH_1, LOW_2, HIGH_2, SCALE_1, SCALE_2 = range(7)
"""Places of the reals of an operator: lam, both spectra, the factors in front of both Chebyshev sums."""
X_ROWS, Y_ROWS, Z_ROWS = 4, 8, 4


@loop
def lower_in(
    P: OracleSet, counts: Counts, x: Vector, y: Vector, both: bool, lam: float, v: Vector, out: Vector, spare: Vector
) -> None:
    """out <- (nabla^2_yy g) v, or (nabla^2_yy f + lam nabla^2_yy g) v."""
    ask_hvp_yy_g(P, counts, x, y, v, out)
    if both:
        ask_hvp_yy_f(P, counts, x, y, v, spare)
        for i in range(len(out)):
            out[i] = spare[i] + lam * out[i]


@loop
def inverse_in(
    P: OracleSet, counts: Counts, x: Vector, y: Vector, both: bool, lam: float, low: float, high: float, scale: float,
    order: int, v: Vector, out: Vector, wy: Sequence[Vector],
) -> None:  # fmt: skip
    """out <- the Chebyshev approximation of the inverse, applied to v; rows 4 to 7 of ``wy`` are scratch."""
    before, now, product, spare = wy[4], wy[5], wy[6], wy[7]
    if low == high:
        for i in range(len(v)):
            out[i] = scale * (v[i] / low)
        return
    root = square_root(low / high)
    ratio, coefficient = (root - 1.0) / (root + 1.0), 2.0 / square_root(low * high)
    for i in range(len(v)):
        now[i] = v[i]
        out[i] = coefficient / 2.0 * v[i]
    for k in range(1, order + 1):
        lower_in(P, counts, x, y, both, lam, now, product, spare)
        for i in range(len(v)):
            shifted = (2.0 * product[i] - (high + low) * now[i]) / (high - low)
            following = shifted if k == 1 else 2.0 * shifted - before[i]
            before[i] = now[i]
            now[i] = following
        coefficient = coefficient * ratio
        for i in range(len(v)):
            out[i] = out[i] + coefficient * now[i]
    for i in range(len(v)):
        out[i] = scale * out[i]


@loop
def product_in(
    P: OracleSet, counts: Counts, kind: int, x: Vector, y: Vector, w: Vector, real: Vector, order: int,
    v: Vector, out: Vector, wx: Sequence[Vector], wy: Sequence[Vector], wz: Sequence[Vector],
) -> None:  # fmt: skip
    """out <- C v of (8), or its minimax counterpart."""
    dx, lam, lifted, f_v, g_v, h_v = len(x), real[LAM], wz[0], wz[1], wz[2], wz[3]
    right, solved, mixed = wy[0], wy[1], wx[3]
    for i in range(len(lifted)):
        lifted[i] = v[i] if i < dx else 0.0
    ask_hvp_f(P, counts, x, y, lifted, f_v)
    if kind == MINIMAX_KIND:
        for i in range(len(right)):
            right[i] = f_v[dx + i]
        inverse_in(P, counts, x, y, False, 0.0, real[LOW_1], real[HIGH_1], real[SCALE_1], order, right, solved, wy)
        ask_jvp_xy_f(P, counts, x, y, solved, mixed)
        for i in range(dx):
            out[i] = f_v[i] + mixed[i]
        return
    ask_hvp_g(P, counts, x, y, lifted, g_v)
    ask_hvp_g(P, counts, x, w, lifted, h_v)
    for i in range(len(right)):
        right[i] = h_v[dx + i]
    inverse_in(P, counts, x, w, False, 0.0, real[LOW_1], real[HIGH_1], real[SCALE_1], order, right, solved, wy)
    ask_jvp_xy_g(P, counts, x, w, solved, mixed)
    for i in range(dx):
        out[i] = f_v[i] + lam * (g_v[i] - h_v[i]) + lam * mixed[i]
    for i in range(len(right)):
        right[i] = f_v[dx + i] + lam * g_v[dx + i]
    inverse_in(P, counts, x, y, True, lam, real[LOW_2], real[HIGH_2], real[SCALE_2], order, right, solved, wy)
    ask_jvp_xy_f(P, counts, x, y, solved, mixed)
    for i in range(dx):
        out[i] = out[i] - mixed[i]
    ask_jvp_xy_g(P, counts, x, y, solved, mixed)
    for i in range(dx):
        out[i] = out[i] - lam * mixed[i]


@loop
def descend_in(
    P: OracleSet, counts: Counts, kind: int, x: Vector, y: Vector, w: Vector, real: Vector, order: int,
    g: Vector, M: float, eta: float, steps: int, small: float,
    s: Vector, wx: Sequence[Vector], wy: Sequence[Vector], wz: Sequence[Vector],
) -> None:  # fmt: skip
    """Gradient descent on the cubic model from 0.

    ``small < 0``: Algorithm 6, ``steps`` steps with a product each. Else Algorithm 7: until the gradient of the model
    is at most ``small``; the gradient at 0 is g, without a product.
    """
    slope, product, dx, length = wx[0], wx[1], len(x), 0.0
    for i in range(dx):
        s[i] = 0.0
        slope[i] = g[i]
    for k in range(steps):
        if small < 0.0 or k > 0:
            product_in(P, counts, kind, x, y, w, real, order, s, product, wx, wy, wz)
            for i in range(dx):
                slope[i] = g[i] + product[i] + M / 2.0 * length * s[i]
        if square_root(dot(slope, slope)) <= small or exhausted(counts):
            return
        for i in range(dx):
            s[i] = s[i] - eta * slope[i]
        length = square_root(dot(s, s))
        if not length - length == 0.0:  # noqa: SIM201 (NaN)
            return


@cache
def _machine(name: str) -> Any:
    from numba import float64, int64, void

    from bilevel_verify.oracles.compiling import oracle_set_type

    vector, table = float64[::1], float64[:, ::1]
    point = (oracle_set_type(), int64[::1], int64, vector, vector, vector, vector, int64)
    if name == "product":
        return compiled(product_in, void(*point, vector, vector, table, table, table))
    numbers = (vector, float64, float64, int64, float64, vector)
    return compiled(descend_in, void(*point, *numbers, table, table, table))


class Machine:
    """The compiled operator of one run.

    Parameters
    ----------
    kind : of the operator. ``real``, ``order`` : its letters.
    """

    def __init__(self, oracles: Oracles, kind: int, real: list[float], order: int) -> None:
        dx, dy = oracles.problem.dx, oracles.problem.dy
        self.oracles, self.kind, self.order = oracles, kind, order
        self.real = np.array(real, dtype=np.float64)
        self.work = np.zeros((X_ROWS, dx)), np.zeros((Y_ROWS, dy)), np.zeros((Z_ROWS, dx + dy))
        self.functions = oracles.function_set(NEEDS)

    def at(self, x: Array, y: Array, w: Array) -> MachineOperator:
        """The operator at a point."""
        blocks = [np.ascontiguousarray(block, dtype=np.float64) for block in (x, y, w)]
        return MachineOperator(
            self, (self.functions, self.oracles.counts_array, self.kind, *blocks, self.real, self.order)
        )

    def check(self) -> None:
        """Raise where the budget has run out."""
        if exhausted(self.oracles.counts_array):
            raise BudgetExhausted(f"the budget of {self.oracles.budget} oracle calls is used up; raise budget=")


class MachineOperator:
    """v -> C v at one point, and the descent with it (see ``descent.Operator``)."""

    def __init__(self, machine: Machine, point: tuple[object, ...]) -> None:
        self.machine, self.point = machine, point

    def product(self, v: Array) -> Array:
        """C v."""
        vector, out = np.ascontiguousarray(v, dtype=np.float64), np.empty(len(v))
        _machine("product")(*self.point, vector, out, *self.machine.work)
        self.machine.check()
        return out

    def descend(self, g: Array, M: float, eta: float, steps: int, small: float) -> Array:
        """See ``descent.Operator``."""
        vector, s = np.ascontiguousarray(g, dtype=np.float64), np.zeros(len(g))
        _machine("descend")(*self.point, vector, M, eta, steps, small, s, *self.machine.work)
        self.machine.check()
        return s
