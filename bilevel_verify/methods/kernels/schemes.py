"""Outer schemes: what is done with the gradients of an estimator. Each runs until its block of the trace is full.

All have one signature, ``scheme(P, estimate, counts, m)``, keep their whole state in the memory ``m``, and return one
of the reasons of ``layout``; called again they go on where they were.
"""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.layout import (
    ALWAYS,
    AUX,
    BEST_STEP,
    EPOCH,
    EXACT,
    FINISHED,
    FRESH,
    LENGTH,
    MARK,
    NEVER,
    OK,
    ONE,
    PATH,
    PERTURB,
    POINT_AUX,
    POINT_W,
    ROWS,
    STAMPS,
    STATIONARY,
    STEP,
    SUM,
    TESTED,
    X_NEW,
    X_OLD,
    Memory,
    U,
    Vector,
    W,
    X,
)
from bilevel_verify.methods.kernels.steps import (
    advance,
    average_on_the_fly,
    begin_epoch,
    close_row,
    finish_with_average,
    next_epoch,
    note,
    open_row,
    output_is,
    pause,
    perturb,
    small_enough,
)
from bilevel_verify.methods.kernels.vectors import add_to, copy_into, squared_norm
from bilevel_verify.oracles.jit import loop


@loop
def gradient_descent(P: Any, estimate: Any, value: Any, exact: Any, counts: Vector, m: Memory) -> int:
    """x[k+1] = x[k] - eta u[k]. Letters eta, eps (tested before the update, if given); N updates."""
    eta, eps = m.real[0], m.real[1]
    x, x_new, u = m.outer[X], m.outer[X_NEW], m.outer[U]
    while True:
        k = m.whole[STEP]
        if k >= m.whole[LENGTH]:
            open_row(m, 0, k)
            return output_is(m, x, FINISHED)
        code = pause(m.whole, len(m.trace), False)
        if code == OK and m.whole[FRESH] == 1:
            code = begin_epoch(P, estimate, counts, x, m)
        if code != OK:
            return code
        open_row(m, 0, k)
        code = estimate(P, counts, x, m, 0, k)
        if code != OK:
            return int(code)
        close_row(m, False)
        if small_enough(u, eps, m):
            return output_is(m, x, STATIONARY)
        for i in range(len(x)):
            x_new[i] = x[i] - eta * u[i]
        code = advance(m)
        if code != OK:
            return code


@loop
def perturbed_gradient_descent(P: Any, estimate: Any, value: Any, exact: Any, counts: Vector, m: Memory) -> int:
    """Gradient descent that perturbs x and estimates again where ||u|| <= (4/5) eps, at most every T_pert steps (PAID).

    Letters eta, eps; integer letters N, T_pert (in ``MARK`` the step of the last perturbation).
    """
    eta, eps = m.real[0], m.real[ONE] * 4 * m.real[1] / 5
    x, x_new, u = m.outer[X], m.outer[X_NEW], m.outer[U]
    while True:
        k = m.whole[STEP]
        if k >= m.whole[LENGTH]:
            open_row(m, 0, k)
            return output_is(m, x, FINISHED)
        code = pause(m.whole, len(m.trace), True)
        if code == OK and m.whole[FRESH] == 1:
            code = begin_epoch(P, estimate, counts, x, m)
        if code != OK:
            return code
        open_row(m, 0, k)
        code = estimate(P, counts, x, m, 0, k)
        if code != OK:
            return int(code)
        if small_enough(u, eps, m) and (m.whole[MARK] < 0 or k - m.whole[MARK] > m.whole[PERTURB]):
            m.whole[MARK] = k
            perturb(m, x)
            code = estimate(P, counts, x, m, 0, k)
            if code != OK:
                return int(code)
        close_row(m, False)
        for i in range(len(x)):
            x_new[i] = x[i] - eta * u[i]
        code = advance(m)
        if code != OK:
            return code


