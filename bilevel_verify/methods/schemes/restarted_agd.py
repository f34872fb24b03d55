"""Restarted AGD (Li & Lin Algorithm 1, RAHGD/PRAHGD Algorithm 3, PRAGDA Algorithm 4, AccF2BA)."""

from __future__ import annotations

from typing import NamedTuple

from bilevel_verify.methods.kernels.averages import average_on_the_fly, finish_with_average, restart
from bilevel_verify.methods.kernels.state import ALWAYS, NEVER, OK, Ask, Memory, Real
from bilevel_verify.methods.kernels.steps import advance, begin_epoch, close_row, gradient, open_row, pause, perturb
from bilevel_verify.methods.kernels.vectors import copy_into, squared_norm
from bilevel_verify.methods.records import record
from bilevel_verify.methods.registry import Letter, Scheme, register_scheme
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop


class State(NamedTuple):
    """x[t, k], its neighbours, the extrapolated w[t, k], the estimate u there; sums of the average over w."""

    x: Vector
    x_old: Vector
    x_new: Vector
    w: Vector
    u: Vector
    total: Vector
    tail: Vector
    output: Vector


@record
class Letters:
    """Step eta, momentum theta, radius B, K iterations of an epoch.

    A restart is perturbed never, always, or where the last gradient is at most B/eta.
    """

    eta: Real = 0
    theta: Real = 0
    B: Real = 0
    K: int = 0
    perturbed: int = NEVER


@loop
def restarted_agd(ask: Ask, m: Memory) -> int:
    """w = x + (1 - theta)(x - x_old), x_new = w - eta u(w), restarted where k times the path exceeds B^2."""
    at, letters, s = m.at, m.letters, named(State, m.vectors)
    eta, theta, B, K = letters.eta, letters.theta, letters.B, letters.K
    noisy, always = letters.perturbed != NEVER, letters.perturbed == ALWAYS
    x, x_old, x_new, w, u = s.x, s.x_old, s.x_new, s.w, s.u
    while True:
        t, k = at.t, at.k
        if k >= K:
            open_row(m, x)
            return finish_with_average(s, at.best_step + 1)
        code = pause(m, noisy)
        if code == OK and at.fresh == 1:
            code = begin_epoch(ask, x_old, u, m)
        if code != OK:
            return code
        row = open_row(m, x)
        for i in range(len(x)):
            w[i] = x[i] + (1 - theta) * (x[i] - x_old[i])
        code = gradient(ask, w, u, m, t, k)
        if code != OK:
            return code
        copy_into(w, row.w)
        close_row(m, row, u)
        for i in range(len(x)):
            x_new[i] = w[i] - eta * u[i]
        code = advance(at, s)
        if code != OK:
            return code
        average_on_the_fly(at, s, w, k, K // 2)
        k = k + 1
        if k * at.path > B * B:
            open_row(m, x)
            if always or (noisy and eta * eta * squared_norm(u) <= B * B):
                perturb(m, x)
            copy_into(x, x_old)
            restart(at, s)


register_scheme(
    Scheme(
        "restarted-agd",
        restarted_agd,
        Letters,
        State,
        (Letter("eta"), Letter("theta", "real"), Letter("B", "nonnegative"), Letter("K", "count")),
        sequences={"x": "x", "w": "w", "u": "u"},
    )
)
