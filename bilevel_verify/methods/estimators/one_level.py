"""One level: the gradient itself."""

from __future__ import annotations

from bilevel_verify.methods.kernels.answers import value_as_it_is
from bilevel_verify.methods.kernels.state import OK, OUT_OF_BUDGET, START, Inner, Lower
from bilevel_verify.methods.registry import Estimator, register_estimator
from bilevel_verify.oracles.convention import Counts, OracleSet, Vector
from bilevel_verify.oracles.counted import ask_grad_f, stop_grad_f, too_dear
from bilevel_verify.oracles.handing import named
from bilevel_verify.oracles.jit import loop


@loop
def exact(P: OracleSet, counts: Counts, point: Vector, u: Vector, lower: Lower, t: int, k: int) -> int:
    """The gradient itself, one call."""
    if k == START:
        return OK
    if too_dear(counts, 1):
        return OUT_OF_BUDGET
    ask_grad_f(P, counts, point, named(Inner, lower.inner).y, u)
    return OK


@loop
def exact_itself(P: OracleSet, counts: Counts, point: Vector, out: Vector, lower: Lower, t: int, k: int) -> int:
    """grad f(point), for a stopping test."""
    stop_grad_f(P, counts, point, named(Inner, lower.inner).y, out)
    return OK


register_estimator(
    Estimator(
        "exact",
        exact,
        value_as_it_is,
        exact_itself,
        ("single_level",),
        needs=frozenset({"grad_f"}),
        value_needs=frozenset({"value_f"}),
        stopping_needs=frozenset({"grad_f"}),
    )
)
