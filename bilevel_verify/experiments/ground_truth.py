"""Ground truth of ball-constrained least squares by singular values and two secular equations (agm-bio sheet 7.3).

Nothing of the truth room is used here: the two answers stand beside each other in the report.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
RANK = 1e-10


@dataclass(frozen=True, slots=True)
class LeastSquaresTruth:
    """``g*``, ``f*`` and a solution; ``multiplier`` of the ball in the lower level, ``rank`` of its matrix.

    ``error`` bounds the rounding of f* and g* from the residuals of the optimality conditions.
    """

    g_star: float
    f_star: float
    x: FloatArray
    multiplier: float
    rank: int
    error: float


def least_squares_on_ball(
    A: FloatArray, b: FloatArray, C: FloatArray, d: FloatArray, radius: float
) -> LeastSquaresTruth:
    """``min |C x - d|^2/2`` over the minimisers of ``|A x - b|^2/2`` on the ball ``|x| <= radius``."""
    z, multiplier, rank = _trust_region(A, b, radius)
    n = A.shape[1]
    if multiplier > 0 or rank == n:
        x = z
    else:
        _, _, Vt = np.linalg.svd(A, full_matrices=True)
        kernel = Vt[rank:].T
        rest = float(np.sqrt(max(0.0, radius**2 - float(z @ z))))
        u, _, _ = _trust_region(C @ kernel, d - C @ z, rest)
        x = z + kernel @ u
    g, f = 0.5 * float(np.sum((A @ x - b) ** 2)), 0.5 * float(np.sum((C @ x - d) ** 2))
    slope = float(np.linalg.norm(C.T @ (C @ x - d)))
    size = 1.0 + float(np.linalg.norm(x))
    condition = 1.0 / _least_singular(A, rank)
    error = 1e-15 * size * (1.0 + condition * float(np.linalg.norm(A, 2))) * (1.0 + slope) * np.sqrt(len(x))
    return LeastSquaresTruth(g, f, x, multiplier, rank, float(error))


def _least_singular(A: FloatArray, rank: int) -> float:
    return float(np.linalg.svd(A, compute_uv=False)[rank - 1]) if rank else 1.0


def _trust_region(A: FloatArray, b: FloatArray, radius: float) -> tuple[FloatArray, float, int]:
    """Least-norm minimiser of ``|A x - b|`` on a ball around 0, its multiplier, the rank of A."""
    from scipy.optimize import brentq

    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    rank = int(np.count_nonzero(s > RANK * s[0])) if len(s) and s[0] > 0 else 0
    U, s, Vt = U[:, :rank], s[:rank], Vt[:rank]
    beta = U.T @ b
    free = Vt.T @ (beta / s)
    if float(np.linalg.norm(free)) <= radius:
        return free, 0.0, rank

    def excess(mu: float) -> float:
        return float(np.linalg.norm(s * beta / (s * s + mu))) - radius

    top = float(np.linalg.norm(s * beta)) / max(radius, 1e-300)
    mu = float(brentq(excess, 0.0, top, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=500))
    return Vt.T @ (s * beta / (s * s + mu)), mu, rank
