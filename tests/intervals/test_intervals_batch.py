"""Interval arithmetic against exact rationals and mpmath."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy
from seeds import SEED

from bilevel_verify.intervals.batch import Interval, integer_power, square_root
from bilevel_verify.intervals.elementary import ball_ends, point_values
from bilevel_verify.numbers.rounding import enclose, float_above, float_below


def _random(rng: np.random.Generator, count: int) -> Interval:
    a = rng.normal(size=count) * 10.0 ** rng.integers(-3, 4, size=count)
    return Interval(a, a + rng.exponential(size=count) * 10.0 ** rng.integers(-12, 1, size=count))


def _inside(value: Fraction, lo: float, hi: float) -> bool:
    return (lo == -np.inf or Fraction(lo) <= value) and (hi == np.inf or value <= Fraction(hi))


def test_arithmetic_contains_exact_results() -> None:
    rng = np.random.default_rng(SEED)
    a, b = _random(rng, 400), _random(rng, 400)
    results = {"+": a + b, "-": a - b, "*": a * b, "/": a / b, "square": a.square(), "cube": integer_power(a, 3)}
    for i in range(400):
        u, v = (Fraction(x) for x in (rng.choice([a.lo[i], a.hi[i]]), rng.choice([b.lo[i], b.hi[i]])))
        exact = {"+": u + v, "-": u - v, "*": u * v, "square": u * u, "cube": u**3}
        if v:
            exact["/"] = u / v
        for name, value in exact.items():
            assert _inside(value, results[name].lo[i], results[name].hi[i]), (SEED, name, i)


def test_zero_times_infinity_is_zero() -> None:
    zero, half = Interval.of([0.0, 0.0, 0.0]), Interval.of([1.0, -np.inf, -np.inf], [np.inf, np.inf, 0.0])
    product = zero * half
    assert (product.lo == 0).all()
    assert (product.hi == 0).all()
    grown = Interval.of([0.0], [2.0]) * Interval.of([1.0], [np.inf])
    assert grown.lo[0] <= 0
    assert grown.hi[0] == np.inf


def test_division_by_an_interval_with_zero_is_the_whole_line() -> None:
    q = Interval.of([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]) / Interval.of([-1.0, 0.0, -2.0], [1.0, 2.0, 0.0])
    assert q.lo[0] == -np.inf
    assert q.hi[0] == np.inf
    assert 0.4 < q.lo[1] <= 0.5
    assert q.hi[1] == np.inf
    assert q.lo[2] == -np.inf
    assert -0.5 <= q.hi[2] < -0.4


def test_nan_never_survives() -> None:
    bad = Interval.of([np.nan], [1.0])
    assert bad.lo[0] == -np.inf
    assert bad.hi[0] == np.inf
    total = Interval.of([-np.inf], [np.inf]) - Interval.of([-np.inf], [np.inf])
    assert not np.isnan(total.lo).any()
    assert not np.isnan(total.hi).any()


@pytest.mark.parametrize(
    "name", ["exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "atan", "erf", "log1p"]
)
@pytest.mark.parametrize("balls", [False, True])
def test_elementary_functions_contain_fifty_digits(name: str, balls: bool) -> None:
    rng = np.random.default_rng(SEED + len(name))
    points = np.concatenate([rng.normal(size=60) * 3, rng.normal(size=20) * 1e-8, [0.0, 1.0, 30.0]])
    points = np.abs(points) + 1e-12 if name in ("log", "log1p") else points
    functions = {"erf": mpmath.erf, "asinh": mpmath.asinh, "atan": mpmath.atan, "log1p": mpmath.log1p}
    function = functions.get(name, getattr(mpmath, name, None))
    if balls:
        with ball_ends():
            value = point_values(name, points)
    else:
        value = point_values(name, points)
    with mpmath.workdps(50):
        for i, x in enumerate(points):
            exact = function(mpmath.mpf(float(x)))
            assert mpmath.mpf(float(value.lo[i])) <= exact <= mpmath.mpf(float(value.hi[i])), (SEED, name, x)
            assert value.hi[i] - value.lo[i] <= 4e-15 * max(abs(float(exact)), 1e-290)


def test_exact_numbers_are_enclosed() -> None:
    numbers = [
        sympy.Rational(1, 3),
        sympy.sqrt(2),
        sympy.pi,
        sympy.exp(-sympy.Rational(1, 2)),
        sympy.sqrt(5) / 2 + 1,
        sympy.cos(sympy.pi / 10) ** 5,
        2 ** sympy.Rational(3, 7),
        sympy.log(3),
        -sympy.sqrt(2) * sympy.E,
    ]
    for number in numbers:
        low, high = enclose(number)
        exact = number.evalf(60)
        assert sympy.Float(low, 60) < exact < sympy.Float(high, 60)
        assert high - low <= 3e-16 * abs(float(exact))
    assert enclose(sympy.Rational(3, 4)) == (0.75, 0.75)
    assert enclose(sympy.oo) == (np.inf, np.inf)


def test_directed_floats_of_rationals() -> None:
    third = Fraction(1, 3)
    assert Fraction(float_below(third)) < third < Fraction(float_above(third))
    huge = Fraction(10) ** 400
    assert float_below(huge) < np.inf
    assert float_above(huge) == np.inf


def test_square_roots_keep_perfect_squares() -> None:
    root = square_root(Interval.of([4.0, 2.0]))
    assert root.lo[0] == 2.0 == root.hi[0]
    assert root.lo[1] < 2**0.5 < root.hi[1] or root.lo[1] < root.hi[1]
