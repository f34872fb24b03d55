"""Multipliers of monomial hypotheses: which, as formulas, nonnegative, and enough."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest
import sympy
from audit_pieces import Recorder, claim_of, mono

from bilevel_verify.audit.scalar import monomials
from bilevel_verify.audit.scalar.claim import Decision, ScalarClaim
from bilevel_verify.audit.scalar.monomials import (
    _combine,
    _number_is_enough,
    _of_number,
    _samples,
    _sign,
    active_facts,
    by_monomials,
    powers_of,
)
from bilevel_verify.audit.scalar.smt import prove as by_smt
from bilevel_verify.language import parse
from bilevel_verify.numbers.exact import Formula

pytestmark = pytest.mark.fast

RANGES = "nu = [0, 1]; mu = (0, 1]; w = [-1, 1]; n = [0, oo); t = [2, oo); u = (1, oo); z = (-oo, oo)"
NU, MU = (sympy.Symbol(name, positive=True) for name in ("nu", "mu"))


# --- multipliers


@pytest.mark.parametrize(
    ("domains", "names", "values"),
    [
        ("nu = [0, 1]", ["nu"], [("3/7",), ("5/7",), ("1/7",)]),
        ("nu = [1, 3]", ["nu"], [("13/7",), ("17/7",), ("9/7",)]),
        ("nu = [2, oo)", ["nu"], [("17/7",), ("19/7",), ("15/7",)]),
        ("nu = (-oo, 2]", ["nu"], [("6/7",), ("10/7",), ("2/7",)]),
        ("nu = integers ..", ["nu"], [("3/7",), ("5/7",), ("1/7",)]),
        ("nu = [a, 2]; a = [1, 2]", ["nu"], [("6/7",), ("10/7",), ("2/7",)]),
        ("nu = [1, a]; a = [1, 2]", ["nu"], [("10/7",), ("12/7",), ("8/7",)]),
        ("nu = [0, 1]; mu = [1, 2]", ["nu", "mu"],
         [(n, m) for n in ("3/7", "5/7", "1/7") for m in ("10/7", "12/7", "8/7")]),
        ("", [], [()]),
    ],
)  # fmt: skip
def test_samples_of_the_exponents(domains: str, names: list[str], values: list[tuple[str, ...]]) -> None:
    claim = claim_of("a**nu <= b**mu", domains)
    expected = [dict(zip(names, map(sympy.Rational, v))) for v in values]
    assert list(_samples(claim, tuple(names))) == expected


def test_at_most_nine_samples() -> None:
    claim = claim_of("a**(nu + mu + xi) <= 1", "nu = [0, 1]; mu = [0, 1]; xi = [0, 1]")
    assert len(list(_samples(claim, ("nu", "mu", "xi")))) == 9


@pytest.mark.parametrize(
    ("goal", "facts", "active"),
    [
        ("a**2", ["a", "b"], [0]),
        ("a*b", ["a", "b"], [0, 1]),
        ("a*b", ["b", "c", "a"], [0, 2]),
        ("a", ["b"], None),
        ("1/a", ["a"], None),
        ("a", [], None),
        ("1", [], []),
        ("2", [], []),
        ("2", ["3"], []),
        ("1", ["a"], []),
        ("a/b", ["a/b", "b/a"], [0]),
        # the combination that leaves the largest number
        ("a", ["2*a", "a"], [1]),
        ("a", ["a", "2*a"], [0]),
        ("a", ["2*a", "3*a"], [0]),
        ("a", ["3*a", "2*a"], [1]),
        ("a", ["2*a", "a/3"], [1]),
        ("a**2", ["a", "6/5*a**2"], [0]),
        ("a**2", ["6/5*a", "4/3*a**2"], [1]),
    ],
)
def test_hypotheses_that_are_used(goal: str, facts: list[str], active: list[int] | None) -> None:
    assert active_facts(mono(goal), [mono(f) for f in facts], {}) == active


def test_hypotheses_that_are_used_at_a_sample() -> None:
    def active(value: str) -> list[int] | None:
        facts = [mono(f, False, "nu") for f in ("a*b**nu", "a/b", "2**nu*a*b**nu")]
        return active_facts(mono("a", False, "nu"), facts, {"nu": sympy.Rational(value)})

    assert active("1/2") == [0, 1]
    assert active("-1") is None
    assert active("0") == [0]
    facts = [mono("a**(1/nu)", False, "nu"), mono("b")]
    assert active_facts(mono("a"), facts, {"nu": sympy.Integer(0)}) is None
    assert active_facts(mono("a**xi", False, "xi"), facts, {"nu": sympy.Integer(1)}) is None


@pytest.mark.parametrize(
    ("goal", "facts", "powers"),
    [
        ("a**2", ["a"], ["2"]),
        ("a*b", ["a*b**2", "b"], ["1", "-1"]),
        ("a**nu", ["a"], ["nu"]),
        ("a", ["a**nu"], ["1/nu"]),
        ("a*b", ["a**nu*b", "b"], ["1/nu", "(nu - 1)/nu"]),
        ("a", ["b"], None),
        ("a", ["a", "a**2"], None),
        ("a*c", ["a", "a", "c"], None),
        ("a*c", ["c", "a", "a"], None),
        ("1", [], []),
        ("3", [], []),
        ("a", [], None),
        ("2*a", ["3*a"], ["1"]),
    ],
)
def test_multipliers_as_formulas(goal: str, facts: list[str], powers: list[str] | None) -> None:
    found = powers_of(mono(goal, False, "nu"), [mono(f, False, "nu") for f in facts])
    if powers is None:
        assert found is None
    else:
        assert found is not None
        assert [str(sympy.factor(p)) for p in found] == powers


@pytest.mark.parametrize(
    ("power", "op", "answer"),
    [
        ("1", "<=", True),
        ("0", "<=", True),
        ("-1", "<=", False),
        ("1/2", "<", True),
        ("0", "<", False),
        ("-1/3", "<", False),
    ],
)
def test_signs_of_numbers(power: str, op: str, answer: bool) -> None:
    decide = Recorder()
    assert _sign(sympy.Rational(power), op, claim_of("a <= b"), (), decide) is answer
    assert decide.asked == []


@pytest.mark.parametrize(
    ("outcomes", "op", "answer", "asked"),
    [
        ({}, "<=", True, ["0 < 1 - nu", "0 <= {}"]),
        ({}, "<", True, ["0 < 1 - nu", "0 < {}"]),
        ({"0 < 1 - nu": "undecided"}, "<=", True, ["0 < 1 - nu", "1 - nu < 0", "0 <= {}"]),
        ({"0 < 1 - nu": "undecided", "1 - nu < 0": "undecided"}, "<=", False, ["0 < 1 - nu", "1 - nu < 0"]),
        ({"0 < 1 - nu": "vacuous", "1 - nu < 0": "refuted"}, "<=", False, ["0 < 1 - nu", "1 - nu < 0"]),
        ({"0 <= {}": "undecided"}, "<=", False, ["0 < 1 - nu", "0 <= {}"]),
        ({"0 <= {}": "vacuous"}, "<=", False, ["0 < 1 - nu", "0 <= {}"]),
        ({"0 < {}": "undecided"}, "<", False, ["0 < 1 - nu", "0 < {}"]),
    ],
)
def test_a_multiplier_is_a_nonnegative_number_on_the_whole_range(
    outcomes: dict[str, Any], op: str, answer: bool, asked: list[str]
) -> None:
    class Tame(Recorder):
        def __call__(self, claim: ScalarClaim) -> Decision:
            assert list(claim.domains) == ["nu"]
            assert claim.where == ()
            return super().__call__(claim)

    def same(text: str) -> str:  # the power and its denominator may be written with either sign
        for way in ("(nu + 1)/(1 - nu)", "-(nu + 1)/(nu - 1)", "-((nu + 1)/(nu - 1))"):
            text = text.replace(way, "{}")
        return text

    power = (1 + NU) / (1 - NU)
    real = Tame()
    _sign(power, op, claim_of("a**nu <= b", RANGES), ("nu",), real)
    below, whole = real.texts[0].removeprefix("0 < "), real.texts[1].split(" ", 2)[2]
    named = {k.replace("1 - nu", below).replace("{}", whole): v for k, v in outcomes.items()}
    decide = Tame("proved", named)
    assert _sign(power, op, claim_of("a**nu <= b", RANGES), ("nu",), decide) is answer
    assert decide.texts == [a.replace("1 - nu", below).replace("{}", whole) for a in asked]
    for text, value in ((below, 1 - NU), (whole, power)):
        at = Formula({"nu": Fraction(1, 3)}).value(parse(text))
        there = value.subs(NU, sympy.Rational(1, 3))
        assert isinstance(at, Fraction)
        assert abs(at) == abs(Fraction(int(there.p), int(there.q)))
    assert Formula({"nu": Fraction(1, 3)}).value(parse(whole)) == 2


@pytest.mark.parametrize(
    ("number", "strict", "asked"),
    [("1", False, []), ("1", True, []), ("2", False, ["1 <= 2**1"]), ("2**nu", True, ["1 < 2**nu"]),
     ("(3/2)**nu", False, ["1 <= 3**nu*2**(-1*nu)"])],
)  # fmt: skip
def test_the_number_that_is_left_over(number: str, strict: bool, asked: list[str]) -> None:
    claim = claim_of("a**nu <= b", RANGES)
    primes = mono(number, False, "nu").split()[1]
    for outcome, answer in (("proved", True), ("vacuous", False), ("undecided", False), ("refuted", False)):
        decide = Recorder(outcome)  # type: ignore[arg-type]
        assert _number_is_enough(primes, claim, ("nu",), strict, decide) is (answer if asked else not strict)
        assert decide.texts == asked
        assert all(list(c.domains) == ["nu"] for c in decide.asked)


# --- all together


def smt(claim: ScalarClaim) -> Decision:
    return by_smt(claim, 300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "where", "outcome"),
    [
        ("1 <= a*b", "a >= 1; b >= 1", "proved"),
        ("a*b >= 1", "a >= 1; b >= 1", "proved"),
        ("a*b > 1", "a >= 1; b >= 1", "undecided"),
        ("a*b > 1", "a > 1; b >= 1", "proved"),
        ("a*b > 1", "a >= 1; b > 1", "proved"),
        ("1 < a*b", "a >= 1; b > 1", "proved"),
        ("1 < a*b", "a >= 1; b >= 1; c > 1", "undecided"),
        ("a*b <= 1", "a >= 1; b >= 1", "undecided"),
        ("a*b == 1", "a >= 1; b >= 1", "undecided"),
        ("a == b", "a == b", "undecided"),
        ("a*b >= 2", "a >= 1; b >= 1", "undecided"),
        ("2*a*b >= 1", "a >= 1; b >= 1", "proved"),
        ("2*a*b > 1", "a >= 1; b >= 1", "proved"),
        ("a >= c", "a >= b >= c", "proved"),
        ("a**2*c >= b**3", "a >= b; a*c >= b**2", "proved"),
        ("a >= b", "a*b >= b**3; b >= a", "undecided"),
        ("a <= b", "", "undecided"),
        ("a <= a", "", "proved"),
        ("a < a", "", "undecided"),
        ("a <= 2*a", "", "proved"),
        ("a < 2*a", "", "proved"),
        ("2*a <= a", "", "undecided"),
        ("a >= c", "a*c >= b**2; b >= c; b >= a", "proved"),
        ("a**nu <= b**nu", "a <= b", "proved"),
        ("a**w <= b**w", "a <= b", "undecided"),
        ("a**nu < b**nu", "a < b", "undecided"),
        ("a**mu < b**mu", "a < b", "proved"),
        ("a**mu < b**mu", "a <= b", "undecided"),
        ("a**mu <= 2*b**mu", "a <= b", "proved"),
        ("(2*a)**w <= 3*b**w", "a <= b", "undecided"),
        ("1 <= 2**nu", "", "proved"),
        ("1 <= 2**w", "", "undecided"),
        ("a**(1/mu) <= b", "a <= b**mu", "proved"),
        ("nu*a**nu <= b", "a <= b", "undecided"),
        ("a*n <= b*n", "a <= b", "undecided"),
        ("n <= b", "n <= b", "undecided"),
        ("a <= a + b", "", "proved"),
        ("t + 1 <= 3/2*t", "", "proved"),
        ("t + 1 < 3/2*t", "", "undecided"),
        ("2*t - 1 >= 3/2*t", "", "proved"),
        ("2*t - 1 >= 8/5*t", "", "undecided"),
        ("u**2 > 1", "", "proved"),
        ("t**2 > 4", "", "undecided"),
        ("t**2 >= 4", "", "proved"),
        ("a**b*b <= 1", "", "undecided"),
    ],
)
def test_by_monomials(text: str, where: str, outcome: str) -> None:
    found = by_monomials(claim_of(text, RANGES, where), smt)
    assert (found.outcome, found.engine) == (outcome, "monomials")


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("a**2 >= 1", "a >= 1", "a product of 1 hypotheses with the powers 2"),
        ("a*b >= 1", "a >= 1; b >= 1", "a product of 2 hypotheses with the powers 1, 1"),
        ("a <= 2*a", "", "a product of 0 hypotheses with the powers none"),
        ("a <= n", "", "a factor that is not plainly positive"),
        ("a == b", "", "an equality"),
        ("a <= b", "", "no combination of the hypotheses gives it"),
    ],
)
def test_what_is_said(text: str, where: str, said: str) -> None:
    assert by_monomials(claim_of(text, RANGES, where), smt).certificate == said


def test_as_many_facts_as_are_allowed() -> None:
    for idle, outcome in ((59, "proved"), (60, "undecided")):
        where = "; ".join(["c >= d"] * idle + ["a >= b"])
        assert by_monomials(claim_of("a**2 >= b**2", "", where), smt).outcome == outcome


def test_wrong_multipliers_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, goal, facts = claim_of("1 <= a*b"), mono("a*b"), [mono("a"), mono("b")]
    assert _combine(claim, goal, facts, (), Recorder()).outcome == "proved"
    monkeypatch.setattr(monomials, "powers_of", lambda *_: [sympy.Integer(1), sympy.Integer(2)])
    assert _combine(claim, goal, facts, (), Recorder()).outcome == "undecided"
    monkeypatch.setattr(monomials, "powers_of", lambda *_: [sympy.Integer(1), sympy.Integer(-1)])
    assert _combine(claim, mono("a/b"), facts, (), Recorder()).outcome == "undecided"
    monkeypatch.setattr(monomials, "powers_of", lambda *_: None)
    assert _combine(claim, goal, facts, (), Recorder()).outcome == "undecided"


def test_another_sample_is_tried_where_one_does_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    claim, goal, facts = claim_of("1 <= a**nu", "nu = [0, 1]"), mono("a**nu", False, "nu"), [mono("b"), mono("a")]
    answers: list[list[int] | None] = [None, [0], [1]]
    monkeypatch.setattr(monomials, "active_facts", lambda *_: answers.pop(0))
    assert _combine(claim, goal, facts, ("nu",), Recorder()).outcome == "proved"
    assert answers == []


def test_numbers_are_measured_with_their_logarithms() -> None:
    """The multipliers at a sample leave the largest number that any combination of two facts leaves."""
    for one, two in ((Fraction(3, 2), Fraction(5, 4)), (Fraction(1, 2), Fraction(7, 3)), (Fraction(2), Fraction(9, 4))):
        facts = [mono("a").times(_of_number(one)), mono("a**2").times(_of_number(two))]
        best = [0] if mpmath.log(one.numerator) - mpmath.log(one.denominator) < mpmath.log(two) / 2 else [1]
        assert active_facts(mono("a**2"), facts, {}) == best
