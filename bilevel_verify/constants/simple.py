"""Constants of simple bilevel problems: diameter of the feasible set, error bound, gradient over the solutions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import sympy

from bilevel_verify.constants.bounds import Bound
from bilevel_verify.constants.constant import Constant, Reason, Side
from bilevel_verify.constants.papers import Letter
from bilevel_verify.problems import feasible as sets

if TYPE_CHECKING:
    from bilevel_verify.constants.api import Constants


def simple_constant(owner: Constants, letter: Letter) -> Constant:
    """``D``, ``alpha``, ``r`` or ``M`` of a simple bilevel problem."""
    match letter.measure:
        case "diameter":
            return owner._constant(letter, diameter(owner.problem.feasible, owner.problem.dx))
        case "gradient":
            bound = owner.analysis("f").norm("z")
            why = Reason("solutions lie in Z", f"M <= sup over Z of |nabla f| <= {bound.upper:.9g}", (bound.why,))
            return owner._constant(
                letter, Bound(bound.upper, 0.0, bound.certified, bound.route, why, None, False, bound.witness)
            )
    why = Reason("not derived", "no certified error bound is known for this lower level")
    side: Side = "lower" if letter.name == "alpha" else "upper"
    bound = Bound(math.inf, 0.0, False, "calculus", why)
    return owner._constant(letter, bound, side)


def diameter(feasible: sets.FeasibleSet | None, n: int) -> Bound:
    """Euclidean diameter of a feasible set, exact for the sets of the language."""
    value: sympy.Expr | None = None
    match feasible:
        case sets.Ball(radius=radius):
            value = 2 * sympy.Rational(radius)
        case sets.Box(lo=lo, hi=hi) if feasible.bounded:
            value = sympy.sqrt(sum((sympy.Rational(b) - sympy.Rational(a)) ** 2 for a, b in zip(lo, hi)))
        case sets.Simplex(total=total):
            value = sympy.sqrt(2) * sympy.Rational(total) if n > 1 else sympy.Integer(0)
        case sets.L1Ball(radius=radius):
            value = 2 * sympy.Rational(radius)
        case sets.Intersection(sets=parts):
            return _smallest([diameter(part, n) for part in parts])
    from bilevel_verify.intervals.rounding import enclose

    if value is None:
        why = Reason("unbounded set", "the feasible set is unbounded: its diameter is infinite")
        return Bound(math.inf, math.inf, True, "exact", why, sympy.oo, True)
    top = enclose(value)[1]
    return Bound(top, top, True, "exact", Reason("diameter", f"D = {value}"), value, True)


def _smallest(bounds: list[Bound]) -> Bound:
    best = min(bounds, key=lambda b: b.upper)
    why = Reason("intersection", f"D <= {best.upper:.9g}: smallest diameter of the sets", tuple(b.why for b in bounds))
    return Bound(best.upper, 0.0, True, "calculus", why, None, False)
