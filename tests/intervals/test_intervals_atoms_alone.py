"""Ranges of atoms where ingredients are lopsided, arguments awkward, series short: against 60 digits."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import flint
import mpmath
import numpy as np
import pytest
from intervals_exact import DIGITS, rational

from bilevel_verify.intervals import elementary, families, jet_arithmetic, powers, removable, scalar, waves, weighted
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.families import FamilyScalar, _antiderivative
from bilevel_verify.intervals.powers import Power, signed_power
from bilevel_verify.intervals.rough import Huber, Psi, _unit_power
from bilevel_verify.intervals.scalar import Scalar
from bilevel_verify.intervals.scalar_base import Direct, horner, widen_by_slope
from bilevel_verify.intervals.weighted import WeightedPolynomial, _combine, hypot, rational_base, rational_value

pytestmark = pytest.mark.fast
INF, TINY = math.inf, 5e-324


def root7(t):
    return t ** (mpmath.mpf(7) / 3)


NAMES = {
    "sin": mpmath.sin, "cos": mpmath.cos, "exp": mpmath.exp, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "tan": mpmath.tan, "log": mpmath.log, "sqrt": mpmath.sqrt, "tanh": mpmath.tanh, "atan": mpmath.atan,
    "asinh": mpmath.asinh, "erf": mpmath.erf, "sigmoid": lambda t: 1 / (1 + mpmath.exp(-t)),
    "softplus": lambda t: mpmath.log1p(mpmath.exp(t)), "logcosh": lambda t: mpmath.log(mpmath.cosh(t)),
    "log1psquare": lambda t: mpmath.log1p(t * t), "hypot1": lambda t: mpmath.sqrt(1 + t * t),
    "gauss": lambda t: mpmath.exp(-t * t / 2), "lorentz": lambda t: 1 / (1 + t * t),
    "odd_lorentz": lambda t: t / (1 + t * t), "power": lambda t: root7(t), "abspow": lambda t: root7(abs(t)),
    "sgnpow": lambda t: mpmath.sign(t) * root7(abs(t)), "pluspow": lambda t: root7(max(t, 0)),
}  # fmt: skip
PARAMETERS = {name: (Fraction(7, 3),) for name in ("power", "abspow", "sgnpow", "pluspow")}


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(DIGITS):
        yield


def atom(name):
    return scalar.scalar(name, *PARAMETERS.get(name, ()))


def holds(found, exact, *where):
    for lo, hi, value in zip(np.ravel(found.lo).tolist(), np.ravel(found.hi).tolist(), exact, strict=True):
        assert rational(lo) <= value <= rational(hi), (*where, lo, hi, float(value))


@pytest.fixture(params=["below", "above"])
def lopsided(request, monkeypatch):
    """Point values that are enclosures still, the true value close to one of their ends."""
    true = elementary.point_values

    def wide(name, points):
        found = true(name, points)
        floor, ceiling = elementary.FUNCTIONS[name].values
        finite = np.isfinite(found.lo) & np.isfinite(found.hi)
        room = np.where(finite, 1e-4 * (1e-3 + np.minimum(found.magnitude(), 1e9)), 0)
        if request.param == "below":
            return Interval(np.maximum(found.lo - room, floor), found.hi)
        return Interval(found.lo, np.minimum(found.hi + room, ceiling))

    for module in (families, powers, waves, weighted, jet_arithmetic):
        monkeypatch.setattr(module, "point_values", wide)
    families._family_critical.cache_clear()
    yield
    families._family_critical.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_both_ends_of_every_ingredient_are_used(name, lopsided):
    points = np.array([0.3, 0.7, 1.3] if name in ("log", "sqrt", "power", "tan") else [0.3, -0.8, 1.3, 2.9, -4.1])
    function = atom(name)
    for order in range(3):
        exact = [rational(mpmath.diff(NAMES[name], mpmath.mpf(t), order)) for t in points.tolist()]
        room = Fraction(1, 10**40) if order else Fraction(0)
        thin = function.range(order, Interval(points, points))
        for lo, hi, value in zip(thin.lo.tolist(), thin.hi.tolist(), exact, strict=True):
            assert rational(lo) <= value + room, (name, order)
            assert rational(hi) >= value - room, (name, order)
        for (a, v), (b, w) in pairwise(sorted(zip(points.tolist(), exact, strict=True))):
            wide = function.range(order, Interval.of(a, b))
            assert rational(wide.lo) <= min(v, w) + room
            assert rational(wide.hi) >= max(v, w) - room


@pytest.mark.parametrize("p", ["7/3", "1/2", "-1/2", "-5/3", "5/2", "0", "1", "3", "-2"])
def test_powers_of_very_large_and_small_numbers(p):
    p = Fraction(p)
    points = 10.0 ** np.random.default_rng(40).uniform(-40, 40, 60)
    points = np.concatenate([points, [1.0, 4.0]])
    exponent = mpmath.mpf(p.numerator) / p.denominator
    exact = [rational(mpmath.mpf(t) ** exponent) for t in points.tolist()]
    holds(signed_power(Interval(points, points), p), exact, p)
    for kind in ("abs", "plus"):
        holds(Power(p, kind).range(0, Interval(points, points)), exact, p, kind)
    holds(Power(p, "sgn").range(0, Interval(-points, -points)), [-v for v in exact], p)
    for kind in ("plus", "abs", "sgn"):
        if p > 0:
            zero = Power(p, kind).range(0, Interval.of([0.0, -TINY], [0.0, 0.0]))
            assert -1e-322 <= zero.lo[0] <= 0.0 <= zero.hi[0] <= 1e-322
    assert Power(Fraction(0), "plus").at(0, Interval.of(0.0)).hi == 0.0  # the unit step at 0
    below = Power(p, "plus").range(0, Interval(-points, -points))
    assert (below.lo == 0).all() & (below.hi == 0).all()


def test_where_powers_break():
    for kind, p, orders in [
        ("abs", "3", {2: 0, 3: 6, 4: INF, 5: INF}), ("sgn", "2", {1: 0, 2: 2, 3: INF}), ("abs", "1", {1: 1, 2: INF}),
        ("abs", "4", {3: 0, 4: None, 5: None}), ("sgn", "3", {2: 0, 3: None}), ("plus", "2", {1: 0, 2: 2, 3: INF}),
        ("abs", "5/2", {2: 0, 3: INF}), ("plus", "1/2", {0: 0, 1: INF}), ("plain", "3", {2: 0, 3: None, 4: None}),
        ("sgn", "0", {0: 1, 1: INF}), ("plus", "0", {0: 1}), ("plain", "1/2", {0: None, 1: None}),
        ("log", "0", {1: None}),
    ]:  # fmt: skip
        for order, top in orders.items():
            found = Power(Fraction(p), kind).critical(order)
            if top is None:
                assert found == ()
                continue
            ((a, b, low, high),) = found
            assert a == b == 0.0
            assert high == top
            assert low == (0.0 if kind == "plus" and top < INF else -top)
    assert Power(Fraction(1, 3), "sgn").smooth == 0
    assert Power(Fraction(7, 3), "plus").smooth == 2


def test_jumps_at_zero_are_whole_on_thin_intervals():
    for kind, p, order, high in [("abs", 1, 1, 1), ("sgn", 0, 0, 1), ("sgn", 2, 2, 2), ("abs", 3, 3, 6)]:
        low = -high
        found = Power(Fraction(p), kind)._one_side(order, np.array([0.0, 1.0, -1.0]), Fraction(0))
        assert (found.lo.tolist(), found.hi.tolist()) == ([-1, 1, -1], [1, 1, -1])
        t = Interval.of([0.0, 0.5, -1.0, -0.0, -2.0], [0.0, 1.0, -0.5, 1.0, 0.0])
        found = Power(Fraction(p), kind).range(order, t)
        assert found.lo == pytest.approx([low, high, low, low, low], rel=1e-15)
        assert found.hi == pytest.approx([high, high, low, high, high], rel=1e-15)


# --- waves, tangent, exponentials


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_crests_are_claimed_only_next_to_them(name):
    for quarter in range(-5, 8):
        turn = quarter * mpmath.pi / 2
        for gap in (1e-12, 3e-7, 9.4e-7, 1.2e-6, 1e-5):
            for lo, hi in ((turn - 1, turn - gap), (turn + gap, turn + 1)):
                lo, hi = float(lo), float(hi)
                found = scalar.scalar(name).range(0, Interval.of(lo, hi))
                ends = [rational(NAMES[name](mpmath.mpf(v))) for v in (lo, hi)]
                assert rational(found.lo) <= min(ends)
                assert rational(found.hi) >= max(ends)
                assert found.lo >= float(min(ends)) - 2.1e-13
                assert found.hi <= float(max(ends)) + 2.1e-13


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_far_and_long_arguments_of_waves(name):
    for t in (1e8, -1e8):
        found = scalar.scalar(name).range(0, Interval.of(t))
        holds(found, [rational(NAMES[name](mpmath.mpf(t)))])
        assert found.hi - found.lo < 1e-14
    for lo, hi in ((-1e8 - 1, -1e8), (1e8, 1e8 + 1), (-2e8, -2e8), (0.0, 7.0), (-INF, -INF), (1.0, 7.2832)):
        found = scalar.scalar(name).range(0, Interval.of(lo, hi))
        assert (found.lo, found.hi) == (-1, 1)


def test_tangent_turns_at_zero_and_ends_at_its_poles():
    tangent = scalar.scalar("tan")
    for order in range(1, 5):
        ((a, b, low, high),) = tangent.critical(order)
        exact = mpmath.diff(mpmath.tan, 0, order)
        assert a == b == 0
        assert low <= exact + 1e-40
        assert exact - 1e-40 <= high
        assert high - low <= 1e-13
    assert tangent.domain == (-math.pi / 2, math.pi / 2)


# --- removable singularities


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("name", ["sinc", "exprel", "logrel"])
def test_points_on_both_sides_of_the_series(name, order):
    def function(t):
        return {"sinc": mpmath.sin, "exprel": mpmath.expm1, "logrel": mpmath.log1p}[name](t) / t

    points = [0.4999999, 0.5, 0.50001, 0.95, 0.999, -0.499, -0.5, -0.51, -0.95, -0.99]
    points += [3.7, 40.0] + ([-5.5, -50.0] if name != "logrel" else [])
    found = scalar.scalar(name).range(order, Interval(np.array(points), np.array(points)))
    with mpmath.workdps(110):
        exact = [rational(mpmath.diff(function, mpmath.mpf(t), order)) for t in points]
    for lo, hi, value in zip(found.lo.tolist(), found.hi.tolist(), exact, strict=True):
        assert rational(lo) <= value + Fraction(1, 10**30)
        assert rational(hi) >= value - Fraction(1, 10**30)
        assert hi - lo <= 1e-15 * max(1.0, abs(float(value)))


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("name", ["sinc", "exprel", "logrel"])
def test_the_remainder_of_a_short_series_is_paid_for(monkeypatch, name, order):
    flint.ctx.prec, saved = 200, flint.ctx.prec
    try:
        for terms in (4, 5, 7):
            for t in (0.5, -0.5, 0.4):
                monkeypatch.setattr(removable, "TERMS", 400)
                long = removable._series(name, order, flint.arb(t))
                monkeypatch.setattr(removable, "TERMS", terms)
                short = removable._series(name, order, flint.arb(t))
                assert short.contains(long.mid())
                count = 10 * terms if name == "logrel" else terms
                first = order + count
                sizes = [abs(removable._coefficient(name, n)) for n in (first, first + 1)]
                room = float(flint.arb(max(sizes))) * math.perm(first + 1, order) * abs(t) ** count * 8
                assert float(short.rad()) == pytest.approx(room, rel=1e-6, abs=1e-300)
    finally:
        flint.ctx.prec = saved


def test_limits_at_infinity_and_values_outside():
    for order in range(3):
        for name in ("sinc", "exprel", "logrel"):
            assert removable._point(name, order, INF) == (
                (float(np.finfo(float).max), INF) if name == "exprel" else (-TINY, TINY)
            )
        for name in ("sinc", "exprel"):
            assert removable._point(name, order, -INF) == (-TINY, TINY)
        for t in (-1.0, -1.5, -INF):
            assert removable._point("logrel", order, t) == (-INF, INF)
        for name in ("sinc", "exprel", "logrel"):
            assert removable._point(name, order, math.nan) == (-INF, INF)
    found = scalar.scalar("logrel").range(0, Interval.of([-2.0, -1.0, -0.5], [0.0, 0.0, 0.0]))
    assert found.lo[:1].tolist() == [-INF]
    assert found.hi.tolist() == [INF, INF, pytest.approx(math.log(4))]


def test_sinc_stays_below_its_cap():
    for order in range(4):
        cap = 1 / (order + 1)
        found = scalar.scalar("sinc").range(order, Interval.of(-0.3, 0.3))
        assert found.hi <= cap * (1 + 9e-16)
        assert found.lo >= -cap * (1 + 9e-16)
        wide = scalar.scalar("sinc").range(order, Interval.of(-9.0, 9.0))
        assert cap <= wide.hi <= cap * (1 + 9e-16)
        assert -cap >= wide.lo >= -cap * (1 + 9e-16)


# --- families and weighted polynomials


def test_values_of_families_keep_their_signs():
    points = np.array([0.0, 1e-9, -1e-9, 40.0, -800.0, 800.0])
    assert (FamilyScalar("logcosh").range(0, Interval(points, points)).lo >= 0).all()
    assert (FamilyScalar("softplus").range(0, Interval(points, points)).lo >= -1e-322).all()
    sigmoid = families.sigmoid(points)
    assert (sigmoid.lo >= 0).all() & (sigmoid.hi <= 1).all()
    with pytest.raises(ValueError, match="no value rule for tanh"):
        _antiderivative("tanh", points)


def test_numbers_of_the_error_function():
    erf = scalar.scalar("erf")
    assert rational(erf.front.lo) <= rational(2 / mpmath.sqrt(mpmath.pi)) <= rational(erf.front.hi)
    assert erf.front.hi == math.nextafter(float(erf.front.lo), 9)
    assert Fraction(float(erf.root.lo)) ** 2 < 2 < Fraction(float(erf.root.hi)) ** 2


@pytest.mark.parametrize("order", range(4))
def test_gaussians_far_out(order):
    points = np.array([25.3, -36.7, 37.9, -12.1])
    found = scalar.scalar("gauss").range(order, Interval(points, points))
    signs = [1, (-1) ** order, 1, (-1) ** order]
    scale = 2 ** (mpmath.mpf(order) / 2)
    hermite = [abs(rational(mpmath.hermite(order, mpmath.mpf(t) / mpmath.sqrt(2)) / scale)) for t in points]
    exact = [s * (-1) ** order * h * rational(NAMES["gauss"](mpmath.mpf(t))) for s, h, t in zip(signs, hermite, points)]
    for lo, hi, value in zip(found.lo.tolist(), found.hi.tolist(), exact, strict=True):
        assert rational(lo) <= value * (1 + Fraction(1, 10**40) * (-1 if value > 0 else 1))
        assert rational(hi) >= value * (1 - Fraction(1, 10**40) * (1 if value > 0 else -1))
    tails = scalar.scalar("gauss").range(order, Interval.of([60.5, -INF, -70.0, 61.0], [INF, -61.0, -65.0, 61.0]))
    assert (tails.hi == 1e-300).all()
    assert (tails.lo == (0.0 if order == 0 else -1e-300)).all()
    assert scalar.scalar("gauss").range(order, Interval.of(60.0)).hi < 1e-310
    half = WeightedPolynomial("gauss", (Fraction(1, 2),)).range(0, Interval.of([70.0, -70.0]))
    assert half.lo.tolist() == [0.0, 0.0]
    assert WeightedPolynomial("gauss", (Fraction(-1),)).range(0, Interval.of(70.0)).lo == -1e-300


def test_the_circle_coordinates_of_rational_atoms():
    points = np.array([0.0, 1e-9, 0.7, -0.7, 3.0, -1e9, 1e149, -1e150, 1.5e150, -1.5e150, 1e200, -1e200, INF, -INF])
    u, c = rational_base(points)
    for k, t in enumerate(points.tolist()):
        if math.isinf(t):
            exact = Fraction(1), Fraction(0)
        else:
            with mpmath.workdps(500):
                root = mpmath.sqrt(1 + mpmath.mpf(t) ** 2)
                exact = rational(abs(mpmath.mpf(t)) / root), rational(1 / root)
        for found, value in zip((u, c), exact, strict=True):
            assert 0 <= found.lo[k] <= found.hi[k] <= 1, t
            assert rational(found.lo[k]) <= value <= rational(found.hi[k]), t
            assert found.hi[k] - found.lo[k] <= 2e-15 * float(value) + 2e-150, t
    assert c.hi[0] == 1.0
    root = hypot(points)
    for k, t in enumerate(points.tolist()):
        with mpmath.workdps(500):
            value = INF if math.isinf(t) else rational(mpmath.sqrt(1 + mpmath.mpf(t) ** 2))
        assert rational(root.lo[k]) <= value <= rational(root.hi[k]), t
        assert root.hi[k] <= abs(t) * (1 + 1e-15) + 1.000001
        assert root.lo[k] >= abs(t) * (1 - 1e-15)


def test_rational_tails_on_both_sides():
    for t in (1e200, -1e200, 1.5e150, -1.5e150, -3e151):
        for p, power in (((1,), 2), ((0, 1), 2), ((1,), 1), ((0, 2), 2), ((1, 1), 3)):
            found = WeightedPolynomial("rational", tuple(map(Fraction, p)), Fraction(power)).range(0, Interval.of(t))
            with mpmath.workdps(900):
                body = mpmath.fsum(c * mpmath.mpf(t) ** j for j, c in enumerate(p))
                exact = rational(body * (1 + mpmath.mpf(t) ** 2) ** (-mpmath.mpf(power) / 2))
            assert rational(found.lo) <= exact <= rational(found.hi), (t, p)


def test_terms_with_coefficient_zero_or_one_cost_no_rounding():
    points = np.array([0.37, 1.9, 4.2])
    base = rational_base(points)
    u, c = base
    found, wanted = rational_value((Fraction(0), Fraction(1)), Fraction(2), points, base), u * c
    assert (found.lo == wanted.lo).all() & (found.hi == wanted.hi).all()
    found = rational_value((Fraction(0),), Fraction(2), points, base)
    assert (found.lo == 0).all() & (found.hi == 0).all()
    s = Interval(points, points)
    one = Interval(np.zeros(3), np.zeros(3)) + Interval.of(1.0)
    wanted = one * s * s
    for found in (horner((0, 0, 1), s), weighted.rational_horner((Fraction(0), Fraction(0), Fraction(1)), s)):
        assert (found.lo == wanted.lo).all() & (found.hi == wanted.hi).all()


@pytest.mark.parametrize("kind", ["gauss", "rational"])
def test_turning_points_of_weighted_polynomials(kind):
    p = (Fraction(1), Fraction(-3, 2), Fraction(0), Fraction(1, 5))
    function = WeightedPolynomial(kind, p, Fraction(7))

    def value(t):
        body = 1 - mpmath.mpf(3) / 2 * t + t**3 / 5
        return body * (mpmath.exp(-t * t / 2) if kind == "gauss" else (1 + t * t) ** (-mpmath.mpf(7) / 2))

    for order in range(3):
        found = function.critical(order)
        assert len(found) >= 2 + order
        for a, b, low, high in found:
            turn = mpmath.findroot(lambda t, k=order: mpmath.diff(value, t, k + 1), mpmath.mpf(a))
            exact = mpmath.diff(value, turn, order)
            assert rational(a) <= rational(turn) <= rational(b)
            assert b <= math.nextafter(a, INF)
            assert low < exact < high
            assert high - low <= 1e-12


def test_sums_of_polynomials():
    one, two, three = Fraction(1), Fraction(2), Fraction(3)
    assert _combine((one, two, three), (one,), Fraction(2)) == (3, 2, 3)
    assert _combine((one,), (one, two, three), Fraction(-1)) == (0, -2, -3)
    assert _combine((one, two), (one, two), Fraction(-1)) == (0,)
    assert _combine((one, Fraction(0), two), (one,), Fraction(1)) == (2, 0, 2)
    assert _combine((), (Fraction(0), one), Fraction(1)) == (0, 1)
    constant = WeightedPolynomial("rational", (Fraction(1),), Fraction(0))
    assert constant.shape(1) == ((0,), 2)
    assert constant.range(1, Interval.of(0.3)).hi == 0.0


def test_room_about_a_turning_point():
    where, value = Interval.of(1.0, 1.001), Interval.of(-7.0, 5.0)
    for order, product in ((0, 6), (1, 24), (2, 120)):
        found = widen_by_slope(order, where, value)
        room = 1e3 * product * (float(where.hi) - 1.0) ** 2 * 7.0
        assert float(value.lo - found.lo) == pytest.approx(room, rel=1e-12)
        assert float(found.hi - value.hi) == pytest.approx(room, rel=1e-12)
    small = widen_by_slope(0, where, Interval.of(0.25, 0.5))
    assert float(small.hi) - 0.5 == pytest.approx(6e3 * (float(where.hi) - 1.0) ** 2, rel=1e-12)
    same = widen_by_slope(0, Interval.of(1.0), value)
    assert (same.lo, same.hi) == (value.lo, value.hi)


def test_base_classes_promise_nothing():
    for call in (Scalar().at, Direct().range):
        with pytest.raises(NotImplementedError):
            call(0, Interval.of(1.0))
    with pytest.raises(NotImplementedError):
        Scalar().critical(0)
    assert Direct().critical(2) == ()
    assert Scalar().domain == (-INF, INF)
    assert Scalar().smooth == INF


def test_atoms_that_other_rooms_register(monkeypatch):
    class Probe(Direct):
        def __init__(self, *parameters):
            self.parameters = parameters

    monkeypatch.setitem(scalar.EXTRA, "probe of the tests", Probe)
    assert scalar.scalar("probe of the tests", Fraction(2)).parameters == (2,)
    scalar.scalar.cache_clear()


# --- psi and Huber


def test_the_triangle_wave_and_its_slack():
    beside = [np.nextafter([1, 2, 3, 4], 0), np.nextafter([1, 2, 3], 9)]
    points = np.concatenate([np.arange(0, 4.25, 0.25), *beside, [1e-17, 3.7]])
    wave, rising = Psi._triangle(points)
    for k, t in enumerate(points.tolist()):
        value = Fraction(t) if t < 1 else 2 - Fraction(t) if t <= 3 else Fraction(t) - 4
        assert -1 <= wave.lo[k] <= value <= wave.hi[k] <= 1
        assert wave.hi[k] - wave.lo[k] <= (0 if t == round(t) else 2.5e-15)
        assert rising[k] == (t < 1 or t > 3)


@pytest.mark.parametrize("nu", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_pieces_of_psi_on_wide_waves(nu):
    ends = [-1.0, -0.5, 0.0, 0.3, 1.0]
    lo, hi = map(np.array, zip(*[(a, b) for a in ends for b in ends if a <= b]))
    wave, n = Interval(lo, hi), float(nu)
    for rising in (True, False):
        way = np.full(len(lo), rising)
        third = Psi(nu)._value(3, wave, way)
        second = Psi(nu)._value(2, wave, way)
        first = Psi(nu)._value(1, wave, way)
        for k, (a, b) in enumerate(zip(lo.tolist(), hi.tolist())):
            grid = np.union1d(np.linspace(a, b, 41), [a, b] + ([0.0] if a <= 0 <= b else []))
            sizes = np.abs(grid)
            values = np.sign(grid) * sizes**n
            if nu == 0:
                values = np.array([-1.0, 1.0] if a <= 0 <= b else [math.copysign(1.0, a)])
            top = max(np.abs(values)) if a < 0 < b else 0.0  # of either sign: the larger size on both sides
            assert third.lo[k] == pytest.approx(-top or values.min(), abs=1e-12)
            assert third.hi[k] == pytest.approx(top or values.max(), abs=1e-12)
            assert third.lo[k] <= values.min() + 1e-16
            assert third.hi[k] >= values.max() - 1e-16
            values = (1 if rising else -1) * (sizes ** (1 + n) - 1) / (1 + n)
            assert second.lo[k] == pytest.approx(values.min(), abs=1e-12)
            assert second.hi[k] == pytest.approx(values.max(), abs=1e-12)
            values = np.sign(grid) * sizes ** (2 + n) / ((1 + n) * (2 + n)) - grid / (1 + n)
            assert first.lo[k] <= values.min() + 1e-15
            assert first.hi[k] >= values.max() - 1e-15


def test_psi_beyond_what_is_known():
    half, one = Psi(Fraction(1, 2)), Psi(Fraction(1))
    for function, order in ((half, 4), (half, 5), (one, 5), (one, 6), (Psi(Fraction(0)), 4)):
        for found in (function.at(order, Interval.of([0.3])), function.range(order, Interval.of([0.3], [0.4]))):
            assert (found.lo[0], found.hi[0]) == (-INF, INF)
    assert one.range(4, Interval.of(0.3)).hi == 1
    assert (one.at(0, Interval.of([-1e13, 1e13])).lo == -INF).all()
    for t in (1e9, -1e9):
        found = one.range(2, Interval.of(t))
        assert found.hi - found.lo < 1e-12
    for lo, hi in ((0.3, 1 - 6e-9), (1 + 6e-9, 1.7), (2.3, 3 - 6e-9)):
        found = Psi(Fraction(1)).range(3, Interval.of(lo, hi))
        top = max(abs(1 - abs(1 - abs(v - 2 if v > 2 else v))) for v in (lo, hi))
        assert float(found.magnitude()) == pytest.approx(top, abs=1e-12)
    assert (_unit_power(Interval.of([1.0, 0.0]), Fraction(1, 2)).hi == [1.0, 0.0]).all()
    assert _unit_power(Interval.of(1.0), Fraction(3)).hi == 1.0
    assert _unit_power(Interval.of(1.0), Fraction(1, 3)).hi == 1.0


@pytest.mark.parametrize("delta", [Fraction(1), Fraction(1, 3), Fraction(3, 10), Fraction(5, 2)])
def test_pieces_of_huber_exactly(delta):
    near = float(delta)
    side = [math.nextafter(near, 0), near, math.nextafter(near, 9), near / 2, 2 * near, 0.0]
    ends = sorted({s * v for s in (1, -1) for v in side})
    lo, hi = map(np.array, zip(*[(a, b) for a in ends for b in ends if a <= b]))
    second, third, value = (Huber(delta).range(order, Interval(lo, hi)) for order in (2, 3, 0))
    for k, (a, b) in enumerate(zip(map(Fraction, lo.tolist()), map(Fraction, hi.tolist()))):
        assert second.lo[k] == (1 if -delta < a and b < delta else 0)
        assert second.hi[k] == (1 if b >= -delta and a <= delta else 0)
        kink = a <= delta <= b or a <= -delta <= b
        assert (third.lo[k], third.hi[k]) == ((-INF, INF) if kink else (0, 0))
        sizes = [abs(a), abs(b)]
        sizes = [Fraction(0) if a <= 0 <= b else min(sizes), max(sizes)]
        exact = [s * s / 2 if s <= delta else delta * s - delta * delta / 2 for s in sizes]
        assert Fraction(value.lo[k]) <= exact[0] * (1 + Fraction(1, 10**20))
        assert Fraction(value.hi[k]) >= exact[1] * (1 - Fraction(1, 10**20))
        assert float(value.lo[k]) == pytest.approx(float(exact[0]), rel=5e-15)
        assert float(value.hi[k]) == pytest.approx(float(exact[1]), rel=5e-15)
