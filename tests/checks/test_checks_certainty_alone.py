"""Every way by which an end that is not certified can reach a row: the weakest ingredient decides what the row says.

One test for each way, named after it; each fails when the ingredient is forgotten there. What an expression makes of
its parts stands in ``test_checks_evaluate_alone.py``, the premises in ``test_checks_hypotheses_alone.py``.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb

import bilevel_verify as bv
from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.claims import Judged, at_places
from bilevel_verify.checks.claims.decide import Judgement, Tally, judge
from bilevel_verify.checks.claims.evaluate import Evaluator
from bilevel_verify.checks.instances.functions import ProblemFunctions
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.checks.instances.simple import SimpleFunctions
from bilevel_verify.checks.instances.tabulate import HYPER, PENALTY, tabulate
from bilevel_verify.checks.judging import along, boxes, rows
from bilevel_verify.errors import SolverFailure
from bilevel_verify.intervals.elementary import balls_in_use, point_values
from bilevel_verify.language import parse
from bilevel_verify.numbers.exact import Formula
from bilevel_verify.numbers.rounding import precision
from bilevel_verify.solving import ByHand
from bilevel_verify.theorems.card import Card, Claim
from bilevel_verify.theorems.card import Statement as Entry
from bilevel_verify.theorems.card_parts import Condition, Definition, Domain, Expression, LetterSpec, Link
from bilevel_verify.theorems.letters.instance import Leaves
from bilevel_verify.theorems.letters.resolve import resolve
from bilevel_verify.theorems.letters.resolved import scalar_of
from bilevel_verify.truth import truth
from bilevel_verify.truth.arithmetic.enclosure import Enclosure, is_witness, weakest
from bilevel_verify.truth.infimum import infimum
from bilevel_verify.truth.minimum.minimum import Minimum
from bilevel_verify.truth.minimum.separable import combined
from bilevel_verify.worst import screening

pytestmark = pytest.mark.fast
LEVELS = ("proved", "certified", "computed", "sampled")
TWO = bv.bilevel(f="sin(x1) + cos(x1 - y1)/2 + y1**2/9", g="y1**2 + cos(y1)/2 - x1*y1", x="x1", y="y1")
DOUBLE = bv.bilevel(f="sin(y1) + x1**2", g="(y1**2 - 1)**2 - x1*y1", x="x1", y="y1")
"""The lower level is not convex: what is found about y* is ``computed``."""


def expression(text: str) -> Expression:
    return Expression(parse(text), text)


def claim_of(left: str, op: str = "<=", right: str = "10", over: Any = "step", **more: Any) -> Claim:
    return Claim(id="c", over=over, chain=(Link(expression(left), op, expression(right)),), **more)


def test_the_order_of_certainties() -> None:
    assert [[weakest(a, b) for b in LEVELS] for a in LEVELS] == [
        [LEVELS[max(i, j)] for j in range(4)] for i in range(4)
    ]
    assert [is_witness(level) for level in LEVELS] == [True, True, False, False]


# --- the row: its places, its hypotheses, the box in which the run stayed


def judged_of(claim: Claim, tally: Tally) -> Judged:
    return Judged(claim, claim.chain[0], 0, tally, Evaluator({}))


@pytest.mark.parametrize("weak", LEVELS)
@pytest.mark.parametrize("place", range(4))
def test_a_row_is_as_certain_as_the_weakest_of_its_places_hypotheses_and_box(weak: Any, place: int) -> None:
    parts: list[Any] = ["proved"] * 4
    parts[place] = weak
    tally = Tally()
    for level in parts[:2]:
        tally.take(judge(Fraction(1), "<=", Fraction(2), level))
    premise, box = Premise("p", "holds", certainty=parts[2]), Premise("box", "holds", certainty=parts[3])
    case: Any = SimpleNamespace(premises=[Premise("q", "holds", certainty="proved"), premise], contained=box)
    assert rows._certainty(case, judged_of(claim_of("1"), tally)) == weak
    case.premises.append(Premise("open", "undecided", certainty="sampled"))  # no ingredient: nothing is said with it
    assert rows._certainty(case, judged_of(claim_of("1"), tally)) == weak


# --- places that a condition leaves out


@pytest.mark.parametrize("weak", LEVELS)
def test_what_holds_at_the_other_places_rests_on_the_condition_that_left_some_out(weak: Any) -> None:
    where = (Condition(parse("(u if k > 1 else 1) > 0"), "u is asked only where it leaves a place out"),)
    claim = claim_of(
        "k", "<=", "1", where=where, for_={"k": Domain("0..3", "integers", expression("0"), expression("3"))}
    )
    judged = Judged(claim, claim.chain[0], 0, Tally(), Evaluator({"u": (Fraction(-1), weak)}))
    at_places(judged, [{}])
    assert (judged.tally.places, judged.tally.skipped) == (2, 2)
    assert judged.tally.outcome() == ("holds", "")
    assert judged.tally.certainty == judged.tally.excluded == weak


@pytest.mark.parametrize("weak", LEVELS)
def test_no_place_in_numbers_that_are_not_certified_is_not_vacuous(weak: Any) -> None:
    where = (Condition(parse("k > u"), "k > u"),)
    claim = claim_of("k", "<=", "1", where=where)
    judged = Judged(claim, claim.chain[0], 0, Tally(), Evaluator({"u": (Fraction(2), weak)}))
    at_places(judged, [{"k": 1}, {"k": 2}])
    vacuous = ("not applicable", "vacuous: no place to check (2 skipped)")
    said = f"hypothesis: no place to check in {weak} numbers, no witness (2 skipped)"
    assert judged.tally.outcome() == (vacuous if is_witness(weak) else ("undecided", said))


def test_a_condition_is_asked_again_in_full_precision_with_its_certainty() -> None:
    """The tabulated condition is open, the one in full precision false: the certainty of the latter counts."""
    claim = claim_of("k", where=(Condition(parse("k < u"), "k < u"),))
    wide, fine = Evaluator({"u": (arb(1, 1), "certified")}), Evaluator({"u": (Fraction(1), "computed")})
    judged = Judged(claim, claim.chain[0], 0, Tally(), wide, again=lambda: fine)
    at_places(judged, [{"k": 1}])
    assert (judged.tally.skipped, judged.tally.excluded) == (1, "computed")


@pytest.mark.parametrize("weak", LEVELS)
def test_a_condition_along_the_run_is_false_with_a_witness_only(weak: Any) -> None:
    tally = Tally()
    tally.take(Judgement(True, 1.0, 2.0, 0.5, "", "sampled", "k = 0"))
    tally.take(Judgement(False, 2.0, 1.0, -0.5, "", weak, "k = 1"))
    found = along._premise_of("cond", judged_of(claim_of("f(x[k])"), tally))
    assert found.verdict == ("not applicable" if is_witness(weak) else "undecided")
    assert found.reason.startswith("hypothesis: cond is false on this run at k = 1") != is_witness(weak)


# --- letters: leaves, formulas of them, hypotheses about them, numbers of the user


def letters_of(weak: Any) -> dict[str, Any]:
    formulas = {name: Definition(name, expression(text)) for name, text in (("b", "2*a"), ("c", "b + pi"))}
    letters = {"a": LetterSpec("a", source="truth"), "b": LetterSpec("b"), "c": LetterSpec("c")}
    card = Card("k", "K", Path("k.toml"), letters=letters, definitions=formulas)
    entry = Entry(kind="theorem", id="t", where=(Condition(parse("c > 0"), "c > 0"),))
    found = resolve(replace(card, entries={"t": entry}), entry, {"a": Enclosure(1.0, 0.0, weak, "how")})
    assert [line.answer for line in found.hypotheses] == [True]
    return {**found.letters, "line": found.hypotheses[0]}


@pytest.mark.parametrize("weak", LEVELS)
def test_a_letter_and_a_condition_are_as_certain_as_what_they_are_made_of(weak: Any) -> None:
    found = letters_of(weak)
    assert (found["a"].certainty, found["b"].certainty) == (weak, weak)
    assert found["c"].certainty == found["line"].certainty == weakest(weak, "certified")  # pi is a ball


@pytest.mark.parametrize("weak", LEVELS)
@pytest.mark.parametrize("place", range(2))
def test_two_ends_are_as_certain_as_the_weaker_one(weak: Any, place: int) -> None:
    ends: list[Any] = [Fraction(1), Fraction(2)]
    ends[place] = Enclosure(1.5, 0.0, weak)
    assert scalar_of(tuple(ends))[1] == weakest(weak, "certified")


class Known:
    """A truth whose parts are given."""

    def __init__(self, **parts: Any) -> None:
        self.parts = parts

    def __getattr__(self, name: str) -> Any:
        return lambda *point: self.parts[name]


@pytest.mark.parametrize("weak", LEVELS)
@pytest.mark.parametrize("place", range(2))
def test_the_gap_of_the_penalty_function_is_as_certain_as_both_of_its_ends(
    monkeypatch: pytest.MonkeyPatch, weak: Any, place: int
) -> None:
    levels: list[Any] = ["proved", "proved"]
    levels[place] = weak
    known = Known(L_star=Enclosure(3.0, 0.5, levels[0], "a"), L_star_min=Enclosure(1.0, 0.25, levels[1], "b"))
    monkeypatch.setattr(Leaves, "truth", known)
    leaves = Leaves(TWO, "fsba", np.array([0.0]), {})
    found = leaves._truth("delta_lam", {"lam": SimpleNamespace(value=2.0)})
    assert (found.value, found.certainty, found.method) == (2.0, weak, "a; b")
    assert found.lower <= 1.25
    assert found.upper >= 2.75


def test_the_gap_of_the_penalty_function_is_rounded_outward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against rationals: whatever the sizes of values and errors, both ends lie outside of the exact ones."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        a, b = rng.normal(size=2) * 10.0 ** rng.integers(-12, 3, 2)
        e, h = rng.random(2) * 10.0 ** rng.integers(-18, 1, 2)
        known = Known(L_star=Enclosure(a, e, "certified"), L_star_min=Enclosure(b, h, "certified"))
        monkeypatch.setattr(Leaves, "truth", known)
        found = Leaves(TWO, "fsba", np.array([0.0]), {})._truth("delta_lam", {"lam": SimpleNamespace(value=2.0)})
        middle, radius = Fraction(float(a)) - Fraction(float(b)), Fraction(float(e)) + Fraction(float(h))
        assert Fraction(found.lower) <= middle - radius
        assert Fraction(found.upper) >= middle + radius


@pytest.mark.parametrize("weak", LEVELS)
def test_the_size_of_the_minimiser_is_as_certain_as_the_minimiser(monkeypatch: pytest.MonkeyPatch, weak: Any) -> None:
    monkeypatch.setattr(Leaves, "truth", Known(y_star=Enclosure(np.array([3.0, 4.0]), 0.5, weak, "how")))
    found = Leaves(TWO, "fsba", np.array([0.0]), {})._truth("norm_y_star", {})
    assert (found.value, found.certainty) == (5.0, weak)
    assert found.error >= 0.5


@pytest.mark.parametrize("weak", LEVELS)
@pytest.mark.parametrize("truth_of", ["delta", "delta_lam", "norm_y_star"])
def test_solve_calls_a_truth_false_in_numbers_that_are_a_witness(
    monkeypatch: pytest.MonkeyPatch, weak: Any, truth_of: str
) -> None:
    gap = [Enclosure(3.0, 0.0, weak), Enclosure(1.0, 0.0, weak)]
    ends = iter(gap + gap)
    known = SimpleNamespace(
        phi=lambda x: next(ends),
        L_star=lambda x, lam: next(ends),
        y_star=lambda x: Enclosure(np.array([2.0]), 0.0, weak),
    )
    monkeypatch.setattr(Leaves, "truth", known)
    by_hand = ByHand((), Leaves(TWO, "fsba", np.array([0.0]), {}), {"T": (truth_of, 1.5)})
    run: Any = SimpleNamespace(x=np.array([0.5]))
    resolved: Any = SimpleNamespace(letters={"lam": SimpleNamespace(value=2.0)})
    assert len(list(by_hand.shown_false(run, resolved))) == is_witness(weak)


# --- functions of the problem: at a point, and in tables


def test_what_rests_on_an_uncertain_minimiser_is_computed() -> None:
    functions = ProblemFunctions(DOUBLE, truth(DOUBLE), v.ball(2.0))
    point = v.vector([8.0])
    rests = [name for name in (*HYPER, *PENALTY, "hess_y_star", "hess_y_star_lam") if name != "y_star_lam"]
    assert {functions.call(name, [point])[1] for name in rests} == {"computed"}
    assert functions.call("L_lam", [point, v.vector([1.0])])[1] == "computed"
    assert {functions.call(name, [point, v.vector([1.0])])[1] for name in ("f", "g", "grad_y_g")} == {"certified"}


def test_a_minimiser_outside_of_the_declared_range_is_computed() -> None:
    """y* = x = 2 is no point of the range of y: the truth of the problem as declared is another one.

    At 6/5 only y*_lam = 2x/3 is inside; f + lam (g - g*) needs both.
    """
    narrow = bv.bilevel(f="y1**2", g="(y1 - x1)**2", x="x1", y="y1", domain={"y1": (-1, 1)})
    functions, lam = ProblemFunctions(narrow, truth(narrow), v.ball(2.0)), arb(2)
    table = tabulate(truth(narrow), ["phi", "L_star"], np.array([[0.5], [1.2], [2.0]]), lam)
    for x, certainty in ((0.5, "certified"), (1.2, "computed"), (2.0, "computed")):
        for name in ("phi", "L_star"):
            assert functions.call(name, [v.vector([x])])[1] == table[name][(x,)][1] == certainty, (x, name)


def test_a_row_outside_of_the_declared_range_of_x_is_computed() -> None:
    """Convexity of the lower level is certified for x in [-1/2, 1] alone; at -3/4 it holds and nothing has shown it."""
    narrow = bv.bilevel(f="y1**2", g="(1 + x1)*y1**2 - y1", x="x1", y="y1", domain={"x1": (-0.5, 1)})
    functions, lam = ProblemFunctions(narrow, truth(narrow), v.ball(2.0)), arb(2)
    table = tabulate(truth(narrow), [*HYPER, *PENALTY], np.array([[-0.75], [-0.5], [1.0], [1.25]]), lam)
    for x, certainty in ((-0.75, "computed"), (-0.5, "certified"), (1.0, "certified"), (1.25, "computed")):
        assert {column[(x,)][1] for column in table.values()} == {certainty}, x
        assert functions.call("phi", [v.vector([x])])[1] == certainty, x


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether elementary functions were asked of proved ones, in the order of the questions."""
    found: list[bool] = []

    def ask(name: str, points: Any) -> Any:
        found.append(balls_in_use())
        return point_values(name, points)

    users = [module for name, module in sys.modules.items() if name.startswith("bilevel_verify.")]
    for module in users:
        if vars(module).get("point_values") is point_values:
            monkeypatch.setattr(module, "point_values", ask)
    return found


