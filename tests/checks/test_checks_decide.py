"""Verdicts from enclosures: never `holds` when the exact rationals say the opposite."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from bilevel_verify.checks.claims import decide
from bilevel_verify.checks.claims import values as v

rationals = st.fractions(min_value=-10, max_value=10, max_denominator=999)
radii = st.sampled_from([0.0, 0.0, 1e-12, 1e-3, 0.5, float("inf")])
OPERATORS = ["<", "<=", ">", ">=", "=="]


def blurred(number: Fraction, radius: float, shift: float) -> arb:
    """A ball that contains the rational."""
    return v.ball(number) + arb(radius * shift, radius) if radius else v.ball(number)


@given(rationals, rationals, radii, radii, st.floats(-1, 1), st.sampled_from(OPERATORS))
def test_never_holds_against_the_rationals(a, b, ra, rb, shift, operator):
    truth = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b}[operator]
    left, right = blurred(a, ra, shift), blurred(b, rb, -shift)
    judgement = decide.judge(left, operator, right)
    assert judgement.answer in (None, truth)
    if judgement.answer is None:
        assert judgement.reason.startswith(("tie", "precision"))
    else:
        assert (judgement.margin >= 0) == judgement.answer or judgement.margin == 0


@given(rationals, st.sampled_from(OPERATORS), st.booleans())
def test_nan_is_undecided_for_want_of_precision(a, operator, left):
    nan = arb("nan")
    judgement = decide.judge(nan, operator, a) if left else decide.judge(a, operator, nan)
    assert judgement.answer is None
    assert judgement.reason.startswith("precision")


def test_exact_sides_compare_exactly_and_a_tie_is_a_tie():
    assert decide.judge(Fraction(1, 3), "<=", Fraction(1, 3)).answer is True
    assert decide.judge(Fraction(1, 3), "<", Fraction(1, 3)).answer is False
    third = decide.judge(v.ball(Fraction(1, 3)), "<=", v.ball(Fraction(1, 3)))
    assert third.answer is None
    assert third.reason == "tie"


def test_the_ends_that_count():
    judgement = decide.judge(arb(1, 0.25), "<=", arb(2, 0.5))
    assert judgement.answer is True
    assert judgement.measured == pytest.approx(1.25)
    assert judgement.bound == pytest.approx(1.5)
    assert judgement.margin == pytest.approx(0.25 / 1.5)
    judgement = decide.judge(arb(2, 0.25), ">=", arb(1, 0.25))
    assert (judgement.measured, judgement.bound) == (pytest.approx(1.75), pytest.approx(1.25))
    assert judgement.margin > 0


def test_a_tally_needs_every_place():
    tally = decide.Tally()
    assert tally.outcome() == ("not applicable", "vacuous")
    tally.skip("proved")
    assert tally.outcome()[1].startswith("vacuous")
    for number in range(1, 12):
        tally.take(decide.judge(Fraction(1, number), "<=", Fraction(2), where=f"k = {number}"))
    assert tally.outcome() == ("holds", "")
    assert tally.shown is not None
    assert tally.shown.where == "k = 1"
    tally.take(decide.undecided("not recorded"))
    assert tally.outcome()[0] == "undecided"
    tally.take(decide.judge(Fraction(3), "<=", Fraction(2), "certified", "k = 12"))
    assert tally.outcome()[0] == "refuted"
    assert tally.shown.where == "k = 12"
    assert tally.certainty == "computed"


@given(st.lists(st.tuples(rationals, rationals), min_size=1, max_size=8))
def test_a_tally_holds_only_if_all_hold(pairs):
    tally = decide.Tally()
    for a, b in pairs:
        tally.take(decide.judge(a, "<=", b))
    assert (tally.outcome()[0] == "holds") == all(a <= b for a, b in pairs)


def test_summary_of_a_statement():
    assert decide.summary(["holds", "undecided", "refuted"]) == "refuted"
    assert decide.summary(["holds", "undecided", "not applicable"]) == "undecided"
    assert decide.summary(["holds", "not applicable", "consistent"]) == "holds"
    assert decide.summary(["not applicable"]) == "not applicable"
    assert decide.summary(["uninformative", "consistent"]) == "consistent"
