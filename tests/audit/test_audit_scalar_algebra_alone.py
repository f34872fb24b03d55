"""Exact algebra in small: affine forms, symbols, numbers, identities, and real roots against signs seen one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

import pytest
import sympy
from audit_pieces import claim_of
from seeds import SEED

from bilevel_verify.audit.scalar import algebra
from bilevel_verify.audit.scalar.algebra import NotAlgebraic, by_identity, by_number, by_roots, symbol_of, to_sympy
from bilevel_verify.audit.scalar.claim import ScalarClaim
from bilevel_verify.audit.scalar.linear import linear_form
from bilevel_verify.audit.scalar.work import UNITS, counting, ended, over, spend
from bilevel_verify.language import parse, tree
from bilevel_verify.theorems.card_parts import Domain, Expression

pytestmark = pytest.mark.fast
F = Fraction

# --- affine forms


@pytest.mark.parametrize(
    ("text", "constant", "slopes"),
    [
        ("3/2", F(3, 2), {}),
        ("x", 0, {"x": 1}),
        ("-x", 0, {"x": -1}),
        ("-(x - 3)", 3, {"x": -1}),
        ("x + y + 1 + 2", 3, {"x": 1, "y": 1}),
        ("x + 2*x", 0, {"x": 3}),
        ("x - x", 0, {}),
        ("0*x + 1", 1, {}),
        ("x/2 - y/4", 0, {"x": F(1, 2), "y": F(-1, 4)}),
        ("(x + 4)/(2 + 6)", F(1, 2), {"x": F(1, 8)}),
        ("2*3*x", 0, {"x": 6}),
        ("x*2*3", 0, {"x": 6}),
        ("2*(x + 5)*3", 30, {"x": 6}),
        ("2**3", 8, {}),
        ("2**(-3)", F(1, 8), {}),
        ("0**0", 1, {}),
        ("2**64", 2**64, {}),
        ("2**(-64)", F(1, 2**64), {}),
    ],
)
def test_affine_forms(text: str, constant: Fraction, slopes: dict[str, Fraction]) -> None:
    assert linear_form(parse(text)) == (constant, slopes)


@pytest.mark.parametrize(
    "text",
    ["pi", "E", "oo", "x*y", "x*x", "1/x", "1/(x + 1)", "x/0", "x/(y - y)", "x**2", "2**x", "2**(1/2)", "0**(-1)",
     "2**(64 + 1)", "2**(-64 - 1)", "sqrt(4)", "x + pi", "pi*x", "x + x*y", "-sqrt(x)",
     "sqrt(x)/2", "(x*y)*0", "x**0", "(x*y)**2", "2**(x*y)",
     "1/(x*y)"],
)  # fmt: skip
def test_what_is_not_affine(text: str) -> None:
    assert linear_form(parse(text)) is None


# --- work


def test_work_is_counted_inside_of_its_block_and_nowhere_else() -> None:
    assert UNITS == 4_000
    spend(5.0)
    ended("nothing")
    assert not over()
    with counting(10.0) as outer:
        spend(4.0)
        assert not over()
        assert not outer.over
        with counting(1.0) as inner:
            spend(1.0)
            assert over()
            ended("the inner one")
        assert (inner.spent, inner.ended) == (1.0, "the inner one")
        assert not over()
        spend(5.5)
        assert not over()
        spend(0.5)
        assert over()
    assert (outer.spent, outer.ended) == (10.0, "")
    assert not over()


# --- numbers


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("1 < 2", "proved"),
        ("2 < 1", "refuted"),
        ("1 <= 1", "proved"),
        ("1 < 1", "refuted"),
        ("sqrt(2)*sqrt(2) <= 2", "undecided"),  # a tie in balls
        ("sqrt(2) < 3/2", "proved"),
        ("pi < 22/7", "proved"),
        ("pi > 22/7", "refuted"),
        ("pi <= 3 + 1415926535897932384626433832795028841971693993751/10**49", "refuted"),
        ("pi <= 3 + 1415926535897932384626433832795028841971693993752/10**49", "proved"),
        ("1/0 <= 1", "undecided"),
        ("sqrt(-1) <= 1", "undecided"),
    ],
)
def test_numbers(text: str, outcome: str) -> None:
    from flint import ctx

    before = ctx.prec
    found = by_number(claim_of(text))
    assert (found.outcome, found.engine) == (outcome, "number")
    assert ctx.prec == before
    assert (found.certificate == "exact numbers (256-bit balls)") == (outcome == "proved")
    if outcome == "refuted":
        assert found.left is not None
        assert found.right is not None


def test_numbers_have_no_letters() -> None:
    found = by_number(claim_of("x <= x + 1"))
    assert (found.outcome, found.certificate) == ("undecided", "it has letters")


# --- identities


@pytest.mark.parametrize(
    ("text", "ranges", "proved"),
    [
        ("(x + y)**2 == x**2 + 2*x*y + y**2", "", True),
        ("(x + y)**2 <= x**2 + 2*x*y + y**2", "", True),
        ("(x + y)**2 >= x**2 + 2*x*y + y**2", "", True),
        ("(x + y)**2 < x**2 + 2*x*y + y**2 + 1", "", False),
        ("x < x", "", False),
        ("x > x", "", False),
        ("(x + y)**2 == x**2 + x*y + y**2", "", False),
        ("sqrt(x**2) == x", "", True),
        ("sqrt(x**2) == x", "x = (-oo, oo)", False),
        ("sqrt(x*y) == sqrt(x)*sqrt(y)", "", True),
        ("x**(1/3)*x**(2/3) == x", "x = [0, oo)", True),
        ("1/(1 + 1/x) == x/(1 + x)", "", True),
        ("exp(x) == exp(x)", "", False),
        ("x**n*x == x**(n + 1)", "", True),
        ("x/0 == x/0", "", False),
        ("x**n + x == 2*x**n", "", False),
        ("sqrt(1 + x) == x", "", False),
        ("sqrt(z**2) + sqrt(z) == z + sqrt(z)", "z = (-oo, oo)", False),
    ],
)
def test_identities(text: str, ranges: str, proved: bool) -> None:
    found = by_identity(claim_of(text, ranges))
    assert (found.outcome, found.engine) == ("proved" if proved else "undecided", "identity")


# --- symbols and trees


@pytest.mark.parametrize(
    ("domain", "positive", "nonnegative", "integer"),
    [
        ("(0, oo)", True, True, None),
        ("[0, oo)", None, True, None),
        ("[1/2, oo)", True, True, None),
        ("(1/2, oo)", True, True, None),
        ("[-1, 1]", None, None, None),
        ("(-oo, 0)", None, None, None),
        ("[y, oo)", None, None, None),
        ("integers 0..", None, True, True),
        ("integers 1..", True, True, True),
        ("integers ..", None, None, True),
    ],
)
def test_symbols_know_what_their_range_proves(
    domain: str, positive: bool | None, nonnegative: bool | None, integer: bool | None
) -> None:
    symbol = symbol_of("x", claim_of("x <= y", f"x = {domain}; y = [0, 1]"))
    assert (symbol.is_positive, symbol.is_nonnegative, symbol.is_integer) == (positive, nonnegative, integer)
    assert symbol.is_real


def test_an_integer_range_is_closed_however_it_is_written() -> None:
    domain = Domain("integers 0..", "integers", Expression(parse("0"), "0"), lower_closed=False)
    symbol = symbol_of("x", ScalarClaim(parse("x"), "<=", parse("1"), {"x": domain}))
    assert (symbol.is_positive, symbol.is_nonnegative) == (None, True)


@pytest.mark.parametrize(
    "text",
    ["exp(x)", "x**sqrt(x)", "x**(64 + 1)", "x**(-64 - 1)", "x**(1/401)", "x**(n/401)", "x/(1 - 1)", "abs(x)", "zeta"],
)
def test_what_is_not_algebraic(text: str) -> None:
    claim = claim_of("x <= n", "x = (0, oo); n = (0, oo)")
    with pytest.raises(NotAlgebraic):
        to_sympy(parse(text), claim)


@pytest.mark.parametrize(
    "text", ["x**64", "x**(-64)", "x**(1/400)", "x**(n/400)", "x**(100 + n)", "pi*x", "E - x", "-x/3"]
)
def test_algebraic_trees_have_their_value(text: str) -> None:
    claim = claim_of("x <= n", "x = (0, oo); n = (0, oo)")
    value = to_sympy(parse(text), claim).subs({"x": 1, "n": 2}).subs(dict.fromkeys((), 3))
    free = {symbol_of(name, claim): number for name, number in (("x", sympy.Rational(3, 2)), ("n", sympy.Integer(2)))}
    expected = {
        "x**64": 1.5**64, "x**(-64)": 1.5**-64, "x**(1/400)": 1.5 ** (1 / 400), "x**(n/400)": 1.5 ** (2 / 400),
        "x**(100 + n)": 1.5**102, "pi*x": 1.5 * 3.141592653589793, "E - x": 2.718281828459045 - 1.5, "-x/3": -0.5,
    }[text]  # fmt: skip
    assert float(to_sympy(parse(text), claim).subs(free)) == pytest.approx(expected, rel=1e-12, abs=0)
    assert value is not None


def test_too_large_an_expression_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algebra, "SIZE_LIMIT", 6)
    claim = claim_of("x <= 1")
    assert to_sympy(parse("x + 1 + 2*x"), claim) is not None
    with pytest.raises(NotAlgebraic):
        to_sympy(parse("x + 1 + 2*x + 3"), claim)


# --- roots


def factors(product: list[tuple[Fraction, int]]) -> str:
    return "*".join(f"(x - ({root}))**{power}" for root, power in product)


def sign_at(sign: int, product: list[tuple[Fraction, int]], x: Fraction) -> Fraction:
    return sign * prod(((x - root) ** power for root, power in product), start=F(1))


def places(product: list[tuple[Fraction, int]], low: Fraction | None, high: Fraction | None) -> Iterator[Fraction]:
    """Every root, every end, and a point of every gap."""
    points = sorted({root for root, _ in product} | {end for end in (low, high) if end is not None})
    points = [points[0] - 1, *points, points[-1] + 1]
    between = [(a + b) / 2 for a, b in pairwise(points)]
    for x in (*points, *between):
        if (low is None or x >= low) and (high is None or x <= high):
            yield x


@pytest.mark.slow
def test_signs_of_polynomials_on_every_kind_of_range() -> None:
    """The engine is complete there: it proves exactly what holds at every root, end and gap of the closed range."""
    chance = random.Random(SEED)
    seen = {"proved": 0, "undecided": 0}
    for _ in range(70):
        roots = chance.sample([F(k, 2) for k in range(-6, 7)], chance.randint(1, 3))
        product = [(root, chance.choice((1, 2, 2, 3))) for root in roots]
        sign = chance.choice((1, 1, -1))
        ends = sorted(chance.sample([F(k, 2) for k in range(-6, 7)], 2))
        low, high = [e if chance.random() < 0.7 else None for e in ends]
        op = chance.choice(("<=", "<", ">=", ">"))
        side, strict = f"{sign}*{factors(product)}", op in ("<", ">")
        text = f"0 {op} {side}" if op in ("<=", "<") else f"{side} {op} 0"
        domain = f"{'(-oo' if low is None else f'[{low}'}, {'oo)' if high is None else f'{high}]'}"
        found = by_roots(claim_of(text, f"x = {domain}"))
        values = [sign_at(sign, product, x) for x in places(product, low, high)]
        holds = all(v > 0 if strict else v >= 0 for v in values)
        assert found.outcome == ("proved" if holds else "undecided"), (text, domain, found)
        seen[found.outcome] += 1
    assert min(seen.values()) >= 3, "both answers are seen"


@pytest.mark.parametrize(
    ("text", "ranges", "where", "proved"),
    [
        ("sqrt(x) <= 2", "x = [0, 4]", "", True),
        ("sqrt(x) <= 2", "x = [0, 9]", "", False),
        ("sqrt(x) >= 3", "x = [9, oo)", "", True),
        ("sqrt(x) >= 3", "x = [4, oo)", "", False),
        ("sqrt(x) > 1/2", "x = [0, 1]", "", False),
        ("sqrt(x) <= 2", "x = [0, 5]", "", False),  # an end whose root is irrational
        ("sqrt(x)*x**(1/3) <= x**2", "x = [1, oo)", "", True),
        ("sqrt(x)*x**(1/3) <= x**2", "x = [0, oo)", "", False),
        ("sqrt(x*(1 + x))/sqrt(1 + x) >= 7/2", "x = [4, 9]", "", False),  # a root that shows late
        ("sqrt(x*(1 + x))/sqrt(1 + x) >= 2", "x = [4, 9]", "", True),
        ("1/x >= 0", "x = (0, oo)", "", True),
        ("1/x <= 2", "x = [1/2, oo)", "", True),
        ("1/(x - 1) <= 5", "x = [0, 3]", "", False),  # a pole inside
        ("1/(x - 1)**2 >= 0", "x = [0, 3]", "", True),
        ("x <= 1", "x = [0, 2]", "x <= 1", True),
        ("x <= 1", "x = [0, 2]", "2*x <= 2", True),
        ("x <= 1", "x = [0, 2]", "-x >= -1", True),
        ("x <= 1", "x = [0, 2]", "2 - x >= 1", True),
        ("x >= 1", "x = [0, 2]", "x >= 1", True),
        ("x >= 1", "x = [0, 2]", "1 <= x", True),
        ("x >= 1", "x = [0, 2]", "1 < x", True),
        ("x >= 1", "x = [0, 2]", "-1 > -x", True),
        ("x <= 2", "x = [0, 5]", "x <= 3; x <= 2; x <= 4", True),
        ("x >= 3", "x = [0, 5]", "x >= 2; x >= 3; x >= 1", True),
        ("x >= 1", "x = [0, 2]", "x**2 >= 1", False),  # a condition that is no bound
        ("x >= 1", "x = [0, 2]", "x**2 <= 9", False),
        ("x >= 0", "x = [0, 2]", "x**2 <= 9", False),
        ("x >= 0", "x = [0, 2]", "9 >= x**2", False),
        ("x < 1", "x = [0, 1]", "", False),
        ("x > 0", "x = [0, 1]", "", False),
        ("sqrt(x) <= 3", "x = [0, 5]", "", False),
        ("sqrt(1 + x) >= 0", "x = [0, 1]", "", False),
        ("1/sqrt(1 + x) >= 0", "x = [0, 1]", "", False),
        ("2**x >= 0", "x = [0, 1]", "", False),
        ("x >= 0", "x = [0, 2]", "x == x", False),
        ("x >= 0", "x = [0, 2]", "0 <= x <= 1", False),
        ("x >= 0", "x = [0, 2]", "1 <= 2", True),
        ("x == x", "x = [0, 2]", "", False),
        ("x <= y", "x = [0, 1]; y = [1, 2]", "", False),
        ("x**(64 + 1) >= 0", "x = [0, 1]", "", False),
        ("pi*x >= 0", "x = [0, 1]", "", False),  # coefficients outside the rationals
        ("x <= x", "x = [0, 1]", "", True),
        ("x < x", "x = [0, 1]", "", False),
        ("x + 1 > x", "x = [0, 1]", "", True),
        ("x >= 1", "x = [1, 1]", "", False),  # a single point that is a root: no probe
        ("x >= 1", "x = [2, 2]", "", True),
        ("exp(x) >= 0", "x = [0, 1]", "", False),
    ],
)  # fmt: skip
def test_roots_case_by_case(text: str, ranges: str, where: str, proved: bool) -> None:
    found = by_roots(claim_of(text, ranges, where))
    assert (found.outcome, found.engine) == ("proved" if proved else "undecided", "root isolation")


def test_a_probe_is_inside_however_many_roots_there_are() -> None:
    """Candidates at roots one after the other: no probe outside of the range, whose sign is another one."""
    many = "*".join(f"({10 * k}*x - 1)**2" for k in range(2, 12))
    assert by_roots(claim_of(f"{many}*(x - 1/10) >= 0", "x = [0, 1/10]")).outcome == "undecided"
    assert by_roots(claim_of(f"{many}*(1/10 - x) >= 0", "x = [0, 1/10]")).outcome == "proved"


@pytest.mark.parametrize(
    ("roots", "low", "high"),
    [([], 0, 1), ([F(1, 2)], 0, 1), ([F(1, 2), F(1, 3), F(1, 4)], 0, 1), ([F(1, 3), F(2, 3)], 0, None),
     ([], None, None), ([F(-1, 3), F(-2, 3)], None, 0), ([F(1, 3)], None, None), ([F(4)], 3, 5)],
)  # fmt: skip
def test_probes_are_in_the_range_and_no_roots(roots: list[Fraction], low: Any, high: Any) -> None:
    exact = [sympy.Rational(r.numerator, r.denominator) for r in roots]
    found = algebra._probe(exact, *(None if e is None else sympy.Integer(e) for e in (low, high)))
    assert found not in exact
    assert low is None or found > low
    assert high is None or found < high


def test_what_has_grown_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = claim_of("x*x == x**2"), claim_of("x*x >= 0", "x = [0, 1]")
    monkeypatch.setattr(sympy, "count_ops", lambda _: algebra.SIZE_LIMIT)
    assert by_identity(one).outcome == by_roots(two).outcome == "proved"
    monkeypatch.setattr(sympy, "count_ops", lambda _: algebra.SIZE_LIMIT + 1)
    assert by_identity(one).outcome == by_roots(two).outcome == "undecided"


def test_the_highest_order_of_all_letters_counts() -> None:
    found = by_identity(claim_of("x**(1/400) + x**(1/399) + sqrt(y) == sqrt(y)"))
    assert found.certificate == "a root of too high an order"


def test_limits_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = claim_of("(x - 1)**2*(x - 3)**2 >= 0", "x = [0, 2]")
    assert by_roots(claim).outcome == "proved"
    monkeypatch.setattr(algebra, "DEGREE_LIMIT", 4)
    assert by_roots(claim).outcome == "proved"
    monkeypatch.setattr(algebra, "DEGREE_LIMIT", 3)
    assert by_roots(claim).outcome == "undecided"
    third = claim_of("x**(1/3) >= 0", "x = [0, 1]")
    assert by_roots(third).outcome == "proved"
    assert (
        by_roots(claim_of("x**(1/2)*x**(1/3)/x**(1/3) + x**(1/3) >= 0", "x = [0, 1]")).outcome == "undecided"
    )  # order 6


def test_pi_and_e_are_numbers_and_other_names_are_no_letters() -> None:
    claim = claim_of("x <= 1")
    assert to_sympy(tree.Letter("pi"), claim) == sympy.pi
    assert to_sympy(tree.Letter("E"), claim) == sympy.E
    with pytest.raises(NotAlgebraic):
        to_sympy(tree.Letter("q"), claim)


@pytest.mark.parametrize("orders", [(2, 1000), (1000, 2), (1000, 1000), (2, 3), (400, 1)])
def test_one_root_of_too_high_an_order_is_enough(orders: tuple[int, int]) -> None:
    one, other = sympy.symbols("a b", nonnegative=True)
    expression = one ** sympy.Rational(1, orders[0]) + other ** sympy.Rational(1, orders[1])
    if max(orders) > algebra.DEGREE_LIMIT:
        with pytest.raises(NotAlgebraic, match="too high an order"):
            algebra._clear_roots(expression)
    else:
        assert tuple(algebra._clear_roots(expression)[1].get(s, 1) for s in (one, other)) == orders
