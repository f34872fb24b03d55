"""Convex until proven guilty (Carmon, Duchi, Hinder, Sidford 2017), a baseline.

Histories, entry after entry behind the other vectors of ``outer``: the point x_j, the point y_j, the gradient of f_hat
at x_j, and a row whose first number is f(y_j).
f_hat(x) = f(x) + alpha ||x - p||^2 around the centre p = outer[BASE].
"""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.layout import (
    AUX,
    BASE,
    DECAY,
    EPOCH,
    EXACT,
    FRESH,
    HISTORY_FULL,
    LAST,
    OK,
    ONE,
    OUT,
    OUTER_ROWS,
    STATIONARY,
    STEP,
    SUM,
    TAIL,
    UNDEFINED,
    VALUE_NEW,
    VALUE_OLD,
    X_NEW,
    Memory,
    U,
    Vector,
    W,
    X,
)
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.steps import (
    advance,
    begin_epoch,
    close_row,
    next_epoch,
    open_row,
    output_is,
    pause,
)
from bilevel_verify.methods.kernels.vectors import copy_into, squared_distance, squared_norm
from bilevel_verify.oracles.jit import loop

POINTS, ANSWERS, SLOPES, VALUES = range(4)
HISTORIES = 4


@loop
def remember(m: Memory, kind: int, entry: int, vector: Vector) -> None:
    """history[kind, entry] <- vector."""
    copy_into(vector, m.outer[OUTER_ROWS + HISTORIES * entry + kind])


@loop
def recall(m: Memory, kind: int, entry: int, vector: Vector) -> None:
    """vector <- history[kind, entry]."""
    copy_into(m.outer[OUTER_ROWS + HISTORIES * entry + kind], vector)


@loop
def slope_hat(P: Any, estimate: Any, counts: Vector, point: Vector, k: int, m: Memory) -> int:
    """outer[U] <- grad f_hat(point): one gradient."""
    code = estimate(P, counts, point, m, m.whole[EPOCH], k)
    u, p, alpha = m.outer[U], m.outer[BASE], m.real[1]
    for i in range(len(u)):
        u[i] = u[i] + 2 * alpha * (point[i] - p[i])
    return int(code)


@loop
def value_hat(m: Memory, value: Any, point: Vector) -> Any:
    """f_hat(point) from f(point)."""
    return value + m.real[1] * squared_distance(point, m.outer[BASE])


@loop
def until_guilty(P: Any, estimate: Any, value: Any, exact: Any, counts: Vector, m: Memory) -> int:
    """Guarded nonconvex AGD. Prepared letters eps, alpha, eta_nc, L_hat, kappa^(1/2), omega, exp(-1/kappa^(1/2)).

    One epoch is one call of AGD-until-proven-guilty; row (t, k) of the trace holds x_k, y_k (as w) and the centre p.
    """
    L_hat, omega = m.real[3], m.real[5]
    x, x_new, y, u = m.outer[X], m.outer[X_NEW], m.outer[W], m.outer[U]
    while True:
        t, k = m.whole[EPOCH], m.whole[STEP]
        code = pause(m.whole, len(m.trace), False)
        if code == OK and OUTER_ROWS + HISTORIES * (k + 2) > len(m.outer):
            code = HISTORY_FULL
        if code == OK and m.whole[FRESH] == 1:
            code = begin_epoch(P, estimate, counts, x, m)
            if code == OK:
                code = open_case(P, value, counts, m)
        if code != OK:
            return code
        open_row(m, t, k)
        code = slope_hat(P, estimate, counts, x, k, m)
        if code != OK:
            return code
        close_row(m, True)
        remember(m, POINTS, k, x)
        remember(m, SLOPES, k, u)
        for i in range(len(x)):
            y_new = x[i] - u[i] / L_hat
            x_new[i] = y_new + omega * (y_new - y[i])
            y[i] = y_new
        code = advance(m)
        k = k + 1
        m.real[DECAY] = m.real[DECAY] * m.real[6]
        if code != OK:
            return code
        code = judge(P, estimate, value, counts, k, m)
        if code > 0:
            return code
        if code < 0:
            code = close_case(P, estimate, counts, t, k, m)
            if code != OK:
                return code


@loop
def open_case(P: Any, value: Any, counts: Vector, m: Memory) -> int:
    """p <- x, y_0 <- x_0 <- p, and f(y_0)."""
    x = m.outer[X]
    copy_into(x, m.outer[BASE])
    copy_into(x, m.outer[AUX])
    copy_into(x, m.outer[W])
    m.real[DECAY] = m.real[ONE]
    remember(m, ANSWERS, 0, x)
    code = value(P, counts, x, m, m.whole[EPOCH], 0)
    m.outer[OUTER_ROWS + VALUES][0] = m.real[VALUE_NEW]
    m.real[VALUE_OLD] = m.real[VALUE_NEW]
    return int(code)


