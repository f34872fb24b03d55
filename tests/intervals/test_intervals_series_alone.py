"""Jets and the arithmetics of programs at their edges: constants, widths, ties, open branches, exact ends."""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest
from intervals_exact import DIGITS, rational
from intervals_tensors import tensor_of

from bilevel_verify.intervals import jet_arithmetic
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.jet_arithmetic import JetArithmetic, softmax_ranges, value_of_logsumexp
from bilevel_verify.intervals.jets import (
    Jet,
    Plan,
    _segment_sum,
    add,
    coefficients_of,
    compose,
    jet_space,
    multiply,
    substitute,
    zero_jet,
)
from bilevel_verify.intervals.scalar import scalar
from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.rounding import enclose, floats_of, precision

pytestmark = pytest.mark.fast
INF, U = math.inf, 2.0**-53

BALLS = ArbBalls()


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(DIGITS):
        yield


def variables(n, order, lo, hi):
    return JetArithmetic(n, order).variables(np.atleast_2d(np.array(lo, float)), np.atleast_2d(np.array(hi, float)))


def ends(found):
    return np.ravel(found.lo).tolist(), np.ravel(found.hi).tolist()


# --- jets


def test_sums_of_rows_get_the_room_of_their_length():
    plan = Plan(None, None, np.array([0, 3, 4]), (0, 1, 2), 4)
    lo = np.array([[1.0], [-1.0], [0.0], [5.0], [0.5], [2.0], [-3.0], [0.5]])
    hi = np.array([[3.0], [-1.0], [-2.0], [6.0], [1.5], [2.0], [-3.0], [-0.5]])
    found = _segment_sum(Interval(lo, hi), plan)
    unit = 4 * U * 1.01
    assert found.lo[0, 0] == pytest.approx(-2.0 * unit, rel=1e-12, abs=1e-300)
    assert found.hi[0, 0] == pytest.approx(6.0 * unit, rel=1e-12, abs=1e-300)
    assert (found.lo[1, 0], found.hi[1, 0]) == (5.0, 6.0)  # a row alone is not rounded
    assert found.lo[2, 0] == pytest.approx(-6.0 * unit, rel=1e-12, abs=1e-300)
    assert found.hi[2, 0] == pytest.approx(7.0 * unit, rel=1e-12, abs=1e-300)
    generator = np.random.default_rng(50)
    values = generator.normal(size=(40, 25)) * 10.0 ** generator.integers(-3, 3, (40, 25))
    long = Plan(None, None, np.array([0, 30]), (0, 1), 30)
    found = _segment_sum(Interval(values, values), long)
    for k in range(25):
        for row, part in enumerate((values[:30, k], values[30:, k])):
            assert Fraction(found.lo[row, k]) <= sum(map(Fraction, part)) <= Fraction(found.hi[row, k])


def test_products_have_their_own_plans():
    space = jet_space(2, 2)
    plan = space.plan((0, 1), (0, 2))
    assert plan.support == (0, 1, 2, space.place[1, 1])
    assert plan.longest == 1
    assert (plan.left.tolist(), plan.right.tolist(), plan.starts.tolist()) == ([0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 2, 3])
    other = space.plan((0, 2), (0, 1))
    assert other is not plan
    assert other.left.tolist() == [0, 0, 1, 1]
    assert space.plan((0, 1), (0, 1)).support == (0, 1, space.place[2, 0])
    assert space.plan((0, 1), (0, 1)).longest == 2
    assert space.plan((0, 1), (0, 2)) is plan
    empty = space.plan((), (0, 1))
    assert (empty.support, empty.longest) == ((), 0)


def test_what_vanishes_has_no_rows_and_one_column():
    space = jet_space(2, 2)
    nothing = zero_jet(space)
    assert nothing.support == ()
    assert nothing.data.lo.shape == nothing.data.hi.shape == (0, 1)
    assert ends(nothing.constant_term()) == ([0.0], [0.0])
    assert nothing.without_constant() is nothing
    assert tensor_of(nothing, 1).shape == (1, 2)
    assert tensor_of(nothing, 1).hi.shape == (1, 2)
    assert coefficients_of(nothing, 2).shape == (3, 1)
    u = variables(2, 2, [[0, 1], [2, 3]], [[1, 2], [3, 4]])[0]
    assert add(nothing, u) is u
    assert add(u, nothing) is u
    assert multiply(u, nothing).support == multiply(nothing, u).support == multiply(nothing, nothing).support == ()
    part = u.without_constant()
    assert part.support == u.support[1:]
    assert part.without_constant() is part
    assert part.row(0) is None
    assert ends(part.constant_term()) == ([0.0], [0.0])
    cube = multiply(multiply(part, part), part)  # of degree three in a space of order two
    assert cube.support == ()
    assert multiply(cube, cube).support == ()


