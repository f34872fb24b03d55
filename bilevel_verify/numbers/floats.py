"""Ready arithmetics for programs: Python floats, NumPy arrays (vectorised over points), mpmath numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bilevel_verify.numbers import kernels
from bilevel_verify.numbers.arithmetic import Exact
from bilevel_verify.numbers.kernels import nearest_float
from bilevel_verify.numbers.powers import whole_power

if TYPE_CHECKING:
    import mpmath

Batch: TypeAlias = np.ndarray
"""Numbers at a batch of points, floats or complex; a constant may be a number alone."""
Truths: TypeAlias = np.ndarray
"""Truth values at a batch of points."""


class PythonFloat:
    """IEEE arithmetic on Python floats: overflow gives inf, undefined operations NaN, as compiled code does."""

    def constant(self, value: Exact) -> float:
        return nearest_float(value)

    def add(self, a: float, b: float) -> float:
        return a + b

    def mul(self, a: float, b: float) -> float:
        return a * b

    def neg(self, a: float) -> float:
        return -a

    def div(self, a: float, b: float) -> float:
        if b != 0.0:
            return a / b
        if a == 0.0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)

    def power(self, a: float, exponent: Fraction) -> float:
        if exponent.denominator == 1:
            return float(whole_power(a, int(exponent)))
        return kernels.real_power(a, float(exponent))

    def atom(self, name: str, order: int, a: float, parameters: tuple[Fraction, ...]) -> float:
        return float(kernels.scalar(name, order, parameters)(a))

    def logsumexp(self, args: Sequence[float]) -> float:
        return kernels.logsumexp(args)

    def absolute(self, a: float) -> float:
        return abs(a)

    def sign(self, a: float) -> float:
        return a if a != a else float((a > 0) - (a < 0))

    def floor(self, a: float) -> float:
        return float(math.floor(a)) if math.isfinite(a) else a

    def ceil(self, a: float) -> float:
        return float(math.ceil(a)) if math.isfinite(a) else a

    def maximum(self, a: float, b: float) -> float:
        return a if a >= b or a != a else b

    def minimum(self, a: float, b: float) -> float:
        return a if a <= b or a != a else b

    def compare(self, op: str, a: float, b: float) -> bool:
        return bool(_COMPARE[op](a, b))

    def logical(self, op: str, args: Iterable[bool]) -> bool:
        return _logical(op, args)

    def select(self, test: bool, yes: float, no: float) -> float:
        return yes if test else no


class Numpy:
    """Arrays over a batch of points; constants stay scalars. Complex arrays work too (for complex steps): comparisons,
    absolute values and signs then look at the real part."""

    def constant(self, value: Exact) -> Any:
        return nearest_float(value)

    def add(self, a: Batch, b: Batch) -> Batch:
        found: Batch = a + b
        return found

    def mul(self, a: Batch, b: Batch) -> Batch:
        found: Batch = a * b
        return found

    def neg(self, a: Batch) -> Batch:
        found: Batch = -a
        return found

    def div(self, a: Batch, b: Batch) -> Batch:
        found: Batch = np.true_divide(a, b)
        return found

    def power(self, a: Batch, exponent: Fraction) -> Batch:
        if exponent.denominator == 1:
            raised: Batch = whole_power(a, int(exponent))
            return raised
        found: Batch = np.sqrt(a) if exponent == Fraction(1, 2) else np.power(a, float(exponent))
        return found

    def atom(self, name: str, order: int, a: Batch, parameters: tuple[Fraction, ...]) -> Batch:
        found: Batch = kernels.array(name, order, parameters)(a)
        return found

    def logsumexp(self, args: Sequence[Batch]) -> Batch:
        found: Batch = kernels.logsumexp_array(args)
        return found

    def absolute(self, a: Batch) -> Batch:
        return np.where(np.real(a) < 0, -a, a)

    def sign(self, a: Batch) -> Batch:
        found: Batch = np.sign(np.real(a))
        return found

    def floor(self, a: Batch) -> Batch:
        found: Batch = np.floor(np.real(a))
        return found

    def ceil(self, a: Batch) -> Batch:
        found: Batch = np.ceil(np.real(a))
        return found

    def maximum(self, a: Batch, b: Batch) -> Batch:
        return np.where((np.real(a) >= np.real(b)) | np.isnan(a), a, b)

    def minimum(self, a: Batch, b: Batch) -> Batch:
        return np.where((np.real(a) <= np.real(b)) | np.isnan(a), a, b)

    def compare(self, op: str, a: Batch, b: Batch) -> Truths:
        found: Truths = _COMPARE[op](np.real(a), np.real(b))
        return found

    def logical(self, op: str, args: Iterable[Truths]) -> Truths:
        match op:
            case "and":
                found: Truths = np.logical_and.reduce(np.broadcast_arrays(*args))
            case "or":
                found = np.logical_or.reduce(np.broadcast_arrays(*args))
            case "not":
                found = np.logical_not(next(iter(args)))
            case _:
                found = np.asarray(op == "true")
        return found

    def select(self, test: Truths, yes: Batch, no: Batch) -> Batch:
        return np.where(test, yes, no)

    def lowered(self, op: str, a: Batch, value: str) -> Batch:
        """``call`` and ``real_power`` of lowered programs."""
        if op == "real_power":
            raised: Batch = np.power(a, float(value))
            return raised
        function = getattr(np, value, None)
        found: Batch = kernels.array(value, 0, ())(a) if function is None else function(a)
        return found


class Mpmath(PythonFloat):
    """mpmath numbers at the working precision that holds when the program runs (``mpmath.workdps``)."""

    def constant(self, value: Exact) -> mpmath.mpf:
        return kernels.mp_constant(value)

    def div(self, a: mpmath.mpf, b: mpmath.mpf) -> mpmath.mpf:
        return a / b

    def power(self, a: mpmath.mpf, exponent: Fraction) -> mpmath.mpf:
        if exponent.denominator == 1:
            return a ** int(exponent)
        return kernels.mp_constant(a) ** kernels.mp_constant(exponent)

    def atom(self, name: str, order: int, a: mpmath.mpf, parameters: tuple[Fraction, ...]) -> mpmath.mpf:
        return kernels.multiprecision(name, order, parameters)(a)

    def logsumexp(self, args: Sequence[object]) -> mpmath.mpf:
        return kernels.logsumexp_mp(args)

    def sign(self, a: mpmath.mpf) -> mpmath.mpf:
        return kernels.mp_constant((a > 0) - (a < 0))

    def floor(self, a: object) -> mpmath.mpf:
        return kernels.mp_module().floor(a)

    def ceil(self, a: object) -> mpmath.mpf:
        return kernels.mp_module().ceil(a)


PYTHON_FLOAT, NUMPY, MPMATH = PythonFloat(), Numpy(), Mpmath()

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
}


def _logical(op: str, args: Iterable[bool]) -> bool:
    match op:
        case "and":
            return all(args)
        case "or":
            return any(args)
        case "not":
            return not next(iter(args))
    return op == "true"
