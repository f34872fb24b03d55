"""An infinite constant names the term that is to blame, and ranges that make it finite: all of them, once."""

from __future__ import annotations

import math

import pytest

import bilevel_verify as bv
from bilevel_verify.constants.bound.constant import Reason

pytestmark = pytest.mark.fast


def test_the_ranges_of_all_parts_are_named_and_the_narrower_one_counts() -> None:
    first = Reason("unbounded ray", "sup = oo: the first grows", remedy={"y1": (-10.0, 10.0), "x1": (-1.0, 1.0)})
    second = Reason("unbounded ray", "sup = oo: the second grows", remedy={"y2": (0.01, 10.0), "x1": (-10.0, 10.0)})
    bounded = Reason("part", "sup <= 3", remedy={"z": (0.0, 1.0)})
    whole = Reason("blocks", "root of the sum of squares", (bounded, first, second))
    said = "sup = oo: the first grows; add y1 = [-10, 10], x1 = [-1, 1], y2 = [0.01, 10] under [domain]"
    assert whole.cause() == said
    assert str(first) == "sup = oo: the first grows; add y1 = [-10, 10], x1 = [-1, 1] under [domain]  [unbounded ray]"


def test_a_reason_that_blames_nobody_is_its_own_cause() -> None:
    assert Reason("calculus", "no finite bound").cause() == "no finite bound"


def test_many_ranges_are_counted() -> None:
    ranges = {f"y{i}": (-1.0, 1.0) for i in range(1, 8)}
    assert (
        Reason("blows up", "grows", remedy=ranges)
        .cause()
        .endswith("y4 = [-1, 1] and so on (7 variables) under [domain]")
    )


def test_what_is_advised_makes_the_constant_finite() -> None:
    """Two levels, C_f: the gradient grows along y1 and along y2, and the advice names both."""
    fields = {"f": "(y1 - 1)**2/2 + (y2 - 1)**2/2", "g": "(y1 - x1)**2/2 + y2**2", "x": "x1", "y": "y1 y2"}
    constant = bv.constants(bv.bilevel(**fields))["C_f"]
    assert math.isinf(constant.value)
    assert constant.why.cause().endswith("add y1 = [-10, 10], y2 = [-10, 10] under [domain]")
    found = bv.constants(bv.bilevel(**fields, domain={"y1": (-10, 10), "y2": (-10, 10)}))["C_f"]
    assert found.value == pytest.approx(math.hypot(11, 11), rel=1e-9)


@pytest.mark.parametrize(("formula", "advice"), [("log(x1)", "[0.01, 10]"), ("x1**4", "[-10, 10]")])
def test_a_singularity_is_kept_away_from(formula: str, advice: str) -> None:
    constant = bv.constants(
        bv.single_level(f=formula, x="x1", domain={"x1": (0, math.inf)} if "log" in formula else {})
    )["L"]
    assert f"add x1 = {advice} under [domain]" in constant.why.cause()


@pytest.mark.parametrize(
    ("lower", "advice"),
    [
        ("log(1 + exp(y1)) - x1*y1", True),  # the curvature tends to 0
        ("y1**2*exp(x1)", True),
        ("y1**2 + cos(2*y1) + x1*y1", False),  # not convex on any box around 0
        ("y1**4 + x1*y1", False),
        ("y1**2 + x1*y1", False),  # nothing to mend
    ],
)
def test_a_curvature_that_is_positive_on_a_box_comes_with_that_box(lower: str, advice: bool) -> None:
    fields = {"f": "x1 + y1", "g": lower, "x": "x1", "y": "y1"}
    found = bv.constants(bv.bilevel(**fields), only=["mu"])["mu"]
    said = ["add x1 = [-10, 10], y1 = [-10, 10] under [domain]"] if advice else []
    assert found.why.remedies() == said
    if advice:
        assert found.value <= 0
        boxed = bv.bilevel(**fields, domain={"x1": (-10, 10), "y1": (-10, 10)})
        assert bv.constants(boxed, only=["mu"])["mu"].value > 0
