"""What every statement about simple bilevel problems assumes: convex levels, a lower level with a minimiser.

A function that is visibly not convex, a lower level that falls for ever, and a lower level that grows more slowly than
every power are told apart by name: each makes all claims ``not applicable``.
"""

from __future__ import annotations

import sympy

from bilevel_verify.checks.instances.instance import Instance
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.errors import BilevelVerifyError, MathematicalError
from bilevel_verify.problems.composite import split
from bilevel_verify.problems.problem import Problem
from bilevel_verify.truth.functions.structure import structure_of
from bilevel_verify.truth.simple_bilevel.simple_bilevel import SimpleTruth


def of_levels(instance: Instance) -> list[Premise]:
    """Convexity of f and g, existence of a lower-level minimiser, and (where alpha is used) of an error bound."""
    simple: SimpleTruth = instance.truth.simple
    composite = split(instance.problem)
    smooth = simple if composite is None else SimpleTruth(composite.smooth)
    found = [_convex(smooth, "f"), _convex(smooth, "g")]
    if all(premise.verdict != "not applicable" for premise in found):
        found.append(_minimiser(simple))
    if "alpha" in instance.failures or "r" in instance.failures:
        flat = flatter_than_powers(instance.problem)
        if flat:
            text = "g has a Hoelderian error bound (Assumption 4.1)"
            found.append(Premise(text, "not applicable", flat, "computed"))
    return found


def _convex(simple: SimpleTruth, name: str) -> Premise:
    """Is f or g convex on Z? By its structure, or refuted at a sampled point."""
    text = f"{name} is convex on Z"
    expression = simple.problem.f if name == "f" else simple.problem.g
    assert expression is not None
    try:
        simple._check_convex(name, simple._f if name == "f" else simple._g)
    except MathematicalError as error:
        return Premise(text, "not applicable", str(error), "computed")
    except (BilevelVerifyError, ArithmeticError) as error:
        return Premise(text, "undecided", f"hypothesis: {text}: {error}", "computed")
    missing = structure_of(expression, simple.problem.x).missing
    if missing:
        return Premise(text, "undecided", f"hypothesis: {text} was only sampled ({missing})", "sampled")
    return Premise(text, "holds", "", "certified", "structure of the expression")


def _minimiser(simple: SimpleTruth) -> Premise:
    """Does the lower level have a minimiser?"""
    text = "the lower level has a minimiser"
    try:
        verdict = simple.recession.verdict
    except (BilevelVerifyError, ArithmeticError) as error:
        return Premise(text, "undecided", f"hypothesis: {text}: {error}", "computed")
    if verdict:
        return Premise(text, "not applicable", f"the lower level has no minimiser: {verdict}", "computed")
    return Premise(text, "holds", "", "computed", "directions of recession")


def flatter_than_powers(problem: Problem) -> str:
    """Why g - g* grows from a solution more slowly than every power of the distance; empty where that is not shown.

    One variable, a solution at an end of Z or at the origin: ``log(g - g*) / log(distance)`` tends to infinity.
    """
    if problem.dx != 1 or problem.g is None:
        return ""
    x, t = problem.x[0], sympy.Symbol("t", positive=True)
    pieces = problem.g.args if isinstance(problem.g, sympy.Piecewise) else ((problem.g, sympy.true),)
    for piece in pieces:
        expression = piece[0]
        if not expression.has(sympy.exp):
            continue
        order = sympy.limit(sympy.log(expression.subs(x, t)) / sympy.log(t), t, 0, "+")
        if order == sympy.oo:
            return f"g = {expression} vanishes at 0 to infinite order: no pair (r, alpha) exists"
    return ""
