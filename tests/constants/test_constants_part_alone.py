"""One group of variables: what the calculus, the search and the sampling are asked, and what is made of the answers."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Integer, cos, exp, sin

from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.calculus.affine_variables import faces
from bilevel_verify.constants.calculus.forms import Form
from bilevel_verify.constants.formula.domain import Domain, one_period
from bilevel_verify.constants.formula.smoothness import Jump
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups.closed_form import closed_form
from bilevel_verify.constants.groups.part import Part
from bilevel_verify.constants.search.branch import Supremum

pytestmark = pytest.mark.fast

INF = math.inf
PART: Any = sys.modules[Part.__module__]
NAMES = sympy.symbols("a b c d e", real=True)
A, B = NAMES[:2]
WHY = Reason("test", "known")
FIRST = Bound(5.0, 2.0, True, "calculus", WHY)


def part_of(
    expression: Any,
    is_x: tuple[bool, ...] = (True, False),
    ends: tuple[float, float] = (-1.0, 2.0),
    effort: float = 1.0,
) -> Part:
    n = len(is_x)
    whole = ends == (-INF, INF)
    domain = Domain(np.full(n, ends[0]), np.full(n, ends[1]), "", whole)
    return Part(structure_of(normalise(sympy.sympify(expression)), NAMES[:n]), is_x, domain, "h", effort)


LINE = (-INF, INF)
REST = sin(A * B) * A + B**2
RIDGES = sin(A + B) + 3 * cos(A - 2 * B)
WAVES = {"rest": REST, "ridges": RIDGES}


def spied(
    monkeypatch: pytest.MonkeyPatch, name: str, answer: Any = None
) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Put a recorder in the place of a function that the module uses; returns what it was asked."""
    asked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def recorder(*arguments: Any, **words: Any) -> Any:
        asked.append((arguments, words))
        return answer(*arguments, **words) if callable(answer) else answer

    monkeypatch.setattr(PART, name, recorder)
    return asked


def outcome(upper: float, lower: float) -> Supremum:
    return Supremum(upper, lower, np.array([0.25, 0.5]), (np.array([0.0, 1.0]), np.array([1.0, 3.0])), 10, True)


# ---- the search ------------------------------------------------------------------------------------------------------


def budget(k: int, n: int, effort: float, shrunk: bool, infinite: bool, share: float = 1.0) -> int:
    base = {1: 6000, 2: 12000, 3: 12000, 4: 8000}[k] * effort / max(1, n - 2) ** 2
    base = base / 4 if shrunk else base
    own = max(32, int(min(base, 1500 * max(effort, 1.0)) if infinite else base))
    return max(32, int(share * own))


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("effort", [1.0, 0.04, 3.0, 0.001])
@pytest.mark.parametrize("ends", [(-1.0, 2.0), LINE])
@pytest.mark.parametrize("infinite", [True, False])
def test_the_budget_of_a_search(k: int, n: int, effort: float, ends: tuple[float, float], infinite: bool) -> None:
    for rest in (True, False):
        found = part_of(Integer(0), (False,) * n, ends, effort)
        found.structure = replace(found.structure, rest=exp(A) if rest else None)
        assert found._budget(k, infinite) == budget(k, n, effort, rest and ends == LINE, infinite)