def test_tables_are_made_with_proved_elementary_functions(asked: list[bool]) -> None:
    """NumPy's sine is accurate as far as anybody has seen, which certifies nothing."""
    known = truth(TWO)
    assert known.certainty == "certified"
    asked.clear()
    table = tabulate(known, ["phi", "L_star"], np.array([[0.25], [0.5]]), arb(3))
    assert {entry[1] for column in table.values() for entry in column.values()} == {"certified"}
    assert asked
    assert all(asked)


def test_tables_say_what_batches_may_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    known: Any = truth(TWO)
    monkeypatch.setattr(type(known), "batch_certainty", "computed")
    table = tabulate(known, ["phi", "L_star"], np.array([[0.25]]), arb(3))
    assert {entry[1] for column in table.values() for entry in column.values()} == {"computed"}


POINT = """
[paper]
key = "own"
title = "A bound of phi"
[[theorem]]
id = "t"
[[theorem.claim]]
id = "c"
over = "point"
for = { x = "domain" }
left = "phi(x)"
op = "<="
right = "2"
"""


@pytest.mark.parametrize("level", ["certified", "computed"])
def test_a_proof_over_boxes_is_one_with_proved_elementary_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(POINT, encoding="utf-8")
    boxed = bv.bilevel(f="sin(x1) + y1/9", g="cosh(y1) - x1*y1", x="x1", y="y1", domain={"x1": (-1, 1)})
    proved: list[bool] = []
    judge_boxes = boxes._judge_boxes

    def judged(*of: Any) -> Any:
        proved.append(balls_in_use())
        return judge_boxes(*of)

    monkeypatch.setattr(boxes, "_judge_boxes", judged)
    if level == "computed":  # what batches may claim decides whether there is a proof
        monkeypatch.setattr(type(truth(boxed)), "batch_certainty", "computed")
    (row,) = bv.verify(boxed, str(path), x0=[0.5]).claims
    if level == "certified":
        assert (row.verdict, row.certainty) == ("holds", "certified")
        assert str(row.reason).startswith("branch and bound")
        assert proved
        assert all(proved)
    else:
        assert (row.verdict, proved) == ("undecided", [])


