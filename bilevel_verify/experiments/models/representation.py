r"""Few-shot tasks with a shared representation: features A B (or tanh(A B)) and one linear head a task.

x = B of shape (p, k), y = the heads W_t of shape (k, c), task after task, all in C order.
f = mean over tasks of the mean query loss, g = mean over tasks of mean support loss + rho/2 |W_t|^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.oracles.external import Parts

FloatArray = NDArray[np.float64]
Pair = tuple[FloatArray | None, FloatArray | None]
Rows = Sequence[tuple[FloatArray, Any]]
"""Data and loss of every task."""


class Representation:
    """Support and query sets of the tasks.

    Parameters
    ----------
    support, query : (A, link) a task. ``k`` : features. ``c`` : columns of a head. ``two_layers`` : tanh features.
    """

    kind = "bilevel"

    def __init__(self, support: Rows, query: Rows, k: int, c: int, rho: float, two_layers: bool) -> None:
        self.support, self.query, self.rho, self.two_layers = support, query, rho, two_layers
        self.shape, self.head = (int(support[0][0].shape[1]), k), (k, c)
        self.dx, self.dy = self.shape[0] * k, len(support) * k * c

    def _features(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Features and their derivative by A B (None for 1)."""
        H = A @ B
        if not self.two_layers:
            return H, None
        H = np.tanh(H)
        return H, 1.0 - H * H

    def _heads(self, y: FloatArray) -> FloatArray:
        return y.reshape(-1, *self.head)

    def value(self, h: str, x: FloatArray, y: FloatArray) -> float:
        """See ``Model``."""
        B, sets = x.reshape(self.shape), self.support if h == "g" else self.query
        losses = [np.mean(s.loss(self._features(A, B)[0] @ W)) for (A, s), W in zip(sets, self._heads(y))]
        return float(np.mean(losses)) + (0.5 * self.rho * float(y @ y) / len(sets) if h == "g" else 0.0)

    def gradient(self, h: str, x: FloatArray, y: FloatArray, want: Parts) -> Pair:
        """See ``Model``."""
        B, sets, heads = x.reshape(self.shape), self.support if h == "g" else self.query, self._heads(y)
        along_x, along_y = np.zeros(self.shape), np.zeros_like(heads)
        for t, ((A, link), W) in enumerate(zip(sets, heads)):
            H, inner = self._features(A, B)
            S = link.slope(link.prepared(H @ W)) / (len(A) * len(sets))
            along_y[t] = H.T @ S
            if "x" in want:
                G = S @ W.T
                along_x += A.T @ (G if inner is None else G * inner)
        flat = along_y.ravel() + (self.rho / len(sets) * y if h == "g" else 0.0)
        return along_x.ravel(), flat

    def second(
        self, h: str, x: FloatArray, y: FloatArray, u: FloatArray | None, v: FloatArray | None, want: Parts
    ) -> Pair:
        """See ``Model``: the derivative of the gradient along (u, v), by the product rule."""
        B, sets, heads = x.reshape(self.shape), self.support if h == "g" else self.query, self._heads(y)
        dB = np.zeros(self.shape) if u is None else u.reshape(self.shape)
        dW = np.zeros_like(heads) if v is None else self._heads(v)
        along_x, along_y = np.zeros(self.shape), np.zeros_like(heads)
        for t, ((A, link), W) in enumerate(zip(sets, heads)):
            H, inner = self._features(A, B)
            ready, n = link.prepared(H @ W), len(A) * len(sets)
            S, dZ = link.slope(ready) / n, A @ dB
            dH = dZ if inner is None else inner * dZ
            dS = link.curvature(ready, dH @ W + H @ dW[t]) / n
            along_y[t] = dH.T @ S + H.T @ dS
            if "x" in want:
                dG = dS @ W.T + S @ dW[t].T
                along_x += A.T @ (dG if inner is None else dG * inner - 2.0 * (S @ W.T) * H * dH)
        ridge = self.rho / len(sets) * v if h == "g" and v is not None else 0.0
        return along_x.ravel(), along_y.ravel() + ridge

    def correct(self, x: FloatArray, y: FloatArray) -> float:
        """Share of right answers on the query sets."""
        B = x.reshape(self.shape)
        shares = [s.correct(self._features(A, B)[0] @ W) for (A, s), W in zip(self.query, self._heads(y))]
        return float(np.mean(shares))