@pytest.mark.slow
@pytest.mark.parametrize("slots", ["z", "y", "zz", "yy", "xy", "zzz", "xyy", "zzzz"])
@pytest.mark.parametrize("ends", [(-1.0, 2.0), LINE])
@pytest.mark.parametrize("kind", WAVES)
@pytest.mark.parametrize("share", [1.0, 0.1, 0.001])
def test_what_a_search_is_asked(
    slots: str, ends: tuple[float, float], kind: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, k = part_of(WAVES[kind], ends=ends), len(slots)
    asked = spied(monkeypatch, "supremum", outcome(4.0, 3.0))
    part._search(slots, FIRST, share) if share < 1 else part._search(slots, FIRST)
    (bound, sample, lo, hi, tolerance, boxes, known, cuts), words = asked[0]
    slopes = cuts.slopes
    domain = one_period(part.structure, part.domain, k) if ends == LINE else part.domain
    expected = faces(domain, part.structure, k)
    assert (lo.tolist(), hi.tolist()) == (expected[0].tolist(), expected[1].tolist())
    form = Form(part.model, slots)
    coarse = 0.0 if form.net is None or (k == 2 and form.symmetric) else form.net.factor - 1.0
    assert tolerance == pytest.approx({1: 8e-3, 2: 8e-3, 3: 1.7e-2, 4: 9e-2}[k] + coarse, rel=1e-12)
    assert boxes == budget(k, 2, 1.0, kind == "rest" and ends == LINE, False, share)
    assert (known.floor, known.ceiling, words) == (2.0, 5.0, {})
    assert cuts.split.tolist() == [True, True]
    left, right = np.array([[-0.5, 0.25], [0.0, 0.5]]), np.array([[0.75, 1.0], [0.0, 0.5]])
    np.testing.assert_array_equal(bound(left, right), form.upper(part.model.evaluate(k, left, right)))
    np.testing.assert_array_equal(sample(left), form.lower(part.model.evaluate(k, left, left)))
    assert (slopes is None) == (kind == "ridges")
    if slopes is not None:
        np.testing.assert_array_equal(slopes(left), part.model.slopes(k, left))


def test_a_search_of_an_infinite_bound_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = spied(monkeypatch, "supremum", outcome(4.0, 3.0))
    part_of(REST)._search("zz", replace(FIRST, upper=INF))
    assert asked[0][0][5] == 1500


@pytest.mark.slow
@pytest.mark.parametrize("ends", [(-1.0, 2.0), (0.0, INF), LINE])
@pytest.mark.parametrize("first", [FIRST, replace(FIRST, upper=INF), replace(FIRST, lower=4.5, witness={"a": 9.0})])
@pytest.mark.parametrize("upper", [4.0, 2.1, 2.11, 5.0, 6.0, 3.15, 3.16])
@pytest.mark.parametrize("lower", [1.0, 2.0, 3.0, 7.0])
def test_what_is_made_of_a_search(
    ends: tuple[float, float], first: Bound, upper: float, lower: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of(REST, ends=ends)
    spied(monkeypatch, "supremum", outcome(upper, lower))
    found = part._search("zz", first)
    stuck = ends == LINE and upper > 1.05 * max(lower, first.lower)
    if upper >= first.upper or (stuck and math.isfinite(first.upper)):
        reached = min(max(first.lower, lower), first.upper)
        witness = first.witness or {"a": 0.5, "b": 2.0}  # the middle of the worst box
        assert found == replace(first, lower=reached, witness=witness)
    else:
        here = {"a": 0.25, "b": 0.5}
        assert found == Bound(upper, min(lower, upper), True, "branch and bound", found.why, None, False, here)
        assert found.why.parts == (first.why,)


def test_only_variables_that_enter_are_cut() -> None:
    def free(expression: Any, k: int) -> list[bool]:
        return part_of(expression, (True, True, False, False, False))._free_variables(k).tolist()

    c, d, e = NAMES[2:]
    mixed = sin(A) + cos(B * c) * B + d**2 + e
    assert free(mixed, 2) == [True, True, True, False, False]
    assert free(mixed, 1) == [True, True, True, True, False]
    assert free(A * c + e, 1) == [True, False, True, False, False]
    assert free(A * c + e, 2) == [False] * 5


@pytest.mark.parametrize(("n", "rest", "some"), [(1, True, False), (2, True, True), (3, True, True), (2, False, False)])
def test_slopes_are_for_a_rest_of_several_variables(n: int, rest: bool, some: bool) -> None:
    part = part_of(Integer(0), (False,) * n)
    part.structure = replace(part.structure, rest=exp(A) if rest else None)
    assert (part.slopes(2) is not None) == some


# ---- the order of things ---------------------------------------------------------------------------------------------


class Flow:
    """A part whose calculus and search are known; notes whether and how it was searched."""

    def __init__(self, part: Part, first: Bound, monkeypatch: pytest.MonkeyPatch, lost: Jump | None = None) -> None:
        self.part, self.searched = part, []  # type: ignore[var-annotated]
        monkeypatch.setattr(part, "_calculus", lambda slots: first)
        monkeypatch.setattr(part, "_search", self.search)
        self.seen = spied(monkeypatch, "infinite", None)
        monkeypatch.setattr(PART.smoothness, "first_jump", lambda *a: lost)

    def search(self, slots: str, first: Bound, share: float) -> str:
        self.searched.append((slots, first, share))
        return "searched"


@pytest.mark.parametrize(
    ("first", "effort", "searched"),
    [
        (Bound(5.0, 2.0, True, "calculus", WHY), 1.0, True),
        (Bound(5.0, 2.0, True, "calculus", WHY), 0.5, True),
        (Bound(5.0, 2.0, True, "calculus", WHY), 0.0, False),
        (Bound(5.0, 2.0, True, "calculus", WHY, attained=True), 1.0, False),
        (Bound(0.0, 0.0, True, "calculus", WHY), 1.0, False),
        (Bound(0.0, -1.0, True, "calculus", WHY), 1.0, False),
        (Bound(1.0, 0.0, True, "calculus", WHY), 1.0, True),
        (Bound(1.0, 0.5, True, "calculus", WHY), 1.0, True),
        (Bound(128.0, 127.0, True, "calculus", WHY), 1.0, False),  # a gap of less than 0.8 %
        (Bound(126.0, 125.0, True, "calculus", WHY), 1.0, False),  # of just 0.8 %: 1 <= 8e-3 * 125
        (Bound(125.0, 124.0, True, "calculus", WHY), 1.0, True),
        (Bound(-127.0, -128.0, True, "calculus", WHY), 1.0, False),
        (Bound(INF, 0.0, True, "calculus", WHY), 1.0, True),
    ],
)
def test_when_a_calculus_is_enough(
    first: Bound, effort: float, searched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = Flow(part_of(REST, effort=effort), first, monkeypatch)
    found = flow.part._norm("zz")
    assert found == ("searched" if searched else first)  # type: ignore[comparison-overlap]
    assert flow.searched == ([("zz", first, 1.0)] if searched else [])
    assert len(flow.seen) == (first.upper == INF)


@pytest.mark.parametrize(("k", "close"), [(1, 8e-3), (2, 8e-3), (3, 1.7e-2), (4, 9e-2)])
def test_every_order_has_its_own_gap(k: int, close: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for factor in (0.99, 1.01):
        first = Bound(1000.0 * (1 + factor * close), 1000.0, True, "calculus", WHY)
        flow = Flow(part_of(REST), first, monkeypatch)
        flow.part._norm("z" * k)
        assert bool(flow.searched) == (factor > 1)


@pytest.mark.parametrize("order", [0, 1, 2, 3, None])
@pytest.mark.parametrize("upper", [5.0, INF])
def test_a_kink_below_the_order_is_an_infinite_constant(
    order: int | None, upper: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = None if order is None else Jump(order, "a kink", {"a": 1.0})
    flow = Flow(part_of(REST), replace(FIRST, upper=upper), monkeypatch, lost)
    found = flow.part._norm("zz")
    if order is not None and order < 2:
        assert (found.upper, found.lower, found.witness) == (INF, INF, {"a": 1.0})
        assert flow.searched == []
    else:
        rough = upper == INF and order == 2
        assert [share for _, _, share in flow.searched] == [0.1 if rough else 1.0]


def test_an_infinite_calculus_is_replaced_where_infinity_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = Flow(part_of(REST), replace(FIRST, upper=INF, lower=0.0), monkeypatch)
    proved = Bound(INF, INF, True, "calculus", WHY, sympy.oo, True)
    flow.seen = spied(monkeypatch, "infinite", proved)
    assert flow.part._norm("zz") is proved
    assert flow.seen == [((flow.part, "zz"), {})]


@pytest.mark.parametrize(("n", "data", "beyond"), [(12, False, False), (13, False, True), (2, True, True)])
def test_what_is_beyond_search(n: int, data: bool, beyond: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = Flow(part_of(REST), FIRST, monkeypatch)
    flow.part.n, flow.part.only_specials = n, data
    assert flow.part._beyond_search() == beyond
    flow.part._norm("zz")
    assert bool(flow.searched) != beyond


@pytest.mark.parametrize(
    ("expression", "slots", "canonical"),
    [
        (sin(B), "zz", "yy"),
        (sin(B), "xz", "xy"),
        (sin(A), "zzz", "xxx"),
        (sin(A), "yz", "yx"),
        (sin(A + B), "zz", "zz"),
        (sin(A + B), "xy", "xy"),
        (sin(B) + A**2, "zz", "zz"),  # the quadratic is seen by a Hessian
        (sin(B) + A**2, "zzz", "yyy"),
        (sin(B), "z", "z"),
        (A**2 + A, "zzz", "zzz"),  # nothing is seen at all
        (B**2 + A, "zz", "yy"),
        (A * B, "zz", "zz"),
    ],
)
def test_slots_are_those_of_the_block_that_is_seen(expression: Any, slots: str, canonical: str) -> None:
    assert part_of(expression)._canonical(slots) == canonical


def test_two_lower_variables_of_which_one_is_seen_are_seen() -> None:
    part = part_of(sin(B), (True, False, False))
    assert part._canonical("zz") == "yy"
    assert part_of(sin(NAMES[2]), (True, True, False))._canonical("zz") == "yy"
    assert part_of(sin(B), (True, True, False))._canonical("zz") == "xx"


def test_a_norm_is_found_once_and_nothing_is_found_where_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    part = part_of(sin(B) + A)
    asked: list[str] = []
    monkeypatch.setattr(part, "_norm", lambda slots: asked.append(slots) or FIRST)
    assert part.norm("zz") is part.norm("yy") is FIRST
    assert part.norm("zzz") is FIRST
    assert asked == ["yy", "yyy"]
    assert part.norm("xx") is FIRST  # it is touched: there is a ridge
    assert part_of(A + B).norm("zz").upper == 0.0
    assert part_of(sin(B), (False, False)).norm("xy").exact == 0


@pytest.mark.parametrize(
    ("expression", "touched"),
    [
        (A + 2 * B, [True, False, False]),
        (A * B, [True, True, False]),
        (Integer(7), [False, False, False]),
        (sin(A), [True, True, True]),
        (sin(A * B), [True, True, True]),
    ],
)
def test_what_touches_a_form(expression: Any, touched: list[bool]) -> None:
    part = part_of(expression)
    assert [part.touches("z" * k) for k in (1, 2, 3)] == touched
    assert [part.touches("xy"), part.touches("xyy")] == touched[1:]
    no_x = part_of(expression, (False, False))
    assert not no_x.touches("x")
    assert not no_x.touches("xy")
    assert not no_x.touches("yx")


# ---- sampling --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [(-1.0, 2.0), LINE])
@pytest.mark.parametrize("kind", WAVES)
@pytest.mark.parametrize(
    ("n", "slots"), [(2, "zz"), (3, "zz"), (4, "yy"), (2, "zzz"), (9, "yyyy"), (16, "yyy"), (63, "yy"), (64, "yy")]
)
def test_how_many_points_are_sampled(
    n: int, slots: str, kind: str, ends: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of(WAVES[kind], ends=ends)
    part.n = n
    points = spied(monkeypatch, "sample_points", np.array([[0.5, 1.0], [0.0, 2.0]]))
    climbs = spied(monkeypatch, "climb", (7.0, None))
    anyway = kind == "rest" and n <= 3 and ends != LINE
    assert part.searched_anyway() == anyway
    assert part._sampled(slots) == 7.0
    small = n ** len(slots) <= 4000
    assert points[0][0] == (part.domain, n, (48 if anyway else 256) if small else 12)
    values, chosen, lo, hi, refine = climbs[0][0]
    assert chosen.tolist() == [[0.5, 1.0], [0.0, 2.0]]
    assert (lo.tolist(), hi.tolist()) == (part.domain.lo.tolist(), part.domain.hi.tolist())
    assert refine == (small and not anyway)
    if n == 2:
        model = part.model
        np.testing.assert_array_equal(
            values(chosen), Form(model, slots).lower(model.evaluate(len(slots), chosen, chosen))
        )


@pytest.mark.parametrize("found", [-3.0, 0.0, 2.5])
def test_nothing_below_zero_is_attained(found: float, monkeypatch: pytest.MonkeyPatch) -> None:
    spied(monkeypatch, "climb", (found, 99.0))
    assert part_of(REST)._sampled("zz") == max(0.0, found)


def test_exactly_so_many_entries_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    points = spied(monkeypatch, "sample_points", np.zeros((1, 2)))
    spied(monkeypatch, "climb", (1.0, None))
    for limit, count in ((4, 48), (3, 12)):
        monkeypatch.setattr(PART, "SAMPLED_ENTRIES", limit)
        part_of(REST)._sampled("zz")
        assert points[-1][0][2] == count
    assert PART.SAMPLED_ENTRIES == 3


def test_values_that_are_not_finite_are_not_attained(monkeypatch: pytest.MonkeyPatch) -> None:
    part = part_of(REST)
    climbs = spied(monkeypatch, "climb", (1.0, None))
    monkeypatch.setattr(Form, "lower", lambda self, pieces: np.array([np.nan, np.inf, -np.inf, 3.0]))
    part._sampled("zz")
    assert climbs[0][0][0](np.zeros((4, 2))).tolist() == [-INF, -INF, -INF, 3.0]


@pytest.mark.parametrize(
    ("effort", "data", "lower"), [(1.0, False, 7.0), (0.0, False, 0.0), (1.0, True, 3.0), (0.0, True, 3.0)]
)
def test_where_an_attained_value_comes_from(
    effort: float, data: bool, lower: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = part_of(REST, effort=effort)
    part.only_specials = data
    monkeypatch.setattr(part, "_sampled", lambda slots: 7.0)
    spied(monkeypatch, "sampled_specials", 3.0)
    assert part._sample_lower("zz") == lower


# ---- closed forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "is_x", "slots", "value"),
    [
        # the largest of all orthogonal ridges, wherever it stands
        (sin(A) + 5 * sin(B), (True, True), "xxx", 5),
        (5 * sin(A) + sin(B), (True, True), "xxx", 5),
        (sin(A) + 2 * sin(B) + 3 * sin(NAMES[2]), (True, True, True), "xxx", 3),
        (sin(A) + 3 * sin(B) + 2 * sin(NAMES[2]), (True, True, True), "xxx", 3),
        (3 * sin(A) + sin(B) + 2 * sin(NAMES[2]), (True, True, True), "xxxx", 3),
        (sin(A + B) + 2 * sin(A - B), (True, True), "xxx", 4 * sympy.sqrt(2)),
        (sin(A) + 2 * sin(A + B), (True, True), "xxx", None),  # not orthogonal
        (sin(A) + 5 * sin(B), (True, False), "xxy", None),
        (sin(2 * A + B), (True, False), "xxy", 4),
        # either end of the spectrum may be the larger one
        (sin(A) + 3 * A**2, (True,), "xx", 7),
        (sin(A) - 3 * A**2, (True,), "xx", 7),
    ],
)
def test_closed_forms_on_the_whole_space(expression: Any, is_x: tuple[bool, ...], slots: str, value: Any) -> None:
    found = closed_form(part_of(expression, is_x, LINE), slots)
    assert (found is None) == (value is None)
    if value is not None:
        assert found is not None
        assert sympy.expand(found - value) == 0


@pytest.mark.parametrize("lost", [True, False])
def test_both_ends_of_the_spectrum_are_needed(lost: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed largest eigenvalue alone is no norm: minus the smallest one may be larger."""
    whole = PART.exact.extreme_eigenvalue
    monkeypatch.setattr(PART.exact, "extreme_eigenvalue", lambda rows, top: None if top == lost else whole(rows, top))
    assert closed_form(part_of(sin(A) + 3 * A**2, (True,), LINE), "xx") is None
