"""Eigenvalue bounds step by step: each allowance for rounding against fractions, each side of a matrix."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from intervals_exact import rational

from bilevel_verify.intervals import linalg

pytestmark = pytest.mark.fast
INF, U = math.inf, Fraction(1, 2**53)


def up(value):
    return math.nextafter(value, INF)


def symmetric(seed, count, n):
    a = np.random.default_rng(seed).normal(size=(count, n, n))
    return np.triu(a) + np.triu(a, 1).swapaxes(1, 2)


def exact(matrix):
    return [[Fraction(float(v)) for v in row] for row in matrix]


def times(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def sizes(a):
    return [[abs(x) for x in row] for row in a]


def transposed(a):
    return [list(row) for row in zip(*a)]


def factor(k):
    return k * U / (1 - k * U)


# --- the bound of a float matrix


def test_gershgorin_discs_against_fractions(monkeypatch):
    gram = symmetric(1, 200, 4)
    gram[50:100] *= 1e-17
    gram[50:100, range(4), range(4)] = 1.0 + np.arange(4)  # small beside the diagonal, and yet counted
    gram[100:120] = 0
    gram[120:124] = np.ones((4, 4)) - 4 * np.eye(4)  # the discs end at 0: what is left is the allowance for their radii
    error = np.abs(np.random.default_rng(2).normal(size=200)) * np.where(np.arange(200) % 2, 1.0, 0.0)
    error[120:124] = 0
    monkeypatch.setattr(linalg, "_rotated", lambda m: (gram, error, np.zeros(200)))
    least, most = linalg.point_eigenvalues(gram)
    for k in range(200):
        g = exact(gram[k])
        spare = Fraction(float(error[k])) * 100 / 101  # an error comes with a hundredth to spare
        off = [sum(abs(v) for j, v in enumerate(row) if j != i) + spare for i, row in enumerate(g)]
        top, bottom = max(g[i][i] + off[i] for i in range(4)), min(g[i][i] - off[i] for i in range(4))
        assert most[120] == pytest.approx(3 * 16 * 2.0**-53, rel=0.1, abs=1e-300)
        room = max(abs(top), abs(bottom)) / 10**14 + Fraction(1, 10**300) + Fraction(float(error[k])) / 100
        assert top <= Fraction(most[k]) <= top + room
        assert bottom >= Fraction(least[k]) >= bottom - room


@pytest.mark.parametrize("n", [2, 3, 5])
def test_rounding_of_the_rotated_matrix_and_the_defect_of_its_basis(monkeypatch, n):
    a = symmetric(3 + n, 7, n)
    a[0] = 0
    skew = np.random.default_rng(n).normal(size=(7, n, n))  # far from orthogonal: the bounds must hold for any basis
    skew[1] = np.eye(n)
    skew[2] = np.eye(n) * 1.5
    skew[3] = np.eye(n)
    skew[3, :2, :2] = [[0.6, 0.8], [-0.8, 0.6]]  # orthogonal, rows of unequal length
    monkeypatch.setattr(linalg.np.linalg, "eigh", lambda m: (None, skew))
    gram, error, defect, _ = linalg._rotated(a)
    assert gram.shape == (7, n, n)
    assert error.shape == defect.shape == (7,)
    assert (gram == gram.swapaxes(1, 2)).all()
    for k in range(7):
        q, m = exact(skew[k]), exact(a[k])
        wanted = times(transposed(q), times(m, q))
        size = max(map(sum, times(sizes(transposed(q)), times(sizes(m), sizes(q)))))
        assert float(error[k]) == pytest.approx(
            1.01 * (2 * n + 4) * 2.0**-53 * float(size) + 1e-300, rel=1e-6, abs=1e-310
        )
        assert Fraction(error[k]) >= size * factor(2 * n + 3)
        gap = [[abs(gram[k][i][j] - wanted[i][j]) for j in range(n)] for i in range(n)]
        assert max(map(sum, gap)) <= Fraction(error[k])
        lost = [[abs(v - (i == j)) for j, v in enumerate(row)] for i, row in enumerate(times(transposed(q), q))]
        length = max(map(sum, times(sizes(transposed(q)), sizes(q))))
        lost = max(map(sum, lost))
        assert Fraction(defect[k]) >= lost + length * factor(n + 2)
        room = 1.01 * (n + 3) * 2.0**-53 * float(length) + 4 * n * 2.0**-53 * float(lost)
        assert float(Fraction(defect[k]) - lost) == pytest.approx(room, rel=0.3, abs=1e-300)


def test_undoing_the_congruence_against_fractions():
    generator = np.random.default_rng(5)
    count = 6000
    bottom, top = -generator.random(count) - 1.0, generator.random(count) + 1.0
    flip = generator.random(count) < 0.6
    bottom, top = np.where(flip, -top, bottom), np.where(flip, bottom, top)
    bottom, top = np.where(generator.random(count) < 0.5, -bottom, bottom), top
    bottom[:3], top[:3] = 0.0, 0.0
    defect = generator.random(count) * 0.49
    least, most = linalg._undo_congruence(bottom, top, defect)
    for b, t, e, lo, hi in zip(*(v.tolist() for v in (bottom, top, defect, least, most)), strict=True):
        e, b, t = Fraction(e), Fraction(b), Fraction(t)
        wanted = t / (1 - e) if t >= 0 else t / (1 + e)
        assert wanted <= Fraction(hi) <= wanted + abs(wanted) / 2**49 + Fraction(1, 2**1070)
        wanted = b / (1 - e) if b <= 0 else b / (1 + e)
        assert wanted >= Fraction(lo) >= wanted - abs(wanted) / 2**49 - Fraction(1, 2**1070)


def test_unusable_matrices_do_not_spoil_their_neighbours():
    a = symmetric(6, 4, 3)
    a[1, 0, 2] = a[1, 2, 0] = INF
    a[2, 1, 1] = 2e150
    a[3] = 0
    a[3, 0, 0] = 1e150
    least, most = linalg.point_eigenvalues(a)
    alone = linalg.point_eigenvalues(a[:1])
    assert (least[0], most[0]) == (alone[0][0], alone[1][0])
    assert least[1:3].tolist() == [-INF, -INF]
    assert most[1:3].tolist() == [INF, INF]
    assert most[3] == pytest.approx(1e150)
    none = linalg.point_eigenvalues(a[1:3])
    assert (none[0].tolist(), none[1].tolist()) == ([-INF] * 2, [INF] * 2)


def test_the_quick_margin():
    a = symmetric(7, 3, 4)
    with linalg.quick_algebra():
        least, most = linalg.point_eigenvalues(a)
    values = np.linalg.eigvalsh(a)
    margin = np.abs(a).max(axis=(1, 2)) * 16 * 8 * 2.0**-53
    assert (least == values[:, 0] - margin).all()
    assert (most == values[:, -1] + margin).all()


# --- interval matrices


def extremes(low, high):
    """Extreme eigenvalues over an interval matrix, at its sign vertices (to rounding)."""
    n, tops, bottoms = low.shape[-1], [], []
    for signs in product((1.0, -1.0), repeat=n - 1):
        pattern = np.outer((1.0, *signs), (1.0, *signs)) > 0
        tops.append(np.linalg.eigvalsh(np.where(pattern, high, low))[:, -1])
        bottoms.append(np.linalg.eigvalsh(np.where(pattern, low, high))[:, 0])
    return np.min(bottoms, axis=0), np.max(tops, axis=0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_every_sign_vertex_is_inside(n):
    centre = symmetric(8 + n, 40, n)
    radius = np.abs(symmetric(80 + n, 40, n)) * 10.0 ** np.repeat([-6.0, -2.0, 0.0, 1.0], 10)[:, None, None]
    radius[::5] *= np.eye(n)
    low, high = centre - radius, centre + radius
    least, most = linalg.eigenvalue_range(low, high)
    bottom, top = extremes(low, high)
    size = np.abs(centre).max(axis=(1, 2)) + radius.max(axis=(1, 2))
    assert (most >= top - 1e-15 * size).all()
    assert (least <= bottom + 1e-15 * size).all()
    if n == 1:
        assert (most == high[:, 0, 0]).all() & (least == low[:, 0, 0]).all()
    elif n <= 4:
        assert (most <= top + 1e-13 * size).all() & (least >= bottom - 1e-13 * size).all()
    else:
        rho = np.linalg.eigvalsh(radius)[:, -1] * 1.05
        values = np.linalg.eigvalsh(centre)
        assert (most <= values[:, -1] + rho + 1e-13 * size).all()
        assert (least >= values[:, 0] - rho - 1e-13 * size).all()
    alone = linalg.eigenvalue_range(low[3], high[3])
    assert alone[0].shape == alone[1].shape == ()
    assert (float(alone[0]), float(alone[1])) == pytest.approx((least[3], most[3]), rel=1e-13)
    folded = linalg.eigenvalue_range(low.reshape(4, 10, n, n), high.reshape(4, 10, n, n))
    assert (folded[1].ravel() == most).all()


def test_which_way_a_matrix_takes(monkeypatch):
    taken = []
    for name in ("_vertices", "_centred", "point_eigenvalues", "_rotated"):
        true = getattr(linalg, name)
        monkeypatch.setattr(linalg, name, lambda *a, n=name, f=true: taken.append(n) or f(*a))
    a = symmetric(9, 2, 5)
    for n, first in ((3, "_vertices"), (4, "_vertices"), (5, "_centred")):
        taken.clear()
        linalg.eigenvalue_range(a[:, :n, :n] - 0.1, a[:, :n, :n] + 0.1)
        assert taken[0] == first
        taken.clear()
        linalg.eigenvalue_range(a[:, :n, :n], a[:, :n, :n])
        assert taken == ["point_eigenvalues", "_rotated"]
    for n, times_ in ((30, 3), (31, 1)):
        taken.clear()
        linalg._centred(np.eye(n)[None], np.ones((1, n, n)))
        assert taken.count("_rotated") == times_


def test_centre_and_radius_hold_both_ends(monkeypatch):
    seen = []
    monkeypatch.setattr(linalg, "_vertices", lambda c, r, sides: seen.append((c, r)) or (c[:, 0, 0], c[:, 0, 0]))
    generator = np.random.default_rng(10)
    low = symmetric(10, 50, 3)
    high = low + np.abs(symmetric(11, 50, 3)) * 10.0 ** generator.integers(-18, 3, (50, 1, 1))
    high[7] = np.nextafter(low[7], INF)
    high[8] = low[8]
    ends = np.sort(generator.normal(size=(2, 600, 3, 3)) * 10.0 ** generator.integers(-3, 3, (2, 600, 3, 3)), axis=0)
    low, high = np.concatenate([low, ends[0]]), np.concatenate([high, ends[1]])
    linalg._finite_range(low, high)
    centre, radius = seen[0]
    for lo, hi, c, r in zip(*(v.ravel().tolist() for v in (low, high, centre, radius)), strict=True):
        assert Fraction(c) - Fraction(r) <= Fraction(lo) <= Fraction(hi) <= Fraction(c) + Fraction(r)
        assert r <= (hi - lo) / 2 * 1.0001 + 4e-16 * abs(c)
        assert (r == 0) == (lo == hi)


def test_the_allowance_at_sign_vertices(monkeypatch):
    def flat(m):
        return np.zeros(len(m)), np.zeros(len(m))

    monkeypatch.setattr(linalg, "point_eigenvalues", flat)
    centre, radius = -np.abs(symmetric(12, 5, 3)), np.abs(symmetric(13, 5, 3))
    least, most = linalg._vertices(centre, radius, "both")
    for k in range(5):
        room = float((np.abs(centre[k]) + radius[k]).max()) * (3 * 2 * 2.0**-53)
        assert (least[k], most[k]) == (-up(room), up(room))


def test_spread_about_a_centre_is_rounded_outward(monkeypatch):
    generator = np.random.default_rng(14)
    least, most, spread = generator.normal(size=300), generator.normal(size=300), generator.random(300)
    monkeypatch.setattr(linalg, "point_eigenvalues", lambda m: (least, most))
    monkeypatch.setattr(linalg, "perron_upper", lambda m: spread)
    found = linalg._centred(np.zeros((300, 31, 31)), np.zeros((300, 31, 31)))
    for k in range(300):
        low, high = Fraction(least[k]) - Fraction(spread[k]), Fraction(most[k]) + Fraction(spread[k])
        assert low - abs(low) / 2**51 - U**20 <= Fraction(found[0][k]) <= low
        assert high <= Fraction(found[1][k]) <= high + abs(high) / 2**51 + U**20


def test_the_rotated_radius_and_its_allowances(monkeypatch):
    n, centre, radius = 5, symmetric(15, 25, 5), np.abs(symmetric(16, 25, 5)) * 1e-3
    gram, error, _, _ = linalg._rotated(centre)
    basis = np.abs(np.linalg.eigh(centre)[1])
    seen = []

    def note(m):
        seen.append(m.copy())
        return np.full(len(m), 0.25), np.full(len(m), 0.25)

    monkeypatch.setattr(linalg, "point_eigenvalues", note)
    monkeypatch.setattr(linalg, "perron_upper", lambda m: np.full(len(m), 1e3))
    monkeypatch.setattr(linalg, "_undo_congruence", lambda bottom, top, defect: (bottom, top))
    least, most = linalg._centred(centre, radius)
    above, below, paid = seen[0], seen[1], []
    assert (above == above.swapaxes(1, 2)).all() & (below == below.swapaxes(1, 2)).all()
    for k in range(25):
        turned = times(transposed(exact(basis[k])), times(exact(radius[k]), exact(basis[k])))
        for i in range(n):
            for j in range(n):
                mean = (turned[i][j] + turned[j][i]) / 2
                wanted = mean + (abs(Fraction(gram[k, i, j])) if i != j else 0)
                diagonal = Fraction(gram[k, i, i]) if i == j else 0
                slack = abs(diagonal) / 2**51
                for found in (Fraction(above[k, i, j]) - diagonal, diagonal - Fraction(below[k, i, j])):
                    assert wanted - slack <= found <= wanted * (1 + Fraction(1, 10**14)) + slack
                    if i != j:
                        paid.append(float((found - wanted) / mean) * 2.0**53)
                        assert found >= wanted + mean * factor(2 * n + 2)
        loose = above[k] - np.diag(np.diagonal(gram[k]))
        rough = float((np.abs(np.diag(np.diagonal(gram[k]))) + loose).max()) * (n * 2 * 2.0**-53)
        assert most[k] - 0.25 == pytest.approx(error[k] + rough, abs=1.2e-16)
        assert 0.25 - least[k] == pytest.approx(error[k] + rough, abs=1.2e-16)
        room = Fraction(error[k]) + Fraction(rough) * 999 / 1000
        assert Fraction(most[k]) - room >= Fraction(1, 4) >= Fraction(least[k]) + room
    assert np.mean(paid) == pytest.approx(1.01 * (2 * n + 4) + 4, abs=0.5)  # in units: products, and the mean of two


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_infinite_diagonals_leave_the_other_side_alone(n):
    centre, radius = symmetric(17 + n, 6, n), np.abs(symmetric(27 + n, 6, n))
    low, high = centre - radius, centre + radius
    bottom, top = extremes(low, high)
    slack = 1e-12 if n <= 4 else 2 * radius.sum(axis=(1, 2))
    for place in range(n):
        open_low, open_high = low.copy(), high.copy()
        open_low[:, place, place], open_high[:, place, place] = -INF, INF
        least, most = linalg.eigenvalue_range(open_low, high)
        assert (least == -INF).all()
        assert (most >= top - 1e-14).all() & (most <= top + slack).all()
        least, most = linalg.eigenvalue_range(low, open_high)
        assert (most == INF).all()
        assert (least <= bottom + 1e-14).all() & (least >= bottom - slack).all()
        both = linalg.eigenvalue_range(open_low, open_high)
        assert (both[0] == -INF).all() & (both[1] == INF).all()
    if n > 1:
        for side in (low, high):
            broken = side.copy()
            broken[:, 0, 1] = broken[:, 1, 0] = -INF if side is low else INF
            found = linalg.eigenvalue_range(broken, high) if side is low else linalg.eigenvalue_range(low, broken)
            assert (found[0] == -INF).all() & (found[1] == INF).all()


def test_entries_beyond_what_does_not_overflow():
    one = np.ones((1, 1, 1))
    assert linalg.eigenvalue_range(one * 1e150, one * 1e150)[1] == 1e150
    assert linalg.eigenvalue_range(-one * 1e150, -one * 1e150)[0] == -1e150
    assert linalg.eigenvalue_range(one * 1.5e150, one * 1.5e150)[1] == INF
    assert linalg.eigenvalue_range(-one * 1.5e150, -one * 1.5e150)[0] == -INF
    large = np.eye(3)[None] * 1e200
    assert linalg.eigenvalue_range(large, large)[0] == pytest.approx(1e150)
    assert linalg.eigenvalue_range(-large, -large)[1] == pytest.approx(-1e150)


def test_two_by_two_diagonals_are_exact():
    for a, d in product((-3.0, -1.0, 0.5, 2.0), repeat=2):
        low = np.array([[[a, 0.0], [0.0, d]]])
        high = low + np.array([[[1.0, 0.0], [0.0, 0.25]]])
        least, most = linalg.eigenvalue_range(low, high)
        assert (least[0], most[0]) == (min(a, d), max(a + 1, d + 0.25))
        for b in (1e-3, 2.0):
            low[0, 0, 1] = low[0, 1, 0] = -b
            high[0, 0, 1] = high[0, 1, 0] = b / 2
            least, most = linalg.eigenvalue_range(low, high)
            with mpmath.workdps(40):
                for found, (p, q), sign in ((least, (a, d), -1), (most, (a + 1, d + 0.25), 1)):
                    wanted = rational(
                        (mpmath.mpf(p) + q + sign * mpmath.hypot(mpmath.mpf(p) - q, 2 * mpmath.mpf(b))) / 2
                    )
                    assert sign * (Fraction(found[0]) - wanted) >= 0
                    assert abs(float(found[0]) - float(wanted)) < 4e-15
