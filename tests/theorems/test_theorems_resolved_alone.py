"""Numbers of letters on their way into a check: safe ends, certainty of each path, what is missing and why."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy

import bilevel_verify as bv
from bilevel_verify.constants.bound.constant import Constant, Reason
from bilevel_verify.constants.papers import read_letters
from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.language import parse
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.theorems.card import Card, Statement
from bilevel_verify.theorems.card_parts import Expression, LetterSpec
from bilevel_verify.theorems.letters.instance import Leaves
from bilevel_verify.theorems.letters.resolved import NARROW, Resolved, ResolvedLetter, scalar_of
from bilevel_verify.truth.arithmetic.enclosure import Enclosure

pytestmark = pytest.mark.fast
F = Fraction
with precision(exact.BITS):
    ROOT = Formula({}).value(parse("sqrt(2)"))
CARD = Card("c", "A card", Path("c.toml"), letters={}, entries={"t": Statement(kind="theorem", id="t")})


def letter(name: str = "a", value: float = 2.0, **more: Any) -> ResolvedLetter:
    ends = {"run": value, "lower": value, "upper": value, "scalar": F(value), "source": "user"}
    return ResolvedLetter(name, value, **{**ends, **more})


def resolved(*letters: ResolvedLetter, missing: Mapping[str, str] | None = None) -> Resolved:
    return Resolved(CARD, CARD.entries["t"], {one.name: one for one in letters}, missing or {})


# --- what a check puts in


def test_what_was_not_chosen_is_its_enclosure() -> None:
    assert letter(scalar=F(1, 3), lower=0.0, upper=9.0).for_check == F(1, 3)
    assert letter(value=1.5, scalar=ROOT).for_check is ROOT


@pytest.mark.parametrize(
    ("width", "narrow"), [(0.0, True), (NARROW, True), (NARROW * 4, True), (NARROW * 4.001, False), (math.nan, False)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_chosen_letter_known_narrowly_is_its_formula(width: float, narrow: bool, sign: int) -> None:
    """Relative to |value| = 4: wide means that any number of the choice would do, hence the float of the run."""
    one = letter(value=4.0 * sign, lower=0.0, upper=width, scalar=F(1, 3), chosen=True)
    assert one.for_check == (F(1, 3) if narrow else F(4 * sign))


def test_a_chosen_ball_is_joined_with_the_float_of_the_run() -> None:
    one = letter(value=math.sqrt(2), scalar=ROOT, chosen=True)
    found = one.for_check
    for inside in (exact.rational(ROOT), F(math.sqrt(2))):
        assert found.overlaps(exact.hull(inside, inside + F(1, 10**70)))
    assert replace(one, source="explicit").for_check == F(math.sqrt(2))
    assert letter(value=0.5, scalar=F(1, 3), chosen=True, source="explicit").for_check == F(1, 2)


def test_of_a_choice_of_nothing_the_room_is_not_nothing() -> None:
    assert letter(value=0.0, scalar=F(0), lower=0.0, upper=1e-310, chosen=True).for_check == 0
    assert letter(value=0.0, scalar=F(1, 10**5), lower=0.0, upper=1e-5, chosen=True).for_check == 0


def test_parameters_of_runs() -> None:
    found = resolved(
        letter("n", 3.0, run=3, scalar=F(3), chosen=True),
        letter("eta", 0.1, scalar=F(1, 10), chosen=True),
        letter("root", math.sqrt(2), scalar=ROOT, chosen=True),
        letter("wide", 0.3, scalar=ROOT, lower=0.0, upper=1.0, chosen=True),
        letter("L", 7.0),
    )
    assert found.parameters == {"n": 3, "eta": 0.1, "root": math.sqrt(2), "wide": 0.3, "L": 7.0}
    assert type(found.parameters["n"]) is int
    precise = found.precise_parameters()
    assert set(precise) == {"eta", "root", "wide"}
    assert (precise["eta"], precise["wide"]) == (F(1, 10), F(0.3))
    assert abs(precise["root"] ** 2 - 2) < F(1, 10**55)
    scalars = found.scalars()
    assert (scalars["n"], scalars["L"], scalars["wide"]) == (3, 7, F(0.3))


def test_formulas_and_conditions_in_letters() -> None:
    found = resolved(letter("a", 2.0), letter("b", 2.0, scalar=ROOT))
    for kind in (lambda text: parse(text), lambda text: Expression(parse(text), text)):
        assert found.value(kind("a/3")) == F(2, 3)
        assert found.answer(kind("a > 1")) is True
        assert found.answer(kind("a < 1")) is False
        assert found.answer(kind("b**2 == 2")) is None
        assert found.answer(kind("b < 15/10")) is True
    narrow = found.value(parse("b*10**50 - floor(b*10**50)"))
    assert narrow.rad() < 1e-9  # 200 bits, wherever it is asked


def test_readings_of_all_letters_once_each() -> None:
    one, two = letter("a", readings=("p", "q")), letter("b", readings=("q", "r"))
    assert (one.reading, letter().reading) == ("p; q", "")
    assert resolved(one, two).readings == ("p", "q", "r")
    assert resolved(one, two).reading == "p; q; r"
    assert resolved(letter()).reading is None


# --- what is missing


def test_letters_that_are_needed_and_missing_are_named() -> None:
    found = resolved(letter("a"), missing={"b": "no value from user", "c": "needs b (no value from user)"})
    found.need(["a"])
    with pytest.raises(ParameterError, match=r"^c/t: b: no value from user$"):
        found.need(["a", "b"])
    with pytest.raises(ParameterError, match=r"^c/t: stranger: no formula, no value$"):
        found.need(["stranger"])


def test_first_causes_alone_are_told() -> None:
    found = resolved(missing={"b": "no value", "d": "not finite", "c": "needs b (no value)", "e": "needs c (needs b)"})
    assert found.why_missing(["c"]) == "b: no value; without it no c"
    assert found.why_missing(["c", "d"]) == "b: no value; d: not finite; without it no c"
    assert found.why_missing(["d", "b"]) == "b: no value; d: not finite"
    assert found.why_missing(["e"]) == "e: needs c (needs b)"


def test_zeros_that_a_larger_bound_would_mend_are_pointed_to() -> None:
    hint = " (L = 0; a larger bound is valid too, give it in values=)"
    zeros = (letter("L", 0.0), letter("K", 0.0, formula="a - a"), letter("M", 1.0))
    assert resolved(*zeros, missing={"eta": "1/L: division by zero"}).why_missing(["eta"]) == (
        "eta: 1/L: division by zero" + hint
    )
    assert resolved(*zeros, missing={"eta": "not finite"}).why_missing(["eta"]) == "eta: not finite"
    assert resolved(letter("M", 1.0), missing={"e": "division by zero"}).why_missing(["e"]) == "e: division by zero"


def test_no_larger_curvature_is_proposed() -> None:
    zeros = (letter("mu", 0.0), letter("L", 0.0))
    said = resolved(*zeros, missing={"eta": "L/mu: division by zero"}).why_missing(["eta"])
    assert "L = 0; a larger" in said
    assert "mu = 0" not in said


@pytest.mark.parametrize(
    ("measure", "proposed"),
    [("strong convexity", False), ("Polyak-Lojasiewicz", False), ("supremum of the norm", True)],
)
def test_a_letter_that_a_paper_defines_is_a_curvature_by_its_measure(measure: str, proposed: bool) -> None:
    letters = SimpleNamespace(names={"m": SimpleNamespace(measure=measure)})
    card = replace(CARD, letters={"m": leaf("constants", "m", definition=letters)})
    found = Resolved(card, card.entries["t"], {"m": letter("m", 0.0)}, {"eta": "1/m: division by zero"})
    assert ("m = 0; a larger" in found.why_missing(["eta"])) is proposed


# --- numbers of any kind


@pytest.mark.parametrize(
    ("value", "scalar", "certainty"),
    [
        (3, F(3), "proved"),
        (0.1, F(1, 10), "proved"),
        (1e-4, F(1, 10**4), "proved"),
        (F(1, 3), F(1, 3), "proved"),
        ("1/3", F(1, 3), "proved"),
        ("2**(-3)", F(1, 8), "proved"),
        (np.float64(0.1), F(1, 10), "proved"),
        (np.int64(7), F(7), "proved"),
        (np.float32(0.5), F(1, 2), "proved"),
        (sympy.Rational(2, 7), F(2, 7), "proved"),
        (sympy.Integer(5), F(5), "proved"),
        (Enclosure(0.1, 0.0, "proved"), F(0.1), "proved"),
        (Enclosure(0.5, 0.0, "computed"), F(1, 2), "computed"),
        ((2, 2), F(2), "certified"),
        ((Enclosure(1.0, 0.0, "sampled"), 1), F(1), "sampled"),
        ((1, Enclosure(1.0, 0.0, "computed")), F(1), "computed"),
    ],
)
def test_a_number_of_any_kind(value: Any, scalar: Fraction, certainty: str) -> None:
    assert scalar_of(value) == (scalar, certainty)
    assert isinstance(scalar_of(value)[0], Fraction)


def test_numbers_that_are_balls_hold_what_they_stand_for() -> None:
    for value, low, high, certainty in (
        ("sqrt(2)", F(141421356, 10**8), F(141421357, 10**8), "certified"),
        (Enclosure(1.0, 0.25, "certified"), F(3, 4), F(5, 4), "certified"),
        (Enclosure(1.0, 0.25, "sampled"), F(3, 4), F(5, 4), "sampled"),
        ((1, 2), F(1), F(2), "certified"),
        ((Enclosure(1.0, 0.5, "computed"), "sqrt(9/4)"), F(1, 2), F(3, 2), "computed"),
    ):
        scalar, how = scalar_of(value)
        assert how == certainty
        a, b = exact.ends(scalar)
        if certainty == "certified" and isinstance(value, str):
            assert low < F(a) <= F(b) < high
        else:
            assert F(a) <= low <= high <= F(b)
            assert F(b) - F(a) < (high - low) * F(1001, 1000)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a", "a has no value"),
        (True, "is not a number"),
        (np.bool_(True), "is not a number"),
        (None, "is not a number"),
        ([1, 2], "is not a number"),
        ((1, 2, 3), "is not a number"),
        (1j, "is not a number"),
        (sympy.pi, "is not a number"),
        (SimpleNamespace(p=1, q=0.5), "is not a number"),
        (math.nan, "is not a finite number"),
        (math.inf, "is not a finite number"),
        (-math.inf, "is not a finite number"),
        (np.float64("nan"), "is not a finite number"),
        (Enclosure(math.inf, 0.0, "certified"), "infinite"),
        (Enclosure(1.0, math.inf, "certified"), "infinite"),
        ((1, math.inf), "is not a finite number"),
    ],
)
def test_what_is_no_finite_number_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        scalar_of(value)


def constant(**more: Any) -> Constant:
    parts = {"value": 2.5, "side": "upper", "certified": True, "route": "exact", "domain": "a box", "exact": None}
    parts |= {"lower": 2.0, "upper": 2.5}
    why = Reason("test", "known")
    known = {"name": "L", "norm": "spectral", "why": why, "whole_space": False, "attained": False}
    return Constant(**{**known, **parts, **more})


@pytest.mark.parametrize("attained", [True, False])
@pytest.mark.parametrize("given", [None, sympy.Rational(12, 5), sympy.sqrt(6)])
@pytest.mark.parametrize(
    ("certified", "route", "certainty"),
    [
        (True, "exact", "certified"),
        (True, "sampling", "certified"),
        (False, "sampling", "sampled"),
        (False, "calculus", "computed"),
    ],
)
def test_a_constant_enters_with_its_safe_end(
    attained: bool, given: Any, certified: bool, route: str, certainty: str
) -> None:
    """The exact value only where it is rational and attained; it is proved only if it is certified too."""
    found = scalar_of(constant(attained=attained, exact=given, certified=certified, route=route))
    if attained and given == sympy.Rational(12, 5):
        assert found == (F(12, 5), "proved" if certified else certainty)
    else:
        assert found == (F(5, 2), certainty)


def test_an_infinite_constant_gives_nothing() -> None:
    for end in (math.inf, -math.inf):
        with pytest.raises(ParameterError, match=r"infinite on this domain \(a box\)"):
            scalar_of(constant(value=end))


# --- leaves


PROBLEM = bv.bilevel(f="x1*y1 + x2", g="2*y1**2 - x1*y1", x="x1 x2", y="y1", domain={"x1": (-1, 1)})
DUEL = bv.minimax(f="x1*y1 - y1**2", x="x1", y="y1")


class Known(Leaves):
    """Leaves whose truth is given."""

    def __init__(self, x0: Any = (1.0, 2.0), values: Mapping[str, Any] | None = None, **truth: Any) -> None:
        super().__init__(PROBLEM, "agm-bio", None if x0 is None else np.array(x0), values or {})
        self.given = SimpleNamespace(**truth)

    @property
    def truth(self) -> Any:
        return self.given


def leaf(source: Any, name: str = "a", **more: Any) -> LetterSpec:
    return LetterSpec(name, source=source, **more)


def test_what_was_given_comes_first() -> None:
    asked = Known(values={"dx": 7})
    assert asked(leaf("problem", "dx"), {}) == 7
    assert asked.of_the_problem(leaf("problem", "dx"), {}) == 2
    for source in ("user", "settings", "run"):
        with pytest.raises(KeyError, match="a"):
            asked(leaf(source), {})


def test_what_the_problem_itself_says() -> None:
    asked = Known()
    for called, number in (("dx", 2), ("d", 2), ("d_x", 2), ("dy", 1), ("is_minimax", 0)):
        assert asked(leaf("problem", called), {}) == number
        assert asked(leaf("problem", "n", called=called), {}) == number
    assert Leaves(DUEL, "fsba", None, {})(leaf("problem", "is_minimax"), {}) == 1
    with pytest.raises(KeyError):
        asked(leaf("problem", "dz"), {})


def test_the_gap_of_a_penalty_is_a_difference_of_enclosures() -> None:
    """0.3 +- 0.25 less 0.1 +- 0.125: at least 0.375 about 0.2, and as certain as the weaker of both."""
    asked: list[Any] = []
    known = {"lam": SimpleNamespace(value=F(3, 2))}
    for above, below, certainty in (
        ("certified", "proved", "certified"),
        ("certified", "sampled", "sampled"),
        ("computed", "certified", "computed"),
    ):
        found = Known(
            L_star=lambda x, lam, above=above: asked.append((tuple(x), lam)) or Enclosure(0.3, 0.25, above, "Newton"),
            L_star_min=lambda lam, below=below: asked.append(lam) or Enclosure(0.1, 0.125, below, "boxes"),
        )(leaf("truth", "delta_lam"), known)
        exact_gap = F(0.3) - F(0.1)
        assert F(0.375) + abs(F(float(found.value)) - exact_gap) <= F(found.error) < F(0.3750001)
        assert (found.certainty, found.method) == (certainty, "Newton; boxes")
    assert set(asked) == {((1.0, 2.0), 1.5), 1.5}
    near, far = Enclosure(-1e16, 0.0, "proved"), Enclosure(-1e16 - 2, 0.0, "proved")
    negative = Known(L_star=lambda x, lam: near, L_star_min=lambda lam: far)(leaf("truth", "delta_lam"), known)
    assert negative.error >= 4


def test_other_truths_of_a_start() -> None:
    gap = Enclosure(1.5, 0.25, "certified")
    bound = SimpleNamespace(alpha=2.0, r=3.0, certainty="computed", why="quadratic")
    asked = Known(delta=lambda x: gap if tuple(x) == (1.0, 2.0) else None, error_bound=lambda: bound)
    assert asked(leaf("truth", "delta"), {}) is gap
    assert asked(leaf("truth", "D0", called="Delta"), {}) is gap
    assert asked(leaf("truth", "alpha"), {}) == Enclosure(2.0, 0.0, "computed", "quadratic")
    assert asked(leaf("truth", "r"), {}) == Enclosure(3.0, 0.0, "computed", "quadratic")
    for missing in ({"alpha": None}, {"r": None}):
        none = SimpleNamespace(**{**vars(bound), **missing})
        for name in ("alpha", "r"):
            with pytest.raises(ParameterError, match=r"no error bound of g was derived \(quadratic\)"):
                Known(error_bound=lambda none=none: none)(leaf("truth", name), {})
    with pytest.raises(KeyError, match="stranger"):
        asked(leaf("truth", "stranger"), {})
    with pytest.raises(ParameterError, match="x0 is needed"):
        Known(x0=None, delta=lambda x: gap)(leaf("truth", "delta"), {})


def test_a_norm_is_as_wide_as_its_vector_and_its_rounding() -> None:
    at = Enclosure(np.array([3.0, 4.0]), 0.5, "sampled", "Newton")
    found = Known(y_star=lambda x: at)(leaf("truth", "norm_y_star"), {})
    assert (found.value, found.certainty, found.method) == (5.0, "sampled", "norm of Newton")
    assert 0.5 + 6 * 2.2e-16 * 5 <= found.error < 0.5 + 1e-14


def test_a_room_that_cannot_say_says_why() -> None:
    def fails(x: Any) -> Any:
        raise MathematicalError("phi is not bounded below")

    with pytest.raises(ParameterError, match=r"^phi is not bounded below$"):
        Known(delta=fails)(leaf("truth", "delta"), {})


def test_constants_are_asked_under_the_name_that_the_card_gives() -> None:
    asked = Leaves(PROBLEM, "fsba", None, {})
    assert asked(leaf("constants", "m", called="mu"), {}).value == 4
    assert asked(leaf("constants", "mu"), {}).name == "mu"
    letters = read_letters("own", {"letters": {"m": {"measure": "strong convexity", "of": ["f:zz"]}}}, "")
    own = asked(leaf("constants", "m", called="mu", definition=letters), {})
    assert (own.name, own.value) == ("m", pytest.approx(-1))


@pytest.mark.parametrize(("width", "narrow"), [(0.9e-9, True), (1.1e-9, False)])
def test_narrow_is_a_billionth(width: float, narrow: bool) -> None:
    one = letter(value=1.0, lower=1.0, upper=1.0 + width, scalar=F(1, 3), chosen=True)
    assert one.for_check == (F(1, 3) if narrow else 1)


@pytest.mark.parametrize(
    ("name", "given", "options"), [("H_f", True, {"nu": 0.5}), ("H_f", False, {}), ("L_f", True, {})]
)
def test_an_exponent_that_is_given_is_that_of_the_hoelder_constant_alone(
    name: str, given: bool, options: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def constants(problem: Any, paper: Any, only: Any, **more: Any) -> dict[str, str]:
        asked.append(more)
        return {name: "found"}

    monkeypatch.setattr(importlib.import_module("bilevel_verify.constants"), "constants", constants)
    problem: Any = SimpleNamespace(kind="bilevel")
    leaves = Leaves(problem, "ragd-gs", None, {"nu_f": 0.5} if given else {})
    assert leaves._constant(LetterSpec(name, source="constants")) == "found"
    assert asked == [options]


def test_constants_of_a_composite_problem_are_those_of_its_smooth_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    part = SimpleNamespace(smooth="smooth parts")
    simple: Any = SimpleNamespace(kind="simple_bilevel")
    leaves = Leaves(simple, "agm-bio", None, {})
    monkeypatch.setattr("bilevel_verify.problems.composite.split", lambda problem: part)
    assert (leaves._part_of("L_f"), leaves._part_of("L_g")) == ("smooth parts", "smooth parts")
    assert leaves._part_of("D") is simple
    monkeypatch.setattr("bilevel_verify.problems.composite.split", lambda problem: None)
    assert leaves._part_of("L_f") is simple
