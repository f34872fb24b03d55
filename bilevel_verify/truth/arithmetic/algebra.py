"""Small linear algebra in three number systems with one interface, so that every formula of this room is written once.

* :class:`Floats` batches of float64 matrices, shape (n, rows, columns); no error bounds.
* :class:`Boxes` batches of interval matrices, outward rounded; ``solve`` is verified.
* :class:`Balls` matrices of ``arb`` balls of any precision for one point; ``solve`` is verified by FLINT.

A *number* is an array (n,), an :class:`~bilevel_verify.intervals.batch.Interval` of shape (n,), or an ``arb``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.errors import MathematicalError
from bilevel_verify.intervals.arithmetics import IntervalArithmetic
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.numbers.arithmetic import Arithmetic
from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.floats import Numpy
from bilevel_verify.numbers.rounding import UNDERFLOW, UNIT, down, up

if TYPE_CHECKING:
    from flint import arb, arb_mat

FloatArray = NDArray[np.float64]
NO_VALUE = (
    "no finite value is proved at this point: a formula or its derivative has none there (log at 0, a kink), or the "
    "balls lost all information; move the point or raise the precision"
)


N = TypeVar("N")
"""A number of an algebra: an array, an interval of arrays, or a ball."""
M = TypeVar("M")
"""A matrix of it, or a batch of them."""


class Algebra(Protocol[N, M]):
    """Matrices of one number system."""

    @property
    def arithmetic(self) -> Arithmetic[N, Any]:
        """The number system."""

    def matrix(self, rows: Sequence[Sequence[N]], like: Sequence[N]) -> M: ...
    def number(self, value: N, like: Sequence[N]) -> N: ...
    def product(self, a: M, b: M) -> M: ...
    def add(self, a: M, b: M) -> M: ...
    def subtract(self, a: M, b: M) -> M: ...
    def negate(self, a: M) -> M: ...
    def scale(self, factor: N, a: M) -> M: ...
    def transpose(self, a: M) -> M: ...
    def solve(self, a: M, b: M) -> M: ...
    def stack(self, parts: Sequence[M], horizontal: bool = True) -> M: ...
    def identity(self, size: int, like: M) -> M: ...
    def size(self, a: M) -> tuple[int, int]:
        """Rows and columns."""

    def entry(self, a: M, i: int, j: int) -> N: ...
    def entries(self, column: M) -> list[N]: ...
    def where_defined(self, value: N, numbers: Sequence[N], at: Sequence[N]) -> list[N]: ...
    def where_differentiable(self, apart: N, matrix: M, x: Sequence[N]) -> M: ...


class Floats:
    """Batches of float matrices."""

    arithmetic = Numpy()

    def matrix(self, rows: Sequence[Sequence[FloatArray]], like: Sequence[FloatArray]) -> FloatArray:
        n = len(like[0])
        out = np.empty((n, len(rows), len(rows[0]) if rows else 0))
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                out[:, i, j] = value
        return out

    def number(self, value: FloatArray, like: Sequence[FloatArray]) -> FloatArray:
        return np.broadcast_to(np.asarray(value, dtype=float), np.shape(like[0])).copy()

    def product(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(a @ b)

    def add(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(a + b)

    def subtract(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(a - b)

    def negate(self, a: FloatArray) -> FloatArray:
        return np.asarray(-a)

    def scale(self, factor: FloatArray, a: FloatArray) -> FloatArray:
        return np.asarray(np.reshape(factor, (-1, 1, 1)) * a)

    def transpose(self, a: FloatArray) -> FloatArray:
        return np.swapaxes(a, 1, 2)

    def solve(self, a: FloatArray, b: FloatArray) -> FloatArray:
        if a.shape[1] == 1:
            return np.asarray(b / a)
        return np.asarray(np.linalg.solve(a, b))

    def stack(self, parts: Sequence[FloatArray], horizontal: bool = True) -> FloatArray:
        return np.concatenate(parts, axis=2 if horizontal else 1)

    def identity(self, size: int, like: FloatArray) -> FloatArray:
        return np.broadcast_to(np.eye(size), (len(like), size, size))

    def size(self, a: FloatArray) -> tuple[int, int]:
        rows, columns = a.shape[-2:]
        return int(rows), int(columns)

    def entry(self, a: FloatArray, i: int, j: int) -> FloatArray:
        return np.asarray(a[:, i, j])

    def entries(self, column: FloatArray) -> list[FloatArray]:
        return list(column[:, :, 0].T)

    def where_defined(
        self, value: FloatArray, numbers: Sequence[FloatArray], at: Sequence[FloatArray]
    ) -> list[FloatArray]:
        return list(numbers)

    def where_differentiable(self, apart: FloatArray, matrix: FloatArray, x: Sequence[FloatArray]) -> FloatArray:
        return matrix


class Boxes:
    """Batches of interval matrices: an :class:`Interval` whose ends have shape (n, rows, columns)."""

    arithmetic = IntervalArithmetic()

    def matrix(self, rows: Sequence[Sequence[Interval]], like: Sequence[Interval]) -> Interval:
        n = like[0].lo.shape[0]
        low = np.empty((n, len(rows), len(rows[0]) if rows else 0))
        high = np.empty_like(low)
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                low[:, i, j], high[:, i, j] = value.lo, value.hi
        return Interval(low, high)

    def number(self, value: Interval, like: Sequence[Interval]) -> Interval:
        shape = like[0].lo.shape
        return Interval(np.broadcast_to(value.lo, shape).copy(), np.broadcast_to(value.hi, shape).copy())

    def product(self, a: Interval, b: Interval) -> Interval:
        """Midpoint-radius product, rounding covered by an a-priori bound (Rump)."""
        am, ar = middle_radius(a)
        bm, br = middle_radius(b)
        with np.errstate(invalid="ignore", over="ignore"):
            middle = am @ bm
            size = np.abs(am) @ np.abs(bm)
            radius = np.abs(am) @ br + ar @ (np.abs(bm) + br)
            k = a.lo.shape[2]
            radius = radius * (1 + (4 * k + 8) * UNIT) + size * ((2 * k + 4) * UNIT) + (k + 1) * UNDERFLOW
            low, high = middle - up(radius), middle + up(radius)
        lost = ~np.isfinite(low) | ~np.isfinite(high)
        return Interval(np.where(lost, -np.inf, down(low)), np.where(lost, np.inf, up(high)))

    def add(self, a: Interval, b: Interval) -> Interval:
        return a + b

    def subtract(self, a: Interval, b: Interval) -> Interval:
        return a - b

    def negate(self, a: Interval) -> Interval:
        return -a

    def scale(self, factor: Interval, a: Interval) -> Interval:
        return Interval(factor.lo[:, None, None], factor.hi[:, None, None]) * a

    def transpose(self, a: Interval) -> Interval:
        return Interval(np.swapaxes(a.lo, 1, 2), np.swapaxes(a.hi, 1, 2))

    def solve(self, a: Interval, b: Interval) -> Interval:
        """Enclosure of all solutions of ``A X = B`` for A, B in the boxes; the whole line where A may be singular."""
        n, size, _ = b.lo.shape
        inverse = float_inverse(middle_radius(a)[0])
        start = inverse @ middle_radius(b)[0]
        exact = Interval(start, start)
        preconditioner = Interval(inverse, inverse)
        defect = self.product(preconditioner, self.subtract(b, self.product(a, exact))).magnitude()
        unit = np.broadcast_to(np.eye(size), (n, size, size))
        gap = self.subtract(Interval(unit, unit), self.product(preconditioner, a)).magnitude()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            row_sums = up(np.sum(gap, axis=2) * (1 + size * 2 * UNIT))
            contraction = np.max(row_sums, axis=1, initial=0.0)
            worst = np.max(defect, axis=1) / (1 - contraction)[:, None]
            error = up(defect + row_sums[:, :, None] * worst[:, None, :] * (1 + 8 * UNIT)) * (1 + 8 * UNIT)
        fine = (contraction < 1)[:, None, None] & np.isfinite(error) & np.isfinite(start)
        return Interval(
            np.where(fine, down(start - error), -np.inf),
            np.where(fine, up(start + error), np.inf),
        )

    def stack(self, parts: Sequence[Interval], horizontal: bool = True) -> Interval:
        axis = 2 if horizontal else 1
        return Interval(
            np.concatenate([p.lo for p in parts], axis=axis), np.concatenate([p.hi for p in parts], axis=axis)
        )

    def identity(self, size: int, like: Interval) -> Interval:
        unit = np.broadcast_to(np.eye(size), (like.lo.shape[0], size, size))
        return Interval(unit, unit)

    def size(self, a: Interval) -> tuple[int, int]:
        rows, columns = a.lo.shape[-2:]
        return int(rows), int(columns)

    def entry(self, a: Interval, i: int, j: int) -> Interval:
        return a[:, i, j]

    def entries(self, column: Interval) -> list[Interval]:
        return [column[:, i, 0] for i in range(column.lo.shape[1])]

    def where_defined(self, value: Interval, numbers: Sequence[Interval], at: Sequence[Interval]) -> list[Interval]:
        """Derivatives say nothing on bounded boxes on which the function itself is not proved to be bounded.

        A derivative can have a value where its function has none: 1/t at -1, for log.
        """
        bounded = np.isfinite([[z.lo, z.hi] for z in at]).all(axis=(0, 1))
        lost = bounded & ~(np.isfinite(value.lo) & np.isfinite(value.hi))
        if not lost.any():
            return list(numbers)
        return [Interval(np.where(lost, -np.inf, n.lo), np.where(lost, np.inf, n.hi)) for n in numbers]

    def where_differentiable(self, apart: Interval, matrix: Interval, x: Sequence[Interval]) -> Interval:
        """Nothing is known at points x where ``apart`` is not bounded; boxes keep the hull of both sides."""
        lost = np.logical_and.reduce([v.lo == v.hi for v in x]) & ~(np.isfinite(apart.lo) & np.isfinite(apart.hi))
        if not lost.any():
            return matrix
        where = lost[:, None, None]
        return Interval(np.where(where, -np.inf, matrix.lo), np.where(where, np.inf, matrix.hi))


class Balls:
    """Matrices of ``arb`` balls at the precision that holds in ``flint.ctx``."""

    arithmetic = ArbBalls()

    def matrix(self, rows: Sequence[Sequence[arb]], like: Sequence[arb]) -> arb_mat:
        import flint

        return flint.arb_mat(len(rows), len(rows[0]) if rows else 0, [entry for row in rows for entry in row])

    def number(self, value: arb, like: Sequence[arb]) -> arb:
        return value

    def product(self, a: arb_mat, b: arb_mat) -> arb_mat:
        return a * b

    def add(self, a: arb_mat, b: arb_mat) -> arb_mat:
        return a + b

    def subtract(self, a: arb_mat, b: arb_mat) -> arb_mat:
        return a - b

    def negate(self, a: arb_mat) -> arb_mat:
        return -a

    def scale(self, factor: arb, a: arb_mat) -> arb_mat:
        return a * factor

    def transpose(self, a: arb_mat) -> arb_mat:
        return a.transpose()

    def solve(self, a: arb_mat, b: arb_mat) -> arb_mat:
        if b.ncols() == 0:
            return b
        try:
            return a.solve(b)
        except ZeroDivisionError:
            raise MathematicalError(
                "nabla^2_yy g is singular (or not proved to be regular) at y*(x): what rests on its inverse, "
                "the hypergradient among it, is not defined there"
            ) from None

    def stack(self, parts: Sequence[arb_mat], horizontal: bool = True) -> arb_mat:
        import flint

        tables = [part.tolist() for part in parts]
        if not horizontal:
            rows = [row for table in tables for row in table]
        else:
            rows = [[entry for table in tables for entry in table[i]] for i in range(parts[0].nrows())]
        return flint.arb_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row])

    def identity(self, size: int, like: arb_mat) -> arb_mat:
        import flint

        return flint.arb_mat(size, size, [int(i == j) for i in range(size) for j in range(size)])

    def size(self, a: arb_mat) -> tuple[int, int]:
        return int(a.nrows()), int(a.ncols())

    def entry(self, a: arb_mat, i: int, j: int) -> arb:
        return a[i, j]

    def entries(self, column: arb_mat) -> list[arb]:
        return [column[i, 0] for i in range(column.nrows())]

    def where_defined(self, value: arb, numbers: Sequence[arb], at: Sequence[arb]) -> list[arb]:
        """The same numbers; NaN where the function itself is not proved to have a value, as log at -1."""
        import flint

        return list(numbers) if value.is_finite() else [flint.arb("nan")] * len(numbers)

    def where_differentiable(self, apart: arb, matrix: arb_mat, x: Sequence[arb]) -> arb_mat:
        """The same matrix; NaN where ``apart`` is not finite."""
        import flint

        if apart.is_finite():
            return matrix
        return flint.arb_mat(matrix.nrows(), matrix.ncols(), [flint.arb("nan")] * (matrix.nrows() * matrix.ncols()))


def middle_radius(box: Interval) -> tuple[FloatArray, FloatArray]:
    """Midpoint and outward-rounded radius; unbounded intervals have midpoint 0 and infinite radius."""
    finite = np.isfinite(box.lo) & np.isfinite(box.hi)
    with np.errstate(invalid="ignore", over="ignore"):
        middle = np.where(finite, 0.5 * box.lo + 0.5 * box.hi, 0.0)
        radius = np.where(finite, up(np.maximum(box.hi - middle, middle - box.lo)), np.inf)
    return middle, np.where(box.lo == box.hi, 0.0, radius)


def float_inverse(matrix: FloatArray) -> FloatArray:
    """Approximate inverses of a batch; zero matrices where there is none."""
    if matrix.shape[1] == 1:
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(matrix != 0, 1.0 / np.where(matrix == 0, 1.0, matrix), 0.0))
    try:
        return np.asarray(np.linalg.inv(matrix))
    except np.linalg.LinAlgError:
        out = np.zeros_like(matrix)
        for i, entry in enumerate(matrix):
            try:
                out[i] = np.linalg.inv(entry)
            except np.linalg.LinAlgError:
                continue
        return out
