"""Batched Newton, row by row: every row is a problem of its own, whatever its neighbours are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

from bilevel_verify.truth.functions.model import Function
from bilevel_verify.truth.lower_level import newton

pytestmark = pytest.mark.fast
X1, Y1, Y2 = sympy.symbols("x1 y1 y2", real=True)


def function(expression: str | sympy.Expr, two: bool = False) -> Function:
    """A function of x1 and y1 (and y2)."""
    names = (X1, Y1, Y2) if two else (X1, Y1)
    return Function(sympy.sympify(expression, {str(s): s for s in names}), names, 1)


def column(*values: float) -> Any:
    return np.array(values, dtype=float)[:, None]


def test_every_row_has_its_own_penalty() -> None:
    """Starts of different quality: rows leave the batch at different steps, and keep their own lam."""
    upper, lower = function("(y1-3)**4 + y1**2"), function("(y1-x1)**2/2 + y1**4/4")
    lam = np.array([1.0, 10.0, 1000.0, 3.0, 0.5])
    X, Y = column(0.0, 1.0, -1.0, 2.0, 0.3), column(0.1, 50.0, -7.0, 1.9, 400.0)
    found = newton.minimise(newton.penalty_of(upper, lower, lam), X, Y)
    assert found.converged.all()
    for i in range(5):
        alone = newton.minimise(newton.penalty_of(upper, lower, lam[i : i + 1]), X[i : i + 1], Y[i : i + 1])
        assert found.y[i] == pytest.approx(alone.y[0], rel=1e-12)
        assert alone.converged[0]
        y, x = found.y[i, 0], X[i, 0]
        assert 4 * (y - 3) ** 3 + 2 * y + lam[i] * (y - x + y**3) == pytest.approx(0, abs=1e-9 * (1 + lam[i]))


def test_batches_longer_than_a_chunk_keep_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "CHUNK", 3)
    lam = np.arange(1.0, 9.0)
    local = newton.penalty_of(function("y1**2/2 - y1"), function("(y1-x1)**2/2"), lam)
    X = np.linspace(-2, 2, 8)[:, None]
    found = newton.minimise(local, X, np.zeros((8, 1)))
    assert found.y[:, 0] == pytest.approx((1 + lam * X[:, 0]) / (1 + lam), rel=1e-13)
    assert found.residual.shape == found.curvature.shape == (8,)
    assert found.curvature == pytest.approx(1 + lam)
    assert found.converged.all()


def test_an_empty_batch_has_the_right_shapes() -> None:
    found = newton.minimise(newton.local_of(function("y1**2")), np.empty((0, 1)), np.empty((0, 1)))
    assert (found.y.shape, found.residual.shape, found.curvature.shape) == ((0, 1), (0,), (0,))
    assert found.converged.dtype == bool


def test_values_gradients_and_hessians_are_those_of_y() -> None:
    local = newton.local_of(function("x1**3*y1**2*y2 + y2**3", two=True))
    value, gradient, hessian = local(column(2.0), np.array([[3.0, 5.0]]), np.arange(1))
    assert value == pytest.approx([8 * 9 * 5 + 125])
    assert gradient == pytest.approx(np.array([[8 * 2 * 3 * 5, 8 * 9 + 75]]))
    assert hessian[0] == pytest.approx(np.array([[80.0, 48.0], [48.0, 30.0]]))
    with_f = newton.penalty_of(function("y1*y2", two=True), function("y1**2 + y2**2", two=True), np.array([7.0]))
    value, gradient, hessian = with_f(column(0.0), np.array([[3.0, 5.0]]), np.arange(1))
    assert value == pytest.approx([15 + 7 * 34])
    assert gradient == pytest.approx(np.array([[5 + 42, 3 + 70]]))
    assert hessian[0] == pytest.approx(np.array([[14.0, 1.0], [1.0, 14.0]]))


@pytest.mark.parametrize("start", [0.0, 1e-9, 0.4])
def test_a_maximiser_or_a_saddle_is_never_converged(start: float) -> None:
    found = newton.minimise(newton.local_of(function("-y1**2 + 0*x1")), column(0.0), column(start))
    assert not found.converged[0]
    saddle = newton.minimise(newton.local_of(function("y1**2 - y2**2 + 0*x1", True)), column(0.0), np.zeros((1, 2)))
    assert not saddle.converged[0]
    assert saddle.curvature[0] == pytest.approx(-2)


def test_flat_functions_are_not_converged() -> None:
    assert not newton.minimise(newton.local_of(function("0*y1 + x1")), column(0.0), column(0.3)).converged[0]
    quartic = newton.minimise(newton.local_of(function("y1**4 + 0*x1")), column(0.0), column(1.0))
    assert abs(quartic.y[0, 0]) < 1e-2


@pytest.mark.slow
def test_a_row_that_is_no_number_does_not_spoil_its_neighbours() -> None:
    local = newton.local_of(function("(y1-x1)**2/2 + log(y1+1)/10"))
    found = newton.minimise(local, column(1.0, 1.0, 2.0), column(1.0, -5.0, 2.0))
    assert found.converged[[0, 2]].all()
    y = found.y[[0, 2], 0]
    assert (y - [1, 2]) + 0.1 / (y + 1) == pytest.approx([0, 0], abs=1e-13)
    assert not found.converged[1] or np.isfinite(found.y[1, 0])


def test_judgement_needs_all_three_conditions() -> None:
    eye = np.eye(1)[None]
    assert newton._judged(np.zeros((1, 1)), np.array([1e-8]), eye).converged[0]
    assert not newton._judged(np.zeros((1, 1)), np.array([1e-5]), eye).converged[0]
    assert not newton._judged(np.zeros((1, 1)), np.array([0.0]), 0 * eye).converged[0]
    assert not newton._judged(np.zeros((1, 1)), np.array([0.0]), -eye).converged[0]
    assert not newton._judged(np.zeros((1, 1)), np.array([1e-9]), 1e-5 * eye).converged[0], "far for its curvature"
    assert newton._judged(np.full((1, 1), 1e6), np.array([1e-3]), eye).converged[0], "relative to the point"
    assert not newton._judged(np.zeros((1, 1)), np.array([1.6e-7]), 0.5 * eye).converged[0]
    assert newton._judged(np.zeros((1, 1)), np.array([1.4e-7]), 0.5 * eye).converged[0]
    large = np.diag([1e6, 1.0])[None]
    assert newton._judged(np.zeros((1, 2)), np.array([1e-6]), large).curvature[0] == pytest.approx(1)
    assert not newton._judged(np.zeros((1, 1)), np.array([np.inf]), eye).converged[0]


def test_smallest_eigenvalues() -> None:
    matrices = np.array([[[2.0, 1.0], [1.0, 2.0]], [[np.nan, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, np.inf]]])
    assert newton._smallest_eigenvalue(matrices) == pytest.approx([1.0, -np.inf, -np.inf])
    assert newton._smallest_eigenvalue(np.array([[[-3.0]], [[np.nan]]])) == pytest.approx([-3.0, -np.inf])
    assert (newton._smallest_eigenvalue(np.empty((2, 0, 0))) == np.inf).all()


def test_armijo() -> None:
    one, step = np.array([1.0]), np.array([[-1.0]])
    gradient = np.array([[2.0]])
    assert newton._armijo(one, gradient, step, np.array([0.5]))[0]
    assert not newton._armijo(one, gradient, step, np.array([0.9999]))[0], "a fall of 1e-4 of the slope is asked for"
    assert newton._armijo(one, gradient, step, np.array([0.9997]))[0]
    assert newton._armijo(one, 0 * gradient, step, one)[0], "equality within rounding"
    assert not newton._armijo(one, 0 * gradient, step, one + 1e-10)[0]
    for bad in (np.nan, np.inf, -np.inf):
        assert not newton._armijo(one, gradient, step, np.array([bad]))[0]


def test_directions() -> None:
    gradient = np.array([[2.0, 4.0], [2.0, 4.0], [0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    matrices = np.array(
        [np.diag([2.0, 4.0]), np.diag([2.0, -4.0]), np.eye(2), np.full((2, 2), np.nan), np.diag([2.0, 1.0])]
    )
    step, definite = newton._directions(gradient, matrices)
    assert step[0] == pytest.approx([-1, -1])
    assert list(definite) == [True, False, True, False, True]
    assert step[1] == pytest.approx([-1, -1]), "moduli of the eigenvalues"
    assert step[2] == pytest.approx([0, 0])
    assert step[4] == pytest.approx([-0.5, 0])
    singular, sure = newton._directions(np.array([[1.0, 2.0]]), np.zeros((1, 2, 2)) + np.diag([1.0, 0.0]))
    assert not sure[0]
    assert singular[0, 0] == pytest.approx(-1)
    assert singular[0, 1] < -1e7


def test_steps_are_capped_where_the_curvature_says_nothing() -> None:
    step, Y = np.array([[300.0, 400.0]] * 2), np.array([[0.0, 1.0]] * 2)
    capped = newton._capped(step, np.array([True, False]), Y)
    assert capped[0] == pytest.approx([300, 400])
    assert capped[1] == pytest.approx([12, 16])
    assert newton._capped(np.array([[3e7, 0.0]]), np.array([True]), Y[:1])[0] == pytest.approx([2e6, 0])
    assert newton._capped(np.zeros((1, 2)), np.array([False]), Y[:1])[0] == pytest.approx([0, 0])


def test_longest_steps_stay_in_the_range() -> None:
    Y, low, high = np.array([[0.0, 0.0]]), np.array([-1.0, -2.0]), np.array([1.0, 4.0])
    assert newton._longest(Y, np.array([[2.0, 0.0]]), low, high)[0] == pytest.approx(0.5)
    assert newton._longest(Y, np.array([[0.0, -8.0]]), low, high)[0] == pytest.approx(0.25)
    assert newton._longest(Y, np.array([[2.0, -8.0]]), low, high)[0] == pytest.approx(0.25)
    assert newton._longest(Y, np.array([[0.1, 0.1]]), low, high)[0] == 1.0
    assert newton._longest(Y, np.array([[1e9, 0.0]]), low, high)[0] == pytest.approx(1e-3)
    assert newton._longest(Y, np.array([[1e9, 0.0]]), None, high)[0] == 1.0
    assert newton._longest(Y, np.array([[1e9, 0.0]]), low, None)[0] == 1.0


def test_steps_are_searched_along_valleys_and_kept_in_range() -> None:
    local = newton.local_of(function("log(1 + (y1-x1)**2)"))
    X = column(0.0, 3.0)
    found = newton.minimise(local, X, column(2.0, -4.0), np.array([-5.0]), np.array([5.0]))
    assert found.y == pytest.approx(X, abs=1e-8)
    assert found.converged.all()
    outside = newton.local_of(function("-log(y1) + y1 + 0*x1"))
    found = newton.minimise(outside, column(0.0), column(1e-3), np.array([1e-6]), np.array([10.0]))
    assert found.y[0, 0] == pytest.approx(1.0)


def test_constant_outputs_are_spread_over_the_rows() -> None:
    program = function("3*y1 + x1").second_order_y
    table = newton.evaluate(program, newton.columns(column(1.0, 2.0), column(5.0, 7.0)), 2)
    assert table == pytest.approx(np.array([[16.0, 3.0, 0.0], [23.0, 3.0, 0.0]]))


def test_a_row_without_derivatives_is_asked_once() -> None:
    """It has no direction: 120 steps of 50 halvings along nothing took minutes where a value takes milliseconds."""
    asked: list[int] = []

    def local(X: np.ndarray, Y: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        asked.append(len(Y))
        known = np.where(rows == 1, np.nan, 1.0)
        return known * (Y[:, 0] - 1) ** 2, known[:, None] * 2 * (Y - 1), 2 * known[:, None, None]

    found = newton.minimise(local, np.zeros((3, 1)), np.zeros((3, 1)))
    assert found.converged.tolist() == [True, False, True]
    assert len(asked) < 10
    assert sum(asked[1:]) <= 2 * len(asked[1:])
