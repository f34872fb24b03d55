"""Gradients of the penalty function L*_lambda: AGD inside (RAGD-GS, AccF2BA) or gradient descent (F2BA)."""

from __future__ import annotations

from typing import NamedTuple

from bilevel_verify.methods.kernels.answers import DescentLengths
from bilevel_verify.methods.kernels.inner import LOWER, PENALTY, agd, descent, newton, of_epoch
from bilevel_verify.methods.kernels.state import (
    COLD_START,
    NOT_FINITE,
    OK,
    OUT_OF_BUDGET,
    START,
    Inner,
    Lower,
    Outer,
    Real,
)
from bilevel_verify.methods.kernels.vectors import copy_into
from bilevel_verify.methods.registry import TWO_LEVELS, Estimator, Letter, register_estimator
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import (
    ask_grad_x_f,
    ask_grad_x_g,
    ask_value_f,
    ask_value_g,
    stop_grad_x_f,
    stop_grad_x_g,
    too_dear,
)
from bilevel_verify.oracles.handing import named, row
from bilevel_verify.oracles.jit import loop

NEEDS = frozenset({"grad_y_g", "grad_y_f", "grad_x_f", "grad_x_g"})


@loop
def penalty_gradient(P: OracleSet, counts: Counts, point: Vector, u: Vector, lam: Real, lower: Lower) -> int:
    """u <- grad_x f(x, y) + lam (grad_x g(x, y) - grad_x g(x, z)) (RAGD-GS Algorithm 1, line 6)."""
    inner, outer = named(Inner, lower.inner), named(Outer, lower.outer)
    at_y, at_z = outer.part, outer.product
    ask_grad_x_f(P, counts, point, inner.y, u)
    ask_grad_x_g(P, counts, point, inner.y, at_y)
    ask_grad_x_g(P, counts, point, inner.z, at_z)
    for i in range(len(u)):
        u[i] = u[i] + lam * (at_y[i] - at_z[i])
    return OK


@loop
def penalty_value(P: OracleSet, counts: Counts, point: Vector, out: Vector, lam: Real, lower: Lower) -> int:
    """out[0] <- f(x, y) + lam (g(x, y) - g(x, z)) with the trial y and z: three values."""
    inner, joint = named(Inner, lower.inner), row(lower.joint, 0)
    ask_value_f(P, counts, point, inner.y_trial, joint)
    value = joint[0]
    ask_value_g(P, counts, point, inner.y_trial, joint)
    difference = joint[0]
    ask_value_g(P, counts, point, inner.z_trial, joint)
    out[0] = value + lam * (difference - joint[0])
    return OK


@loop
def exact_penalty(P: OracleSet, counts: Counts, point: Vector, out: Vector, lam: Real, lower: Lower) -> int:
    """out <- grad L*_lambda(point) at y*_lambda(point) and y*(point)."""
    inner, outer = named(Inner, lower.inner), named(Outer, lower.outer)
    y, z, at_y, at_z = inner.y_trial, inner.z_trial, outer.part, outer.product
    copy_into(inner.y, y)
    copy_into(inner.z, z)
    if not newton(P, counts, point, z, LOWER, lam, lower) or not newton(P, counts, point, y, PENALTY, lam, lower):
        return NOT_FINITE
    stop_grad_x_f(P, counts, point, y, out)
    stop_grad_x_g(P, counts, point, y, at_y)
    stop_grad_x_g(P, counts, point, z, at_z)
    for i in range(len(out)):
        out[i] = out[i] + lam * (at_y[i] - at_z[i])
    return OK


# --------------------------------------------------------------------------------------------------- AGD inside


class AgdLetters(NamedTuple):
    """Steps and momenta of AGD for z (on g) and for y (on f + lam g); the penalty weight."""

    alpha: Real
    beta: Real
    alpha_p: Real
    beta_p: Real
    lam: Real


class AgdLengths(NamedTuple):
    """Steps for z at k = 0 and at k >= 1, for y at k = 0 and at k >= 1."""

    T_0: Vector
    T_k: Vector
    Tp_0: Vector
    Tp_k: Vector


