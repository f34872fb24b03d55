"""Second-order methods with ill-formed input, and their theorems where a hypothesis fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bilevel_verify as bv
from bilevel_verify.methods.cost import Cost, cost_of, recommended_snapshot
from bilevel_verify.methods.cubic.subproblem import minimise

ONE = {"M": 1.0, "T": 5}
PENALTY = {"lam": 12.0, "l1": 2.0, "l2": 30.0, "kappa1": 4.0, "kappa2": 12.0, "K1": 4, "K2": 7, "M": 40.0, "T": 25}


def single(f: str = "cos(x1) + x2**2/2") -> Any:
    return bv.single_level(f=f, x="x1 x2")


@pytest.mark.parametrize("method", ["cubic-newton", "lazy-cubic-newton", "cubic-newton-step"])
@pytest.mark.parametrize(
    ("letters", "said"),
    [
        ({"M": 0.0}, "'M'.*must be positive"),
        ({"M": -2.0}, "'M'.*must be positive"),
        ({"M": float("nan")}, "'M'.*finite"),
        ({"m": 0}, "'m'.*integer >= 1"),
        ({"m": 2.5}, "'m'.*integer >= 1"),
        ({"T": 0}, "'T'.*integer >= 1"),
    ],
)
def test_letters_out_of_range_are_named(method: str, letters: dict[str, Any], said: str) -> None:
    with pytest.raises(bv.ParameterError, match=said):
        bv.solve(single(), method, eps=1e-3, x0=[1.0, 1.0], parameters={**ONE, **letters})


@pytest.mark.parametrize("method", ["fsba", "lfsba"])
def test_an_indefinite_lower_level_is_named(method: str) -> None:
    problem = bv.bilevel(f="x1*y1", g="y1**2/2 - y1**4 + x1*y1", x="x1", y="y1")
    letters = {**PENALTY, "l1": 1e6, "l2": 1e7, "rho_bar": 1.0, "m": 2}
    with pytest.raises(bv.MathematicalError, match=r"yy block of .* not positive definite"):
        bv.solve(problem, method, eps=0.01, x0=[3.0], y0=[2.0], parameters=letters)


def test_a_convex_inner_maximisation_is_named() -> None:
    problem = bv.minimax(f="x1*y1 + y1**2", x="x1", y="y1")
    letters = {"M": 1.0, "T": 5, "K": 2, "l1": 1.0, "kappa1": 2.0}
    with pytest.raises(bv.MathematicalError, match="yy block of -f"):
        bv.solve(problem, "mcn", eps=0.01, x0=[1.0], parameters=letters)


def test_a_hessian_that_is_not_finite_ends_the_run_with_the_words() -> None:
    problem = bv.single_level(f="(x1**2)**(3/4)", x="x1")  # gradient 0, Hessian infinite at 0
    run = bv.solve(problem, "cubic-newton-step", eps=1e-3, x0=[0.0], parameters=ONE)
    assert run.status == "not finite"
    assert "not finite" in run.note
    np.testing.assert_array_equal(run.x, [0.0])


def test_a_weight_below_the_theorem_is_not_its_case() -> None:
    found = bv.verify(bv.zoo("quad-minimax"), "fsba/theorem-3-4:hessians", eps=0.3)
    assert found.verdict == "not applicable"
    found = bv.verify(bv.zoo("cosh-lower"), "fsba/lemma-3-3:equation-23-w", eps=1.0, parameters={"M": 100.0})
    assert {row.verdict for row in found.claims} == {"not applicable"}
    assert any("M >= rho_bar" in row.reason for row in found.claims)


def test_a_lower_level_that_is_not_strongly_convex_is_not_its_case() -> None:
    for statement in ("fsba/theorem-3-4", "fsba/theorem-4-3", "fsba/theorem-e-5"):
        found = bv.verify(bv.zoo("quartic-lower"), statement, eps=0.1)
        assert found.verdict == "not applicable"


def test_cost_model() -> None:
    counts = {"grad_f": 3, "grad_g": 4, "hvp_f": 2, "jvp_xy_g": 1, "hess_f": 2, "stop_grad_f": 9, "value_f": 5}
    cost = cost_of(counts, d=10, N=2.0)
    assert cost == Cost(7, 3, 2, 10, 2.0)
    assert cost.total == 2.0 * (7 + 3 + 10 * 2)
    assert recommended_snapshot(30, 9) == 11.0
    with pytest.raises(bv.ParameterError, match="d >= 1"):
        cost_of(counts, d=0)
    with pytest.raises(bv.ParameterError, match="kappa"):
        recommended_snapshot(3, 0.5)


@pytest.mark.parametrize("x0", [(0.0, 0.0), (0.0, 3.0), (2.0, -1.0)])
@pytest.mark.parametrize("seed", range(4))
def test_lemma_3_2_survives_errors_of_exactly_the_allowed_size(x0: tuple[float, float], seed: int) -> None:
    """cos(x1) - cos(x2)/2, rho = 1, M = 1: gradient errors eps/192 and Hessian errors sqrt(M eps)/48, half of them
    against the progress of the step."""
    rng, eps, M, x, done = np.random.default_rng(seed), 1e-3, 1.0, np.array(x0), 0
    start = np.cos(x[0]) - np.cos(x[1]) / 2
    while True:
        gradient = np.array([-np.sin(x[0]), np.sin(x[1]) / 2])
        hessian = np.diag([-np.cos(x[0]), np.cos(x[1]) / 2])
        wrong = rng.standard_normal(2) if done % 2 or not gradient.any() else -gradient
        turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
        gradient = gradient + eps / 192 * wrong / np.linalg.norm(wrong)
        hessian = hessian + np.sqrt(M * eps) / 48 * (turn * np.array([1.0, -1.0])) @ turn.T
        step = minimise(gradient, hessian, M)
        x, done = x + step.s, done + 1
        if np.linalg.norm(step.s) <= np.sqrt(eps / M) / 2:
            break
        assert done <= 10_000
    assert done <= 192 * (start + 1.5) * np.sqrt(M) * eps**-1.5 + 1
    assert np.hypot(np.sin(x[0]), np.sin(x[1]) / 2) <= eps
    assert min(-np.cos(x[0]), np.cos(x[1]) / 2) >= -np.sqrt(M * eps)
