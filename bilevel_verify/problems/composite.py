"""Composite simple bilevel problems: smooth convex parts plus weighted l1 norms, ``f = f_1 + f_2``, ``g = g_1 + g_2``.

Every term ``w abs(x_i)`` with a positive number w belongs to the nonsmooth part; everything else is the smooth part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy

from bilevel_verify.errors import ProblemError
from bilevel_verify.problems.problem import Problem

Weights = tuple[sympy.Expr, ...]


@dataclass(frozen=True, slots=True)
class Composite:
    """``f = smooth.f + sum f_weights_i |x_i|``, and g likewise.

    Attributes
    ----------
    smooth : the problem of the smooth parts f_1 and g_1 on the same set.
    f_weights, g_weights : exact weights of the absolute values, one for each variable, zero where there is none.
    """

    smooth: Problem
    f_weights: Weights
    g_weights: Weights


def split(problem: Problem) -> Composite | None:
    """The smooth and the l1 parts of a simple bilevel problem; None if f and g have no absolute values of variables.

    Raises
    ------
    ProblemError : an absolute value with a negative weight, which is not convex.
    """
    if problem.kind != "simple_bilevel" or problem.g is None:
        return None
    (f, of_f), (g, of_g) = _split(problem, problem.f, "f"), _split(problem, problem.g, "g")
    if not any(of_f) and not any(of_g):
        return None
    return Composite(replace(problem, f=f, g=g, known={}, text={}), of_f, of_g)


def _split(problem: Problem, expression: sympy.Expr, name: str) -> tuple[sympy.Expr, Weights]:
    weights: dict[sympy.Symbol, sympy.Expr] = {}
    rest = []
    for term in _terms(expression):
        found = _absolute(term, problem.x)
        if found is None:
            rest.append(term)
            continue
        symbol, weight = found
        weights[symbol] = weights.get(symbol, sympy.Integer(0)) + weight
    for symbol, weight in weights.items():
        if weight < 0:
            raise ProblemError(f"{name} is not convex: abs({symbol}) has the negative weight {weight}")
    return sympy.Add(*rest), tuple(weights.get(symbol, sympy.Integer(0)) for symbol in problem.x)


def _terms(expression: sympy.Expr) -> list[sympy.Expr]:
    """Addends; a product with absolute values is multiplied out first."""
    found = []
    for term in sympy.Add.make_args(expression):
        opened = sympy.expand(term) if term.has(sympy.Abs) or _has_absolute(term) else term
        found += list(sympy.Add.make_args(opened))
    return found


def _absolute(term: sympy.Expr, variables: tuple[sympy.Symbol, ...]) -> tuple[sympy.Symbol, sympy.Expr] | None:
    """(variable, weight) of a term ``weight * abs(variable)``."""
    weight, factor = term.as_coeff_Mul()
    if not factor.is_number and weight.is_number and _is_absolute(factor) and factor.args[-1] in variables:
        return factor.args[-1], weight
    if isinstance(term, sympy.Mul):
        numbers = [a for a in term.args if a.is_number]
        others = [a for a in term.args if not a.is_number]
        if len(others) == 1 and _is_absolute(others[0]) and others[0].args[-1] in variables:
            return others[0].args[-1], sympy.Mul(*numbers)
    return None


def _is_absolute(node: sympy.Expr) -> bool:
    if isinstance(node, sympy.Abs):
        return True
    return type(node).__name__ == "abspow" and node.args[0] == 1


def _has_absolute(node: sympy.Expr) -> bool:
    return any(_is_absolute(part) for part in sympy.preorder_traversal(node))
