"""Parts of the order algebra by themselves: monomials, rays, sizes, grids, order symbols in substitutions."""

from __future__ import annotations

from fractions import Fraction
from math import log2
from typing import Any

import pytest
import sympy

from bilevel_verify.audit.orders import derivations, growth, regimes
from bilevel_verify.audit.orders.growth import Growth, growth_of
from bilevel_verify.audit.orders.monomials import LogArgument, Monomial, NoOrder, Ray, power_text, rational
from bilevel_verify.audit.orders.rays import _grid
from bilevel_verify.language import parse, to_text
from bilevel_verify.theorems.card_parts import Domain, Expression

pytestmark = pytest.mark.fast
F = Fraction
S = sympy.Integer
NU = sympy.Symbol("nu")


# --- monomials and logarithms


def test_products_and_powers_of_monomials_add_and_scale_every_part() -> None:
    log = LogArgument(frozenset("k"), (((("k", F(1)),),),))
    written = (((("k", F(1)),),),)
    one = Monomial({"a": S(2), "b": S(1)}, {log: S(1)}, ((written, S(1)),))
    two = Monomial({"a": S(-2), "c": NU}, {log: S(2)}, ((written, S(3)),))
    both = one.times(two)
    assert both.exponents == {"b": 1, "c": NU}  # what cancels is gone
    assert both.logs == {log: 3}
    assert [power for _, power in both.signs] == [1, 3]
    cube = two.power(S(3))
    assert (cube.exponents, cube.logs) == ({"a": -6, "c": 3 * NU}, {log: 6})
    assert [power for _, power in cube.signs] == [9]
    exponents, logs = two.at({"nu": F(1, 3)})
    assert exponents == {"a": -2, "c": F(1, 3)}
    assert logs == {log: 2}
    assert one.times(Monomial({}, {log: S(-1)})).logs == {}


def test_a_logarithm_moves_with_its_argument() -> None:
    up = {"k": F(1), "e": F(-1)}
    vague = LogArgument(frozenset("k"))
    assert vague.vague
    assert vague.moved_by(up)
    assert not vague.moved_by({"e": F(1)})
    assert not vague.moved_by({"k": F(0)})
    assert LogArgument(frozenset("ke")).moved_by({"k": F(1)})  # one letter is enough
    assert not LogArgument(frozenset("ke")).moved_by({"m": F(1)})
    ratio = LogArgument(frozenset("ke"), (((("k", F(1)), ("e", F(1))),),))
    assert not ratio.vague
    assert not ratio.moved_by(up)  # k*e stays
    assert ratio.moved_by({"k": F(2), "e": F(-1)})
    largest = LogArgument(frozenset("ke"), (((("k", F(1)),),), ((("e", F(1)),),)))
    assert largest.moved_by({"k": F(1), "e": F(-5)})
    assert not largest.moved_by({"k": F(0), "e": F(-5)})  # the larger one stays
    smallest = LogArgument(frozenset("ke"), (((("k", F(1)),), (("e", F(1)),)),))
    assert not smallest.moved_by({"k": F(3), "e": F(0)})
    assert smallest.moved_by({"k": F(3), "e": F(1)})
    assert smallest.moved_by({"k": F(3), "e": F(-1)})


def test_exponents_are_rational_or_no_order() -> None:
    assert rational(sympy.Rational(-2, 3)) == F(-2, 3)
    assert rational(sympy.Float(0.5)) == F(1, 2)
    for wrong in (sympy.sqrt(2), NU, sympy.pi):
        with pytest.raises(NoOrder):
            rational(wrong)


# --- rays as text


