"""Practical restarted AGD and heavy ball (Li & Lin, Algorithms 2 and 4; Remark 2): no L and rho need be known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bilevel_verify.methods.kernels.averages import average_on_the_fly, restart
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.state import FINISHED, LAST, NEVER, OK, Ask, Memory, Progress, Real
from bilevel_verify.methods.kernels.steps import (
    advance,
    begin_epoch,
    close_row,
    gradient,
    open_row,
    output_is,
    pause,
    perturb,
    value,
)
from bilevel_verify.methods.kernels.vectors import copy_into, squared_norm
from bilevel_verify.methods.records import record
from bilevel_verify.methods.registry import Letter, Scheme, register_scheme
from bilevel_verify.methods.schemes.restarted_heavy_ball import heavy_ball_restart_point
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop


class State(NamedTuple):
    """x[t, k], its neighbours, w[t, k], the estimate u there; the start of the epoch; sums and quotient of the average.

    ``f_end`` and ``f_start`` hold one function value each, as their first entry.
    """

    x: Vector
    x_old: Vector
    x_new: Vector
    w: Vector
    u: Vector
    x_start: Vector
    f_end: Vector
    f_start: Vector
    average: Vector
    total: Vector
    tail: Vector
    output: Vector


@record
class Letters:
    """Step eta, momentum theta, radius B, first radius B0 and its divisor c, tolerance eps, K iterations of an epoch.

    L and rho are guesses where c1, c2, c3 are given (``adaptive``); then eta, theta, B, B0, K and they change.
    ``heavy``: heavy ball in place of AGD. A valid epoch whose last gradient is at most B/eta is ``perturbed`` (or not).
    """

    eta: Real = 0
    theta: Real = 0
    B: Real = 0
    B0: Real = 0
    c: Real = 0
    eps: Real = 0
    L: Real = 0
    rho: Real = 0
    c1: Real = 0
    c2: Real = 0
    c3: Real = 0
    K: int = 0
    heavy: int = 0
    adaptive: int = 0
    perturbed: int = NEVER


@loop
def required_decrease(letters: Letters) -> Any:
    """min(eps^(3/2)/sqrt(rho), eps L/rho), the latter times 3/16 for heavy ball (Algorithms 2 and 4, line 7)."""
    eps, L, rho = letters.eps, letters.L, letters.rho
    first = eps * square_root(eps) / square_root(rho)
    second = eps * L / rho
    if letters.heavy == 1:
        second = 3 * second / 16
    return min(first, second)


@loop
def raise_the_guesses(letters: Letters, one: Any) -> None:
    """Remark 2: B0/c1, L c2, rho c3; eta, theta, B, K are the theorem's for the new guesses, K rounded up."""
    letters.B0 = letters.B0 / letters.c1
    letters.L = letters.L * letters.c2
    letters.rho = letters.rho * letters.c3
    eps, L, rho = letters.eps, letters.L, letters.rho
    eta = one / (4 * L)
    root = square_root(square_root(eps * rho * eta * eta))
    theta = 10 * root if letters.heavy == 1 else 4 * root
    letters.eta = eta
    letters.theta = theta
    letters.B = square_root(eps / (4 * rho)) if letters.heavy == 1 else square_root(eps / rho)
    K = int(one / theta)
    letters.K = max(K + 1 if K * theta < 1 else K, 1)


