"""BA and BA-CG (Ghadimi & Wang 2018): a growing number of gradient steps for y, the system for v solved or by CG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bilevel_verify.methods.estimators.implicit import NEEDS, STOPPING_NEEDS
from bilevel_verify.methods.kernels.answers import both_parts_of_f, exact_hypergradient, implicit_gradient
from bilevel_verify.methods.kernels.inner import LOWER, descent, of_epoch, solve_in_place
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.state import (
    COLD_START,
    NOT_FINITE,
    OK,
    OUT_OF_BUDGET,
    START,
    Hessians,
    Inner,
    Lower,
    Outer,
    Real,
)
from bilevel_verify.methods.kernels.vectors import copy_into
from bilevel_verify.methods.registry import TWO_LEVELS, Estimator, Letter, register_estimator
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import ask_hess_g, ask_value_f, too_dear
from bilevel_verify.oracles.handing import named, row
from bilevel_verify.oracles.jit import loop


class Letters(NamedTuple):
    """Step beta of the inner descent, and c of its growing length."""

    beta: Real
    c: Real


class Lengths(NamedTuple):
    """Steps of CG; negative: the system is solved exactly."""

    N_cg: Vector


@loop
def growing_length(c: Any, k: int, one: Any) -> int:
    """ceil(c (k+1)^(1/4)), the fourth root as two square roots (exact for fourth powers)."""
    wanted = c * square_root(square_root(one * (k + 1)))
    steps = int(wanted)
    return steps + 1 if steps < wanted else steps


@loop
def solve_system(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower) -> int:
    """u <- the hypergradient at (point, y) with the system solved exactly; one Hessian."""
    inner, part, g = named(Inner, lower.inner), named(Outer, lower.outer).part, named(Hessians, lower.hessians).g
    y, v = inner.y, inner.v
    dx, n = len(point), len(point) + len(y)
    both_parts_of_f(P, counts, point, y, lower)
    ask_hess_g(P, counts, point, y, g)
    copy_into(inner.right, v)
    for i in range(len(y)):
        line = row(lower.matrix, i)
        for j in range(len(y)):
            line[j] = g[(dx + i) * n + dx + j]
    if not solve_in_place(lower.matrix, v):
        return NOT_FINITE
    for i in range(dx):
        total = part[i]
        for j in range(len(y)):
            total = total - g[i * n + dx + j] * v[j]
        u[i] = total
    return OK


@loop
def implicit_ba(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """BA: y by ceil(c (k+1)^(1/4)) gradient steps, warm-started (with ``cold`` from y_start at every k).

    The linear system is solved exactly with the Hessian (one call ``hess_g``), or by N_cg conjugate gradient steps
    from v_start where the length N_cg is given (BA-CG).
    """
    if k == START:
        return OK
    beta, c = named(Letters, lower.letters)
    inner, at = named(Inner, lower.inner), lower.at
    cg_steps = of_epoch(named(Lengths, lower.lengths).N_cg, t)
    steps = growing_length(c, max(k, 0), at.one)
    if too_dear(counts, steps + max(cg_steps, 0) + 3):
        return OUT_OF_BUDGET
    if at.cold == COLD_START:
        copy_into(inner.y_start, inner.y)
    descent(P, counts, point, inner.y, steps, beta, LOWER, at.one, lower)
    if cg_steps < 0:
        return solve_system(P, counts, point, u, lower)
    copy_into(inner.v_start, inner.v)
    return implicit_gradient(P, counts, point, u, cg_steps, lower)


@loop
def value_after_ba(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """f(point, y), y by the growing number of gradient steps."""
    beta, c = named(Letters, lower.letters)
    inner, at = named(Inner, lower.inner), lower.at
    steps, y = growing_length(c, at.iterations, at.one), inner.y_trial
    if too_dear(counts, steps + 1):
        return OUT_OF_BUDGET
    copy_into(inner.y_start if at.cold == COLD_START else inner.y, y)
    descent(P, counts, point, y, steps, beta, LOWER, at.one, lower)
    joint = row(lower.joint, 0)
    ask_value_f(P, counts, point, y, joint)
    out[0] = joint[0]
    return OK


def oracles_picked(letters: Mapping[str, object]) -> frozenset[str]:
    """Exact solve: the Hessian; BA-CG: products."""
    system = {"hvp_yy_g", "jvp_xy_g"} if "N_cg" in letters else {"hess_g"}
    return frozenset({"grad_y_g", "grad_f"} | system)


register_estimator(
    Estimator(
        "implicit-ba",
        implicit_ba,
        value_after_ba,
        exact_hypergradient,
        TWO_LEVELS,
        Letters,
        Lengths,
        letters=(Letter("beta"), Letter("c")),
        lengths=(Letter("N_cg", "length", optional=True),),
        needs=NEEDS | {"hess_g"},
        value_needs=frozenset({"value_f"}),
        stopping_needs=STOPPING_NEEDS,
        picks=oracles_picked,
        sequences={"y": "y", "v": "v"},
    )
)
