"""The curvature of one group: closed, certified, sampled or searched, and kinks that add nothing negative."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Abs, Max, Rational, cos, exp, sin

from bilevel_verify.atoms import huber, pluspow, softplus
from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.calculus.affine_variables import faces
from bilevel_verify.constants.calculus.forms import Form
from bilevel_verify.constants.formula.domain import Domain, one_period
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups import convexity as convexity_module
from bilevel_verify.constants.groups.convexity import _nonsmooth_convexity, _of_the_whole, _search_convexity, convexity
from bilevel_verify.constants.groups.part import Part
from bilevel_verify.constants.search.branch import Supremum
from bilevel_verify.intervals.elementary import balls_in_use

pytestmark = pytest.mark.fast

INF = math.inf
LINE = (-INF, INF)
PART: Any = sys.modules[Part.__module__]
CURVES: Any = convexity_module
if not hasattr(CURVES, "supremum"):  # the package may show the function under the name of its module
    CURVES = sys.modules[convexity.__module__]
A, B, C = NAMES = sympy.symbols("a b c", real=True)
WHY = Reason("test", "known")
REST = sin(A * B) * A + B**2


def part_of(
    expression: Any,
    is_x: tuple[bool, ...] = (True, False),
    ends: tuple[float, float] = (-1.0, 2.0),
    effort: float = 1.0,
) -> Part:
    n = len(is_x)
    domain = Domain(np.full(n, ends[0]), np.full(n, ends[1]), "", ends == LINE)
    return Part(structure_of(normalise(sympy.sympify(expression)), NAMES[:n]), is_x, domain, "h", effort)


# ---- curvature -------------------------------------------------------------------------------------------------------


def outcome(upper: float, lower: float) -> Supremum:
    return Supremum(upper, lower, np.array([0.25, 0.5]), (np.zeros(2), np.ones(2)), 10, True)


def spied(monkeypatch: pytest.MonkeyPatch, name: str, answer: Any) -> list[tuple[Any, ...]]:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(CURVES, name, lambda *a, **w: asked.append((*a, *w.values())) or answer)
    return asked


SEARCHED = {
    "rest": REST,
    "ridges": sin(A + B) + 3 * cos(A - 2 * B) + A * B,
    "quadratic": sin(B) + A * B,  # one variable that no second derivative sees
    "polynomial": B,  # a rest whose second derivatives are affine in one variable, its third ones in both
}


@pytest.mark.parametrize("ends", [(-1.0, 2.0), LINE])
@pytest.mark.parametrize("kind", SEARCHED)
@pytest.mark.parametrize("least", [-5.0, -INF])
def test_what_the_search_for_curvature_is_asked(
    ends: tuple[float, float], kind: str, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of(SEARCHED[kind], ends=ends)
    if kind == "polynomial":
        structure = replace(part.structure, rest=A**3 + B**4)
        part = Part(structure, part.is_x, part.domain, part.name, part.effort)
    for table, own, other in ((PART.TOLERANCE, 0.01, 0.02), (PART.BUDGET, 7000, 900)):
        for order in (1, 2, 3):
            monkeypatch.setitem(table, order, own if order == 2 else other)
    form = Form(part.model, "yy")
    asked = spied(monkeypatch, "supremum", outcome(4.0, 3.0))
    _search_convexity(part, form, least, 1.5, {}, WHY)
    bound, sample, lo, hi, tolerance, boxes, known, cuts = asked[0]
    slopes = cuts.slopes
    domain = one_period(part.structure, part.domain, 2) if ends == LINE else part.domain
    expected = faces(domain, part.structure, 2)
    assert (lo.tolist(), hi.tolist()) == (expected[0].tolist(), expected[1].tolist())
    assert (tolerance, boxes) == (0.01, part._budget(2, least == -INF))
    assert (known.floor, known.ceiling) == (-1.5, -least)
    assert cuts.split.tolist() == part._free_variables(2).tolist()
    assert (slopes is None) == (kind in ("ridges", "quadratic"))
    left, right = np.array([[-0.5, 0.25], [0.0, 0.5]]), np.array([[0.75, 1.0], [0.0, 0.5]])
    np.testing.assert_array_equal(bound(left, right), -form.extremes(part.model.evaluate(2, left, right))[0])
    np.testing.assert_array_equal(sample(left), -form.least_eigenvalue(part.model.evaluate(2, left, left)))
    if slopes is not None:
        np.testing.assert_array_equal(slopes(left), part.model.slopes(2, left))


@pytest.mark.parametrize("least", [-5.0, -4.0, -3.5, -INF])
@pytest.mark.parametrize("reached", [-3.0, -1.0, 2.0])
def test_what_is_made_of_a_search_for_curvature(least: float, reached: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search found at least -4 and reached -2."""
    part = part_of(REST)
    spied(monkeypatch, "supremum", outcome(4.0, 2.0))
    witness = {"a": 9.0}
    found = _search_convexity(part, Form(part.model, "yy"), least, reached, witness, WHY)
    if least >= -4.0:
        assert found == Bound(min(reached, -2.0), least, True, "calculus", WHY, None, False, witness)
    else:
        where = {"a": 0.25, "b": 0.5} if reached > -2.0 else witness
        assert found == Bound(min(reached, -2.0), -4.0, True, "branch and bound", found.why, None, False, where)
        assert found.why.parts == (WHY,)
    spied(monkeypatch, "supremum", outcome(4.0, -reached))
    if least < -4.0:  # reached just the same: the witness known before stays
        assert _search_convexity(part, Form(part.model, "yy"), least, reached, witness, WHY).witness == witness


