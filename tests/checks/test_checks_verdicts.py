"""From places to a verdict, one side condition a test: decide, rows, hypotheses, along, each function by itself."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf, isnan, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb

import bilevel_verify as bv
from bilevel_verify.checks.claims import decide
from bilevel_verify.checks.claims.claims import Judged
from bilevel_verify.checks.claims.decide import Judgement, Tally, judge, margin_of, summary, undecided
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.claims.values import EvaluationError
from bilevel_verify.checks.evidence import confirm
from bilevel_verify.checks.instances import hypotheses
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.judging import along, conditions, rows
from bilevel_verify.constants.bound.constant import Constant, Reason
from bilevel_verify.errors import MathematicalError
from bilevel_verify.language import parse
from bilevel_verify.theorems.card import Card, Claim, Statement
from bilevel_verify.theorems.card_parts import Expression, LetterSpec, Link
from bilevel_verify.theorems.letters.given import Given
from bilevel_verify.theorems.letters.resolved import Hypothesis
from bilevel_verify.truth.arithmetic.enclosure import Enclosure

pytestmark = pytest.mark.fast

F = Fraction


# --- decide: one relation


@pytest.mark.parametrize(
    ("left", "operator", "right", "measured", "bound"),
    [
        (arb(1, 0.25), "<=", arb(3, 0.5), 1.25, 2.5),
        (arb(1, 0.25), "<", arb(3, 0.5), 1.25, 2.5),
        (arb(3, 0.5), ">=", arb(1, 0.25), 2.5, 1.25),
        (arb(3, 0.5), ">", arb(1, 0.25), 2.5, 1.25),
        (arb(3, 0.5), "<=", arb(1, 0.25), 2.5, 1.25),  # violated: the optimistic ends
        (arb(1, 0.25), ">=", arb(3, 0.5), 1.25, 2.5),
        (arb(1, 0.25), ">", arb(3, 0.5), 1.25, 2.5),
        (arb(1, 0.5), "<=", arb(1, 0.25), 1.5, 0.75),  # open: the pessimistic ones
        (arb(1, 0.5), ">=", arb(1, 0.25), 0.5, 1.25),
        (F(1), "==", F(1), 1.0, 1.0),
        (arb(3, 0.5), "==", arb(1, 0.25), 2.5, 1.25),
    ],
)
def test_ends_of_a_judgement(left: Any, operator: str, right: Any, measured: float, bound: float) -> None:
    found = judge(left, operator, right)
    assert (found.measured, found.bound) == (pytest.approx(measured, rel=1e-8), pytest.approx(bound, rel=1e-8))


@pytest.mark.parametrize(
    ("left", "operator", "right", "answer"),
    [
        (F(1), "<", F(1), False),
        (F(1), "<=", F(1), True),
        (F(1), ">", F(1), False),
        (F(1), ">=", F(1), True),
        (F(1), "==", F(2), False),
        (arb(1), "<", arb(1), False),
        (arb(1, 0.5), "<=", arb(1.25, 0.5), None),
        (arb(1, 0.5), "==", arb(3, 0.5), False),
        (arb(1, 0.5), "==", arb(1, 0.5), None),
        (arb("nan"), "<=", F(1), None),
        (F(1), "<=", arb("inf"), True),
    ],
)
def test_answers(left: Any, operator: str, right: Any, answer: bool | None) -> None:
    found = judge(left, operator, right)
    assert found.answer is answer
    assert (found.reason == "") == (answer is not None)


def test_margins_have_the_sign_of_the_decision() -> None:
    for left, operator, right in [(2, "==", 1), (1, "==", 2), (2, "<=", 1), (1, ">=", 2), (2, "<", 1), (1, ">", 2)]:
        assert judge(F(left), operator, F(right)).margin == -0.5, (left, operator, right)
        assert judge(F(right), {"==": "=="}.get(operator, operator), F(left)).margin == (
            -0.5 if operator == "==" else 0.5
        )
    # ends rounded outwards pass each other by an ulp: the decision stands, its margin is not turned round
    almost = judge(F(1, 3), "<=", F(1, 3) + F(1, 10**30))
    assert almost.answer is True
    assert almost.margin == 0.0
    almost = judge(F(1, 3) + F(1, 10**30), "<=", F(1, 3))
    assert almost.answer is False
    assert almost.margin == 0.0


def test_the_gap_is_the_least_distance_of_a_violation() -> None:
    assert judge(arb(2, 0.25), "<=", arb(1, 0.25)).gap == pytest.approx(0.5)
    assert judge(arb(1, 0.25), ">=", arb(2, 0.25)).gap == pytest.approx(0.5)
    assert judge(arb(1, 0.25), "<=", arb(2, 0.25)).gap == 0.0
    assert judge(arb(1, 0.5), "<=", arb(1, 0.25)).gap == 0.0


@pytest.mark.parametrize(
    ("measured", "operator", "bound", "margin"),
    [
        (1.0, "<=", 2.0, 0.5),
        (2.0, "<=", 1.0, -0.5),
        (2.0, ">=", 1.0, 0.5),
        (1.0, ">", 2.0, -0.5),
        (1.0, "<", 2.0, 0.5),
        (1.0, "==", 2.0, -0.5),
        (2.0, "==", 1.0, -0.5),
        (-4.0, "<=", 1.0, 1.25),
        (1.0, "<=", -4.0, -1.25),
        (0.0, "<=", 0.0, 0.0),
        (inf, "<=", inf, 0.0),
        (1.0, "<=", inf, 1.0),
        (inf, "<=", 1.0, -1.0),
        (-inf, "<", 1.0, 1.0),
        (1.0, "<", -inf, -1.0),
        (1.0, ">=", -inf, 1.0),
        (1.0, ">=", inf, -1.0),
        (inf, ">", 1.0, 1.0),
    ],
)
def test_margin(measured: float, operator: str, bound: float, margin: float) -> None:
    assert margin_of(measured, operator, bound) == margin


@pytest.mark.parametrize("ends", [(nan, 1.0), (1.0, nan), (nan, nan)])
def test_margin_of_nan_is_nan(ends: tuple[float, float]) -> None:
    assert isnan(margin_of(ends[0], "<=", ends[1]))


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        (arb(1, 1e-9), arb(1, 1e-9), "tie"),
        (arb(1, 1e-3), arb(1, 1e-9), "precision: the enclosures are too wide"),
        (arb(1, 1e-9), arb(1, 1e-3), "precision: the enclosures are too wide"),
        (arb(1e6, 1e-3), arb(1e6, 1e-3), "tie"),
        (arb(0, inf), arb(1), "precision: the enclosures are too wide"),
        (arb("nan"), arb(1), "precision: a side is not a number"),
        (arb(1), arb("nan"), "precision: a side is not a number"),
    ],
)
def test_why_a_place_is_open(left: arb, right: arb, reason: str) -> None:
    assert judge(left, "<=", right).reason == reason


def test_a_judgement_carries_certainty_and_place() -> None:
    found = judge(F(1), "<=", F(2), "computed", "k = 3")
    assert (found.certainty, found.where) == ("computed", "k = 3")
    assert judge(F(1), "<=", F(2)).certainty == "proved"
    assert undecided("tie").certainty == "computed"
    assert undecided("tie", "proved", "k = 1").where == "k = 1"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (f"{word}: more", f"{word}: more")
        for word in ("tie", "precision", "budget", "local", "not recorded", "hypothesis")
    ]
    + [("vacuous", "vacuous"), ("0 to a negative power", "precision: 0 to a negative power")],
)
def test_reasons_of_failed_evaluations(words: str, reason: str) -> None:
    found = decide.guarded(MathematicalError(words), "k = 1", "certified")
    assert (found.answer, found.reason, found.where, found.certainty) == (None, reason, "k = 1", "certified")
    assert decide.guarded(EvaluationError(words), "").reason == reason


# --- decide: many places


def place(margin: float, answer: bool | None, where: str = "", certainty: Any = "proved") -> Judgement:
    return Judgement(answer, 0.0, 0.0, margin, "" if answer is not None else "tie", certainty, where)


def tally_of(*places: Judgement, epochs: tuple[int | None, ...] = ()) -> Tally:
    tally = Tally()
    for number, one in enumerate(places):
        tally.take(one, epochs[number] if epochs else None)
    return tally


def test_a_tally_shows_the_worst_violation_and_remembers_the_first() -> None:
    tally = tally_of(place(-0.1, False, "a"), place(-0.5, False, "b"), place(-0.3, False, "c"), epochs=(4, 5, 6))
    assert tally.worst is not None
    assert tally.first is not None
    assert (tally.worst.where, tally.first.where, tally.first_epoch) == ("b", "a", 4)
    assert tally.shown is tally.worst
    assert tally.outcome() == ("refuted", "violated at 3 of 3 places")
    assert tally.violated == 3


def test_a_tally_shows_the_tightest_place() -> None:
    tally = tally_of(place(0.3, True, "a"), place(0.1, True, "b"), place(0.2, True, "c"))
    assert tally.shown is not None
    assert tally.shown.where == "b"
    assert (tally.outcome(), tally.held, tally.places) == (("holds", ""), 3, 3)
    assert tally_of(place(nan, True, "a"), place(0.3, True, "b")).shown.where == "b"  # type: ignore[union-attr]
    assert tally_of(place(0.1, True, "a"), place(0.1, True, "b")).shown.where == "a"  # type: ignore[union-attr]


def test_an_open_place_decides_over_held_ones_and_a_violation_over_both() -> None:
    open_ = tally_of(place(0.1, True, "a"), place(nan, None, "b"), place(nan, None, "c"))
    assert open_.outcome() == ("undecided", "tie (2 of 3 places)")
    assert open_.shown is not None
    assert open_.shown.where == "b"
    assert open_.tightest is not None
    assert open_.tightest.where == "a"
    open_.take(place(-0.1, False, "d"))
    assert open_.outcome() == ("refuted", "violated at 1 of 4 places")
    assert open_.shown.where == "d"


def test_a_tally_is_as_certain_as_its_least_certain_place() -> None:
    tally = tally_of(place(0.1, True, certainty="computed"), place(0.1, True, certainty="proved"))
    assert tally.certainty == "computed"
    assert tally_of(place(nan, None, certainty="sampled")).certainty == "sampled"
    assert (
        tally_of(place(0.1, True, certainty="certified"), place(-1, False, certainty="proved")).certainty == "certified"
    )
    assert Tally().certainty == "proved"


def test_a_tally_without_places_is_vacuous() -> None:
    tally = Tally()
    assert tally.outcome() == ("not applicable", "vacuous")
    tally.skip("certified")
    assert tally.outcome() == ("not applicable", "vacuous: no place to check (1 skipped)")
    assert tally.shown is None
    tally.take(place(0.1, True))
    assert tally.outcome() == ("holds", "")


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        (["holds", "undecided", "refuted"], "refuted"),
        (["holds", "undecided", "not applicable"], "undecided"),
        (["holds", "not applicable"], "holds"),
        (["not applicable"], "not applicable"),
        ([], "not applicable"),
        (["consistent", "holds"], "holds"),
        (["consistent", "inconsistent", "uninformative"], "inconsistent"),
        (["uninformative", "consistent"], "consistent"),
        (["uninformative"], "uninformative"),
        (["not applicable", "uninformative"], "uninformative"),
        (["inconsistent", "undecided"], "undecided"),
    ],
)
def test_verdict_of_a_statement(verdicts: list[Any], found: str) -> None:
    assert summary(verdicts) == found


# --- hypotheses


def constant(**changes: Any) -> Constant:
    base = Constant(
        "L",
        2.0,
        2.0,
        2.0,
        "upper",
        True,
        "exact",
        "Euclidean",
        "whole space",
        Reason("rule", "sup = 2"),
        meaning="a bound",
    )
    return replace(base, **changes)


@pytest.mark.parametrize(
    ("changes", "verdict", "words"),
    [
        ({}, "holds", ""),
        ({"certified": False}, "undecided", "hypothesis: L is computed, not certified"),
        ({"certified": False, "route": "sampling"}, "undecided", "hypothesis: L is sampled, not certified"),
        ({"value": inf, "lower": inf, "upper": inf}, "not applicable", "L is infinite: sup = 2"),
        ({"value": inf, "lower": 1.0, "upper": inf}, "undecided", "hypothesis: no finite bound of L (sup = 2"),
        ({"value": 0.0, "lower": 0.0, "upper": 0.0}, "holds", ""),
        ({"side": "lower"}, "holds", ""),
        ({"side": "lower", "certified": False}, "undecided", "hypothesis: L is computed, not certified"),
        ({"side": "lower", "value": 0.0, "upper": 0.0, "attained": True}, "not applicable", "L <= 0"),
        ({"side": "lower", "value": -1.0, "upper": -0.5, "attained": True}, "not applicable", "L <= -0.5"),
        ({"side": "lower", "value": -1.0, "upper": -0.5}, "undecided", "hypothesis: L <= -0.5"),
        (
            {"side": "lower", "value": -1.0, "upper": -0.5, "attained": True, "certified": False},
            "undecided",
            "hypothesis",
        ),
        ({"side": "lower", "value": 0.0, "upper": 1.0}, "undecided", "hypothesis: no positive lower bound of L"),
        ({"side": "lower", "value": -1.0, "upper": 1.0}, "undecided", "hypothesis: no positive lower bound of L"),
        ({"side": "lower", "value": nan, "upper": 1.0}, "undecided", "hypothesis: no positive lower bound of L"),
        ({"side": "lower", "value": inf, "upper": inf}, "holds", ""),
    ],
)
def test_premise_of_a_constant(changes: dict[str, Any], verdict: str, words: str) -> None:
    found = hypotheses.of_constant("L", constant(**changes))
    assert found.verdict == verdict
    assert found.reason.startswith(words) if words else found.reason == ""
    assert found.text == "L: a bound exists on whole space"
    assert found.source.startswith("constants, ")


def test_certainty_and_witness_of_a_premise_of_a_constant() -> None:
    assert hypotheses.of_constant("L", constant()).certainty == "certified"
    assert hypotheses.of_constant("L", constant(certified=False, route="sampling")).certainty == "sampled"
    assert hypotheses.of_constant("L", constant(certified=False, route="calculus")).certainty == "computed"
    lost = constant(value=inf, lower=inf, upper=inf, witness={"x1": 0.5, "y1": 2.0})
    assert hypotheses.of_constant("L", lost).witness == "x1 = 0.5, y1 = 2"
    assert hypotheses.of_constant("L", replace(lost, lower=0.0)).witness == "x1 = 0.5, y1 = 2"
    flat = constant(side="lower", value=-1.0, upper=-1.0, witness={"x1": 0.5})
    assert hypotheses.of_constant("mu", flat).witness == "x1 = 0.5"


@pytest.mark.parametrize(
    ("value", "error", "certainty", "verdict"),
    [
        (1.0, 0.1, "certified", "holds"),
        (1.0, 0.1, "computed", "holds"),
        (1.0, inf, "certified", "undecided"),
        (1.0, inf, "computed", "undecided"),
        (inf, 0.0, "computed", "undecided"),
        (inf, 1.0, "computed", "undecided"),
        (inf, 1.0, "certified", "not applicable"),
        (inf, 1.0, "proved", "not applicable"),
        (-inf, 0.0, "computed", "undecided"),
        (-inf, 0.0, "certified", "not applicable"),
    ],
)
def test_premise_of_a_truth(value: float, error: float, certainty: Any, verdict: str) -> None:
    found = hypotheses.of_truth("Delta", Enclosure(value, error, certainty, "how"))
    assert found.verdict == verdict
    assert found.certainty == certainty
    assert found.text == "Delta is finite"
    assert found.reason.startswith("hypothesis: Delta") == (verdict == "undecided")


def test_one_infinite_entry_of_a_truth_is_enough() -> None:
    found = hypotheses.of_truth("x", Enclosure(np.array([1.0, inf]), 0.0, "proved", "how"))
    assert found.verdict == "not applicable"


@pytest.mark.parametrize(
    ("answer", "verdict", "reason"),
    [
        (True, "holds", ""),
        (False, "not applicable", "theta < 1 is false (settings s)"),
        (None, "undecided", "hypothesis: theta < 1: the enclosures do not decide it"),
    ],
)
def test_premise_of_a_line(answer: bool | None, verdict: str, reason: str) -> None:
    line = Hypothesis("theta < 1", "settings s", answer, margin=0.5)
    (found,) = hypotheses.of_statement(SimpleNamespace(hypotheses=(line,)))  # type: ignore[arg-type]
    assert (found.verdict, found.reason, found.text, found.source) == (verdict, reason, "theta < 1", "settings s")
    assert found.margin == (None if answer is None else 0.5)


def test_a_line_says_why_it_is_open() -> None:
    line = Hypothesis("theta < 1", "s", None, "no value for theta")
    (found,) = hypotheses.of_statement(SimpleNamespace(hypotheses=(line,)))  # type: ignore[arg-type]
    assert found.reason == "hypothesis: theta < 1: no value for theta"


@pytest.mark.parametrize(("answer", "verdict"), [(True, "holds"), (False, "not applicable"), (None, "undecided")])
def test_premise_of_a_letter_set_by_hand(answer: bool | None, verdict: str) -> None:
    found = hypotheses.of_given(Given("L", 3, answer, "why", "x = 1", "computed", "constants"))
    assert found.verdict == verdict
    assert found.reason == ("hypothesis: why" if answer is None else "why")
    assert (found.certainty, found.source, found.witness) == ("computed", "constants", "x = 1")


HOLDS, OPEN, FALSE = (Premise("p", verdict, "r") for verdict in ("holds", "undecided", "not applicable"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "worst"),
    [([], None), ([HOLDS], None), ([HOLDS, OPEN], OPEN), ([OPEN, FALSE], FALSE), ([FALSE, OPEN], FALSE)],
)
def test_the_premise_that_decides(found: list[Premise], worst: Premise | None) -> None:
    assert hypotheses.combine(found) is worst


def test_of_two_premises_of_a_kind_the_first_decides() -> None:
    other = replace(OPEN, reason="another")
    assert hypotheses.combine([OPEN, other]) is OPEN
    false = replace(FALSE, reason="another")
    assert hypotheses.combine([FALSE, false]) is FALSE


# --- containment


def boxed(points: dict[str, Any], *, lam: Any = None, certain: Any = None, kind: str = "two") -> Premise | None:
    symbols = (["x1"], ["y1"] if kind == "two" else [])
    problem = SimpleNamespace(x=symbols[0], y=symbols[1], range_of=lambda s: (-1.0, 1.0) if s == "x1" else (-2.0, 2.0))
    instance = SimpleNamespace(local=("L",), problem=problem)
    tables = {name: np.array(rows, dtype=float) for name, rows in points.items() if name not in ("output", "before")}
    length = len(tables["x"])
    before = {name: np.array(rows, dtype=float) for name, rows in points.get("before", {}).items()}
    trace = SimpleNamespace(sequences=tables, epoch=np.zeros(length, int), k=np.arange(length), epoch_start=before)
    trajectory = SimpleNamespace(trace=trace, run=SimpleNamespace(x=points.get("output", [0.0])))
    asked: list[str] = []

    def call(name: str, arguments: Any) -> tuple[None, str]:
        asked.append(name)
        return None, (certain or {}).get(name, "certified")

    functions = SimpleNamespace(lam=lam, call=call)
    found = hypotheses.containment(instance, trajectory, functions)  # type: ignore[arg-type]
    assert kind != "two" or "y_star" in asked or found is None or found.verdict != "holds"
    assert ("y_star_lam" in asked) <= (lam is not None)
    return found


@pytest.mark.parametrize(
    ("points", "inside"),
    [
        ({"x": [[0.0], [1.0]]}, True),
        ({"x": [[0.0], [-1.0]]}, True),
        ({"x": [[0.0], [1.0001]]}, False),
        ({"x": [[0.0], [-1.0001]]}, False),
        ({"x": [[0.0]], "output": [2.0]}, False),
        ({"x": [[0.0]], "w": [[1.5]]}, False),
        ({"x": [[0.0]], "wbar": [[1.5]]}, False),
        ({"x": [[0.0]], "y": [[1.5]]}, True),
        ({"x": [[0.0]], "y": [[2.5]]}, False),
        ({"x": [[0.0]], "z": [[-2.5]]}, False),
        ({"x": [[0.0]], "u": [[9.0]]}, True),
        ({"x": [[0.0]], "y": [[nan]]}, True),
        ({"x": [[0.0]], "before": {"y": [[2.5]]}}, False),
        ({"x": [[0.0]], "before": {"y": [[nan]]}}, True),
        ({"x": [[0.0]], "before": {"epoch": [[7.0]]}}, True),
    ],
)
def test_points_of_a_run_in_the_box(points: dict[str, Any], inside: bool) -> None:
    found = boxed(points)
    assert found is not None
    assert (found.verdict, found.reason[:6]) == (("holds", "local ") if inside else ("undecided", "local:"))


def test_one_level_has_all_its_points_in_one_box() -> None:
    for name in ("w", "y", "z", "wbar"):
        found = boxed({"x": [[0.0]], name: [[1.5]]}, kind="one")
        assert found is not None
        assert found.verdict == "undecided"


@pytest.mark.parametrize(
    ("lam", "certain", "verdict"),
    [
        (None, {}, "holds"),
        (None, {"y_star": "computed"}, "undecided"),
        (None, {"y_star_lam": "computed"}, "holds"),
        (3.0, {"y_star_lam": "computed"}, "undecided"),
        (3.0, {}, "holds"),
    ],
)
def test_minimisers_of_the_lower_level_in_the_box(lam: Any, certain: Any, verdict: str) -> None:
    found = boxed({"x": [[0.0]]}, lam=lam, certain=certain)
    assert found is not None
    assert found.verdict == verdict


def test_constants_of_the_whole_space_need_no_box() -> None:
    instance: Any = SimpleNamespace(local=())
    assert hypotheses.containment(instance, None, None) is None  # type: ignore[arg-type]


# --- rows


def link(left: str = "iterations", op: str = "<=", right: str = "10") -> Link:
    return Link(Expression(parse(left), left), op, Expression(parse(right), right))  # type: ignore[arg-type]


def judged_as(
    tally: Tally, over: str = "step", op: str = "<=", left: str = "f(x[k])", right: str = "10", **more: Any
) -> Judged:
    one = link(left, op, right)
    claim = Claim(id="c", over=over, chain=(one,), **more)  # type: ignore[arg-type]
    sequences = SimpleNamespace(fact=lambda name, bound: F(7), calls=lambda kind: 7, entry=None)
    return Judged(claim, one, 0, tally, Evaluator({}, {}, None, sequences))  # type: ignore[arg-type]


FREE = Card("free", "No units declared", Path("free.toml"))
WITH_UNITS = replace(
    FREE,
    units={"F": "values of f", "X": "length of x"},
    letters={"V": LetterSpec("V", Expression(parse("F"), "F")), "r": LetterSpec("r", Expression(parse("X"), "X"))},
)


def case_of(
    premises: tuple[Premise, ...] = (),
    *,
    card: Card = FREE,
    define: dict[str, Expression] | None = None,
    status: str = "finished",
    contained: Premise | None = None,
    local: tuple[str, ...] = (),
    **more: Any,
) -> Any:
    run = SimpleNamespace(status=status, iterations=5, note="")
    base = {"below_precision": "", "whole": False, "digits": None, "trajectory": None, "in_blocks": None}
    instance = SimpleNamespace(local=local)
    statement = Statement(kind="theorem", id="t", define=define or {})
    request = SimpleNamespace(card=card, statement=statement, method="m")
    found = {"premises": list(premises), "run": run, "contained": contained, "instance": instance, "request": request}
    return SimpleNamespace(**found, **{**base, **more})


GOOD, BAD, UNKNOWN = (tally_of(place(m, a)) for m, a in ((0.1, True), (-0.1, False), (nan, None)))


@pytest.fixture(autouse=True)
def _digits_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "confirmed", lambda case, judged, reason: ("refuted", f"{reason}; confirmed"))
    monkeypatch.setattr(rows, "is_carried", lambda case, iterates: True)


@pytest.mark.parametrize(
    ("premises", "tally", "verdict"),
    [
        ((), GOOD, "holds"),
        ((), BAD, "refuted"),
        ((), UNKNOWN, "undecided"),
        ((), Tally(), "not applicable"),
        ((HOLDS,), GOOD, "holds"),
        ((OPEN,), GOOD, "undecided"),
        ((OPEN,), BAD, "undecided"),
        ((OPEN,), Tally(), "not applicable"),
        ((FALSE,), GOOD, "not applicable"),
        ((FALSE,), BAD, "not applicable"),
        ((FALSE,), UNKNOWN, "not applicable"),
        ((HOLDS, OPEN, FALSE), BAD, "not applicable"),
        ((HOLDS, OPEN), BAD, "undecided"),
    ],
)
@pytest.mark.parametrize("along_run", [True, False])
def test_hypotheses_before_places(premises: Any, tally: Tally, verdict: str, along_run: bool) -> None:
    found, reason = rows.verdict_of(case_of(premises), judged_as(tally), along_run)
    assert found == verdict
    if premises and premises[-1] in (OPEN, FALSE) and tally.places:
        assert reason == "r"


def test_points_outside_the_box_decide_nothing() -> None:
    outside = Premise("in the box", "undecided", "local: outside")
    inside = Premise("in the box", "holds", "local constants")
    for tally in (GOOD, BAD, UNKNOWN):
        assert rows.verdict_of(case_of(contained=outside), judged_as(tally), True) == ("undecided", "local: outside")
    assert rows.verdict_of(case_of(contained=inside, local=("L",)), judged_as(GOOD), True) == (
        "holds",
        "local constants",
    )
    assert rows.verdict_of(case_of(contained=outside), judged_as(GOOD), False)[0] == "holds"
    assert rows.verdict_of(case_of(contained=FALSE), judged_as(GOOD), True)[0] == "undecided"


def test_a_refutation_needs_the_domain_of_the_theorem() -> None:
    local = case_of(local=("L", "mu"), contained=Premise("b", "holds"))
    verdict, reason = rows.verdict_of(local, judged_as(BAD), True)
    assert (verdict, reason[:14]) == ("undecided", "local: violate")
    assert "L, mu hold on a box only" in reason
    assert rows.verdict_of(local, judged_as(BAD), False)[0] == "undecided"
    assert rows.verdict_of(local, judged_as(BAD, points=("iterates",)), True)[0] == "refuted"
    assert rows.verdict_of(case_of(), judged_as(BAD), True)[1].endswith("; confirmed")
    assert not rows.verdict_of(case_of(), judged_as(BAD), False)[1].endswith("; confirmed")


@pytest.mark.parametrize("along_run", [True, False])
@pytest.mark.parametrize(
    ("premises", "tally", "found"),
    [
        ((), GOOD, ("holds", "")),
        ((), BAD, ("not applicable", "assumed, not claimed: ")),
        ((HOLDS,), BAD, ("not applicable", "assumed, not claimed: ")),
        ((), UNKNOWN, ("undecided", "")),
        ((OPEN,), BAD, ("undecided", "r")),
        ((FALSE,), BAD, ("not applicable", "r")),
    ],
)
def test_what_a_paper_assumes_is_not_refuted(
    premises: Any, tally: Tally, found: tuple[str, str], along_run: bool
) -> None:
    verdict, reason = rows.verdict_of(case_of(premises), judged_as(tally, assumed=True), along_run)
    assert verdict == found[0]
    assert reason.startswith(found[1])
    assert "confirmed" not in reason  # nothing is published


def test_an_assumption_about_the_end_of_a_cut_run_is_open() -> None:
    cut = case_of(status="budget")
    end = judged_as(BAD, "run", left="norm(output)", assumed=True)
    assert rows.verdict_of(cut, end, True) == ("undecided", "budget: the run was not finished")
    grown = judged_as(BAD, "run", left="iterations", assumed=True)
    assert rows.verdict_of(cut, grown, True)[0] == "not applicable"


@pytest.mark.parametrize("along_run", [True, False])
@pytest.mark.parametrize(
    ("left", "right", "alike"),
    [
        ("f(x[k])", "V", True),
        ("f(x[k])", "2*V", True),
        ("f(x[k])", "0", True),
        ("iterations", "10", True),
        ("f(x[k])", "10", False),
        ("f(x[k])", "r", False),
        ("norm(x[k])", "V", False),
        ("f(x[k]) + r", "V", False),
    ],
)
def test_what_holds_between_unlike_units_is_undecided(left: str, right: str, alike: bool, along_run: bool) -> None:
    case = case_of(card=WITH_UNITS)
    verdict, reason = rows.verdict_of(case, judged_as(GOOD, left=left, right=right), along_run)
    assert verdict == ("holds" if alike else "undecided")
    assert reason.startswith("units: ") != alike
    # one instance where it is violated refutes the print, whatever its units
    assert rows.verdict_of(case, judged_as(BAD, left=left, right=right), along_run)[0] == "refuted"
    assert rows.verdict_of(case, judged_as(UNKNOWN, left=left, right=right), along_run)[0] == "undecided"
    # a card that declares no units says nothing about them
    assert rows.verdict_of(case_of(), judged_as(GOOD, left=left, right=right), along_run)[0] == "holds"


def test_units_come_after_hypotheses_and_before_what_local_constants_hold() -> None:
    unlike = judged_as(GOOD, left="f(x[k])", right="r")
    for premise, verdict in ((OPEN, "undecided"), (FALSE, "not applicable")):
        assert rows.verdict_of(case_of((premise,), card=WITH_UNITS), unlike, True) == (verdict, "r")
    inside = Premise("in the box", "holds", "local constants")
    local = case_of(card=WITH_UNITS, contained=inside, local=("L",))
    assert rows.verdict_of(local, unlike, True)[0] == "undecided"


def test_letters_defined_by_the_statement_or_the_claim_have_the_units_of_their_formulas() -> None:
    unlike, alike = Expression(parse("2*r"), "2*r"), Expression(parse("2*V"), "2*V")
    for formula, verdict in ((alike, "holds"), (unlike, "undecided")):
        by_statement = case_of(card=WITH_UNITS, define={"c": formula})
        assert rows.verdict_of(by_statement, judged_as(GOOD, right="c"), True)[0] == verdict
        by_claim = judged_as(GOOD, right="c", define={"c": formula})
        assert rows.verdict_of(case_of(card=WITH_UNITS), by_claim, True)[0] == verdict


@pytest.mark.parametrize(
    ("status", "over", "left", "op", "tally", "found"),
    [
        ("finished", "run", "iterations", "<=", BAD, "refuted"),
        ("stationary", "run", "iterations", "<=", BAD, "refuted"),
        ("budget", "run", "iterations", "<=", BAD, "refuted"),
        ("budget", "run", "iterations", ">=", BAD, "undecided"),
        ("budget", "run", "norm(output)", "<=", BAD, "undecided"),
        ("budget", "run", "iterations", "<=", GOOD, "undecided"),
        ("diverged", "run", "iterations", "<=", BAD, "undecided"),
        ("interrupted", "run", "iterations", "<=", BAD, "undecided"),
        ("budget", "step", "f(x[k])", "<=", BAD, "refuted"),
        ("budget", "step", "f(x[k])", "<=", GOOD, "undecided"),
        ("finished", "step", "f(x[k])", "<=", GOOD, "holds"),
        ("budget", "step", "f(output)", "<=", GOOD, "undecided"),
        ("budget", "step", "f(output)", "<=", BAD, "undecided"),
        ("budget", "epoch", "k_end", "<=", GOOD, "undecided"),
        ("budget", "epoch", "k_end", "<=", Tally(), "undecided"),
        ("finished", "epoch", "k_end", "<=", Tally(), "not applicable"),
    ],
)
def test_a_run_cut_short(status: str, over: str, left: str, op: str, tally: Tally, found: str) -> None:
    verdict, reason = rows.verdict_of(case_of(status=status), judged_as(tally, over, op, left), True)
    assert verdict == found
    if found == "undecided":
        kind = "budget: the run was not finished" if status == "budget" else f"the run ended as {status}"
        assert kind in reason
    if tally is GOOD and over != "run" and left != "f(output)" and found == "undecided":
        assert reason == "budget: the run was not finished; so far, 5 iterations, it holds"


@pytest.mark.parametrize(
    ("status", "kind"), [("precision", "precision"), ("not finite", "precision"), ("diverged", "precision")]
)
def test_why_a_run_ended(status: str, kind: str) -> None:
    assert rows.status_reason(status) == f"{kind}: the run ended as {status}"
    assert rows.status_reason("interrupted") == "budget: the run ended as interrupted"
    assert rows.status_reason("interrupted", "line 3: x") == "hypothesis: the steps cannot be carried out: line 3: x"
    assert rows.status_reason("budget", "line 3: x") == "budget: the run was not finished"


def test_a_run_below_the_precision_decides_no_end() -> None:
    trajectory = SimpleNamespace(iterations=lambda: 128)
    below_precision = case_of(status="budget", below_precision="r is small", digits=60, trajectory=trajectory)
    assert rows.verdict_of(below_precision, judged_as(BAD, "run"), True) == ("undecided", "precision: r is small")
    assert rows.verdict_of(below_precision, judged_as(GOOD, "run"), True) == ("undecided", "precision: r is small")
    verdict, reason = rows.verdict_of(below_precision, judged_as(GOOD), True)
    assert (verdict, reason) == ("holds", "over the first 128 iterations, in 60 digits: r is small")
    below_precision.whole = True
    assert rows.verdict_of(below_precision, judged_as(GOOD, "run"), True)[1].startswith(
        "over the whole run, 128 iterations"
    )
    assert rows.verdict_of(below_precision, judged_as(BAD, "run"), True)[0] == "refuted"


@pytest.mark.parametrize(
    ("tally", "premises", "contained", "certainty"),
    [
        ("proved", (), None, "proved"),
        ("certified", (), None, "certified"),
        ("proved", ("computed",), None, "computed"),
        ("proved", ("proved", "certified"), None, "certified"),
        ("computed", ("proved",), None, "computed"),
        ("proved", (), "certified", "certified"),
        ("proved", ("certified",), "computed", "computed"),
    ],
)
def test_a_row_is_as_certain_as_its_weakest_ingredient(
    tally: Any, premises: Any, contained: Any, certainty: str
) -> None:
    case = case_of(
        tuple(Premise("p", "holds", certainty=c) for c in premises),
        contained=None if contained is None else Premise("b", "holds", certainty=contained),
    )
    assert rows._certainty(case, judged_as(tally_of(place(0.1, True, certainty=tally)))) == certainty


def test_premises_that_do_not_hold_lend_no_certainty() -> None:
    case = case_of((Premise("p", "undecided", certainty="sampled"),))
    assert rows._certainty(case, judged_as(tally_of(place(0.1, True)))) == "proved"


# --- conditions along a run


@pytest.mark.parametrize(
    ("letters", "values", "given"),
    [
        ({"a": ("certified", False), "b": ("proved", False)}, {}, True),
        ({"a": ("certified", False), "b": ("computed", False)}, {}, False),
        ({"a": ("computed", False), "b": ("computed", False)}, {}, False),
        ({"a": ("certified", False)}, {}, False),
        ({"a": ("certified", False), "b": ("certified", True)}, {}, False),
        ({"a": ("certified", False), "b": ("certified", False)}, {"b": 1}, False),
        ({}, {}, False),
    ],
)
def test_a_condition_is_given_by_proofs_of_all_its_letters(letters: Any, values: Any, given: bool) -> None:
    known = {name: SimpleNamespace(certainty=c, chosen=chosen) for name, (c, chosen) in letters.items()}
    case: Any = SimpleNamespace(resolved=SimpleNamespace(letters=known), request=SimpleNamespace(values=values))
    claim = Claim(id="c", over="step", chain=(link(),), given_by=("a", "b"))
    assert conditions.is_given(case, claim) is given
    assert conditions.is_given(case, replace(claim, given_by=())) is False


@pytest.mark.parametrize(
    ("tally", "verdict", "words"),
    [
        (tally_of(place(0.1, True, "k = 1", "computed")), "holds", ""),
        (
            tally_of(Judgement(False, 2.0, 1.0, -0.5, "", "certified", "k = 2")),
            "not applicable",
            "cond is false on this run at k = 2",
        ),
        (
            tally_of(Judgement(False, 2e-14, 1e-14, -0.5, "", "certified", "k = 2")),
            "undecided",
            "precision: cond asks for more at k",
        ),
        (
            tally_of(Judgement(False, 1.0, 1.0, -1e-14, "", "certified", "k = 2")),
            "undecided",
            "precision: cond asks for more",
        ),
        (tally_of(undecided("tie", where="k = 3")), "undecided", "precision: cond at k = 3: tie"),
        (tally_of(undecided("precision: wide", where="k = 3")), "undecided", "precision: cond at k = 3: wide"),
        (
            tally_of(undecided("not recorded: y", where="k = 3")),
            "undecided",
            "hypothesis: cond at k = 3: not recorded: y",
        ),
        (Tally(), "undecided", "hypothesis: cond: vacuous"),
    ],
)
def test_a_condition_along_the_run_as_a_premise(tally: Tally, verdict: str, words: str) -> None:
    found = along._premise_of("cond", judged_as(tally))
    assert found.verdict == verdict
    assert found.reason.startswith(words)
    if verdict == "holds":
        assert found.certainty == "computed"


@pytest.mark.parametrize(
    ("measured", "bound", "margin", "rounding"),
    [
        (1e-14, 0.0, -1.0, True),
        (1.0, 0.5, -0.5, False),
        (1e-12, 0.0, -1.0, False),
        (1.0, 1.0, -1e-14, True),
        (0.0, -1e-12, -1.0, False),
    ],
)
def test_what_counts_as_rounding_of_a_condition(measured: float, bound: float, margin: float, rounding: bool) -> None:
    assert along._is_rounding(Judgement(False, measured, bound, margin)) is rounding


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (bv.oracles, None),
        (bv.ParameterError("x"), "hypothesis"),
        (bv.InputError("x"), "hypothesis"),
        (ArithmeticError("x"), "precision"),
        (MathematicalError("x"), "precision"),
    ],
)
def test_kind_of_trouble(error: Any, kind: str | None) -> None:
    from bilevel_verify.oracles import BudgetExhausted

    assert along._kind_of(BudgetExhausted("b") if kind is None else error) == (kind or "budget")


# --- fifty digits


def violated(margin: float, gap: float, certainty: Any = "certified") -> Tally:
    return tally_of(Judgement(False, 1.0, 1.0, margin, "", certainty, "", gap))


@pytest.mark.parametrize(
    ("rough", "fine", "rounding"),
    [
        (violated(-0.5, 0.5), violated(-0.5, 0.5), False),
        (violated(-0.5, 0.5), violated(-1e-16, 0.5), True),
        (violated(-1e-9, 1e-9), violated(-1e-14, 1e-17), True),  # it fades with the digits
        (violated(-1e-9, 1e-9), violated(-1e-9, 1e-9), False),
        (violated(-0.5, 0.5), violated(-1e-16, 0.0, "proved"), True),  # exact, of rounded iterates
        (violated(-0.5, 0.5), Tally(), True),
        (Tally(), violated(-0.5, 0.5), True),
    ],
)
def test_a_violation_that_fades_is_rounding(rough: Tally, fine: Tally, rounding: bool) -> None:
    assert confirm._is_rounding(rough, fine) is rounding


def test_the_first_violation_is_compared_and_not_the_worst() -> None:
    rough = tally_of(Judgement(False, 1, 1, -0.1, gap=1e-3), Judgement(False, 1, 1, -0.5, gap=1e9))
    assert confirm._is_rounding(rough, violated(-0.5, 0.5)) is False


@pytest.mark.parametrize(
    ("tally", "verdict"),
    [
        (violated(-0.5, 0.5), "refuted"),
        (violated(-1e-16, 0.5), "undecided"),
        (violated(-1e-16, 0.5, "proved"), "undecided"),
        (Tally(), "undecided"),
    ],
)
def test_a_run_in_many_digits_needs_no_other(tally: Tally, verdict: str) -> None:
    found, reason = confirm._in_digits(case_of(), 60, judged_as(tally), "violated")
    assert found == verdict
    assert "in 60 digits" in reason


@pytest.mark.parametrize(
    ("over", "epoch", "lengths", "needed"),
    [
        ("run", 0, [5], None),
        ("step", None, [5], None),
        ("step", 0, [5, 9], 8),
        ("epoch", 1, [5, 9], 16),
        ("step", 1, [5, 10], 32),
        ("step", 0, [6, 10], 8),
    ],
)
def test_how_far_a_run_is_repeated(over: str, epoch: int | None, lengths: list[int], needed: int | None) -> None:
    tally = tally_of(place(-0.1, False), epochs=(epoch,))
    trajectory = SimpleNamespace(epochs=list(range(len(lengths))), k_end=lambda t: lengths[t])
    case: Any = SimpleNamespace(trajectory=trajectory)
    assert confirm._iterations(case, judged_as(tally, over)) == needed
    assert confirm._iterations(SimpleNamespace(trajectory=None), judged_as(tally, over)) is None  # type: ignore[arg-type]
