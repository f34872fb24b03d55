"""Norms of vectors, matrices and tensors, Perron roots, nets: each allowance for rounding against fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from intervals_exact import rational

from bilevel_verify.intervals import linalg
from bilevel_verify.intervals.batch import Interval

pytestmark = pytest.mark.fast
INF, U = math.inf, Fraction(1, 2**53)


def up(value):
    return math.nextafter(value, INF)


def symmetric(seed, count, n):
    a = np.random.default_rng(seed).normal(size=(count, n, n))
    return np.triu(a) + np.triu(a, 1).swapaxes(1, 2)


def exact(matrix):
    return [[Fraction(float(v)) for v in row] for row in matrix]


def test_collatz_wielandt_against_fractions():
    a = np.abs(symmetric(18, 200, 4))
    a[0] = 0
    found = linalg.perron_upper(a, 1)
    for k in range(200):
        wanted = max(map(sum, exact(a[k])))
        assert wanted <= Fraction(found[k]) <= wanted * (1 + Fraction(1, 10**14)) + Fraction(2, 10**300)
        assert Fraction(found[k]) >= wanted * (1 + 20 * U)
    assert found[0] == up(1e-300)
    assert (linalg.perron_upper(a) == linalg.perron_upper(a, 12)).all()
    assert not (linalg.perron_upper(a) == linalg.perron_upper(a, 11)).all()
    assert not (linalg.perron_upper(a) == linalg.perron_upper(a, 13)).all()
    apart = np.array(
        [[[0.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 3.0]]]
    )  # a row of zeros does not stop the iteration
    assert linalg.perron_upper(apart)[0] == pytest.approx(2 + math.sqrt(5), rel=1e-4)
    chain = np.array([[[3.337, 0.509, 0.0], [0.509, 0.0, 0.108], [0.0, 0.108, 0.0]]])
    bounds = [linalg.perron_upper(chain, steps)[0] for steps in range(1, 40)]
    assert bounds == sorted(bounds, reverse=True)  # one more step never makes it worse
    for scale in (1e-6, 1.0, 1e6):
        found = linalg.perron_upper(a[1:] * scale)
        rho = np.linalg.eigvalsh(a[1:])[:, -1] * scale
        assert (found >= rho * (1 - 1e-14)).all()
        assert (found <= rho * 1.05).all()
        one = linalg.perron_upper(a[5:6] * scale)
        assert one[0] == found[4]  # the others in the batch do not matter


def test_vector_norms_against_fractions():
    generator = np.random.default_rng(19)
    v = np.concatenate([generator.normal(size=(1500, 2)), generator.integers(-2, 3, (300, 2)).astype(float)])
    found = linalg.vector_norm(Interval(v, v))
    for k in range(len(v)):
        wanted = sum(Fraction(t) ** 2 for t in v[k])
        assert Fraction(found[k]) ** 2 >= wanted
        assert float(found[k]) <= math.sqrt(wanted) * (1 + 1e-15) + 1e-149
        if 0 in v[k]:
            assert found[k] == np.abs(v[k]).max()
    three = generator.normal(size=(2, 3, 4))
    found = linalg.vector_norm(Interval(three, three))
    assert found == pytest.approx(np.linalg.norm(three, axis=-1), rel=1e-14)
    assert (found >= np.linalg.norm(three, axis=-1) * (1 - 1e-15)).all()
    assert float(linalg.vector_norm(Interval(three[0, 0], three[0, 0]))) == found[0, 0]
    assert linalg.vector_norm(Interval.of([[-3.0, 1.0]], [[2.0, 1.5]])) == pytest.approx([math.hypot(3, 1.5)])
    many = np.ones((10**5, 2))
    assert linalg.vector_norm(Interval(many, many))[0] <= math.sqrt(2) * (1 + 1e-15)
    assert linalg.vector_norm(Interval(np.ones((1, 3)), np.ones((1, 3))))[0] >= math.sqrt(3)


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (3, 2), (1, 3), (3, 1), (4, 3)])
def test_spectral_norms_of_interval_matrices(shape):
    generator = np.random.default_rng(20)
    low = generator.normal(size=(5, *shape))
    high = low + generator.random(size=(5, *shape)) * np.array([0, 1e-3, 0.2, 1.0, 3.0])[:, None, None]
    found = linalg.spectral_norm(low, high)
    assert found.shape == (5,)
    reached = np.zeros(5)
    for _ in range(400):
        picked = np.where(generator.random(size=(5, *shape)) < 0.5, low, high)
        reached = np.maximum(reached, np.linalg.norm(picked, 2, axis=(1, 2)))
    assert (found >= reached * (1 - 1e-14)).all()
    if sum(shape) <= 4 or 1 in shape:
        assert (found <= reached * (1 + 1e-12) + 1e-12).all() or sum(shape) > 4
    assert found[0] == pytest.approx(reached[0], rel=1e-12)
    assert (found <= reached * 1.6).all()
    assert (linalg.spectral_norm(low.reshape(5, 1, *shape), high.reshape(5, 1, *shape))[:, 0] == found).all()
    assert float(linalg.spectral_norm(low[2], high[2])) == found[2]
    if 1 in shape:
        flat = Interval(low.reshape(5, -1), high.reshape(5, -1))
        assert (found == linalg.vector_norm(flat)).all()
    square = symmetric(21, 5, 3)
    norms = linalg.symmetric_norm(square - 0.3, square + 0.1)
    ends = linalg.eigenvalue_range(square - 0.3, square + 0.1)
    assert (norms == np.maximum(-ends[0], ends[1])).all()


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("order", [3, 4])
def test_the_allowance_of_tensor_norms(monkeypatch, n, order):
    tensors = np.random.default_rng(22 + n).normal(size=(40, *[n] * order))
    seen = []
    top = np.random.default_rng(23).random(40)

    def note(m):
        seen.append(m)
        return np.zeros(len(m)), top[: len(m)].copy()

    monkeypatch.setattr(linalg, "point_eigenvalues", note)
    found = (linalg.cubic_norm if order == 3 else linalg.quartic_norm)(tensors)
    if n == 1:
        assert not seen
        assert found == pytest.approx(np.abs(tensors.ravel()), rel=1e-13)
        assert (found >= np.abs(tensors.ravel())).all()
        return
    assert (seen[0] == seen[0].swapaxes(1, 2)).all()
    unit = 1.01 * 2.0**-53
    for k in range(40):
        square = sum(Fraction(v) ** 2 for v in tensors[k].ravel().tolist())
        if order == 3:
            room = float(square) * ((n + 4) * unit + 2 * n * (2 * n * n + 6) * unit)
            wanted = Fraction(top[k]) + Fraction(room) * 999999 / 1000000
            assert Fraction(found[k]) ** 2 >= wanted
            assert float(found[k]) <= math.sqrt(wanted) * (1 + 1e-15)
        else:
            room = 2 * n * (2 * n * n + 6) * unit * math.sqrt(square)
            wanted = Fraction(top[k]) + Fraction(room) * 999999 / 1000000
            assert wanted <= Fraction(found[k]) <= wanted * (1 + Fraction(1, 10**15))
    top[:] = 0.0
    bare = (linalg.cubic_norm if order == 3 else linalg.quartic_norm)(tensors)
    for k in range(40):
        square = float(sum(Fraction(v) ** 2 for v in tensors[k].ravel().tolist()))
        if order == 3:
            assert bare[k] ** 2 == pytest.approx(
                square * unit * (n + 4 + 2 * n * (2 * n * n + 6)), rel=1e-9, abs=1e-300
            )
        else:
            assert bare[k] == pytest.approx(2 * n * (2 * n * n + 6) * unit * math.sqrt(square), rel=1e-9, abs=1e-300)


def test_nets_of_the_sphere():
    for size in (3, 8):
        directions, angle = linalg.sphere_net(2, size)
        assert directions.shape == (size, 2)
        assert rational(angle) >= rational(mpmath.pi / (2 * size))
        assert angle <= math.pi / (2 * size) * (1 + 1e-11)
    for n, size, side in ((3, 12, 2), (3, 27, 3), (3, 28, 4), (4, 8, 2), (4, 108, 3), (5, 10, 2)):
        directions, angle = linalg.sphere_net(n, size)
        assert len(directions) == n * side ** (n - 1)
        assert np.linalg.norm(directions, axis=1) == pytest.approx(np.ones(len(directions)))
        chord = math.sqrt(n - 1) / side
        assert 2 * math.asin(chord / 2) <= angle <= 2 * math.asin(chord / 2) * (1 + 1e-8)
        assert len(np.unique(np.round(directions, 9), axis=0)) == len(directions)
