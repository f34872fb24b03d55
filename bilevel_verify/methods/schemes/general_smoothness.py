"""Restarted AGD under general smoothness (RAGD-GS, Algorithm 1)."""

from __future__ import annotations

from typing import NamedTuple

from bilevel_verify.methods.kernels.scalars import power
from bilevel_verify.methods.kernels.state import OK, STATIONARY, Ask, Memory, Real
from bilevel_verify.methods.kernels.steps import (
    advance,
    begin_epoch,
    close_row,
    exact_gradient,
    gradient,
    next_epoch,
    open_row,
    output_is,
    pause,
    small_enough,
)
from bilevel_verify.methods.kernels.vectors import copy_into
from bilevel_verify.methods.records import record
from bilevel_verify.methods.registry import Letter, Scheme, register_scheme
from bilevel_verify.methods.schemes.gradient_descent import TESTED_EPS, tested_if_given
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop


class State(NamedTuple):
    """x[t, k], its neighbours, w[t, k], the estimate u there, the average wbar[t, k], the exact gradient there."""

    x: Vector
    x_old: Vector
    x_new: Vector
    w: Vector
    u: Vector
    wbar: Vector
    exact: Vector
    output: Vector


@record
class Letters:
    """L, Hoelder constant H_nu and exponent nu_f of the Hessian, tolerance eps."""

    L: Real = 0
    H_nu: Real = 0
    nu_f: Real = 0
    eps: Real = 0


@loop
def general_smoothness(ask: Ask, m: Memory) -> int:
    """x_new = w - u(w)/L, w = x + k/(k+1) (x - x_old), restarted where (k+1)^(4+nu) H^2 path^nu exceeds L^2.

    The output test asks for the exact gradient at wbar[t, k] after every iteration that does not end the epoch: right
    after a restart k = 0 and wbar[t, 0] is not defined.
    """
    at, letters, s = m.at, m.letters, named(State, m.vectors)
    L, H_nu, nu_f, eps = letters.L, letters.H_nu, letters.nu_f, letters.eps
    one = at.one
    x, x_old, x_new, w, u, wbar = s.x, s.x_old, s.x_new, s.w, s.u, s.wbar
    while True:
        t, k = at.t, at.k
        code = pause(m, False)
        if code == OK and at.fresh == 1:
            code = begin_epoch(ask, x, u, m)
            copy_into(x, w)
        if code != OK:
            return code
        row = open_row(m, x)
        if k > 0:
            copy_into(wbar, row.more)
        code = gradient(ask, w, u, m, t, k)
        if code != OK:
            return code
        copy_into(w, row.w)
        close_row(m, row, u)
        k = k + 1
        for i in range(len(x)):
            x_new[i] = w[i] - u[i] / L
            wbar[i] = one * (k - 1) / (k + 1) * wbar[i] + one * 2 / (k + 1) * w[i]
        code = advance(at, s)
        if code != OK:
            return code
        for i in range(len(x)):
            w[i] = x[i] + one * k / (k + 1) * (x[i] - x_old[i])
        if power(one * (k + 1), 4 + nu_f) * H_nu * H_nu * power(at.path, nu_f) > L * L:
            last_row(m, s)
            next_epoch(at)
        elif at.tested == 1:
            code = exact_gradient(ask, wbar, s.exact, m, t, k)
            if code != OK:
                open_row(m, x)
                return code
            if small_enough(s.exact, eps, at):
                last_row(m, s)
                return output_is(s, wbar, STATIONARY)


@loop
def last_row(m: Memory, s: State) -> None:
    """The row (t, k) at which an epoch ends, with w[t, k] and wbar[t, k]."""
    row = open_row(m, s.x)
    copy_into(s.w, row.w)
    copy_into(s.wbar, row.more)


register_scheme(
    Scheme(
        "general-smoothness",
        general_smoothness,
        Letters,
        State,
        (Letter("L"), Letter("H_nu"), Letter("nu_f", "nonnegative"), TESTED_EPS),
        stopping=True,
        prepare=tested_if_given,
        sequences={"x": "x", "w": "w", "u": "u", "wbar": "more"},
    )
)
