"""The Polyak-Lojasiewicz constant against eigenvalues, random points, and functions for which it fails."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
import sympy
from seeds import SEED

import bilevel_verify as bv
from bilevel_verify.constants.gradient_domination import flat_directions
from bilevel_verify.constants.papers import read_letters
from bilevel_verify.errors import InputError

pytestmark = pytest.mark.fast


def constant(p: bv.Problem, of: str = "g:y") -> Any:
    table = {"kinds": [p.kind], "letters": {"m": {"measure": "Polyak-Lojasiewicz", "of": [of], "norm": "in y"}}}
    return bv.constants(p, paper=read_letters("mine", table, "mine.toml"))["m"]  # type: ignore[arg-type]


def two_levels(g: str, **more: Any) -> bv.Problem:
    return bv.bilevel(f="x1**2 + y1", g=g, x="x1", y="y1 y2 y3", **more)


def test_a_least_squares_problem_of_deficient_rank_has_its_smallest_positive_eigenvalue() -> None:
    A = np.array([[1, 2, -1], [2, 4, -2], [0, 1, 3]])
    rows = [f"({a[0]}*y1 + {a[1]}*y2 + ({a[2]})*y3 - x1*{i})**2/2" for i, a in enumerate(A)]
    found = constant(two_levels(" + ".join(rows)))
    positive = [v for v in np.linalg.eigvalsh(A.T @ A) if v > 1e-9]
    assert len(positive) == 2
    assert found.certified
    assert found.value == pytest.approx(min(positive), rel=1e-12)
    assert found.value <= min(positive) * (1 + 1e-12)
    assert found.upper == pytest.approx(min(positive), rel=1e-9)


def test_strongly_convex_functions_of_a_linear_map_against_random_points() -> None:
    g = "(y1 + y2)**2 + cos(y1 + y2)/2 + 3*(y2 - 2*y3 - sin(x1))**2 + softplus(y1 + y2)"
    found = constant(two_levels(g))
    assert found.certified
    assert 0.5 < found.value < inf
    assert found.upper == inf  # the best constant is not claimed
    o, draw = bv.oracles(two_levels(g)), np.random.default_rng(SEED)
    best = {at: _infimum(at) for at in (-1.0, 0.3)}
    for at, least in best.items():
        for point in draw.normal(size=(200, 3)) * 3:
            slope = o.grad_y_g([at], point)
            gap = float(o.value_g([at], point)) - least
            assert slope @ slope / 2 >= found.value * gap * (1 - 1e-9)


def _infimum(at: float) -> float:
    """``min_s s^2 + cos(s)/2 + log(1 + e^s)``: the other square vanishes."""
    s = np.linspace(-4, 4, 800_001)
    return float(np.min(s**2 + np.cos(s) / 2 + np.log1p(np.exp(s))))


@pytest.mark.parametrize(
    "g",
    [
        "y1**2 + y2",  # unbounded below along y2: not flat, not curved
        "y1**4 + y2**2 + y3**2",  # no constant near 0
        "y1**2 + y2**2 - y3**2",
        "y1**2 + sin(y2) + y3**2",
    ],
)
def test_nothing_is_claimed_where_it_fails(g: str) -> None:
    found = constant(two_levels(g))
    assert found.value == 0
    assert "not certified to be strongly convex" in str(found.why)


def test_a_jump_is_no_flat_direction() -> None:
    assert constant(two_levels("y1**2 + Piecewise((0, y2 < 0), (1, True)) + y3**2")).value == 0


def test_strong_convexity_is_a_special_case_and_ranges_count() -> None:
    assert constant(two_levels("2*y1**2 + y2**2 + 3*y3**2 - x1*y1")).value == 2
    curved = "y1**4 + y2**2 + y3**2"
    local = constant(two_levels(curved, domain={"y1": (1, 2)}))
    assert local.value == 2
    along = constant(two_levels("(y1 + y2)**4 + y3**2", domain={"y1": (1, 2), "y2": (1, 2)}))
    assert along.value == pytest.approx(2)  # that of y3; along y1 + y2 it is 24 s^2 with s >= 2


def test_one_level_and_what_is_refused() -> None:
    p = bv.single_level(f="(x1 + x2 - 1)**2/2", x="x1 x2")
    assert constant(p, "f:x").value == 2
    with pytest.raises(InputError, match="one level only"):
        constant(p, "g:y")
    with pytest.raises(InputError, match="one gradient"):
        constant(p, "f:xx")


def test_flat_directions_are_flat_identically() -> None:
    a, b, c = sympy.symbols("a b c", real=True)
    assert flat_directions((a - 2 * b) ** 2 + sympy.exp(c), [a, b, c]) == [sympy.Matrix([2, 1, 0])]
    assert flat_directions(a * b + c**2, [a, b, c]) == []
    assert flat_directions((a + b) ** 2 + a, [a, b]) == []
    assert len(flat_directions(sympy.sin(c), [a, b])) == 2
