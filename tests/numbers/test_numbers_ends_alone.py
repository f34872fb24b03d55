"""Exact scalars and their trees at their ends: a ball that begins at 0, no number, a power 0, equal rationals."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb

from bilevel_verify.errors import MathematicalError, UnboundError
from bilevel_verify.language import parse, tree
from bilevel_verify.numbers import exact, rounding
from bilevel_verify.numbers.powers import whole_power
from bilevel_verify.numbers.trees import TreeEvaluator

pytestmark = pytest.mark.fast
F = Fraction
FROM_ZERO = arb(0, 1) + arb(0, 1).rad()
"""A ball of [0, 2] whose lower end is exactly 0."""


# --- rounding


def test_the_unit_roundoff_is_half_the_step_behind_one() -> None:
    assert np.finfo(float).eps == 2 * rounding.UNIT
    assert 1.0 + rounding.UNIT == 1.0 < 1.0 + 2 * rounding.UNIT


@pytest.mark.parametrize(("low", "high"), [(1.0, 3.0), (-3.0, -1.0), (-1.0, 3.0), (0.1, 0.3), (0.0, 5e-324)])
def test_a_centre_lies_between_and_its_radius_reaches_both_ends_and_little_more(low: float, high: float) -> None:
    centre, radius = rounding.centred(low, high)
    assert low <= centre <= high
    half = max(F(high) - F(centre), F(centre) - F(low))
    assert half <= F(radius) <= half * (1 + F(1, 2**51)) + F(5e-324)


def test_a_point_has_no_radius() -> None:
    assert rounding.centred(0.1, 0.1) == (0.1, 0.0)


@pytest.mark.parametrize("number", ["1", None, [1.0], 1j])
def test_what_is_no_number_has_no_ball(number: Any) -> None:
    with pytest.raises(TypeError, match="not a number"):
        rounding.ball(number)


# --- powers


def test_a_power_zero_is_one_and_multiplies_nothing() -> None:
    def never(a: Any, b: Any) -> Any:
        raise AssertionError("a product")

    assert whole_power(F(7), 0, never) == 1
    assert whole_power(F(7), 1, never) == 7


@pytest.mark.parametrize(("exponent", "products"), [(2, 1), (3, 2), (4, 2), (7, 4), (8, 3)])
def test_a_power_by_squaring_squares_no_further_than_its_exponent(exponent: int, products: int) -> None:
    made: list[F] = []

    def times(a: F, b: F) -> F:
        made.append(a * b)
        return made[-1]

    assert whole_power(F(3), exponent, times) == 3**exponent
    assert len(made) == products
    assert max(made) == 3**exponent


def test_a_power_minus_one_is_the_reciprocal() -> None:
    assert whole_power(F(4), -1) == F(1, 4)
    assert whole_power(F(4), -3) == F(1, 64)


@pytest.mark.parametrize("exponent", [F(1, 2), F(1, 3), arb(0.5)])
def test_a_root_of_a_ball_that_begins_at_zero_holds_zero_and_its_upper_end(exponent: Any) -> None:
    assert FROM_ZERO.lower() == 0
    assert FROM_ZERO >= 0
    found = exact.power(FROM_ZERO, exponent)
    assert all(found.contains(arb(value)) for value in (0, 0.5, 1))
    assert float(found.upper()) >= 2 ** (1 / 3)
    assert float(found.upper()) < 1.5


@pytest.mark.parametrize("exponent", [F(-1, 2), arb(-0.5)])
def test_a_broken_negative_power_of_a_ball_that_begins_at_zero_is_refused(exponent: Any) -> None:
    with pytest.raises(MathematicalError):
        exact.power(FROM_ZERO, exponent)


def test_a_square_root_of_an_exact_ball_stays_exact() -> None:
    assert exact.power(arb(4), F(1, 2)).is_exact()


# --- relations, signs, functions


def test_no_infinity_lies_below_a_number_or_above_one() -> None:
    infinite = arb("inf")
    assert exact.ends(infinite) == (sys.float_info.max, float("inf"))
    assert exact.ends(-infinite) == (-float("inf"), -sys.float_info.max)


def test_rationals_that_no_ball_holds_exactly_are_compared_exactly() -> None:
    third = F(1, 3)
    assert exact.relation("eq", third, third) is True
    assert exact.relation("le", third, third) is True
    assert exact.relation("lt", third, third) is False
    assert exact.relation("lt", third, third + F(1, 10**80)) is True


def test_an_undecided_sign_is_the_hull_of_all_three_and_no_more() -> None:
    found = exact.sign(arb(0, 1))
    assert all(found.contains(arb(value)) for value in (-1, 0, 1))
    assert float(found.lower()) > -1.001
    assert float(found.upper()) < 1.001
    assert exact.sign(arb(-3, 1)) == -1
    assert exact.sign(arb(3, 1)) == 1


def test_only_the_logarithm_asks_for_a_positive_argument() -> None:
    assert exact.transcendental("exp", arb(-1)).overlaps((-arb(1)).exp())
    assert exact.transcendental("sin", arb(-1)).overlaps(-arb(1).sin())
    for value in (arb(0), arb(-1), arb(0, 1), F(0), F(-2)):
        with pytest.raises(MathematicalError, match="logarithm"):
            exact.transcendental("log", value)


# --- trees


class Untyped(TreeEvaluator):
    """Conditions are numbers here."""

    typed = False


@pytest.mark.parametrize("value", [True, False])
def test_a_truth_value_is_its_own_answer(value: bool) -> None:
    assert exact.Formula({}).answer(tree.Truth(value)) is value


def test_where_numbers_are_no_conditions_one_in_the_place_of_a_condition_is_refused() -> None:
    for evaluator, refused in ((TreeEvaluator(exact.EXACT, {}), True), (Untyped(exact.EXACT, {}), False)):
        if refused:
            with pytest.raises(MathematicalError, match="a condition was expected"):
                evaluator.condition(tree.Number(F(2)))
        else:
            assert evaluator.condition(tree.Number(F(2)))({}) == 2


def test_a_compiled_tree_is_kept() -> None:
    evaluator, first, second = TreeEvaluator(exact.EXACT, {}), parse("a + 1"), parse("a + 2")
    function = evaluator.compiled(first)
    assert evaluator.compiled(second)({"a": F(1)}) == 3
    assert evaluator.compiled(first) is function


def test_a_sum_over_nothing_but_a_range_is_refused_by_its_number_of_arguments() -> None:
    node = tree.Call("sum", (tree.Tuple((tree.Letter("i"), tree.Number(F(1)), tree.Number(F(2)))),))
    with pytest.raises(MathematicalError, match="sum of 1 arguments"):
        TreeEvaluator(exact.EXACT, {}).compiled(node)


def test_a_letter_that_is_bound_hides_the_named_constant() -> None:
    values: Mapping[str, Any] = {"pi": F(3)}
    assert exact.Formula(values).value(parse("pi + 1")) == 4
    assert 4.1 < float(exact.Formula({}).value(parse("pi + 1")).mid()) < 4.2


def test_a_letter_without_a_value_is_named() -> None:
    with pytest.raises(UnboundError, match=r"\Aeta has no value\Z"):
        exact.Formula({}).value(parse("eta + 1"))
    with pytest.raises(MathematicalError):  # so that who asks for a value need not know of it
        exact.Formula({}).answer(parse("x > -oo"))


class Lazy(TreeEvaluator):
    """What is not understood is refused where it is reached."""

    lazy = True


@pytest.mark.parametrize(
    "node",
    [
        tree.Call("sum", (tree.Letter("i"), tree.Tuple((tree.Letter("i"), tree.Number(F(1)))))),
        tree.Tuple((tree.Number(F(1)), tree.Number(F(2)))),
        tree.Call("nothing", (tree.Number(F(1)),)),
    ],
)
def test_what_is_not_understood_is_refused_when_it_is_read_or_when_it_is_reached(node: tree.Node) -> None:
    with pytest.raises(MathematicalError):
        TreeEvaluator(exact.EXACT, {}).compiled(node)
    function = Lazy(exact.EXACT, {}).compiled(node)
    with pytest.raises(MathematicalError):
        function({"i": F(1)})


def test_ends_that_are_no_floats_are_widened_or_narrowed_on_both_sides() -> None:
    low, high = F(1, 3), F(2, 3)
    assert rounding.outward(low, high) == (rounding.float_below(low), rounding.float_above(high))
    assert rounding.inward(low, high) == (rounding.float_above(low), rounding.float_below(high))
    wide, thin = rounding.outward(low, low), rounding.inward(low, low)
    assert F(wide[0]) < low < F(wide[1])
    assert F(thin[1]) < low < F(thin[0])  # no float is inside
