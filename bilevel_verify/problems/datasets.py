"""Arrays from data sets that ship inside scikit-learn, for zoo entries that need the ``data`` extra.

Only the copies bundled with the package are read; nothing is downloaded. *std* means every column to mean 0 and
population deviation 1, over all rows. An intercept is a last column of ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MissingExtraError, ProblemError


def arrays(loader: str) -> Mapping[str, NDArray[np.float64]]:
    """All arrays of one loader.

    Raises
    ------
    ProblemError : unknown loader.
    MissingExtraError : scikit-learn is absent.
    """
    if loader not in LOADERS:
        raise ProblemError(f"unknown loader {loader[:40]!r}; known are {', '.join(LOADERS)}")
    return _cached(loader)


@cache
def _cached(loader: str) -> Mapping[str, NDArray[np.float64]]:
    try:
        import sklearn.datasets as source
    except ImportError:
        raise MissingExtraError("this problem needs scikit-learn; install bilevel-verify[data]") from None
    return LOADERS[loader](source)


def _standard(table: NDArray[np.float64]) -> NDArray[np.float64]:
    table = np.asarray(table, dtype=float)
    scaled = (table - table.mean(axis=0)) / table.std(axis=0)
    return np.column_stack([scaled, np.ones(len(scaled))])


def _signs(target: object) -> NDArray[np.float64]:
    return 2.0 * np.asarray(target) - 1.0


def _one_hot(target: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    return np.eye(classes)[np.asarray(target)]


def _cancer_halves(source: ModuleType) -> Mapping[str, NDArray[np.float64]]:
    data = source.load_breast_cancer()
    A, b = _standard(data.data), _signs(data.target)
    return {"A": A[0::2], "b": b[0::2], "Av": A[1::2], "bv": b[1::2]}


def _cancer_cleaning(source: ModuleType) -> Mapping[str, NDArray[np.float64]]:
    data = source.load_breast_cancer()
    A, b = _standard(data.data), _signs(data.target)
    order = np.random.default_rng(3).permutation(569)
    train, validate = order[:100], order[100:300]
    noisy = b[train].copy()
    noisy[:25] *= -1
    return {"A": A[train], "b": noisy, "Av": A[validate], "bv": b[validate]}


def _wine_cleaning(source: ModuleType) -> Mapping[str, NDArray[np.float64]]:
    data = source.load_wine()
    A, label = _standard(data.data), np.asarray(data.target)
    noisy = label[0::2].copy()
    moved = np.random.default_rng(7).permutation(89)[:22]
    noisy[moved] = (noisy[moved] + 1) % 3
    return {"A": A[0::2], "B": _one_hot(noisy, 3), "Av": A[1::2], "Bv": _one_hot(label[1::2], 3)}


def _iris_halves(source: ModuleType) -> Mapping[str, NDArray[np.float64]]:
    data = source.load_iris()
    A, B = _standard(data.data), _one_hot(data.target, 3)
    return {"A": A[0::2], "B": B[0::2], "Av": A[1::2], "Bv": B[1::2]}


def _digits_root(source: ModuleType) -> Mapping[str, NDArray[np.float64]]:
    """Mean square losses of ten linear outputs as ``|A y - b|^2/2 + rest``: roots of the Gram matrices.

    With P the pixels over 16 and B the one-hot labels minus 1/10 (train: rows 0, 2, 4, ...), ``|P W - B|^2/(2 n)`` is
    ``|R W - S|^2/2 + rest`` with R'R = P'P/n (rank 61, rows of zeros make it square) and R'S = P'B/n;
    ``y[10*k + j] = W[k, j]``.
    """
    data = source.load_digits()
    pixels, target = np.asarray(data.data) / 16.0, _one_hot(data.target, 10) - 0.1
    out: dict[str, Any] = {}
    for letter, first in (("", 0), ("v", 1)):
        P, B = pixels[first::2], target[first::2]
        values, vectors = np.linalg.eigh(P.T @ P / len(P))
        root = np.sqrt(np.where(values > 1e-12 * values[-1], values, 0.0))
        R = root[:, None] * vectors.T
        S = np.divide(vectors.T @ P.T @ B / len(P), root[:, None], out=np.zeros((64, 10)), where=root[:, None] > 0)
        rest = ((B**2).sum() / len(P) - (S**2).sum()) / 2
        out |= {f"A{letter}": np.kron(R, np.eye(10)), f"b{letter}": S.ravel(), f"rest{letter}": np.array([rest])}
    return out


LOADERS: dict[str, Callable[[Any], Mapping[str, Any]]] = {
    "breast-cancer-halves": _cancer_halves,
    "breast-cancer-cleaning": _cancer_cleaning,
    "wine-cleaning": _wine_cleaning,
    "iris-halves": _iris_halves,
    "digits-root": _digits_root,
}
"""Name in a problem file -> arrays."""
