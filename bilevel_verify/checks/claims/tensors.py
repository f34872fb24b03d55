"""Three-way tensors of balls: products along a mode, and the norm as an enclosure.

The norm of a tensor is the largest value of its trilinear form on unit vectors. It lies between the form at any unit
vectors and the spectral norm of any of the three unfoldings; where an index has size 1 both ends meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from bilevel_verify.checks.claims import values as v
from bilevel_verify.checks.claims.values import EvaluationError, Matrix, Tensor, Value

SWEEPS = 60
STARTS = 4


def tensor(table: Sequence[Sequence[Sequence[arb]]]) -> Tensor:
    """A tensor from nested sequences, ``table[i][j][k]``."""
    return Tensor(tuple(Matrix(tuple(tuple(row) for row in part)) for part in table))


def stacked(parts: Sequence[Matrix]) -> Tensor:
    """The tensor whose last index runs over the matrices: ``T[i, j, k] = parts[k][i, j]``."""
    rows, columns = parts[0].shape
    return tensor([[[part.rows[i][j] for part in parts] for j in range(columns)] for i in range(rows)])


def mode(value: Value, which: Value, matrix: Value) -> Tensor:
    """``X x_i A``: the i-th index of X (from 1) is contracted with the columns of A, as Kolda and Bader write it."""
    place = v.integer(which, "a mode")
    if not isinstance(value, Tensor) or not isinstance(matrix, Matrix) or place not in (1, 2, 3):
        raise EvaluationError("mode(T, i, A) needs a three-way tensor, i in 1, 2, 3, and a matrix")
    v.same_shape(value.shape[place - 1], matrix.shape[1])
    table = np.array([part.rows for part in value.slices], dtype=object)
    moved = np.moveaxis(table, place - 1, 0)
    parts = [sum((row[i] * moved[i] for i in range(1, len(row))), row[0] * moved[0]) for row in matrix.rows]
    return tensor(np.moveaxis(np.array(parts, dtype=object), 0, place - 1).tolist())


def tensor_norm(value: Tensor) -> arb:
    """Enclosure of the largest value of the trilinear form on unit vectors."""
    from bilevel_verify.checks.claims.linear import norm

    table = np.array([part.rows for part in value.slices], dtype=object)
    if table.size == 0:
        return arb(0)
    unfoldings = [np.moveaxis(table, place, 0).reshape(table.shape[place], -1) for place in range(3)]
    above = [v.scalar_ball(norm(Matrix(tuple(tuple(row) for row in part)))) for part in unfoldings]
    if 1 in table.shape:  # a matrix: the unfoldings along its two other indices are it or its transpose
        return above[table.shape.index(1) - 1] if table.shape.count(1) == 1 else _exact_vector(table)
    top = min(above, key=lambda ball: float(ball.upper()))
    return v.scalar_ball(_form_from_below(table)).union(top)


def _exact_vector(table: NDArray[np.object_]) -> arb:
    """Norm of a tensor with at most one index longer than 1."""
    from bilevel_verify.checks.claims.linear import norm

    return v.scalar_ball(norm(v.Vector(tuple(table.ravel()))))


def _form_from_below(table: Any) -> arb:
    """The trilinear form at good unit vectors, found in floats and evaluated in balls."""
    rough = np.array([float(entry) for entry in table.ravel()]).reshape(table.shape)
    best, best_value = [np.eye(size)[0] for size in table.shape], -1.0
    rng = np.random.default_rng(0)
    for _ in range(STARTS):
        vectors = [rng.standard_normal(size) for size in table.shape]
        found = _alternate(rough, [u / np.linalg.norm(u) for u in vectors])
        size = abs(float(np.einsum("ijk,i,j,k", rough, *found)))
        if size > best_value:
            best, best_value = found, size
    units = [[arb(float(a)) for a in u] for u in best]
    units = [[a / sum((b * b for b in u), arb(0)).sqrt() for a in u] for u in units]
    total = arb(0)
    for (i, j, k), entry in np.ndenumerate(table):
        total += entry * units[0][i] * units[1][j] * units[2][k]
    return abs(total)


def _alternate(rough: np.ndarray, vectors: list[np.ndarray]) -> list[np.ndarray]:
    """Alternating maximisation of the trilinear form."""
    subscripts = ("ijk,j,k->i", "ijk,i,k->j", "ijk,i,j->k")
    for _ in range(SWEEPS):
        for place, subscript in enumerate(subscripts):
            others = [vector for number, vector in enumerate(vectors) if number != place]
            new = np.einsum(subscript, rough, *others)
            length = float(np.linalg.norm(new))
            if length > 0:
                vectors[place] = new / length
    return vectors
