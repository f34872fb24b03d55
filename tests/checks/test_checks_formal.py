"""Relations that hold by their form: what is shown is true of random vectors, what is false is never shown."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import decided
from bilevel_verify.checks.claims.decide import judge, undecided
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.formal import holds_formally
from bilevel_verify.language import parse
from bilevel_verify.theorems.card_parts import Expression, Link

pytestmark = pytest.mark.fast
OPEN = judge(v.ball(Fraction(1, 3)), "<=", v.ball(Fraction(1, 3)))


def link(text: str) -> Link:
    for op in ("<=", ">=", "=="):
        left, found, right = text.partition(f" {op} ")
        if found:
            return Link(Expression(parse(left), left), op, Expression(parse(right), right))
    raise AssertionError(text)


def world(seed: int = 0) -> Evaluator:
    rng = np.random.default_rng(seed)
    letters = {name: v.vector(rng.normal(size=3)) for name in ("a", "b", "c", "d")}
    letters["e"] = letters["a"]
    root = v.square_root(Fraction(2))
    letters |= {"r": root, "s": -root, "n": Fraction(6), "m": Fraction(-2)}
    for name in ("A", "B"):
        half = rng.normal(size=(2, 2))
        letters[name] = v.Matrix(tuple(v.vector(row).entries for row in half + half.T))
    return Evaluator({name: (value, "certified") for name, value in letters.items()})


def shown(text: str, seed: int = 0) -> bool:
    return holds_formally(link(text), OPEN, world(seed), {})


TRUE = (
    "norm(a - c) <= norm(a - b) + norm(b - c)",
    "norm(a - c) >= -norm(b)",
    "r*norm(a - c) <= r*(norm(a - b) + norm(c - b))",
    "-r*norm(a - b) - norm(a - c) >= -r*norm(a - b) - norm(a - d) - norm(d - b) - norm(b - c)",
    "2*r + norm(e)/r <= 2*r + (norm(a - b) + norm(b))/r",
    "norm(e - b) == norm(b - a)",
    "r**(1/2)/128 == sqrt(r)/128",
    "1/(n - floor(n/2))*r**2/n <= 2*r**2/n**2",
    "abs(lambda_min(A) - lambda_min(B)) <= norm(A - B)",
    "lambda_min(A) >= lambda_min(B) - norm(B - A)",
    "m*(norm(a - b) + norm(b)) <= m*norm(a)",
)
FALSE = (
    "norm(a - b) + norm(b - c) <= norm(a - c)",
    "norm(a + c) <= norm(a - b) + norm(b - c)",
    "s*norm(a - c) <= s*(norm(a - b) + norm(b - c))",
    "m*norm(a - c) <= m*(norm(a - b) + norm(b - c))",
    "norm(a - c) <= norm(a - b)*999999/1000000 + norm(b - c)",
    "norm(a - c) == norm(a - b) + norm(b - c)",
    "norm(a - c) + norm(a) <= norm(a - b) + norm(b - c)",
    "norm(a - c)*norm(b) <= norm(a - b)*norm(b) + norm(b - c)*norm(c)",
    "abs(lambda_min(A) - lambda_min(B)) == norm(A - B)",
    "norm(A - B)/m <= abs(lambda_min(A) - lambda_min(B))/m - r",
    "lambda_min(A) >= lambda_min(B) + norm(B - A)",
    "1/(n - floor(n/2))*r**2/n <= 2*r**2/n**2 - r/1000000",
    "2*r <= r",
    "1 <= 0",
)


@pytest.mark.parametrize("text", TRUE)
def test_what_holds_by_its_form(text):
    assert all(shown(text, seed) for seed in range(4))
    one = link(text)
    for seed in range(20):  # and it is true: no enclosures contradict it
        there = world(seed)
        assert judge(there.value(one.left.tree), one.op, there.value(one.right.tree)).answer is not False


@pytest.mark.parametrize("text", FALSE)
def test_what_does_not(text):
    assert not any(shown(text, seed) for seed in range(4))


def test_a_sign_that_turns_a_bound_round():
    """``|least - least|`` may be written as a norm on the lower side alone: a negative divisor changes the sides."""
    assert not shown("abs(lambda_min(A) - lambda_min(B))/m <= norm(A - B)/m")
    assert shown("norm(A - B)/m <= abs(lambda_min(A) - lambda_min(B))/m")
    assert shown("abs(lambda_min(A) - lambda_min(B))/n <= norm(A - B)/n")


def test_only_what_is_open_and_has_two_finite_sides():
    one, there = link(TRUE[0]), world()
    broken = judge(Fraction(2), "<=", Fraction(1))
    assert decided(one, broken, there, {}) is broken
    assert not holds_formally(one, undecided("tie"), there, {})
    found = decided(one, OPEN, there, {})
    assert found.answer is True
    assert found.margin == 0
    assert found.reason == ""


def test_the_certainty_of_the_place_stays():
    there = world()
    there.note("computed")
    holds_formally(link(TRUE[0]), OPEN, there, {})
    assert there.certainty == "computed"


def test_a_strict_relation_is_no_matter_of_form():
    left, right = (Expression(parse("norm(a)"), "norm(a)"),) * 2
    assert not holds_formally(Link(left, "<", right), OPEN, world(), {})
