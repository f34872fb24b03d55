"""Data of the experiments: shipped sets of scikit-learn, files of the user, and seeded sets of a printed shape."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import math
import pickle
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from bilevel_verify.errors import InputError, MissingExtraError
from bilevel_verify.experiments.models.links import Matrix
from bilevel_verify.files import is_file

FloatArray = NDArray[np.float64]
Rows = tuple[Matrix, NDArray[np.int64]]
"""A matrix (dense or CSR), and labels."""


Spec = Mapping[str, str | int | float]
"""The table of a data set in a file of experiments."""
Samples = tuple[Matrix, NDArray[np.int64], str]
"""Rows, labels, and a word about the source."""


class MissingDataError(InputError):
    """Files that the user has to bring are not there."""


@dataclass(frozen=True)
class Labelled:
    """A classification set in three parts, and a word about where it comes from."""

    train: Rows
    valid: Rows
    test: Rows
    classes: int
    source: str


def labelled(spec: Spec, seed: int, folder: Path | None) -> Labelled:
    """The classification set of a file of experiments, split by the seed.

    Parameters
    ----------
    spec : ``set``, and ``train``, ``valid``, ``test`` (numbers of rows); further fields of the set.

    Raises
    ------
    InputError : an unknown set. MissingDataError, MissingExtraError : it is not here.
    """
    name = str(spec["set"])
    if name not in SETS:
        raise InputError(f"data: no set {name!r}; there are {', '.join(sorted(SETS))}")
    A, labels, source = SETS[name](spec, seed, folder)
    sizes = [int(spec[part]) for part in ("train", "valid", "test")]
    if sum(sizes) > len(labels):
        raise InputError(f"data: {name} has {len(labels)} rows; train + valid + test is {sum(sizes)}")
    order = np.random.default_rng([seed, 1]).permutation(len(labels))
    ends = np.cumsum(sizes)
    places = order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] : ends[2]]
    parts = [(A[np.sort(p)], labels[np.sort(p)]) for p in places]
    return Labelled(parts[0], parts[1], parts[2], int(labels.max()) + 1, source)


def corrupted(
    labels: NDArray[np.int64], classes: int, rate: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Labels of which a share is replaced by another class, uniformly; and which those are, shape (n,) of bool."""
    rng = np.random.default_rng([seed, 2])
    wrong = np.zeros(len(labels), dtype=bool)
    wrong[rng.permutation(len(labels))[: round(rate * len(labels))]] = True
    shift = rng.integers(1, classes, len(labels)) if classes > 1 else np.zeros(len(labels), dtype=np.int64)
    return np.where(wrong, (labels + shift) % classes, labels), wrong


def shipped(loader: str) -> Any:
    """A set that ships with scikit-learn.

    Raises
    ------
    MissingExtraError : scikit-learn is absent.
    """
    try:
        import sklearn.datasets as source
    except ImportError:
        raise MissingExtraError("this data set needs scikit-learn; install bilevel-verify[data]") from None
    return getattr(source, f"load_{loader}")()


def _of_sklearn(loader: str) -> Callable[..., Samples]:
    def make(spec: Spec, seed: int, folder: Path | None) -> Samples:
        data = shipped(loader)
        A = np.asarray(data.data, dtype=float)
        A = A / 16.0 if loader == "digits" else (A - A.mean(axis=0)) / A.std(axis=0)
        A = np.column_stack([A, np.ones(len(A))])
        return A, np.asarray(data.target, dtype=np.int64), f"scikit-learn, load_{loader}: {A.shape[0]} x {A.shape[1]}"

    return make


def _clusters(spec: Spec, seed: int, folder: Path | None) -> Samples:
    """Gaussian clusters with a column of ones: ``features`` columns, ``classes``; overlapping by ``spread``."""
    rng = np.random.default_rng([seed, 3])
    n = sum(int(spec[part]) for part in ("train", "valid", "test"))
    p, c = int(spec["features"]), int(spec["classes"])
    labels = rng.integers(0, c, n)
    centres = rng.standard_normal((c, p - 1)) / np.sqrt(p - 1)
    A = centres[labels] + float(spec.get("spread", 0.3)) * rng.standard_normal((n, p - 1)) / np.sqrt(p - 1) * 2
    return np.column_stack([A, np.ones(n)]), labels, f"seeded Gaussian clusters, {n} x {p}, {c} classes"