@loop
def practical(ask: Ask, m: Memory) -> int:
    """Restarted AGD or heavy ball with the radius B0 first; epochs that decrease f too little are dropped."""
    at, letters, s = m.at, m.letters, named(State, m.vectors)
    heavy, noisy = letters.heavy == 1, letters.perturbed != NEVER
    x, x_old, x_new, w, u = s.x, s.x_old, s.x_new, s.w, s.u
    while True:
        eta, theta, B, B0, K = letters.eta, letters.theta, letters.B, letters.B0, letters.K
        t, k = at.t, at.k
        if k >= K and B0 <= B:
            open_row(m, x)
            return better_of_last_and_average(ask, m, s)
        code = pause(m, noisy)
        if code == OK and at.fresh == 1:
            code = begin_epoch(ask, x, u, m)
            copy_into(x, s.x_start)
        if code != OK:
            return code
        row = open_row(m, x)
        for i in range(len(x)):
            w[i] = x[i] if heavy else x[i] + (1 - theta) * (x[i] - x_old[i])
        code = gradient(ask, w, u, m, t, k)
        if code != OK:
            return code
        if not heavy:
            copy_into(w, row.w)
        close_row(m, row, u)
        for i in range(len(x)):
            momentum = (1 - theta) * (x[i] - x_old[i]) if heavy else 0.0 * theta
            x_new[i] = w[i] - eta * u[i] + momentum
        code = advance(at, s)
        if code != OK:
            return code
        k = k + 1
        average_on_the_fly(at, s, w, k - 1, K // 2)
        if k * at.path > max(B * B, B0 * B0) or k > K:
            row = open_row(m, x)
            if heavy:
                heavy_ball_restart_point(x, x_old, theta, w)
                copy_into(w, row.w)
            else:
                copy_into(x, w)
            code = end_of_practical_epoch(ask, m, s)
            if code != OK:
                return code


@loop
def end_of_practical_epoch(ask: Ask, m: Memory, s: State) -> int:
    """Lines 7-11: keep the epoch, which ends at w, if f has decreased enough, else drop it, shrink B0. Two values."""
    at, letters, x, end = m.at, m.letters, s.x, s.w
    code = value(ask, end, s.f_end, m)
    if code == OK:
        code = value(ask, s.x_start, s.f_start, m)
    if code != OK:
        return code
    if s.f_end[0] - s.f_start[0] <= -required_decrease(letters):
        copy_into(end, x)
        eta, B = letters.eta, letters.B
        if letters.perturbed != NEVER and eta * eta * squared_norm(s.u) <= B * B:
            perturb(m, x)
    else:
        copy_into(s.x_start, x)
        if letters.adaptive == 1:
            raise_the_guesses(letters, at.one)
        else:
            letters.B0 = letters.B0 / letters.c
    copy_into(x, s.x_old)
    restart(at, s)
    return OK


@loop
def better_of_last_and_average(ask: Ask, m: Memory, s: State) -> int:
    """Lines 14-16: of x[K] and the average, the one with the smaller gradient; a tie goes to x[K]. Two gradients."""
    x, average, t = s.x, s.average, m.at.t
    for i in range(len(x)):
        average[i] = s.total[i] / (m.at.best_step + 1)
    code = gradient(ask, x, s.u, m, t, LAST)
    if code != OK:
        return code
    size = squared_norm(s.u)
    code = gradient(ask, average, s.u, m, t, LAST)
    if code != OK:
        return code
    if size <= squared_norm(s.u):
        return output_is(s, x, FINISHED)
    return output_is(s, average, FINISHED)


GUESSED = (
    Letter("L"),
    Letter("rho"),
    Letter("c1", optional=True),
    Letter("c2", optional=True),
    Letter("c3", optional=True),
)
"""Further letters of the methods: guesses of L and rho, and what they are multiplied by (Remark 2)."""


def guesses(at: Progress, letters: Any, given: Mapping[str, float]) -> None:
    """L and rho are guesses where c2 or c3 is given (Remark 2)."""
    letters.L, letters.rho = given["L"], given["rho"]
    letters.adaptive = int("c2" in given or "c3" in given)
    letters.c1 = given.get("c1", given["c"])
    letters.c2, letters.c3 = given.get("c2", at.one), given.get("c3", at.one)


for _name, _heavy in (("practical-restarted-agd", 0), ("practical-restarted-hb", 1)):
    register_scheme(
        Scheme(
            _name,
            practical,
            Letters,
            State,
            (
                Letter("eta"),
                Letter("theta", "real"),
                Letter("B", "nonnegative"),
                Letter("B0"),
                Letter("c"),
                Letter("eps"),
                Letter("K", "count"),
            ),
            flags={"heavy": _heavy},
            values=True,
            prepare=guesses,
            sequences={"x": "x", "z_restart" if _heavy else "w": "w", "u": "u"},
        )
    )
