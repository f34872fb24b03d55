"""Integer-valued expressions, one condition a line, and against brute force over small values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from audit_pieces import ranges

from bilevel_verify.audit.scalar.integers import _divisible, even, index_domain, odd, signed_powers, whole
from bilevel_verify.language import parse, to_text, tree
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.theorems.rewrite import free_letters

pytestmark = pytest.mark.fast

RANGES = (
    "k = integers 0..; j = integers 1..; n = integers ..; m = integers ..3; top = integers 0..3; a = integers ..;"
    " x = (-oo, oo); p = [0, 2]; two = integers 2..; three = integers 3..; some = integers k..; i = (-oo, oo)"
)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("3", True), ("3/2", False), ("6/2", True), ("k", True), ("k + 1/2", False), ("2*k - 7", True), ("k/2", False),
        ("x", False), ("stranger", False), ("0*x", True), ("x - x + 2", True), ("1*stranger - stranger", True),
        ("-x", False), ("-k", True), ("k + x", False), ("x + k", False), ("k*k + x", False), ("x*k", False),
        ("k*k % n", True), ("k % x", False), ("x % k", False), ("pi", False), ("oo", False),
        # powers: both whole, and a unit or a nonnegative exponent
        ("n**k", True), ("n**n", False), ("x**k", False), ("n**p", False), ("2**(-1)", False), ("2**(-k)", False),
        ("1**n", True), ("(-1)**n", True), ("(2 - 1)**n", True), ("2**n", False), ("0**k", True), ("k**0", True),
        ("(-1)**x", False), ("1**p", False), ("k**n", False), ("2**(k*k)", False), ("(n*n)**k", True),
        ("2**(3 - m)", True), ("2**(2 - m)", False), ("2**(3 - top)", True), ("2**(4 - top)", True),
        ("2**(2 - top)", False), ("2**(3 - k)", False), ("2**(top - k)", False), ("2**(two + three - 5)", True),
        ("2**(two + three - 6)", False), ("2**(three - 3)", True), ("2**(2*two - 4)", True), ("2**(2*two - 5)", False),
        ("2**some", False), ("2**(two - top + 1)", True), ("2**(two - top)", False),
        # quotients by a number
        ("k/1", True), ("k/0", False), ("k*k/1.5", False), ("k/1.5", False), ("k/0.5", True), ("k*(k + 1)/2", True),
        ("k*(k + 1)/(0 - 2)", False), ("k*(k + 1)*(k + 2)/6", True), ("k*(k + 1)/3", False), ("x*(x + 1)/2", False),
        ("(k**3 - k)/6", True), ("(k**2 - k)/4", False), ("(-(k*k) - k)/2", True), ("(k*k - k*k*k)/2", True),
        ("(k*k + n*n + k + n)/2", True), ("(k*k + n*n + k)/2", False), ("(2*floor(x))/2", True), ("4*(k*n)/4", True),
        ("(k*n)/4", False), ("k*k/n", False), ("(6*k*n + 3)/3", True), ("(6*k*n + 4)/3", False),
        ("(x**2 + x)/1", False),
        # functions
        ("max(k, n)", True), ("max(k, x)", False), ("min(k, n)", True), ("min(x, k)", False), ("abs(n)", True),
        ("abs(x)", False), ("plus(n)", True), ("plus(x)", False), ("floor(x)", True), ("ceil(x)", True),
        ("sign(x)", True), ("sqrt(k)", False), ("exp(k)", False), ("binomial(x, k)", True), ("factorial(k)", True),
        ("argmax(x*i, (i, 0, k))", True), ("argmin(x*i, (i, 0, k))", True),
        # ranges: the index is an integer between its ends
        ("sum(i, (i, 0, k))", True), ("sum(i, (i, x, k))", True), ("sum(i*x, (i, 0, k))", False),
        ("prod(i, (i, 1, k))", True), ("max(i, (i, 1, k))", True), ("max(x, (i, 1, k))", False),
        ("sum(x, (x, 0, k))", True), ("sum(2**i, (i, 0, k))", True), ("sum(2**i, (i, -1, 3))", False),
        ("sum(2**(-i), (i, -3, 0))", True), ("sum(2**(-i), (i, -3, 1))", False), ("sum(2**i, (i, 3, -1))", True),
        # conditions
        ("(k if x > 0 else n)", True), ("(k if x > 0 else x)", False), ("(x if x > 0 else k)", False),
        ("x > 0", False), ("k >= 0", False),
    ],
)  # fmt: skip
def test_what_is_an_integer(text: str, answer: bool) -> None:
    assert whole(parse(text), ranges(RANGES)) is answer


def test_trees_that_no_text_gives() -> None:
    domains, k = ranges(RANGES), parse("k")
    assert not whole(tree.Divide(parse("k*(k + 1)"), tree.Number(Fraction(-2))), domains)
    assert not whole(tree.Divide(tree.Power(k, tree.Number(Fraction(-2))), tree.Number(Fraction(1))), domains)
    assert not whole(tree.Call("max", ()), domains)
    assert not _divisible(parse("2*k**0.5"), 2, domains)
    assert not _divisible(parse("0.5*k"), 1, domains)
    assert _divisible(parse("2*k**3"), 2, domains)


def test_as_many_residues_as_are_allowed() -> None:
    domains = ranges(RANGES)
    assert whole(parse("64*(k*n)/64"), domains)
    assert not whole(parse("65*(k*n)/65"), domains)
    assert not whole(parse("4097*(k*k)/4097"), domains)
    assert whole(parse("4096*(k*k)/4096"), domains)


POLYNOMIALS = ["k*k", "k*(k + 1)", "k*(k - 1)*(k + 1)", "k**3 - k", "k*k + k*n", "n**2*k - n*k", "k**2 + n**2",
               "-(k*k) - 3*k*n", "(k + n)*(k - n)", "2*k*n + 4", "(k**2 - 1)*(n**2 - 1)", "k**4 - k**2", "5 - k*k",
               "k**5 - k", "(k + 3)**2 - k**2", "k*(-n)*(-1)", "k*k*6", "k**0 + n*k*0"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", POLYNOMIALS)
@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 5, 6, 8, 12])
def test_residues_are_those_of_brute_force(text: str, divisor: int) -> None:
    node = parse(text)
    letters = sorted(free_letters(node))
    points = [dict(zip(letters, map(Fraction, v))) for v in product(range(divisor), repeat=len(letters))]
    divides = all(Formula(p).value(node) % divisor == 0 for p in points)  # type: ignore[operator]
    assert whole(tree.Divide(node, tree.Number(Fraction(divisor))), ranges(RANGES)) is divides


@pytest.mark.parametrize(
    ("text", "parity"),
    [("2*n", "even"), ("2*n + 1", "odd"), ("2*n - 1", "odd"), ("0", "even"), ("1", "odd"), ("k", ""), ("3*k", ""),
     ("k*(k + 1)", "even"), ("k*k + k + 1", "odd"), ("4*k + 2", "even"), ("3*k*0 + 3", "odd"), ("2*x", ""),
     ("1/2", ""), ("3/2", ""), ("2*floor(x) + 1", "odd"), ("6*k", "even")],
)  # fmt: skip
def test_parity(text: str, parity: str) -> None:
    node, domains = parse(text), ranges(RANGES)
    assert (even(node, domains), odd(node, domains)) == (parity == "even", parity == "odd")


def test_an_index_ranges_over_integers() -> None:
    domain = index_domain(parse("x"), parse("k + 1"))
    assert domain.kind == "integers"
    assert domain.lower is not None
    assert domain.upper is not None
    assert [to_text(domain.lower.tree), to_text(domain.upper.tree)] == ["x", "k + 1"]


@pytest.mark.parametrize(
    ("text", "powers"),
    [
        ("x**n", ["x**n"]),
        ("x**2", []),
        ("x**p", []),
        ("n", []),
        ("x**n + x**p - 1/(x**(2*n))", ["x**n", "x**(2*n)"]),
        ("(x**n)**k", ["(x**n)**k", "x**n"]),
        ("2**(x**n)", ["x**n"]),
        ("sum(x**j, (j, 0, k))", ["x**j"]),
        ("sum(x**i, (i, 0, k))", ["x**i"]),
        ("sum(i, (i, x**n, k))", ["x**n"]),
        ("sum(i, (i, 0, x**n))", ["x**n"]),
        ("sum(1, (i, 1, x**i))", []),
        ("sum(x**i, (i, 1, x**i))", ["x**i"]),
        ("max(x**n, 1)", ["x**n"]),
        ("exp(x**n)", ["x**n"]),
        ("sum(x**(i/2), (i, 0, k))", []),
    ],
)
def test_powers_whose_base_may_be_negative(text: str, powers: list[str]) -> None:
    assert [to_text(p) for p in signed_powers(parse(text), ranges(RANGES))] == powers


def test_every_part_before_a_range_belongs_to_it() -> None:
    call = tree.Call("max", (parse("1"), parse("x**i"), tree.Tuple((parse("i"), parse("0"), parse("k")))))
    assert [to_text(p) for p in signed_powers(call, ranges(RANGES))] == ["x**i"]
