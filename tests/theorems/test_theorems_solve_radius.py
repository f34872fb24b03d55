"""Perturbed methods get the radius of their perturbations from the theorem too, unless it is given."""

from __future__ import annotations

import pytest

import bilevel_verify as bv


@pytest.mark.parametrize(
    ("problem", "method", "eps"),
    [("toy-a", "prahgd", 0.03), ("quad-minimax", "pragda", 1e-4), ("needle", "restarted-agd-perturbed", 0.01)],
)
def test_the_radius_is_prescribed(problem, method, eps):
    p = bv.zoo(problem)
    x0 = [1e-3] * p.dx
    run = bv.solve(p, method, eps=eps, x0=x0, budget=2000, record="thin", compiled=False)
    assert 0 < run.parameters["r"] < 1e-9
    own = bv.solve(p, method, eps=eps, x0=x0, budget=2000, record="thin", compiled=False, parameters={"r": 1e-3})
    assert own.parameters["r"] == 1e-3


def test_explicit_perturbations_need_no_radius():
    p = bv.zoo("needle")
    run = bv.solve(p, "restarted-agd-perturbed", eps=0.01, noise=[[0.0] * p.dx], budget=500, compiled=False)
    assert list(run.x) == [0.0] * p.dx