def test_sums_of_unequal_supports_and_widths_are_exact_where_only_one_side_counts():
    u, v = variables(2, 2, [[0.1, 1], [2, 3], [0, 0]], [[1, 2], [3, 4], [0.5, 1]])
    arithmetic = JetArithmetic(2, 2)
    third = arithmetic.constant(Fraction(1, 3))
    for total in (add(u, v), add(v, u)):
        assert ends(coefficients_of(total, 1)) == ([1.0] * 6, [1.0] * 6)
        value = total.constant_term()
        for k, (a, b) in enumerate([(1.1, 3.0), (5.0, 7.0), (0.0, 1.5)]):
            assert value.lo[k] == pytest.approx(a, rel=1e-15, abs=1e-300)
            assert value.lo[k] <= a
            assert value.hi[k] >= b
            assert value.hi[k] == pytest.approx(b, rel=1e-15)
    for total in (add(u, third), add(third, u)):
        assert total.constant_term().lo.shape == (3,)
        assert ends(coefficients_of(total, 1)) == ([1.0] * 3 + [0.0] * 3, [1.0] * 3 + [0.0] * 3)
        assert Fraction(total.constant_term().lo[1]) <= 2 + Fraction(1, 3) <= Fraction(total.constant_term().hi[1])
    slopes = u.without_constant()
    for total in (add(slopes, third), add(third, slopes)):
        assert total.support == u.support
        assert total.data.lo.shape == total.data.hi.shape == (2, 3) if slopes.data.lo.shape[1] == 3 else (2, 1)
        assert ends(coefficients_of(total, 1))[0][0] == 1.0
    same = add(u, u)
    assert same.support == u.support
    assert same.constant_term().hi[1] == pytest.approx(6.0)
    mixed = add(add(u, multiply(u, v)), multiply(v, v))
    bends = coefficients_of(mixed, 2)
    assert bends.lo[:, 0] == pytest.approx([0.0, 1.0, 2.0])
    assert coefficients_of(mixed, 1).hi[:, 1] == pytest.approx([1 + 4, 3 + 8])


def test_squares_know_that_both_factors_are_one():
    u, v = variables(2, 2, [[-1.0, -2.0], [1.0, 2.0]], [[1.0, 3.0], [2.0, 3.0]])
    square = multiply(u, u)
    assert square.constant_term().lo.tolist() == [0.0, pytest.approx(1.0)]
    assert square.constant_term().hi == pytest.approx([1.0, 4.0])
    plain = multiply(u, Jet(u.space, u.support, u.data))
    assert plain.constant_term().lo[0] < -0.9
    product = multiply(u, v)
    twice = multiply(product, product)
    assert twice.constant_term().lo[0] == 0.0
    assert twice.constant_term().hi[0] == pytest.approx(9.0)
    assert coefficients_of(twice, 2).lo[0, 0] >= -1e-300  # 2 v^2
    assert coefficients_of(twice, 2).hi[0, 0] == pytest.approx(18.0)
    assert coefficients_of(twice, 1).lo[0, 1] == pytest.approx(2 * 1 * 4)
    fourth = substitute([Interval.of(np.zeros(2)), *[Interval.of(np.zeros(2))], Interval.of(np.ones(2) * 2)], product)
    assert coefficients_of(fourth, 2).lo[0, 0] >= -1e-300


def test_even_powers_of_the_nilpotent_part_are_squares():
    u, v = variables(2, 4, [[-1.0, -2.0]], [[1.0, 3.0]])
    zero, one = Interval.of(np.zeros(1)), Interval.of(np.full(1, 24.0))
    found = substitute([zero, zero, zero, zero, one], multiply(u, v))
    row = found.space.of_degree(4).index(found.space.place[4, 0])
    assert coefficients_of(found, 4).lo[row, 0] >= -1e-300  # 24 v^4
    assert coefficients_of(found, 4).hi[row, 0] == pytest.approx(24 * 81)


