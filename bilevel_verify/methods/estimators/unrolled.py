"""The derivative of an unrolled inner loop (ITD)."""

from __future__ import annotations

from bilevel_verify.methods.estimators.implicit import NEEDS, STOPPING_NEEDS
from bilevel_verify.methods.kernels.answers import (
    DescentLengths,
    DescentLetters,
    both_parts_of_f,
    exact_hypergradient,
    value_after_descent,
)
from bilevel_verify.methods.kernels.inner import LOWER, descent, of_epoch
from bilevel_verify.methods.kernels.state import OK, OUT_OF_BUDGET, START, Inner, Lower, Outer
from bilevel_verify.methods.kernels.vectors import copy_into
from bilevel_verify.methods.registry import TWO_LEVELS, Estimator, Letter, register_estimator
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import ask_hvp_yy_g, ask_jvp_xy_g, too_dear
from bilevel_verify.oracles.handing import named, row
from bilevel_verify.oracles.jit import loop


@loop
def unrolled(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """ITD: D gradient steps for y, then the exact derivative of f after them, by the backward recursion.

    The warm start counts as a constant. D Jacobian- and D Hessian-vector products.
    """
    if k == START:
        return OK
    alpha, steps = named(DescentLetters, lower.letters).alpha, of_epoch(named(DescentLengths, lower.lengths).D, t)
    inner, outer, tape = named(Inner, lower.inner), named(Outer, lower.outer), lower.tape
    y, p, product, spare = inner.y, inner.right, inner.z_trial, outer.product
    if too_dear(counts, 3 * steps + 1):
        return OUT_OF_BUDGET
    for j in range(steps):
        copy_into(y, row(tape, j))
        descent(P, counts, point, y, 1, alpha, LOWER, lower.at.one, lower)
    both_parts_of_f(P, counts, point, y, lower)
    copy_into(outer.part, u)
    for back in range(steps):
        j = steps - 1 - back
        ask_jvp_xy_g(P, counts, point, row(tape, j), p, spare)
        for i in range(len(u)):
            u[i] = u[i] - alpha * spare[i]
        ask_hvp_yy_g(P, counts, point, row(tape, j), p, product)
        for i in range(len(p)):
            p[i] = p[i] - alpha * product[i]
    return OK


register_estimator(
    Estimator(
        "unrolled",
        unrolled,
        value_after_descent,
        exact_hypergradient,
        TWO_LEVELS,
        DescentLetters,
        DescentLengths,
        letters=(Letter("alpha"),),
        lengths=(Letter("D", "length"),),
        needs=NEEDS,
        value_needs=frozenset({"value_f"}),
        stopping_needs=STOPPING_NEEDS,
        tape="D",
        sequences={"y": "y"},
    )
)
