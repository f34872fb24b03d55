"""Gradient descent in the restart frame (Li & Lin, section 5.2)."""

from __future__ import annotations

from typing import NamedTuple

from bilevel_verify.methods.kernels.averages import finish_with_average, restart
from bilevel_verify.methods.kernels.state import OK, Ask, Memory, Real
from bilevel_verify.methods.kernels.steps import advance, begin_epoch, close_row, gradient, open_row, pause
from bilevel_verify.methods.kernels.vectors import add_to
from bilevel_verify.methods.records import record
from bilevel_verify.methods.registry import Letter, Scheme, register_scheme
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop


class State(NamedTuple):
    """x[t, k], its neighbours, the estimate u; the sum of x[t, 0 .. k-1] (no tail is ever left)."""

    x: Vector
    x_old: Vector
    x_new: Vector
    u: Vector
    total: Vector
    tail: Vector
    output: Vector


@record
class Letters:
    """Step eta, radius B, K iterations of an epoch."""

    eta: Real = 0
    B: Real = 0
    K: int = 0


@loop
def restarted_gradient_descent(ask: Ask, m: Memory) -> int:
    """x[k+1] = x[k] - eta u[k], restarted where k times the path exceeds B^2; output (1/K) sum of x[0 .. K-1]."""
    at, letters, s = m.at, m.letters, named(State, m.vectors)
    eta, B, K = letters.eta, letters.B, letters.K
    x, x_new, u = s.x, s.x_new, s.u
    while True:
        t, k = at.t, at.k
        if k >= K:
            open_row(m, x)
            return finish_with_average(s, K)
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
        add_to(s.total, x)
        for i in range(len(x)):
            x_new[i] = x[i] - eta * u[i]
        code = advance(at, s)
        if code != OK:
            return code
        k = k + 1
        if k * at.path > B * B:
            open_row(m, x)
            restart(at, s)


register_scheme(
    Scheme(
        "restarted-gradient-descent",
        restarted_gradient_descent,
        Letters,
        State,
        (Letter("eta"), Letter("B", "nonnegative"), Letter("K", "count")),
        sequences={"x": "x", "u": "u"},
    )
)
