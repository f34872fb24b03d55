"""Scalars, vectors, matrices, tensors: every operation against nested rationals, every refusal, every answer."""

from __future__ import annotations

import itertools
import operator
from fractions import Fraction
from functools import partial, reduce
from math import inf, isnan, nan
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.decide import reason_of
from bilevel_verify.checks.claims.values import EvaluationError, Matrix, Tensor, Vector
from bilevel_verify.errors import MathematicalError

pytestmark = pytest.mark.fast

F = Fraction


def read(value: Any) -> Any:
    """A value as nested rationals; a ball with a radius is no rational."""
    match value:
        case Fraction():
            return value
        case arb():
            assert value.is_exact()
            mantissa, exponent = value.man_exp()
            return F(int(mantissa)) * F(2) ** int(exponent)
        case Vector(entries):
            return [read(a) for a in entries]
        case Matrix(rows):
            return [[read(a) for a in row] for row in rows]
        case Tensor(slices):
            return [read(part) for part in slices]
    raise TypeError(type(value))


def mapped(change: Any, *nested: Any) -> Any:
    """A function of numbers, entry by entry."""
    if isinstance(nested[0], list):
        return [mapped(change, *parts) for parts in zip(*nested, strict=True)]
    return change(*nested)


def matrix(*rows: list[float]) -> Matrix:
    return Matrix(tuple(tuple(arb(a) for a in row) for row in rows))


ONE, ANOTHER = v.vector([1, 2.5, -3]), v.vector([0.5, -4, 8])
WIDE, OTHER = matrix([1, 2, 3], [4, 5, -6]), matrix([0.5, -7, 1], [2, 9, 0.25])
DEEP, OTHER_DEEP = Tensor((WIDE, OTHER)), Tensor((OTHER, matrix([1, 1, 1], [3, 2, 0])))
PAIRS = [(ONE, ANOTHER), (WIDE, OTHER), (DEEP, OTHER_DEEP)]


# --- shapes and balls


def test_shapes() -> None:
    assert (WIDE.shape, Matrix(()).shape, matrix([1]).shape) == ((2, 3), (0, 0), (1, 1))
    assert (DEEP.shape, Tensor(()).shape, Tensor((WIDE,)).shape) == ((2, 2, 3), (0, 0, 0), (1, 2, 3))
    assert (len(ONE), len(Vector(()))) == (3, 0)


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        (F(3, 8), F(3, 8)),
        (7, F(7)),
        (np.int64(-7), F(-7)),
        (0.1, F(0.1)),
        (np.float64(-0.1), F(-0.1)),
        (np.float32(0.1), F(float(np.float32(0.1)))),
        (arb(0.75), F(3, 4)),
        (mpmath.mpf(0), F(0)),
        (mpmath.mpf(0.5), F(1, 2)),
        (mpmath.mpf(-0.375), F(-3, 8)),
        (mpmath.mpf(3), F(3)),
        (mpmath.mpf(-(2**70)), F(-(2**70))),
    ],
)
def test_numbers_become_exact_balls(number: Any, exact: Fraction) -> None:
    assert isinstance(v.ball(number), arb)
    assert read(v.ball(number)) == exact


def test_a_ball_is_itself_with_its_radius() -> None:
    ball = arb(1, 0.5)
    assert v.ball(ball) is ball


def test_long_numbers_keep_every_bit_whatever_the_precision() -> None:
    with mpmath.workdps(200):
        third = mpmath.mpf(1) / 3
        large = third * mpmath.mpf(2) ** 900
    for number in (third, -third, large):
        sign, mantissa, exponent, _ = number._mpf_
        with ctx.workprec(53):
            assert read(v.ball(number)) == (-1) ** sign * F(int(mantissa)) * F(2) ** int(exponent)


@pytest.mark.parametrize("number", [mpmath.nan, mpmath.inf, -mpmath.inf])
def test_what_is_no_finite_number_of_many_digits_is_a_matter_of_precision(number: Any) -> None:
    with pytest.raises(MathematicalError, match=r"\Aprecision\Z") as caught:
        v.ball(number)
    assert reason_of(caught.value) == "precision"


@pytest.mark.parametrize("thing", ["1", None, [1], 1j])
def test_what_is_no_number_has_no_ball(thing: Any) -> None:
    with pytest.raises(TypeError, match="not a number"):
        v.ball(thing)