@loop
def close_case(P: Any, estimate: Any, counts: Vector, t: int, k: int, m: Memory) -> int:
    """x <- p and the next epoch, unless the gradient at p is small: ``OK`` to go on, or a reason."""
    p, eps = m.outer[BASE], m.real[0]
    open_row(m, t, k)
    close_row(m, True)
    code = estimate(P, counts, p, m, t, LAST)
    if code != OK:
        return int(code)
    if squared_norm(m.outer[U]) <= eps * eps:
        return output_is(m, p, STATIONARY)
    copy_into(p, m.outer[X])
    next_epoch(m)
    return OK


CLOSED = -1
"""The case is closed: the next centre is in outer[BASE]."""


@loop
def judge(P: Any, estimate: Any, value: Any, counts: Vector, k: int, m: Memory) -> int:
    """Certify progress, find a witness pair, stop at a small gradient: ``OK`` to go on, ``CLOSED``, or a reason."""
    y, u, z, t = m.outer[W], m.outer[U], m.outer[EXACT], m.whole[EPOCH]
    L_hat, sigma, first = m.real[3], m.real[1], m.real[VALUE_OLD]
    code = value(P, counts, y, m, t, 0)
    if code != OK:
        return int(code)
    remember(m, ANSWERS, k, y)
    m.outer[OUTER_ROWS + HISTORIES * k + VALUES][0] = m.real[VALUE_NEW]
    if value_hat(m, m.real[VALUE_NEW], y) > first:
        recall(m, ANSWERS, 0, z)
        return convict(P, value, counts, k, m.outer[OUTER_ROWS + VALUES][0], m)
    code = slope_hat(P, estimate, counts, y, LAST, m)
    if code != OK:
        return code
    size = squared_norm(u)
    for i in range(len(z)):
        z[i] = y[i] - u[i] / L_hat
    code = value(P, counts, z, m, t, 0)
    if code != OK:
        return int(code)
    value_z = m.real[VALUE_NEW]
    psi = first - value_hat(m, value_z, z) + sigma / 2 * squared_distance(z, m.outer[BASE])
    if size > 2 * L_hat * psi * m.real[DECAY]:
        return convict(P, value, counts, k, value_z, m)
    if size <= m.real[0] * m.real[0] / 100:
        copy_into(y, m.outer[BASE])
        return CLOSED
    return OK


@loop
def convict(P: Any, value: Any, counts: Vector, k: int, value_w: Any, m: Memory) -> int:
    """Find a witness pair (u, v), w_t in outer[EXACT] and f(w_t) given; the better of b1 and b2 is the next centre."""
    witness, v, slope, t = m.outer[SUM], m.outer[UNDEFINED], m.outer[TAIL], m.whole[EPOCH]
    sigma = m.real[1]
    for j in range(k):
        recall(m, POINTS, j, v)
        recall(m, SLOPES, j, slope)
        code = value(P, counts, v, m, t, 0)
        if code != OK:
            return int(code)
        value_v = value_hat(m, m.real[VALUE_NEW], v)
        for candidate in range(2):
            if candidate == 0:
                recall(m, ANSWERS, j, witness)
                value_u = m.outer[OUTER_ROWS + HISTORIES * j + VALUES][0]
            else:
                copy_into(m.outer[EXACT], witness)
                value_u = value_w
            model = value_v + sigma / 2 * squared_distance(witness, v)
            for i in range(len(v)):
                model = model + slope[i] * (witness[i] - v[i])
            if value_hat(m, value_u, witness) < model:
                return sentence(P, value, counts, k, value_u, m)
    # A witness exists in exact arithmetic; where rounding hides it, the best point so far goes on.
    copy_into(m.outer[EXACT], witness)
    copy_into(witness, v)
    return sentence(P, value, counts, k, value_w, m)


@loop
def sentence(P: Any, value: Any, counts: Vector, k: int, value_u: Any, m: Memory) -> int:
    """outer[BASE] <- the best of u, y_0 .. y_t, u + eta_nc delta, u - eta_nc delta by f; delta = (u - v)/||u - v||."""
    witness, v, trial, base, t = m.outer[SUM], m.outer[UNDEFINED], m.outer[OUT], m.outer[BASE], m.whole[EPOCH]
    eta_nc = m.real[2]
    best, best_value = -1, value_u
    for j in range(k + 1):
        if m.outer[OUTER_ROWS + HISTORIES * j + VALUES][0] < best_value:
            best, best_value = j, m.outer[OUTER_ROWS + HISTORIES * j + VALUES][0]
    if best >= 0:
        recall(m, ANSWERS, best, base)
    else:
        copy_into(witness, base)
    size = square_root(squared_distance(witness, v))
    if size > 0:
        for sign in range(2):
            for i in range(len(trial)):
                step = eta_nc * (witness[i] - v[i]) / size
                trial[i] = witness[i] + step if sign == 0 else witness[i] - step
            code = value(P, counts, trial, m, t, 0)
            if code != OK:
                return int(code)
            if m.real[VALUE_NEW] < best_value:
                best_value = m.real[VALUE_NEW]
                copy_into(trial, base)
    return CLOSED
