"""Point values and ranges of scalar functions against 60 digits, without slack, and hardly wider."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from intervals_exact import DIGITS, encloses, rational

from bilevel_verify.intervals import arithmetics, elementary
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends, balls_in_use, fast_ends, point_values
from bilevel_verify.intervals.families import sigmoid
from bilevel_verify.intervals.powers import Power, signed_power
from bilevel_verify.intervals.rough import Derived, Huber, Psi
from bilevel_verify.intervals.scalar import scalar
from bilevel_verify.intervals.scalar_base import point
from bilevel_verify.intervals.weighted import WeightedPolynomial, hypot, rational_horner

pytestmark = pytest.mark.fast
BIGGEST = float(np.finfo(float).max)
INF = math.inf


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(DIGITS):
        yield


def exact_range(function, lo, hi, turns=()):
    """Least and largest value of a function at both ends and at the turning points inside, as exact numbers."""
    places = [mpmath.mpf(lo), mpmath.mpf(hi), *(t for t in turns if lo <= t <= hi)]
    values = [rational(function(place)) for place in places]
    return min(values), max(values)


def check(found, function, lo, hi, turns=(), **room):
    pairs = [exact_range(function, a, b, turns) for a, b in zip(np.atleast_1d(lo).tolist(), np.atleast_1d(hi).tolist())]
    encloses(
        found,
        [p[0] for p in pairs],
        [p[1] for p in pairs],
        rows=list(zip(np.atleast_1d(lo), np.atleast_1d(hi))),
        **room,
    )


# --- elementary functions at points

ELEMENTARY = {
    "exp": (mpmath.exp, -20, 20), "log": (mpmath.log, 1e-3, 50), "sin": (mpmath.sin, -9, 9), "cos": (mpmath.cos, -9, 9),
    "tan": (mpmath.tan, -1.5, 1.5), "sinh": (mpmath.sinh, -9, 9), "cosh": (mpmath.cosh, -9, 9),
    "tanh": (mpmath.tanh, -9, 9), "asinh": (mpmath.asinh, -9, 9), "atan": (mpmath.atan, -9, 9),
    "log1p": (mpmath.log1p, -0.9, 9), "erf": (mpmath.erf, -4, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTARY)
def test_point_values(name):
    function, first, last = ELEMENTARY[name]
    points = np.concatenate([np.random.default_rng(20).uniform(first, last, 60), [max(first, 1e-300), 1.0, 0.5]])
    exact = [rational(function(mpmath.mpf(p))) for p in points.tolist()]
    encloses(point_values(name, points), exact, exact, steps=20)
    assert (point_values(name, points).hi > point_values(name, points).lo).all()
    with ball_ends():
        encloses(point_values(name, points), exact, exact, steps=2)
        shaped = point_values(name, points[:6].reshape(2, 3))
    assert shaped.shape == (2, 3)
    assert (shaped.lo.ravel() <= [float(e) for e in exact[:6]]).all()


LIMITS = {
    "exp": [(0, 0), (INF, INF)], "tanh": [(-1, -1), (1, 1)], "erf": [(-1, -1), (1, 1)],
    "sinh": [(-INF, -INF), (INF, INF)],
    "cosh": [(INF, INF), (INF, INF)], "asinh": [(-INF, -INF), (INF, INF)], "log": [(-INF, INF), (INF, INF)],
    "log1p": [(-INF, INF), (INF, INF)], "sin": [(-1, 1), (-1, 1)], "cos": [(-1, 1), (-1, 1)], "tan": [(-INF, INF)] * 2,
    "atan": [(-math.pi / 2, -math.pi / 2), (math.pi / 2, math.pi / 2)],
}  # fmt: skip


@pytest.mark.parametrize("balls", [False, True])
@pytest.mark.parametrize("name", LIMITS)
def test_limits_of_elementary_functions(name, balls):
    points = np.array([-INF, INF, math.nan])
    with ball_ends() if balls else fast_ends():
        found = point_values(name, points)
    for k, (low, high) in enumerate(LIMITS[name]):
        assert found.lo[k] == pytest.approx(low, rel=1e-14, abs=1e-300)
        assert found.hi[k] == pytest.approx(high, rel=1e-14, abs=1e-300)
        assert found.lo[k] <= low
        assert found.hi[k] >= high
    if name == "atan":
        assert rational(found.lo[1]) < rational(mpmath.pi / 2) < rational(found.hi[1])
        assert rational(found.lo[0]) < -rational(mpmath.pi / 2) < rational(found.hi[0])
    bounded = {"sin": (-1, 1), "cos": (-1, 1), "tanh": (-1, 1), "erf": (-1, 1), "exp": (0, INF), "cosh": (1, INF)}
    bounded["atan"] = (math.nextafter(-math.pi / 2, -INF), math.nextafter(math.pi / 2, INF))
    assert (found.lo[2], found.hi[2]) == bounded.get(name, (-INF, INF))


@pytest.mark.parametrize("balls", [False, True])
def test_values_beyond_the_floats_are_bounded_on_the_side_that_is_known(balls):
    with ball_ends() if balls else fast_ends():
        for name, point_, low, high in [
            ("exp", 800.0, BIGGEST, INF), ("sinh", 800.0, BIGGEST, INF), ("sinh", -800.0, -INF, -BIGGEST),
            ("cosh", -800.0, BIGGEST, INF), ("log", 0.0, -INF, -INF), ("exp", -800.0, 0.0, 5e-324),
            ("log", -1.0, -INF, INF), ("log1p", -2.0, -INF, INF),
        ]:  # fmt: skip
            found = point_values(name, np.array([point_]))
            assert (found.lo[0], found.hi[0]) == (low, high), name


def test_bounded_functions_stay_in_their_bounds():
    for name, point_, low, high in [
        ("tanh", 30.0, -1, 1),
        ("erf", 9.0, -1, 1),
        ("cosh", 0.0, 1, INF),
        ("exp", -745.0, 0, 1),
    ]:
        found = point_values(name, np.array([point_, -point_ if name != "exp" else point_]))
        assert (found.lo >= low).all()
        assert (found.hi <= high).all()
    assert point_values("sin", np.array([math.pi / 2])).hi == 1.0
    assert point_values("cos", np.array([math.pi])).lo == -1.0


def test_blocks_of_balls_nest_and_end():
    assert not balls_in_use()
    with ball_ends():
        assert balls_in_use()
        with fast_ends():
            assert not balls_in_use()
        assert balls_in_use()
    assert not balls_in_use()


# --- sines: crests and troughs beside the ends


@pytest.mark.slow
@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_crests_and_troughs_next_to_an_end(name, order):
    phase = (order + (name == "cos")) % 4

    def function(t):
        return [mpmath.sin, mpmath.cos, lambda u: -mpmath.sin(u), lambda u: -mpmath.cos(u)][phase](t)

    lo, hi = [], []
    for quarter in (-7, -2, -1, 0, 1, 2, 3, 4, 9):
        turn = quarter * mpmath.pi / 2
        for gap in (0.0, 1e-12, 1e-10, 1e-8, 9e-8, 1e-6, 1e-3, 0.3):
            for first, last in (
                (turn - 1, turn - gap),
                (turn - 1, turn + gap),
                (turn - gap, turn + 0.7),
                (turn + gap, turn + 0.7),
            ):
                lo.append(float(first))
                hi.append(float(last))
    turns = [k * mpmath.pi / 2 for k in range(-12, 20)]
    lo, hi = np.array(lo), np.array(hi)
    check(scalar(name).range(order, Interval(lo, hi)), function, lo, hi, turns, steps=20, absolute=1e-12)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_long_far_and_infinite_intervals_of_a_sine(name):
    lo = np.array([0.0, -3.2, 0.0, -INF, -INF, 1.0, 2e8, -3e8, 0.0, 5e7])
    hi = np.array([6.2832, 3.2, INF, 0.0, INF, 1e9, 2e8 + 1, -3e8 + 1, 6.2831, 5e7 + 1])
    found = scalar(name).range(0, Interval(lo, hi))
    assert (found.lo[:8] == -1).all()
    assert (found.hi[:8] == 1).all()
    turns = [(20_000_000 * 25 // 16 + k) * mpmath.pi / 2 for k in range(-(10**1), 10**1)]
    check(
        found[9:],
        getattr(mpmath, name),
        lo[9:],
        hi[9:],
        [(int(5e7 * 2 / math.pi) + k) * mpmath.pi / 2 for k in range(-3, 4)] + turns,
        steps=20,
        absolute=1e-12,
    )
    many = scalar(name).ranges((0, 1, 2, 3, 4), Interval(lo, hi))
    for order, one in enumerate(many):
        alone = scalar(name).range(order, Interval(lo, hi))
        assert (one.lo == alone.lo).all()
        assert (one.hi == alone.hi).all()
    thin = scalar(name).at(1, Interval.of(0.3))
    assert thin.hi - thin.lo < 1e-14


# --- exponentials, tangent


LO = np.array([-3.0, -2.0, -0.5, 0.0, 0.25, 1.0, -1e-9, 0.1, 2.0])
HI = np.array([-1.0, 2.5, 0.0, 0.75, 1.25, 1.0, 1e-9, 3.0, 2.5])


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("name", ["exp", "sinh", "cosh"])
def test_exponentials(name, order):
    names = {"exp": ["exp"], "sinh": ["sinh", "cosh"], "cosh": ["cosh", "sinh"]}[name]
    function = getattr(mpmath, names[order % len(names)])
    check(scalar(name).range(order, Interval(LO, HI)), function, LO, HI, [mpmath.mpf(0)], steps=20)


@pytest.mark.parametrize("order", range(5))
def test_tangent_and_its_poles(order):
    lo, hi = np.clip(LO, -1.5, 1.4), np.clip(HI, -1.4, 1.5)

    def function(t):
        return mpmath.diff(mpmath.tan, t, order) if order else mpmath.tan(t)

    check(
        scalar("tan").range(order, Interval(lo, hi)),
        function,
        lo,
        hi,
        [mpmath.mpf(0)],
        steps=0,
        relative=1e-13,
        absolute=1e-14,
    )
    beyond = scalar("tan").range(order, Interval(np.array([1.0, -1.6, 2.0, 0.0]), np.array([1.6, 0.0, 3.0, 1.0])))
    assert beyond.lo[:3].tolist() == [-INF] * 3
    assert beyond.hi[:3].tolist() == [INF] * 3
    assert math.isfinite(beyond.hi[3])


# --- powers

ENDS = [
    (-3, -2),
    (-2, -0.3),
    (-1.7, 0),
    (-1.3, 0.4),
    (-0.2, 1.9),
    (0, 1.1),
    (0.3, 2.3),
    (2, 3),
    (0, 0),
    (0.7, 0.7),
    (-0.7, -0.7),
]


def power_derivative(kind, p, order):
    """``(d/dt)^order`` of the power, as a function on mpmath numbers away from 0 (0 there)."""
    factor = mpmath.mpf(1)
    for j in range(order):
        factor *= mpmath.mpf(p.numerator) / p.denominator - j
    q = p - order

    def function(t):
        if t == 0:
            if q > 0 or factor == 0:
                return mpmath.mpf(0)
            return factor if q == 0 and (kind == "plain" or (kind == "abs") == (order % 2 == 0)) else mpmath.mpf(0)
        if kind == "plus":
            return factor * t ** (mpmath.mpf(q.numerator) / q.denominator) if t > 0 else mpmath.mpf(0)
        if kind == "plain":
            return factor * (t ** int(q) if q.denominator == 1 else t ** (mpmath.mpf(q.numerator) / q.denominator))
        size = factor * abs(t) ** (mpmath.mpf(q.numerator) / q.denominator)
        odd = (order % 2 == 1) == (kind == "abs")
        return -size if odd and t < 0 else size

    return function


@pytest.mark.parametrize("text", ["1", "2", "3", "4", "1/2", "3/2", "5/2", "4/3", "7/3", "1/5"])
@pytest.mark.parametrize("kind", ["abs", "sgn", "plus"])
def test_powers_with_a_kink(kind, text):
    p = Fraction(text)
    lo, hi = (np.array(ends, dtype=float) for ends in zip(*ENDS))
    for order in range(4):
        function = power_derivative(kind, p, order)
        found = Power(p, kind).range(order, Interval(lo, hi))
        zero = (lo <= 0) & (hi >= 0)
        polynomial = p.denominator == 1 and kind != "plus" and (kind == "abs") == (p % 2 == 0)
        tame = p > order or polynomial
        part = np.flatnonzero(~zero | tame)
        check(found[part], function, lo[part], hi[part], [mpmath.mpf(0)], steps=12, relative=1e-15 * 12)
        if tame:
            continue
        inside = np.flatnonzero((lo < 0) & (hi > 0))
        factor = abs(float(Power(p, kind).factor(order)))
        if p == order:  # a jump: both one-sided values
            least = {"abs": -factor, "sgn": -factor, "plus": 0.0}[kind]
            if (order % 2 == 1) != (kind == "abs") and kind != "plus":
                least = factor
            assert found.lo[inside] == pytest.approx([min(least, factor)] * len(inside), rel=1e-14)
            assert (found.lo[inside] <= least).all()
            assert (found.hi[inside] >= factor).all()
            assert found.hi[inside] == pytest.approx([factor] * len(inside), rel=1e-14)
        elif p < order:
            assert (found.lo[inside] == -INF).all()
            assert (found.hi[inside] == INF).all()


def test_odd_powers_of_many_negative_floats_against_fractions():
    hi = -np.random.default_rng(21).uniform(0.1, 3.0, 600)
    lo = hi - np.where(np.arange(600) % 2, 0.0, 0.5)
    for kind, p, order in (("sgn", 5, 0), ("sgn", 7, 0), ("abs", 5, 1), ("abs", 7, 1)):
        function = Power(Fraction(p), kind)
        power, factor = p - order, function.factor(order)
        ends = [[-factor * abs(Fraction(t)) ** power for t in side.tolist()] for side in (lo, hi)]
        encloses(function.range(order, Interval(lo, hi)), *ends, steps=40)
        exact = [value / factor for value in ends[0]]  # before the factor, whose own rounding hides what is lost here
        encloses(function._one_side(order, lo, Fraction(power)), exact, exact, steps=40)


@pytest.mark.parametrize(("kind", "low", "high"), [("abs", -1, 1), ("plus", 0, 1)])
def test_a_jump_at_exactly_zero_has_both_one_sided_values(kind, low, high):
    for lo, hi in ((0.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (-1.0, 1.0)):
        found = Power(Fraction(1), kind).range(1, Interval.of(lo, hi))
        if (lo, hi) == (0.0, 0.0) and kind == "plus":
            continue
        assert (float(found.lo), float(found.hi)) == pytest.approx((low, high), rel=1e-15, abs=1e-300)
        assert found.lo <= low
        assert found.hi >= high
    found = Power(Fraction(0), "sgn").range(0, Interval.of([0.0, -2.0, 0.5, -1.0], [0.0, -1.0, 1.0, 1.0]))
    assert found.lo == pytest.approx([-1, -1, 1, -1], rel=1e-15)
    assert found.hi == pytest.approx([1, -1, 1, 1], rel=1e-15)
    assert (found.lo <= [-1, -1, 1, -1]).all()
    assert (found.hi >= [1, -1, 1, 1]).all()
    found = Power(Fraction(2), "sgn").range(2, Interval.of([0.0], [0.0]))
    assert (found.lo[0], found.hi[0]) == pytest.approx((-2, 2), rel=1e-15)


@pytest.mark.parametrize("text", ["0", "1", "2", "3", "5", "-1", "-2", "1/2", "-1/2", "3/2", "4/3", "-1/3", "5/7"])
def test_plain_powers(text):
    p = Fraction(text)
    whole = p.denominator == 1 and p >= 0
    ends = ENDS if whole else [e for e in ENDS if e[0] > 0]
    lo, hi = (np.array(ends_, dtype=float) for ends_ in zip(*ends))
    for order in range(4):
        found = Power(p).range(order, Interval(lo, hi))
        check(
            found,
            power_derivative("plain", p, order),
            lo,
            hi,
            [mpmath.mpf(0)],
            steps=14,
            relative=2e-14,
            absolute=1e-320,
        )
    outside = Power(p).range(0, Interval.of(-1.0, 2.0))
    assert (outside.lo == -INF) == (not whole)
    assert (outside.hi == INF) == (not whole)


def test_derivatives_beyond_the_degree():
    t = Interval.of([-1.0, 1.0], [2.0, 2.0])
    for kind, p, order, low, high in [
        ("plain", 2, 3, 0, 0), ("abs", 2, 3, 0, 0), ("sgn", 3, 4, 0, 0), ("abs", 3, 4, -INF, INF),
        ("sgn", 2, 3, -INF, INF), ("plus", 2, 3, -INF, INF), ("abs", 1, 2, -INF, INF),
    ]:  # fmt: skip
        found = Power(Fraction(p), kind).range(order, t)
        assert (found.lo[0], found.hi[0]) == (low, high), (kind, p)
        assert (found.lo[1], found.hi[1]) == (0, 0), (kind, p)


def test_the_logarithm():
    lo, hi = np.array([0.1, 0.5, 1.0, 3.0, 2.0]), np.array([0.2, 2.0, 1.0, 9.0, 2.0])
    for order in range(5):

        def function(t, order=order):
            return mpmath.log(t) if order == 0 else (-1) ** (order - 1) * mpmath.factorial(order - 1) / t**order

        check(scalar("log").range(order, Interval(lo, hi)), function, lo, hi, steps=25)
    found = scalar("log").range(0, Interval.of([0.0, -1.0, 1.0], [1.0, 1.0, INF]))
    assert found.lo.tolist() == pytest.approx([-INF, -INF, 0.0], abs=1e-300)
    assert found.hi.tolist() == pytest.approx([0.0, INF, INF], abs=1e-300)
    assert [Power(Fraction(0), "log").factor(k) for k in (1, 2, 3, 4)] == [1, -1, 2, -6]
    assert [Power(Fraction(5, 2)).factor(k) for k in (0, 1, 2, 3)] == [
        1,
        Fraction(5, 2),
        Fraction(15, 4),
        Fraction(15, 8),
    ]


def test_smoothness_of_powers():
    expected = {
        ("abs", "2"): INF, ("abs", "1"): 0, ("abs", "3"): 2, ("abs", "5/2"): 2, ("abs", "3/2"): 1, ("abs", "1/2"): 0,
        ("sgn", "1"): INF, ("sgn", "3"): INF, ("sgn", "2"): 1, ("plus", "1"): 0, ("plus", "2"): 1, ("plus", "5/2"): 2,
        ("plain", "1/2"): INF,
    }  # fmt: skip
    assert {key: Power(Fraction(key[1]), key[0]).smooth for key in expected} == expected
    assert Power(Fraction(1, 2)).domain == (0.0, INF)
    assert Power(Fraction(3)).domain == (-INF, INF)
    assert Power(Fraction(-1)).domain == (0.0, INF)
    assert Power(Fraction(0), "log").domain == (0.0, INF)
    assert Power(Fraction(3, 2), "abs").domain == (-INF, INF)


def test_signed_powers_of_what_reaches_below_zero():
    found = signed_power(Interval.of(-1e-9, 4.0), Fraction(1, 2))
    assert found.lo == 0.0
    assert found.hi == 2.0
    found = signed_power(Interval.of(-1e-9, 8.0), Fraction(1, 3))
    assert found.lo <= 0.0
    assert 2.0 <= found.hi <= 2.0 + 1e-13


# --- removable singularities


def series_derivative(coefficient, order, t):
    """The derivative of a power series, summed at 80 digits."""
    with mpmath.workdps(80):
        total = mpmath.mpf(0)
        for n in range(order, order + 75):
            c = coefficient(n)
            if c:
                total += c * mpmath.ff(n, order) * mpmath.mpf(t) ** (n - order)
    return +total


@cache
def removable(name, order, t):
    if name == "sinc":
        return series_derivative(
            lambda n: 0 if n % 2 else mpmath.mpf((-1) ** (n // 2)) / mpmath.factorial(n + 1), order, t
        )
    if name == "exprel":
        return series_derivative(lambda n: 1 / mpmath.factorial(n + 1), order, t)
    with mpmath.workdps(120):
        if abs(t) < 0.15:
            return series_derivative(lambda n: mpmath.mpf((-1) ** n) / (n + 1), order, t)
        return mpmath.diff(lambda u: mpmath.log1p(u) / u, mpmath.mpf(t), order)


@pytest.mark.slow
@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("name", ["sinc", "exprel", "logrel"])
def test_removable_singularities_at_points(name, order):
    points = np.array([0.0, 1e-300, -1e-9, 1e-4, 0.12, -0.19, 0.3, -0.5, 0.5, 0.500001, -0.75, 1.5, 7.0])
    exact = [rational(removable(name, order, mpmath.mpf(t))) for t in points.tolist()]
    found = scalar(name).range(order, Interval(points, points))
    encloses(found, exact, exact, steps=4, absolute=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("name", ["sinc", "exprel", "logrel"])
def test_removable_singularities_on_boxes(name, order):
    lo = np.array([-1e-6, -0.01, -0.3, 0.0, 0.1, -0.6, 1.0, 0.4])
    hi = np.array([1e-6, 0.01, 0.3, 0.2, 0.4, -0.2, 3.0, 0.6])
    found = scalar(name).range(order, Interval(lo, hi))
    for k, (a, b) in enumerate(zip(lo.tolist(), hi.tolist())):
        values = [rational(removable(name, order, mpmath.mpf(a) + (mpmath.mpf(b) - a) * j / 2)) for j in range(3)]
        assert rational(found.lo[k]) <= min(values)
        assert rational(found.hi[k]) >= max(values)
        if name != "sinc":
            assert float(found.lo[k]) == pytest.approx(float(min(values)), rel=1e-14)
            assert float(found.hi[k]) == pytest.approx(float(max(values)), rel=1e-14)
        else:
            middle, half = (a + b) / 2, (b - a) / 2
            centre = float(removable(name, order, mpmath.mpf(middle)))
            cap = 1 / (order + 1)
            assert found.hi[k] <= min(centre + half / (order + 2), cap) + 1e-12
            assert found.lo[k] >= max(centre - half / (order + 2), -cap) - 1e-12


def test_the_first_derivative_of_sinc_reaches_a_third_of_the_radius():
    for h in (1e-8, 1e-6, 1e-3):
        found = scalar("sinc").range(1, Interval.of(-h, h))
        assert rational(found.hi) >= -rational(removable("sinc", 1, mpmath.mpf(h)))
        assert float(found.hi) == pytest.approx(h / 3, rel=1e-9)
        assert float(found.lo) == pytest.approx(-h / 3, rel=1e-9)


def test_removable_singularities_at_infinity_and_outside():
    for order in range(3):
        cap = 1 / (order + 1)
        found = scalar("sinc").range(order, Interval.of([-INF, 0.0, -INF], [INF, INF, 0.0]))
        assert (found.lo == pytest.approx([-cap] * 3, rel=1e-14)) & (found.hi == pytest.approx([cap] * 3, rel=1e-14))
        assert (found.lo <= -cap).all()
        assert (found.hi >= cap).all()
        ends = scalar("exprel").range(order, Interval.of([-INF, 0.0], [0.0, INF]))
        assert (ends.lo[0] <= 0) & (ends.lo[0] >= -1e-300)
        assert rational(ends.hi[0]) >= Fraction(1, order + 1) >= rational(ends.lo[1])
        assert ends.hi[1] == INF
        tail = scalar("logrel").range(order, Interval.of([0.5, -1.0, -2.0], [INF, 0.5, 0.5]))
        end = scalar("logrel").range(order, Interval.of([INF]))
        assert (end.lo[0], end.hi[0]) == (-5e-324, 5e-324)
        assert -1e-300 <= (tail.lo[0] if order % 2 == 0 else -tail.hi[0]) <= 0
        assert tail.lo[1:].tolist() == [-INF] * 2
        assert tail.hi[1:].tolist() == [INF] * 2


# --- Huber, psi, derivatives as functions


@pytest.mark.parametrize("text", ["1", "1/10", "1/3", "7/5"])
def test_huber(text):
    delta = Fraction(text)
    near = float(delta)
    ends = sorted(
        {s * v for s in (1, -1) for v in (near, np.nextafter(near, 9), np.nextafter(near, 0), near / 2, 3 * near, 0.0)}
    )
    lo, hi = map(np.array, zip(*[(a, b) for a in ends for b in ends if a <= b]))

    def value(t):
        return t * t / 2 if abs(t) <= delta else delta * abs(t) - delta * delta / 2

    def slope(t):
        return max(-delta, min(delta, t))

    huber = Huber(delta)
    pairs = [(Fraction(a), Fraction(b)) for a, b in zip(lo.tolist(), hi.tolist())]
    values = [[value(a), value(b), *([Fraction(0)] if a <= 0 <= b else [])] for a, b in pairs]
    encloses(
        huber.range(0, Interval(lo, hi)), [min(v) for v in values], [max(v) for v in values], steps=6, absolute=5e-15
    )
    encloses(huber.range(1, Interval(lo, hi)), [slope(a) for a, b in pairs], [slope(b) for a, b in pairs], steps=2)
    second, third = huber.range(2, Interval(lo, hi)), huber.range(3, Interval(lo, hi))
    for k, (a, b) in enumerate(pairs):
        meets, inside = b >= -delta and a <= delta, -delta < a and b < delta
        assert second.lo[k] <= (1 if inside else 0)
        assert second.hi[k] >= (1 if meets else 0)
        kink = a <= delta <= b or a <= -delta <= b
        assert third.hi[k] >= (INF if kink else 0)
        assert third.lo[k] == -third.hi[k]
        if a > 1.01 * delta or b < -1.01 * delta:
            assert (second.lo[k], second.hi[k], third.hi[k]) == (0, 0, 0)
        if -0.9 * delta < a and b < 0.9 * delta:
            assert (second.lo[k], second.hi[k], third.hi[k]) == (1, 1, 0)
    far = huber.range(0, Interval.of([-INF, 1.0, 1e300], [INF, INF, 1e300]))
    assert far.hi.tolist() == [INF, INF, pytest.approx(float(delta) * 1e300)]
    assert far.lo[0] == 0
    assert huber.smooth == 1
    assert (huber.at(1, Interval.of(9.0)).hi, huber.critical(1)) == (huber.range(1, Interval.of(9.0)).hi, ())


def psi_exact(nu, order, t):
    """psi and its derivatives from the definition by a triangle wave, at 60 digits."""
    u = mpmath.mpf(t) - 4 * mpmath.floor(mpmath.mpf(t) / 4)
    rising = u < 1 or u > 3
    s = u if u < 1 else 2 - u if u <= 3 else u - 4
    n = mpmath.mpf(nu.numerator) / nu.denominator
    size, sign, way = abs(s), mpmath.sign(s), 1 if rising else -1
    if order == 3:
        return sign * size**n if nu else sign
    if order == 2:
        return way * (size ** (1 + n) - 1) / (1 + n)
    if order == 1:
        return sign * size ** (2 + n) / ((1 + n) * (2 + n)) - s / (1 + n)
    value = size ** (3 + n) / ((1 + n) * (2 + n) * (3 + n)) - s * s / (2 * (1 + n))
    top = 2 * (1 / ((1 + n) * (2 + n) * (3 + n)) - 1 / (2 * (1 + n)))
    return value if rising else top - value


def test_the_reference_of_psi_is_a_tower_of_derivatives():
    for nu in (Fraction(1, 2), Fraction(1)):
        for t in (0.3, 0.9, 1.2, 2.7, 3.4, -0.6):
            for order in range(3):
                slope = mpmath.diff(lambda u, o=order, n=nu: psi_exact(n, o, u), mpmath.mpf(t))
                assert abs(slope - psi_exact(nu, order + 1, t)) < 1e-20


@pytest.mark.parametrize("nu", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("order", range(4))
def test_psi_ranges_without_slack(order, nu):
    lo = np.array([-5.3, -1.1, -0.4, 0.1, 0.6, 0.9, 1.2, 1.7, 2.1, 2.9, 3.2, 0.3, -0.3, 0.2, 7.4, 1e5 + 0.25])
    hi = lo + np.array([0.4, 0.2, 0.9, 0.3, 0.9, 0.3, 0.6, 0.8, 0.5, 0.3, 0.5, 3.9, 1.8, 0.0, 0.1, 0.5])
    found = Psi(nu).range(order, Interval(lo, hi))
    for k, (a, b) in enumerate(zip(lo.tolist(), hi.tolist())):
        corners = list(range(math.ceil(a), math.floor(b) + 1))
        values = [rational(psi_exact(nu, order, t)) for t in (mpmath.mpf(a), mpmath.mpf(b), *corners)]
        if order == 3 and nu == 0 and any(j % 2 == 0 for j in corners):
            values += [Fraction(1), Fraction(-1)]
        assert rational(found.lo[k]) <= min(values), (k, a, b)
        assert rational(found.hi[k]) >= max(values), (k, a, b)
        assert float(found.lo[k]) == pytest.approx(
            float(min(values)), rel=1e-10, abs=1e-7 if nu < 1 and order == 3 else 1e-12
        )
        assert float(found.hi[k]) == pytest.approx(
            float(max(values)), rel=1e-10, abs=1e-7 if nu < 1 and order == 3 else 1e-12
        )


def test_psi_on_long_intervals_and_beyond_its_smoothness():
    for nu in (Fraction(1, 2), Fraction(1)):
        psi = Psi(nu)
        bounds = [float((4 + nu) / ((2 + nu) * (3 + nu))), float(1 / (2 + nu)), float(1 / (1 + nu)), 1.0]
        for order, bound in enumerate(bounds):
            for lo, hi in ((0.0, 4.0), (-INF, INF), (0.5, INF), (2e9, 2e9 + 1)):
                found = psi.range(order, Interval.of(lo, hi))
                assert float(found.magnitude()) == pytest.approx(bound, rel=1e-12)
        fifth = psi.range(5, Interval.of([0.1], [0.2]))
        assert (fifth.lo[0], fifth.hi[0]) == (-INF, INF)
        fourth = psi.range(4, Interval.of([0.1], [0.2]))
        assert (fourth.lo[0], fourth.hi[0]) == ((-1, 1) if nu == 1 else (-INF, INF))
        lost = psi.at(1, Interval.of([INF, -INF, 1e13]))
        assert (lost.lo == -INF).all()
        assert (lost.hi == INF).all()
    fourth = Psi(Fraction(1)).at(4, Interval.of([0.5, 1.5, 3.5]))
    assert fourth.lo.tolist() == [1, -1, 1] == fourth.hi.tolist()
    assert Psi(Fraction(1)).smooth == 3


def test_a_derivative_as_a_function_of_its_own():
    t = Interval.of([-0.5, 0.2], [0.3, 0.9])
    derived = Derived(scalar("tanh"), 2)
    for order in range(3):
        found, wanted = derived.range(order, t), scalar("tanh").range(order + 2, t)
        assert (found.lo == wanted.lo).all() & (found.hi == wanted.hi).all()
        assert (derived.ranges((order,), t)[0].lo == wanted.lo).all()
        assert derived.critical(order) == scalar("tanh").critical(order + 2)
        assert (derived.at(order, Interval.of(0.3)).lo == scalar("tanh").at(order + 2, Interval.of(0.3)).lo).all()
    assert Derived(Power(Fraction(5, 2), "abs"), 1).smooth == 1
    assert Derived(scalar("log"), 1).domain == (0.0, INF)
    assert derived.name == "tanh^(2)"


# --- families


FAMILIES = {
    "tanh": mpmath.tanh, "sigmoid": lambda t: 1 / (1 + mpmath.exp(-t)),
    "softplus": lambda t: mpmath.log1p(mpmath.exp(t)),
    "logcosh": lambda t: mpmath.log(mpmath.cosh(t)), "atan": mpmath.atan, "asinh": mpmath.asinh, "erf": mpmath.erf,
    "lorentz": lambda t: 1 / (1 + t * t), "odd_lorentz": lambda t: t / (1 + t * t),
    "log1psquare": lambda t: mpmath.log1p(t * t), "hypot1": lambda t: mpmath.sqrt(1 + t * t),
    "gauss": lambda t: mpmath.exp(-t * t / 2),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("balls", [False, True])
def test_families_at_points(name, balls):
    points = np.array([0.0, 1e-5, -0.3, 0.7, -1.9, 3.3, -6.0])
    with ball_ends() if balls else fast_ends():
        for order in range(5):
            found = scalar(name).range(order, Interval(points, points))
            exact = [
                rational(mpmath.diff(FAMILIES[name], mpmath.mpf(t), order) if order else FAMILIES[name](mpmath.mpf(t)))
                for t in points.tolist()
            ]
            room = Fraction(0) if order == 0 else Fraction(1, 10**40)
            for lo, hi, value in zip(found.lo, found.hi, exact):
                assert rational(lo) <= value + room
                assert rational(hi) >= value - room
                assert hi - lo <= 4e-13 * max(1.0, abs(float(value)))


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_families_on_intervals_hold_their_critical_values(name):
    lo, hi = (
        np.array([-2.0, -0.4, 0.1, 0.9, -7.0, 0.0, -INF, -INF, 0.3]),
        np.array([2.5, 0.5, 1.0, 3.0, -0.2, 0.0, INF, 0.3, INF]),
    )
    for order in range(4):
        found = scalar(name).range(order, Interval(lo, hi))
        for k, (a, b) in enumerate(zip(np.maximum(lo, -40), np.minimum(hi, 40))):
            grid = np.unique(
                np.concatenate(
                    [np.linspace(a, b, 401), np.linspace(max(a, -3), min(b, 3), 401) if b > -3 and a < 3 else [a]]
                )
            )
            values = scalar(name).range(order, Interval(grid, grid))
            assert found.lo[k] <= values.hi.min() + 1e-15
            assert found.hi[k] >= values.lo.max() - 1e-15
            if np.isfinite([lo[k], hi[k]]).all():
                spread = max(1.0, float(np.abs(values.lo).max()))
                assert found.lo[k] >= values.lo.min() - 2e-3 * spread
                assert found.hi[k] <= values.hi.max() + 2e-3 * spread


@pytest.mark.parametrize("name", [n for n in FAMILIES if n != "erf"])
def test_critical_points_are_enclosed_between_neighbouring_floats(name):
    function = scalar(name)
    for order in range(1, 4):
        for a, b, low, high in function.critical(order):
            ends = [mpmath.diff(FAMILIES[name], mpmath.mpf(v), order + 1) for v in (a, b)]
            assert a <= b
            assert ends[0] * ends[1] <= mpmath.mpf(10) ** -70 if a < b else abs(ends[0]) < mpmath.mpf(10) ** -30
            assert b - a <= 1e-13 * max(1.0, abs(a))
            value = mpmath.diff(FAMILIES[name], mpmath.mpf(a), order)
            assert mpmath.mpf(low) <= value + mpmath.mpf(10) ** -25
            assert mpmath.mpf(high) >= value - mpmath.mpf(10) ** -25
            assert high - low <= 1e-12 * max(1.0, abs(float(value)))


def test_sigmoid_tails_and_hypot_far_out():
    found = sigmoid(np.array([-800.0, 800.0, -40.0, 40.0, -INF, INF]))
    assert (found.lo >= 0).all() & (found.hi <= 1).all()
    assert found.hi[0] <= 1e-300
    assert found.lo[1] >= 1 - 1e-15
    assert rational(found.lo[2]) <= rational(1 / (1 + mpmath.exp(40))) <= rational(found.hi[2])
    assert found.hi[2] / found.lo[2] < 1 + 1e-13
    root = hypot(np.array([0.0, 3.0, -4.0, 1e160, -1e160, INF, 1e149]))
    assert root.lo[0] == pytest.approx(1, rel=1e-15)
    for k, t in enumerate([0, 3, 4]):
        value = rational(mpmath.sqrt(1 + mpmath.mpf(t) ** 2))
        assert rational(root.lo[k]) <= value <= rational(root.hi[k])
    assert root.lo[3] <= 1e160 < root.hi[3] <= 1.0000001e160
    assert root.lo[5] == INF == root.hi[5]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gauss", "rational"])
def test_weighted_polynomials(kind):
    points = np.array([0.0, 0.4, -0.9, 2.2, -3.7])
    lo, hi = np.array([-1.0, -4.0, 0.3, -INF]), np.array([0.5, 4.0, 2.0, INF])
    for p, power in [
        ((1,), 1),
        ((0, 1), 2),
        ((2, -3, 1), 5),
        ((Fraction(1, 3), 0, -2, 1), 6),
        ((1, 1), Fraction(7, 3)),
    ]:
        p, power = tuple(map(Fraction, p)), Fraction(power)
        atom = WeightedPolynomial(kind, p, power)

        def function(t, p=p, power=power):
            body = mpmath.fsum(mpmath.mpf(c.numerator) / c.denominator * t**j for j, c in enumerate(p))
            e = mpmath.mpf(power.numerator) / power.denominator / 2
            return body * (mpmath.exp(-t * t / 2) if kind == "gauss" else (1 + t * t) ** -e)

        for order in range(4):
            found = atom.range(order, Interval(points, points))
            for low, high, t in zip(found.lo, found.hi, points.tolist()):
                value = mpmath.diff(function, mpmath.mpf(t), order) if order else function(mpmath.mpf(t))
                room = mpmath.mpf(10) ** -40 if order else 0
                assert mpmath.mpf(float(low)) <= value + room
                assert mpmath.mpf(float(high)) >= value - room
                assert high - low <= 1e-12 * max(1.0, abs(float(value)))
            wide = atom.range(order, Interval(lo, hi))
            grid = np.union1d(np.linspace(-4.0, 4.0, 801), [-1.0, 0.5, 0.3, 2.0])
            values = atom.range(order, Interval(grid, grid))
            for k in range(4):
                part = (grid >= lo[k]) & (grid <= hi[k])
                assert wide.lo[k] <= values.hi[part].min()
                assert wide.hi[k] >= values.lo[part].max()
                if math.isfinite(hi[k]):
                    scale = 2e-3 * max(1.0, float(np.abs(values.lo).max()))
                    assert wide.lo[k] >= values.lo[part].min() - scale
                    assert wide.hi[k] <= values.hi[part].max() + scale
    far = WeightedPolynomial("gauss", (Fraction(1), Fraction(-1)), Fraction(0)).range(
        0, Interval.of([70.0, -70.0, 61.0])
    )
    assert (np.abs(far.lo) <= 1e-299).all() & (far.hi <= 1e-299).all() & (far.hi > 0).all() & (far.lo < 0).all()
    assert WeightedPolynomial("gauss", (Fraction(1), Fraction(0), Fraction(2))).name == "(1 t^0 + 2 t^2) exp(-t^2/2)"
    tail = WeightedPolynomial("rational", (Fraction(1),), Fraction(2)).range(0, Interval.of([1e200, 1e100, INF]))
    assert (tail.lo >= 0).all() & (tail.lo <= 1e-200).all()
    assert (tail.hi >= [0, 1e-200, 0]).all() & (tail.hi <= 1e-149).all()


# --- what the ranges are made of


def test_points_and_horner():
    third = point(Fraction(1, 3))
    assert rational(third.lo) < Fraction(1, 3) < rational(third.hi)
    assert (point(0.25).lo, point(0.25).hi) == (0.25, 0.25)
    p = tuple(map(Fraction, ("1/3", "0", "-2", "1/7")))
    s = np.array([-1.5, 0.0, 0.3, 2.0])
    exact = [sum(c * Fraction(v) ** j for j, c in enumerate(p)) for v in s.tolist()]
    encloses(rational_horner(p, Interval(s, s)), exact, exact, steps=30, absolute=1e-15)


def test_one_interval_of_a_batch_does_not_depend_on_the_others():
    lo, hi = np.array([[-1.0, 0.0, 2.0], [0.5, -3.0, 1.0]]), np.array([[1.0, 0.0, 5.0], [0.5, 7.0, 1.0]])
    for name in ("tanh", "sin", "cosh", "gauss", "sinc", "exprel", "erf"):
        for order in (0, 1, 2):
            found = scalar(name).range(order, Interval(lo, hi))
            assert found.shape == (2, 3)
            for index in np.ndindex(2, 3):
                alone = scalar(name).range(order, Interval(lo[index], hi[index]))
                assert (alone.lo, alone.hi) == (found.lo[index], found.hi[index])


def test_names():
    with pytest.raises(KeyError):
        scalar("no such atom")
    assert float(scalar("sqrt").range(0, Interval.of(4.0)).lo) == pytest.approx(2.0, rel=1e-15)
    assert scalar("power", Fraction(3)).range(0, Interval.of(2.0)).lo <= 8.0
    assert scalar("bell", Fraction(2)).range(0, Interval.of(1.0)).lo == pytest.approx(0.5)
    for kind in ("abspow", "sgnpow", "pluspow"):
        assert scalar(kind, Fraction(2)).range(0, Interval.of(-3.0)).lo == pytest.approx(
            {"a": 9, "s": -9, "p": 0}[kind[0]]
        )
    assert scalar("huber", Fraction(1)).range(0, Interval.of(3.0)).hi == pytest.approx(2.5)
    assert scalar("psi", Fraction(1)).range(3, Interval.of(0.5)).hi == pytest.approx(0.5)


def test_points_that_arrays_do_not_prove_are_asked_of_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.array([0.5, 2.0, 3.0])

    def halves(name: str, at: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        fine = at < 2.5
        return np.where(fine, -1.0, np.nan), np.where(fine, -2.0, np.nan), fine

    monkeypatch.setattr(elementary, "proved_ends", halves)
    low, high = elementary._by_arrays("exp", points)
    assert (low[:2].tolist(), high[:2].tolist()) == ([-1.0, -1.0], [-2.0, -2.0])
    assert low[2] < np.exp(3.0) < high[2]
    assert high[2] - low[2] <= 4 * np.spacing(np.exp(3.0))


def test_sums_of_exponentials_are_asked_of_balls_only_where_balls_are_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    parts = [Interval(np.array([0.0]), np.array([1.0])), Interval(np.array([2.0]), np.array([2.0]))]
    monkeypatch.setattr(arithmetics, "value_of_logsumexp", lambda args: asked.append(len(args)) or args[0])
    arithmetics.IntervalArithmetic().logsumexp(parts)
    assert asked == []
    with elementary.ball_ends():
        arithmetics.IntervalArithmetic().logsumexp(parts)
    assert asked == [2]
