"""Bounds, groups, Hoelder sums and moduli, each side condition alone and every field of what is handed on."""

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

from bilevel_verify.constants import bounds, hoelder_sums, moduli, smoothness
from bilevel_verify.constants.affine_variables import affine_variables, faces
from bilevel_verify.constants.bounds import Bound
from bilevel_verify.constants.constant import Constant, Reason, Route, Side, Status
from bilevel_verify.constants.domain import Domain
from bilevel_verify.constants.engine import Analysis
from bilevel_verify.constants.hoelder_sums import Modulus
from bilevel_verify.constants.moduli import periodic_constant, scalar_modulus
from bilevel_verify.constants.structure import normalise, structure_of
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.scalar import Derived, Huber, Power, Psi, Scalar, scalar

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


# ---- sums of moduli --------------------------------------------------------------------------------------------------


def naive(group: list[Modulus], nu: float, diameter: float) -> float:
    """The supremum over distances, from 60,000 of them and all where something changes."""
    distances = [d for d in np.geomspace(1e-9, 1e9, 60001) if d <= diameter]
    for m in group:
        if m.nu > 0 and 0 < m.constant < INF and 0 < m.oscillation < INF:
            distances.append((m.oscillation / m.constant) ** (1 / float(m.nu)))
    if math.isfinite(diameter):
        distances = [d for d in [*distances, diameter] if d <= diameter]
    d = np.array(distances)
    total = sum(np.minimum(m.constant * d ** float(m.nu), m.oscillation) for m in group)
    return float((total / d**nu).max())


@pytest.mark.parametrize("diameter", [0.3, 1.0, 4.0, INF])
@pytest.mark.parametrize("nu", [Integer(0), HALF])
@pytest.mark.parametrize(
    "group",
    [
        [(ONE, 3.0, 2.0), (HALF, 1.0, 5.0)],
        [(ONE, 0.25, 0.5), (ONE, 0.125, 0.0625)],
        [(HALF, 3.0, 1.0), (Rational(3, 4), 0.5, 9.0), (ONE, 1.0, 0.5)],
        [(ONE, 2.0, 4.0), (HALF, 0.5, 0.25)],
    ],
)
def test_a_sum_of_moduli_is_the_supremum_over_distances(
    group: list[tuple[sympy.Expr, float, float]], nu: sympy.Expr, diameter: float
) -> None:
    parts = [Modulus(e, c, o, "") for e, c, o in group]
    found = hoelder_sums.combine(parts, nu, diameter)
    truth = naive(parts, float(nu), diameter)
    small = math.fsum(c for e, c, _ in group if e == nu)
    assert max(truth, small) < found.upper <= max(truth, small) * (1 + 1e-6)
    assert (found.lower, found.certified, found.route, found.exact, found.attained) == (
        0.0,
        True,
        "calculus",
        None,
        False,
    )


def test_sums_of_moduli_in_exact_cases() -> None:
    def upper(group: list[Modulus], nu: Any, diameter: float = INF) -> float:
        return hoelder_sums.combine(group, nu, diameter).upper

    def just(value: float, found: float) -> bool:
        return value < found <= value * (1 + 3e-12)

    assert just(6.0, upper([Modulus(ONE, 3.0, INF, "")] * 2, ONE))
    assert just(8.0, upper([Modulus(Integer(0), 3.0, INF, ""), Modulus(ONE, 2.0, 5.0, "")], Integer(0)))
    assert just(8.0, upper([Modulus(Integer(0), 3.0, 7.0, ""), Modulus(ONE, 2.0, 5.0, "")], Integer(0)))
    assert just(4.0, upper([Modulus(Integer(0), 3.0, 7.0, ""), Modulus(ONE, 2.0, 5.0, "")], Integer(0), 0.5))
    assert upper([Modulus(ONE, 0.0, 0.0, "")] * 2, ONE) == 0.0
    assert upper([Modulus(ONE, 0.0, INF, ""), Modulus(ONE, 1.0, 1.0, "")], HALF, 4.0) == pytest.approx(1.0)
    huge = [
        Modulus(Rational(1, 4), 1.0, 1e100, ""),
        Modulus(ONE, 1.0, 1.0, ""),
    ]  # the minimum changes beyond all floats
    assert just(2.0, upper(huge, Rational(1, 4), 16.0))
    assert just(2.0, upper(huge, Rational(1, 4)))
    nothing = hoelder_sums.combine([], HALF, 1.0)
    assert nothing == Bound(0.0, 0.0, True, "calculus", nothing.why, Integer(0), True)


