"""Problems with a formula in NumPy: the W-shaped minimax problem, and two least-squares functions of one vector."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.oracles.external import Parts

FloatArray = NDArray[np.float64]
Pair = tuple[FloatArray | None, FloatArray | None]


class WShaped:
    """f = w(x3) - 10 y1^2 + x1 y1 - 5 y2^2 + x2 y2, and g = -f; ``e`` and ``l`` are the knobs of w."""

    kind, dx, dy = "minimax", 3, 2

    def __init__(self, e: float = 0.01, l: float = 5.0) -> None:
        self.r, self.e, self.l = float(np.sqrt(e)), e, l

    def w(self, t: float) -> tuple[float, float, float]:
        """w and its first two derivatives."""
        r, e, l, sign, a = self.r, self.e, self.l, float(np.sign(t)), abs(t)
        if a <= r:
            return -r * a * a + a**3 / 3, sign * (-2 * r * a + a * a), -2 * r + 2 * a
        if a <= l * r:
            return -e * a + e * r / 3, -sign * e, 0.0
        s = a - (l + 1) * r
        return r * s * s + s**3 / 3 - (3 * l + 1) * e * r / 3, sign * (2 * r * s + s * s), 2 * r + 2 * s

    def phi(self, x: FloatArray) -> float:
        """max over y of f, minus its minimum."""
        gap = (self.l + 1 / 3) * self.e * self.r
        return float(self.w(x[2])[0] + x[0] ** 2 / 40 + x[1] ** 2 / 20 + gap)

    def value(self, h: str, x: FloatArray, y: FloatArray) -> float:
        """See ``Model``."""
        f = self.w(x[2])[0] - 10 * y[0] ** 2 + x[0] * y[0] - 5 * y[1] ** 2 + x[1] * y[1]
        return float(f if h == "f" else -f)

    def gradient(self, h: str, x: FloatArray, y: FloatArray, want: Parts) -> Pair:
        """See ``Model``."""
        sign = 1.0 if h == "f" else -1.0
        along_x = np.array([y[0], y[1], self.w(x[2])[1]])
        return sign * along_x, sign * np.array([x[0] - 20 * y[0], x[1] - 10 * y[1]])

    def second(
        self, h: str, x: FloatArray, y: FloatArray, u: FloatArray | None, v: FloatArray | None, want: Parts
    ) -> Pair:
        """See ``Model``."""
        sign = 1.0 if h == "f" else -1.0
        p, q = np.zeros(3) if u is None else u, np.zeros(2) if v is None else v
        along_x = np.array([q[0], q[1], self.w(x[2])[2] * p[2]])
        return sign * along_x, sign * np.array([p[0] - 20 * q[0], p[1] - 10 * q[1]])


class LeastSquares:
    """g = |A x - b|^2/2 and f = |C x - d|^2/2, one block; C = None stands for the identity."""

    kind, dy = "simple_bilevel", 0

    def __init__(self, A: FloatArray, b: FloatArray, C: FloatArray | None, d: FloatArray | None) -> None:
        self.A, self.b, self.C, self.d = A, b, C, d
        self.dx = int(A.shape[1])

    def curvature(self, h: str) -> float:
        """Largest eigenvalue of the Hessian, rounded up."""
        M = self.A if h == "g" else self.C
        return 1.0 if M is None else float(np.linalg.norm(M, 2)) ** 2 * (1 + 1e-12)

    def _residual(self, h: str, x: FloatArray) -> FloatArray:
        if h == "g":
            return self.A @ x - self.b
        return x if self.C is None or self.d is None else self.C @ x - self.d

    def _back(self, h: str, r: FloatArray) -> FloatArray:
        M = self.A if h == "g" else self.C
        return r if M is None else M.T @ r

    def value(self, h: str, x: FloatArray, y: FloatArray) -> float:
        """See ``Model``."""
        return float(0.5 * np.sum(self._residual(h, x) ** 2))

    def gradient(self, h: str, x: FloatArray, y: FloatArray, want: Parts) -> Pair:
        """See ``Model``."""
        return self._back(h, self._residual(h, x)), np.zeros(0)

    def second(
        self, h: str, x: FloatArray, y: FloatArray, u: FloatArray | None, v: FloatArray | None, want: Parts
    ) -> Pair:
        """See ``Model``."""
        M, p = self.A if h == "g" else self.C, np.zeros(self.dx) if u is None else u
        return (p if M is None else M.T @ (M @ p)), np.zeros(0)
