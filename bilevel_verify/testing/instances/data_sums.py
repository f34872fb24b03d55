"""Means over a table of samples, the form that learning problems have, with known constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.testing.instances.ridges import Ridge, ridge
from bilevel_verify.testing.instances.writing import added, squared, times

FloatArray = NDArray[np.float64]
Table = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class DataBlock:
    """``mean_i a(A_i.z - b_i) + ridge/2 |z|^2`` with a convex ridge a.

    ``b = A z0`` for an integer point z0, so that all residuals vanish at one point: ``L`` is exact for losses that are
    most curved there (``logcosh``, ``softplus``); ``mu`` is exact if no row of A is zero (curvatures die out far away).

    Attributes
    ----------
    rows : the samples A. ``middle`` : z0. ``loss`` : name of a. ``ridge`` : the coefficient of the square.
    label : which arrays of the problem file: ``A``, ``b`` followed by it.
    """

    rows: Table
    middle: tuple[int, ...]
    loss: str = "logcosh"
    ridge: int = 1
    label: str = ""

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return len(self.middle)

    @cached_property
    def matrix(self) -> FloatArray:
        """A, shape (samples, n)."""
        return np.array(self.rows, dtype=float).reshape(len(self.rows), self.dimension)

    @cached_property
    def targets(self) -> FloatArray:
        """b, shape (samples,)."""
        found: FloatArray = self.matrix @ np.array(self.middle, dtype=float)
        return found

    @cached_property
    def _loss(self) -> Ridge:
        return ridge(self.loss)

    @cached_property
    def _largest(self) -> float:
        return float(np.linalg.eigvalsh(self.matrix.T @ self.matrix / len(self.rows))[-1])

    @property
    def mu(self) -> float:
        """Infimum of the smallest eigenvalue: exact if A has no zero row, a lower bound always."""
        return self.ridge + min(self._loss.second[0], 0.0) * self._largest

    @property
    def L(self) -> float:
        """Supremum of the largest eigenvalue: attained where all residuals vanish."""
        return self.ridge + self._loss.second[1] * self._largest

    @property
    def rho(self) -> float:
        """A Lipschitz constant of the Hessian (an upper bound): ``sup |a'''| max |A_i| lambda_max(A'A/n)``."""
        longest = float(np.linalg.norm(self.matrix, axis=1).max(initial=0.0))
        return self._loss.third * longest * self._largest

    def _jets(self, z: FloatArray) -> FloatArray:
        return np.array([self._loss.jet(t) for t in (self.matrix @ z - self.targets).tolist()]).reshape(-1, 3)

    def value(self, z: FloatArray) -> float:
        """The value at z."""
        return float(self._jets(z)[:, 0].mean()) + 0.5 * self.ridge * float(z @ z)

    def gradient(self, z: FloatArray) -> FloatArray:
        """The gradient at z, shape (n,)."""
        found: FloatArray = self.matrix.T @ self._jets(z)[:, 1] / len(self.rows) + self.ridge * z
        return found

    def hessian(self, z: FloatArray) -> FloatArray:
        """The Hessian at z, shape (n, n)."""
        weighted = self.matrix * self._jets(z)[:, 2:]
        found: FloatArray = weighted.T @ self.matrix / len(self.rows) + self.ridge * np.eye(self.dimension)
        return found

    def inverse_gradient(self, r: FloatArray) -> FloatArray:
        """The z with gradient(z) = r: Newton steps, halved until ``value(z) - r.z`` decreases."""
        z = np.zeros(self.dimension)
        for _ in range(200):
            slope = self.gradient(z) - r
            step = np.linalg.solve(self.hessian(z), slope)
            if float(np.linalg.norm(step)) <= 1e-15 * (1 + float(np.linalg.norm(z))):
                break
            length, before = 1.0, self.value(z) - float(r @ z)
            noise = 1e-13 * (1 + abs(before))  # near the solution values cannot tell any more
            while length > 1e-9 and self.value(z - length * step) - float(r @ (z - length * step)) > before + noise:
                length /= 2
            z = z - length * step
        return z

    def text(self, names: Sequence[str]) -> str:
        """The formula in the expression language; the arrays are those of :meth:`data`."""
        A, b = f"A{self.label}", f"b{self.label}"
        letter = names[0].rstrip("0123456789")
        body = f"mean({self.loss}(dot({A}[i], {letter}) - {b}[i]), (i, 0, rows({A})-1))"
        return added([body, *(times(self.ridge, f"{squared(name)}/2") for name in names)])

    def data(self) -> Mapping[str, object]:
        """A and b."""
        return {
            f"A{self.label}": [list(row) for row in self.rows],
            f"b{self.label}": [int(target) for target in self.targets],
        }
