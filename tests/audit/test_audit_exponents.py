"""Letters in exponents, roots of sums: what the engines of powers prove, and that they prove nothing false."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from mpmath import mp, mpf
from seeds import SEED

from bilevel_verify.audit.formula import check, read_ranges
from bilevel_verify.audit.scalar.algebra import NotAlgebraic
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.deciding import decide
from bilevel_verify.audit.scalar.exponents import by_exponents, interior
from bilevel_verify.audit.scalar.powers import collected, terms_of
from bilevel_verify.audit.scalar.raising import by_raising
from bilevel_verify.audit.scalar.signs import nonnegative, positive
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.language import parse, tree

TRUE = [
    ("x**(2+n) + y**(2+n) <= (x**2 + y**2)**((2+n)/2)", "x = [0, oo); y = [0, oo); n = [0, 1]", "exponents"),
    ("t*((1-t)*d)**(1+n) + (1-t)*(t*d)**(1+n) <= (t*(1-t)**(1+n) + (1-t)*t**(1+n))*d**(1+n)",
     "t = [0, 1]; d = [0, oo); n = [0, 1]", "exponents"),
    ("(a + b)**p <= a**p + b**p", "a = [0, oo); b = [0, oo); p = [0, 1]", "exponents"),
]  # fmt: skip
FALSE = [
    ("x**(2+n) + y**(2+n) <= (x**2 + y**2)**((3+n)/2)", "x = [0, oo); y = [0, oo); n = [0, 1]"),
    ("(a + b)**p <= a**p + b**p", "a = [0, oo); b = [0, oo); p = [0, 11/10]"),
    ("a**p + b**p <= (a + b)**p", "a = [0, oo); b = [0, oo); p = [9/10, 2]"),
    ("(a + b)**(3/2) <= 7/5*(a**(3/2) + b**(3/2))", "a = [0, oo); b = [0, oo)"),
    ("x**n < 1 + x", "x = [0, 1]; n = [0, 1]"),
    ("x**n <= x", "x = (0, 1]; n = [0, 1]"),
    ("x**n + x**(1-n) <= x", "x = (2, 3); n = (0, 1)"),
    ("x**n <= 2*x**(2*n) - x/2", "x = (3, 4); n = (0, 1]"),
    ("(2*x)**n <= 2*x**n - 1/1000", "x = [1, 2]; n = [0, 1]"),
]


def claim_of(text: str, ranges: str, *where: str) -> ScalarClaim:
    node = parse(text)
    assert isinstance(node, tree.Compare)
    domains = read_ranges(ranges, set())
    return ScalarClaim(node.operands[0], node.operators[0], node.operands[1], domains, tuple(map(parse, where)))


@pytest.mark.parametrize(("text", "ranges", "engine"), TRUE)
def test_true_relations_between_powers_are_proved(text: str, ranges: str, engine: str) -> None:
    (finding,) = check(text, ranges, seconds=6)
    assert finding.verdict == "holds"
    assert (finding.row.reason or "").startswith(engine)


def test_roots_of_a_sum_are_removed() -> None:
    ranges = "a = [0, oo); b = [0, oo); c = [0, oo)"
    claim = claim_of("(a + b + c)**(3/2) <= sqrt(3)*(a**(3/2) + b**(3/2) + c**(3/2))", ranges)
    assert by_raising(claim, lambda part: by_smt(part, 1_000)).outcome == "proved"
    claim = claim_of("(a + b + c)**(3/2) <= 17/10*(a**(3/2) + b**(3/2) + c**(3/2))", ranges)
    assert by_raising(claim, lambda part: by_smt(part, 1_000)).outcome != "proved"


@pytest.mark.parametrize(("text", "ranges"), FALSE)
def test_the_engines_alone_do_not_prove_false_ones(text: str, ranges: str) -> None:
    """Without the attack in front of them; parts are judged by the whole machinery."""
    claim = claim_of(text, ranges)

    def part(smaller: ScalarClaim) -> Decision:
        return decide(smaller, seconds=1.0)

    for engine in (by_exponents, by_raising):
        assert engine(claim, part).outcome != "proved"


@pytest.mark.parametrize(("factor", "outcome"), [(1, "proved"), (15, "proved"), (20, "undecided")])
def test_products_whose_logarithms_compare(factor: int, outcome: str) -> None:
    """True up to 16 = 2**4; nothing is split off here, so that the parts need no engine."""
    claim = claim_of(
        "sqrt(k*S) <= (L/H)**(1/n)",
        "k = integers 2..; n = (0, 1]; H = (0, oo); L = (0, oo); S = (0, oo)",
        f"k**(4+n)*H**2*S**n <= {factor}*L**2",
    )
    assert by_exponents(claim, lambda _: Decision("undecided", "none")).outcome == outcome


def test_closed_ends_are_left_out_only_where_both_sides_are_continuous() -> None:
    def closed(text: str, ranges: str) -> bool:
        return interior(claim_of(text, ranges)).domains["x"].lower_closed

    assert not closed("x**2 <= x + y", "x = [0, oo); y = (0, oo)")
    assert not closed("x**(1+y) <= x + y", "x = [0, oo); y = [0, 1]")
    assert closed("x**2 < x + y", "x = [0, oo); y = (0, oo)"), "a strict relation may fail at the end alone"
    assert closed("y**x <= x", "x = [0, oo); y = [0, 1]"), "0**x jumps at 0"
    assert closed("floor(x) <= x", "x = [0, oo)")
    assert closed("1/x <= 2", "x = [0, oo)")
    assert closed("x <= y", "x = [0, oo); y = [x, oo)"), "the range of y needs x"
    assert closed("x <= 3", "x = [0, 0]"), "a range of one point has no inside"


SHAPES = ["(a*b)**(1+n)*a", "sqrt(a)*b**n/a**2", "(a**2*b)**(n/2)*(a + b)", "(3*a)**n*(b/2)**2 - a", "(a/b)**(1-n)"]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_normal_form_has_the_same_value(shape: str) -> None:
    random = np.random.default_rng(SEED)
    claim = claim_of(f"{shape} <= 0", "a = (0, oo); b = (0, oo); n = [0, 1]")
    terms = terms_of(claim.left, claim)
    before = mp.dps
    mp.dps = 50
    for _ in range(5):
        at = {name: mpf(float(random.uniform(0.1, 5))) for name in "ab"} | {"n": mpf(float(random.uniform(0, 1)))}
        value = eval(shape.replace("sqrt(a)", "a**mpf(0.5)"), {}, {**at, "mpf": mpf})
        total = mpf(0)
        for term in terms:
            product = mpf(term.number.numerator) / term.number.denominator
            for base, power in term.powers.items():
                exponent = mpf(str(power.evalf(50, subs={s: at[str(s)] for s in power.free_symbols})))
                product *= _value(base, at) ** exponent
            total += product
        assert abs(value - total) <= mpf(10) ** -12 * (1 + abs(value)), f"seed {SEED}"
    mp.dps = before


def _value(node: tree.Node, at: dict[str, mpf]) -> mpf:
    match node:
        case tree.Number(value=value):
            return mpf(value.numerator) / value.denominator
        case tree.Letter(name=name):
            return at[name]
        case tree.Add(terms=terms):
            return sum((_value(t, at) for t in terms), mpf(0))
    raise AssertionError(node)


def test_powers_of_what_may_be_negative_are_not_split() -> None:
    for text, ranges in itertools.product(
        ("(x*y)**n <= 1", "(x*y)**(1/2) <= 1"), ("x = (-oo, oo); y = (-oo, oo); n = [0, 1]",)
    ):
        with pytest.raises(NotAlgebraic):
            collected(claim_of(text, ranges))


def test_a_letter_from_another_letter_on_is_positive_where_that_one_is() -> None:
    domains = read_ranges("mu = (0, oo); L = [mu, oo); a = [b, oo); b = [-1, oo)", set())
    assert positive(parse("1 + 4*L/mu"), domains)
    assert not nonnegative(parse("a"), domains)
