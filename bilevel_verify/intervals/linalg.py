"""Verified eigenvalue and norm bounds for batches of (interval) matrices and tensors.

LAPACK is used as an oracle only: whatever ``eigh`` returns, the bounds below hold. With ``Q`` any nearly orthogonal
matrix, ``G = Q^T A Q`` and ``e >= |I - Q^T Q|``, every eigenvalue of ``A`` lies between ``lambda_min(G)`` and
``lambda_max(G)`` divided by a number in ``[1 - e, 1 + e]`` (congruence), and Gershgorin bounds those of ``G``, which is
nearly diagonal. Rounding of the two products is bounded by ``gamma_(2n+2) |Q|^T |A| |Q|``.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from contextvars import ContextVar
from functools import lru_cache
from typing import Literal

import numpy as np

from bilevel_verify.intervals.batch import Interval, square_root
from bilevel_verify.numbers.rounding import UNDERFLOW, UNIT, Array, down, up

LARGEST = 1e150
"""Entries up to this size have products and sums that do not overflow."""
VERTEX_LIMIT = 4
"""Interval matrices up to this size are bounded by all sign vertices (Hertz), which is exact."""


def gamma(k: int) -> float:
    """Error factor of a floating-point sum of ``k`` products, with a little room for the bound's own rounding."""
    return 1.01 * k * UNIT / (1 - k * UNIT)


_QUICK: ContextVar[bool] = ContextVar("quick_algebra", default=False)

Sides = Literal["both", "least", "most"]


@contextlib.contextmanager
def quick_algebra() -> Iterator[None]:
    """Within this block eigenvalues come from LAPACK with a margin, unverified: for searches certified later."""
    token = _QUICK.set(True)
    try:
        yield
    finally:
        _QUICK.reset(token)


def eigenvalue_range(lo: Array, hi: Array, sides: Sides = "both") -> tuple[Array, Array]:
    """Lower bound of ``lambda_min`` and upper bound of ``lambda_max`` over all symmetric matrices in ``[lo, hi]``.

    ``sides`` saves work: the other end may come back infinite.

    Parameters
    ----------
    lo, hi : shape (..., n, n), symmetric. Infinite entries give infinite bounds.
    """
    *shape, _, n = lo.shape
    if n == 0:
        return np.full(shape, np.inf), np.full(shape, -np.inf)
    low, high = lo.reshape(-1, n, n), hi.reshape(-1, n, n)
    low = np.where(low < -LARGEST, -np.inf, np.minimum(low, LARGEST))
    high = np.where(high > LARGEST, np.inf, np.maximum(high, -LARGEST))
    finite = np.isfinite(low).all(axis=(1, 2)) & np.isfinite(high).all(axis=(1, 2))
    least, most = np.empty((2, len(low)))
    if finite.any():
        least[finite], most[finite] = _finite_range(low[finite], high[finite], sides)
    if not finite.all():
        least[~finite], most[~finite] = _partly_infinite(low[~finite], high[~finite])
    return least.reshape(shape), most.reshape(shape)


def _partly_infinite(low: Array, high: Array) -> tuple[Array, Array]:
    """One side may survive: an upper bound needs finite upper ends on the diagonal and finite off-diagonal entries."""
    _, n, _ = low.shape
    eye = np.eye(n, dtype=bool)
    off = np.isfinite(np.where(eye, 0.0, low)).all(axis=(1, 2)) & np.isfinite(np.where(eye, 0.0, high)).all(axis=(1, 2))
    least, most = np.full(len(low), -np.inf), np.full(len(low), np.inf)
    diagonal_low, diagonal_high = np.diagonal(low, axis1=1, axis2=2), np.diagonal(high, axis1=1, axis2=2)
    ok = off & np.isfinite(diagonal_high).all(axis=1)
    if ok.any():
        most[ok] = _finite_range(np.where(eye, high[ok], low[ok]), high[ok])[1]
    ok = off & np.isfinite(diagonal_low).all(axis=1)
    if ok.any():
        least[ok] = _finite_range(low[ok], np.where(eye, low[ok], high[ok]))[0]
    return least, most


def _finite_range(low: Array, high: Array, sides: Sides = "both") -> tuple[Array, Array]:
    _, n, _ = low.shape
    if n == 1:
        return low[:, 0, 0].copy(), high[:, 0, 0].copy()
    if n == 2:
        return _two_by_two(low, high)
    if not low[:, ~np.eye(n, dtype=bool)].any() and not high[:, ~np.eye(n, dtype=bool)].any():
        return np.diagonal(low, axis1=1, axis2=2).min(axis=1), np.diagonal(high, axis1=1, axis2=2).max(axis=1)
    point = low == high
    centre = np.where(point, low, 0.5 * low + 0.5 * high)
    radius = np.where(point, 0.0, np.maximum(up(high - centre), up(centre - low)))
    if not radius.any():
        return point_eigenvalues(centre)
    if n <= VERTEX_LIMIT:
        return _vertices(centre, radius, sides)
    return _centred(centre, radius, sides)


