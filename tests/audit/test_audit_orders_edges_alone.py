"""Edges of the order algebra: ends of ranges, factors under powers, several logarithms, what is said of nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
import sympy
from audit_pieces import judged

from bilevel_verify.audit.orders import derivations, growth, rays, regimes
from bilevel_verify.audit.orders.growth import Growth, compare, growth_of
from bilevel_verify.audit.orders.monomials import Bound, Monomial, NoOrder, Ray, Regime
from bilevel_verify.language import parse, to_text
from bilevel_verify.theorems.card_parts import Domain, Expression

pytestmark = pytest.mark.fast
F = Fraction
RISES, FALLS = {"k": F(1)}, {"k": F(-1)}


def ray_of(left: str, right: str, regime: Regime, signed: bool = False) -> Ray | None:
    one, two = (growth_of(parse(text), regime.exponents) for text in (left, right))
    return compare(one, two, regime, signed)


# --- exponents: both ends of their range, and where they are not defined


@pytest.mark.parametrize("end", [F(1), F(3, 2)])
def test_a_range_of_one_point_is_that_point(end: Fraction) -> None:
    regime = Regime(("k",), (RISES,), {"nu": (end, end)})
    ray = ray_of("k**nu", "1", regime)
    assert ray is not None
    assert (ray.at, ray.direction["k"] * end) == ({"nu": end}, ray.rate)
    assert ray_of("k**nu", f"k**({end})", regime) is None
    assert ray_of(f"k**({end})", "k**nu", regime) is None


def test_where_an_exponent_divides_by_zero_nothing_is_asked() -> None:
    ray = ray_of("k**(1/nu)", "k", Regime(("k",), (RISES,), {"nu": (F(0), F(1))}))
    assert ray is not None
    assert ray.at["nu"] not in (0, 1)
    grid = ({"nu": F(0)}, {"nu": F(1)})
    with pytest.raises(NoOrder, match="grid"):
        ray_of("k**(1/nu)", "k", Regime(("k",), (RISES,), {"nu": (F(0), F(1))}, grid=grid))


@pytest.mark.parametrize(
    ("exponent", "low", "high", "sign"),
    [
        ("nu", 0, 1, 1), ("-nu", 0, 1, -1), ("nu - 2", 0, 1, -1), ("nu - 2", 0, 2, -1), ("nu - 1", 0, 2, None),
        ("nu**2", -1, 1, 1), ("-nu**2", -1, 1, -1), ("nu**3", 0, 1, 1), ("nu**3", -1, 0, -1), ("nu**3", -1, 1, None),
        ("1/nu", 0, 1, 1), ("1/(nu - 2)", 0, 1, -1), ("nu/(nu - 2)", 0, 1, -1), ("(nu - 3)/(nu - 2)", 0, 1, 1),
        ("nu*(nu - 2)", 0, 1, -1), ("nu**2*(nu - 2)", 0, 1, -1), ("nu**2 + 1", 0, 1, None), ("2*nu - 2*nu", 0, 1, 1),
        ("2/3", 0, 1, 1), ("-2/3", 0, 1, -1), ("nu", 0, 0, 1),
    ],
)  # fmt: skip
def test_the_sign_of_an_exponent_over_its_range(exponent: str, low: int, high: int, sign: int | None) -> None:
    """A power with a negative exponent turns a maximum into a minimum; with one of either sign it is neither."""
    spans = {"nu": (F(low), F(high))}
    both = growth_of(parse("a + b"))
    value = growth.exponent_of(parse(exponent), spans)
    if sign is None:
        with pytest.raises(NoOrder, match="sign is not certain"):
            both.power(value, spans)
        return
    assert len(both.power(value, spans).clauses) == (2 if sign > 0 else 1)


def test_an_exponent_with_a_division_by_zero_has_no_sign() -> None:
    with pytest.raises(NoOrder, match="division by zero"):
        growth_of(parse("a + b")).power(sympy.zoo)


@pytest.mark.parametrize(
    "text", ["nu**(1/2)", "nu**0.5", "a", "nu*a", "nu + a", "nu/a", "-a", "log(nu)", "2**nu", "a**2"]
)
def test_exponents_that_are_no_rational_functions_of_bounded_letters(text: str) -> None:
    with pytest.raises(NoOrder, match="an exponent that grows"):
        growth.exponent_of(parse(text), {"nu": (F(0), F(1))})


# --- bounds whose logarithm may fall


def test_a_bound_with_a_logarithm_is_tried_only_where_it_does_not_fall() -> None:
    """b <= 1/a: where b grows, a falls, and log(a) is no bound at all."""
    opposite = Regime(("a", "b"), ({"a": F(-1), "b": F(-1)},))
    with pytest.raises(NoOrder, match="the logarithm of the bound"):
        judged(parse("b"), parse("O(log(a))"), opposite)
    with pytest.raises(NoOrder, match="the logarithm of the bound"):
        judged(parse("b*log(1/a)"), parse("O(log(a))"), opposite)
    alike = Regime(("a", "b"), ({"a": F(1), "b": F(-1)},))  # b <= a: both may grow
    decision = judged(parse("b"), parse("O(log(a))"), alike)
    assert decision.outcome == "refuted"


def test_what_must_not_fall_may_stay() -> None:
    form = (("b", F(1)),)
    clauses = (((form,),),)
    for fixed in (frozenset[str](), frozenset("b")):
        ray = ray_of("a", "1", Regime(("a", "b"), (), fixed=fixed, rising=clauses))
        assert ray is not None
        assert (ray.direction, ray.rate) == ({"a": 1}, 1)
    assert ray_of("1/b", "1", Regime(("a", "b"), (), rising=clauses)) is None


def test_a_bound_and_a_side_whose_logarithms_fall_alike_are_one_monomial() -> None:
    regime = Regime(("a", "e"), ({"e": F(-1)},), conditions=(parse("e <= 1/2"),))
    for text in ("log(e)", "a*log(e)", "a*log(e)**2"):
        assert judged(parse(text), parse(f"O({text})"), regime).certificate.startswith("the same monomial")
    for left, right in (("log(1/e)", "log(e)"), ("log(e**2)*a", "a*log(1/e)*3"), ("log(1/e)*a", "a*log(e**3)")):
        if "log(e" in right:
            with pytest.raises(NoOrder, match="logarithm of the bound"):
                judged(parse(left), parse(f"O({right})"), regime)
        else:  # the bound is positive and the left side is not
            assert judged(parse(left), parse(f"O({right})"), regime).outcome == "proved"
            with pytest.raises(NoOrder, match="may be negative"):  # where e may be 2
                judged(parse(left), parse(f"O({right})"), replace(regime, conditions=(parse("e <= 2"),)))


def test_two_roots_of_falling_logarithms_are_not_defined() -> None:
    falls = ({"a": F(-1)}, {"b": F(-1)})
    letters = ("a", "b", "c")
    apart = Regime(letters, falls)
    assert ray_of("c*log(a)*log(b)", "1", apart, signed=True) is not None  # two negative factors
    assert ray_of("c*log(a)", "1", Regime(letters, (*falls, {"a": F(-1), "c": F(-1)})), signed=True) is None
    only = Regime(letters, ({"a": F(-1), "c": F(-1)}, {"b": F(-1), "c": F(-1)}))  # c grows where both fall
    assert ray_of("c*log(a)*log(b)", "1", only, signed=True) is not None
    for text in ("c*sqrt(log(a))*sqrt(log(b))", "c*sqrt(log(a))*log(b)", "c*log(a)**(2/3)*log(b)**(2/3)"):
        assert ray_of(text, "1", only, signed=True) is None, text
    assert ray_of("c*log(a)**2", "1", only, signed=True) is not None
    assert ray_of("c*log(a)**3", "1", only, signed=True) is None


def test_a_letter_inside_a_logarithm_of_which_the_regime_says_nothing() -> None:
    regime = Regime(("a",), ())
    for left, right in (("log(q)", "1"), ("a*log(q)", "a"), ("a", "a*log(q)"), ("log(max(a, q))", "log(a)")):
        with pytest.raises(NoOrder, match="how q grows"):
            ray_of(left, right, regime)
    assert ray_of("a*log(q)", "a*log(q)", regime) is None  # it cancels


# --- logarithms: known size or vague


@pytest.mark.parametrize(
    ("text", "vague"),
    [
        ("a", False), ("a + b", False), ("a*log(b)", True), ("a*log(b) + c", True), ("max(log(a), b)", True),
        ("min(b, log(a))", True), ("a - b", True), ("cos(a)", True), ("softO(a)", True), ("a*log(2)", False),
    ],
)  # fmt: skip
def test_the_size_of_what_a_logarithm_is_taken_of(text: str, vague: bool) -> None:
    argument = growth.log_argument(parse(text), {})
    assert argument.vague is vague
    assert argument.letters >= {"a"}
    (clause,) = growth_of(parse(f"log({text})")).clauses
    assert bool(clause[0].signs) is not vague  # the sign is known where the size is


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("log(min(a, b))", "log(a)"), ("log(min(b, a))", "log(b)"), ("log(max(a, b))", "log(a)"),
        ("log(max(a, b))", "log(min(a, b))"), ("log(min(a, b))", "log(a*b)"), ("log(min(a, a**2))", "log(a)"),
    ],
)  # fmt: skip
def test_logarithms_of_minima_and_maxima_are_of_their_own_size(one: str, two: str) -> None:
    left, right = growth_of(parse(one)), growth_of(parse(two))
    assert growth.same_monomial(left, right) is False
    assert growth.same_monomial(left, left) is True


@pytest.mark.parametrize(
    ("faster", "slower", "ray", "seen"),
    [
        ("k**(1/2)", "1", Ray({"k": F(1)}, F(1)), False),  # more than half of the rate, not half of it
        ("k**(257/512)", "1", Ray({"k": F(1)}, F(1)), True),
        ("k**2", "1/(c - 1)", Ray({"k": F(1)}, F(1), at={"c": F(1)}), False),  # no value at all
        ("k**2", "c - 1", Ray({"k": F(1)}, F(1), at={"c": F(1)}), False),
        ("k**2/2**64", "k", Ray({"k": F(1)}, F(1)), True),
        ("k**2 - 2**40*2**40*k", "k", Ray({"k": F(1)}, F(1)), True),  # positive only at the later places
        ("k**2 - (2**60)**60*k", "k", Ray({"k": F(1)}, F(1)), False),  # only at the last of them
    ],
)
def test_when_a_ratio_is_seen_to_grow(faster: str, slower: str, ray: Ray, seen: bool) -> None:
    assert derivations.grows(parse(faster), parse(slower), ray) is seen


# --- hypotheses as rows


def row(size: int | Fraction = 0, strict: bool = False, **powers: Any) -> Bound:
    return Bound({n: F(v) for n, v in powers.items()}, F(size), strict)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("sqrt(4*a) >= b", [row(1, a=F(1, 2), b=-1)]),
        ("(4*a)**3 >= b", [row(6, a=3, b=-1)]),
        ("b >= (2*a)**(-3)", [row(3, b=1, a=3)]),
        ("(2*a)**(-3) >= b", [row(-3, a=-3, b=-1)]),
        ("b >= sqrt(3*a)", [row(-1, b=1, a=F(-1, 2))]),
        ("sqrt(3*a) >= b", [row(F(1, 2), a=F(1, 2), b=-1)]),
        ("b*(2*a)**2 >= 8*c/d", [row(-1, b=1, a=2, c=-1, d=1)]),
        ("c >= sqrt(a + b)", [row(F(-1, 2), c=1, a=F(-1, 2)), row(F(-1, 2), c=1, b=F(-1, 2))]),
        ("c >= 2*(a + b)", [row(-2, c=1, a=-1), row(-2, c=1, b=-1)]),
        ("c*a**0 >= b", [row(c=1, b=-1)]),
        ("a*b >= a", [row(b=1)]),
        ("log(a) >= 5", [row(-8, a=1)]),
        ("5 >= a", [row(2, a=-1)]),
        ("a >= 5", [row(-3, a=1)]),
        ("1/5 >= a", [row(-3, a=-1)]),
        ("a >= 1/5", [row(2, a=1)]),
        ("E >= a", [row(1, a=-1)]),
        ("a >= E", [row(-2, a=1)]),
    ],
)
def test_factors_under_powers_and_sums(text: str, rows: list[Bound]) -> None:
    assert regimes._bounds(parse(text), frozenset()) == rows


def test_the_hypotheses_of_an_entry_come_before_those_of_its_premises_and_their_claims() -> None:
    def statement(word: str, settings: tuple[str, ...] = ()) -> Any:
        return SimpleNamespace(where=(word,), settings=settings, premise=())

    card: Any = SimpleNamespace(regimes={}, entries={"p": statement("p"), "q": statement("q")}, settings={})
    entry: Any = SimpleNamespace(regime=(), premise=("q", "p/1"), where=("own",), settings=())
    assert list(regimes._stated(card, entry)) == ["own", "q", "p"]


def _domain(low: str | None, high: str | None, kind: Any = "interval", closed: bool = True) -> Domain:
    ends = [None if t is None else Expression(parse(t), t) for t in (low, high)]
    return Domain("", kind, ends[0], ends[1], closed, closed)


def test_ranges_are_asked_for_every_letter_that_is_met_once() -> None:
    """The ends of a range name other letters, whose ranges count as well; a condition stands once."""
    domains = {"a": _domain("b", None), "b": _domain("1", "c"), "c": _domain(None, None), "z": _domain("7", None)}
    card: Any = SimpleNamespace(
        regimes={}, entries={}, settings={}, letters={n: SimpleNamespace(domain=d) for n, d in domains.items()}
    )
    where = (SimpleNamespace(tree=parse("a >= b")), SimpleNamespace(tree=parse("a >= unknown")))
    entry: Any = SimpleNamespace(regime=(), premise=(), where=where, settings=(), for_={}, define={}, substitute={})
    found = regimes._conditions(card, entry, (parse("a"), parse("O(1)")))
    assert {to_text(c) for c in found} == {to_text(parse(t)) for t in ("a >= b", "b >= 1", "b <= c")}
    assert len(found) == 3


# --- growth: sums with what may vanish, minima of sums


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("nu + a + 1", 2), ("nu + 1", 1), ("a + nu", "may be 0"), ("nu", "may be 0"), ("a - b + c", "a difference"),
        ("nu*a + 1", "may be 0"), ("3*nu + 2*nu + 1 + a + b", 3), ("1 - nu + a + 1", "a difference"),
    ],
)  # fmt: skip
def test_sums_with_terms_that_may_vanish(text: str, answer: int | str) -> None:
    spans = {"nu": (F(0), F(1))}
    if isinstance(answer, str):
        with pytest.raises(NoOrder, match=answer):
            growth_of(parse(text), spans)
        return
    assert len(growth_of(parse(text), spans).clauses) == answer


@pytest.mark.parametrize(
    ("text", "inside"),
    [("1", True), ("1/2", False), ("a + 1", True), ("a + 1/2", False), ("max(a, 1)", True), ("min(a, 1)", False),
     ("max(a, b + 2)", True), ("a", False), ("nu", False), ("nu + 1", True), ("2*a", False)],
)  # fmt: skip
def test_at_least_one_is_seen_in_sums_and_maxima(text: str, inside: bool) -> None:
    assert growth._one_inside(parse(text), {"nu": (F(0), F(1))}) is inside


def test_a_maximum_of_two_is_no_monomial() -> None:
    a, b = Monomial({"a": sympy.S.One}), Monomial({"b": sympy.S.One})
    assert Growth(((a,),)).monomial == a
    assert Growth(((a, b),)).monomial is None
    assert Growth(((a,), (b,))).monomial is None
    assert Growth(((a,), (b, a))).monomial is None


@pytest.mark.parametrize(
    ("form", "wanted"),
    [({"a": 2, "b": -4}, {"a": 1, "b": -2}), ({"a": -3}, {"a": 1}), ({"a": F(-1, 2), "b": F(1, 3)}, {"a": 3, "b": -2}),
     ({"a": F(2, 3), "b": F(4, 3)}, {"a": 1, "b": 2}), ({}, {})],
)  # fmt: skip
def test_primitive_forms(form: Any, wanted: Any) -> None:
    found = growth._primitive(tuple((n, F(v)) for n, v in form.items()))
    assert found == tuple((n, F(v)) for n, v in wanted.items())


def test_the_shortest_ray_is_taken_although_a_longer_one_is_found_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer of the solver is not the shortest; without the optimum that first one counts."""
    import z3

    one, two = growth_of(parse("a*b*c*d")), growth_of(parse("1"))
    regime = Regime(("a", "b", "c", "d"), ({"a": F(1), "b": F(-3)}, {"c": F(-1), "d": F(2)}))
    ray = compare(one, two, regime)
    assert ray is not None
    assert sum(map(abs, ray.direction.values())) == ray.rate == 1
    monkeypatch.setattr(z3.Optimize, "check", lambda self, *_: z3.unknown)
    other = compare(one, two, regime)
    assert other is not None
    assert other.rate > 0
    assert all(sum(v * other.direction.get(n, F(0)) for n, v in r.items()) >= 0 for r in regime.rows)


def test_limits_of_the_solver() -> None:
    assert (rays.RESOURCES, rays.LATEST) == (3_000_000, 5_000.0)


def test_a_ratio_without_a_value_at_one_of_two_places_shows_no_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray({"k": Fraction(1)}, Fraction(1))
    for missing in (0, 1):
        values = iter([None if i % 2 == missing else derivations.ball(Fraction(2) ** (4 ** (i + 1))) for i in range(8)])
        monkeypatch.setattr(derivations, "_ratio", lambda *_, values=values: next(values))
        assert derivations.grows(parse("k"), parse("1"), ray) is False
