"""Order algebra: where a ray may set out, signs of exponents, letters that nobody declares, logarithms in a speed."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
import sympy

from bilevel_verify.audit.orders import growth, regimes
from bilevel_verify.audit.orders.growth import compare, growth_of
from bilevel_verify.audit.orders.monomials import Bound, NoOrder, Regime
from bilevel_verify.language import parse

pytestmark = pytest.mark.fast
F = Fraction


@pytest.mark.parametrize(
    ("exponent", "low", "high", "sign"),
    [("nu", 1, 2, 1), ("-nu", 1, 2, -1), ("nu - 3", 1, 2, -1), ("(nu - 3)/nu", 1, 2, -1), ("2*nu**2", 1, 2, 1)],
)
def test_a_sign_is_one_or_minus_one(exponent: str, low: int, high: int, sign: int) -> None:
    assert growth._sign(sympy.sympify(exponent), {"nu": (F(low), F(high))}) == sign


def test_a_letter_that_nobody_declares_has_no_range() -> None:
    card: Any = SimpleNamespace(letters={"a": SimpleNamespace(domain=None)})
    entry: Any = SimpleNamespace(for_={})
    assert regimes.domain_of(card, entry, "a") is None
    assert regimes.domain_of(card, entry, "b") is None


@pytest.mark.parametrize("text", ["k*log(k) + k**2", "k**2 + k*log(k)", "max(k, log(k))", "k*log(k)"])
def test_one_logarithm_among_powers_has_no_speed(text: str) -> None:
    with pytest.raises(NoOrder, match="logarithm"):
        regimes._speed(parse(text), {"k": F(1)}, {})


def test_the_speed_of_a_sum_is_that_of_its_fastest_term() -> None:
    assert regimes._speed(parse("k + k**2"), {"k": F(1)}, {}) == 2
    assert regimes._speed(parse("min(k, k**2)"), {"k": F(1)}, {}) == 1


def test_a_strict_hypothesis_does_not_hold_at_its_end() -> None:
    """k > l and k <= l together: there is no point to set out from, although one would satisfy both as >=."""
    apart, back = {"k": F(1), "l": F(-1)}, {"k": F(-1), "l": F(1)}
    rows = (apart, back)
    regime, fits = (
        Regime(("k", "l"), rows, {}, bounds=(Bound(apart, F(0), strict), Bound(back))) for strict in (True, False)
    )
    sides = growth_of(parse("k*log(k)"), {}), growth_of(parse("1"), {})
    assert compare(*sides, fits) is not None
    with pytest.raises(NoOrder, match="starting point"):
        compare(*sides, regime)