def test_substitution_skips_what_is_zero_and_nothing_else():
    (u,) = variables(1, 3, [[0.2], [0.3]], [[0.4], [0.5]])
    zero, one = Interval.of(np.zeros(2)), Interval.of(np.ones(2))
    found = substitute([one, one, zero, zero], u)
    assert found.support == (0, 1)
    lo, hi = ends(coefficients_of(found, 1))
    assert min(lo) >= math.nextafter(1.0, 0)
    assert max(hi) <= math.nextafter(1.0, 2)
    for low, high in ((0.0, 5.0), (-5.0, 0.0)):
        found = substitute([one, zero, Interval.of(np.full(2, low), np.full(2, high)), zero], u)
        second = coefficients_of(found, 2)
        assert second.lo == pytest.approx(np.full((1, 2), low), rel=1e-14, abs=1e-300)
        assert second.hi == pytest.approx(np.full((1, 2), high), rel=1e-14, abs=1e-300)
    constant = JetArithmetic(1, 3).constant(Fraction(2))
    assert substitute([one, one, one, one], constant).support == (0,)
    quintic = substitute([one, zero, zero, Interval.of(np.full(2, 6.0))], u)
    assert coefficients_of(quintic, 3).lo == pytest.approx(np.full((1, 2), 6.0))
    shifted = compose(scalar("exp"), u)
    again = compose(scalar("sin"), u, 1)
    assert shifted.constant_term().lo == pytest.approx(np.exp([0.2, 0.3]))
    assert again.constant_term().hi == pytest.approx(np.cos([0.2, 0.3]))


def test_derivatives_of_degree_one_are_handed_on_exactly():
    u, v = variables(2, 2, [[0.2, 0.7]], [[0.4, 0.8]])
    total = add(u, v)
    assert ends(tensor_of(total, 1)) == ([1.0, 1.0], [1.0, 1.0])
    assert ends(coefficients_of(total, 1)) == ([1.0, 1.0], [1.0, 1.0])
    product = multiply(u, v)
    assert (
        tensor_of(product, 2).lo[0, 0, 1] == tensor_of(product, 2).lo[0, 1, 0] == coefficients_of(product, 2).lo[1, 0]
    )
    assert jet_space(3, 4).factorial[jet_space(3, 4).place[2, 2, 0]] == 4
    assert jet_space(3, 4).factorial[jet_space(3, 4).place[0, 4, 0]] == 24


# --- programs on jets


def test_constants_with_one_end_at_zero_are_not_nothing():
    arithmetic = JetArithmetic(1, 1)
    for sign in (1, -1):
        tiny = arithmetic.constant(Fraction(sign, 10**400))
        assert tiny.support == (0,)
        assert ends(tiny.data) == (([0.0], [5e-324]) if sign > 0 else ([-5e-324], [0.0]))
        assert tiny.data.lo.shape == tiny.data.hi.shape == (1, 1)
    assert arithmetic.constant(Fraction(0)).support == ()
    assert arithmetic.constant(0).data.hi.shape == (0, 1)
    assert enclose(Fraction(1, 10**400)) == (0.0, 5e-324)
    assert enclose(0.1) == (0.1, 0.1)
    assert enclose(3) == (3.0, 3.0)


def test_relations_with_zero_have_exact_answers():
    boxes = [(0, 0), (0, 1), (-1, 0), (-1, 1), (1, 2), (-2, -1)]
    arithmetic = JetArithmetic(1, 1)
    (u,) = arithmetic.variables(*(np.array(side, float)[:, None] for side in zip(*boxes)))
    zero = arithmetic.constant(Fraction(0))
    for op, wanted in {
        "lt": ([hi < 0 for _, hi in boxes], [lo >= 0 for lo, _ in boxes]),
        "le": ([hi <= 0 for _, hi in boxes], [lo > 0 for lo, _ in boxes]),
        "eq": ([lo == hi == 0 for lo, hi in boxes], [lo > 0 or hi < 0 for lo, hi in boxes]),
    }.items():
        true, false = arithmetic.compare(op, u, zero)
        assert (true.tolist(), false.tolist()) == wanted


