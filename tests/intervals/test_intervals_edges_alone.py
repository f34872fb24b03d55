"""Operations on every pair of awkward intervals, exact numbers, point values: against sets of extended reals."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
import sympy
from intervals_exact import DIGITS, rational

from bilevel_verify.intervals import elementary
from bilevel_verify.intervals.batch import Interval, clean, integer_power, square_root
from bilevel_verify.intervals.elementary import ball_ends, fast_ends, point_values
from bilevel_verify.numbers.rounding import constant_ball, enclose, floats_of

pytestmark = pytest.mark.fast
INF, BIGGEST, TINY = math.inf, float(np.finfo(float).max), 5e-324
ENDS = [-INF, -BIGGEST, -3.0, -1.0, -0.1, -1e-200, -TINY, 0.0, TINY, 1e-200, 0.1, 1.0, 3.0, BIGGEST, INF]
PAIRS = [(a, b) for a in ENDS for b in ENDS if a <= b and (a, b) not in ((INF, INF), (-INF, -INF))]


def down(value):
    return math.nextafter(value, -INF)


def up(value):
    return math.nextafter(value, INF)


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(DIGITS):
        yield


def grid():
    return tuple(Interval(*map(np.array, zip(*side))) for side in zip(*product(PAIRS, PAIRS)))


def times(a, b):
    """Exact product of extended reals, infinity never attained."""
    if a == 0 or b == 0:
        return Fraction(0)
    if math.isinf(a) or math.isinf(b):
        return math.copysign(INF, a) * math.copysign(1, b)
    return Fraction(a) * Fraction(b)


def just_outside(found, low, high, exact_zero=True):
    """Ends contain the exact ones and are at most one float beyond; an exact zero end stays zero."""
    for k, (lo, hi, least, most) in enumerate(zip(found.lo.tolist(), found.hi.tolist(), low, high, strict=True)):
        assert rational(lo) <= least <= most <= rational(hi), (k, lo, hi, least, most)
        if least == 0 and exact_zero:
            assert lo == 0, (k, lo)
        else:
            assert lo >= down(down(nearest(least))), (k, lo, least)
        if most == 0 and exact_zero:
            assert hi == 0, (k, hi)
        else:
            assert hi <= up(up(nearest(most))), (k, hi, most)
        if least != 0 and abs(least) < Fraction(1, 10**330):
            assert lo in (0.0, -TINY)
        if most != 0 and abs(most) < Fraction(1, 10**330):
            assert hi in (0.0, TINY)


def nearest(value):
    try:
        return float(value)
    except OverflowError:
        return INF if value > 0 else -INF


@pytest.mark.slow
def test_products_of_all_pairs():
    a, b = grid()
    corners = [[times(x, y) for x in p for y in q] for p, q in product(PAIRS, PAIRS)]
    just_outside(a * b, [min(c) for c in corners], [max(c) for c in corners])
    alone = [a[k] * b[k] for k in range(0, len(corners), 7)]  # one row does not depend on the others
    assert [(float(c.lo), float(c.hi)) for c in alone] == list(zip((a * b).lo[::7].tolist(), (a * b).hi[::7].tolist()))


def test_sums_of_all_pairs():
    a, b = grid()
    total, difference = a + b, a - b
    for k, ((p, q), (r, s)) in enumerate(product(PAIRS, PAIRS)):
        for found, low, high in ((total, (p, r), (q, s)), (difference, (p, -s), (q, -r))):
            least = -INF if -INF in low else Fraction(low[0]) + Fraction(low[1])
            most = INF if INF in high else Fraction(high[0]) + Fraction(high[1])
            assert rational(found.lo[k]) <= least, (p, q, r, s)
            assert rational(found.hi[k]) >= most, (p, q, r, s)
            assert found.lo[k] >= down(down(nearest(least)))
            assert found.hi[k] <= up(up(nearest(most)))


def test_squares_powers_reciprocals_of_all():
    lo, hi = map(np.array, zip(*PAIRS))
    t = Interval(lo, hi)
    straddle = [p <= 0 <= q for p, q in PAIRS]
    squares = [sorted((times(p, p), times(q, q))) for p, q in PAIRS]
    just_outside(t.square(), [0 if z else s[0] for z, s in zip(straddle, squares)], [s[1] for s in squares])
    for found in (t.square(), integer_power(t, 2), t.absolute()):
        assert (found.lo >= 0).all()
    same = integer_power(t, 1)
    assert (same.lo == lo).all() & (same.hi == hi).all()
    one = integer_power(t, 0)
    assert (one.lo == 1).all() & (one.hi == 1).all()
    for k, (p, q) in enumerate(PAIRS):
        found = t.reciprocal()[k]
        if p < 0 < q or p == q == 0:
            assert (found.lo, found.hi) == (-INF, INF)
            continue
        least = -INF if q == 0 else 0 if math.isinf(q) else 1 / Fraction(q)
        most = INF if p == 0 else 0 if math.isinf(p) else 1 / Fraction(p)
        assert rational(found.lo) <= least <= most <= rational(found.hi), (p, q)
        assert found.lo >= down(down(nearest(least)))
        assert found.hi <= up(up(nearest(most)))
        middle, radius = t.centre()[k], t.radius()[k]
        assert p <= middle <= q
        assert math.isfinite(middle)
        if math.isfinite(p) and math.isfinite(q):
            assert Fraction(float(radius)) >= max(Fraction(q) - Fraction(middle), Fraction(middle) - Fraction(p)) or (
                radius == INF
            )


def test_radii_about_a_given_centre():
    generator = np.random.default_rng(31)
    lo, hi = np.sort(generator.normal(size=(2, 500)), axis=0)
    middle = generator.normal(size=500) * 3
    for k, found in enumerate(Interval(lo, hi).radius(middle)):
        exact = max(Fraction(hi[k]) - Fraction(middle[k]), Fraction(middle[k]) - Fraction(lo[k]))
        assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 2**50))


def test_one_lost_end_loses_both():
    found = clean(np.array([math.nan, 1.0]), np.array([2.0, 3.0]))
    assert (found.lo.tolist(), found.hi.tolist()) == ([-INF, 1.0], [INF, 3.0])
    found = clean(np.array([0.0, 1.0]), np.array([2.0, math.nan]))
    assert (found.lo.tolist(), found.hi.tolist()) == ([0.0, -INF], [2.0, INF])


def test_roots_of_every_pair_of_ends():
    wholes = [0.0, 1.0, 4.0, 9.0, (2.0**26 - 1) ** 2, 2.0**52, 25.0 * 2.0**50]
    beside = [float(f(w)) for w in wholes[1:] for f in (up, down)]
    generator = np.random.default_rng(32)
    rounded = [r * r for r in generator.uniform(0.5, 3, 25).tolist()]
    large = [float(r) * float(r) for r in generator.integers(2**26, 2**40, 25).tolist()]  # the square is rounded
    points = sorted([*wholes, *beside, *rounded, *large, 2.0, 7.0, 1e-300, 5e-324, 1e300])
    pairs = [(a, b) for a in points for b in points if a <= b]
    lo, hi = map(np.array, zip(*pairs))
    found = square_root(Interval(lo, hi))
    for k, (a, b) in enumerate(pairs):
        below, above = Fraction(found.lo[k]), Fraction(found.hi[k])
        assert below**2 <= a, (a, b)
        assert above**2 >= b, (a, b)
        assert found.lo[k] >= down(down(math.sqrt(a)))
        assert found.hi[k] <= up(math.sqrt(b))
        if a in wholes[:5]:
            assert found.lo[k] == math.sqrt(a)
        if b in wholes[:5]:
            assert found.hi[k] == math.sqrt(b)


# --- exact numbers


def test_numbers_have_the_working_precision():
    import flint

    saved, flint.ctx.prec = flint.ctx.prec, 120
    try:
        third, root = flint.arb(flint.fmpq(1, 3)), flint.arb(2).sqrt()
    finally:
        flint.ctx.prec = saved
    assert str(constant_ball(sympy.Rational(1, 3)).mid().man_exp()) == str(third.mid().man_exp())
    assert float(constant_ball(sympy.Rational(1, 3)).rad()) == float(third.rad())
    assert str(constant_ball(sympy.sqrt(2)).mid().man_exp()) == str(root.mid().man_exp())
    assert float(constant_ball(sympy.sqrt(2)).rad()) == float(root.rad())
    assert flint.ctx.prec == saved


def test_infinite_and_long_numbers():
    assert enclose(sympy.oo) == (INF, INF)
    assert enclose(sympy.zoo) == (INF, INF)
    assert enclose(-sympy.oo) == (-INF, -INF)
    long = sympy.Integer(2) ** 200 + 1
    assert enclose(long) == (2.0**200, up(2.0**200))
    assert enclose(-long) == (down(-(2.0**200)), -(2.0**200))


@pytest.mark.parametrize("digits", [25, 60, 300])
@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_that_cancel_are_computed_again_with_more_bits(digits, sign):
    near = sympy.Rational(str(sympy.N(sympy.pi, digits)))
    small = sign * (sympy.pi - near)
    with mpmath.workdps(2 * digits + 40):
        exact = rational(sign * (mpmath.pi - mpmath.mpf(near.p) / near.q))
        for number, value in ((small, exact), (1 / small, 1 / exact)):
            low, high = enclose(number)
            slack = abs(value) / Fraction(10**digits)
            assert Fraction(low) <= value + slack
            assert Fraction(high) >= value - slack
            assert high <= up(up(up(low)))


def test_a_number_that_cancels_too_far_keeps_an_enclosure():
    near = sympy.Rational(str(sympy.N(sympy.pi, 600)))
    low, high = enclose(sympy.pi - near)
    with mpmath.workdps(900):
        exact = rational(mpmath.pi - mpmath.mpf(near.p) / near.q)
    assert Fraction(low) <= exact <= Fraction(high)
    assert -1e-300 < low < 0 < high < 1e-300
    low, high = enclose(10**400 * (sympy.pi - near))  # not sharp with all the bits there are
    assert -1e-40 < low < 0 < high < 1e-40
    assert Fraction(low) <= exact * 10**400 <= Fraction(high)


def test_numbers_that_are_no_closed_constants():
    t = sympy.Symbol("t")
    with pytest.raises(ValueError, match="cannot enclose the number t"):
        constant_ball(t)
    for name, best in ((sympy.Max, sympy.sqrt(10)), (sympy.Min, 3)):
        for parts in ((sympy.pi, sympy.sqrt(10), 3), (3, sympy.sqrt(10), sympy.pi), (sympy.sqrt(10), 3)):
            assert floats_of(constant_ball(name(*parts, evaluate=False))) == enclose(best)
    integral = sympy.Integral(t**2, (t, 0, 1))
    assert floats_of(constant_ball(integral)) == enclose(sympy.Rational(1, 3))


def test_balls_that_are_small_but_not_nothing():
    import flint

    saved, flint.ctx.prec = flint.ctx.prec, 300
    try:
        for exponent in (-1000, -1070):
            value = flint.arb(2) ** exponent / 3
            low, high = floats_of(value)
            exact = Fraction(2) ** exponent / 3
            assert Fraction(low) <= exact <= Fraction(high)
            assert high <= up(low)
    finally:
        flint.ctx.prec = saved


# --- point values


def test_the_room_of_numpy_is_eight_units():
    found = point_values("exp", np.array([0.0]))
    assert (found.lo[0], found.hi[0]) == (1 - 8 * 2.0**-52, 1 + 8 * 2.0**-52)
    assert point_values("sinh", np.array([0.0])).hi[0] == TINY
    assert point_values("sinh", np.array([0.0])).lo[0] == -TINY


@pytest.mark.parametrize(("name", "sign"), [("exp", 1), ("sinh", 1), ("sinh", -1), ("cosh", 1), ("cosh", -1)])
def test_values_next_to_the_largest_float(name, sign):
    edge = {"exp": 709.782712893384, "sinh": 710.4758600739439, "cosh": 710.4758600739439}[name]
    points = [edge]
    for _ in range(6):
        points = [float(down(points[0])), *points, float(up(points[-1]))]
    points = np.array(points) * sign
    found = point_values(name, points)
    for lo, hi, t in zip(found.lo.tolist(), found.hi.tolist(), points.tolist(), strict=True):
        exact = rational(getattr(mpmath, name)(mpmath.mpf(t)))
        assert lo <= hi
        assert rational(lo) <= exact <= rational(hi)
        assert (hi > 0) == (exact > 0) == (lo > 0)


@pytest.mark.parametrize("balls", [False, True])
def test_values_near_zeros_of_the_function(balls):
    cases = {
        "sin": [math.pi * k for k in (1, 2, 7, 1000, -3)],
        "cos": [math.pi * (k + 0.5) for k in (0, 3, -8)],
        "log": [1.0, 1 - 2.0**-53, 1 + 2.0**-52, 1 + 2.0**-30],
        "tan": [math.pi, -math.pi],
    }
    with ball_ends() if balls else fast_ends():
        for name, points in cases.items():
            found = point_values(name, np.array(points))
            for lo, hi, t in zip(found.lo.tolist(), found.hi.tolist(), points, strict=True):
                exact = rational(getattr(mpmath, name)(mpmath.mpf(t)))
                assert rational(lo) <= exact <= rational(hi), (name, t)
                assert hi - lo <= 1e-11 * abs(float(exact)) + 1e-323


def test_balls_take_the_quick_way_for_values_of_both_signs(monkeypatch):
    asked = []
    slow = elementary._ball_value
    monkeypatch.setattr(elementary, "_ball_value", lambda name, t: asked.append(t) or slow(name, t))
    with ball_ends():
        found = point_values("sinh", np.array([-3.0, -1e-3, 2.0, 700.0, 0.0, -1e-300]))
    assert asked == [-1e-300, 0.0, 700.0]  # only what is zero, very small or very large
    assert (found.lo <= np.sinh([-3.0, -1e-3, 2.0, 700.0, 0.0, -1e-300])).all()
    assert all(np.isnan(elementary._ball_value("exp", math.nan)))
