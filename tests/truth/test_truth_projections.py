"""Projections: variational inequality, Dykstra as an independent witness, empty sets.

The bridge and the structure finder.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
import truth_generator as generator

import bilevel_verify as bv
from bilevel_verify.truth.functions.quadratics import ldl, quadratic_of
from bilevel_verify.truth.functions.structure import structure_of
from bilevel_verify.truth.sets.projections import project, project_with_cut, violation
from bilevel_verify.truth.witness.cvxpy_bridge import NotRepresentable, solve_convex


def _sets(rng: np.random.Generator, n: int) -> list[Any]:
    return [
        bv.WholeSpace(),
        bv.Box(tuple(-rng.random(n)), tuple(rng.random(n))),
        bv.Orthant(),
        bv.Ball(1.0),
        bv.Ball(0.5, tuple(rng.normal(size=n))),
        bv.Simplex(1.5),
        bv.L1Ball(1.5),
        bv.HalfSpace(tuple(rng.normal(size=n)), 0.3),
        bv.Isotonic(),
    ]


def test_projections_with_a_cut_are_optimal() -> None:
    rng = np.random.default_rng(generator.seed())
    for _ in range(60):
        n = int(rng.integers(2, 8))
        v, c = 2 * rng.normal(size=n), rng.normal(size=n)
        for feasible in _sets(rng, n):
            inside = [project(feasible, p) for p in rng.normal(size=(6, n))]
            b = float(min(c @ p for p in inside)) + 0.3 * rng.random()
            found = project_with_cut(feasible, v, c, b)
            z = found.point
            assert found.residual < 1e-13, feasible
            assert max(violation(feasible, z), float(c @ z) - b) < 1e-13 * (1 + np.linalg.norm(v)), feasible
            for u in (p for p in inside if c @ p <= b):
                assert (z - v) @ (u - z) >= -1e-12 * (1 + np.linalg.norm(v)) ** 2, feasible


def test_orthant_with_a_cut_agrees_with_dykstra() -> None:
    rng = np.random.default_rng(generator.seed() + 1)
    for _ in range(10):
        v, c = rng.normal(size=4), rng.normal(size=4)
        b = 0.2
        x, p, q = v.copy(), np.zeros(4), np.zeros(4)
        for _ in range(20000):
            y = np.maximum(x + p, 0)
            p = x + p - y
            x = y + q - max(0.0, c @ (y + q) - b) / (c @ c) * c
            q = y + q - x
        np.testing.assert_allclose(project_with_cut(bv.Orthant(), v, c, b).point, x, atol=1e-8)


def test_intersections_agree_with_the_conic_solver() -> None:
    rng = np.random.default_rng(generator.seed() + 2)
    x = sympy.symbols("x1:4", real=True)
    for feasible in (
        bv.Intersection((bv.Ball(1), bv.Orthant())),
        bv.Intersection((bv.L1Ball(1), bv.Box((-0.5,) * 3, (0.25,) * 3))),
        bv.Intersection((bv.Simplex(1), bv.HalfSpace((1, 0, 0), 0.25))),
    ):
        v = np.round(2 * rng.normal(size=3), 3)
        z = project(feasible, v)
        answer = solve_convex(sum((s - sympy.Rational(str(t))) ** 2 for s, t in zip(x, v)), x, feasible)
        assert violation(feasible, z) < 1e-12
        assert abs(float(np.sum((z - v) ** 2)) - answer.value) < 1e-8


def test_empty_intersections_are_named() -> None:
    with pytest.raises(bv.InfeasibleError):
        project_with_cut(bv.Ball(1), [0, 0], [1, 0], -1.5)
    with pytest.raises(bv.InfeasibleError):
        project_with_cut(bv.Simplex(1), [0, 0], [1, 1], 0.5)
    with pytest.raises(bv.InfeasibleError):
        project_with_cut(bv.Orthant(), [0, 0], [1, 2], -0.1)
    with pytest.raises(bv.InfeasibleError):
        project(bv.Intersection((bv.Ball(1), bv.HalfSpace((1.0, 0.0), -2.0))), [0, 0])
    with pytest.raises(bv.InfeasibleError):
        project_with_cut(bv.WholeSpace(), [0, 0], [0, 0], -1)


def test_two_balls_have_the_corner_of_their_lens_and_may_have_no_point() -> None:
    """Where the first guess lies in neither of them, a barrier finds a way in."""

    def lens(apart: float) -> bv.Intersection:
        return bv.Intersection((bv.Ball(radius=1.0, center=[0.0, 0.0]), bv.Ball(radius=1.0, center=[apart, 0.0])))

    np.testing.assert_allclose(project(lens(1.0), [0.5, 3.0]), [0.5, np.sqrt(3) / 2], atol=1e-12)
    np.testing.assert_allclose(project(lens(1.0), [3.0, 0.0]), [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(project(lens(1.8), [0.9, 2.0]), [0.9, np.sqrt(0.19)], atol=1e-12)
    np.testing.assert_allclose(project(lens(1.0), [0.5, 0.1]), [0.5, 0.1], atol=1e-12)
    with pytest.raises(bv.InfeasibleError, match="no point satisfies all constraints"):
        project(lens(2.5), [1.0, 0.0])


def test_void_and_touching_cuts() -> None:
    np.testing.assert_array_equal(project_with_cut(bv.Orthant(), [1, -1], [0, 0], 0).point, [1, 0])
    np.testing.assert_allclose(project_with_cut(bv.Orthant(), [1, 2], [1, 1], 0).point, [0, 0], atol=1e-15)
    np.testing.assert_allclose(project_with_cut(bv.Ball(1), [0, 3], [1, 0], -1).point, [-1, 0], atol=1e-7)


def test_exact_ldl_recognises_squares() -> None:
    x = sympy.symbols("x1:4", real=True)
    found = quadratic_of(sympy.expand((x[0] - 2 * x[1]) ** 2 + (x[1] + x[2]) ** 2 / 3 + x[0]), x)
    assert found is not None
    factor = ldl(found.Q)
    assert factor.sign == 1
    assert len(factor.squares) == 2
    rebuilt = [[sum(w * a[i] * a[j] for w, a in factor.squares) for j in range(3)] for i in range(3)]
    assert rebuilt == found.Q
    assert ldl([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(1)]]).sign == 0
    assert ldl([[Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]]).sign == 0


def test_structure_names_what_it_cannot_read() -> None:
    x = sympy.symbols("x1:3", real=True)
    fine = structure_of(
        sympy.exp(x[0] - x[1]) + 3 * bv.atoms.softplus(2 * x[0] + 1) + x[0] ** 2 + (x[0] + x[1] - 1) ** 4, x
    )
    assert not fine.missing
    assert len(fine.ridges) == 3
    assert all(r.kind == "strict" for r in fine.ridges)
    assert "x1*x2" in structure_of(sympy.exp(x[0] * x[1]) + x[0] ** 2, x).missing
    assert structure_of(sympy.sin(x[0]), x).missing


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x1**2 - x2**2", "not convex"),
        ("sin(x1)", "sin"),
        ("x1*exp(x2)", "product"),
        ("log(x1)", "concave"),
        ("x1**3*x2", "product"),
    ],
)
def test_bridge_says_which_term_and_why(text: str, says: str) -> None:
    p = bv.single_level(f=text, x="x1 x2")
    with pytest.raises(NotRepresentable, match=says):
        solve_convex(p.f, p.x, bv.Box((0.5, 0.5), (1, 1)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x1*log(x1) + 1/x2", -np.exp(-1) + 1 / 3),
        ("sqrt(1 + (x1 - x2)**2) + abs(x1 - 1)", 1.0),
        ("log(exp(x1) + exp(x2)) - x1/2 - x2/2", np.log(2)),
        (
            "max(x1, x2) + exp(-x1)",
            float(np.exp(-2) + 2) if 2 + np.exp(-2) < 0.1 + np.exp(-0.1) else float(0.1 + np.exp(-0.1)),
        ),
        ("(x1 - 1)**4 + abs(x2 - 1)**3 + cosh(x1 - 1)", 1.0),
    ],
)
def test_bridge_values(text: str, value: float) -> None:
    p = bv.single_level(f=text, x="x1 x2")
    answer = solve_convex(p.f, p.x, bv.Box((0.1, 0.1), (2, 3)))
    assert answer.value == pytest.approx(value, abs=1e-6)
    assert answer.gap < 1e-6


def test_bridge_reports_unbounded_and_infeasible() -> None:
    p = bv.single_level(f="x1", x="x1")
    with pytest.raises(bv.SolverFailure, match="unbounded"):
        solve_convex(p.f, p.x)
    with pytest.raises(bv.SolverFailure, match="infeasible"):
        solve_convex(p.f, p.x, bv.Intersection((bv.HalfSpace((1.0,), -1.0), bv.Orthant())))
