"""Order algebra: where a ray may set out, signs of exponents, letters that nobody declares, logarithms in a speed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sympy

from bilevel_verify.audit.orders import derivations, growth, rays, regimes
from bilevel_verify.audit.orders.growth import compare, growth_of
from bilevel_verify.audit.orders.monomials import Bound, NoOrder, Regime
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Card, Derivation
from bilevel_verify.theorems.reading.reader import read_card

pytestmark = pytest.mark.fast
F = Fraction


@pytest.mark.parametrize(
    ("exponent", "low", "high", "sign"),
    [("nu", 1, 2, 1), ("-nu", 1, 2, -1), ("nu - 3", 1, 2, -1), ("(nu - 3)/nu", 1, 2, -1), ("2*nu**2", 1, 2, 1)],
)
def test_a_sign_is_one_or_minus_one(exponent: str, low: int, high: int, sign: int) -> None:
    assert growth._sign(sympy.sympify(exponent), {"nu": (F(low), F(high))}) == sign


@pytest.mark.parametrize("top", [(0, 0), (0, 1), (1, 2)])
@pytest.mark.parametrize("bottom", [(-1, 1), (0, 0)])
def test_a_quotient_that_may_be_undefined_has_no_sign(top: tuple[int, int], bottom: tuple[int, int]) -> None:
    """Not even where what is above is 0."""
    spans = {"nu": (F(top[0]), F(top[1])), "mu": (F(bottom[0]), F(bottom[1]))}
    with pytest.raises(NoOrder, match="sign"):
        growth._sign(sympy.sympify("nu/mu"), spans)


def test_a_logarithm_that_stays_is_positive_where_the_family_sets_out() -> None:
    """a*b <= 2: a point well inside of that bound would have a*b <= 1, where the logarithm is 0 or negative."""
    row = {"a": F(-1), "b": F(-1)}
    regime = Regime(("a", "b", "c"), (row,), bounds=(Bound(row, F(1)),), fixed=frozenset("ab"))
    for text in ("c*log(a*b)", "c*log(a*b)**3"):
        ray = compare(growth_of(parse(text)), growth_of(parse("1")), regime, signed=True)
        assert ray is not None
        assert ray.direction == {"c": 1}
        assert ray.start.get("a", 0) + ray.start.get("b", 0) == 1


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


# --- signs, sizes, and the same under more hypotheses


@pytest.mark.slow
@pytest.mark.parametrize("text", ["log(a)", "log(a)**3", "b*log(a)", "log(a) + log(a)"])
def test_only_where_signs_count_a_falling_logarithm_is_no_ray(text: str) -> None:
    falls, one = Regime(("a", "b"), ({"a": F(-1)},), fixed=frozenset("b")), growth_of(parse("1"))
    for clause in growth_of(parse(text)).clauses:
        assert rays.separate(clause, one.clauses[0], falls) is not None
        assert rays.separate(clause, one.clauses[0], falls, signed=True) is None
    assert compare(growth_of(parse(text)), one, falls) is not None
    assert compare(growth_of(parse(text)), one, falls, signed=True) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "right", "answer"),
    [
        ("softO(k)**nu", "k**nu", "open"),
        ("log(log(k))**nu", "1", "open"),
        ("log(k)**nu", "log(log(k))**nu", "open"),
        ("softO(k)**(2*nu)", "k**(2*nu)", "open"),
        ("softO(k**nu)", "k**nu", "open"),
        ("softO(k)**nu", "softO(k)**(nu/2)", "ray"),
        ("k**nu", "softO(k)**nu", "none"),
        ("k**(2*nu)", "softO(k)**nu", "ray"),
    ],
)
def test_a_logarithm_of_unknown_size_to_a_power_with_a_letter_counts_against_a_ray(
    left: str, right: str, answer: str
) -> None:
    """What a soft order hides may be nothing, to whatever positive power it is taken."""
    spans = {"nu": (F(1, 2), F(1))}
    regime = Regime(("k",), ({"k": F(1)},), spans)
    one, two = (growth_of(parse(text), spans) for text in (left, right))
    if answer == "open":
        with pytest.raises(NoOrder):
            compare(one, two, regime)
    else:
        assert (compare(one, two, regime) is not None) is (answer == "ray")


def derivation(folder: Path, *where: str, added: str = "", **more: str) -> tuple[Card, Derivation]:
    fields = {"result": "a", "gives": "O(1)", **more}
    text = """
[paper]
key = "orders"
[letters]
a = { domain = "(0, oo)" }
b = { domain = "(0, oo)" }
v = { domain = "(-oo, oo)" }
[[derivation]]
id = "d"
"""
    text += "regime = [" + ", ".join(f'"{w}"' for w in ([added] if added else [])) + "]\n"
    text += "where = [" + ", ".join(f'"{w}"' for w in where) + "]\n"
    text += "".join(f'{name} = "{value}"\n' for name, value in fields.items())
    path = folder / "orders.toml"
    path.write_text(text, encoding="utf8")
    card = read_card(path)
    entry = card.entries["d"]
    assert isinstance(entry, Derivation)
    return card, entry


def test_a_family_under_more_hypotheses_refutes_under_fewer(tmp_path: Path) -> None:
    """min(a, b) <= 1 is certain only on families along which b falls, which the shortest one does not do."""
    card, entry = derivation(tmp_path, "min(a, b) <= 1")
    assert derivations.decide_derivation(card, entry).outcome == "undecided"
    _, refuted = derivation(tmp_path, "min(a, b) <= 1", "a*b <= 1")
    assert derivations.decide_derivation(card, refuted).outcome == "refuted"
    inside = derivations.decide_derivation(card, entry, refuted)
    assert inside.outcome == "refuted"
    assert inside.ray is not None
    assert inside.ray.direction == {"a": 1, "b": -1}
    _, proved = derivation(tmp_path, "min(a, b) <= 1", "a <= 1")
    assert derivations.decide_derivation(card, proved).outcome == "proved"
    assert derivations.decide_derivation(card, entry, proved).outcome == "undecided"  # it says nothing of more points


@pytest.mark.parametrize(("more", "proved"), [({}, False), ({"added": "v >= 0"}, True), ({"added": "v <= 0"}, False)])
def test_the_regime_of_an_entry_counts_for_formulas_too(tmp_path: Path, more: dict[str, str], proved: bool) -> None:
    card, entry = derivation(tmp_path, **more, result="abs(v)", gives="v")
    assert (derivations.decide_derivation(card, entry).outcome == "proved") is proved
