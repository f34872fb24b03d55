"""Tests that notice every slip in the toy."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan, nextafter

import pytest
import toy_ends

pytestmark = pytest.mark.fast


def test_hull():
    assert toy_ends.hull((1.0, 2.0), (3.0, 4.0)) == (1.0, 4.0)
    assert toy_ends.hull((3.0, 4.0), (1.0, 2.0)) == (1.0, 4.0)
    assert toy_ends.hull((1.0, 4.0), (2.0, 3.0)) == (1.0, 4.0)


def test_above():
    assert toy_ends.up(1.0) == nextafter(1.0, inf)
    for a, b in [(0.1, 0.2), (1.0, 2.0**-53), (-0.3, 0.1), (1e16, 1.0), (1.0, 1.0)]:
        exact = Fraction(a) + Fraction(b)
        assert exact < Fraction(toy_ends.above(a, b)) <= Fraction(nextafter(nextafter(float(exact), inf), inf))


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0, 1, True),
        (0, 2, None),
        (0, 0.5, True),
        (1, 2, None),
        (1.5, 2, False),
        (nan, 0, None),
        (0, nan, None),
        (nan, 2, None),
    ],
)
def test_decide(low, high, answer):
    assert toy_ends.decide(low, high, 1) is answer


def test_halvings():
    assert [toy_ends.halvings(n) for n in (1, 2, 3, 4, 7, 8)] == [0, 1, 1, 2, 2, 3]


def test_verdict():
    assert toy_ends.verdict([True, True]) == "holds"
    assert toy_ends.verdict([True, None]) == "undecided"
    assert toy_ends.verdict([True, None, False]) == "refuted"
    with pytest.raises(ValueError, match="no answers"):
        toy_ends.verdict([])
