"""Exact quadratics against their values in fractions, and sums of squares against all small symmetric matrices."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy

from bilevel_verify.truth.functions.quadratics import Quadratic, affine_form, as_fraction, ldl, quadratic_of

pytestmark = pytest.mark.fast
F = Fraction
Z = sympy.symbols("z1 z2 z3", real=True)
A, B, C = Z
HALF = sympy.Rational(1, 2)


def value(quadratic: Quadratic, point: tuple[Fraction, ...]) -> Fraction:
    """By its definition."""
    double = sum((a * q * b for row, a in zip(quadratic.Q, point) for q, b in zip(row, point)), F(0))
    return double / 2 + sum((a * b for a, b in zip(quadratic.q, point)), F(0)) + quadratic.c


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression",
    [
        sympy.Integer(0), sympy.Integer(7), A, -3 * C, A * B, A**2, (A + 1) * (B - 2),
        (2 * A - B + 3) ** 2, 5 * (A + B) * C / 7,
        A**2 / 3 - A * C + B / 2 - 11, (A + B + C + 1) * (A - B),
        3 * (A - B) * (A + B) + B**2, sympy.Float(0.1) * A**2 + B,
        ((A + B) ** 2 - A**2 - 2 * A * B - B**2 + C) * B, (A * B - B * A + 4) * A * C, 2 * (3 * (A + 1)),
        HALF * (A + HALF) ** 2,
        (A + 1) ** 2 - (A - 1) ** 2, A * (A + 1) - A**2,
        sympy.Mul(A, sympy.Add(B, C, evaluate=False), 2, evaluate=False),
    ],
)  # fmt: skip
def test_quadratics_have_the_values_of_their_expressions(expression: Any) -> None:
    found = quadratic_of(expression, Z)
    assert found is not None
    assert [list(column) for column in zip(*found.Q)] == found.Q
    for point in itertools.product((F(0), F(1), F(-2), F(3, 7)), repeat=3):
        exact = sympy.nsimplify(expression, rational=True) if not expression.has(sympy.Float) else None
        if exact is not None:
            numbers = {s: sympy.Rational(p.numerator, p.denominator) for s, p in zip(Z, point)}
            there = sympy.Rational(exact.subs(numbers))
            assert value(found, point) == F(int(there.p), int(there.q))
        else:
            assert value(found, point) == F(0.1) * point[0] ** 2 + point[1]


@pytest.mark.parametrize(
    "expression",
    [
        A**3, A**2 * B, A * B * C, (A + 1) ** 3, sympy.exp(A), sympy.Abs(A),
        sympy.sqrt(2) * A, sympy.pi + A, 1 / A, A**HALF, A + sympy.exp(B),
        A * sympy.exp(B),
        (A + sympy.sin(B)) ** 2, sympy.Symbol("w") * A, (A * B) ** 2, sympy.exp(A) ** 2, A**2 * sympy.exp(B) * C,
        (A**2) ** 2,
        A ** sympy.Symbol("k"), sympy.oo * sympy.Integer(1), A * (B + sympy.sqrt(3)), sympy.Max(A, B),
    ],
)  # fmt: skip
def test_nothing_else_is_a_quadratic(expression: Any) -> None:
    assert quadratic_of(expression, Z) is None
    assert affine_form(expression, Z) is None


def test_places_follow_the_given_order() -> None:
    found = quadratic_of(A + 2 * B + A * B, (B, A))
    assert found == Quadratic([[F(0), F(1)], [F(1), F(0)]], [F(2), F(1)], F(0))
    assert quadratic_of(A + B, (A,)) is None
    assert quadratic_of(sympy.Integer(4), ()) == Quadratic([], [], F(4))


def test_numbers_are_exact_or_none() -> None:
    assert as_fraction(sympy.Float(0.1)) == F(0.1)
    assert as_fraction(sympy.Rational(-3, 7)) == F(-3, 7)
    assert as_fraction(sympy.Integer(5)) == 5
    for number in (sympy.sqrt(2), sympy.pi, sympy.oo, sympy.nan):
        assert as_fraction(number) is None


def test_floats_of_a_quadratic() -> None:
    Q, q, c = Quadratic([[F(1, 2), F(3)], [F(3), F(0)]], [F(1, 4), F(-1)], F(1, 8)).floats()
    assert (Q.tolist(), q.tolist(), c) == ([[0.5, 3.0], [3.0, 0.0]], [0.25, -1.0], 0.125)
    empty = Quadratic([], [], F(2)).floats()
    assert (empty[0].shape, empty[1].shape, empty[2]) == ((0, 0), (0,), 2.0)


def test_affine_forms() -> None:
    assert affine_form(2 * A - C / 3 + 5, Z) == ((F(2), F(0), F(-1, 3)), F(5))
    assert affine_form((A + 1) ** 2 - A**2, Z) == ((F(2), F(0), F(0)), F(1))
    assert affine_form(sympy.Integer(3), Z) == ((F(0), F(0), F(0)), F(3))
    for curved in (A * B, A**2 + B, (A + B) ** 2, A**2 - B**2):
        assert affine_form(curved, Z) is None


# ---- sums of squares ----------------------------------------------------------------------------------------------


def symmetric(d: int, entries: tuple[int, ...]) -> Any:
    places = [(i, j) for i in range(d) for j in range(i + 1)]
    for values in itertools.product(entries, repeat=len(places)):
        matrix = [[F(0)] * d for _ in range(d)]
        for (i, j), v in zip(places, values):
            matrix[i][j] = matrix[j][i] = F(v)
        yield matrix


def total(squares: Any, d: int) -> Any:
    return [[sum((w * v[i] * v[j] for w, v in squares), F(0)) for j in range(d)] for i in range(d)]


@pytest.mark.parametrize(
    ("d", "entries", "every"),
    [(1, (-2, 0, 1, 3), 1), (2, (-2, -1, 0, 1, 2, 4), 1), (3, (-1, 0, 2), 3), (4, (0, 1), 13)],
)
def test_all_small_matrices_are_the_sums_of_their_squares(d: int, entries: tuple[int, ...], every: int) -> None:
    """Signs from determinants of principal minors (Sylvester), in integers; normals are independent."""
    for matrix in itertools.islice(symmetric(d, entries), 0, None, every):
        factor = ldl(matrix)
        numbers = np.array(matrix, dtype=float)
        sign = 1 if semidefinite(numbers, 1) else -1 if semidefinite(numbers, -1) else 0
        assert factor.sign == sign
        assert all(w != 0 for w, _ in factor.squares)
        assert len({tuple(v) for _, v in factor.squares}) == len(factor.squares)
        if sign or total(factor.squares, d) == matrix:
            assert total(factor.squares, d) == matrix
            assert len(factor.squares) == np.linalg.matrix_rank(numbers)
        else:
            diagonal_left = [i for i in range(d) if matrix[i][i] == 0]
            assert diagonal_left or d > 2, "only a zero diagonal may leave something over"


def semidefinite(matrix: Any, sign: int) -> bool:
    """All principal minors of ``sign * matrix`` are nonnegative (integers: determinants are exact when rounded)."""
    d = len(matrix)
    return all(
        round(float(np.linalg.det(sign * matrix[np.ix_(rows, rows)]))) >= 0
        for k in range(1, d + 1)
        for rows in itertools.combinations(range(d), k)
    )


def test_factors_in_fractions() -> None:
    matrix = [[F(2), F(1), F(0)], [F(1), F(1, 2), F(0)], [F(0), F(0), F(-3)]]
    assert ldl(matrix).squares == ((F(2), (F(1), F(1, 2), F(0))), (F(-3), (F(0), F(0), F(1))))
    assert ldl(matrix).sign == 0
    swap = ldl([[F(0), F(1)], [F(1), F(5)]])
    assert swap.squares == ((F(5), (F(1, 5), F(1))), (F(-1, 5), (F(1), F(0))))
    assert (swap.sign, swap.witness) == (0, None)
    assert ldl([]).sign == 1
    assert ldl([[F(0), F(0)], [F(0), F(0)]]) == ldl([[F(0)]])
