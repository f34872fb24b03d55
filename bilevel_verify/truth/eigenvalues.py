"""Smallest eigenvalues of symmetric interval matrices: midpoint minus radius, with the rounding of LAPACK covered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.points import spread

FloatArray = NDArray[np.float64]


def smallest_eigenvalue(matrix: Interval) -> FloatArray:
    """Lower bounds of the eigenvalues of symmetric interval matrices (n, d, d): midpoint minus radius and rounding."""
    finite = np.asarray((np.isfinite(matrix.lo) & np.isfinite(matrix.hi)).all(axis=(1, 2)))
    low, high = np.where(finite[:, None, None], matrix.lo, 0.0), np.where(finite[:, None, None], matrix.hi, 0.0)
    middle = 0.5 * (low + high)
    middle = 0.5 * (middle + np.swapaxes(middle, 1, 2))
    d = middle.shape[1]
    radius = np.maximum(high - middle, middle - low) * (1 + 1e-14)
    radius = np.minimum(radius, np.swapaxes(radius, 1, 2)) + 1e-300  # both entries enclose the same derivative
    spread = np.sqrt(np.sum(radius**2, axis=(1, 2))) * (1 + 1e-13)
    size = np.sqrt(np.sum(middle**2, axis=(1, 2)))
    lowest = middle[:, 0, 0] if d == 1 else np.linalg.eigvalsh(middle)[:, 0]
    return np.asarray(np.where(finite, lowest - spread - (8 * d + 8) * 2.0**-52 * size, -np.inf))


def eigenvalue_interval(matrix: Interval) -> Interval:
    """Enclosure of the smallest eigenvalue of symmetric interval matrices (n, d, d)."""
    low = smallest_eigenvalue(matrix)
    mid, radius = spread(matrix)
    d = mid.shape[1]
    middle = 0.5 * (mid + np.swapaxes(mid, 1, 2))
    least = middle[:, 0, 0] if d == 1 else np.linalg.eigvalsh(middle)[:, 0]
    size = np.sqrt(np.sum(middle**2, axis=(1, 2)))
    high = least + radius * (1 + 1e-12) + (8 * d + 8) * 2.0**-52 * size
    return Interval(low, np.where(np.isfinite(low), high, np.inf))


def eigenvalue_bounds(matrix: FloatArray) -> tuple[float, float]:
    """Proved ends of the smallest eigenvalue of one symmetric float matrix (d, d)."""
    interval = eigenvalue_interval(Interval(matrix[None], matrix[None]))
    return float(interval.lo[0]), float(interval.hi[0])