def test_enclosures_exactness_and_ends() -> None:
    assert v.enclose(1.0, 0.0).is_exact()
    assert not v.enclose(1.0, 0.5).is_exact()
    assert v.enclose(1.0, 0.5).contains(arb(1.5))
    assert [v.is_exact(a) for a in (F(1, 3), arb(1), arb(1, 0.5))] == [True, True, False]
    assert v.ends(F(1, 2)) == (0.5, 0.5)
    low, high = v.ends(F(1, 3))
    assert F(low) < F(1, 3) < F(high)
    assert v.ends(arb(2)) == (2.0, 2.0)
    assert v.ends(arb(1, 0.5)) == (pytest.approx(0.5), pytest.approx(1.5))
    assert all(isnan(end) for end in v.ends(arb("nan")))
    assert v.ends(arb(0, inf)) == (-inf, inf)


# --- arithmetic


@pytest.mark.parametrize(("left", "right"), [*PAIRS, (F(2, 3), F(5, 7)), (arb(1.5), arb(0.25)), (F(1, 2), arb(3))])
def test_sums(left: Any, right: Any) -> None:
    assert read(v.add(left, right)) == mapped(lambda a, b: a + b, read(left), read(right))
    assert read(v.add(right, left)) == mapped(lambda a, b: a + b, read(left), read(right))


@pytest.mark.parametrize("value", [ONE, WIDE, DEEP])
def test_zero_may_be_added_to_anything_and_nothing_else_may(value: Any) -> None:
    assert v.add(value, F(0)) is value
    assert v.add(F(0), value) is value
    for number in (F(1), F(-1)):
        for pair in ((value, number), (number, value)):
            with pytest.raises(EvaluationError, match="a number was expected"):
                v.add(*pair)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (ONE, v.vector([1, 2])),
        (v.vector([1, 2]), ONE),
        (WIDE, matrix([1, 2, 3])),
        (matrix([1, 2, 3]), WIDE),
        (WIDE, matrix([1, 2], [3, 4])),
        (DEEP, Tensor((WIDE,))),
        (Tensor((WIDE,)), DEEP),
    ],
)
def test_shapes_that_do_not_fit(left: Any, right: Any) -> None:
    with pytest.raises(EvaluationError, match=r"shapes .* and .* do not fit"):
        v.add(left, right)


@pytest.mark.parametrize("value", [ONE, WIDE, DEEP, F(3, 4), arb(1.5)])
def test_negatives(value: Any) -> None:
    assert read(v.negate(value)) == mapped(lambda a: -a, read(value))


@pytest.mark.parametrize("value", [ONE, WIDE, DEEP, F(3, 4), arb(1.5)])
def test_multiples(value: Any) -> None:
    for factor in (F(1), F(2), F(0), F(-3, 4), arb(0.375)):
        for product in (v.multiply(value, factor), v.multiply(factor, value)):
            assert read(product) == mapped(partial(operator.mul, read(factor)), read(value))
    assert v.multiply(value, F(1)) is value
    assert v.multiply(F(1), value) is value


@pytest.mark.parametrize(("left", "right"), list(itertools.product([ONE, WIDE, DEEP], repeat=2)))
def test_products_of_vectors_and_matrices_are_refused(left: Any, right: Any) -> None:
    with pytest.raises(EvaluationError, match="is meant"):
        v.multiply(left, right)


@pytest.mark.parametrize("value", [ONE, WIDE, DEEP, F(3, 4), arb(1.5)])
def test_quotients(value: Any) -> None:
    for divisor in (F(1), F(2), F(-1, 4), arb(0.5)):
        assert read(v.divide(value, divisor)) == mapped(partial(operator.mul, 1 / read(divisor)), read(value))
    assert v.divide(value, F(1)) is value
    for zero in (F(0), arb(0), arb(0, 1)):
        with pytest.raises(MathematicalError):
            v.divide(value, zero)
    with pytest.raises(EvaluationError, match="a number was expected, not a vector"):
        v.divide(value, ONE)