def _documents(spec: Spec, seed: int, folder: Path | None) -> Samples:
    """Sparse rows of norm one with Zipf columns: ``words`` entries a row; classes prefer columns of their own."""
    rng = np.random.default_rng([seed, 4])
    n = sum(int(spec[part]) for part in ("train", "valid", "test"))
    p, c, words = int(spec["features"]), int(spec["classes"]), int(spec["words"])
    labels = rng.integers(0, c, n)
    popularity = 1.0 / np.arange(1, p + 1)
    cumulated = np.cumsum(popularity / popularity.sum())
    columns = np.minimum(np.searchsorted(cumulated, rng.random((n, words))), p - 1)
    topical = rng.random((n, words)) < float(spec.get("topical", 0.3))
    shifted = (columns // c) * c + labels[:, None]
    columns = np.where(topical & (shifted < p), shifted, columns)
    values = (1.0 + rng.random((n, words))) * np.log(2.0 + columns)
    A = csr_matrix((values.ravel(), columns.ravel(), np.arange(0, n * words + 1, words)), shape=(n, p))
    A.sum_duplicates()
    A.data /= np.repeat(np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel()), np.diff(A.indptr))
    return A, labels, f"seeded sparse rows with Zipf columns, {n} x {p}, {c} classes, {A.nnz} entries"


def _mnist(spec: Spec, seed: int, folder: Path | None) -> Samples:
    paths = _mnist_files(folder)
    images, labels = (_idx(path, dimensions) for path, dimensions in zip(paths, (3, 1)))
    if len(images) != len(labels):
        raise InputError(f"{paths[1]}: {len(labels)} labels for {len(images)} images; fetch both files again")
    if not images.size:
        raise InputError(f"{paths[0]}: no images in it; fetch it again")
    if labels.max() > 9:
        raise InputError(f"{paths[1]}: label {labels.max()} is no digit; fetch it again")
    A = np.ones((len(images), images[0].size + 1))
    A[:, :-1] = images.reshape(len(images), -1)
    A[:, :-1] /= 255.0
    return A, labels.astype(np.int64), f"MNIST, {len(A)} x {A.shape[1]}"


def _mnist_files(folder: Path | None) -> list[Path]:
    kinds = ("images-idx3-ubyte", "labels-idx1-ubyte")
    return [_file(folder, (f"train-{kind}", f"train-{kind}.gz"), "MNIST", "clusters") for kind in kinds]


