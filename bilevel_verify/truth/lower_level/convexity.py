"""Is the lower level convex in y, and strongly? The certified constant decides; what it leaves open is said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bilevel_verify.errors import BilevelVerifyError
from bilevel_verify.intervals.arithmetics import IntervalArithmetic
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.numbers.rounding import enclose
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.functions.model import Model


@dataclass(frozen=True, slots=True)
class Convexity:
    """What is certified about the lower level as a function of y, on the declared ranges of x and y.

    Attributes
    ----------
    mu : certified modulus of strong convexity; None if it is not known to be positive.
    convex : certified to be convex (``mu >= 0``); True where there is no lower level.
    text : what a result has to say about it; empty for a certified ``mu > 0``.
    """

    mu: float | None
    convex: bool
    text: str = ""


UNKNOWN = (
    "strong convexity of the lower level not certified: the lowest minimiser that is found from some starts may be a "
    "local one"
)


def convexity_of(problem: Problem, model: Model) -> Convexity:
    """Convexity of the lower level, from the constants room."""
    if model.lower is None:
        return Convexity(None, True)
    try:
        from bilevel_verify.constants import constants

        mu = constants(problem, only=["mu"])["mu"]
    except (BilevelVerifyError, ImportError, KeyError, NotImplementedError):
        return Convexity(None, False, UNKNOWN)
    if mu.certified and mu.value > 0 and np.isfinite(mu.value):
        return Convexity(float(mu.value), True)
    if mu.certified and (mu.value == 0 or _convex_by_range(problem, model)):
        return Convexity(None, True, "the lower level is convex in y but not certified to be strongly convex (mu >= 0)")
    if mu.upper < 0:
        return Convexity(
            None,
            False,
            f"the lower level is not convex in y on the declared range (mu <= {float(mu.upper):.3g}): "
            "the lowest minimiser that is found from some starts may be a local one, or one of several that are as low",
        )
    return Convexity(None, False, UNKNOWN)


def upper_curvature(problem: Problem, model: Model) -> float:
    """Certified lower bound of the curvature of f in y on the declared ranges; -inf where none is known.

    With it ``f + lam g`` is convex in y for ``lam mu`` large enough: without, a penalised minimiser may be a local one.
    """
    from bilevel_verify.constants import constants
    from bilevel_verify.constants.papers import read_letters

    if model.lower is None or model.upper.rough:
        return -np.inf
    if not problem.f.free_symbols & set(problem.y):
        return 0.0
    letter = {"bend": {"measure": "strong convexity", "of": ["f:yy"], "norm": "in y"}}
    letters = read_letters("curvature of f", {"kinds": ["bilevel", "minimax"], "letters": letter}, "curvature of f")
    try:
        bend = constants(problem, paper=letters).get("bend")
    except (BilevelVerifyError, NotImplementedError):
        return -np.inf
    return float(bend.value) if bend is not None and bend.certified and np.isfinite(bend.value) else -np.inf


def _convex_by_range(problem: Problem, model: Model) -> bool:
    """Interval proof of ``g_yy >= 0`` on the declared ranges (one variable), where a safe bound of mu is below 0."""
    from bilevel_verify.constants.formula.smoothness import slope_may_jump

    assert model.lower is not None
    assert problem.lower is not None
    if model.dy != 1 or slope_may_jump(problem.lower):
        return False
    ends = [problem.range_of(s) for s in problem.variables]
    boxes = [Interval(np.array([enclose(a)[0]]), np.array([enclose(b)[1]])) for a, b in ends]
    with np.errstate(all="ignore"):
        bend = model.lower.second_order_y.run(IntervalArithmetic(), boxes)[-1]
    return bool(np.all(bend.lo >= 0))