def _two_by_two(low: Array, high: Array) -> tuple[Array, Array]:
    half = Interval.of(0.5)
    off = Interval(low[:, 0, 1], high[:, 0, 1]).magnitude()

    def extreme(a: Array, d: Array, sign: int) -> Interval:
        first, second = Interval(a, a), Interval(d, d)
        mean, gap = (first + second) * half, (first - second) * half
        root = square_root(gap.square() + Interval(off, off).square())
        return mean + root if sign > 0 else mean - root

    most = np.where(off == 0, np.maximum(high[:, 0, 0], high[:, 1, 1]), extreme(high[:, 0, 0], high[:, 1, 1], 1).hi)
    least = np.where(off == 0, np.minimum(low[:, 0, 0], low[:, 1, 1]), extreme(low[:, 0, 0], low[:, 1, 1], -1).lo)
    return least, most


def point_eigenvalues(matrices: Array) -> tuple[Array, Array]:
    """Verified (lambda_min from below, lambda_max from above) of float symmetric matrices, shape (b, n, n).

    A matrix with an entry that is infinite, no number, or so large that products overflow has no bound: (-inf, inf).
    """
    _, n, _ = matrices.shape
    usable = (np.abs(matrices) <= LARGEST).all(axis=(1, 2))
    if not usable.all():
        least, most = np.full(len(matrices), -np.inf), np.full(len(matrices), np.inf)
        if usable.any():
            least[usable], most[usable] = point_eigenvalues(matrices[usable])
        return least, most
    if _QUICK.get():
        values = np.linalg.eigvalsh(matrices)
        margin = np.abs(matrices).max(axis=(1, 2)) * (n * n * 8 * UNIT)
        return values[:, 0] - margin, values[:, -1] + margin
    return _by_rotation(*_rotated(matrices)[:3])


def _by_rotation(gram: Array, error: Array, defect: Array) -> tuple[Array, Array]:
    """Extreme eigenvalues of ``A`` from ``Q^T A Q``: Gershgorin."""
    n = gram.shape[1]
    diagonal = np.diagonal(gram, axis1=1, axis2=2)
    off = np.where(np.eye(n, dtype=bool), 0.0, np.abs(gram)).sum(axis=2)
    room = off * (1 + n * 4 * UNIT) + error[:, None]
    top = up((diagonal + room).max(axis=1))
    bottom = down((diagonal - room).min(axis=1))
    return _undo_congruence(bottom, top, defect)


def _undo_congruence(bottom: Array, top: Array, defect: Array) -> tuple[Array, Array]:
    bad = defect >= 0.5
    grow, shrink = np.where(bad, 1.0, 1.0 / (1 - defect)), np.where(bad, 1.0, 1.0 / (1 + defect))
    # defect < 1/2: a factor is off by 3/2 units at most, a step of its own and one of the product cover that and more
    top = up(top * np.where(top >= 0, up(grow), down(shrink)))
    bottom = down(bottom * np.where(bottom <= 0, up(grow), down(shrink)))
    return np.where(bad, -np.inf, bottom), np.where(bad, np.inf, top)


def _rotated(matrices: Array) -> tuple[Array, Array, Array, Array]:
    """``Q^T A Q``, a bound on its rounding error in norm, a bound on ``|I - Q^T Q|``, and ``|Q|``."""
    _, n, _ = matrices.shape
    vectors = np.linalg.eigh(matrices)[1]
    transposed = vectors.swapaxes(1, 2)
    gram = transposed @ (matrices @ vectors)
    gram = 0.5 * (gram + gram.swapaxes(1, 2))
    size = np.abs(transposed) @ (np.abs(matrices) @ np.abs(vectors))
    error = size.sum(axis=2).max(axis=1) * gamma(2 * n + 4) + UNDERFLOW
    eye = np.eye(n)
    gap = np.abs(transposed @ vectors - eye).sum(axis=2).max(axis=1)
    length = (np.abs(transposed) @ np.abs(vectors)).sum(axis=2).max(axis=1)
    defect = gap * (1 + 4 * n * UNIT) + length * gamma(n + 3)
    return gram, error, defect, np.abs(vectors)


