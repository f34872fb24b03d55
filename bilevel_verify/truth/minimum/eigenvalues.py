"""Smallest eigenvalues of symmetric interval matrices: midpoint minus radius, with the rounding of LAPACK covered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.intervals.batch import Interval
from bilevel_verify.truth.lower_level.points import frobenius, spread

FloatArray = NDArray[np.float64]


@np.errstate(over="ignore", invalid="ignore")
def smallest_eigenvalue(matrix: Interval) -> FloatArray:
    """Lower bounds of the eigenvalues of symmetric interval matrices (n, d, d): midpoint minus radius and rounding.

    Minus infinity where an entry is not finite or the norms overflow.
    """
    finite = np.asarray((np.isfinite(matrix.lo) & np.isfinite(matrix.hi)).all(axis=(1, 2)))
    low, high = np.where(finite[:, None, None], matrix.lo, 0.0), np.where(finite[:, None, None], matrix.hi, 0.0)
    middle = _symmetric(0.5 * low + 0.5 * high)
    radius = np.maximum(high - middle, middle - low) * (1 + 1e-14)
    radius = np.minimum(radius, np.swapaxes(radius, 1, 2))  # both entries enclose the same derivative
    bound = _least(middle) - frobenius(radius) - _rounding(middle)
    return np.asarray(np.where(finite & np.isfinite(bound), bound, -np.inf))


@np.errstate(over="ignore", invalid="ignore")
def eigenvalue_interval(matrix: Interval) -> Interval:
    """Enclosure of the smallest eigenvalue of symmetric interval matrices (n, d, d)."""
    low = smallest_eigenvalue(matrix)
    mid, radius = spread(matrix)
    middle = _symmetric(mid)
    high = _least(middle) + radius * (1 + 1e-12) + _rounding(middle)
    return Interval(low, np.where(np.isfinite(low), high, np.inf))


def _symmetric(matrix: FloatArray) -> FloatArray:
    return np.asarray(0.5 * matrix + 0.5 * np.swapaxes(matrix, 1, 2))


def _least(middle: FloatArray) -> FloatArray:
    """Smallest eigenvalues of symmetric float matrices (n, d, d), as LAPACK rounds them."""
    return np.asarray(middle[:, 0, 0] if middle.shape[1] == 1 else np.linalg.eigvalsh(middle)[:, 0])


def _rounding(middle: FloatArray) -> FloatArray:
    """What LAPACK and the sums of the bounds may lose: ``(8 d + 8) eps`` times the norm."""
    return np.asarray((8 * middle.shape[1] + 8) * 2.0**-52 * frobenius(np.abs(middle)))


def eigenvalue_bounds(matrix: FloatArray) -> tuple[float, float]:
    """Proved ends of the smallest eigenvalue of one symmetric float matrix (d, d)."""
    interval = eigenvalue_interval(Interval(matrix[None], matrix[None]))
    return float(interval.lo[0]), float(interval.hi[0])