@pytest.mark.parametrize("weak", LEVELS)
def test_solutions_of_simple_bilevel_problems_keep_the_certainty_of_the_truth(weak: Any) -> None:
    simple = bv.simple_bilevel(f="x1**2", g="x1**2", x="x1", feasible=bv.Ball(radius=1))
    number, place = Enclosure(1.0, 0.5, weak), Enclosure(np.array([1.0]), 0.5, weak)
    known: Any = SimpleNamespace(f_star=number, g_star=number, x_star=place, distance_to_solutions=lambda point: number)
    functions = SimpleFunctions(simple, known)
    assert [functions.call(name, [])[1] for name in ("f_star", "g_star", "x_star")] == [weak] * 3
    assert functions.call("dist", [v.vector([0.5])])[1] == weak
    assert functions.call("f", [v.vector([0.5])])[1] == "certified"


@pytest.mark.parametrize(("x", "radius"), [("0", "0"), ("1/3", "0"), ("1/2**63", "0"), ("0", "1/4"), ("1/3", "1/8")])
def test_a_distance_holds_for_all_of_its_point(x: str, radius: str) -> None:
    """|x - 1| where the truth room knows the distance from floats alone, exactly."""
    simple = bv.simple_bilevel(f="x1**2", g="(x1 - 1)**2", x="x1")
    known: Any = SimpleNamespace(
        distance_to_solutions=lambda point: Enclosure(1.0 - float(point[0]), 2.0**-53, "certified")
    )
    with precision(200):
        middle, wide = (v.scalar_ball(Formula({}).value(parse(text))) for text in (x, radius))
        found, _ = SimpleFunctions(simple, known).call("dist", [v.Vector((middle + arb(0, wide.upper()),))])
        for end in (middle - wide, middle, middle + wide):
            assert isinstance(found, arb)
            assert found.lower() <= 1 - end <= found.upper()
            assert found.rad() < 1.01 * wide + 1e-15


