"""Balls as an arithmetic, each rule alone: relations by their ends, powers, kinks, pieces, against 40 digits."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import pytest
import sympy
from flint import arb

from bilevel_verify.atoms import kernels
from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers import balls
from bilevel_verify.numbers.balls import BALLS, ball_atom, compare
from bilevel_verify.numbers.rounding import ball, precision

pytestmark = pytest.mark.fast
F = Fraction
FROM_ZERO = arb(0, 1) + arb(0, 1).rad()
"""A ball of [0, 2] whose lower end is exactly 0."""
NAN = arb("nan")


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mpmath.workdps(40), precision(120):
        yield


def hull(low: float, high: float) -> Any:
    return arb(low) if low == high else arb(low).union(arb(high))


def encloses(found: Any, wanted: Any, width: float | None = None) -> bool:
    """The ball holds a number of 40 digits, up to their rounding, and is hardly wider than ``width``."""
    exact = ball(mpmath.mpf(wanted))
    near = exact + arb(0, float(abs(mpmath.mpf(wanted)) * mpmath.mpf(10) ** -36) + 1e-40)
    return (
        not found.is_nan()
        and bool(found.overlaps(near))
        and (width is None or float(found.rad()) <= width * (1 + abs(float(wanted))))
    )


# --- relations


@pytest.mark.parametrize(("a", "b"), list(product([(0, 0), (1, 1), (0, 1), (2, 3), (1, 3)], repeat=2)))
def test_relations_are_what_the_ends_say(a: tuple[int, int], b: tuple[int, int]) -> None:
    one, two = hull(*a), hull(*b)
    low, high = (float(one.lower()), float(one.upper())), (float(two.lower()), float(two.upper()))
    (a0, a1), (b0, b1) = low, high
    assert compare("lt", one, two) is (True if a1 < b0 else False if a0 >= b1 else None)
    assert compare("le", one, two) is (True if a1 <= b0 else False if a0 > b1 else None)
    equal = True if a0 == a1 == b0 == b1 else False if a1 < b0 or b1 < a0 else None
    assert compare("eq", one, two) is equal
    assert BALLS.compare("lt", one, two) is compare("lt", one, two)


@pytest.mark.parametrize("op", ["lt", "le", "eq"])
def test_what_is_no_number_is_in_no_relation(op: str) -> None:
    for one, two in ((NAN, arb(1)), (arb(1), NAN), (NAN, NAN)):
        assert compare(op, one, two) is not True


# --- arithmetic


def test_a_choice_that_is_not_decided_is_the_hull_of_both() -> None:
    joined = BALLS.select(None, arb(1), arb(5))
    assert joined.contains(arb(1))
    assert joined.contains(arb(5))
    assert BALLS.select(True, arb(1), arb(5)) == 1
    assert BALLS.select(False, arb(1), arb(5)) == 5


@pytest.mark.parametrize(
    "values", [(1.0,), (1.0, 2.0), (3.0, -1.0, 2.5), (800.0, 0.0, 801.0), (-900.0, -900.5, -901.0)]
)
def test_logarithms_of_sums(values: tuple[float, ...]) -> None:
    top = mpmath.mpf(max(values))
    wanted = top + mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(v) - top) for v in values))
    assert encloses(BALLS.logsumexp([arb(v) for v in values]), wanted, 1e-30)


@pytest.mark.parametrize("exponent", [F(1, 3), F(3, 2), F(5, 2), F(2), F(3)])
def test_positive_powers_of_a_ball_that_begins_at_zero(exponent: Fraction) -> None:
    found = BALLS.power(FROM_ZERO, exponent)
    for value in (0.0, 0.3, 1.0, 2.0):
        assert encloses(found, mpmath.mpf(value) ** (mpmath.mpf(exponent.numerator) / exponent.denominator))
    assert float(found.upper()) <= 2.0 ** float(exponent) * 1.0001


@pytest.mark.parametrize("exponent", [F(1, 3), F(3, 2)])
def test_a_ball_that_reaches_below_zero_by_rounding_has_positive_powers(exponent: Fraction) -> None:
    found = BALLS.power(arb(1, 1), exponent)
    for value in (0.0, 0.3, 2.0):
        assert encloses(found, mpmath.mpf(value) ** (mpmath.mpf(exponent.numerator) / exponent.denominator))


@pytest.mark.parametrize("exponent", [F(1, 3), F(-1, 3), F(1, 2), F(-2), F(7, 5), F(-1)])
def test_powers_of_positive_points(exponent: Fraction) -> None:
    for value in (0.25, 3.0):
        wanted = mpmath.mpf(value) ** (mpmath.mpf(exponent.numerator) / exponent.denominator)
        assert encloses(BALLS.power(arb(value), exponent), wanted, 1e-30)


def test_quotients_whole_powers_and_exact_roots() -> None:
    assert BALLS.div(arb(1), arb(4)) == 0.25
    assert BALLS.div(arb(6), arb(-3)) == -2
    assert BALLS.div(arb(1), arb(0, 1)).is_nan() or not BALLS.div(arb(1), arb(0, 1)).is_finite()
    assert BALLS.power(arb(-2), F(3)) == -8
    assert BALLS.power(arb(-2), F(-2)) == 0.25
    assert BALLS.power(arb(-2), F(0)) == 1
    for sign in (1, -1):
        cube = sign * BALLS.power(arb(0, 1), F(3))
        assert cube.contains(arb(1))  # an odd power of a ball around 0 has both signs
        assert cube.contains(arb(-1))
    square = BALLS.power(arb(0, 1), F(2))
    assert square.contains(arb(0))
    assert square.contains(arb(1))
    assert BALLS.power(arb(4), F(1, 2)).is_exact()
    assert BALLS.add(arb(1), arb(2)) == 3
    assert BALLS.mul(arb(3), arb(2)) == 6


def test_maxima_minima_and_roundings() -> None:
    assert BALLS.maximum(arb(1), arb(2)) == 2
    assert BALLS.minimum(arb(1), arb(2)) == 1
    assert BALLS.floor(arb(1.5)) == 1
    assert BALLS.ceil(arb(1.5)) == 2
    assert BALLS.absolute(arb(-2)) == 2
    assert BALLS.sign(arb(-2)) == -1
    assert BALLS.neg(arb(3)) == -3
    assert encloses(BALLS.constant(F(1, 3)), mpmath.mpf(1) / 3, 1e-30)
    assert encloses(BALLS.constant(sympy.sqrt(2)), mpmath.sqrt(2), 1e-30)


# --- smooth atoms

SMOOTH: dict[str, Any] = {
    "sigmoid": lambda t: 1 / (1 + mpmath.exp(-t)),
    "softplus": lambda t: mpmath.log(1 + mpmath.exp(t)),
    "logcosh": lambda t: mpmath.log(mpmath.cosh(t)),
    "sqrt": mpmath.sqrt,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "asinh": mpmath.asinh,
    "log1psquare": lambda t: mpmath.log(1 + t * t),
    "exp": mpmath.exp,
    "log": mpmath.log,
    "sin": mpmath.sin,
    "atan": mpmath.atan,
    "erf": mpmath.erf,
}


@pytest.mark.parametrize("name", sorted(SMOOTH))
@pytest.mark.parametrize("order", range(4))
def test_derivatives_of_smooth_atoms(name: str, order: int) -> None:
    points = (0.375, 2.0) if name in ("sqrt", "log") else (-1.5, 0.375, 2.0)
    for point in points:
        wanted = mpmath.diff(SMOOTH[name], mpmath.mpf(point), order)
        found = ball_atom(name, order, arb(point), ())
        assert abs(float(found.mid()) - float(wanted)) <= 1e-12 * (1 + abs(float(wanted)))
        assert float(found.rad()) <= 1e-25 * (1 + abs(float(wanted)))
        assert ball_atom(name, order, arb(point, 0.01), ()).contains(arb(float(wanted)))


def test_an_atom_that_is_not_known_is_refused() -> None:
    with pytest.raises(MathematicalError, match="not known"):
        ball_atom("nothing", 0, arb(1), ())


def test_a_ball_too_wide_for_a_series_says_nothing() -> None:
    assert ball_atom("log", 1, arb(0, 1), ()).is_nan() or not ball_atom("log", 1, arb(0, 1), ()).is_finite()


# --- powers with a kink


def power_atom(name: str, order: int, p: Fraction, t: float) -> mpmath.mpf:
    """The derivative away from 0, from its definition."""
    factor = mpmath.mpf(1)
    for j in range(order):
        factor *= mpmath.mpf(p.numerator) / p.denominator - j
    size = mpmath.mpf(abs(t)) ** (mpmath.mpf((p - order).numerator) / (p - order).denominator)
    side = 1 if t > 0 else -1
    if name == "pluspow":
        return factor * size if t > 0 else mpmath.mpf(0)
    return factor * size * side ** (order + (name == "sgnpow"))


POWERS = list(product(["abspow", "sgnpow", "pluspow"], [F(1), F(3, 2), F(2), F(5, 2), F(3), F(4)], range(4)))


@pytest.mark.parametrize(("name", "p", "order"), POWERS)
def test_powers_with_a_kink_at_points_and_over_balls(name: str, p: Fraction, order: int) -> None:
    points = (-2.0, -0.5, 0.5, 2.0)
    for t in points:
        assert encloses(ball_atom(name, order, arb(t), (p,)), power_atom(name, order, p, t), 1e-30)
    for low, high in ((-1.0, 3.0), (-3.0, 1.0), (-2.5, 2.5), (-0.5, 0.25), (-0.25, 0.5)):
        found = ball_atom(name, order, hull(low, high), (p,))
        if found.is_nan():
            assert p < order
            continue
        for t in (*points, 0.125, -0.125, low, high, 1e-9, -1e-9):
            if low <= t <= high:
                assert encloses(found, power_atom(name, order, p, t))
        if p >= order:
            most = max(abs(power_atom(name, order, p, t)) for t in (low, high))
            assert float(abs(found).upper()) <= float(most) * 1.0001 + 1e-6


@pytest.mark.parametrize("name", ["abspow", "sgnpow", "pluspow"])
def test_a_whole_power_has_no_derivative_beyond_its_degree(name: str) -> None:
    for p, order in ((F(1), 2), (F(1), 3), (F(2), 3)):
        for where in (arb(0.5), arb(-0.5), hull(-1.0, 2.0)):
            assert ball_atom(name, order, where, (p,)).is_zero()


@pytest.mark.parametrize(("name", "p", "order"), [(n, p, k) for n, p, k in POWERS if p >= k])
def test_powers_with_a_kink_at_zero(name: str, p: Fraction, order: int) -> None:
    """0 where a power is left; both sides where none is."""
    found = ball_atom(name, order, arb(0), (p,))
    if p > order:
        assert found.is_zero()
    else:
        for t in (-1.0, 1.0):
            assert encloses(found, power_atom(name, order, p, t))


# --- Huber's function


def huber(order: int, d: Fraction, t: float) -> mpmath.mpf:
    delta, inside = mpmath.mpf(d.numerator) / d.denominator, abs(t) <= d
    side = 1 if t > 0 else -1
    if order == 0:
        return mpmath.mpf(t) ** 2 / 2 if inside else delta * abs(mpmath.mpf(t)) - delta**2 / 2
    if order == 1:
        return mpmath.mpf(t) if inside else delta * side
    return mpmath.mpf(1 if inside and order == 2 else 0)


@pytest.mark.parametrize(("order", "d"), list(product(range(4), [F(1, 2), F(1), F(3, 2)])))
def test_the_function_of_huber_on_its_three_pieces_and_over_its_corners(order: int, d: Fraction) -> None:
    points = (-3.0, -0.25, 0.25, 3.0)
    for t in points:
        assert encloses(ball_atom("huber", order, arb(t), (d,)), huber(order, d, t), 1e-30)
    for low, high in ((-4.0, 0.5), (-0.5, 4.0), (-4.0, 4.0)):
        found = ball_atom("huber", order, hull(low, high), (d,))
        for t in (*points, low, high):
            if low <= t <= high:
                assert encloses(found, huber(order, d, t))


def test_huber_has_no_derivative_beyond_the_second() -> None:
    for order in (3, 4, 5):
        assert all(ball_atom("huber", order, arb(t), (F(1),)).is_zero() for t in (-3, 0.25, 3))


# --- the period-4 function


@pytest.mark.parametrize(("order", "nu"), list(product(range(4), [F(1, 2), F(1), F(1, 4)])))
def test_the_periodic_function_on_every_piece_and_over_several(order: int, nu: Fraction) -> None:
    kernel = kernels.multiprecision("psi", order)
    parameter = mpmath.mpf(nu.numerator) / nu.denominator
    points = [k + part for k in range(-5, 6) for part in (0.125, 0.5, 0.875)]
    for t in points:
        wanted = kernel(mpmath.mpf(t), parameter)
        found = ball_atom("psi", order, arb(t), (nu,))
        assert encloses(found, wanted, 1e-25)
    for low, high in ((0.25, 1.75), (-0.5, 0.5), (1.5, 4.5), (-3.25, 2.75), (2.875, 3.125)):
        found = ball_atom("psi", order, hull(low, high), (nu,))
        for t in [p for p in points if low <= p <= high] + [low, high]:
            assert encloses(found, kernel(mpmath.mpf(t), parameter))
    assert ball_atom("psi", order, arb(0, 20), (nu,)).is_nan()


@pytest.mark.parametrize(("low", "high"), [(0.5, 1.5), (0.75, 2.5), (0.25, 1.75), (-0.5, 1.5)])
@pytest.mark.parametrize("nu", [F(1, 2), F(1)])
def test_every_piece_of_the_periodic_function_is_taken_on_its_own_interval_alone(
    low: float, high: float, nu: Fraction
) -> None:
    """Third derivatives lie in [-1, 1]: beyond its piece a formula leaves them."""
    assert float(abs(ball_atom("psi", 3, hull(low, high), (nu,))).upper()) <= 1 + 1e-6


def test_the_slope_of_the_periodic_function_is_refused_beyond_its_order() -> None:
    with pytest.raises(MathematicalError, match="order 5"):
        balls.ball_atom("psi", 5, arb(0.5), (F(1, 2),))


def test_a_point_just_below_an_integer_lies_on_the_piece_before_it() -> None:
    below = arb(2) - arb(2) ** -80
    for order in range(4):
        wanted = kernels.multiprecision("psi", order)(mpmath.mpf(2) - mpmath.mpf(2) ** -80, mpmath.mpf(0.5))
        assert encloses(ball_atom("psi", order, below, (F(1, 2),)), wanted)


@pytest.mark.parametrize("nu", [F(1, 2), F(1)])
@pytest.mark.parametrize("t", [0.5, 1.5, 2.5, 3.5, -0.5, -1.25])
def test_the_fourth_derivative_of_the_periodic_function(nu: Fraction, t: float) -> None:
    third, parameter = kernels.multiprecision("psi", 3), mpmath.mpf(nu.numerator) / nu.denominator
    wanted = mpmath.diff(lambda s: third(s, parameter), mpmath.mpf(t))
    found = ball_atom("psi", 4, arb(t), (nu,))
    assert float(found.mid()) == pytest.approx(float(wanted), rel=1e-9)


def test_roots_of_zero_and_of_balls_that_begin_at_zero() -> None:
    root = balls._nonnegative_power(arb(0), F(1, 2))
    assert root.is_exact()
    assert root == 0
    assert balls._nonnegative_power(arb(3), F(2)) == 9
    found = balls._nonnegative_power(FROM_ZERO, F(1, 2))
    assert found.contains(arb(0))
    assert found.upper() ** 2 >= 2
    assert not balls._nonnegative_power(FROM_ZERO, F(-1, 2)).is_finite()
