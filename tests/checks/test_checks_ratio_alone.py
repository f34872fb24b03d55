"""The share of a bound that a place uses up, and which place of a claim is its closest."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest
from flint import arb

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.decide import Judgement, Tally, judge, ratio_of


@pytest.mark.parametrize(
    ("left", "op", "right", "share"),
    [
        (1, "<=", 2, 0.5),
        (2, "<=", 1, 2.0),
        (2, ">=", 1, 0.5),
        (1, ">=", 2, 2.0),
        (-2, "<=", -1, 0.5),
        (-1, "<=", -2, 2.0),
        (3, "<=", 3, 1.0),
        (0, "<=", 3, 0.0),
        (-1, "<=", 3, -1 / 3),
        (3, "<=", 0, inf),
    ],
)
def test_shares(left, op, right, share):
    assert ratio_of(judge(Fraction(left), op, Fraction(right))) == pytest.approx(share)


@pytest.mark.parametrize("place", [None, judge(Fraction(0), "<=", Fraction(0)), judge(arb("nan"), "<=", arb(1))])
def test_places_that_say_nothing(place):
    assert ratio_of(place) == -inf


def test_a_tie_is_one_and_wide_balls_say_nothing():
    third = v.ball(Fraction(1, 3))
    assert ratio_of(judge(third, "<=", third * 1)) == 1.0
    assert ratio_of(judge(arb(1, 0.5), "<=", arb(1, 0.5))) == -inf


def test_the_closest_place_is_that_of_the_largest_share_where_both_sides_do_not_vanish():
    tally = Tally()
    for left, right in ((0, 0), (1, 10), (9, 10), (5, 10)):
        tally.take(judge(Fraction(left), "<=", Fraction(right), where=f"{left}"))
    assert tally.tightest is not None
    assert tally.tightest.where == "0"
    assert tally.closest is not None
    assert tally.closest.where == "9"


def test_a_violation_of_the_size_of_rounding_is_no_share():
    tally = Tally()
    tally.take(Judgement(False, 1e-17, 1e-20, -0.999, gap=1e-17))
    assert tally.closest is None
    assert tally.violated == 1
    tally.take(Judgement(False, 2e-13, 1e-20, -0.999, gap=1e-13))
    assert tally.closest is not None
