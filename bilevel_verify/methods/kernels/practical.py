"""Schemes that ask for function values: practical restarts, AGD-Jin, "convex until proven guilty"."""

from __future__ import annotations

from typing import Any

from bilevel_verify.methods.kernels.layout import (
    ADAPTIVE,
    AUX,
    BASE,
    BEST_FIRST,
    BEST_STEP,
    BEST_STEP_FIRST,
    EPOCH,
    FINISHED,
    FRESH,
    GUESS_L,
    GUESS_RHO,
    HEAVY_BALL,
    LAST,
    LENGTH,
    MOVED,
    NEVER,
    OK,
    ONE,
    OUT,
    PATH,
    PERTURB,
    POINT_W,
    RADIUS,
    ROWS,
    STAMPS,
    STEP,
    SUM,
    TAIL,
    VALUE_NEW,
    X_NEW,
    X_OLD,
    Memory,
    U,
    Vector,
    W,
    X,
)
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.schemes import heavy_ball_restart_point
from bilevel_verify.methods.kernels.steps import (
    advance,
    average_on_the_fly,
    begin_epoch,
    close_row,
    next_epoch,
    note,
    open_row,
    output_is,
    pause,
    perturb,
)
from bilevel_verify.methods.kernels.vectors import copy_into, set_zero, squared_distance, squared_norm
from bilevel_verify.oracles.jit import loop


@loop
def required_decrease(m: Memory) -> Any:
    """min(eps^(3/2)/sqrt(rho), eps L/rho), the latter times 3/16 for heavy ball (Algorithms 2 and 4, line 7)."""
    eps, L, rho = m.real[5], m.real[GUESS_L], m.real[GUESS_RHO]
    first = eps * square_root(eps) / square_root(rho)
    second = eps * L / rho
    if m.whole[HEAVY_BALL] == 1:
        second = 3 * second / 16
    return min(first, second)


@loop
def raise_the_guesses(m: Memory) -> None:
    """Remark 2: B0/c1, L c2, rho c3; eta, theta, B, K are the theorem's for the new guesses, K rounded up."""
    m.real[RADIUS] = m.real[RADIUS] / m.real[6]
    m.real[GUESS_L] = m.real[GUESS_L] * m.real[7]
    m.real[GUESS_RHO] = m.real[GUESS_RHO] * m.real[8]
    one, eps, L, rho = m.real[ONE], m.real[5], m.real[GUESS_L], m.real[GUESS_RHO]
    eta = one / (4 * L)
    root = square_root(square_root(eps * rho * eta * eta))
    theta = 10 * root if m.whole[HEAVY_BALL] == 1 else 4 * root
    m.real[0] = eta
    m.real[1] = theta
    m.real[2] = square_root(eps / (4 * rho)) if m.whole[HEAVY_BALL] == 1 else square_root(eps / rho)
    K = int(one / theta)
    m.whole[LENGTH] = max(K + 1 if K * theta < 1 else K, 1)