def _idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """An array of the IDX format (big-endian sizes, bytes) with so many dimensions."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error):
        raise InputError(f"{path}: no whole gzip file; fetch it again") from None
    if len(raw) < 4 or raw[:3] != b"\0\0\x08" or raw[3] != dimensions:
        raise InputError(f"{path}: no IDX file of bytes with {dimensions} dimensions; fetch it again")
    begin = 4 + 4 * dimensions
    sizes = struct.unpack(f">{dimensions}I", raw[4:begin]) if len(raw) >= begin else ()
    if not sizes or len(raw) != begin + math.prod(sizes):
        raise InputError(f"{path}: cut short or too long; fetch it again")
    return np.frombuffer(raw, dtype=np.uint8, offset=begin).reshape(sizes)


def _newsgroups(spec: Spec, seed: int, folder: Path | None) -> Samples:
    try:
        import sklearn.datasets as source
    except ImportError:
        raise MissingExtraError("20 Newsgroups needs scikit-learn; install bilevel-verify[data]") from None
    try:
        parts = [
            source.fetch_20newsgroups_vectorized(
                subset=part, data_home=None if folder is None else str(folder), download_if_missing=False
            )
            for part in ("train", "test")
        ]
    except OSError:
        raise MissingDataError(
            "20 Newsgroups is not here, or damaged: run sklearn.datasets.fetch_20newsgroups_vectorized(data_home=DIR) "
            "where there is a network and give --data DIR; the synthetic set of its shape is 'documents'"
        ) from None
    except (ValueError, EOFError, KeyError, AttributeError, ImportError, pickle.UnpicklingError, zlib.error):
        raise InputError(
            f"{folder}: the files of 20 Newsgroups are damaged; remove 20newsgroup*.pkz there and fetch them again"
        ) from None
    A = vstack([part.data for part in parts]).tocsr()
    labels = np.concatenate([part.target for part in parts]).astype(np.int64)
    return A, labels, f"20 Newsgroups, {A.shape[0]} x {A.shape[1]}, {A.nnz} entries"


def _file(folder: Path | None, names: tuple[str, ...], title: str, synthetic: str) -> Path:
    """The first of the names that is in the folder."""
    for name in names:
        if folder is not None and is_file(folder / name):
            return folder / name
    raise MissingDataError(
        f"{title} is not here: put {names[0]} into a folder and give --data DIR; the synthetic set of its shape is "
        f"{synthetic!r}"
    )


SETS: Mapping[str, Callable[[Spec, int, Path | None], Samples]] = {
    **{name: _of_sklearn(loader) for name, loader in (("digits", "digits"), ("breast-cancer", "breast_cancer"))},
    **{name: _of_sklearn(name) for name in ("wine", "iris")},
    "clusters": _clusters,
    "documents": _documents,
    "mnist": _mnist,
    "20newsgroups": _newsgroups,
}
"""Name -> rows, labels and a word about the source."""


# --- matrices with missing entries ------------------------------------------------------------------------------------


def ratings(spec: Spec, seed: int, folder: Path | None) -> tuple[csr_matrix, str]:
    """Observed entries of a matrix, signs if ``one_bit``.

    Parameters
    ----------
    spec : ``set`` is ``low-rank`` (``rows``, ``columns``, ``entries``, ``rank``, ``noise``) or ``movielens``.
    """
    one_bit = bool(spec.get("one_bit"))
    if spec["set"] == "movielens":
        found, source = _movielens(folder, one_bit)
        if min(found.shape) <= (rank := int(spec.get("rank", 0))):
            raise InputError(f"data: {source}; rank {rank} needs more rows and columns than that; fetch it again")
        return found, source
    if spec["set"] != "low-rank":
        raise InputError(f"data: no set {spec['set']!r} of matrices; there are low-rank, movielens")
    rng = np.random.default_rng([seed, 5])
    m, n, N, r = (int(spec[key]) for key in ("rows", "columns", "entries", "rank"))
    if m * n < N:
        raise InputError(f"data: {N} entries are more than {m} x {n}")
    drawn = np.arange(m * n) if m * n <= 20 * N else np.unique(rng.integers(0, m * n, N + N // 8))
    places = np.sort(rng.permutation(drawn)[:N])
    rows, columns = places // n, places % n
    U, V = rng.standard_normal((m, r)), rng.standard_normal((n, r))
    X = np.concatenate([np.einsum("ij,ij->i", U[a], V[b]) for a, b in _pieces(rows, columns)]) / np.sqrt(r)
    X += float(spec.get("noise", 0.1)) * rng.standard_normal(len(X))
    if one_bit:
        X = np.where(rng.random(len(X)) < 1.0 / (1.0 + np.exp(-X)), 1.0, -1.0)
    starts = np.searchsorted(rows, np.arange(m + 1))
    return csr_matrix((X, columns, starts), shape=(m, n)), f"seeded rank {r} with noise, {m} x {n}, {len(X)} entries"


def _pieces(
    rows: NDArray[np.int64], columns: NDArray[np.int64], size: int = 1 << 20
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    return ((rows[i : i + size], columns[i : i + size]) for i in range(0, len(rows), size))


def _movielens_file(folder: Path | None) -> Path:
    return _file(folder, ("ratings.dat", "ratings.csv"), "MovieLens", "low-rank")


def _movielens(folder: Path | None, one_bit: bool) -> tuple[csr_matrix, str]:
    """``ratings.dat`` (10M: user::movie::rating::time) or ``ratings.csv`` (20M), numbered afresh."""
    path = _movielens_file(folder)
    separator, skip = _header(path)
    try:
        with path.open(encoding="utf-8") as lines:
            rows = (line.split(separator, 3) for line in itertools.islice(lines, skip, None))
            table = np.fromiter((float(v) for a, b, c, _ in rows for v in (a, b, c)), dtype=float).reshape(-1, 3)
    except ValueError:
        raise InputError(f"{path}: a line without user, movie, rating and time in numbers; fetch it again") from None
    if not len(table) or not np.all(np.isfinite(table)) or not np.all((table[:, 2] >= 0.5) & (table[:, 2] <= 5)):
        raise InputError(f"{path}: no ratings, or one that is not between 0.5 and 5; fetch it again")
    _, users = np.unique(table[:, 0], return_inverse=True)
    _, movies = np.unique(table[:, 1], return_inverse=True)
    X = np.where(table[:, 2] >= 3.5, 1.0, -1.0) if one_bit else table[:, 2]
    found = csr_matrix((X, (users, movies)))
    if found.nnz != len(X):
        raise InputError(f"{path}: {len(X) - found.nnz} ratings are of a user and a movie again; fetch it again")
    return found, f"MovieLens, {found.shape[0]} x {found.shape[1]}, {found.nnz} entries"


def _header(path: Path) -> tuple[str, int]:
    """What separates the columns, and how many lines come before the first rating."""
    if path.suffix == ".dat":
        return "::", 0
    with path.open(encoding="utf-8", errors="replace") as lines:
        if not next(lines, "").startswith("userId,movieId,rating"):
            raise InputError(f"{path}: the first line is not userId,movieId,rating,timestamp; fetch it again")
    return ",", 1


def ask_for(spec: Spec, folder: Path) -> None:
    """Look into the files of a set that the user brings, before anything is run.

    Raises
    ------
    MissingDataError : what to get, where to put it, and the synthetic set of its shape. MissingExtraError : a library.
    InputError : a file is damaged, or has too few rows.
    """
    if spec["set"] == "movielens":
        ratings(spec, 0, folder)
    elif spec["set"] in ("mnist", "20newsgroups"):
        labelled(spec, 0, folder)


@cache
def digest_of(folder: str) -> str:
    """SHA-256 of the files of the user in a folder: a run of other files is another run."""
    state = hashlib.sha256()
    for pattern in ("train-*-ubyte*", "20newsgroup*", "ratings.*"):
        for path in sorted(Path(folder).glob(pattern)):
            if is_file(path):
                with path.open("rb") as opened:
                    state.update(path.name.encode() + b"\0" + hashlib.file_digest(opened, "sha256").digest())
    return state.hexdigest()


# --- least squares ----------------------------------------------------------------------------------------------------


def regression(spec: Spec, seed: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, str]:
    """Training and validation matrices and responses (A, b, C, d), three quarters against one, by a seeded order.

    ``set``: ``correlated`` (``rows``, ``features``: mixed from 20 factors, with noise) or a set of scikit-learn
    (``rows``: how many are drawn, ``features``: the first so many columns). Responses are scaled so that
    the least-squares solution of least norm has norm ``reach``, where that is given.
    """
    rng = np.random.default_rng([seed, 6])
    if spec["set"] == "correlated":
        n, p = int(spec["rows"]), int(spec["features"])
        table = rng.standard_normal((n, 20)) @ rng.standard_normal((20, p + 1)) / np.sqrt(20)
        table += rng.standard_normal((n, p + 1))
        source = f"seeded correlated columns, {n} x {p}"
    else:
        data = shipped(str(spec["set"]).replace("-", "_"))
        table = np.column_stack([np.asarray(data.data, dtype=float), np.asarray(data.target, dtype=float)])
        source = f"scikit-learn, load_{spec['set']}"
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    rows = rng.permutation(len(table))[: int(spec["rows"])]
    A, response = table[rows, : int(spec["features"])], table[rows, -1]
    split = round(0.75 * len(rows))
    reach = float(np.linalg.norm(np.linalg.pinv(A[:split]) @ response[:split]))
    scale = float(spec["reach"]) / reach if "reach" in spec else 1.0
    return A[:split], scale * response[:split], A[split:], scale * response[split:], source
