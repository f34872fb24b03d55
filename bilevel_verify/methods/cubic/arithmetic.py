"""The little linear algebra of cubic steps, on float64 arrays and on object arrays of mpmath numbers alike.

Which of the two a call means is read off the array. Multi-precision answers are as accurate as mpmath's working
precision at the moment of the call.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MathematicalError
from bilevel_verify.methods.kernels.scalars import square_root

Array: TypeAlias = "NDArray[np.float64]"
"""float64 array, or object array of mpmath numbers, which is used alike."""
Number: TypeAlias = float
"""float, or an mpmath number, which is used alike."""


def is_precise(array: Array) -> bool:
    """Whether an array holds mpmath numbers."""
    return bool(np.asarray(array).dtype == object)


def norm(vector: Array) -> Number:
    """Euclidean norm of a vector."""
    if not is_precise(vector):
        found = float(np.linalg.norm(vector))
        if 1e-140 < found < 1e140 or found == np.inf:
            return found
        largest = float(np.max(np.abs(vector), initial=0.0))  # squares leave the range of floats
        return largest * float(np.linalg.norm(vector / largest)) if 0 < largest < np.inf else largest
    import mpmath

    root: Number = mpmath.sqrt(mpmath.fsum(entry * entry for entry in np.ravel(vector)))
    return root


def all_finite(array: Array) -> bool:
    """Whether no entry is NaN or infinite."""
    if not is_precise(array):
        return bool(np.all(np.isfinite(array)))
    import mpmath

    return all(bool(mpmath.isfinite(entry)) for entry in np.ravel(array))


def unit_roundoff(array: Array) -> Number:
    """Distance from 1 to the next number."""
    if not is_precise(array):
        return 2.0**-52
    import mpmath

    roundoff: Number = +mpmath.eps
    return roundoff


def smallest(array: Array) -> Number:
    """A positive number that counts as 0 beside every number that a run meets."""
    if not is_precise(array):
        return 1e-300
    import mpmath

    least: Number = mpmath.mpf(10) ** (-20 * mpmath.mp.dps)
    return least


def symmetric_eigen(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues (ascending) and orthonormal eigenvectors (columns) of a symmetric matrix."""
    if not is_precise(matrix):
        return np.linalg.eigh(matrix)
    import mpmath

    values, vectors = mpmath.eigsy(mpmath.matrix(matrix.tolist()))
    n = len(matrix)
    found = np.array([values[i] for i in range(n)], dtype=object)
    columns = np.array([[vectors[i, j] for j in range(n)] for i in range(n)], dtype=object)
    order = sorted(range(n), key=lambda i: found[i])
    return found[order], columns[:, order]


def schur(mixed: Array, lower: Array, name: str) -> Array:
    """``mixed @ inv(lower) @ mixed.T`` for a positive definite ``lower``.

    Raises
    ------
    MathematicalError : ``lower`` is not positive definite: the lower level is not strongly convex there.
    """
    try:
        solved = _precise_solve(lower, mixed.T) if is_precise(lower) else _float_solve(lower, mixed.T)
    except (np.linalg.LinAlgError, ValueError, ZeroDivisionError):
        raise MathematicalError(
            f"the yy block of {name} is not positive definite at an iterate: it must be strongly convex in y"
        ) from None
    return mixed @ solved


def _float_solve(lower: Array, right: Array) -> Array:
    """By Cholesky's factors; a ValueError where the matrix is not positive definite or not finite."""
    from scipy.linalg.lapack import dposv

    if not all_finite(lower):
        raise ValueError("not finite")
    solved: Array
    _, solved, info = dposv(lower, right)
    if info != 0:
        raise ValueError("not positive definite")
    return solved


def _precise_solve(lower: Array, right: Array) -> Array:
    """By Cholesky's factors; a ValueError where a pivot is not positive."""
    import mpmath

    n = len(lower)
    factor = np.array(mpmath.cholesky(mpmath.matrix(lower.tolist())).tolist(), dtype=object).reshape(n, n)
    solved = right.astype(object)
    for i in range(n):
        solved[i] = (solved[i] - factor[i, :i] @ solved[:i]) / factor[i, i] if i else solved[i] / factor[i, i]
    for i in reversed(range(n)):
        rest = factor[i + 1 :, i] @ solved[i + 1 :] if i + 1 < n else 0
        solved[i] = (solved[i] - rest) / factor[i, i]
    return solved


__all__ = [
    "Array",
    "Number",
    "all_finite",
    "is_precise",
    "norm",
    "schur",
    "smallest",
    "square_root",
    "symmetric_eigen",
    "unit_roundoff",
]
