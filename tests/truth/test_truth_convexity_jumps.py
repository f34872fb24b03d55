"""A lower level whose slope jumps is not convex by its second derivative: nothing about it is certified."""

from __future__ import annotations

from typing import Any

import pytest

import bilevel_verify as bv
from bilevel_verify.errors import BilevelVerifyError

pytestmark = pytest.mark.fast


@pytest.mark.slow
@pytest.mark.parametrize("feasible", [None, bv.Box([-1], [1])])
@pytest.mark.parametrize(
    "g",
    [
        "y1**2 + y1 + x1*y1 + Piecewise((0, y1 < 1/2), (-5, True))",  # least at 1/2, not at -1/2
        "y1**2 - 3*abs(y1 - 1/4) + x1*y1",
        "y1**2 - 2*plus(y1 + 1/2) + x1*y1",
        "y1**2/2 - floor(2*y1) + x1*y1",
    ],
)
def test_a_jump_of_the_slope_leaves_nothing_certified(g: str, feasible: Any) -> None:
    ranges = {"x1": (-1, 1), "y1": (-1, 1)}
    try:
        t = bv.truth(bv.bilevel(f="y1", g=g, x="x1", y="y1", domain=ranges, feasible=feasible))
        assert not t.convexity.convex
        found = t.y_star([0.0])
    except BilevelVerifyError:
        return  # refused
    assert found.certainty == "computed"


def test_a_smooth_convex_one_still_is() -> None:
    p = bv.bilevel(f="y1", g="y1**4 - x1*y1", x="x1", y="y1", domain={"x1": (1, 2), "y1": (-1, 1)})
    assert bv.truth(p).y_star([1.0]).certainty == "certified"


@pytest.mark.parametrize("feasible", [None, bv.Box([-1], [1])])
def test_convexity_is_certified_on_the_declared_range_of_x_alone(feasible: Any) -> None:
    """Concave at x = 5, where the lower level is not certified to be convex."""
    g = "(4 - x1)*y1**2/2 - y1/4"
    p = bv.bilevel(f="y1", g=g, x="x1", y="y1", domain={"x1": (-3, 3), "y1": (-1, 1)}, feasible=feasible)
    t = bv.truth(p)
    assert t.y_star([3.0]).certainty == t.phi([-3.0]).certainty == "certified"
    for x in (3.0000001, 5.0, -3.5):
        try:
            found = [t.y_star([x]), t.phi([x]), t.grad_phi([x])]
        except BilevelVerifyError:
            continue
        assert {one.certainty for one in found} == {"computed"}
