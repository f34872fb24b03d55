"""Gradients of minimax problems by Danskin's theorem: after AGD, after several ascent steps, single-loop."""

from __future__ import annotations

from typing import NamedTuple

from bilevel_verify.methods.kernels.answers import (
    AgdLengths,
    AgdLetters,
    DescentLengths,
    both_parts_of_f,
    exact_danskin,
    value_after_agd,
    value_after_descent,
    value_as_it_is,
)
from bilevel_verify.methods.kernels.inner import LOWER, agd, descent, of_epoch
from bilevel_verify.methods.kernels.state import LAST, OK, OUT_OF_BUDGET, START, Inner, Lower, Outer, Real
from bilevel_verify.methods.kernels.vectors import copy_into, squared_norm
from bilevel_verify.methods.registry import Estimator, Letter, register_estimator
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import ask_grad_x_f, too_dear
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop

NEEDS = frozenset({"grad_y_g", "grad_x_f"})
STOPPING_NEEDS = frozenset({"grad_y_g", "grad_x_f", "hess_g"})


@loop
def danskin_agd(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """AGD on -f(x, .), then grad_x f (PRAGDA Algorithm 4, lines 3, 6, 7, 13)."""
    alpha, beta = named(AgdLetters, lower.letters)
    lengths, inner = named(AgdLengths, lower.lengths), named(Inner, lower.inner)
    steps = of_epoch(lengths.T_m1 if k == START else lengths.T_k, t)
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    if k == START:
        copy_into(inner.y_start, inner.y)
    agd(P, counts, point, inner.y, steps, alpha, beta, LOWER, lower.at.one, lower)
    if k != START:
        ask_grad_x_f(P, counts, point, inner.y, u)
    return OK


register_estimator(
    Estimator(
        "danskin-agd",
        danskin_agd,
        value_after_agd,
        exact_danskin,
        ("minimax",),
        AgdLetters,
        AgdLengths,
        letters=(Letter("alpha"), Letter("beta", "real")),
        lengths=(Letter("T_m1", "length"), Letter("T_k", "length")),
        needs=NEEDS,
        value_needs=frozenset({"value_f"}),
        stopping_needs=STOPPING_NEEDS,
        sequences={"y": "y"},
    )
)


class AscentLetters(NamedTuple):
    """Step of the ascent in y."""

    eta_y: Real


@loop
def danskin_gd(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """Several ascent steps, warm-started, then grad_x f (GDmax)."""
    if k == START:
        return OK
    eta_y, y = named(AscentLetters, lower.letters).eta_y, named(Inner, lower.inner).y
    steps = of_epoch(named(DescentLengths, lower.lengths).D, t)
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    descent(P, counts, point, y, steps, eta_y, LOWER, lower.at.one, lower)
    ask_grad_x_f(P, counts, point, y, u)
    return OK


register_estimator(
    Estimator(
        "danskin-gd",
        danskin_gd,
        value_after_descent,
        exact_danskin,
        ("minimax",),
        AscentLetters,
        DescentLengths,
        letters=(Letter("eta_y"),),
        lengths=(Letter("D", "length"),),
        needs=NEEDS,
        value_needs=frozenset({"value_f"}),
        stopping_needs=STOPPING_NEEDS,
        sequences={"y": "y"},
    )
)


@loop
def danskin_simultaneous(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """One call for both parts at (x_k, y_k), then y_{k+1} = y_k + eta_y grad_y f(x_k, y_k) (GDA)."""
    if k == START:
        return OK
    eta_y, inner = named(AscentLetters, lower.letters).eta_y, named(Inner, lower.inner)
    y, right = inner.y, inner.right
    if too_dear(counts, 1):
        return OUT_OF_BUDGET
    both_parts_of_f(P, counts, point, y, lower)
    copy_into(named(Outer, lower.outer).part, u)
    lower.at.inner_slope = squared_norm(right)
    if k != LAST:
        for i in range(len(y)):
            y[i] = y[i] + eta_y * right[i]
    return OK


register_estimator(
    Estimator(
        "danskin-simultaneous",
        danskin_simultaneous,
        value_as_it_is,
        exact_danskin,
        ("minimax",),
        AscentLetters,
        letters=(Letter("eta_y"),),
        needs=frozenset({"grad_f"}),
        value_needs=frozenset({"value_f"}),
        stopping_needs=STOPPING_NEEDS,
        inner_first=True,
        sequences={"y": "y"},
    )
)


@loop
def danskin_alternating(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """y_k = y_{k-1} + eta_y grad_y f(x_k, y_{k-1}) for k >= 1, then one call for both parts at (x_k, y_k).

    Alternating gradient descent ascent: x moves first, and y sees the new x.
    """
    if k == START:
        return OK
    eta_y, inner = named(AscentLetters, lower.letters).eta_y, named(Inner, lower.inner)
    if too_dear(counts, 2):
        return OUT_OF_BUDGET
    if k > 0:
        descent(P, counts, point, inner.y, 1, eta_y, LOWER, lower.at.one, lower)
    both_parts_of_f(P, counts, point, inner.y, lower)
    copy_into(named(Outer, lower.outer).part, u)
    lower.at.inner_slope = squared_norm(inner.right)
    return OK


register_estimator(
    Estimator(
        "danskin-alternating",
        danskin_alternating,
        value_as_it_is,
        exact_danskin,
        ("minimax",),
        AscentLetters,
        letters=(Letter("eta_y"),),
        needs=frozenset({"grad_f", "grad_y_g"}),
        value_needs=frozenset({"value_f"}),
        stopping_needs=STOPPING_NEEDS,
        sequences={"y": "y"},
    )
)
