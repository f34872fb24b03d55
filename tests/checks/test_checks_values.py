"""Scalars, vectors, matrices: outward, exact where they say so, undecided where they must be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from bilevel_verify.checks.claims import linear
from bilevel_verify.checks.claims import values as v
from bilevel_verify.errors import MathematicalError

rationals = st.fractions(min_value=-50, max_value=50, max_denominator=997)
floats = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)
OPERATORS = ["<", "<=", ">", ">=", "=="]
EXACT = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
}


@given(rationals, rationals, st.sampled_from(OPERATORS), st.booleans(), st.booleans())
def test_a_comparison_never_contradicts_the_rationals(a, b, operator, blur_a, blur_b):
    left = v.ball(a) if blur_a else a
    right = v.ball(b) if blur_b else b
    answer = v.compare(left, operator, right)
    assert answer in (None, EXACT[operator](a, b))


@given(rationals, st.sampled_from(OPERATORS))
def test_nan_decides_nothing(a, operator):
    nan = arb("nan")
    assert v.compare(nan, operator, a) is None
    assert v.compare(a, operator, nan) is None
    assert v.compare(nan, operator, nan) is None


@given(st.lists(floats, min_size=1, max_size=4), st.lists(floats, min_size=1, max_size=4))
def test_squares_of_floats_are_exact_at_high_precision(a, b):
    n = min(len(a), len(b))
    with ctx.workprec(4096):
        left = linear.square_norm(v.add(v.vector(a[:n]), v.negate(v.vector(b[:n]))))
        exact = sum(((Fraction(p) - Fraction(q)) ** 2 for p, q in zip(a[:n], b[:n])), Fraction(0))
        assert v.is_exact(left)
        assert v.compare(left, "==", exact) is True


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_extreme_eigenvalues_and_norms_contain_those_of_numpy(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n))
    a = (a + a.T) / 2
    matrix = v.Matrix(tuple(tuple(v.ball(x) for x in row) for row in a.tolist()))
    eigenvalues = np.linalg.eigvalsh(a)
    slack = 1e-12 * (1 + np.abs(eigenvalues).max())
    for ball, number in (
        (linear.lambda_min(matrix), eigenvalues[0]),
        (linear.lambda_max(matrix), eigenvalues[-1]),
        (linear.norm(matrix), np.linalg.norm(a, 2)),
        (linear.frobenius(matrix), np.linalg.norm(a)),
    ):
        low, high = v.ends(ball)
        assert low - slack <= number <= high + slack
        assert high - low <= 1e-9 * (1 + abs(number))


def test_lambda_min_sees_a_double_eigenvalue_and_a_singular_matrix():
    matrix = v.Matrix(((v.ball(1), v.ball(1)), (v.ball(1), v.ball(1))))
    low, high = v.ends(linear.lambda_min(matrix))
    assert low <= 0 <= high
    assert high - low < 1e-12


@given(rationals, rationals)
def test_division_by_what_may_be_zero_has_no_value(a, b):
    blurred = arb(0, 1)
    with pytest.raises(MathematicalError):
        v.divide(a, blurred)
    with pytest.raises(MathematicalError):
        v.divide(a, Fraction(0))
    if b:
        assert v.divide(a, b) == a / b


@given(rationals)
def test_square_roots_of_squares_are_exact(a):
    assert v.square_root(a * a) == abs(a)


def test_a_root_of_a_ball_that_dips_below_zero_is_cut_there():
    low, high = v.ends(v.square_root(arb(1e-20, 2e-20)))
    assert low <= 0 <= high <= 1e-9


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(min_value=0, max_value=1e3, allow_nan=False))
def test_ends_are_outward(value, error):
    ball = v.enclose(value, error)
    low, high = v.ends(ball)
    assert arb(low) <= ball.lower()
    assert arb(high) >= ball.upper()


def test_multiprecision_numbers_become_exact_balls():
    import mpmath

    with mpmath.workdps(60):
        number = mpmath.mpf(1) / 3
    ball = v.ball(number)
    assert ball.is_exact()
    with ctx.workprec(512):
        assert v.compare(ball, "==", Fraction(int(number.man)) * Fraction(2) ** number.exp) is True
    with pytest.raises(MathematicalError, match="precision"):
        v.ball(mpmath.mpf("nan"))


@pytest.mark.parametrize("exponent", [2, 3, 4])
def test_powers_of_a_ball_around_zero_are_tight(exponent):
    """python-flint's own power of such a ball is NaN."""
    low, high = v.ends(v.power(arb(0, 1e-3), Fraction(exponent)))
    assert low <= 0 <= high <= 1.001e-3**exponent


def test_three_valued_logic():
    assert v.conjunction([True, None]) is None
    assert v.conjunction([None, False]) is False
    assert v.conjunction([]) is True
    assert v.disjunction([False, None]) is None
    assert v.disjunction([None, True]) is True
    assert v.disjunction([]) is False


def test_rounding_of_a_ball_that_straddles_an_integer_is_no_index():
    both = v.floor_of(arb(3, 1e-3))
    low, high = v.ends(both)
    assert low <= 2.0
    assert high >= 3.0
    with pytest.raises(MathematicalError, match="precision"):
        v.integer(both, "an index")
    assert v.floor_of(arb(3.5, 1e-3)) == 3
    assert v.floor_of(Fraction(-7, 2), upwards=True) == -3
