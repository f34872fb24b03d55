"""Letters set by hand, each comparison alone: which end of which number, up to which rounding, and every field said."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest
from flint import arb

from bilevel_verify.constants.bound.constant import Constant, Reason
from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.language import parse
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.theorems.card_parts import Definition, Expression, LetterSpec
from bilevel_verify.theorems.letters import given
from bilevel_verify.theorems.letters.given import Given
from bilevel_verify.theorems.letters.resolved import ResolvedLetter, scalar_of
from bilevel_verify.truth.arithmetic.enclosure import Enclosure

pytestmark = pytest.mark.fast

F = Fraction
ULP = F(1, 2**50)


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


# --- which letters are looked at


FORMULAS = {
    "eta": (Definition("eta", expression("1/L")), "", True),
    "K": (Definition("K", expression("O(1/eps)")), "", True),
    "C": (Definition("C", expression("2*L")), "a reading", False),
    "L": (Definition("L", expression("3")), "a reading", False),
}
SPECS = {
    "eta": LetterSpec("eta"),
    "K": LetterSpec("K"),
    "L": LetterSpec("L", source="constants"),
    "Delta": LetterSpec("Delta", source="truth"),
    "d": LetterSpec("d", source="problem"),
    "eps": LetterSpec("eps", source="user"),
    "k": LetterSpec("k", source="run"),
}


def test_prescribed_letters_and_those_of_the_problem_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    card: Any = SimpleNamespace(letters=SPECS)
    monkeypatch.setattr(given, "formulas_of", lambda *asked: FORMULAS if asked == (card, "entry", ("r",)) else {})
    monkeypatch.setattr(given, "_prescribed", lambda *asked: ("prescribed", *asked[3:]))
    monkeypatch.setattr(given, "_of_the_problem", lambda *asked: ("problem", asked[0].name, *asked[2:]))
    numbers = {"eta": 1, "K": 2, "C": 3, "L": 4, "Delta": 5, "d": 6, "eps": 7, "k": 8, "unknown": 9}
    found = given.judge_given(card, "entry", "leaves", numbers, "letters", ("r",))  # type: ignore[arg-type]
    others = {name: value for name, value in numbers.items() if name != "eta"}
    assert found == [
        ("prescribed", "eta", 1, others, ("r",)),
        ("problem", "L", 4, "letters"),
        ("problem", "Delta", 5, "letters"),
        ("problem", "d", 6, "letters"),
    ]


def letter(scalar: Any, run: Any = 0.0, lower: float = 1.0, upper: float = 0.0, **more: Any) -> ResolvedLetter:
    return ResolvedLetter("B", exact.middle(scalar), run, lower, upper, scalar, "settings", **more)


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        (F(3), True),
        (F(3) * (1 + ULP / 2), True),
        (F(3) * (1 + ULP), True),
        (F(3) * (1 - ULP), True),
        (F(3) * (1 + ULP * F(11, 10)), False),
        (F(3) * (1 - ULP * F(11, 10)), False),
        (F(3) * (1 + F(3, 2) * ULP), False),
        (F(-3), False),
        (F(2), False),
        (F(0), False),
        (F(7), True),  # the integer that the loop runs
        (F(8), False),
    ],
)
def test_a_number_equals_its_float_and_the_integer_of_the_loop(number: Fraction, answer: bool) -> None:
    with precision(exact.BITS):
        assert given._equal(number, letter(F(3), run=7)) is answer
        mirrored = letter(F(-3), run=-7)
        assert given._equal(-number, mirrored) is answer


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        (F(1), True),
        (F(2), True),
        (F(3, 2), True),
        (F(9, 10), False),
        (F(21, 10), False),
        (arb(1.5, 0.25), True),
        (arb(1.5, 0.75), True),  # its middle is the middle
        (arb(1.25, 0.5), False),
        (arb(1.75, 0.5), False),
        (arb(5, 0.5), False),
    ],
)
def test_a_number_between_the_ends_is_one_of_those_that_it_may_be(number: Any, answer: bool) -> None:
    with precision(exact.BITS):
        assert given._equal(number, letter(arb(1.5, 0.5), run=99, lower=1.0, upper=2.0)) is answer


def prescribed(monkeypatch: pytest.MonkeyPatch, found: ResolvedLetter | None, value: Any) -> Given:
    def resolve(card: Any, entry: Any, leaves: Any, known: Any, readings: Any, targets: Any) -> Any:
        assert (entry, leaves, known, readings, targets) == ("entry", "leaves", {"L": 2}, ("r",), ["B"])
        return SimpleNamespace(letters={} if found is None else {"B": found}, missing={"B": "needs rho"})

    monkeypatch.setattr(given, "resolve", resolve)
    card: Any = SimpleNamespace(letters=SPECS)
    return given._prescribed(card, "entry", "leaves", "B", value, {"L": 2, "trials": 5}, ("r",))  # type: ignore[arg-type]


@pytest.mark.parametrize("certainty", ["proved", "certified", "computed"])
def test_a_prescribed_letter(monkeypatch: pytest.MonkeyPatch, certainty: Any) -> None:
    known = letter(F(1, 4), certainty=certainty)
    assert prescribed(monkeypatch, known, "1/4") == Given("B", "1/4", True, certainty=certainty)
    reason = "B is not what the theorem prescribes: 0.5, not 0.25"
    assert prescribed(monkeypatch, known, 0.5) == Given("B", 0.5, False, reason)
    reason = "what the theorem prescribes for B is not known: needs rho"
    assert prescribed(monkeypatch, None, 0.5) == Given("B", 0.5, None, reason)


def test_what_is_said_of_a_letter() -> None:
    one = Given("B", 1, None)
    assert (one.reason, one.witness, one.certainty, one.source) == ("", "", "certified", "")
    assert one.text == "B = 1 is what the theorem prescribes"
    assert replace(one, source="truth").text == "B = 1 is valid for this problem (truth)"


# --- letters of the problem


def of_the_problem(spec: LetterSpec, own: Any, value: Any) -> Given:
    def ask(spec: LetterSpec, letters: Any) -> Any:
        assert letters == "letters"
        if isinstance(own, Exception):
            raise own
        return own

    leaves: Any = SimpleNamespace(of_the_problem=ask)
    return given._of_the_problem(spec, leaves, value, "letters")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "answer"),
    [(2, True), (2.0, True), ("2", True), (3, False), (1, False), ((2, 3), False), ((1, 2), False)]
    + [(2 + F(1, 10**30), False), (2 - F(1, 10**30), False)],
)
def test_a_size_of_the_problem(value: Any, answer: bool) -> None:
    reason = "" if answer else f"d = {value} is false: this problem has 2"
    assert of_the_problem(SPECS["d"], 2, value) == Given("d", value, answer, reason, source="problem")


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (KeyError("d"), "there is none to compare it with ('d')"),
        (ParameterError("x0 is needed"), "x0 is needed"),
        (MathematicalError("no minimiser"), "no minimiser"),
    ],
)
def test_a_letter_that_the_problem_cannot_give(error: Exception, why: str) -> None:
    found = of_the_problem(SPECS["d"], error, 2)
    assert found == Given("d", 2, None, f"d = 2 could not be checked: {why}", source="problem")


BASE = Constant("L", 2.0, 1.5, 3.0, "upper", True, "calculus", "Euclidean", "R", Reason("rule", "sup = 2"))


def test_what_the_problem_gives_decides_how_it_is_compared() -> None:
    own = Enclosure(2.0, 0.5, "certified", "how")
    pair = [LetterSpec("alpha", source="truth"), LetterSpec("a", source="truth", called="alpha")]
    pair += [LetterSpec("r", source="truth"), LetterSpec("alpha", source="truth", called="r")]
    wide = (1.0, 4.0)
    for ends in ((1.0, 4.0), (1.0, 2.0), (2.0, 3.0), (2.0, 2.0), (2.5, 3.0), (1.0, 1.25)):
        known = exact.ends(scalar_of(ends)[0])
        assert of_the_problem(SPECS["L"], BASE, ends) == given._constant("L", ends, known, BASE)
        assert of_the_problem(SPECS["Delta"], own, ends) == given._truth("Delta", ends, known, own)
        for spec in pair:
            assert of_the_problem(spec, own, ends) == given._error_bound(spec, ends, known, own)
    for beside in (2 + F(1, 10**30), 2 - F(1, 10**30)):  # between 2 and the next float
        known = exact.ends(beside)
        for spec in pair:
            assert of_the_problem(spec, own, beside) == given._error_bound(spec, beside, known, own)
    assert of_the_problem(pair[2], own, 2 + F(1, 10**30)).answer is None
    assert of_the_problem(pair[2], own, 2 - F(1, 10**30)).answer is None
    other = LetterSpec("alpha", source="truth", called="delta")
    assert of_the_problem(other, own, wide) == given._truth("alpha", wide, wide, own)


# --- constants

LOW = replace(BASE, side="lower", value=2.0, lower=1.0, upper=3.0)


@pytest.mark.parametrize(
    ("own", "ends", "answer"),
    [
        # an upper bound: certified 2, seen 1.5
        (BASE, (2.0, 2.0), True),
        (BASE, (2.0, 9.0), True),
        (BASE, (1.9, 9.0), None),
        (BASE, (1.5, 1.5), None),
        (BASE, (1.4, 1.6), None),
        (BASE, (1.4, 1.4), False),
        (BASE, (1.0, 1.4), False),
        (BASE, (1.5 - 1e-10, 1.5 - 1e-10), None),
        (BASE, (1.5 - 1.6e-9, 1.5 - 1.6e-9), False),
        (replace(BASE, certified=False), (2.0, 9.0), None),
        (replace(BASE, certified=False), (1.4, 1.4), False),
        (replace(BASE, lower=inf, value=inf), (5.0, 5.0), False),
        (replace(BASE, lower=-inf), (0.0, 0.0), None),
        # attained: nothing below it is valid
        (replace(BASE, attained=True), (1.9, 1.9), False),
        (replace(BASE, attained=True), (1.9, 2.0), None),
        (replace(BASE, attained=True), (2.0 * (1 - 2.0**-50), 2.0 * (1 - 2.0**-50)), None),
        (replace(BASE, attained=True), (2.0 * (1 - 2.0**-49), 2.0 * (1 - 2.0**-49)), False),
        (replace(BASE, attained=True, certified=False), (1.9, 1.9), None),
        (replace(BASE, attained=True, certified=False), (1.4, 1.4), False),
        # a lower bound: certified 2, seen 3
        (LOW, (2.0, 2.0), True),
        (LOW, (0.0, 2.0), True),
        (LOW, (0.0, 2.1), None),
        (LOW, (3.0, 3.0), None),
        (LOW, (2.9, 3.1), None),
        (LOW, (3.1, 3.1), False),
        (LOW, (3.1, 9.0), False),
        (LOW, (3.0 + 1e-10, 3.0 + 1e-10), None),
        (LOW, (3.0 + 4e-9, 3.0 + 4e-9), False),
        (replace(LOW, certified=False), (0.0, 2.0), None),
        (replace(LOW, certified=False), (3.1, 3.1), False),
        (replace(LOW, upper=-inf, value=-inf), (0.5, 0.5), False),
        (replace(LOW, upper=inf), (50.0, 50.0), None),
        (replace(LOW, attained=True), (2.1, 2.1), False),
        (replace(LOW, attained=True), (2.0, 2.1), None),
        (replace(LOW, attained=True), (2.0 * (1 + 2.0**-50), 2.0 * (1 + 2.0**-50)), None),
        (replace(LOW, attained=True), (2.0 * (1 + 2.0**-49), 2.0 * (1 + 2.0**-49)), False),
    ],
)
def test_a_number_beside_a_constant(own: Constant, ends: tuple[float, float], answer: bool | None) -> None:
    assert given._constant("L", "n", ends, own).answer is answer


def test_every_field_of_a_constant() -> None:
    assert given._constant("L", 5, (5, 5), BASE) == Given("L", 5, True, source="constants")
    reason = "L = 1 is too small for this problem: L >= 1.5 (sup = 2)"
    assert given._constant("L", 1, (1, 1), BASE) == Given(
        "L", 1, False, reason, source="constants", certainty="computed"
    )
    reason = "L = 1.75 is not certain: certified is L <= 2"
    assert given._constant("L", 1.75, (1.75, 1.75), BASE) == Given("L", 1.75, None, reason, source="constants")
    seen = replace(BASE, attained=True, witness={"x1": 0.5, "y1": 1 / 3})
    reason = "L = 1 is too small for this problem: L >= 2 at x1 = 0.5, y1 = 0.333333"
    found = Given("L", 1, False, reason, "x1 = 0.5, y1 = 0.333333", source="constants")
    assert given._constant("L", 1, (1, 1), seen) == found
    reason = "mu = 4 is too large for this problem: mu <= 3 (sup = 2)"
    assert given._constant("mu", 4, (4, 4), LOW) == Given(
        "mu", 4, False, reason, source="constants", certainty="computed"
    )
    reason = "mu = 2.5 is not certain: certified is mu >= 2"
    assert given._constant("mu", 2.5, (2.5, 2.5), LOW) == Given("mu", 2.5, None, reason, source="constants")
    reason = "mu = 4 is too large for this problem: mu <= 2 (sup = 2)"
    attained = replace(LOW, attained=True)
    assert given._constant("mu", 4, (4, 4), attained) == Given("mu", 4, False, reason, source="constants")


@pytest.mark.parametrize(
    ("a", "b", "less"),
    [
        (1.0, 1.0 + 1.5e-9, True),
        (1.0, 1.0 + 0.9e-9, False),
        (-1.0 - 1.5e-9, -1.0, True),
        (-1.0 - 0.9e-9, -1.0, False),
        (1e9 - 1, 1e9, False),  # by exactly the rounding
        (1e9 - 2, 1e9, True),
        (-1e9, -1e9 + 1, False),
        (-2.0, 1.0, True),
        (-1.0, 2.0, True),
        (-inf, 1.0, True),
        (1.0, inf, True),
        (-inf, inf, True),
        (inf, inf, False),
        (1.0, 1.0, False),
        (2.0, 1.0, False),
        (inf, 1.0, False),
        (1.0, -inf, False),
        (0.0, 1e-300, True),
    ],
)
def test_clearly_less(a: float, b: float, less: bool) -> None:
    assert given._clearly_less(a, b) is less


@pytest.mark.parametrize("scale", [1.0, 0.25, 4.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_beyond_an_attained_constant_by_more_than_rounding(sign: int, scale: float) -> None:
    value, room = sign * 2.0 * scale, 2.0**-49 * scale
    for shift, beyond in ((0.0, False), (room / 2, False), (room, False), (2 * room, True)):
        lower, upper = replace(LOW, value=value), replace(BASE, value=value)
        assert given._beyond(lower, (value + shift, inf)) is beyond
        assert given._beyond(upper, (-inf, value - shift)) is beyond
        assert given._beyond(lower, (value - 1.0, inf)) is False
        assert given._beyond(upper, (-inf, value + 1.0)) is False


@pytest.mark.parametrize(
    ("ends", "certified", "answer"),
    [
        ((0.5, 0.5), True, True),
        ((0.5, 0.5), False, None),
        ((0.5, 0.75), True, None),
        ((0.25, 0.5), True, None),
        ((0.25, 0.25), True, None),
        ((0.75, 0.75), True, None),
    ],
)
def test_exponents(ends: tuple[float, float], certified: bool, answer: bool | None) -> None:
    own = replace(BASE, name="nu_f", value=0.5, lower=0.5, certified=certified)
    reason = "" if answer else "nu_f = n is not the exponent 0.5 for which its constant is certified"
    expected = Given("nu_f", "n", answer, reason, source="constants")
    assert given._exponent("nu_f", "n", ends, own) == expected
    assert given._constant("nu_f", "n", ends, own) == expected


# --- truth

OWN = Enclosure(2.0, 0.5, "certified", "how")


@pytest.mark.parametrize(
    ("ends", "certainty", "answer"),
    [
        ((2.6, 2.6), "certified", True),
        ((2.6, 9.0), "computed", True),
        ((2.4, 9.0), "certified", None),
        ((2.0, 2.0), "certified", None),
        ((1.4, 1.6), "certified", None),
        ((1.4, 1.4), "certified", False),
        ((1.0, 1.4), "proved", False),
        ((1.4, 1.4), "computed", None),
        ((1.4, 1.4), "sampled", None),
    ],
)
def test_a_number_beside_a_truth(ends: tuple[float, float], certainty: Any, answer: bool | None) -> None:
    own = replace(OWN, certainty=certainty)
    reasons = {
        True: "",
        False: "T = n is too small for this problem: T >= 1.499999999 (how)",  # 1.5 rounded outward twice
        None: "T = n is not certain: T <= 2.500000001",
    }
    said = "certified" if answer is None else certainty
    assert given._truth("T", "n", ends, own) == Given("T", "n", answer, reasons[answer], certainty=said, source="truth")


def test_the_ends_of_a_truth_themselves() -> None:
    exactly = replace(OWN, error=0.0)
    assert given._truth("T", 2, (2.0, 2.0), exactly).answer is True
    assert given._truth("T", 2, (OWN.lower, OWN.lower), OWN).answer is None
    assert given._truth("T", 2, (OWN.upper, OWN.upper), OWN).answer is True


@pytest.mark.parametrize(
    ("name", "called", "ends", "answer"),
    [
        ("alpha", "", (2.0, 2.0), True),
        ("alpha", "", (1.0, 2.0), True),
        ("alpha", "", (1.0, 2.1), None),
        ("alpha", "", (2.1, 2.1), None),
        ("a", "alpha", (1.0, 1.0), True),
        ("r", "", (2.0, 2.0), True),
        ("r", "", (1.0, 2.0), None),
        ("r", "", (2.0, 2.1), None),
        ("r", "", (1.0, 1.0), None),
        ("alpha", "r", (1.0, 1.0), None),
        ("alpha", "r", (2.0, 2.0), True),
    ],
)
def test_the_pair_of_an_error_bound(name: str, called: str, ends: tuple[float, float], answer: bool | None) -> None:
    own = replace(OWN, certainty="computed")
    found = given._error_bound(LetterSpec(name, source="truth", called=called), "n", ends, own)
    if answer:
        assert found == Given(name, "n", True, certainty="computed", source="truth")
    else:
        reason = f"{name} = n is not certain: derived is {name} = 2"
        assert found == Given(name, "n", None, reason, source="truth")


def test_a_reason_shows_a_bound_that_is_one_still() -> None:
    """Ten digits of a third: rounded down where the letter is at least that, up where it is at most that."""
    low = given._constant("L", 0.1, (0.1, 0.1), replace(BASE, lower=1 / 3))
    assert "L >= 0.3333333333 " in low.reason
    high = given._constant("mu", 4, (4, 4), replace(LOW, value=0.5, upper=2 / 3))
    assert "mu <= 0.6666666667 " in high.reason
