"""Linear algebra of balls: norms, products, inverses, extreme eigenvalues, spectra; everything verified."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb, arb_mat

from bilevel_verify.checks.claims.values import (
    EvaluationError,
    Matrix,
    Scalar,
    Value,
    Vector,
    divide,
    multiply,
    negate,
    power,
    same_shape,
    scalar_ball,
    square_root,
    vector,
)
from bilevel_verify.numbers.rounding import UNDERFLOW

SLACK = 1e-15
"""First distance below a computed eigenvalue at which a lower bound is tried, relative to the largest; it grows."""


def dot(left: Value, right: Value) -> arb:
    """Euclidean inner product."""
    a, b = _vector(left), _vector(right)
    same_shape(len(a), len(b))
    return sum((p * q for p, q in zip(a.entries, b.entries)), arb(0))


def square_norm(value: Value) -> Scalar:
    """Squared Euclidean norm of a vector, squared spectral norm of a matrix: no root is taken on the way."""
    if isinstance(value, Matrix):
        return lambda_max(matmul(transpose(value), value))
    if isinstance(value, Vector):
        return sum((a * a for a in value.entries), arb(0))
    return power(value, Fraction(2))


def norm(value: Value) -> Scalar:
    """Euclidean norm of a vector (exact in one dimension), spectral norm of a matrix, absolute value of a number."""
    if isinstance(value, Vector):
        return abs(value.entries[0]) if len(value) == 1 else square_root(square_norm(value))
    if isinstance(value, Matrix):
        return abs(value.rows[0][0]) if value.shape == (1, 1) else square_root(square_norm(value))
    return abs(value) if isinstance(value, Fraction) else abs(scalar_ball(value))


def frobenius(value: Value) -> Scalar:
    """Root of the sum of squares of all entries."""
    rows = value.rows if isinstance(value, Matrix) else (_vector(value).entries,)
    return square_root(sum((a * a for row in rows for a in row), arb(0)))


def matmul(left: Value, right: Value) -> Value:
    """``@``: matrix-matrix, matrix-vector, vector-matrix, and inner product of two vectors."""
    match left, right:
        case Matrix(), Vector():
            same_shape(left.shape[1], len(right))
            return Vector(tuple(dot(Vector(row), right) for row in left.rows))
        case Vector(), Matrix():
            return matmul(transpose(right), left)
        case Vector(), Vector():
            return dot(left, right)
        case Matrix(), Matrix():
            same_shape(left.shape[1], right.shape[0])
            columns = transpose(right).rows
            return Matrix(tuple(tuple(dot(Vector(r), Vector(c)) for c in columns) for r in left.rows))
    raise EvaluationError("'@' needs a matrix or a vector on each side")


def transpose(value: Value) -> Matrix:
    """Transpose of a matrix."""
    if not isinstance(value, Matrix):
        raise EvaluationError("T() needs a matrix")
    return Matrix(tuple(zip(*value.rows)))


def inverse(value: Value) -> Matrix:
    """Verified inverse of a square matrix."""
    if not isinstance(value, Matrix) or value.shape[0] != value.shape[1]:
        raise EvaluationError("inv() needs a square matrix")
    try:
        return _from_flint(_to_flint(value).inv())
    except ZeroDivisionError:
        raise EvaluationError("precision: a matrix cannot be told from a singular one") from None


def solve(matrix: Matrix, right: Vector) -> Vector:
    """Verified solution of ``matrix @ v = right``."""
    try:
        column = _to_flint(matrix).solve(arb_mat([[a] for a in right.entries]))
    except ZeroDivisionError:
        raise EvaluationError("precision: a matrix cannot be told from a singular one") from None
    return Vector(tuple(column[i, 0] for i in range(len(right))))


def _to_flint(value: Matrix) -> arb_mat:
    return arb_mat([list(row) for row in value.rows])


def _from_flint(value: arb_mat) -> Matrix:
    return Matrix(tuple(tuple(value[i, j] for j in range(value.ncols())) for i in range(value.nrows())))


def lambda_min(value: Value) -> arb:
    """Smallest eigenvalue of a symmetric matrix: Rayleigh quotient above, verified Cholesky factorisation below."""
    if not isinstance(value, Matrix) or value.shape[0] != value.shape[1]:
        raise EvaluationError("lambda_min() needs a square matrix")
    if value.shape == (1, 1):
        return value.rows[0][0]
    middle = np.array([[float(a.mid()) for a in row] for row in value.rows])
    if not np.all(np.isfinite(middle)):
        raise EvaluationError("precision")
    approximate, basis = np.linalg.eigh((middle + middle.T) / 2)
    direction = vector(basis[:, 0])
    upper = scalar_ball(dot(direction, matmul(value, direction))) / scalar_ball(dot(direction, direction))
    radius = max(float(a.rad()) for row in value.rows for a in row)
    slack = max(SLACK * float(np.abs(approximate).max()), radius, UNDERFLOW) * len(approximate)
    for _ in range(60):
        shift = arb(float(approximate[0]) - slack)
        if _positive_definite(value, shift):
            return arb(shift.lower()).union(upper)
        slack *= 4
    raise EvaluationError("precision: the smallest eigenvalue could not be bounded from below")


def lambda_max(value: Value) -> arb:
    """Largest eigenvalue of a symmetric matrix."""
    return -lambda_min(negate(value))


def _positive_definite(value: Matrix, shift: arb) -> bool:
    """Whether ``value - shift * I`` has a verified Cholesky factorisation (uses the lower triangle)."""
    n = value.shape[0]
    factor: list[list[arb]] = []
    for i in range(n):
        row: list[arb] = []
        for j in range(i):
            entry = value.rows[i][j] - sum((row[k] * factor[j][k] for k in range(j)), arb(0))
            row.append(entry / factor[j][j])
        pivot = value.rows[i][i] - shift - sum((a * a for a in row), arb(0))
        if not pivot > 0:
            return False
        factor.append([*row, pivot.sqrt()])
    return True


def _vector(value: Value) -> Vector:
    if isinstance(value, Vector):
        return value
    if isinstance(value, Fraction | arb):
        return Vector((scalar_ball(value),))
    raise EvaluationError("a vector was expected")


class Spectrum:
    """Eigenvalues of a symmetric matrix with the components of vectors along its eigenvectors, all verified.

    Diagonal matrices keep the unit vectors; others need simple eigenvalues.
    """

    def __init__(self, matrix: Matrix) -> None:
        n, columns = matrix.shape
        if n != columns:
            raise EvaluationError("eigenvalues need a square matrix")
        off = [matrix.rows[i][j] for i in range(n) for j in range(n) if i != j]
        if all(a.is_zero() for a in off):
            unit = [Vector(tuple(arb(int(i == j)) for i in range(n))) for j in range(n)]
            pairs = [(matrix.rows[j][j], unit[j]) for j in range(n)]
        else:
            pairs = _eigenpairs(matrix)
        self.pairs = sorted(pairs, key=lambda pair: float(pair[0].mid()))

    def value(self, j: int) -> arb:
        """The j-th smallest eigenvalue, j from 1."""
        return self._pair(j)[0]

    def component(self, vector: Value, j: int) -> Scalar:
        """Component along the j-th unit eigenvector (its sign is fixed once for each matrix)."""
        return dot(self._pair(j)[1], vector)

    def _pair(self, j: int) -> tuple[arb, Vector]:
        if not 1 <= j <= len(self.pairs):
            raise EvaluationError(f"there is no eigenvalue number {j}")
        return self.pairs[j - 1]


def _eigenpairs(matrix: Matrix) -> list[tuple[arb, Vector]]:
    """Verified eigenpairs of a symmetric matrix with simple eigenvalues."""
    try:
        values, right = _to_flint(matrix).eig(right=True)
    except (ValueError, ZeroDivisionError):
        raise EvaluationError("precision: eigenvalues that cannot be told apart") from None
    pairs = []
    for j, value in enumerate(values):
        column = Vector(tuple(right[i, j].real for i in range(len(values))))
        pairs.append((value.real, multiply(divide(Fraction(1), norm(column)), column)))
    return pairs  # type: ignore[return-value]
