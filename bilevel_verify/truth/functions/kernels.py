"""Products of numbers of an arithmetic with matrices of floats, which are exact numbers here: one kernel an arithmetic.

A *column* holds one number for each sample of a chunk: an array (n, r) for n points, an interval of them, a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bilevel_verify.intervals.arithmetics import IntervalArithmetic
from bilevel_verify.intervals.batch import Interval
from bilevel_verify.intervals.elementary import array_ends
from bilevel_verify.numbers.arithmetic import Arithmetic, T
from bilevel_verify.numbers.balls import ArbBalls
from bilevel_verify.numbers.floats import Numpy
from bilevel_verify.numbers.rounding import UNDERFLOW, UNIT, down, up
from bilevel_verify.symbolic.program import Program
from bilevel_verify.truth.arithmetic.algebra import Boxes, middle_radius

if TYPE_CHECKING:
    import flint

FloatArray = NDArray[np.float64]
BOXES = Boxes()


N = TypeVar("N")
"""A number of an arithmetic: what it evaluates programs on."""
C = TypeVar("C")
"""A column."""
P = TypeVar("P")
"""A part."""


class Kernel(Protocol[N, C, P]):
    """Columns of one arithmetic, and *parts*: value, gradients and Hessians of a chunk, kept whole until the end."""

    arithmetic: Any

    def points(self, inputs: Sequence[N]) -> int:
        """How many points are evaluated at once."""

    def values(self, places: tuple[int, ...], matrix: FloatArray, inputs: Sequence[N]) -> C:
        """The column ``matrix @ inputs[places]``."""

    def numbers(self, values: FloatArray, inputs: Sequence[N]) -> C:
        """A column of data."""

    def run(self, program: Program, columns: list[C]) -> list[C]:
        """A program at every sample."""

    def total(self, column: C) -> P:
        """The sum of a column, a part of one entry."""

    def spread(self, column: C, matrix: FloatArray) -> P:
        """``matrix' column``, a part of one column."""

    def gram(self, column: C, left: FloatArray, right: FloatArray) -> P:
        """``left' diag(column) right``."""

    def plus(self, a: P, b: P) -> P:
        """The sum of two parts."""

    def transposed(self, part: P) -> P:
        """A part with rows and columns exchanged."""

    def entries(self, part: P) -> list[list[N]]:
        """The numbers of a part, row by row."""


