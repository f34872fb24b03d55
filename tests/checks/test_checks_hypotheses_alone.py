"""Hypotheses, each function alone: every field of every premise, a flat lower level, the box, the order."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sympy
from flint import arb

from bilevel_verify.checks.claims.values import EvaluationError, Matrix
from bilevel_verify.checks.instances import hypotheses
from bilevel_verify.checks.instances.instance import Instance
from bilevel_verify.checks.instances.premise import Premise
from bilevel_verify.constants.bound.constant import Constant, Reason
from bilevel_verify.errors import MathematicalError, ParameterError
from bilevel_verify.theorems.card_parts import LetterSpec
from bilevel_verify.theorems.letters.given import Given
from bilevel_verify.theorems.letters.resolved import Hypothesis
from bilevel_verify.truth.arithmetic.enclosure import Enclosure

pytestmark = pytest.mark.fast

BASE = Constant(
    "L", 2.0, 2.0, 2.0, "upper", True, "exact", "Euclidean", "a box",
    Reason("rule", "sup = 2", (Reason("r", "deeper"),)), meaning="a bound", witness={"x1": 0.5, "y1": 1.0 / 3},
)  # fmt: skip
TEXT, SOURCE, AT = "L: a bound exists on a box", "constants, exact", "x1 = 0.5, y1 = 0.333333"


# --- constants


@pytest.mark.parametrize(
    ("changes", "premise"),
    [
        ({}, Premise(TEXT, "holds", "", "certified", SOURCE)),
        ({"value": 0.0, "lower": 0.0, "upper": 0.0}, Premise(TEXT, "holds", "", "certified", SOURCE)),
        (
            {"certified": False},
            Premise(TEXT, "undecided", "hypothesis: L is computed, not certified", "computed", SOURCE),
        ),
        (
            {"value": inf, "lower": inf, "upper": inf},
            Premise(TEXT, "not applicable", "L is infinite: sup = 2", "certified", SOURCE, witness=AT),
        ),
        (
            {"value": inf, "lower": 1.0, "upper": inf},
            Premise(TEXT, "undecided", "hypothesis: no finite bound of L (sup = 2)", source=SOURCE, witness=AT),
        ),
        ({"side": "lower", "value": 0.5, "upper": 0.5}, Premise(TEXT, "holds", "", "certified", SOURCE)),
        ({"side": "lower", "value": 0.5, "upper": inf}, Premise(TEXT, "holds", "", "certified", SOURCE)),
        (
            {"side": "lower", "value": -1.0, "upper": 0.0},
            Premise(TEXT, "undecided", "hypothesis: L <= 0, in floats at a point", "computed", SOURCE, witness=AT),
        ),
        (
            {"side": "lower", "value": 0.0, "upper": 0.0, "attained": True},
            Premise(TEXT, "not applicable", "L <= 0", "certified", SOURCE, witness=AT),
        ),
        (
            {"side": "lower", "value": -1.0, "upper": -1.0, "exact": sympy.Integer(-1)},
            Premise(TEXT, "not applicable", "L <= -1", "certified", SOURCE, witness=AT),
        ),
        (
            {"side": "lower", "value": 0.0, "upper": 0.0, "attained": True, "certified": False},
            Premise(TEXT, "undecided", "hypothesis: L <= 0, in floats at a point", "computed", SOURCE, witness=AT),
        ),
        (
            {"side": "lower", "value": 0.0, "upper": 0.5},
            Premise(TEXT, "undecided", "hypothesis: no positive lower bound of L was found", source=SOURCE),
        ),
    ],
)
def test_every_field_of_the_premise_of_a_constant(changes: dict[str, Any], premise: Premise) -> None:
    assert hypotheses.of_constant("L", replace(BASE, **changes)) == premise


def test_a_constant_without_a_word_is_unbounded() -> None:
    silent: Any = SimpleNamespace(
        name="L", meaning="", domain="R", witness={}, route="calculus", side="upper", value=inf, lower=inf
    )
    silent.why = Reason("", "")
    found = hypotheses.of_constant("L", silent)
    assert (found.text, found.reason) == ("L: constant exists on R", "L is infinite: unbounded")


# --- the lower level


def instance_of(convexity: Constant | None, dx: int = 1, dy: int = 2, **changes: Any) -> Any:
    names = [f"x{i + 1}" for i in range(dx)] + [f"y{i + 1}" for i in range(dy)]
    symbols = [SimpleNamespace(name=name) for name in names]
    problem = SimpleNamespace(variables=symbols, dx=dx, dy=dy, x=symbols[:dx], y=symbols[dx:], kind="bilevel")
    base: dict[str, Any] = {"problem": problem, "truth": "the truth", "strong_convexity": lambda: convexity}
    return SimpleNamespace(**{**base, "used": {}, "asked": {}, "failures": {}, **changes})


MU = replace(BASE, name="mu", side="lower", value=0.0, upper=0.0, witness={"x1": 1.0, "y1": 2.0, "y2": 3.0})


def curvature(monkeypatch: pytest.MonkeyPatch, *diagonal: float, error: Exception | None = None) -> list[Any]:
    """A lower level whose Hessian in y is diagonal, whatever the point; what it was asked."""
    asked: list[Any] = []

    def call(name: str, arguments: list[Any]) -> tuple[Matrix, str]:
        asked.append((name, [[float(a) for a in point.entries] for point in arguments]))
        if error is not None:
            raise error
        rows = [[arb(a) if i == j else arb(0) for j in range(len(diagonal))] for i, a in enumerate(diagonal)]
        return Matrix(tuple(map(tuple, rows))), "certified"

    monkeypatch.setattr(hypotheses, "ProblemFunctions", lambda problem, truth: SimpleNamespace(call=call))
    return asked


FLAT = Premise("the lower level is strongly convex in y", "not applicable",
               "mu <= 0: no curvature at x1 = 1, y1 = 2, y2 = 3", "certified")  # fmt: skip


BENT = re.compile(r"mu <= (\S+): the lower level is not convex in y at x1 = 1, y1 = 2, y2 = 3")


@pytest.mark.parametrize(
    ("diagonal", "least"), [((1, -1), -1), ((2, 0.5), None), ((-1, -2), -2), ((1, 1e-3), None), ((-1e9, 1), -1e9)]
)
def test_a_flat_witness(monkeypatch: pytest.MonkeyPatch, diagonal: tuple[float, ...], least: float | None) -> None:
    """Where the curvature is negative, the bound that is shown is one, and close."""
    asked = curvature(monkeypatch, *diagonal)
    found = hypotheses.flat_at_witness(instance_of(MU), MU)
    assert len(found) == (least is not None)
    if least is not None:
        said = BENT.fullmatch(found[0].reason)
        assert said is not None
        assert least <= float(said[1]) <= least + 2e-5 * abs(least)
        assert found == [replace(FLAT, reason=found[0].reason)]
    assert asked == [("hess_yy_g", [[1.0], [2.0, 3.0]])]


def test_curvature_that_is_exactly_zero_is_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    curvature(monkeypatch, 0.0)
    monkeypatch.setattr(hypotheses, "lambda_min", lambda matrix: arb(0))
    one = replace(MU, witness={"x1": 1.0, "y1": 2.0})
    (found,) = hypotheses.flat_at_witness(instance_of(one, 1, 1), one)
    assert (found.verdict, found.reason) == ("not applicable", "mu <= 0: no curvature at x1 = 1, y1 = 2")
    assert found.certainty == "certified"
    monkeypatch.setattr(hypotheses, "lambda_min", lambda matrix: arb(0, 1e-9))
    assert hypotheses.flat_at_witness(instance_of(one, 1, 1), one) == []


@pytest.mark.parametrize(
    "convexity",
    [
        replace(MU, value=0.5),
        replace(MU, value=1e-9),
        replace(MU, witness={"x1": 1.0, "y1": 2.0}),
        replace(MU, witness={}),
    ],
)
def test_without_a_witness_or_with_a_bound_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch, convexity: Constant
) -> None:
    asked = curvature(monkeypatch, -1, -1)
    assert hypotheses.flat_at_witness(instance_of(convexity), convexity) == []
    assert asked == []


def test_a_witness_may_name_more_than_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    curvature(monkeypatch, -1, -1)
    more = replace(MU, witness={**MU.witness, "s": 4.0})
    (found,) = hypotheses.flat_at_witness(instance_of(more), more)
    assert BENT.fullmatch(found.reason)


@pytest.mark.parametrize("error", [KeyError("hess_yy_g"), ZeroDivisionError(), MathematicalError("lost")])
def test_a_hessian_that_cannot_be_had_shows_nothing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    curvature(monkeypatch, -1, -1, error=error)
    assert hypotheses.flat_at_witness(instance_of(MU), MU) == []


def test_convexity_of_the_lower_level(monkeypatch: pytest.MonkeyPatch) -> None:
    curvature(monkeypatch, -1, -1)
    assert hypotheses.of_convexity(instance_of(None)) == []
    assert hypotheses.of_convexity(instance_of(MU)) == [
        hypotheses.of_constant("mu", MU),
        *hypotheses.flat_at_witness(instance_of(MU), MU),
    ]


# --- truth, lines of the statement, letters set by hand


@pytest.mark.parametrize(
    ("enclosure", "verdict", "reason", "source"),
    [
        (Enclosure(1.0, 0.5, "computed", "how"), "holds", "", "how"),
        (Enclosure(1.0, inf, "certified", "how"), "undecided", "hypothesis: T has no finite enclosure", ""),
        (Enclosure(inf, 0.0, "computed", "how"), "undecided", "hypothesis: T may be infinite", ""),
        (Enclosure(inf, 0.0, "certified", "how"), "not applicable", "T is infinite: how", ""),
        (Enclosure(inf, 1.0, "proved", "how"), "not applicable", "T is infinite: how", ""),
        (Enclosure(-inf, 1.0, "certified", "how"), "not applicable", "T is infinite: how", ""),
        (Enclosure(inf, 1.0, "computed", "how"), "undecided", "hypothesis: T may be infinite", ""),
        (Enclosure(inf, 0.5, "sampled", "how"), "undecided", "hypothesis: T may be infinite", ""),
        (Enclosure(np.array([1.0, inf]), 1.0, "computed", "how"), "undecided", "hypothesis: T may be infinite", ""),
        (Enclosure(np.array([1.0, 2.0]), 1.0, "computed", "how"), "holds", "", "how"),
    ],
)
def test_every_field_of_the_premise_of_a_truth(enclosure: Enclosure, verdict: Any, reason: str, source: str) -> None:
    expected = Premise("T is finite", verdict, reason, enclosure.certainty, source)
    assert hypotheses.of_truth("T", enclosure) == expected


def test_every_field_of_the_premises_of_a_statement() -> None:
    lines = (
        Hypothesis("a < 1", "s", True, "", 0.5),
        Hypothesis("b < 1", "s", False, "", -0.5),
        Hypothesis("c < 1", "s", None, "no value", 0.1),
        Hypothesis("d < 1", "s", None),
    )
    assert hypotheses.of_statement(SimpleNamespace(hypotheses=lines)) == [  # type: ignore[arg-type]
        Premise("a < 1", "holds", "", "certified", "s", 0.5),
        Premise("b < 1", "not applicable", "b < 1 is false (s)", "certified", "s", -0.5),
        Premise("c < 1", "undecided", "hypothesis: c < 1: no value", "certified", "s"),
        Premise("d < 1", "undecided", "hypothesis: d < 1: the enclosures do not decide it", "certified", "s"),
    ]


@pytest.mark.parametrize("source", ["", "constants"])
def test_every_field_of_the_premise_of_a_letter_set_by_hand(source: str) -> None:
    words = {True: ("holds", "w"), False: ("not applicable", "w"), None: ("undecided", "hypothesis: w")}
    for answer, (verdict, reason) in words.items():
        given = Given("L", 3, answer, "w", "x1 = 0", "computed", source)
        expected = Premise(given.text, verdict, reason, "computed", source or "set by hand", witness="x1 = 0")  # type: ignore[arg-type]
        assert hypotheses.of_given(given) == expected


# --- all of them


STATEMENT: Any = SimpleNamespace(method="a method")
NOTHING: Any = SimpleNamespace(hypotheses=())


def test_all_hypotheses_that_need_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    curvature(monkeypatch, -1, -1)
    delta = Enclosure(1.0, 0.5, "computed", "how")
    line = Hypothesis("a < 1", "s", True)
    resolved: Any = SimpleNamespace(hypotheses=(line,))
    failures = {"L": "used", "Delta": "asked", "r": "none was derived"}
    instance = instance_of(MU, used={"L": BASE, "mu": MU}, asked={"Delta": delta}, failures=failures)
    mu = hypotheses.of_constant("mu", MU)
    lost = Premise("r exists", "undecided", "hypothesis: r: none was derived", "computed")
    (last,) = hypotheses.of_statement(resolved)
    first = [hypotheses.of_constant("L", BASE), mu, hypotheses.of_truth("Delta", delta)]
    assert hypotheses.premises(instance, resolved, STATEMENT) == [
        *first,
        *hypotheses.flat_at_witness(instance, MU),
        lost,
        last,
    ]
    # strong convexity that no letter of the card needs is asked for all the same
    bare = instance_of(MU)
    assert hypotheses.premises(bare, NOTHING, STATEMENT) == [mu, *hypotheses.flat_at_witness(bare, MU)]


def test_the_levels_of_a_simple_bilevel_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilevel_verify.checks.instances import simple_hypotheses

    levels, parts = Premise("f is convex on Z", "holds"), Premise("f has a Lipschitz gradient on Z", "not applicable")
    monkeypatch.setattr(simple_hypotheses, "of_levels", lambda instance: [levels])
    monkeypatch.setattr(simple_hypotheses, "of_parts", lambda instance, statement: [parts] * (statement is STATEMENT))
    instance = instance_of(None)
    assert hypotheses.premises(instance, NOTHING, STATEMENT) == []
    instance.problem.kind = "simple_bilevel"
    assert hypotheses.premises(instance, NOTHING, STATEMENT) == [parts, levels]


@pytest.mark.parametrize(
    ("verdicts", "place"),
    [
        ("", None),
        ("hhh", None),
        ("hu", 1),
        ("uu", 0),
        ("uun", 2),
        ("nu", 0),
        ("nn", 0),
        ("hunu", 2),
        ("huhu", 1),
    ],
)
def test_the_one_that_decides(verdicts: str, place: int | None) -> None:
    words = {"h": "holds", "u": "undecided", "n": "not applicable"}
    found = [Premise(f"p{k}", words[v]) for k, v in enumerate(verdicts)]  # type: ignore[arg-type]
    assert hypotheses.combine(iter(found)) is (None if place is None else found[place])


# --- the box


RANGES = {"x1": (-1.0, 1.0), "x2": (0.0, 4.0), "y1": (-2.0, 2.0)}


class Boxed:
    """A run in a box, and what its lower level was asked."""

    def __init__(self, tables: dict[str, Any], output: Any, before: dict[str, Any], one_level: bool, lam: Any = None):
        symbols = ["x1", "x2"], [] if one_level else ["y1"]
        problem = SimpleNamespace(x=symbols[0], y=symbols[1], range_of=RANGES.__getitem__)
        self.instance: Any = SimpleNamespace(local=("L", "mu"), problem=problem)
        sequences = {name: np.array(rows, dtype=float) for name, rows in tables.items()}
        starts = {name: np.array(rows, dtype=float) for name, rows in before.items()}
        n = len(sequences["x"])
        trace = SimpleNamespace(sequences=sequences, epoch=np.full(n, 4), k=np.arange(n) + 7, epoch_start=starts)
        self.trajectory: Any = SimpleNamespace(trace=trace, run=SimpleNamespace(x=output))
        self.asked: list[tuple[str, list[float]]] = []
        self.certainty: dict[str, str] = {}
        self.error: Exception | None = None
        self.functions: Any = SimpleNamespace(lam=lam, call=self.call)

    def call(self, name: str, arguments: Any) -> tuple[None, str]:
        self.asked.append((name, [float(a) for a in arguments[0].entries]))
        if self.error is not None:
            raise self.error
        return None, self.certainty.get(name, "certified")

    @property
    def premise(self) -> Premise:
        found = hypotheses.containment(self.instance, self.trajectory, self.functions)
        assert found is not None
        assert found.text == "the points of the run stay in the box where L, mu hold"
        return replace(found, reason=re.sub(r" \([xy]\d = [^)]*\)", "", found.reason))


IN, OUT = [0.5, 3.0], [0.5, 5.0]
ADVICE = "widen the range of {} under [domain]"


def boxed(
    tables: dict[str, Any], output: Any = IN, before: Any = None, one_level: bool = False, lam: Any = None
) -> Boxed:
    return Boxed({"x": [IN], **tables}, output, before or {}, one_level, lam)


def outside(label: str, block: str | None = None) -> Premise:
    block = block or ("y" if label[0] in "yz" else "x")
    text = "the points of the run stay in the box where L, mu hold"
    return Premise(
        text, "undecided", f"local: {label} lies outside the certified box: {ADVICE.format(block)}", "certified"
    )


INSIDE = Premise("the points of the run stay in the box where L, mu hold", "holds", "local constants", "certified")


@pytest.mark.parametrize(
    ("point", "inside"),
    [([1, 4], True), ([-1, 0], True), ([1.01, 3], False), ([-1.01, 3], False), ([0, -0.01], False), ([0, 4.01], False),
     ([9, 9], False)],
)  # fmt: skip
def test_every_coordinate_stays_between_its_ends(point: list[float], inside: bool) -> None:
    assert boxed({"w": [point]}).premise == (INSIDE if inside else outside("w[4, 7]"))


@pytest.mark.parametrize(
    ("case", "premise"),
    [
        (boxed({"x": [IN, IN, OUT]}), outside("x[4, 9]")),
        (boxed({"wbar": [OUT]}), outside("wbar[4, 7]")),
        (boxed({"y": [[1.5]]}), INSIDE),
        (boxed({"y": [[2.5]]}), outside("y[4, 7]")),
        (boxed({"z": [[-2.5]]}), outside("z[4, 7]")),
        (boxed({"v": [[99.0]], "u": [OUT], "ghat": [OUT]}), INSIDE),
        (boxed({}, output=OUT), outside("the output")),
        (boxed({"w": [[nan, 9.0]]}), INSIDE),
        (boxed({"w": [[nan, nan]], "y": [[nan]]}), INSIDE),
        (boxed({}, before={"w": [IN, OUT]}), outside("w[1, -1]")),
        (boxed({}, before={"y": [[2.5]]}), outside("y[0, -1]")),
        (boxed({}, before={"z": [[1.5]], "epoch": [[9.0]], "v": [[99.0]]}), INSIDE),
        (boxed({}, before={"w": [[nan, 9.0]], "z": [[nan]]}), INSIDE),
        (boxed({}, before={"wbar": [OUT]}), outside("wbar[0, -1]")),
    ],
)
def test_points_of_two_levels(case: Boxed, premise: Premise) -> None:
    assert case.premise == premise


def test_the_coordinate_that_left_the_box_is_named_with_its_value() -> None:
    case = boxed({"w": [[0.5, 5.25]]})
    found = hypotheses.containment(case.instance, case.trajectory, case.functions)
    assert found is not None
    assert "w[4, 7] lies outside the certified box (x2 = 5.25): widen the range of x" in found.reason


@pytest.mark.parametrize("name", ["w", "y", "z", "wbar"])
def test_points_of_one_level(name: str) -> None:
    assert boxed({name: [OUT]}, one_level=True).premise == outside(f"{name}[4, 7]", "x")
    assert boxed({name: [IN]}, one_level=True).premise == INSIDE
    assert boxed({}, before={name: [OUT]}, one_level=True).premise == outside(f"{name}[0, -1]", "x")
    assert boxed({}, before={name: [IN]}, one_level=True).premise == INSIDE


def test_what_is_no_point_of_one_level() -> None:
    case = boxed({"v": [OUT], "u": [OUT]}, before={"epoch": [[9.0]], "v": [OUT]}, one_level=True)
    assert case.premise == INSIDE
    assert case.asked == []  # there is no lower level


@pytest.mark.parametrize("lam", [None, 3.0])
def test_minimisers_are_asked_for_at_every_point_of_the_upper_level(lam: float | None) -> None:
    case = boxed({"w": [[0.0, 1.0]], "y": [[1.0]]}, lam=lam)
    assert case.premise == INSIDE
    names = ["y_star"] if lam is None else ["y_star", "y_star_lam"]
    assert case.asked == [(name, point) for point in (IN, [0.0, 1.0], IN) for name in names]


@pytest.mark.parametrize("certainty", ["computed", "sampled"])
@pytest.mark.parametrize("name", ["y_star", "y_star_lam"])
def test_a_minimiser_that_is_not_certified_inside_decides_nothing(name: str, certainty: str) -> None:
    case = boxed({}, lam=3.0)
    case.certainty = {name: certainty}
    reason = f"local: {name} at x[4, 7] is not inside the certified box for certain"
    assert case.premise == Premise(INSIDE.text, "undecided", reason, "certified")


def test_a_minimiser_without_a_value_decides_nothing() -> None:
    case = boxed({})
    case.error = EvaluationError("budget: too long")
    reason = "local: containment was not decided (budget: too long)"
    assert case.premise == Premise(INSIDE.text, "undecided", reason, "computed")


def test_constants_of_the_whole_space_need_no_box() -> None:
    case = boxed({"x": [OUT]})
    case.instance.local = ()
    assert hypotheses.containment(case.instance, case.trajectory, case.functions) is None


# --- what unsafe ends may do


@pytest.mark.parametrize("certainty", ["computed", "sampled"])
def test_a_line_in_unsafe_numbers_makes_nothing_inapplicable(certainty: Any) -> None:
    lines = (Hypothesis("a < 1", "s", False, certainty=certainty), Hypothesis("b < 1", "s", True, certainty=certainty))
    false, true = hypotheses.of_statement(SimpleNamespace(hypotheses=lines))  # type: ignore[arg-type]
    assert (false.verdict, false.certainty) == ("undecided", certainty)
    assert false.reason == f"hypothesis: a < 1 is false in {certainty} numbers, which is no witness (s)"
    assert (true.verdict, true.certainty) == ("holds", certainty)


@dataclass(frozen=True)
class Lines:
    hypotheses: tuple[Hypothesis, ...]


@pytest.mark.parametrize(("again", "answer"), [(False, False), (None, None), (True, None), ("absent", None)])
def test_a_line_is_false_if_it_is_for_all_that_the_constants_may_be(again: Any, answer: bool | None) -> None:
    held, false = Hypothesis("a < 1", "s", True), Hypothesis("b < 1", "s", False)
    wide = () if again == "absent" else (replace(false, answer=again),)
    other = replace(false, source="t", answer=False)
    found: Any = hypotheses.surely_false(Lines((held, false)), lambda: Lines((other, *wide)))  # type: ignore[arg-type, return-value]
    assert found.hypotheses[0] == held
    assert found.hypotheses[1].answer is answer
    assert bool(found.hypotheses[1].reason) == (answer is None)


def test_letters_are_resolved_again_only_where_a_line_is_false() -> None:
    lines: Any = Lines((Hypothesis("a < 1", "s", True), Hypothesis("b < 1", "s", None)))
    assert hypotheses.surely_false(lines, lambda: pytest.fail("asked")) is lines


def test_all_that_a_constant_may_be() -> None:
    def ends(constant: Any) -> Any:
        instance = Instance.__new__(Instance)
        instance.values = {"L": constant}
        return instance.between(LetterSpec("L"), {})

    loose = replace(BASE, value=2.0, lower=1.5, attained=False, certified=True)
    low, high = ends(loose)
    assert (high, 1.5 - 2e-9 < low < 1.5) == (2, True)
    low, high = ends(replace(loose, name="mu", side="lower", value=2.0, upper=3.0))
    assert (low, 3.0 < high < 3.0 + 4e-9) == (2, True)
    assert ends(replace(loose, attained=True)).value == 2.0
    assert ends(replace(loose, name="nu_f")).name == "nu_f"
    assert ends(7) == 7
    assert ends(replace(loose, lower=-inf)) == (-inf, 2)
    with pytest.raises(ParameterError, match="L is not certified"):
        ends(replace(loose, certified=False))
