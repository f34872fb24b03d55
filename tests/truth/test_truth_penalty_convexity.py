"""``y*_lam`` is the minimiser where f + lam g is certified convex in y; elsewhere nothing about it is certified."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import bilevel_verify as bv

pytestmark = pytest.mark.fast
Y = np.linspace(-10.0, 10.0, 200_001)
CASES: dict[str, Any] = {
    "2*cos(3*y1) + y1/5": lambda y: 2 * np.cos(3 * y) + y / 5,
    "Piecewise((-y1, y1 <= 1/3), (0, True))": lambda y: np.where(y <= 1 / 3, -y, 0.0),
    "-y1**2/4": lambda y: -(y**2) / 4,
    "sin(y1) + x1": lambda y: np.sin(y) + 0.5,
    "exp(-y1**2)": lambda y: np.exp(-(y**2)),
}


@pytest.mark.parametrize("lam", [0.3, 1.0, 2.0, 50.0])
@pytest.mark.parametrize("f", CASES)
def test_what_is_certified_is_the_least_value(f: str, lam: float) -> None:
    problem = bv.bilevel(f=f, g="(y1 - x1)**2/2", x="x1", y="y1", domain={"x": (0, 1)})
    least = float(np.min(CASES[f](Y) + lam * (Y - 0.5) ** 2 / 2))
    try:
        found = bv.truth(problem).L_star([0.5], lam)
    except bv.MathematicalError:
        return
    if found.certainty == "certified":
        assert -1e-12 <= least - float(found.value) <= 1e-6
    else:
        assert "local minimiser" in found.method


@pytest.mark.parametrize(("lam", "certainty"), [(0.4, "computed"), (0.5, "certified"), (3.0, "certified")])
def test_the_weight_that_makes_it_convex(lam: float, certainty: str) -> None:
    problem = bv.bilevel(f="-y1**2/4 + cos(x1)", g="(y1 - x1)**2/2", x="x1", y="y1", domain={"x": (0, 1)})
    t = bv.truth(problem)
    assert t.penalty_certainty(lam) == certainty
    if lam > 0.5:
        assert t.L_star([0.5], lam).certainty == certainty
        assert t.grad_L_star([0.5], lam).certainty == certainty
        assert t.with_digits(30).L_star([mpmath.mpf("0.5")], mpmath.mpf(lam)).certainty == certainty


def test_the_least_penalty_value_is_as_sure() -> None:
    problem = bv.bilevel(f="2*cos(3*y1) + x1**2", g="(y1 - x1)**2/2", x="x1", y="y1", domain={"x": (0, 1)})
    assert bv.truth(problem).L_star_min(50.0).certainty == "certified"
    assert bv.truth(problem).L_star_min(3.0).certainty == "computed"


def test_an_upper_level_of_unknown_curvature_certifies_nothing() -> None:
    problem = bv.bilevel(f="-y1**4", g="(y1 - x1)**2/2", x="x1", y="y1", domain={"x": (0, 1)})
    assert bv.truth(problem).penalty_certainty(1e6) == "computed"
    boxed = bv.bilevel(f="-y1**4", g="(y1 - x1)**2/2", x="x1", y="y1", domain={"x": (0, 1), "y": (-1, 1)})
    assert bv.truth(boxed).penalty_certainty(13.0) == "certified"
    assert bv.truth(boxed).penalty_certainty(11.0) == "computed"


@pytest.mark.parametrize("lam", [["a"], "3", None, 0, -1.0, float("nan"), float("inf"), 1j])
def test_a_penalty_is_a_positive_number(lam: Any) -> None:
    problem = bv.bilevel(f="y1", g="(y1 - x1)**2/2", x="x1", y="y1")
    with pytest.raises(bv.InputError):
        bv.truth(problem).penalty_certainty(lam)
    with pytest.raises(bv.InputError):
        bv.truth(bv.single_level(f="x1**2", x="x1")).penalty_certainty(1.0)
