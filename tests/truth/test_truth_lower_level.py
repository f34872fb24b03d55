"""Lower levels without strong convexity, without a minimiser, or on unbounded ranges: solved or refused plainly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv

CUBE_ROOT = {"f": "y1", "g": "y1**4/4 - x1*y1", "x": "x1", "y": "y1"}


def test_convex_but_not_strongly_is_solved_where_the_minimiser_is_unique() -> None:
    t = bv.truth(bv.bilevel(**CUBE_ROOT))
    for x, y in ((1.0, 1.0), (-8.0, -2.0), (27.0, 3.0)):
        found = t.y_star([x])
        assert abs(float(found.value[0]) - y) <= found.error < 1e-14
        assert "not certified to be strongly convex" in found.method
        assert abs(float(t.grad_phi([x]).value[0]) - 1 / (3 * y * y)) < 1e-14


def test_degenerate_minimiser_is_enclosed_and_the_hypergradient_refused() -> None:
    t = bv.truth(bv.bilevel(**CUBE_ROOT))
    found = t.y_star([0.0])
    assert abs(float(found.value[0])) <= found.error < 1e-40
    assert "sign of g_y" in found.method
    assert float(t.phi([0.0]).value) == pytest.approx(0, abs=1e-40)
    for quantity in (t.grad_phi, t.hess_phi, t.grad_y_star):
        with pytest.raises(bv.MathematicalError, match="singular"):
            quantity([0.0])
    values, errors = t.y_star_batch([[0.0], [8.0]])
    assert np.all(np.abs(values[:, 0] - [0, 2]) <= errors)
    assert np.all(errors < 1e-12)


def test_minimum_through_a_degenerate_point() -> None:
    least = bv.truth(bv.bilevel(**CUBE_ROOT, domain={"x1": (-1, 1), "y1": (-2, 2)})).phi_min()
    assert abs(float(least.value) + 1) <= least.error + 1e-15
    assert least.error < 1e-10


@pytest.mark.parametrize(
    ("g", "y", "says"),
    [
        ("y1**3 - x1*y1", "y1", "not bounded below.*leading term"),
        ("x1*y1", "y1", "not bounded below"),
        ("-cosh(y1)", "y1", "not bounded below"),
        ("-y1**2 + x1*y1", "y1", "not bounded below"),
        ("exp(-y1) + x1**2", "y1", "not attained"),
        ("(y1 - x1)**2/2", "y1 y2", "does not depend on y2"),
        ("(y1 - y2 - x1)**2/2", "y1 y2", "smallest eigenvalue.*mu >= 0"),
        ("x1**2*y1**2/2 - x1*y1 - 0*y1", "y1", "does not depend on y1"),
    ],
)
def test_no_minimiser_is_said_plainly(g: str, y: str, says: str) -> None:
    t = bv.truth(bv.bilevel(f="y1", g=g, x="x1", y=y))
    point = [0.0] if "x1**2*y1**2" in g else [1.0]
    for ask in (t.y_star, t.phi, t.grad_phi):
        with pytest.raises(bv.MathematicalError, match=says):
            ask(point)
    _, errors = t.phi_batch([point])
    assert np.isinf(errors[0])


def test_a_local_minimiser_is_called_one() -> None:
    t = bv.truth(bv.bilevel(f="y1", g="(y1**2-1)**2 + x1*y1/10", x="x1", y="y1"))
    found = t.y_star([1.0])
    assert found.certainty == "computed"
    assert "not convex in y" in found.method
    assert "-4" in found.method


def test_whole_line_minimum_through_global_slopes() -> None:
    p = bv.bilevel(f="sin(x1) + y1**2/2 + cos(x1 - y1)", g="y1**2 + cos(y1)/2 - x1*y1", x="x1", y="y1")
    least = bv.truth(p).phi_min()
    assert abs(float(least.value) - 0.27794764501354) < 1e-12
    assert least.error < 1e-12
    assert (least.certainty, least.attained) == ("certified", True)


def test_boxes_of_the_whole_line_hold_the_true_map() -> None:
    from bilevel_verify.truth.minimum.objective import PhiObjective

    g = "y1**2 + y2**2 + cos(y1 + y2 - x1)/2 - x1*y1/2 + x2*y2 - y1*y2/3"
    p = bv.bilevel(f="y1 + y2", g=g, x="x1 x2", y="y1 y2")
    t = bv.truth(p)
    low, high = np.array([[-40.0, 1.0], [2.0, -np.inf]]), np.array([[60.0, 9.0], [np.inf, 3.0]])
    centre = np.array([[10.0, 5.0], [2.0, 3.0]])
    with np.errstate(all="ignore"):
        boxes = PhiObjective(t.points).over(low, high, centre).y
    rng = np.random.default_rng(0)
    for row in range(2):
        X = np.clip(centre[row] + 30 * rng.normal(size=(200, 2)), low[row], high[row])
        values, errors = t.y_star_batch(X)
        for j in range(2):
            assert np.all(values[:, j] + errors >= boxes[j].lo[row])
            assert np.all(values[:, j] - errors <= boxes[j].hi[row])
    assert np.isfinite(boxes[0].lo[0])
    assert np.isfinite(boxes[0].hi[0])


def test_control_a_wrong_slope_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from bilevel_verify.truth.lower_level import brackets
    from bilevel_verify.truth.minimum.objective import PhiObjective

    t = bv.truth(bv.bilevel(f="y1", g="y1**2 + cos(y1)/2 - x1*y1", x="x1", y="y1"))
    true = brackets._divide
    monkeypatch.setattr(brackets, "_divide", lambda cross, hessian: -true(cross, hessian))
    with np.errstate(all="ignore"):
        box = PhiObjective(t.points).over(np.array([[0.0]]), np.array([[np.inf]]), np.array([[0.0]])).y[0]
    value: Any = t.y_star([50.0]).value
    assert not box.lo[0] <= float(value[0]) <= box.hi[0]


def test_importing_verdicts_does_not_load_the_truth_room() -> None:
    import subprocess
    import sys

    code = "import sys, bilevel_verify.checks.verdicts.verdict; print('sympy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softplus", "logcosh"])
def test_derivatives_over_a_ball_that_is_too_wide_are_unknown_not_an_error(name: str) -> None:
    """A quotient of series whose denominator may be 0 raised an internal error (tanh on [-1e4, 1e4])."""
    from flint import arb

    from bilevel_verify.numbers.balls import ball_atom

    wide = ball_atom(name, 2, arb(0, 1e4), ())
    assert not wide.is_finite() or wide.overlaps(arb(0))