def test_rays_are_written_as_families() -> None:
    ray = Ray(
        {"k": F(2), "e": F(-1), "r": F(1, 2), "z": F(1)}, F(3), at={"nu": F(1, 4)}, start={"k": 3, "m": -2},
        letters=("k", "e", "r", "z", "m", "c"),
    )  # fmt: skip
    assert ray.family() == {
        "c": "1", "e": "t**(-1)", "k": "8*t**2", "m": "1/4", "nu": "1/4", "r": "t**(1/2)", "z": "t",
    }  # fmt: skip
    assert str(ray) == "k = t**2, e = t**(-1), r = t**(1/2), z = t: ratio grows like t**3 at nu = 1/4"
    assert str(Ray({"k": F(1)}, F(0), F(2))) == "k = t: ratio grows like log(t)**2"
    assert power_text("t", F(1)) == "t"
    assert power_text("t", F(-1, 2)) == "t**(-1/2)"


# --- growth


def shown(found: Growth) -> list[list[dict[str, str]]]:
    return [[{n: str(e) for n, e in sorted(m.exponents.items())} for m in clause] for clause in found.clauses]


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("a", [[{"a": "1"}]]),
        ("7*a**2/b", [[{"a": "2", "b": "-1"}]]),
        ("pi*E*a", [[{"a": "1"}]]),
        ("a + b", [[{"a": "1"}], [{"b": "1"}]]),
        ("min(a, b)", [[{"a": "1"}, {"b": "1"}]]),
        ("1/(a + b)", [[{"a": "-1"}, {"b": "-1"}]]),
        ("1/min(a, b)", [[{"a": "-1"}], [{"b": "-1"}]]),
        ("(a + b)**2", [[{"a": "2"}], [{"b": "2"}]]),
        ("(a + b)*c", [[{"a": "1", "c": "1"}], [{"b": "1", "c": "1"}]]),
        ("min(a, b)*c", [[{"a": "1", "c": "1"}, {"b": "1", "c": "1"}]]),
        ("min(a, b, a)", [[{"a": "1"}, {"b": "1"}]]),
        ("sqrt(a)", [[{"a": "1/2"}]]),
        ("ceil(a)", [[{"a": "1"}], [{}]]),
        ("floor(a + 1)", [[{"a": "1"}], [{}]]),
        ("max(a, min(b, c))", [[{"a": "1"}], [{"b": "1"}, {"c": "1"}]]),
        ("a*a/a", [[{"a": "1"}]]),
        ("a/a", [[{}]]),
        ("abs(a)", [[{"a": "1"}]]),
        ("O(a)", [[{"a": "1"}]]),
        ("3/2", [[{}]]),
    ],
)
def test_normal_forms(text: str, clauses: Any) -> None:
    assert shown(growth_of(parse(text))) == clauses


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "a - b", "floor(a)", "floor(1/2 + a)", "cos(a)", "a**b", "2**a", "1 < 2", "-a", "sum(i, (i, 1, a))"],
)
def test_what_has_no_order(text: str) -> None:
    with pytest.raises(NoOrder):
        growth_of(parse(text))


def test_too_many_branches_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "BRANCH_LIMIT", 4)
    assert len(growth_of(parse("(a + b)*(c + d)")).clauses) == 4
    with pytest.raises(NoOrder, match="branches"):
        growth_of(parse("(a + b)*(c + d + e)"))
    assert len(growth_of(parse("1/((min(a, b) + min(c, d)))")).clauses) == 4
    with pytest.raises(NoOrder, match="branches"):
        growth_of(parse("1/(min(a, b) + min(c, d, e))"))
    assert len(growth_of(parse("min(a, b) + min(c, d)")).dual()) == 4
    with pytest.raises(NoOrder, match="branches"):
        growth_of(parse("min(a, b) + min(c, d, e)")).dual()


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("a*b", "b*a", True),
        ("a", "a*b", False),
        ("a*b", "a", False),
        ("log(a)", "1", False),
        ("1", "log(a)", False),
        ("log(a)*b", "b*log(a**2)", True),
        ("a + b", "a", None),
        ("a", "min(a, b)", None),
    ],
)
def test_single_monomials_agree_in_every_exponent(left: str, right: str, same: bool | None) -> None:
    assert growth.same_monomial(growth_of(parse(left)), growth_of(parse(right))) is same


