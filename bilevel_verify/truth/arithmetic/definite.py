"""Proved positive definiteness: of float matrices by a shifted Cholesky factorisation, of ball matrices in balls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from flint import arb_mat

FloatArray = NDArray[np.float64]


@np.errstate(over="ignore", invalid="ignore")
def positive_definite(matrix: FloatArray) -> NDArray[np.bool_]:
    """Proved positive definiteness of float matrices (n, d, d): Cholesky of a shifted matrix succeeds (Rump 2006).

    The shift covers the rounding errors of the factorisation: ``2 (d + 3) eps trace``.
    """
    n, d, _ = matrix.shape
    finite = np.asarray(np.isfinite(matrix).all(axis=(1, 2)))
    clean = np.where(finite[:, None, None], matrix, np.eye(d))
    trace = np.einsum("nii->n", np.abs(clean))
    shifted = clean - (2 * (d + 3) * 2.0**-52 * trace + 1e-290)[:, None, None] * np.eye(d)
    if d == 1:
        return np.asarray(finite & (shifted[:, 0, 0] > 0))
    try:
        np.linalg.cholesky(shifted)
        return finite
    except np.linalg.LinAlgError:
        out = finite.copy()
        for i in range(n):
            try:
                np.linalg.cholesky(shifted[i])
            except np.linalg.LinAlgError:
                out[i] = False
        return out


def positive_definite_ball(matrix: arb_mat) -> bool:
    """Proved positive definiteness of an exact ball matrix, by Cholesky in balls."""
    n = matrix.nrows()
    rows = [[matrix[i, j] for j in range(n)] for i in range(n)]
    for k in range(n):
        pivot = rows[k][k]
        if not pivot > 0:
            return False
        for i in range(k + 1, n):
            factor = rows[i][k] / pivot
            for j in range(k + 1, n):
                rows[i][j] = rows[i][j] - factor * rows[k][j]
    return True
