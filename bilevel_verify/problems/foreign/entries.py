"""Arrays of SymPy expressions under the operations of array programs.

An array is a NumPy array of objects, each an exact expression (or a truth value of SymPy). What an operation only
*moves* (reshape, slices, transposes, gathered indices) is found by letting the foreign library move numbers of places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import sympy
from numpy.typing import NDArray

from bilevel_verify.errors import ProblemError
from bilevel_verify.problems.expression_arrays import exact_number, matrix_product
from bilevel_verify.problems.vocabulary import FUNCTIONS, maximum, minimum

Entries: TypeAlias = NDArray[np.object_]
MOST_ENTRIES = 200_000
"""Expressions that one formula may build on its way: beyond, it is not a closed formula that anybody reads."""


class Budget:
    """Counts the expressions that are built for one field."""

    def __init__(self, field: str) -> None:
        self.field, self.left = field, MOST_ENTRIES

    def spend(self, count: int) -> None:
        """Take ``count`` expressions.

        Raises
        ------
        ProblemError : more than ``MOST_ENTRIES`` in all.
        """
        self.left -= count
        if self.left < 0:
            raise ProblemError(
                f"{self.field}: more than {MOST_ENTRIES} operations; state it as text, where sums over data stay sums"
            )


def entries(values: object) -> Entries:
    """Numbers (of any shape) as exact expressions; infinities and NaN stay what they are, for a branch may drop them.

    Decimals are read as they print: 0.1 is 1/10.
    """
    array = np.asarray(values)
    if array.dtype == object:
        return array
    result = np.empty(array.shape, dtype=object)
    for place in np.ndindex(array.shape):
        result[place] = _number(array[place])
    return result


def _number(value: object) -> sympy.Basic:
    if isinstance(value, bool | np.bool_):
        return sympy.true if value else sympy.false
    number = float(value) if isinstance(value, np.floating) else value
    if isinstance(number, float) and not np.isfinite(number):
        return sympy.nan if number != number else sympy.oo if number > 0 else -sympy.oo
    return exact_number(number)


def elementwise(function: Callable[..., sympy.Basic], *operands: Entries) -> Entries:
    """Entry by entry, with NumPy's broadcasting."""
    together = np.broadcast_arrays(*operands)
    result = np.empty(together[0].shape, dtype=object)
    for place in np.ndindex(result.shape):
        result[place] = function(*(operand[place] for operand in together))
    return result


def reduced(function: Callable[..., sympy.Basic], operand: Entries, axes: Sequence[int]) -> Entries:
    """All entries along the axes as the arguments of one function."""
    kept = [axis for axis in range(operand.ndim) if axis not in axes]
    rows = operand.transpose([*kept, *axes]).reshape((*(operand.shape[axis] for axis in kept), -1))
    result = np.empty(rows.shape[:-1], dtype=object)
    for place in np.ndindex(result.shape):
        result[place] = function(*rows[place])
    return result


def product(left: Entries, right: Entries) -> Entries:
    """``left @ right`` of vectors and matrices."""
    return entries(matrix_product(left, right))


def moved(operation: Callable[..., object], operands: Sequence[Entries], field: str, what: str) -> Entries:
    """The result of an operation that copies entries of its operands, found by letting it copy their numbers.

    Raises
    ------
    ProblemError : a place of the result that is a copy of none of them (an index beyond the end).
    """
    pool = [entry for operand in operands for entry in operand.reshape(-1)]
    places, shifted = (np.asarray(operation(*_numbered(operands, first))) for first in (0, len(pool)))
    # what does not move with the numbers is no copy: a number that stands in for places beyond the end
    if places.size and not (np.all(shifted - places == len(pool)) and np.all((places >= 0) & (places < len(pool)))):
        raise ProblemError(f"{field}: {what} reads beyond the end of an array")
    result = np.empty(places.shape, dtype=object)
    for place in np.ndindex(places.shape):
        result[place] = pool[int(places[place])]
    return result


def _numbered(operands: Sequence[Entries], first: int) -> list[NDArray[np.int_]]:
    """Arrays of the same shapes, their entries numbered one after the other."""
    found = []
    for operand in operands:
        found.append(np.arange(first, first + operand.size).reshape(operand.shape))
        first += operand.size
    return found


def largest(*values: sympy.Expr) -> sympy.Expr:
    """``max``; minus infinity, where such loops begin, is no competitor."""
    return _extreme(maximum, -sympy.oo, values)


def smallest(*values: sympy.Expr) -> sympy.Expr:
    """``min``; infinity is no competitor."""
    return _extreme(minimum, sympy.oo, values)


def _extreme(function: Callable[..., sympy.Expr], nothing: sympy.Expr, values: Sequence[sympy.Expr]) -> sympy.Expr:
    finite = [value for value in values if value != nothing]
    return function(*finite) if finite else nothing


def scalar_function(name: str) -> Callable[[sympy.Expr], sympy.Expr]:
    """A function of one argument of the problem language."""
    count, function = FUNCTIONS[name]
    if count != 1:
        raise KeyError(name)
    return function


def scalar(result: Entries, field: str) -> sympy.Expr:
    """The one expression of a formula that has been read.

    Raises
    ------
    ProblemError : not a scalar, a truth value, or a number that is not finite.
    """
    if result.size != 1:
        raise ProblemError(f"{field} must be a scalar, and this one has shape {result.shape}")
    value = result.reshape(-1)[0]
    if not isinstance(value, sympy.Expr):
        raise ProblemError(f"{field} must be a number, not a truth value")
    if value.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo):
        raise ProblemError(f"{field} contains an undefined or infinite number")
    return value