@pytest.mark.parametrize("sharp", [True, False])
@pytest.mark.parametrize("closed", [sympy.sqrt(2), None])
@pytest.mark.parametrize("nu", [HALF, Rational(1, 4)])
def test_a_single_modulus_field_by_field(sharp: bool, closed: sympy.Expr | None, nu: sympy.Expr) -> None:
    part = Modulus(HALF, 1.5, INF if nu == HALF else 2.0, "", closed, sharp)
    found = hoelder_sums.combine([part], nu, 16.0)
    if nu != HALF:  # not its own exponent: a sum of one
        assert (found.exact, found.lower, found.attained) == (None, 0.0, False)
        return
    tight = sharp and closed is not None
    assert (found.upper, found.certified) == (1.5, True)
    assert (found.exact, found.attained) == (closed, tight)
    assert found.route == ("exact" if closed is not None else "calculus")
    if tight:
        assert Fraction(found.lower) ** 2 < 2 < Fraction(math.nextafter(found.lower, 2)) ** 2
    else:
        assert found.lower == 0.0


@pytest.mark.parametrize("closed", [Integer(3), None])
def test_a_single_part_that_is_only_bounded_has_no_constant_at_another_exponent(closed: Any) -> None:
    found = hoelder_sums.combine([Modulus(ONE, INF, 2.0, "", closed)], HALF, 4.0)
    assert (found.upper, found.exact) == (INF, closed)


# ---- moduli of one-variable functions --------------------------------------------------------------------------------


class Given(Scalar):
    """A function of which only the ranges of its derivatives are known (on any interval; noted)."""

    def __init__(self, ranges: dict[int, tuple[float, float]], smooth: float = INF) -> None:
        self.ranges, self.smooth, self.name = ranges, smooth, "given"
        self.asked: list[tuple[int, float, float]] = []

    def range(self, order: int, t: Interval) -> Interval:
        self.asked.append((order, float(t.lo), float(t.hi)))
        return Interval(*(np.asarray(v) for v in self.ranges[order]))


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 2.0), (0.1, 0.3), (-5.0, -4.0), (-INF, 1.0), (0.0, INF), (-INF, INF), (2.0, 2.0)]
)
def test_the_oscillation_is_the_length_of_the_range_rounded_up(low: float, high: float) -> None:
    function = Given({1: (low, high), 2: (-7.0, 3.0)})
    nu, constant, closed, oscillation, _ = scalar_modulus(function, 1, (0.5, 0.75))
    assert function.asked == [(1, 0.5, 0.75), (2, 0.5, 0.75)]
    assert (nu, constant, closed) == (1, 7.0, None)
    if math.isfinite(low) and math.isfinite(high):
        exact = Fraction(high) - Fraction(low)
        assert exact < Fraction(oscillation) <= exact + Fraction(1, 10**15)
    else:
        assert oscillation == INF


@pytest.mark.parametrize("smooth", [0, 1, 2, 3, INF])
@pytest.mark.parametrize("slope", [(-INF, 1.0), (-2.0, 1.0)])
@pytest.mark.parametrize("values", [(-1.0, 1.0), (0.0, INF)])
def test_without_a_slope_only_the_oscillation_counts(
    smooth: float, slope: tuple[float, float], values: tuple[float, float]
) -> None:
    nu, constant, closed, oscillation, _ = scalar_modulus(Given({1: values, 2: slope}, smooth), 1, (0.0, 1.0))
    assert closed is None
    if math.isinf(slope[0]) and math.isfinite(values[1]) and smooth < 2:
        assert (nu, constant) == (0, oscillation)
    else:
        assert (nu, constant) == (1, -slope[0])


@pytest.mark.parametrize("span", [(-INF, INF), (0.0, INF), (-INF, 0.0), (0.0, 1.0)])
def test_a_closed_slope_holds_on_the_whole_line_only(span: tuple[float, float]) -> None:
    nu, constant, closed, _, _ = scalar_modulus(scalar("sin"), 1, span)
    assert (nu, constant) == (1, pytest.approx(math.sin(1.0) if span == (0.0, 1.0) else 1.0))
    assert closed == (1 if span == (-INF, INF) else None)
    sigmoid = scalar_modulus(scalar("softplus"), 0, (-INF, INF))
    assert sigmoid[2] == 1
    hyper = scalar_modulus(scalar("lorentz"), 1, (-INF, INF))  # its second derivative ranges over [-2, 1/2]
    assert hyper[2] == 2
    assert 2.0 <= hyper[1] <= 2.0 + 1e-13


def test_a_derived_function_is_its_base_at_a_higher_order() -> None:
    derived = Derived(scalar("abspow", Fraction(7, 2)), 1)
    assert scalar_modulus(derived, 2, (-1.0, 1.0)) == scalar_modulus(derived.base, 3, (-1.0, 1.0))
    assert scalar_modulus(derived, 2, (-1.0, 1.0))[0] == HALF


LOST = [
    (scalar("abspow", Fraction(1)), 1, 1),
    (scalar("abspow", Fraction(1)), 2, 1),
    (scalar("pluspow", Fraction(2)), 1, None),
    (scalar("pluspow", Fraction(2)), 2, 2),
    (scalar("pluspow", Fraction(2)), 3, 2),
    (scalar("abspow", Fraction(5, 2)), 2, None),
    (scalar("abspow", Fraction(5, 2)), 3, 3),
    (Huber(Fraction(1)), 1, None),
    (Huber(Fraction(1)), 2, None),
    (Huber(Fraction(1)), 3, 2),
    (Psi(Fraction(1, 2)), 3, None),
    (Psi(Fraction(1, 2)), 4, None),
    (Psi(Fraction(1, 2)), 5, 4),
    (Psi(Fraction(0)), 2, None),
    (Psi(Fraction(0)), 3, None),
    (Psi(Fraction(0)), 4, 3),
    (scalar("sin"), 4, None),
]


