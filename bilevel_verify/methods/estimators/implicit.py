"""Hypergradients by the implicit function theorem: AGD or gradient descent for y, conjugate gradients for v."""

from __future__ import annotations

from typing import NamedTuple

from bilevel_verify.methods.kernels.answers import (
    AgdLetters,
    DescentLetters,
    exact_hypergradient,
    implicit_gradient,
    value_after_agd,
    value_after_descent,
)
from bilevel_verify.methods.kernels.inner import LOWER, agd, descent, of_epoch
from bilevel_verify.methods.kernels.state import OK, OUT_OF_BUDGET, START, Inner, Lower
from bilevel_verify.methods.kernels.vectors import copy_into
from bilevel_verify.methods.registry import TWO_LEVELS, Estimator, Letter, register_estimator
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import too_dear
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop

NEEDS = frozenset({"grad_y_g", "grad_f", "hvp_yy_g", "jvp_xy_g"})
STOPPING_NEEDS = frozenset({"grad_y_g", "grad_f", "hess_g"})


class Lengths(NamedTuple):
    """Steps of AGD where an epoch begins and at k >= 0; steps of CG at k = 0 and at k >= 1."""

    T_m1: Vector
    T_k: Vector
    Tp_0: Vector
    Tp_k: Vector


@loop
def implicit_agd_cg(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """AGD for y, CG for v (RAHGD Algorithm 3, lines 2, 5-7, 11, 15).

    y starts anew from y_start at every epoch and is warm-started within it; v is warm-started throughout.
    """
    alpha, beta = named(AgdLetters, lower.letters)
    lengths, inner, at = named(Lengths, lower.lengths), named(Inner, lower.inner), lower.at
    steps = of_epoch(lengths.T_m1 if k == START else lengths.T_k, t)
    cg_steps = of_epoch(lengths.Tp_0 if k == 0 else lengths.Tp_k, t)
    if too_dear(counts, steps if k == START else steps + cg_steps + 3):
        return OUT_OF_BUDGET
    if k == START:
        copy_into(inner.y_start, inner.y)
    agd(P, counts, point, inner.y, steps, alpha, beta, LOWER, at.one, lower)
    if k != START:
        return implicit_gradient(P, counts, point, u, cg_steps, lower)
    if t == 0 and at.v_given == 0:
        copy_into(inner.y, inner.v)
    return OK


register_estimator(
    Estimator(
        "implicit-agd-cg",
        implicit_agd_cg,
        value_after_agd,
        exact_hypergradient,
        TWO_LEVELS,
        AgdLetters,
        Lengths,
        letters=(Letter("alpha"), Letter("beta", "real")),
        lengths=(Letter("T_m1", "length"), Letter("T_k", "length"), Letter("Tp_0", "length"), Letter("Tp_k", "length")),
        needs=NEEDS,
        value_needs=frozenset({"value_f"}),
        stopping_needs=STOPPING_NEEDS,
        sequences={"y": "y", "v": "v"},
    )
)


class DescentAndCgLengths(NamedTuple):
    """Gradient steps for y, conjugate gradient steps for v."""

    D: Vector
    N_cg: Vector


@loop
def implicit_gd_cg(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """D gradient steps for y, N_cg conjugate gradient steps for v, both warm-started (AID-BiO)."""
    if k == START:
        return OK
    alpha, lengths = named(DescentLetters, lower.letters).alpha, named(DescentAndCgLengths, lower.lengths)
    steps, cg_steps = of_epoch(lengths.D, t), of_epoch(lengths.N_cg, t)
    if too_dear(counts, steps + cg_steps + 3):
        return OUT_OF_BUDGET
    descent(P, counts, point, named(Inner, lower.inner).y, steps, alpha, LOWER, lower.at.one, lower)
    return implicit_gradient(P, counts, point, u, cg_steps, lower)


register_estimator(
    Estimator(
        "implicit-gd-cg",
        implicit_gd_cg,
        value_after_descent,
        exact_hypergradient,
        TWO_LEVELS,
        DescentLetters,
        DescentAndCgLengths,
        letters=(Letter("alpha"),),
        lengths=(Letter("D", "length"), Letter("N_cg", "length")),
        needs=NEEDS,
        value_needs=frozenset({"value_f"}),
        stopping_needs=STOPPING_NEEDS,
        sequences={"y": "y", "v": "v"},
    )
)
