"""Gradient descent: with a stopping test, and perturbed where the gradient is small (PAID)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bilevel_verify.methods.kernels.state import FINISHED, OK, STATIONARY, Ask, Memory, Progress, Real
from bilevel_verify.methods.kernels.steps import (
    advance,
    begin_epoch,
    close_row,
    gradient,
    open_row,
    output_is,
    pause,
    perturb,
    small_enough,
)
from bilevel_verify.methods.records import record
from bilevel_verify.methods.registry import PERTURBATION_RADIUS, UNLIMITED, Letter, Scheme, register_scheme
from bilevel_verify.oracles.convention import Vector
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop

UPDATES = Letter("N", "count", default=UNLIMITED)
"""Most updates; without it the budget ends the run."""
TESTED_EPS = Letter("eps", optional=True)


class State(NamedTuple):
    """x[k], x[k-1], x[k+1], the estimate u[k]."""

    x: Vector
    x_old: Vector
    x_new: Vector
    u: Vector
    output: Vector


@record
class Letters:
    """Step eta, tolerance eps (tested before the update, if given), N updates."""

    eta: Real = 0
    eps: Real = 0
    N: int = 0


@loop
def gradient_descent(ask: Ask, m: Memory) -> int:
    """x[k+1] = x[k] - eta u[k]."""
    at, letters, s = m.at, m.letters, named(State, m.vectors)
    eta, eps, N = letters.eta, letters.eps, letters.N
    x, x_new, u = s.x, s.x_new, s.u
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
        code = gradient(ask, x, u, m, 0, k)
        if code != OK:
            return code
        close_row(m, row, u)
        if small_enough(u, eps, at):
            return output_is(s, x, STATIONARY)
        for i in range(len(x)):
            x_new[i] = x[i] - eta * u[i]
        code = advance(at, s)
        if code != OK:
            return code


def tested_if_given(at: Progress, letters: object, given: Mapping[str, object]) -> None:
    """The stopping test is made if the run has an eps."""
    at.tested = int("eps" in given)


register_scheme(
    Scheme(
        "gradient-descent",
        gradient_descent,
        Letters,
        State,
        (Letter("eta"), TESTED_EPS, UPDATES),
        restarts=False,
        prepare=tested_if_given,
        sequences={"x": "x", "u": "u"},
    )
)


@record
class PerturbedLetters:
    """Step eta, tolerance eps, N updates, over T_pert steps between perturbations, the last one at step k_pert."""

    eta: Real = 0
    eps: Real = 0
    N: int = 0
    T_pert: int = 0
    k_pert: int = -1


@loop
def perturbed_gradient_descent(ask: Ask, m: Memory) -> int:
    """Gradient descent that perturbs x and estimates again where ||u|| <= (4/5) eps, at most every T_pert steps."""
    at, letters, s = m.at, m.letters, named(State, m.vectors)
    eta, eps, N, T_pert = letters.eta, at.one * 4 * letters.eps / 5, letters.N, letters.T_pert
    x, x_new, u = s.x, s.x_new, s.u
    while True:
        k = at.k
        if k >= N:
            open_row(m, x)
            return output_is(s, x, FINISHED)
        code = pause(m, True)
        if code == OK and at.fresh == 1:
            code = begin_epoch(ask, x, u, m)
        if code != OK:
            return code
        row = open_row(m, x)
        code = gradient(ask, x, u, m, 0, k)
        if code != OK:
            return code
        if small_enough(u, eps, at) and (letters.k_pert < 0 or k - letters.k_pert > T_pert):
            letters.k_pert = k
            perturb(m, x)
            code = gradient(ask, x, u, m, 0, k)
            if code != OK:
                return code
        close_row(m, row, u)
        for i in range(len(x)):
            x_new[i] = x[i] - eta * u[i]
        code = advance(at, s)
        if code != OK:
            return code


def always_tested(at: Progress, letters: Any, given: Mapping[str, float]) -> None:
    """Small gradients are looked for whatever the run stops at; no perturbation yet."""
    at.tested = 1
    letters.k_pert = -1


register_scheme(
    Scheme(
        "perturbed-gradient-descent",
        perturbed_gradient_descent,
        PerturbedLetters,
        State,
        (Letter("eta"), Letter("eps"), PERTURBATION_RADIUS, UPDATES, Letter("T_pert", "count")),
        restarts=False,
        noisy=True,
        prepare=always_tested,
        sequences={"x": "x", "u": "u"},
    )
)
