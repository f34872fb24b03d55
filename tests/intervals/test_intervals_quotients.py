"""Jets of quotients, degree by degree: against exact derivatives, and against the series of the reciprocal."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy

from bilevel_verify.intervals.jet_arithmetic import JetArithmetic
from bilevel_verify.intervals.jets import Jet, coefficients_of, compose, meet, multiply, quotient
from bilevel_verify.intervals.scalar import scalar
from bilevel_verify.symbolic.program import program_of

pytestmark = pytest.mark.fast
Z = sympy.symbols("z1:6", real=True)
CASES = {
    "one": (Z[0] ** 3 - 2 * Z[0] + 1, 1 + Z[0] ** 2, 1),
    "two": (Z[0] * sympy.exp(Z[1]) - 1, 2 + sympy.sin(Z[0] * Z[1]), 2),
    "negative below": (Z[0] + Z[1] ** 2, -3 - Z[0] ** 2 * Z[1] ** 2, 2),
    "four": (Z[0] * Z[1] - Z[2] ** 3 + Z[3], 1 + 2 * Z[0] ** 2 + Z[1] ** 2 / 3 + Z[2] ** 2 + (Z[3] - 1) ** 2, 4),
    "five": (Z[0] * Z[1] * Z[2] - Z[3] ** 2 + Z[4], 1 + sum(v**2 for v in Z), 5),
}


def both(top: sympy.Expr, bottom: sympy.Expr, n: int, order: int, lo: np.ndarray, hi: np.ndarray) -> tuple[Jet, Jet]:
    """Jets of numerator and denominator over boxes."""
    arithmetic = JetArithmetic(n, order)
    run = [program_of(e, list(Z[:n])).run(arithmetic, arithmetic.variables(lo, hi))[0] for e in (top, bottom)]
    return run[0], run[1]


@pytest.mark.slow
@pytest.mark.parametrize("boxes", [12, 96])
@pytest.mark.parametrize("name", CASES)
def test_every_derivative_in_a_box_is_enclosed(name: str, boxes: int) -> None:
    top, bottom, n = CASES[name]
    rng = np.random.default_rng(boxes)
    centres, radius = rng.uniform(-1, 1, (boxes, n)), np.resize([1e-6, 0.1, 0.7], boxes)[:, None]
    lo, hi = centres - radius, centres + radius
    shares = [np.zeros(n), np.ones(n), *rng.uniform(0, 1, (6, n))]
    points = [np.clip(lo + share * (hi - lo), lo, hi) for share in shares]
    entries: dict[tuple[int, ...], sympy.Expr] = {(): top / bottom}
    for order in range(4):
        found = coefficients_of(quotient(*both(top, bottom, n, order, lo, hi)), order)
        indices = list(itertools.combinations_with_replacement(range(n), order))
        for index in indices if order else ():
            entries[index] = sympy.diff(entries[index[:-1]], Z[index[-1]])
        exact = sympy.lambdify(Z[:n], [entries[index] for index in indices], cse=True)
        assert found.lo.shape == (len(indices), boxes)
        for at in points:
            for row, value in enumerate(exact(*at.T)):
                room = 1e-11 * (1 + np.abs(value))
                assert (found.lo[row] - room <= value).all(), (order, indices[row])
                assert (value <= found.hi[row] + room).all(), (order, indices[row])


def test_of_few_variables_or_boxes_no_coefficient_is_wider_than_by_the_series() -> None:
    for name in CASES:
        top, bottom, n = CASES[name]
        a, b = both(top, bottom, n, 3, np.full((3, n), -0.5), np.full((3, n), 0.25) + np.arange(3)[:, None])
        series = multiply(a, compose(scalar("power", -1), b))
        for order in range(4):
            one, other = coefficients_of(quotient(a, b), order), coefficients_of(series, order)
            assert (one.lo >= other.lo).all()
            assert (one.hi <= other.hi).all()


@pytest.mark.parametrize("boxes", [1, 100])
def test_many_variables_see_that_both_grow_together(boxes: int) -> None:
    top, bottom, n = CASES["five"]
    a, b = both(top, bottom, n, 3, np.full((boxes, n), 0.5), np.full((boxes, n), 0.6))
    series = multiply(a, compose(scalar("power", -1), b))
    one, other = coefficients_of(quotient(a, b), 3), coefficients_of(series, 3)
    assert (one.hi - one.lo).sum() < 0.8 * (other.hi - other.lo).sum()


@pytest.mark.parametrize("n", [1, 5])
def test_a_denominator_with_zero_inside_or_at_its_end_is_left_to_the_series(n: int) -> None:
    for low in (-1.0, 0.0):
        lo, hi = np.full((2, n), 0.5), np.full((2, n), 1.0)
        lo[0, 0] = low
        a, b = both(1 + Z[0] ** 2, Z[0], n, 2, lo, hi)
        found, series = quotient(a, b), multiply(a, compose(scalar("power", -1), b))
        assert found.support == series.support
        assert (found.data.lo == series.data.lo).all()
        assert (found.data.hi == series.data.hi).all()


def test_constants_below_or_above_cost_no_second_way() -> None:
    arithmetic = JetArithmetic(2, 2)
    x, _ = arithmetic.variables(np.full((1, 2), 0.5), np.full((1, 2), 1.0))
    three = arithmetic.constant(3)
    third, inverse = quotient(x, three), quotient(three, x)
    assert coefficients_of(third, 1).hi[0] == pytest.approx(1 / 3, rel=1e-15)
    assert coefficients_of(third, 2).hi.max() == 0
    assert coefficients_of(inverse, 2).lo[0] > 0  # 6 / x^3: the square of the slope is no product of two


def test_what_one_jet_does_not_store_vanishes_in_the_meet() -> None:
    arithmetic = JetArithmetic(2, 1)
    x, y = arithmetic.variables(np.full((1, 2), -0.5), np.full((1, 2), 1.0))
    assert meet(x, y).support == (0,)
    assert meet(x, multiply(x, arithmetic.constant(1))).support == x.support
