"""Formulas of matrices at rational matrices: exact entries, and enclosures of norms between two fractions.

The squared spectral norm of A is at least the Rayleigh quotient of any rational vector, and at most t if t*I - A'A is
positive definite, which elimination in fractions decides. Nothing is rounded but ends of enclosures, outward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TypeAlias

import numpy as np

from bilevel_verify.language import tree

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]
"""Rows; a vector has one column."""
FINE = 10**12


class NoValue(Exception):
    """A formula without a value at these matrices: a singular inverse, a division by zero, shapes that do not fit."""


@dataclass(frozen=True, slots=True)
class Ends:
    """An enclosure of a number."""

    low: Fraction
    high: Fraction

    def __add__(self, other: Ends) -> Ends:
        return Ends(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Ends:
        return Ends(-self.high, -self.low)

    def __mul__(self, other: Ends) -> Ends:
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Ends(min(products), max(products))

    def inverse(self) -> Ends:
        """One over it.

        Raises
        ------
        NoValue : it may be zero.
        """
        if self.low <= 0 <= self.high:
            raise NoValue("a division by zero")
        return Ends(1 / self.high, 1 / self.low)


Value: TypeAlias = Matrix | Ends


def evaluate(node: tree.Node, at: Mapping[str, Value]) -> Value:
    """The value of a formula: a matrix, or an enclosure of a number.

    Raises
    ------
    NoValue : it has none at these matrices, or is no formula of matrices.
    """
    match node:
        case tree.Number(value=value):
            return Ends(value, value)
        case tree.Letter(name=name) if name in at:
            return at[name]
        case tree.Negate(operand=inner):
            return scaled(evaluate(inner, at), Ends(Fraction(-1), Fraction(-1)))
        case tree.Add(terms=terms):
            total = evaluate(terms[0], at)
            for term in terms[1:]:
                total = added(total, evaluate(term, at))
            return total
        case tree.Multiply(factors=factors):
            found = evaluate(factors[0], at)
            for factor in factors[1:]:
                found = times(found, evaluate(factor, at))
            return found
        case tree.MatrixMultiply(left=left, right=right):
            return times(evaluate(left, at), evaluate(right, at))
        case tree.Divide(numerator=top, denominator=bottom):
            return scaled(evaluate(top, at), number(evaluate(bottom, at)).inverse())
        case tree.Power(base=base, exponent=exponent) if (count := whole(exponent)) is not None:
            return power(evaluate(base, at), count)
        case tree.Call(function=name, arguments=arguments):
            return _call(name, [evaluate(a, at) for a in arguments])
    raise NoValue(f"{type(node).__name__} is no formula of matrices")


def whole(node: tree.Node) -> int | None:
    """The whole number that an exponent prints; None if it is none."""
    match node:
        case tree.Number(value=value) if value.denominator == 1:
            return int(value)
        case tree.Negate(operand=tree.Number(value=value)) if value.denominator == 1:
            return -int(value)
    return None


def _call(name: str, held: list[Value]) -> Value:
    first = held[0]
    if name in ("max", "min"):
        ends, best = [number(h) for h in held], max if name == "max" else min
        return Ends(best(e.low for e in ends), best(e.high for e in ends))
    if name == "dot" and isinstance(first, tuple) and isinstance(held[1], tuple):
        return _single(times(transposed(first), held[1]))
    if isinstance(first, Ends):
        if name in ("norm", "abs"):
            low, high = sorted((abs(first.low), abs(first.high)))
            return Ends(Fraction(0) if first.low <= 0 <= first.high else low, high)
        if name in ("sqrt", "inv", "T"):
            return root(first) if name == "sqrt" else first.inverse() if name == "inv" else first
        raise NoValue(f"{name} of a number")
    match name:
        case "norm":
            return norm(first)
        case "frobenius":
            return _frobenius(first)
        case "T":
            return transposed(first)
        case "inv":
            return inverse(first)
    raise NoValue(f"{name} is not known of matrices")


def _frobenius(value: Matrix) -> Ends:
    total = sum((x * x for row in value for x in row), Fraction(0))
    return root(Ends(total, total))


def number(value: Value) -> Ends:
    """A value that is a number; a matrix with one entry is one.

    Raises
    ------
    NoValue : it is a matrix.
    """
    return value if isinstance(value, Ends) else _single(value)


def _single(value: Value) -> Ends:
    if isinstance(value, Ends):
        return value
    if len(value) != 1 or len(value[0]) != 1:
        raise NoValue("a matrix where a number is needed")
    return Ends(value[0][0], value[0][0])


def added(one: Value, other: Value) -> Value:
    """The sum of two numbers or of two matrices of one shape."""
    if isinstance(one, Ends) and isinstance(other, Ends):
        return one + other
    if isinstance(one, Ends) or isinstance(other, Ends) or len(one) != len(other) or len(one[0]) != len(other[0]):
        raise NoValue("a sum of different shapes")
    return tuple(tuple(a + b for a, b in zip(r, s)) for r, s in zip(one, other))


def scaled(value: Value, factor: Ends) -> Value:
    """A number or matrix times a number; a matrix only times an exact one."""
    if isinstance(value, Ends):
        return value * factor
    if factor.low != factor.high:
        raise NoValue("a matrix times a norm is not exact")
    return tuple(tuple(factor.low * a for a in row) for row in value)


def times(one: Value, other: Value) -> Value:
    """The product, in this order."""
    if isinstance(one, Ends):
        return scaled(other, one)
    if isinstance(other, Ends):
        return scaled(one, other)
    if len(one[0]) != len(other):
        raise NoValue("a product of shapes that do not fit")
    columns = list(zip(*other))
    return tuple(tuple(sum((a * b for a, b in zip(row, c)), Fraction(0)) for c in columns) for row in one)


def power(base: Value, exponent: int) -> Value:
    """A whole power of a number or a square matrix."""
    if exponent < 0:
        return power(base.inverse() if isinstance(base, Ends) else inverse(base), -exponent)
    if isinstance(base, Ends):
        if exponent == 2:
            low, high = sorted((abs(base.low), abs(base.high)))
            return Ends(Fraction(0) if base.low <= 0 <= base.high else low * low, high * high)
        found = Ends(Fraction(1), Fraction(1))
        for _ in range(exponent):
            found = found * base
        return found
    result: Value = identity(len(base))
    for _ in range(exponent):
        result = times(result, base)
    return result


def identity(size: int) -> Matrix:
    """The identity."""
    return tuple(tuple(Fraction(int(i == j)) for j in range(size)) for i in range(size))


def transposed(value: Matrix) -> Matrix:
    """Rows as columns."""
    return tuple(zip(*value))


def inverse(value: Matrix) -> Matrix:
    """The inverse, by elimination.

    Raises
    ------
    NoValue : it is not square, or singular.
    """
    size = len(value)
    if size != len(value[0]):
        raise NoValue("the inverse of a matrix that is not square")
    rows = [[*row, *one] for row, one in zip(value, identity(size))]
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot is None:
            raise NoValue("the inverse of a singular matrix")
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k])]
    return tuple(tuple(row[size:]) for row in rows)


def root(value: Ends) -> Ends:
    """The square root, outward.

    Raises
    ------
    NoValue : it may be negative.
    """
    if value.low < 0:
        raise NoValue("the root of a negative number")
    scale = FINE * FINE
    low, high = isqrt(int(value.low * scale)), isqrt(int(value.high * scale))
    return Ends(Fraction(low, FINE), Fraction(high + (high * high < value.high * scale), FINE))


def norm(value: Matrix) -> Ends:
    """The spectral norm (Euclidean of a vector), between two fractions."""
    square = times(transposed(value), value)
    assert isinstance(square, tuple)
    if len(square) == 1:
        return root(_single(square))
    trace = sum((square[i][i] for i in range(len(square))), Fraction(0))
    if not trace:
        return Ends(Fraction(0), Fraction(0))
    _, vectors = np.linalg.eigh(np.array([[float(x / trace) for x in row] for row in square]))
    v = tuple((Fraction(float(x)).limit_denominator(10**7),) for x in vectors[:, -1])
    top, bottom = (_single(times(transposed(v), w)).low for w in (times(square, v), v))
    low = top / bottom
    for slack in (Fraction(1, 10**9), Fraction(1, 10**5), Fraction(1, 100)):
        if _positive(square, low * (1 + slack)):
            return root(Ends(low, low * (1 + slack)))
    return root(Ends(low, trace))


def _positive(square: Matrix, bound: Fraction) -> bool:
    """Whether ``bound*I - square`` is positive definite."""
    rows = (tuple((bound if i == j else 0) - x for j, x in enumerate(row)) for i, row in enumerate(square))
    return positive_definite(tuple(rows))


def positive_definite(value: Matrix) -> bool:
    """Whether a symmetric matrix is positive definite: all pivots of elimination are positive."""
    size, rows = len(value), [list(row) for row in value]
    for k in range(size):
        if rows[k][k] <= 0:
            return False
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[k])]
    return True