class FloatKernel:
    """Batches of points in NumPy, no error bounds; parts are arrays (n, rows, columns)."""

    def __init__(self, arithmetic: Numpy) -> None:
        self.arithmetic = arithmetic

    def points(self, inputs: Sequence[FloatArray]) -> int:
        return max(1, *(np.size(z) for z in inputs))

    def values(self, places: tuple[int, ...], matrix: FloatArray, inputs: Sequence[FloatArray]) -> FloatArray:
        n = self.points(inputs)
        if not places:
            return np.zeros((n, len(matrix)))
        return np.stack([np.broadcast_to(inputs[p], (n,)) for p in places], axis=1) @ matrix.T

    def numbers(self, values: FloatArray, inputs: Sequence[FloatArray]) -> FloatArray:
        return np.broadcast_to(values, (self.points(inputs), len(values)))

    def run(self, program: Program, columns: list[FloatArray]) -> list[FloatArray]:
        shape = np.shape(columns[0])
        return [np.broadcast_to(out, shape) for out in program.run(self.arithmetic, columns)]

    def total(self, column: FloatArray) -> FloatArray:
        return np.asarray(column.sum(axis=1))[:, None, None]

    def spread(self, column: FloatArray, matrix: FloatArray) -> FloatArray:
        return np.asarray(column @ matrix)[:, :, None]

    def gram(self, column: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
        return np.stack([(column * left[:, i]) @ right for i in range(left.shape[1])], axis=1)

    def plus(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return a + b

    def transposed(self, part: FloatArray) -> FloatArray:
        return np.swapaxes(part, 1, 2)

    def entries(self, part: FloatArray) -> list[list[FloatArray]]:
        return [[part[:, i, j] for j in range(part.shape[2])] for i in range(part.shape[1])]


class IntervalKernel:
    """Batches of boxes: products by midpoint and radius, sums with room for their rounding; all rounded outward."""

    def __init__(self, arithmetic: IntervalArithmetic) -> None:
        self.arithmetic = arithmetic

    def points(self, inputs: Sequence[Interval]) -> int:
        return max(1, *(z.lo.size for z in inputs))

    def values(self, places: tuple[int, ...], matrix: FloatArray, inputs: Sequence[Interval]) -> Interval:
        n = self.points(inputs)
        if not places:
            return Interval(np.zeros((n, len(matrix))), np.zeros((n, len(matrix))))
        lo, hi = (
            np.stack([np.broadcast_to(getattr(inputs[p], end), (n,)) for p in places], axis=1) for end in ("lo", "hi")
        )
        return _product(Interval(lo, hi), None, matrix.T)[:, 0]

    def numbers(self, values: FloatArray, inputs: Sequence[Interval]) -> Interval:
        return _exact(np.broadcast_to(values, (self.points(inputs), len(values))))

    def run(self, program: Program, columns: list[Interval]) -> list[Interval]:
        shape = columns[0].lo.shape
        with array_ends(), np.errstate(all="ignore"):
            found = program.run(self.arithmetic, columns)
        return [Interval(np.broadcast_to(out.lo, shape), np.broadcast_to(out.hi, shape)) for out in found]

    def total(self, column: Interval) -> Interval:
        room = (2 * column.lo.shape[1] + 4) * UNIT  # of any order of summation, and of the sum of the moduli
        with np.errstate(invalid="ignore", over="ignore"):
            low = column.lo.sum(axis=1) - up(np.abs(column.lo).sum(axis=1) * room)
            high = column.hi.sum(axis=1) + up(np.abs(column.hi).sum(axis=1) * room)
        return Interval.of(down(low), up(high))[:, None, None]

    def spread(self, column: Interval, matrix: FloatArray) -> Interval:
        return BOXES.transpose(_product(column, None, matrix))

    def gram(self, column: Interval, left: FloatArray, right: FloatArray) -> Interval:
        return _product(column, left.T, right)

    def plus(self, a: Interval, b: Interval) -> Interval:
        return a + b

    def transposed(self, part: Interval) -> Interval:
        return BOXES.transpose(part)

    def entries(self, part: Interval) -> list[list[Interval]]:
        return [[part[:, i, j] for j in range(part.shape[2])] for i in range(part.shape[1])]


def _exact(values: FloatArray) -> Interval:
    return Interval(values, values)


@np.errstate(invalid="ignore", over="ignore")
def _product(column: Interval, left: FloatArray | None, right: FloatArray) -> Interval:
    """``left diag(column) right`` for intervals (n, k) and exact matrices (no ``left``: a row of ones): (n, rows, ...).

    Midpoint and radius (Rump): k + 1 roundings of each term, one more for the factor on the left.
    """
    middle, radius = middle_radius(column)
    k, largest = right.shape[0], float(np.abs(right).max(initial=1.0))
    if left is None:
        weighted, size, spread = middle[:, None], np.abs(middle)[:, None], radius[:, None]
    else:
        weighted = middle[:, None] * left
        size, spread = np.abs(weighted), radius[:, None] * np.abs(left)
    modulus = np.abs(right)
    room = (spread @ modulus) * (1 + (4 * k + 12) * UNIT) + (size @ modulus) * ((2 * k + 8) * UNIT)
    room = up(room + (k + 2) * UNDERFLOW * largest)
    found = weighted @ right
    low, high = down(found - room), up(found + room)
    lost = ~np.isfinite(low) | ~np.isfinite(high)
    return Interval(np.where(lost, -np.inf, low), np.where(lost, np.inf, high))


class ScalarKernel(Generic[N]):
    """One point in an arithmetic of single numbers: columns are lists, parts lists of rows."""

    def __init__(self, arithmetic: Arithmetic[N, T]) -> None:
        self.arithmetic: Any = arithmetic

    def points(self, inputs: Sequence[N]) -> int:
        return 1

    def values(self, places: tuple[int, ...], matrix: FloatArray, inputs: Sequence[N]) -> list[N]:
        return self._times(matrix, [inputs[p] for p in places])

    def numbers(self, values: FloatArray, inputs: Sequence[N]) -> list[N]:
        return [self.arithmetic.constant(Fraction(value)) for value in values.tolist()]

    def run(self, program: Program, columns: list[list[N]]) -> list[list[N]]:
        rows = [program.run(self.arithmetic, list(sample)) for sample in zip(*columns, strict=True)]
        return [list(column) for column in zip(*rows, strict=True)]

    def total(self, column: list[N]) -> list[list[N]]:
        return [[reduce(self.arithmetic.add, column)]]

    def spread(self, column: list[N], matrix: FloatArray) -> list[list[N]]:
        return [[entry] for entry in self._times(matrix.T, column)]

    def gram(self, column: list[N], left: FloatArray, right: FloatArray) -> list[list[N]]:
        mul, constant = self.arithmetic.mul, self.arithmetic.constant
        return [
            self._times(right.T, [mul(constant(Fraction(a)), w) for a, w in zip(row, column, strict=True)])
            for row in left.T.tolist()
        ]

    def plus(self, a: list[list[N]], b: list[list[N]]) -> list[list[N]]:
        return [list(map(self.arithmetic.add, one, other)) for one, other in zip(a, b, strict=True)]

    def transposed(self, part: list[list[N]]) -> list[list[N]]:
        return [list(column) for column in zip(*part, strict=True)]

    def entries(self, part: list[list[N]]) -> list[list[N]]:
        return part

    def _times(self, matrix: FloatArray, vector: list[N]) -> list[N]:
        mul, add, constant = self.arithmetic.mul, self.arithmetic.add, self.arithmetic.constant
        if not vector:
            return [constant(Fraction(0))] * len(matrix)
        rows = matrix.tolist()
        return [reduce(add, (mul(constant(Fraction(a)), v) for a, v in zip(row, vector, strict=True))) for row in rows]


class BallKernel(ScalarKernel["flint.arb"]):
    """One point in balls: the products are those of FLINT's matrices."""

    def gram(self, column: list[flint.arb], left: FloatArray, right: FloatArray) -> list[list[flint.arb]]:
        import flint

        weighted = [a * w for row in left.T.tolist() for a, w in zip(row, column, strict=True)]
        found = flint.arb_mat(left.shape[1], len(column), weighted) * _ball_matrix(right)
        return [list(row) for row in found.tolist()]

    def _times(self, matrix: FloatArray, vector: list[flint.arb]) -> list[flint.arb]:
        import flint

        if not vector:
            return [flint.arb(0)] * len(matrix)
        product = _ball_matrix(matrix) * flint.arb_mat(len(vector), 1, vector)
        return [row[0] for row in product.tolist()]


def _ball_matrix(matrix: FloatArray) -> flint.arb_mat:
    import flint

    rows, columns = matrix.shape
    return flint.arb_mat(rows, columns, matrix.ravel().tolist())


def kernel_of(arithmetic: Any) -> Kernel[Any, Any, Any]:
    """The kernel of an arithmetic; one of single numbers needs ``add``, ``mul`` and ``constant`` alone."""
    if isinstance(arithmetic, Numpy):
        return FloatKernel(arithmetic)
    if isinstance(arithmetic, IntervalArithmetic):
        return IntervalKernel(arithmetic)
    return BallKernel(arithmetic) if isinstance(arithmetic, ArbBalls) else ScalarKernel(arithmetic)