@pytest.mark.parametrize(
    ("base", "exponent", "power"),
    [
        (F(2, 3), F(3), F(8, 27)),
        (F(-2, 3), F(2), F(4, 9)),
        (F(-2, 3), F(3), F(-8, 27)),
        (F(4, 9), F(1, 2), F(2, 3)),
        (F(4, 9), F(1), F(4, 9)),
        (F(8, 27), F(1, 3), F(2, 3)),
        (F(2), F(-2), F(1, 4)),
        (F(5), F(0), F(1)),
        (arb(-1.5), F(2), F(9, 4)),
        (arb(-1.5), F(3), F(-27, 8)),
        (arb(2.25), F(1, 2), F(3, 2)),
        (arb(-3), F(0), F(1)),
    ],
)
def test_powers(base: Any, exponent: Fraction, power: Fraction) -> None:
    assert read(v.power(base, exponent)) == power


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("ball", [arb(-2, 0.5), arb(2, 0.5), arb(-1, 2), arb(0, 1)])
def test_powers_of_balls_contain_those_of_their_points(ball: arb, exponent: int) -> None:
    low, high = v.ends(v.power(ball, F(exponent)))
    middle, radius = F(float(ball.mid())), F(float(ball.rad()))
    points = [(middle + radius * F(k, 8)) ** exponent for k in range(-8, 9)]
    assert low <= min(points)
    assert max(points) <= high
    assert high - low <= 2.001 * ((abs(middle) + radius) ** exponent - abs(middle) ** exponent) + 1e-6


def test_a_broken_power_of_a_ball_is_that_of_its_points() -> None:
    low, high = v.ends(v.power(arb(4, 1), F(3, 2)))
    assert low <= 3**1.5
    assert high >= 5**1.5
    assert high - low < 1.2 * (5**1.5 - 3**1.5)
    with pytest.raises(MathematicalError):
        v.power(arb(-4, 1), F(3, 2))
    with pytest.raises(EvaluationError, match="a number was expected"):
        v.power(ONE, F(2))
    with pytest.raises(EvaluationError, match="a number was expected"):
        v.power(F(2), ONE)


@pytest.mark.parametrize(("square", "root"), [(F(9, 4), F(3, 2)), (F(0), F(0)), (arb(2.25), F(3, 2)), (arb(0), F(0))])
def test_square_roots_of_squares(square: Any, root: Fraction) -> None:
    assert read(v.square_root(square)) == root


@pytest.mark.parametrize("number", [F(2), arb(2), arb(0.25, 0.125), arb(2, 0.5)])
def test_square_roots_are_enclosed_tightly(number: Any) -> None:
    low, high = (F(end) for end in v.ends(v.square_root(number)))
    least, most = (F(end) for end in v.ends(number))
    assert low**2 <= least <= most <= high**2
    assert (high**2 - low**2) <= 2 * (most - least) + F(1, 10**9)
    assert low > 0


def test_square_roots_about_zero() -> None:
    low, high = v.ends(v.square_root(arb(1, 2)))
    assert low == pytest.approx(0.0, abs=1e-6)
    assert low <= 0
    assert 3**0.5 <= high <= 3**0.5 + 1e-6
    for negative in (arb(-1), arb(-1, 0.5)):
        with pytest.raises(EvaluationError, match="the square root of a negative number"):
            v.square_root(negative)
    for lost in (arb(0, inf), arb("nan")):
        with pytest.raises(EvaluationError, match=r"\Aprecision\Z"):
            v.square_root(lost)
    with pytest.raises(MathematicalError):
        v.square_root(F(-1))


# --- scalars


def test_what_counts_as_a_number() -> None:
    ball = arb(1, 0.5)
    assert v.scalar_ball(ball) is ball
    assert read(v.scalar_ball(F(3, 4))) == F(3, 4)
    assert read(v.scalar_ball(v.vector([2.5]))) == F(5, 2)
    for other in (ONE, Vector(()), WIDE, DEEP, True, None):
        with pytest.raises(EvaluationError, match="a number was expected, not a"):
            v.scalar_ball(other)
    # a point of one entry is a number
    assert read(v.add(v.vector([2.5]), F(1))) == F(7, 2)
    assert v.compare(v.vector([2.5]), "<", F(3)) is True


