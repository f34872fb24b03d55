"""Lower levels with slopes from 1e-3 to 1e-14 beside curvatures of order one: answers, bars, and no false words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import truth_flat_cases as flat

import bilevel_verify as bv

S = bv.simple_bilevel
BOX = bv.Box((-3, -3), (3, 3))


@pytest.mark.parametrize(
    ("f", "g", "feasible", "f_star", "x_star"),
    [
        ("(x1-2)**2/2 + x2**2/2", "x1/10**8", bv.Ball(1), 4.5, [-1, 0]),
        ("(x1-2)**2/2 + (x2-1)**2/2", "x1/10**9 + x2**2", BOX, 13, [-3, 0]),
        ("x1**2 + x2**2", "log(1 + exp(x1/10**9)) + x2**2", BOX, 9, [-3, 0]),
        ("(x1-2)**2/2 + (x2-1)**2/2", "x1/10**12 + x2**2", bv.L1Ball(1), 5, [-1, 0]),
    ],
)
def test_a_slope_is_not_lost_beside_a_curvature(f: str, g: str, feasible: Any, f_star: float, x_star: Any) -> None:
    t = bv.truth(S(f=f, g=g, x="x1 x2", feasible=feasible))
    assert abs(float(t.f_star.value) - f_star) <= t.f_star.error < 1e-12
    assert np.linalg.norm(np.asarray(t.x_star.value) - x_star) <= t.x_star.error < 1e-12


@pytest.mark.parametrize("family", flat.FAMILIES, ids=lambda family: family.__name__)
def test_random_flat_problems_in_random_units(family: Any) -> None:
    for number in range(3):
        bad, answered = flat.contradictions(flat.draw(np.random.default_rng([16, number]), family))
        assert not bad, bad
        assert answered


def test_control_the_judge_sees_a_wrong_answer() -> None:
    case = flat.draw(np.random.default_rng(3), flat.pressed_ball)
    wrong = flat.Flat(case.problem, case.f_star * (1 + flat.Fraction(1, 10**9)), case.g_star, case.x_star, "wrong")
    assert flat.contradictions(wrong)[0]
    assert flat.contradictions(flat.Flat(case.problem, case.f_star, case.g_star + 1, case.x_star, "wrong"))[0]
    off = [v + flat.Fraction(1, 10**6) * max(map(abs, case.x_star)) for v in case.x_star]
    assert flat.contradictions(flat.Flat(case.problem, case.f_star, case.g_star, off, "wrong"))[0]


@pytest.mark.parametrize("g", ["softplus(x1)/10**9 + softplus(-x1)/10**9", "(softplus(x1) + softplus(-x1))/10**9"])
def test_a_small_factor_does_not_make_an_infimum_unattained(g: str) -> None:
    t = bv.truth(S(f="(x1-1)**2 + (x2-3)**2", g=g, x="x1 x2", feasible=bv.WholeSpace()))
    assert abs(float(t.f_star.value) - 1.0) <= t.f_star.error + 1e-15


@pytest.mark.parametrize(("g", "says"), [("exp(-x1)/10**9", "not attained"), ("-x1/10**9", "not bounded below")])
def test_a_small_factor_does_not_hide_that_there_is_no_minimiser(g: str, says: str) -> None:
    with pytest.raises(bv.MathematicalError, match=says):
        _ = bv.truth(S(f="x1**2", g=g, x="x1", feasible=bv.Orthant())).f_star


@pytest.mark.parametrize("g", ["exp(x2)/10**9 + softplus(x1)/10**9", "exp(-x1) + softplus(x2)"])
def test_bounded_sets_always_have_minimisers(g: str) -> None:
    t = bv.truth(S(f="x1**2 + x2**2", g=g, x="x1 x2", feasible=bv.Box((1, 1), (4, 4))))
    assert not t.simple.recession.verdict
    assert np.isfinite(t.f_star.error)


@pytest.mark.parametrize("power", [3, 8, 14])
@pytest.mark.parametrize("unit", ["1", "10**9", "1/10**9"])
@pytest.mark.parametrize("shape", ["s**2/2", "s**2/2 + s**4", "cosh(s/10)", "logcosh(s)"])
def test_flat_lower_levels_with_a_map(shape: str, unit: str, power: int) -> None:
    """y1 = x1 + 3/8 where a flat function of ``s = y1 - x1 - 3/8`` is least; y2 is held by a curvature of one."""
    flat_part = shape.replace("s**", "(y1-x1-3/8)**").replace("(s", "((y1-x1-3/8)")
    p = bv.bilevel(
        f="(y1-1)**2/2 + (y2+1)**2 + x1**2/2",
        g=f"(({flat_part})/10**{power} + (y2-1/4)**2)*({unit})",
        x="x1", y="y1 y2", domain={"x1": (-3, 3)},
    )  # fmt: skip
    t = bv.truth(p)
    y = t.y_star([0.5])
    assert np.linalg.norm(np.asarray(y.value) - [0.875, 0.25]) <= y.error < 1e-6
    phi = t.phi([0.5])
    assert abs(float(phi.value) - (0.125**2 / 2 + 1.25**2 + 0.125)) <= phi.error + 1e-15
    values, errors = t.y_star_batch([[0.5], [-1.0]])
    assert (np.linalg.norm(values - [[0.875, 0.25], [-0.625, 0.25]], axis=1) <= errors + 1e-15).all()
