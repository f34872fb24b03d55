"""Constants of separate groups and affine variables: every field of what is handed on."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
import sympy
from sympy import Integer, Rational

from bilevel_verify.constants.bound import bounds
from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.bound.constant import Constant, Reason, Route, Side, Status
from bilevel_verify.constants.calculus.affine_variables import affine_variables, faces
from bilevel_verify.constants.formula import smoothness
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.structure import normalise, structure_of
from bilevel_verify.constants.groups.engine import Analysis
from bilevel_verify.constants.hoelder.hoelder_sums import Modulus

pytestmark = pytest.mark.fast

INF = math.inf
HALF, ONE = Rational(1, 2), Integer(1)
X, Y = sympy.symbols("x y", real=True)
ENGINE = sys.modules[Analysis.__module__]


def why(name: str) -> Reason:
    return Reason("test", name)


def bound(upper: float, lower: float, name: str = "", **more: Any) -> Bound:
    fields = {"certified": True, "route": "calculus", "why": why(name), "witness": {"x": upper}} | more
    return Bound(upper, lower, **fields)  # type: ignore[arg-type]


# ---- constants and their words ---------------------------------------------------------------------------------------


def test_the_words_of_a_constant() -> None:
    assert get_args(Status) == ("certified", "not certified", "no bound found")
    assert get_args(Route) == ("exact", "calculus", "branch and bound", "sampling", "user")
    assert get_args(Side) == ("upper", "lower")


def test_nothing_is_claimed_that_was_not_said() -> None:
    plain = Bound(1.0, 0.0, True, "calculus", why(""))
    assert (plain.exact, plain.attained, plain.witness) == (None, False, {})
    constant = Constant("L", 1.0, 0.0, 1.0, "upper", True, "calculus", "", "", why(""))
    assert (constant.exact, constant.whole_space, constant.attained, constant.witness) == (None, True, False, {})
    assert Modulus(ONE, 1.0, 1.0, "").sharp is False
    assert Modulus(ONE, 1.0, 1.0, "").closed is None
    assert smoothness.Jump(1, "").sure is True


def test_a_derivation_is_indented_step_by_step() -> None:
    tree = Reason("a", "top", (Reason("b", "first", (Reason("c", "deep"),)), Reason("d", "second")))
    assert tree.lines() == ["top  [a]", "  first  [b]", "    deep  [c]", "  second  [d]"]
    assert tree.lines(1)[0] == "  top  [a]"


@pytest.mark.parametrize("value", [2.0, INF, -INF])
@pytest.mark.parametrize("lower", [1.0, INF, -INF])
@pytest.mark.parametrize("upper", [3.0, INF, -INF])
@pytest.mark.parametrize("certified", [True, False])
def test_an_infinite_end_is_a_bound_only_if_both_ends_are_it(
    value: float, lower: float, upper: float, certified: bool
) -> None:
    found = Constant("L", value, lower, upper, "upper", certified, "calculus", "", "", why("")).status
    if math.isinf(value) and not (lower == value and upper == value):
        assert found == "no bound found"
    else:
        assert found == ("certified" if certified else "not certified")


# ---- bounds of several groups ----------------------------------------------------------------------------------------


def test_nothing_at_all_is_exactly_zero() -> None:
    found = bounds.combine([], "zz")
    assert found == Bound(0.0, 0.0, True, "exact", found.why, Integer(0), True)


def test_the_largest_group_is_handed_on_with_all_it_knows() -> None:
    groups = [
        bound(3.0, 2.5, "a", exact=Integer(3), attained=True),
        bound(5.0, 1.0, "b", exact=Integer(5), route="exact", certified=False),
        bound(4.0, 0.5, "c"),
        bound(1.0, 0.25, "d"),
    ]
    found = bounds.combine(groups, "zz")
    assert replace(found, why=why("")) == bound(5.0, 2.5, "", exact=Integer(5), route="exact", certified=False)
    assert [part.statement for part in found.why.parts] == ["b", "c", "a"]
    assert bounds.combine([replace(g, certified=True) for g in groups], "xyz").certified
    assert bounds.combine(groups[2:], "xy").upper == 4.0
    assert bounds.combine(groups[:1], "z") is groups[0]


def test_gradients_of_groups_are_put_together_field_by_field() -> None:
    groups = [bound(float(k), float(5 - k), str(k), route="exact" if k == 5 else "calculus") for k in (1, 5, 2, 3, 4)]
    found = bounds.combine(groups, "z")
    assert math.sqrt(55) < found.upper <= math.sqrt(55) * (1 + 4e-15)
    assert found.lower == math.hypot(4, 0, 3, 2, 1)
    assert (found.certified, found.route, found.exact, found.attained) == (True, "exact", None, False)
    assert found.witness == {"x": 5.0}
    assert [part.statement for part in found.why.parts] == ["1", "5", "2", "3"]
    groups[2] = replace(groups[2], certified=False)
    assert not bounds.combine(groups, "y").certified


def test_a_closed_gradient_is_rounded_up_and_tight_only_if_all_are() -> None:
    ones = [bound(1.0, 1.0, exact=Integer(1), attained=True)] * 2
    found = bounds.combine(ones, "z")
    assert found.exact == sympy.sqrt(2)
    assert Fraction(found.upper) ** 2 > 2 > Fraction(math.nextafter(found.upper, 0)) ** 2
    assert found.attained
    assert not bounds.combine([ones[0], replace(ones[1], attained=False)], "z").attained
    three = bounds.combine([*ones, bound(2.0, 2.0, exact=Integer(2))], "z")
    assert three.exact == sympy.sqrt(6)


@pytest.mark.parametrize("sure", [True, False])
def test_a_jump_field_by_field(sure: bool) -> None:
    found = bounds.jump_bound(smoothness.Jump(2, "a kink", {"x": 0.5}, sure), 3)
    expected = Bound(
        INF, INF if sure else 0.0, True, "calculus", found.why, sympy.oo if sure else None, sure, {"x": 0.5}
    )
    assert found == expected


def analysis_of(expression: sympy.Expr, names: tuple[sympy.Symbol, ...], is_x: tuple[bool, ...]) -> Analysis:
    box = Domain(np.full(len(names), -1.0), np.full(len(names), 1.0), "box", False)
    return Analysis(structure_of(normalise(expression), names), is_x, box, "g")


def test_groups_that_do_not_see_a_form_are_left_out_and_a_norm_is_found_once() -> None:
    found = analysis_of(sympy.sin(X) + Y**2, (X, Y), (True, False))
    assert found.effort == 1.0
    assert len(found.parts) == 2
    third = found.norm("zzz")
    assert third.why.rule != "blocks"
    assert 1.0 <= third.upper <= 1.05
    assert found.norm("zzz") is third
    assert found.norm("zzzz").upper > 0.0


def test_curvature_is_asked_of_every_group_with_lower_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """One group of x alone, one of both blocks, five of y alone."""
    names = sympy.symbols("a:8", real=True)
    expression = names[0] ** 2 + names[1] * names[2] + sum((v**2 for v in names[3:]), Integer(0))
    found = analysis_of(expression, names, (True, True, *(False,) * 6))
    asked: list[tuple[bool, ...]] = []

    def convexity(part: Any) -> Bound:
        asked.append(part.is_x)
        k = float(len(asked))
        return bound(10.0 - k, k, str(k), certified=k != 4)

    monkeypatch.setattr(ENGINE, "convexity", convexity)
    result = found.convexity()
    assert sorted(asked) == sorted([(True, False), *[(False,)] * 5])
    assert (result.lower, result.upper, result.certified, result.witness) == (1.0, 5.0, False, {"x": 5.0})
    assert [part.statement for part in result.why.parts] == ["1.0", "2.0", "3.0", "4.0"]


@pytest.mark.parametrize(
    ("others", "exact"),
    [
        ([(3.0, 4.0, None)], True),  # begins where the least one ends
        ([(2.0, 4.0, None)], True),
        ([(1.5, 4.0, None)], False),  # may reach below it
        ([(1.5, 4.0, ONE)], True),  # the same closed form
        ([(3.0, 4.0, Integer(3))], True),
        ([(1.5, 4.0, Integer(7))], False),
        ([(3.0, 4.0, None), (1.5, 4.0, None)], False),
    ],
)
def test_the_least_curvature_is_closed_if_no_other_group_can_be_less(
    others: list[tuple[float, float, Any]], exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    least = bound(2.0, 1.0, "least", exact=ONE)
    given = [least, *(bound(upper, lower, exact=closed) for lower, upper, closed in others)]
    names = sympy.symbols("a:3", real=True)[: len(given)]
    found = analysis_of(sum((v**2 for v in names), Integer(0)), names, (False,) * len(names))
    queue = iter(given)
    monkeypatch.setattr(ENGINE, "convexity", lambda part: next(queue))
    result = found.convexity()
    assert (result.exact, result.lower, result.upper) == (ONE if exact else None, 1.0, 2.0)
    assert result.certified


# ---- affine variables ------------------------------------------------------------------------------------------------


def test_at_most_six_variables_are_put_at_their_ends() -> None:
    names = sympy.symbols("a:8", real=True)
    rest = sympy.Add(*names[:7]) * sympy.exp(names[7] ** 2)
    structure = replace(structure_of(Integer(0), names), rest=sympy.expand(rest))
    assert affine_variables(structure, 2) == tuple(range(7))
    lo, hi = faces(Domain(np.arange(8.0), np.arange(8.0) + 0.5, "", False), structure, 2)
    assert lo.shape == hi.shape == (64, 8)
    assert (lo[:, 6:] == [[6.0, 7.0]]).all()
    assert (hi[:, 6:] == [[6.5, 7.5]]).all()
    assert (lo[:, :6] == hi[:, :6]).all()
    assert {tuple(row) for row in (2 * (lo[:, :6] - np.arange(6.0))).tolist()} == set(np.ndindex(*(2,) * 6))


@pytest.mark.parametrize(
    ("rest", "order", "affine"),
    [
        (X**3 + X * sympy.sin(Y), 2, True),
        (X**4 + X * sympy.sin(Y), 2, False),
        (X**4 + X * sympy.sin(Y), 3, True),
        (X**2 + sympy.sin(Y), 1, True),
        (X**3 + sympy.sin(Y), 1, False),
        (sympy.exp(X) + sympy.sin(Y), 2, False),
        (3 * X * sympy.sin(Y) * sympy.exp(Y), 2, True),
        (X * Y, 2, True),
        (X**2 * Y, 2, False),
        (sympy.sin(Y), 2, True),
        (sympy.sin(X), 2, False),
        (None, 2, True),
    ],
)
def test_what_is_affine_in_a_derivative(rest: sympy.Expr | None, order: int, affine: bool) -> None:
    structure = replace(structure_of(Integer(0), (X, Y)), rest=rest)
    assert (0 in affine_variables(structure, order)) == affine
    ridged = replace(structure, ridges=structure_of(sympy.sin(X), (X, Y)).ridges)
    assert 0 not in affine_variables(ridged, order)


def test_an_unbounded_constant_is_shown_as_one() -> None:
    from bilevel_verify.constants.bound import constant as shown

    assert shown._number(float("inf"), False, "oo") == "oo"
    assert shown._number(float("-inf"), True, "oo") == "-oo"
    assert float(shown._number(1 / 3, True, "oo")) <= 1 / 3 <= float(shown._number(1 / 3, False, "oo"))
