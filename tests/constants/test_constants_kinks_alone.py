"""Where smoothness is lost: kinks of atoms, ridges and rests, each side condition alone."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Integer, Rational, exp, sin

from bilevel_verify.atoms import abspow, huber, pluspow, psi, sgnpow
from bilevel_verify.constants.formula import smoothness
from bilevel_verify.constants.formula.domain import Domain
from bilevel_verify.constants.formula.smoothness import Jump, first_jump, kinks
from bilevel_verify.constants.formula.structure import Structure, normalise, structure_of
from bilevel_verify.intervals.scalar import Derived, Huber, Power, Psi, Scalar, scalar

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


# ---- kinks -----------------------------------------------------------------------------------------------------------


ONE_SIDED: list[tuple[Scalar, float, list[float] | None]] = [
    (Power(Fraction(1), "abs"), 0, [0.0]),
    (Power(Fraction(5, 2), "abs"), 2, [0.0]),
    (Power(Fraction(2), "abs"), INF, []),
    (Power(Fraction(2), "plain"), INF, []),
    (Huber(Fraction(3, 2)), 1, [-1.5, 1.5]),
    (Psi(Fraction(0)), 2, None),
    (Psi(Fraction(1, 2)), 3, None),
    (scalar("sin"), INF, []),
    (Derived(Power(Fraction(5, 2), "abs"), 1), 1, [0.0]),
    (Derived(Psi(Fraction(0)), 2), 0, None),
]


@pytest.mark.parametrize(("function", "smooth", "places"), ONE_SIDED)
def test_kinks_and_their_places(function: Scalar, smooth: float, places: list[float] | None) -> None:
    assert kinks(function) == (smooth, places)
    assert kinks(function, -9.0, 9.0) == (smooth, places)
    if places:
        assert kinks(function, 4.0, 9.0) == (INF, [])
        assert kinks(function, -9.0, -4.0) == (INF, [])
        assert kinks(function, places[-1], 9.0) == (INF, [])  # at the edge: the derivative there is one-sided
        assert kinks(function, -9.0, places[0]) == (INF, [])
        assert kinks(function, places[-1] - 0.25, 9.0) == (smooth, places[-1:])
        assert kinks(function, -9.0, places[0] + 0.25) == (smooth, places[:1])


def test_pieces_have_the_kinks_of_their_joints() -> None:
    t = sympy.Symbol("t", real=True)
    node = sympy.Piecewise((t**2, t < 0), (t**3, t < Rational(1, 3)), (t - Rational(8, 27), True))
    ridge = structure_of(normalise(node.subs(t, X)), VARIABLES).ridges[0]
    assert kinks(ridge.function)[0] == 0
    assert kinks(ridge.function)[1] == [pytest.approx(1 / 3, rel=1e-15)]
    assert kinks(ridge.function, -1.0, 0.25) == (1, [0.0])
    assert [smooth for smooth, _ in smoothness._breaks(ridge.function)] == [1, 0]


@pytest.mark.parametrize(
    ("smooth", "places", "order", "says"),
    [
        (-1, [2.0], 0, "itself jumps at a = 2"),
        (0, [2.0], 1, "derivative 1 of sin is not continuous at a = 2"),
        (1, [2.0, 3.0], 2, "derivative 2 of sin is not continuous at a = 2"),
        (3, None, 4, "derivative 4 of sin is not continuous at odd integers of a"),
    ],
)
def test_what_is_said_of_a_kink(smooth: float, places: list[float] | None, order: int, says: str) -> None:
    found = smoothness._jump_of(scalar("sin"), smooth, places, "a")
    assert (found.order, found.sure, found.where) == (order, True, {})
    assert says in found.text


@pytest.mark.parametrize(
    ("expression", "x", "order"),
    [
        (abs(X - 2), (0.0, 3.0), 1),
        (abs(X - 2), (0.0, 2 - 1e-12), None),
        (abs(X - 2), (2 + 1e-12, 3.0), None),
        (abs(3 - X), (2.0, 4.0), 1),
        (abs(X + Y), (0.5, 3.0), 1),
        (abs(X + Y), (1 + 1e-12, 3.0), None),
        (abs(X - Y), (0.5, 3.0), 1),
        (abs(X - Y), (1 + 1e-12, 3.0), None),
        (abs(2 * X - Y), (0.25, 3.0), 1),
        (abs(2 * X - Y), (0.5 + 1e-12, 3.0), None),
        (huber(1, X), (0.0, 3.0), 2),
        (huber(1, X), (-0.5, 0.5), None),
        (psi(Rational(1, 2), X), (0.0, 0.5), 4),
    ],
)
def test_the_argument_of_a_ridge_decides_whether_its_kink_is_met(
    expression: Any, x: tuple[float, float], order: int | None
) -> None:
    found = first_jump(structure_of(normalise(sympy.sympify(expression)), VARIABLES), box(x))
    assert (None if found is None else found.order) == order
    if found is not None:
        assert found.sure


@pytest.mark.parametrize(
    ("blocks", "order"),
    [
        ((), 1),
        (((0,),), 1),
        (((1,),), 3),
        (((0,), (0,)), 1),
        (((0,), (1,)), 3),
        (((1,), (1,)), 3),
        (((0, 1), (0,)), 1),
        (((2,),), None),
    ],
)
def test_a_form_sees_the_ridges_that_move_in_all_its_blocks(
    blocks: tuple[tuple[int, ...], ...], order: int | None
) -> None:
    structure = structure_of(normalise(abs(X) + abspow(Rational(5, 2), X + Y)), VARIABLES)
    found = first_jump(structure, SQUARE, blocks)
    assert (None if found is None else found.order) == order
    if found is not None:
        assert found.sure == (order == 3)  # of two kinks neither is sure: they might cancel


def test_a_kink_of_the_rest_is_not_sure_and_the_worst_one_counts() -> None:
    one = replace(structure_of(normalise(abspow(Rational(5, 2), X)), VARIABLES), rest=sympy.Max(X, Y) * Y)
    found = first_jump(one, SQUARE)
    assert found is not None
    assert (found.order, found.sure) == (1, False)
    both = replace(structure_of(normalise(abs(X)), VARIABLES), rest=sympy.Max(X, Y) * Y)
    found = first_jump(both, SQUARE)
    assert found is not None
    assert (found.order, found.sure) == (1, False)  # of equal orders the one that is not sure
    assert first_jump(rest_of(sin(X * Y)), SQUARE) is None


def jumps(expression: Any, domain: Domain = SQUARE) -> list[tuple[int, bool]]:
    return [(j.order, j.sure) for j in smoothness._rest_jumps(rest_of(expression), domain)]


PIECES = sympy.Piecewise((X**2, X < 0), (X**3, True))


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (sympy.Max(X, Y) * X, [(1, False)]),
        (sympy.Min(X, Y) * X, [(1, False)]),
        (sympy.floor(X * Y), [(0, False)]),
        (sympy.ceiling(X * Y), [(0, False)]),
        (sympy.Heaviside(X * Y), [(0, False)]),
        (abspow(Rational(5, 2), X * Y), [(3, False)]),
        (sgnpow(Rational(5, 2), X * Y), [(3, False)]),
        (pluspow(3, X * Y), [(3, False)]),
        (pluspow(3, X * Y + 2), []),
        (pluspow(3, X * Y - 2), []),
        (pluspow(3, X * Y + Rational(1, 2)), [(3, False)]),
        (abspow(2, X * Y), []),
        (huber(2, 3 * X * Y), [(2, False)]),
        (huber(4, 3 * X * Y), []),
        (psi(0, X * Y), [(3, False)]),
        (sympy.diff(abspow(Rational(5, 2), X), X).subs(X, X * Y), [(2, False)]),
        (sin(X * Y) * exp(X), []),
        (PIECES * exp(X * Y), [(2, True)]),
        (sympy.Piecewise((X, X < 0), (2 * X, True)) * Y, [(1, True)]),
        (sympy.Piecewise((X, X < 0), (1 + X, True)) * Y, [(0, True)]),
        (sympy.Piecewise((X, X < 0), (X, True), evaluate=False) * Y, []),
        (sympy.Piecewise((X, X < Y), (X**2, True)), [(0, False)]),
        (sympy.Piecewise((X, sin(X) > 0), (X**3, True)), [(0, False)]),
        (sympy.Max(X, Y) * sympy.floor(X), [(0, False), (1, False)]),
    ],
)
def test_every_node_that_may_have_a_kink_is_seen(expression: Any, found: list[tuple[int, bool]]) -> None:
    assert sorted(jumps(expression)) == found


@pytest.mark.parametrize(
    ("x", "met"),
    [
        ((-1.0, 1.0), True),
        ((0.0, 1.0), False),
        ((-1.0, 0.0), False),
        ((-1.0, 1e-12), True),
        ((-1e-12, 1.0), True),
        ((1.0, 2.0), False),
        ((-2.0, -1.0), False),
    ],
)
def test_a_joint_counts_strictly_inside(x: tuple[float, float], met: bool) -> None:
    assert jumps(PIECES * exp(X * Y), box(x)) == ([(2, True)] if met else [])
    swapped = sympy.Piecewise((Y**2, Y < 0), (Y**3, True)) * exp(X * Y)  # the joint of the second variable
    assert jumps(swapped, box((5.0, 6.0), x)) == ([(2, True)] if met else [])


def test_a_joint_is_named_with_its_place() -> None:
    third = sympy.Piecewise((X, Rational(1, 3) > X), (2 * X, True))
    found = next(smoothness._rest_jumps(rest_of(third * exp(X * Y)), SQUARE))
    assert (found.order, found.where) == (
        0,
        {"x": math.nextafter(1 / 3, 0) if Fraction(1 / 3) > Fraction(1, 3) else 1 / 3},
    )
    assert found.text.endswith("jumps at x = 1/3")
    assert not found.text.startswith("derivative")
    slope = next(smoothness._rest_jumps(rest_of(PIECES * exp(X * Y)), SQUARE))
    assert slope.text.startswith("derivative 2 of")


def test_the_range_of_an_argument_covers_its_box() -> None:
    low, high = smoothness.range_of(X * Y - X, structure_of(X * Y, VARIABLES), box((1.0, 2.0), (-3.0, 5.0)))
    assert low <= -8.0 <= low + 1.0
    assert high - 1.0 <= 9.0 <= high
    exact = smoothness.range_of(X + 2 * Y, structure_of(X * Y, VARIABLES), box((1.0, 2.0), (-3.0, 5.0)))
    assert exact == pytest.approx((-5.0, 12.0))


def test_nothing_is_lost_in_a_smooth_function() -> None:
    assert first_jump(structure_of(normalise(sin(X) + exp(Y)), VARIABLES), WHOLE) is None
    assert Jump(1, "text").where == {}


def test_a_jump_says_where_its_argument_is_as_it_was_written() -> None:
    ridge = structure_of(normalise(sympy.Abs(3 * X - 2 * Y + 1) ** Rational(3, 2)), VARIABLES)
    jump = first_jump(ridge, WHOLE)
    assert jump is not None
    assert jump.order == 2
    assert jump.text.endswith(f"is not continuous at {3 * X - 2 * Y + 1} = 0")
