"""Products of numbers of an arithmetic with matrices of floats, which are exact numbers here: one kernel an arithmetic.

A *column* holds one number for each sample of a chunk: an array (n, r) for n points, an interval of such arrays, a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.intervals.arithmetics import IntervalArithmetic
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import array_ends
from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.floats import Numpy
from bilevel_verify.numbers.rounding import UNIT, down, up
from bilevel_verify.symbolic.program import Program
from bilevel_verify.truth.arithmetic.algebra import Boxes

FloatArray = NDArray[np.float64]
BOXES = Boxes()


class Kernel(Protocol):
    """Columns of one arithmetic."""

    arithmetic: Any

    def points(self, inputs: Sequence[Any]) -> int:
        """How many points are evaluated at once."""

    def values(self, places: list[int], matrix: FloatArray, inputs: Sequence[Any]) -> Any:
        """The column ``matrix @ inputs[places]``."""

    def numbers(self, values: FloatArray, inputs: Sequence[Any]) -> Any:
        """A column of data."""

    def run(self, program: Program, columns: list[Any]) -> list[Any]:
        """A program at every sample."""

    def total(self, column: Any, forms: Any) -> Any:
        """The sum of a column."""

    def spread(self, column: Any, matrix: FloatArray) -> list[Any]:
        """``matrix' column``, entry by entry."""

    def gram(self, column: Any, left: FloatArray, right: FloatArray) -> list[list[Any]]:
        """``left' diag(column) right``, row by row."""


class FloatKernel:
    """Batches of points in NumPy, no error bounds."""

    def __init__(self, arithmetic: Any) -> None:
        self.arithmetic = arithmetic

    def points(self, inputs: Sequence[Any]) -> int:
        return max(1, *(np.size(z) for z in inputs))

    def values(self, places: list[int], matrix: FloatArray, inputs: Sequence[Any]) -> FloatArray:
        n = self.points(inputs)
        if not places:
            return np.zeros((n, len(matrix)))
        return np.stack([np.broadcast_to(inputs[p], (n,)) for p in places], axis=1) @ matrix.T

    def numbers(self, values: FloatArray, inputs: Sequence[Any]) -> FloatArray:
        return np.broadcast_to(values, (self.points(inputs), len(values)))

    def run(self, program: Program, columns: list[Any]) -> list[Any]:
        shape = np.shape(columns[0])
        return [np.broadcast_to(out, shape) for out in program.run(self.arithmetic, columns)]

    def total(self, column: FloatArray, forms: Any) -> FloatArray:
        return np.asarray(column.sum(axis=1))

    def spread(self, column: FloatArray, matrix: FloatArray) -> list[FloatArray]:
        return list((column @ matrix).T)

    def gram(self, column: FloatArray, left: FloatArray, right: FloatArray) -> list[list[FloatArray]]:
        return [list(((column * left[:, i]) @ right).T) for i in range(left.shape[1])]


class IntervalKernel:
    """Batches of boxes: products by midpoint and radius, sums with room for their rounding; all rounded outward."""

    def __init__(self, arithmetic: Any) -> None:
        self.arithmetic = arithmetic

    def points(self, inputs: Sequence[Interval]) -> int:
        return max(1, *(z.lo.size for z in inputs))

    def values(self, places: list[int], matrix: FloatArray, inputs: Sequence[Interval]) -> Interval:
        n = self.points(inputs)
        if not places:
            return Interval(np.zeros((n, len(matrix))), np.zeros((n, len(matrix))))
        lo, hi = (
            np.stack([np.broadcast_to(getattr(inputs[p], end), (n,)) for p in places], axis=1) for end in ("lo", "hi")
        )
        return BOXES.product(Interval(lo[:, None], hi[:, None]), _exact(matrix.T[None]))[:, 0]

    def numbers(self, values: FloatArray, inputs: Sequence[Interval]) -> Interval:
        return _exact(np.broadcast_to(values, (self.points(inputs), len(values))))

    def run(self, program: Program, columns: list[Interval]) -> list[Interval]:
        shape = columns[0].lo.shape
        with array_ends(), np.errstate(all="ignore"):
            found = program.run(self.arithmetic, columns)
        return [Interval(np.broadcast_to(out.lo, shape), np.broadcast_to(out.hi, shape)) for out in found]

    def total(self, column: Interval, forms: Any) -> Interval:
        room = (2 * column.lo.shape[1] + 4) * UNIT  # of any order of summation, and of the sum of the moduli
        with np.errstate(invalid="ignore", over="ignore"):
            low = column.lo.sum(axis=1) - up(np.abs(column.lo).sum(axis=1) * room)
            high = column.hi.sum(axis=1) + up(np.abs(column.hi).sum(axis=1) * room)
        return Interval.of(down(low), up(high))

    def spread(self, column: Interval, matrix: FloatArray) -> list[Interval]:
        found = BOXES.product(column[:, None], _exact(matrix[None]))
        return [found[:, 0, c] for c in range(matrix.shape[1])]

    def gram(self, column: Interval, left: FloatArray, right: FloatArray) -> list[list[Interval]]:
        weighted = _exact(left.T[None]) * column[:, None]
        found = BOXES.product(weighted, _exact(right[None]))
        return [[found[:, i, j] for j in range(right.shape[1])] for i in range(left.shape[1])]


