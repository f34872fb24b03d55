"""Monomials under monomial hypotheses: what is read, which facts follow, which multipliers, when they are enough."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any

import pytest
import sympy
from audit_pieces import claim_of, mono, ranges, true_at

from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.audit.scalar.monomials import (
    Monomial,
    NotMonomial,
    _exponent_letters,
    _of_number,
    _Reader,
)
from bilevel_verify.language import parse, to_text
from bilevel_verify.numbers.exact import Formula

pytestmark = pytest.mark.fast

RANGES = "nu = [0, 1]; mu = (0, 1]; w = [-1, 1]; n = [0, oo); t = [2, oo); u = (1, oo); z = (-oo, oo)"
NU, MU = (sympy.Symbol(name, positive=True) for name in ("nu", "mu"))


def reader_of(text: str = "1 <= 1", where: str = "", domains: str = RANGES) -> _Reader:
    claim = claim_of(text, domains, where)
    return _Reader(claim, _exponent_letters(claim))


def told(one: Monomial) -> dict[str, str]:
    return {to_text(atom): str(exponent) for atom, exponent in one.exponents.items()}


# --- reading


@pytest.mark.parametrize(
    ("text", "exponents"),
    [
        ("a*b", {"a": "1", "b": "1"}),
        ("a*b*a", {"a": "2", "b": "1"}),
        ("a/b", {"a": "1", "b": "-1"}),
        ("a*b/a", {"b": "1"}),
        ("a/a", {}),
        ("1", {}),
        ("12/5*a", {"2": "2", "3": "1", "5": "-1", "a": "1"}),
        ("(2/3)**nu", {"2": "nu", "3": "-nu"}),
        ("sqrt(a**3*b)", {"a": "3/2", "b": "1/2"}),
        ("(a*b**2)**(-2)", {"a": "-2", "b": "-4"}),
        ("a**nu*a**(1 - nu)", {"a": "1"}),
        ("(a**nu)**nu", {"a": "nu**2"}),
        ("a**(nu/2 + 3*mu)", {"a": "3*mu + nu/2"}),
        ("a**(1/(1 + nu))", {"a": "1/(nu + 1)"}),
        ("a**(-nu)", {"a": "-nu"}),
        ("a**0", {}),
        ("exp(z)*b", {"exp(z)": "1", "b": "1"}),
        ("(a + b)**2/(t - 1)", {"a + b": "2", "t - 1": "-1"}),
        ("t", {"t": "1"}),
    ],
)
def test_monomials_are_read(text: str, exponents: dict[str, str]) -> None:
    assert told(reader_of(f"{text} <= 2").monomial(parse(text))) == exponents


@pytest.mark.parametrize(
    "text",
    ["0", "-a", "0*a", "n", "z", "a*n", "a - b", "nu*a**nu", "a**nu*(0 - 1)", "a**b*b", "a**sqrt(nu)", "a**pi",
    "a**z*z",
     "a > 0", "a**(nu - 1 > 0)", "sqrt(n)", "t - 2", "a**nu/0"],
)  # fmt: skip
def test_what_is_no_monomial(text: str) -> None:
    with pytest.raises(NotMonomial):
        reader_of(f"{text} <= 2" if ">" not in text else "a**nu <= 2").monomial(parse(text))


def test_letters_of_exponents() -> None:
    def letters(text: str, where: str = "") -> tuple[str, ...]:
        return _exponent_letters(claim_of(text, RANGES, where))

    assert letters("a**nu <= b**mu") == ("mu", "nu")
    assert letters("a <= b**mu") == ("mu",)
    assert letters("a**mu <= b") == ("mu",)
    assert letters("a <= b") == ()
    assert letters("a*nu <= b**pi") == ()
    assert letters("a <= b", "a**w <= 1; 2 <= b**(mu*nu)") == ("mu", "nu", "w")
    claim = claim_of("a**nu <= b")
    assert _exponent_letters(ScalarClaim(claim.left, "<=", claim.right, ranges("", "a", "b"))) == ()


@pytest.mark.parametrize(
    ("value", "exponents"),
    [("1", {}), ("2", {"2": "1"}), ("12", {"2": "2", "3": "1"}), ("3/8", {"3": "1", "2": "-3"}), ("1/7", {"7": "-1"}),
     ("10403", {"101": "1", "103": "1"}), ("1/10403", {"101": "-1", "103": "-1"})],
)  # fmt: skip
def test_numbers_are_products_of_primes(value: str, exponents: dict[str, str]) -> None:
    assert told(_of_number(Fraction(value))) == exponents


@pytest.mark.parametrize("value", [0, -1])
def test_numbers_that_are_not_positive(value: int) -> None:
    with pytest.raises(NotMonomial):
        _of_number(Fraction(value))


def test_factors_below_a_million_are_told_apart() -> None:
    assert len(_of_number(Fraction(100003 * 999983)).exponents) == 2


def test_products_and_parts() -> None:
    one, two = mono("2*a**2/b", True), mono("3*a*b")
    assert told(one.times(two)) == {"2": "1", "a": "3", "3": "1"}
    assert told(one.times(two, sympy.Integer(-2))) == {"2": "1", "b": "-3", "3": "-2"}
    assert told(one.times(mono("a**nu", False, "nu"), 1 / NU)) == {"2": "1", "a": "3", "b": "-1"}
    assert not one.times(two).strict
    varying, numbers = mono("3/2*a*b").split()
    assert {to_text(a): e for a, e in varying.items()} == {"a": 1, "b": 1}
    assert {to_text(a): e for a, e in numbers.items()} == {"3": 1, "2": -1}
    assert not Monomial({}).strict


# --- facts


@pytest.mark.parametrize(
    ("where", "facts"),
    [
        ("a <= b", [({"b": "1", "a": "-1"}, False)]),
        ("a < b", [({"b": "1", "a": "-1"}, True)]),
        ("a >= b", [({"b": "-1", "a": "1"}, False)]),
        ("a > b", [({"b": "-1", "a": "1"}, True)]),
        ("a == b", [({"b": "1", "a": "-1"}, False), ({"b": "-1", "a": "1"}, False)]),
        ("a <= b < 2*c", [({"b": "1", "a": "-1"}, False), ({"2": "1", "c": "1", "b": "-1"}, True)]),
        ("z <= a < 2", [({"2": "1", "a": "-1"}, True)]),
        ("a <= z <= b", []),
        ("a <= b and b <= c", []),
        ("0 < a", []),
        ("a*b >= 1; a <= 3", [({"a": "1", "b": "1"}, False), ({"3": "1", "a": "-1"}, False)]),
        ("t <= a", [({"a": "1", "t": "-1"}, False), ({"t": "1", "2": "-1"}, False)]),
        ("u <= a", [({"a": "1", "u": "-1"}, False), ({"u": "1"}, True)]),
    ],
)
def test_hypotheses_and_ends_as_facts(where: str, facts: list[Any]) -> None:
    reader = reader_of("1 <= 1", where)
    assert [(told(f), f.strict) for f in reader.facts(Monomial({}))] == facts


@pytest.mark.parametrize(
    ("text", "domains", "facts"),
    [
        ("a + b", "", [{"a + b": "1", "a": "-1"}, {"a + b": "1", "b": "-1"}]),
        ("a + b + 2", "", [{"a + b + 2": "1", "a": "-1"}, {"a + b + 2": "1", "b": "-1"}, {"a + b + 2": "1",
        "2": "-1"}]),
        ("a + n", "n = [0, oo)", []),
        ("n + a", "n = [0, oo)", []),
        ("t + 1", "t = [2, oo)", [{"t + 1": "1", "t": "-1"}, {"t + 1": "1"},
                                  {"3": "1", "2": "-1", "t": "1", "t + 1": "-1"}]),
        ("3*t + 2", "t = [4, oo)", [{"3*t + 2": "1", "3": "-1", "t": "-1"}, {"3*t + 2": "1", "2": "-1"},
                                    {"7": "1", "2": "-1", "t": "1", "3*t + 2": "-1"}]),
        ("2*t - 1", "t = [1, oo)", [{"2*t - 1": "1", "t": "-1"}, {"2": "1", "t": "1", "2*t - 1": "-1"}]),
        ("2*t - 1", "t = [2, oo)", [{"2*t - 1": "1", "3": "-1", "2": "1", "t": "-1"},
                                    {"2": "1", "t": "1", "2*t - 1": "-1"}]),
        ("t - 1", "t = (1, oo)", [{"t": "1", "t - 1": "-1"}]),
        ("t + 1", "t = (0, oo)", [{"t + 1": "1", "t": "-1"}, {"t + 1": "1"}]),
        ("t + 1", "t = [0, oo)", []),
        ("t + 1", "t = [s, oo); s = (0, oo)", [{"t + 1": "1", "t": "-1"}, {"t + 1": "1"}]),
        ("t + 1", "t = [pi, oo)", [{"t + 1": "1", "t": "-1"}, {"t + 1": "1"}]),
        ("3 - t", "t = [1, 2]", []),
        ("3 - t", "t = integers ..2", []),
        ("t + t", "t = [2, oo)", [{"t + t": "1", "t": "-1"}, {"t + t": "1", "t": "-1"}]),
        ("t*t + 1", "t = [2, oo)", [{"t*t + 1": "1", "t": "-2"}, {"t*t + 1": "1"}]),
        ("a + nu", "nu = (0, 1]", [{"a + nu": "1", "a": "-1"}]),
        ("nu + a", "nu = (0, 1]", [{"nu + a": "1", "a": "-1"}]),
    ],
)  # fmt: skip
def test_a_sum_and_its_terms(text: str, domains: str, facts: list[dict[str, str]]) -> None:
    claim = claim_of(f"{text} <= 1", domains)
    reader = _Reader(claim, ("nu",))
    try:
        reader.monomial(parse(text))
    except NotMonomial:
        assert facts == []
        return
    ends = len(list(_Reader(claim, ("nu",)).facts(Monomial({}))))
    assert [told(f) for f in list(reader.facts(Monomial({})))[ends:]] == facts


FACTUAL = [
    ("2*t - 1", "t = [1, 6]", ""), ("3*t + 2", "t = [1/3, 6]", ""), ("t - 1/2", "t = [2/3, 6]", ""),
    ("t/3 + 7", "t = [1/5, 9]", ""), ("5*t - 4", "t = (4/5, 3]", ""), ("a + b + 1/2", "a = (0, 4]; b = (0, 3]", ""),
    ("a + b", "a = [1, 4]; b = (0, 3)", "a >= b; b <= 2 < 3*a"),
    ("a*b + b", "a = [1, 4]; b = (0, 3)", "a*b == b**2; a > 1"),
    ("(t + 1)*(2*t - 1)", "t = [3/4, 5]", "t**2 >= t >= 1/t"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "domains", "where"), FACTUAL)
def test_every_fact_is_true_wherever_the_hypotheses_are(text: str, domains: str, where: str) -> None:
    claim = claim_of(f"{text} <= 1", domains, where)
    reader = _Reader(claim, ())
    reader.monomial(claim.left)
    facts, met = list(reader.facts(Monomial({}))), 0
    values = [Fraction(k, 12) for k in range(1, 72, 5)] + [Fraction(2), Fraction(4, 5), Fraction(1)]
    points = [dict(zip(claim.letters, (p, q))) for p in values for q in values]
    for point in points:
        if all(true_at(c, point) for c in claim.conditions()):
            met += 1
            for fact in facts:
                sizes = (Formula(point).value(a) ** int(e) for a, e in fact.exponents.items())  # type: ignore[operator]
                value = prod(sizes, start=Fraction(1))
                assert value > 1 or (value == 1 and not fact.strict), (told(fact), point)
    assert met >= 5
    assert len(facts) >= 2
