"""Values of formulas: exact numbers, and arrays of SymPy expressions (NumPy arrays of objects) with their algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy
from numpy.typing import NDArray


def exact_number(value: sympy.Expr | float) -> sympy.Expr:
    """A float, int, Fraction or SymPy number as an exact number; decimals are read as they print (0.1 is 1/10)."""
    if isinstance(value, sympy.Basic):
        return sympy.Rational(str(value)) if value.is_Float else value
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    if isinstance(value, int | np.integer):
        return sympy.Integer(int(value))
    part = Fraction(repr(float(value)))
    return sympy.Rational(part.numerator, part.denominator)


def objects(values: tuple[sympy.Expr, ...]) -> NDArray[np.object_]:
    """A vector of expressions."""
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


def matrix_product(left: NDArray[np.object_], right: NDArray[np.object_]) -> NDArray[np.object_] | sympy.Expr:
    """``left @ right``; every entry is added up at once (SymPy sorts a sum anew with each term that joins it)."""
    rows, columns = left.reshape(-1, left.shape[-1]), right.reshape(right.shape[0], -1).T
    entries = objects(tuple(sympy.Add(*map(_times, row, column)) for row in rows for column in columns))
    return entries.reshape(left.shape[:-1] + right.shape[1:])[()]


def _times(a: sympy.Expr, b: sympy.Expr) -> sympy.Expr:
    """``a * b``; a number times a symbol is what SymPy would find out after some questions."""
    if a.is_Rational and b.is_Symbol and a not in (0, 1):
        return sympy.Mul(a, b, evaluate=False)
    return a * b


def add(a: NDArray[np.object_], b: sympy.Symbol) -> sympy.Expr | NDArray[np.object_]:
    """``a + b`` of two numbers, or of two arrays of one shape.

    Raises
    ------
    ValueError : anything else.
    """
    if isinstance(a, np.ndarray) != isinstance(b, np.ndarray) or np.shape(a) != np.shape(b):
        raise ValueError("shapes")
    return a + b


def multiply(a: sympy.Expr | NDArray[np.object_], b: sympy.Expr | NDArray[np.object_]) -> object:
    """``a b`` where at most one is an array.

    Raises
    ------
    ValueError : two arrays.
    """
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        raise ValueError("shapes")
    return a * b