@lru_cache(maxsize=16)
def _sign_vertices(n: int) -> Array:
    rows = [(1.0, *tail) for tail in itertools.product((1.0, -1.0), repeat=n - 1)]
    return np.array(rows)


def _vertices(centre: Array, radius: Array, sides: Sides) -> tuple[Array, Array]:
    """Exact hull over an interval matrix: ``max`` at ``C + R o ss^T``, ``min`` at ``C - R o ss^T``, s = +-1."""
    b, n, _ = centre.shape
    signs = _sign_vertices(n)
    pattern = signs[:, :, None] * signs[:, None, :]
    spread = radius[:, None] * pattern[None]
    # rounding of the vertex entries is at most one unit of the larger operand: added as a norm
    room = (np.abs(centre) + radius).max(axis=(1, 2)) * (n * 2 * UNIT)
    least, most = np.full(b, -np.inf), np.full(b, np.inf)
    if sides != "least":
        top = point_eigenvalues((centre[:, None] + spread).reshape(-1, n, n))[1].reshape(b, -1)
        most = up(top.max(axis=1) + room)
    if sides != "most":
        bottom = point_eigenvalues((centre[:, None] - spread).reshape(-1, n, n))[0].reshape(b, -1)
        least = down(bottom.min(axis=1) - room)
    return least, most


