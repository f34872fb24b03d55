"""Numbers and vectors of a literal run: Python floats or mpmath, one interpreter for both.

Integers and quotients of integers stay exact, so that an index such as ``floor(K/2)`` is what the paper means;
everything that touches a real number becomes a number of the field.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import mpmath

Number: TypeAlias = "int | Fraction | float | mpmath.mpf"
"""``int``, ``Fraction`` (exact), or a number of the field (``float``, ``mpmath.mpf``)."""
Value = Any
"""A number, a vector (one-dimensional array of the field) or a matrix."""


class Field(Protocol):
    """The real numbers of a run."""

    def number(self, value: Any) -> Number:
        """Convert an exact number, a float or a decimal text."""

    def vector(self, values: Sequence[Any]) -> Any:
        """A one-dimensional array of numbers of the field."""

    def function(self, name: str, value: Number) -> Number:
        """``sqrt``, ``log``, ``exp``, ``sin`` ... of a number."""

    def is_finite(self, value: Number) -> bool:
        """False for NaN and infinities."""


class Floats:
    """IEEE double precision."""

    def number(self, value: Any) -> float:
        """The nearest float."""
        return float(value)

    def vector(self, values: Sequence[Any]) -> Any:
        """A float64 array."""
        return np.array([float(v) for v in values], dtype=float)

    def function(self, name: str, value: Number) -> float:
        """Functions of the standard library; ValueError outside the domain."""
        return float(getattr(math, name)(float(value)))

    def is_finite(self, value: Number) -> bool:
        """Whether a float is finite."""
        return math.isfinite(value)


class Multiprecision:
    """mpmath numbers at the working precision that holds when the run is made (``with mpmath.workdps(50): ...``)."""

    def __init__(self) -> None:
        import mpmath

        self.context = mpmath.mp

    def number(self, value: Any) -> Number:
        """A number rounded to the precision of the context; rationals are divided in it."""
        if isinstance(value, Fraction):
            return self.context.mpf(value.numerator) / value.denominator
        if hasattr(value, "_mpf_"):
            return self.context.make_mpf(value._mpf_)
        return self.context.mpf(value.item() if isinstance(value, np.generic) else value)

    def vector(self, values: Sequence[Any]) -> Any:
        """An object array."""
        found = np.empty(len(values), dtype=object)
        for place, value in enumerate(values):
            found[place] = self.number(value)
        return found

    def function(self, name: str, value: Number) -> Number:
        """Functions of the context; ValueError outside the domain."""
        result = getattr(self.context, name)(self.number(value))
        if not isinstance(result, self.context.mpf):
            raise ValueError(f"{name} of {value} is not real")
        return result

    def is_finite(self, value: Number) -> bool:
        """Whether a number is finite."""
        return bool(self.context.isfinite(value))


@dataclass(frozen=True, slots=True)
class LinearOperator:
    """A matrix that is only multiplied: ``A @ v`` asks an oracle once."""

    product: Callable[[Any], Any]

    def __matmul__(self, vector: object) -> Any:
        return self.product(vector)


def is_exact(value: Value) -> bool:
    """Whether a value is an integer or a quotient of integers."""
    kind = type(value)  # the frequent kinds come first: to ask whether another one is a Fraction takes long
    return kind is int or (kind not in (float, np.ndarray, bool) and issubclass(kind, int | Fraction))


def is_array(value: Value) -> bool:
    """Whether a value is a vector or a matrix."""
    return isinstance(value, np.ndarray)


def is_number(value: Value) -> bool:
    """Whether a value is no vector, matrix or function."""
    return not (is_array(value) or callable(value) or hasattr(value, "product") or isinstance(value, tuple | str))


def pair(field: Field, left: Value, right: Value) -> tuple[Value, Value]:
    """Two operands, exact ones converted where the other is not exact."""
    if is_exact(left) and is_exact(right):
        return left, right
    return (field.number(left) if is_exact(left) else left), (field.number(right) if is_exact(right) else right)


def norm(field: Field, value: Value) -> Number:
    """Euclidean norm of a vector, absolute value of a number."""
    if not is_array(value):
        return abs(value)
    if value.dtype != object:
        plain = value.ndim == 1 and value.dtype == float
        return math.sqrt(value.dot(value)) if plain else float(np.linalg.norm(value, 2))  # the same, without questions
    if value.ndim != 1:
        raise ValueError("the spectral norm is available in double precision only")
    return field.function("sqrt", sum((v * v for v in value), field.number(0)))


def same(left: Value, right: Value) -> bool:
    """Bitwise equality of two values (used to see that a loop repeats itself)."""
    if is_array(left) or is_array(right):
        return is_array(left) and is_array(right) and left.shape == right.shape and bool(np.all(left == right))
    return bool(left == right)


def rounded(value: Value, up: bool) -> int:
    """The integer above or below."""
    whole: int = math.ceil(value) if up else math.floor(value)
    return whole


def bits(value: Value) -> int:
    """Size of an exact number: of its longer part."""
    if type(value) is int:
        return value.bit_length()
    parts = (value.numerator, value.denominator) if isinstance(value, Fraction) else (value,)
    return max(int(part).bit_length() for part in parts)


def takes(function: Callable[..., Value], values: Sequence[Value]) -> bool:
    """Whether a function takes so many arguments; one that does not say what it takes is believed to."""
    try:
        inspect.signature(function).bind(*values)
    except TypeError:
        return False
    except ValueError:
        return True
    return True