@pytest.mark.parametrize(
    ("value", "zero"),
    [
        (F(0), True),
        (F(1), False),
        (arb(0), True),
        (arb(0, 1e-30), False),
        (arb(1), False),
        (v.vector([0, 0]), True),
        (v.vector([0, 1]), False),
        (v.vector([1, 0]), False),
        (matrix([0]), False),
        (None, False),
        (True, False),
    ],
)
def test_exactly_zero(value: Any, zero: bool) -> None:
    assert v.is_zero(value) is zero


# --- answers


def test_a_number_is_itself() -> None:
    wide, exact, lost = arb(1, 0.5), F(1, 3), arb("nan")
    for number in (wide, exact):
        assert [v.compare(number, op, number) for op in ("<=", ">=", "==", "<", ">")][:3] == [True, True, True]
        assert v.compare(number, "<", number) is False
        assert v.compare(number, ">", number) is False
    for op in ("<=", ">=", "==", "<", ">"):
        assert v.compare(lost, op, lost) is None
        assert v.compare(arb(1, 0.5), op, arb(1, 0.5)) is None  # two numbers
        assert v.compare(arb(0, inf), op, arb(1)) is None


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "=="])
def test_comparisons_of_separate_balls(op: str) -> None:
    small, large = arb(1, 0.25), arb(2, 0.25)
    assert v.compare(small, op, large) is (op in ("<", "<="))
    assert v.compare(large, op, small) is (op in (">", ">="))


ANSWERS: list[bool | None] = [True, False, None]


@pytest.mark.parametrize("answers", [list(a) for n in range(4) for a in itertools.product(ANSWERS, repeat=n)])
def test_three_valued_logic_is_what_all_completions_agree_on(answers: list[bool | None]) -> None:
    choices = [[True, False] if a is None else [a] for a in answers]
    for rule, found in ((all, v.conjunction(answers)), (any, v.disjunction(answers))):
        completed = {rule(c) for c in itertools.product(*choices)}
        assert found is (completed.pop() if len(completed) == 1 else None)


@pytest.mark.parametrize(
    ("value", "whole"),
    [(F(3), 3), (F(-2), -2), (F(0), 0), (F(1), 1), (arb(4), 4), (arb(-1), -1), (v.vector([5.0]), 5)],
)
def test_indices(value: Any, whole: int) -> None:
    assert v.integer(value, "an index") == whole


def test_what_is_no_index() -> None:
    with pytest.raises(MathematicalError, match="an index is 1/2, not an integer"):
        v.integer(F(1, 2), "an index")
    for number in (arb(2.5), arb(3, 0.1), arb(3, 5), arb("nan"), arb(0, inf)):
        with pytest.raises(MathematicalError, match="precision: an index cannot be told from its neighbours"):
            v.integer(number, "an index")


@pytest.mark.parametrize(("number", "below", "above"), [(F(5, 2), 2, 3), (F(-5, 2), -3, -2), (F(4), 4, 4)])
def test_rounding_to_integers(number: Fraction, below: int, above: int) -> None:
    for value in (number, v.ball(number)):
        assert (v.floor_of(value), v.floor_of(value, False), v.floor_of(value, True)) == (below, below, above)


@pytest.mark.parametrize("numbers", list(itertools.permutations([F(1, 3), F(-2), F(5)])))
def test_extremes(numbers: tuple[Fraction, ...]) -> None:
    largest, smallest = v.VALUES.maximum, v.VALUES.minimum
    assert reduce(largest, numbers) == 5
    assert reduce(smallest, numbers) == -2
    mixed = [numbers[0], arb(2, 0.25), *numbers[1:]]
    assert reduce(largest, mixed) == 5
    assert reduce(smallest, mixed) == -2
    low, high = v.ends(largest(arb(1, 0.5), arb(1.25, 0.125)))
    assert (low, high) == (pytest.approx(1.125), pytest.approx(1.5))
    low, high = v.ends(smallest(arb(1, 0.5), arb(1.25, 0.125)))
    assert (low, high) == (pytest.approx(0.5), pytest.approx(1.375))
    with pytest.raises(EvaluationError, match="a number was expected"):
        largest(F(1), WIDE)


def test_a_vector_of_lost_numbers_is_nan_at_both_ends() -> None:
    assert [isnan(end) for end in v.ends(v.vector([nan]).entries[0])] == [True, True]
