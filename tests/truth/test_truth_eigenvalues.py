"""Eigenvalue bounds and proofs of definiteness, alone, on matrices made to break them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.linalg import eigenvalue_range, point_eigenvalues, symmetric_norm
from bilevel_verify.truth.arithmetic.definite import positive_definite, positive_definite_ball
from bilevel_verify.truth.minimum.eigenvalues import eigenvalue_bounds, eigenvalue_interval, smallest_eigenvalue

pytestmark = pytest.mark.fast


def least_root(matrix: Any) -> Any:
    """The smallest eigenvalue in 60 digits."""
    import mpmath

    with mpmath.workdps(60):
        return min(mpmath.eigsy(mpmath.matrix(matrix.tolist()), eigvals_only=True))


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_bounds_hold_the_smallest_eigenvalue_without_slack(d: int) -> None:
    rng = np.random.default_rng(d)
    for _ in range(12):
        a = rng.normal(size=(d, d)) * 10.0 ** rng.integers(-3, 4)
        matrix = a @ a.T if rng.random() < 0.5 else a + a.T
        matrix = 0.5 * (matrix + matrix.T)
        low, high = eigenvalue_bounds(matrix)
        exact = least_root(matrix)
        assert low <= exact <= high
        assert high - low <= 1e-12 * np.linalg.norm(matrix)


def test_intervals_cover_every_symmetric_matrix_inside() -> None:
    rng = np.random.default_rng(3)
    middle = rng.normal(size=(20, 3, 3))
    middle = middle + middle.swapaxes(1, 2)
    radius = np.abs(rng.normal(size=(20, 3, 3))) * 0.1
    radius = 0.5 * (radius + radius.swapaxes(1, 2))
    box = Interval(middle - radius, middle + radius)
    low, both = smallest_eigenvalue(box), eigenvalue_interval(box)
    for _ in range(60):
        signs = np.sign(rng.normal(size=(20, 3, 3)))
        inside = middle + radius * np.triu(signs) + radius * np.swapaxes(np.triu(signs, 1), 1, 2)
        inside = np.clip(0.5 * (inside + inside.swapaxes(1, 2)), box.lo, box.hi)
        least = np.linalg.eigvalsh(inside)[:, 0]
        assert (low <= least + 1e-12).all()
        assert (both.lo <= least + 1e-12).all()
        assert (least <= both.hi + 1e-12).all()


def test_the_radius_is_that_of_the_whole_matrix() -> None:
    wide = Interval(np.array([[[1.0, -2.0], [-2.0, 1.0]]]), np.array([[[3.0, 2.0], [2.0, 3.0]]]))
    assert smallest_eigenvalue(wide)[0] <= 1 - 2
    found = eigenvalue_interval(wide)
    assert found.lo[0] <= -1
    assert found.hi[0] >= 3
    one = Interval(np.array([[[1.0]]]), np.array([[[3.0]]]))
    assert 0.9 < smallest_eigenvalue(one)[0] <= 1.0
    assert 3.0 <= eigenvalue_interval(one).hi[0] < 3.1


def test_one_lost_entry_loses_the_bound_of_its_matrix_alone() -> None:
    for lost in (np.nan, np.inf, -np.inf):
        matrices = np.array([np.eye(2), np.eye(2)])
        low, high = matrices.copy(), matrices.copy()
        low[1, 0, 1], high[1, 0, 1] = (lost, lost) if np.isnan(lost) else (-np.inf, np.inf)
        found = smallest_eigenvalue(Interval(low, high))
        assert found[0] == pytest.approx(1)
        assert found[0] <= 1
        assert found[1] == -np.inf
    half = smallest_eigenvalue(Interval(np.eye(2)[None], np.array([[[1.0, 0.0], [0.0, np.inf]]])))
    assert half[0] == -np.inf


def test_matrices_whose_products_overflow_have_no_bound_and_raise_nothing() -> None:
    matrices = np.stack([np.eye(3), np.full((3, 3), np.inf), np.full((3, 3), np.nan), np.diag([1e308, 1.0, -1e308])])
    least, most = point_eigenvalues(matrices)
    assert (least[0], most[0]) == (pytest.approx(1), pytest.approx(1))
    assert (least[1:] == -np.inf).all()
    assert (most[1:] == np.inf).all()
    for n in (3, 5, 31):
        low, high = eigenvalue_range(-1e308 * np.ones((1, n, n)), 1e308 * np.ones((1, n, n)))
        assert (low[0], high[0]) == (-np.inf, np.inf)
        assert symmetric_norm(-1e308 * np.ones((1, n, n)), 1e308 * np.ones((1, n, n)))[0] == np.inf
        sane = eigenvalue_range(np.eye(n)[None], np.eye(n)[None])
        assert sane[0][0] == pytest.approx(1)


def rational_definite(matrix: Any) -> bool:
    """Positive definiteness in fractions."""
    rows = [[Fraction(float(v)) for v in row] for row in matrix]
    for k in range(len(rows)):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    return True


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 4])
def test_what_is_called_definite_is_definite_in_fractions(d: int) -> None:
    rng = np.random.default_rng(d)
    a = rng.normal(size=(400, d, max(1, d - 1) if d > 1 else 1))
    gram = a @ a.swapaxes(1, 2)
    matrices = np.concatenate(
        [gram, gram + 1e-17 * np.eye(d), gram - 1e-15 * np.eye(d), gram + 1e-10 * np.eye(d), -gram]
    )
    matrices = np.where(np.arange(d)[:, None] >= np.arange(d), matrices, matrices.swapaxes(1, 2))
    said = positive_definite(matrices)
    for matrix, yes in zip(matrices, said):
        assert rational_definite(matrix) or not yes
    if d > 1:
        assert said[1200:1600].all()
    assert not said[1600:].any()


def test_definiteness_is_judged_row_by_row_and_never_of_what_is_no_number() -> None:
    singular, lost, eye = np.ones((2, 2)), np.array([[1.0, np.nan], [np.nan, 1.0]]), np.eye(2)
    big = np.diag([np.inf, 1.0])
    found = positive_definite(np.stack([eye, singular, lost, -eye, eye, big, 0 * eye]))
    assert found.tolist() == [True, False, False, False, True, False, False]
    assert positive_definite(np.stack([lost, eye])).tolist() == [False, True]
    assert positive_definite(np.array([[[1.0]], [[0.0]], [[np.nan]], [[-1.0]]])).tolist() == [True, False, False, False]
    assert not positive_definite(np.array([[[1e-291]]]))[0]
    assert positive_definite(np.array([[[1.0, 0.0], [0.0, 1e-13]]]))[0]
    assert not positive_definite(np.array([[[1.0, 0.0], [0.0, 1e-15]]]))[0], "below the rounding of the factorisation"


def balls(rows: Any, radius: float = 0.0) -> Any:
    return flint.arb_mat([[flint.arb(v, radius) for v in row] for row in rows])


def test_definiteness_in_balls() -> None:
    assert positive_definite_ball(balls([[2.0, 1.0], [1.0, 2.0]]))
    assert positive_definite_ball(balls([[2.0, 1.0], [1.0, 2.0]], 0.3))
    assert not positive_definite_ball(balls([[2.0, 1.0], [1.0, 2.0]], 0.6))
    assert not positive_definite_ball(balls([[1.0, 1.0], [1.0, 1.0]]))
    assert not positive_definite_ball(balls([[1.0, 2.0], [2.0, 1.0]]))
    assert not positive_definite_ball(balls([[0.0]]))
    assert not positive_definite_ball(balls([[float("nan")]]))
    three = [[4.0, 2.0, 2.0], [2.0, 2.0, 0.0], [2.0, 0.0, 2.0]]
    assert not positive_definite_ball(balls(three)), "singular: only the third pivot sees it"
    three[2][2] = 2.5
    assert positive_definite_ball(balls(three))


def test_the_bound_is_midpoint_minus_radius_also_where_both_entries_differ() -> None:
    """Both entries enclose the same derivative: the smaller radius around the common midpoint counts."""
    rng = np.random.default_rng(9)
    for d in (1, 2, 4):
        low = rng.normal(size=(30, d, d))
        high = low + np.abs(rng.normal(size=(30, d, d)))
        low = np.minimum(low, np.swapaxes(high, 1, 2) - 1e-3)
        found = smallest_eigenvalue(Interval(low, high))
        for a, b, value in zip(low, high, found):
            middle = 0.25 * (a + b + a.T + b.T)
            radius = np.maximum(np.maximum(b - middle, middle - a), 0.0)
            radius = np.minimum(radius, radius.T)
            expected = np.linalg.eigvalsh(middle)[0] - np.linalg.norm(radius)
            assert value <= expected + 1e-15 * (1 + abs(expected))
            assert value >= expected - 1e-9 * (1 + abs(expected))
    skew = Interval(np.array([[[0.0, -4.0], [-4.0, 0.0]]]), np.array([[[0.0, 0.0], [-3.9, 0.0]]]))
    assert smallest_eigenvalue(skew)[0] <= -4
