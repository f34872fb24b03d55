"""SymPy back to trees: for minors, closed sums and differences that SymPy computed."""

from __future__ import annotations

from fractions import Fraction

import sympy

from bilevel_verify.language import tree
from bilevel_verify.language.elementary import ANALYTIC


def to_tree(expression: sympy.Expr) -> tree.Node:
    """An algebraic SymPy expression as a tree.

    Raises
    ------
    ValueError : a function that the tree language of scalars lacks.
    """
    if expression.is_Rational:
        return tree.signed(Fraction(int(expression.p), int(expression.q)))
    if expression.is_Symbol:
        return tree.Letter(expression.name)
    if expression is sympy.pi or expression is sympy.E:
        return tree.Letter(str(expression))
    if expression.is_Add:
        return tree.Add(tuple(to_tree(a) for a in expression.args))
    if expression.is_Mul:
        top, bottom = sympy.fraction(expression)
        if bottom != 1:
            return tree.Divide(to_tree(top), to_tree(bottom))
        return tree.Multiply(tuple(to_tree(a) for a in expression.args))
    if expression.is_Pow:
        if expression.exp.is_Rational and expression.exp < 0:
            return tree.Divide(tree.Number(Fraction(1)), to_tree(1 / expression))
        return tree.Power(to_tree(expression.base), to_tree(expression.exp))
    if isinstance(expression, sympy.Max | sympy.Min):
        name = "max" if isinstance(expression, sympy.Max) else "min"
        return tree.Call(name, tuple(to_tree(a) for a in expression.args))
    if type(expression).__name__ in ANALYTIC:
        return tree.Call(type(expression).__name__, (to_tree(expression.args[0]),))
    if isinstance(expression, sympy.Abs):
        return tree.Call("abs", (to_tree(expression.args[0]),))
    raise ValueError(f"no tree for {type(expression).__name__}")
