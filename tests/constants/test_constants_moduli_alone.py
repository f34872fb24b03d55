"""Sums of moduli and moduli of one-variable functions: every side condition, against suprema written out."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Integer, Rational

from bilevel_verify.constants.bound.bounds import Bound
from bilevel_verify.constants.groups.engine import Analysis
from bilevel_verify.constants.hoelder import hoelder_sums, moduli
from bilevel_verify.constants.hoelder.hoelder_sums import Modulus
from bilevel_verify.constants.hoelder.moduli import periodic_constant, scalar_modulus
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.scalar import Derived, Huber, Power, Psi, Scalar, scalar

pytestmark = pytest.mark.fast

INF = math.inf
HALF, ONE = Rational(1, 2), Integer(1)
X, Y = sympy.symbols("x y", real=True)
ENGINE = sys.modules[Analysis.__module__]


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


@pytest.mark.slow
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


@pytest.mark.slow
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
