r"""Matrix completion and one-bit matrix completion in factorised form: one pass over the observed entries a gradient.

x = (U, V), U of shape (m, r), V of shape (n, r), in C order. With N entries and R = U V^T on them

f = 1/(2N) sum (R - X)^2 + 1/(2N) |U^T U - V^T V|_F^2, or, one bit, 1/N sum log(1 + exp(-X R)) + the same, X = +-1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from bilevel_verify.experiments.models.links import Kept
from bilevel_verify.oracles.external import Parts
from bilevel_verify.oracles.jit import compiled, loop

FloatArray = NDArray[np.float64]


@loop
def entries_pass(
    starts: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: FloatArray,
    U: FloatArray,
    V: FloatArray,
    one_bit: bool,
    into_U: FloatArray,
    into_V: FloatArray,
) -> float:
    """Sum of the losses of all entries; their slopes times V and U are added to ``into_U`` and ``into_V``.

    ``starts``, ``columns``, ``values`` : CSR of the observed entries; the slopes are not divided by N.
    """
    total, rank = 0.0, U.shape[1]
    for i in range(U.shape[0]):
        for place in range(starts[i], starts[i + 1]):
            j = columns[place]
            found = 0.0
            for k in range(rank):
                found += U[i, k] * V[j, k]
            if one_bit:
                away = -values[place] * found
                ratio = math.exp(-abs(away))
                total += max(away, 0.0) + math.log1p(ratio)
                share = 1.0 / (1.0 + ratio) if away >= 0 else ratio / (1.0 + ratio)
                slope = -values[place] * share
            else:
                slope = found - values[place]
                total += 0.5 * slope * slope
            for k in range(rank):
                into_U[i, k] += slope * V[j, k]
                into_V[j, k] += slope * U[i, k]
    return total


@cache
def _pass() -> Callable[..., float]:
    from numba import boolean, float64, int32

    vector, table = float64[::1], float64[:, ::1]
    return compiled(entries_pass, float64(int32[::1], int32[::1], vector, table, table, boolean, table, table))


class Completion:
    """Observed entries and the rank.

    Parameters
    ----------
    entries : CSR of shape (m, n); every stored entry is observed (zeros too).
    """

    kind, dy = "single_level", 0

    def __init__(self, entries: csr_matrix, rank: int, one_bit: bool) -> None:
        self.entries, self.rank, self.one_bit = entries, rank, one_bit
        self.m, self.n = entries.shape
        self.N, self.dx = int(entries.nnz), (self.m + self.n) * rank
        self.kept = Kept()
        self.csr = entries.indptr.astype(np.int32), entries.indices.astype(np.int32), entries.data.astype(np.float64)

    def split(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """U and V."""
        return x[: self.m * self.rank].reshape(self.m, -1), x[self.m * self.rank :].reshape(self.n, -1)

    def both(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient by one pass, which who asks for both at one point shares."""
        found: tuple[float, FloatArray] = self.kept.at(x, lambda: self._pass_at(x))
        return found[0], found[1].copy()

    def _pass_at(self, x: FloatArray) -> tuple[float, FloatArray]:
        U, V = self.split(x)
        out = np.zeros(self.dx)
        into_U, into_V = self.split(out)
        total = float(
            _pass()(*self.csr, np.ascontiguousarray(U), np.ascontiguousarray(V), self.one_bit, into_U, into_V)
        )
        D = U.T @ U - V.T @ V
        into_U += 2.0 * (U @ D)
        into_V -= 2.0 * (V @ D)
        out /= self.N
        return (total + 0.5 * float(np.sum(D * D))) / self.N, out

    def value(self, h: str, x: FloatArray, y: FloatArray) -> float:
        """See ``Model``."""
        return self.both(x)[0]

    def gradient(self, h: str, x: FloatArray, y: FloatArray, want: Parts) -> tuple[FloatArray, FloatArray]:
        """See ``Model``."""
        return self.both(x)[1], np.zeros(0)

    def second(
        self, h: str, x: FloatArray, y: FloatArray, u: FloatArray | None, v: FloatArray | None, want: Parts
    ) -> tuple[FloatArray, FloatArray]:
        """See ``Model``: Hessian times u by two sparse products."""
        U, V = self.split(x)
        dU, dV = self.split(np.zeros(self.dx) if u is None else u)
        rows = np.repeat(np.arange(self.m), np.diff(self.csr[0]))
        columns, X = self.csr[1], self.csr[2]
        found = np.einsum("ij,ij->i", U[rows], V[columns])
        moved = np.einsum("ij,ij->i", dU[rows], V[columns]) + np.einsum("ij,ij->i", U[rows], dV[columns])
        if self.one_bit:
            p = 1.0 / (1.0 + np.exp(X * found))
            slope, curved = -X * p, p * (1.0 - p) * moved
        else:
            slope, curved = found - X, moved
        S, T = (csr_matrix((d, columns, self.csr[0]), shape=(self.m, self.n)) for d in (slope, curved))
        D, E = U.T @ U - V.T @ V, dU.T @ U + U.T @ dU - dV.T @ V - V.T @ dV
        top = T @ V + S @ dV + 2.0 * (dU @ D + U @ E)
        bottom = T.T @ U + S.T @ dU - 2.0 * (dV @ D + V @ E)
        return np.concatenate([top.ravel(), bottom.ravel()]) / self.N, np.zeros(0)

    def start(self, seed: int) -> FloatArray:
        """Top singular triples of the zero-filled matrix by Lanczos: U = A sqrt(S), V = B sqrt(S)."""
        from scipy.sparse.linalg import svds

        draw = np.random.default_rng(seed).standard_normal(min(self.m, self.n))
        A, S, Bt = svds(self.entries.astype(float), k=self.rank, v0=draw)
        order = np.argsort(-S)
        return np.concatenate([(A[:, order] * np.sqrt(S[order])).ravel(), (Bt[order].T * np.sqrt(S[order])).ravel()])
