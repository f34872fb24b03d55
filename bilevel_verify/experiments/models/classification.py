r"""Linear classifiers with hyper-parameters: one weight a training sample (hypercleaning), or one a feature.

f(x, y) = mean over the validation set of loss(A_v W), y = W of shape (p, c) in C order. Lower level:

* cleaning: g = mean over the training set of sigma(x_i) loss_i(A W) + C |W|^2, dx = number of training samples;
* tuning: g = mean of loss_i(A W) + 1/(2 c p) sum_{k, j} exp(x_k) W_kj^2, dx = p.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from bilevel_verify.experiments.models.links import Kept, Link, Matrix
from bilevel_verify.oracles.external import Parts

FloatArray = NDArray[np.float64]
Pair = tuple[FloatArray | None, FloatArray | None]


class Sample:
    """Rows of data with their loss.

    Parameters
    ----------
    A : shape (n, p), dense or CSR. ``link`` : the loss, with the labels. ``c`` : columns of W.
    """

    def __init__(self, A: Matrix, link: Any, c: int) -> None:
        self.A, self.link, self.c, self.n = A, link, c, int(A.shape[0])
        self.At = A.T.tocsr() if hasattr(A, "tocsr") else A.T
        self.kept = Kept()

    def scores(self, y: FloatArray) -> FloatArray:
        """A W, shape (n, c)."""
        return np.asarray(self.A @ y.reshape(-1, self.c))

    def ready(self, y: FloatArray) -> tuple[FloatArray, object]:
        """Scores and what the link shares at y."""

        def compute() -> tuple[FloatArray, Any]:
            Z = self.scores(y)
            return Z, self.link.prepared(Z)

        found: tuple[FloatArray, Any] = self.kept.at(y, compute)
        return found

    def back(self, S: FloatArray) -> FloatArray:
        """A^T S, flat."""
        return np.asarray(self.At @ S).ravel()


class Classification:
    """The common part: f, and the choice of the lower level by a sub-class."""

    kind = "bilevel"

    def __init__(self, train: Sample, valid: Sample, dx: int) -> None:
        self.train, self.valid = train, valid
        self.dx, self.dy = dx, int(train.A.shape[1]) * train.c

    def value(self, h: str, x: FloatArray, y: FloatArray) -> float:
        """See ``Model``."""
        if h == "g":
            return self.lower_value(x, y)
        return float(np.mean(self.valid.link.loss(self.valid.ready(y)[0])))

    def gradient(self, h: str, x: FloatArray, y: FloatArray, want: Parts) -> Pair:
        """See ``Model``."""
        if h == "g":
            return self.lower_gradient(x, y, want)
        if want == "x":
            return np.zeros(self.dx), None
        link: Link = self.valid.link
        return np.zeros(self.dx), self.valid.back(link.slope(self.valid.ready(y)[1]) / self.valid.n)

    def second(
        self, h: str, x: FloatArray, y: FloatArray, u: FloatArray | None, v: FloatArray | None, want: Parts
    ) -> Pair:
        """See ``Model``."""
        if h == "g":
            return self.lower_second(x, y, u, v, want)
        if v is None or want == "x":
            return np.zeros(self.dx), np.zeros(self.dy)
        s = self.valid
        return np.zeros(self.dx), s.back(s.link.curvature(s.ready(y)[1], s.scores(v)) / s.n)

    def lower_value(self, x: FloatArray, y: FloatArray) -> float:
        """g(x, y)."""
        raise NotImplementedError

    def lower_gradient(self, x: FloatArray, y: FloatArray, want: Parts) -> Pair:
        """Gradient of g."""
        raise NotImplementedError

    def lower_second(
        self, x: FloatArray, y: FloatArray, u: FloatArray | None, v: FloatArray | None, want: Parts
    ) -> Pair:
        """Hessian of g times (u, v)."""
        raise NotImplementedError


class Cleaning(Classification):
    """Weights sigma(x_i) of the training samples; ``C`` : of the ridge."""

    def __init__(self, train: Sample, valid: Sample, C: float) -> None:
        super().__init__(train, valid, train.n)
        self.C = C

    def lower_value(self, x: FloatArray, y: FloatArray) -> float:
        """See :class:`Classification`."""
        s = self.train
        return float(expit(x) @ s.link.loss(s.ready(y)[0]) / s.n + self.C * (y @ y))

    def lower_gradient(self, x: FloatArray, y: FloatArray, want: Parts) -> Pair:
        """See :class:`Classification`."""
        s, weight = self.train, expit(x)
        Z, ready = s.ready(y)
        along_x = weight * (1 - weight) * s.link.loss(Z) / s.n if "x" in want else None
        if want == "x":
            return along_x, None
        return along_x, s.back((weight / s.n)[:, None] * s.link.slope(ready)) + 2 * self.C * y

    def lower_second(
        self, x: FloatArray, y: FloatArray, u: FloatArray | None, v: FloatArray | None, want: Parts
    ) -> Pair:
        """See :class:`Classification`."""
        s, weight = self.train, expit(x)
        Z, ready = s.ready(y)
        first, inner = weight * (1 - weight) / s.n, np.zeros_like(Z)
        along_x = np.zeros(self.dx)
        slope = s.link.slope(ready)
        if u is not None:
            along_x += first * (1 - 2 * weight) * s.link.loss(Z) * u
            inner += (first * u)[:, None] * slope
        if v is not None:
            D = s.scores(v)
            along_x += first * np.einsum("ij,ij->i", slope, D)
            if "y" in want:
                inner += (weight / s.n)[:, None] * s.link.curvature(ready, D)
        if want == "x":
            return along_x, None
        return along_x, s.back(inner) + (0.0 if v is None else 2 * self.C * v)


class Tuning(Classification):
    """Ridge exp(x_k)/(2 c p) on the k-th row of W."""

    def __init__(self, train: Sample, valid: Sample) -> None:
        super().__init__(train, valid, int(train.A.shape[1]))
        self.scale = 1.0 / self.dy

    @cached_property
    def seen(self) -> tuple[Tuning, NDArray[np.intp]]:
        """The lower level over the columns that a training row has, and those; elsewhere its minimiser is zero."""
        A = self.train.A
        entries: Any = A != 0
        columns = np.flatnonzero(np.asarray(entries.sum(axis=0)))
        part = Tuning(Sample(A[:, columns], self.train.link, self.train.c), self.valid)
        part.scale = self.scale
        return part, columns

    def _rows(self, y: FloatArray) -> FloatArray:
        return y.reshape(self.dx, -1)

    def _ridge(self, x: FloatArray, v: FloatArray) -> FloatArray:
        return (self.scale * np.exp(x)[:, None] * self._rows(v)).ravel()

    def lower_value(self, x: FloatArray, y: FloatArray) -> float:
        """See :class:`Classification`."""
        return float(np.mean(self.train.link.loss(self.train.ready(y)[0])) + 0.5 * (y @ self._ridge(x, y)))

    def lower_gradient(self, x: FloatArray, y: FloatArray, want: Parts) -> Pair:
        """See :class:`Classification`."""
        s, W = self.train, self._rows(y)
        along_x = 0.5 * self.scale * np.exp(x) * np.einsum("ij,ij->i", W, W) if "x" in want else None
        if want == "x":
            return along_x, None
        return along_x, s.back(s.link.slope(s.ready(y)[1]) / s.n) + self._ridge(x, y)

    def lower_second(
        self, x: FloatArray, y: FloatArray, u: FloatArray | None, v: FloatArray | None, want: Parts
    ) -> Pair:
        """See :class:`Classification`."""
        W, e = self._rows(y), self.scale * np.exp(x)
        along_x, along_y = np.zeros(self.dx), np.zeros(self.dy)
        if u is not None:
            along_x += 0.5 * e * np.einsum("ij,ij->i", W, W) * u
            along_y += ((e * u)[:, None] * W).ravel()
        if v is not None:
            along_x += e * np.einsum("ij,ij->i", W, self._rows(v))
            if "y" in want:
                s = self.train
                along_y += s.back(s.link.curvature(s.ready(y)[1], s.scores(v)) / s.n) + self._ridge(x, v)
        return along_x, along_y
