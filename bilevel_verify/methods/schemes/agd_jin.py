"""AGD with negative curvature exploitation (Li & Lin, Algorithms 5 and 6)."""

from __future__ import annotations

from typing import NamedTuple

from bilevel_verify.methods.kernels.averages import average_on_the_fly, restart
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.state import FINISHED, OK, Ask, Memory, Progress, Real
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
from bilevel_verify.methods.kernels.vectors import copy_into, set_zero, squared_distance, squared_norm
from bilevel_verify.methods.records import record
from bilevel_verify.methods.registry import Letter, Scheme, register_scheme
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop


class State(NamedTuple):
    """x[t, k], its neighbours, y[t, k] as w, the estimate u there, the velocity v[t, k]; sums of the average over w.

    ``f_x`` and ``f_w`` hold one function value each, as their first entry; ``other`` is x - delta.
    """

    x: Vector
    x_old: Vector
    x_new: Vector
    w: Vector
    u: Vector
    v: Vector
    f_x: Vector
    f_w: Vector
    other: Vector
    total: Vector
    tail: Vector
    output: Vector


@record
class Letters:
    """Step eta, momentum theta, radius B, curvature gamma, length s of an exploiting step, K iterations of an epoch.

    ``K_1`` and ``least`` are index and size of the smallest step among the first ceil(K/3).
    """

    eta: Real = 0
    theta: Real = 0
    B: Real = 0
    gamma: Real = 0
    s: Real = 0
    K: int = 0
    K_1: int = 0
    least: Real = 0


GUILTY = -1
"""The model of f at w lies too far above f(x): the step exploited negative curvature."""


@loop
def agd_jin(ask: Ask, m: Memory) -> int:
    """w = x + (1 - theta) v, a guarded step from w, v = x - x_old.

    Case 1 (exploitation) restarts with v = 0, case 2 (k times the path exceeds B^2) keeps v.
    """
    at, letters, s = m.at, m.letters, named(State, m.vectors)
    theta, B, K = letters.theta, letters.B, letters.K
    x, x_old, w, u, v = s.x, s.x_old, s.w, s.u, s.v
    while True:
        t, k = at.t, at.k
        if k >= K:
            copy_into(v, open_row(m, x).more)
            return average_between(at, letters, s)
        code = pause(m, False)
        if code == OK and at.fresh == 1:
            code = begin_epoch(ask, x, u, m)
        if code != OK:
            return code
        row = open_row(m, x)
        copy_into(v, row.more)
        for i in range(len(x)):
            w[i] = x[i] + (1 - theta) * v[i]
        code = gradient(ask, w, u, m, t, k)
        if code != OK:
            return code
        copy_into(w, row.w)
        close_row(m, row, u)
        code = guarded_step(ask, m, s)
        if code > 0:
            return code
        guilty = code == GUILTY
        code = advance(at, s)
        if code != OK:
            return code
        for i in range(len(x)):
            v[i] = x[i] - x_old[i]
        k = k + 1
        if guilty:
            set_zero(v)
        if guilty or k * at.path > B * B:
            copy_into(v, open_row(m, x).more)
            restart(at, s)
        else:
            note_for_average_between(at, letters, s, k - 1, K)


@loop
def guarded_step(ask: Ask, m: Memory, s: State) -> int:
    """x_new: a gradient step from w while ``f(x) >= f(w) + u.(x - w) - gamma/2 ||x - w||^2``, else exploitation.

    ``OK``, ``GUILTY``, or a reason to stop.
    """
    eta, gamma = m.letters.eta, m.letters.gamma
    x, x_new, w, u = s.x, s.x_new, s.w, s.u
    code = value(ask, x, s.f_x, m)
    if code == OK:
        code = value(ask, w, s.f_w, m)
    if code != OK:
        return code
    model = s.f_w[0]
    for i in range(len(x)):
        model = model + u[i] * (x[i] - w[i])
    if s.f_x[0] < model - gamma / 2 * squared_distance(x, w):
        m.at.curvature_steps += 1
        code = exploit_negative_curvature(ask, m, s)
        return code if code != OK else GUILTY
    for i in range(len(x)):
        x_new[i] = w[i] - eta * u[i]
    return OK


@loop
def exploit_negative_curvature(ask: Ask, m: Memory, s: State) -> int:
    """x_new <- x if ||v|| >= s, else the better of x + delta, x - delta with delta = s v/||v|| (Algorithm 6)."""
    x, x_new, v, other, length = s.x, s.x_new, s.v, s.other, m.letters.s
    size = square_root(squared_norm(v))
    copy_into(x, x_new)
    if size >= length or size == 0:
        return OK
    for i in range(len(x)):
        x_new[i] = x[i] + length * v[i] / size
        other[i] = x[i] - length * v[i] / size
    code = value(ask, x_new, s.f_x, m)
    if code == OK:
        code = value(ask, other, s.f_w, m)
    if code == OK and s.f_w[0] < s.f_x[0]:
        copy_into(other, x_new)
    return code


@loop
def note_for_average_between(at: Progress, letters: Letters, s: State, k: int, K: int) -> None:
    """Algorithm 5, lines 15-17, on the fly: K_1 over 1..ceil(K/3), K_2 over floor(2K/3)..K-1, sum of y[K_1 .. K_2]."""
    average_on_the_fly(at, s, s.w, k, 2 * K // 3)
    if k + 1 <= (K + 2) // 3 and (k == 0 or at.moved < letters.least):
        letters.K_1 = k + 1
        letters.least = at.moved
        set_zero(s.total)
        set_zero(s.tail)


@loop
def average_between(at: Progress, letters: Letters, s: State) -> int:
    """Output (1/(K_2-K_1+1)) sum of y[K_1 .. K_2]; for K = 1 the printed sum is empty and y[0] is returned."""
    terms = at.best_step - letters.K_1 + 1
    if terms < 1:
        return output_is(s, s.w, FINISHED)
    for i in range(len(s.output)):
        s.output[i] = s.total[i] / terms
    return FINISHED


register_scheme(
    Scheme(
        "agd-jin",
        agd_jin,
        Letters,
        State,
        (
            Letter("eta"),
            Letter("theta", "real"),
            Letter("B", "nonnegative"),
            Letter("gamma"),
            Letter("s"),
            Letter("K", "count"),
        ),
        values=True,
        sequences={"x": "x", "w": "w", "u": "u", "velocity": "more"},
        known={"more": "v"},
    )
)
