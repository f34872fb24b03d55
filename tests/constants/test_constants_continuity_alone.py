"""Moduli through formulas, each rule against its definition written out."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from sympy import Integer, Rational, cos, exp, sin

from bilevel_verify.atoms import abspow, psi
from bilevel_verify.constants.api import Constants
from bilevel_verify.constants.bound.constant import Reason
from bilevel_verify.constants.formula.rewriting import normalise
from bilevel_verify.constants.formula.scalars import CompositeScalar
from bilevel_verify.constants.formula.structure import structure_of
from bilevel_verify.constants.hoelder import continuity
from bilevel_verify.constants.hoelder.continuity import Known, Setting, Step
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.scalar import Derived, WeightedPolynomial, scalar

pytestmark = pytest.mark.fast

INF = math.inf
HALF, ONE = Rational(1, 2), Integer(1)
X, Y, Z = NAMES = sympy.symbols("x y z", real=True)
WHY = Reason("test", "known")
API = sys.modules[Constants.__module__]


def interval(low: float, high: float) -> Interval:
    return Interval(np.asarray(low), np.asarray(high))


def setting(order: int, block: tuple[int, ...] = (0, 1, 2)) -> Setting:
    return Setting(NAMES, np.array([-1.0, 2.0, -4.0]), np.array([3.0, 2.5, -1.0]), frozenset(block), order)


def partitions(elements: list[int]) -> Iterator[list[list[int]]]:
    """All partitions of a set, one after the other."""
    if not elements:
        yield []
        return
    first, rest = elements[0], elements[1:]
    for size in range(len(rest) + 1):
        for others in itertools.combinations(rest, size):
            for more in partitions([e for e in rest if e not in others]):
                yield [[first, *others], *more]


def summed(steps: list[tuple[Any, float, float]]) -> dict[Any, tuple[float, float]]:
    """Steps by exponent, those that do not move left out."""
    found: dict[Any, tuple[float, float]] = {}
    for nu, constant, oscillation in steps:
        if constant and oscillation:
            old = found.get(nu, (0.0, 0.0))
            found[nu] = old[0] + constant, old[1] + oscillation
    return found


def limited(steps: list[tuple[Any, float, float]], size: float) -> dict[Any, tuple[float, float]]:
    found = summed(steps)
    if len(found) == 1:
        return {nu: (c, min(o, 2 * size)) for nu, (c, o) in found.items()}
    return found


def as_dict(steps: tuple[Step, ...]) -> dict[Any, Any]:
    assert len({s.nu for s in steps}) == len(steps)
    return {s.nu: (pytest.approx(s.constant, rel=1e-12), pytest.approx(s.oscillation, rel=1e-12)) for s in steps}


def zero(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


FIRST = Known(interval(-2.0, 3.0), (3.0, 0.5, 2.0, 7.0), (
    (Step(ONE, 0.5, 5.0),), (Step(ONE, 2.0, 1.0), Step(HALF, 0.25, 0.5)), (Step(HALF, 3.0, INF),), ()))  # fmt: skip
SECOND = Known(interval(0.5, 4.0), (4.0, 1.0, 0.0, 1.5), (
    (Step(ONE, 1.0, 3.5),), (), (Step(ONE, 1.5, 3.0),), (Step(HALF, 2.0, 3.0), Step(ONE, 1.0, 0.25))))  # fmt: skip
BENT = Known(interval(0.5, 4.0), (4.0, 1.0, 0.0, INF), (
    (Step(ONE, 1.0, 3.5), Step(HALF, 2.0, 9.0)), (), (Step(ONE, 1.5, 3.0),), (Step(ONE, 1.0, INF),)))  # fmt: skip
STILL = Known(interval(2.0, 2.0), (2.0, 0.0, 0.0, 0.0), ((), (), (), ()))
PAIRS = list(itertools.product([FIRST, SECOND, BENT, STILL], repeat=2))


# ---- rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_products_by_leibniz_subset_by_subset(first: Known, second: Known) -> None:
    """The derivative of order j is a sum over subsets of the slots: which of them go to the first factor."""
    found = continuity._product_of(first, second)
    corners = [a * b for a in (first.value.lo, first.value.hi) for b in (second.value.lo, second.value.hi)]
    assert float(found.value.lo) == pytest.approx(float(min(corners)))
    assert float(found.value.hi) == pytest.approx(float(max(corners)))
    for j in range(4):
        size, steps = 0.0, []
        for chosen in itertools.product((0, 1), repeat=j):
            a, b = sum(chosen), j - sum(chosen)
            size += zero(first.sizes[a], second.sizes[b])
            steps += [
                (s.nu, zero(s.constant, second.sizes[b]), zero(s.oscillation, second.sizes[b])) for s in first.moduli[a]
            ]
            steps += [
                (s.nu, zero(s.constant, first.sizes[a]), zero(s.oscillation, first.sizes[a])) for s in second.moduli[b]
            ]
        assert found.sizes[j] == pytest.approx(size, rel=1e-12)
        assert as_dict(found.moduli[j]) == limited(steps, size)


class Outer:
    """A function of one variable of which the ranges of the derivatives are set; notes where they are asked."""

    name, smooth = "outer", INF
    ranges = ((-1.0, 0.5), (0.25, 2.0), (-3.0, 1.0), (0.0, 0.0), (1.0, 1.5))

    def __init__(self) -> None:
        self.asked: list[tuple[int, float, float]] = []

    def range(self, m: int, t: Interval) -> Interval:
        self.asked.append((m, float(t.lo), float(t.hi)))
        return interval(*self.ranges[m])


OUTER_MODULI = [(ONE, 2.0, 1.5), (HALF, 1.0, 1.75), (ONE, 0.5, 4.0), (Integer(0), 0.75, 0.75)]


@pytest.mark.parametrize("inner", [FIRST, SECOND, BENT, STILL])
def test_compositions_by_faa_di_bruno_partition_by_partition(inner: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[tuple[int, tuple[float, float]]] = []

    def scalar_modulus(function: Any, m: int, span: tuple[float, float]) -> tuple[Any, float, None, float, str]:
        spans.append((m, span))
        nu, constant, oscillation = OUTER_MODULI[m]
        return nu, constant, None, oscillation, ""

    monkeypatch.setattr(continuity, "scalar_modulus", scalar_modulus)
    function = Outer()
    found = continuity._composition(function, inner)  # type: ignore[arg-type]
    ends = float(inner.value.lo), float(inner.value.hi)
    assert {(low, high) for _, low, high in function.asked} == {ends}
    assert [m for m, _ in spans] == [0, 1, 2, 3]
    assert {span for _, span in spans} == {ends}
    assert (float(found.value.lo), float(found.value.hi)) == Outer.ranges[0]
    outer_sizes = [max(abs(a), abs(b)) for a, b in Outer.ranges]

    def moved(m: int) -> list[tuple[Any, float, float]]:
        nu, constant, oscillation = OUTER_MODULI[m]
        return [(nu * s.nu, constant * s.constant ** float(nu), oscillation) for s in inner.moduli[0]]

    assert found.sizes[0] == outer_sizes[0]
    assert as_dict(found.moduli[0]) == (summed(moved(0)))
    for j in range(1, 4):
        size, steps = 0.0, []
        for blocks in partitions(list(range(j))):
            factors = [outer_sizes[len(blocks)], *(inner.sizes[len(b)] for b in blocks)]
            size += 0.0 if 0.0 in factors else math.prod(factors)
            moving = [
                moved(len(blocks)),
                *([(s.nu, s.constant, s.oscillation) for s in inner.moduli[len(b)]] for b in blocks),
            ]
            for place, own in enumerate(moving):
                others = [f for k, f in enumerate(factors) if k != place]
                rest = 0.0 if 0.0 in others else math.prod(others)
                steps += [(nu, zero(c, rest), zero(o, rest)) for nu, c, o in own]
        assert found.sizes[j] == pytest.approx(size, rel=1e-12)
        assert as_dict(found.moduli[j]) == limited(steps, size)


def test_sums_part_by_part() -> None:
    found = continuity._sum([FIRST, SECOND, BENT])
    assert (float(found.value.lo), float(found.value.hi)) == (pytest.approx(-1.0), pytest.approx(11.0))
    assert found.sizes == (pytest.approx(11.0), 2.5, 2.0, INF)
    for j in range(4):
        steps = [(s.nu, s.constant, s.oscillation) for part in (FIRST, SECOND, BENT) for s in part.moduli[j]]
        assert as_dict(found.moduli[j]) == summed(steps)
    cancelled = continuity._sum([FIRST, Known(interval(-3.0, 2.0), *(getattr(FIRST, n) for n in ("sizes", "moduli")))])
    assert cancelled.sizes[0] == pytest.approx(5.0)
    assert continuity._sum([SECOND]).value is SECOND.value


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("block", [(), (0,), (1,), (0, 2), (0, 1, 2)])
def test_affine_forms_field_by_field(order: int, block: tuple[int, ...]) -> None:
    found = continuity._affine(2 * X - 6 * Z + Rational(1, 4), setting(order, block))
    assert (float(found.value.lo), float(found.value.hi)) == (pytest.approx(4.25), pytest.approx(30.25))
    length = math.sqrt(sum({0: 4.0, 1: 0.0, 2: 36.0}[i] for i in block))
    assert found.sizes == (pytest.approx(30.25), pytest.approx(length, rel=1e-13), *(0.0,) * (order - 1))
    assert found.sizes[1] >= length
    (step,) = found.moduli[0]
    assert (step.nu, found.moduli[1:]) == (1, ((),) * order)
    assert Fraction(step.constant) ** 2 >= 40
    assert step.constant <= math.sqrt(40) * (1 + 1e-13)
    assert Fraction(step.oscillation) >= 26
    assert step.oscillation <= 26.0 + 1e-13
    third = continuity._affine(X / 3, setting(1, (0,)))
    assert Fraction(third.sizes[1]) > Fraction(1, 3)
    one = continuity._affine(X - Z, setting(1, (0,)))  # unit coefficients count
    assert one.sizes[1] == pytest.approx(1.0, rel=1e-13)
    assert one.moduli[0][0].constant == pytest.approx(math.sqrt(2), rel=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_constants_field_by_field(order: int) -> None:
    found = continuity._constant(-sympy.sqrt(2), setting(order))
    assert (found.sizes[1:], found.moduli) == ((0.0,) * order, ((),) * (order + 1))
    assert Fraction(found.sizes[0]) ** 2 > 2 > Fraction(float(-found.value.hi)) ** 2
    assert found.sizes[0] == -float(found.value.lo)


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.3), (-1.0, 2.0), (-5.0, -4.5)])
def test_a_width_is_rounded_up(low: float, high: float) -> None:
    found = continuity._width(interval(low, high))
    assert Fraction(high) - Fraction(low) < Fraction(found) <= Fraction(high) - Fraction(low) + Fraction(1, 10**14)
    assert continuity._width(interval(-INF, high)) == INF
    assert continuity._width(interval(INF, INF)) == INF  # no number at all


@pytest.mark.parametrize("constant", [1e-300, 0.3, 1.0, 7.0, 1e300])
@pytest.mark.parametrize("nu", [Rational(1, 3), HALF, ONE, Rational(2, 7)])
def test_powers_of_constants_are_rounded_up(constant: float, nu: sympy.Expr) -> None:
    step = continuity._powered(Step(HALF, constant, 9.0), nu, 1.0, 7.0)
    with mpmath.workdps(60):
        exact = mpmath.mpf(constant) ** (mpmath.mpf(int(nu.p)) / int(nu.q))
        assert exact <= mpmath.mpf(step.constant) <= exact * (1 + mpmath.mpf("1e-12"))
    assert (step.nu, step.oscillation) == (nu / 2, 7.0)
    tripled = continuity._powered(Step(HALF, constant, 9.0), nu, 3.0, 7.0)
    assert tripled.constant == pytest.approx(3.0 * step.constant)
    assert continuity._powered(Step(HALF, constant, 9.0), Integer(0), INF, 7.0) == Step(Integer(0), INF, 7.0)
    assert continuity._powered(Step(HALF, 0.0, 9.0), nu, INF, 7.0).constant == 0.0


def test_steps_gathered_and_limited() -> None:
    assert continuity._bounded([], 1.0) == ()
    assert continuity._bounded([Step(ONE, 1.0, 9.0), Step(ONE, 2.0, 1.0)], 2.0) == (Step(ONE, 3.0, 4.0),)
    assert continuity._gathered([Step(ONE, 1.0, 0.0), Step(ONE, 0.0, 1.0), Step(HALF, INF, 1.0)]) == (
        Step(HALF, INF, 1.0),
    )
    assert Step(HALF, 2.0, INF).times(3.0) == Step(HALF, 6.0, INF)
    assert Step(HALF, 2.0, INF).times(0.0) == Step(HALF, 0.0, 0.0)
    assert continuity._product(2.0, 1.0) == continuity._product(1.0, 2.0) == 2.0


# ---- which rule ------


def outer(expression: Any) -> Any:
    return continuity._outer(normalise(expression), expression.free_symbols)


def test_the_outer_function_of_a_formula() -> None:
    assert outer(abspow(Rational(5, 2), X * Y)) == (scalar("abspow", Fraction(5, 2)), X * Y, 1)
    derived = outer(sympy.diff(psi(HALF, X), X).subs(X, X * Y))
    assert derived[1:] == (X * Y, 1)
    assert isinstance(derived[0], Derived)
    assert derived[0].order == 1
    assert outer((X * Y + 1) ** 3)[0].exponent == 3
    assert outer(sympy.sqrt(X * Y + 1))[0].exponent == Fraction(1, 2)
    assert outer(sympy.sqrt(X * Y + 1))[1:] == (X * Y + 1, 1)
    assert outer(exp(X * Y))[1:] == (X * Y, 1)
    assert outer(sympy.floor(X * Y)) is None
    assert outer(sympy.ceiling(X * Y)) is None
    assert continuity._outer(sympy.Max(X, Y), {X, Y}) is None
    function, argument, factor = outer(5 * (X + Y) * exp(-((X + Y) ** 2) / 2))
    assert (type(function), argument, factor) == (WeightedPolynomial, X + Y, 5)
    assert outer((X + Y) * sin(X + Y)) is None  # a composed function has no rule of its own


@pytest.mark.parametrize(
    "expression",
    [
        sympy.Max(X, Y) + X,
        X + sympy.Max(X, Y),
        sympy.Max(X, Y) * sin(X * Y),
        sin(X * Y) * sympy.Max(X, Y),
        exp(sympy.Max(X, Y)),
        X * Y * sympy.floor(X),
        sympy.Max(X, Y),
    ],
)
def test_one_node_without_a_rule_is_enough(expression: Any) -> None:
    assert continuity.moduli_of(expression, setting(1)) is None


def test_folding_takes_every_factor_once() -> None:
    assert continuity._folded([FIRST]) is FIRST
    assert continuity._folded([None]) is None
    assert continuity._folded([FIRST, None]) is continuity._folded([None, FIRST]) is None
    three = continuity._folded([FIRST, SECOND, STILL])
    assert three == continuity._product_of(continuity._product_of(FIRST, SECOND), STILL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "expression",
    [
        X * Y,
        sin(X) * cos(Y) * X,
        exp(X * Y / 8) * Y**2,
        sin(X * Z) + Y,
        (X * Y + 9) ** 2,
        5 * X - 2 * Z,
        exp(sin(Y) + X),
        sympy.sqrt(2) + X * Y,
        3 * sin(2 * X + Y),
        X**2 * Y**2 * Z**2,
    ],
)
@pytest.mark.parametrize("order", [1, 2])
def test_moduli_cover_the_changes_of_derivatives(expression: Any, order: int) -> None:
    where = setting(order)
    steps = continuity.moduli_of(normalise(expression), where)
    assert steps is not None
    rng = np.random.default_rng(4)
    points = rng.uniform(where.lo, where.hi, size=(12, 3))
    tensors = []
    for point in points:
        place = dict(zip(NAMES, point))
        flat = [float(sympy.diff(expression, *index).subs(place)) for index in itertools.product(NAMES, repeat=order)]
        tensors.append(np.array(flat).reshape((3,) * order))
    for a, b in itertools.combinations(range(12), 2):
        change = tensors[a] - tensors[b]
        norm = np.linalg.norm(change, 2) if order == 2 else np.linalg.norm(change)
        distance = np.linalg.norm(points[a] - points[b])
        allowed = sum(min(s.constant * distance ** float(s.nu), s.oscillation) for s in steps)
        assert norm <= allowed * (1 + 1e-9) + 1e-12
    raw = continuity._known(normalise(expression), where)
    assert raw is not None
    roomy = [(s.constant * (1 + 1e-11), s.oscillation * (1 + 1e-11)) for s in raw.moduli[order]]
    assert [(s.constant, s.oscillation) for s in steps] == roomy


def test_the_modulus_of_a_composed_function_of_one_variable() -> None:
    function = structure_of(normalise(exp(sin(X))), (X,)).ridges[0].function
    assert isinstance(function, CompositeScalar)
    found = continuity.composite_modulus(function, 1, (-1.0, 2.0))
    expected = continuity.moduli_of(
        function.expression, Setting((function.variable,), np.array([-1.0]), np.array([2.0]), frozenset({0}), 1)
    )
    assert found == expected
    assert found
    assert continuity.composite_modulus(scalar("sin"), 1, (-1.0, 2.0)) is None


@pytest.mark.parametrize("expression", [(X + X**4) ** 2, (exp(X) + X) ** 2, sympy.log(1 + (X + X**4) ** 2)])
@pytest.mark.parametrize("order", range(4))
def test_a_factor_that_vanishes_beside_an_infinite_one_is_no_lack_of_a_number(expression: Any, order: int) -> None:
    setting = Setting((X,), np.array([-math.inf]), np.array([math.inf]), frozenset({0}), order)
    found = continuity.moduli_of(expression, setting)
    assert found
    assert not any(math.isnan(s.constant) or math.isnan(s.oscillation) for s in found)
    assert order < 3 or [s.constant for s in found] == [math.inf]
