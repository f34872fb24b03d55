"""Lower levels that are not certified to be convex: of several minimisers the lowest, and nothing certified."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.truth.lower_level.starts import places

Y = np.linspace(-60.0, 60.0, 1_200_001)
CASES: dict[str, Any] = {
    "y1**6 - 3*y1**4 + 2*y1**2 + y1/1000 - x1*y1": lambda y: y**6 - 3 * y**4 + 2 * y**2 + y / 1000,
    "y1**2/100 + sin(3*y1) + x1*y1": lambda y: y**2 / 100 + np.sin(3 * y),
    "y1**2*(y1 - 3)**2*(y1 + 4)**2 - y1/100 - x1*y1": lambda y: y**2 * (y - 3) ** 2 * (y + 4) ** 2 - y / 100,
    "y1**2/100 - 5*exp(-(y1 - 10)**2) - x1*y1": lambda y: y**2 / 100 - 5 * np.exp(-((y - 10) ** 2)),
    "(y1**2 - 1)**2*((y1 - 5)**2 + 1/10) + y1/100": lambda y: (y**2 - 1) ** 2 * ((y - 5) ** 2 + 0.1) + y / 100,
    "y1**2/2 + 3*cos(5*y1 - 1)": lambda y: y**2 / 2 + 3 * np.cos(5 * y - 1),
}


@pytest.mark.parametrize("g", CASES)
def test_the_lowest_of_several_minimisers(g: str) -> None:
    t = bv.truth(bv.bilevel(f="y1", g=f"{g} + 0*x1" if "x1" in g else f"{g} + x1*y1/10**6", x="x1", y="y1"))
    found = t.y_star([0.0])
    assert found.certainty == "computed"
    assert "may be a local one" in found.method
    assert float(CASES[g](np.asarray(found.value))[0]) <= float(CASES[g](Y).min()) + 1e-9
    values, _ = t.y_star_batch([[0.0], [0.0]])
    assert values[:, 0] == pytest.approx(float(found.value[0]), abs=1e-9)


def test_a_needle_inside_declared_ranges() -> None:
    problem = bv.bilevel(
        f="y1", g="y1**2 - 10*exp(-10**4*(y1 - 2)**2) - x1*y1/1000", x="x1", y="y1", domain={"x": (-2, 2), "y": (-4, 4)}
    )
    assert float(bv.truth(problem).y_star([0.0]).value[0]) == pytest.approx(2.0, abs=1e-3)


NEEDLES = {
    "y1**2*(1 - 3/2/(1 + ((y1 - 2)*1000)**2)) - x1*y1/1000": 2.0,
    "y1**2/10**6*(1 - 3/2/(1 + ((y1 - 2)*1000)**2)) - x1*y1/10**9": 2.0,
    "y1**2/2 - exp(-((y1 - 1)*10**4)**2) - x1*y1/1000": 1.0,
    "y1**2/2 - exp(-((y1 - 7/3)*10**4)**2)/100 - x1*y1/1000": 0.0,  # too shallow
}


@pytest.mark.parametrize("g", NEEDLES)
def test_a_needle_that_no_point_meets(g: str) -> None:
    t = bv.truth(bv.bilevel(f="y1", g=g, x="x1", y="y1"))
    assert float(t.y_star([0.0]).value[0]) == pytest.approx(NEEDLES[g], abs=1e-3)


@pytest.mark.seeded
def test_random_needles() -> None:
    """A parabola with one needle of a width of 10^-2 to 10^-4 that is deeper than its middle."""
    rng = np.random.default_rng(SEED)
    for _ in range(4):
        place, sharp = round(float(rng.uniform(-3, 3)), 3), round(10 ** float(rng.uniform(2, 4)))
        depth, scale = round(place**2 + float(rng.uniform(0.5, 3)), 3), rng.choice(["1", "1/10**6", "1000"])
        g = f"{scale}*(y1**2 - {depth}/(1 + ({sharp}*(y1 - ({place})))**2) - x1*y1/10**6)"
        found = bv.truth(bv.bilevel(f="y1", g=g, x="x1", y="y1")).y_star([0.0])
        assert float(found.value[0]) == pytest.approx(place, abs=1e-2), g


def test_the_lowest_minimiser_of_the_penalised_lower_level() -> None:
    """Its valleys are not those of g: f alone moves the lowest one from 1 to -1."""
    t = bv.truth(bv.bilevel(f="3*y1", g="(y1**2 - 1)**2 - y1/10 + x1*y1/10**6", x="x1", y="y1"))
    assert float(t.y_star([0.0]).value[0]) == pytest.approx(1.0, abs=0.05)
    found = t.y_star_lam([0.0], 5.0)
    assert float(found.value[0]) == pytest.approx(-1.0, abs=0.1)
    assert found.certainty == "computed"
    values = t.y_star_lam_batch([[0.0]] * 70, 5.0)[0]
    assert values[:, 0] == pytest.approx(float(found.value[0]), abs=1e-6)


@pytest.mark.parametrize(
    ("low", "high"), [((0.0, -3.0), (1.0, 5.0)), ((-np.inf, 0.0), (np.inf, np.inf)), ((-np.inf, -2.0), (1.0, 2.0))]
)
def test_places_lie_in_the_ranges_and_everywhere_in_them(low: Any, high: Any) -> None:
    low, high = np.array(low), np.array(high)
    found = places(low, high, 1000)
    assert ((found >= low) & (found <= high)).all()
    for j in range(2):
        if np.isfinite([low[j], high[j]]).all():
            assert np.max(np.diff(np.sort(found[:, j]))) < 0.005 * (high[j] - low[j])
        else:
            assert np.abs(found[:, j]).max() > 100
