"""Restarted heavy ball (Li & Lin, Algorithm 3)."""

from __future__ import annotations

from typing import NamedTuple

from bilevel_verify.methods.kernels.averages import average_on_the_fly, finish_with_average, restart
from bilevel_verify.methods.kernels.state import OK, Ask, Memory, Real
from bilevel_verify.methods.kernels.steps import advance, begin_epoch, close_row, gradient, open_row, pause
from bilevel_verify.methods.kernels.vectors import copy_into
from bilevel_verify.methods.records import record
from bilevel_verify.methods.registry import Letter, Scheme, register_scheme
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop


class State(NamedTuple):
    """x[t, k], its neighbours, the estimate u; the restart point z; sums of the average over x."""

    x: Vector
    x_old: Vector
    x_new: Vector
    u: Vector
    z: Vector
    total: Vector
    tail: Vector
    output: Vector


@record
class Letters:
    """Step eta, momentum theta, radius B, K iterations of an epoch."""

    eta: Real = 0
    theta: Real = 0
    B: Real = 0
    K: int = 0


@loop
def restarted_heavy_ball(ask: Ask, m: Memory) -> int:
    """x_new = x - eta u(x) + (1 - theta)(x - x_old), restarted from z[k]; output: an average of x."""
    at, letters, s = m.at, m.letters, named(State, m.vectors)
    eta, theta, B, K = letters.eta, letters.theta, letters.B, letters.K
    x, x_old, x_new, u, z = s.x, s.x_old, s.x_new, s.u, s.z
    while True:
        t, k = at.t, at.k
        if k >= K:
            open_row(m, x)
            return finish_with_average(s, at.best_step + 1)
        code = pause(m, False)
        if code == OK and at.fresh == 1:
            code = begin_epoch(ask, x, u, m)
        if code != OK:
            return code
        row = open_row(m, x)
        code = gradient(ask, x, u, m, t, k)
        if code != OK:
            return code
        close_row(m, row, u)
        for i in range(len(x)):
            x_new[i] = x[i] - eta * u[i] + (1 - theta) * (x[i] - x_old[i])
        code = advance(at, s)
        if code != OK:
            return code
        average_on_the_fly(at, s, x_old, k, K // 2)
        k = k + 1
        if k * at.path > B * B:
            row = open_row(m, x)
            heavy_ball_restart_point(x, x_old, theta, z)
            copy_into(z, row.w)
            copy_into(z, x)
            copy_into(z, x_old)
            restart(at, s)


@loop
def heavy_ball_restart_point(x: Vector, x_old: Vector, theta: Real, z: Vector) -> None:
    """z[k] = (x[k] + (1-2 theta)(1-theta) x[k-1]) / (1 + (1-2 theta)(1-theta)) (Algorithm 3, line 6)."""
    weight = (1 - 2 * theta) * (1 - theta)
    for i in range(len(z)):
        z[i] = (x[i] + weight * x_old[i]) / (1 + weight)


register_scheme(
    Scheme(
        "restarted-hb",
        restarted_heavy_ball,
        Letters,
        State,
        (Letter("eta"), Letter("theta", "real"), Letter("B", "nonnegative"), Letter("K", "count")),
        sequences={"x": "x", "z_restart": "w", "u": "u"},
    )
)