@loop
def restarted_gradient_descent(P: Any, estimate: Any, value: Any, exact: Any, counts: Vector, m: Memory) -> int:
    """Gradient descent in the restart frame (Li & Lin section 5.2): output (1/K) sum of x[0 .. K-1].

    Letters eta, B; K.
    """
    eta, B = m.real[0], m.real[1]
    K = m.whole[LENGTH]
    x, x_new, u = m.outer[X], m.outer[X_NEW], m.outer[U]
    while True:
        t, k = m.whole[EPOCH], m.whole[STEP]
        if k >= K:
            open_row(m, t, k)
            return finish_with_average(m, K)
        code = pause(m.whole, len(m.trace), False)
        if code == OK and m.whole[FRESH] == 1:
            code = begin_epoch(P, estimate, counts, x, m)
        if code != OK:
            return code
        open_row(m, t, k)
        code = estimate(P, counts, x, m, t, k)
        if code != OK:
            return int(code)
        close_row(m, False)
        add_to(m.outer[SUM], x)
        for i in range(len(x)):
            x_new[i] = x[i] - eta * u[i]
        code = advance(m)
        if code != OK:
            return code
        k = k + 1
        if k * m.real[PATH] > B * B:
            open_row(m, t, k)
            next_epoch(m)


@loop
def restarted_agd(P: Any, estimate: Any, value: Any, exact: Any, counts: Vector, m: Memory) -> int:
    """Restarted AGD (Li & Lin Algorithm 1, RAHGD/PRAHGD Algorithm 3, PRAGDA Algorithm 4, AccF2BA).

    Letters eta, theta, B; K. A restart is perturbed never, always, or where the last gradient is at most B/eta.
    """
    eta, theta, B = m.real[0], m.real[1], m.real[2]
    K, noisy = m.whole[LENGTH], m.whole[PERTURB] != NEVER
    x, x_old, x_new, w, u = m.outer[X], m.outer[X_OLD], m.outer[X_NEW], m.outer[W], m.outer[U]
    while True:
        t, k = m.whole[EPOCH], m.whole[STEP]
        if k >= K:
            open_row(m, t, k)
            return finish_with_average(m, m.whole[BEST_STEP] + 1)
        code = pause(m.whole, len(m.trace), noisy)
        if code == OK and m.whole[FRESH] == 1:
            code = begin_epoch(P, estimate, counts, x_old, m)
        if code != OK:
            return code
        open_row(m, t, k)
        for i in range(len(x)):
            w[i] = x[i] + (1 - theta) * (x[i] - x_old[i])
        code = estimate(P, counts, w, m, t, k)
        if code != OK:
            return int(code)
        close_row(m, True)
        for i in range(len(x)):
            x_new[i] = w[i] - eta * u[i]
        code = advance(m)
        if code != OK:
            return code
        average_on_the_fly(m, w, k, K // 2)
        k = k + 1
        if k * m.real[PATH] > B * B:
            open_row(m, t, k)
            if m.whole[PERTURB] == ALWAYS or (noisy and eta * eta * squared_norm(u) <= B * B):
                perturb(m, x)
            copy_into(x, x_old)
            next_epoch(m)


@loop
def restarted_heavy_ball(P: Any, estimate: Any, value: Any, exact: Any, counts: Vector, m: Memory) -> int:
    """Restarted HB (Li & Lin Algorithm 3): restart from z[k], average of x. Letters eta, theta, B; K."""
    eta, theta, B = m.real[0], m.real[1], m.real[2]
    K = m.whole[LENGTH]
    x, x_old, x_new, u, z = m.outer[X], m.outer[X_OLD], m.outer[X_NEW], m.outer[U], m.outer[W]
    while True:
        t, k = m.whole[EPOCH], m.whole[STEP]
        if k >= K:
            open_row(m, t, k)
            return finish_with_average(m, m.whole[BEST_STEP] + 1)
        code = pause(m.whole, len(m.trace), False)
        if code == OK and m.whole[FRESH] == 1:
            code = begin_epoch(P, estimate, counts, x, m)
        if code != OK:
            return code
        open_row(m, t, k)
        code = estimate(P, counts, x, m, t, k)
        if code != OK:
            return int(code)
        close_row(m, False)
        for i in range(len(x)):
            x_new[i] = x[i] - eta * u[i] + (1 - theta) * (x[i] - x_old[i])
        code = advance(m)
        if code != OK:
            return code
        average_on_the_fly(m, x_old, k, K // 2)
        k = k + 1
        if k * m.real[PATH] > B * B:
            open_row(m, t, k)
            heavy_ball_restart_point(m, theta, z)
            note(m.trace[m.whole[ROWS] - 1], STAMPS + POINT_W * len(x), z)
            copy_into(z, x)
            copy_into(z, x_old)
            next_epoch(m)


@loop
def heavy_ball_restart_point(m: Memory, theta: Any, z: Vector) -> None:
    """z[k] = (x[k] + (1-2 theta)(1-theta) x[k-1]) / (1 + (1-2 theta)(1-theta)) (Algorithm 3, line 6)."""
    x, x_old = m.outer[X], m.outer[X_OLD]
    weight = (1 - 2 * theta) * (1 - theta)
    for i in range(len(z)):
        z[i] = (x[i] + weight * x_old[i]) / (1 + weight)


@loop
def general_smoothness(P: Any, estimate: Any, value: Any, exact: Any, counts: Vector, m: Memory) -> int:
    """Restarted AGD under general smoothness (RAGD-GS Algorithm 1). Letters L, H_nu, nu_f, eps.

    The output test asks for the exact gradient at wbar[t, k] after every iteration that does not end the epoch: right
    after a restart k = 0 and wbar[t, 0] is not defined.
    """
    L, H_nu, nu_f, eps = m.real[0], m.real[1], m.real[2], m.real[3]
    one = m.real[ONE]
    x, x_old, x_new, w, u = m.outer[X], m.outer[X_OLD], m.outer[X_NEW], m.outer[W], m.outer[U]
    average = m.outer[AUX]
    while True:
        t, k = m.whole[EPOCH], m.whole[STEP]
        code = pause(m.whole, len(m.trace), False)
        if code == OK and m.whole[FRESH] == 1:
            code = begin_epoch(P, estimate, counts, x, m)
            copy_into(x, w)
        if code != OK:
            return code
        open_row(m, t, k)
        if k > 0:
            note(m.trace[m.whole[ROWS] - 1], STAMPS + POINT_AUX * len(x), average)
        code = estimate(P, counts, w, m, t, k)
        if code != OK:
            return int(code)
        close_row(m, True)
        k = k + 1
        for i in range(len(x)):
            x_new[i] = w[i] - u[i] / L
            average[i] = one * (k - 1) / (k + 1) * average[i] + one * 2 / (k + 1) * w[i]
        code = advance(m)
        if code != OK:
            return code
        for i in range(len(x)):
            w[i] = x[i] + one * k / (k + 1) * (x[i] - x_old[i])
        if (one * (k + 1)) ** (4 + nu_f) * H_nu * H_nu * m.real[PATH] ** nu_f > L * L:
            last_row(m, t, k)
            next_epoch(m)
        elif m.whole[TESTED] == 1:
            code = exact(P, counts, average, m, t, k)
            if code != OK:
                open_row(m, t, k)
                return int(code)
            if small_enough(m.outer[EXACT], eps, m):
                last_row(m, t, k)
                return output_is(m, average, STATIONARY)


@loop
def last_row(m: Memory, t: int, k: int) -> None:
    """The row (t, k) at which an epoch of ``general_smoothness`` ends, with w[t, k] and wbar[t, k]."""
    open_row(m, t, k)
    row, dx = m.trace[m.whole[ROWS] - 1], len(m.outer[X])
    note(row, STAMPS + POINT_W * dx, m.outer[W])
    note(row, STAMPS + POINT_AUX * dx, m.outer[AUX])