# --- sizes, grids, ranges


@pytest.mark.parametrize("value", [F(1), F(8), F(1, 8), F(3), F(5, 7), F(7, 5), F(1, 3), F(1023), F(1025), F(1, 1025)])
def test_whole_logarithms_on_either_side(value: Fraction) -> None:
    low, high = regimes._log2(value, False), regimes._log2(value, True)
    assert F(2) ** int(low) <= value <= F(2) ** int(high)
    assert high - low == (0 if log2(value).is_integer() else 1)


def interval(low: str | None, high: str | None, kind: Any = "interval") -> Domain:
    ends = [None if t is None else Expression(parse(t), t) for t in (low, high)]
    return Domain("", kind, ends[0], ends[1])


def test_finite_ranges_have_two_numbers_for_ends() -> None:
    assert regimes.finite(interval("0", "1/2")) == (0, F(1, 2))
    for domain in (None, interval(None, "1"), interval("0", None), interval("a", "1"), interval("0", "a")):
        assert regimes.finite(domain) is None
    assert regimes.finite(interval("0", "oo")) is None


def test_grids_take_what_the_hypotheses_admit() -> None:
    spans = {"nu": (F(0), F(1))}
    every = regimes._grid(spans, [], frozenset())
    assert sorted(one["nu"] for one in every) == [0, F(1, 4), F(1, 2), F(3, 4), 1]
    some = regimes._grid(spans, [parse("nu > 0"), parse("nu <= 1/2")], frozenset())
    assert sorted(one["nu"] for one in some) == [F(1, 4), F(1, 2)]
    assert regimes._grid(spans, [parse("nu >= unknown")], frozenset()) == ()
    whole = regimes._grid({"m": (F(1), F(3))}, [], frozenset({"m"}))
    assert sorted(one["m"] for one in whole) == [1, 2, 3]
    two = regimes._grid({"m": (F(1), F(1)), "nu": (F(0), F(1))}, [parse("nu < m")], frozenset({"m"}))
    assert len(two) == 4
    assert sorted(one["nu"] for one in _grid({"nu": (F(2), F(4))})) == [2, F(5, 2), 3, F(7, 2), 4]


@pytest.mark.parametrize(
    ("condition", "direction", "start", "holds"),
    [
        ("a <= 4", {}, {"a": 2}, True),
        ("a < 4", {}, {"a": 2}, False),
        ("a <= 4", {"b": 1}, {"a": 3}, False),
        ("a <= b", {"b": 1}, {}, True),
        ("a <= b", {"a": 1}, {}, False),
        ("a <= b", {"a": 1, "b": 1}, {}, False),  # not by a power
        ("b >= a", {"b": 1}, {}, True),
        ("b > a", {"b": 1}, {}, True),
        ("a < b", {"a": -1}, {}, True),
        ("a == b", {"b": 1}, {}, False),
        ("a <= b <= c", {"b": 1, "c": 2}, {}, False),
        ("a + b > 0", {"a": -1}, {}, True),
        ("a - b > 0", {"a": 1}, {}, False),
        ("log(b) >= a", {"b": 1}, {}, False),
        ("min(a, b) <= c", {"a": 1, "b": -1}, {}, True),
        ("max(a, b) <= c", {"a": 1, "b": -1}, {}, False),
    ],
)
def test_a_relation_holds_along_a_family(condition: str, direction: Any, start: Any, holds: bool) -> None:
    ray = Ray({n: F(v) for n, v in direction.items()}, F(1), start=start)
    assert regimes.satisfied(parse(condition), ray) is holds


# --- derivations


