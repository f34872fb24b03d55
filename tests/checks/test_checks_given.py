"""Letters that were set by hand: against the certified constants, and against what the theorem prescribes."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.numbers import exact
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.solving import ByHand
from bilevel_verify.theorems.letters.given import Given, _bound, _constant, _equal, _error_bound, _exponent, _truth
from bilevel_verify.theorems.letters.instance import Leaves
from bilevel_verify.theorems.letters.resolve import resolve
from bilevel_verify.theorems.library import load_card
from bilevel_verify.truth.arithmetic.enclosure import Enclosure

L, RHO = 2, 2
PRESCRIBED_B = (0.05 / RHO) ** 0.5


@pytest.fixture(scope="module")
def waves() -> bv.Problem:
    """L = rho = 2, attained."""
    return bv.single_level(f="2*(1 - cos(x1)) + x2**2/2", x="x1 x2")


def outcome(problem: bv.Problem, how: str = "parameters", **letters: Any) -> set[tuple[str, str]]:
    found = bv.verify(
        problem, "restarted-agd-hb/theorem-1:equation-7,equation-16", eps=0.05, x0=[2.0, 1.5], **{how: letters}
    )
    return {(row.verdict, row.reason or "") for row in found.claims if not unread(row)}


def unread(row: bv.Row) -> bool:
    """A row that only says that nobody has read where a hypothesis comes from."""
    return (row.reason or "").startswith("origin of the hypothesis")


@pytest.mark.parametrize("how", ["parameters", "values"])
@pytest.mark.parametrize(
    ("letters", "words"),
    [
        ({"L": 1.5}, "L = 1.5 is too small for this problem: L >= 2"),
        ({"L": 1.9999999}, "L = 1.9999999 is too small"),
        ({"rho": 0.5}, "rho = 0.5 is too small for this problem: rho >= 2"),
        ({"Delta": 1}, "Delta = 1 is too small for this problem: Delta >= 3.95"),
        ({"d": 3}, "d = 3 is false: this problem has 2"),
    ],
)
def test_a_constant_that_is_certainly_false_makes_nothing_applicable(
    waves: bv.Problem, how: str, letters: dict[str, Any], words: str
) -> None:
    ((verdict, reason),) = outcome(waves, how, **letters)
    assert verdict == "not applicable"
    assert words in reason


@pytest.mark.parametrize("letters", [{"L": 2}, {"L": 2.5}, {"rho": 3}, {"Delta": 50}, {"d": 2}, {"B": PRESCRIBED_B}])
def test_a_constant_that_is_certainly_valid_goes_on(waves: bv.Problem, letters: dict[str, Any]) -> None:
    assert outcome(waves, **letters) == {("holds", "")}


@pytest.mark.parametrize(
    ("letter", "value"), [("B", 0.01), ("B", PRESCRIBED_B * (1 + 1e-12)), ("K", 5), ("theta", 0.3), ("eta", 0.125001)]
)
def test_a_letter_that_the_theorem_prescribes_is_that_one(waves: bv.Problem, letter: str, value: float) -> None:
    ((verdict, reason),) = outcome(waves, **{letter: value})
    assert verdict == "not applicable"
    assert reason.startswith(f"{letter} is not what the theorem prescribes: {value}, not ")


def test_the_resolved_letters_of_a_run_are_the_prescribed_ones(waves: bv.Problem) -> None:
    run = bv.solve(waves, "restarted-agd", eps=0.05, x0=[2.0, 1.5])
    assert run.parameters["K"] == 2  # 1/theta = 1.26 rounded up
    letters = {name: run.parameters[name] for name in ("eta", "theta", "B", "K")}
    assert outcome(waves, **letters) == {("holds", "")}


def test_what_the_enclosures_do_not_decide_is_undecided() -> None:
    """The certified bound of L is not attained: numbers between what is seen and what is certified prove nothing."""
    problem = bv.single_level(f="sin(x1)*exp(-x2**2) + cos(x2)", x="x1 x2")
    known = bv.constants(problem)["L"]
    assert known.lower < known.value
    between = known.lower + 0.5 * (known.value - known.lower)
    ((verdict, reason),) = outcome(problem, L=between)
    assert verdict == "undecided"
    assert reason.startswith(f"hypothesis: L = {between} is not certain: certified is L <= ")


def test_strong_convexity_is_bounded_from_below() -> None:
    problem = bv.bilevel(
        f="sin(x1) + y1**2/2 + cos(x1 - y1)",
        g="y1**2 + cos(y1)/2 - x1*y1",
        x="x1",
        y="y1",
        domain={"x1": (-3, 3), "y1": (-3, 3)},
    )
    mu = bv.constants(problem)["mu"].value

    def verdicts(value: float) -> set[str]:
        found = bv.verify(problem, "ragd-gs/theorem-1", eps=0.1, x0=[1.0], values={"mu": value}, budget=1000)
        shown = [row for row in found.claims if not unread(row)]
        return {row.verdict for row in shown} | {(row.reason or "")[:15] for row in shown}

    assert verdicts(2 * mu) == {"not applicable", f"mu = {2 * mu} is too large"[:15]}
    assert "not applicable" not in verdicts(mu / 2)


def test_a_constant_that_is_infinite_is_not_replaced_by_a_number() -> None:
    problem = bv.single_level(f="x1**4", x="x1")
    found = bv.verify(problem, "restarted-agd-hb/theorem-1:equation-7", eps=0.1, x0=[1.0], values={"L": 12, "rho": 24})
    assert {row.verdict for row in found.claims if not unread(row)} == {"not applicable"}


def constant(**changes: Any) -> bv.Constant:
    known = bv.constants(bv.single_level(f="2*(1 - cos(x1)) + x2**2/2", x="x1 x2"))["L"]
    from dataclasses import replace

    return replace(known, **changes)


@pytest.mark.parametrize(
    ("changes", "value", "answer"),
    [
        ({"attained": False, "lower": 1.5}, 2.0, True),
        ({"attained": False, "lower": 1.5}, 1.5, None),
        ({"attained": False, "lower": 1.5}, 1.5 - 1e-12, None),  # within the rounding of a sampled value
        ({"attained": False, "lower": 1.5}, 1.4, False),
        ({"attained": False, "lower": 1.5, "certified": False}, 2.0, None),
        ({"attained": False, "lower": 1.5, "certified": False}, 1.4, False),
        ({"attained": True}, 2.0 - 1e-9, False),
        ({"attained": True, "certified": False, "lower": 1.5}, 2.0 - 1e-9, None),
        ({"attained": True}, 2.0 * (1 - 2.0**-52), None),
        ({"side": "lower", "attained": False, "value": 2.0, "upper": 3.0}, 2.0, True),
        ({"side": "lower", "attained": False, "value": 2.0, "upper": 3.0}, 2.5, None),
        ({"side": "lower", "attained": False, "value": 2.0, "upper": 3.0}, 3.5, False),
        ({"side": "lower", "attained": False, "value": 2.0, "upper": 3.0}, 3.0 + 1e-12, None),
        ({"side": "lower", "attained": True, "value": 2.0, "upper": 2.0}, 2.0 + 1e-9, False),
    ],
)
def test_a_number_beside_a_constant(changes: dict[str, Any], value: float, answer: bool | None) -> None:
    assert _constant("L", value, (value, value), constant(**changes)).answer is answer


def test_both_ends_of_a_number_count() -> None:
    loose = constant(attained=False, lower=1.5)
    assert _constant("L", "wide", (1.0, 3.0), loose).answer is None
    assert _constant("L", "wide", (1.0, 1.6), loose).answer is None
    assert _constant("L", "wide", (2.0, 3.0), loose).answer is True
    from_below = constant(side="lower", attained=False, value=2.0, upper=3.0)
    assert _constant("mu", "wide", (1.0, 3.5), from_below).answer is None
    assert _constant("mu", "wide", (2.5, 3.5), from_below).answer is None


@pytest.mark.parametrize(
    ("value", "certainty", "answer"),
    [
        (3.01, "certified", True),
        (3.0, "certified", None),
        (1.5, "certified", None),
        (1.0, "certified", None),
        (0.5, "certified", False),
    ]
    + [(0.5, "proved", False), (0.5, "computed", None), (3.01, "computed", True)],
)
def test_a_number_beside_a_truth(value: float, certainty: Any, answer: bool | None) -> None:
    found = _truth("Delta", value, (value, value), Enclosure(2.0, 1.0, certainty, "by hand"))
    assert found.answer is answer
    if answer is True:
        assert found.certainty == certainty


def test_an_exponent_belongs_to_its_constant() -> None:
    one = constant(name="nu_f", value=1.0)
    assert _exponent("nu_f", 1, (1.0, 1.0), one).answer is True
    assert _exponent("nu_f", 0.5, (0.5, 0.5), one).answer is None
    assert _exponent("nu_f", 1, (1.0, 1.0), constant(name="nu_f", value=1.0, certified=False)).answer is None
    assert _constant("nu_f", 2, (2.0, 2.0), one).answer is None


def test_the_pair_of_an_error_bound() -> None:
    letters = load_card("agm-bio").letters
    own = Enclosure(0.5, 0.0, "computed", "by hand")
    for value, answer in ((0.4, True), (0.5, True), (0.6, None)):
        assert _error_bound(letters["alpha"], value, (value, value), own).answer is answer
    for value, answer in ((0.5, True), (0.4, None), (0.6, None)):
        assert _error_bound(letters["r"], value, (value, value), own).answer is answer


def test_equal_is_up_to_the_float_and_to_what_is_known() -> None:
    card = load_card("restarted-agd-hb")
    values = {"L": 2, "rho": 2, "eps": 0.05, "Delta": (1.0, 2.0)}
    letters = resolve(card, card.entries["theorem-1"], values, targets=["B", "K", "theta"]).letters
    with precision(exact.BITS):
        from fractions import Fraction

        root = Fraction(letters["B"].value)
        assert _equal(root, letters["B"])
        assert _equal(root * (1 + Fraction(1, 2**52)), letters["B"])
        assert not _equal(root * (1 + Fraction(1, 2**48)), letters["B"])
        assert not _equal(-root, letters["B"])
        assert _equal(Fraction(letters["K"].run), letters["K"])
        assert not _equal(Fraction(letters["K"].run + 1), letters["K"])


def test_the_hypothesis_says_what_it_is_about() -> None:
    assert Given("B", 1, True).text == "B = 1 is what the theorem prescribes"
    assert Given("L", 1, True, source="constants").text == "L = 1 is valid for this problem (constants)"


def test_solve_says_that_a_letter_is_false() -> None:
    problem = bv.bilevel(f="x1**2/2 + y1**2/2 + sin(x1)", g="(y1 - x1)**2/2", x="x1", y="y1")
    letters = {"mu": 3.0, "C_f": 10.0, "L_g": 1.0}
    run = bv.solve(problem, "ragd-gs", eps=0.5, x0=[1.0], parameters=letters, budget=100)
    assert "mu = 3.0 is too large for this problem: mu <= 1" in run.note
    assert "L_g = 1.0 is too small for this problem: L_g >= 2" in run.note


@pytest.mark.parametrize("down", [True, False])
@pytest.mark.parametrize("value", [1.4999999999999998, 1.5000000000000002, 1.5, 1e-300, -2 / 3, 123456789.123456789])
def test_a_bound_that_is_shown_is_a_bound(value: float, down: bool) -> None:
    shown = Fraction(_bound(value, down))
    assert shown <= Fraction(value) if down else shown >= Fraction(value)
    assert abs(shown - Fraction(value)) <= Fraction(1, 10**9) * abs(Fraction(value))


def test_an_infinite_bound_is_shown() -> None:
    assert [_bound(value, True) for value in (float("inf"), -float("inf"))] == ["inf", "-inf"]


def test_a_letter_beside_its_bound_is_told_apart_from_it() -> None:
    known = bv.constants(bv.single_level(f="3*x1**2/4 - cos(x1)**2/1000", x="x1"))["L"]
    reason = _constant("L", 1.5, (1.5, 1.5), replace(known, value=1.5000000000000002, lower=1.4, attained=False)).reason
    assert "certified is L <= 1.500000001" in reason


def test_solve_says_that_a_truth_is_false() -> None:
    """``Delta = f(x0) - min f`` is 3.95 from this start; what the ends of the run show is enough to say so."""
    waves = bv.single_level(f="2*(1 - cos(x1)) + x2**2/2", x="x1 x2")
    options: dict[str, Any] = {"eps": 0.05, "x0": [2.0, 1.5]}
    small = bv.solve(waves, "restarted-agd", values={"Delta": 3.5, "d": 3}, **options)
    assert small.note.startswith(
        "d = 3 is false: this problem has 2; Delta = 3.5 is too small for this problem: Delta >="
    )
    assert 3.5 < float(small.note.rpartition(">=")[2]) <= 2 * (1 - math.cos(2.0)) + 1.125
    for valid in (3.96, 50):
        assert bv.solve(waves, "restarted-agd", values={"Delta": valid, "d": 2}, **options).note == ""


def test_solve_says_that_the_gap_of_the_penalty_function_is_false() -> None:
    """``L*_lam = x^2/2 + lam/(1 + lam) (x + 2)^2/2``: at its two ends 1 and 0 it differs by 1/2 + 5/2 lam/(1 + lam)."""
    two = bv.bilevel(f="x1**2/2 + y1**2/2", g="(y1 - x1 - 2)**2/2", x="x1", y="y1")
    leaves = Leaves(two, "fsba", np.array([1.0]), {})
    card = load_card("fsba")
    line = bv.single_level(f="x1**2/2", x="x1")
    run = bv.solve(line, "gradient-descent", parameters={"eta": 1.0, "N": 1}, x0=[1.0])
    for lam in (3, 15):
        resolved = resolve(card, card.entries["lemma-3-2"], {}, {"lam": lam}, targets=["lam"])
        gap = 0.5 + 2.5 * lam / (1 + lam)
        for share, false in ((0.999, 1), (1.001, 0)):
            said = list(ByHand((), leaves, {"Delta_lam": ("delta_lam", gap * share)}).shown_false(run, resolved))
            assert len(said) == false
            assert all(text.startswith(f"Delta_lam = {gap * share} is too small for this problem") for text in said)
    unknown = resolve(card, card.entries["lemma-3-2"], {}, targets=[])
    assert list(ByHand((), leaves, {"Delta_lam": ("delta_lam", 0.1)}).shown_false(run, unknown)) == []


def test_solve_names_a_gap_of_the_penalty_function_that_is_too_small() -> None:
    """The whole way, from ``values=`` to the note of the run."""
    two = bv.bilevel(f="sin(x1) + cos(x1 - y1)/2", g="y1**2/2 - x1*y1/2", x="x1", y="y1")
    options: dict[str, Any] = {"eps": 0.5, "x0": [0.5], "statement": "fsba/lemma-3-2", "budget": 4000}
    notes = [bv.solve(two, "fsba", values={"Delta_lam": value, "R": 4}, **options).note for value in (0.05, 50)]
    assert "Delta_lam = 0.05 is too small for this problem: Delta_lam >= 0.23" in notes[0]
    assert "too small" not in notes[1]


def test_solve_compares_a_truth_where_the_infimum_is_taken() -> None:
    """Outside the declared box a lower value of f says nothing about the infimum over the box; two levels as one."""
    run = bv.solve(bv.single_level(f="x1**2/2", x="x1"), "gradient-descent", parameters={"eta": 1.0, "N": 1}, x0=[1.0])
    boxed = bv.single_level(f="x1**2/2", x="x1", domain={"x1": (0.5, 2)})
    leaves = Leaves(boxed, "restarted-agd-hb", np.array([1.0]), {})
    card = load_card("restarted-agd-hb")
    resolved = resolve(card, card.entries["theorem-1"], {}, targets=[])
    assert list(ByHand((), leaves, {"Delta": ("delta", 0.4)}).shown_false(run, resolved)) == []
    free = Leaves(bv.single_level(f="x1**2/2", x="x1"), "restarted-agd-hb", np.array([1.0]), {})
    assert len(list(ByHand((), free, {"Delta": ("delta", 0.4)}).shown_false(run, resolved))) == 1
    assert list(ByHand((), free, {"Delta": ("delta", 0.5)}).shown_false(run, resolved)) == []
    two = bv.bilevel(f="x1**2/2 + y1**2/2", g="(y1 - x1 - 2)**2/2", x="x1", y="y1")
    below = Leaves(two, "ragd-gs", np.array([1.0]), {})
    for value, false in ((2.99, 1), (3.0, 0)):  # y*(1) = 3
        assert len(list(ByHand((), below, {"norm_y0": ("norm_y_star", value)}).shown_false(run, resolved))) == false
    for value, false in ((2.99, 1), (3.01, 0)):  # phi(1) - phi(0) = 5 - 2
        assert len(list(ByHand((), below, {"Delta": ("delta", value)}).shown_false(run, resolved))) == false
    # alpha and r are derived, not measured
    assert list(ByHand((), free, {"alpha": ("alpha", 1e9)}).shown_false(run, resolved)) == []


def test_a_letter_of_the_card_is_set_whichever_way_it_is_given(tmp_path: Path) -> None:
    """``y*_lam = lam x/(1 + lam)``: the penalty of the card is 3, and another one was asked for."""
    path = tmp_path / "penalty.toml"
    claim = '[[theorem.claim]]\nid = "c"\nover = "run"\nleft = "norm(y_star_lam(output))"\nright = "3/5 + 0*lam"\n'
    letters = '[letters]\nlam = { default = 3 }\n[[theorem]]\nid = "t"\n'
    path.write_text(f'[paper]\nkey = "penalty"\n{letters}{claim}', encoding="utf-8")
    problem = bv.bilevel(f="y1**2/2", g="(y1 - x1)**2/2", x="x1", y="y1")
    for how, verdict in ((None, "refuted"), ("values", "holds"), ("parameters", "holds")):
        options: dict[str, Any] = {} if how is None else {how: {"lam": 1}}
        [row] = bv.verify(problem, path, x0=[1.0], method=lambda o, x0, p: [x0, x0], **options).claims
        assert row.verdict == verdict, (how, row.reason)
