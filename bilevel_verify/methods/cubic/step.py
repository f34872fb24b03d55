"""The cubic step as loops in two forms: Schur complements, eigendecompositions, the secular equation.

They take the steps of ``arithmetic`` and ``subproblem``, which run on arrays (NumPy, mpmath numbers). Tables are rows
of floats. Both forms call the same LAPACK, so they agree bit for bit where its blocks do not depend on its work space.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.methods.cubic.subproblem import LARGE, NEWTON_STEPS, SMALL
from bilevel_verify.methods.kernels.scalars import square_root
from bilevel_verify.methods.kernels.vectors import dot
from bilevel_verify.oracles.jit import compiled_as, loop

Row = MutableSequence[float]
Rows = Sequence[Row]
"""Lists, or arrays in machine code."""
FloatArray = NDArray[np.float64]
X, GRADIENT, S, SNAPSHOT, SCALED, ROTATED, GAPS, VALUES, STEP = range(9)
"""Rows of the table of vectors of length dx."""
POINTS = 9
TINY, ROUNDOFF = 1e-300, 2.0**-52
INFINITE = float("inf")


def __getattr__(name: str) -> Any:
    """What compiled code has for :func:`eigen_in`, made when something is compiled."""
    if name != "eigen_of_machine_code":
        raise AttributeError(name)
    from bilevel_verify.oracles.compiling import part

    return part(_eigen_of_machine_code)


def _eigen_of_machine_code(matrix: FloatArray, values: FloatArray, vectors: FloatArray) -> None:
    found, columns = np.linalg.eigh(matrix)
    for i in range(len(values)):
        values[i] = found[i]
        for j in range(len(values)):
            vectors[j][i] = columns[j, i]


@compiled_as("bilevel_verify.methods.cubic.step:eigen_of_machine_code")
def eigen_in(matrix: Rows, values: Row, vectors: Rows) -> None:
    """Eigenvalues (ascending) and orthonormal eigenvectors (columns) of a symmetric matrix."""
    from scipy.linalg.lapack import dsyevd

    found, columns, trouble = dsyevd(np.array(matrix), compute_v=1, lower=1)
    if trouble:
        raise np.linalg.LinAlgError("eigenvalues did not converge")
    values[:] = found.tolist()
    for i, row in enumerate(columns.tolist()):
        vectors[i][:] = row


@loop
def spectrum_in(matrix: Rows, values: Row, vectors: Rows) -> bool:
    """Decompose: eigenvectors in the columns of ``vectors`` and the rows of ``matrix``, their largest entries positive.

    False if the matrix is not finite.
    """
    n = len(values)
    for i in range(n):
        for j in range(i + 1):
            mean = (matrix[i][j] + matrix[j][i]) / 2.0
            if mean - mean != 0.0:
                return False
            matrix[i][j] = matrix[j][i] = mean
    eigen_in(matrix, values, vectors)
    for j in range(n):
        place = 0
        for i in range(n):
            if abs(vectors[i][j]) > abs(vectors[place][j]):
                place = i
        sign = 1.0 if vectors[place][j] > 0.0 else -1.0
        for i in range(n):
            vectors[i][j] = sign * vectors[i][j]
            matrix[j][i] = vectors[i][j]
    return True


@loop
def add_schur(factor: float, lower: Rows, right: Rows, out: Rows) -> bool:
    """out += factor right' lower^{-1} right; both are overwritten. False if ``lower`` is not positive definite.

    By rows of Cholesky's upper factor, so that a compiler can vectorise without changing the order of a sum.
    """
    n, width = len(lower), len(out)
    for k in range(n):
        pivot = lower[k][k]
        if not 0.0 < pivot < INFINITE:
            return False
        root = square_root(pivot)
        row, solved = lower[k], right[k]
        for i in range(k, n):
            row[i] = row[i] / root
        for i in range(width):
            solved[i] = solved[i] / root
        for j in range(k + 1, n):
            share, below, target = row[j], lower[j], right[j]
            for i in range(j, n):
                below[i] = below[i] - share * row[i]
            for i in range(width):
                target[i] = target[i] - share * solved[i]
    for k in range(n):
        solved = right[k]
        for j in range(width):
            share, target = factor * solved[j], out[j]
            for i in range(width):
                target[i] = target[i] + share * solved[i]
    return True


@loop
def norm(v: Row) -> float:
    """Euclidean norm, also where squares leave the range of floats."""
    found: float = square_root(dot(v, v))
    if 1e-140 < found < 1e140:
        return found
    largest, total = 0.0, 0.0
    for i in range(len(v)):
        largest = max(largest, abs(v[i]))
    if not 0.0 < largest < INFINITE:
        return largest
    for i in range(len(v)):
        total = total + (v[i] / largest) * (v[i] / largest)
    root: float = square_root(total)
    return largest * root


@loop
def cubic_step(points: Rows, vectors: Rows, transposed: Rows, M: float) -> None:
    """S <- the global minimiser of ``g's + s'Hs/2 + M |s|^3/6`` with the decomposition of H.

    Both matrices are read by rows, so that a compiler can vectorise without changing the order of a sum.
    """
    gradient, values, s = points[GRADIENT], points[VALUES], points[S]
    size, unit = 0.0, 1.0
    for i in range(len(s)):
        size = max(size, abs(gradient[i]))
    if size > LARGE or (0.0 < size < SMALL and values[0] >= 0.0):
        unit = 2.0 ** math.floor(math.log2(size) / 2.0 + 0.5)
    for i in range(len(s)):
        points[SCALED][i] = gradient[i] / unit / unit
        points[ROTATED][i] = 0.0
        s[i] = 0.0
    for j in range(len(s)):
        row, entry = vectors[j], points[SCALED][j]
        for i in range(len(s)):
            points[ROTATED][i] = points[ROTATED][i] + row[i] * entry
    in_the_basis(points, M, unit)
    for j in range(len(s)):
        row, entry = transposed[j], unit * points[STEP][j]
        for i in range(len(s)):
            s[i] = s[i] + entry * row[i]


@loop
def in_the_basis(points: Rows, M: float, unit: float) -> None:
    """STEP <- the step in the eigenbasis, s measured in ``unit``."""
    rotated, gaps, values, step = points[ROTATED], points[GAPS], points[VALUES], points[STEP]
    n, lowest = len(step), values[0] / unit
    base = max(0.0, -2.0 * lowest / M)
    for i in range(n):
        gaps[i] = values[i] / unit - lowest if base > 0.0 else values[i] / unit
    # beside a negative eigenvalue a gradient this small is 0
    if norm(rotated) < ROUNDOFF**8 * M * base * base:
        for i in range(n):
            rotated[i] = 0.0
    if base > 0.0 and is_hard(rotated, gaps, base, step):
        return
    moved = False
    for i in range(n):
        moved = moved or rotated[i] != 0.0
    excess = excess_of(rotated, gaps, base, M, step) if moved else 0.0
    for i in range(n):
        step[i] = -rotated[i] / (gaps[i] + M * excess / 2.0) if moved else 0.0


@loop
def is_hard(rotated: Row, gaps: Row, base: float, step: Row) -> bool:
    """Whether a multiple of the lowest eigenvector has to be added; then the step is there."""
    first, free = -1, True
    for i in range(len(step)):
        if gaps[i] > 0.0:
            step[i] = -rotated[i] / gaps[i]
        else:
            step[i] = 0.0
            first = i if first < 0 else first
            free = free and rotated[i] == 0.0
    short = norm(step)
    if not free or not short <= base:
        return False
    step[first] = square_root(max(0.0, (base - short) * (base + short)))
    return True


@loop
def excess_of(rotated: Row, gaps: Row, base: float, M: float, ratio: Row) -> float:
    """Root of ``|g / (gap + M e / 2)| = base + e``: Newton on the reciprocal form, kept inside a bracket."""
    low = 0.0
    high: float = square_root(2.0 * norm(rotated) / M)
    e = high
    for _ in range(NEWTON_STEPS):
        bend = 0.0
        for i in range(len(ratio)):
            shifted = gaps[i] + M * e / 2.0
            ratio[i] = rotated[i] / shifted
            bend = bend + ratio[i] * ratio[i] / shifted
        length, target = norm(ratio), base + e
        gap = length - target
        if gap > 0.0:
            low = e
        else:
            high = e
        if gap == 0.0 or high - low <= ROUNDOFF * high:
            break
        slope = -M / 2.0 * bend / length
        value = 1.0 / length - 1.0 / target
        derivative = -slope / (length * length) + 1.0 / (target * target)
        step = e - value / derivative
        if not low < step < high:
            step = square_root(low * high) if low > 0.0 else high / 10000.0
        e = step
        if high < TINY:
            return high
    return e
