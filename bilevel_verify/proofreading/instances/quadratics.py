"""The smallest and the largest value of a quadratic over the whole space, from its values alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
CHECKED = 3
"""Further points at which a function must agree with the quadratic that some of its values give."""
NEAR = 1e-8


def stationary_point(value: Callable[[Array], float], size: int, sign: int) -> Array | None:
    """Where a quadratic is smallest (``sign`` 1) or largest (-1); None for what is no quadratic or has no such point.

    Parameters
    ----------
    value : the function on arrays of length ``size``.
    """
    units = np.eye(size)
    middle, ahead = value(np.zeros(size)), np.array([value(e) for e in units])
    behind = np.array([value(-e) for e in units])
    slope = (ahead - behind) / 2
    hessian = np.diag(ahead + behind - 2 * middle)
    for i in range(size):
        for j in range(i):
            mixed = value(units[i] + units[j]) - ahead[i] - ahead[j] + middle
            hessian[i, j] = hessian[j, i] = mixed
    source = np.random.default_rng(size)
    for point in source.uniform(-2, 2, (CHECKED, size)):
        expected = middle + slope @ point + point @ hessian @ point / 2
        parts = np.abs(slope) @ np.abs(point) + np.abs(point) @ np.abs(hessian) @ np.abs(point)
        if not abs(value(point) - expected) <= NEAR * (abs(middle) + parts):
            return None
    if not np.linalg.eigvalsh(sign * hessian)[0] > NEAR * np.abs(hessian).max(initial=0.0):
        return None
    return np.asarray(-np.linalg.solve(hessian, slope), dtype=np.float64)
