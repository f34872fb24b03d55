"""Truth of composite simple bilevel problems by lifting: ``x = p - q``, ``p, q >= 0`` turn ``|x_i|`` into p_i + q_i.

Where a weight is positive an optimal pair is complementary, and where both weights vanish the pair does not matter, so
the lifted problem has the same optimal values, and its solutions give those of the original one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from bilevel_verify.errors import MathematicalError
from bilevel_verify.problems.composite import Composite, Weights
from bilevel_verify.problems.feasible import Box, FeasibleSet, Orthant, WholeSpace
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.arithmetic.enclosure import Enclosure
from bilevel_verify.truth.sets.projections import bounds
from bilevel_verify.truth.simple_bilevel.simple_bilevel import SimpleTruth


def ends_of(feasible: FeasibleSet | None, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper ends of a set given by ranges of the variables.

    Raises
    ------
    MathematicalError : another kind of set.
    """
    if feasible is None or isinstance(feasible, WholeSpace):
        return np.full(n, -np.inf), np.full(n, np.inf)
    if isinstance(feasible, Box | Orthant):
        return bounds(feasible, n)
    raise MathematicalError(f"composite problems need the whole space, the orthant or a box, not {feasible.describe()}")


def lifted(problem: Problem, composite: Composite) -> Problem:
    """The smooth problem in ``(p, q)``.

    Raises
    ------
    MathematicalError : the feasible set is not given by ranges of the variables.
    """
    n = problem.dx
    low, high = ends_of(problem.feasible, n)
    plus = tuple(sympy.Symbol(f"{s.name}_plus", real=True) for s in problem.x)
    minus = tuple(sympy.Symbol(f"{s.name}_minus", real=True) for s in problem.x)
    place = {s: p - q for s, p, q in zip(problem.x, plus, minus)}

    def open_up(smooth: sympy.Expr, weights: Weights) -> sympy.Expr:
        return smooth.subs(place, simultaneous=True) + sum(w * (p + q) for w, p, q in zip(weights, plus, minus))

    assert composite.smooth.g is not None
    box = Box(
        (*np.maximum(low, 0.0), *np.maximum(-high, 0.0)), (*np.maximum(high, 0.0), *np.maximum(-low, 0.0))
    )  # fmt: skip
    return replace(
        problem,
        f=open_up(composite.smooth.f, composite.f_weights),
        g=open_up(composite.smooth.g, composite.g_weights),
        x=plus + minus,
        feasible=box,
        known={},
        start=None,
        text={},
    )


class CompositeTruth(SimpleTruth):
    """``f*``, ``g*`` and ``x*`` of a composite problem, from its lifted form."""

    def __init__(self, problem: Problem, composite: Composite) -> None:
        super().__init__(problem)
        self.below = SimpleTruth(lifted(problem, composite))

    @cached_property
    def g_star(self) -> Enclosure:
        """Optimal value of the lower level."""
        return self.below.g_star

    @cached_property
    def f_star(self) -> Enclosure:
        """Optimal value."""
        return self.below.f_star

    @cached_property
    def x_star(self) -> Enclosure:
        """An optimal solution."""
        found = self.below.x_star
        pair = np.asarray(found.value, dtype=float)
        return replace(found, value=pair[: self.n] - pair[self.n :], error=2.0 * found.error)

    def distance(self, x: ArrayLike) -> Enclosure:
        """Not known for composite problems."""
        raise MathematicalError("the distance to the solutions of a composite lower level is not known here")
