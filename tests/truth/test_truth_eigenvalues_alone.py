"""Eigenvalue bounds and definiteness against exact arithmetic: their room, underflow, overflow, mixed rows."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.arithmetic.definite import positive_definite, positive_definite_ball
from bilevel_verify.truth.minimum.eigenvalues import (
    _rounding,
    eigenvalue_bounds,
    eigenvalue_interval,
    smallest_eigenvalue,
)

pytestmark = pytest.mark.fast
EPS = 2.0**-52
ENTRIES = (-2.0, -1.0, 0.0, 1.0, 3.0)


def exactly_at_most(value: float, a: Fraction, b: Fraction, c: Fraction) -> bool:
    """Whether value <= the smaller root of ``t^2 - (a + c) t + a c - b^2``: the matrix minus value is semidefinite."""
    p, r = a - Fraction(value), c - Fraction(value)
    return p >= 0 and r >= 0 and p * r >= b * b


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e100, 1e-170, 1e-200, 1e-290])
def test_two_by_two_boxes_hold_every_corner(scale: float) -> None:
    """All boxes with small entries, in fractions: no corner lies below the bound, also where squares underflow."""
    ends = [(a * scale, b * scale) for a, b in ((-1, 1), (0, 0), (2, 3), (-3, -1), (1, 1.1))]
    boxes = list(itertools.product(ends, repeat=3))
    low = np.array([[[p[0], q[0]], [q[0], r[0]]] for p, q, r in boxes])
    high = np.array([[[p[1], q[1]], [q[1], r[1]]] for p, q, r in boxes])
    found, both = smallest_eigenvalue(Interval(low, high)), eigenvalue_interval(Interval(low, high))
    for k, box in enumerate(boxes):
        corners = [tuple(map(Fraction, corner)) for corner in itertools.product(*box)]
        for a, b, c in corners:
            assert exactly_at_most(float(found[k]), a, b, c)
            assert not exactly_at_most(float(both.hi[k]), a, b, c) or both.hi[k] == 0 == a == b == c
        middle = np.array([[sum(box[0]), sum(box[1])], [sum(box[1]), sum(box[2])]]) / scale / 2
        radius = np.array([np.diff(box[0]), np.diff(box[1]), np.diff(box[1]), np.diff(box[2])]) / scale / 2
        least = np.linalg.eigvalsh(middle)[0]
        assert found[k] / scale == pytest.approx(least - np.linalg.norm(radius), rel=1e-11, abs=1e-11)
        assert both.hi[k] / scale == pytest.approx(least + np.linalg.norm(radius), rel=1e-11, abs=1e-11)


def test_room_for_rounding_is_as_large_as_said() -> None:
    """Of an exact matrix ``(8 d + 8) eps |A|``, of a radius a relative 1e-14 or 1e-12 and a few units."""
    for d in (1, 2, 3, 6):
        low, high = eigenvalue_bounds(5.0 * np.eye(d))
        room = (8 * d + 8) * EPS * 5 * np.sqrt(d)
        assert 0.97 * room < 5 - low < 1.03 * room + 4e-15
        assert 0.97 * room < high - 5 < 1.03 * room + 4e-15
        assert _rounding(-5.0 * np.eye(d)[None])[0] == pytest.approx(room, rel=1e-12, abs=0.0)
    wide = Interval(np.full((1, 1, 1), -1.0), np.full((1, 1, 1), 1.0))
    assert 1.0e-14 <= -(1 + smallest_eigenvalue(wide)[0]) <= 1.9e-14
    assert 1.0e-12 <= eigenvalue_interval(wide).hi[0] - 1 <= 1.1e-12


def test_the_smaller_of_two_radii_counts_and_each_side_of_the_middle() -> None:
    tight, loose = (1.0, 3.0), (-5.0, 9.0)
    for first, second in ((tight, loose), (loose, tight)):
        low = np.array([[[0.0, first[0]], [second[0], 0.0]]])
        high = np.array([[[0.0, first[1]], [second[1], 0.0]]])
        assert smallest_eigenvalue(Interval(low, high))[0] == pytest.approx(-2 - np.sqrt(2), rel=1e-12)
    aside = Interval(np.array([[[0.0, 1.0], [2.0, 0.0]]]), np.array([[[0.0, 3.0], [6.0, 0.0]]]))
    # middles 2 and 4, together 3: from there the first reaches 2 to the left and 0 to the right
    assert smallest_eigenvalue(aside)[0] == pytest.approx(-3 - 2 * np.sqrt(2), rel=1e-12)
    turned = Interval(-np.swapaxes(aside.hi, 1, 2), -np.swapaxes(aside.lo, 1, 2))
    assert smallest_eigenvalue(turned)[0] == pytest.approx(-3 - 2 * np.sqrt(2), rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("size", [1e160, 1e300, 1.7e308])
def test_what_overflows_has_no_bound_or_a_true_one(d: int, size: float) -> None:
    """No warning, no NaN; the smallest eigenvalue of ``size * ones`` is 0 (for one entry, size)."""
    box = np.full((1, d, d), size)
    low, both = smallest_eigenvalue(Interval(box, box))[0], eigenvalue_interval(Interval(box, box))
    assert low <= (size if d == 1 else 0)
    assert both.lo[0] <= (size if d == 1 else 0) <= both.hi[0]
    assert smallest_eigenvalue(Interval(-box, box))[0] <= -size * d or d == 1
    assert both.hi[0] == np.inf if low == -np.inf else np.isfinite(both.hi[0])


def test_mixed_rows_are_judged_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no number never reaches LAPACK (which may not come back from it)."""
    lapack = np.linalg.eigvalsh

    def watched(matrix: Any) -> Any:
        assert np.isfinite(matrix).all()
        return lapack(matrix)

    monkeypatch.setattr(np.linalg, "eigvalsh", watched)
    rows = [np.eye(3), np.diag([1.0, 2.0, -3.0]), np.full((3, 3), np.nan), 1e200 * np.eye(3), np.zeros((3, 3)),
            np.diag([np.inf, 1.0, 1.0])]  # fmt: skip
    matrices = np.stack(rows)
    found = smallest_eigenvalue(Interval(matrices, matrices))
    assert found.shape == (6,)
    assert found[[0, 1, 3]] == pytest.approx([1.0, -3.0, 1e200])
    assert found[[2, 4, 5]].tolist() == [-np.inf, 0.0, -np.inf]
    both = eigenvalue_interval(Interval(matrices, matrices))
    assert both.hi[[0, 1, 3]] == pytest.approx([1.0, -3.0, 1e200])
    assert both.hi[[2, 4, 5]].tolist() == [np.inf, 0.0, np.inf]
    half = Interval(np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.array([[[1.0, np.inf], [np.inf, 1.0]]]))
    assert smallest_eigenvalue(half)[0] == -np.inf
    assert eigenvalue_interval(half).hi[0] == np.inf