@pytest.mark.parametrize(("function", "k", "lost"), LOST)
def test_the_first_derivative_that_is_lost_in_a_span(function: Scalar, k: int, lost: int | None) -> None:
    assert moduli._lost(function, k, (-2.0, 2.0)) == lost
    if not isinstance(function, Psi):
        assert moduli._lost(function, k, (3.0, 4.0)) is None
    if lost is not None:
        nu, constant, closed, oscillation, text = scalar_modulus(function, k, (-2.0, 2.0))
        assert (nu, closed) == (0, None)
        assert constant == (oscillation if lost == k else INF)
        assert f"derivative {lost} is the first" in text
        says = "does not exist" if lost < k else "is unbounded" if math.isinf(oscillation) else "jumps"
        assert says in text


def test_what_is_said_of_a_lost_derivative() -> None:
    function = scalar("sin")
    assert "does not exist" in moduli._lost_text(function, 3, 2, 1.0)
    assert "jumps" in moduli._lost_text(function, 3, 3, 1.0)
    assert "is unbounded" in moduli._lost_text(function, 3, 3, INF)


@pytest.mark.parametrize("nu", [Fraction(0), Fraction(1, 3), Fraction(1)])
def test_the_periodic_functions_of_finite_smoothness(nu: Fraction) -> None:
    exponent = Rational(nu.numerator, nu.denominator)
    rough = {k: moduli._rough_modulus(Psi(nu), k, (-1.0, 1.0)) for k in (1, 2, 3, 4)}
    assert rough[3] == (exponent, 2 ** (1 - exponent))
    assert rough[2] == ((1, 1) if nu == 0 else None)
    assert rough[1] is None
    assert rough[4] is None
    huber = {k: moduli._rough_modulus(Huber(Fraction(1)), k, (-1.0, 1.0)) for k in (1, 2, 3)}
    assert huber == {1: None, 2: (0, 1), 3: None}
    assert moduli._rough_modulus(scalar("log"), 2, (0.0, 1.0)) is None
    assert moduli._rough_modulus(scalar("sin"), 3, (0.0, 1.0)) is None


SPANS = [(-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0), (0.5, 1.0), (-1.0, -0.5), (0.0, 0.0)]


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("kind", ["plain", "abs", "sgn", "plus"])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5, 2), Fraction(3)])
def test_the_modulus_of_a_power_at_zero(p: Fraction, kind: str, span: tuple[float, float]) -> None:
    """For ``k < p <= k + 1``: nu = p - k, and p (p-1) ... (p-k+1), times 2^(1-nu) where the sign changes at 0."""
    function = Power(p, kind)
    for k in range(4):
        found = moduli._power_modulus(function, k, span)
        smooth_there = (kind == "plain" and p.denominator == 1) or (kind in ("abs", "sgn") and function.smooth == INF)
        if not span[0] <= 0 <= span[1] or not k < p <= k + 1 or smooth_there:
            assert found is None
            continue
        assert found is not None
        nu = p - k
        factor = math.prod((p - j for j in range(k)), start=Fraction(1))
        odd = (kind == "abs" and k % 2 == 1) or (kind == "sgn" and k % 2 == 0)
        twice = 2 ** (1 - Rational(nu.numerator, nu.denominator)) if odd and span[0] < 0 < span[1] else 1
        assert found[0] == Rational(nu.numerator, nu.denominator)
        assert sympy.simplify(found[1] - Rational(factor.numerator, factor.denominator) * twice) == 0


def test_a_closed_modulus_is_rounded_up() -> None:
    _, constant, closed, _, _ = scalar_modulus(scalar("abspow", Fraction(3, 2)), 1, (-1.0, 1.0))
    assert closed == Rational(3, 2) * sympy.sqrt(2)
    assert Fraction(constant) ** 2 > Fraction(9, 2) > Fraction(math.nextafter(constant, 0)) ** 2


@pytest.mark.parametrize("nu", [0.0, 1e-3, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1.0])
def test_the_constant_of_the_sine_is_the_largest_quotient(nu: float) -> None:
    """``|sin a - sin b| <= 2 sin(d/2)`` for distances d, attained."""
    distances = np.concatenate([np.geomspace(1e-9, 1, 20001), np.linspace(1, math.pi, 200001)])
    truth = float((2 * np.sin(distances / 2) / distances**nu).max())
    found = periodic_constant(nu)
    assert truth * (1 - 1e-15) <= found <= truth * (1 + 1e-8)
    assert periodic_constant(0) == 2.0
    assert 1.0 <= periodic_constant(1) <= 1.0 + 1e-11
