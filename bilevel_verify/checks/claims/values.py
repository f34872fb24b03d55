"""What an expression of a card can be worth: exact rationals, balls, vectors and matrices of balls, and answers.

A scalar is a :class:`fractions.Fraction` while it is exact, and an ``arb`` ball of python-flint otherwise. A ball whose
radius is zero is exact too: sums and products of floats stay exact as long as they fit the working precision, so that
two printed sides that are equal compare as equal. Nothing here rounds inwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flint import arb

from bilevel_verify.errors import MathematicalError
from bilevel_verify.numbers import exact, trees
from bilevel_verify.numbers.exact import Scalar as Scalar
from bilevel_verify.numbers.exact import ends as ends
from bilevel_verify.numbers.exact import middle as middle
from bilevel_verify.numbers.logic import Answer as Answer
from bilevel_verify.numbers.logic import conjunction as conjunction
from bilevel_verify.numbers.logic import disjunction as disjunction
from bilevel_verify.numbers.rounding import ball as ball
from bilevel_verify.numbers.trees import RELATIONS


class EvaluationError(MathematicalError):
    """An expression that has no value here; ``reason`` is that of a verdict (``precision``, ``not recorded``)."""


class NoStepError(EvaluationError):
    """An iterate of a last epoch that began and made no step: the run has none, so that no claim is about it."""

    @property
    def reason(self) -> str:
        """Why there is no value."""
        return str(self)


@dataclass(frozen=True, slots=True)
class Vector:
    """A point or a gradient: a tuple of balls."""

    entries: tuple[arb, ...]

    def __len__(self) -> int:
        return len(self.entries)


@dataclass(frozen=True, slots=True)
class Matrix:
    """A Hessian or a Jacobian, row by row."""

    rows: tuple[tuple[arb, ...], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, columns."""
        return len(self.rows), len(self.rows[0]) if self.rows else 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """A three-way tensor: its slices along the first index, matrices of one shape."""

    slices: tuple[Matrix, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Sizes of the three indices."""
        return len(self.slices), *(self.slices[0].shape if self.slices else (0, 0))


Value: TypeAlias = "Scalar | Vector | Matrix | Tensor | bool | None"
Bound: TypeAlias = "trees.Bound[Value]"
Evaluate: TypeAlias = "trees.Evaluate[Value]"


def vector(numbers: Iterable[object]) -> Vector:
    """Exact vector of floats (or whatever :func:`~bilevel_verify.numbers.rounding.ball` takes)."""
    return Vector(tuple(ball(number) for number in numbers))


def enclose(value: float, error: float) -> arb:
    """The ball ``value +- error``."""
    return arb(float(value), float(error))


def is_exact(value: Scalar) -> bool:
    """Whether a scalar is known exactly."""
    return isinstance(value, Fraction) or bool(value.is_exact())


# --- arithmetic -------------------------------------------------------------------------------------------------------


NUMBERS = frozenset((Fraction, arb))
"""Types of scalars. Asking for them is quick; ``isinstance`` of a ``Fraction`` is not, where it is none."""


def add(left: Value, right: Value) -> Value:
    """Sum of two scalars, vectors or matrices of one shape."""
    if type(left) is type(right) is arb:  # most of what a run is judged with
        return left + right
    if type(left) in NUMBERS and type(right) in NUMBERS:
        return exact.add(left, right)  # type: ignore[arg-type]
    match left, right:
        case Vector(), Vector():
            same_shape(len(left), len(right))
            return Vector(tuple(a + b for a, b in zip(left.entries, right.entries)))
        case Matrix(), Matrix():
            same_shape(left.shape, right.shape)
            return Matrix(tuple(tuple(a + b for a, b in zip(r, s)) for r, s in zip(left.rows, right.rows)))
        case Tensor(), Tensor():
            same_shape(left.shape, right.shape)
            return Tensor(tuple(_as_matrix(add(a, b)) for a, b in zip(left.slices, right.slices)))
        case Vector() | Matrix() | Tensor(), Fraction() if right == 0:
            return left
        case Fraction(), Vector() | Matrix() | Tensor() if left == 0:
            return right
    return exact.add(as_scalar(left), as_scalar(right))


def negate(value: Value) -> Value:
    """The negative of a scalar, vector or matrix."""
    if type(value) in NUMBERS:
        return -value  # type: ignore
    match value:
        case Vector(entries):
            return Vector(tuple(-a for a in entries))
        case Matrix(rows):
            return Matrix(tuple(tuple(-a for a in row) for row in rows))
        case Tensor(slices):
            return Tensor(tuple(_as_matrix(negate(part)) for part in slices))
    return -as_scalar(value)


def multiply(left: Value, right: Value) -> Value:
    """Product of scalars, or of a scalar with a vector, matrix or tensor (``*`` of the language)."""
    if type(left) is type(right) is arb:
        return left * right
    if type(left) in NUMBERS and type(right) in NUMBERS:
        return right if _is_one(left) else left if _is_one(right) else exact.multiply(left, right)  # type: ignore[arg-type]
    match left, right:
        case Vector() | Matrix() | Tensor(), Vector() | Matrix() | Tensor():
            raise EvaluationError("'*' between two vectors or matrices; '@' or dot is meant")
        case _, Fraction() if right == 1:
            return left
        case Fraction(), _ if left == 1:
            return right
        case Vector() | Matrix() | Tensor(), _:
            return multiply(right, left)
        case _, Tensor(slices):
            return Tensor(tuple(_as_matrix(multiply(scalar_ball(left), part)) for part in slices))
        case _, Vector(entries):
            factor = scalar_ball(left)
            return Vector(tuple(factor * a for a in entries))
        case _, Matrix(rows):
            factor = scalar_ball(left)
            return Matrix(tuple(tuple(factor * a for a in row) for row in rows))
    return exact.multiply(as_scalar(left), as_scalar(right))


def divide(top: Value, bottom: Value) -> Value:
    """Quotient; a denominator that may be zero has no value."""
    if _is_one(bottom):
        return top
    if type(top) not in NUMBERS and isinstance(top, Vector | Matrix | Tensor):
        return multiply(exact.divide(Fraction(1), as_scalar(bottom)), top)
    return exact.divide(as_scalar(top), as_scalar(bottom))


def power(base: Value, exponent: Value) -> Scalar:
    """Real power of a scalar; a rational where it is one."""
    foot, height = as_scalar(base), as_scalar(exponent)
    if height == Fraction(1, 2):
        return square_root(foot)
    return exact.power(foot, height)


def square_root(value: Value) -> Scalar:
    """Square root; an exact rational square stays exact, a ball that dips below zero by rounding is cut there."""
    if type(value) is Fraction:
        return exact.power(value, Fraction(1, 2))
    number = scalar_ball(value)
    if number < 0:
        raise EvaluationError("the square root of a negative number")
    if number >= 0:
        return number.sqrt()
    if not number.is_finite():
        raise EvaluationError("precision")
    return arb(0).union(arb(number.upper()).sqrt())


def as_scalar(value: Any) -> Scalar:
    """A scalar as it is, exact or not; vectors, matrices and answers are refused."""
    return value if type(value) in NUMBERS else scalar_ball(value)


def scalar_ball(value: object) -> arb:
    """A scalar as a ball; vectors, matrices and answers are refused."""
    if isinstance(value, arb):
        return value
    if isinstance(value, Fraction):
        converted: arb = ball(value)
        return converted
    if isinstance(value, Vector) and len(value) == 1:
        return value.entries[0]
    raise EvaluationError(f"a number was expected, not a {type(value).__name__.lower()}")


def same_shape(left: object, right: object) -> None:
    """Refuse operands that do not fit."""
    if left != right:
        raise EvaluationError(f"shapes {left} and {right} do not fit")


def _as_matrix(value: Value) -> Matrix:
    assert isinstance(value, Matrix)
    return value


def is_zero(value: Value) -> bool:
    """Whether a value is exactly zero."""
    if type(value) is arb:
        return bool(value.is_zero())
    if type(value) is Fraction:
        return not value.numerator
    return type(value) is Vector and all(a.is_zero() for a in value.entries)


def _is_one(value: Value) -> bool:
    return type(value) is Fraction and value.numerator == value.denominator


# --- answers ----------------------------------------------------------------------------------------------------------


def compare(left: Value, operator: str, right: Value) -> Answer:
    """``left operator right`` for certain, its opposite for certain, or None. NaN is never True."""
    op, turned = RELATIONS[operator]
    return VALUES.compare(op, right, left) if turned else VALUES.compare(op, left, right)


def integer(value: Value, what: str) -> int:
    """An index or a range end; a ball that holds one integer only is that integer if it is exact."""
    return exact.integer(as_scalar(value), what)


def index_at(bound: Bound, name: str, default: int | None = None) -> int:
    """The integer that an index is bound to.

    Raises
    ------
    KeyError : it is not bound, and there is no default.
    """
    found = bound[name] if default is None else bound.get(name, default)
    return found if isinstance(found, int) else integer(found, name)


def floor_of(value: Value, upwards: bool = False) -> Scalar:
    """``floor`` (or ``ceil``) of a scalar; a ball of both answers where it straddles an integer."""
    return exact.rounded(as_scalar(value), upwards)


class Values(exact.Exact):
    """Scalars, vectors, matrices and tensors as an arithmetic; wider than that of scalars, hence the overrides."""

    add, mul, div = staticmethod(add), staticmethod(multiply), staticmethod(divide)  # type: ignore[assignment]
    power, raised, integer = staticmethod(power), staticmethod(power), staticmethod(integer)

    def neg(self, a: Value) -> Value:  # type: ignore[override]
        return negate(a)

    def named(self, name: str) -> Scalar:
        return arb.pos_inf() if name == "oo" else super().named(name)

    def floor(self, a: Value) -> Scalar:
        return floor_of(a)

    def ceil(self, a: Value) -> Scalar:
        return floor_of(a, upwards=True)

    def maximum(self, a: Value, b: Value) -> Scalar:
        return exact.larger(as_scalar(a), as_scalar(b))

    def minimum(self, a: Value, b: Value) -> Scalar:
        return exact.smaller(as_scalar(a), as_scalar(b))

    def compare(self, op: str, a: Value, b: Value) -> Answer:
        """One object compared with itself is one number, however wide its ball."""
        if a is b and isinstance(a, arb) and a.is_finite():
            return op != "lt"
        return exact.relation(op, as_scalar(a), as_scalar(b))

    def select(self, test: Answer, yes: Value, no: Value) -> Value:  # type: ignore[override]
        return super().select(test, as_scalar(yes), as_scalar(no)) if test is None else yes if test else no


VALUES = Values()
