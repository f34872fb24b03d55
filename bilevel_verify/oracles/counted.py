"""The only place where oracles are called and counted by solver loops: plain Python that numba compiles as it is.

``ask_NAME(P, counts, x, y, out)`` evaluates the oracle ``P.NAME`` and counts it; ``ask_NAME(P, counts, x, y, v, out)``
for products; ``stop_grad_f`` ... evaluate for a stopping test that the paper does not count. After every call
``exhausted(counts)`` says whether the budget has been exceeded; a loop leaves at its next convenience.
"""

from __future__ import annotations

from bilevel_verify.oracles.calling import evaluate, multiply
from bilevel_verify.oracles.convention import (
    BUDGET,
    CALLS,
    EXHAUSTED,
    GRAD_F,
    GRAD_G,
    HESS_F,
    HESS_G,
    HVP_F,
    HVP_G,
    HVP_YY_F,
    HVP_YY_G,
    JVP_XY_F,
    JVP_XY_G,
    STOP_GRAD_F,
    STOP_GRAD_G,
    STOP_HESS_F,
    STOP_HESS_G,
    STOP_VALUE_F,
    STOP_VALUE_G,
    THIRD_F,
    THIRD_G,
    VALUE_F,
    VALUE_G,
    Counts,
    OracleSet,
    Vector,
)
from bilevel_verify.oracles.jit import inlined


@inlined
def count(counts: Counts, kind: int) -> None:
    """One call of this kind."""
    counts[kind] += 1
    counts[CALLS] += 1
    if counts[CALLS] > counts[BUDGET]:
        counts[EXHAUSTED] = 1


@inlined
def exhausted(counts: Counts) -> bool:
    """Whether more calls were made than the budget allows."""
    return bool(counts[EXHAUSTED] != 0)


@inlined
def too_dear(counts: Counts, calls: int) -> bool:
    """Whether so many more calls would pass the budget."""
    return bool(counts[CALLS] + calls > counts[BUDGET])


@inlined
def lacks(counts: Counts, calls: int) -> bool:
    """Whether fewer calls are left, before they are made: who asks no further has used up the budget, moves nothing."""
    if too_dear(counts, calls):
        counts[EXHAUSTED] = 1
        return True
    return False


@inlined
def ask_value_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.value_f, x, y, out)
    count(counts, VALUE_F)


@inlined
def ask_grad_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_f, x, y, out)
    count(counts, GRAD_F)


@inlined
def ask_grad_x_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_x_f, x, y, out)
    count(counts, GRAD_F)


@inlined
def ask_grad_y_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_y_f, x, y, out)
    count(counts, GRAD_F)


@inlined
def ask_hess_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.hess_f, x, y, out)
    count(counts, HESS_F)


@inlined
def ask_third_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.third_f, x, y, out)
    count(counts, THIRD_F)


@inlined
def ask_value_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.value_g, x, y, out)
    count(counts, VALUE_G)


@inlined
def ask_grad_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_g, x, y, out)
    count(counts, GRAD_G)


@inlined
def ask_grad_x_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_x_g, x, y, out)
    count(counts, GRAD_G)


@inlined
def ask_grad_y_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_y_g, x, y, out)
    count(counts, GRAD_G)


@inlined
def ask_hess_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.hess_g, x, y, out)
    count(counts, HESS_G)


@inlined
def ask_third_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.third_g, x, y, out)
    count(counts, THIRD_G)


@inlined
def ask_hvp_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    multiply(P.hvp_f, x, y, v, out)
    count(counts, HVP_F)


@inlined
def ask_hvp_yy_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    multiply(P.hvp_yy_f, x, y, v, out)
    count(counts, HVP_YY_F)


@inlined
def ask_jvp_xy_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    multiply(P.jvp_xy_f, x, y, v, out)
    count(counts, JVP_XY_F)


@inlined
def ask_jvp_yx_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    multiply(P.jvp_yx_f, x, y, v, out)
    count(counts, JVP_XY_F)


@inlined
def ask_hvp_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    multiply(P.hvp_g, x, y, v, out)
    count(counts, HVP_G)


@inlined
def ask_hvp_yy_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    multiply(P.hvp_yy_g, x, y, v, out)
    count(counts, HVP_YY_G)


@inlined
def ask_jvp_xy_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    multiply(P.jvp_xy_g, x, y, v, out)
    count(counts, JVP_XY_G)


@inlined
def ask_jvp_yx_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, v: Vector, out: Vector) -> None:
    multiply(P.jvp_yx_g, x, y, v, out)
    count(counts, JVP_XY_G)


@inlined
def stop_grad_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_f, x, y, out)
    count(counts, STOP_GRAD_F)


@inlined
def stop_grad_y_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_y_f, x, y, out)
    count(counts, STOP_GRAD_F)


@inlined
def stop_grad_x_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_x_f, x, y, out)
    count(counts, STOP_GRAD_F)


@inlined
def stop_grad_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_g, x, y, out)
    count(counts, STOP_GRAD_G)


@inlined
def stop_grad_y_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_y_g, x, y, out)
    count(counts, STOP_GRAD_G)


@inlined
def stop_grad_x_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.grad_x_g, x, y, out)
    count(counts, STOP_GRAD_G)


@inlined
def stop_value_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.value_f, x, y, out)
    count(counts, STOP_VALUE_F)


@inlined
def stop_value_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.value_g, x, y, out)
    count(counts, STOP_VALUE_G)


@inlined
def stop_hess_f(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.hess_f, x, y, out)
    count(counts, STOP_HESS_F)


@inlined
def stop_hess_g(P: OracleSet, counts: Counts, x: Vector, y: Vector, out: Vector) -> None:
    evaluate(P.hess_g, x, y, out)
    count(counts, STOP_HESS_G)
