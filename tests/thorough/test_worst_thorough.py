"""All known worst cases, a minute each: at least 95 % of the truth, and never more than it.

``pytest tests/thorough/test_worst_thorough.py``; with PEPit installed the constants of the card are compared with its
semidefinite programmes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bilevel_verify.worst import worst_case

sys.path.insert(0, str(Path(__file__).parents[1] / "worst"))
from worst_known import KNOWN


@pytest.mark.parametrize("known", KNOWN, ids=lambda one: f"{one.statement or one.claim}-{one.family}")
def test_the_worst_case_is_found_within_a_minute(known):
    found = worst_case(known.name, family=known.family, minutes=1, **known.options)
    truth = known.truth()
    assert found.worst is not None
    print(f"{known.name.rpartition('/')[2]}: {found.worst.ratio:.6f} of {truth:.6f}, {found.tried} candidates")
    assert 0.95 * truth <= found.worst.ratio <= truth * (1 + 1e-6)


def smooth(N: int, convex: bool) -> float:
    """PEPit's worst case for L = 1 of gradient descent with step 1: least squared gradient, or the last value."""
    from PEPit import PEP
    from PEPit.functions import SmoothConvexFunction, SmoothFunction

    problem = PEP()
    f = problem.declare_function(SmoothConvexFunction if convex else SmoothFunction, L=1.0)
    best = f.stationary_point()
    x = start = problem.set_initial_point()
    if convex:
        problem.set_initial_condition((start - best) ** 2 <= 1)
    else:
        problem.set_initial_condition(f(start) - f(best) <= 1)
    for _ in range(N):
        if not convex:
            problem.set_performance_metric(f.gradient(x) ** 2)
        x = x - f.gradient(x)
    problem.set_performance_metric(f(x) - f(best) if convex else f.gradient(x) ** 2)
    if not convex:
        problem.add_constraint(f(best) <= f(x) - f.gradient(x) ** 2 / 2)
    return float(problem.solve(verbose=0))


@pytest.mark.parametrize("N", [1, 2, 3, 5])
def test_the_constants_of_the_card_are_those_of_pepit(N):
    pytest.importorskip("PEPit")
    assert smooth(N, convex=True) == pytest.approx(1 / (4 * N + 2), rel=1e-4)
    assert smooth(N, convex=False) == pytest.approx(4 / (3 * N + 2), rel=1e-4)