def test_a_weight_that_is_no_float_is_enclosed_from_both_sides() -> None:
    third = bv.simple_bilevel(f="x1**2 + abs(x1)/3 + 2*abs(x2)/7", g="x1**2 + x2**2", x="x1 x2")
    functions = SimpleFunctions(third, SimpleNamespace())  # type: ignore[arg-type]
    for point, wanted in (((1.0, 0.0), Fraction(1, 3)), ((0.0, -1.0), Fraction(2, 7)), ((-2.0, 0.0), Fraction(2, 3))):
        value, certainty = functions.call("f_2", [v.vector(point)])
        assert certainty == "certified"
        low, high = (Fraction(end) for end in v.ends(value))
        assert low <= wanted <= high
        assert high - low < Fraction(1, 10**14)
        assert functions.call("g_2", [v.vector(point)])[0] == 0


# --- truth: sums of blocks, gaps, infinite ends


@pytest.mark.parametrize("sure", [(True, True), (True, False), (False, True)])
def test_the_minimum_of_a_sum_is_certified_if_all_of_its_blocks_are(sure: tuple[bool, bool]) -> None:
    problem = bv.single_level(f="x1**2 + x2**2", x="x1 x2")
    parts = [bv.single_level(f=f"{name}**2", x=name) for name in ("x1", "x2")]
    minima = [Minimum(0.0, 0.0, np.zeros(1), True, 1, True, "how", True, certified=one) for one in sure]
    assert combined(problem, parts, minima).certified is all(sure)
    assert combined(problem, parts, minima).enclosure("proved").certainty == ("proved" if all(sure) else "computed")


