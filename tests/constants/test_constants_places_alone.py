"""Where constants hold: domains, boxes around sets and periods, each side condition alone."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Integer, Rational, cos, exp, pi, sin, sqrt

import bilevel_verify as bv
from bilevel_verify.atoms import psi
from bilevel_verify.constants.formula import domain as domains
from bilevel_verify.constants.formula.domain import Domain, box_around, domain_of, one_period, period
from bilevel_verify.constants.formula.structure import Structure, normalise, structure_of
from bilevel_verify.intervals.scalar import Derived, Psi, scalar
from bilevel_verify.problems import feasible as sets

pytestmark = pytest.mark.fast

INF = math.inf
X, Y = VARIABLES = sympy.symbols("x y", real=True)
WHOLE = Domain(np.full(2, -INF), np.full(2, INF), "whole space", True)
SQUARE = Domain(np.full(2, -1.0), np.full(2, 1.0), "a square", False)


def box(x: tuple[float, float], y: tuple[float, float] = (-1.0, 1.0)) -> Domain:
    return Domain(np.array([x[0], y[0]]), np.array([x[1], y[1]]), "a box", False)


def rest_of(expression: Any) -> Structure:
    """A structure that is nothing but a rest, however simple the expression."""
    return replace(structure_of(Integer(0), VARIABLES), rest=expression)


# ---- domains ---------------------------------------------------------------------------------------------------------


ENDS = [(-INF, INF), (-INF, 1.0), (0.0, INF), (0.0, 1.0)]


@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize("second", ENDS)
def test_free_and_unbounded(first: tuple[float, float], second: tuple[float, float]) -> None:
    found = box(first, second)
    assert found.free == (first == second == (-INF, INF))
    assert found.unbounded == (first != (0.0, 1.0) or second != (0.0, 1.0))
    part = found.part((1,))
    assert (part.lo.tolist(), part.hi.tolist()) == ([second[0]], [second[1]])
    assert (part.text, part.whole_space) == ("a box", False)


def test_the_domain_of_a_problem_is_rounded_outward_and_told() -> None:
    third = Rational(1, 3)
    problem = bv.bilevel(f="x1*y1", g="y1**2", x="x1", y="y1 y2", domain={"x1": ("1/3", "2/3"), "y1": (0, 4)})
    found = domain_of(problem)
    assert Fraction(found.lo[0]) < Fraction(1, 3) < Fraction(math.nextafter(found.lo[0], 1))
    assert Fraction(math.nextafter(found.hi[0], 0)) < Fraction(2, 3) < Fraction(found.hi[0])
    assert (found.lo[1:].tolist(), found.hi[1:].tolist()) == ([0.0, -INF], [4.0, INF])
    assert found.text == f"{third} <= x1 <= {2 * third}, 0 <= y1 <= 4"
    assert not found.whole_space
    free = domain_of(bv.bilevel(f="x1*y1", g="y1**2", x="x1", y="y1"))
    assert (free.text, free.whole_space, free.free) == ("whole space", True, True)


def test_a_feasible_set_is_met_with_the_ranges() -> None:
    ball = sets.Ball(radius=1)
    problem = bv.simple_bilevel(f="x1 + x2 + x3", g="x1**2", x="x1 x2 x3", feasible=ball,
                                domain={"x1": ("-1/2", 9), "x2": (-9, "1/2")})  # fmt: skip
    found = domain_of(problem)
    below, above = math.nextafter(-1.0, -2), math.nextafter(1.0, 2)
    assert found.lo.tolist() == [-0.5, below, below]
    assert found.hi.tolist() == [above, 0.5, above]
    assert found.text == f"-1/2 <= x1 <= 9, -9 <= x2 <= 1/2, box around Z ({ball.describe()})"
    assert not found.whole_space
    alone = domain_of(bv.simple_bilevel(f="x1 + x2", g="x1**2", x="x1 x2", feasible=ball))
    assert alone.text == f"box around Z ({ball.describe()})"
    assert not alone.whole_space


@pytest.mark.parametrize(
    ("feasible", "lo", "hi"),
    [
        (sets.WholeSpace(), [-INF, -INF], [INF, INF]),
        (sets.Orthant(), [0.0, 0.0], [INF, INF]),
        (sets.Simplex(total=3.0), [0.0, 0.0], [3.0, 3.0]),
        (sets.L1Ball(radius=2.0), [-2.0, -2.0], [2.0, 2.0]),
        (sets.Box(lo=(-1.0, 2.0), hi=(3.0, 5.0)), [-1.0, 2.0], [3.0, 5.0]),
        (
            sets.Ball(radius=2.0),
            [math.nextafter(-2.0, -9)] * 2,
            [math.nextafter(2.0, 9)] * 2,
        ),
        (
            sets.Ball(radius=2.0, center=(1.0, -4.0)),
            [math.nextafter(-1.0, -9), math.nextafter(-6.0, -9)],
            [math.nextafter(3.0, 9), math.nextafter(-2.0, 9)],
        ),
        (
            sets.Intersection(sets=(sets.Box(lo=(-1.0, 2.0), hi=(3.0, 5.0)), sets.Orthant(), sets.L1Ball(radius=4.0))),
            [0.0, 2.0],
            [3.0, 4.0],
        ),
        (
            sets.Intersection(sets=(sets.L1Ball(radius=1.0), sets.Box(lo=(-9.0, -9.0), hi=(9.0, 9.0)))),
            [-1.0, -1.0],
            [1.0, 1.0],
        ),
    ],
)
def test_the_box_around_a_set(feasible: Any, lo: list[float], hi: list[float]) -> None:
    found = box_around(feasible, 2)
    assert (found[0].tolist(), found[1].tolist()) == (lo, hi)


# ---- periods ---------------------------------------------------------------------------------------------------------


def test_periods_of_atoms() -> None:
    assert period(scalar("sin")) == 2 * pi
    assert period(Derived(scalar("cos"), 3)) == 2 * pi
    assert period(Psi(Fraction(1, 2))) == 4
    assert period(Derived(Psi(Fraction(1, 2)), 1)) == 4
    assert period(scalar("tan")) is None
    assert period(scalar("exp")) is None


@pytest.mark.parametrize(
    ("rest", "periods"),
    [
        (None, []),
        (sin(Y) * Y, []),
        (sin(X) * Y, [2 * pi]),
        (sin(3 * X + Y) * cos(-X / 2), [2 * pi / 3, 4 * pi]),
        (sin(X) * X, None),
        (sin(X) * exp(X), None),
        (sin(X * Y), None),
        (sin(X**2) * Y, None),
        (sin(exp(X)) * Y, None),
        (sin(X) * sin(X**2), None),
        (sin(X) + cos(Y) * Y, [2 * pi]),
        (cos(Y) * X, None),
        (sin(5), []),
    ],
)
def test_periods_of_a_rest(rest: Any, periods: list[Any] | None) -> None:
    found = domains._rest_periods(rest_of(rest), 0)
    assert (None if found is None else sorted(found, key=float)) == periods


@pytest.mark.parametrize(
    ("expression", "common"),
    [
        (sin(X), 2 * pi),
        (sin(2 * X), pi),
        (sin(-X / 3), 6 * pi),
        (sin(2 * X) + cos(3 * X), 2 * pi),
        (sin(X / 2) + cos(X / 3), 12 * pi),
        (sin(4 * X) + cos(6 * X) + sin(10 * X + Y), pi),
        (sin(sqrt(2) * X) + sin(2 * sqrt(2) * X), sqrt(2) * pi),
        (sin(X) + sin(sqrt(2) * X), None),
        (sin(2 * X) + cos(3 * X) + sin(sqrt(2) * X), None),
        (psi(Rational(1, 2), X) + sin(pi * X / 3), 12),
        (psi(Rational(1, 2), X) + sin(X), None),
        (sin(X) + exp(X), None),
        (sin(X) + exp(Y), 2 * pi),
        (exp(Y), 0),
    ],
)
def test_common_periods(expression: Any, common: Any) -> None:
    found = domains._common_period(structure_of(normalise(expression), VARIABLES), 0)
    assert found == common if common is None else sympy.simplify(found - common) == 0


def test_a_rest_and_a_ridge_have_a_period_together() -> None:
    both = replace(structure_of(sin(3 * X), VARIABLES), rest=sin(2 * X) * Y)
    assert domains._common_period(both, 0) == 2 * pi
    assert one_period(both, WHOLE, 2).hi.tolist()[1] == INF  # y enters the rest outside of a wave
    neither = replace(structure_of(exp(X), VARIABLES), rest=sin(2 * X) * Y)
    assert domains._common_period(neither, 0) is None


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("ends", ENDS)
def test_one_period_stands_for_a_line(order: int, ends: tuple[float, float]) -> None:
    structure = structure_of(sin(2 * X) + Y**2 + 3 * X, VARIABLES)
    found = one_period(structure, box(ends, (-INF, INF)), order)
    if ends == (-INF, INF):
        assert found.lo[0] == 0.0
        assert math.pi < found.hi[0] <= math.nextafter(math.pi, 4)  # pi rounded up: pi lies above its float
    else:
        assert (found.lo[0], found.hi[0]) == ends
    if order == 1:  # a gradient grows with y
        assert (found.lo[1], found.hi[1]) == (-INF, INF)
    else:  # y moves nothing: any point will do
        assert (found.lo[1], found.hi[1]) == (0.0, 0.0)
    assert (found.text, found.whole_space) == ("a box", False)


def test_a_product_blocks_both_its_variables_in_a_gradient() -> None:
    structure = structure_of(sin(X) + sin(Y) + X * Y, VARIABLES)
    assert np.isinf(one_period(structure, WHOLE, 1).hi).all()
    found = one_period(structure, WHOLE, 2)
    assert found.hi == pytest.approx([2 * math.pi] * 2)
    assert found.whole_space
    assert found.text == "whole space"
    assert WHOLE.hi.tolist() == [INF, INF]  # nothing is changed in place


def test_a_rest_without_a_period_blocks_its_own_variables_only() -> None:
    structure = replace(structure_of(sin(X), VARIABLES), rest=Y * exp(Y))
    found = one_period(structure, WHOLE, 2)
    assert (found.lo.tolist(), found.hi[1]) == ([0.0, -INF], INF)
