"""Convex until proven guilty (Carmon, Duchi, Hinder, Sidford 2017), a baseline.

The history of an epoch lies in ``m.supply``, four vectors per iteration: the point x_j, the point y_j, the gradient of
f_hat at x_j, and one whose first number is f(y_j). f_hat(x) = f(x) + alpha ||x - p||^2 around the centre p.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bilevel_verify.methods.kernels.scalars import exponential, square_root
from bilevel_verify.methods.kernels.state import HISTORY_FULL, LAST, OK, STATIONARY, Ask, Memory, Progress, Real
from bilevel_verify.methods.kernels.steps import (
    advance,
    begin_epoch,
    close_row,
    gradient,
    next_epoch,
    open_row,
    output_is,
    pause,
    value,
)
from bilevel_verify.methods.kernels.vectors import copy_into, squared_distance, squared_norm
from bilevel_verify.methods.records import record
from bilevel_verify.methods.registry import Scheme, register_scheme
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.handing import named, row
from bilevel_verify.oracles.jit import loop


class State(NamedTuple):
    """x[t, k], its neighbours, y[t, k], the gradient u of f_hat, the centre p; w_t and the witness pair of a verdict.

    ``f_new`` holds a function value, as its first entry.
    """

    x: Vector
    x_old: Vector
    x_new: Vector
    y: Vector
    u: Vector
    p: Vector
    next_p: Vector
    w: Vector
    witness: Vector
    v: Vector
    slope: Vector
    trial: Vector
    f_new: Vector
    output: Vector


@record
class Letters:
    """eps, alpha = 2 sqrt(rho eps), eta_nc = alpha/rho, L_hat = L + 2 alpha, omega; all made ready before the run.

    ``factor`` is exp(-1/sqrt(kappa)), ``decay`` its k-th power; ``first`` is f_hat(y_0) = f(p).
    """

    eps: Real = 0
    alpha: Real = 0
    eta_nc: Real = 0
    L_hat: Real = 0
    omega: Real = 0
    factor: Real = 0
    decay: Real = 0
    first: Real = 0


POINTS, ANSWERS, SLOPES, VALUES = range(4)
HISTORIES = 4


@loop
def remember(m: Memory, kind: int, entry: int, vector: Vector) -> None:
    """history[kind, entry] <- vector."""
    copy_into(vector, row(m.supply, HISTORIES * entry + kind))


@loop
def recall(m: Memory, kind: int, entry: int, vector: Vector) -> None:
    """vector <- history[kind, entry]."""
    copy_into(row(m.supply, HISTORIES * entry + kind), vector)


@loop
def slope_hat(ask: Ask, point: Vector, k: int, m: Memory, s: State) -> int:
    """u <- grad f_hat(point): one gradient."""
    u, p, alpha = s.u, s.p, m.letters.alpha
    code = gradient(ask, point, u, m, m.at.t, k)
    for i in range(len(u)):
        u[i] = u[i] + 2 * alpha * (point[i] - p[i])
    return code


@loop
def value_hat(m: Memory, s: State, f: object, point: Vector) -> Any:
    """f_hat(point) from f(point)."""
    return f + m.letters.alpha * squared_distance(point, s.p)


@loop
def until_guilty(ask: Ask, m: Memory) -> int:
    """Guarded nonconvex AGD; one epoch is one call of AGD-until-proven-guilty.

    Row (t, k) of the trace holds x_k, y_k (as w) and the centre p.
    """
    at, letters, s = m.at, m.letters, named(State, m.vectors)
    L_hat, omega = letters.L_hat, letters.omega
    x, x_new, y, u = s.x, s.x_new, s.y, s.u
    while True:
        t, k = at.t, at.k
        code = pause(m, False)
        if code == OK and HISTORIES * (k + 2) > at.supply:
            code = HISTORY_FULL
        if code == OK and at.fresh == 1:
            code = begin_epoch(ask, x, u, m)
            if code == OK:
                code = open_case(ask, m, s)
        if code != OK:
            return code
        opened = open_row(m, x)
        copy_into(s.p, opened.more)
        code = slope_hat(ask, x, k, m, s)
        if code != OK:
            return code
        copy_into(y, opened.w)
        close_row(m, opened, u)
        remember(m, POINTS, k, x)
        remember(m, SLOPES, k, u)
        for i in range(len(x)):
            y_new = x[i] - u[i] / L_hat
            x_new[i] = y_new + omega * (y_new - y[i])
            y[i] = y_new
        code = advance(at, s)
        k = k + 1
        letters.decay = letters.decay * letters.factor
        if code != OK:
            return code
        code = judge(ask, m, s, k)
        if code > 0:
            return code
        if code < 0:
            code = close_case(ask, m, s, t)
            if code != OK:
                return code


@loop
def open_case(ask: Ask, m: Memory, s: State) -> int:
    """p <- x, y_0 <- x_0 <- p, and f(y_0)."""
    x = s.x
    copy_into(x, s.p)
    copy_into(x, s.y)
    m.letters.decay = m.at.one
    remember(m, ANSWERS, 0, x)
    code = value(ask, x, s.f_new, m)
    row(m.supply, VALUES)[0] = s.f_new[0]
    m.letters.first = s.f_new[0]
    return code


@loop
def close_case(ask: Ask, m: Memory, s: State, t: int) -> int:
    """x <- the next centre and the next epoch, unless the gradient there is small: ``OK`` to go on, or a reason."""
    p, eps = s.next_p, m.letters.eps
    opened = open_row(m, s.x)
    copy_into(s.p, opened.more)
    copy_into(s.y, opened.w)
    close_row(m, opened, s.u)
    code = gradient(ask, p, s.u, m, t, LAST)
    if code != OK:
        return code
    if squared_norm(s.u) <= eps * eps:
        return output_is(s, p, STATIONARY)
    copy_into(p, s.x)
    next_epoch(m.at)
    return OK


CLOSED = -1
"""The case is closed: the next centre is known."""


@loop
def judge(ask: Ask, m: Memory, s: State, k: int) -> int:
    """Certify progress, find a witness pair, stop at a small gradient: ``OK`` to go on, ``CLOSED``, or a reason."""
    y, u, z, letters = s.y, s.u, s.w, m.letters
    L_hat, sigma, first = letters.L_hat, letters.alpha, letters.first
    code = value(ask, y, s.f_new, m)
    if code != OK:
        return code
    remember(m, ANSWERS, k, y)
    row(m.supply, HISTORIES * k + VALUES)[0] = s.f_new[0]
    if value_hat(m, s, s.f_new[0], y) > first:
        recall(m, ANSWERS, 0, z)
        return convict(ask, m, s, k, row(m.supply, VALUES)[0])
    code = slope_hat(ask, y, LAST, m, s)
    if code != OK:
        return code
    size = squared_norm(u)
    for i in range(len(z)):
        z[i] = y[i] - u[i] / L_hat
    code = value(ask, z, s.f_new, m)
    if code != OK:
        return code
    value_z = s.f_new[0]
    psi = first - value_hat(m, s, value_z, z) + sigma / 2 * squared_distance(z, s.p)
    if size > 2 * L_hat * psi * letters.decay:
        return convict(ask, m, s, k, value_z)
    if size <= letters.eps * letters.eps / 100:
        copy_into(y, s.next_p)
        return CLOSED
    return OK


@loop
def convict(ask: Ask, m: Memory, s: State, k: int, value_w: object) -> int:
    """Find a witness pair (u, v), w_t and f(w_t) given; the better of b1 and b2 is the next centre."""
    witness, v, slope, sigma = s.witness, s.v, s.slope, m.letters.alpha
    for j in range(k):
        recall(m, POINTS, j, v)
        recall(m, SLOPES, j, slope)
        code = value(ask, v, s.f_new, m)
        if code != OK:
            return code
        value_v = value_hat(m, s, s.f_new[0], v)
        for candidate in range(2):
            if candidate == 0:
                recall(m, ANSWERS, j, witness)
                value_u = row(m.supply, HISTORIES * j + VALUES)[0]
            else:
                copy_into(s.w, witness)
                value_u = value_w
            model = value_v + sigma / 2 * squared_distance(witness, v)
            for i in range(len(v)):
                model = model + slope[i] * (witness[i] - v[i])
            if value_hat(m, s, value_u, witness) < model:
                return sentence(ask, m, s, k, value_u)
    # A witness exists in exact arithmetic; where rounding hides it, the best point so far goes on.
    copy_into(s.w, witness)
    copy_into(witness, v)
    return sentence(ask, m, s, k, value_w)


@loop
def sentence(ask: Ask, m: Memory, s: State, k: int, value_u: Any) -> int:
    """Next centre <- the best of u, y_0 .. y_t, u + eta_nc delta, u - eta_nc delta by f; delta = (u - v)/||u - v||."""
    witness, v, trial, base, eta_nc = s.witness, s.v, s.trial, s.next_p, m.letters.eta_nc
    best, best_value = -1, value_u
    for j in range(k + 1):
        if row(m.supply, HISTORIES * j + VALUES)[0] < best_value:
            best, best_value = j, row(m.supply, HISTORIES * j + VALUES)[0]
    if best >= 0:
        recall(m, ANSWERS, best, base)
    else:
        copy_into(witness, base)
    size = square_root(squared_distance(witness, v))
    if size > 0:
        m.at.curvature_steps += 1
        for sign in range(2):
            for i in range(len(trial)):
                step = eta_nc * (witness[i] - v[i]) / size
                trial[i] = witness[i] + step if sign == 0 else witness[i] - step
            code = value(ask, trial, s.f_new, m)
            if code != OK:
                return code
            if s.f_new[0] < best_value:
                best_value = s.f_new[0]
                copy_into(trial, base)
    return CLOSED


def ready_letters(at: Progress, letters: Any, given: Mapping[str, float]) -> None:
    """Everything that follows from eps, L and rho."""
    eps, L, rho = given["eps"], given["L"], given["rho"]
    alpha = given.get("alpha", 2 * square_root(rho * eps))
    letters.eps, letters.alpha, letters.eta_nc = eps, alpha, given.get("eta_nc", alpha / rho)
    letters.L_hat = L + 2 * alpha
    root = square_root(letters.L_hat / alpha)
    letters.omega = (root - 1) / (root + 1)
    letters.factor = exponential(-1 / root)


register_scheme(
    Scheme(
        "convex-until-guilty",
        until_guilty,
        Letters,
        State,
        (),
        values=True,
        prepare=ready_letters,
        sequences={"x": "x", "w": "w", "p": "more"},
        known={"more": "p"},
        history=True,
    )
)
