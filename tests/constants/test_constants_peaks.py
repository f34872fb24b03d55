"""Third and fourth derivatives of independent ridges: caps and cuts against closed forms, dense search and controls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bilevel_verify import problems
from bilevel_verify.constants import constants
from bilevel_verify.constants.search import peaks
from bilevel_verify.constants.search.peaks import supremum_of_powers


def climbed(rows: Any, plus: Any, minus: Any, order: int, seed: int, starts: int = 1000) -> float:
    """Largest value by power iterations from many random directions."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(starts, rows.shape[1]))
    for _ in range(120):
        t = u @ rows.T
        u = (np.where(t > 0, plus, minus) * t * np.abs(t) ** (order - 2)) @ rows
        u /= np.sqrt((u**2).sum(axis=1, keepdims=True))
    t = u @ rows.T
    return float((np.where(t > 0, plus, minus) * np.abs(t) ** order).sum(axis=1).max())


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_bounds_hold_and_meet(order: int, n: int) -> None:
    seed = 10 * n + order
    rng = np.random.default_rng(seed)
    rows = np.eye(n) + 0.4 * rng.normal(size=(n, n))
    plus = rng.uniform(0.2, 1.0, n)
    minus = plus if order == 4 or n == 3 else plus * rng.uniform(0.2, 1.0, n)
    found = supremum_of_powers(rows, plus, minus, order, 60)
    reached = climbed(rows, plus, minus, order, seed)
    assert reached <= found.upper
    assert found.lower <= reached * (1 + 1e-9)
    assert found.upper >= found.lower
    if n <= 3:
        assert found.upper <= found.lower * (1 + 1e-3)


def test_two_rows_at_forty_five_degrees() -> None:
    """The bisector wins: 2 cos(22.5)^k; scaling is by |a|^k."""
    rows = np.array([[1.0, 0.0], [math.sqrt(0.5), math.sqrt(0.5)]])
    ones = np.ones(2)
    for order in (3, 4):
        true = 2 * math.cos(math.pi / 8) ** order
        for size in (1.0, 1e-7, 1e7):
            found = supremum_of_powers(rows * size, 3 * ones, 3 * ones, order)
            assert found.lower <= 3 * true * size**order * (1 + 1e-12)
            assert found.upper == pytest.approx(3 * true * size**order, rel=1e-8)


def test_fifty_sparse_rows_exactly() -> None:
    rng = np.random.default_rng(1)
    rows = np.eye(50) + np.triu(rng.integers(-1, 2, size=(50, 50)) * (rng.random((50, 50)) < 0.05), 1)
    weight = np.where(np.arange(50) % 2, 1.0, 0.0962)
    found = supremum_of_powers(rows, weight, weight, 3)
    assert found.upper <= found.lower * (1 + 1e-8)
    assert found.upper >= climbed(rows, weight, weight, 3, 0, 300)


def test_third_derivative_of_a_problem_is_attained() -> None:
    p = problems.single_level(f="cos(x1 + 2*x2) + sin(x2 - x3) + tanh(x1 + x3)", x="x1 x2 x3")
    rho = constants(p)["rho"]
    assert rho.attained
    assert rho.upper <= rho.lower * (1 + 1e-6)


@pytest.mark.parametrize("order", [3, 4])
def test_second_derivatives_along_great_circles_stay_below_the_level(order: int) -> None:
    rng = np.random.default_rng(order)
    rows, plus = rng.normal(size=(5, 4)), rng.uniform(0.1, 1.0, 5)
    minus = plus if order == 4 else plus * rng.uniform(0.3, 1.0, 5)
    search = peaks._Search(rows, plus, minus, order)
    rows, plus, minus = search.rows[:5], search.plus[:5], search.minus[:5]
    for angle in (0.1, 0.4, 1.0):
        point = rng.normal(size=4)
        point /= np.sqrt(point @ point)
        level = search._level(point, angle)
        away = rng.normal(size=(4000, 4))
        away -= np.outer(away @ point, point)
        away /= np.sqrt((away**2).sum(axis=1, keepdims=True))
        s = rng.uniform(0, angle, size=(4000, 1))
        t = (np.cos(s) * point + np.sin(s) * away) @ rows.T
        speed = (-np.sin(s) * point + np.cos(s) * away) @ rows.T
        weight = np.where(t > 0, plus, minus)
        bent = order * (order - 1) * (weight * np.abs(t) ** (order - 2) * speed**2).sum(axis=1)
        assert bent.max() <= order * level


@pytest.mark.parametrize("fault", ["wide caps", "cut away"])
def test_planted_faults_are_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caps that are too wide, regions that are lost: below the true supremum."""
    rows = np.array([[1.0, 0.0, 0.0], [0.97, 0.25, 0.0], [0.3, 0.3, 1.0], [0.4, 0.9, 0.5]])
    weights = np.array([0.2, 0.3, 0.9, 1.0])
    start = np.array([[1.0, 0.0, 0.0]])
    # the search is told of a poor direction only: sound bounds stay above the true supremum
    monkeypatch.setattr(peaks._Search, "_summits", lambda self: (start, self.value(start)))
    true = climbed(rows, weights, weights, 3, 1, 500)
    assert supremum_of_powers(rows, weights, weights, 3, 40).upper >= true
    if fault == "wide caps":
        monkeypatch.setattr(peaks._Search, "_widest_cap", lambda self, top: 1.5)
    else:
        monkeypatch.setattr(peaks._Search, "_pieces", lambda self, node: [])
    assert supremum_of_powers(rows, weights, weights, 3, 40).upper < true
