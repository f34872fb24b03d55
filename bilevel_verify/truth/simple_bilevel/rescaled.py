"""A lower level with the minimisers of another one: monotone functions around g, and its scale, are taken off first.

``argmin rise(h) = argmin h`` for an increasing ``rise``, wherever g is defined: ``sqrt(1 + x1^2 / 10^16)`` has the
minimisers of ``x1^2``. A slope of 1e-12 that a root or a logarithm flattens is none in floats, and one in h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import sympy
from numpy.typing import ArrayLike

from bilevel_verify.errors import MathematicalError
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.language.elementary import INCREASING, TRANSCENDENTAL
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.problems.problem import Problem
from bilevel_verify.symbolic.program import program_of
from bilevel_verify.truth.arithmetic.enclosure import Enclosure, weakest
from bilevel_verify.truth.functions.quadratics import ldl
from bilevel_verify.truth.functions.structure import structure_of
from bilevel_verify.truth.lower_level.points import enclosure_of
from bilevel_verify.truth.sets.convex import Solution
from bilevel_verify.truth.sets.ranges import ranges_over
from bilevel_verify.truth.sets.recession import Recession
from bilevel_verify.truth.simple_bilevel.facts import SolutionSet
from bilevel_verify.truth.simple_bilevel.simple_bilevel import SimpleTruth
from bilevel_verify.truth.simple_bilevel.supported import Supported

STRICTLY_INCREASING = INCREASING.intersection(TRANSCENDENTAL) | {"softplus", "sigmoid"}
"""Functions that increase strictly wherever they are defined."""
MOST_LAYERS = 12
BITS = 192


@dataclass(frozen=True, slots=True)
class Layers:
    """``g = rise(h)``: ``rise`` is an increasing expression in ``symbol``."""

    h: sympy.Expr
    rise: sympy.Expr
    symbol: sympy.Symbol


def layers_of(problem: Problem) -> Layers | None:
    """The outermost h below increasing functions that is known to be convex; None where g is known, or no h is."""
    assert problem.g is not None
    t = sympy.Dummy("t", real=True)
    h, rise = problem.g, t
    if _is_known(problem, h):
        return None
    for _ in range(MOST_LAYERS):
        layer = _layer(h, problem.x, t)
        if layer is None:
            return None
        h, rise = layer[0], rise.xreplace({t: layer[1]})
        if _is_known(problem, h):
            return Layers(h, rise, t)
    return None


def _is_known(problem: Problem, h: sympy.Expr) -> bool:
    with ball_ends():
        found = structure_of(h, problem.x, ranges_over(problem.feasible))
    Q = found.quadratic.Q
    return not found.missing and ldl(Q).sign == 1


def _layer(h: sympy.Expr, x: Sequence[sympy.Symbol], t: sympy.Symbol) -> tuple[sympy.Expr, sympy.Expr] | None:
    """``(inner, outer)`` with ``h = outer(inner)`` and outer increasing; None where there is no such layer.

    A decreasing function of u is an increasing one of -u.
    """
    if isinstance(h, sympy.Add):
        constant, rest = h.as_independent(*x, as_Add=True)
        content, rest = rest.as_content_primitive()
        return None if (constant == 0 and content == 1) else (rest, constant + content * t)
    if isinstance(h, sympy.Mul):
        factor, rest = h.as_independent(*x, as_Add=False)
        if factor.is_positive:
            return None if factor == 1 else (rest, factor * t)
        return _falling(rest, x, t, factor) if factor.is_negative else None
    if isinstance(h, sympy.Pow):
        base, power = h.as_base_exp()
        rises = power.is_Rational and power > 0 and (not power.is_Integer or power % 2 == 1 or base.is_nonnegative)
        return (base, t**power) if rises and power != 1 else _falling(h, x, t, sympy.Integer(1))
    return (h.args[0], h.func(t)) if type(h).__name__ in STRICTLY_INCREASING else None


def _falling(
    h: sympy.Expr, x: Sequence[sympy.Symbol], t: sympy.Symbol, factor: sympy.Expr
) -> tuple[sympy.Expr, sympy.Expr] | None:
    """The same for ``factor h`` where that falls while an inner part of h grows."""
    if isinstance(h, sympy.Pow):
        base, power = h.as_base_exp()
        falls = power.is_Rational and power < 0 and (not power.is_Integer or base.is_positive)
        if falls and factor.is_positive:
            return sympy.expand_mul(-base), factor * (-t) ** power
    inner = _layer(h, x, t) if factor.is_negative and not isinstance(h, sympy.Mul) else None
    return None if inner is None else (sympy.expand_mul(-inner[0]), factor * inner[1].xreplace({t: -t}))


class RescaledTruth(SimpleTruth):
    """``f*`` and ``x*`` of a problem whose lower level is an increasing function of a known one (g defined on Z).

    Where the value of g at the minimisers of h is not defined nothing is said.
    """

    def __init__(self, problem: Problem, layers: Layers) -> None:
        super().__init__(problem)
        self.layers = layers
        self.below = SimpleTruth(replace(problem, g=layers.h, text={}))

    @cached_property
    def g_star(self) -> Enclosure:
        """Optimal value of the lower level, enclosed from that of h."""
        found = self.below.g_star
        if not np.isfinite(found.error):
            raise MathematicalError(f"g* is not known: {found.method}")
        import flint

        from bilevel_verify.numbers.balls import ArbBalls

        with precision(BITS):
            program = program_of(self.layers.rise, [self.layers.symbol])
            at = flint.arb(float(found.value), found.error)
            at_least = [at.nonnegative_part()] if at.contains(0) else []  # a root at its end: h >= 0 where g is defined
            for argument in (at, *at_least):
                value = program.run(ArbBalls(), [argument])[0]
                if value.is_finite():
                    certainty = weakest(found.certainty, "certified")
                    return replace(enclosure_of(value, certainty, f"{found.method}; {self._words}"), attained=True)
        raise MathematicalError(f"g is not defined at the minimisers of {self.layers.h}, of which it is a function")

    @property
    def _words(self) -> str:
        return f"g is an increasing function of {str(self.layers.h)[:80]}"

    @cached_property
    def supported(self) -> Supported | str:
        """f* and x* of the lower level h, where g is defined at its minimisers."""
        _ = self.g_star
        return self.below.supported

    @cached_property
    def f_star(self) -> Enclosure:
        """Optimal value of the bilevel problem."""
        _ = self.g_star
        return self._said(self.below.f_star)

    @cached_property
    def x_star(self) -> Enclosure:
        """An optimal solution."""
        _ = self.g_star
        return self._said(self.below.x_star)

    def _said(self, found: Enclosure) -> Enclosure:
        return replace(found, method=f"{found.method}; {self._words}")

    @cached_property
    def lower(self) -> Solution:
        """A solution of the lower level."""
        found = self.below.lower
        return replace(found, value=float(self.g_star.value))

    @cached_property
    def solutions(self) -> SolutionSet:
        """The solution set of the lower level."""
        _ = self.g_star
        return self.below.solutions

    @cached_property
    def recession(self) -> Recession:
        """Directions in which g never grows."""
        found = self.below.recession
        return replace(found, verdict=f"{self._words}, of which: {found.verdict}") if found.verdict else found

    def distance(self, x: ArrayLike) -> Enclosure:
        """Euclidean distance of x to the solution set of the lower level."""
        _ = self.g_star
        return self.below.distance(x)
