"""Quadratic and affine expressions with exact rational coefficients, and their factorisation ``L D L'``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import sympy
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Matrix = list[list[Fraction]]


@dataclass(frozen=True, slots=True)
class Quadratic:
    """``z' Q z / 2 + q . z + c`` with exact rational coefficients."""

    Q: Matrix
    q: list[Fraction]
    c: Fraction

    def floats(self) -> tuple[FloatArray, FloatArray, float]:
        """Q, q and c in floats."""
        n = len(self.q)
        return (
            np.array([[float(v) for v in row] for row in self.Q]).reshape(n, n),
            np.array([float(v) for v in self.q]),
            float(self.c),
        )


@dataclass(frozen=True, slots=True)
class Factor:
    """Exact ``P A P' = L D L'`` of a symmetric rational matrix, as a sum of squares.

    ``squares``: (weight, normal) with ``z' A z = sum weight (normal . z)^2``, weights nonzero; ``definite`` sign:
    +1 positive semidefinite, -1 negative semidefinite, 0 indefinite (``witness``: z with ``z' A z < 0``).
    """

    squares: tuple[tuple[Fraction, tuple[Fraction, ...]], ...]
    sign: int
    witness: tuple[Fraction, ...] | None = None


def as_fraction(number: sympy.Expr) -> Fraction | None:
    """A rational number, else None."""
    number = sympy.Rational(number) if number.is_Float else number
    return Fraction(int(number.p), int(number.q)) if number.is_Rational else None


def quadratic_of(expression: sympy.Expr, z: Sequence[sympy.Symbol]) -> Quadratic | None:
    """The expression as an exact quadratic, or None (higher degree, other functions, irrational coefficients)."""
    return _quadratic_of(expression, tuple(z))


@lru_cache(maxsize=64)
def _quadratic_of(expression: sympy.Expr, z: tuple[sympy.Symbol, ...]) -> Quadratic | None:
    terms = _degree_two(expression, {symbol: i for i, symbol in enumerate(z)})
    if terms is None:
        return None
    n = len(z)
    Q: Matrix = [[Fraction(0)] * n for _ in range(n)]
    q, c = [Fraction(0)] * n, Fraction(0)
    for places, value in terms.items():
        if len(places) == 2:
            i, j = places
            Q[i][j] += value
            Q[j][i] += value
        elif places:
            q[places[0]] += value
        else:
            c += value
    return Quadratic(Q, q, c)


Terms = dict[tuple[int, ...], Fraction]
"""Polynomial of degree at most two: sorted variable positions -> coefficient."""


def _degree_two(expression: sympy.Expr, places: dict[sympy.Symbol, int]) -> Terms | None:
    """Coefficients of an expression that is visibly a polynomial of degree at most two, else None."""
    if expression in places:
        return {(places[expression],): Fraction(1)}
    if expression.is_number:
        value = as_fraction(expression)
        return None if value is None else {(): value}
    if isinstance(expression, sympy.Add):
        total: Terms = {}
        for part in expression.args:
            found = _degree_two(part, places)
            if found is None:
                return None
            for key, value in found.items():
                total[key] = total.get(key, Fraction(0)) + value
        return {key: value for key, value in total.items() if value}
    if isinstance(expression, sympy.Mul):
        product: Terms = {(): Fraction(1)}
        for part in expression.args:
            found = _degree_two(part, places)
            longer = None if found is None else _times(product, found)
            if longer is None:
                return None
            product = longer
        return product
    if isinstance(expression, sympy.Pow) and expression.exp == 2:
        base = _degree_two(expression.base, places)
        return None if base is None else _times(base, base)
    return None


def _times(left: Terms, right: Terms) -> Terms | None:
    out: Terms = {}
    for first, a in left.items():
        for second, b in right.items():
            key = tuple(sorted(first + second))
            if len(key) > 2:
                return None
            out[key] = out.get(key, Fraction(0)) + a * b
    return out


def ldl(matrix: Matrix) -> Factor:
    """Exact factorisation with diagonal pivoting; a zero diagonal with a nonzero row makes the matrix indefinite."""
    n = len(matrix)
    a = [list(row) for row in matrix]
    left = list(range(n))
    squares: list[tuple[Fraction, tuple[Fraction, ...]]] = []
    while left:
        pivot = next((i for i in left if a[i][i] != 0), None)
        if pivot is None:
            if any(a[i][j] for i in left for j in left):
                return Factor(tuple(squares), 0, None)
            break
        d = a[pivot][pivot]
        normal = tuple(v / d for v in a[pivot])  # zero at former pivots: they have been eliminated
        squares.append((d, normal))
        for i in left:
            if i != pivot and a[pivot][i]:
                factor = a[pivot][i] / d
                for j in left:
                    a[i][j] -= factor * a[pivot][j]
        left.remove(pivot)
    signs = {1 if d > 0 else -1 for d, _ in squares}
    sign = 1 if signs <= {1} else -1 if signs == {-1} else 0
    return Factor(tuple(squares), sign)


def affine_form(expression: sympy.Expr, z: Sequence[sympy.Symbol]) -> tuple[tuple[Fraction, ...], Fraction] | None:
    """Coefficients and constant of an affine expression with rational coefficients, else None."""
    found = quadratic_of(expression, z)
    if found is None or any(v for row in found.Q for v in row):
        return None
    return tuple(found.q), found.c
