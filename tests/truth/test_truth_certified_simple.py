"""Simple bilevel answers with proofs: the kinds on which conic value-function formulations lose f*, and every set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import truth_generator as generator
import truth_simple_cases as cases

import bilevel_verify as bv
from bilevel_verify.truth.arithmetic import krawczyk
from bilevel_verify.truth.simple_bilevel import certificate as proofs
from bilevel_verify.truth.simple_bilevel import optimality

S = bv.simple_bilevel


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng([6, seed])


KINDS: list[tuple[str, Callable[[], cases.SimpleCase], float]] = [
    ("least squares of deficient rank, n = 20", lambda: cases.rank_deficient_least_squares(_rng(0), 20), 1e-10),
    ("logistic of rank 10, n = 20", lambda: cases.logistic(_rng(0), 20, 10, 14), 1e-10),
    ("flat quartic, n = 20", lambda: cases.flat_quartic(_rng(0)), 1e-6),
    ("nonnegative least squares, n = 20", lambda: cases.nonnegative_least_squares(_rng(0)), 1e-10),
    ("the same with supporting bounds", lambda: cases.nonnegative_least_squares(_rng(0), supporting=4), 1e-10),
]


@pytest.mark.parametrize(("make", "tolerance"), [k[1:] for k in KINDS], ids=[k[0] for k in KINDS])
def test_kinds_on_which_value_function_constraints_fail(make: Callable[[], cases.SimpleCase], tolerance: float) -> None:
    case = make()
    assert not cases.misses(case, tolerance)
    t = bv.truth(case.problem)
    assert t.f_star.certainty in ("proved", "certified")
    assert t.f_star.error <= 1e-12 * (1 + abs(case.f_star))


def test_the_value_function_constraint_would_have_failed() -> None:
    """Control: the same flat quartic posed as ``g <= g* + 1e-8`` is off by more than the tolerance asked of us."""
    import cvxpy

    case = cases.flat_quartic(_rng(0), 3)
    z = cvxpy.Variable(3)
    f = case.problem.f
    t = np.array([-float(f.diff(s).subs(dict.fromkeys(case.problem.x, 0))) for s in case.problem.x])
    g = cvxpy.power(z[0], 4) + cvxpy.square(z[0] + z[1] - 1)
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(z - t)), [g <= 1e-8])
    problem.solve(solver=cvxpy.CLARABEL)
    assert abs(float(problem.value) - case.f_star) > 1e-6
    assert abs(float(bv.truth(case.problem).f_star.value) - case.f_star) < 1e-12


HALF = 2**-0.5
SETS: list[tuple[str, str, Any, float, float]] = [
    # f, g, set, f*, g*
    ("(x1-2)**2/2 + (x2-1)**2/2", "exp(x1) - x1 + x2**2*0", bv.WholeSpace(), 2.0, 1.0),
    ("(x1-2)**2/2 + (x2-2)**2/2", "exp(x1) - 2*x1", bv.Box((0, 0), (0.5, 1)), 1.125 + 0.5, float(np.exp(0.5) - 1)),
    ("(x1+1)**2/2 + (x2+1)**2/2", "cosh(x1-x2)", bv.Orthant(), 1.0, 1.0),
    ("(x1-2)**2/2 + x2**2/2", "cosh(x1+x2-1)", bv.Ball(1), 0.5, 1.0),
    ("x1 + x1**2", "exp(x1+x2)", bv.Ball(1), 0.5 - HALF, float(np.exp(-(2**0.5)))),
    ("x1**2 + 2*x2**2 + 3*x3**2", "softplus(x1-x2)+softplus(x2-x1)", bv.Simplex(1), 0.6, 2 * float(np.log(2))),
    ("x1**2/2 + (x2-1)**2/2", "logcosh(x1)", bv.HalfSpace((1.0, 1.0), 0.5), 0.125, 0.0),
    (
        "(x1-2)**2/2 + x2**2/2",
        "logcosh(x1-x2)",
        bv.Intersection((bv.Ball(1), bv.Orthant())),
        (2 - HALF) ** 2 / 2 + 0.25,
        0.0,
    ),
    (
        "(x1-2)**2/2 + (x2-3)**2/2",
        "exp(x1+x2) - x1 - x2",
        bv.Intersection((bv.Box((-1, -1), (1, 1)), bv.HalfSpace((0.0, 1.0), 0.5))),
        2.5**2,
        1.0,
    ),
    (
        "x1**2 + x2**2 + (x3-1)**2",
        "cosh(x1+x2-1)",
        bv.Intersection((bv.HalfSpace((1.0, 0.0, 0.0), 0.25), bv.HalfSpace((0.0, 0.0, 1.0), 0.5), bv.Ball(2))),
        0.0625 + 0.5625 + 0.25,
        1.0,
    ),
]


@pytest.mark.parametrize(("f", "g", "feasible", "f_star", "g_star"), SETS, ids=[repr(s[2])[:40] for s in SETS])
def test_every_feasible_set_is_proved(f: str, g: str, feasible: Any, f_star: float, g_star: float) -> None:
    t = bv.truth(S(f=f, g=g, x="x1 x2 x3" if "x3" in f else "x1 x2", feasible=feasible))
    assert abs(float(t.f_star.value) - f_star) <= t.f_star.error + 4e-16 * (1 + abs(f_star))
    assert abs(float(t.g_star.value) - g_star) <= t.g_star.error + 4e-16 * (1 + abs(g_star))
    assert t.f_star.error < 1e-13
    assert t.f_star.certainty in ("proved", "certified"), t.f_star.method
    assert abs(float(t.conic_f().value) - f_star) < 1e-6


def test_proved_balls_hold_the_closed_form_of_discs() -> None:
    rng = np.random.default_rng([generator.seed(), 11])
    for _ in range(3):
        case = cases.hyperplane_in_ball(rng)
        t = bv.truth(case.problem)
        assert t.f_star.certainty in ("proved", "certified")
        assert not cases.misses(case, 1e-13)


def test_degenerate_active_sets_are_solved_exactly() -> None:
    p = S(f="((x1-2)**2+(x2-1)**2)/2", g="max(0, x1+x2-1)**2/2", x="x1 x2", feasible=bv.Box((0, 0), (2, 2)))
    found = bv.truth(p).f_star
    assert (float(found.value), found.error, found.certainty) == (1.0, 0.0, "certified")


def test_an_upper_level_of_unknown_convexity_is_not_certified() -> None:
    p = S(f="cos(x1)/9 + x1**2 + x2**2", g="cosh(x1+x2-1)", x="x1 x2", feasible=bv.Box((-3, -3), (3, 3)))
    found = bv.truth(p).f_star
    assert found.certainty == "computed" or "convex" not in found.method


def test_control_a_start_that_is_no_solution_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    box = bv.Box((-3, -3), (3, 3))
    t = bv.truth(S(f="(x1-2)**2 + x2**2", g="exp(x1+x2) - 2*x1 - 2*x2", x="x1 x2", feasible=box))
    assert t.simple.proved is not None
    other = bv.truth(t.problem)
    true = optimality.multipliers
    for module in (proofs, optimality):
        monkeypatch.setattr(module, "multipliers", lambda *a: [-v for v in true(*a)])
    monkeypatch.setattr(
        proofs, "krawczyk", lambda system, start: krawczyk._included(system, _exact(start), _unit(start))
    )
    assert other.simple.proved is None


def _exact(start: Any) -> list[Any]:
    import flint

    return [flint.arb(float(v)) for v in start]


def _unit(start: Any) -> Any:
    import flint

    n = len(start)
    return flint.arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])


@pytest.mark.parametrize(
    ("g", "feasible", "f_star", "away", "distance"),
    [
        ("max(0, x1+x2-1)", bv.Box((0, 0), (2, 2)), 5 / 9, [1.5, 1.5], 2**0.5),
        ("abs(x1) + 2*abs(x2-1)", bv.WholeSpace(), 20 / 9, [1.5, 1.5], 2.5**0.5),
        ("abs(x1-x2) + max(0, x1-1/2)", bv.Orthant(), 41 / 36, [1.5, 1.5], 2**0.5),
        ("x1 + 2*x2", bv.Simplex(1), 5 / 9, [0.0, 1.0], 2**0.5),
    ],
)
def test_polyhedral_lower_levels(g: str, feasible: Any, f_star: float, away: list[float], distance: float) -> None:
    t = bv.truth(S(f="((x1-2)**2 + (x2-1/3)**2)/2", g=g, x="x1 x2", feasible=feasible))
    assert abs(float(t.f_star.value) - f_star) <= t.f_star.error + 1e-15
    assert t.f_star.certainty == "proved"
    found = t.distance_to_solutions(away)
    assert abs(float(found.value) - distance) <= found.error < 1e-10
    bound = t.error_bound()
    assert bound.r == 1
    assert bound.alpha is not None
    assert t.check_error_bound(bound.alpha, 1, count=40).holds
    assert not t.check_error_bound(10 * bound.alpha, 1, count=60).holds
