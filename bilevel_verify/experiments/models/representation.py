r"""Few-shot tasks with a shared representation: features A B (or tanh(A B)) and one linear head a task.

x = B of shape (p, k), y = the heads W_t of shape (k, c), task after task, all in C order.
f = mean over tasks of the mean query loss, g = mean over tasks of mean support loss + rho/2 |W_t|^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.experiments.models.links import Kept
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
        self.kept = {"g": Kept(), "f": Kept()}

    def _features(self, h: str, x: FloatArray) -> Sequence[tuple[FloatArray, FloatArray | None]]:
        """Features of every task and their derivatives by A B (None for 1); many steps of the heads share them."""

        def compute() -> list[tuple[FloatArray, FloatArray | None]]:
            raw = [A @ x.reshape(self.shape) for A, _ in (self.support if h == "g" else self.query)]
            return [(H, 1.0 - H * H) for H in map(np.tanh, raw)] if self.two_layers else [(H, None) for H in raw]

        found: list[tuple[FloatArray, FloatArray | None]] = self.kept[h].at(x, compute)
        return found

    def _heads(self, y: FloatArray) -> FloatArray:
        return y.reshape(-1, *self.head)

    def value(self, h: str, x: FloatArray, y: FloatArray) -> float:
        """See ``Model``."""
        sets = self.support if h == "g" else self.query
        parts = zip(sets, self._features(h, x), self._heads(y))
        losses = [np.mean(s.loss(H @ W)) for (_, s), (H, _), W in parts]
        return float(np.mean(losses)) + (0.5 * self.rho * float(y @ y) / len(sets) if h == "g" else 0.0)

    def gradient(self, h: str, x: FloatArray, y: FloatArray, want: Parts) -> Pair:
        """See ``Model``."""
        sets, heads = self.support if h == "g" else self.query, self._heads(y)
        along_x, along_y = np.zeros(self.shape), np.zeros_like(heads)
        for t, ((A, link), (H, inner), W) in enumerate(zip(sets, self._features(h, x), heads)):
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
        sets, heads = self.support if h == "g" else self.query, self._heads(y)
        dW = np.zeros_like(heads) if v is None else self._heads(v)
        along_x, along_y = np.zeros(self.shape), np.zeros_like(heads)
        for t, ((A, link), (H, inner), W) in enumerate(zip(sets, self._features(h, x), heads)):
            ready, n = link.prepared(H @ W), len(A) * len(sets)
            S, dZ = link.slope(ready) / n, np.zeros_like(H) if u is None else A @ u.reshape(self.shape)
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
        parts = zip(self.query, self._features("f", x), self._heads(y))
        shares = [s.correct(H @ W) for (_, s), (H, _), W in parts]
        return float(np.mean(shares))