@loop
def penalty_agd(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """AGD for z on g, then AGD for y on f + lam g (RAGD-GS Algorithm 1, lines 4-6; AccF2BA).

    With ``cold`` y and z start anew from y_start at every epoch (RAGD-GS), without it warm starts go on across restarts
    (AccF2BA).
    """
    alpha, beta, alpha_p, beta_p, lam = named(AgdLetters, lower.letters)
    lengths, inner = named(AgdLengths, lower.lengths), named(Inner, lower.inner)
    y, z = inner.y, inner.z
    if k == START:
        if t > 0 and lower.at.cold == COLD_START:
            copy_into(inner.y_start, y)
            copy_into(inner.y_start, z)
        return OK
    z_steps = of_epoch(lengths.T_0 if k == 0 else lengths.T_k, t)
    y_steps = of_epoch(lengths.Tp_0 if k == 0 else lengths.Tp_k, t)
    if too_dear(counts, z_steps + 2 * y_steps + 3):
        return OUT_OF_BUDGET
    agd(P, counts, point, z, z_steps, alpha, beta, LOWER, lam, lower)
    agd(P, counts, point, y, y_steps, alpha_p, beta_p, PENALTY, lam, lower)
    return penalty_gradient(P, counts, point, u, lam, lower)


@loop
def value_penalty_agd(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """L*_lambda(point) with the inner lengths of k >= 1."""
    alpha, beta, alpha_p, beta_p, lam = named(AgdLetters, lower.letters)
    lengths, inner = named(AgdLengths, lower.lengths), named(Inner, lower.inner)
    z_steps, y_steps = of_epoch(lengths.T_k, t), of_epoch(lengths.Tp_k, t)
    if too_dear(counts, z_steps + 2 * y_steps + 3):
        return OUT_OF_BUDGET
    y, z = inner.y_trial, inner.z_trial
    copy_into(inner.y, y)
    copy_into(inner.z, z)
    agd(P, counts, point, z, z_steps, alpha, beta, LOWER, lam, lower)
    agd(P, counts, point, y, y_steps, alpha_p, beta_p, PENALTY, lam, lower)
    return penalty_value(P, counts, point, out, lam, lower)


@loop
def exact_penalty_agd(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """grad L*_lambda(point)."""
    return exact_penalty(P, counts, point, out, named(AgdLetters, lower.letters).lam, lower)


register_estimator(
    Estimator(
        "penalty-agd",
        penalty_agd,
        value_penalty_agd,
        exact_penalty_agd,
        TWO_LEVELS,
        AgdLetters,
        AgdLengths,
        letters=(Letter("alpha"), Letter("beta", "real"), Letter("alpha_p"), Letter("beta_p", "real"), Letter("lam")),
        lengths=(Letter("T_0", "length"), Letter("T_k", "length"), Letter("Tp_0", "length"), Letter("Tp_k", "length")),
        needs=NEEDS,
        value_needs=frozenset({"value_f", "value_g"}),
        stopping_needs=NEEDS | {"hess_f", "hess_g"},
        sequences={"y": "y", "z": "z"},
    )
)


# ----------------------------------------------------------------------------------------------- descent inside


class DescentLetters(NamedTuple):
    """Steps of gradient descent for z (on g) and for y (on f + lam g); the penalty weight."""

    alpha: Real
    tau: Real
    lam: Real


@loop
def penalty_gd(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """D gradient steps for z on g and for y on f + lam g, warm-started (F2BA)."""
    if k == START:
        return OK
    alpha, tau, lam = named(DescentLetters, lower.letters)
    steps, inner = of_epoch(named(DescentLengths, lower.lengths).D, t), named(Inner, lower.inner)
    if too_dear(counts, 3 * steps + 3):
        return OUT_OF_BUDGET
    descent(P, counts, point, inner.z, steps, alpha, LOWER, lam, lower)
    descent(P, counts, point, inner.y, steps, tau, PENALTY, lam, lower)
    return penalty_gradient(P, counts, point, u, lam, lower)


@loop
def value_penalty_gd(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """L*_lambda(point) with gradient descent inside."""
    alpha, tau, lam = named(DescentLetters, lower.letters)
    steps, inner = of_epoch(named(DescentLengths, lower.lengths).D, t), named(Inner, lower.inner)
    if too_dear(counts, 3 * steps + 3):
        return OUT_OF_BUDGET
    y, z = inner.y_trial, inner.z_trial
    copy_into(inner.y, y)
    copy_into(inner.z, z)
    descent(P, counts, point, z, steps, alpha, LOWER, lam, lower)
    descent(P, counts, point, y, steps, tau, PENALTY, lam, lower)
    return penalty_value(P, counts, point, out, lam, lower)


@loop
def exact_penalty_gd(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """grad L*_lambda(point)."""
    return exact_penalty(P, counts, point, out, named(DescentLetters, lower.letters).lam, lower)


register_estimator(
    Estimator(
        "penalty-gd",
        penalty_gd,
        value_penalty_gd,
        exact_penalty_gd,
        TWO_LEVELS,
        DescentLetters,
        DescentLengths,
        letters=(Letter("alpha"), Letter("tau"), Letter("lam")),
        lengths=(Letter("D", "length"),),
        needs=NEEDS,
        value_needs=frozenset({"value_f", "value_g"}),
        stopping_needs=NEEDS | {"hess_f", "hess_g"},
        inner_first=True,
        sequences={"y": "y", "z": "z"},
    )
)
