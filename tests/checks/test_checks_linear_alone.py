"""Linear algebra of balls and what function names mean: each against rationals or 50 digits, each refusal."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import comb
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb

from bilevel_verify.checks.claims import linear
from bilevel_verify.checks.claims import meanings as m
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.tensors import mode, stacked, tensor, tensor_norm
from bilevel_verify.checks.claims.values import EvaluationError, Matrix, Vector
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import parse

pytestmark = pytest.mark.fast
F = Fraction

TOOL = Evaluator({})


def matrix(*rows: list[Any]) -> Matrix:
    return Matrix(tuple(tuple(v.ball(a) for a in row) for row in rows))


def number(value: Any) -> Fraction:
    """An exact scalar as a rational."""
    if isinstance(value, Fraction):
        return value
    assert value.is_exact(), value
    mantissa, exponent = value.man_exp()
    return F(int(mantissa)) * F(2) ** int(exponent)


def entries(value: Any) -> Any:
    if isinstance(value, Vector):
        return [number(a) for a in value.entries]
    return [[number(a) for a in row] for row in value.rows]


def encloses(value: Any, expected: Any, width: float = 1e-12) -> bool:
    """Whether a ball is narrow and holds a rational."""
    found = v.scalar_ball(value)
    return number(found.lower()) <= F(expected) <= number(found.upper()) and float(found.rad()) < width


A = matrix([1, 2, 3], [4, 5, -6])
B = matrix([1, -1], [0, 2], [3, 5])
P, Q = v.vector([1, 2.5, -3]), v.vector([2, -4, 0.5])


# --- products


def test_products_are_sums_over_the_inner_index() -> None:
    assert number(linear.dot(P, Q)) == 2 - 10 - F(3, 2)
    assert number(linear.dot(F(3), F(-2))) == -6  # a number is a vector of one entry
    assert entries(linear.transpose(A)) == [[1, 4], [2, 5], [3, -6]]
    assert entries(linear.matmul(A, P)) == [1 + 5 - 9, 4 + F(25, 2) + 18]
    assert entries(linear.matmul(v.vector([1, -2]), A)) == [1 - 8, 2 - 10, 3 + 12]
    assert number(linear.matmul(P, Q)) == F(-19, 2)
    assert entries(linear.matmul(A, B)) == [[10, 18], [-14, -24]]
    assert entries(linear.matmul(B, A)) == [[-3, -3, 9], [8, 10, -12], [23, 31, -21]]


@pytest.mark.parametrize(
    ("left", "right"),
    [(A, A), (A, v.vector([1, 2])), (P, A), (P, v.vector([1, 2])), (A, F(2)), (F(2), P), (F(2), F(3))],
)
def test_what_does_not_fit_is_not_multiplied(left: Any, right: Any) -> None:
    with pytest.raises(EvaluationError):
        linear.matmul(left, right)


def test_refusals_of_shapes() -> None:
    for wrong in (P, F(2)):
        with pytest.raises(EvaluationError, match="matrix"):
            linear.transpose(wrong)
    for refuse in (linear.inverse, linear.lambda_min, linear.lambda_max):
        for wrong in (A, P, F(2)):
            with pytest.raises(EvaluationError, match="square"):
                refuse(wrong)
    for wrong in (A, True):
        with pytest.raises(EvaluationError, match="vector"):
            linear.dot(wrong, P)
    with pytest.raises(EvaluationError, match="square"):
        linear.Spectrum(A)


# --- norms


def test_norms_of_numbers_and_of_one_entry_are_exact() -> None:
    assert linear.norm(F(-3, 2)) == F(3, 2)
    assert number(linear.norm(arb(-2.5))) == F(5, 2)
    assert number(linear.norm(v.vector([-7]))) == 7
    assert number(linear.norm(matrix([-3]))) == 3
    assert number(linear.square_norm(P)) == 1 + F(25, 4) + 9
    assert linear.square_norm(F(-3, 2)) == F(9, 4)


def test_norms_are_roots_of_squares() -> None:
    assert encloses(linear.norm(v.vector([3, -4])), 5)
    assert encloses(linear.frobenius(A) * linear.frobenius(A), 1 + 4 + 9 + 16 + 25 + 36)
    assert encloses(linear.frobenius(v.vector([2, -1, 2])), 3)
    assert encloses(linear.norm(matrix([3, 0], [0, -4])), 4)
    assert encloses(linear.norm(matrix([3, 4])), 5)  # one row: not one entry
    assert encloses(linear.norm(matrix([3], [4])), 5)
    assert encloses(linear.square_norm(matrix([3, 4])), 25)
    assert encloses(linear.square_norm(matrix([1, 1], [0, 0])), 2)


# --- inverses and systems


def test_inverse_and_solution_are_enclosed() -> None:
    square = matrix([2, 1, 0], [1, 3, 1], [0, -1, 4])  # determinant 22
    expected = [[F(13, 22), F(-4, 22), F(1, 22)], [F(-4, 22), F(8, 22), F(-2, 22)], [F(-1, 22), F(2, 22), F(5, 22)]]
    found = linear.inverse(square)
    for got, row in zip(found.rows, expected, strict=True):
        assert all(encloses(a, b) for a, b in zip(got, row, strict=True))
    solved = linear.solve(square, v.vector([1, 2, 3]))
    for got, row in zip(solved.entries, expected, strict=True):
        assert encloses(got, row[0] + 2 * row[1] + 3 * row[2])


def test_a_singular_matrix_has_no_inverse() -> None:
    singular = matrix([1, 2], [2, 4])
    with pytest.raises(EvaluationError, match="precision: a matrix cannot be told"):
        linear.inverse(singular)
    with pytest.raises(EvaluationError, match="precision: a matrix cannot be told"):
        linear.solve(singular, v.vector([1, 1]))
    wide = Matrix(((arb(1, 2), arb(0)), (arb(0), arb(1))))
    with pytest.raises(EvaluationError, match="precision"):
        linear.inverse(wide)


# --- eigenvalues

SYMMETRIC = [[4, 1, -2], [1, -3, 0.5], [-2, 0.5, 1]]


def eigenvalues(rows: list[list[float]]) -> list[Any]:
    with mpmath.workdps(40):
        return [mpmath.mpf(value) for value in sorted(mpmath.eigsy(mpmath.matrix(rows), eigvals_only=True))]


def holds_digits(ball: arb, digits: Any, room: float = 1e-11) -> bool:
    low, high = v.ends(ball)
    with mpmath.workdps(40):
        return bool(mpmath.mpf(low) <= digits <= mpmath.mpf(high)) and high - low < room


def test_extreme_eigenvalues_are_enclosed_to_both_sides() -> None:
    least, *_, most = eigenvalues(SYMMETRIC)
    assert holds_digits(linear.lambda_min(matrix(*SYMMETRIC)), least)
    assert holds_digits(linear.lambda_max(matrix(*SYMMETRIC)), most)
    assert number(linear.lambda_min(matrix([-2.5]))) == F(-5, 2)
    double = matrix([2, 0, 0], [0, 2, 0], [0, 0, 5])
    assert encloses(linear.lambda_min(double), 2)
    assert encloses(linear.lambda_max(double), 5)


def test_an_eigenvalue_of_balls_covers_every_matrix_in_them() -> None:
    wide = Matrix(((arb(2, 0.125), arb(1, 0.125)), (arb(1, 0.125), arb(2, 0.125))))
    low, high = v.ends(linear.lambda_min(wide))
    assert low <= 1 - 0.25  # the diagonal 1.875, beside it 1.125
    assert high >= 1 + 0.25
    assert low > -1e-6  # entries 2.125 and 2.125 have 0 too, and nothing below
    for entry in (arb("nan"), arb("inf")):
        lost = Matrix(((entry, arb(0)), (arb(0), arb(1))))
        with pytest.raises(EvaluationError, match=r"^precision$"):  # before LAPACK sees it
            linear.lambda_min(lost)


@pytest.mark.parametrize(
    ("rows", "shift", "expected"),
    [
        ([[2, 1], [1, 2]], 0.99, True),
        ([[2, 1], [1, 2]], 1, False),  # semidefinite: not positive
        ([[2, 1], [1, 2]], 1.01, False),
        ([[1, 0, 0], [0, 1, 0], [0, 0, -1]], 0, False),
        ([[4, 2, 2], [2, 5, 3], [2, 3, 6]], 0, True),
        ([[4, 2, 2], [2, 5, 3], [2, 3, 6]], 2, True),
        ([[4, 2, 2], [2, 5, 3], [2, 3, 6]], 2.5, False),
        ([[4, 2, 4], [2, 5, 3], [4, 3, 4]], 0, False),
        ([[1, 2, 3], [2, 5, 7], [3, 7, 10.5]], 0, True),
        ([[1, 2, 3], [2, 5, 7], [3, 7, 9.75]], 0, False),
    ],
)
def test_positive_definite_means_every_pivot_is(rows: list[list[float]], shift: float, expected: bool) -> None:
    least = eigenvalues(rows)[0]
    assert (least > mpmath.mpf(shift) + mpmath.mpf(10) ** -12) is expected
    assert linear._positive_definite(matrix(*rows), arb(shift)) is expected


def test_spectra_of_diagonal_matrices_keep_the_unit_vectors() -> None:
    spectrum = linear.Spectrum(matrix([5, 0, 0], [0, -1, 0], [0, 0, 2]))
    assert [number(spectrum.value(j)) for j in (1, 2, 3)] == [-1, 2, 5]
    assert [number(spectrum.component(P, j)) for j in (1, 2, 3)] == [F(5, 2), -3, 1]
    for wrong in (0, 4, -1):
        with pytest.raises(EvaluationError, match="no eigenvalue"):
            spectrum.value(wrong)


def test_spectra_of_other_matrices_are_verified() -> None:
    spectrum = linear.Spectrum(matrix([2, 1], [1, 2]))
    assert encloses(spectrum.value(1), 1)
    assert encloses(spectrum.value(2), 3)
    first, second = (spectrum.component(v.vector([3, 1]), j) for j in (1, 2))
    assert encloses(first * first, 2)  # (3 - 1)**2/2
    assert encloses(second * second, 8)  # (3 + 1)**2/2
    below = linear.Spectrum(matrix([1, 0], [1, 2]))  # zero above the diagonal only: not diagonal
    assert not encloses(below.component(v.vector([3, 1]), 1), 3)
    with pytest.raises(EvaluationError, match="precision"):
        linear.Spectrum(matrix([1, 1, 0], [1, 1, 0], [0, 0, 2]))  # 2 twice, with entries beside the diagonal


# --- tensors

T = [[[1, 2], [3, 4], [5, 6]], [[-1, 0], [2, 7], [1, 1]]]


def of(table: Any) -> Any:
    return tensor([[[arb(c) for c in row] for row in part] for part in table])


def table_of(value: Any) -> np.ndarray:
    return np.array([[[number(a) for a in row] for row in part.rows] for part in value.slices], dtype=object)


def test_products_along_each_mode_and_stacks() -> None:
    plain = np.array(T, dtype=object)
    assert (table_of(of(T)) == plain).all()
    first, second, third = matrix([1, -2], [3, 1], [0, 5]), matrix([2, 0, 1]), matrix([1, 1], [0, -4], [2, 3])
    assert (table_of(mode(of(T), F(1), first)) == np.einsum("ai,ijk->ajk", entries(first), plain)).all()
    assert (table_of(mode(of(T), F(2), second)) == np.einsum("aj,ijk->iak", entries(second), plain)).all()
    assert (table_of(mode(of(T), F(3), third)) == np.einsum("ak,ijk->ija", entries(third), plain)).all()
    parts = [matrix([1, 2, 3], [4, 5, 6]), matrix([7, 8, 9], [0, -1, -2])]
    expected = [[[1, 7], [2, 8], [3, 9]], [[4, 0], [5, -1], [6, -2]]]
    assert (table_of(stacked(parts)) == np.array(expected, dtype=object)).all()


@pytest.mark.parametrize(
    ("value", "place", "with_"),
    [(A, 1, A), (of(T), 0, A), (of(T), 4, A), (of(T), 1, P), (of(T), 1, matrix([1, 2, 3])), (of(T), 3, A)],
)
def test_modes_that_do_not_fit(value: Any, place: int, with_: Any) -> None:
    with pytest.raises(EvaluationError):
        mode(value, F(place), with_)


def test_norms_of_tensors_with_a_short_index_are_those_of_matrices() -> None:
    rows = [[3, 0], [4, 5]]  # sqrt(45); the root of the sum of squares is sqrt(50)
    spectral = v.scalar_ball(linear.norm(matrix(*rows)))
    assert encloses(spectral * spectral, 45)
    by_place = [[rows], [[row] for row in rows], [[[a] for a in row] for row in rows]]
    for shaped in by_place:
        found = tensor_norm(of(shaped))
        assert found.overlaps(spectral)
        assert float(found.rad()) < 1e-10
    for shaped in ([[[3, -4]]], [[[3], [-4]]], [[[3]], [[-4]]]):
        assert encloses(tensor_norm(of(shaped)), 5)
    assert encloses(tensor_norm(of([[[-7]]])), 7)
    assert encloses(tensor_norm(of([[[0, 0]]])), 0)


def test_norms_of_other_tensors_lie_between_a_form_and_an_unfolding() -> None:
    diagonal = of([[[3, 0], [0, 0]], [[0, 0], [0, -5]]])  # norm 5, every unfolding has it
    assert encloses(tensor_norm(diagonal), 5, width=1e-6)
    assert encloses(tensor_norm(of([[[0, 0], [0, 0]], [[0, 0], [0, 0]]])), 0)
    mixed = [[[0, 1], [1, 0]], [[1, 0], [0, 0]]]  # symmetric: 3 u1**2 u2, norm 2/sqrt(3); unfoldings have sqrt(2)
    low, high = v.ends(tensor_norm(of(mixed)))
    assert low <= 2 / 3**0.5 <= high
    assert low > 2 / 3**0.5 - 1e-6
    assert high == pytest.approx(2**0.5, rel=1e-9)
    uneven = [[[1, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0]], [[0, 0, 0], [0, 0, 1]]]
    low, high = v.ends(tensor_norm(of(uneven)))
    assert low <= 1 <= high  # unit vectors: |form| <= 1, taken at e1, e1, e1
    assert high == pytest.approx(1, rel=1e-6)  # the best unfolding; the middle one has sqrt(2)


# --- meanings of function names


def test_signed_sums_cancel_the_same_object_only() -> None:
    wide, twin = arb(1, 0.5), arb(1, 0.5)
    assert number(m.signed_sum([wide, wide], [False, True])) == 0
    assert number(m.signed_sum([wide, arb(3), wide], [True, False, False])) == 3
    assert float(m.signed_sum([wide, twin], [False, True]).rad()) >= 1.0
    assert float(m.signed_sum([wide, wide], [False, False]).mid()) == 2.0
    assert float(m.signed_sum([wide, wide], [True, True]).mid()) == -2.0
    assert float(m.signed_sum([wide, wide, wide], [False, True, True]).mid()) == -1.0
    same = F(5)
    assert m.signed_sum([same, same], [False, True]) == 0
    assert m.signed_sum([F(2), F(3), F(7)], [False, True, False]) == 6
    assert m.signed_sum([F(2)], [True]) == -2


def test_exact_zeros_leave_the_other_terms_as_they_are() -> None:
    wide = arb(1, 0.5)
    assert m.signed_sum([F(0), wide], [False, False]) is wide
    assert m.signed_sum([wide, F(0)], [False, True]) is wide
    assert entries(m.signed_sum([F(0), P], [False, True])) == [-1, F(-5, 2), 3]
    assert entries(m.signed_sum([P, P], [False, True])) == [0, 0, 0]
    assert m.signed_sum([F(0), F(0)], [False, True]) == 0
    assert number(m.signed_sum([wide, wide, F(4)], [False, True, False])) == 4


def test_products_and_ranges_of_nothing() -> None:
    assert reduce(v.VALUES.mul, [F(2), F(3), F(-5)]) == -30
    assert entries(v.VALUES.mul(F(2), P)) == [2, 5, -6]
    assert TOOL.empty("sum") == 0
    assert TOOL.empty("prod") == 1
    for name in ("max", "min", "argmin", "argmax"):
        with pytest.raises(EvaluationError, match="empty"):
            TOOL.empty(name)


def test_running_values_join_one_term() -> None:
    assert TOOL.joined("sum", F(2), F(3), 7) == 5
    assert TOOL.joined("prod", F(2), F(3), 7) == 6
    assert TOOL.joined("max", F(2), F(3), 7) == 3
    assert TOOL.joined("min", F(2), F(3), 7) == 2
    assert TOOL.joined("argmin", (4, F(2)), F(1), 7) == (7, F(1))
    assert TOOL.joined("argmin", (4, F(2)), F(3), 7) == (4, F(2))
    assert TOOL.joined("argmin", (4, F(2)), F(2), 7) == (4, F(2))  # ties: the first
    assert TOOL.joined("argmax", (4, F(2)), F(3), 7) == (7, F(3))
    assert TOOL.joined("argmax", (4, F(2)), F(1), 7) == (4, F(2))
    for name in ("argmin", "argmax"):
        with pytest.raises(EvaluationError, match="tie"):
            TOOL.joined(name, (4, F(2)), arb(2, 0.5), 7)


def test_functions_by_name() -> None:
    f = m.FUNCTIONS
    assert TOOL.scalar(parse("max(1, 3, 2)")) == 3
    assert TOOL.scalar(parse("min(2, 1, 3)")) == 1
    assert f["abs"](F(-2)) == 2
    assert f["sqrt"](F(9, 4)) == F(3, 2)
    assert f["dim"](P) == 3
    assert f["dim"](F(7)) == 1
    assert f["binomial"](F(6), F(2)) == comb(6, 2)
    assert f["factorial"](F(0)) == 1
    assert f["factorial"](F(5)) == 120
    assert f["binomial"](F(2000), F(1)) == 2000
    assert encloses(f["norm"](of([[[3, -4]]])), 5)
    assert encloses(f["norm"](v.vector([3, -4])), 5)
    assert encloses(f["exp"](arb(0)), 1)
    assert f["plus"](F(-3)) == 0
    matrix_ = matrix([5, 0], [0, -1])
    assert number(f["eigenvalue"](matrix_, F(1))) == -1
    assert number(f["eigenvalue"](matrix([7, 0], [0, 8]), F(2))) == 8
    assert number(f["coordinate"](matrix_, v.vector([3, 4]), F(2))) == 3
    for name in ("factorial", "binomial"):
        for wrong in (F(-1), F(2001), F(1, 2)):
            with pytest.raises(MathematicalError):
                f[name](wrong, F(1)) if name == "binomial" else f[name](wrong)
    with pytest.raises(EvaluationError, match="matrix"):
        f["eigenvalue"](P, F(1))


def test_the_spectrum_of_a_matrix_is_its_own() -> None:
    """Spectra are remembered by the identity of a matrix; never one for another, however many there were."""
    for k in range(150):
        one = matrix([k, 0], [0, -1])
        assert number(m.FUNCTIONS["eigenvalue"](one, F(2))) == k
        assert m._eigen(one) is m._eigen(one)
    assert len(m._SPECTRA) <= 65


def test_the_upper_end_is_the_best_of_the_three_unfoldings() -> None:
    table = np.random.default_rng(7).integers(-5, 6, (2, 3, 4))
    norms = [np.linalg.norm(np.moveaxis(table, k, 0).reshape(table.shape[k], -1), 2) for k in range(3)]
    high = v.ends(tensor_norm(of(table.tolist())))[1]
    assert high == pytest.approx(min(norms), rel=1e-9)
    assert max(norms) > 1.04 * min(norms)
