"""What several estimators share: the hypergradient, function values after an inner solver, exact gradients."""

from __future__ import annotations

from typing import NamedTuple

from bilevel_verify.methods.kernels.inner import (
    LOWER,
    agd,
    conjugate_gradients,
    descent,
    newton,
    of_epoch,
    solve_in_place,
)
from bilevel_verify.methods.kernels.state import NOT_FINITE, OK, OUT_OF_BUDGET, Hessians, Inner, Lower, Outer, Real
from bilevel_verify.methods.kernels.vectors import copy_into
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import (
    ask_grad_f,
    ask_jvp_xy_g,
    ask_value_f,
    stop_grad_f,
    stop_grad_x_f,
    stop_hess_g,
    too_dear,
)
from bilevel_verify.oracles.handing import named, row
from bilevel_verify.oracles.jit import loop

# ----------------------------------------------------------------------------------------------- hypergradients


@loop
def both_parts_of_f(P: OracleSet, counts: Counts, point: Vector, y: Vector, lower: Lower) -> None:
    """outer.part <- grad_x f and inner.right <- grad_y f at (point, y): one call."""
    part, right = named(Outer, lower.outer).part, named(Inner, lower.inner).right
    joint = row(lower.joint, 0)
    ask_grad_f(P, counts, point, y, joint)
    for i in range(len(part)):
        part[i] = joint[i]
    for i in range(len(right)):
        right[i] = joint[len(part) + i]


@loop
def implicit_gradient(P: OracleSet, counts: Counts, point: Vector, u: Vector, cg_steps: int, lower: Lower) -> int:
    """u <- grad_x f - grad_xy g v at (point, y), v by CG from where it is (RAHGD Algorithm 3, lines 6-7)."""
    inner, outer = named(Inner, lower.inner), named(Outer, lower.outer)
    y, v = inner.y, inner.v
    both_parts_of_f(P, counts, point, y, lower)
    conjugate_gradients(P, counts, point, y, inner.right, cg_steps, v, lower)
    part, product = outer.part, outer.product
    ask_jvp_xy_g(P, counts, point, y, v, product)
    for i in range(len(u)):
        u[i] = part[i] - product[i]
    return OK


@loop
def exact_hypergradient(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """grad phi(point) by the implicit function theorem at y*(point)."""
    inner, g = named(Inner, lower.inner), named(Hessians, lower.hessians).g
    y, right, joint = inner.y_trial, inner.right, row(lower.joint, 0)
    copy_into(inner.y, y)
    if not newton(P, counts, point, y, LOWER, lower.at.one, lower):
        return NOT_FINITE
    stop_grad_f(P, counts, point, y, joint)
    stop_hess_g(P, counts, point, y, g)
    dx, n = len(point), len(point) + len(y)
    for i in range(len(y)):
        right[i] = joint[dx + i]
        line = row(lower.matrix, i)
        for j in range(len(y)):
            line[j] = g[(dx + i) * n + dx + j]
    if not solve_in_place(lower.matrix, right):
        return NOT_FINITE
    for i in range(dx):
        total = joint[i]
        for j in range(len(y)):
            total = total - g[i * n + dx + j] * right[j]
        out[i] = total
    return OK


@loop
def exact_danskin(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """grad Phi(point) of a minimax problem: grad_x f at the inner solution."""
    inner = named(Inner, lower.inner)
    y = inner.y_trial
    copy_into(inner.y, y)
    if not newton(P, counts, point, y, LOWER, lower.at.one, lower):
        return NOT_FINITE
    stop_grad_x_f(P, counts, point, y, out)
    return OK


# ---------------------------------------------------------------------------------------------- function values


class AgdLetters(NamedTuple):
    """Step and momentum of AGD on the lower level."""

    alpha: Real
    beta: Real


class AgdLengths(NamedTuple):
    """Steps where an epoch begins, and at k >= 0."""

    T_m1: Vector
    T_k: Vector


@loop
def value_after_agd(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """f(point, y), y by T_k steps of AGD on the lower level."""
    letters, inner = named(AgdLetters, lower.letters), named(Inner, lower.inner)
    steps, y = of_epoch(named(AgdLengths, lower.lengths).T_k, t), inner.y_trial
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    copy_into(inner.y, y)
    agd(P, counts, point, y, steps, letters.alpha, letters.beta, LOWER, lower.at.one, lower)
    joint = row(lower.joint, 0)
    ask_value_f(P, counts, point, y, joint)
    out[0] = joint[0]
    return OK


class DescentLetters(NamedTuple):
    """Step of gradient descent on the lower level (ascent in y for minimax problems)."""

    alpha: Real


class DescentLengths(NamedTuple):
    """Steps."""

    D: Vector


@loop
def value_after_descent(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """f(point, y), y by D steps of gradient descent on the lower level."""
    alpha, inner = named(DescentLetters, lower.letters).alpha, named(Inner, lower.inner)
    steps, y = of_epoch(named(DescentLengths, lower.lengths).D, t), inner.y_trial
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    copy_into(inner.y, y)
    descent(P, counts, point, y, steps, alpha, LOWER, lower.at.one, lower)
    joint = row(lower.joint, 0)
    ask_value_f(P, counts, point, y, joint)
    out[0] = joint[0]
    return OK


@loop
def value_as_it_is(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """f(point, y) with y as it is (one level, and single-loop methods)."""
    if too_dear(counts, 1):
        return OUT_OF_BUDGET
    joint = row(lower.joint, 0)
    ask_value_f(P, counts, point, named(Inner, lower.inner).y, joint)
    out[0] = joint[0]
    return OK