def perron_upper(matrices: Array, steps: int = 12) -> Array:
    """Upper bound of the spectral radius of non-negative symmetric matrices (Collatz-Wielandt), shape (b,)."""
    b, n, _ = matrices.shape
    vector = np.ones((b, n))
    best = np.full(b, np.inf)
    for _ in range(steps):
        image = (matrices @ vector[..., None])[..., 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (image / vector).max(axis=1) * (1 + 4 * (n + 2) * UNIT) + UNDERFLOW
        best = np.minimum(best, np.where(np.isnan(ratio), np.inf, ratio))
        scale = image.max(axis=1, keepdims=True)
        vector = np.where(scale > 0, image / np.where(scale > 0, scale, 1.0), 1.0) + 1e-9
    return np.asarray(up(best))


def _centred(centre: Array, radius: Array, sides: Sides = "both") -> tuple[Array, Array]:
    """Better of ``lambda(C) -+ rho(R)`` and the rotated bound (exact to second order as the radius shrinks)."""
    _, n, _ = centre.shape
    turnable = n <= 30 and bool((np.abs(centre) <= LARGEST).all())
    if not turnable:
        least, most = point_eigenvalues(centre)
        spread = perron_upper(radius)
        return down(least - spread), up(most + spread)
    gram, error, defect, basis = _rotated(centre)
    spread = perron_upper(radius)
    least, most = _by_rotation(gram, error, defect)
    least, most = down(least - spread), up(most + spread)
    turned = basis.swapaxes(1, 2) @ (radius @ basis) * (1 + gamma(2 * n + 4)) + UNDERFLOW
    diagonal = np.diagonal(gram, axis1=1, axis2=2)
    eye = np.eye(n, dtype=bool)
    loose = np.where(eye, 0.0, np.abs(gram)) + turned
    loose = 0.5 * (loose + loose.swapaxes(1, 2)) * (1 + 4 * UNIT)
    spectrum = np.where(eye, diagonal[:, :, None], 0.0)
    rough = (np.abs(spectrum) + loose).max(axis=(1, 2)) * (n * 2 * UNIT)
    top, bottom = np.full(len(centre), np.inf), np.full(len(centre), -np.inf)
    if sides != "least":
        top = up(point_eigenvalues(spectrum + loose)[1] + error + rough)
    if sides != "most":
        bottom = down(point_eigenvalues(spectrum - loose)[0] - error - rough)
    bottom, top = _undo_congruence(bottom, top, defect)
    return np.maximum(least, bottom), np.minimum(most, top)


def symmetric_norm(lo: Array, hi: Array) -> Array:
    """Upper bound of the spectral norm over symmetric interval matrices."""
    least, most = eigenvalue_range(lo, hi)
    return np.maximum(np.maximum(-least, most), 0.0)


def vector_norm(v: Interval) -> Array:
    """Upper bound of the Euclidean norm along the last axis."""
    size = v.magnitude()
    total = (size * size).sum(axis=-1) * (1 + gamma(v.lo.shape[-1] + 2)) + UNDERFLOW
    exact = (size != 0).sum(axis=-1) <= 1
    return np.asarray(np.where(exact, size.max(axis=-1, initial=0.0), up(np.sqrt(total))))


def spectral_norm(lo: Array, hi: Array) -> Array:
    """Upper bound of the spectral norm over rectangular interval matrices, shape (..., m, n)."""
    *shape, m, n = lo.shape
    if m == 0 or n == 0:
        return np.zeros(shape)
    if m == 1 or n == 1:
        flat = (*shape, m * n)
        return vector_norm(Interval(lo.reshape(flat), hi.reshape(flat)))
    size = (*shape, m + n, m + n)
    low, high = np.zeros(size), np.zeros(size)
    for target, source in ((low, lo), (high, hi)):
        target[..., :m, m:] = source
        target[..., m:, :m] = source.swapaxes(-1, -2)
    return symmetric_norm(low, high)


def cubic_norm(centre: Array) -> Array:
    """Upper bound of ``max |T[u,u,u]|`` for float symmetric tensors, shape (b, n, n, n).

    ``|T[u,u,.]|^2`` is a quadratic form in ``u u^T``; of the representations that agree there the mean of the three
    pairings is used, on symmetric matrices (ratio to the true norm 1.01-1.06 on average for n = 2..10).
    """
    _, n, _, _ = centre.shape
    straight = np.einsum("bijk,bilm->bjklm", centre, centre)
    crossed = np.einsum("bijl,bikm->bjklm", centre, centre)
    mixed = (straight + crossed + crossed.swapaxes(-1, -2)) / 3.0
    basis = symmetric_basis(n)
    matrix = np.einsum("pjk,bjklm,qlm->bpq", basis, mixed, basis, optimize=True)
    matrix = 0.5 * (matrix + matrix.swapaxes(1, 2))
    frobenius = (centre * centre).sum(axis=(1, 2, 3))  # its own rounding: gamma has a hundredth to spare
    room = frobenius * (gamma(n + 4) + 2 * gamma(2 * n * n + 6) * n)
    top = point_eigenvalues(matrix)[1] if len(basis) > 1 else matrix[:, 0, 0]
    return np.asarray(up(np.sqrt(np.maximum(up(top + room), 0.0))))


def quartic_norm(centre: Array) -> Array:
    """Upper bound of ``max |T[u,u,u,u]|`` for float symmetric tensors, shape (b, n, n, n, n): flattening."""
    _, n, _, _, _ = centre.shape
    basis = symmetric_basis(n)
    matrix = np.einsum("pjk,bjklm,qlm->bpq", basis, centre, basis, optimize=True)
    matrix = 0.5 * (matrix + matrix.swapaxes(1, 2))
    frobenius = np.sqrt((centre * centre).sum(axis=(1, 2, 3, 4)))
    room = 2 * gamma(2 * n * n + 6) * n * frobenius
    low, high = point_eigenvalues(matrix) if len(basis) > 1 else (matrix[:, 0, 0], matrix[:, 0, 0])
    return np.asarray(up(np.maximum(np.maximum(-low, high), 0.0) + room))


@lru_cache(maxsize=32)
def symmetric_basis(n: int) -> Array:
    """Orthonormal basis of the symmetric n x n matrices (Frobenius), shape (n(n+1)/2, n, n)."""
    basis = []
    for i in range(n):
        for j in range(i, n):
            e = np.zeros((n, n))
            e[i, j] = e[j, i] = 1.0 if i == j else 2.0**-0.5
            basis.append(e)
    return np.array(basis)


@lru_cache(maxsize=64)
def sphere_net(n: int, size: int) -> tuple[Array, float]:
    """Directions up to sign and the angle within which they cover the sphere of R^n (about ``size`` directions).

    ``n = 2``: equally spaced on a half circle. Otherwise a grid on the ``n`` faces of the cube, projected radially;
    the projection onto the ball does not increase distances, so neighbours stay within the grid's half diagonal.
    """
    if n == 1:
        return np.ones((1, 1)), 0.0
    if n == 2:
        angle = np.pi * np.arange(size) / size
        return np.stack([np.cos(angle), np.sin(angle)], axis=1), float(np.pi / (2 * size)) * (1 + 1e-12)
    per_side = max(2, int(np.ceil((size / n) ** (1 / (n - 1)))))
    step = 2.0 / per_side
    axis = -1.0 + step * (np.arange(per_side) + 0.5)
    points = []
    for face in range(n):
        grid = np.stack(np.meshgrid(*[axis] * (n - 1), indexing="ij"), axis=-1).reshape(-1, n - 1)
        points.append(np.insert(grid, face, 1.0, axis=1))
    directions = np.concatenate(points)
    directions /= np.sqrt((directions**2).sum(axis=1, keepdims=True))
    chord = 0.5 * step * np.sqrt(n - 1)
    return directions, float(2 * np.arcsin(min(1.0, chord / 2))) * (1 + 1e-9)
