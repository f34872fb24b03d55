"""Ranges of atoms and their derivatives: against mpmath on random intervals, and the exact table on the line."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from seeds import SEED

from bilevel_verify.atoms.suprema import critical_generators, supremum
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import ball_ends
from bilevel_verify.intervals.scalar import FamilyScalar, Power, Psi, Scalar, scalar


def _ratio(top: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda t: top(t) / t if t else mpmath.mpf(1)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "exp": mpmath.exp,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tan": mpmath.tan,
    "tanh": mpmath.tanh,
    "sigmoid": lambda t: 1 / (1 + mpmath.exp(-t)),
    "softplus": lambda t: mpmath.log(1 + mpmath.exp(t)),
    "logcosh": lambda t: mpmath.log(mpmath.cosh(t)),
    "atan": mpmath.atan,
    "asinh": mpmath.asinh,
    "erf": mpmath.erf,
    "lorentz": lambda t: 1 / (1 + t * t),
    "odd_lorentz": lambda t: t / (1 + t * t),
    "log": mpmath.log,
    "log1psquare": lambda t: mpmath.log(1 + t * t),
    "hypot1": lambda t: mpmath.sqrt(1 + t * t),
    "gauss": lambda t: mpmath.exp(-t * t / 2),
    "exprel": _ratio(mpmath.expm1),
    "logrel": _ratio(mpmath.log1p),
}
START = {"tan": -1.4, "log": 0.05, "logrel": -0.8}
WIDTH = {"tan": 0.9, "log": 3.0, "logrel": 1.0}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_ranges_contain_and_are_tight(name: str) -> None:
    rng = np.random.default_rng(SEED)
    function = scalar(name)
    for order in range(6):
        lo = START.get(name, -5.0) + rng.random(5) * (0.5 if name in START else 6)
        hi = lo + rng.random(5) * WIDTH.get(name, 3.0)
        found = function.range(order, Interval(lo, hi))
        for i in range(5):
            with mpmath.workdps(40):
                points = [mpmath.mpf(float(p)) for p in np.linspace(lo[i], hi[i], 15)]
                values = [mpmath.diff(FUNCTIONS[name], p, order) if order else FUNCTIONS[name](p) for p in points]
            low, high = float(min(values)), float(max(values))
            slack = 1e-12 * max(1.0, abs(low), abs(high))
            assert found.lo[i] <= low + slack, (SEED, name, order, lo[i], hi[i])
            assert found.hi[i] >= high - slack, (SEED, name, order, lo[i], hi[i])
            assert found.hi[i] - found.lo[i] <= 1.35 * (high - low) + 1e-9 * max(1.0, abs(low), abs(high))


TABLE = {
    "sin": [1, 1, 1, 1, 1, 1],
    "tanh": [1, 1, 0.7698004, 2, 4.0858855, 16],
    "sigmoid": [1, 0.25, 0.09622504, 0.125, 0.12768392, 0.25],
    "softplus": [np.inf, 1, 0.25, 0.09622504, 0.125, 0.12768392],
    "logcosh": [np.inf, 1, 1, 0.7698004, 2, 4.0858855],
    "atan": [np.pi / 2, 1, 0.6495191, 2, 4.6685593, 24],
    "lorentz": [1, 0.6495191, 2, 4.6685593, 24, 100.458983],
    "odd_lorentz": [0.5, 1, 1.4571068, 6, 19.4927858, 120],
    "log1psquare": [np.inf, 1, 2, 2.9142136, 12, 38.9855716],
    "gauss": [1, 0.6065307, 1, 1.3801190, 3, 5.7830570],
    "hypot1": [np.inf, 1, 1, 0.8586501, 3, 8.0616667],
    "asinh": [np.inf, 1, 0.3849002, 1, 1.9322877, 9],
}
"""Suprema of |phi^(k)| on the line, k = 0..5 (transcribed)."""


@pytest.mark.parametrize("name", sorted(TABLE))
def test_suprema_on_the_line(name: str) -> None:
    whole = Interval.of(-np.inf, np.inf)
    for order, stated in enumerate(TABLE[name]):
        with ball_ends():
            reached = float(scalar(name).range(order, whole).magnitude())
        assert reached == pytest.approx(stated, rel=2e-7)
        closed = supremum(name, order)
        if closed is not None:
            assert float(closed) == pytest.approx(stated, rel=2e-7)
            assert reached >= float(closed) * (1 - 1e-15)
            assert np.isinf(reached) or reached <= float(closed) * (1 + 1e-12)


def test_critical_points_count_sign_changes() -> None:
    """No critical point is missing: the next derivative has one sign between consecutive ones."""
    for name in ("tanh", "lorentz", "log1psquare", "gauss", "asinh", "hypot1", "sigmoid"):
        function = FamilyScalar(name)
        for order in range(max(0, function.family.start - 1), 5):
            places = sorted(c[0] for c in function.critical(order))
            edges = [-40.0, *places, 40.0]
            for a, b in itertools.pairwise(edges):
                inside = np.linspace(a, b, 9)[1:-1]
                slope = function.range(order + 1, Interval(inside, inside))
                assert (slope.hi > -1e-13).all() or (slope.lo < 1e-13).all(), (name, order, a, b)
    assert len(critical_generators("gauss", 4)) == 5


@pytest.mark.parametrize("nu", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_psi_ranges(nu: Fraction) -> None:
    psi = Psi(nu)
    whole = Interval.of(-np.inf, np.inf)
    bounds = [float((4 + nu) / ((2 + nu) * (3 + nu))), float(1 / (2 + nu)), float(1 / (1 + nu)), 1.0]
    for order, bound in enumerate(bounds):
        assert float(psi.range(order, whole).magnitude()) == pytest.approx(bound, rel=1e-12)
    rng = np.random.default_rng(SEED)
    lo = rng.normal(size=40) * 4
    hi = lo + rng.exponential(size=40)
    for order in range(3):
        wide = psi.range(order, Interval(lo, hi))
        for share in np.linspace(0, 1, 9):
            t = lo + share * (hi - lo)
            value = psi.range(order, Interval(t, t))
            assert (wide.lo <= value.hi + 1e-14).all()
            assert (wide.hi >= value.lo - 1e-14).all()


def test_psi_derivatives_are_consistent() -> None:
    psi = Psi(Fraction(1, 2))
    t = np.linspace(-6, 6, 301)
    for order in range(3):
        step = 1e-6
        above, below = (psi.range(order, Interval(t + s, t + s)).centre() for s in (step, -step))
        slope = psi.range(order + 1, Interval(t, t)).centre()
        assert np.abs((above - below) / (2 * step) - slope).max() < 2e-3


@pytest.mark.parametrize(
    ("kind", "exponent"),
    [("abs", "5/2"), ("sgn", "5/2"), ("plus", "5/2"), ("abs", "3"), ("plain", "3"), ("plain", "1/2")],
)
def test_powers(kind: str, exponent: str) -> None:
    p = Fraction(exponent)
    power = Power(p, kind)
    functions = {
        "abs": lambda t: (
            abs(t) ** mpmath.mpf(p.numerator) ** 1
            if False
            else mpmath.power(abs(t), mpmath.mpf(p.numerator) / p.denominator)
        ),
        "sgn": lambda t: mpmath.sign(t) * mpmath.power(abs(t), mpmath.mpf(p.numerator) / p.denominator),
        "plus": lambda t: mpmath.power(max(t, 0), mpmath.mpf(p.numerator) / p.denominator),
        "plain": lambda t: mpmath.power(t, mpmath.mpf(p.numerator) / p.denominator),
    }
    points = np.array([0.3, 1.7, 4.0]) if kind == "plain" else np.array([-1.3, -0.2, 0.4, 2.0])
    for order in range(3):
        found = power.range(order, Interval(points, points))
        for i, t in enumerate(points):
            exact = float(
                mpmath.diff(functions[kind], mpmath.mpf(float(t)), order)
                if order
                else functions[kind](mpmath.mpf(float(t)))
            )
            assert found.lo[i] <= exact + 1e-9
            assert found.hi[i] >= exact - 1e-9
            assert found.hi[i] - found.lo[i] < 1e-12 * max(1, abs(exact))


def test_a_wrong_supremum_is_caught() -> None:
    """Control: a table entry that is too small by one percent does not pass the containment test."""

    class Wrong(Scalar):
        name = "tanh, second derivative one percent too small"

        def range(self, order: int, t: Interval) -> Interval:
            true = scalar("tanh").range(order, t)
            return Interval(true.lo * 0.99, true.hi * 0.99)

    whole = Wrong().range(2, Interval.of(-np.inf, np.inf))
    assert float(whole.hi) < float(supremum("tanh", 2))


@pytest.mark.parametrize(("name", "order", "sign"), [
    ("softplus", 1, 1), ("softplus", 2, 1), ("sigmoid", 1, 1), ("tanh", 1, 1), ("logcosh", 2, 1), ("atan", 1, 1),
    ("hypot1", 2, 1), ("gauss", 0, 1), ("tanh", 0, 0), ("softplus", 3, 0), ("hypot1", 1, 0), ("odd_lorentz", 0, 0),
])  # fmt: skip
def test_derivatives_of_one_sign_never_cross_zero(name: str, order: int, sign: int) -> None:
    """Rounding of s - s^2 near s = 1 is no negative curvature; a derivative that turns keeps both signs."""
    ends = np.array([-np.inf, -800.0, -40.0, -1.0, 0.0, 1.0, 36.0, 40.0, 800.0])
    found = FamilyScalar(name).range(order, Interval(ends, np.full_like(ends, np.inf)))
    assert bool((found.lo >= 0).all()) == (sign > 0)
    values = [float(mpmath.diff(FUNCTIONS[name], t, order)) for t in (-3, -0.5, 0.5, 3)] if name in FUNCTIONS else []
    assert all((value > 0) == (sign > 0) for value in values) or sign == 0