@loop
def practical(P: Any, estimate: Any, value: Any, exact: Any, counts: Vector, m: Memory) -> int:
    """Practical restarted AGD and HB (Li & Lin Algorithms 2 and 4): radius B0 first, invalid epochs are dropped.

    Letters eta, theta, B, B0, c, eps (and c1, c2, c3 for unknown L, rho: Remark 2); L and rho are guesses; K.
    A valid epoch whose last gradient is at most B/eta is perturbed where the run has perturbations (section 2.2).
    """
    heavy, noisy = m.whole[HEAVY_BALL] == 1, m.whole[PERTURB] != NEVER
    x, x_old, x_new, w, u = m.outer[X], m.outer[X_OLD], m.outer[X_NEW], m.outer[W], m.outer[U]
    while True:
        eta, theta, B, K = m.real[0], m.real[1], m.real[2], m.whole[LENGTH]
        radius = m.real[RADIUS]
        t, k = m.whole[EPOCH], m.whole[STEP]
        if k >= K and radius <= B:
            open_row(m, t, k)
            return better_of_last_and_average(P, estimate, counts, m)
        code = pause(m.whole, len(m.trace), noisy)
        if code == OK and m.whole[FRESH] == 1:
            code = begin_epoch(P, estimate, counts, x, m)
            copy_into(x, m.outer[BASE])
        if code != OK:
            return code
        open_row(m, t, k)
        for i in range(len(x)):
            w[i] = x[i] if heavy else x[i] + (1 - theta) * (x[i] - x_old[i])
        code = estimate(P, counts, w, m, t, k)
        if code != OK:
            return int(code)
        close_row(m, not heavy)
        for i in range(len(x)):
            momentum = (1 - theta) * (x[i] - x_old[i]) if heavy else 0.0 * theta
            x_new[i] = w[i] - eta * u[i] + momentum
        code = advance(m)
        if code != OK:
            return code
        k = k + 1
        average_on_the_fly(m, w, k - 1, K // 2)
        if k * m.real[PATH] > max(B * B, radius * radius) or k > K:
            open_row(m, t, k)
            code = end_of_practical_epoch(P, value, counts, m)
            if code != OK:
                return code


@loop
def end_of_practical_epoch(P: Any, value: Any, counts: Vector, m: Memory) -> int:
    """Lines 7-11: keep the epoch if f has decreased enough, else drop it and shrink B0. Two function values."""
    x, t = m.outer[X], m.whole[EPOCH]
    end = m.outer[W]
    if m.whole[HEAVY_BALL] == 1:
        heavy_ball_restart_point(m, m.real[1], end)
        note(m.trace[m.whole[ROWS] - 1], STAMPS + POINT_W * len(x), end)
    else:
        end = x
    code = value(P, counts, end, m, t, 0)
    at_end = m.real[VALUE_NEW]
    if code == OK:
        code = value(P, counts, m.outer[BASE], m, t, 0)
    if code != OK:
        return int(code)
    if at_end - m.real[VALUE_NEW] <= -required_decrease(m):
        copy_into(end, x)
        eta, B = m.real[0], m.real[2]
        if m.whole[PERTURB] != NEVER and eta * eta * squared_norm(m.outer[U]) <= B * B:
            perturb(m, x)
    else:
        copy_into(m.outer[BASE], x)
        if m.whole[ADAPTIVE] == 1:
            raise_the_guesses(m)
        else:
            m.real[RADIUS] = m.real[RADIUS] / m.real[4]
    copy_into(x, m.outer[X_OLD])
    next_epoch(m)
    return OK


@loop
def better_of_last_and_average(P: Any, estimate: Any, counts: Vector, m: Memory) -> int:
    """Lines 14-16: of x[K] and the average, the one with the smaller gradient; a tie goes to x[K]. Two gradients."""
    x, average, total, t = m.outer[X], m.outer[AUX], m.outer[SUM], m.whole[EPOCH]
    for i in range(len(x)):
        average[i] = total[i] / (m.whole[BEST_STEP] + 1)
    code = estimate(P, counts, x, m, t, LAST)
    if code != OK:
        return int(code)
    size = squared_norm(m.outer[U])
    code = estimate(P, counts, average, m, t, LAST)
    if code != OK:
        return int(code)
    if size <= squared_norm(m.outer[U]):
        return output_is(m, x, FINISHED)
    return output_is(m, average, FINISHED)


@loop
def agd_jin(P: Any, estimate: Any, value: Any, exact: Any, counts: Vector, m: Memory) -> int:
    """AGD with negative curvature exploitation (Li & Lin Algorithms 5 and 6). Letters eta, theta, B, gamma, s; K.

    The velocity v[k] lives in outer[AUX]. Case 1 (exploitation) restarts with v = 0, case 2 keeps v.
    """
    theta, B, K = m.real[1], m.real[2], m.whole[LENGTH]
    x, x_old, w, v = m.outer[X], m.outer[X_OLD], m.outer[W], m.outer[AUX]
    while True:
        t, k = m.whole[EPOCH], m.whole[STEP]
        if k >= K:
            open_row(m, t, k)
            return average_between(m)
        code = pause(m.whole, len(m.trace), False)
        if code == OK and m.whole[FRESH] == 1:
            code = begin_epoch(P, estimate, counts, x, m)
        if code != OK:
            return code
        open_row(m, t, k)
        for i in range(len(x)):
            w[i] = x[i] + (1 - theta) * v[i]
        code = estimate(P, counts, w, m, t, k)
        if code != OK:
            return int(code)
        close_row(m, True)
        code = guarded_step(P, value, counts, m)
        if code > 0:
            return code
        guilty = code == GUILTY
        code = advance(m)
        if code != OK:
            return code
        for i in range(len(x)):
            v[i] = x[i] - x_old[i]
        k = k + 1
        if guilty:
            set_zero(v)
            open_row(m, t, k)
            next_epoch(m)
        elif k * m.real[PATH] > B * B:
            open_row(m, t, k)
            next_epoch(m)
        else:
            note_for_average_between(m, k - 1, K)


GUILTY = -1
"""The model of f at w lies too far above f(x): the step exploited negative curvature."""


@loop
def guarded_step(P: Any, value: Any, counts: Vector, m: Memory) -> int:
    """x_new: a gradient step from w while ``f(x) >= f(w) + u.(x - w) - gamma/2 ||x - w||^2``, else exploitation.

    ``OK``, ``GUILTY``, or a reason to stop.
    """
    eta, gamma, t = m.real[0], m.real[3], m.whole[EPOCH]
    x, x_new, w, u = m.outer[X], m.outer[X_NEW], m.outer[W], m.outer[U]
    code = value(P, counts, x, m, t, 0)
    value_at_x = m.real[VALUE_NEW]
    if code == OK:
        code = value(P, counts, w, m, t, 0)
    if code != OK:
        return int(code)
    model = m.real[VALUE_NEW]
    for i in range(len(x)):
        model = model + u[i] * (x[i] - w[i])
    if value_at_x < model - gamma / 2 * squared_distance(x, w):
        code = exploit_negative_curvature(P, value, counts, m)
        return code if code != OK else GUILTY
    for i in range(len(x)):
        x_new[i] = w[i] - eta * u[i]
    return OK


@loop
def exploit_negative_curvature(P: Any, value: Any, counts: Vector, m: Memory) -> int:
    """x_new <- x if ||v|| >= s, else the better of x + delta, x - delta with delta = s v/||v|| (Algorithm 6)."""
    x, x_new, v, other, s, t = m.outer[X], m.outer[X_NEW], m.outer[AUX], m.outer[OUT], m.real[4], m.whole[EPOCH]
    size = square_root(squared_norm(v))
    copy_into(x, x_new)
    if size >= s or size == 0:
        return OK
    for i in range(len(x)):
        x_new[i] = x[i] + s * v[i] / size
        other[i] = x[i] - s * v[i] / size
    code = value(P, counts, x_new, m, t, 0)
    at_plus = m.real[VALUE_NEW]
    if code == OK:
        code = value(P, counts, other, m, t, 0)
    if code == OK and m.real[VALUE_NEW] < at_plus:
        copy_into(other, x_new)
    return int(code)


@loop
def note_for_average_between(m: Memory, k: int, K: int) -> None:
    """Algorithm 5, lines 15-17, on the fly: K_1 over 1..ceil(K/3), K_2 over floor(2K/3)..K-1, sum of y[K_1 .. K_2]."""
    average_on_the_fly(m, m.outer[W], k, 2 * K // 3)
    if k + 1 <= (K + 2) // 3 and (k == 0 or m.real[MOVED] < m.real[BEST_FIRST]):
        m.whole[BEST_STEP_FIRST] = k + 1
        m.real[BEST_FIRST] = m.real[MOVED]
        set_zero(m.outer[SUM])
        set_zero(m.outer[TAIL])


@loop
def average_between(m: Memory) -> int:
    """Output (1/(K_2-K_1+1)) sum of y[K_1 .. K_2]; for K = 1 the printed sum is empty and y[0] is returned."""
    terms = m.whole[BEST_STEP] - m.whole[BEST_STEP_FIRST] + 1
    if terms < 1:
        return output_is(m, m.outer[W], FINISHED)
    total, out = m.outer[SUM], m.outer[OUT]
    for i in range(len(out)):
        out[i] = total[i] / terms
    return FINISHED
