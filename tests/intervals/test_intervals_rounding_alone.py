"""Every operation of interval arithmetic alone against fractions, without slack: outward by a step, and not by more."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from intervals_exact import encloses, floats, fractions, intervals, rational

from bilevel_verify import atoms
from bilevel_verify.intervals.batch import (
    Interval,
    clean,
    integer_power,
    product_of_positive,
    square_root,
    sum_of,
)
from bilevel_verify.numbers.rounding import constant_ball, down, enclose, float_above, float_below, floats_of, up

pytestmark = pytest.mark.fast
BIGGEST = float(np.finfo(float).max)


def pairs(a):
    return list(zip(fractions(a.lo), fractions(a.hi), strict=True))


def test_sums_and_differences():
    a, b = intervals(1, 400), intervals(2, 400)
    encloses(
        a + b, [p[0] + q[0] for p, q in zip(pairs(a), pairs(b))], [p[1] + q[1] for p, q in zip(pairs(a), pairs(b))]
    )
    encloses(
        a - b, [p[0] - q[1] for p, q in zip(pairs(a), pairs(b))], [p[1] - q[0] for p, q in zip(pairs(a), pairs(b))]
    )
    encloses(-a, [-p[1] for p in pairs(a)], [-p[0] for p in pairs(a)], steps=0)
    c = intervals(3, 400)
    total = sum_of([a, b, c])
    assert ((total.lo == ((a + b) + c).lo) & (total.hi == ((a + b) + c).hi)).all()
    assert (sum_of([a]).lo == a.lo).all()


def test_products():
    a, b = intervals(4, 800), intervals(5, 800)
    corners = [[x * y for x in p for y in q] for p, q in zip(pairs(a), pairs(b))]
    encloses(a * b, [min(c) for c in corners], [max(c) for c in corners], steps=2, rows=list(zip(pairs(a), pairs(b))))
    encloses(a.scaled(3.0), [3 * p[0] for p in pairs(a)], [3 * p[1] for p in pairs(a)], steps=2)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((0, 1e-200), (-1e-200, 1), 0, 1e-200),  # the negative corner is too small for a float
        ((-1e-200, 0), (0, 1e-200), 0, 0),
        ((-1e-200, 0), (-1e-200, 1), -1e-200, 0),
        ((0, 1e-200), (0, 1e-200), 0, 0),
        ((1e-200, 1), (1e-200, 1), 0, 1),
        ((-1, -1e-200), (1e-200, 1), -1, 0),
        ((0, 0), (-math.inf, math.inf), 0, 0),
        ((0, 1), (0, math.inf), 0, math.inf),
        ((-1, 0), (2, math.inf), -math.inf, 0),
    ],
)
def test_products_that_are_too_small_for_a_float_or_touch_infinity(first, second, low, high):
    for a, b in ((first, second), (second, first)):
        found = Interval.of(*a) * Interval.of(*b)
        tiny = [Fraction(x) * Fraction(y) for x in a for y in b if math.isfinite(x) and math.isfinite(y)]
        assert all(rational(found.lo) <= value <= rational(found.hi) for value in tiny)
        assert (float(found.lo), float(found.hi)) == pytest.approx((low, high), rel=1e-15, abs=1e-300)


def test_a_product_end_of_zero_is_exact_where_a_factor_is_zero():
    found = Interval(np.array([0.0, -2.0, 0.0]), np.array([3.0, 0.0, 0.0])) * Interval.of(1.0, 2.0)
    assert found.lo[0] == 0.0 == found.hi[1]
    assert found.lo[2] == 0.0 == found.hi[2]


def test_reciprocals():
    values = floats(6, 600)
    values = values[(values != 0) & (np.abs(values) > 1e-300)]
    exact = [1 / Fraction(v) for v in values.tolist()]
    encloses(Interval(values, values).reciprocal(), exact, exact, steps=2)
    positive = np.abs(values)
    lo, hi = np.minimum(positive[::2], positive[1::2]), np.maximum(positive[::2], positive[1::2])
    encloses(Interval(lo, hi).reciprocal(), [1 / v for v in fractions(hi)], [1 / v for v in fractions(lo)], steps=2)
    encloses(Interval(-hi, -lo).reciprocal(), [-1 / v for v in fractions(lo)], [-1 / v for v in fractions(hi)], steps=2)
    quotient = Interval(lo, hi) / Interval(hi, 2 * hi)
    assert all(rational(a) <= Fraction(x) / Fraction(2 * y) for a, x, y in zip(quotient.lo, lo.tolist(), hi.tolist()))
    assert (quotient.hi >= 1).all()


@pytest.mark.parametrize(
    ("lo", "hi", "low", "high"),
    [
        (0, 2, 0.5, math.inf),
        (0, 1, 1.0, math.inf),
        (-2, 0, -math.inf, -0.5),
        (-1, 1, -math.inf, math.inf),
        (0, 0, -math.inf, math.inf),
        (2, math.inf, 0.0, 0.5),
        (-math.inf, -2, -0.5, 0.0),
        (5e-324, 1, 1.0, math.inf),
    ],
)
def test_reciprocals_at_the_edges(lo, hi, low, high):
    found = Interval.of(lo, hi).reciprocal()
    for end, wanted in ((found.lo, low), (found.hi, high)):
        assert end == wanted if math.isinf(wanted) else abs(end - wanted) <= 1e-15
    assert found.lo <= low
    assert found.hi >= high


def test_a_reciprocal_that_overflows_keeps_a_finite_lower_end():
    found = Interval.of(5e-324, 5e-324).reciprocal()
    assert found.lo == BIGGEST
    assert found.hi == math.inf


@pytest.mark.parametrize("exponent", [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7])
def test_integer_powers(exponent):
    a = intervals(7 + exponent, 300)
    inside = np.abs(a.lo) < 1e30
    a = Interval(np.where(inside, a.lo, 1.0), np.where(inside & (np.abs(a.hi) < 1e30), a.hi, 2.0))
    a = Interval(np.minimum(a.lo, a.hi), np.maximum(a.lo, a.hi))
    if exponent < 0:
        a = Interval(np.maximum(np.abs(a.lo), 1e-30), np.maximum(np.abs(a.lo), 1e-30) + np.abs(a.hi))
        flip = np.arange(300) % 2 == 0
        a = Interval(np.where(flip, -a.hi, a.lo), np.where(flip, -a.lo, a.hi))
    ends = [(p**exponent, q**exponent) for p, q in pairs(a)]
    zero = [exponent > 0 and p <= 0 <= q for p, q in pairs(a)]
    low = [min(*e, Fraction(0)) if z else min(e) for e, z in zip(ends, zero)]
    high = [max(e) for e in ends]
    encloses(integer_power(a, exponent), low, high, steps=4 * abs(exponent) + 2, absolute=1e-320)
    if exponent == 2:
        encloses(a.square(), low, high, steps=2)


def test_square_roots_against_their_squares():
    t = np.abs(floats(8, 1500))
    found = square_root(Interval(t, t))
    for lo, hi, value in zip(fractions(found.lo), fractions(found.hi), fractions(t)):
        assert lo >= 0
        assert lo * lo <= value <= hi * hi
    assert (found.hi <= up(up(np.sqrt(t)))).all()
    assert (found.lo >= down(down(np.sqrt(t)))).all()
    whole = np.arange(0.0, 300.0)
    exact = square_root(Interval(whole * whole, whole * whole))
    assert (exact.lo == whole).all()
    assert (exact.hi == whole).all()


def test_square_roots_of_unequal_ends_and_of_what_has_none():
    found = square_root(Interval(np.array([2.0, 4.0, 2.0, 0.0]), np.array([4.0, 7.0, 7.0, math.inf])))
    assert found.lo[1] == 2.0 == found.hi[0]
    assert found.lo[3] == 0.0
    assert found.hi[3] == math.inf
    for index in (0, 2):
        assert Fraction(found.lo[index]) ** 2 < 2
    for index in (1, 2):
        assert Fraction(found.hi[index]) ** 2 > 7
    lost = square_root(Interval.of(-1.0, 4.0))
    assert (lost.lo, lost.hi) == (-math.inf, math.inf)


def test_products_of_positive_intervals():
    a, b = (Interval(np.minimum(p, q), np.maximum(p, q)) for p, q in np.abs(floats(9, 800)).reshape(2, 2, 400))
    low = [p[0] * q[0] for p, q in zip(pairs(a), pairs(b))]
    high = [p[1] * q[1] for p, q in zip(pairs(a), pairs(b))]
    encloses(product_of_positive(a, b), low, high, steps=2)
    assert (product_of_positive(a, b).lo >= 0).all()


def test_sizes_hulls_and_meets_are_exact():
    a, b = intervals(10, 300), intervals(11, 300)
    for k, ((p, q), (r, s)) in enumerate(zip(pairs(a), pairs(b))):
        assert a.magnitude()[k] == max(abs(p), abs(q))
        assert a.mignitude()[k] == (0 if p <= 0 <= q else min(abs(p), abs(q)))
        assert (a.absolute().lo[k], a.absolute().hi[k]) == (a.mignitude()[k], a.magnitude()[k])
        assert (a.hull(b).lo[k], a.hull(b).hi[k]) == (min(p, r), max(q, s))
        assert (a.meet(b).lo[k], a.meet(b).hi[k]) == (max(p, r), min(q, s))


def test_centres_and_radii():
    a = intervals(12, 400)
    centre, radius = fractions(a.centre()), fractions(a.radius())
    for (p, q), c, r in zip(pairs(a), centre, radius):
        assert p <= c <= q
        assert r >= max(q - c, c - p)
        assert r <= (q - p) / 2 * (1 + Fraction(1, 2**40)) + Fraction(1, 10**300) + abs(c) / 2**50
    away = Interval.of([1.0, 1.0, 1.0], [2.0, 2.0, 2.0]).radius(np.array([0.9, 2.3, 1.5]))
    assert all(
        Fraction(found) >= exact for found, exact in zip(away, [Fraction(11, 10), Fraction(13, 10), Fraction(1, 2)])
    )
    assert away == pytest.approx([1.1, 1.3, 0.5], rel=1e-14)
    ends = Interval(np.array([-math.inf, 3.0, -math.inf, -BIGGEST]), np.array([-5.0, math.inf, math.inf, BIGGEST]))
    assert ends.centre().tolist() == [-5.0, 3.0, 0.0, 0.0]


def test_nan_and_infinity_widen():
    found = clean(np.array([math.nan, 1.0, 0.0]), np.array([2.0, math.nan, 1.0]))
    assert found.lo.tolist() == [-math.inf, -math.inf, 0.0]
    assert found.hi.tolist() == [math.inf, math.inf, 1.0]
    whole = Interval.of(-math.inf, math.inf)
    for found in (whole + whole, whole - whole, whole * whole, Interval.of(math.nan)):
        assert (found.lo, found.hi) == (-math.inf, math.inf)
    large = Interval.of(BIGGEST) + Interval.of(BIGGEST)
    assert (large.lo, large.hi) == (BIGGEST, math.inf)
    large = Interval.of(-BIGGEST) - Interval.of(BIGGEST)
    assert (large.lo, large.hi) == (-math.inf, -BIGGEST)
    assert Interval.of([1.0, 2.0]).shape == (2,)
    assert Interval.of([1.0, 2.0])[1].hi == 2.0


# --- exact numbers


def test_floats_below_and_above_rationals():
    generator = np.random.default_rng(13)
    for _ in range(500):
        value = Fraction(int(generator.integers(-(10**15), 10**15)), int(generator.integers(1, 10**15)))
        value *= Fraction(10) ** int(generator.integers(-20, 20))
        low, high = float_below(value), float_above(value)
        assert Fraction(low) <= value <= Fraction(high)
        assert high <= up(low)
        same = Fraction(low)
        assert float_below(same) == float_above(same) == low
    huge = Fraction(10) ** 400
    assert (float_below(huge), float_above(huge)) == (BIGGEST, math.inf)
    assert (float_below(-huge), float_above(-huge)) == (-math.inf, -BIGGEST)
    tiny = 1 / huge
    assert (float_below(tiny), float_above(tiny)) == (0.0, 5e-324)
    assert (float_below(-tiny), float_above(-tiny)) == (-5e-324, 0.0)


def test_ends_of_balls():
    import flint

    assert floats_of(flint.arb("nan")) == (-math.inf, math.inf)
    assert floats_of(flint.arb("+inf")) == (math.inf, math.inf)
    assert floats_of(flint.arb("-inf")) == (-math.inf, -math.inf)
    assert floats_of(flint.arb(3)) == (3.0, 3.0)
    wide = floats_of(flint.arb(1, 0.25))
    assert wide[0] <= 0.75
    assert wide[0] >= 0.7499
    assert 1.25 <= wide[1] <= 1.2501
    for sign in (1, -1):
        big = sorted(sign * v for v in (BIGGEST, math.inf))
        assert floats_of(flint.arb(sign) * flint.arb(2) ** 5000) == tuple(big)
        small = sorted(sign * v for v in (0.0, 5e-324))
        assert floats_of(flint.arb(sign) / flint.arb(2) ** 5000) == tuple(small)
        big = sorted(sign * v for v in (BIGGEST, math.inf))
        assert floats_of(flint.arb(sign) * flint.arb(2) ** 1100) == tuple(big)
        third = floats_of(flint.arb(sign) / 3)
        assert Fraction(third[0]) < Fraction(sign, 3) < Fraction(third[1])
        assert third[1] - third[0] < 1.2e-16


NUMBERS = [
    "pi", "E", "sqrt(2)", "-sqrt(2)/3", "2**Rational(2, 3)", "3**(-sqrt(2))", "2**pi", "(1+pi)**3", "(1+pi)**-3",
    "sin(1)", "cos(2)", "tan(1)", "exp(sqrt(2))", "log(3)", "sinh(1)", "cosh(1)", "tanh(1)", "asinh(2)", "atan(3)",
    "erf(1)", "gamma(Rational(1, 3))", "acos(Rational(1, 3))", "asin(Rational(1, 3))", "cot(1)", "sech(1)",
    "atanh(Rational(1, 3))", "Abs(1 - pi)", "Max(pi, sqrt(10), 3)", "Min(pi, sqrt(10), 22*E/19)", "1 + pi + sqrt(2)",
    "-7*pi*sqrt(2)", "Rational(1, 3)", "1 - pi*pi/10",
]  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_exact_numbers_against_sixty_digits(text):
    number = sympy.sympify(text)
    low, high = enclose(number)
    value = rational(sympy.N(number, 60)._to_mpmath(220))
    assert Fraction(low) <= value <= Fraction(high)
    assert high - low <= 3e-16 * abs(high) or high <= up(low)


def test_exact_numbers_that_are_floats_or_infinite_or_none():
    assert enclose(sympy.Rational(3, 4)) == (0.75, 0.75)
    assert enclose(sympy.oo) == (math.inf, math.inf) == enclose(sympy.zoo)
    assert enclose(-sympy.oo) == (-math.inf, -math.inf)
    assert floats_of(constant_ball(sympy.Float("0.5"))) == (0.5, 0.5)
    assert floats_of(constant_ball(sympy.Abs(1 - sympy.pi, evaluate=False)))[0] == pytest.approx(math.pi - 1)
    with pytest.raises(ValueError, match="cannot enclose the number"):
        constant_ball(sympy.Symbol("x"))


def test_the_working_precision_is_restored_also_after_an_error():
    import flint

    before = flint.ctx.prec
    constant_ball(sympy.pi, 333)
    assert flint.ctx.prec == before
    with pytest.raises(ValueError, match="cannot enclose"):
        constant_ball(sympy.Symbol("x"), 333)
    assert flint.ctx.prec == before
    assert constant_ball(sympy.pi, 333).rel_accuracy_bits() > 300


def test_numbers_that_cancel_get_more_digits():
    nearly = sympy.sqrt(10**40 + 1) - 10**20
    low, high = enclose(nearly)
    value = rational(sympy.N(nearly, 60)._to_mpmath(220))
    assert Fraction(low) <= value <= Fraction(high)
    assert high - low <= 1e-14 * high
    lost = sympy.log(sympy.sqrt(10**100 + 1) - 10**50)  # at first a ball around 0, whose logarithm is anything
    low, high = enclose(lost)
    value = rational(sympy.N(lost, 60)._to_mpmath(220))
    assert Fraction(low) <= value <= Fraction(high)
    assert high - low <= 1e-13


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (atoms.softplus(sympy.Rational(3, 8)), 0.89812326413984002),
        (atoms.sigmoid(sympy.Rational(3, 8)), 0.59266659995406963),
        (atoms.logcosh(sympy.Rational(3, 8)), 0.068723825554954639),
        (atoms.sigmoid_d(2, sympy.Rational(3, 8)), -0.044741825488317375),
    ],
    ids=str,
)
def test_own_atoms_at_numbers_are_numbers(number: sympy.Expr, value: float) -> None:
    """A coefficient ``sigmoid_d(2, 3/8)`` of a derivative ended in a bare ValueError."""
    low, high = enclose(number)
    assert low <= value <= high
    assert high - low <= 1e-15
