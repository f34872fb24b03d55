"""Signs of combinations of logarithms: true relations tight at infinity, false ones by 1e-6, limits against mpmath."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from bilevel_verify.audit.formula import read_ranges
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim, prepared
from bilevel_verify.audit.scalar.combination import FIELD, LETTER, NotACombination, Range, Reader, has_root, odd_roots
from bilevel_verify.audit.scalar.rolle import _expansion, _limit, _logarithm, _sign_of, by_rolle
from bilevel_verify.language import parse, tree

pytestmark = pytest.mark.fast


def decided(text: str, ranges: str, where: str = "") -> Decision:
    relation = parse(text)
    assert isinstance(relation, tree.Compare)
    (left, right), (op,) = relation.operands, relation.operators
    conditions = (parse(where),) if where else ()
    return by_rolle(prepared(ScalarClaim(left, op, right, read_ranges(ranges, []), conditions)))


TRUE = [
    ("(1 + 1/k)**(k + 1/2) >= E", "k = integers 1.."),
    ("(1 + 1/k)**(k + 1/2) > E", "k = (0, oo)"),
    ("(1 - 1/n)**n <= 1/E", "n = integers 2.."),
    ("(1 - 1/n)**n < 1/E", "n = (1, oo)"),
    ("(1 - 1/n)**(n - 1) > 1/E", "n = [2, oo)"),
    ("(1 + 1/n)**n < E", "n = [1, oo)"),
    ("(1 + 1/n)**(n + 1) > E", "n = [1, oo)"),
    ("(1 + 1/n)**n >= E*(1 - 1/(2*n))", "n = [1, oo)"),
    ("(1 + 1/n)**n <= E*(1 - 1/(2*n + 2))", "n = [1, oo)"),
    ("(1 + 1/n)**(n + 1/2) <= E*exp(1/(12*n*(n + 1)))", "n = [1, oo)"),
    ("(1 + 1/n)**(n + 2/5) < E*(1 + 1/(10*n))", "n = [1, oo)"),
    ("(1 + x)**(1/x) <= E", "x = (0, oo)"),
    ("(1 + 1/(2*x))**(2*x) <= E", "x = (0, oo)"),
    ("log(1 + 1/n) >= 2/(2*n + 1)", "n = (0, oo)"),
    ("exp(-x) <= 1/(1 + x)", "x = [0, oo)"),
    ("exp(x) >= 1 + x + x**2/2", "x = [0, oo)"),
    ("x*log(x) >= x - 1", "x = (0, oo)"),
    ("log(x) <= x - 1", "x = (0, oo)"),
    ("log(x) <= 2*(sqrt(x) - 1)", "x = [1, oo)"),
    ("sqrt(x)*log(x) >= sqrt(x)*(1 - 1/x)", "x = (0, oo)"),
    ("log((1 + x)/(1 - x)) >= 2*x + 2*x**3/3", "x = [0, 1)"),
    ("2**(1/n) <= 1 + 1/n", "n = [1, oo)"),
    ("x**(3/2) >= x", "x = [1, oo)"),
    ("(2*n + 1)*(log(n + 1) - log(n)) > 2", "n = integers 1.."),
    ("log(3)*x > log(2)*x", "x = (0, oo)"),
]
"""True, most of them tight at an end of the range."""

FALSE = [
    ("(1 + 1/k)**(k + 499999/1000000) >= E", "k = [1, oo)"),
    ("(1 - 1/n)**n < 999999/1000000/E", "n = (1, oo)"),
    ("(1 + 1/n)**(n + 1) >= E*(1 + 1/(2*n))*(1 + 1/10**6)", "n = [1, oo)"),
    ("(1 + 1/n)**(n + 1) >= E*(1 + 1/(2*n) + 1/(10**3*n))", "n = [1, oo)"),
    ("(1 + 1/n)**n > E*(1 - 1/(2*n) + 1/(2*n**2))", "n = [1, oo)"),
    ("exp(x) >= 1 + x + 500001/1000000*x**2", "x = [0, oo)"),
    ("x*log(x) >= x - 1 + 1/10**6", "x = (0, oo)"),
    ("log(1 + 1/n) >= 2/(2*n + 1) + 1/10**6/n**2", "n = (0, oo)"),
    ("log(x) <= x*36787/100000", "x = (0, oo)"),
    ("2**(1/n) <= 1 + 693/(1000*n)", "n = [1, oo)"),
    # one side condition each
    ("x*log(x) > x - 1", "x = (0, oo)"),  # strict, both sides meet inside
    ("log(x) < x - 1", "x = [1, oo)"),  # strict, both sides meet at a closed end
    ("x**2 - 2*x + 1 > 0", "x = [0, 3]"),  # strict, a double root inside
    ("(x - 1)**2*log(x) >= 0", "x = (0, oo)"),  # a coefficient with a double root
    ("x/x >= 1", "x = [0, 1]"),  # not defined at a closed end
    ("log(x) - log(x) >= 0", "x = [0, 1]"),
    ("x**0 >= 1", "x = [0, 1]"),
    ("(1 + x)**(1/x) <= E", "x = [0, oo)"),
    ("(1 - x)**(1/x) < 1/E", "x = (0, 1]"),
    ("1/(x - 2) >= 1/(x - 2)", "x = [0, oo)"),  # a pole inside
    ("log(x**2) <= 2*log(x)", "x = [-1, 1]"),  # the argument of a logarithm is negative
    ("log(2 - x) <= 1", "x = [0, oo)"),
    ("(x - 3)**x <= 9", "x = [0, 2]"),
    ("(x - 1)*log(x) <= 0", "x = (0, oo)"),
    ("log(x) <= 7/10*sqrt(x)", "x = (0, oo)"),
]


@pytest.mark.parametrize(("text", "ranges"), TRUE)
def test_true_relations_that_are_tight_at_an_end(text: str, ranges: str) -> None:
    found = decided(text, ranges)
    assert (found.outcome, found.engine) == ("proved", "rolle"), found.certificate


@pytest.mark.parametrize(("text", "ranges"), FALSE)
def test_false_relations_are_not_proved(text: str, ranges: str) -> None:
    assert decided(text, ranges).outcome == "undecided"


def test_a_hypothesis_that_is_narrower_than_an_open_end_belongs_to_the_range() -> None:
    assert decided("log(x) < x - 1", "x = (0, oo)", "x >= 1").outcome == "undecided"
    assert decided("log(x) < x - 1", "x = (0, oo)", "x > 1").outcome == "undecided"  # no strict ends from hypotheses
    assert decided("log(x) < x - 1", "x = (1, oo)").outcome == "proved"
    assert decided("log(x) <= x - 1", "x = (0, oo)", "x >= 1").outcome == "proved"


@pytest.mark.parametrize("text", ["(a + x)**x <= 2", "x == x", "floor(log(x)) <= log(x)", "sin(x) <= x", "x % 2 <= 2"])
def test_what_it_does_not_read(text: str) -> None:
    assert decided(text, "x = [1, 2]; a = [0, 1]").outcome == "undecided"


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("cos(x) <= 2", "another function, or another letter; no product of powers"),
        ("x + 1 <= x**2", "the signs are not settled"),
        ("exp(exp(x)) >= x", "another function, or another letter"),
        ("(x - 1)**2*log(x + 1) > 0", None),
    ],
)
def test_why_nothing_is_settled_is_said_of_both_ways(text: str, reasons: str | None) -> None:
    found = decided(text, "x = [1/2, oo)")
    assert found.outcome == "undecided"
    assert reasons is None or found.certificate == reasons


def test_sign_changes_and_roots_are_counted_inside_the_open_range() -> None:
    x = FIELD.ring.gens[0]
    poly = (x - 1) * (x - 2) ** 2 * (x - 3)
    assert odd_roots(poly, Range(Fraction(0), None)) == 2
    assert odd_roots(poly, Range(Fraction(1), None)) == 1
    assert odd_roots(poly, Range(Fraction(1), Fraction(3))) == 0
    assert has_root(poly, Range(Fraction(1), Fraction(3)))
    assert not has_root(poly, Range(Fraction(3), None))
    assert odd_roots((x - 1) ** 3, Range(Fraction(0), None)) == 1
    assert odd_roots(x**2 - 2, Range(Fraction(1), Fraction(2))) == 1


LIMITS = [
    "x*log(1 + 1/x) - 1",
    "x**2*log(1 + 1/x) - x + 1/2",
    "x**3*log(1 + 1/x) - x**2 + x/2 - 1/3",
    "(x + 1/2)*log(1 + 1/x) - 1",
    "log(2*x + 1) - log(x) - log(2)",
    "log(3*x + 1) - log(x) - log(2)",
    "x - 1000*log(x)",
    "log(x)/x - 1/x",
    "(x**2 + 1)*log(x)/(x + 7) - x*log(x + 1)",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", LIMITS)
@pytest.mark.parametrize(("low", "high"), [(1, None), (0, 1), (Fraction(1, 2), 3)])
def test_limits_agree_with_many_digits_close_to_the_ends(text: str, low: Fraction, high: Fraction | None) -> None:
    where = Range(Fraction(low), None if high is None else Fraction(high))
    value = Reader("x", where).of(parse(text))
    with mpmath.workdps(200):
        for upper in (False, True):
            end = where.high if upper else where.low
            small = mpmath.mpf(10) ** -40
            at = (
                1 / small if end is None else mpmath.mpf(end.numerator) / end.denominator + (-small if upper else small)
            )
            near = eval_at(text, at)
            sign = 0 if abs(near) < mpmath.mpf(10) ** -30 else int(mpmath.sign(near))
            assert _limit(value, where, upper) == sign, (text, end, near)


def eval_at(text: str, at: mpmath.mpf) -> mpmath.mpf:
    import sympy

    x = sympy.Symbol("x")
    return sympy.lambdify(x, sympy.sympify(text, {"x": x}, rational=True), "mpmath")(at)


def test_expansions_of_random_rational_functions() -> None:
    random = np.random.default_rng(5)
    t = Fraction(1, 10**6)
    for _ in range(20):
        coefficients = random.integers(1, 9, (2, 4))
        top, bottom = (sum(int(c) * LETTER**k for k, c in enumerate(row)) for row in coefficients)
        above, below = (sum(int(c) * t**k for k, c in enumerate(row)) for row in coefficients)
        series = _expansion(top / bottom, Range(Fraction(0), None), False, 6)
        assert abs(sum(c * t**k for k, c in series.items()) - above / below) < 10**9 * t**7


def test_the_logarithm_of_a_polynomial_near_an_end() -> None:
    x = FIELD.ring.gens[0]
    order, first, tail = _logarithm(2 * x**2 + 4 * x, Range(Fraction(0), None), False, 3)
    assert (order, first) == (1, 4)
    assert tail == {1: Fraction(1, 2), 2: Fraction(-1, 8), 3: Fraction(1, 24)}
    with pytest.raises(NotACombination):
        _logarithm(-x, Range(Fraction(0), None), False, 1)


def test_signs_of_numbers_are_exact() -> None:
    two, three = Fraction(2), Fraction(3)
    assert _sign_of((Fraction(0), {two: Fraction(3), Fraction(8): Fraction(-1)})) == 0
    assert _sign_of((Fraction(0), {two: Fraction(3), Fraction(8): Fraction(-1), three: Fraction(1)})) == 1
    assert _sign_of((Fraction(-1, 10**40), {two: Fraction(1, 2), Fraction(4): Fraction(-1, 4)})) == -1
    assert _sign_of((Fraction(-693147180559945309417, 10**21), {two: Fraction(1)})) == 1
    assert _sign_of((Fraction(-693147180559945309418, 10**21), {two: Fraction(1)})) == -1
    assert _sign_of((Fraction(0), {Fraction(1): Fraction(5)})) == 0
