"""Trends of sides while a run goes on: as expected one by one, and never against the numbers of a later time."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from flint import arb

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.decide import Judgement, Tally
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.growth import Trend, Trends, stays_violated
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Claim
from bilevel_verify.theorems.card_parts import Condition, Domain, Expression, Link
from tests.seeds import SEED

pytestmark = pytest.mark.fast

F = Fraction
STILL, UP, DOWN, UNKNOWN = Trend
LETTERS: dict[str, Any] = {"a": F(3), "b": F(-2), "c": F(0), "u": arb(0, 0.5), "h": F(1, 2), "p": arb(2, 0.5)}
LETTERS["w"] = F(-1, 10**400)  # no float is between it and 0
NOW = {"iterations": 7, "epochs": 2, "calls": 9}


class At:
    """The counts of a run at one time."""

    def __init__(self, **counts: int) -> None:
        self.counts = {**NOW, **counts}

    def fact(self, name: str, bound: object) -> Fraction:
        return F({"iterations": self.counts["iterations"], "epochs": self.counts["epochs"]}[name])

    def calls(self, kind: str) -> int:
        return self.counts["calls"]

    def entry(self, name: str, epoch: int, k: int) -> Any:
        raise MathematicalError("not recorded")


DEFINED = {"m": parse("iterations + 1"), "q": parse("q + iterations"), "r": parse("s + 1"), "s": parse("r*iterations")}


def evaluator(**counts: int) -> Evaluator:
    return Evaluator({n: (x, "proved") for n, x in LETTERS.items()}, DEFINED, None, At(**counts))  # type: ignore[arg-type]


def trend(text: str) -> Trend:
    return Trends(evaluator()).of(parse(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2", STILL),
        ("a", STILL),
        ("pi", STILL),
        ("oo", STILL),
        ("x_int", STILL),
        ("iterations", UP),
        ("epochs", UP),
        ("calls(grad_f)", UP),
        ("somebody", UNKNOWN),
        ("k_end", UNKNOWN),
        ("output", UNKNOWN),
        ("-iterations", DOWN),
        ("-a", STILL),
        ("-norm(output)", UNKNOWN),
        ("m", UP),
        ("m*m", UP),
        ("m - iterations", UNKNOWN),
        ("q", UNKNOWN),
        ("r", UNKNOWN),
        ("m + q", UNKNOWN),
        ("a + iterations + epochs", UP),
        ("a - iterations - epochs", DOWN),
        # products: the signs of the others decide for one that moves
        ("a*b", STILL),
        ("u*a", STILL),
        ("a*iterations", UP),
        ("b*iterations", DOWN),
        ("c*iterations", UP),
        ("u*iterations", UNKNOWN),
        ("w*iterations", DOWN),
        ("-w*iterations", UP),
        ("iterations/w", UNKNOWN),
        ("p*iterations", UP),
        ("-p*iterations", DOWN),
        ("log(b)*iterations", UNKNOWN),
        ("h*iterations", UP),
        ("a*(100 - iterations)", DOWN),
        ("b*(100 - iterations)", UP),
        ("a*(iterations - 100)", UP),
        ("b*(iterations - 100)", DOWN),
        ("u*(iterations - 100)", UNKNOWN),
        ("a*b*(iterations - 100)*b", UP),
        # several that move: each keeps its sign and grows
        ("iterations*epochs", UP),
        ("a*iterations*epochs*b*b", UP),
        ("b*iterations*epochs", DOWN),
        ("(-iterations)*(-epochs)", UP),
        ("(-iterations)*epochs", DOWN),
        ("(iterations - 7)*(iterations - 7)", UP),
        ("(7 - iterations)*(7 - iterations)", UNKNOWN),  # 0 may be the start of either sign
        ("iterations*(100 - epochs)", UNKNOWN),
        ("(100 - iterations)*epochs", UNKNOWN),
        ("(100 - iterations)*(100 - epochs)", UNKNOWN),
        ("(iterations - 100)*epochs", UNKNOWN),
        ("norm(output)*a", UNKNOWN),
        ("(-abs(cos(iterations)))*a", UNKNOWN),
        ("(-abs(cos(iterations)))*iterations", UNKNOWN),
        # quotients
        ("a/iterations", DOWN),
        ("b/iterations", UP),
        ("iterations/a", UP),
        ("iterations/b", DOWN),
        ("iterations/c", UNKNOWN),
        ("iterations/u", UNKNOWN),
        ("a/(iterations - 7)", UNKNOWN),
        ("a/(7 - iterations)", UNKNOWN),
        ("a/(iterations - 100)", UNKNOWN),
        ("a/(100 - iterations)", UNKNOWN),
        ("a/(1 - iterations)", UP),
        ("(1 - iterations)/a", DOWN),
        ("iterations/epochs", UNKNOWN),
        ("a/(-abs(cos(iterations)))", UNKNOWN),
        ("(100 - iterations)/a", DOWN),
        ("(100 - iterations)/epochs", UNKNOWN),
        ("(-iterations)/(1/epochs)", UNKNOWN),
        # powers
        ("a**b", STILL),
        ("iterations**2", UP),
        ("iterations**h", UP),
        ("iterations**c", UP),
        ("iterations**b", DOWN),
        ("iterations**u", UNKNOWN),
        ("iterations**iterations", UNKNOWN),
        ("a**iterations", UNKNOWN),
        ("iterations**epochs", UNKNOWN),
        ("(100 - iterations)**2", UNKNOWN),
        ("(-iterations)**2", UNKNOWN),
        ("(-iterations)**b", UNKNOWN),
        ("(iterations - 100)**2", UNKNOWN),
        ("(iterations - 100)**b", UNKNOWN),
        ("(iterations - 7)**2", UP),
        ("(iterations - 7)**b", UNKNOWN),
        # functions
        ("max(iterations, epochs)", UP),
        ("min(iterations, epochs)", UP),
        ("max(a, iterations)", UP),
        ("min(a, -iterations)", DOWN),
        ("max(iterations, -iterations)", UNKNOWN),
        ("max(a, b)", STILL),
        ("max(a*iterations, (a, -3, -1))", UNKNOWN),  # the letter of a range hides one of the card
        ("sum(a, (a, 1, 3))", UNKNOWN),
        ("floor(a)", STILL),
        ("floor(iterations)", UP),
        ("ceil(-iterations)", DOWN),
        ("sqrt(iterations)", UP),
        ("sqrt(100 - iterations)", UNKNOWN),  # it has no value later on
        ("log(100 - iterations)", UNKNOWN),
        ("exp(-iterations)", DOWN),
        ("tanh(-iterations)", DOWN),
        ("cos(iterations)", UNKNOWN),
        ("cosh(iterations)", UNKNOWN),
        ("abs(iterations)", UP),
        ("abs(-iterations)", UNKNOWN),
        ("abs(100 - iterations)", UNKNOWN),
        ("abs(iterations - 100)", UNKNOWN),
        ("abs(u)", STILL),
        # whole: still if nothing in it moves
        ("a % 2", STILL),
        ("a % b", STILL),
        ("iterations % a", UNKNOWN),
        ("a % iterations", UNKNOWN),
        ("a < b", STILL),
        ("a < iterations", UNKNOWN),
        ("not a < b", STILL),
        ("a if b < c else b", STILL),
        ("a if iterations < 10 else b", UNKNOWN),
        ("x[0]", UNKNOWN),
        ("x[0] < a", UNKNOWN),
        ("floor(a) % 2", STILL),
        ("floor(iterations) % 2", UNKNOWN),
    ],
)
def test_trend(text: str, expected: Trend) -> None:
    assert trend(text) is expected


def test_a_sign_is_strict_only_where_zero_is_no_end_of_the_ball() -> None:
    """A ball of [0, 2] is >= 0 and may be 0: nothing is divided by it."""
    from_zero = arb(0, 1) + arb(0, 1).rad()
    assert from_zero.lower() == 0
    letters = {"z": (from_zero, "proved"), "p": (arb(2, 0.5), "proved")}
    trends = Trends(Evaluator(letters, DEFINED, None, At()))  # type: ignore[arg-type]
    for text, sign in (("z", 1), ("-z", -1), ("p", 2), ("-p", -2), ("z - p", 0)):
        assert trends._sign(parse(text)) == sign, text
    assert trends.of(parse("iterations/p")) is UP
    assert trends.of(parse("iterations/z")) is UNKNOWN
    assert trends.of(parse("iterations*z")) is UP


def test_trends_turn() -> None:
    assert [one.turned() for one in (STILL, UP, DOWN, UNKNOWN)] == [STILL, DOWN, UP, UNKNOWN]


ATOMS = ("iterations", "epochs", "calls(grad_f)", "a", "b", "c", "h", "3", "(7 - iterations)", "(iterations - 8)")
SUMS = ("({} + {})", "({} - {})", "({}*{})", "({}/{})", "({}*{}*{})", "({} % 3)", "(2*{})", "(1/{})", "(-{})")
CALLS = ("max({}, {})", "min({}, {})", "({}**2)", "({}**b)", "sqrt({})", "floor({})", "abs({})", "plus({})", "sign({})")
FORMS = (*SUMS, *CALLS)
LATER = list(itertools.product((7, 8, 11, 200), (2, 3, 50), (9, 10, 300)))


def grown(generator: random.Random, depth: int) -> str:
    if depth == 0:
        return generator.choice(ATOMS)
    form = generator.choice(FORMS)
    return form.format(*(grown(generator, generator.randrange(depth)) for _ in range(form.count("{}"))))


def at(node: Any, later: tuple[int, int, int]) -> Any:
    try:
        return evaluator(iterations=later[0], epochs=later[1], calls=later[2]).scalar(node, {})
    except (MathematicalError, OverflowError):
        return None


@pytest.mark.slow
def test_no_trend_is_contradicted_by_a_later_time() -> None:
    generator = random.Random(SEED)
    seen = dict.fromkeys(Trend, 0)
    for _ in range(250):
        text = grown(generator, 3)
        node = parse(text)
        if at(node, (7, 2, 9)) is None:
            continue
        found = Trends(evaluator()).of(node)
        seen[found] += 1
        if found is UNKNOWN:
            continue
        values = {later: at(node, later) for later in LATER}
        for early, late in itertools.combinations(LATER, 2):
            if all(p <= q for p, q in zip(early, late)):
                one, other = values[early], values[late]
                assert one is not None, text
                assert other is not None, text
                assert not (found in (STILL, UP) and v.compare(other, "<", one) is True), text
                assert not (found in (STILL, DOWN) and v.compare(other, ">", one) is True), text
    assert min(seen.values()) >= 10, seen


# --- relations


def judged_of(left: str, op: str, right: str, measured: float, bound: float, **more: Any) -> Judged:
    one = Link(Expression(parse(left), left), op, Expression(parse(right), right))
    tally = Tally()
    tally.take(Judgement(False, measured, bound, -0.5))
    return Judged(Claim(id="c", over="run", chain=(one,), **more), one, 0, tally, evaluator())


RIGHT_TRENDS = {"iterations": UP, "-iterations": DOWN, "a": STILL, "cos(iterations)": UNKNOWN}


@pytest.mark.parametrize(("left", "right"), list(itertools.product(RIGHT_TRENDS, repeat=2)))
def test_what_is_violated_for_good(left: str, right: str) -> None:
    grows, shrinks = (UP, STILL), (DOWN, STILL)
    a, b = RIGHT_TRENDS[left], RIGHT_TRENDS[right]
    too_large, too_small = a in grows and b in shrinks, a in shrinks and b in grows
    for op in ("<=", "<"):
        assert stays_violated(judged_of(left, op, right, 2, 1)) is too_large
    for op in (">=", ">"):
        assert stays_violated(judged_of(left, op, right, 1, 2)) is too_small
    assert stays_violated(judged_of(left, "==", right, 2, 1)) is too_large
    assert stays_violated(judged_of(left, "==", right, 1, 2)) is too_small
    assert stays_violated(judged_of(left, "==", right, 1, 1)) is False  # nobody knows on which side


def test_what_is_not_violated_does_not_stay_so() -> None:
    judged = judged_of("iterations", "<=", "a", 2, 1)
    assert stays_violated(judged) is True
    whole = SimpleNamespace(evaluator=judged.evaluator, tally=Tally(), claim=judged.claim, link=judged.link)
    assert stays_violated(whole) is False  # type: ignore[arg-type]


def condition(text: str) -> Condition:
    return Condition(parse(text), text)


def span(low: str, high: str | None) -> Domain:
    ends = [None if end is None else Expression(parse(end), end) for end in (low, high)]
    return Domain("integers", "integers", ends[0], ends[1])


@pytest.mark.parametrize(
    ("more", "stays"),
    [
        ({}, True),
        ({"where": (condition("a < b"),)}, True),
        ({"where": (condition("iterations < 10"),)}, False),
        ({"where": (condition("a < b"), condition("iterations < 10"))}, False),
        ({"where": (condition("iterations < 10"), condition("a < b"))}, False),
        ({"for_": {"i": span("1", "a")}}, True),
        ({"for_": {"i": span("1", None)}}, True),
        ({"for_": {"i": span("1", "iterations")}}, False),
        ({"for_": {"i": span("iterations", "a")}}, False),
        ({"for_": {"i": span("1", "a"), "j": span("1", "iterations")}}, False),
    ],
)
def test_a_place_may_vanish_when_the_run_goes_on(more: dict[str, Any], stays: bool) -> None:
    assert stays_violated(judged_of("iterations", "<=", "a", 2, 1, **more)) is stays
