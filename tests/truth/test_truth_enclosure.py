"""Enclosures: which end is rounded where, the weakest certainty, and what is refused."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.truth.arithmetic.enclosure import RANK, Enclosure, between, flattened, is_witness, weakest

pytestmark = pytest.mark.fast
ORDER = ("proved", "certified", "computed", "sampled")


def test_the_weakest_of_all_pairs_and_of_none() -> None:
    assert list(RANK) == list(ORDER)
    for (i, a), (j, b) in itertools.product(enumerate(ORDER), repeat=2):
        assert weakest(a, b) == ORDER[max(i, j)]  # type: ignore[arg-type]
    assert weakest() == "proved"
    assert weakest("certified", "proved", "sampled", "computed") == "sampled"


def test_what_is_exact_or_rounded_outward_may_refute_and_nothing_else() -> None:
    assert [is_witness(level) for level in ORDER] == [True, True, False, False]  # type: ignore[arg-type]


def test_ends_are_rounded_outward() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        value, error = float(rng.normal() * 10.0 ** rng.integers(-8, 8)), float(10.0 ** rng.uniform(-20, 3))
        found = Enclosure(value, error)
        assert Fraction(found.lower) < Fraction(value) - Fraction(error)
        assert Fraction(found.upper) > Fraction(value) + Fraction(error)
        assert found.upper - found.lower <= 2 * error + 8 * np.spacing(abs(value) + error)


def test_an_exact_value_has_equal_ends() -> None:
    found = Enclosure(0.1, 0.0, "proved")
    assert (found.lower, found.upper) == (0.1, 0.1)
    assert Enclosure(-np.inf, 0.0).lower == Enclosure(-np.inf, 0.0).upper == -np.inf


@pytest.mark.parametrize(
    ("value", "error"),
    [(np.nan, 0.0), (1.0, np.nan), (1.0, -1e-300), (np.array([0.0, np.nan]), 1.0), (np.array([[np.nan]]), 1.0)],
)
def test_no_number_is_no_enclosure(value: float, error: float) -> None:
    with pytest.raises(ValueError, match="not an enclosure"):
        Enclosure(value, error)


def test_infinite_errors_are_allowed_and_certainty_is_computed_by_default() -> None:
    found = Enclosure(1.0, np.inf)
    assert (found.lower, found.upper, found.certainty, found.attained) == (-np.inf, np.inf, "computed", None)


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.3), (-1e300, 1e300), (-3.0, -1.0), (1.0, 1.0 + 2**-52)])
def test_between_covers_both_ends(low: float, high: float) -> None:
    found = between(low, high, "certified", "m", True)
    assert Fraction(float(found.value)) - Fraction(found.error) <= Fraction(low)
    assert Fraction(float(found.value)) + Fraction(found.error) >= Fraction(high)
    assert found.error <= 0.5 * (high - low) * (1 + 1e-15) + np.spacing(max(abs(low), abs(high)))
    assert (found.certainty, found.method, found.attained) == ("certified", "m", True)


@pytest.mark.parametrize("value", [5e-324, -5e-324, 1e-323, 0.1, 1.7e308, 0.0])
def test_between_equal_ends_is_that_value(value: float) -> None:
    found = between(value, value, "certified", "m")
    assert (found.value, found.error, found.lower, found.upper) == (value, 0.0, value, value)


@pytest.mark.parametrize(
    ("low", "high"), [(1.0, 1.0 + 2**-52), (1 + 2**-52, 1 + 2**-51), (0.0, 5e-324), (-5e-324, 0.0), (-5e-324, 5e-324)]
)
def test_between_neighbours_covers_the_end_that_the_middle_is_not(low: float, high: float) -> None:
    found = between(low, high, "certified", "m")
    assert Fraction(float(found.value)) - Fraction(found.error) <= Fraction(low)
    assert Fraction(float(found.value)) + Fraction(found.error) >= Fraction(high)


def test_between_equal_ends_is_exact_and_infinite_ends_are_refused() -> None:
    assert between(0.1, 0.1, "proved", "m").error == 0.0
    assert between(0.1, 0.1, "proved", "m").attained is None
    for low, high in ((-np.inf, 0.0), (0.0, np.inf), (-np.inf, np.inf)):
        with pytest.raises(bv.MathematicalError, match="only one side is known"):
            between(low, high, "proved", "m")


def test_columns_become_vectors_and_keep_everything_else() -> None:
    found = flattened(Enclosure(np.array([[1.0], [2.0]]), 0.5, "certified", "m", True))
    assert np.asarray(found.value).shape == (2,)
    assert (found.error, found.certainty, found.method, found.attained) == (0.5, "certified", "m", True)


def test_texts() -> None:
    assert str(Enclosure(0.5, 0.25, "certified", "m")) == "0.5 ± 0.25 (certified, m)"
    assert str(Enclosure(0.5, 0.25)) == "0.5 ± 0.25 (computed)"
    assert str(Enclosure(np.array([0.5]), 0.25)) == "[0.5] ± 0.25 (computed)"
    assert Enclosure(0.5, 0.25)._repr_latex_() == r"$0.5 \pm 0.25$"
    assert Enclosure(np.array([0.5]), 0.25)._repr_latex_() is None
    assert Enclosure(np.inf, 0.0)._repr_latex_() is None