class Curved:
    """A part whose bounds of curvature are set: certified, closed, sampled; notes how it was searched."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, least: float = 1.0, best: float = 2.0, closed: Any = None,
        free: bool = False, data: bool = False, special: float | None = None, effort: float = 1.0,
    ) -> None:  # fmt: skip
        self.part = part_of(REST, effort=effort)
        self.balls: list[bool] = []
        self.part.only_specials = data
        self.part.specials = [] if special is None else ["special"]  # type: ignore[list-item]
        self.part.plain = self.part.model
        monkeypatch.setattr(self.part, "_free_arguments", lambda: free)

        def extremes(form: Form, pieces: Any, *rest: Any, **words: Any) -> Any:
            self.balls.append(balls_in_use())
            return np.array([least]), np.array([77.0])

        monkeypatch.setattr(Form, "extremes", extremes)
        self.specials = spied(monkeypatch, "special_extremes", (special, 77.0))
        spied(monkeypatch, "_closed_convexity", closed)
        spied(monkeypatch, "_convexity_sample", (best, {"a": 1.0}))
        spied(monkeypatch, "sampled_convexity", (best + 1.0, {"a": 2.0}))
        self.searched = spied(monkeypatch, "_search_convexity", "searched")


def test_a_closed_curvature_is_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Curved(monkeypatch, closed=sympy.sqrt(2), free=True)
    found = _of_the_whole(case.part)
    assert found == Bound(found.lower, found.lower, True, "exact", found.why, sympy.sqrt(2), True, {"a": 1.0})
    assert Fraction(found.lower) ** 2 < 2 < Fraction(math.nextafter(found.lower, 2)) ** 2
    case = Curved(monkeypatch, closed=sympy.sqrt(2), free=False)
    assert _of_the_whole(case.part) == "searched"  # type: ignore[comparison-overlap]
    assert case.balls == [True]


@pytest.mark.slow
@pytest.mark.parametrize("data", [True, False])
@pytest.mark.parametrize("special", [None, 0.5, 1.5])
@pytest.mark.parametrize(
    ("least", "best", "free", "effort", "search"),
    [
        (1.0, 2.0, False, 1.0, True),
        (1.0, 2.0, False, 0.25, True),
        (1.0, 2.0, False, 0.0, False),
        (1.0, 2.0, True, 1.0, False),
        (1.9, 1.91, False, 1.0, False),  # within 0.8 %
        (1.9, 1.92, False, 1.0, True),
        (-2.0, -1.99, False, 1.0, False),
        (-2.0, -1.98, False, 1.0, True),
        (0.0, 7e-12, False, 1.0, False),  # next to zero the gap is absolute
        (0.0, 9e-12, False, 1.0, True),
    ],
)
def test_when_a_bound_of_curvature_is_enough(
    least: float, best: float, free: bool, effort: float, search: bool, data: bool, special: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for order in (1, 3):
        monkeypatch.setitem(PART.TOLERANCE, order, 0.5)
    case = Curved(monkeypatch, least=least, best=best, free=free, effort=effort, data=data, special=special)
    found = _of_the_whole(case.part)
    certain = max(-INF if data else least, -INF if special is None else special)
    reached, witness = (best + 1.0, {"a": 2.0}) if data else (best, {"a": 1.0})
    close = reached - certain <= 8e-3 * max(abs(reached), 1e-9)
    if effort <= 0 or free or close or data:  # data: beyond a search
        expected = Bound(reached, certain, True, "calculus", found.why, None, free, witness)
        assert found == expected
        assert case.searched == []
    else:
        assert found == "searched"  # type: ignore[comparison-overlap]
        (part, form, low, high, where, _why), *_ = case.searched
        assert (part, form.slots, low, high, where) == (case.part, "yy", certain, reached, witness)
    if not data and special is None:
        assert bool(case.searched) == search
    if special is not None:
        assert case.specials[0][0] is case.part
        assert case.specials[0][1].slots == "yy"
        assert case.specials[0][2:] == ("least",)


@pytest.mark.parametrize(
    ("expression", "lower", "upper"),
    [
        (Abs(B) + B**2, 2.0, 2.0),
        (Max(B, 0) + 3 * B**2, 6.0, 6.0),
        (2 * Abs(A - B) + B**2, 2.0, 2.0),
        (Abs(B) / 2 + B**2, 2.0, 2.0),
        (-Abs(B) + B**2, -INF, INF),
        (Abs(B) - Max(B - 1, 0) + B**2, -INF, INF),
        (Abs(B) + sympy.floor(B) * A, -INF, INF),
        (sympy.sign(B) * B**2 / 2 + Abs(B) + B**2, None, None),
        (Abs(A) * B**2 + Abs(B), -INF, INF),
        (Abs(B) + B**2 + pluspow(2, B - Rational(1, 2)), 2.0, 2.0),  # a second derivative may jump
    ],
)
def test_convex_kinks_add_nothing_negative(expression: Any, lower: float | None, upper: float | None) -> None:
    found = convexity(part_of(expression))
    if lower is not None:
        assert (found.lower, found.upper) == (pytest.approx(lower), pytest.approx(upper))
        assert (found.why.rule == "lost smoothness") == (lower == -INF)
    assert found.certified


def test_a_curvature_rests_on_the_second_derivatives_of_its_atoms() -> None:
    for ends in (LINE, (-1.0, 2.0)):
        (reason,) = convexity(part_of(B**2 + sin(B), ends=ends, effort=0.001)).why.parts
        assert "phi^(2) in" in reason.statement or "phi^(2) in" in str(reason)


def test_kinks_of_another_block_do_not_matter() -> None:
    found = convexity(part_of(B**2 + Abs(A) + cos(A)))
    assert (found.lower, found.upper) == (2.0, 2.0)


def test_the_rest_of_a_kink_is_handed_on_field_by_field(monkeypatch: pytest.MonkeyPatch) -> None:
    part = part_of(Abs(B) + B**2 + cos(B) / 2, ends=LINE)
    inner = convexity(part_of(B**2 + cos(B) / 2, ends=LINE))
    found = convexity(part)
    assert inner.exact == Rational(3, 2)
    assert found == replace(inner, why=found.why)
    assert found.why.parts[0].statement == inner.why.statement
    lost = CURVES.smoothness.Jump(1, "a kink", {"b": 0.0})
    apart = Bound(2.5, 1.5, True, "branch and bound", WHY, None, False, {"b": 1.0})
    with monkeypatch.context() as patched:
        patched.setattr(CURVES, "convexity", lambda part: apart)
        assert _nonsmooth_convexity(part, lost) == replace(apart, why=_nonsmooth_convexity(part, lost).why)
    without = _nonsmooth_convexity(part_of(-Abs(B) + B**2), lost)
    assert without == Bound(INF, -INF, True, "calculus", without.why, None, False, {"b": 0.0})


@pytest.mark.parametrize(
    ("expression", "closed"),
    [
        (3 * B**2 + sin(B), 5),
        (B**2 - 2 * cos(2 * B), -6),
        (B**2 + sin(A + B) * 2, 0),
        (B**2 + exp(B), 2),
        (A * B, 0),
        (3 * B**2 - sin(B) + exp(-((A + B) ** 2) / 2), 4),
        (3 * B**2 - 2 * softplus(B), Rational(11, 2)),
        (3 * B**2 + huber(1, B) - 4 * huber(2, A), 6),
        (3 * B**2 - huber(1, B), 5),
    ],
)
def test_closed_curvature(expression: Any, closed: int | None) -> None:
    part = part_of(expression, ends=LINE)
    found = CURVES._closed_convexity(part)
    assert found is None or found == closed
    if closed is not None and not expression.has(exp):
        assert found == closed


@pytest.mark.parametrize(
    "expression",
    [
        3 * B**2 - exp(-(B**2) / 2),
        sin(B) - exp(-((A + B) ** 2) / 2),
        B**2 + exp(sin(B)),
        sin(B) + exp(sin(A + B)),
        exp(sin(A)) + cos(A + B),
    ],
)
def test_without_every_range_nothing_is_closed(expression: Any) -> None:
    assert CURVES._closed_convexity(part_of(expression, ends=LINE)) is None


def test_curvature_of_two_lower_variables() -> None:
    part = part_of(B**2 + 2 * C**2 + 3 * B * C + sin(B) + A * C, (True, False, False), LINE)
    found = CURVES._closed_convexity(part)
    exact = min(np.linalg.eigvalsh([[1.0, 3.0], [3.0, 4.0]]))
    assert float(found) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize(
    ("effort", "rest", "count"),
    [(0.0, True, 8), (-1.0, True, 8), (1.0, True, 48), (1.0, False, 256), (0.5, False, 256)],
)
def test_how_curvature_is_sampled(effort: float, rest: bool, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    part = part_of(REST if rest else sin(A + B), effort=effort)
    points = np.array([[0.5, 1.0], [0.0, 2.0]])
    sampled = spied(monkeypatch, "sample_points", points)
    climbed = spied(monkeypatch, "climb", (-7.0, np.array([0.25, 0.5])))
    form = Form(part.model, "yy")
    assert CURVES._convexity_sample(part, form) == (7.0, {"a": 0.25, "b": 0.5})
    assert sampled == [(part.domain, 2, count)]
    values, chosen, lo, hi, refine = climbed[0]
    assert chosen is points
    assert (lo is part.domain.lo, hi is part.domain.hi) == (True, True)
    assert refine == (effort > 0 and not rest)
    expected = -form.least_eigenvalue(part.model.evaluate(2, points, points))
    np.testing.assert_array_equal(values(points), expected)
