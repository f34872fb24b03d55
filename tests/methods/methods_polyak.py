"""A scheme that is none of ours, in one file: gradient descent with Polyak's step, and Nesterov's constant momentum.

What an author of a new scheme writes, and nothing else: letters, state, loop, registration.
"""

from __future__ import annotations

from typing import NamedTuple

from bilevel_verify.methods.kernels.state import FINISHED, OK, Ask, Memory, Real, Vector
from bilevel_verify.methods.kernels.steps import (
    advance,
    begin_epoch,
    close_row,
    gradient,
    open_row,
    output_is,
    pause,
    value,
)
from bilevel_verify.methods.kernels.vectors import copy_into, squared_norm
from bilevel_verify.methods.records import record
from bilevel_verify.methods.registry import Letter, Scheme
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop


class State(NamedTuple):
    """x[k], its neighbours, w[k] = x[k] + beta (x[k] - x[k-1]), the estimate u there; f[0] is f(w[k])."""

    x: Vector
    x_old: Vector
    x_new: Vector
    w: Vector
    u: Vector
    f: Vector
    output: Vector


@record
class Letters:
    """Least value f_star, momentum beta, N updates; the sum of all steps."""

    f_star: Real = 0
    beta: Real = 0
    N: int = 0
    way: Real = 0


@loop
def polyak(ask: Ask, m: Memory) -> int:
    """x[k+1] = w - (f(w) - f_star)/||u||^2 u; the output is x[N]."""
    at, letters, s = m.at, m.letters, named(State, m.vectors)
    f_star, beta, N = letters.f_star, letters.beta, letters.N
    x, x_old, w, u = s.x, s.x_old, s.w, s.u
    while True:
        k = at.k
        if k >= N:
            open_row(m, x)
            return output_is(s, x, FINISHED)
        code = pause(m, False)
        if code == OK and at.fresh == 1:
            code = begin_epoch(ask, x, u, m)
        if code != OK:
            return code
        row = open_row(m, x)
        for i in range(len(x)):
            w[i] = x[i] + beta * (x[i] - x_old[i])
        code = gradient(ask, w, u, m, 0, k)
        if code == OK:
            code = value(ask, w, s.f, m)
        if code != OK:
            return code
        copy_into(w, row.w)
        close_row(m, row, u)
        step = (s.f[0] - f_star) / squared_norm(u)
        letters.way = letters.way + step
        for i in range(len(x)):
            s.x_new[i] = w[i] - step * u[i]
            row.more[i] = letters.way
        code = advance(at, s)
        if code != OK:
            return code


POLYAK = Scheme(
    "polyak",
    polyak,
    Letters,
    State,
    (Letter("f_star", "real"), Letter("beta", "real"), Letter("N", "count")),
    restarts=False,
    values=True,
    sequences={"x": "x", "w": "w", "u": "u", "way": "more"},
)