def test_kinks_at_the_end_of_a_box_are_decided():
    arithmetic = JetArithmetic(1, 3)
    (u,) = arithmetic.variables(np.array([[-1.0], [0.0], [-1.0]]), np.array([[0.0], [1.0], [1.0]]))
    zero = arithmetic.constant(Fraction(0))
    square = multiply(u, u)
    for op, decided, slopes in (("minimum", 0, [1, 0, 0]), ("maximum", 1, [0, 1, 0])):
        found = getattr(arithmetic, op)(u, zero)
        assert ends(coefficients_of(found, 1)) == (slopes, [1, 1, 1])
        for order in (2, 3):
            curved = coefficients_of(found, order)
            assert (curved.lo[0, decided], curved.hi[0, decided]) == (0.0, 0.0)
            assert (curved.lo[0, 2], curved.hi[0, 2]) == (-INF, INF)
            assert (curved.lo[0, 1 - decided], curved.hi[0, 1 - decided]) == (-INF, INF)
    found = arithmetic.maximum(square, u)
    assert np.isfinite(coefficients_of(found, 1).lo).all()
    assert coefficients_of(found, 3).lo[0, 2] == -INF


def test_open_branches_are_hulls_of_unequal_jets():
    arithmetic = JetArithmetic(1, 2)
    (u,) = arithmetic.variables(np.zeros((3, 1)), np.ones((3, 1)))
    test = np.array([True, False, False]), np.array([False, True, False])
    ten = arithmetic.constant(Fraction(10))
    for yes, no, value, slope in (
        (u, ten, ([0, 10, 0], [1, 10, 10]), ([1, 0, 0], [1, 0, 1])),
        (ten, u, ([10, 0, 0], [10, 1, 10]), ([0, 1, 0], [0, 1, 1])),
    ):
        found = arithmetic.select(test, yes, no)
        assert ends(found.constant_term()) == value
        assert ends(coefficients_of(found, 1)) == slope
        assert ends(coefficients_of(found, 2)) == ([0.0] * 3, [0.0] * 3)
    open_ = np.array([False]), np.array([False])
    found = arithmetic.select(open_, u, ten, kink=True)
    assert ends(coefficients_of(found, 2)) == ([-INF] * 3, [INF] * 3)
    assert ends(coefficients_of(found, 1)) == ([0.0] * 3, [1.0] * 3)
    nine = arithmetic.constant(Fraction(9))
    found = arithmetic.select((test[0], np.zeros(3, bool)), nine, ten, kink=True)
    assert ends(found.constant_term()) == ([9, 9, 9], [9, 10, 10])
    assert ends(coefficients_of(found, 2)) == ([0.0, -INF, -INF], [0.0, INF, INF])
    assert ends(coefficients_of(found, 1)) == ([0.0] * 3, [0.0] * 3)
    decided = arithmetic.select((np.ones(3, bool), np.zeros(3, bool)), u, ten, kink=True)
    assert ends(coefficients_of(decided, 2)) == ([0.0] * 3, [0.0] * 3)
    nothing = arithmetic.select(test, u, arithmetic.constant(Fraction(0)))
    assert ends(nothing.constant_term()) == ([0, 0, 0], [1, 0, 1])


def test_truth_values_of_several_boxes():
    arithmetic = JetArithmetic(1, 1)
    yes, no = (np.array([True, False]), np.array([False, False])), (np.array([False, False]), np.array([True, False]))
    true, false = arithmetic.logical("and", [yes, (np.array([True]), np.array([False]))])
    assert (true.tolist(), false.tolist()) == ([True, False], [False, False])
    true, false = arithmetic.logical("or", [no, (np.array([False]), np.array([True]))])
    assert (true.tolist(), false.tolist()) == ([False, False], [True, False])
    assert bool(arithmetic.logical("false", [])[0]) is False
    assert bool(arithmetic.logical("true", [])[1]) is False


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_logarithms_of_sums_over_three_boxes(count):
    arithmetic = JetArithmetic(2, 3)
    points = np.array([[0.3, -0.4], [1.3, 0.2], [-0.6, 0.9]])
    u, v = arithmetic.variables(points, points)
    parts = [u, multiply(u, v), add(v, arithmetic.constant(Fraction(1, 3))), multiply(v, v)][:count]
    found = arithmetic.logsumexp(parts)

    def function(x, y):
        return mpmath.log(mpmath.fsum(map(mpmath.exp, [x, x * y, y + mpmath.mpf(1) / 3, y * y][:count])))

    for order in range(4):
        tensor = tensor_of(found, order)
        for k, point in enumerate(points.tolist()):
            for first in range(order + 1):
                exact = mpmath.diff(function, tuple(map(mpmath.mpf, point)), (first, order - first))
                at = (min(k, tensor.lo.shape[0] - 1), *([0] * first + [1] * (order - first)))
                assert mpmath.mpf(float(tensor.lo[at])) <= exact + mpmath.mpf(10) ** -14
                assert mpmath.mpf(float(tensor.hi[at])) >= exact - mpmath.mpf(10) ** -14
                assert tensor.hi[at] - tensor.lo[at] < 1e-11


