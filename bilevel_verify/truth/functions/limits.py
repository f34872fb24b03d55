"""SymPy's limits, and the ways in which SymPy says that it does not know."""

from __future__ import annotations

import sympy

GIVES_UP = (NotImplementedError, ValueError, ArithmeticError, RecursionError, TypeError, sympy.PoleError)
"""What SymPy's limits, linear solvers and simplification raise where they find nothing (``TypeError``: comparing what
cannot be compared). Caught only around a single call of SymPy, so that no mistake of ours can hide in it."""


def limit_at_infinity(expression: sympy.Expr, t: sympy.Symbol) -> sympy.Expr | None:
    """The limit as t tends to infinity; None where SymPy does not find it."""
    try:
        return sympy.limit(expression, t, sympy.oo)
    except GIVES_UP:
        return None
