"""exp, log and log1p on arrays: their proved ends hold the values in balls of 200 bits and are close to them."""

from __future__ import annotations

from fractions import Fraction

import flint
import numpy as np
import pytest

from bilevel_verify.intervals.elementary import array_ends, ball_ends, point_values
from bilevel_verify.intervals.proved import PROVED, ROOM, proved_ends
from bilevel_verify.numbers.rounding import precision

RNG = np.random.default_rng(24)
HALF = 0.5 * np.log(2)
POINTS = {
    "exp": [*RNG.uniform(-700, 700, 300), *RNG.uniform(-1, 1, 300), *(HALF * np.arange(-5, 6)), 0.0, 1e-300, 700, -700],
    "log": [
        *np.exp(RNG.uniform(-700, 700, 300)),
        *RNG.uniform(0.4, 3, 400),
        *(1 + 2.0**-k for k in range(1, 53)),
        *(1 - 2.0**-k for k in range(1, 54)),
        np.sqrt(0.5),
        np.sqrt(2),
        1.0,
        np.finfo(float).tiny,
        np.finfo(float).max,
    ],
    "log1p": [*RNG.uniform(0, 1, 400), *np.exp(RNG.uniform(-600, 0, 300)), 1.0, 1e-290],
}


@pytest.mark.parametrize("name", sorted(PROVED))
def test_the_ends_hold_the_value_and_are_close(name: str) -> None:
    points = np.array(POINTS[name])
    low, high, fine = proved_ends(name, points)
    assert fine.all()
    with precision(200):
        for point, a, b in zip(points.tolist(), low.tolist(), high.tolist(), strict=True):
            value = getattr(flint.arb(point), name)()
            assert flint.arb(a) <= value <= flint.arb(b), (name, point)
            assert flint.arb(b) - flint.arb(a) <= 3 * ROOM * abs(value) + flint.arb(2) ** -1000
            middle = flint.arb(a) / 2 + flint.arb(b) / 2  # the value itself is within half of the room
            assert abs(middle - value) <= abs(value) * ROOM / 2 + flint.arb(2) ** -1000, (name, point)


def test_the_ranges_of_the_bounds_are_kept() -> None:
    for name, outside in (
        ("exp", [701.0, -701.0, np.inf, -np.inf, np.nan]),
        ("log", [0.0, 1e-310, -1.0, np.inf, np.nan]),
        ("log1p", [-0.1, 1.1, 0.0, 1e-300, np.nan]),
    ):
        with np.errstate(all="ignore"):
            assert not proved_ends(name, np.array(outside))[2].any(), name


@pytest.mark.parametrize("name", ["exp", "log", "log1p", "sin"])
def test_what_arrays_do_not_prove_balls_do(name: str) -> None:
    points = np.array([[0.5, 1.0, 2.5], [750.0, 1e-310, 0.25]])
    with ball_ends():
        proved = point_values(name, points)
        with array_ends():
            wide = point_values(name, points)
    assert (wide.lo <= proved.lo).all()
    assert (wide.hi >= proved.hi).all()
    if name == "sin":  # no kernel
        assert np.array_equal(wide.lo, proved.lo)


def test_ln_2_is_cut_as_it_says() -> None:
    from bilevel_verify.intervals import proved

    assert (Fraction(proved.LN2_HIGH) * 2**42).denominator == 1
    with precision(300):
        rest = abs(flint.arb.const_log2() - flint.arb(proved.LN2_HIGH) - flint.arb(proved.LN2_LOW))
    assert rest < flint.arb(2) ** -97