# ---- definiteness -------------------------------------------------------------------------------------------------


def definite(matrix: Any) -> bool:
    """In fractions."""
    rows = [[Fraction(float(v)) for v in row] for row in matrix]
    for k in range(len(rows)):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    return True


def every_symmetric(d: int, entries: tuple[float, ...]) -> Any:
    places = [(i, j) for i in range(d) for j in range(i + 1)]
    found = []
    for values in itertools.product(entries, repeat=len(places)):
        matrix = np.zeros((d, d))
        for (i, j), v in zip(places, values):
            matrix[i, j] = matrix[j, i] = v
        found.append(matrix)
    return np.array(found)


@pytest.mark.parametrize(("d", "entries"), [(1, ENTRIES), (2, ENTRIES), (3, (-1.0, 0.0, 1.0, 3.0))])
def test_every_small_matrix_is_judged_as_in_fractions(d: int, entries: tuple[float, ...]) -> None:
    """Definite integer matrices are far from singular here, so that the answer is exact both ways; in balls too."""
    matrices = every_symmetric(d, entries)
    expected = [definite(matrix) for matrix in matrices]
    assert positive_definite(matrices).tolist() == expected
    assert [bool(positive_definite(matrix[None])[0]) for matrix in matrices[::7]] == expected[::7]
    assert [positive_definite_ball(flint.arb_mat(matrix.tolist())) for matrix in matrices] == expected


def test_four_rows_need_every_pivot() -> None:
    base = np.array([[4.0, 1, 2, 1], [1, 5, 1, 2], [2, 1, 6, 3], [1, 2, 3, 7]])
    cases = [base]
    for i, j in itertools.combinations_with_replacement(range(4), 2):
        for shift in (-9.0, -4.0, -2.0, 2.0, 4.0):
            changed = base.copy()
            changed[i, j] += shift
            changed[j, i] = changed[i, j]
            cases.append(changed)
    expected = [definite(matrix) for matrix in cases]
    assert 10 < sum(expected) < 40
    assert [positive_definite_ball(flint.arb_mat(matrix.tolist())) for matrix in cases] == expected
    assert positive_definite(np.array(cases)).tolist() == expected


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_shift_is_as_large_as_said(d: int) -> None:
    """``diag(1, ..., 1, e)`` is called definite only for e above ``2 (d + 3) eps trace``."""
    shift = 2 * (d + 3) * EPS * max(d - 1, 0)
    for factor, yes in ((0.9, False), (1.1, True)):
        diagonal = np.ones(d)
        diagonal[-1] = factor * shift if d > 1 else factor * 1e-290
        assert positive_definite(np.diag(diagonal)[None])[0] == yes


def test_one_entry_at_its_edge_is_not_definite() -> None:
    """Floats around 1e-290, among them those that the shift takes to exactly zero."""
    entries = 1e-290 * (1 + np.arange(-40, 41) * EPS)
    shifted = entries - (2 * 4 * EPS * entries + 1e-290)
    assert (shifted == 0).any()
    assert positive_definite(entries[:, None, None]).tolist() == (shifted > 0).tolist()


def test_lost_entries_and_overflow_are_never_definite() -> None:
    for lost in (np.nan, np.inf, -np.inf):
        for place in ((0, 0), (0, 1), (1, 1)):
            matrix = np.eye(2)
            matrix[place] = lost
            assert positive_definite(np.stack([np.eye(2), matrix, np.eye(2)])).tolist() == [True, False, True]
    assert positive_definite(np.array([[[np.inf]], [[2.0]], [[np.nan]], [[-2.0]]])).tolist() == [
        False,
        True,
        False,
        False,
    ]
    for sign in (1.0, -1.0):
        huge = positive_definite(np.stack([sign * 1e308 * np.eye(3), np.eye(3)]))
        assert huge.tolist() == [False, True], "its trace is no number"
    assert positive_definite(np.empty((0, 2, 2))).shape == (0,)