@pytest.mark.parametrize(
    ("node", "value", "complains"),
    [
        ("a*K", "O(1/e)", False),
        ("a/K", "O(1/e)", True),
        ("a/K", "softO(1/e)", True),
        ("a*K**(-2)", "O(1/e)", True),
        ("a/K**(-2)", "O(1/e)", False),
        ("1/(b + 1/K)", "O(1/e)", False),
        ("K + 1/K", "O(1/e)", True),
        ("a*K", "Omega(1/e)", True),
        ("a/K", "Omega(1/e)", False),
        ("a/K", "Theta(1/e)", False),
        ("a/K", "1/e", False),
        ("a*K**(-nu)", "O(1/e)", True),
        ("a*K**(1 - nu)", "O(1/e)", False),
        ("b", "O(1/e)", False),
    ],
)
def test_order_symbols_bound_from_one_side(node: str, value: str, complains: bool) -> None:
    assert bool(derivations.bookkeeping(parse(node), {"other": parse("2"), "K": parse(value)})) is complains


@pytest.mark.parametrize(
    ("text", "added", "taken"),
    [
        ("a - b", "a", "b"),
        ("a + c - b", "a + c", "b"),
        ("a - b - c", "a", "b + c"),
        ("a + b", "a + b", None),
        ("a", "a", None),
        ("-a - b", "-a - b", None),
    ],
)
def test_terms_that_are_taken_away(text: str, added: str, taken: str | None) -> None:
    one, other = derivations._signed(parse(text))
    assert to_text(one) == to_text(parse(added))
    assert (None if other is None else to_text(other)) == (None if taken is None else to_text(parse(taken)))


@pytest.mark.parametrize(
    ("faster", "slower", "ray", "seen"),
    [
        ("k**2", "k", Ray({"k": F(1)}, F(1)), True),
        ("k", "k**2", Ray({"k": F(1)}, F(1)), False),
        ("k", "k", Ray({"k": F(1)}, F(1)), False),
        ("O(k**2)", "softO(k)", Ray({"k": F(1)}, F(1)), True),
        ("k*log(k)", "k", Ray({"k": F(1)}, F(0), F(1)), True),
        ("k", "k*log(k)", Ray({"k": F(1)}, F(0), F(1)), False),
        ("-k**2", "-k", Ray({"k": F(1)}, F(1)), False),
        ("k**2", "-k", Ray({"k": F(1)}, F(1)), False),
        ("k**(1 + nu)", "k", Ray({"k": F(1)}, F(1, 2), at={"nu": F(1, 2)}), True),
        ("k**2 - c*k**3", "k", Ray({"k": F(1)}, F(1)), False),
        ("k*m", "k", Ray({"m": F(1)}, F(1), start={"k": 5}), True),
        ("k**(7/10)", "1", Ray({"k": F(1)}, F(1)), True),  # half of the rate is asked for
        ("k**(2/5)", "1", Ray({"k": F(1)}, F(1)), False),
        ("log(k)**(7/10)", "1", Ray({"k": F(1)}, F(0), F(1)), True),
        ("log(k)**(2/5)", "1", Ray({"k": F(1)}, F(0), F(1)), False),
    ],
)
def test_ratios_are_seen_to_grow(faster: str, slower: str, ray: Ray, seen: bool) -> None:
    assert derivations.grows(parse(faster), parse(slower), ray) is seen


def test_a_ratio_is_taken_on_the_family() -> None:
    ray = Ray({"k": F(1), "e": F(-1, 2)}, F(1), at={"nu": F(2)}, start={"k": 3, "m": -2})
    for text, exponent, value in (("k", 4, 128), ("1/e", 4, 4), ("1/m", 4, 4), ("nu", 4, 2), ("k*c", 0, 8)):
        found = derivations._ratio((parse(text), parse("1")), ray, exponent)
        assert abs(float(found) - value) < 1e-9, text
    for top, bottom in (("-k", "1"), ("1", "-k"), ("-k", "-k"), ("k - k", "1")):
        assert derivations._ratio((parse(top), parse(bottom)), ray, 4) is None