@pytest.mark.parametrize("weak", LEVELS)
@pytest.mark.parametrize("place", range(2))
def test_a_gap_is_as_certain_as_the_point_and_the_infimum(
    monkeypatch: pytest.MonkeyPatch, weak: Any, place: int
) -> None:
    levels: list[Any] = ["proved", "proved"]
    levels[place] = weak
    known: Any = truth(bv.single_level(f="x1**2", x="x1"))
    monkeypatch.setattr(type(known), "certainty", levels[0])
    monkeypatch.setattr(type(known), "phi", lambda self, x0: Enclosure(3.0, 0.0, levels[0]))
    monkeypatch.setattr(type(known), "phi_min", lambda self: Enclosure(1.0, 0.0, levels[1], "how"))
    assert known.delta([0.0]).certainty == weak
    monkeypatch.setattr(type(known), "phi_min", lambda self: Enclosure(-inf, 0.0, levels[1], "how"))
    assert known.delta([0.0]).certainty == levels[1]


def test_an_infimum_that_a_solver_calls_infinite_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A symbolic limit shows that there is none; the word of a solver in floats does not."""
    line = bv.single_level(f="x1 + exp(x1)", x="x1")
    known, module = truth(line), import_module(infimum.__module__)

    def gives_up(*asked: Any) -> Any:
        raise SolverFailure("the solver says 'unbounded'")

    monkeypatch.setattr(module, "solve_convex", gives_up)
    found = infimum(line, known.points, np.array([-inf]), np.array([inf]))
    assert found.enclosure("certified") == Enclosure(-inf, 0.0, "certified", found.method, False)
    assert "tends to -oo as x1 tends to -oo" in found.method
    monkeypatch.setattr(module, "falls_without_end", lambda problem, phi, points: "")
    seen = infimum(line, known.points, np.array([-inf]), np.array([inf]))
    assert seen.upper == -inf
    assert "as far as can be seen" in seen.method
    assert seen.enclosure("certified").certainty == "computed"


# --- the share that a search for worst cases shows


@pytest.mark.parametrize("weak", LEVELS)
@pytest.mark.parametrize("place", range(2))
def test_a_share_is_as_certain_as_its_place_and_the_hypotheses(weak: Any, place: int) -> None:
    levels: list[Any] = ["proved", "proved"]
    levels[place] = weak
    tally = Tally()
    tally.take(judge(Fraction(1), "<=", Fraction(2), levels[0]))
    claim = claim_of("1", right="2", over="parameters")
    target = screening.Target(claim, claim.chain[0], 0, "c")
    case: Any = SimpleNamespace(premises=[Premise("p", "holds", certainty=levels[1])], run=None)
    found = screening._shares(case, [target], [judged_of(claim, tally)])
    assert found.shares["c"].certainty == weak
