"""Verified linear algebra against 60-digit mpmath, and interval hulls against sampled matrices."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from seeds import SEED

from bilevel_verify.intervals import linalg


def _matrix(rng: np.random.Generator, n: int) -> np.ndarray:
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    values = 10.0 ** rng.uniform(-18, 0, size=n) * rng.choice([-1, 1], size=n)
    a = q @ np.diag(values) @ q.T
    return 0.5 * (a + a.T)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10])
def test_point_eigenvalues_against_sixty_digits(n: int) -> None:
    rng = np.random.default_rng(SEED + n)
    for _ in range(4 if n == 10 else 12):
        a = _matrix(rng, n)
        low, high = linalg.eigenvalue_range(a, a)
        with mpmath.workdps(60):
            exact = sorted(mpmath.eigsy(mpmath.matrix(a.tolist()), eigvals_only=True))
        size = float(np.abs(a).max())
        assert mpmath.mpf(float(low)) <= exact[0], (SEED, n)
        assert mpmath.mpf(float(high)) >= exact[-1], (SEED, n)
        assert float(exact[0]) - float(low) <= 200 * n * n * 2.0**-53 * size + 1e-300
        assert float(high) - float(exact[-1]) <= 200 * n * n * 2.0**-53 * size + 1e-300


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 10])
@pytest.mark.parametrize("radius", [1e-3, 1.0])
def test_interval_matrices_contain_their_members(n: int, radius: float) -> None:
    rng = np.random.default_rng(SEED + n)
    centre = rng.normal(size=(30, n, n))
    centre = centre + centre.swapaxes(1, 2)
    spread = rng.uniform(size=(30, n, n)) * radius
    spread = spread + spread.swapaxes(1, 2)
    low, high = linalg.eigenvalue_range(centre - spread, centre + spread)
    for _ in range(60):
        upper = np.triu(rng.choice([-1.0, 1.0], size=(30, n, n)))
        pattern = upper + np.triu(upper, 1).swapaxes(1, 2)
        values = np.linalg.eigvalsh(centre + spread * pattern)
        assert (values[:, 0] >= low - 1e-12).all(), SEED
        assert (values[:, -1] <= high + 1e-12).all(), SEED


def test_infinite_entries_lose_only_what_they_must() -> None:
    low, high = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[np.inf, 0.0], [0.0, 3.0]])
    least, most = linalg.eigenvalue_range(low, high)
    assert least == pytest.approx(1.0)
    assert most == np.inf


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (4, 2)])
def test_spectral_norm(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(SEED)
    a = rng.normal(size=(20, *shape))
    bound = linalg.spectral_norm(a, a)
    exact = np.linalg.norm(a, 2, axis=(1, 2))
    assert (bound >= exact * (1 - 1e-14)).all()
    assert (bound <= exact * (1 + 1e-11)).all()


def _ascent(tensor: np.ndarray, order: int, rng: np.random.Generator) -> float:
    best = 0.0
    n = tensor.shape[0]
    for _ in range(30):
        u = rng.normal(size=n)
        u /= np.linalg.norm(u)
        for _ in range(60):
            v = tensor
            for _ in range(order - 1):
                v = v @ u
            if not np.linalg.norm(v):
                break
            u = v / np.linalg.norm(v)
        value = tensor
        for _ in range(order):
            value = value @ u
        best = max(best, abs(float(value)))
    return best


@pytest.mark.parametrize(("n", "loss"), [(2, 1.2), (3, 1.2), (5, 1.25)])
def test_tensor_norms(n: int, loss: float) -> None:
    rng = np.random.default_rng(SEED + n)
    ratios = []
    for _ in range(6):
        t = rng.normal(size=(n, n, n))
        t = sum(np.transpose(t, p) for p in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))) / 6
        bound = float(linalg.cubic_norm(t[None])[0])
        true = _ascent(t, 3, rng)
        assert bound >= true * (1 - 1e-9), SEED
        ratios.append(bound / true)
    assert float(np.mean(ratios)) < loss


def test_sphere_nets_cover() -> None:
    rng = np.random.default_rng(SEED)
    for n, size in ((2, 24), (3, 200)):
        net, angle = linalg.sphere_net(n, size)
        points = rng.normal(size=(2000, n))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        nearest = np.abs(points @ net.T).max(axis=1)
        assert (nearest >= np.cos(angle) - 1e-12).all(), SEED


def test_an_unrounded_eigenvalue_is_caught() -> None:
    """Control: LAPACK's value without an error term does fail the same test somewhere."""
    rng = np.random.default_rng(3)
    broken = 0
    for _ in range(40):
        a = _matrix(rng, 6)
        naive = np.linalg.eigvalsh(a)[0]
        with mpmath.workdps(60):
            exact = min(mpmath.eigsy(mpmath.matrix(a.tolist()), eigvals_only=True))
        broken += mpmath.mpf(float(naive)) > exact
    assert broken > 0


def test_diagonal_matrices_are_exact() -> None:
    """A least eigenvalue of 0 stays 0: what is convex is not to be lost to the room for underflow."""
    low = np.zeros((2, 4, 4))
    low[1] = np.diag([0.1, 0.0, 3.0, 0.3])
    least, most = linalg.eigenvalue_range(low, low + np.eye(4))
    assert least.tolist() == [0.0, 0.0]
    assert most.tolist() == [1.0, 4.0]
