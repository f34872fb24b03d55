"""Feasible sets of simple bilevel problems, each cut by a half-space: projections and linear minima against CVXPY."""

from __future__ import annotations

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.errors import InfeasibleError
from bilevel_verify.methods.simple import sets
from bilevel_verify.methods.simple.agm import data_of
from bilevel_verify.methods.simple.geometry import linear_minimum, linear_minimum_with_cut
from bilevel_verify.truth.sets.projections import project, project_with_cut, violation

N = 4
SETS = {
    "whole": bv.WholeSpace(),
    "box": bv.Box([-1.0, 0.0, -2.0, 0.5], [1.0, 2.0, 0.5, 3.0]),
    "orthant": bv.Orthant(),
    "ball": bv.Ball(radius=1.5),
    "shifted ball": bv.Ball(radius=0.75, center=[0.5, -1.0, 0.0, 2.0]),
    "simplex": bv.Simplex(total=2),
    "l1": bv.L1Ball(radius=1.25),
    "half-space": bv.HalfSpace([1.0, -2.0, 0.5, 0.0], 0.75),
    "isotonic": bv.Isotonic(),
}


def described(name: str, z: object) -> list[object]:
    """The set in CVXPY."""
    import cvxpy as cp

    feasible = SETS[name]
    match feasible:
        case bv.Box():
            return [z >= np.array(feasible.lo), z <= np.array(feasible.hi)]  # type: ignore[operator]
        case bv.Orthant():
            return [z >= 0]  # type: ignore[operator]
        case bv.Ball():
            return [cp.norm(z - np.array(feasible.center or [0.0] * N)) <= feasible.radius]  # type: ignore[operator]
        case bv.Simplex():
            return [z >= 0, cp.sum(z) == feasible.total]  # type: ignore[operator]
        case bv.L1Ball():
            return [cp.norm1(z) <= feasible.radius]
        case bv.HalfSpace():
            return [np.array(feasible.normal) @ z <= feasible.offset]  # type: ignore[operator]
        case bv.Isotonic():
            return [cp.diff(z) >= 0]
    return []


def loop_projection(feasible: object, v: np.ndarray, c: np.ndarray, b: float) -> tuple[int, np.ndarray]:
    """The projection that the solver loop makes, for a unit normal."""
    code, size, first, second = data_of(feasible, len(v))  # type: ignore[arg-type, misc]
    points = np.zeros((sets.POINTS, len(v))).tolist()
    points[sets.FIRST], points[sets.SECOND], points[sets.TARGET] = first.tolist(), second.tolist(), v.tolist()
    points[sets.NORMAL], points[sets.UNIT][0] = c.tolist(), 2.0**-52
    sets.project_onto(code, size, points, sets.TARGET)
    end = sets.OK
    if float(c @ np.array(points[sets.NEXT])) > b:
        end = sets.project_onto_cut(code, size, points, b)
    return end, np.array(points[sets.NEXT])


def draw(rng: np.random.Generator, name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """A point, a unit normal, and an offset that leaves some of the set."""
    v, c = 2.0 * rng.normal(size=N), rng.normal(size=N)
    c /= np.linalg.norm(c)
    inside = project(SETS[name], rng.normal(size=N))
    return v, c, float(c @ inside) + 0.3 * rng.uniform()


@pytest.mark.parametrize("name", list(SETS))
def test_projection_on_set_and_cut(name: str) -> None:
    import cvxpy as cp

    rng = np.random.default_rng(5)
    for case in range(60):
        v, c, b = draw(rng, name)
        found = project_with_cut(SETS[name], v, c, b)
        assert found.residual <= 1e-12
        end, fast = loop_projection(SETS[name], v, c, b)
        assert end == sets.OK
        np.testing.assert_allclose(fast, found.point, atol=1e-12)
        assert violation(SETS[name], found.point) <= 1e-12
        assert c @ found.point <= b + 1e-12
        for _ in range(20):  # the variational inequality (26) at other points of the set
            other = project(SETS[name], 3.0 * rng.normal(size=N))
            if c @ other <= b:
                assert (found.point - v) @ (other - found.point) >= -1e-10
        if case < 4:
            z = cp.Variable(N)
            cp.Problem(cp.Minimize(cp.sum_squares(z - v)), [*described(name, z), c @ z <= b]).solve(solver="CLARABEL")
            np.testing.assert_allclose(found.point, z.value, atol=2e-4)
            assert np.sum((found.point - v) ** 2) <= np.sum((z.value - v) ** 2) + 1e-6


@pytest.mark.parametrize("name", ["box", "ball", "shifted ball", "simplex", "l1"])
@pytest.mark.parametrize("cut", [False, True])
def test_linear_minimum(name: str, cut: bool) -> None:
    import cvxpy as cp

    rng = np.random.default_rng(9)
    for _ in range(12):
        _, c, b = draw(rng, name)
        p, z = rng.normal(size=N), cp.Variable(N)
        found = linear_minimum_with_cut(SETS[name], p, c, b) if cut else linear_minimum(SETS[name], p)
        assert violation(SETS[name], found) <= 1e-10
        assert not cut or c @ found <= b + 1e-10
        problem = cp.Problem(cp.Minimize(p @ z), described(name, z) + ([c @ z <= b] if cut else []))
        problem.solve(solver="CLARABEL")
        assert abs(p @ found - problem.value) <= 1e-5 * (1 + abs(problem.value))


def test_empty_cuts_are_named() -> None:
    for name in ("box", "orthant", "ball", "simplex", "l1"):
        c = np.array([1.0, 1.0, 1.0, 1.0]) / 2
        with pytest.raises(InfeasibleError):
            project_with_cut(SETS[name], np.ones(N), c, -50.0)
        assert loop_projection(SETS[name], np.ones(N), c, -50.0)[0] == sets.EMPTY
        if name != "orthant":
            with pytest.raises(InfeasibleError):
                linear_minimum_with_cut(SETS[name], np.ones(N), c, -50.0)
    assert loop_projection(SETS["isotonic"], np.arange(4.0), -np.array([0, 0, 0, 1.0]), 1.0)[0] == sets.OK


def test_a_planted_mistake_is_seen() -> None:
    """Doing the plane before the ball (steps 1 and 2 of the recipe exchanged) is not the projection."""
    rng = np.random.default_rng(2)
    worst = 0.0
    for _ in range(200):
        v, c, b = draw(rng, "ball")
        plane = v - max(0.0, float(c @ v) - b) * c
        wrong = plane * min(1.0, 1.5 / float(np.linalg.norm(plane)))
        worst = max(worst, float(np.linalg.norm(wrong - project_with_cut(SETS["ball"], v, c, b).point)))
    assert worst > 1e-2