def _exact(values: FloatArray) -> Interval:
    return Interval(values, values)


class ScalarKernel:
    """One point in an arithmetic of single numbers: columns are lists."""

    def __init__(self, arithmetic: Any) -> None:
        self.arithmetic = arithmetic

    def points(self, inputs: Sequence[Any]) -> int:
        return 1

    def values(self, places: list[int], matrix: FloatArray, inputs: Sequence[Any]) -> list[Any]:
        return self._times(matrix, [inputs[p] for p in places])

    def numbers(self, values: FloatArray, inputs: Sequence[Any]) -> list[Any]:
        return [self.arithmetic.constant(Fraction(value)) for value in values.tolist()]

    def run(self, program: Program, columns: list[Any]) -> list[Any]:
        rows = [program.run(self.arithmetic, list(sample)) for sample in zip(*columns, strict=True)]
        return [list(column) for column in zip(*rows, strict=True)]

    def total(self, column: list[Any], forms: Any) -> Any:
        first, *rest = column
        for entry in rest:
            first = self.arithmetic.add(first, entry)
        return first

    def spread(self, column: list[Any], matrix: FloatArray) -> list[Any]:
        return self._times(matrix.T, column)

    def gram(self, column: list[Any], left: FloatArray, right: FloatArray) -> list[list[Any]]:
        mul, constant = self.arithmetic.mul, self.arithmetic.constant
        return [
            self.spread([mul(constant(Fraction(a)), w) for a, w in zip(row, column, strict=True)], right)
            for row in left.T.tolist()
        ]

    def _times(self, matrix: FloatArray, vector: list[Any]) -> list[Any]:
        mul, constant = self.arithmetic.mul, self.arithmetic.constant
        zero = constant(Fraction(0))
        products = ([mul(constant(Fraction(a)), v) for a, v in zip(row, vector, strict=True)] for row in matrix.tolist())
        return [self.total(row, None) if row else zero for row in products]


class BallKernel(ScalarKernel):
    """One point in balls: the products are those of FLINT's matrices."""

    def gram(self, column: list[Any], left: FloatArray, right: FloatArray) -> list[list[Any]]:
        import flint

        weighted = [a * w for row in left.T.tolist() for a, w in zip(row, column, strict=True)]
        found = flint.arb_mat(left.shape[1], len(column), weighted) * _ball_matrix(right)
        return [list(row) for row in found.tolist()]

    def _times(self, matrix: FloatArray, vector: list[Any]) -> list[Any]:
        import flint

        if not vector:
            return [flint.arb(0)] * len(matrix)
        product = _ball_matrix(matrix) * flint.arb_mat(len(vector), 1, vector)
        return [row[0] for row in product.tolist()]


def _ball_matrix(matrix: FloatArray) -> Any:
    import flint

    return flint.arb_mat(*matrix.shape, matrix.ravel().tolist())


def kernel_of(arithmetic: Any) -> Kernel:
    """The kernel of an arithmetic; one of single numbers needs ``add``, ``mul`` and ``constant`` alone."""
    if isinstance(arithmetic, Numpy):
        return FloatKernel(arithmetic)
    if isinstance(arithmetic, IntervalArithmetic):
        return IntervalKernel(arithmetic)
    return BallKernel(arithmetic) if isinstance(arithmetic, ArbBalls) else ScalarKernel(arithmetic)
