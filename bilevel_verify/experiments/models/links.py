"""Losses of a linear score, sample by sample: value, slope, and curvature times a direction."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.special import expit, logsumexp

FloatArray = NDArray[np.float64]
Matrix: TypeAlias = "FloatArray | csr_matrix"
"""A dense array or a CSR matrix, shape (samples, features)."""


class Link(Protocol):
    """A loss of scores Z, shape (n, c), with its labels inside."""

    def prepared(self, Z: FloatArray) -> Any:
        """What the slope and the curvature at Z share."""

    def loss(self, Z: FloatArray) -> FloatArray:
        """Shape (n,)."""

    def slope(self, ready: object) -> FloatArray:
        """Derivatives by the scores, shape (n, c)."""

    def curvature(self, ready: object, D: FloatArray) -> FloatArray:
        """Second derivatives times D, shape (n, c)."""


class Softmax:
    """Cross entropy of c classes; ``labels`` are whole numbers below c, shape (n,)."""

    def __init__(self, labels: NDArray[np.int64]) -> None:
        self.labels, self.rows = labels, np.arange(len(labels))

    def prepared(self, Z: FloatArray) -> FloatArray:
        """Probabilities of the classes."""
        P = np.exp(Z - Z.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        return np.asarray(P)

    def loss(self, Z: FloatArray) -> FloatArray:
        """log sum exp(z) - z_label."""
        return np.asarray(logsumexp(Z, axis=1) - Z[self.rows, self.labels])

    def slope(self, ready: FloatArray) -> FloatArray:
        """Probabilities minus the label."""
        S = ready.copy()
        S[self.rows, self.labels] -= 1.0
        return np.asarray(S)

    def curvature(self, ready: FloatArray, D: FloatArray) -> FloatArray:
        """P * (D - <P, D>)."""
        return np.asarray(ready * (D - np.einsum("ij,ij->i", ready, D)[:, None]))

    def correct(self, Z: FloatArray) -> float:
        """Share of right answers."""
        return float(np.mean(Z.argmax(axis=1) == self.labels))


class Logistic:
    """log(1 + exp(-b z)) for labels b = +1 or -1, shape (n,); scores have one column."""

    def __init__(self, labels: NDArray[np.int64]) -> None:
        self.signs = np.where(np.asarray(labels) > 0, 1.0, -1.0)[:, None]

    def prepared(self, Z: FloatArray) -> FloatArray:
        """Probability of the other label."""
        return np.asarray(expit(-self.signs * Z))

    def loss(self, Z: FloatArray) -> FloatArray:
        """log(1 + exp(-b z))."""
        return np.asarray(np.logaddexp(0.0, -self.signs * Z)[:, 0])

    def slope(self, ready: FloatArray) -> FloatArray:
        """-b sigma(-b z)."""
        return -self.signs * ready

    def curvature(self, ready: FloatArray, D: FloatArray) -> FloatArray:
        """sigma (1 - sigma) D."""
        return ready * (1.0 - ready) * D

    def correct(self, Z: FloatArray) -> float:
        """Share of right answers."""
        return float(np.mean((Z > 0) == (self.signs > 0)))


class Squares:
    """|z - b|^2/2 for targets of shape (n, c)."""

    def __init__(self, targets: FloatArray) -> None:
        self.targets = targets

    def prepared(self, Z: FloatArray) -> FloatArray:
        """The residual."""
        return Z - self.targets

    def loss(self, Z: FloatArray) -> FloatArray:
        """|z - b|^2/2."""
        return np.asarray(0.5 * np.sum((Z - self.targets) ** 2, axis=1))

    def slope(self, ready: FloatArray) -> FloatArray:
        """The residual."""
        return ready

    def curvature(self, ready: FloatArray, D: FloatArray) -> FloatArray:
        """The identity."""
        return D

    def correct(self, Z: FloatArray) -> float:
        """Share of rows whose largest score is that of the target."""
        return float(np.mean(Z.argmax(axis=1) == self.targets.argmax(axis=1)))


class Kept:
    """The last point and what was computed there: products at one point share the forward pass."""

    def __init__(self) -> None:
        self.point: FloatArray | None = None
        self.found: Any = None

    def at(self, point: FloatArray, compute: Any) -> Any:
        """``compute()``, or what it gave where the point has not changed."""
        if self.point is None or not np.array_equal(self.point, point):
            self.point, self.found = point.copy(), compute()
        return self.found
