"""Convex quadratics as sums of squares: exact, and free of cancellation near their minima."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.truth.functions.quadratics import Quadratic, ldl, quadratic_of
from bilevel_verify.truth.sets.convex import Smooth

FloatArray = NDArray[np.float64]


def with_squares(phi: sympy.Expr, x: tuple[sympy.Symbol, ...]) -> sympy.Expr:
    """The quadratic terms of an expression as a sum of squares (exact LDL'), where they are convex and bounded below.

    Squares keep their sign over unbounded boxes, which products such as ``x1 x2`` do not.
    """
    terms = [
        part  # only the terms themselves are expanded, never the arguments of functions
        for term in sympy.Add.make_args(phi)
        for part in sympy.Add.make_args(term if term.has(sympy.Function) else sympy.expand(term, deep=False))
    ]
    flat = [term for term in terms if quadratic_of(term, x) is not None]
    quadratic = quadratic_of(sympy.Add(*flat), x)
    if quadratic is None:
        return phi
    completed = complete_squares(quadratic)
    if completed is None:
        return phi

    def rational(v: Fraction) -> sympy.Rational:
        return sympy.Rational(v.numerator, v.denominator)

    squares = [
        rational(weight) / 2 * (sympy.Add(*(rational(v) * s for v, s in zip(normal, x))) + rational(shift)) ** 2
        for weight, normal, shift in completed[0]
    ]
    others = [term for term in terms if quadratic_of(term, x) is None]
    return sympy.Add(*squares, rational(completed[1]), *others)


def complete_squares(
    quadratic: Quadratic,
) -> tuple[list[tuple[Fraction, tuple[Fraction, ...], Fraction]], Fraction] | None:
    """``sum weight (normal . z + shift)^2 / 2 + constant`` of a convex quadratic bounded below, exactly; else None."""
    factor = ldl(quadratic.Q)
    if factor.sign != 1:  # also where nothing is left but products, as in x1 x2
        return None
    rest, constant = list(quadratic.q), quadratic.c
    squares = []
    for number, (weight, normal) in enumerate(factor.squares):
        # the pivot of a square is where its normal is 1 and no later square has an entry
        later = [other for _, other in factor.squares[number + 1 :]]
        pivot = next(i for i, v in enumerate(normal) if v == 1 and all(other[i] == 0 for other in later))
        shift = rest[pivot] / weight
        rest = [r - shift * weight * v for r, v in zip(rest, normal)]
        constant -= weight * shift * shift / 2
        squares.append((weight, normal, shift))
    return None if any(rest) else (squares, constant)


def smooth_quadratic(quadratic: Quadratic) -> Smooth:
    """Value, gradient and Hessian: by matrices, or as a sum of squares, which keeps the digits of values near 0."""
    Q, q, c = quadratic.floats()
    completed = complete_squares(quadratic)
    if completed is None:

        def plain(z: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            bent = Q @ z
            return float(0.5 * (z @ bent) + q @ z + c), bent + q, Q

        return plain
    weights = np.array([float(w) for w, _, _ in completed[0]])
    R = np.array([[float(v) for v in normal] for _, normal, _ in completed[0]]).reshape(-1, len(q))
    shifts, rest = np.array([float(s) for _, _, s in completed[0]]), float(completed[1])

    def at(z: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        t = R @ z + shifts
        return float(0.5 * (weights @ t**2)) + rest, R.T @ (weights * t), Q

    return at
