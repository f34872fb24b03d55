"""What every statement about simple bilevel problems assumes: convex levels, a lower level with a minimiser.

A function that is visibly not convex, a lower level that falls for ever, and a lower level that grows more slowly than
every power are told apart by name: each makes all claims ``not applicable``.
"""

from __future__ import annotations

from math import isfinite

import sympy

from bilevel_verify.checks.claims.claims import all_claims
from bilevel_verify.checks.instances.instance import Instance
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.errors import BilevelVerifyError, MathematicalError
from bilevel_verify.language import tree
from bilevel_verify.problems.composite import split
from bilevel_verify.problems.feasible import Intersection
from bilevel_verify.problems.problem import Problem
from bilevel_verify.theorems.card import Statement
from bilevel_verify.truth.functions.structure import structure_of
from bilevel_verify.truth.simple_bilevel.composite import ends_of
from bilevel_verify.truth.simple_bilevel.simple_bilevel import SimpleTruth


def of_levels(instance: Instance) -> list[Premise]:
    """Convexity of f and g, existence of a lower-level minimiser, and (where alpha is used) of an error bound."""
    simple: SimpleTruth = instance.truth.simple
    composite = split(instance.problem)
    smooth = simple if composite is None else SimpleTruth(composite.smooth)
    found = [_convex(smooth, "f"), _convex(smooth, "g")]
    if all(premise.verdict != "not applicable" for premise in found):
        found.append(_attained(instance) or _minimiser(simple))
    if "alpha" in instance.failures or "r" in instance.failures:
        flat = flatter_than_powers(instance.problem)
        if flat:
            text = "g has a Hoelderian error bound (Assumption 4.1)"
            found.append(Premise(text, "not applicable", flat, "computed"))
    return found


COMPOSITE = "p-agm-bio"
"""The method for composite problems."""
PARTS = ("f_1", "f_2", "g_1", "g_2", "grad_f_1", "grad_g_1")
"""Functions with which a statement says that it is about f = f_1 + f_2, g = g_1 + g_2."""


def of_parts(instance: Instance, statement: Statement) -> list[Premise]:
    """Is a level smooth whose Lipschitz constant a statement uses?

    L_f and L_g of a composite problem are those of f_1 and g_1, which is what a statement about a composite problem
    means (its method is for these, or it names the parts); one about f itself asks f to have a Lipschitz gradient.

    Raises
    ------
    MathematicalError : a composite problem on a set that is not given by ranges of the variables.
    """
    composite = split(instance.problem)
    if composite is None or str(statement.method).partition(":")[0] == COMPOSITE or _names_parts(statement):
        return []
    low, high = ends_of(instance.problem.feasible, instance.problem.dx)
    found = []
    for name, weights in (("f", composite.f_weights), ("g", composite.g_weights)):
        kinks = [x for x, w, a, b in zip(instance.problem.x, weights, low, high) if w and a < 0 < b]
        if kinks and f"L_{name}" in instance.used:
            reason = (
                f"{name} has a kink where {kinks[0]} = 0: L_{name} is the constant of its smooth part, not of {name}"
            )
            text = f"{name} has a Lipschitz gradient on Z"
            found.append(Premise(text, "not applicable", reason, "certified", f"{kinks[0]} = 0 inside Z"))
    return found


def _names_parts(statement: Statement) -> bool:
    claims = all_claims(statement.claims)
    written = [side for claim in claims for link in claim.chain for side in (link.left, link.right)]
    written += [definition for claim in claims for definition in claim.define.values()]
    return any(tree.functions(one.tree) & set(PARTS) for one in written)


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


MINIMISER = "the lower level has a minimiser"


def _attained(instance: Instance) -> Premise | None:
    """On a compact set a g with a Lipschitz gradient attains its minimum; None where that is not what is known."""
    feasible, smoothness = instance.problem.feasible, instance.used.get("L_g")
    if feasible is None or not feasible.bounded or isinstance(feasible, Intersection):  # which may be empty
        return None
    if smoothness is None or not smoothness.certified or not isfinite(smoothness.value):
        return None
    if split(instance.problem) is not None:  # L_g is about a part of g only
        return None
    return Premise(MINIMISER, "holds", "", "certified", "continuous on a compact set")


def _minimiser(simple: SimpleTruth) -> Premise:
    """Does the lower level have a minimiser?"""
    text = MINIMISER
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
