"""Algorithm 1 (AGD) for g(x, .), for f(x, .) + lam g(x, .), and for -f(x, .): by arrays, or in machine code.

Line 4 prints ``z_{t+1}``; the index k+1 is meant. The loop is compiled once its oracles were asked often enough to
repay that; both forms take the same steps in the same order of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from bilevel_verify.methods.cubic.arithmetic import Array, Number, is_precise, square_root
from bilevel_verify.oracles import Oracles
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import ask_grad_y_f, ask_grad_y_g, exhausted
from bilevel_verify.oracles.jit import compiled, loop
from bilevel_verify.oracles.oracles import BudgetExhausted

LOWER, PENALTY = range(2)
"""What is minimised: g (for minimax problems -f), or f + lam g."""
NEEDS = ("grad_y_f", "grad_y_g")


def accelerated(gradient: Callable[[Array], Array], start: Array, K: int, l: Number, kappa: Number) -> Array:
    """K steps of length 1/l with momentum (sqrt(kappa)-1)/(sqrt(kappa)+1), from any gradient."""
    eta, root = 1 / l, square_root(kappa)
    theta = (root - 1) / (root + 1)
    z, ahead = start, start
    for _ in range(K):
        following = ahead - gradient(ahead) * eta  # a number of mpmath on the left would look at the array first
        ahead = following + (following - z) * theta
        z = following
    return z


@loop
def agd_loop(
    P: OracleSet,
    counts: Counts,
    x: Vector,
    z: Vector,
    steps: int,
    eta: float,
    theta: float,
    which: int,
    lam: float,
    work: Sequence[Vector],
) -> None:
    """The same in place: z is overwritten; ``work`` has three rows of scratch, shape (3, dy)."""
    ahead, slope, slope_f = work[0], work[1], work[2]
    for i in range(len(z)):
        ahead[i] = z[i]
    for _ in range(steps):
        if exhausted(counts):
            return
        if which == PENALTY:
            ask_grad_y_f(P, counts, x, ahead, slope_f)
        ask_grad_y_g(P, counts, x, ahead, slope)
        for i in range(len(z)):
            step = slope_f[i] + lam * slope[i] if which == PENALTY else slope[i]
            new = ahead[i] - eta * step
            ahead[i] = new + theta * (new - z[i])
            z[i] = new


@cache
def _machine_loop() -> Any:
    from numba import float64, int64, void

    from bilevel_verify.oracles.compiling import oracle_set_type

    vector = float64[::1]
    signature = void(
        oracle_set_type(), int64[::1], vector, vector, int64, float64, float64, int64, float64, float64[:, ::1]
    )
    return compiled(agd_loop, signature)


class InnerSolver:
    """AGD on the inner problems of one run.

    Parameters
    ----------
    oracles : of the run; they count.
    """

    def __init__(self, oracles: Oracles) -> None:
        self.oracles = oracles
        self._functions: Any = None

    def lower(self, x: Array, z: Array, K: int, l: Number, kappa: Number) -> Array:
        """On g(x, .): K gradients of g (of f for minimax problems)."""
        if self._machine(x):
            return self._compiled(x, z, K, l, kappa, LOWER, 0.0)
        return accelerated(lambda y: self.oracles.grad_y_g(x, y), z, K, l, kappa)

    def penalty(self, x: Array, z: Array, K: int, l: Number, kappa: Number, lam: Number) -> Array:
        """On f(x, .) + lam g(x, .): K gradients of f and of g."""
        if self._machine(x):
            return self._compiled(x, z, K, l, kappa, PENALTY, lam)
        o = self.oracles
        return accelerated(lambda y: o.grad_y_f(x, y) + o.grad_y_g(x, y) * lam, z, K, l, kappa)

    def _machine(self, x: Array) -> bool:
        if self._functions is None and not is_precise(x) and self.oracles.worth_compiling(NEEDS):
            self._functions = self.oracles.function_set(NEEDS)
        return self._functions is not None

    def _compiled(self, x: Array, z: Array, K: int, l: Number, kappa: Number, which: int, lam: Number) -> Array:
        root, result = square_root(kappa), np.array(z, dtype=np.float64)
        theta = (root - 1) / (root + 1)
        counts, point = self.oracles.counts_array, np.ascontiguousarray(x, dtype=np.float64)
        work = np.empty((3, len(result)))
        _machine_loop()(self._functions, counts, point, result, K, 1 / l, theta, which, lam, work)
        if exhausted(counts):
            raise BudgetExhausted(f"the budget of {self.oracles.budget} oracle calls is used up; raise budget=")
        return result
