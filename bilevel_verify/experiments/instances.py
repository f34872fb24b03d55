"""The instances: the linear inverse problem, and least squares on real data, wide and tall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MissingExtraError
from bilevel_verify.problems import Ball, Problem, simple_bilevel, zoo

FloatArray = NDArray[np.float64]
MOST_FEATURES = 14
"""Features kept of a wide table (the first ones), so that the ground truth stays quick."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One experiment.

    Attributes
    ----------
    A, b, C, d : ``g = |A x - b|^2/2`` and ``f = |C x - d|^2/2``.
    radius : of the ball; None for the orthant.
    passes : iterations of every method.
    facts : what the report says about it.
    """

    name: str
    problem: Problem
    A: FloatArray
    b: FloatArray
    C: FloatArray
    d: FloatArray
    radius: float | None
    start: FloatArray
    passes: int
    facts: Mapping[str, Any]

    @property
    def L_f(self) -> float:
        """Largest eigenvalue of the Hessian of f, rounded up."""
        return float(np.linalg.norm(self.C, 2)) ** 2 * (1 + 1e-12)

    @property
    def L_g(self) -> float:
        """Largest eigenvalue of the Hessian of g, rounded up."""
        return float(np.linalg.norm(self.A, 2)) ** 2 * (1 + 1e-12)

    def values(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """f and g at the rows of an array."""
        f = 0.5 * np.sum((points @ self.C.T - self.d) ** 2, axis=1)
        return f, 0.5 * np.sum((points @ self.A.T - self.b) ** 2, axis=1)


def linear_inverse(n: int, seed: int, passes: int) -> Instance:
    """Section 5, Fig. 2: ``|x|^2/2`` over the non-negative solutions of ``sum x = 1``; random start in the orthant."""
    start = np.random.default_rng(seed).uniform(0.0, 1.0, n)
    facts = {"seed": seed, "start": "uniform on [0, 1]^n", "known f*": 1 / (2 * n), "known g*": 0.0}
    return Instance(
        f"linear-inverse-{n}", zoo("linear-inverse", n=n), np.ones((1, n)), np.ones(1), np.eye(n), np.zeros(n), None,
        start, passes, facts,
    )  # fmt: skip


def regression(name: str, loader: str, rows: int | None, target: int | None, seed: int, passes: int) -> Instance:
    """Section 5, Fig. 1: validation loss over the minimisers of the training loss on the unit ball.

    Parameters
    ----------
    loader : function of ``sklearn.datasets`` whose data ship with the package.
    rows : how many rows are drawn (None: all). ``target``: the column that is predicted from the others, as in the
        paper; None for the target of the data set.

    Raises
    ------
    MissingExtraError : scikit-learn is absent.
    """
    try:
        import sklearn.datasets as source
    except ImportError:
        raise MissingExtraError("this experiment needs scikit-learn; install bilevel-verify[data]") from None
    data = getattr(source, loader)()
    table = np.column_stack([np.asarray(data.data, dtype=float), np.asarray(data.target, dtype=float)])
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    order = np.random.default_rng(seed).permutation(len(table))[:rows]
    column = table.shape[1] - 1 if target is None else target
    keep = [i for i in range(table.shape[1] - 1) if i != column][:MOST_FEATURES]
    features, response = table[order][:, keep], table[order, column]
    split = round(0.75 * len(order))
    A, b, C, d = features[:split], response[:split], features[split:], response[split:]
    reach = float(np.linalg.norm(np.linalg.pinv(A) @ b))
    scale = 1.0 if reach < 1 or A.shape[0] >= A.shape[1] else 0.5 / reach
    b, d = scale * b, scale * d
    facts = {
        "seed": seed, "rank of the validation matrix": int(np.linalg.matrix_rank(C)),
        "data": f"sklearn.datasets.{loader}", "rows": len(order), "features": len(keep),
        "training rows": split, "validation rows": len(order) - split,
        "rank of the training matrix": int(np.linalg.matrix_rank(A)), "response scaled by": scale,
    }  # fmt: skip
    A, b = _condensed(A, b)
    C, d = _condensed(C, d)
    problem = simple_bilevel(
        f="sum((dot(C[i], x) - d[i])**2, (i, 0, rows(C) - 1))/2",
        g="sum((dot(A[i], x) - b[i])**2, (i, 0, rows(A) - 1))/2",
        x=f"x{{1..{len(keep)}}}",
        feasible=Ball(radius=1.0),
        data={"A": A, "b": b, "C": C, "d": d},
        name=name,
    )
    return Instance(name, problem, A, b, C, d, 1.0, np.zeros(len(keep)), passes, facts)


def _condensed(A: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same least-squares function with at most n + 1 rows (triangular factor of the matrix and the response)."""
    if len(A) <= A.shape[1] + 1:
        return A, b
    triangle = np.asarray(np.linalg.qr(np.column_stack([A, b]))[1])
    return triangle[:, :-1], triangle[:, -1]


def instances(names: list[str] | None = None, seed: int = 1, quick: bool = False) -> list[Instance]:
    """All instances, or the named ones; short runs if ``quick``."""
    short = 10 if quick else 1
    makers = {
        "linear-inverse-3": lambda n: linear_inverse(3, seed, 1000 // short),
        "linear-inverse-100": lambda n: linear_inverse(100, seed, 1000 // short),
        "diabetes-wide": lambda n: regression(n, "load_diabetes", 11, None, seed, 8000 // short),
        "diabetes-tall": lambda n: regression(n, "load_diabetes", None, None, seed, 4000 // short),
        "breast-cancer-wide": lambda n: regression(n, "load_breast_cancer", 16, 0, seed, 3000 // short),
    }
    return [makers[name](name) for name in (names or list(makers))]
