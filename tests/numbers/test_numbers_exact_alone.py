"""Exact scalars alone: every side condition of a power, a quotient, a rounding, against fractions and many digits."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import arb

from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import parse
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.exact import (
    EXACT,
    FUNCTIONS,
    LARGEST,
    LARGEST_WHOLE,
    Formula,
    ends,
    hull,
    integer,
    middle,
    rational,
)
from bilevel_verify.numbers.powers import LONGEST
from bilevel_verify.numbers.rounding import precision

pytestmark = pytest.mark.fast
F = Fraction
TO_ZERO = arb(1, 1)
"""A ball of all numbers in [0, 2], and by the rounding of its radius of a few below."""


def holds(ball: Any, *values: Any) -> bool:
    """The ball contains every value (floats are exact; fractions as balls of 200 bits overlap)."""
    with precision(200):
        return all(
            ball.overlaps(arb(v.numerator) / v.denominator) if isinstance(v, Fraction) else ball.contains(arb(v))
            for v in values
        )


# --- powers


def test_powers_of_rationals_are_rationals_where_they_are() -> None:
    assert exact.power(F(4, 9), F(1, 2)) == F(2, 3)
    assert exact.power(F(-2), F(3)) == -8
    assert exact.power(F(-2), F(-3)) == F(-1, 8)
    assert exact.power(TO_ZERO, F(0)) == 1
    assert exact.power(F(0), F(1, 3)) == 0


@pytest.mark.parametrize(
    ("base", "exponent"),
    [
        (F(2), F(1, 2)),
        (F(4, 3), F(-1, 2)),
        (F(2), F(2, 3)),
        (F(3, 7), F(5, 2)),
        (F(2), F(LONGEST)),
        (F(1, 2), F(LONGEST)),
    ],
)
def test_powers_that_are_not_rational_or_too_long_are_balls(base: Fraction, exponent: Fraction) -> None:
    found = exact.power(base, exponent)
    assert isinstance(found, arb)
    back = found**exponent.denominator  # against the whole power, which is rational
    with precision(400):
        wanted = arb(base.numerator) / base.denominator
        wanted = wanted**exponent.numerator
        assert back.overlaps(wanted)
    assert float((found / found.mid()).rad()) < 1e-9


def test_a_zero_ball_to_a_positive_power_is_zero() -> None:
    assert exact.power(arb(0), F(1, 2)) == 0
    assert exact.power(arb(0), arb(0.25)) == 0
    assert isinstance(exact.power(arb(0), F(1, 2)), Fraction)


def test_whole_powers_of_balls_and_roots() -> None:
    assert holds(exact.power(arb(3), F(2)), 9)
    assert holds(exact.power(arb(2), F(-1)), 0.5)
    assert holds(exact.power(TO_ZERO, F(2)), 0, 1, 4)
    assert FUNCTIONS["sqrt"](F(9, 4)) == F(3, 2)


def test_conditions_are_decided_from_the_left() -> None:
    """What is not reached need not be defined."""
    formula = Formula({"a": F(0)})
    assert formula.answer(parse("a == 0 or 1/a > 0")) is True
    assert formula.answer(parse("a > 0 and 1/a > 0")) is False
    with pytest.raises(MathematicalError):
        formula.answer(parse("1/a > 0 or a == 0"))


def test_broken_powers_of_positive_balls_against_many_digits() -> None:
    for exponent in (F(1, 3), F(-2, 7), arb(0.3), arb(-1.75)):
        plain = F(exponent.mid().str(30, radius=False)) if isinstance(exponent, arb) else exponent
        with mpmath.workdps(30):
            true = mpmath.mpf(3) ** (mpmath.mpf(plain.numerator) / plain.denominator)
        assert float(exact.power(arb(3), exponent).mid()) == pytest.approx(float(true), rel=1e-14)


@pytest.mark.parametrize(
    ("base", "exponent"),
    [
        (F(0), F(-1)),
        (TO_ZERO, F(-2)),
        (arb(0, 1), F(-1)),
        (F(-1), F(1, 2)),
        (arb(0, 1), F(1, 2)),
        (arb(-1), arb(0.5)),
        (TO_ZERO, F(1, 2)),
        (TO_ZERO, arb(0.5)),
        (TO_ZERO, F(-1, 2)),
        (TO_ZERO, arb(-0.5)),
        (arb(0), F(-1, 2)),
        (TO_ZERO, arb(0, 1)),
    ],
)
def test_undefined_powers_are_refused(base: Any, exponent: Any) -> None:
    with pytest.raises(MathematicalError):
        exact.power(base, exponent)


# --- the four operations


def test_mixed_operands_keep_both_sides() -> None:
    assert holds(exact.add(F(1, 3), arb(2)), F(7, 3))
    assert holds(exact.add(arb(2), F(1, 3)), F(7, 3))
    assert holds(exact.multiply(F(1, 3), arb(2)), F(2, 3))
    assert holds(exact.divide(F(1), arb(3)), F(1, 3))
    assert holds(exact.divide(arb(1), F(3)), F(1, 3))
    assert exact.divide(F(1), F(3)) == F(1, 3)


@pytest.mark.parametrize("bottom", [F(0), arb(0), arb(0, 1), TO_ZERO])
def test_a_denominator_that_may_be_zero_is_refused(bottom: Any) -> None:
    with pytest.raises(MathematicalError):
        exact.divide(F(1), bottom)
    with pytest.raises(MathematicalError):
        exact.divide(arb(1), bottom)


def test_zero_times_anything_is_zero_but_a_ball_is_no_symbol() -> None:
    assert exact.multiply(F(0), arb("inf")) == F(0)
    assert exact.multiply(arb("inf"), F(0)) == F(0)
    assert exact.multiply(arb(0), arb("inf")).is_nan()
    assert isinstance(exact.multiply(F(2), F(3)), Fraction)


def test_rationals_beyond_a_length_become_balls() -> None:
    long = F(2) ** (LONGEST // 2)
    assert isinstance(exact.multiply(long, F(3)), Fraction)
    for found in (exact.multiply(long, long), exact.add(long * long, F(1, 3)), exact.divide(long, F(1, 3) / long)):
        assert isinstance(found, arb)


# --- order, rounding, integers


def test_larger_and_smaller_where_it_is_decided_and_where_not() -> None:
    assert exact.larger(F(1), F(2)) == 2 == exact.smaller(F(3), F(2))
    assert exact.larger(F(2), F(1)) == 2 == exact.smaller(F(2), F(3))
    touching = exact.hull(F(1), F(2))  # the hull of two floats has them for ends
    upper = touching.upper()
    assert exact.smaller(touching, upper) is touching  # decided although they touch
    assert exact.larger(upper, touching) is upper
    wide = exact.larger(arb(1, 1), F(1))
    assert holds(wide, 1, 2)
    assert not holds(wide, 0.5)
    thin = exact.smaller(arb(1, 1), F(1))
    assert holds(thin, 0, 1)
    assert not holds(thin, 1.5)


def test_roundings_of_balls() -> None:
    assert exact.rounded(F(-3, 2), up=True) == -1
    assert exact.rounded(F(-3, 2), up=False) == -2
    assert exact.rounded(arb(2.5, 0.25), up=False) == 2
    assert exact.rounded(arb(2.5, 0.25), up=True) == 3
    assert holds(exact.rounded(arb(2, 0.25), up=False), 1, 2)
    assert holds(exact.rounded(arb(2, 0.25), up=True), 2, 3)
    with pytest.raises(MathematicalError):
        exact.rounded(arb("inf"), up=True)


def test_signs() -> None:
    assert [exact.sign(v) for v in (F(3), F(-3), F(0), arb(2), arb(-2), arb(0))] == [1, -1, 0, 1, -1, 0]
    assert holds(exact.sign(TO_ZERO), -1, 0, 1)


def test_integers_are_told_or_refused() -> None:
    assert integer(F(7), "k") == 7
    assert integer(arb(7), "k") == 7
    for value in (F(7, 2), arb(0.5), arb(7, 0.1), arb(7, 1), arb("nan")):
        with pytest.raises(MathematicalError, match="k"):
            integer(value, "k")


def test_factorials_within_their_range() -> None:
    assert FUNCTIONS["factorial"](F(5)) == 120
    assert FUNCTIONS["binomial"](F(5), F(2)) == 10
    assert FUNCTIONS["factorial"](F(0)) == 1
    assert FUNCTIONS["factorial"](F(LARGEST_WHOLE)) == math.factorial(LARGEST_WHOLE)
    for value in (F(-1), F(LARGEST_WHOLE + 1)):
        with pytest.raises(MathematicalError):
            FUNCTIONS["factorial"](value)
        with pytest.raises(MathematicalError):
            FUNCTIONS["binomial"](value, F(2))
        with pytest.raises(MathematicalError):
            FUNCTIONS["binomial"](F(2), value)


# --- elementary functions, selection, conversions


def test_known_values_stay_rational_and_orders_are_told_apart() -> None:
    known = {"exp": 0, "sin": 0, "cos": 0, "cosh": 0, "log": 1}
    for name, at in known.items():
        assert EXACT.atom(name, 0, F(at), ()) == getattr(math, name)(at)
        assert isinstance(EXACT.atom(name, 0, F(at), ()), Fraction)
        assert not isinstance(EXACT.atom(name, 0, F(at) + F(1, 2), ()), Fraction)
    assert holds(EXACT.atom("log", 1, F(2), ()), 0.5)
    assert holds(EXACT.atom("exp", 1, F(0), ()), 1)
    for value in (F(0), F(-1), TO_ZERO, arb(0)):
        with pytest.raises(MathematicalError):
            exact.transcendental("log", value)


def test_a_choice_takes_the_branch_that_is_told_and_both_where_none_is() -> None:
    assert EXACT.select(True, F(1), F(5)) == 1
    assert EXACT.select(False, F(1), F(5)) == 5
    assert holds(EXACT.select(None, F(1), F(5)), 1, 3, 5)


def test_absolute_values() -> None:
    assert EXACT.absolute(F(-3)) == 3 == EXACT.absolute(F(3))
    assert holds(EXACT.absolute(arb(0, 2)), 0, 2)
    assert FUNCTIONS["plus"](F(-3)) == 0
    assert FUNCTIONS["plus"](F(3)) == 3


def test_conversions_round_outwards_and_keep_every_bit() -> None:
    assert hull(F(1), F(1)) == F(1)
    assert isinstance(hull(F(1), F(1)), Fraction)
    assert holds(hull(F(1), F(2)), 1, 1.5, 2)
    low, high = ends(F(1, 3))
    assert F(low) < F(1, 3) < F(high)
    assert math.nextafter(low, math.inf) == high
    assert ends(F(1, 2)) == (0.5, 0.5)
    assert ends(arb("inf")) == (LARGEST, math.inf)
    assert ends(-arb("inf")) == (-math.inf, -LARGEST)
    assert all(map(math.isnan, ends(arb("nan"))))
    with precision(200):
        third = arb(1) / 3
    assert middle(third) == 1 / 3 == middle(F(1, 3))
    assert abs(rational(third) - F(1, 3)) < F(1, 2**190)
    assert rational(F(2, 7)) == F(2, 7)


def test_named_constants_and_protocol_numbers() -> None:
    assert float(EXACT.named("pi").mid()) == math.pi
    assert float(EXACT.named("E").mid()) == math.e
    assert EXACT.constant(3) == F(3)
    assert isinstance(EXACT.constant(3), Fraction)
    assert EXACT.neg(F(2)) == -2
    assert EXACT.floor(F(7, 2)) == 3
    assert EXACT.ceil(F(7, 2)) == 4
    assert holds(EXACT.logsumexp([F(0), F(0)]), F(693147180559945309417232, 10**24))