@pytest.mark.parametrize("lopsided", [None, "below", "above"])
def test_softmax_and_its_logarithm_with_large_differences(monkeypatch, lopsided):
    if lopsided:
        true = jet_arithmetic.point_values

        def wide(name, points):
            found = true(name, points)
            room = 1e-4 * np.where(np.isfinite(found.lo), np.abs(found.lo), 0)
            return Interval(found.lo - room, found.hi) if lopsided == "below" else Interval(found.lo, found.hi + room)

        monkeypatch.setattr(jet_arithmetic, "point_values", wide)
    generator = np.random.default_rng(51)
    count = 60 if lopsided else 400
    first = generator.uniform(-100, 100, count)
    parts = [first, first - generator.uniform(-60, 60, count), generator.uniform(-100, 100, count)]
    parts[2][:20] = parts[0][:20]
    values = [Interval(p, p) for p in parts]
    weights, total = softmax_ranges(values), value_of_logsumexp(values)
    for k in range(count):
        numbers = [mpmath.mpf(float(p[k])) for p in parts]
        exact = mpmath.log(mpmath.fsum(map(mpmath.exp, numbers)))
        assert rational(total.lo[k]) <= rational(exact) <= rational(total.hi[k])
        for weight, number in zip(weights, numbers, strict=True):
            share = rational(mpmath.exp(number - exact))
            slack = share / Fraction(10**40)
            assert weight.lo[k] >= 0
            assert weight.hi[k] <= 1
            assert rational(weight.lo[k]) <= share + slack
            assert rational(weight.hi[k]) >= share - slack
            if not lopsided:
                assert weight.hi[k] - weight.lo[k] <= 1e-12 * float(share)
    thousand = [Interval.of([0.0, 0.0]), Interval.of([1000.0, -1000.0])]
    assert (softmax_ranges(thousand)[0].lo >= 0).all()
    assert (softmax_ranges(thousand)[0].hi <= 1).all()


# --- balls


def test_balls_keep_the_working_precision_and_ranges_are_sharp():
    with precision(120):
        a, b = flint.arb("0.7"), flint.arb("2.3")
        cases = {
            "add": (BALLS.add(a, b), 3.0), "mul": (BALLS.mul(a, b), 1.61), "neg": (BALLS.neg(a), -0.7),
            "div": (BALLS.div(a, b), 7 / 23), "root": (BALLS.power(b, Fraction(1, 2)), math.sqrt(2.3)),
            "cube": (BALLS.power(b, Fraction(3)), 2.3**3), "seven": (BALLS.power(b, Fraction(7)), 2.3**7),
            "constant": (BALLS.constant(Fraction(1, 3)), 1 / 3),
            "lse": (BALLS.logsumexp([a, b]), math.log(math.exp(0.7) + math.exp(2.3))),
        }  # fmt: skip
        for name in ("sinh", "cosh", "tanh", "exp", "sin", "cos", "log"):
            cases[name] = BALLS.atom(name, 0, a, ()), getattr(math, name)(0.7)
        cases["sin'''"] = BALLS.atom("sin", 3, a, ()), -math.cos(0.7)
        cases["cos''"] = BALLS.atom("cos", 2, a, ()), -math.cos(0.7)
        cases["exp'"] = BALLS.atom("exp", 1, a, ()), math.exp(0.7)
        for name, (found, wanted) in cases.items():
            assert found.rel_accuracy_bits() > 90, name
            assert float(found.mid()) == pytest.approx(wanted, rel=1e-14), name
        narrow, wide = flint.arb(0.7, 1e-4), flint.arb(0.7, 0.2)
        for name in ("sin", "cos", "exp", "sinh", "cosh", "tanh", "asinh", "atan", "erf", "log"):
            low, high = floats_of(BALLS.atom(name, 0, wide, ()))
            values = sorted(float(getattr(mpmath, name)(t)) for t in (0.5, 0.9))
            assert low <= values[0] < values[1] <= high
            assert float(BALLS.atom(name, 0, narrow, ()).rad()) < 2.1e-4
    for name, order, ball in (
        ("log", 0, flint.arb(0, 1e-5)),
        ("log", 0, flint.arb(0.5, 0.5)),
        ("tan", 0, flint.arb(1.5, 1)),
    ):
        assert floats_of(BALLS.atom(name, order, ball, ())) == (-math.inf, math.inf)
